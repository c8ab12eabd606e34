"""Stores of other versions: older ones are read, reported and verified; those of the future are refused."""

import json
import lzma
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic
from gridc.reports import verification, verified_samples
from gridc.runtime.store.events import KINDS
from gridc.runtime.store.store import Store
from tests.e2e.conftest import Done, command

FIRST = Path(__file__).with_name("stores") / "gridc-0.1"
RESULTS = "a523013b75948a6f8bebcaa1948a8408dee773352920bf625cde7fac3c32b21a"
"""What the run that made the store printed."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The folder of a small study that gridc 0.1 ran in five pieces: a budget, an interim look, a race,
    a shard, the rest."""
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


def test_a_store_of_the_first_version_has_every_kind_of_event_it_could_have(old: Path) -> None:
    stamp = Plan(compile_spec(old / "gridcard.toml").study).study_digest
    with Store.open(store_of(old)) as store:
        kinds = {event.kind for event in store.events()}
        assert kinds <= KINDS.keys()
        assert len(kinds) == 11
        assert store.results_digest(stamp) == RESULTS
        assert store.progress(stamp).complete


def read_otherwise(done: Done) -> None:
    """Everything verifies but outcomes that gridc reads otherwise by now, and it says who read them."""
    assert done.returncode == 7
    assert set(re.findall(r"GC\d{3}", done.stderr)) == {"GC705"}
    assert "the stored outcome is not what the answer scores to" in done.stderr
    assert (
        "the lock was made by gridc 0.1.0 and says of no part which version read the answers" in done.stderr
    )


def verified_as_then(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Done:
    """What `gridc verify` says of a gridc that reads answers as they were read then, to which each outcome is
    what its answer scores to; before it, what it says of one that reads them otherwise."""
    read_otherwise(command("verify", cwd=folder))
    samples = verified_samples.of_samples

    def as_then(*given: Any) -> Iterator[Diagnostic]:
        return (found for found in samples(*given) if found.code != "GC705")

    with monkeypatch.context() as patch:
        patch.setattr(verification, "of_samples", as_then)
        done = command("verify", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "verified: " in done.stdout
    return done


def test_a_store_of_the_first_version_reports_and_verifies(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("status", "report"):
        done = command(name, cwd=old)
        assert done.returncode == 0, (name, done.stderr)
    verified_as_then(old, monkeypatch)
    done = command("run", "--json", cwd=old)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"] == RESULTS
    assert json.loads(done.stdout)["executed"] == 0


BY_HAND = Path(__file__).with_name("stores") / "digests-by-hand"
LEFT_OUT = "attempt (without a call), attempt.submission, submission"
"""What the digests did not cover while they named their columns one by one."""


@pytest.mark.parametrize("name", ["study", "bundle"])
def test_a_store_whose_digests_named_their_columns_verifies_and_what_they_left_out_is_told(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(BY_HAND / f"{name}.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    if name == "study":  # its reports are in the words of then
        assert command("report", cwd=tmp_path).returncode == 0
        done = verified_as_then(tmp_path, monkeypatch)
        assert f"but what the run recorded none of: {LEFT_OUT}\n" in done.stdout
    else:
        done = command("verify", cwd=tmp_path)
        assert "as other code than this gridc's wrote it: report.html" in done.stdout, done.stderr
    db = sqlite3.connect(next(tmp_path.rglob("store.sqlite")))
    db.execute("UPDATE attempt SET usd = 7 WHERE call IS NOT NULL")
    db.commit()
    db.close()
    if name == "study":
        assert "GC706" in command("verify", cwd=tmp_path).stderr


def test_a_run_over_an_older_store_covers_it_whole(tmp_path: Path) -> None:
    with tarfile.open(BY_HAND / "study.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    done = command("run", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["executed"] == 0, done.stderr
    assert command("report", cwd=tmp_path).returncode == 0
    done = command("verify", cwd=tmp_path)
    assert "the recorded one, and so are those of every table and column\n" in done.stdout, done.stderr


def table_names(path: Path) -> set[str]:
    db = sqlite3.connect(path)
    found = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    db.close()
    return found


def before_batches(folder: Path) -> Path:
    """The store as it was before its second migration: answers that belong to no batch."""
    path = store_of(folder)
    db = sqlite3.connect(path)
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("DELETE FROM _sqlite_migrations WHERE name <> 'm001_first'")
    db.execute("ALTER TABLE call DROP COLUMN batch")
    db.execute("DROP TABLE batch")
    db.commit()
    db.close()
    return path


def test_a_store_from_before_batches_is_read_without_being_changed(old: Path) -> None:
    path = before_batches(old)
    before = path.read_bytes()
    done = command("status", "--json", cwd=old)
    assert done.returncode == 0, done.stderr
    stamp = Plan(compile_spec(old / "gridcard.toml").study).study_digest
    with Store.open(path) as store:
        assert store.results_digest(stamp) == RESULTS
        assert store.spent(stamp) == []
    assert path.read_bytes() == before
    assert "batch" not in table_names(path)


def test_a_store_from_before_batches_is_brought_up_to_date_by_what_writes_to_it(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = before_batches(old)
    done = command("report", cwd=old)
    assert done.returncode == 0, done.stderr
    verified_as_then(old, monkeypatch)
    assert "batch" in table_names(path)


@pytest.mark.parametrize("name", ["status", "report", "verify", "run"])
def test_a_store_of_the_future_is_neither_read_nor_written(old: Path, name: str) -> None:
    db = sqlite3.connect(store_of(old))
    db.execute("INSERT INTO _sqlite_migrations VALUES (99, 'gridc', 'm999_telepathy', '2031-01-01')")
    db.execute("ALTER TABLE call ADD COLUMN thoughts TEXT")
    db.commit()
    db.close()
    before = store_of(old).read_bytes()
    done = command(name, cwd=old)
    assert done.returncode == 6, done.stdout
    assert "GC612" in done.stderr
    assert "m999_telepathy" in done.stderr
    assert store_of(old).read_bytes() == before
