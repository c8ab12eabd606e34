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

from gridc.runtime.engines.hf import attention, forest, gate, kv_cache, twins  # noqa: E402
from gridc.runtime.engines.hf.engine import HfEngine  # noqa: E402
from gridc.runtime.store.events import ModelLoaded  # noqa: E402
from tests.runtime import zoo  # noqa: E402

PRECISIONS = ("bf16", "fp16", "int8", "nf4")
MIXTURES = ("qwen3_moe", "mixtral", "deepseek_v3", "gpt_oss")
DENSE = ("llama", "gpt2", "qwen2", "gemma2", "gemma3_text", "phi", "olmo", "mistral")
WORDS = 24
GUESS = kv_cache.Shape((), torch.float32, torch.device("cpu"))


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


def shifted(monkeypatch: pytest.MonkeyPatch, wrong: Callable[[Any], bool]) -> None:
    """From the twentieth token on the model of a wrong path is told one place further."""
    made = forest.Forest._pass

    def later(_: Any, values: Any, named: dict[str, Any]) -> Any:
        places = named["position_ids"]
        return values, named | {"position_ids": places + (places >= 20)}

    def computed(self: Any, *values: Any) -> Any:
        if not wrong(self):
            return made(self, *values)
        hook = self._model.register_forward_pre_hook(later, with_kwargs=True)
        try:
            return made(self, *values)
        finally:
            hook.remove()

    monkeypatch.setattr(forest.Forest, "_pass", computed)


def wrong_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    shifted(monkeypatch, lambda _: True)


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


# Faults of the code that computes bf16 and fp16, which a proof in fp32 does not see.

SHORT = (torch.bfloat16, torch.float16)


def short_scores(factor: float) -> Callable[[pytest.MonkeyPatch], None]:
    """Scores times this."""
    made = attention.attention

    def larger(query: Any, key: Any, value: Any, softmax: Any, *others: Any, **named: Any) -> Any:
        by = factor if query.dtype in SHORT else 1.0
        softmax = replace(softmax, scaling=softmax.scaling * by)
        return made(query, key, value, softmax, *others, **named)

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(attention, "attention", larger)
        monkeypatch.setattr(kv_cache, "attention", larger)

    return patch


def short_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each token of a stem sees the one after it too."""
    made = forest.StemPass.__init__

    def later(self: Any, trunk: Any, *values: Any) -> None:
        made(self, trunk, *values)
        self._starts = self._starts + (trunk._shape.dtype in SHORT)

    monkeypatch.setattr(forest.StemPass, "__init__", later)


def short_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    shifted(monkeypatch, lambda path: path._shape.dtype in SHORT)


def short_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first four tokens of a trunk are not seen."""
    made = attention.attention

    def later(self: Any, layer: int, query: Any, softmax: Any) -> Any:
        if not self.tokens:
            return []
        keys, values = self._layers[layer][:, :, :, : len(self.tokens)]
        first = 4 if query.dtype in SHORT else 0
        heads = query.transpose(0, 1).flatten(1, 2)[None]
        mixed, total = made(heads, keys[:, :, first:], values[:, :, first:], softmax)
        tokens, kv_heads, group, width = query.shape
        total = total.view(kv_heads, tokens, group).transpose(0, 1)
        return [(mixed.view(kv_heads, tokens, group, width).transpose(0, 1), total)]

    monkeypatch.setattr(kv_cache.Trunk, "attend", later)


def short_tips(change: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Callable[[pytest.MonkeyPatch], None]:
    """Tips store other keys and values."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        made = kv_cache.Tips.attend

        def other(self: Any, layer: int, query: Any, key: Any, value: Any, softmax: Any) -> Any:
            if query.dtype in SHORT:
                key, value = change(self, key, value)
            return made(self, layer, query, key, value, softmax)

        monkeypatch.setattr(kv_cache.Tips, "attend", other)

    return patch


def another_row(_: Any, key: Any, value: Any) -> tuple[Any, Any]:
    """Beyond the eighth row, that of the row before."""
    rows = [*range(8), *range(7, len(key) - 1)][: len(key)]
    return key[rows], value[rows]


def long_tips(tips: Any, key: Any, value: Any) -> tuple[Any, Any]:
    """Beyond the fortieth token values are half as large again."""
    return key, value * 1.5 if tips.length >= 40 else value


SHORT_FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "scores times 1.01": short_scores(1.01),
    "scores times 1.1": short_scores(1.1),
    "mask": short_mask,
    "position": short_positions,
    "window": short_window,
    "row": short_tips(another_row),
    "long tip": short_tips(long_tips),
}
WIDE = ("llama", "qwen2", "gpt2", "phi", "mixtral", "deepseek_v3")


def short_route(kind: str, dtype: Any, **values: Any) -> gate.ProvedPath:
    model = zoo.build(kind, **values).to(dtype)
    shape = kv_cache.Shape((), dtype, model.device)
    (route, *_) = gate.routes(model, model.config.get_text_config(), shape, False, 2**28, 30)
    return route


@pytest.mark.parametrize("dtype", SHORT, ids=["bf16", "fp16"])
@pytest.mark.parametrize(
    "kind",
    ["llama", *(pytest.param(kind, marks=pytest.mark.slow) for kind in (*WIDE[1:], "gemma2", "mistral"))],
)
def test_what_only_two_bytes_get_wrong_is_refused(kind: str, dtype: Any) -> None:
    """gemma2 and mistral have a window of 40 here, so their trials have no long tips."""
    right = short_route(kind, dtype)
    assert right.path.name == "forest"
    assert right.proof is not None and right.proof.rounding is not None
    assert 0.29 < right.proof.rounding < 0.65
    for wrong, plant in SHORT_FAULTS.items():
        if wrong == "long tip" and kind not in WIDE:
            continue
        with pytest.MonkeyPatch.context() as monkeypatch:
            plant(monkeypatch)
            route = short_route(kind, dtype)
            assert route.path.name != "forest", wrong
            assert "the attention of the forest path is" in str(route.why), wrong
            if dtype is SHORT[0]:  # in full precision the fault is one and the same
                in_full = gate.routes(zoo.build(kind), zoo.config_of(kind), GUESS, True, 2**28, 30)
                assert next(in_full).path.name == "forest", wrong


@pytest.mark.parametrize("dtype", SHORT, ids=["bf16", "fp16"])
def test_what_only_the_model_itself_gets_wrong_is_refused(
    dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the twin in fp32 nor its attention in two bytes has it."""
    apart = short_route("llama", dtype).trial.apart
    assert apart is not None and 0.5 < apart < 1.5
    shifted(monkeypatch, lambda path: path._model.dtype in SHORT)
    route = short_route("llama", dtype)
    assert route.path.name == "cached"
    assert "times as far from the model's own attention" in str(route.why)


def tiny(words: int, dtype: Any) -> gate.ProvedPath:
    """The route of a model with so many tokens."""
    config = transformers.LlamaConfig(
        vocab_size=words, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4
    )
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config).to(dtype).eval()
    shape = kv_cache.Shape((), dtype, model.device)
    (route, *_) = gate.routes(model, config, shape, dtype == torch.float32, 2**28, 30)
    return route


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("words", [5, 6, 8, 12, 13, 16, 63, 64, 77])
def test_a_small_vocabulary_has_tokens_for_every_path_of_a_trial(words: int, dtype: Any) -> None:
    """At no position have two paths that parted the same token, however few there are."""
    route = tiny(words, dtype)
    assert route.path.name == "forest", route.why


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("words", [2, 4])
def test_a_vocabulary_that_is_too_small_is_said_to_be(words: int, dtype: Any) -> None:
    with pytest.raises(
        gate.NoProvedPath, match=f"vocabulary has {words} tokens, .* takes 5 at least: serve it"
    ):
        tiny(words, dtype)


@pytest.mark.parametrize("words", [5, 12])
def test_a_wrong_attention_is_refused_where_there_are_few_tokens(
    words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shifted(monkeypatch, lambda path: True)
    assert tiny(words, torch.bfloat16).path.name == "cached"


class GpuKernels:
    """Kernels with the signatures, limits and padding of a GPU's, on a CPU: they round probabilities and
    results. What is tried is the code around them."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor, self.asked = factor, set[str]()

    def use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(attention, "_on_cpu", lambda query: False)
        monkeypatch.setattr(torch.ops.aten, "_scaled_dot_product_flash_attention", self.flash)
        monkeypatch.setattr(torch.ops.aten, "_scaled_dot_product_efficient_attention", self.efficient)

    def flash(
        self, query: Any, key: Any, value: Any, dropout: float, causal: bool, *, scale: float
    ) -> tuple[Any, ...]:
        assert query.shape[-1] <= 256
        self.asked.add("flash causal" if causal else "flash")
        return (*self._computed(query, key, value, None, causal, scale), None)

    def efficient(
        self,
        query: Any,
        key: Any,
        value: Any,
        bias: Any,
        whole: bool,
        dropout: float,
        causal: bool,
        *,
        scale: float,
    ) -> tuple[Any, ...]:
        self.asked.add("efficient")
        assert whole and dropout == 0
        assert bias.dtype == query.dtype and bias.stride(-2) % 16 == 0
        assert bias.shape == (*query.shape[:3], key.shape[2])
        mixed, total = self._computed(query, key, value, bias, causal, scale)
        return mixed, torch.nn.functional.pad(total, (0, -total.shape[-1] % 32), value=torch.inf), None

    def _computed(
        self, query: Any, key: Any, value: Any, bias: Any, causal: bool, scale: float
    ) -> tuple[Any, Any]:
        assert query.dtype in SHORT and query.shape[-1] % 8 == 0
        assert query.shape[:2] == key.shape[:2] == value.shape[:2]
        scores = query.float() @ key.float().transpose(-1, -2) * scale * self.factor
        if causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
        scores = scores if bias is None else scores + bias.float()
        shares = torch.softmax(scores, dim=-1).to(value.dtype)
        return (shares.float() @ value.float()).to(value.dtype), torch.logsumexp(scores, dim=-1)


@pytest.mark.parametrize("dtype", SHORT, ids=["bf16", "fp16"])
def test_the_code_of_a_gpu_is_proved_with_its_kernels(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof asks each kernel, and refuses one that errs in two bytes alone."""
    kernels = GpuKernels()
    kernels.use(monkeypatch)
    for kind in ("llama", "gpt_oss", "bloom"):
        route = short_route(kind, dtype)
        assert route.path.name == "forest", route.why
        assert route.proof is not None and route.proof.rounding is not None
    assert kernels.asked == {"flash", "flash causal", "efficient"}
    GpuKernels(1.01).use(monkeypatch)
    route = short_route("llama", dtype)
    assert route.path.name == "cached"
    assert "the attention of the forest path is" in str(route.why)


def test_numbers_that_are_none_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    short_tips(lambda _, key, value: (key, value * torch.nan))(monkeypatch)
    assert "the attention of the forest path is nan steps off" in str(short_route("llama", SHORT[0]).why)


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
    made = twins.twin_of(model, 0)
    layers = model.config.get_text_config().num_hidden_layers
    assert twins.code_path(model) <= twins.code_path(made)
    assert type(made) is type(model)
    assert made.config.get_text_config().num_hidden_layers <= layers
    assert {weight.dtype for weight in made.parameters()} == {torch.float32}


def test_a_twin_has_each_kind_of_layer() -> None:
    """A window in one layer of five, and the first layer that sees everything is the fifth."""
    kinds = [*["sliding_attention"] * 4, "full_attention"] * 2
    model = zoo.build("gemma3_text", num_hidden_layers=10, layer_types=kinds)
    assert twins.twin_of(model, 0).config.num_hidden_layers == 5


def test_a_model_without_a_twin_runs_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = zoo.save("llama", tmp_path / "m")
    monkeypatch.setattr(twins, "code_path", lambda model: frozenset([(id(model),)]))
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
    """`-s` prints the rows of the last table in architectures.md."""
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
