"""Files that somebody made to look like a store: refused by what their schema says, in bounded time."""

import lzma
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlite_utils import Database

from gridc.diagnostics.errors import StoreError
from gridc.runtime.store.store import Store
from gridc.runtime.store.tables import APPLICATION_ID, migrations
from gridc.runtime.store.write import Writer
from tests.runtime.test_formats import FIRST

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
COLUMNS = "id, model, precision, kind, prompt, request, sent, answer, answer_digest, usage, seconds, finished"

HOSTILE = {
    "a view for a table": f"""ALTER TABLE call RENAME TO hidden;
        CREATE VIEW call AS SELECT {COLUMNS}, batch FROM hidden WHERE (SELECT max(i) FROM ({ENDLESS}))""",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM sample; END",
    "one table more": "CREATE TABLE more (x)",
    "one index more": "CREATE INDEX more ON sample (score)",
    "one column more": "ALTER TABLE sample ADD COLUMN more TEXT",
    "a virtual table": "CREATE VIRTUAL TABLE more USING fts5(x)",
    "a table less": "DROP TABLE trace",
    "no migrations": "DELETE FROM _sqlite_migrations",
    "migrations in another order": "UPDATE _sqlite_migrations SET id = 10 - id",
    "a check that runs": """ALTER TABLE batch RENAME TO b;
        CREATE TABLE batch (id INTEGER PRIMARY KEY, model TEXT CHECK (length(randomblob(1000000)) > 0))""",
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.sqlite"
    path.write_bytes(lzma.decompress((FIRST / "store.sqlite.xz").read_bytes()))
    return path


def opened(path: Path) -> None:
    with Store.open(path) as opened:
        opened.stamps()


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("use", [opened, lambda path: Writer(path).__exit__()], ids=["read", "write"])
def test_a_strange_schema_is_refused_before_anything_in_it_runs(
    store: Path, name: str, use: Callable[[Path], None]
) -> None:
    opened(store)
    db = sqlite3.connect(store)
    db.executescript(HOSTILE[name])
    db.close()
    before, begun = store.read_bytes(), time.process_time()
    with pytest.raises(StoreError, match="are not those that gridc makes") as caught:
        use(store)
    assert [finding.code for finding in caught.value.diagnostics] == ["GC605"]
    assert time.process_time() - begun < 5
    assert store.read_bytes() == before


def test_a_store_that_a_full_disk_left_without_an_index_is_used(tmp_path: Path) -> None:
    """sqlite-utils makes its table and then its index, which nobody makes once the table is there."""
    path = tmp_path / "store.sqlite"
    begun = Database(path)
    begun.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    migrations.ensure_migrations_table(begun)
    begun.execute("DROP INDEX idx__sqlite_migrations_migration_set_name")
    begun.close()
    for _ in range(2):
        with Writer(path):
            pass
        opened(path)


def test_a_schema_whose_own_reading_never_ends_is_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.executescript(f"CREATE TABLE study (x); CREATE VIEW _sqlite_migrations AS {ENDLESS}")
    db.close()
    begun = time.process_time()
    with pytest.raises(StoreError):
        opened(path)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("use", [opened, lambda path: Writer(path).__exit__()], ids=["read", "write"])
def test_a_pipe_is_not_waited_for(store: Path, suffix: str, use: Callable[[Path], None]) -> None:
    place = store.with_name(store.name + suffix)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    with pytest.raises(StoreError, match=r"is not a (regular )?file"):
        use(store)


@pytest.mark.parametrize(
    "data", [b"", b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 5000, b"x" * 9999]
)
def test_what_is_no_database_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "store.sqlite"
    path.write_bytes(data)
    with pytest.raises(StoreError) as caught:
        opened(path)
    assert {finding.code for finding in caught.value.diagnostics} == {"GC605"}


def test_a_reader_sees_one_moment_while_a_run_writes(store: Path) -> None:
    with Store.open(store) as reader:
        events, digest = len(reader.events()), reader.results_digest(reader.stamps()[0])
        with Writer(store) as writer:
            writer.record(writer.events()[1].body)
            writer._db.execute("UPDATE sample SET score = 1 - score")
            writer._db.conn.commit()
        assert len(reader.events()) == events
        assert reader.results_digest(reader.stamps()[0]) == digest
    with Store.open(store) as reader:
        assert len(reader.events()) == events + 1
        assert reader.results_digest(reader.stamps()[0]) != digest


READ = """
import os, sys
from pathlib import Path
from gridc.runtime.store.store import Store
if os.getuid() == 0:  # whom nothing is denied
    os.setgid(65534), os.setuid(65534)
folder = Path(sys.argv[1])
assert not os.access(folder, os.W_OK)
with Store.open(folder / "store.sqlite") as store:
    print(len(store.events()))
"""


@pytest.mark.parametrize("log", [False, True], ids=["finished", "with a log"])
def test_a_store_on_media_that_cannot_be_written_is_read(store: Path, log: bool) -> None:
    with Store.open(store) as reader:
        expected = len(reader.events())
    folder = store.parent / "media"
    folder.mkdir()
    if log:  # as a run leaves it that was killed: its last event is in the log alone
        with Writer(store) as writer:
            writer.record(writer.events()[1].body)
            for name in ("store.sqlite", "store.sqlite-wal"):
                shutil.copy(store.with_name(name), folder / name)
        expected += 1
    else:
        shutil.copy(store, folder / "store.sqlite")
    for parent in (store.parent, *store.parent.parents[:3]):
        parent.chmod(0o755)
    folder.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", READ, str(folder)], capture_output=True, text=True, check=False
    )
    folder.chmod(0o755)
    assert done.stdout == f"{expected}\n", done.stderr
