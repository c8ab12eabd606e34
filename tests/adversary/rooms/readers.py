"""What is shown in the place of what was verified."""

import shutil
import sqlite3
from pathlib import Path

from _pytest.monkeypatch import MonkeyPatch

import gridc
from gridc.diagnostics.errors import GridcError
from gridc.runtime.store import looked
from tests.adversary.attack import attack, instead, nothing
from tests.adversary.rooms.stores import HOLDER, studied


def rows_exchanged(store: Path, one: str, other: str) -> None:
    """Exchange the numbers of two rows of `call` behind the back of its indexes, which go on leading to where
    they were: who looks a call up by its digest reads the other one, who reads the table does not."""
    db = sqlite3.connect(store)
    db.execute("PRAGMA journal_mode = DELETE")
    kept = db.execute("SELECT rowid, type, name, tbl_name, rootpage, sql FROM sqlite_master").fetchall()
    (version,) = db.execute("PRAGMA schema_version").fetchone()
    db.execute("PRAGMA writable_schema = ON")
    db.execute("DELETE FROM sqlite_master WHERE type = 'index' AND tbl_name = 'call'")
    db.execute(
        "UPDATE sqlite_master SET sql = replace(sql, 'id TEXT PRIMARY KEY', 'id TEXT') WHERE name = 'call'"
    )
    db.execute(f"PRAGMA schema_version = {version + 1}")
    db.commit()
    db.close()
    db = sqlite3.connect(store)
    places = [
        db.execute("SELECT rowid FROM call WHERE id = ?", [call]).fetchone()[0] for call in (one, other)
    ]
    for call, place in ((one, -1), (other, places[0]), (one, places[1])):
        db.execute("UPDATE call SET rowid = ? WHERE id = ?", [place, call])
    db.execute("PRAGMA writable_schema = ON")
    db.execute("DELETE FROM sqlite_master")
    db.executemany("INSERT INTO sqlite_master (rowid, type, name, tbl_name, rootpage, sql)"
                   " VALUES (?, ?, ?, ?, ?, ?)", kept)  # fmt: skip
    db.execute(f"PRAGMA schema_version = {version + 2}")
    db.commit()
    db.close()


@attack(HOLDER, "two calls change places in their table, and its index leads to the answer of the other",
        "GC605", instead((looked, "require_sound", nothing)))  # fmt: skip
def index_that_lies(folder: Path, _: MonkeyPatch) -> set[str]:
    store = studied(folder) / "store.sqlite"
    shutil.copy(store, folder / "before.sqlite")
    db = sqlite3.connect(store)
    calls = db.execute("SELECT min(id), max(id) FROM call WHERE kind = 'generate' GROUP BY model").fetchone()
    db.close()
    rows_exchanged(store, *calls)
    try:
        shown = gridc.diff(str(folder / "before.sqlite"), str(store))
    except GridcError as error:
        return {finding.code for finding in error.diagnostics}
    assert not shown.equal
    return set()
