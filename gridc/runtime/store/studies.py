"""Which study of a store is meant, and what of the store is its own: one answer for every reader."""

import json
import sqlite3
from pathlib import Path

from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.schema.canonical import digest, each_key_once

MOST_NAMED = 5
"""Studies that a message names."""


def stamps_in(db: sqlite3.Connection) -> list[str]:
    """The stamps of the studies in a store, oldest first."""
    return [stamp for (stamp,) in db.execute("SELECT stamp FROM study ORDER BY rowid LIMIT 1000")]


def which_study(db: sqlite3.Connection, path: Path, named: str | None = None) -> str:
    """The stamp of the only study in a store, or of the only one whose stamp begins as `named`. None is taken
    because it is the newest: whoever adds rows to a store would choose what is shown.

    Raises `StoreError`: GC603 where there is none, GC602 where there are several, GC605 where its stamp is
    not the digest of what the store says was stamped, or a table calls another score the better one.
    """
    stamps = [stamp for stamp in stamps_in(db) if stamp.startswith(named or "")]
    if not stamps:
        raise not_here(path, named)
    if len(stamps) > 1:
        first = ", ".join(stamp[:12] for stamp in stamps[:MOST_NAMED])
        more = ", ..." if len(stamps) > MOST_NAMED else ""
        message = (
            f"the store holds {len(stamps)} studies{f' with stamp {named}' if named else ''}: {first}{more}"
        )
        help = f"say which one is meant: `{path}@{stamps[-1][:12]}`"
        raise StoreError([Diagnostic("GC602", message, str(path), help=help)])
    (stamp,) = stamps
    if not is_stamped(db, stamp):
        message = f"the study {stamp[:12]} in the store does not hash to its stamp"
        raise StoreError([Diagnostic("GC605", message, str(path))])
    for benchmark in turned(db, stamp):
        message = (
            f"the table `benchmark` calls another score of {benchmark} the better one than the spec does"
        )
        raise StoreError([Diagnostic("GC605", message, str(path))])
    return stamp


def turned(db: sqlite3.Connection, stamp: str) -> list[str]:
    """The benchmarks of which the table says otherwise than the stamped spec which score is the better one.
    Imported logs have no spec."""
    rows = db.execute(
        """SELECT benchmark FROM study JOIN benchmark USING (stamp), json_each(content, '$.spec.benchmark')
           WHERE stamp = ? AND json_extract(value, '$.id') = benchmark
           AND json_extract(value, '$.direction') <> direction""",
        [stamp],
    )
    return [benchmark for (benchmark,) in rows]


def not_here(path: Path, stamp: str | None) -> StoreError:
    """Of a store that holds no run, or none of the study whose stamp begins so."""
    message = "the store holds no run" + (f" of this study (stamp {stamp[:12]})" if stamp else "")
    return StoreError([Diagnostic("GC603", message, str(path), help="`gridc run` creates it")])


def is_stamped(db: sqlite3.Connection, stamp: str) -> bool:
    """Whether a stamp is the digest of the document that the store holds under it."""
    (content,) = db.execute("SELECT content FROM study WHERE stamp = ?", [stamp]).fetchone()
    try:
        return digest(json.loads(content, object_pairs_hook=each_key_once)) == stamp
    except (ArithmeticError, RecursionError, TypeError, ValueError):  # it has no canonical form
        return False


def calls_of(db: sqlite3.Connection, stamp: str) -> tuple[str, list[str]]:
    """A condition on `call` for the calls of a study. Where it is the only one all calls are its own."""
    if stamps_in(db) == [stamp]:
        return "TRUE", []
    text = "SELECT call FROM {0} JOIN cell ON cell.id = {0}.cell WHERE stamp = ?"
    mine = " UNION ALL ".join(text.format(table) for table in ("trace", "judgement"))
    return f"call.id IN ({mine})", [stamp, stamp]
