"""Stores of other versions: older ones are read, reported and verified; those of the future are refused."""

import json
import lzma
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.store.events import KINDS
from gridc.runtime.store.store import Store

FIRST = Path(__file__).with_name("stores") / "gridc-0.1"
RESULTS = "164ee4c90665a7b85d43e7d974e4603f0c715f1f7c9eedf8eabf9233ab47c421"
"""What the run that made the store printed."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The folder of a small study that gridc 0.1 ran in five pieces: a budget, an interim look, a race, two
    shards merged."""
    folder = tmp_path / "old"
    shutil.copytree(FIRST, folder)
    results = folder / "results" / "small"
    results.mkdir(parents=True)
    packed = folder / "store.sqlite.xz"
    (results / "store.sqlite").write_bytes(lzma.decompress(packed.read_bytes()))
    packed.unlink()
    return folder


def store_of(folder: Path) -> Path:
    return folder / "results" / "small" / "store.sqlite"


def command(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    arguments = (sys.executable, "-m", "gridc", *arguments)
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)


def test_a_store_of_the_first_version_has_every_kind_of_event_it_could_have(old: Path) -> None:
    stamp = Plan(compile_spec(old / "gridcard.toml").study).study_digest
    with Store.open(store_of(old)) as store:
        kinds = {event.kind for event in store.events()}
        assert kinds <= KINDS.keys()
        assert len(kinds) == 12
        assert store.results_digest(stamp) == RESULTS
        assert store.progress(stamp).complete


def test_a_store_of_the_first_version_reports_and_verifies(old: Path) -> None:
    for arguments in (("status",), ("report",), ("verify",)):
        done = command(old, *arguments)
        assert done.returncode == 0, (arguments, done.stderr)
    assert "verified: " in done.stdout
    done = command(old, "run", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"] == RESULTS
    assert json.loads(done.stdout)["executed"] == 0
