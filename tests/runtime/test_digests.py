"""What the digests of a run's end cover: every table and column, whatever the schema becomes."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlite_utils import Database

from benchmarks.synthetic import fill, make
from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.store.digests import EXCEPTIONS, covered, of_tables, uncovered
from gridc.runtime.store.store import Store
from gridc.runtime.store.tables import TABLES, migrations


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    """A finished store, as bytes, and its stamp."""
    spec = make(tmp_path_factory.mktemp("filled"), 1)
    path = spec.parent / "results" / "synthetic" / "store.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    return path.read_bytes(), Plan(compile_spec(spec).study).study_digest


@pytest.fixture
def db(filled: tuple[bytes, str], tmp_path: Path) -> Database:
    path = tmp_path / "store.sqlite"
    path.write_bytes(filled[0])
    return Database(sqlite3.connect(path))


@pytest.fixture
def digests(filled: tuple[bytes, str], db: Database) -> Callable[[], dict[str, str | None]]:
    return lambda: of_tables(db, filled[1], "TRUE", [], covered(db))


def test_every_column_of_the_schema_is_covered_or_is_an_exception_that_is_there() -> None:
    db = Database(memory=True)
    migrations.apply(db)
    columns = {
        f"{table}.{row[1]}": table for table in TABLES for row in db.execute(f"PRAGMA table_info({table})")
    }
    held = {f"{table}.{name}" for table, names in covered(db).items() for name in names}
    excepted = {name for name, table in columns.items() if EXCEPTIONS.keys() & {name, table}}
    assert held | excepted == columns.keys()
    assert not held & excepted
    assert EXCEPTIONS.keys() <= {*columns, *TABLES, "_sqlite_migrations"}
    assert all(EXCEPTIONS.values())


def test_a_table_and_a_column_that_are_added_are_covered(
    db: Database, digests: Callable[[], dict[str, str | None]]
) -> None:
    before = covered(db)
    db.execute("ALTER TABLE sample ADD COLUMN mood TEXT")
    db.execute("CREATE TABLE weather (day TEXT PRIMARY KEY, rain REAL) STRICT")
    assert uncovered(db, before) == ["sample.mood", "weather"]
    assert uncovered(db, covered(db)) == []
    first = digests()
    db.execute("UPDATE sample SET mood = 'good' WHERE replicate = 0")
    db.execute("INSERT INTO weather VALUES ('today', 0.5)")
    changed = digests()
    assert {name for name in first if first[name] != changed[name]} == {"sample", "weather"}


def test_one_changed_value_in_any_column_moves_the_digest_of_its_table(
    db: Database, digests: Callable[[], dict[str, str | None]], filled: tuple[bytes, str]
) -> None:
    db.execute("PRAGMA foreign_keys = OFF")
    model, call = db.execute("SELECT model, id FROM call LIMIT 1").fetchone()
    cell, item = db.execute("SELECT cell, item FROM sample LIMIT 1").fetchone()
    db.execute("INSERT INTO batch VALUES (1, ?, 'fp32', 1, 0.5, '2026', '{}', '{}')", [model])
    db.execute("UPDATE call SET batch = 1 WHERE id = ?", [call])
    db.execute("INSERT INTO submission VALUES ('s', ?, '2026', 1, 'ended', 'r', 'd')", [model])
    db.execute("INSERT INTO attempt (id, model, purpose, number, started, status, paid, usage)"
               " VALUES ('a', ?, 'probe', 1, '2026', 'answered', 'yes', '{}')", [model])  # fmt: skip
    db.execute("INSERT INTO judgement VALUES (?, ?, 0, 'judge', 0, ?, NULL, NULL, NULL)", [cell, item, call])
    first = digests()
    for table, names in covered(db).items():
        for name in names:
            db.execute("SAVEPOINT one")
            key = _key(db, table)
            kind = {row[1]: row[2] for row in db.execute(f"PRAGMA table_info({table})")}[name]
            value = "'changed'" if kind == "TEXT" else "4711"
            db.execute("PRAGMA ignore_check_constraints = ON")
            first_row = f"{key} = (SELECT min({key}) FROM {table})"
            db.execute(f"UPDATE OR IGNORE {table} SET {name} = {value} WHERE {first_row}")
            changed = digests()
            assert changed[table] != first[table], f"{table}.{name}"
            db.execute("ROLLBACK TO one")
            db.execute("RELEASE one")


def _key(db: Database, table: str) -> str:
    return next(str(row[1]) for row in db.execute(f"PRAGMA table_info({table})") if row[5] == 1)


def test_a_column_that_is_not_there_has_no_digest(filled: tuple[bytes, str], db: Database) -> None:
    wrong = {"sample": ["item", "mood"], "weather": ["rain"], "cell": []}
    assert of_tables(db, filled[1], "TRUE", [], wrong) == {"sample": None, "weather": None, "cell": None}


def test_another_study_in_the_file_moves_no_digest(filled: tuple[bytes, str], tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.write_bytes(filled[0])
    with Store.open(path) as alone:
        before = alone.table_digests(filled[1])
    fill(compile_spec(make(tmp_path / "other", 2)), path)
    with Store.open(path) as both:
        assert len(both.stamps()) == 2
        assert both.table_digests(filled[1]) == before
