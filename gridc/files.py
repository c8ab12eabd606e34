"""Reading a file that may be a stranger's, and writing one so that nobody ever sees a half-written file."""

import csv
import errno
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

csv.field_size_limit(2**24)

STALE = 3600
"""Seconds after which a draft is a crashed writer's: writing one takes a moment."""


def cache_folder() -> Path | None:
    """The user's cache folder of gridc; GRIDC_CACHE names another one, and empty, nothing is kept: None."""
    folder = os.environ.get("GRIDC_CACHE")
    if folder == "":
        return None
    return (
        Path(folder) if folder else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gridc"
    )


def config_folder() -> Path:
    """The user's configuration folder of gridc: in XDG_CONFIG_HOME, which counts where it is absolute (XDG
    Base Directory Specification), or ~/.config."""
    stated = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(stated) if Path(stated).is_absolute() else Path.home() / ".config") / "gridc"


def is_there(path: Path, kind: Callable[[Path], bool]) -> bool:
    """Whether there is such a thing; a name that no file system takes is a thing that is not there."""
    try:
        return kind(path)
    except OSError:
        return False


def read_regular(path: Path, most: int) -> bytes:
    """A file's bytes. Raises `OSError` where it is no regular file (a FIFO would wait for ever, a device
    never end), and `ValueError` where it has more than `most` bytes."""
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{path} has more than {most:,} bytes")
    return data


def csv_records(text: str) -> Iterator[list[str]]:
    """The records of a CSV text, empty ones too. Raises `csv.Error`. Lines are those that editors count:
    other separators, such as U+2028, belong to the text."""
    lines = (f"{line}\n" for line in text.replace("\r\n", "\n").split("\n"))
    yield from csv.reader(lines, strict=True)


def open_regular(path: Path) -> BufferedReader:
    """A regular file, opened. Raises `OSError` for anything else."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path} is not a regular file")
    return os.fdopen(handle, "rb")


def require_unlinked(path: Path) -> None:
    """Raise `OSError` (ELOOP) where `path` is a symbolic link. Whoever writes into what is there already, a
    folder or a file, asks first: a study that was handed over would choose with a link what is written over.
    Writing a whole file needs no such question: `write_atomic` replaces a link, and follows none."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, "a symbolic link is not followed to write where it leads", str(path))


def write_atomic(path: Path, content: str | bytes, mode: int | None = None) -> None:
    """Replace `path` in one step: a reader sees the old file or the new one, whole.

    The bytes reach the disk before the name does, and the name before this returns. `mode` sets the
    permissions; by default those of the file that is replaced are kept. Raises `OSError`; then the old file
    is as it was and no draft is left.
    """
    if mode is None:
        with suppress(OSError):
            mode = path.stat().st_mode & 0o7777
    draft = _draft(path, content, mode)
    try:
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(path.parent)


def write_new(path: Path, content: str | bytes, mode: int | None = None) -> None:
    """Write `path` in one step where there is nothing yet, with these permissions. Of several writers one
    succeeds, and the others get `FileExistsError`; what is there then is whole. Raises `OSError`."""
    draft = _draft(path, content, mode)
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        with path.open("xb") as file:
            file.write(draft.read_bytes())
            file.flush()
            os.fsync(file.fileno())
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _draft(path: Path, content: str | bytes, mode: int | None) -> Path:
    """A new file beside `path` with the content, on the disk. Its name cannot be guessed, and it is opened
    only where nothing is: a link put there earlier would lead the write out of the folder."""
    data = content.encode() if isinstance(content, str) else content
    _clean(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.draft")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(draft, flags, 0o666 if mode is None else mode)
    except OSError as error:
        error.filename = str(path)  # nobody knows the draft by its name
        raise
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            draft.chmod(mode)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return draft


def _clean(path: Path) -> None:
    """Remove the drafts of `path` that a crashed writer left."""
    begin = f".{path.name}."
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if entry.name.startswith(begin) and entry.name.endswith(".draft"):
                with suppress(OSError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime > STALE:
                        Path(entry.path).unlink()


def _sync_folder(folder: Path) -> None:
    """A rename is durable once its folder is. Not every file system can sync a folder."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
