"""A study survives kills and failing disks at every instant of its life. `make slow` has the long runs."""

import json
import shutil
import subprocess
import sys
from typing import Any

import pytest

strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


def ran(*arguments: str) -> dict[str, Any]:
    """What a program of this folder says. It fails where something was lost, repeated or changed."""
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    seen: dict[str, Any] = json.loads(done.stdout)
    print(seen)
    return seen


def test_some_kills() -> None:
    ran("tests.durability.kills", "--kills", "12", "--seed", "12")


@strace
def test_a_full_disk_and_kills_at_system_calls_of_a_run() -> None:
    arguments = ("--command", "run", "--fault", "ENOSPC", "--fault", "SIGKILL", "--most", "3")
    assert ran("tests.durability.faults", *arguments)["run SIGKILL: places"] > 3


@pytest.mark.slow
def test_a_thousand_kills() -> None:
    assert ran("tests.durability.kills", "--kills", "1000", "--seed", "1000")["kills"] == 1000


@pytest.mark.slow
@strace
def test_every_write_fails_once() -> None:
    ran("tests.durability.faults")
