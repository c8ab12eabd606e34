"""Stores that somebody edited, and files that were made to look like one."""

import json
import os
import shutil
import sqlite3
import struct
import tarfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from _pytest.monkeypatch import MonkeyPatch
from sqlite_utils import Database

import gridc
from benchmarks.synthetic import fill, make
from gridc.compiler import compile as compile_module
from gridc.compiler.compile import compile_spec
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.score import score_sample
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lock.attestation import Attestation
from gridc.compiler.lock.lock import Lock, read_lock
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import GridcError
from gridc.reports import files as report_files
from gridc.reports import verification
from gridc.reports.files import write_reports
from gridc.reports.findings import conduct
from gridc.reports.findings import findings as find_module
from gridc.reports.findings.components import ATTRIBUTION, Attribution
from gridc.reports.findings.findings import all_findings
from gridc.reports.scorecard.methodology import methodology
from gridc.reports.statements import conduct as conduct_statements
from gridc.reports.ties import claimed_of_lock
from gridc.runtime import merge, rerun, run
from gridc.runtime.engines.protocol import Answer
from gridc.runtime.store import events, opening, reader, writable
from gridc.runtime.store.digests import CallRecords
from gridc.runtime.store.store import Store
from gridc.runtime.store.write import Writer
from gridc.schema.canonical import canonical, digest, digest_bytes
from gridc.study import OpenStudy
from tests.adversary.attack import Patch, attack, instead, nothing

HOLDER = "whoever hands over a store"


AXES = """\
[[axis]]
id = "template"
[[axis.level]]
id = "T1"
tier = "core"
prompt = "builtin:T1"
provenance = "minimal"
[[axis.level]]
id = "T4"
tier = "stress"
prompt = "builtin:T4"
provenance = "chain of thought"

[[axis]]
id = "scoring"
[[axis.level]]
id = "free_form"
tier = "core"
method = "extract"
provenance = "read the answer"
[[axis.level]]
id = "logprob"
tier = "core"
method = "loglikelihood"
provenance = "rank the options"

[[exclude]]
when = { benchmark = "crows_pairs", scoring = "free_form" }
why = "a pair of sentences can only be ranked"
"""


@cache
def finished() -> Path:
    """The folder of a small study that was run and reported. Copied before anything is changed in it."""
    folder = Path(mkdtemp(prefix="gridc-adversary-"))
    gridc.open(make(folder, 2, AXES)).report()
    return folder


def studied(folder: Path) -> Path:
    """A copy of the finished study; its results folder."""
    shutil.copytree(finished(), folder, dirs_exist_ok=True)
    return folder / "results" / "synthetic"


def edit(results: Path, *statements: str) -> None:
    db = sqlite3.connect(results / "store.sqlite")
    for statement in statements:
        assert db.execute(statement).rowcount != 0, statement
    db.commit()
    db.close()


TRACEBACK = "a traceback"


UNCOMPARED = "a report that was not compared is named, with exit code 9"


def codes(folder: Path) -> set[str]:
    """What verifying a study or a bundle finds; `incomplete` where nothing differs in a run that is not at
    its end, and `UNCOMPARED` where a report could not be compared, which has an exit code of its own."""
    try:
        done = gridc.open(folder / "gridcard.toml").verify()
    except GridcError as error:
        return {finding.code for finding in error.diagnostics}
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return {TRACEBACK}
    uncompared = {UNCOMPARED} if done.not_compared else set()
    return uncompared if done.complete else uncompared | {"incomplete"}


def edited(*statements: str) -> Callable[[Path, MonkeyPatch], set[str]]:
    def seen(folder: Path, _: MonkeyPatch) -> set[str]:
        edit(studied(folder), *statements)
        return codes(folder)

    return seen


def enter(name: str, done: str, caught: str, remove: Patch, *statements: str) -> None:
    seen = edited(*statements)
    seen.__name__, seen.__module__ = name, __name__
    attack(HOLDER, done, caught, remove)(seen)


made = Store.table_digests


def without_records(patch: MonkeyPatch) -> None:
    """Verification that takes the digests of the tables as they are told."""

    def tables(
        store: Store,
        stamp: str,
        columns: Mapping[str, Sequence[str]] | None = None,
        calls: CallRecords | None = None,
    ) -> dict[str, str | None]:
        finish = store.conclusion(stamp)
        if finish is None or finish.tables is None:
            return made(store, stamp, columns, calls)
        return {name: each.sha256 for name, each in finish.tables.items()}

    patch.setattr(Store, "table_digests", tables)


def some(column: str, value: str, table: str = "call") -> str:
    return f"UPDATE {table} SET {column} = {value} WHERE rowid = (SELECT min(rowid) FROM {table})"


without_digests = instead((verification, "of_digests", nothing))
without_lost_rows = instead((Store, "lost_rows", nothing))
without_columns = instead((verification, "_changed_parts", nothing))
without_plan = instead((verification, "of_plan", nothing))

enter("sent-changed", "what was sent is changed", "GC706", without_records, some("sent", "'{}'"))
enter("usage-changed", "usage is changed", "GC706", without_records, some("usage", "'{}'"))
enter("time-changed", "calls are dated earlier", "GC706", without_records, some("finished", "'2020-01-01'"))


def asked_of_a_provider(folder: Path) -> Path:
    """A study of which one model's calls went to a provider after a probe, the first two in batches; its
    results folder."""
    results = studied(folder)
    db = sqlite3.connect(results / "store.sqlite")
    (model,) = db.execute("SELECT model FROM call ORDER BY rowid LIMIT 1").fetchone()
    calls = [call for (call,) in db.execute("SELECT id FROM call WHERE model = ?", [model])]
    for name in ("one", "two"):
        batch = name, model, "2026-01-01T00:00:00+00:00", 1, "ended", f"batch_{name}", None
        db.execute("INSERT INTO submission VALUES (?, ?, ?, ?, ?, ?, ?)", batch)
    batched = zip(calls, ("b", "c"), ("one", "two"), strict=False)
    single = [(call, f"d{number}", None) for number, call in enumerate(calls[2:])]
    for of, name, submission in [(None, "a", None), *batched, *single]:
        db.execute(
            """INSERT INTO attempt (id, model, purpose, call, number, started, status, http, paid, usd, usage,
               submission) VALUES (?, ?, ?, ?, 1, '2026-01-01T00:00:00+00:00', 'answered', 200, 'yes', 0.5,
               '{}', ?)""",
            [name, model, "call" if of else "probe", of, submission],
        )
    db.commit()
    db.close()
    report_again(results)
    assert codes(folder) == set()
    return results


def edited_request(name: str, done: str, statement: str) -> None:
    def seen(folder: Path, _: MonkeyPatch) -> set[str]:
        edit(asked_of_a_provider(folder), statement)
        gridc.open(folder / "gridcard.toml").report()
        return codes(folder)

    seen.__name__, seen.__module__ = name, __name__
    attack(HOLDER, done, "GC706", without_records)(seen)


edited_request(
    "probe-changed", "what a probe cost is changed, and reported again",
    "UPDATE attempt SET usd = 0.0 WHERE call IS NULL",
)  # fmt: skip
edited_request(
    "request-in-another-batch", "a request is said to have gone in another batch",
    "UPDATE attempt SET submission = 'two' WHERE id = 'b'",
)  # fmt: skip
edited_request(
    "batch-note-made-up", "a note is made up beside a batch, and the report calls it a deviation",
    "UPDATE submission SET detail = 'half of the results came from another model' WHERE id = 'one'",
)  # fmt: skip


def prompt_deleted(folder: Path, _: MonkeyPatch) -> set[str]:
    results = studied(folder)
    db = sqlite3.connect(results / "store.sqlite")
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("DELETE FROM prompt WHERE id = (SELECT min(id) FROM prompt)")
    db.commit()
    db.close()
    return codes(folder)


attack(HOLDER, "a prompt is deleted", "GC704", without_lost_rows)(prompt_deleted)


def and_no_records(remove: Patch) -> Patch:
    """Take a check away, and the digest over all rows too, which would find the same."""

    def both(patch: MonkeyPatch) -> None:
        remove(patch)
        without_records(patch)

    return both


enter(
    "a-batch-more", "a batch is added that answered nothing", "GC704",
    instead((Store, "lost_rows", nothing), (Store, "contradictions", nothing)),
    "INSERT INTO batch SELECT 7, model, precision, 1, 1.0, finished, '{}', '{}' FROM call LIMIT 1",
)  # fmt: skip


@attack(HOLDER, "a call is added that hashes right and that no sample asks", "GC704",
        instead((Store, "lost_rows", nothing), (verification, "of_digests", nothing)))  # fmt: skip
def a_call_more(folder: Path, _: MonkeyPatch) -> set[str]:
    results = studied(folder)
    db = sqlite3.connect(results / "store.sqlite")
    table = "SELECT * FROM call WHERE id = (SELECT min(id) FROM call)"
    row = dict(zip([each[1] for each in db.execute("PRAGMA table_info(call)")], db.execute(table).fetchone(),
                   strict=True))  # fmt: skip
    request = json.loads(row["request"]) | {"seed": 7}
    row |= {"id": digest(request), "request": canonical(request).decode()}
    db.execute(f"INSERT INTO call VALUES ({', '.join('?' * len(row))})", list(row.values()))
    db.commit()
    db.close()
    return codes(folder)


enter(
    "a-secret-more", "a secret is added that opens no sealed map", "GC704", without_lost_rows,
    "INSERT INTO blinding SELECT stamp, 'judging', 'ab' FROM study",
)  # fmt: skip
enter(
    "model-changed", "a call says that another model gave its answer", "GC703",
    and_no_records(without_columns), some("model", "(SELECT max(model) FROM call)"),
)  # fmt: skip
enter(
    "precision-changed", "a call says another precision", "GC703", and_no_records(without_columns),
    some("precision", "'nf4'"),
)  # fmt: skip
enter(
    "cell-of-another-model", "a cell says another model", "GC704", and_no_records(without_plan),
    "UPDATE cell SET model = 'mistral' WHERE id = (SELECT min(id) FROM cell WHERE model = 'qwen')",
)  # fmt: skip
enter(
    "score-changed", "a score is changed, and the recorded digests with it", "GC705",
    instead((verification, "of_samples", nothing), (verification, "of_digests", nothing)),
    "UPDATE sample SET score = 1 - score WHERE (cell, item) = (SELECT cell, min(item) FROM sample)",
)  # fmt: skip


@attack(
    HOLDER, "the answer of a part is changed with its digest, and `merge` seals it anew", "GC706",
    instead((Store, "departures", nothing)),
)  # fmt: skip
def part_forged(folder: Path, _: MonkeyPatch) -> set[str]:
    part = studied(folder).rename(folder / "part") / "store.sqlite"
    with sqlite3.connect(part) as db:
        call, text = db.execute("SELECT id, answer FROM call WHERE kind = 'generate' LIMIT 1").fetchone()
        forged = {**json.loads(text), "text": "It is neither of them."}
        changed = canonical(forged).decode(), digest(forged), call
        db.execute("UPDATE call SET answer = ?, answer_digest = ? WHERE id = ?", changed)
    study = gridc.open(folder / "gridcard.toml")
    try:
        study.merge([part])
    except GridcError as error:
        return {finding.code for finding in error.diagnostics}
    assert codes(folder) == set()
    return set()


def part_of(folder: Path, *edits: str) -> tuple[OpenStudy, Path]:
    """A study without a store, and the store of a part of it whose run was killed."""
    part = studied(folder).rename(folder / "part")
    edit(part, "DELETE FROM event WHERE seq > 2", *edits)
    return gridc.open(folder / "gridcard.toml"), part / "store.sqlite"


UNFINISHED = "what was merged and is under no digest stands among the deviations (`merge._tell_unfinished`)"


@attack(
    HOLDER, "the answer of a part is changed with its digest, and the end of its run is left out", UNFINISHED,
    instead((merge, "_tell_unfinished", nothing)),
)  # fmt: skip
def part_without_an_end(folder: Path, _: MonkeyPatch) -> set[str]:
    told: list[str] = []
    study, part = part_of(
        folder,
        """UPDATE call SET answer = json_set(answer, '$.text', 'It is neither of them.')
            WHERE id = (SELECT min(id) FROM call WHERE kind = 'generate')""",
    )
    with sqlite3.connect(part) as db:
        for call, text in db.execute("SELECT id, answer FROM call").fetchall():
            changed = canonical(json.loads(text)).decode(), digest(json.loads(text)), call
            db.execute("UPDATE call SET answer = ?, answer_digest = ? WHERE id = ?", changed)
    study.merge([part], notify=told.append)
    study.report()
    pages = [(study.store.parent / name).read_text("utf-8") for name in ("deviations.html", "report.html")]
    said = "run had not recorded its end"
    return {UNFINISHED} if all(said in text for text in (*pages, told[0])) else set()


@attack(
    HOLDER, "a part whose run was killed has a value that no run writes, and `merge` takes it", "GC605",
    instead((Store, "require_shape", nothing)),
)  # fmt: skip
def part_misshapen(folder: Path, _: MonkeyPatch) -> set[str]:
    study, part = part_of(folder, "UPDATE call SET usage = '[]' WHERE id = (SELECT min(id) FROM call)")
    try:
        study.merge([part])
    except GridcError as error:
        return {finding.code for finding in error.diagnostics}
    return set()


WHOLE = "a merge that fails at its end has taken nothing (`merge.merge`)"


@attack(
    HOLDER, "a part has a value that scoring meets, and every command fails from then on", WHOLE,
    instead((Writer, "all_or_nothing", lambda _: nullcontext())),
)  # fmt: skip
def part_that_fails_late(folder: Path, patch: MonkeyPatch) -> set[str]:
    patch.setattr(Store, "require_shape", nothing)  # a value that it does not know
    changed = f"UPDATE call SET answer = '[]', answer_digest = '{digest([])}'"
    study, part = part_of(folder, f"{changed} WHERE id = (SELECT min(id) FROM call)")
    with pytest.raises(GridcError):
        study.merge([part])
    with Store.open(study.store) as store:
        return set() if any(store.answered()) else {WHOLE}


LINKED = "what is there already is written only where it is no link (`files.require_unlinked`)"


@attack(
    HOLDER, "`store.sqlite` is a link, and a run writes into the store where it leads", LINKED,
    instead((writable, "require_unlinked", nothing)),
)  # fmt: skip
def store_elsewhere(folder: Path, _: MonkeyPatch) -> set[str]:
    store = studied(folder) / "store.sqlite"
    other = store.rename(folder / "other.sqlite")
    store.symlink_to(other)
    try:
        gridc.open(folder / "gridcard.toml").report()
    except GridcError as error:
        assert {finding.code for finding in error.diagnostics} == {"GC607"}
        return {LINKED}
    return set()


@attack(
    HOLDER, "`figures` is a link, and a report writes over files where it leads", LINKED,
    instead((report_files, "require_unlinked", nothing)),
)  # fmt: skip
def figures_elsewhere(folder: Path, _: MonkeyPatch) -> set[str]:
    (folder / "elsewhere").mkdir()
    (studied(folder) / "figures").symlink_to(folder / "elsewhere")
    try:
        gridc.open(folder / "gridcard.toml").report(figures=True)
    except GridcError as error:
        assert {finding.code for finding in error.diagnostics} == {"GC607"}
    return set() if any((folder / "elsewhere").iterdir()) else {LINKED}


@attack(HOLDER, "the event that recorded the results is cut off, with the report after it", "GC707",
        instead((verification, "of_reports", nothing)))  # fmt: skip
def end_cut(folder: Path, _: MonkeyPatch) -> set[str]:
    edit(studied(folder), "DELETE FROM event WHERE seq > 2")
    return codes(folder)


@attack(HOLDER, "a witness is written beside the store", "GC707",
        instead((verification, "of_witness", nothing)))  # fmt: skip
def witness_forged(folder: Path, _: MonkeyPatch) -> set[str]:
    (studied(folder) / "witness.json").write_text('{"benchmarks": []}')
    return codes(folder)


def lenient(_: int, kind: str, text: str) -> events.Body:
    """A reading of events that misses nothing."""
    body = events.KINDS[kind]
    return body.model_construct(**json.loads(text)) if kind == "finish" else body.model_validate_json(text)


@attack(HOLDER, "an event lacks a key, and the chain is sealed again", "GC605",
        instead((events, "_parse", lenient)))  # fmt: skip
def event_without_a_key(folder: Path, _: MonkeyPatch) -> set[str]:
    results = studied(folder)
    reseal(results, lambda kind, body: {k: v for k, v in body.items() if (kind, k) != ("finish", "results")})
    return codes(folder)


@attack(HOLDER, "an event names the results twice: SQL reads the first, the chain seals the last", "GC702",
        instead((events, "each_key_once", dict)))  # fmt: skip
def event_told_twice(folder: Path, _: MonkeyPatch) -> set[str]:
    twice = """'{"results": "0000", ' || substr(body, 2)"""
    edit(studied(folder), f"UPDATE event SET body = {twice} WHERE kind = 'finish'")
    return codes(folder)


@attack(HOLDER, "items and right options are deleted, and what the run recorded of them with them", "GC704",
        and_no_records(without_plan))  # fmt: skip
def items_deleted(folder: Path, _: MonkeyPatch) -> set[str]:
    edit(studied(folder), "DELETE FROM question", "DELETE FROM shown", "DELETE FROM item")
    return codes(folder)


@attack(HOLDER, "an answer is nested too deeply to be read, and its digest fits", "GC703",
        instead((verification, "guarded", lambda _, check: check)))  # fmt: skip
def answer_nested(folder: Path, _: MonkeyPatch) -> set[str]:
    deep = "[" * 100_000
    one = "id = (SELECT min(id) FROM call WHERE kind = 'loglikelihood')"
    set_to = f"answer = '{deep}', answer_digest = '{digest_bytes(deep.encode())}'"
    edit(studied(folder), f"UPDATE call SET {set_to} WHERE {one}")
    return codes(folder)


def one_reading_of_many(patch: MonkeyPatch) -> None:
    patch.setattr(verification, "has_one_reading", lambda _: True)


def told_twice(column: str, first: str) -> Callable[[Path, MonkeyPatch], set[str]]:
    """A key is named a second time, before the true one: SQLite reads the first, and Python, which compares
    with a rerun and scores, the last. Everything is scored, sealed and reported again."""

    def seen(folder: Path, _: MonkeyPatch) -> set[str]:
        results = studied(folder)
        db = sqlite3.connect(results / "store.sqlite")
        rows = db.execute(f"SELECT id, {column} FROM call WHERE kind = 'generate'").fetchall()
        for call, text in rows:
            changed = f"{{{first},{text[1:]}"
            db.execute(f"UPDATE call SET {column} = ? WHERE id = ?", [changed, call])
            if column == "answer":
                sealed = digest_bytes(changed.encode())
                db.execute("UPDATE call SET answer_digest = ? WHERE id = ?", [sealed, call])
        db.commit()
        db.close()
        report_again(results)
        return codes(folder)

    return seen


for column, first, done in (
    ("answer", '"finish":"length"', "an answer names `finish` twice: a rerun sees one, the report the other"),
    (
        "sent",
        '"exemplars_dropped":0,"exemplars_dropped":3',
        "what was sent says twice how many exemplars were dropped",
    ),
):
    shown_twice = told_twice(column, first)
    shown_twice.__name__, shown_twice.__module__ = f"{column}_told_twice", __name__
    attack(HOLDER, done, "GC703", one_reading_of_many)(shown_twice)


@attack(HOLDER, "an answer holds a number that no float is, and scoring it again fails", "GC605",
        instead((run, "_outcome", lambda _, cell, item, answers, ruling:
                 score_sample(cell.setting, item, answers, ruling))))  # fmt: skip
def answer_beyond_numbers(folder: Path, _: MonkeyPatch) -> set[str]:
    results = studied(folder)
    db = sqlite3.connect(results / "store.sqlite")
    huge = json.dumps({"loglikelihoods": [-(10**400), -1, -1], "tokens": [1, 1, 1]})
    db.execute("UPDATE call SET answer = ?, answer_digest = ? WHERE kind = 'loglikelihood'",
               [huge, digest_bytes(huge.encode())])  # fmt: skip
    db.commit()
    db.close()
    try:
        report_again(results)
    except GridcError as error:
        return {finding.code for finding in error.diagnostics}
    except ArithmeticError:
        return {TRACEBACK}
    return set()


@attack(HOLDER, "the study in the store is not JSON", "GC605",
        instead((reader, "document_of", json.loads), (Store, "misshapen", nothing)))  # fmt: skip
def study_unreadable(folder: Path, _: MonkeyPatch) -> set[str]:
    edit(studied(folder), "UPDATE study SET content = '{'")
    return codes(folder)


def words_of_sqlite(path: Path) -> object:
    """Opening that takes no care of what SQLite says in bytes that are no text."""
    return Database(opening._connect(path)), lambda: None


@attack(HOLDER, "the schema is damaged with bytes that are no text, which SQLite's message repeats", "GC605",
        instead((reader, "open_to_read", words_of_sqlite)))  # fmt: skip
def schema_no_text(folder: Path, _: MonkeyPatch) -> set[str]:
    store = studied(folder) / "store.sqlite"
    data = store.read_bytes()
    store.write_bytes(data.replace(b"CREATE TABLE study", b"CREATE \xd8ABLE study", 1))
    return codes(folder)


def read_naively(path: Path) -> Lock | None:
    json.loads(path.read_bytes())
    return read_lock(path)


@attack(HOLDER, "the lock is nested too deeply to be read", "GC403",
        instead((compile_module, "read_lock", read_naively)))  # fmt: skip
def lock_nested(folder: Path, _: MonkeyPatch) -> set[str]:
    studied(folder)
    (folder / "gridcard.lock").write_text("[" * 100_000)
    return codes(folder)


@attack(HOLDER, "a report is not UTF-8", "GC707",
        instead((verification, "of_reports", nothing)))  # fmt: skip
def report_unreadable(folder: Path, _: MonkeyPatch) -> set[str]:
    (studied(folder) / "certificate.json").write_bytes(b'{"\xff": 1}')
    return codes(folder)


@attack(HOLDER, "a recursive view stands in for a table", "GC605",
        instead((opening, "_missing", nothing)))  # fmt: skip
def view_for_a_table(folder: Path, _: MonkeyPatch) -> set[str]:
    edit(studied(folder), "ALTER TABLE batch RENAME TO hidden", "CREATE VIEW batch AS SELECT * FROM hidden")
    return codes(folder)


def without_end(path: Path, table: str, levels: int) -> None:
    """Build a table of pages of which each names the next one 300 times, `levels` deep."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = DELETE")
    (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table]).fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    data = bytearray(path.read_bytes())
    data += data[(root - 1) * size : root * size]
    for level in range(levels):
        below = len(data) // size
        pages = [struct.pack(">IB", below, 1 + number % 100) for number in range(300)]
        first = size - 5 * len(pages)
        head = struct.pack(">BHHHBI", 5, 0, len(pages), first, 0, below)
        places = b"".join(struct.pack(">H", first + 5 * number) for number in range(len(pages)))
        page = (head + places).ljust(first, b"\0") + b"".join(pages)
        if level + 1 < levels:
            data += page
        else:
            data[(root - 1) * size : root * size] = page
    data[28:32] = struct.pack(">I", len(data) // size)
    path.write_bytes(data)


@attack(HOLDER, "a table is built of pages that name each other, so that reading it never ends", "GC605",
        instead((Store, "damage", nothing)))  # fmt: skip
def events_without_end(folder: Path, _: MonkeyPatch) -> set[str]:
    without_end(studied(folder) / "store.sqlite", "event", levels=1)  # without the check 300 times its length
    return codes(folder)


def look_does_not_end(command: str, done: str, ask: Callable[[gridc.OpenStudy], object]) -> None:
    """Who only reads a store is told before a row is read that its tables need not end."""

    def seen(folder: Path, _: MonkeyPatch) -> set[str]:
        without_end(studied(folder) / "store.sqlite", "event", levels=1)
        try:
            ask(gridc.open(folder / "gridcard.toml"))
        except GridcError as error:
            return {finding.code for finding in error.diagnostics}
        return set()

    seen.__name__, seen.__module__ = f"{command}_without_end", __name__
    attack(HOLDER, done, "GC605", instead((opening, "look_through", nothing)))(seen)


look_does_not_end("status", "the same, and `status` is asked of it", lambda study: study.status())
look_does_not_end("report", "the same, and a report is made of it", lambda study: study.report())
look_does_not_end(
    "sql", "the same, and `sql` reads it", lambda study: study.sql("SELECT count(*) FROM call")
)  # fmt: skip


@attack(HOLDER, "a run was killed, and its number is another process's when its store is exchanged for one",
        "GC605", instead((opening, "_process_start", lambda _: "before")))  # fmt: skip
def exchanged_while_it_is_written(folder: Path, patch: MonkeyPatch) -> set[str]:
    """Containers give the same low numbers to the first processes of each start."""
    store = studied(folder) / "store.sqlite"
    patch.setenv("GRIDC_CACHE", str(folder / "cache"))
    opening.note_known(store, writing=True)
    (note,) = (folder / "cache" / "stores").iterdir()
    note.write_text(json.dumps({**json.loads(note.read_text()), "born": "before"}))
    without_end(store, "event", levels=1)
    try:
        gridc.open(folder / "gridcard.toml").status()
    except GridcError as error:
        return {finding.code for finding in error.diagnostics}
    return set()


OWN_DATE = "what a report states of the clock leaves out its own date (`events.before_reports`)"


@attack(
    "nobody: the clock is corrected between run and report", "`verify` refuses the report of an honest run",
    OWN_DATE, instead((find_module, "before_reports", lambda chain: chain)),
)  # fmt: skip
def clock_corrected(folder: Path, patch: MonkeyPatch) -> set[str]:
    results = studied(folder)
    patch.setattr(writable, "now", lambda: "2019-01-01T00:00:00.000+00:00")
    for _ in range(2):
        gridc.open(folder / "gridcard.toml").report()
        if codes(folder):
            return set()
    with Store.open(results / "store.sqlite") as store:
        assert events.steps_back(store.events())
    return {OWN_DATE}


ANY_NAME = "the name of a store need not be UTF-8 (`Reader.path`)"


def named_in_text(store: Store) -> Path:
    name = "SELECT file FROM pragma_database_list WHERE name = 'main'"
    return Path(store._db.execute(name).fetchone()[0])


@attack("nobody: a folder has a name that is not UTF-8", "`run` and `report` work, and `verify` does not",
        ANY_NAME, instead((reader.Reader, "path", property(named_in_text))))  # fmt: skip
def folder_in_latin_1(folder: Path, _: MonkeyPatch) -> set[str]:
    place = Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xe9"))
    studied(place)
    return {ANY_NAME} if codes(place) == set() else set()


@attack(HOLDER, "a figure is forged", "GC714", instead((verification, "_figures", nothing)))
def figure_forged(folder: Path, _: MonkeyPatch) -> set[str]:
    results = studied(folder)
    gridc.open(folder / "gridcard.toml").report(figures=True)
    assert codes(folder) == set()
    drawn = min((results / "figures").glob("*.svg"))
    drawn.write_text(drawn.read_text().replace("</svg>", "<text>qwen wins</text></svg>"))
    return codes(folder)


OTHERS = "what nothing says what it is is named (`verification.unchecked`)"


@attack(HOLDER, "a figure and a table are laid beside the others", OTHERS,
        instead((verification, "unchecked_files", nothing)))  # fmt: skip
def figure_more(folder: Path, _: MonkeyPatch) -> set[str]:
    results = studied(folder)
    (results / "figures").mkdir()
    (results / "figures" / "qwen-wins.svg").write_text("<svg/>")
    (results / "scores.csv").write_text("qwen,100\n")
    checked = gridc.open(folder / "gridcard.toml").verify().checked
    named = "figures/qwen-wins.svg, scores.csv"
    return {OTHERS} if any(line.endswith(named) for line in checked) else set()


@attack(HOLDER, "a forged figure is the sixth of the names that nothing says anything of", OTHERS,
        instead((verification, "_is_shown", lambda _: False), (verification, "_MOST_NAMES", 5)))  # fmt: skip
def figure_behind_others(folder: Path, _: MonkeyPatch) -> set[str]:
    results = studied(folder)
    (results / "figures").mkdir()
    (results / "figures" / "qwen-wins.svg").write_text("<svg/>")
    for number in range(5):
        (results / f"a{number}.log").write_text("")
    checked = gridc.open(folder / "gridcard.toml").verify().checked
    return {OTHERS} if any("figures/qwen-wins.svg" in line for line in checked) else set()


every_row = opening._schema


@attack(HOLDER, "a trigger stands behind a thousand entries of the schema that are all the same", "GC605",
        instead((opening, "_schema", lambda db: tuple(sorted(set(every_row(db)))))))  # fmt: skip
def trigger_out_of_sight(folder: Path, _: MonkeyPatch) -> set[str]:
    """SQLite takes entries without a statement as often as they are there; the trigger then changes every
    score as soon as a report records its look."""
    results = studied(folder)
    db = sqlite3.connect(results / "store.sqlite")
    db.execute("PRAGMA writable_schema = ON")
    named = (
        "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE type = 'index' AND sql IS NULL"
    )
    db.executemany("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", [db.execute(named).fetchone()] * 1000)
    fires = "CREATE TRIGGER t AFTER INSERT ON event BEGIN UPDATE sample SET score = 1 - score; END"
    db.execute("INSERT INTO sqlite_master VALUES ('trigger', 't', 'event', 0, ?)", [fires])
    db.commit()
    db.close()
    return codes(folder)


NAMED = "what is not made again is named (`verification.SeenReports.lines`)"
UNNAMED = instead((verification.SeenReports, "lines", lambda _: iter(["the reports that are here say it"])))


@attack(HOLDER, "a run is made incomplete, and any report passes as one of an earlier state", NAMED, UNNAMED)
def report_of_an_earlier_state(folder: Path, _: MonkeyPatch) -> set[str]:
    results = studied(folder)
    db = sqlite3.connect(results / "store.sqlite")
    call, cell, item = db.execute("SELECT call, cell, item FROM trace LIMIT 1").fetchone()
    unsaid = "answer = NULL, answer_digest = NULL, sent = NULL, usage = NULL, seconds = NULL, finished = NULL"
    db.execute(f"UPDATE call SET {unsaid} WHERE id = ?", [call])
    unscored = "choice = NULL, score = NULL, evidence = NULL"
    db.execute(f"UPDATE sample SET {unscored} WHERE cell = ? AND item = ?", [cell, item])
    db.execute("UPDATE event SET kind = 'interim look' WHERE kind = 'report'")
    db.execute("DELETE FROM event WHERE kind = 'finish'")
    db.execute("UPDATE event SET seq = (SELECT count(*) FROM event e WHERE e.seq <= event.seq)")
    db.commit()
    db.close()
    reseal(results, lambda kind, body: {k: v for k, v in body.items() if k != "files"})
    (results / "report.html").write_text("<h1>qwen is right in 99.9 % of all cases</h1>")
    done = gridc.open(folder / "gridcard.toml").verify()
    return {NAMED} if any("not made again: report.html" in line for line in done.checked) else set()


@attack(HOLDER, "the attribution in the last event is made up, and the reports follow it", NAMED, UNNAMED)
def attribution_made_up(folder: Path, _: MonkeyPatch) -> set[str]:
    results = studied(folder)
    made_up = Attribution("bbq", "score", "points", 8, 0.99, {"template": 0.9, "scoring": 0.0})
    rows = [asdict(made_up)]
    reseal(results, lambda kind, body: body | ({"attribution": rows} if kind == "report" else {}))
    compiled = compile_spec(folder / "gridcard.toml")
    assert compiled.lock is not None
    with Store.open(results / "store.sqlite") as store:
        said = claimed_of_lock(store.events(), Plan(compiled.study).study_digest)
        write_reports(
            all_findings(compiled, compiled.lock, store, said, known={ATTRIBUTION: (made_up,)}), results
        )
    done = gridc.open(folder / "gridcard.toml").verify()
    return {NAMED} if any("not made again: the attribution" in line for line in done.checked) else set()


RUN = Path(__file__).resolve().parents[2] / "runtime" / "stores" / "digests-by-hand" / "study.tar.xz"
"""A study that a real model answered."""


def asked_again(name: str, done: str, kind: str, change: str, remove: Patch, column: str = "answer") -> None:
    """Answers of a real model are changed, everything is scored, sealed and reported again, and every call
    is repeated."""

    def seen(folder: Path, _: MonkeyPatch) -> set[str]:
        with tarfile.open(RUN) as packed:
            packed.extractall(folder, filter="data")
        results = folder / "results" / "small"
        db = sqlite3.connect(results / "store.sqlite")
        local = "json_extract(body, '$.model') = 'qwen2' AND event.kind = 'load'"
        db.execute(
            f"""UPDATE call SET {column} = {change} WHERE kind = '{kind}' AND model IN
                (SELECT json_extract(body, '$.identity') FROM event WHERE {local})"""
        )
        for call, answer in db.execute("SELECT id, answer FROM call").fetchall():
            text = canonical(json.loads(answer)).decode()
            row = [text, digest_bytes(text.encode()), call]
            db.execute("UPDATE call SET answer = ?, answer_digest = ? WHERE id = ?", row)
        db.commit()
        db.close()
        report_again(results)
        try:
            gridc.open(folder / "gridcard.toml").verify(rerun=1.0)
        except GridcError as error:
            return {finding.code for finding in error.diagnostics}
        return set()

    seen.__name__, seen.__module__ = name, __name__
    attack(HOLDER, done, "GC708", remove)(seen)


asked_again(
    "near-ties-made-up", "near ties are counted that are none, and all calls are repeated", "generate",
    "json_set(answer, '$.near_ties', 280)", instead((rerun, "_counts_agree", lambda *_: True)),
)  # fmt: skip
asked_again(
    "rankings-moved", "likelihoods are moved by less than 1e-3, and all calls are repeated", "loglikelihood",
    "json_set(answer, '$.loglikelihoods[0]', json_extract(answer, '$.loglikelihoods[0]') - 9e-4)",
    instead((rerun, "LEAST", 1e-3)),
)  # fmt: skip
asked_again(
    "local-answer-of-another-model",
    "a local model is said to have answered as another, and all calls are repeated", "generate",
    """json_set(sent, '$.model', 'gpt-2', '$.body', json('{"model":"qwen2"}'))""",
    instead((rerun, "_same_prompt", lambda *_: True)), "sent",
)  # fmt: skip


def in_bfloat16(name: str, done: str, turned: list[float], remove: Patch) -> None:
    """Rankings of a model in bf16 are stored with other likelihoods, of which the same candidate is the most
    likely one, and every call is repeated. Batch shape changes nothing."""

    def seen(_: Path, __: MonkeyPatch) -> set[str]:
        setting = Setting(prompt="", method="loglikelihood", normalise="token")
        item = Item("i", "Which?", ("one", "two words"), gold=0)
        now, stored, uses = {}, {}, []
        for number in range(40):
            call = f"{number:02}"
            content = {"loglikelihoods": [-2.0, -6.0], "tokens": [1, 2], "greedy": [False, False]}
            sent = {"prompt_token_digest": call}
            now[call] = Answer(call, content, sent, {}, 0.0)
            stored[call] = sent, {**content, "loglikelihoods": turned}
            uses.append(rerun.RankedSample(setting, item, (call,)))
        found = rerun._compare("m", "bf16", 40, stored, now, now, uses)
        return {"GC708"} if found.differing else set()

    seen.__name__, seen.__module__ = name, __name__
    attack(HOLDER, done, "GC708", remove)(seen)


in_bfloat16(
    "choices-turned-in-reduced-precision",
    "in bf16 likelihoods by token are turned within the order of the sums, and all calls are repeated",
    [-3.0, -5.5], instead((rerun.RankedSample, "choice", lambda *_: None)),
)  # fmt: skip
in_bfloat16(
    "likelihoods-moved-in-reduced-precision",
    "in bf16 a model is made surer than it is, and all calls are repeated",
    [-0.1, -60.0], instead((rerun, "REDUCED_LEAST", 1000.0)),
)  # fmt: skip


def reseal(results: Path, change: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
    """Change the bodies of events and seal the chain again, as anyone can who has read the code."""
    db = sqlite3.connect(results / "store.sqlite")
    previous = "0" * 64
    for seq, at, kind, body in db.execute("SELECT seq, at, kind, body FROM event ORDER BY seq").fetchall():
        content = change(kind, json.loads(body))
        sealed = digest({"seq": seq, "at": at, "kind": kind, "body": content, "previous": previous})
        db.execute(
            "UPDATE event SET body = ?, previous = ?, digest = ? WHERE seq = ?",
            [json.dumps(content, sort_keys=True), previous, sealed, seq],
        )
        previous = sealed
    db.commit()
    db.close()


def forge(results: Path) -> None:
    """All answers of a model are made right, scored, concluded, sealed and reported with gridc's own code."""
    db = sqlite3.connect(results / "store.sqlite")
    for call, answer in db.execute("SELECT id, answer FROM call WHERE kind = 'loglikelihood'").fetchall():
        content = json.loads(answer)
        content["loglikelihoods"] = [-1.0 - place for place in range(len(content["loglikelihoods"]))]
        text = canonical(content).decode()
        sealed = digest(content)
        db.execute("UPDATE call SET answer = ?, answer_digest = ? WHERE id = ?", [text, sealed, call])
    db.commit()
    db.close()
    report_again(results)


def report_again(results: Path) -> None:
    """Score, conclude, seal and report what the store holds now, with gridc's own code."""
    db = sqlite3.connect(results / "store.sqlite")
    db.execute("DELETE FROM event WHERE kind IN ('finish', 'report')")
    db.execute("UPDATE sample SET choice = NULL, score = NULL, evidence = NULL")
    db.commit()
    db.close()
    gridc.open(results.parents[1] / "gridcard.toml").report()


AUTHOR = "the author"
OLDER = "answers under every stamp of a store are counted (`earlier.earlier_answers`)"
UNKNOWN = "a stamp that replaced another says what is not known (`conduct.replaced_words`)"


def superseded(folder: Path) -> Path:
    """A study that was run and reported, changed in one key after that, and stamped anew; its spec."""
    studied(folder)
    spec = folder / "gridcard.toml"
    text = (
        spec.read_text("utf-8")
        .replace('"builtin:T1"', '"builtin:T2"')
        .replace('"builtin:T4"', '"builtin:T3"')
    )
    spec.write_text(text, "utf-8")
    gridc.open(spec).stamp(supersede=True)
    return spec


def run_again(spec: Path) -> None:
    fill(compile_spec(spec), spec.parent / "results" / "synthetic" / "store.sqlite")
    gridc.open(spec).report()


@attack(AUTHOR, "after a look at the results the lock is superseded, and a third party dates it", OLDER,
        instead((conduct, "earlier_answers", nothing)))  # fmt: skip
def superseded_after_a_look(folder: Path, _: MonkeyPatch) -> set[str]:
    spec = superseded(folder)
    run_again(spec)
    date = "2026-01-01T00:00:00+00:00"
    found = replace(
        gridc.open(spec).findings().findings, anchors=(Attestation("token", date, "an authority", date),)
    )
    said = {row.id: row.holds for row in methodology(found)}
    assert (said["stamped_first"] == "yes") is (said["vouched"] == "yes")
    return {OLDER} if said["stamped_first"] != "yes" else set()


@attack(AUTHOR, "the same, and the lock's chain is emptied by hand before the new study is run", "GC701",
        instead((verification, "of_history", nothing)))  # fmt: skip
def superseded_without_a_chain(folder: Path, _: MonkeyPatch) -> set[str]:
    spec = superseded(folder)
    lock = spec.with_suffix(".lock")
    document = json.loads(lock.read_text("utf-8"))
    assert document.pop("supersedes")
    lock.write_text(json.dumps({**document, "supersedes": []}, indent=1, sort_keys=True) + "\n", "utf-8")
    run_again(spec)
    return codes(folder)


@attack(AUTHOR, "the same, and the chain is emptied when the new study was run and reported", "GC701",
        instead((verification, "of_history", nothing), (verification, "of_lock", nothing)))  # fmt: skip
def superseded_and_then_without_a_chain(folder: Path, _: MonkeyPatch) -> set[str]:
    spec = superseded(folder)
    run_again(spec)
    lock = spec.with_suffix(".lock")
    document = json.loads(lock.read_text("utf-8")) | {"supersedes": []}
    lock.write_text(json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
    gridc.open(spec).report()
    return codes(folder)


@attack(AUTHOR, "the same, the first store is put away, and the new study is run into a second one", UNKNOWN,
        instead((conduct_statements, "replaced_words", lambda _: "")))  # fmt: skip
def superseded_in_a_second_store(folder: Path, _: MonkeyPatch) -> set[str]:
    spec = superseded(folder)
    shutil.move(folder / "results", folder / "kept")
    run_again(spec)
    said = json.loads((folder / "results" / "synthetic" / "certificate.json").read_text("utf-8"))[
        "statements"
    ]
    return {UNKNOWN} if "whether data existed then is not known from this store" in " ".join(said) else set()
