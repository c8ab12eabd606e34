"""A store of a few pages whose tables have no end: nothing is read of it before its pages were looked at."""

import lzma
import subprocess
import sys
from pathlib import Path

import pytest
from sqlite_utils import Database

from gridc.runtime.store.tables import migrations
from tests.adversary.rooms.bundles import bundled, listed
from tests.adversary.rooms.stores import studied, without_end
from tests.runtime.test_formats import FIRST

SECONDS = 60
"""Far more than a look at a small file takes; the tables have 10^20 rows."""


@pytest.mark.parametrize("table", ["event", "study", "call"])
def test_verifying_ends(table: str, tmp_path: Path) -> None:
    without_end(studied(tmp_path) / "store.sqlite", table, levels=8)
    assert verified(tmp_path).startswith("error[GC605]")


def test_verifying_a_bundle_ends(tmp_path: Path) -> None:
    made = bundled(tmp_path)
    without_end(made / "results" / "store.sqlite", "event", levels=8)
    listed(made, "results/store.sqlite")
    assert verified(made).startswith("error[GC605]")


def test_opening_a_store_of_an_older_gridc_ends(tmp_path: Path) -> None:
    """What a migration reads of it, too."""
    path = tmp_path / "store.sqlite"
    path.write_bytes(lzma.decompress((FIRST / "store.sqlite.xz").read_bytes()))
    db = Database(path)
    migrations.apply(db, stop_before="m004_named_work")
    db.close()
    without_end(path, "batch", levels=8)
    command = [sys.executable, "-m", "gridc", "sql", "select 1", "--store", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.stderr.startswith("error[GC605]"), done


def verified(folder: Path) -> str:
    """What `gridc verify` says first."""
    command = [sys.executable, "-m", "gridc", "verify", str(folder / "gridcard.toml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.stderr
