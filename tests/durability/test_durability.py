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


def test_a_kill_at_a_system_call_and_one_at_an_instant() -> None:
    ran("tests.durability.kills", "--command", "run", "--kills", "2", "--seed", "12")


@strace
def test_the_disk_is_full_from_one_write_of_a_run_on() -> None:
    arguments = ("--command", "run", "--fault", "ENOSPC", "--most", "1")
    assert ran("tests.durability.faults", *arguments)["run ENOSPC: places"] > 3


@pytest.mark.slow
def test_a_thousand_kills() -> None:
    assert ran("tests.durability.kills", "--kills", "1000", "--seed", "1000")["kills"] == 1000


@pytest.mark.slow
@strace
def test_every_write_fails_once() -> None:
    ran("tests.durability.faults")
