"""The digests of a study in a store: of its answers, of its results, and of every row that it rests on."""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import numpy as np
from sqlite_utils import Database

from gridc.schema.canonical import canonical_row, stored_row

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
    "call": "id, model, precision, kind, prompt, sent, answer_digest, usage, seconds, finished, batch",
}
"""What `of_records` covers, by name: a column that a later migration adds must not move it. What a batch took
once had four columns of its own, and is digested as it was then."""

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


class CallRecords:
    """The digests of the rows of calls. What they come to does not depend on the order in which they are
    added: in the file it is by chance."""

    def __init__(self) -> None:
        self._held = bytearray()  # 160 MB for five million

    def add(self, row: Sequence[Any]) -> None:
        """Add the columns of a call that are digested."""
        self._held += hashlib.sha256(stored_row(row)).digest()

    def sorted(self) -> bytearray:
        """The digests, in order."""
        np.frombuffer(self._held, dtype="S32").sort()
        return self._held


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
    if calls is None:
        calls = CallRecords()
        for row in db.execute(f"SELECT {_COLUMNS['call']} FROM call WHERE {where}", values):
            calls.add(row)
    total.update(calls.sorted())
    return total.hexdigest()


def of_judgements(db: Database, stamp: str) -> str:
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
