"""Reduced precision: rounding refuses no model, and a wrong attention is refused in each precision.

The models are trained for a while, so that they are decisive: the next token is a function of two before it.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gridc.diagnostics.errors import UnavailableError
from gridc.schema.spec import EngineSettings

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("bitsandbytes")

from gridc.runtime.engines.hf import attention, forest, gate  # noqa: E402
from gridc.runtime.engines.hf.engine import HfEngine  # noqa: E402
from gridc.runtime.store.events import ModelLoaded  # noqa: E402
from tests.runtime import zoo  # noqa: E402

PRECISIONS = ("bf16", "fp16", "int8", "nf4")
MIXTURES = ("qwen3_moe", "mixtral", "deepseek_v3", "gpt_oss")
DENSE = ("llama", "gpt2", "qwen2", "gemma2", "gemma3_text", "phi", "olmo", "mistral")
WORDS = 24


def lesson(rows: int, generator: Any) -> Any:
    """Texts of 48 tokens in which each follows from the one before and the one three places before."""
    table = torch.randint(0, WORDS, (WORDS, WORDS), generator=torch.Generator().manual_seed(5))
    columns = list(torch.randint(0, WORDS, (3, rows), generator=generator))
    while len(columns) < 48:
        columns.append(table[columns[-1], columns[-3]])
    return torch.stack(columns, dim=1) + 3


def trained(kind: str, folder: Path, steps: int) -> float:
    """Train a tiny model and keep it in a folder. Gives its last loss (nats)."""
    zoo.save(kind, folder)
    torch.set_num_threads(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    generator, loss = torch.Generator().manual_seed(1), torch.tensor(0.0)
    for _ in range(steps):
        ids = lesson(16, generator)
        loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.save_pretrained(folder)
    return float(loss.detach())


def loaded(folder: Path, precision: str) -> dict[str, Any]:
    engine = HfEngine("m", folder, precision, EngineSettings(device=zoo.DEVICE, threads=1))
    return engine.effective()


def wrong_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores times 1.01."""
    made = attention.Softmax

    def larger(scaling: float, *others: Any) -> Any:
        return made(scaling * 1.01, *others)

    monkeypatch.setattr(attention, "Softmax", larger)


def wrong_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the hundredth token on the model is told one place further."""
    made = forest.Forest._pass

    def later(_: Any, values: Any, named: dict[str, Any]) -> Any:
        places = named["position_ids"]
        return values, named | {"position_ids": places + (places >= 100)}

    def shifted(self: Any, *values: Any) -> Any:
        hook = self._model.register_forward_pre_hook(later, with_kwargs=True)
        try:
            return made(self, *values)
        finally:
            hook.remove()

    monkeypatch.setattr(forest.Forest, "_pass", shifted)


def wrong_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """The window that a configuration declares is taken for four tokens more."""
    windows = gate._windows
    probe = gate._Probe.attend

    def wider(config: Any) -> list[int]:
        return [window + 4 for window in windows(config)]

    def unseen(self: Any, layer: int, query: Any, key: Any, value: Any, softmax: Any) -> Any:
        return probe(self, layer, query, key, value, replace(softmax, window=None))

    monkeypatch.setattr(gate, "_windows", wider)
    monkeypatch.setattr(gate._Probe, "attend", unseen)


WRONG: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "scores": wrong_scores,
    "mask": zoo.late_stems,
    "positions": wrong_positions,
}


def refuses(folder: Path, precision: str) -> bool:
    """Whether the forest is not taken, because it moves the logits of a twin."""
    paths = loaded(folder, precision)["paths"]
    route = paths.get("cached") or paths.get("plain")
    return "forest" not in paths and "the forest path moves logits by" in route["why"]


@pytest.mark.parametrize("precision", ["bf16", "nf4"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_attention_is_refused_where_rounding_could_hide_it(
    wrong: str, precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = zoo.save("qwen3_moe", tmp_path / "m")
    assert set(loaded(folder, precision)["paths"]) == {"forest"}
    WRONG[wrong](monkeypatch)
    assert refuses(folder, precision)


@pytest.mark.slow
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", [*MIXTURES, "llama", "gemma2"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_attention_is_refused_in_each_precision(
    wrong: str, kind: str, precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = zoo.save(kind, tmp_path / "m")
    WRONG[wrong](monkeypatch)
    assert refuses(folder, precision)


@pytest.mark.parametrize(
    ("kind", "precision"),
    [
        ("gpt_oss", "bf16"),
        *(
            pytest.param(kind, precision, marks=pytest.mark.slow)
            for kind in ("mistral", "gemma2", "gpt_oss")
            for precision in PRECISIONS
        ),
    ],
)
def test_a_wrong_window_is_refused(
    kind: str, precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the window of its layers the forest sees tokens that the model does not."""
    folder = zoo.save(kind, tmp_path / "m")
    assert loaded(folder, precision)["paths"]["forest"]["up_to"] == 40
    wrong_window(monkeypatch)
    assert refuses(folder, precision)


def test_rounding_refuses_no_mixture_of_experts(tmp_path: Path) -> None:
    """Its router takes other experts where bf16 rounds at a near tie: that is noise, measured and printed."""
    folder = zoo.save("qwen3_moe", tmp_path / "m")
    ran = loaded(folder, "bf16")
    route = ran["paths"]["forest"]
    assert route["check"]["deviation"] > 0.1
    assert route["proof"]["deviation"] < gate.TOLERANCE
    (said,) = ModelLoaded(stamp="s", identity="m", **ran).computed
    assert said.startswith("forest, where rounding moves logits by up to ")


def test_the_path_of_a_model_in_fp32_is_proved_on_the_model_itself(tmp_path: Path) -> None:
    route = loaded(zoo.save("mixtral", tmp_path / "m"), "fp32")["paths"]["forest"]
    assert set(route) == {"up_to", "why", "check"}


@pytest.mark.parametrize("kind", [*MIXTURES, *DENSE, "llama4_text", "gpt_neo", "qwen3_next"])
def test_a_twin_runs_the_code_of_its_model(kind: str) -> None:
    model = zoo.build(kind)
    made = gate.twin_of(model, 0)
    layers = model.config.get_text_config().num_hidden_layers
    assert gate.code_path(model) <= gate.code_path(made)
    assert type(made) is type(model)
    assert made.config.get_text_config().num_hidden_layers <= layers
    assert {weight.dtype for weight in made.parameters()} == {torch.float32}


def test_a_twin_has_each_kind_of_layer() -> None:
    """A window in one layer of five, and the first layer that sees everything is the fifth."""
    kinds = [*["sliding_attention"] * 4, "full_attention"] * 2
    model = zoo.build("gemma3_text", num_hidden_layers=10, layer_types=kinds)
    assert gate.twin_of(model, 0).config.num_hidden_layers == 5


def test_a_model_without_a_twin_runs_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = zoo.save("llama", tmp_path / "m")
    monkeypatch.setattr(gate, "code_path", lambda model: frozenset([(id(model),)]))
    ran = loaded(folder, "bf16")["paths"]
    assert set(ran) == {"plain"}
    assert "no twin of it in fp32 can be made" in ran["plain"]["why"]
    assert ran["plain"]["proof"] is None


def test_an_encoder_is_refused_in_bf16_too(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="not a causal language model"):
        loaded(zoo.save("bert", tmp_path / "m"), "bf16")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*MIXTURES, *DENSE])
def test_trained_models_run_in_each_precision(kind: str, tmp_path: Path) -> None:
    """`-s` prints the rows of the table in docs/engine-inside.md."""
    folder = tmp_path / kind
    loss = trained(kind, folder, 150)
    assert loss < 2.5  # that of chance is 3.2
    columns = []
    for precision in PRECISIONS:
        ran = loaded(folder, precision)
        assert "forest" in ran["paths"]
        route = ran["paths"]["forest"]
        assert route["proof"]["deviation"] <= gate.TOLERANCE
        columns.append(f"{route['check']['deviation']:.1g}")
        quantised = ran["quantisation"]
        if quantised is not None:
            assert quantised["layers"] > 0
            assert any("experts" in name for name in quantised["not_quantised"]) == (kind in MIXTURES)
    print(f"| {kind} | {loss:.2f} | {' | '.join(columns)} |", flush=True)
