"""Opening the file of a store that anybody may have made, and which files were already checked.

A SQLite file is a program as well as data: views, triggers and expressions in a schema run when a table is
read. So a file is read only if its schema is, statement for statement, one that gridc makes, and until then
nothing in it is trusted and every step is bounded in time.

A file can still be built to mislead a reader: where its pages name each other in a circle, reading its rows
need not end; where an index does not say what its table does, the same question gets two answers. So a file
that gridc did not write here is checked once, pages and indexes, before its rows are read. Which files were
checked is kept in the user's cache folder under the file's own number, with its size and times: a file that
anything else changed is checked again.
"""

import json
import os
import shutil
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from sqlite_utils import Database

from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.files import cache_folder, open_regular, write_atomic
from gridc.runtime.store.tables import APPLICATION_ID, migrations


def look_through(db: Database, path: Path) -> None:
    """Look at the pages and indexes of an open store, unless they are known. Raises `StoreError` (GC605)."""
    if _is_known(path):
        return
    require_sound(db, path)
    note_known(path)


def require_sound(db: Database, path: Path) -> None:
    """Raise `StoreError` (GC605) where the file of an open store is damaged: first its pages, as what reads
    rows of damaged ones need not end, then whether each index says what its table does. At 100,000 samples
    (230 MB) the pages take 0.2 s, and the indexes 0.8 s."""
    for check in ("quick_check", "integrity_check"):
        damage = db.execute(f"PRAGMA {check}(1)").fetchone()[0]
        if damage != "ok":
            raise StoreError([Diagnostic("GC605", f"SQLite says: {damage}", str(path))])


def note_known(path: Path, writing: bool = False) -> None:
    """Note that the file is known as it is now, or as this process is `writing` it."""
    with suppress(OSError):  # a home that cannot be written keeps nothing, and loses nothing but time
        note = _note(path)
        if note is not None:
            note.parent.mkdir(parents=True, exist_ok=True)
            own = {"writer": os.getpid(), "born": _process_start(os.getpid())}
            known = own if writing else {"state": _state(path)}
            write_atomic(note, json.dumps(known))


def _is_known(path: Path) -> bool:
    try:
        note = _note(path)
        known = json.loads(note.read_text("utf-8")) if note else {}
        if "writer" in known:
            # That process looked at it before it began to write; its number alone may be another's by now.
            return known["born"] is not None and known["born"] == _process_start(known["writer"])
        return bool(known) and known["state"] == _state(path)
    except (OSError, OverflowError, ValueError, LookupError, TypeError):
        return False


def _process_start(process: int) -> str | None:
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


Schema = tuple[tuple[str, str, str, str], ...]

BESIDE = ("-wal", "-shm", "-journal")
LOOK_SECONDS = 4.0
"""The most CPU time that the look at a stranger's schema may take."""

_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 2**28,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 2**20,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


def open_to_read(path: Path, look: bool = True) -> tuple[Database, Callable[[], None]]:
    """The store at `path`, which nothing can change through it, and what closes it. One that an older gridc
    made is read from a copy that is brought up to date; the file stays as it is. The pages and indexes of a
    file that gridc did not write here are looked at first, unless who asks does so (`look`).

    Raises `StoreError`: GC605 where there is none or it is damaged, GC612 where a newer gridc made it.
    """
    _require_files(path)
    try:
        db = Database(_connect(path))
        if _missing(db, path):
            return _migrated_copy(db, path)
        if look:
            look_through(db, path)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter for SQLite's words on damage
        raise unusable(path, error) from None
    return db, db.close


def has_tables(path: Path) -> bool:
    """Whether there is a store with tables. A run that was stopped while it made them leaves a file without,
    which the next one fills. Raises `StoreError` (GC605) where the file is damaged or none that SQLite made.
    """
    if not path.exists():
        return False
    _require_files(path)
    try:
        connection = _connect(path)
        try:
            row = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'study'").fetchone()
        finally:
            connection.close()
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if _cut_off(path, error):
            return False
        raise unusable(path, error) from None
    return bool(row[0])


SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""How a rollback journal ends that names another file, which SQLite deletes: gridc writes none."""


def _cut_off(path: Path, error: Exception) -> bool:
    """Whether a disk was full while the first tables were made: whoever writes next rolls that back, and only
    they may. Once a store has tables it has a write-ahead log and no such journal."""
    if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_READONLY_ROLLBACK:
        return False
    with open_regular(path.with_name(f"{path.name}-journal")) as journal:
        journal.seek(0, os.SEEK_END)
        journal.seek(max(0, journal.tell() - len(SUPER_JOURNAL)))
        return journal.read() != SUPER_JOURNAL


def open_to_write(path: Path) -> Database:
    """The store at `path`, made or brought up to date as needed. Raises `StoreError` as `open_to_read`."""
    if path.exists():
        _require_files(path)
    try:
        connection = sqlite3.connect(path)
        _harden(connection)
        db = Database(connection)
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        else:
            _missing(db, path)
        db.enable_wal()
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA synchronous = FULL")
        migrations.apply(db)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise unusable(path, error) from None
    return db


def unusable(path: Path, error: Exception) -> StoreError:
    """SQLite's own words about a file that it cannot use."""
    return StoreError([Diagnostic("GC605", f"SQLite says: {error}", str(path))])


def _require_files(path: Path) -> None:
    """A pipe or a device would block whoever opens it, and a link beside the store lead elsewhere."""
    if not path.exists():
        message, help = "there is no store here yet", "`gridc run` creates it"
        above = path.parent.parent / path.name
        if above.is_file():  # as in a bundle that lost its manifest
            help = f"`--out {above.parent}` names the folder of the store that is there"
        raise StoreError([Diagnostic("GC605", message, str(path), help=help)])
    if not path.is_file():
        raise StoreError([Diagnostic("GC605", "the store is not a regular file", str(path))])
    open_regular(path).close()  # where one may not read it, SQLite would not say so
    for suffix in BESIDE:
        beside = path.with_name(path.name + suffix)
        if os.path.lexists(beside) and not stat.S_ISREG(beside.lstat().st_mode):
            raise StoreError(
                [Diagnostic("GC605", "what lies beside the store is not a regular file", str(beside))]
            )


def _connect(path: Path) -> sqlite3.Connection:
    """A read-only connection. On media that cannot be written, SQLite has no place for the index of its
    write-ahead log: without a log the file is read as it is, with one a copy of both."""
    address = path.resolve().as_uri()
    try:
        return _looked_at(_reading(f"{address}?mode=ro"))
    except sqlite3.OperationalError:
        if os.access(path.parent, os.W_OK):
            raise
    log = path.with_name(f"{path.name}-wal")
    if not log.exists() or not log.stat().st_size:
        return _looked_at(_reading(f"{address}?mode=ro&immutable=1"))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        shutil.copy(path, copy)
        shutil.copy(log, Path(folder) / log.name)
        return _looked_at(_reading(copy.as_uri()))  # an open file outlives its name


def _reading(address: str) -> sqlite3.Connection:
    """A connection that any thread may use, one at a time: query engines read tables in threads of theirs."""
    return sqlite3.connect(address, uri=True, check_same_thread=False)


def _looked_at(connection: sqlite3.Connection) -> sqlite3.Connection:
    """A connection whose first page could be read."""
    try:
        _harden(connection)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _harden(connection: sqlite3.Connection) -> None:
    for limit, value in _LIMITS.items():
        connection.setlimit(limit, value)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")
    if sys.version_info >= (3, 12):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)


def _missing(db: Database, path: Path) -> tuple[str, ...]:
    """The migrations that a store has not had. Raises `StoreError` unless its schema is one of gridc's."""
    last = time.thread_time() + LOOK_SECONDS
    db.conn.set_progress_handler(lambda: time.thread_time() > last, 10_000)
    try:
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise StoreError([Diagnostic("GC605", "this SQLite file is not a gridc store", str(path))])
        schema = _schema(db)
        known = tuple(migration.name for migration in migrations.pending(Database(memory=True)))
        if not any(name == "study" for _, name, _, _ in schema):
            if any(name not in ("_sqlite_migrations", *_OWN_INDEXES) for _, name, _, _ in schema):
                raise _not_a_store(path)
            return known
        names = "SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY id LIMIT 1000"
        applied = tuple(row[0] for row in db.execute(names, [migrations.name]))
    finally:
        db.conn.set_progress_handler(None, 0)
    unknown = [name for name in applied if name not in known]
    if unknown:
        message = f"a newer gridc made this store ({unknown[0]!r} is not known here)"
        raise StoreError([Diagnostic("GC612", message, str(path), help="upgrade gridc to read it")])
    made = _made_by(len(applied))
    # sqlite-utils makes its index after its table: a disk that is full in between leaves it out for good.
    without_own = tuple(row for row in made if row[1] not in _OWN_INDEXES)
    if applied != known[: len(applied)] or not applied or schema not in (made, without_own):
        raise _not_a_store(path)
    return known[len(applied) :]


_OWN_INDEXES = ("idx__sqlite_migrations_migration_set_name",)


def _not_a_store(path: Path) -> StoreError:
    message = "the tables are not those that gridc makes, so nothing in this file is read"
    return StoreError([Diagnostic("GC605", message, str(path))])


def _schema(db: Database) -> Schema:
    """Every row of the schema, as often as it is there, in an order of its own: more than gridc ever makes
    differ from what it makes. How sqlite-utils spells its own table differs from version to version."""
    rows = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT 1000").fetchall()
    return tuple(sorted((kind, name, table, _spelled(name, sql)) for kind, name, table, sql in rows))


def _spelled(name: str, sql: str | None) -> str:
    """The statement that makes an object; empty for an index that comes with its table."""
    if sql is None or name not in ("_sqlite_migrations", *_OWN_INDEXES):
        return sql or ""
    return "".join(letter for letter in sql.lower() if letter not in '"[]` \n\t')


@cache
def _made_by(count: int) -> Schema:
    """The schema after so many migrations."""
    db = Database(memory=True)
    names = [migration.name for migration in migrations.pending(db)]
    migrations.apply(db, stop_before=names[count : count + 1])
    schema = _schema(db)
    db.close()
    return schema


def _migrated_copy(db: Database, path: Path) -> tuple[Database, Callable[[], None]]:
    if not db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'study'").fetchone()[0]:
        db.close()
        message = "the store has no tables yet: the run that began it was stopped"
        raise StoreError([Diagnostic("GC605", message, str(path), help="run `gridc run` to resume")])
    folder = tempfile.TemporaryDirectory()
    copy = Database(_reading((Path(folder.name) / "store.sqlite").as_uri()))
    db.conn.backup(copy.conn)
    db.close()
    try:
        require_sound(copy, path)  # what migrations read may have no end
    except StoreError:
        copy.close()
        folder.cleanup()
        raise
    migrations.apply(copy)
    copy.execute("PRAGMA query_only = ON")

    def close() -> None:
        copy.close()
        folder.cleanup()

    return copy, close
