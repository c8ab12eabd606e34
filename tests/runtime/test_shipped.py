"""Checkpoints as they are shipped: quantised ones are what their numbers stand for, others what they are."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.diagnostics.errors import UnavailableError
from gridc.schema.spec import EngineSettings

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("compressed_tensors")
pytest.importorskip("bitsandbytes")

from safetensors.torch import load_file, save_file  # noqa: E402

from gridc.runtime.engines.hf import loading  # noqa: E402
from gridc.runtime.engines.hf.engine import HfEngine  # noqa: E402
from gridc.runtime.engines.hf.paths import own_attention, use_attention  # noqa: E402
from tests.e2e.conftest import command, make_study  # noqa: E402
from tests.runtime import packed, zoo  # noqa: E402

LLAMA = Path(gridc.__file__).parent / "builtin" / "models" / "pocket-llama"
IDS = torch.randint(3, 800, (2, 40), generator=torch.Generator().manual_seed(0))


def opened(folder: Path, precision: str = "as_shipped") -> HfEngine:
    return HfEngine("m", folder, precision, EngineSettings(device=zoo.DEVICE, threads=1, reuse_proofs=False))


def logits(model: Any) -> Any:
    use_attention(model, own_attention(model))
    with torch.inference_mode():
        return model(input_ids=IDS.to(model.device), use_cache=False).logits.float()


@pytest.mark.parametrize("form", packed.FORMS)
def test_a_packed_checkpoint_is_the_model_that_its_numbers_stand_for(form: str, tmp_path: Path) -> None:
    folder = zoo.save("gpt_oss" if form == "mxfp4" else "llama", tmp_path / "m")
    dense = packed.pack(folder, form)
    engine = opened(folder)
    ran = engine.effective()
    method = form.partition(" ")[0]
    assert ran["as_shipped"].startswith(f"{method} weights, unpacked to float32")
    # The same class, filled with the dense weights by torch alone.
    config = loading.read_config(folder, "as_shipped", zoo.DEVICE)
    expected = type(engine._model)._from_config(engine._model.config, dtype=torch.float32)
    missing = expected.load_state_dict(dense, strict=False).missing_keys
    assert not [name for name in missing if "lm_head" not in name]
    expected.tie_weights()
    assert float((logits(engine._model) - logits(expected.eval().to(zoo.DEVICE))).abs().max()) < 1e-4
    assert loading.packed_format(config) == method
    # And what transformers itself makes of the folder.
    alone = transformers.AutoModelForCausalLM.from_pretrained(folder, device_map=zoo.DEVICE, dtype="auto")
    assert torch.equal(logits(alone.eval()), logits(engine._model))
    assert all(route["proof"] for route in ran["paths"].values())


@pytest.mark.parametrize("form", ["fp8", "compressed-tensors fp8"])
def test_scales_of_a_cache_in_eight_bits_change_nothing(form: str, tmp_path: Path) -> None:
    folder = zoo.save("llama", tmp_path / "m")
    packed.pack(folder, form)
    before = opened(folder)
    assert "unread_tensors" not in before.effective()
    plain = logits(before._model)
    path = folder / "model.safetensors"
    scales = {f"model.layers.{layer}.self_attn.{part}_scale": torch.ones(1) / 2
              for layer in range(2) for part in "kv"}  # fmt: skip
    save_file(load_file(path) | scales, path, {"format": "pt"})
    engine = opened(folder)
    assert engine.effective()["unread_tensors"] == {
        "model.layers.*.self_attn.k_scale": 2,
        "model.layers.*.self_attn.v_scale": 2,
    }
    alone = transformers.AutoModelForCausalLM.from_pretrained(folder, device_map=zoo.DEVICE, dtype="auto")
    assert torch.equal(logits(engine._model), plain)
    assert torch.equal(logits(alone.eval()), plain)


def test_numbers_that_are_not_packed_are_taken_in_the_format_that_is_stated(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(LLAMA, tmp_path / "m"))
    weights = load_file(folder / "model.safetensors")
    save_file({name: weight.bfloat16() for name, weight in weights.items()}, folder / "model.safetensors")
    packed.state(folder, dtype="bfloat16")
    ran = opened(folder).effective()
    assert (ran["as_shipped"], ran["dtype"]) == ("bfloat16 weights", "bfloat16")


@pytest.mark.parametrize("bits", [4, 8])
def test_what_bitsandbytes_packed_is_multiplied_as_it_is(bits: int, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(LLAMA, tmp_path / "m"))
    how = transformers.BitsAndBytesConfig(
        load_in_4bit=bits == 4, load_in_8bit=bits == 8, bnb_4bit_quant_type="nf4"
    )
    model = transformers.AutoModelForCausalLM.from_pretrained(
        LLAMA, quantization_config=how, device_map=zoo.DEVICE, dtype=torch.float32
    )
    model.save_pretrained(folder)
    engine = opened(folder)
    ran = engine.effective()
    assert ran["as_shipped"].startswith(
        "bitsandbytes weights, multiplied as they are, in float32, bitsandbytes "
    )
    assert ran["quantisation"]["layers"] > 0
    quantised_here = opened(LLAMA, "nf4" if bits == 4 else "int8")
    quantised_here.effective()
    assert torch.equal(logits(engine._model), logits(quantised_here._model))


@pytest.mark.parametrize(
    ("stated", "precision", "why"),
    [
        ({"quant_method": "mxfp4"}, "fp32", r'\(mxfp4\): precision = "as_shipped" takes them so'),
        ({"quant_method": "gptq", "bits": 4}, "as_shipped", "gptq, which takes .*a CUDA GPU.*base_url"),
        ({"quant_method": "awq", "bits": 4}, "as_shipped", "awq, which takes .*a CUDA GPU.*base_url"),
        (
            {"quant_method": "compressed-tensors", "kv_cache_scheme": {"num_bits": 8, "type": "float"}},
            "as_shipped",
            "keeps keys and values in fewer bits .*base_url",
        ),
        ({"quant_method": "hqq"}, "as_shipped", "the format hqq, and gridc loads mxfp4, fp8"),
        ({"bits": 4}, "as_shipped", "the format None"),
        ("mxfp4", "as_shipped", ""),
        ({"quant_method": ["fp8"]}, "as_shipped", "the format"),
    ],
)
def test_what_cannot_be_taken_says_what_it_takes(
    stated: Any, precision: str, why: str, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(LLAMA, tmp_path / "m"))
    packed.state(folder, quantization_config=stated)
    with pytest.raises(UnavailableError, match=f"GC606.*{why}"):
        opened(folder, precision)


def test_a_checkpoint_that_states_no_format_needs_a_precision(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(LLAMA, tmp_path / "m"))
    config = json.loads((folder / "config.json").read_text("utf-8"))
    for name in ("dtype", "torch_dtype"):
        config.pop(name, None)
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(UnavailableError, match=r"GC606.*name a precision, such as bf16"):
        opened(folder)
    assert opened(folder, "bf16").effective()["dtype"] == "bfloat16"


def test_packed_weights_that_lack_most_of_a_model_are_refused(tmp_path: Path) -> None:
    folder = zoo.save("llama", tmp_path / "m")
    packed.pack(folder, "fp8")
    packed.state(folder, intermediate_size=10**7)
    with pytest.raises(UnavailableError, match=r"GC606.*lack"):
        opened(folder).effective()


def test_a_study_of_a_packed_checkpoint_says_on_its_card_what_was_shipped(tmp_path: Path) -> None:
    spec = make_study(tmp_path, 4)
    packed.pack(tmp_path / "models" / "llama", "compressed-tensors int4")
    refused = command("validate", "--check", cwd=tmp_path)
    assert (refused.returncode, 'precision = "as_shipped" takes them so' in refused.stderr) == (6, True)
    source = 'source = "path:models/llama"'
    spec.write_text(spec.read_text().replace(source, f'{source}\nprecision = "as_shipped"'))
    for arguments in (("run",), ("report",), ("verify",)):
        done = command(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    card = json.loads((tmp_path / "results" / "small" / "gridcard.json").read_text("utf-8"))
    said = {row["model"]: row["axis_receipt"]["environment"].get("as_shipped") for row in card["cards"]}
    assert said["qwen2"] is None
    assert said["llama"].startswith("compressed-tensors weights, unpacked to float32, compressed-tensors ")
