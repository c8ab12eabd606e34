"""What a child process finds: its folder, its path, its variables, and how long it may take.

`tests/adversary/test_children.py` watches every child that gridc has.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gridc import launch
from gridc.launch import (
    PIPE,
    absolute_words,
    environment,
    importable,
    run_within,
    start,
    surroundings,
    with_path,
)


def said(program: str, *needs: str, **variables: str) -> str:
    """What a Python program prints that is started so."""
    with start([sys.executable, "-c", program], needs, variables, stdout=PIPE) as child:
        return child.communicate()[0].decode()


def test_a_child_works_in_an_empty_folder_and_finds_no_open_file(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(handle, True)
    try:
        folder, files, handles = said(
            "import os; print(os.getcwd(), os.listdir(), os.listdir('/proc/self/fd'))"
        ).split(" ", 2)
    finally:
        os.close(handle)
    assert (folder != str(Path.cwd()), files) == (True, "[]")
    assert set(json.loads(handles.replace("'", '"'))) <= {"0", "1", "2", "3"}, "3 is the list itself"
    (Path(folder) / "torch.py").touch()
    assert said("import os; print(os.listdir())").strip() == "[]", (
        "a folder that is not empty any more is left"
    )


def test_keys_are_found_by_their_whole_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA_VISIBLE_DEVICES", "VLLM_API_KEY", "HF_HUB_TOKEN", "HF_HUB_OFFLINE", "UNKNOWN"):
        monkeypatch.setenv(name, "x")
    found = environment(("CUDA_*", "VLLM_*", "HF_HUB_*"), {"TZ": "UTC"})
    assert {"CUDA_VISIBLE_DEVICES", "HF_HUB_OFFLINE", "PATH"} <= found.keys()
    assert not {"VLLM_API_KEY", "HF_HUB_TOKEN", "UNKNOWN"} & found.keys()
    assert found["TZ"] == "UTC"
    assert environment(("VLLM_API_KEY",))["VLLM_API_KEY"] == "x"
    assert said("import os; print(os.environ.get('VLLM_API_KEY'))", "VLLM_*").strip() == "None"


def test_variables_are_passed_that_the_person_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert launch.passed() == ()
    monkeypatch.setenv("GRIDC_PASS", " HF_TOKEN, WANDB_DIR,")
    assert launch.passed() == ("HF_TOKEN", "WANDB_DIR")


def test_the_folder_of_work_is_imported_from_where_it_is_installed_or_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, packages = tmp_path / "study", tmp_path / "packages"
    for folder in (here, packages):
        folder.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", ["", str(here), str(packages), "/elsewhere"])
    monkeypatch.setattr("site.getsitepackages", lambda: [str(packages)])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert importable() == [str(packages), "/elsewhere"]
    monkeypatch.setenv("PYTHONPATH", ":.:")
    assert importable() == [str(packages), "/elsewhere"]
    monkeypatch.setenv("PYTHONPATH", f":{here}")
    assert importable() == [str(here), str(packages), "/elsewhere"]
    monkeypatch.delenv("PYTHONPATH")
    (packages / "study.pth").write_text(f"{here}\n")
    assert importable() == [str(here), str(packages), "/elsewhere"]


def test_a_python_child_has_this_path_and_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    with start(with_path("print(json.dumps([sys.path, sys.argv[1:]]))", "a", "b"), stdout=PIPE) as child:
        assert json.loads(child.communicate()[0]) == [sys.path[1:], ["a", "b"]]


def test_the_words_of_a_command_lead_to_where_it_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = str(Path.cwd())
    assert absolute_words("env/bin/vllm serve ./qwen --log ../log a/b /c") == [
        f"{here}/env/bin/vllm", "serve", f"{here}/qwen", "--log", f"{here}/../log", "a/b", "/c",
    ]  # fmt: skip
    assert absolute_words("vllm serve x") == ["vllm", "serve", "x"]
    assert absolute_words("") == []


def test_a_library_that_starts_processes_lets_them_inherit_what_a_child_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("PYTHONPATH", "/named")
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    before = dict(os.environ), list(sys.path), Path.cwd()
    program = "import json, os, sys; print(json.dumps([dict(os.environ), os.getcwd()]))"
    with surroundings((), {"PYTHONPATH": "/named", "NEW": "1"}):
        assert sys.path == before[1][1:]
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        os.environ["LATER"] = "stays"  # what the library sets for itself
    found, folder = json.loads(done.stdout)
    assert (found["PYTHONPATH"], found["NEW"], found["PATH"]) == ("/named", "1", os.environ["PATH"])
    assert "OPENAI_API_KEY" not in found
    assert folder != str(tmp_path)
    assert os.environ.pop("LATER") == "stays"
    assert (dict(os.environ), list(sys.path), Path.cwd()) == before


def test_a_program_is_bounded_by_cpu_time_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = run_within([sys.executable, "-c", "while True: pass"], 1)
    assert busy.returncode == -signal.SIGXCPU
    monkeypatch.setattr(launch, "PATIENCE", 0.25)  # a busy core may give it nothing for less
    code = "x = sum(range(60_000_000)); print(x > 0)"
    assert run_within([sys.executable, "-c", code], 60).stdout == b"True\n"


def test_a_program_that_waits_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "PATIENCE", 1.0)
    with pytest.raises(subprocess.TimeoutExpired):
        run_within(["sleep", "1000"], 1)
