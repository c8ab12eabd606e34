"""The parts of the slow tests, and the time that they keep."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools import slow

ROOT = Path(__file__).resolve().parents[1]
SLOW = """
import subprocess
import time

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", range(4))
def test_short(number):
    assert number < 9


def test_hangs():
    left = [open(__file__)]
    left.append(left)
    try:
        subprocess.run(["sleep", "60"], check=True)
    except Exception:
        pass


def test_known_to_be_long():
    raise AssertionError("it is begun")
"""


def test_parts_take_equally_long_and_keep_neighbours_together() -> None:
    seconds = {"a.py::long": 60.0, "a.py::short": 10.0, "b.py::one": 30.0}
    tests = [
        "a.py::long",
        "a.py::short[1]",
        "a.py::short[2, [3]]",
        "b.py::one[x]",
        "b.py::one[y]",
        "c.py::new",
    ]
    seconds["c.py::new"] = 20.0
    assert slow.parts(tests, seconds, 3) == [1, 2, 2, 2, 3, 3]
    assert slow.parts(tests, seconds, 1) == [1] * 6
    assert set(slow.parts([f"d.py::new[{number}]" for number in range(80)], {}, 8)) == set(range(1, 9))


def test_a_test_takes_seconds_of_each_day_and_a_file_keeps_its_quickest() -> None:
    seconds = {"a.py::table": slow.DAILY / 5, "a.py::long": 9.0, "b.py::longer": 30.0, "b.py::long": 9.0}
    tests = [f"a.py::table[{number}]" for number in range(10)]
    tests += ["a.py::long", "a.py::new", "b.py::longer", "b.py::long[1]", "b.py::long[2]"]
    quick = [test for test, long in zip(tests, slow.too_long(tests, seconds), strict=True) if not long]
    assert quick == [*(f"a.py::table[{number}]" for number in range(0, 10, 2)), "a.py::new", "b.py::long[1]"]
    assert not any(slow.too_long(["b.py::longer"], seconds)), "a test that is asked for by its name is run"


def test_no_test_is_timed_that_is_not_there() -> None:
    for test in slow.known():
        path, _, name = test.partition("::")
        assert (ROOT / path).is_file() and f"def {name}(" in (ROOT / path).read_text("utf-8"), test


def test_what_is_not_done_in_time_is_named_and_no_failure(tmp_path: Path) -> None:
    for folder in ("tests", "tools"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests")
    shutil.copy(ROOT / "tools" / "slow.py", tmp_path / "tools")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "tests" / "test_slow.py").write_text(SLOW, "utf-8")
    known = tmp_path / "tests" / "seconds.json"
    known.write_text('{"tests/test_slow.py::test_known_to_be_long": 900}', "utf-8")

    def run(*options: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-m", "slow", *options],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    said = run("--within", "5", "--update-seconds")
    assert "4 passed, 2 skipped" in said
    assert "ended when the time was up: tests/test_slow.py::test_hangs" in said
    assert "not begun, for want of time: tests/test_slow.py::test_known_to_be_long" in said
    assert '"tests/test_slow.py::test_short": 0.1' in known.read_text("utf-8")
    assert "test_hangs" not in known.read_text("utf-8")
    assert "1/6 tests collected" in run("--slow-part", "2/2", "--collect-only")
