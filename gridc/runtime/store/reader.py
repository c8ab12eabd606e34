"""A store that is open for reading: what every question about it starts from."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from sqlite_utils import Database

from gridc.diagnostics.errors import Diagnostic, GridcError, StoreError
from gridc.runtime.store.digests import keep_only
from gridc.runtime.store.events import B, Event, recorded
from gridc.runtime.store.opening import open_to_read
from gridc.runtime.store.rows import RECORDED
from gridc.runtime.store.studies import calls_of, is_stamped, not_here, stamps_in, which_study
from gridc.schema.canonical import digest
from gridc.schema.spec import Spec

FAILURES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading a value of another form raises."""

_DATES = {
    "study": "created",
    "call": "finished",
    "batch": "finished",
    "attempt": "started",
    "submission": "created",
    "event": "at",
}
_OBJECTS = {
    "study": ("content",),
    "call": ("request", "sent", "answer", "usage"),
    "sample": ("evidence",),
    "batch": ("work", "most"),
    "attempt": ("usage",),
    "event": ("body",),
}
_NO_NUMBER = "EXISTS (SELECT 1 FROM json_each({}) WHERE type NOT IN ('integer', 'real'))"
_OTHERWISE = {
    "call": """answer IS NOT NULL AND json_type(answer, '$.error') IS NULL AND CASE kind
        WHEN 'generate' THEN json_type(answer, '$.text') IS NOT 'text'
        ELSE json_type(answer, '$.loglikelihoods') IS NOT 'array' END""",
    "sample": """choice < 0 OR choice > 25 OR replicate < 0 OR (replicate > 0
        AND NOT EXISTS (SELECT 1 FROM sample s WHERE s.cell = sample.cell AND s.item = sample.item
                        AND s.replicate = sample.replicate - 1))""",
    "trace": """step < 0 OR (step > 0 AND NOT EXISTS (SELECT 1 FROM trace t WHERE t.cell = trace.cell
        AND t.item = trace.item AND t.replicate = trace.replicate AND t.step = trace.step - 1))""",
    "batch": f"calls < 1 OR seconds < 0 OR {_NO_NUMBER.format('work')} OR {_NO_NUMBER.format('most')}",
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
    for table, name in (("study", "stamp"), ("prompt", "id")):
        for identifier, content in db.execute(f"SELECT {name}, content FROM {table}"):
            if _digest_of(content) != identifier:
                yield f"the content of a row of `{table}` does not hash to its name, {identifier[:12]}"
                break
    for (content,) in db.execute("SELECT content FROM study"):
        document = json.loads(content)
        if RECORDED not in document:
            try:
                Spec.model_validate(document["spec"])
            except FAILURES:
                yield "the spec of a study in it is none that this gridc reads"


def _digest_of(content: str) -> str | None:
    try:
        return digest(json.loads(content))
    except FAILURES:
        return None


def _is_date(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


RECORDED_HELP = (
    "`gridc view` and `gridc sql` read it; give `gridc certify --from` and `gridc compare` the logs"
)
CACHE_KIB = 128 * 1024
"""Memory for pages. Calls are looked up by digest, which is at random all over the file."""


class Reader:
    """A store that is open for reading. Use as a context manager."""

    def __init__(self, db: Database, close: Callable[[], None] | None = None) -> None:
        self._db = db
        self._close = close or db.close
        self._db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")

    @classmethod
    def open(cls, path: Path, look: bool = True) -> Self:
        """Open the store at `path` as it is at this moment: what a run adds meanwhile is not seen. For `look`
        see `open_to_read`.

        Raises `StoreError` when there is none, it is damaged (GC605) or a newer gridc made it (GC612).
        """
        db, close = open_to_read(path, look)
        db.execute("BEGIN")  # one snapshot for all that is read
        return cls(db, close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object = None, error: BaseException | None = None, *__: object) -> None:
        """Raises `StoreError` (GC605) in place of an error where values in the store are of no form that
        gridc writes: then they are its cause."""
        try:
            if isinstance(error, FAILURES) and not isinstance(error, GridcError):
                self.require_shape()
        finally:
            self._close()

    def require_shape(self) -> None:
        """Raise `StoreError` (GC605) where values in the store are of no form that gridc writes."""
        wrong = list(misshapen(self._db))
        if wrong:
            file, help = str(self.path), "`gridc verify` says what else is wrong with it"
            raise StoreError([Diagnostic("GC605", problem, file, help=help) for problem in wrong]) from None

    @property
    def path(self) -> Path:
        """The file that is read."""
        name = "SELECT CAST(file AS BLOB) FROM pragma_database_list WHERE name = 'main'"
        return Path(os.fsdecode(self._db.execute(name).fetchone()[0]))  # a name need not be UTF-8

    def interrupt(self) -> None:
        """Stop what another thread is asking."""
        self._db.conn.interrupt()

    def copy_to(self, path: Path, stamp: str) -> None:
        """A copy of a study as one file, consistent even while another process writes. Of other studies in
        the store nothing is copied but what the event chain says of them, which is one for all."""
        copy = Database(sqlite3.connect(path))
        try:
            self._db.conn.backup(copy.conn)
            if self.stamps() != [stamp]:
                keep_only(copy, stamp, *self._calls_of(stamp))
            copy.execute("PRAGMA journal_mode = DELETE")
        finally:
            copy.close()

    def stamps(self) -> list[str]:
        """The studies in the store, oldest first."""
        return stamps_in(self._db.conn)

    def events(self) -> list[Event]:
        """The event chain. Raises `StoreError` (GC605) for an event that gridc does not write."""
        return [Event.from_row(row) for row in self._db.query("SELECT * FROM event ORDER BY seq")]

    def recorded(self, kind: type[B], stamp: str | None = None) -> list[B]:
        """What the events of a kind say, in order; of one study, or of all."""
        return recorded(self.events(), kind, stamp)

    def study(self, stamp: str) -> Any:
        """The document that a study's digest is the digest of. Raises `StoreError` (GC613) for imported
        logs."""
        document = self.document(stamp)
        if isinstance(document, dict) and RECORDED in document:
            message = "the store holds imported logs, and no study of gridc"
            raise StoreError([Diagnostic("GC613", message, str(self.path), help=RECORDED_HELP)])
        return document

    def document(self, stamp: str) -> Any:
        """The same, of imported logs too."""
        row = self._db.execute("SELECT content FROM study WHERE stamp = ?", [stamp]).fetchone()
        return document_of(row[0])

    @property
    def imported(self) -> bool:
        """Whether all that the store holds are imported logs."""
        contents = self._db.execute("SELECT content FROM study")
        return all(RECORDED in document_of(content) for (content,) in contents)

    def logs(self) -> Any:
        """What imported logs say of themselves; None where the store holds something else."""
        if not self.stamps() or not self.imported:
            return None
        return self.document(self.which())[RECORDED]

    def which(self, named: str | None = None) -> str:
        """The stamp of the study that is meant (`which_study`)."""
        return which_study(self._db.conn, self.path, named)

    def is_stamped(self, stamp: str) -> bool:
        """Whether a stamp is the digest of the document that the store holds under it."""
        return is_stamped(self._db.conn, stamp)

    def require(self, stamp: str) -> None:
        """Raise `StoreError` when the store holds no run of the study with this stamp."""
        if stamp not in self.stamps():
            raise not_here(self.path, stamp)

    def row(self, table: str, identifier: str | int) -> dict[str, Any]:
        """One row as it is stored."""
        fields: dict[str, Any] = self._db.table(table).get(identifier)
        return fields

    def _calls_of(self, stamp: str) -> tuple[str, list[str]]:
        """A condition on `call` for the calls of a study."""
        return calls_of(self._db.conn, stamp)


def document_of(text: str) -> Any:
    """A JSON document that a store holds. Raises `StoreError` (GC605) for what is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError([Diagnostic("GC605", f"a stored document cannot be read: {error}")]) from None


def object_of(text: str) -> dict[str, Any]:
    """The JSON object that a call was sent as or answered with. Raises `StoreError` (GC605) for another."""
    document = document_of(text)
    if not isinstance(document, dict):
        raise StoreError([Diagnostic("GC605", "a stored call or answer is no JSON object")])
    return document
