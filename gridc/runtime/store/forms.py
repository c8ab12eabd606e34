"""What forms the values of a store have. A store that somebody edited holds others, and what reads it fails
on them somewhere: then this says where they are."""

from collections.abc import Iterator
from datetime import datetime

from sqlite_utils import Database

FAILURES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading a value of another form raises."""

_DATES = {"study": "created", "call": "finished", "batch": "finished", "attempt": "started", "event": "at"}
_OBJECTS = {
    "study": ("content",),
    "call": ("request", "sent", "answer", "usage"),
    "sample": ("evidence",),
    "batch": ("work", "most"),
    "attempt": ("usage",),
    "event": ("body",),
}
_OTHERWISE = {
    "call": """answer IS NOT NULL AND json_type(answer, '$.error') IS NULL AND CASE kind
        WHEN 'generate' THEN json_type(answer, '$.text') IS NOT 'text'
        ELSE json_type(answer, '$.loglikelihoods') IS NOT 'array' END""",
    "sample": """choice < 0 OR choice > 25 OR replicate < 0 OR (replicate > 0
        AND NOT EXISTS (SELECT 1 FROM sample s WHERE s.cell = sample.cell AND s.item = sample.item
                        AND s.replicate = sample.replicate - 1))""",
    "shown": "CASE WHEN json_valid(points) THEN json_type(points) <> 'array' ELSE 1 END",
}


def misshapen(db: Database) -> Iterator[str]:
    """Each table and column with values that gridc does not write, in words. Every row is looked at."""
    for table, column in _DATES.items():
        dates = db.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")
        if not all(_is_date(date) for (date,) in dates):
            yield f"`{column}` of a row of `{table}` is no date"
    for table, columns in _OBJECTS.items():
        for column in columns:
            wrong = f"CASE WHEN json_valid({column}) THEN json_type({column}) <> 'object' ELSE 1 END"
            rows = db.execute(f"SELECT 1 FROM {table} WHERE {column} IS NOT NULL AND {wrong} LIMIT 1")
            if rows.fetchone():
                yield f"`{column}` of a row of `{table}` is no JSON object"
                return  # what looks into it fails too
    for table, wrong in _OTHERWISE.items():
        if db.execute(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1").fetchone():
            yield f"a row of `{table}` holds what no run writes"


def _is_date(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
