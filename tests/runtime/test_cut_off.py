"""A store whose making was cut off by a full disk is made anew, unless its journal names another file."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from gridc.diagnostics.errors import StoreError
from gridc.runtime.store.opening import SUPER_JOURNAL, has_tables, open_to_write


def cut_off(folder: Path) -> Path:
    """A file with a hot rollback journal beside it, as a process leaves it that stops within a write."""
    made, path = folder / "made.sqlite", folder / "store.sqlite"
    connection = sqlite3.connect(made, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE filler (text)")
    connection.executemany("INSERT INTO filler VALUES (?)", [("x" * 500,)] * 3000)
    for suffix in ("", "-journal"):
        shutil.copy(f"{made}{suffix}", f"{path}{suffix}")
    connection.close()
    return path


def test_a_store_that_a_full_disk_cut_off_is_made_anew(tmp_path: Path) -> None:
    path = cut_off(tmp_path)
    assert not has_tables(path)
    open_to_write(path).close()
    assert has_tables(path)


def test_a_journal_that_names_another_file_is_refused(tmp_path: Path) -> None:
    path = cut_off(tmp_path)
    with path.with_name("store.sqlite-journal").open("ab") as journal:
        journal.write(SUPER_JOURNAL)
    with pytest.raises(StoreError, match="readonly"):
        has_tables(path)
