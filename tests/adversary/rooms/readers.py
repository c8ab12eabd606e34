"""What is shown in the place of what was verified."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from _pytest.monkeypatch import MonkeyPatch

import gridc
from benchmarks.synthetic import make
from gridc.diagnostics.errors import GridcError
from gridc.reports import verification
from gridc.reports.comparison import run
from gridc.reports.exchange import bundle
from gridc.reports.findings import store_diff
from gridc.runtime.store import opening, queries, reader
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest
from gridc.schema.spec import Spec
from gridc.statistics.envelope import Direction
from gridc.study.sql import queries as asked
from gridc.viewer import store as cells
from tests.adversary.attack import attack, instead, nothing
from tests.adversary.rooms.bundles import SENDER, bundled, listed
from tests.adversary.rooms.stores import AXES, HOLDER, codes, edit, reseal, studied


def hide_a_study(store: Path, score: str = "1") -> str:
    """Add a study to a store, of the same calls, with other scores than the answers have; its stamp. No row
    of the first one is touched, and no event says that it was ever run."""
    db = sqlite3.connect(store)
    old, content = db.execute("SELECT stamp, content FROM study").fetchone()
    document = json.loads(content)
    document["spec"]["study"]["title"] = "Nobody ran this"
    stamp = digest(document)
    changed = {
        "stamp": f"'{stamp}'",
        "score": score,
        "content": f"'{json.dumps(document).replace(chr(39), chr(39) * 2)}'",
    }
    (cells_here,) = db.execute("SELECT max(id) FROM cell").fetchone()
    changed["cell"] = f"cell + {cells_here}"
    for table in ("study", "benchmark", "item", "question", "shown", "cell", "sample", "trace"):
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        values = [f"id + {cells_here}" if (table, name) == ("cell", "id") else changed.get(name, name)
                  for name in columns]  # fmt: skip
        db.execute(f"INSERT INTO {table} SELECT {', '.join(values)} FROM {table}")
    db.commit()
    db.close()
    assert old != stamp
    return stamp


def newest(db: sqlite3.Connection, path: Path, named: str | None = None) -> str:
    """What every reader once took."""
    return [stamp for stamp in reader.stamps_in(db) if stamp.startswith(named or "")][-1]


def the_newest(patch: MonkeyPatch) -> None:
    for module in (reader, queries, cells):
        patch.setattr(module, "which_study", newest)


def told(ask: Callable[[], Any]) -> set[str]:
    """The codes that a question ends with; empty where it is answered."""
    try:
        ask()
    except GridcError as error:
        return {finding.code for finding in error.diagnostics}
    return set()


@attack(HOLDER, "a study that the lock does not know is hidden in the store, and the stamped one is verified",
        "GC701", instead((verification, "of_history", nothing)))  # fmt: skip
def hidden_study(folder: Path, _: MonkeyPatch) -> set[str]:
    hide_a_study(studied(folder) / "store.sqlite")
    return codes(folder)


@attack(HOLDER, "the same, and `view` shows its scores", "GC602", the_newest)
def hidden_study_viewed(folder: Path, _: MonkeyPatch) -> set[str]:
    store = studied(folder) / "store.sqlite"
    hide_a_study(store)
    seen = told(lambda: gridc.view_pages(folder / "pages", store, pages=1))
    assert seen or "Nobody ran this" in (folder / "pages" / "index.html").read_text("utf-8")
    return seen


@attack(HOLDER, "the same, and `sql` counts its scores", "GC602", the_newest)
def hidden_study_counted(folder: Path, _: MonkeyPatch) -> set[str]:
    store = studied(folder) / "store.sqlite"
    hide_a_study(store)
    means: list[float] = []

    def mean() -> None:
        with asked(gridc.open(folder / "gridcard.toml")._place, str(store)) as ours:
            means.extend(row[0] for row in ours.select("SELECT avg(score) FROM samples").rows)

    seen = told(mean)
    assert seen or means == [1.0]
    return seen


@attack(HOLDER, "the same, and `diff` compares its scores", "GC602", the_newest)
def hidden_study_in_a_diff(folder: Path, _: MonkeyPatch) -> set[str]:
    store = studied(folder) / "store.sqlite"
    shutil.copy(store, folder / "before.sqlite")
    hide_a_study(store)
    return told(lambda: gridc.diff(folder / "before.sqlite", store))


@cache
def two_runs() -> tuple[Path, Path]:
    """Two results folders: of the second, every answer is wrong."""
    folder = Path(mkdtemp(prefix="gridc-adversary-"))
    gridc.open(make(folder / "a", 24, AXES)).report()
    shutil.copytree(folder / "a", folder / "b")
    one, other = (folder / name / "results" / "synthetic" for name in "ab")
    with sqlite3.connect(other / "store.sqlite") as db:
        db.execute("UPDATE sample SET score = 0")
    return one, other


@attack(HOLDER, "the same, and the gate of `compare` opens: NO-GO becomes GO", "GC602", the_newest)
def hidden_study_at_the_gate(folder: Path, _: MonkeyPatch) -> set[str]:
    one, other = two_runs()
    assert gridc.compare(one, other, margin=20).verdict == "NO-GO"
    candidate = shutil.copytree(other, folder / "candidate")
    hide_a_study(candidate / "store.sqlite")
    verdicts: list[str] = []
    seen = told(lambda: verdicts.append(gridc.compare(one, candidate, margin=20).verdict))
    assert seen or verdicts == ["GO"]
    return seen


@attack(SENDER, "a second study is hidden in the store of a bundle, and the manifest made to fit", "GC701",
        instead((bundle, "of_history", nothing)))  # fmt: skip
def hidden_study_in_a_bundle(folder: Path, _: MonkeyPatch) -> set[str]:
    made = bundled(folder)
    hide_a_study(made / "results" / "store.sqlite")
    listed(made, "results/store.sqlite")
    return codes(made)


@attack(SENDER, "the same, and `view` shows its scores", "GC602", the_newest)
def hidden_study_of_a_bundle_viewed(folder: Path, _: MonkeyPatch) -> set[str]:
    made = bundled(folder)
    hide_a_study(made / "results" / "store.sqlite")
    seen = told(lambda: gridc.view_pages(folder / "pages", made, pages=1))
    assert seen or "Nobody ran this" in (folder / "pages" / "index.html").read_text("utf-8")
    return seen


@attack(HOLDER, "what was stamped is changed under its stamp, and `compare` takes the lower score for better",
        "GC605", instead((reader, "is_stamped", lambda *_: True)))  # fmt: skip
def study_changed_under_its_stamp(folder: Path, _: MonkeyPatch) -> set[str]:
    one, other = two_runs()
    a, b = (shutil.copytree(side, folder / side.parents[1].name) for side in (one, other))
    for side in (a, b):
        with sqlite3.connect(side / "store.sqlite") as db:
            lower = (
                """replace(content, '"direction": "higher_is_better"', '"direction": "lower_is_better"')"""
            )
            assert db.execute(f"UPDATE study SET content = {lower}").rowcount
        flipped(side / "store.sqlite")
    verdicts: list[str] = []
    seen = told(lambda: verdicts.append(gridc.compare(a, b, margin=20).verdict))
    assert seen or verdicts == ["GO"]
    return seen


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
        "GC605", instead((opening, "require_sound", nothing)))  # fmt: skip
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


def flipped(store: Path) -> None:
    """Say in the table of benchmarks that the lower score is the better one."""
    with sqlite3.connect(store) as db:
        assert db.execute("UPDATE benchmark SET direction = 'lower_is_better'").rowcount


def sealed_anew(results: Path) -> None:
    """Compute the digest of every table again and put all into the chain, as anyone can who read the code."""
    with Store.open(results / "store.sqlite") as store:
        (stamp,) = store.stamps()
        columns, now = store.covered(), store.table_digests(stamp)
    tables = {name: {"columns": columns[name], "sha256": now[name]} for name in columns}
    reseal(results, lambda kind, body: {**body, "tables": tables} if kind == "finish" else body)


@attack(HOLDER, "the table of benchmarks calls the lower score the better one, and everything is sealed anew",
        "GC704", instead((verification, "of_plan", nothing)))  # fmt: skip
def direction_flipped(folder: Path, _: MonkeyPatch) -> set[str]:
    results = studied(folder)
    flipped(results / "store.sqlite")
    sealed_anew(results)
    return codes(folder)


@attack(SENDER, "the same in a bundle, and the manifest made to fit", "GC704",
        instead((bundle, "of_plan", nothing)))  # fmt: skip
def direction_flipped_in_a_bundle(folder: Path, _: MonkeyPatch) -> set[str]:
    made = bundled(folder)
    flipped(made / "results" / "store.sqlite")
    sealed_anew(made / "results")
    listed(made, "results/store.sqlite")
    return codes(made)


def as_the_table_says(patch: MonkeyPatch) -> None:
    """Readers that take what the table says, whatever was stamped."""
    patch.setattr(reader, "changed_directions", nothing)
    patch.setattr(run, "Spec", _AsTheTableSays)
    patch.setattr(store_diff, "_directions", lambda content: {
        one["id"]: Direction.of("lower_is_better") for one in content["spec"]["benchmark"]})  # fmt: skip


class _AsTheTableSays:
    """A stored spec that is read with the direction of the table."""

    @staticmethod
    def model_validate(content: Any) -> Spec:
        benchmarks = [{**one, "direction": "lower_is_better"} for one in content["benchmark"]]
        return Spec.model_validate({**content, "benchmark": benchmarks})


@attack(HOLDER, "the same, and `compare` says GO for a candidate that is worse", "GC605", as_the_table_says)
def direction_flipped_at_the_gate(folder: Path, _: MonkeyPatch) -> set[str]:
    one, other = (shutil.copytree(side, folder / side.parents[1].name) for side in two_runs())
    for side in (one, other):
        flipped(side / "store.sqlite")
    verdicts: list[str] = []
    seen = told(lambda: verdicts.append(gridc.compare(one, other, margin=20).verdict))
    assert seen or verdicts == ["GO"]
    return seen


@attack(HOLDER, "the same, and `diff` orders the models the other way round", "GC605", as_the_table_says)
def direction_flipped_in_a_diff(folder: Path, _: MonkeyPatch) -> set[str]:
    store = studied(folder) / "store.sqlite"
    shutil.copy(store, folder / "before.sqlite")
    flipped(store)
    return told(lambda: gridc.diff(folder / "before.sqlite", store))


@attack(
    HOLDER, "the same, and `view` says that the lower score is the better one", "GC605", as_the_table_says
)
def direction_flipped_in_view(folder: Path, _: MonkeyPatch) -> set[str]:
    store = studied(folder) / "store.sqlite"
    flipped(store)
    seen = told(lambda: gridc.view_pages(folder / "pages", store, pages=1))
    shown = folder / "pages" / "index.html"
    assert seen or "a lower score is the better one" in shown.read_text("utf-8")
    return seen


@attack(HOLDER, "the same, and `sql` says so", "GC605", as_the_table_says)
def direction_flipped_in_sql(folder: Path, _: MonkeyPatch) -> set[str]:
    flipped(studied(folder) / "store.sqlite")
    rows: list[Any] = []
    asked_for = "SELECT DISTINCT direction FROM benchmark"
    seen = told(lambda: rows.extend(gridc.open(folder / "gridcard.toml").sql(asked_for).rows))
    assert seen or rows == [("lower_is_better",)]
    return seen


@attack(HOLDER, "an event is about a study that the lock does not know, and all is sealed again", "GC701",
        instead((verification, "of_history", nothing)))  # fmt: skip
def event_of_another_study(folder: Path, _: MonkeyPatch) -> set[str]:
    results = studied(folder)
    reseal(results, lambda kind, body: {**body, "stamp": "ab" * 32} if kind == "start" else body)
    return codes(folder)


UNCHECKED = "what is not checked is named (`verification.other_studies`)"


def hidden_under_the_lock(folder: Path) -> Path:
    """A hidden study, with an event that says that it ran under the lock; the results folder."""
    results = studied(folder)
    stamp = hide_a_study(results / "store.sqlite")
    with sqlite3.connect(results / "store.sqlite") as db:
        began = "SELECT body FROM event WHERE kind = 'stamp'"
        body = {**json.loads(db.execute(began).fetchone()[0]), "stamp": stamp}
        db.execute("UPDATE event SET seq = -seq - 1")
        db.execute("UPDATE event SET seq = -seq")
        values = [1, "2026-01-01T00:00:00+00:00", "stamp", json.dumps(body), "", ""]
        db.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", values)
    reseal(results, lambda _, body: body)
    return results


@attack(HOLDER, "a study is hidden, with an event that says that it ran under the lock", UNCHECKED,
        instead((verification, "other_studies", nothing)))  # fmt: skip
def hidden_study_under_the_lock(folder: Path, _: MonkeyPatch) -> set[str]:
    results = hidden_under_the_lock(folder)
    gridc.open(folder / "gridcard.toml").report()  # the dates around the event changed what the page says
    assert results.is_dir()
    lines = gridc.open(folder / "gridcard.toml").verify().checked
    return (
        {UNCHECKED} if any("not checked" in line and "earlier studies" in line for line in lines) else set()
    )


@attack(HOLDER, "the same, and what it says was stamped is changed under its stamp", "GC701",
        instead((verification, "of_history", nothing)))  # fmt: skip
def hidden_study_changed(folder: Path, _: MonkeyPatch) -> set[str]:
    results = hidden_under_the_lock(folder)
    edit(results, "UPDATE study SET content = replace(content, 'Nobody ran this', 'Everybody ran this')"
                  " WHERE content LIKE '%Nobody ran this%'")  # fmt: skip
    return codes(folder)


@attack(HOLDER, "a value that no report reads is written, and everything is sealed anew", "GC605",
        instead((Store, "misshapen", nothing)))  # fmt: skip
def verified_and_unreadable(folder: Path, _: MonkeyPatch) -> set[str]:
    results = studied(folder)
    edit(results, "UPDATE trace SET step = 1")
    sealed_anew(results)
    return codes(folder)
