"""A store as the viewer reads it: opened safely, one page at a time, each page at one moment of the store."""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.runtime.store.opening import open_to_read, unusable

PAGE_SECONDS = 20.0
"""CPU time that a page may take: a store that somebody else made may hold anything."""

CACHE_KIB = 64 * 1024

SqlRow = tuple[Any, ...]


class LiveReader:
    """A store, open for reading until it is closed. A run that writes meanwhile is seen from page to page."""

    def __init__(self, path: Path) -> None:
        """Raises `StoreError` where there is no store that can be read (GC605, GC612)."""
        self.path = path
        self._lock = Lock()
        db, self._close = open_to_read(path)
        self._connection: sqlite3.Connection = db.conn
        self._connection.isolation_level = None
        self._connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")

    def close(self) -> None:
        with self._lock:
            self._close()

    @contextmanager
    def moment(self, seconds: float = PAGE_SECONDS) -> Iterator["Moment"]:
        """The store as it is now: all that is read in the context is of one moment. Raises `StoreError`
        (GC605) for what SQLite cannot read, or not within so many seconds of CPU time."""
        last = time.thread_time() + seconds
        with self._lock:
            self._connection.set_progress_handler(lambda: time.thread_time() > last, 20_000)
            try:
                self._connection.execute("BEGIN")
                yield Moment(self._connection)
            except sqlite3.OperationalError as error:
                if time.thread_time() <= last:
                    raise unusable(self.path, error) from None
                message = f"the page was not ready after {seconds:.0f} s of CPU time"
                raise StoreError([Diagnostic("GC605", message, str(self.path))]) from None
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                raise unusable(self.path, error) from None
            finally:
                self._connection.set_progress_handler(None, 0)
                if self._connection.in_transaction:
                    self._connection.rollback()


class Moment:
    """The rows of a store at one moment."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def rows(self, statement: str, values: Sequence[Any] = ()) -> "sqlite3.Cursor":
        """The rows that a statement selects, one after the other."""
        return self.connection.execute(statement, values)

    def row(self, statement: str, values: Sequence[Any] = ()) -> SqlRow | None:
        """The first of them, if there is one."""
        row: SqlRow | None = self.rows(statement, values).fetchone()
        return row

    @property
    def version(self) -> int:
        """Another one after another process has written."""
        return int(self.connection.execute("PRAGMA data_version").fetchone()[0])
