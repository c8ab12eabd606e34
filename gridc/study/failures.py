"""What the operating system and SQLite refuse, as coded errors: no other exception leaves the API."""

from collections.abc import Iterator
from contextlib import contextmanager

from gridc.diagnostics.errors import Diagnostic, FileError, StoreError


@contextmanager
def coded() -> Iterator[None]:
    """Turn `OSError` into `FileError` (GC607) and `sqlite3.Error` into `StoreError` (GC605). A pipe that its
    reader closed is no failure of a study and stays a `BrokenPipeError`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError([Diagnostic("GC607", str(error.strerror or error), error.filename)]) from error
    except Exception as error:
        from sqlite3 import Error

        if isinstance(error, Error):
            raise StoreError([Diagnostic("GC605", f"SQLite says: {error}")]) from error
        raise
