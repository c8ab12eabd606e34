"""Search for words in prompts and responses: a full-text index (SQLite FTS5) in a separate file.

The index is made the first time that somebody searches, in the user's cache folder, and never in a store. It
holds words and where they stand, no texts; what a page shows comes from the store. Calls that had no answer
are remembered and looked at again, so that a search while a run writes finds what has come in.
"""

import re
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Event, Lock, Thread

from gridc.diagnostics.errors import Diagnostic, GridcError, UnavailableError
from gridc.files import cache_folder
from gridc.viewer.lists import LOOK_SECONDS, ROWS, Filters, ListedSample, generated, loaded, sample_row
from gridc.viewer.store import LiveReader, Moment, StoredCell, StoredItems, StoredStudy, absent

FORMAT = "1"
CHUNK = 2_000
"""Calls that are indexed at a time."""

EACH = 25
"""Samples of one text that a page lists; the item's page has all of them."""

_TABLES = """
CREATE VIRTUAL TABLE words USING fts5(body, content='', columnsize=0, tokenize='unicode61');
CREATE TABLE document (n INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL UNIQUE);
CREATE TABLE asked (prompt INTEGER NOT NULL, call TEXT NOT NULL, PRIMARY KEY (prompt, call)) WITHOUT ROWID;
CREATE TABLE unanswered (place INTEGER PRIMARY KEY);
CREATE TABLE reached (place INTEGER NOT NULL);
INSERT INTO reached VALUES (0);
"""


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How many calls of the store the index has been through, and about how many there are."""

    done: int
    total: int
    running: bool
    problem: str | None = None

    @property
    def complete(self) -> bool:
        return self.done >= self.total and not self.running and self.problem is None


@dataclass(frozen=True, slots=True)
class Hit:
    """A text that has the words, with the samples of the filters that it belongs to; `more` says that there
    are others. `where` is `prompt` or `response`, `text` the text itself."""

    n: int
    where: str
    text: str
    rows: tuple[ListedSample, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class Hits:
    """A page of what was found; `after` is the number of the text after which the next page begins."""

    hits: tuple[Hit, ...]
    after: int | None
    partial: bool


class Index:
    """The index of one store."""

    def __init__(self, store: Path, identity: str) -> None:
        """`identity` tells this store from others that lay at its path."""
        self._store = store
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._path = self._file(identity)
        self._lock, self._stop = Lock(), Event()
        self._thread: Thread | None = None
        self._progress = IndexProgress(0, 0, running=False)
        self._connection: sqlite3.Connection | None = None
        self._indexed = -1

    def close(self) -> None:
        """End what is under way; what was indexed stays."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
        if self._temporary is not None:
            self._temporary.cleanup()

    def ensure(self, version: int) -> IndexProgress:
        """Begin to index what is not indexed yet, beside the pages; nothing where all of this version of the
        store is. How far it is."""
        with self._lock:
            if self._connection is None:
                self._connection = self._open()
            if self._thread is None or not (self._thread.is_alive() or self._indexed == version):
                self._indexed = version
                self._progress = IndexProgress(self._progress.done, self._progress.total, running=True)
                self._thread = Thread(target=self._work, name="gridc search index", daemon=True)
                self._thread.start()
        self._thread.join(0.05)  # what is complete is looked through at once
        return self._progress

    def search(
        self,
        moment: Moment,
        study: StoredStudy,
        items: StoredItems,
        filters: Filters,
        after: int,
    ) -> Hits:
        """The texts behind number `after` that have all the words, with samples that pass the filters."""
        cells = {cell.id: cell for cell in filters.cells(study)}
        chosen = {name: filters.items(items, name) for name in {cell.benchmark for cell in cells.values()}}
        deadline = time.monotonic() + LOOK_SECONDS
        hits: list[Hit] = []
        last, shown = after, 0
        for n, kind, identifier in self._matches(match(filters.q), filters.within, after):
            if shown >= ROWS:
                return Hits(tuple(hits), last, partial=False)
            if time.monotonic() > deadline:
                return Hits(tuple(hits), last, partial=True)
            last = n
            calls = [identifier] if kind == "response" else self._asked(n)
            rows = _samples(moment, calls, cells, chosen, filters)
            some: list[ListedSample] = []
            for row in rows:
                some.append(row)
                if len(some) > EACH:
                    break
            if some:
                text = _text(moment, kind, identifier)
                hits.append(Hit(n, kind, text, tuple(some[:EACH]), len(some) > EACH))
                shown += len(some)
        return Hits(tuple(hits), None, partial=False)

    def _matches(self, expression: str, within: str, after: int) -> Iterator[tuple[int, str, str]]:
        with self._lock:
            assert self._connection is not None, "`ensure` comes first"
            matches = self._connection.execute(
                """SELECT n, kind, id FROM words JOIN document ON n = words.rowid
                   WHERE words MATCH ? AND words.rowid > ? AND (? = '' OR kind = ?)
                   ORDER BY words.rowid LIMIT 5000""",
                [expression, after, within, within],
            ).fetchall()
        yield from matches

    def _asked(self, prompt: int) -> list[str]:
        with self._lock:
            assert self._connection is not None, "`ensure` comes first"
            rows = self._connection.execute("SELECT call FROM asked WHERE prompt = ?", [prompt]).fetchall()
        return [call for (call,) in rows]

    def _file(self, identity: str) -> Path:
        folder = cache_folder()
        if folder is None:
            self._temporary = tempfile.TemporaryDirectory()
            return Path(self._temporary.name) / "search.sqlite"
        name = sha256(f"{FORMAT}\0{self._store.resolve()}\0{identity}".encode()).hexdigest()
        return folder / "search" / f"{name}.sqlite"

    def _open(self) -> sqlite3.Connection:
        """The file of the index, made where there is none. A home that cannot be written has it in a
        temporary folder; a file that is damaged is made again: it is a cache."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            return _connected(self._path)
        except (OSError, sqlite3.OperationalError) as error:
            if "fts5" in str(error):
                message = "this Python's SQLite cannot search texts (FTS5 is not compiled in)"
                raise UnavailableError([Diagnostic("GC604", message)]) from None
            self._temporary = tempfile.TemporaryDirectory()
            self._path = Path(self._temporary.name) / "search.sqlite"
            return _connected(self._path)
        except sqlite3.DatabaseError:
            self._path.unlink(missing_ok=True)
            return _connected(self._path)

    def _work(self) -> None:
        """Index what is new. In a thread of its own, with connections of its own."""
        try:
            reader = LiveReader(self._store)
            index = _connected(self._path)
            try:
                while not self._stop.is_set() and _advance(reader, index):
                    self._note(reader, index, running=True)
                self._note(reader, index, running=False)
            finally:
                index.close()
                reader.close()
        except GridcError as error:
            self._progress = IndexProgress(0, 0, running=False, problem=str(error))
        except sqlite3.DatabaseError as error:
            self._progress = IndexProgress(0, 0, running=False, problem=f"SQLite says: {error}")

    def _note(self, reader: LiveReader, index: sqlite3.Connection, running: bool) -> None:
        with reader.moment() as moment:
            row = moment.row("SELECT coalesce(max(rowid), 0) FROM call")
        (done,) = index.execute("SELECT place FROM reached").fetchone()
        self._progress = IndexProgress(done, row[0] if row else 0, running)


def match(words: str) -> str:
    """What a person types, as FTS5 reads it: every word must be there, the last letters of one may be left
    out with `*`, and what stands in double quotes is a phrase. Raises `StoreError` (GC615) where there is no
    word."""
    parts = re.findall(r'"([^"]*)"?|(\S+)', words)
    terms = []
    for phrase, word in parts:
        text = phrase or word
        if re.search(r"\w", text):
            prefix = "*" if word.endswith("*") else ""
            bare = re.sub('["\0]', " ", text.rstrip("*"))
            terms.append(f'"{bare}"{prefix}')
    if not terms:
        raise absent("the search has no word in it")
    return " AND ".join(terms)


def word_spans(text: str, words: str) -> list[tuple[int, int]]:
    """Where the words of a search stand in a text, roughly as FTS5 finds them."""
    spans = []
    for phrase, word in re.findall(r'"([^"]*)"?|(\S+)', words):
        parts = re.findall(r"\w+", phrase or word)
        if parts:
            end = "" if word.endswith("*") else r"\b"
            pattern = r"\b" + r"\W+".join(map(re.escape, parts)) + end
            spans += [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    return merged


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False, timeout=30, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'reached'").fetchone():
            for statement in filter(str.strip, _TABLES.split(";")):
                connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _advance(reader: LiveReader, index: sqlite3.Connection) -> bool:
    """Index one chunk of calls: those behind the last, and those that had no answer. Whether there was
    one."""
    index.execute("BEGIN IMMEDIATE")
    try:
        (place,) = index.execute("SELECT place FROM reached").fetchone()
        open_places = [row[0] for row in index.execute("SELECT place FROM unanswered ORDER BY place")]
        columns = "rowid, id, prompt, answer"
        with reader.moment() as moment:
            some = moment.rows(
                f"SELECT {columns} FROM call WHERE rowid > ? ORDER BY rowid LIMIT {CHUNK}", [place]
            ).fetchall()
            late = []
            if not some:
                for waiting in open_places:
                    row = moment.row(
                        f"SELECT {columns} FROM call WHERE rowid = ? AND answer IS NOT NULL", [waiting]
                    )
                    late += [row] if row is not None else []
                    if len(late) == CHUNK:
                        break
            for number, call, prompt, answer in [*some, *late]:
                if number > place:
                    _add_prompt(moment, index, prompt, call)
                if answer is None:
                    index.execute("INSERT OR IGNORE INTO unanswered VALUES (?)", [number])
                else:
                    index.execute("DELETE FROM unanswered WHERE place = ?", [number])
                    if text := generated(answer):
                        _add(index, "response", call, text)
        if some:
            index.execute("UPDATE reached SET place = ?", [some[-1][0]])
        index.execute("COMMIT")
    except BaseException:
        index.execute("ROLLBACK")
        raise
    return bool(some or late)


def _add_prompt(moment: Moment, index: sqlite3.Connection, prompt: str, call: str) -> None:
    row = index.execute("SELECT n FROM document WHERE id = ?", [f"p{prompt}"]).fetchone()
    if row is None:
        n = _add(index, "prompt", f"p{prompt}", _text(moment, "prompt", f"p{prompt}"))
    else:
        (n,) = row
    index.execute("INSERT OR IGNORE INTO asked VALUES (?, ?)", [n, call])


def _add(index: sqlite3.Connection, kind: str, identifier: str, text: str) -> int:
    cursor = index.execute("INSERT INTO document (kind, id) VALUES (?, ?)", [kind, identifier])
    number = cursor.lastrowid
    assert number is not None, "a row was inserted"
    index.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", [number, text])
    return number


def _text(moment: Moment, kind: str, identifier: str) -> str:
    """The text of a document, from the store."""
    if kind == "response":
        row = moment.row("SELECT answer FROM call WHERE id = ?", [identifier])
        return generated(row[0]) or "" if row else ""
    row = moment.row("SELECT content FROM prompt WHERE id = ?", [identifier[1:]])
    if row is None:
        return ""
    document = loaded(row[0])
    try:
        return "\n\n".join(str(text) for _, text in document["messages"])
    except (LookupError, TypeError, ValueError):
        return str(row[0])


def _samples(
    moment: Moment,
    calls: list[str],
    cells: dict[int, StoredCell],
    chosen: dict[str, frozenset[str] | None],
    filters: Filters,
) -> Iterator[ListedSample]:
    """The samples that these calls belong to, of the cells and items that pass."""
    for call in calls:
        rows = moment.rows(
            f"""SELECT DISTINCT cell, item, replicate, choice, score, evidence
                FROM trace JOIN sample USING (cell, item, replicate)
                WHERE trace.call = ? AND {filters.condition()} ORDER BY cell, item, replicate""",
            [call],
        )
        for number, item, replicate, *outcome in rows:
            cell = cells.get(number)
            if cell is not None:
                wanted = chosen[cell.benchmark]
                if (wanted is None or item in wanted) and _holds(moment, filters, cell, item, replicate):
                    yield sample_row(moment, (cell, item, replicate, *outcome))


def _holds(moment: Moment, filters: Filters, cell: StoredCell, item: str, replicate: int) -> bool:
    """Whether the stated condition holds for a sample."""
    if filters.where is None:
        return True
    statement = f"SELECT {filters.holds(cell)} FROM sample WHERE cell = ? AND item = ? AND replicate = ?"
    row = moment.row(statement, [cell.id, item, replicate])
    return bool(row and row[0])
