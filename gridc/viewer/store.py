"""A store as the viewer reads it: each page from one snapshot, its studies, cells and items.

Surfaces, filters and totals are made of the counts of every cell. These go once over all samples when a study
is first looked at, and again when a run has written to the store, but not on every page.

Items have their groups, and tags where the study's files or a bundle have them: a store has none.
"""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import ValidationError
from sqlite_utils import Database

from gridc.compiler.grid.cells import cells_of
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.setting import Setting
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.reports.findings.scores import item_outcomes
from gridc.runtime.store.opening import open_to_read, unusable
from gridc.runtime.store.reader import RECORDED, stamps_in, which_study
from gridc.runtime.store.store import Store
from gridc.schema.spec import Spec
from gridc.statistics.envelope import Direction

PAGE_SECONDS = 20.0
"""CPU time that a page may take: a store that somebody else made may hold anything."""

CACHE_KIB = 64 * 1024

SqlRow = tuple[Any, ...]


class LiveReader:
    """A store, open for reading until it is closed. A run that writes meanwhile is seen from page to page."""

    def __init__(self, path: Path) -> None:
        """Raises `StoreError` where there is no store that can be read (GC605, GC612)."""
        self.path = path
        self._lock = Lock()
        db, self._close = open_to_read(path)
        self._connection: sqlite3.Connection = db.conn
        self._connection.isolation_level = None
        self._connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")

    def close(self) -> None:
        with self._lock:
            self._close()

    @contextmanager
    def moment(self, seconds: float = PAGE_SECONDS) -> Iterator["Moment"]:
        """The store as it is now: all that is read in the context is of one moment. Raises `StoreError`
        (GC605) for what SQLite cannot read, or not within so many seconds of CPU time."""
        last = time.thread_time() + seconds
        with self._lock:
            self._connection.set_progress_handler(lambda: time.thread_time() > last, 20_000)
            try:
                self._connection.execute("BEGIN")
                yield Moment(self._connection)
            except sqlite3.OperationalError as error:
                if time.thread_time() <= last:
                    raise unusable(self.path, error) from None
                message = f"the page was not ready after {seconds:.0f} s of CPU time"
                raise StoreError([Diagnostic("GC605", message, str(self.path))]) from None
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                raise unusable(self.path, error) from None
            finally:
                self._connection.set_progress_handler(None, 0)
                if self._connection.in_transaction:
                    self._connection.rollback()


class Moment:
    """The rows of a store at one moment."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def rows(self, statement: str, values: Sequence[Any] = ()) -> "sqlite3.Cursor":
        """The rows that a statement selects, one after the other."""
        return self.connection.execute(statement, values)

    def row(self, statement: str, values: Sequence[Any] = ()) -> SqlRow | None:
        """The first of them, if there is one."""
        row: SqlRow | None = self.rows(statement, values).fetchone()
        return row

    @property
    def version(self) -> int:
        """Another one after another process has written."""
        return int(self.connection.execute("PRAGMA data_version").fetchone()[0])


@dataclass(frozen=True, slots=True)
class SampleCounts:
    """The samples of a cell by what became of them.

    `points` is the sum of the scores in units of 1 / `StoredCell.scale`. A sample that has an outcome earned
    something or nothing (`score` above 0 or not), and its answer was readable or not (`choice` is there or
    not); `waiting` have no outcome yet.
    """

    trials: int = 0
    waiting: int = 0
    points: int = 0
    earned_readable: int = 0
    earned_unreadable: int = 0
    nothing_readable: int = 0
    nothing_unreadable: int = 0

    @property
    def scored(self) -> int:
        return self.trials - self.waiting

    @property
    def readable(self) -> int:
        return self.earned_readable + self.nothing_readable

    def of(self, outcome: str, read: str) -> int:
        """How many samples pass the filters `outcome` and `read`; empty lets all pass."""
        if outcome == "waiting":
            return 0 if read else self.waiting
        parts = {
            ("earned", "readable"): self.earned_readable,
            ("earned", "unreadable"): self.earned_unreadable,
            ("nothing", "readable"): self.nothing_readable,
            ("nothing", "unreadable"): self.nothing_unreadable,
        }
        chosen = [n for (a, b), n in parts.items() if outcome in ("", a) and read in ("", b)]
        return sum(chosen) + (self.waiting if not outcome and not read else 0)


@dataclass(frozen=True, slots=True)
class StoredCell:
    """A cell of a stored study. `levels` are those of its configuration by axis, and `label` has those that
    not all cells share. `names` are the labels that a choice counts through, empty where it is a place among
    the item's options. `made` has the score of each item where `aggregate` or `all_of` makes one score of
    several; None while an answer is waiting."""

    id: int
    key: str
    model: str
    benchmark: str
    configuration: str
    levels: Mapping[str, str]
    label: str
    tier: str
    shared: bool
    method: str | None
    option_order: str | None
    names: tuple[str, ...]
    scale: int
    counts: SampleCounts
    made: Mapping[str, Fraction | None] | None = None

    @property
    def score(self) -> Fraction | None:
        """Mean score of all samples (intention-to-treat), or of all items where one is made of several; None
        while one is waiting. Of imported logs, whose samples wait for nothing, of those that have a score."""
        if self.made:
            known = [score for score in self.made.values() if score is not None]
            return sum(known, Fraction()) / len(known) if len(known) == len(self.made) else None
        if self.method == RECORDED:
            scored = self.counts.scored
            return Fraction(self.counts.points, scored * self.scale) if scored else None
        if self.counts.waiting or not self.counts.trials:
            return None
        return Fraction(self.counts.points, self.counts.trials * self.scale)


@dataclass(frozen=True, slots=True, eq=False)
class StoredStudy:
    """A study as the store has it. `counted` is when its samples were counted (UTC), `took` how long that
    was in seconds. By benchmark `directions` say which score is the better one, `sources` where its items are
    from, and `distinct` how many questions these ask, where some ask the same. `problem` says why its spec
    could not be read, if so, and `recorded` where imported logs come from."""

    stamp: str
    id: str
    title: str
    cells: tuple[StoredCell, ...]
    directions: Mapping[str, Direction]
    counted: datetime
    took: float
    sources: Mapping[str, str]
    distinct: Mapping[str, int]
    problem: str | None
    recorded: str | None
    by_key: Mapping[str, StoredCell] = field(repr=False)
    by_place: Mapping[tuple[str, str, str], StoredCell] = field(repr=False)

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(cell.model for cell in self.cells))

    @property
    def benchmarks(self) -> list[str]:
        return list(dict.fromkeys(cell.benchmark for cell in self.cells))

    @property
    def tiers(self) -> list[str]:
        return list(dict.fromkeys(cell.tier for cell in self.cells))

    @property
    def axes(self) -> dict[str, list[str]]:
        """The levels of every axis, in the order in which cells show them."""
        levels: dict[str, dict[str, None]] = {}
        for cell in self.cells:
            for axis, level in cell.levels.items():
                levels.setdefault(axis, {})[level] = None
        return {axis: list(names) for axis, names in levels.items()}

    @property
    def waiting(self) -> int:
        return sum(cell.counts.waiting for cell in self.cells)

    @property
    def trials(self) -> int:
        return sum(cell.counts.trials for cell in self.cells)

    def siblings(self, cell: StoredCell) -> list[StoredCell]:
        """The cells of the other models at its place."""
        places = ((name, cell.benchmark, cell.configuration) for name in self.models if name != cell.model)
        return [self.by_place[place] for place in places if place in self.by_place]

    def cell(self, key: str) -> StoredCell:
        """The cell of a key. Raises `StoreError` (GC615) where the study has none."""
        if key not in self.by_key:
            raise absent(f"the study has no cell `{key}`")
        return self.by_key[key]

    def at(self, model: str, benchmark: str, configuration: str) -> StoredCell | None:
        """The cell of a model at a place of the grid, if the store has it."""
        return self.by_place.get((model, benchmark, configuration))

    def moved(self, cell: StoredCell, axis: str, level: str) -> StoredCell | None:
        """The cell of the same model and benchmark with one axis at another level, if there is one."""
        wanted = {**cell.levels, axis: level}
        configuration = ",".join(f"{name}={value}" for name, value in wanted.items())
        return self.at(cell.model, cell.benchmark, configuration)


def absent(message: str) -> StoreError:
    """Of an address that names what is not in the store."""
    return StoreError([Diagnostic("GC615", message, help="the start page lists what the store has")])


class Studies:
    """The studies of one store, counted when they are asked for."""

    def __init__(self, reader: LiveReader, named: str | None = None) -> None:
        """`named` is how the stamp of the study begins that is meant where nothing else is said."""
        self._reader = reader
        self._named = named
        self._counted: dict[str, tuple[Any, float, StoredStudy]] = {}

    def stamps(self, moment: Moment) -> list[str]:
        """Of the studies in the store, oldest first."""
        return stamps_in(moment.connection)

    def study(self, moment: Moment, prefix: str = "") -> StoredStudy:
        """The study whose stamp begins so, or the one that is meant. Raises `StoreError`: GC615 where the
        store has none whose stamp begins so, otherwise as `which_study`."""
        if prefix and not any(stamp.startswith(prefix) for stamp in self.stamps(moment)):
            raise absent(f"the store has no study with stamp {prefix}")
        stamp = which_study(moment.connection, self._reader.path, prefix or self._named)
        version = moment.version
        known, at, counted = self._counted.get(stamp, (None, 0.0, None))
        rest = 2.0 + 20 * counted.took if counted else 0.0
        if counted is None or (known != version and time.monotonic() - at > rest):
            counted = _count(moment, stamp)
            self._counted[stamp] = (version, time.monotonic(), counted)
        return counted


_COUNT = """
SELECT cell, count(*), count(*) - count(score), coalesce(sum(score), 0),
       sum(score > 0 AND choice IS NOT NULL), sum(score > 0 AND choice IS NULL),
       sum(score <= 0 AND choice IS NOT NULL), sum(score <= 0 AND choice IS NULL)
FROM sample WHERE cell >= ? AND cell <= ? GROUP BY cell
"""


def _count(moment: Moment, stamp: str) -> StoredStudy:
    started = time.monotonic()
    content, (first, last) = _content(moment, stamp), _bounds(moment, stamp)
    imported = _imported(content)
    counts = {
        cell: SampleCounts(*(n or 0 for n in numbers))
        for cell, *numbers in moment.rows(_COUNT, [first, last])
    }
    spec = content.get("spec") if isinstance(content, dict) else None
    readings, problem = ({}, None) if imported is not None and spec is None else _readings(content)
    judged, made = _labels(spec), _made(moment, stamp, content)
    rows = moment.rows(
        """SELECT id, key, model, benchmark, configuration, tier, shared, method, option_order
           FROM cell WHERE stamp = ? ORDER BY id""",
        [stamp],
    ).fetchall()
    label = _told_apart([configuration for _, _, _, _, configuration, *_ in rows])
    cells = tuple(
        StoredCell(
            number, key, model, benchmark, configuration, levels_of(configuration), label[configuration],
            tier, bool(shared), method, order, names, scale, counts.get(number, SampleCounts()),
            made.get(key),
        )
        for number, key, model, benchmark, configuration, tier, shared, method, order in rows
        for scale, names in [
            readings.get(key) or ((1, _names(method, judged)) if imported is None else _of_logs(imported))
        ]
    )  # fmt: skip
    stated = moment.rows("SELECT benchmark, direction FROM benchmark WHERE stamp = ?", [stamp])
    about = spec.get("study") if isinstance(spec, dict) else imported
    named = about if isinstance(about, dict) else {}
    return StoredStudy(
        stamp=stamp,
        id=str(named.get("id", stamp[:12])),
        title=str(named.get("title", f"Study {stamp[:12]}")),
        cells=cells,
        directions={name: _direction(direction) for name, direction in stated},
        sources=_sources(spec),
        distinct=_distinct(content),
        counted=datetime.now(UTC),
        took=time.monotonic() - started,
        problem=problem,
        recorded=None if imported is None else str(imported.get("provenance", "imported from logs")),
        by_key={cell.key: cell for cell in cells},
        by_place={(cell.model, cell.benchmark, cell.configuration): cell for cell in cells},
    )


def _distinct(content: Any) -> dict[str, int]:
    """The questions that the stamp counts, by benchmark; nothing where no item is a copy."""
    try:
        benchmarks = content["inputs"]["benchmarks"].items()
        return {name: int(inputs["questions"]) for name, inputs in benchmarks if "questions" in inputs}
    except (LookupError, TypeError, ValueError, AttributeError):
        return {}


def levels_of(configuration: str) -> dict[str, str]:
    """`axis=level,axis=level` as a table. What has no `=` is a level of its own name."""
    parts = (part.partition("=") for part in configuration.split(",") if part)
    return {axis: level if equals else axis for axis, equals, level in parts}


def _told_apart(configurations: Sequence[str]) -> dict[str, str]:
    """Each by its levels on the axes on which these configurations differ."""
    of = {configuration: levels_of(configuration) for configuration in configurations}
    axes = {axis for levels in of.values() for axis in levels}
    held = {axis: {levels.get(axis) for levels in of.values()} for axis in axes}
    return {
        configuration: " · ".join(level for axis, level in levels.items() if len(held[axis]) > 1)
        or "the only configuration"
        for configuration, levels in of.items()
    }


def _sources(spec: Any) -> dict[str, str]:
    """Where the items of each benchmark are from, by a spec as it is stored."""
    benchmarks = spec.get("benchmark") if isinstance(spec, dict) else None
    tables = (
        [table for table in benchmarks if isinstance(table, dict)] if isinstance(benchmarks, list) else []
    )
    return {str(table.get("id")): str(table.get("source", "")) for table in tables}


def _bounds(moment: Moment, stamp: str) -> tuple[int, int]:
    row = moment.row("SELECT coalesce(min(id), 0), coalesce(max(id), -1) FROM cell WHERE stamp = ?", [stamp])
    assert row is not None, "an aggregate has a row"
    return row[0], row[1]


def _content(moment: Moment, stamp: str) -> Any:
    row = moment.row("SELECT content FROM study WHERE stamp = ?", [stamp])
    try:
        return json.loads(row[0]) if row else {}
    except (ValueError, RecursionError):
        return {}


def _imported(content: Any) -> dict[str, Any] | None:
    """What a store says of imported logs, if that is what it holds."""
    about = content.get(RECORDED) if isinstance(content, dict) else None
    return about if isinstance(about, dict) else None


def _of_logs(imported: Mapping[str, Any]) -> tuple[int, tuple[str, ...]]:
    """The scale of the scores, and what a choice says: that the answer could be read."""
    scale = imported.get("scale")
    return scale if type(scale) is int and scale > 0 else 1, ("read",)


def _names(method: str | None, judged: tuple[str, ...]) -> tuple[str, ...]:
    """The names of what responses can be read to, where a judge has these labels."""
    return next((tuple(how.names(judged, None) or ()) for name, how in METHODS.items() if name == method), ())


def _labels(spec: Any) -> tuple[str, ...]:
    """The labels of the only judge, from a spec as it is stored: this gridc may not know all of it."""
    judge = spec.get("judge") if isinstance(spec, dict) else None
    labels = judge.get("labels") if isinstance(judge, dict) else None
    return tuple(str(label) for label in labels) if isinstance(labels, list) else ()


def _read_to(spec: Spec, setting: Setting) -> tuple[str, ...]:
    return tuple(METHODS[setting.method].names(spec.verdicts(setting.judge), setting.scores) or ())


def _readings(content: Any) -> tuple[dict[str, tuple[int, tuple[str, ...]]], str | None]:
    """The scale of the scores of each cell and the names of what its responses are read to, where one can
    earn a part of a point or a judge or a function labels, and what stood in the way of reading the spec."""
    try:
        spec = Spec.model_validate(content["spec"])
        cells = cells_of(spec) if spec.graded or spec.scored or spec.declared_judges else ()
        return {cell.key: (cell.setting.scale, _read_to(spec, cell.setting)) for cell in cells}, None
    except (ValidationError, LookupError, TypeError, ValueError):
        return {}, (
            "This gridc cannot read the stored spec, so scores are shown as if an answer earned one point or "
            "none."
        )


def _made(moment: Moment, stamp: str, content: Any) -> dict[str, dict[str, Fraction | None]]:
    """The score of each item by cell, where it is made of several answers or items. A spec that this gridc
    cannot read has none (`_readings` says so)."""
    try:
        spec = Spec.model_validate(content["spec"])
        cells = [cell for cell in cells_of(spec) if not cell.setting.scored_singly] if spec.aggregated else []
    except (ValidationError, LookupError, TypeError, ValueError):
        return {}
    if not cells:
        return {}
    found = item_outcomes(cells, Store(Database(moment.connection)), stamp)
    return {
        cell.key: {
            item: Fraction(earned, trials * cell.setting.item_scale) if scored == trials else None
            for item, earned, trials, scored in zip(
                here.items, here.correct.tolist(), here.trials.tolist(), here.scored.tolist(), strict=True
            )
        }
        for cell in cells
        if (here := found.get(cell.key)) is not None
    }


def model_pairs(study: StoredStudy, benchmark: str) -> Iterator[tuple[str, str]]:
    """Every pair of models that are asked the benchmark, in the order of the roster."""
    names = list(dict.fromkeys(cell.model for cell in study.cells if cell.benchmark == benchmark))
    yield from ((a, b) for place, a in enumerate(names) for b in names[place + 1 :])


def _direction(stated: str) -> Direction:
    try:
        return Direction.of(stated)
    except ValueError:  # of a store that was changed by hand: its scores are shown all the same
        return Direction()


Tags = Mapping[str, Mapping[str, Mapping[str, str]]]
"""The tags of items: name to value, by item, by benchmark."""


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item by its id in the benchmark. `template` and `category` are empty where the data do not say."""

    id: str
    unit: str
    family: str
    template: str
    category: str
    tags: Mapping[str, str] = field(default_factory=dict)


class StoredItems:
    """The items of one study. Those of a benchmark are read once, and stay."""

    def __init__(self, moment: Moment, stamp: str, tags: Tags) -> None:
        self._moment, self._stamp, self._tags = moment, stamp, tags
        self._read: dict[str, dict[str, StoredItem]] = {}

    def at(self, moment: Moment) -> "StoredItems":
        """The same items, to be read at another moment: they are never changed."""
        self._moment = moment
        return self

    def of(self, benchmark: str) -> list[StoredItem]:
        """Those of a benchmark, by id; none in a store that an older gridc filled."""
        return list(self._by_id(benchmark).values())

    def item(self, benchmark: str, item: str) -> StoredItem | None:
        return self._by_id(benchmark).get(item)

    def asked(self, benchmark: str) -> int:
        """How many of them some cell asks."""
        ((count,),) = self._moment.rows(
            """SELECT COUNT(*) FROM item WHERE stamp = ? AND benchmark = ? AND EXISTS (
                 SELECT 1 FROM cell JOIN sample ON sample.cell = cell.id AND sample.item = item.item
                 WHERE cell.stamp = item.stamp AND cell.benchmark = item.benchmark)""",
            [self._stamp, benchmark],
        )
        return int(count)

    def categories(self, benchmarks: list[str]) -> list[str]:
        """Every category of these benchmarks."""
        return sorted({item.category for name in benchmarks for item in self.of(name)} - {""})

    def tags(self, benchmarks: list[str]) -> list[str]:
        """Every tag of these benchmarks, as `name:value`, of names with few values."""
        values: dict[str, set[str]] = {}
        for benchmark in benchmarks:
            for item in self.of(benchmark):
                for name, value in item.tags.items():
                    values.setdefault(name, set()).add(value)
        return [
            f"{name}:{value}"
            for name, held in sorted(values.items())
            if len(held) <= MOST_VALUES
            for value in sorted(held)
        ]

    def _by_id(self, benchmark: str) -> dict[str, StoredItem]:
        if benchmark not in self._read:
            tags = self._tags.get(benchmark, {})
            rows = self._moment.rows(
                """SELECT item, unit, family, template, category FROM item
                   WHERE stamp = ? AND benchmark = ? ORDER BY item""",
                [self._stamp, benchmark],
            )
            self._read[benchmark] = {
                item: StoredItem(item, unit, family, template or "", category or "", tags.get(item, {}))
                for item, unit, family, template, category in rows
            }
        return self._read[benchmark]


MOST_VALUES = 40
"""A tag with more values is a text, and no list to choose from; an address may still name one."""
