"""What nobody foresaw ends with a code and exit 6, since exit 1 is a difference. Load fails nothing."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import gridc
from gridc.cli import main
from gridc.study import OpenStudy
from tests.adversary.hostile import HOSTILE
from tests.adversary.studies import write_study
from tests.museum.conftest import Room


class Panic(BaseException):
    """As Rust's, no `Exception`."""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MemoryError(), "GC620"),
        (ImportError("libx.so: failed to map segment from shared object"), "GC620"),
        (OSError(12, "Cannot allocate memory"), "GC620"),
        (RecursionError("too deep"), "GC621"),
        (Panic("index out of bounds"), "GC621"),
        (ImportError("no such name"), "GC621"),
    ],
)
def test_what_nobody_foresaw_is_a_coded_error(
    error: BaseException, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(OpenStudy, "plan", fails)
    done = CliRunner().invoke(main, ["plan", str(write_study(tmp_path))])
    assert done.exit_code == 6, done.output
    assert code in done.stderr
    assert "Traceback" not in done.output


def test_the_whole_traceback_is_shown_when_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr(OpenStudy, "plan", fails)
    monkeypatch.setenv("GRIDC_TRACEBACK", "1")
    done = CliRunner().invoke(main, ["plan", str(write_study(tmp_path))])
    assert isinstance(done.exception, RecursionError)


@pytest.mark.parametrize("command", ["validate", "plan"])
@pytest.mark.parametrize("kib", [50_000, 900_000])
def test_too_little_memory_has_a_code(command: str, kib: int, tmp_path: Path) -> None:
    """Too little to load numpy, and too little for a tokenizer. Between them libraries in C may end the
    process themselves, and nothing in it can say otherwise."""
    spec = write_study(tmp_path)
    HOSTILE["replace-of-nothing"](Room(tmp_path).model())
    line = f"ulimit -v {kib}; exec {sys.executable} -m gridc {command} {spec}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or (done.returncode == 6 and "GC620" in done.stderr), done.stderr


def test_a_machine_that_stands_still_for_hours_fails_no_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits are of CPU time: here hours pass between any two looks at a clock."""
    pytest.importorskip("transformers")
    hours = iter(range(10**9))
    began = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: began + 3600.0 * next(hours))
    study = gridc.open(write_study(tmp_path))
    study.validate(check=True)
    study.stamp()
    study.plan()
    study.run()
    study.report()
    study.verify()
