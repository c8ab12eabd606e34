"""The digests of a study in a store: of its results, and of every table and column that it rests on.

What is digested follows from the schema: a table or a column that a migration adds is covered unless it is
one of the `EXCEPTIONS`. A run records the columns of each table with its digest, so that what an older one
covered can be made again after a migration, and what it did not cover can be named.

Before that runs recorded other digests (`of_answers`, `of_records`), which leave out requests without a call,
which batch a request went in, and the batches at providers.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import numpy as np
from sqlite_utils import Database

from gridc.schema.canonical import canonical_row, stored_row

EXCEPTIONS = {
    "_sqlite_migrations": "when the tables of this file were made",
    "event": "the chain holds the digests, and each event that of the one before it",
    "prompt": "`id` is the SHA-256 of the row, and calls name it",
    "call.request": "`id` is its SHA-256",
    "call.answer": "`answer_digest` is its SHA-256",
    "blinding": "sheets are sealed after the end of a run; the event `seal` commits to each secret",
    "label": "people label after the end of a run; the event `lock` holds the digest of their labels",
}
"""Tables and columns under no digest of the run's end, and why they need none."""

_SCOPES = {
    "call": "{calls}",
    "batch": "id IN (SELECT batch FROM call WHERE {calls})",
    "attempt": """call IN (SELECT id FROM call WHERE {calls})
        OR call IS NULL AND model IN (SELECT model FROM call WHERE {calls})""",
    "submission": "model IN (SELECT model FROM call WHERE {calls})",
    "prompt": "id IN (SELECT prompt FROM call WHERE {calls})",
}
"""Which rows of a table belong to a study, where no column says so."""


def covered(db: Database) -> dict[str, list[str]]:
    """Every table of a store with those of its columns that are digested."""
    named = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    columns = {
        table: [column for column in _columns(db, table) if f"{table}.{column}" not in EXCEPTIONS]
        for (table,) in db.execute(f"{named} ORDER BY name").fetchall()
        if table not in EXCEPTIONS
    }
    return {table: some for table, some in columns.items() if some}


def uncovered(db: Database, recorded: Mapping[str, Iterable[str]]) -> list[str]:
    """What `covered` names and is not among these columns by table: a whole `table`, or `table.column`."""
    missing = []
    for table, columns in covered(db).items():
        if table not in recorded:
            missing.append(table)
        else:
            missing += [f"{table}.{name}" for name in columns if name not in recorded[table]]
    return missing


def of_tables(
    db: Database,
    stamp: str,
    where: str,
    values: Sequence[str],
    columns: Mapping[str, Sequence[str]],
    calls: "CallRecords | None" = None,
) -> dict[str, str | None]:
    """SHA-256 over these columns of each table's rows that belong to a study, in the order of their keys;
    `where` selects the study's calls. Calls are not read again where they are given. None for a table or a
    column that is not there.
    """
    by_table: dict[str, str | None] = {}
    for table, some in columns.items():
        there = _columns(db, table)
        if not some or not there.keys() >= set(some):
            by_table[table] = None
        elif table == "call":
            by_table[table] = hashlib.sha256(
                call_records(db, some, where, values, calls).sorted()
            ).hexdigest()
        else:
            scope, given = scope_of(db, table, stamp, where, values)
            keys = [name for name, place in sorted(there.items(), key=itemgetter(1)) if place] or ["rowid"]
            rows = db.execute(
                f"SELECT {_names(some)} FROM {_names([table])} WHERE {scope} ORDER BY {_names(keys)}", given
            )
            total = hashlib.sha256()
            for row in rows:
                total.update(stored_row(row) + b"\n")
            by_table[table] = total.hexdigest()
    return by_table


def attempts_made(db: Database, where: str, values: Sequence[str]) -> int:
    """How many requests were made of the models of the calls that `where` selects, for these or for none."""
    scope, given = scope_of(db, "attempt", "", where, values)
    (count,) = db.execute(f"SELECT count(*) FROM attempt WHERE {scope}", given).fetchone()
    return int(count)


def _columns(db: Database, table: str) -> dict[str, int]:
    """The columns of a table, each with its place in the primary key, from 1; 0 for one outside of it."""
    return {row[1]: row[5] for row in db.execute("SELECT * FROM pragma_table_xinfo(?)", [table])}


def _names(names: Iterable[str]) -> str:
    """Names that are in the schema, for a statement."""
    return ", ".join(f'"{name}"' for name in names)


def scope_of(
    db: Database, table: str, stamp: str, where: str, values: Sequence[str]
) -> tuple[str, list[str]]:
    """A condition on a table for the rows that belong to a study; all of them where nothing says so."""
    columns = _columns(db, table)
    if table in _SCOPES:
        scope = _SCOPES[table]
        return scope.format(calls=where), list(values) * scope.count("{calls}")
    if "stamp" in columns:
        return "stamp = ?", [stamp]
    if "cell" in columns:
        return "cell IN (SELECT id FROM cell WHERE stamp = ?)", [stamp]
    return "TRUE", []


def keep_only(db: Database, stamp: str, where: str, values: Sequence[str]) -> None:
    """Delete from a copy what belongs to other studies. `where` selects the calls of this one. What says
    whose a row is goes last."""
    tables = [table for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    told = [*(name for name in _SCOPES if name != "call"), "call"]
    told += [name for name in tables if name not in told and "cell" in _columns(db, name)]
    told += [name for name in tables if name not in told]
    with db.atomic():
        for table in told:
            scope, given = scope_of(db, table, stamp, where, values)
            db.execute(f"DELETE FROM {_names([table])} WHERE NOT ({scope})", given)
    db.execute("VACUUM")  # what was deleted is not to be read in the file


def call_records(
    db: Database, columns: Sequence[str], where: str, values: Sequence[str], calls: "CallRecords | None"
) -> "CallRecords":
    if calls is not None and list(calls.columns) == list(columns):
        return calls
    records = CallRecords(columns)
    for row in db.execute(f"SELECT {_names(columns)} FROM call WHERE {where}", values):
        records.add(row)
    return records


class CallRecords:
    """The digests of some columns of the rows of calls. What they come to does not depend on the order in
    which they are added: in the file it is by chance."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns
        self._held = bytearray()  # 160 MB for five million

    def add(self, row: Sequence[Any]) -> None:
        """Add the columns of a call that are digested."""
        self._held += hashlib.sha256(stored_row(row)).digest()

    def sorted(self) -> bytearray:
        """The digests, in order."""
        np.frombuffer(self._held, dtype="S32").sort()
        return self._held


def digest_of_judgements(db: Database, stamp: str) -> str:
    """SHA-256 over the sorted (cell, item, replicate, judge, attempt, label, confidence, failure)."""
    total = hashlib.sha256()
    for row in _judgements(db, stamp):
        total.update(canonical_row(row) + b"\n")
    return total.hexdigest()


def _judgements(db: Database, stamp: str) -> Iterator[tuple[Any, ...]]:
    yield from db.execute(
        """SELECT key, item, replicate, judge, attempt, label, confidence, failure
           FROM judgement JOIN cell ON cell.id = judgement.cell WHERE stamp = ?
           ORDER BY key, item, replicate, judge, attempt""",
        [stamp],
    )


class CellResults:
    """The results of cells, which are added in the order of their keys, each sample in that of the store."""

    def __init__(self) -> None:
        self._total = hashlib.sha256()
        self.cells: list[str] = []

    def add(
        self, cell: str, item: str, replicate: int, result: str | int | None, outcome: int | None
    ) -> None:
        """Add a sample: what its last call generated, or the option that was chosen, and its score."""
        self._total.update(canonical_row((cell, item, replicate, result, outcome)) + b"\n")

    def end(self, cell: str) -> None:
        """Say that all samples of a cell were added."""
        self.cells.append(cell)

    def digest(self, judgements: Iterator[tuple[Any, ...]]) -> str:
        """SHA-256 over what was added, and these rows behind it."""
        total = self._total.copy()
        for judgement in judgements:
            total.update(canonical_row(judgement) + b"\n")
        return total.hexdigest()


def of_results(db: Database, stamp: str, read: CellResults | None = None) -> str:
    """SHA-256 over the sorted (cell, item, replicate, text or chosen option, score), and behind them what
    `of_judgements` covers. If every cell of the study was `read`, none is read again.

    Log-probabilities and times are left out, because they may differ in their last digits where
    the results do not.
    """
    cells = db.execute("SELECT key, id FROM cell WHERE stamp = ? ORDER BY key", [stamp]).fetchall()
    if read is None or read.cells != [key for key, _ in cells]:
        read = CellResults()
        for key, cell in cells:
            rows = db.execute(
                """SELECT s.item, s.replicate,
                          CASE call.kind WHEN 'generate' THEN json_extract(answer, '$.text') ELSE choice END,
                          score
                    FROM sample s JOIN trace t USING (cell, item, replicate) JOIN call ON call.id = t.call
                    WHERE s.cell = ? ORDER BY s.item, s.replicate, t.step""",
                [cell],
            )
            for _, calls in groupby(rows, itemgetter(0, 1)):
                *_, last = calls  # a sample's last call says what came of it
                read.add(key, *last)
            read.end(key)
    return read.digest(_judgements(db, stamp))


LEFT_OUT = ("attempt (without a call)", "attempt.submission", "submission")
"""What no digest of such a run covers."""

CALL = ("id", "model", "precision", "kind", "prompt", "sent", "answer_digest", "usage", "seconds", "finished",
        "batch")  # fmt: skip
"""The columns of calls."""

_COLUMNS = {
    "study": "stamp, created",
    "benchmark": "benchmark, direction, unit, stamp",
    "item": "benchmark, item, unit, family, template, category",
    "shown": "benchmark, item, option_order, digest, options, points, gold, matching, unknown, expected",
    "cell": "id, key, model, benchmark, configuration, tier, shared, method, option_order, replicates",
    "batch": """id, model, precision, calls, json_extract(work, '$.forward_tokens'), seconds,
        json_extract(most, '$.kv_bytes'), json_extract(most, '$.rows'), json_extract(most, '$.peak_bytes'),
        finished, nullif(json_remove(work, '$.forward_tokens'), '{}'),
        nullif(json_remove(most, '$.kv_bytes', '$.rows', '$.peak_bytes'), '{}')""",
}
"""What `of_records` covers beside calls. What a batch took once had four columns of its own, and is digested
as it was then."""

_BATCH = 10
"""As many columns of a batch are always digested, and what else it took where there is such."""


def of_answers(db: Database, where: str, values: Sequence[str]) -> str:
    """SHA-256 over every call that `where` selects with its answer's digest, by call id."""
    rows = db.execute(f"SELECT id, answer_digest FROM call WHERE {where} ORDER BY +id", values)
    total = hashlib.sha256()
    attempts = db.execute(
        f"""SELECT id, model, purpose, call, number, started, seconds, status, failure, http, paid, usd,
                   answered_by, fingerprint, usage, detail
            FROM attempt WHERE call IN (SELECT id FROM call WHERE {where}) ORDER BY id""",
        values,
    )
    for row in chain(rows, attempts):
        total.update(canonical_row(row) + b"\n")
    return total.hexdigest()


def of_records(
    db: Database, stamp: str, where: str, values: Sequence[str], calls: CallRecords | None = None
) -> str:
    """SHA-256 over every row that the study rests on, with all its columns; `where` selects its calls, which
    are not read again where they are given.

    Of calls, the sorted digests of the rows; prompts and requests are named by their own digests.
    """
    total = hashlib.sha256()
    used = f"SELECT {_COLUMNS['batch']} FROM batch WHERE id IN (SELECT batch FROM call WHERE {where})"
    mine = "IN (SELECT id FROM cell WHERE stamp = ?)"
    batches = db.execute(f"{used} ORDER BY batch.id", values)
    first = chain(
        db.execute("SELECT stamp, created FROM study WHERE stamp = ?", [stamp]),
        *(
            db.execute(f"SELECT {_COLUMNS[table]} FROM {table} WHERE stamp = ? ORDER BY 1, 2, 3, 4", [stamp])
            for table in ("benchmark", "item", "shown", "cell")
        ),
    )
    then = chain(
        db.execute(
            f"""SELECT cell, item, replicate, choice, score, evidence FROM sample
                WHERE cell {mine} ORDER BY cell, item, replicate""",
            [stamp],
        ),
        db.execute(
            f"""SELECT cell, item, replicate, step, call FROM trace
                WHERE cell {mine} ORDER BY cell, item, replicate, step""",
            [stamp],
        ),
        db.execute(
            f"""SELECT 'judgement', cell, item, replicate, judge, attempt, call, label, confidence, failure
                FROM judgement WHERE cell {mine} ORDER BY cell, item, replicate, judge, attempt""",
            [stamp],
        ),
        db.execute(
            f"""SELECT cell, item, replicate, step, name FROM trace
                WHERE name IS NOT NULL AND cell {mine} ORDER BY cell, item, replicate, step""",
            [stamp],
        ),
    )
    lines = chain(
        map(canonical_row, first),
        (stored_row(row if any(row[_BATCH:]) else row[:_BATCH]) for row in batches),
        map(canonical_row, then),
    )
    for line in lines:
        total.update(line + b"\n")
    total.update(call_records(db, CALL, where, values, calls).sorted())
    return total.hexdigest()
