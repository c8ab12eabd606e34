"""What the operating system and SQLite refuse, as coded errors: no other exception leaves the API."""

import errno
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
        file = None if error.filename is None else str(error.filename)
        found = Diagnostic("GC607", str(error.strerror or error), file, help=_way_out(error))
        raise FileError([found]) from error
    except Exception as error:
        from sqlite3 import Error

        if isinstance(error, Error):
            raise StoreError([Diagnostic("GC605", f"SQLite says: {error}")]) from error
        raise


def _way_out(error: OSError) -> str:
    """What to do about what the operating system refuses."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some space and run the command again: what was stored is intact, and `gridc run` resumes"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "name a place that you may write to with --out or --to, or change its permissions"
    if error.errno == errno.ENOENT:
        return "make the folder that it lies in, or name another place"
    if error.errno in (errno.ENOTDIR, errno.EISDIR, errno.EEXIST):
        return "something else has this name: move it, or name another place"
    return "run the command again where the file can be read and written; `gridc run` resumes"
