"""Precisions: what is loaded, by which path, and how far the forest is from the model's own attention."""

import gc
import json
import shutil
import weakref
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import UnavailableError
from gridc.runtime.engines.protocol import Call
from gridc.schema.spec import EngineSettings

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("bitsandbytes")

from gridc.runtime.engines.hf import loading  # noqa: E402
from gridc.runtime.engines.hf.engine import HfEngine  # noqa: E402
from tests.runtime import zoo  # noqa: E402

LLAMA = Path(gridc.__file__).parent / "builtin" / "models" / "pocket-llama"
PRECISIONS = ["fp32", "bf16", "fp16", "int8", "nf4"]
CONTINUATIONS = ["The Vintel", "Not known", "They eat nuts."]
TOLERANCE = {"fp32": 1e-4, "nf4": 1e-4, "bf16": 0.3, "fp16": 0.05, "int8": 1.0}
"""Nats. The pocket model has 128 hidden dimensions, so int8's rounding of activations is coarse."""


def calls() -> list[Call]:
    made = []
    for number, question in enumerate(("Who sang?", "What do brillows from Elsen eat?")):
        prompt = Prompt((("user", f"{question}\n\nAnswer:"),), chat_template=True)
        asked = {"continuations": CONTINUATIONS}
        made.append(Call(f"{number:064x}", "loglikelihood", prompt, asked))
        greedy = {"max_tokens": 8, "temperature": 0.0}
        made.append(Call(f"{number + 10:064x}", "generate", prompt, greedy))
    return made


@pytest.mark.parametrize("precision", PRECISIONS)
def test_log_likelihoods_are_those_of_the_models_own_attention(precision: str) -> None:
    """The same weights at the same precision, once in the forest and once as transformers runs them."""
    engine = HfEngine("m", LLAMA, precision, EngineSettings(device=zoo.DEVICE))
    found = zoo.answers(engine, calls())
    model = engine._load()
    model.set_attn_implementation("eager")
    for call in (each for each in calls() if each.kind == "loglikelihood"):
        text = engine.prompts.as_text(call.prompt)
        start = len(engine.prompts.encode([text], call.prompt)[0])
        for continuation, value in zip(CONTINUATIONS, found[call.id].content["loglikelihoods"], strict=True):
            ids = list(engine.prompts.encode([text + continuation], call.prompt)[0])
            with torch.inference_mode():
                logits = model(torch.tensor([ids], device=model.device), use_cache=False).logits[0].float()
            logs = torch.log_softmax(logits, dim=-1)
            expected = sum(float(logs[at - 1, ids[at]]) for at in range(start, len(ids)))
            assert value == pytest.approx(expected, abs=TOLERANCE[precision])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_is_loaded_is_what_was_asked_for(precision: str) -> None:
    engine = HfEngine("m", LLAMA, precision, EngineSettings(device=zoo.DEVICE))
    found = engine.effective()
    quantised = "float32" if zoo.DEVICE == "cpu" else "bfloat16"
    kinds = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
    assert found["dtype"] == kinds.get(precision, quantised)
    if precision in ("int8", "nf4"):
        linear = 7 * json.loads((LLAMA / "config.json").read_text())["num_hidden_layers"]
        assert found["quantisation"]["layers"] == linear
        assert found["quantisation"]["not_quantised"] == ["lm_head"]
    else:
        assert found["quantisation"] is None
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize("precision", PRECISIONS)
def test_an_architecture_that_does_not_run_quantised_is_told_what_to_try(
    precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise RuntimeError("expected scalar type Float but found Char")

    monkeypatch.setattr(loading, "load", refuse)
    with pytest.raises(UnavailableError, match="GC606") as caught:
        HfEngine("m", LLAMA, precision, EngineSettings(device=zoo.DEVICE)).effective()
    told = caught.value.diagnostics[0].help or ""
    assert ("bf16" in told) is (precision in ("int8", "nf4"))


@pytest.mark.skipif(zoo.DEVICE != "cpu", reason="it is of CPUs")
def test_nf4_is_the_same_on_every_cpu() -> None:
    """What bitsandbytes multiplies with is the 4-bit weight, dequantised, in fp32; not the repacked one
    with rounded scales that only CPUs with AVX512-BF16 have."""
    import bitsandbytes.functional as bnb

    engine = HfEngine("m", LLAMA, "nf4", EngineSettings(device=zoo.DEVICE))
    model = engine._load()
    layer = model.model.layers[0].mlp.up_proj
    given = torch.randn(3, layer.in_features)
    with torch.inference_mode():
        found = layer(given)
        weight = bnb.dequantize_4bit(layer.weight.data, layer.weight.quant_state)
    assert torch.allclose(found, given @ weight.float().T, atol=1e-5)


def test_quantised_answers_differ_from_those_of_the_whole_weights() -> None:
    whole = zoo.answers(HfEngine("m", LLAMA, "fp32", EngineSettings(device=zoo.DEVICE)), calls())
    four_bit = zoo.answers(HfEngine("m", LLAMA, "nf4", EngineSettings(device=zoo.DEVICE)), calls())
    name = calls()[0].id
    assert whole[name].content["loglikelihoods"] != pytest.approx(
        four_bit[name].content["loglikelihoods"], abs=1e-2
    )


def test_a_closed_engine_holds_no_model() -> None:
    engine = HfEngine("m", LLAMA, "fp32", EngineSettings(device=zoo.DEVICE))
    kept = weakref.ref(engine._load())
    engine.close()
    gc.collect()
    assert kept() is None


def changed(folder: Path, **values: Any) -> Path:
    shutil.copytree(LLAMA, folder)
    config = json.loads((folder / "config.json").read_text()) | values
    (folder / "config.json").write_text(json.dumps(config))
    return folder
