"""What is loaded is what was hashed, and nothing else."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.compiler.inputs.models import hash_files
from gridc.diagnostics.errors import UnavailableError
from gridc.schema.spec import EngineSettings

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import safetensors.torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from gridc.runtime.engines.hf import loading  # noqa: E402
from gridc.runtime.engines.hf.engine import HfEngine  # noqa: E402

LLAMA = Path(gridc.__file__).parent / "builtin" / "models" / "pocket-llama"


@pytest.fixture(params=["read", "mapped"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How weights come from their files: read, as for a CPU, or mapped, as for a GPU."""
    weights, mapped = loading.Checkpoint.weights, request.param == "mapped"
    monkeypatch.setattr(loading.Checkpoint, "weights", lambda self, **_: weights(self, mapped))
    return str(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LLAMA, tmp_path / "m"))


def load(folder: Path, files: dict[str, str] | None = None) -> dict[str, Any]:
    known = dict(hash_files(folder)) if files is None else files
    return HfEngine("m", folder, "fp32", EngineSettings(device="cpu", threads=1), files=known).effective()


def edit(folder: Path, **values: Any) -> None:
    config = json.loads((folder / "config.json").read_text()) | values
    (folder / "config.json").write_text(json.dumps(config))


def shards(folder: Path, second: str) -> None:
    """Divide the weights in two files, of which the index calls the second `second`."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    half = len(weights) // 2
    parts = (list(weights)[:half], list(weights)[half:])
    names = ("model-1.safetensors", second)
    for name, part in zip(names, parts, strict=True):
        (folder / name).parent.mkdir(exist_ok=True)
        save_file({key: weights[key] for key in part}, folder / name, metadata={"format": "pt"})
    index = {"weight_map": {key: name for name, part in zip(names, parts, strict=True) for key in part}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_every_file_that_was_read_is_recorded_with_its_digest(folder: Path) -> None:
    assert load(folder)["files"] == dict(hash_files(folder))


def test_weights_in_several_files_are_loaded(folder: Path) -> None:
    shards(folder, "model-2.safetensors")
    assert load(folder)["parameters"] == load(LLAMA)["parameters"]


@pytest.mark.parametrize("second", ["sub/model-2.safetensors", "../model-2.safetensors"])
def test_an_index_that_leads_elsewhere_is_refused(folder: Path, second: str) -> None:
    shards(folder, second)
    with pytest.raises(UnavailableError, match=r"GC606.*not a weights file of the model's folder"):
        load(folder)


def test_an_index_with_an_absolute_path_is_refused(folder: Path, tmp_path: Path) -> None:
    shards(folder, str(tmp_path / "model-2.safetensors"))
    with pytest.raises(UnavailableError, match="GC606"):
        load(folder)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"transformers_weights": "other.safetensors"}, "transformers_weights"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, "quantised"),
        ({"num_attention_heads": 0}, ""),
        ({"model_type": "t5"}, ""),
        ({"num_hidden_layers": 9}, "lack"),
        ({"num_hidden_layers": 3_000_000}, "layers"),
        ({"attn_implementation": "kernels-community/flash-attn"}, "names code to run"),
        ({"text_config": {"_attn_implementation": "somebody/code@main"}}, "names code to run"),
    ],
)
def test_a_strange_configuration_is_a_coded_error(folder: Path, values: dict[str, Any], why: str) -> None:
    edit(folder, **values)
    with pytest.raises(UnavailableError, match=f"GC606.*{why}"):
        load(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_file_that_changed_since_it_was_hashed_is_not_loaded(folder: Path, name: str) -> None:
    files = dict(hash_files(folder))
    (folder / name).write_bytes((folder / name).read_bytes() + b" ")
    with pytest.raises(UnavailableError, match="GC642"):
        load(folder, files)


def test_weights_swapped_after_the_engine_was_opened_are_not_loaded(folder: Path) -> None:
    engine = HfEngine(
        "m", folder, "fp32", EngineSettings(device="cpu", threads=1), files=dict(hash_files(folder))
    )
    weights = load_file(folder / "model.safetensors")
    save_file({key: value + 1 for key, value in weights.items()}, folder / "model.safetensors")
    with pytest.raises(UnavailableError, match="GC642"):
        engine.effective()


@pytest.mark.parametrize("replaced", [False, True])
def test_weights_that_change_while_they_are_read_are_not_loaded(
    folder: Path, way: str, replaced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "read":
        pytest.skip("what was read into memory does not change")
    path, parse = folder / "model.safetensors", safetensors.torch.load_file
    other = shutil.copy(path, folder / "other")

    def meanwhile(name: Path) -> Any:
        if replaced:
            os.replace(other, path)
        else:
            with path.open("r+b") as file:
                file.seek(-4, os.SEEK_END)
                file.write(b"\0\0\0\0")
        return parse(name)

    monkeypatch.setattr(safetensors.torch, "load_file", meanwhile)
    with pytest.raises(UnavailableError, match=r"GC642.*changed while it was read"):
        load(folder)


@pytest.mark.parametrize("length", [0, 7, 5000])
def test_weights_that_were_cut_off_are_a_coded_error(folder: Path, length: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(UnavailableError, match=r"GC606.*is damaged"):
        load(folder)


def test_a_pipe_in_place_of_weights_does_not_hang(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")
    with pytest.raises(UnavailableError, match="GC606"):
        load(folder, {})


def test_an_adapter_is_refused(folder: Path) -> None:
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "/elsewhere"}')
    with pytest.raises(UnavailableError, match="adapter"):
        load(folder)
