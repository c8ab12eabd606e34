"""The digests of a study that runs recorded before they followed from the schema. They leave out requests
without a call, which batch a request went in, and the batches at providers."""

import hashlib
from collections.abc import Sequence
from itertools import chain

from sqlite_utils import Database

from gridc.runtime.store.digests import CallRecords, call_records
from gridc.schema.canonical import canonical_row, stored_row

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
