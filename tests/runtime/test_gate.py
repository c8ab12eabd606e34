"""The gate: what computes something else than the model is found out by a wide margin."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gridc.diagnostics.errors import UnavailableError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from gridc.runtime.engines.hf import attention, gate, kv_cache, paths  # noqa: E402
from gridc.runtime.engines.hf.engine import HfEngine  # noqa: E402
from gridc.runtime.engines.hf.kv_cache import Shape, Tips  # noqa: E402
from gridc.schema.spec import EngineSettings  # noqa: E402
from tests.runtime import zoo  # noqa: E402

GUESS = Shape((), torch.float32, torch.device("cpu"))


def found(model: Any, longest: int = 30) -> gate.ProvedPath:
    (route, *_) = gate.routes(model, model.config.get_text_config(), GUESS, True, 2**28, longest)
    return route


def softmax(change: Callable[[Any], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """A forest whose scores go through something else than the model's."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        made = attention.Softmax
        monkeypatch.setattr(attention, "Softmax", lambda *values: change(made(*values)))

    return patch


def blind_tips(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that parts from another one gets the tokens of the row before its own place."""
    take = Tips.take

    def stay(self: Tips, rows: int, moved: Any, sources: Any) -> None:
        take(self, rows, moved, moved - 1)

    monkeypatch.setattr(Tips, "take", stay)


at = attention.positions
CAPPED = {"attn_logit_softcapping": 0.5}
WRONG: dict[str, tuple[str, dict[str, Any], Callable[[pytest.MonkeyPatch], None]]] = {
    "larger scores": ("llama", {}, softmax(lambda made: replace(made, scaling=made.scaling * 1.01))),
    "no caps": ("gemma2", CAPPED, softmax(lambda made: replace(made, cap=None))),
    "no sinks": ("gpt_oss", {}, softmax(lambda made: replace(made, sinks=None))),
    "branches that are not copied": ("llama", {}, blind_tips),
    "a stem that sees ahead": ("llama", {}, zoo.late_stems),
    "no ALiBi": ("bloom", {}, lambda patch: patch.setattr(attention, "positions", lambda: at() * 0)),
    "ALiBi a stretch of 256 tokens late": (
        "mpt",
        {},
        lambda patch: patch.setattr(attention, "positions", lambda: at() - 4 * (at() > 255)),
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_forest_that_is_wrong_is_not_taken(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model then runs with its own attention, and says why."""
    kind, values, patch = WRONG[wrong]
    model = zoo.build(kind, **values)
    assert found(model).path.name == "forest"
    patch(monkeypatch)
    route = found(model)
    assert route.path.name == "cached"
    assert "the forest path moves logits by" in str(route.why)


def test_stems_that_are_attended_in_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few scores at once that each block of a stem is some tokens long."""
    model = zoo.build("gemma2", **CAPPED)
    monkeypatch.setattr(kv_cache, "SCORES", 20_000)
    route = found(model)
    assert (route.path.name, route.limit) == ("forest", 40)
    (route,) = gate.routes(zoo.build("llama"), zoo.config_of("llama"), GUESS, True, 2**28, 400)
    assert (route.path.name, route.trial.tokens) == ("forest", 320)


def test_a_window_that_is_overlooked_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    model = zoo.build("mistral")
    assert found(model).limit == 40
    monkeypatch.setattr(gate, "_windows", lambda _: [])
    assert "sees 40 tokens back, which is not declared" in str(found(model).why)


def test_a_cache_that_is_not_copied_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    model = zoo.build("xglm")
    assert found(model).path.name == "cached"
    monkeypatch.setattr(paths, "_select", lambda cache, *_: cache)
    assert found(model).path.name == "plain"


def initial(kind: str) -> Any:
    """A model as transformers initialises it, where attention is worth a hundredth of a logit."""
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    make: Any = AutoModelForCausalLM.from_config
    return make(zoo.config_of(kind), dtype=torch.float32).eval()


def trained(kind: str) -> Any:
    """The same after a few steps on sequences in which every token is that of eight places before."""
    model = initial(kind)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(1)
    for _ in range(40):
        ids = torch.randint(3, 100, (8, 8), generator=generator).repeat(1, 6)
        loss = model(input_ids=ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@pytest.mark.parametrize("make", [initial, pytest.param(trained, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["bloom", "codegen", "diffllama"])
def test_a_wrong_attention_fails_by_a_wide_margin(
    kind: str, make: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """BLOOM's biases and CodeGen's attention lie outside the interface, DiffLlama's second attention within
    it. With nothing rewired and the checks of structure off, the comparison alone has to see them."""
    model = make(kind)
    shape = Shape(((4 if kind != "diffllama" else 2, 16),) * 4, torch.float32, torch.device("cpu"))
    monkeypatch.setattr(gate, "shape_of", lambda *_: shape)
    monkeypatch.setattr(paths, "rewire", lambda *_: None)
    monkeypatch.setattr(attention.OncePerLayer, "require", lambda *_: None)
    monkeypatch.setattr(attention.OncePerLayer, "attend", lambda self, *values: self._view.attend(*values))
    route = found(model)
    assert route.path.name == "cached"
    moved, most = re.findall(r"forest path moves logits by (\S+) where (\S+) may be", str(route.why))[0]
    assert float(moved) > 50 * float(most)


def test_what_is_not_causal_is_refused() -> None:
    with pytest.raises(gate.NoProvedPath, match="not a causal language model"):
        found(zoo.build("bert"))


def test_implementations_that_differ_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    made = gate._logits
    monkeypatch.setattr(
        gate, "_logits", lambda model, name, ids: made(model, name, ids) * (1.001 if name == "eager" else 1)
    )
    with pytest.raises(gate.NoProvedPath, match="its own implementations of attention differ"):
        found(zoo.build("llama"))


def test_logits_that_are_not_numbers_are_a_coded_failure(tmp_path: Path) -> None:
    model = zoo.build("llama")
    folder = zoo.save("llama", tmp_path / "m")
    with torch.no_grad():
        model.model.layers[1].mlp.up_proj.weight[0, 0] = float("nan")
    model.save_pretrained(folder)
    with pytest.raises(UnavailableError, match="GC641"):
        HfEngine("m", folder, "fp32", EngineSettings(device="cpu", threads=1)).effective()
