"""Every column of every table is changed, a value at a time, by somebody who seals everything anew behind it:
in a store whose items are here, and in a bundle.

The columns come from the schema: one that a migration adds is changed too, and fails here until `verify`
compares it with something, or a line of `NOBODY_KNOWS` says why nothing here can.
"""

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from sqlite_utils import Database

import gridc
from gridc.diagnostics.errors import GridcError
from gridc.reports.exchange import is_bundle
from gridc.runtime.store.events import Locked, Sealed, Stamped
from gridc.runtime.store.store import Store
from gridc.runtime.store.tables import TABLES, migrations
from gridc.schema.canonical import canonical
from tests.adversary.rooms.blinding import blinded
from tests.adversary.rooms.bundles import listed
from tests.adversary.rooms.stores import codes, reseal

NOBODY_KNOWS = {
    "attempt.answered_by": "what the provider called its model: its word, which only asking again tests",
    "attempt.detail": "the words of a provider or a server about a failure",
    "attempt.fingerprint": "what the provider said of its system: its word",
    "attempt.http": "the status that a server answered with: its word",
    "attempt.id": "drawn at random for the request; nothing else names it",
    "attempt.number": "which try it was, counted from 1 in each run",
    "attempt.seconds": "how long a request took: measured once",
    "attempt.started": "the time of a request by the clock of the run: its holder's word",
    "batch.most": "the memory that a batch took: measured once",
    "batch.seconds": "how long a batch took: measured once",
    "batch.work": "what the engine counted as it worked: measured once",
    "call.seconds": "how long a call took: measured once",
    "call.sent": "what left for the model, as the engine noted it: `--rerun` compares it",
    "event.at": "the time of an event by the clock of the run: its holder's word, which a time stamp bounds",
    "label.annotator": "who said it: a name that people give themselves, of which the lock holds the digest",
    "label.label": "what a person said of a response: their word, of which the lock holds the digest",
    "submission.created": "the time of a batch by the clock of the run: its holder's word",
    "submission.detail": "the words of a provider about a batch",
    "submission.remote": "what the provider calls the batch: its word",
    "submission.state": "how far a batch was when it was last looked at: the provider's word",
}
"""Columns that pass, and why nothing in a store, its lock or its items could tell."""

TAKES_ITEMS = {
    "question.choices": "the digest of an item's choices",
    "question.target": "the digest of what answers an item",
    "question.text": "the digest of what an item asks",
    "sample.choice": "what an answer is read to, by the item's options",
    "sample.evidence": "how an answer was read, by the item's options",
    "sample.score": "what an answer scores to, by the item's right option",
    "shown.matching": "an option's role, under the item's digest, which is of its texts",
    "shown.options": "how many options an item has, under the same digest",
    "shown.unknown": "an option's role, under the same digest",
    "trace.call": "which call a sample asks, by the prompt of its item",
}
"""Further columns that pass in a bundle, and why they take the items."""

LIKELY = {"submission.state": "submitted", "attempt.status": "lost", "attempt.paid": "possibly"}
"""What a forger would write where all rows have the same word, and no word of another form will do."""

ROWS = {"attempt": "WHERE purpose = 'call' AND status = 'answered'"}
"""The rows that are changed, of a table with several kinds. A probe belongs to no call, and nothing says
which call was repeated: of these no more is checked than that model and cost can be."""

OF_THE_FILE = ("_sqlite_migrations",)
"""Tables about the file and not about a study; opening compares them with those that gridc makes."""


def schema() -> Iterator[tuple[str, str]]:
    db = Database(memory=True)
    migrations.apply(db)
    for table in db.table_names():
        if table not in OF_THE_FILE:
            columns = db.execute(f"PRAGMA table_info({table})").fetchall()
            yield from ((table, name) for _, name, *_ in columns)


COLUMNS = list(schema())
OF_BUNDLES = [pair for pair in COLUMNS if ".".join(pair) != "judgement.call"]
"""The columns of a bundle. A judge's prompt takes the item, so one reply may stand for another of the same
label, and is told from one of another label."""


@cache
def complete() -> Path:
    """The folder of a blinded study with judges, people's labels and a batch at a provider, without reports,
    which would say what the store says. Copied before anything is changed in it."""
    folder = Path(mkdtemp(prefix="gridc-columns-")) / "study"
    shutil.copytree(blinded(), folder)
    db = sqlite3.connect(store_of(folder))
    (model,) = db.execute("SELECT model FROM attempt WHERE call NOT NULL AND status = 'answered'").fetchone()
    mine = f"model = '{model}' AND call NOT NULL"
    for name in ("one", "two"):
        row = [name, model, "2026-01-01T00:00:00+00:00", 1, "ended", f"batch_{name}", None]
        db.execute("INSERT INTO submission VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        db.execute(f"UPDATE attempt SET submission = '{name}' WHERE id ="
                   f" (SELECT id FROM attempt WHERE {mine} AND submission IS NULL LIMIT 1)")  # fmt: skip
    db.commit()
    db.close()
    for path in store_of(folder).parent.iterdir():
        if not path.name.startswith("store.sqlite"):
            path.unlink()
    seal_anew(folder)
    return folder


@cache
def shared() -> Path:
    """The bundle of that study."""
    return gridc.open(complete() / "gridcard.toml").bundle(complete().parent / "bundle")


def store_of(folder: Path) -> Path:
    results = folder / "results"
    return (results if is_bundle(folder) else results / "judged") / "store.sqlite"


def seal_anew(folder: Path) -> None:
    """Compute every digest that the run recorded at its end, and the chain, from the store as it is now."""
    results = store_of(folder).parent
    with Store.open(store_of(folder)) as store:
        (stamp,) = store.stamps()
        tables, outcome = store.table_digests(stamp), store.results_digest(stamp)
        labels = {about: store.labels_digest(stamp, about) for about in ("audit-1",)}
        judged, columns = store.judgements_digest(stamp), store.covered()

    def change(kind: str, body: dict[str, object]) -> dict[str, object]:
        if kind == "finish":
            fresh = {name: {"columns": columns[name], "sha256": tables[name]} for name in columns}
            return {**body, "results": outcome, "tables": fresh}
        if kind == "lock":
            return {**body, "judgements": labels.get(str(body["about"]), judged)}
        return body

    reseal(results, change)
    if is_bundle(folder):
        listed(folder, "results/store.sqlite")


def other_value(db: sqlite3.Connection, table: str, column: str) -> tuple[object, object]:
    """A value of a column, and another one: that of another row where there is one, else one of the same form
    that stands nowhere."""
    values = [
        value for (value,) in db.execute(f"SELECT DISTINCT {column} FROM {table} {ROWS.get(table, '')}")
    ]
    values.sort(key=lambda value: (type(value).__name__, value))
    old = next((value for value in values if value is not None), None)
    if f"{table}.{column}" in LIKELY:
        return old, LIKELY[f"{table}.{column}"]
    others = [value for value in values if value is not None and value != old]
    if others and not isinstance(old, (int, float)):
        return old, others[-1]
    if isinstance(old, (int, float)):
        return old, 1_000_000.0 if column == "usd" else old + 1
    if not old and isinstance(old, str):
        return old, "made up"
    if old is None:
        kind = {name: kind for _, name, kind, *_ in db.execute(f"PRAGMA table_info({table})")}[column]
        return None, {"INTEGER": 1, "REAL": 1.0}.get(kind, "made up")
    text = str(old)
    if text.startswith("{"):
        return old, json.dumps({**json.loads(text), "forged": 1}, sort_keys=True, separators=(",", ":"))
    if text[:2] == "20" and text[4:5] == "-":
        return old, f"2019{text[4:]}"
    return old, text[:-1] + ("0" if text[-1] != "0" else "1")


def forged(folder: Path, table: str, column: str, source: Path) -> Path:
    """A copy of the study, or of its bundle, in which one value of a column is another."""
    shutil.copytree(source, folder)
    db = sqlite3.connect(store_of(folder))
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("PRAGMA ignore_check_constraints = ON")
    old, new = other_value(db, table, column)
    key = [name for _, name, *_, place in db.execute(f"PRAGMA table_info({table})") if place]
    rows = f"{ROWS.get(table, 'WHERE TRUE')} AND {column} IS ?"
    first = f"SELECT {', '.join(key)} FROM {table} {rows} ORDER BY {', '.join(key)} LIMIT 1"
    try:
        changed = db.execute(
            f"UPDATE {table} SET {column} = ? WHERE ({', '.join(key)}) = ({first})", [new, old]
        )
    except sqlite3.IntegrityError:  # a key that another row has: exchange is no smaller a lie than a new one
        made_up = new + 1_000 if isinstance(new, int) else f"{str(new)[:-2]}zz"
        changed = db.execute(
            f"UPDATE {table} SET {column} = ? WHERE ({', '.join(key)}) = ({first})", [made_up, old]
        )
    assert changed.rowcount == 1, (table, column, old, new)
    db.commit()
    db.close()
    return folder


def found(folder: Path, table: str, column: str) -> set[str]:
    """What verifying finds once everything is sealed anew, as far as it can be: the seals themselves are
    left as they were changed."""
    if table != "event" or column not in ("seq", "previous", "digest"):
        with contextlib.suppress(GridcError, LookupError, ValueError):
            seal_anew(folder)
    if is_bundle(folder):
        listed(folder, "results/store.sqlite")
    return codes(folder)


def test_the_study_that_is_changed_has_rows_everywhere_and_verifies() -> None:
    with sqlite3.connect(store_of(complete())) as db:
        empty = [table for table in TABLES if not db.execute(f"SELECT 1 FROM {table}").fetchone()]
    assert empty == []
    assert codes(complete()) == set()
    assert codes(shared()) == set()


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=[".".join(pair) for pair in COLUMNS])
def test_a_value_that_was_changed_and_sealed_anew_is_found(table: str, column: str, tmp_path: Path) -> None:
    seen = found(forged(tmp_path / "study", table, column, complete()), table, column)
    if f"{table}.{column}" in NOBODY_KNOWS:
        assert not seen, "it is found: the exception has outlived its reason"
    else:
        assert seen - {"GC706"}, "only a digest that anyone can compute tells it"


@pytest.mark.parametrize(("table", "column"), OF_BUNDLES, ids=[".".join(pair) for pair in OF_BUNDLES])
def test_a_value_of_a_bundle_that_was_changed_and_sealed_anew_is_found(
    table: str, column: str, tmp_path: Path
) -> None:
    seen = found(forged(tmp_path / "bundle", table, column, shared()), table, column)
    if f"{table}.{column}" in NOBODY_KNOWS | TAKES_ITEMS:
        assert not seen - {"GC706"}, "it is found: the exception has outlived its reason"
    else:
        assert seen - {"GC706"}, "only a digest that anyone can compute tells it"


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        (Locked.kind, "count", 5),
        (Sealed.kind, "responses", 5),
        (Stamped.kind, "created", "2019-01-01T00:00:00+00:00"),
        (Stamped.kind, "registered", "0" * 64),
    ],
)
def test_what_an_event_counts_or_dates_is_compared(
    kind: str, key: str, value: object, tmp_path: Path
) -> None:
    folder = tmp_path / "study"
    shutil.copytree(complete(), folder)
    reseal(store_of(folder).parent, lambda each, body: {**body, key: value} if each == kind else body)
    assert codes(folder) - {"GC706"}


@pytest.mark.parametrize(("begun_by", "seen"), [("0.2.0", {"GC704"}), ("0.1.0", set())])
def test_what_items_ask_may_be_missing_where_an_older_version_began_the_run(
    begun_by: str, seen: set[str], tmp_path: Path
) -> None:
    """Some of 0.1 wrote no `question`. That a run was begun by one is its holder's word."""
    folder = tmp_path / "study"
    shutil.copytree(complete(), folder)
    with sqlite3.connect(store_of(folder)) as db:
        assert db.execute("DELETE FROM question").rowcount
    seal_anew(folder)
    change = {"gridc": begun_by}
    reseal(store_of(folder).parent, lambda kind, body: {**body, **change} if kind == "start" else body)
    assert codes(folder) == seen


def test_what_items_ask_cannot_be_missing_in_a_bundle(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(shared(), folder)
    with sqlite3.connect(store_of(folder)) as db:
        assert db.execute("DELETE FROM question WHERE item = (SELECT min(item) FROM question)").rowcount
    seal_anew(folder)
    assert codes(folder) == {"GC704"}


def test_a_probe_cannot_have_cost_a_million_dollars(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    shutil.copytree(complete(), folder)
    with sqlite3.connect(store_of(folder)) as db:
        assert db.execute("UPDATE attempt SET usd = 1e6 WHERE call IS NULL").rowcount
    seal_anew(folder)
    assert codes(folder) == {"GC704"}


@pytest.mark.parametrize(
    ("forged", "of_call", "seen"),
    [
        ({"prompt_tokens": 1}, False, {"GC704"}),
        ({"prompt_tokens": 1}, True, set()),
        ({"completion_tokens": 10**6}, True, {"GC704"}),
    ],
    ids=["not as the call counts", "with the call", "more than it could write"],
)
def test_tokens_and_price_of_a_request_that_were_forged_together(
    forged: dict[str, int], of_call: bool, seen: set[str], tmp_path: Path
) -> None:
    """What a provider counts is its word: it passes where request, price and call agree, within the limit."""
    folder = tmp_path / "study"
    shutil.copytree(complete(), folder)
    with sqlite3.connect(store_of(folder)) as db:
        request, call, text, whole = db.execute(
            """SELECT attempt.id, call, attempt.usage, call.usage FROM attempt JOIN call ON call.id = call
               WHERE purpose = 'call' AND kind = 'generate' AND status = 'answered' AND submission IS NULL"""
        ).fetchone()
        usage = {**json.loads(text), **forged}
        usd = (
            1000 * usage["prompt_tokens"] + 2000 * usage["completion_tokens"]
        ) / 1e6  # as `judged.PRICE` says
        db.execute(
            "UPDATE attempt SET usage = ?, usd = ? WHERE id = ?", [canonical(usage).decode(), usd, request]
        )
        if of_call:
            changed = canonical({**json.loads(whole), **forged, "usd": usd}).decode()
            db.execute("UPDATE call SET usage = ? WHERE id = ?", [changed, call])
    seal_anew(folder)
    assert codes(folder) == seen


def test_every_exception_is_a_column() -> None:
    assert set(NOBODY_KNOWS | TAKES_ITEMS) <= {".".join(pair) for pair in COLUMNS}


SET_BACK = "dates in this store show no order"


def told(folder: Path, *statements: str) -> list[str]:
    """What verifying says of the clock once the store was changed and sealed anew."""
    with sqlite3.connect(store_of(folder)) as db:
        for statement in statements:
            assert db.execute(statement).rowcount
    seal_anew(folder)
    return [line for line in gridc.open(folder / "gridcard.toml").verify().checked if SET_BACK in line]


def test_a_clock_that_was_set_back_between_two_events_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    shutil.copytree(complete(), folder)
    assert told(folder) == []
    earlier = "'2020-01-01T00:00:00.000+00:00' WHERE {} = 3"
    (line,) = told(
        folder,
        f"UPDATE batch SET finished = {earlier.format('id')}",
        f"UPDATE call SET finished = {earlier.format('batch')}",
    )
    assert line == f"the clock was set back before batch 3 of calls: {SET_BACK}"


def test_a_call_after_the_end_of_its_run_tells_that_the_clock_was_set_back(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    shutil.copytree(complete(), folder)
    later = "'2100-01-01T00:00:00.000+00:00' WHERE {} = 1"
    _, line = told(
        folder,
        f"UPDATE batch SET finished = {later.format('id')}",
        f"UPDATE call SET finished = {later.format('batch')}",
    )
    assert "calls are dated after the end of their run" in line
