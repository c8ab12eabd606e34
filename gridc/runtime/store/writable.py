"""A store that is open for writing: one process at a time."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.files import require_unlinked
from gridc.runtime.store import looked
from gridc.runtime.store.events import Body, Event
from gridc.runtime.store.opening import open_to_write
from gridc.runtime.store.store import Store
from gridc.schema.canonical import canonical


class Writable(Store):
    """A store that is open for writing, by this process alone. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        lock = path.with_suffix(".lock")
        require_unlinked(path)
        require_unlinked(lock)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path
        self._lock = FileLock(lock)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            message = "another gridc process is writing to this store"
            help = (
                "wait until it ends (`gridc status` says how far it is), or stop it: finished calls are kept"
            )
            raise StoreError([Diagnostic("GC601", message, str(path), help=help)]) from None
        try:
            db = open_to_write(path)
            try:
                looked.look(db, path)
                looked.keep(path, writing=True)
            except BaseException:
                db.close()
                raise
            super().__init__(db)
        except BaseException:
            self._lock.release()
            raise

    @classmethod
    def existing(cls, path: Path) -> Self:
        """A store that is there already. Raises `StoreError` when there is none or it is damaged."""
        with Store.open(path):
            return cls(path)

    def __exit__(self, *raised: Any) -> None:
        try:
            super().__exit__(*raised)
            looked.keep(self._file)
        finally:
            self._lock.release()

    def all_or_nothing(self) -> AbstractContextManager[object]:
        """What is written in the context is on the disk when it ends, or none of it."""
        return self._db.atomic()

    def record(self, body: Body) -> None:
        """Append an event to the chain."""
        with self._db.atomic():
            rows = list(self._db.query("SELECT * FROM event ORDER BY seq DESC LIMIT 1"))
            last = Event.from_row(rows[0]) if rows else None
            self._db.table("event").insert(Event.after(last, now(), body).row())

    def _insert(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self._db.conn.executemany(statement, rows)


def text_of(value: Any) -> str:
    """The canonical JSON of a document, as a store holds it."""
    return canonical(value).decode()


def now() -> str:
    """This moment (UTC, ISO 8601), as a store holds it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
