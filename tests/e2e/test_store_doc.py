"""docs/store.md against a real store: every table and column, and every query against the certificate."""

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import command
from tests.e2e.pages.blocks import ROOT, read

PATH = ROOT / "docs" / "store.md"
TEXT = PATH.read_text("utf-8")
QUERIES = {block.text.partition("\n")[0].removeprefix("-- "): block.text for block in read(PATH).blocks}


@pytest.fixture(scope="module")
def db(finished: Path) -> Iterator[sqlite3.Connection]:
    path = finished / "results" / "small" / "store.sqlite"
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def benchmark(finished: Path) -> Any:
    certificate = json.loads((finished / "results" / "small" / "certificate.json").read_text("utf-8"))
    return certificate["benchmarks"][0]


def test_every_table_and_column_is_documented(db: sqlite3.Connection) -> None:
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    real = {
        name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")]
        for name in tables
        if name != "_sqlite_migrations"
    }
    told = {
        name: [
            column
            for columns in re.findall(r"^- ((?:`\w+`(?:, )?)+)", part, re.MULTILINE)
            for column in re.findall(r"`(\w+)`", columns)
        ]
        for name, part in re.findall(r"^### (\w+)\n(.+?)(?=^##)", TEXT, re.MULTILINE | re.DOTALL)
    }
    assert told == real


def test_scores(db: sqlite3.Connection, benchmark: Any) -> None:
    told = {
        ("bbq", row["configuration"], model): (cell["correct"], cell["trials"], cell["parsed"])
        for row in benchmark["envelope"]
        for model, cell in row["scores"].items()
    }
    assert {row[:3]: row[3:] for row in db.execute(QUERIES["scores"])} == told


def test_counts_of_pairs(db: sqlite3.Connection, benchmark: Any) -> None:
    (pair,) = benchmark["scopes"][0]["pairs"]
    rows = {row[1:3]: row[3:] for row in db.execute(QUERIES["pairs"])}
    assert rows[pair["a"], pair["b"]] == (pair["plus"], pair["minus"], pair["ties"])
    assert rows[pair["b"], pair["a"]] == (pair["minus"], pair["plus"], pair["ties"])


def test_differences(db: sqlite3.Connection, benchmark: Any) -> None:
    rows = db.execute(QUERIES["differences"]).fetchall()
    assert {row[1] for row in rows} == {row["configuration"] for row in benchmark["envelope"]}
    for _, configuration, a, b, ahead, behind in rows:
        assert 0 <= ahead + behind <= benchmark["units"]
        row = next(each for each in benchmark["envelope"] if each["configuration"] == configuration)
        if all(cell["trials"] == benchmark["items"] for cell in row["scores"].values()):
            gap = row["scores"][a]["correct"] - row["scores"][b]["correct"]
            assert not gap or ahead + behind


def test_a_changed_group_or_right_option_is_found(study: Path) -> None:
    path = study / "results" / "small" / "store.sqlite"
    for statement in ("UPDATE item SET unit = 'mine'", "UPDATE shown SET points = '[0, 1, 2]'"):
        connection = sqlite3.connect(path)
        before = connection.execute("SELECT item, unit FROM item").fetchall()
        points = connection.execute("SELECT item, points FROM shown").fetchall()
        connection.execute(statement)
        connection.commit()
        done = command("verify", cwd=study)
        assert done.returncode == 7 and "GC704" in done.stderr, done.stderr
        connection.executemany("UPDATE item SET unit = ?2 WHERE item = ?1", before)
        connection.executemany("UPDATE shown SET points = ?2 WHERE item = ?1", points)
        connection.commit()
        connection.close()


def test_a_store_from_before_the_items_is_filled_by_the_next_run(study: Path) -> None:
    path = study / "results" / "small" / "store.sqlite"
    tables = ("shown", "item", "benchmark")

    def held() -> list[list[tuple[Any, ...]]]:
        connection = sqlite3.connect(path)
        rows = [connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2, 3").fetchall() for name in tables]
        rows.append(connection.execute("SELECT key, method, option_order, replicates FROM cell").fetchall())
        connection.close()
        return rows

    before = held()
    connection = sqlite3.connect(path)
    for name in tables:
        connection.execute(f"DELETE FROM {name}")
    connection.execute("UPDATE cell SET method = NULL, option_order = NULL, replicates = NULL")
    connection.commit()
    connection.close()
    done = command("run", "--json", cwd=study)
    assert done.returncode == 0 and json.loads(done.stdout)["executed"] == 0, done.stderr
    assert held() == before
