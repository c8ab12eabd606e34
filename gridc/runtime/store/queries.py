"""SQL queries on a store. Nothing can change it: the file is opened for reading, and a statement that
does anything but read is refused before it runs."""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from sqlite_utils import Database

from gridc.diagnostics.errors import Diagnostic, StoreError, UsageError
from gridc.runtime.store.digests import scope_of
from gridc.runtime.store.opening import open_to_read
from gridc.runtime.store.reader import calls_of, stamps_in, which_study
from gridc.runtime.store.tables import TABLES
from gridc.schema.base import ID

_LEVEL = (
    """json_extract('{"' || replace(replace(configuration, '=', '":"'), ',', '","') || '"}', '$."{axis}"')"""
)

_NAMES = """CREATE TEMP VIEW model_names AS
    SELECT json_extract(body, '$.identity') AS digest, min(json_extract(body, '$.model')) AS name
    FROM event WHERE kind = 'load' GROUP BY 1"""

_SAMPLES = """SELECT cell.stamp, cell.key AS cell, cell.model, cell.benchmark, cell.configuration,
        cell.tier,{levels}
        sample.item, item.unit, item.family, item.category, sample.replicate,
        shown.gold, shown.expected, CASE WHEN score IS NOT NULL THEN choice IS NOT NULL END AS parsed,
        choice, score,
        coalesce(json_extract(evidence, '$.rule'), json_extract(evidence, '$.unread')) AS rule,
        CASE WHEN json_extract(evidence, '$.end') > json_extract(evidence, '$.start')
             THEN json_extract(evidence, '$.start') END AS span_start,
        CASE WHEN json_extract(evidence, '$.end') > json_extract(evidence, '$.start')
             THEN json_extract(evidence, '$.end') END AS span_end,
        json_extract(evidence, '$.margin') AS margin,
        call.id AS call, json_extract(answer, '$.text') AS text
    FROM cell JOIN sample ON sample.cell = cell.id
    LEFT JOIN item ON (item.stamp, item.benchmark, item.item) = (cell.stamp, cell.benchmark, sample.item)
    LEFT JOIN shown ON (shown.stamp, shown.benchmark, shown.item, shown.option_order)
                     = (cell.stamp, cell.benchmark, sample.item, cell.option_order)
    LEFT JOIN trace ON (trace.cell, trace.item, trace.replicate)
                     = (sample.cell, sample.item, sample.replicate)
        AND step = (SELECT max(step) FROM trace last WHERE (last.cell, last.item, last.replicate)
                                                        = (sample.cell, sample.item, sample.replicate))
    LEFT JOIN call ON call.id = trace.call WHERE cell.stamp = '{stamp}'"""

_CALLS = """CREATE TEMP VIEW calls AS
    SELECT call.id AS call, coalesce(name, model) AS model, precision, kind, prompt, content AS messages,
        request, sent, json_extract(answer, '$.text') AS text, json_extract(answer, '$.finish') AS finish,
        json_extract(answer, '$.error.kind') AS failure, answer, answer_digest, usage, seconds, finished
    FROM call JOIN prompt ON prompt.id = call.prompt LEFT JOIN model_names ON digest = model"""


def samples_of(stamp: str, axes: Iterable[str]) -> str:
    """The view `samples` of a study as a statement, with a column for each of its axes."""
    known = [axis for axis in axes if re.fullmatch(ID, axis)]  # of a store that a stranger made
    levels = "".join(f'\n        {_LEVEL.replace("{axis}", axis)} AS "axis_{axis}",' for axis in known)
    return _SAMPLES.replace("{levels}", levels).replace("{stamp}", stamp)


VIEWS = {
    "samples": "a sample with the names of its cell, its item, what was read and the text it was read from",
    "calls": "a call with the name of its model, its prompt's messages and the text of its answer",
    "model_names": "the name under which each model was loaded, by its digest",
}
"""Views for whoever asks in SQL; they live in the connection and not in the store."""

_READING = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_ABOUT = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"}


class Relation(NamedTuple):
    """A table or a view, what it holds, and its columns."""

    name: str
    kind: str
    description: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryRows:
    """What a statement selects: its columns, and its rows as they are read, once."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


class Queries:
    """A store that is asked in SQL. Use as a context manager. Tables and views have the rows of the study
    whose stamp begins as `named`, by default the only one; of a store with several, `main.sample` has those
    of all. Raises `StoreError` where there is no store, it is damaged, or has no such study (GC603) or
    several (GC602)."""

    def __init__(self, path: Path, named: str | None = None) -> None:
        self.path = path
        db, self._close = open_to_read(path)
        self._connection: sqlite3.Connection = db.conn
        try:
            stamp = which_study(self._connection, path, named)
        except StoreError:
            self._close()
            raise
        self._connection.execute("PRAGMA temp_store = MEMORY")
        self._connection.execute("PRAGMA query_only = OFF")  # for the views, which are not in the file
        if stamps_in(self._connection) != [stamp]:
            self._leave_out_others(db, stamp)
        samples = f"CREATE TEMP VIEW samples AS {samples_of(stamp, self._axes(stamp))}"
        for view in (_NAMES, samples, _CALLS):
            self._connection.execute(view)
        self._connection.execute("PRAGMA query_only = ON")
        # SQLite declares these two when they are first used, which the rule below takes for writing.
        self._connection.execute("SELECT * FROM json_each('[]'), json_tree('[]')")
        self._connection.set_authorizer(_allowed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _leave_out_others(self, db: Database, stamp: str) -> None:
        """A view in front of each table, with the rows that belong to the study."""
        where, values = calls_of(self._connection, stamp)
        for table in TABLES:
            scope, given = scope_of(db, table, stamp, where, values)
            scope = scope.replace("?", "'{}'").format(
                *given
            )  # a view takes no values; a digest is hexadecimal
            self._connection.execute(f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE {scope}")

    def _axes(self, stamp: str) -> list[str]:
        find = "SELECT configuration FROM cell WHERE stamp = ? LIMIT 1"
        row = self._connection.execute(find, [stamp]).fetchone()
        return [level.partition("=")[0] for level in row[0].split(",")] if row and row[0] else []

    def select(self, statement: str) -> QueryRows:
        """Run one statement. Raises `UsageError` with SQLite's words where it cannot be run."""
        try:
            cursor = self._connection.execute(statement)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise _refused(error) from None
        columns = _distinct([name for name, *_ in cursor.description or ()])
        return QueryRows(columns, _rows(cursor))

    def relations(self) -> list[Relation]:
        """Every view and table, the views first."""
        kinds = [*((name, "view", description) for name, description in VIEWS.items()),
                 *((name, "table", description) for name, description in TABLES.items())]  # fmt: skip
        return [Relation(name, kind, description, self._columns(name)) for name, kind, description in kinds]

    def _columns(self, name: str) -> tuple[str, ...]:
        return tuple(row[1] for row in self._connection.execute(f"PRAGMA table_info({name})"))

    def interrupt(self) -> None:
        """Stop what is running."""
        self._connection.interrupt()


def _distinct(names: list[str]) -> tuple[str, ...]:
    """The names of columns, no two alike: `text`, `text_2`."""
    unique_names: dict[str, None] = {}
    for name in names:
        number, unique = 1, name
        while unique in unique_names:
            number += 1
            unique = f"{name}_{number}"
        unique_names[unique] = None
    return tuple(unique_names)


def _rows(cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
    try:
        yield from cursor
    except sqlite3.Error as error:
        raise _refused(error) from None


def _allowed(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Reading, and what SQLite says about its tables."""
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_OK if first in _ABOUT else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and second == "load_extension":
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY


def _refused(error: Exception) -> UsageError:
    if any(words in str(error) for words in ("not authorized", "authorization denied", "prohibited")):
        message, help = "the store is open for reading, and the statement does something else", None
    else:
        message, help = f"SQLite says: {error}", "`gridc sql --tables` lists the tables and their columns"
    return UsageError([Diagnostic("GC000", message, help=help)])
