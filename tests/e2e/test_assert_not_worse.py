"""`gridc.assert_not_worse` inside a real pytest."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gridc

ITEMS = 500
RIGHT = {"base": 300, "same": 298, "worse": 240, "crashed": 300, "unread": 300}
TESTS = """
import gridc

def test_same():
    gridc.assert_not_worse("base", "same", margin=5)

def test_worse():
    gridc.assert_not_worse("base", "worse", margin=5)

def test_undecided():
    gridc.assert_not_worse("base", "same", margin=.5)

def test_undecided_is_skipped():
    gridc.assert_not_worse("base", "same", margin=.5, undecided="skip")

def test_undecided_passes():
    gridc.assert_not_worse("base", "same", margin=.5, undecided="pass")

def test_crashed_is_never_skipped():
    gridc.assert_not_worse("base", "crashed", margin=5, undecided="skip")

def test_unread_is_never_skipped():
    gridc.assert_not_worse("base", "unread", margin=5, undecided="skip")

def test_unread_never_passes():
    gridc.assert_not_worse("base", "unread", margin=5, undecided="pass")

def test_worse_is_never_skipped():
    gridc.assert_not_worse("base", "worse", margin=5, undecided="skip")
"""


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, right in RIGHT.items():
        rows = [["model", "benchmark", "item", "question", "score", "state"]]
        for n in range(310 if name == "crashed" else ITEMS):
            state = "unreadable" if name == "unread" and n >= 350 else "read"
            rows.append([name, "quiz", str(n), f"What is {n} + 1?", str(int(n < right)), state])
        (tmp_path / name).mkdir()
        with (tmp_path / name / "quiz.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_test_fails_with_what_was_found(logs: Path) -> None:
    (logs / "test_release.py").write_text(TESTS, "utf-8")
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-rA",
        "--no-header",
        "test_release.py",
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(words, cwd=logs, capture_output=True, text=True, check=False, env=environment)
    ended = dict(
        line.split()[:2][::-1] for line in done.stdout.splitlines() if line.startswith(("PASSED", "FAILED"))
    )
    assert {name.rpartition("::")[2]: how for name, how in ended.items()} == {
        "test_same": "PASSED",
        "test_worse": "FAILED",
        "test_undecided": "FAILED",
        "test_undecided_passes": "PASSED",
        "test_worse_is_never_skipped": "FAILED",
        "test_crashed_is_never_skipped": "FAILED",
        "test_unread_is_never_skipped": "FAILED",
        "test_unread_never_passes": "FAILED",
    }
    assert "1 skipped" in done.stdout
    assert "NO-GO: worse/quiz is worse by more than 5 pp" in done.stdout
    assert "gridc view base --with worse" in done.stdout
    assert "gridc/study/__init__.py" not in done.stdout  # the line of the test is shown, and no other


def test_the_report_is_returned(logs: Path) -> None:
    assert gridc.assert_not_worse("base", "same", margin=5).exit_code == 0
