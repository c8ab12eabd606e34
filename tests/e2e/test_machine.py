"""`gridc plan` says what local models need of this machine, and a run refuses what has no room."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gridc
from gridc.diagnostics.errors import UnavailableError
from gridc.runtime.engines.hf import memory
from gridc.runtime.engines.hf.memory import GIB, MIB, FreeMemory
from gridc.runtime.engines.hf.tensor_files import stored_tensors
from gridc.runtime.run import _with_room
from gridc.runtime.store.write import Writer
from tests.e2e.conftest import command

pytest.importorskip("torch")
pytest.importorskip("transformers")

MODELS = Path(gridc.__file__).parent / "builtin" / "models"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert command("init", "--yes", cwd=tmp_path).returncode == 0
    return tmp_path


def room(monkeypatch: pytest.MonkeyPatch, free: int | None, device: str = "cpu") -> None:
    """A machine with so many bytes free."""
    known = None if free is None else FreeMemory(free, "a machine")
    monkeypatch.setattr(memory, "free_memory", lambda kind: known)
    monkeypatch.setattr(memory, "device_kind", lambda asked: device)


def edit(folder: Path, text: str, name: str = "gridcard.toml") -> None:
    path = folder / name
    path.write_text(path.read_text("utf-8") + text, "utf-8")


def said(folder: Path) -> str:
    return " ".join(command("plan", cwd=folder).stdout.split())


def test_a_plan_says_what_each_local_model_needs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room(monkeypatch, 2 * GIB)
    edit(folder, "\n[engine]\nkv_mib = 32\n")
    rows = json.loads(command("plan", "--json", cwd=folder).stdout)["memory"]
    assert [row["model"] for row in rows] == ["pocket-qwen2", "pocket-mistral", "pocket-llama"]
    for row in rows:
        numbers = sum(tensor.numbers for tensor in stored_tensors(MODELS / row["model"]))
        assert row["weights"] == 4 * numbers
        assert row["kv"] == 32 * MIB
        assert 0 < row["call"] < row["kv"] < row["peak"]
        assert (row["free"], row["lacks"], row["device"]) == (2 * GIB, None, "cpu")
    text = said(folder)
    assert "memory: pocket-qwen2 at fp32 on cpu: about" in text
    assert "; 2.0 GiB are free" in text
    assert "does not fit" not in text
    assert "as_shipped" not in text
    assert "vllm" not in text


def test_what_does_not_fit_is_planned_and_refused_with_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room(monkeypatch, MIB)
    text = said(folder)
    assert "does not fit: `pocket-qwen2` at fp32 needs" in text
    assert "and 1 MiB of a machine are free: " in text
    opened = gridc.open(folder / "gridcard.toml")
    assert "Does not fit: `pocket-qwen2`" in opened.plan()._repr_html_()
    with pytest.raises(UnavailableError) as refused:
        opened.run()
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "GC608"
    assert diagnostic.message.startswith("`pocket-")
    assert diagnostic.message.endswith("and 1 MiB of a machine are free")
    assert "base_url" in str(diagnostic.help)


def test_an_unknown_memory_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room(monkeypatch, None)
    assert "are free" not in said(folder)


def test_a_person_with_a_gpu_is_told_of_shipped_weights_and_vllm(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room(monkeypatch, 80 * GIB, "cuda")
    shutil.copytree(MODELS / "pocket-llama", folder / "half")
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "half" / "model.safetensors")
    save_file(
        {name: weight.bfloat16() for name, weight in weights.items()}, folder / "half" / "model.safetensors"
    )
    config = json.loads((folder / "half" / "config.json").read_text("utf-8")) | {"dtype": "bfloat16"}
    (folder / "half" / "config.json").write_text(json.dumps(config), "utf-8")
    spec = (folder / "gridcard.toml").read_text("utf-8").replace("builtin:pocket-llama", "path:half")
    (folder / "gridcard.toml").write_text(spec, "utf-8")
    plan = json.loads(command("plan", "--json", cwd=folder).stdout)
    rows = {row["model"]: row for row in plan["memory"]}
    (name,) = (name for name, row in rows.items() if row["shipped"] < row["weights"])
    assert rows[name]["shipped"] * 2 == rows[name]["weights"]
    assert rows[name]["kv"] == (80 * GIB - rows[name]["weights"]) // 2 // MIB * MIB
    shipped, vllm = plan["advice"]
    assert shipped.startswith(f"{name} is computed in fp32")
    assert 'precision = "as_shipped"' in shipped
    assert 'engine = "vllm"' in vllm
    stated = spec.replace('source = "path:half"', 'source = "path:half"\nprecision = "as_shipped"')
    (folder / "gridcard.toml").write_text(stated, "utf-8")
    assert json.loads(command("plan", "--json", cwd=folder).stdout)["advice"] == [vllm]


def test_init_says_what_a_large_model_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room(monkeypatch, 8 * GIB)
    benchmark = tmp_path / "items.csv"
    benchmark.write_text("question,A,B,answer\nOne?,1,2,A\nTwo?,1,2,B\nThree?,3,2,A\n", "utf-8")
    shutil.copytree(MODELS / "pocket-llama", tmp_path / "m")
    words = ("init", "--benchmark", "items.csv", "--model", "path:m", "--yes", "--force")
    assert "as_shipped" not in command(*words, cwd=tmp_path).stdout
    monkeypatch.setattr(
        memory, "weight_bytes", lambda tensors, config, precision, *_: GIB * (5 if precision == "fp32" else 2)
    )
    done = " ".join(command(*words, cwd=tmp_path).stdout.split())
    assert '`precision = "as_shipped"` takes 2.0 GiB' in done


def test_a_plan_imports_no_torch_for_a_model_that_is_not_here(tmp_path: Path) -> None:
    assert command("init", "--yes", cwd=tmp_path).returncode == 0
    path = tmp_path / "gridcard.toml"
    path.write_text(
        path.read_text("utf-8").replace("builtin:pocket-llama", f"hf:some/model@{'0' * 40}"), "utf-8"
    )
    code = (
        "import sys; from gridc.cli import main; main(['plan'], standalone_mode=False); "
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pocket-qwen2 at fp32" in " ".join(done.stdout.split())


def test_a_resumed_run_takes_the_bound_that_was_recorded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "usual_kv_mib", lambda device, weights: 7)
    opened = gridc.open(folder / "gridcard.toml")
    report = opened.run()
    compiled = opened._place.compiled()
    spec, models = compiled.spec, compiled.study.models
    identity = models["pocket-llama"]
    with Writer(report.store) as store:
        assert _with_room(spec, store, identity, "fp32", False).engine.kv_mib == 7
        assert _with_room(spec, store, identity, "fp32", True).engine.kv_mib == 7
        assert _with_room(spec, store, identity, "bf16", False).engine.kv_mib is None
        assert _with_room(spec, store, identity, "bf16", True).engine.kv_mib == memory.USUAL_KV_MIB
        own = spec.model_copy(update={"engine": spec.engine.model_copy(update={"kv_mib": 5})})
        assert _with_room(own, store, identity, "fp32", True).engine.kv_mib == 5
