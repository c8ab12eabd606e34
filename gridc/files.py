"""Writing a file so that nobody ever sees half of it, even after a loss of power."""

import os
from contextlib import suppress
from pathlib import Path


def write_atomic(path: Path, content: str | bytes, mode: int | None = None) -> None:
    """Replace `path` in one step: a reader sees the old file or the new one, whole.

    The bytes reach the disk before the name does, and the name before this returns. `mode` sets the
    permissions; by default those of the file that is replaced are kept. Raises `OSError`; then the old file
    is as it was and no draft is left.
    """
    data = content.encode() if isinstance(content, str) else content
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    if mode is None:
        with suppress(OSError):
            mode = path.stat().st_mode & 0o7777
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            draft.chmod(mode)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """A rename is durable once its folder is. Not every file system can sync a folder."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
