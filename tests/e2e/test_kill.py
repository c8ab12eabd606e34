"""A run that is killed at any instant and taken up again ends as one that never was."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from gridc.runtime.store.tables import APPLICATION_ID
from tests.e2e.conftest import command, make_study

STORE = Path("results/small/store.sqlite")
Finished = dict[str, tuple[str, str]]


def start(folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "gridc", "run", "--json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def finished_calls(folder: Path) -> Finished:
    """When each answered call was finished and with what, straight from SQLite."""
    if not (folder / STORE).exists():
        return {}
    with sqlite3.connect(folder / STORE) as db:
        try:
            rows = db.execute("SELECT id, finished, answer_digest FROM call WHERE answer IS NOT NULL")
            return {call: (when, answer) for call, when, answer in rows}
        except sqlite3.OperationalError:  # killed before the tables were made
            return {}


def uninterrupted(folder: Path) -> tuple[str, float]:
    """The results digest of a run that nothing stops, and how long it takes."""
    begun = time.monotonic()
    out, _ = start(folder).communicate()
    return json.loads(out)["results"], time.monotonic() - begun


def kill_and_resume(study: Path, folder: Path, after: float) -> tuple[str, int]:
    """The results digest after a kill, and how many calls were finished when it came."""
    shutil.copytree(study, folder)
    running = start(folder)
    time.sleep(after)
    return resumed(folder, running)


def resumed(folder: Path, running: "subprocess.Popen[bytes]") -> tuple[str, int]:
    """Kill a run and resume it here; the results digest, and how many calls were finished at the kill."""
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    before = finished_calls(folder)
    done = json.loads(command("run", "--json", cwd=folder).stdout)
    after_calls = finished_calls(folder)
    assert done["executed"] == len(after_calls) - len(before)
    assert before.items() <= after_calls.items(), "a finished call was executed again"
    return done["results"], len(before)


def kills(folder: Path, items: int, count: int, seed: int) -> None:
    study = folder / "study"
    make_study(study, items)
    subprocess.run([sys.executable, "-m", "gridc", "stamp"], cwd=study, check=True, capture_output=True)
    shutil.copytree(study, folder / "whole")
    expected, seconds = uninterrupted(folder / "whole")
    instants = random.Random(seed)
    found = [
        kill_and_resume(study, folder / str(number), instants.uniform(0.1, seconds))
        for number in range(count)
    ]
    assert [results for results, _ in found] == [expected] * count
    print("calls finished at each kill:", [finished for _, finished in found])


def test_a_kill_after_the_first_answers(study: Path) -> None:
    """The study is one that was finished here: only its store is taken away."""
    expected = json.loads(command("run", "--json", cwd=study).stdout)["results"]
    (study / STORE).unlink()
    running = start(study)
    while running.poll() is None and not finished_calls(study):
        time.sleep(0.02)
    assert resumed(study, running)[0] == expected


@pytest.mark.slow
def test_twenty_kills(tmp_path: Path) -> None:
    kills(tmp_path, items=48, count=20, seed=20)


@pytest.mark.parametrize("written", [b"", None], ids=["before the first page", "before the tables"])
def test_a_run_that_stopped_while_it_made_its_store_goes_on(study: Path, written: bytes | None) -> None:
    store = study / STORE
    store.parent.mkdir(parents=True, exist_ok=True)
    if written is None:
        with closing(sqlite3.connect(store)) as db:
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute("PRAGMA journal_mode = WAL")
    else:
        store.write_bytes(written)
    done = command("run", cwd=study)
    assert done.returncode == 0, done.stderr
