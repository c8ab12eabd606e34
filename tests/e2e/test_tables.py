"""Tables as files and in SQL: what others read back is what the API says and what plain SQL counts."""

import csv
import io
import json
import re
import shlex
import shutil
import sqlite3
import subprocess
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

import gridc
from gridc.cli import main
from gridc.diagnostics.errors import StoreError, UsageError
from gridc.reports.exchange.table_files import escape_formulas, original
from gridc.runtime.store.queries import VIEWS
from gridc.study import OpenStudy
from gridc.study.exports import TABLES
from tests.e2e.conftest import command

pa = pytest.importorskip("pyarrow")
DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def opened(finished: Path) -> OpenStudy:
    return gridc.open(finished)


def said(opened: OpenStudy, name: str) -> list[dict[str, Any]]:
    """The rows of the API."""
    table = {"cells": opened.scores}.get(name) or getattr(opened, name)
    rows: list[dict[str, Any]] = table().to_pylist()
    return rows


@pytest.mark.parametrize("name", TABLES)
def test_a_file_holds_the_rows_of_the_api(opened: OpenStudy, tmp_path: Path, name: str) -> None:
    from pyarrow import parquet

    rows = said(opened, name)
    assert rows
    path = opened.export(name, tmp_path / "x.parquet")
    table = parquet.read_table(path)
    assert table.to_pylist() == rows
    assert table.schema.metadata[b"gridc.table"] == name.replace("cells", "scores").encode()
    assert all(field.metadata[b"description"] is not None for field in table.schema)
    with pa.ipc.open_file(opened.export(name, tmp_path / "x.arrow")) as file:
        assert file.read_all().to_pylist() == rows
    with opened.export(name, tmp_path / "x.csv").open(newline="", encoding="utf-8") as text:
        read = list(csv.DictReader(text))
    assert [list(row) for row in read] == [list(row) for row in rows]
    for row, cells in zip(rows, read, strict=True):
        for column, value in row.items():
            assert agrees(cells[column], value), (column, cells[column], value)
    assert {path.name for path in tmp_path.iterdir()} == {"x.parquet", "x.arrow", "x.csv"}


def agrees(cell: str, value: Any) -> bool:
    """Whether a cell of a CSV, as any reader has it, says a value."""
    match value:
        case None:
            return cell == ""
        case bool():
            return cell == str(value).lower()
        case int() | float():
            return float(cell) == float(value)
        case list():
            return bool(json.loads(cell) == value)
        case datetime():
            return bool(datetime.fromisoformat(cell) == value)
        case _:
            return original(cell) == str(value)


def test_columns_are_chosen_and_files_are_not_overwritten(opened: OpenStudy, tmp_path: Path) -> None:
    path = opened.export("pairs", tmp_path / "x.csv", columns=["benchmark", "a", "b"])
    assert path.read_text().startswith('"benchmark","a","b"\n')
    before = path.read_bytes()
    with pytest.raises(UsageError, match="something here already"):
        opened.export("samples", path)
    assert path.read_bytes() == before
    opened.export("samples", path, force=True, columns=["item"])
    assert path.read_text().startswith('"item"\n')
    for wrong in ("x.txt", "x", "x.csv.gz"):
        with pytest.raises(UsageError, match="kind of file"):
            opened.export("samples", tmp_path / wrong)
    for name in ("samples", "pairs"):
        with pytest.raises(UsageError, match="no column"):
            opened.export(name, tmp_path / "y.csv", columns=["nothing"])
    assert {path.name for path in tmp_path.iterdir()} == {"x.csv"}


def test_what_is_read_is_said_with_its_item(opened: OpenStudy) -> None:
    rows = said(opened, "samples")
    assert any(row["parsed"] is False for row in rows)
    for row in rows:
        assert row["parsed"] == (row["choice"] is not None)
        assert row["score"] == (row["choice"] in row["right"])
        assert row["gold"] in row["right"]
        if row["span_start"] is not None:
            assert row["text"][row["span_start"] : row["span_end"]]
        tags = json.loads(row["tags"])
        assert tags["condition"] in ("ambig", "disambig")


TEXTS = st.text(st.sampled_from("='+-@\uff1d\uff20\t\r\n'a1 ;\""), max_size=8)


@given(TEXTS)
@example("'=1+1")
@example("-1")
@example("")
def test_no_text_begins_like_a_formula_and_none_is_lost(text: str) -> None:
    cell = escape_formulas(text)
    assert not re.match("[=+\\-@\uff1d\uff0b\uff0d\uff20\t\r\n]", cell)
    assert original(cell) == text


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@given(TEXTS)
@example("Yes; =cmd|' /C calc'!A0;")
@example("Paris\n=1+1")
def test_no_cell_is_a_formula_whatever_separates_cells(separator: str, text: str) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_ALL).writerow(["item", escape_formulas(text), "end"])
    rows = csv.reader(io.StringIO(file.getvalue(), newline=""), delimiter=separator)
    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\uff1d", "\uff20"))]


@given(TEXTS, TEXTS)
def test_two_texts_stay_two_cells(a: str, b: str) -> None:
    assert (escape_formulas(a) == escape_formulas(b)) == (a == b)


def test_a_formula_that_a_model_wrote_is_text(study: Path, tmp_path: Path) -> None:
    opened = gridc.open(study)
    formula = '=HYPERLINK("http://example.com","A")'
    with closing(sqlite3.connect(opened.store)) as store, store:
        store.execute(
            "UPDATE call SET answer = json_set(answer, '$.text', ?) WHERE kind = 'generate'", [formula]
        )
    with opened.export("samples", tmp_path / "x.csv").open(newline="", encoding="utf-8") as text:
        written = {row["text"] for row in csv.DictReader(text)}
    assert written == {"", f"'{formula}"}
    printed = command(
        "sql", "select text from samples where text is not null limit 1", "--format", "csv", cwd=study
    )
    assert printed.stdout.splitlines()[1].startswith("\"'=HYPERLINK")


def test_no_character_of_a_printed_csv_is_obeyed(finished: Path) -> None:
    """Tabs and line ends stay in their quotes; what a terminal would obey is written as in JSON."""
    said = "a\tb\nc\u009b31m \x1b[2J \u202ed\re \u2028 می\u200cخواهم"
    codes = " || ".join(f"char({ord(letter)})" for letter in said)
    printed = command("sql", f"select {codes} as said, 'x' as other", "--format", "csv", cwd=finished).stdout
    head, row = csv.reader(io.StringIO(printed, newline=""))
    assert head == ["said", "other"]
    assert row == ["a\tb\nc\\u009b31m \\u001b[2J \\u202ed\\re \\u2028 می\u200cخواهم", "x"]


def test_the_dictionary_names_every_column(opened: OpenStudy, finished: Path) -> None:
    listed = json.loads(command("export", "--dictionary", "--json", cwd=finished).stdout)
    assert listed.keys() == TABLES.keys()
    for name in TABLES:
        names = [column["name"] for column in listed[name]]
        axes = [column for column in said(opened, name)[0] if column.startswith("axis_")]
        expected = [column for each in names for column in (axes if each == "axis_ID" else [each])]
        assert expected == list(said(opened, name)[0])


def test_the_views_are_the_tables_of_the_api(opened: OpenStudy) -> None:
    for name in ("samples", "calls"):
        rows = said(opened, name)
        answer = opened.sql(f"SELECT * FROM {name}").as_json()
        shared = sorted(answer[0].keys() & rows[0].keys() - {"messages", "finished", "calls"})
        assert len(shared) > 9

        def brief(row: dict[str, Any], shared: list[str] = shared) -> str:
            return repr([row[key] if row[key] is None else float(row[key]) if isinstance(row[key], bool | int)
                         else row[key] for key in shared])  # fmt: skip

        assert sorted(map(brief, answer)) == sorted(map(brief, rows))


@pytest.mark.parametrize(
    "statement",
    (
        "DELETE FROM sample",
        "UPDATE call SET answer = NULL",
        "INSERT INTO study VALUES ('a', 'b', 'c')",
        "CREATE TEMP TABLE x (a)",
        "DROP VIEW samples",
        "PRAGMA query_only = OFF",
        "PRAGMA writable_schema = ON",
        "ATTACH 'other.sqlite' AS other",
        "VACUUM INTO 'copy.sqlite'",
        "SELECT load_extension('x')",
        "BEGIN IMMEDIATE",
        "SELECT 1; DELETE FROM sample",
        "SELECT",
        "SELECT nothing FROM samples",
    ),
)
def test_nothing_but_reading(opened: OpenStudy, finished: Path, statement: str) -> None:
    before = opened.store.read_bytes()
    with pytest.raises(UsageError):
        opened.sql(statement)
    assert opened.store.read_bytes() == before
    assert not (finished / "copy.sqlite").exists()


def printed(*arguments: str, given: str = "") -> str:
    """What `gridc sql` prints, in this process."""
    done = CliRunner().invoke(main, ["sql", *arguments], input=given)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_sql_prints_what_plain_sqlite_selects(opened: OpenStudy) -> None:
    statement = "SELECT item, choice, score FROM sample ORDER BY cell, item, replicate LIMIT 250"
    with closing(sqlite3.connect(f"{opened.store.as_uri()}?mode=ro", uri=True)) as plain:
        rows = plain.execute(statement).fetchall()
    spec, store = ("--spec", str(opened.spec)), ("--store", str(opened.store))
    found = json.loads(printed(statement, "--json", *spec))
    assert [tuple(row.values()) for row in found] == rows
    table = printed(statement, *store).splitlines()
    texts = [["NULL" if value is None else str(value) for value in row] for row in rows]
    assert [line.split() for line in table[2:]] == texts
    piped = printed(*store, given="select 1\n as a;\nselect 2 as b;")
    assert piped.split() == ["a", "-", "1", "b", "-", "2"]
    assert all(name in printed("--tables", *store) for name in VIEWS)


def test_a_store_of_another_study_is_not_taken_for_this_one(study: Path) -> None:
    spec = study / "gridcard.toml"
    spec.write_text(spec.read_text().replace("max_tokens = 24", "max_tokens = 25"))
    with pytest.raises(StoreError, match="no run of this study"):
        gridc.open(spec).sql("SELECT 1")
    with pytest.raises(StoreError):
        gridc.open(spec, out=study / "nowhere").sql("SELECT 1")


def test_the_questions_of_the_page_are_answered(opened: OpenStudy) -> None:
    """By the statements as they are printed, counted again in plain Python."""
    page = (DOCS / "tables.md").read_text("utf-8").split("## Three questions")[1].split("## pandas")[0]
    unreadable, flips = (
        json.loads(printed(" ".join(statement.split()), "--json", "--spec", str(opened.spec)))
        for statement in re.findall(r'gridc sql "([^"]+)"', page)
    )
    rows = said(opened, "samples")
    assert len(unreadable) == sum(not row["parsed"] for row in rows) > 0
    scores = {
        (row["configuration"], row["item"], row["replicate"], row["model"]): row["score"]
        for row in rows
        if row["axis_template"] == "T4"
    }
    differing = [key for key in scores if key[3] == "qwen2" and scores[key] != scores[(*key[:3], "llama")]]
    assert len(flips) == len(differing) > 0
    assert all(row["score"] != row["score_2"] for row in flips)
    words = shlex.split(re.findall(r"gridc show (--item 17.*)", page)[0])
    found = opened.show(item="8", where=[words[words.index("--where") + 1]], every="--all" in words)
    assert len(found.samples) == 4  # a ranking of texts has examples that answer with texts


def example_of(language: str) -> str:
    text = (DOCS / "tables.md").read_text("utf-8")
    return text.split(f"```{language}\n", 1)[1].split("```", 1)[0]


def test_the_pandas_example_runs(opened: OpenStudy, finished: Path) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    names: dict[str, Any] = {}
    source = example_of("python").replace('"gridcard.toml"', repr(str(finished / "gridcard.toml")))
    exec(source, names)
    counted = opened.sql("SELECT count(*) FROM sample WHERE choice IS NULL").rows[0][0]
    assert len(names["unreadable"]) == counted > 0


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_r_example_runs(opened: OpenStudy, tmp_path: Path) -> None:
    opened.export("samples", tmp_path / "samples.csv")
    (tmp_path / "example.r").write_text(example_of("r"))
    done = subprocess.run(["Rscript", "example.r"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counted = opened.sql("SELECT count(*) FROM sample WHERE choice IS NULL").rows[0][0]
    assert sum(map(int, re.findall(r"(\d+)$", done.stdout, re.MULTILINE))) == counted
