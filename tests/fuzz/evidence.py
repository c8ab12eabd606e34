"""What must hold whatever is done to a study's store, lock, reports or bundle: nothing that changed is called
verified, nothing ends in a traceback, and nothing takes long."""

import json
import random
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gridc
from benchmarks.synthetic import make
from gridc.diagnostics.errors import GridcError
from gridc.reports.exchange import bundle
from tests.adversary.rooms.stores import AXES

MOST_SECONDS = 5.0
STORE = Path("results/synthetic/store.sqlite")

Dump = dict[str, list[tuple[Any, ...]]]


class Evidence:
    """A sound study and its bundle in a folder of their own. `attempt` changes a copy and verifies it."""

    def __init__(self, folder: Path) -> None:
        self._sound, self._copy = folder / "sound", folder / "copy"
        study = gridc.open(make(self._sound / "study", 1, AXES))
        study.report()
        study.bundle(self._sound / "bundle")
        self._dumps = {name: dump(self._sound / name) for name in self._stores()}

    @staticmethod
    def _stores() -> tuple[str, str]:
        return f"study/{STORE}", "bundle/results/store.sqlite"

    def attempt(self, rng: random.Random) -> str:
        """One change, and what verifying came to: codes, `verified` or `incomplete`. Raises `AssertionError`
        where a promise is broken."""
        shutil.rmtree(self._copy, ignore_errors=True)
        shutil.copytree(self._sound, self._copy)
        change = rng.choice(CHANGES)
        where = rng.choice(("study", "bundle"))
        told = change(self._copy / where, where == "bundle", rng)
        begun = time.process_time()
        try:
            done = gridc.open(self._copy / where / "gridcard.toml").verify()
        except GridcError as error:
            assert error.diagnostics
            came = " ".join(sorted({finding.code for finding in error.diagnostics}))
        else:
            came = "verified" if done.complete else "incomplete"
        assert time.process_time() - begun < MOST_SECONDS, f"{told} took too long"
        if came == "verified":
            assert self._unchanged(where), f"{told} was not seen"
        return came

    def _unchanged(self, where: str) -> bool:
        """Whether the copy still says what the sound one does, by plain SQLite and plain JSON."""
        for name, sound in self._dumps.items():
            if name.startswith(where) and dump(self._copy / name) != sound:
                return False
        texts = [
            path for path in (self._sound / where).rglob("*") if path.suffix in (".json", ".lock", ".md")
        ]
        for path in texts:
            there = (self._copy / path.relative_to(self._sound)).read_bytes()
            if there != path.read_bytes() and not _same_json(there, path.read_bytes()):
                return False
        return True


def _same_json(one: bytes, other: bytes) -> bool:
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


def dump(path: Path) -> Dump | None:
    """Every row of every table and the schema; None where SQLite cannot read them. When a migration was
    applied is no content."""
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: sorted(db.execute(f'SELECT * FROM "{name}"'), key=repr) for name in names}
        rows["_sqlite_migrations"] = [row[:3] for row in rows["_sqlite_migrations"]]
        return {**rows, "": sorted(db.execute("SELECT type, name, sql FROM sqlite_master"), key=repr)}
    except (sqlite3.Error, KeyError):
        return None
    finally:
        db.close()


Change = Callable[[Path, bool, random.Random], str]


def flip_bits(folder: Path, is_bundle: bool, rng: random.Random) -> str:
    """A few bits of the store's file."""
    path = _store(folder, is_bundle)
    data = bytearray(path.read_bytes())
    places = [rng.randrange(len(data)) for _ in range(rng.choice((1, 1, 1, 4, 32)))]
    for place in places:
        data[place] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    return _relisted(folder, is_bundle, rng, path, f"bits at {places[:4]}")


def cut(folder: Path, is_bundle: bool, rng: random.Random) -> str:
    """The store's file, cut off."""
    path = _store(folder, is_bundle)
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))])
    return _relisted(folder, is_bundle, rng, path, "a cut")


def edit_rows(folder: Path, is_bundle: bool, rng: random.Random) -> str:
    """A cell of a table, a row less, or a row more; as SQLite allows it."""
    path = _store(folder, is_bundle)
    db = sqlite3.connect(path)
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = rng.choice([name for name in names if not name.startswith("_")])
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    keys = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[5]] or ["rowid"]
    column, at = rng.choice(columns), f"({', '.join(keys)})"
    count = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    place = rng.randrange(max(count, 1))
    chosen = f"{at} = (SELECT {', '.join(keys)} FROM {table} LIMIT 1 OFFSET {place})"
    value = rng.choice(
        (f"{column} || 'x'", f"replace({column}, '1', '2')", "NULL", "0", "1 - " + column, "'{}'", "'[[[['",
         f"(SELECT {column} FROM {table} ORDER BY {column} DESC LIMIT 1)", "x'00'", "-9007199254740993", "''")
    )  # fmt: skip
    statement = rng.choice(
        (f"UPDATE {table} SET {column} = {value} WHERE {chosen}",) * 4
        + (f"DELETE FROM {table} WHERE {chosen}",
           f"INSERT INTO {table} SELECT {', '.join('NULL' if name == column else name for name in columns)} "
           f"FROM {table} WHERE {chosen}")
    )  # fmt: skip
    try:
        db.execute(statement)
        db.commit()
    except sqlite3.Error:
        pass  # the schema does not allow it: then nothing changed
    db.close()
    return _relisted(folder, is_bundle, rng, path, statement)


def change_text(folder: Path, is_bundle: bool, rng: random.Random) -> str:
    """A byte of the lock, a card, the certificate or a manifest."""
    names = [path for path in folder.rglob("*") if path.suffix in (".json", ".lock", ".md", ".txt")]
    path = rng.choice(sorted(path for path in names if path.is_file() and path.stat().st_size))
    data = bytearray(path.read_bytes())
    place = rng.randrange(len(data))
    data[place : place + rng.choice((0, 1, 1, 9))] = rng.choice((b"", b"9", b'"', b"\xff", b"[" * 3000, b"}"))
    path.write_bytes(data)
    return _relisted(folder, is_bundle, rng, path, f"{path.name} at {place}")


CHANGES: tuple[Change, ...] = (flip_bits, edit_rows, edit_rows, change_text, cut)


def _store(folder: Path, is_bundle: bool) -> Path:
    return folder / "results/store.sqlite" if is_bundle else folder / STORE


def _relisted(folder: Path, is_bundle: bool, rng: random.Random, path: Path, told: str) -> str:
    """Mostly the manifest of a bundle is made to agree, or every change would be found by it alone."""
    name = path.relative_to(folder).as_posix()
    manifest = folder / bundle.MANIFEST
    if is_bundle and path != manifest and rng.random() < 0.9:
        lines = manifest.read_text().splitlines()
        fresh = [
            f"{bundle._digest_of(path)}  {name}" if line.endswith(f"  {name}") else line for line in lines
        ]
        manifest.write_text("".join(f"{line}\n" for line in fresh))
    return f"{name}: {told}"
