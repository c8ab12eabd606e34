"""Which files of stores were looked at, or written, by this user on this machine.

What reads rows of a file built of pages that name each other need not end, and through an index that does not
say what its table does, one question is answered otherwise than the next. So a file that gridc did not write
here is looked at once, pages and indexes, before its rows are read. What was looked at is kept in the user's
cache folder under the file's own number, with its size and times: a file that anything else changed is looked
at again.
"""

import json
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from sqlite_utils import Database

from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.files import cache_folder, write_atomic


def look(db: Database, path: Path) -> None:
    """Look at the pages and indexes of an open store, unless they are known. Raises `StoreError` (GC605)."""
    if _is_known(path):
        return
    require_sound(db, path)
    keep(path)


def require_sound(db: Database, path: Path) -> None:
    """Raise `StoreError` (GC605) where the file of an open store is damaged: first its pages, as what reads
    rows of damaged ones need not end, then whether each index says what its table does. At 100,000 samples
    (230 MB) the pages take 0.2 s, and the indexes 0.8 s."""
    for check in ("quick_check", "integrity_check"):
        damage = db.execute(f"PRAGMA {check}(1)").fetchone()[0]
        if damage != "ok":
            raise StoreError([Diagnostic("GC605", f"SQLite says: {damage}", str(path))])


def keep(path: Path, writing: bool = False) -> None:
    """Note that the file is known as it is now, or as this process is `writing` it."""
    with suppress(OSError):  # a home that cannot be written keeps nothing, and loses nothing but time
        note = _note(path)
        if note is not None:
            note.parent.mkdir(parents=True, exist_ok=True)
            own = {"writer": os.getpid(), "born": _born(os.getpid())}
            known = own if writing else {"state": _state(path)}
            write_atomic(note, json.dumps(known))


def _is_known(path: Path) -> bool:
    try:
        note = _note(path)
        known = json.loads(note.read_text("utf-8")) if note else {}
        if "writer" in known:
            # That process looked at it before it began to write; its number alone may be another's by now.
            return known["born"] is not None and known["born"] == _born(known["writer"])
        return bool(known) and known["state"] == _state(path)
    except (OSError, OverflowError, ValueError, LookupError, TypeError):
        return False


def _born(process: int) -> str | None:
    """The start of this machine and, in its ticks since then, that of a process (proc(5)); None where there
    is no such process, or nothing says so."""
    with suppress(OSError, IndexError):
        started = Path(f"/proc/{process:d}/stat").read_bytes().rpartition(b")")[2].split()[19]
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {started.decode()}"
    return None


def _note(path: Path) -> Path | None:
    """Where it is kept that the file at `path` is known."""
    folder = cache_folder()
    if folder is None:
        return None
    stat = path.stat()
    name = sha256(f"{path.resolve()}\0{stat.st_dev}\0{stat.st_ino}".encode("utf-8", "surrogateescape"))
    return folder / "stores" / f"{name.hexdigest()}.json"


def _state(path: Path) -> list[list[int]]:
    """Size and times of the file and of its log. Only what writes a file sets the last of its times."""
    states = []
    for file in (path, path.with_name(f"{path.name}-wal")):
        with suppress(FileNotFoundError):
            stat = file.stat()
            if stat.st_size:
                states.append([stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns])
    return states
