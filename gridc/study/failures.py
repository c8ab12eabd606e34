"""What the operating system and SQLite refuse, as coded errors: no other exception that a file or a machine
can cause leaves the API. Any other exception is a bug in gridc, and the command line reports it as one."""

import errno
import resource
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import isfunction
from pathlib import Path
from typing import TypeVar

from gridc.diagnostics.errors import Diagnostic, FileError, IncompleteError, StoreError, UnavailableError

T = TypeVar("T")

TRACEBACK = "GRIDC_TRACEBACK"
"""The environment variable with which the command line shows where it failed."""


@contextmanager
def coded() -> Iterator[None]:
    """Turn `OSError` into `FileError` (GC607), `sqlite3.Error` into `StoreError` (GC605), and too little
    memory into `UnavailableError` (GC620). A pipe that its reader closed is no failure of a study and stays
    a `BrokenPipeError`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except MemoryError as error:
        raise _no_memory(error) from error
    except SystemError as error:  # a library in C that was refused memory and does not say so
        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            raise _no_memory(error) from error
        raise
    except ImportError as error:
        if any(words in str(error) for words in _NOT_MAPPED):
            raise _no_memory(error) from error
        raise
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise _no_memory(error) from error
        file = None if error.filename is None else str(error.filename)
        diagnostic = Diagnostic("GC607", str(error.strerror or error), file, help=_way_out(error))
        raise FileError([diagnostic]) from error
    except Exception as error:
        from sqlite3 import Error

        if isinstance(error, Error):
            raise StoreError([Diagnostic("GC605", f"SQLite says: {error}")]) from error
        raise


def coded_calls(api: type[T]) -> type[T]:
    """A class whose public methods are `coded`, each of them."""
    for name, member in list(vars(api).items()):
        if not name.startswith("_") and isfunction(member):
            setattr(api, name, coded()(member))
    return api


_NOT_MAPPED = ("failed to map", "cannot allocate", "Cannot allocate")
"""What the loader of libraries says where there is no memory for one."""


def _no_memory(error: BaseException) -> UnavailableError:
    text = str(error) or "more is asked for than there is"
    help = "`ulimit -v` and the limits of a container say what a process may have"
    return UnavailableError([Diagnostic("GC620", text, help=help)])


def crashed(error: BaseException) -> IncompleteError:
    """What nobody foresaw, in the words of the command line: what it was, and where in gridc."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "gridc" in Path(frame.filename).parts]
    place = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    text = str(error).strip().partition("\n")[0][:200]
    message = f"{type(error).__name__}{place}" + (f": {text}" if text else "")
    help = f"{TRACEBACK}=1 prints the whole traceback: please report it, with what was being done"
    return IncompleteError([Diagnostic("GC621", message, help=help)])


def _way_out(error: OSError) -> str:
    """What to do about what the operating system refuses."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some space and run the command again: what was stored is intact, and `gridc run` resumes"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return (
            "change the permissions, name another place, or copy the study to a folder that you may write to"
        )
    if error.errno == errno.ELOOP:
        return "name what the link leads to, or remove the link"
    if error.errno == errno.ENOENT:
        return "make the folder that it lies in, or name another place"
    if error.errno in (errno.ENOTDIR, errno.EISDIR, errno.EEXIST):
        return "something else has this name: move it, or name another place"
    return "run the command again where the file can be read and written; `gridc run` resumes"
