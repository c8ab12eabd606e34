"""What must hold whatever is done to a study's store, lock, reports, attached card or bundle: nothing that
changed is called verified, nothing ends in a traceback, and nothing takes long."""

import json
import random
import re
import sqlite3
import tomllib
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml

import gridc
from benchmarks.synthetic import fill
from gridc.compiler.compile import compile_spec
from gridc.diagnostics.errors import GridcError
from gridc.reports import exchange
from gridc.reports.exchange import bundle
from gridc.schema.canonical import digest
from tests.fuzz.mutate import places, value_at

SPEC = """\
gridcard = 1
[study]
id = "small"
title = "Few calls, and a kind of each thing that a report says"
purpose = "comparative"
not_varied = ["everything else"]
[[model]]
id = "qwen2"
engine = "hf"
source = "builtin:pocket-qwen2"
[[model]]
id = "llama"
engine = "hf"
source = "builtin:pocket-llama"
[[benchmark]]
id = "opinions"
loader = "rows"
source = "path:opinions.jsonl"
direction = "lower_is_better"
option_order = "shuffled:4"
[benchmark.loading]
gold = "index"
malformed = "leave_out"
fields = { query = "ask", options = ["list"], gold = "key", tags = ["topic"], family = "topic" }
[[outcome]]
id = "consents"
benchmark = "opinions"
scores = { Yes = 1, other = 0 }
items = { topic = "weather" }
[harness]
prompt = "builtin:T1"
[[axis]]
id = "scoring"
[[axis.level]]
id = "read"
tier = "core"
method = "extract"
provenance = "a test"
[[axis.level]]
id = "ranked"
tier = "stress"
method = "loglikelihood"
provenance = "a test"
[sampling]
seed = 7
"""
ITEMS = 4
STORES = ("study/results/small/store.sqlite", "bundle/results/store.sqlite")
README = "study/README.md"

Dump = dict[str, list[tuple[Any, ...]]] | None


class Evidence:
    """A sound study, with a card attached and a bundle, in a folder of its own. `attempt` changes a file of
    it, verifies it, and puts the file back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        _make(folder)
        self._sound = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
        named = {path: path.relative_to(folder).as_posix() for path, data in self._sound.items() if data}
        self._of_kind = {kind: [path for path in named if kind(named[path])] for kind, _ in CHANGES}
        self._dumps = {name: dump((folder / name).read_bytes()) for name in STORES}

    def attempt(self, rng: random.Random) -> str:
        """One change, and what verifying came to: codes, `verified` or `incomplete`. Raises `AssertionError`
        where a promise is broken."""
        path, changed, told = self._changed(rng)
        where = path.relative_to(self._folder).parts[0]
        path.write_bytes(changed)
        if where == "bundle" and rng.random() < 0.9:
            self._list(path)
        try:
            came = self._came(where, path)
        finally:
            self._restore()
        if came == "verified":
            assert self._same(path, changed), f"{path.relative_to(self._folder)}: {told} was not seen"
        return f"{told.split()[0]} {came}"

    def _changed(self, rng: random.Random) -> tuple[Path, bytes, str]:
        """A file with other bytes than it had."""
        while True:
            kind, change = rng.choice(CHANGES)
            path = rng.choice(self._of_kind[kind])
            changed, told = change(self._sound[path], rng)
            if changed != self._sound[path]:
                return path, changed, told

    def _came(self, where: str, path: Path) -> str:
        try:
            study = gridc.open(self._folder / where / "gridcard.toml")
            if path == self._folder / README:
                checked = study.check_card(path)
                assert checked is not None
                return "verified"
            done = study.verify()
        except GridcError as error:
            assert error.diagnostics
            return " ".join(sorted({finding.code for finding in error.diagnostics}))
        return "verified" if done.complete else "incomplete"

    def _list(self, path: Path) -> None:
        """The manifest of the bundle is mostly made to agree, or every change would be found by it alone."""
        folder = self._folder / "bundle"
        manifest, name = folder / exchange.MANIFEST, path.relative_to(folder).as_posix()
        if path == manifest:
            return
        fresh = f"{bundle._digest_of(path)}  {name}\n"
        lines = manifest.read_text().splitlines(keepends=True)
        manifest.write_text("".join(fresh if line.endswith(f"  {name}\n") else line for line in lines))

    def _restore(self) -> None:
        """Everything as it was."""
        for path in self._folder.rglob("*"):
            if path.is_file() and path not in self._sound:
                path.unlink()
        for path, data in self._sound.items():
            if path.read_bytes() != data:
                path.write_bytes(data)

    def _same(self, path: Path, changed: bytes) -> bool:
        """Whether the changed file still says what the sound one does, by plain SQLite and plain JSON."""
        name = path.relative_to(self._folder).as_posix()
        if name in self._dumps:
            return dump(changed) == self._dumps[name]
        return meaning(name, changed) == meaning(name, self._sound[path])


def _make(folder: Path) -> None:
    """The study is stamped, changed with a reason, run with answers that no model gave, reported, attached
    and bundled."""
    study = folder / "study"
    study.mkdir(parents=True)
    rows = [
        {
            "ask": f"Is {n} fair?",
            "list": ["Yes", "No"],
            "key": n % 2,
            "topic": ("weather", "work")[n // 2 % 2],
        }
        for n in range(ITEMS)
    ]
    rows.append({"ask": "Is it?", "list": ["Yes", "No"], "key": 7, "topic": "work"})
    (study / "opinions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (study / "gridcard.toml").write_text(SPEC)
    (study / "README.md").write_text("---\nlicense: mit\n---\n# A model\n\nWhat its author says.\n")
    opened = gridc.open(study / "gridcard.toml")
    opened.stamp()
    (study / "gridcard.toml").write_text(SPEC.replace("seed = 7", "seed = 8"))
    opened.deviations(write=True)
    log = study / "deviations.toml"
    log.write_text(log.read_text().replace('reason = ""', 'reason = "a test"'))
    fill(compile_spec(opened.spec), study / "results" / "small" / "store.sqlite")
    opened.report()
    opened.attach_card(study / "README.md", "qwen2")
    opened.bundle(folder / "bundle")
    for suffix in ("-shm", "-wal"):  # of the log that SQLite writes ahead, which is empty now
        (study / "results" / "small" / f"store.sqlite{suffix}").unlink(missing_ok=True)


# what a file says


def dump(data: bytes) -> Dump:
    """Every row of every table and the schema; None where SQLite cannot read them. When a migration was
    applied is no content."""
    with closing(_database(data)) as db:
        try:
            names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            columns = {"_sqlite_migrations": "id, migration_set, name"}
            rows = {
                name: sorted(db.execute(f'SELECT {columns.get(name, "*")} FROM "{name}"'), key=repr)
                for name in names
            }
            schema = db.execute("SELECT type, name, lower(sql) FROM sqlite_master")  # case says nothing
            return {**rows, "": sorted(schema, key=repr)}
        except (sqlite3.Error, KeyError, UnicodeDecodeError):
            return None


def _database(data: bytes) -> sqlite3.Connection:
    """The database with these bytes, in memory, where there is no write-ahead log."""
    db = sqlite3.connect(":memory:")
    db.deserialize(data[:18] + b"\1\1" + data[20:] if data[18:20] == b"\2\2" else data)
    return db


def meaning(name: str, data: bytes) -> object:
    """What a text says: JSON its values, whatever their order; a spec its values; a model card what is
    gridc's in it; any other its bytes."""
    if name == README:
        return _attached(data.decode("utf-8", "replace"))
    try:
        if name.endswith((".json", ".lock")):
            return json.loads(data, object_pairs_hook=lambda pairs: sorted(pairs, key=repr))
        if name.endswith("gridcard.toml") or name.endswith("deviations.toml"):
            return tomllib.loads(data.decode())
    except (ValueError, RecursionError):
        return None
    return sorted(data.split(b"\n")) if name.endswith(".txt") else data


def _attached(text: str) -> tuple[object, ...]:
    front = re.match(r"---\n(.*?\n)---\n", text, re.DOTALL)
    section = re.findall(r"<!-- gridc:card begin .*?<!-- gridc:card end small -->", text, re.DOTALL)
    try:
        index = yaml.safe_load(front[1]).get("model-index") if front else None
    except (yaml.YAMLError, AttributeError):
        index = None
    return index, section


# changes: a file's bytes -> other bytes, and what was done


Change = Callable[[bytes, random.Random], tuple[bytes, str]]


def flip_bits(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """A few bits, mostly of bytes that are used."""
    changed = bytearray(data)
    places = []
    for _ in range(rng.choice((1, 1, 1, 4, 32))):
        place = rng.randrange(len(data))
        while data[place] == 0 and rng.random() < 0.95:
            place = rng.randrange(len(data))
        changed[place] ^= 1 << rng.randrange(8)
        places.append(place)
    return bytes(changed), f"flip at {places[:4]}"


def cut(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """The end is missing."""
    size = rng.choice((rng.randrange(len(data)), rng.randrange(len(data)) // 512 * 512))
    return data[:size], f"cut at {size}"


def edit_rows(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """A cell of a table, a row less, or a row more; as SQLite allows it."""
    with closing(_database(data)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = rng.choice([name for name in names if not name.startswith("_")])
        info = db.execute(f"PRAGMA table_info({table})").fetchall()
        columns, keys = [row[1] for row in info], [row[1] for row in info if row[5]] or ["rowid"]
        column, at = rng.choice(columns), f"({', '.join(keys)})"
        place = rng.randrange(max(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0], 1))
        chosen = f"{at} = (SELECT {', '.join(keys)} FROM {table} LIMIT 1 OFFSET {place})"
        other = f"(SELECT {column} FROM {table} ORDER BY {column} {rng.choice(('ASC', 'DESC'))} LIMIT 1)"
        value = rng.choice(
            (f"{column} || 'x'", f"replace({column}, '1', '2')", "NULL", "0", "1 - " + column, "'{}'",
             "'[[[['", other, other, "x'00'", "-9007199254740993", "''", f"{column} + 1")
        )  # fmt: skip
        copied = ", ".join("NULL" if name == column else name for name in columns)
        statement = rng.choice(
            (f"UPDATE {table} SET {column} = {value} WHERE {chosen}",) * 4
            + (f"DELETE FROM {table} WHERE {chosen}",
               f"INSERT INTO {table} SELECT {copied} FROM {table} WHERE {chosen}")
        )  # fmt: skip
        return _executed(db, data, f"row {statement}", [(statement, ())])


def foreign_rows(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Rows that no run of this study wrote, beside those that it did: of another study, without what they
    belong to, or with a value of another row's."""
    with closing(_database(data)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = rng.choice([name for name in tables if not name.startswith("_")])
        info = db.execute(f"PRAGMA table_info({table})").fetchall()
        columns, keys = [row[1] for row in info], [row[1] for row in info if row[5]] or ["rowid"]
        rows = db.execute(f"SELECT {', '.join(keys)} FROM {table}").fetchall()
        if not rows:
            return data, ""
        place = " AND ".join(f"{key} IS ?" for key in keys)
        kind, one, other = rng.choice(("swap", "orphan", "study")), rng.choice(rows), rng.choice(rows)
        if kind == "swap":
            column = rng.choice(columns)
            (mine,), (theirs,) = (
                db.execute(f"SELECT {column} FROM {table} WHERE {place}", row).fetchone()
                for row in (one, other)
            )
            change = f"UPDATE {table} SET {column} = ? WHERE {place}"
            return _executed(db, data, f"swap of {table}.{column}", [(change, (theirs, *one)),
                                                                    (change, (mine, *other))])  # fmt: skip
        if kind == "orphan":
            renamed = {*keys, *rng.sample(columns, rng.randrange(2))}
            copied = ", ".join(_renamed(name) if name in renamed else name for name in columns)
            insert = f"INSERT INTO {table} ({', '.join(columns)}) SELECT {copied} FROM {table} WHERE {place}"
            return _executed(db, data, f"orphan in {table}", [(insert, one)])
        return _executed(db, data, "study that is none of the lock's", _other_study(db, rng))


def _renamed(name: str) -> str:
    return f"CASE typeof({name}) WHEN 'text' THEN {name} || 'f' ELSE {name} + 1000 END"


def _other_study(db: sqlite3.Connection, rng: random.Random) -> list[tuple[str, tuple[object, ...]]]:
    """The same cells and samples with other answers, under a stamp that its content hashes to, last."""
    content = json.loads(db.execute("SELECT content FROM study ORDER BY rowid DESC").fetchone()[0])
    content["spec"]["sampling"]["seed"] += 1
    stamp = digest(content)
    statements: list[tuple[str, tuple[object, ...]]] = []
    made = {"stamp": "?1", "content": "?2"}
    rename = {"cell": ("id", "stamp"), "sample": ("cell",), "question": ("stamp",), "event": ("stamp",)}
    for table in ("study", *rng.sample(sorted(rename), rng.randrange(len(rename) + 1))):
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        named = rename.get(table, ())
        values = {"id": "id || 'f'", "cell": "cell || 'f'", "stamp": "?1", "correct": "1 - correct"}
        picked = ", ".join(
            made.get(name, name)
            if table == "study"
            else values[name]
            if name in named or (name == "correct" and rng.random() < 0.5)
            else name
            for name in columns
        )
        which = " WHERE rowid = (SELECT max(rowid) FROM study)" if table == "study" else ""
        insert = f"INSERT INTO {table} ({', '.join(columns)}) SELECT {picked} FROM {table}{which}"
        both = (stamp, json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
        statements.append((insert, both if table == "study" else (stamp,) if "?1" in insert else ()))
    return statements


def edit_schema(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """A table, column, index, view or trigger more, less or otherwise."""
    with closing(_database(data)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = rng.choice(tables)
        column = rng.choice([row[1] for row in db.execute(f"PRAGMA table_info({table})")])
        db.execute("PRAGMA writable_schema = ON")
        one = f"name = '{table}'"
        statement = rng.choice(
            (f"DROP TABLE {table}", f"ALTER TABLE {table} RENAME TO moved",
             f"ALTER TABLE {table} ADD COLUMN more TEXT", f"ALTER TABLE {table} DROP COLUMN {column}",
             f"ALTER TABLE {table} RENAME COLUMN {column} TO moved",
             f"CREATE VIEW more AS SELECT * FROM {table}",
             f"CREATE TABLE more AS SELECT * FROM {table}", f"CREATE INDEX more ON {table} ({column})",
             f"CREATE TRIGGER more AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END",
             f"PRAGMA user_version = {rng.randrange(100)}", "DELETE FROM _sqlite_migrations",
             f"UPDATE sqlite_master SET sql = replace(sql, 'TEXT', 'INTEGER') WHERE {one}",
             f"UPDATE sqlite_master SET sql = replace(sql, '{column}', 'x') WHERE {one}",
             f"UPDATE sqlite_master SET rootpage = {rng.randrange(40)} WHERE {one}",
             f"UPDATE sqlite_master SET type = 'view' WHERE {one}",
             "DELETE FROM sqlite_master WHERE type = 'index'", f"DELETE FROM sqlite_master WHERE {one}")
        )  # fmt: skip
        return _executed(db, data, f"schema {statement}", [(statement, ())])


def _executed(
    db: sqlite3.Connection, data: bytes, told: str, statements: Iterable[tuple[str, tuple[object, ...]]]
) -> tuple[bytes, str]:
    try:
        for statement, values in statements:
            db.execute(statement, values)
        db.commit()
        changed = db.serialize()
    except sqlite3.Error:
        return data, ""  # the schema does not allow it: then nothing changed
    return changed[:18] + data[18:20] + changed[20:], told


def edit_json(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """A value of a document, or a part of it gone."""
    document = json.loads(data)
    path = rng.choice(places(document)[1:])
    parent, key = value_at(document, path[:-1]), path[-1]
    value = parent[key]
    if rng.random() < 0.2:
        del parent[key]
    elif isinstance(value, str) and rng.random() < 0.7:
        parent[key] = rng.choice((value + "x", value[1:], value.swapcase(), ""))
    elif type(value) in (int, float) and rng.random() < 0.7:
        parent[key] = rng.choice((value + 1, -value, value * 10, float(value), 0))
    elif isinstance(value, list) and value and rng.random() < 0.7:
        parent[key] = rng.choice((value[1:], value + value[:1], value[::-1]))
    else:
        parent[key] = rng.choice((None, True, False, 0, -1, 1e308, 2**70, "", "x", [], {}, [[]], {"x": {}}))
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n", f"json {path}"


def edit_text(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """A few bytes anywhere."""
    place = rng.randrange(len(data))
    put = rng.choice((b"", b"9", b'"', b"\xff", b"[" * 3000, b"}", b"-", b"\n", b"\\u0000", b"e9", b"<b>"))
    return data[:place] + put + data[place + rng.choice((0, 1, 1, 9)) :], f"text at {place}: {put[:9]!r}"


def _stores(name: str) -> bool:
    return name in STORES


def _documents(name: str) -> bool:
    return name.endswith((".json", ".lock"))


def _texts(name: str) -> bool:
    return not name.endswith(".sqlite")


CHANGES: tuple[tuple[Callable[[str], bool], Change], ...] = (
    (_stores, flip_bits), (_stores, flip_bits), (_stores, flip_bits), (_stores, cut), (_stores, edit_schema),
    (_stores, edit_rows), (_stores, edit_rows), (_stores, edit_rows), (_stores, foreign_rows),
    (_stores, foreign_rows), (_documents, edit_json),
    (_texts, edit_text),
)  # fmt: skip
"""What is done to which files, each as often as the others."""
