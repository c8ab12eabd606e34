"""Gathers the rows that a spec's statistics are computed from: items in cells, or single responses."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.thoughts import answer_begins
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.observations import Reading, Samples
from gridc.reports.findings.rates import EarnedOf, of_response
from gridc.runtime.store.reader import ResponseRow
from gridc.runtime.store.store import Store
from gridc.schema.base import EVERYWHERE, Selector
from gridc.schema.call_numbers import CALL_NUMBERS
from gridc.schema.canonical import digest
from gridc.schema.inference import MODELS
from gridc.schema.scores import UNIT
from gridc.schema.spec import Benchmark
from gridc.schema.statistics import ANSWER, Statistic
from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.envelope import LEVEL


@dataclass(frozen=True, slots=True, eq=False)
class StatisticRows:
    """What a statistic reads under one configuration, (N,) each: an item in a cell with how many of its
    responses are `counted`, or one response. `model`, `benchmark`, `category`, `opponent` and `level` are
    places among those of the scope (0 where it has none), and `values` what the counted responses earned, by
    the key that names the outcome."""

    model: Whole
    benchmark: Whole
    category: Whole
    opponent: Whole
    level: Whole
    unit: Whole
    item: Whole
    positive: Flags
    counted: Floats
    values: Mapping[str, Floats]
    texts: NDArray[np.object_]
    references: NDArray[np.object_]

    def of(self, rows: Flags) -> "StatisticRows":
        """Some of the rows, flags of shape (N,)."""
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        values = {key: values[rows] for key, values in columns.pop("values").items()}
        return StatisticRows(**{name: column[rows] for name, column in columns.items()}, values=values)

    def only(self, rows: Flags) -> "StatisticRows":
        """All rows, of which the others count nothing: their units keep their places."""
        values = {key: np.where(rows, column, 0.0) for key, column in self.values.items()}
        return replace(self, counted=np.where(rows, self.counted, 0.0), values=values)

    def totals(self, names: Sequence[str], rows: Flags) -> Floats:
        """Of each unit of all rows what some rows earned, by the key of the outcome, and how many they are;
        (G, K + 1)."""
        sums = np.zeros((int(self.unit.max(initial=-1)) + 1, len(names) + 1))
        columns = np.column_stack([*(self.values[name] for name in names), self.counted])
        np.add.at(sums, self.unit, np.where(rows[:, None], columns, 0.0))
        return sums[np.unique(self.unit)]


@dataclass(frozen=True, slots=True)
class StatisticScope:
    """What a statistic is of, in order: its models, its benchmarks, and `players`, models and opponents; the
    confidence of its intervals; the categories of its benchmark's items, where it is by category; the axes
    whose levels are compared (`model`: models), and these levels; the units of outcomes that are no shares,
    by name; and of which items it is alone, by their tags."""

    statistic: Statistic
    models: tuple[str, ...]
    benchmarks: tuple[Benchmark, ...]
    players: tuple[str, ...]
    confidence: float = LEVEL
    categories: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    tags: Selector = EVERYWHERE

    @property
    def of_shares(self) -> bool:
        """Whether all that it reads are shares of a point."""
        return not self.units.keys() & set(self.statistic.outcomes.values())


@dataclass(frozen=True, slots=True, eq=False)
class StatisticSource:
    """What rows are read from."""

    plan: Plan
    samples: Samples
    store: Store


@dataclass(frozen=True, slots=True)
class _OfCell:
    """What all rows of a cell have in common, and by item its category and whether it is positive."""

    model: int
    benchmark: int
    opponent: int
    level: int
    items: Mapping[str, Item]
    positive: Mapping[str, bool]
    category: Mapping[str, int]


def _of_cell(record: StatisticSource, scope: StatisticScope, cell: Cell) -> _OfCell:
    spec, statistic = record.plan.study.spec, scope.statistic
    items = {item.id: item for item in record.plan.items(cell)}
    judge = spec.judge_called(cell.setting.judge)
    against = cell.model if judge is None or judge.compares is None else judge.compares.against
    chosen = statistic.positive
    places = {category: place for place, category in enumerate(scope.categories)}
    return _OfCell(
        scope.models.index(cell.model),
        [benchmark.id for benchmark in scope.benchmarks].index(cell.benchmark),
        scope.players.index(against),
        scope.levels.index(level_of(cell, scope.axes)) if scope.levels else 0,
        items,
        {name: chosen is not None and chosen.matches(item.classes) for name, item in items.items()},
        {name: places.get(item.category, 0) for name, item in items.items()},
    )


def level_of(cell: Cell, axes: Sequence[str]) -> str:
    """The levels of a cell on some axes, of which `model` is one."""
    return ",".join(cell.model if axis == MODELS else cell.levels[axis] for axis in axes)


def of_items(
    record: StatisticSource, scope: StatisticScope, cells: Sequence[Cell], reading: Reading
) -> tuple[StatisticRows, dict[str, str]]:
    """What the items of cells came to of the one outcome that is read, and the digest of each model's."""
    ((key, outcome),) = scope.statistic.outcomes.items()
    seen = record.samples.of(outcome, cells, scope.tags)
    counted, earned = seen.reading(reading)
    where = [_of_cell(record, scope, cell) for cell in seen.cells]
    items = zip(seen.cell.tolist(), seen.item.tolist(), strict=True)
    names = [(where[at], seen.items[item][1]) for at, item in items]
    positive = np.array([cell.positive[name] for cell, name in names], np.bool_)
    category = np.array([cell.category[name] for cell, name in names], np.int64)
    if key == "predicted" and scope.statistic.predicted is None:
        earned = np.where(positive, earned, counted - earned)
    places = {
        name: np.array([getattr(each, name) for each in where], np.int64)[seen.cell]
        for name in ("model", "benchmark", "opponent", "level")
    }
    nothing = np.full(len(seen), None, np.object_)
    rows = StatisticRows(
        **places, category=category, unit=seen.unit, item=seen.item, positive=positive,
        counted=counted.astype(np.float64), values={key: earned}, texts=nothing, references=nothing,
    )  # fmt: skip
    own: dict[str, list[str]] = {model: [] for model in scope.models}
    for cell in seen.cells:
        own[cell.model].append(seen.digests[cell.key])
    return rows, {model: digest([key, outcome, *found]) for model, found in own.items()}


def of_responses(
    record: StatisticSource, scope: StatisticScope, cells: Sequence[Cell]
) -> tuple[StatisticRows, dict[str, str]]:
    """The responses of cells one by one. One that an outcome leaves out has no row."""
    spec, outcomes = record.plan.study.spec, scope.statistic.outcomes
    seen = record.samples.of("score", cells)
    units, numbers = (
        dict(zip(seen.items, seen.units.tolist(), strict=True)),
        dict[tuple[str, str, str], int](),
    )
    earned_of = {key: _earned(name, record, scope) for key, name in outcomes.items()}
    columns: dict[str, list[Any]] = {each.name: [] for each in fields(StatisticRows)}
    values: dict[str, list[float]] = {key: [] for key in outcomes}
    read: dict[str, list[object]] = {model: [sorted(outcomes.items())] for model in scope.models}
    for cell in cells:
        where = _of_cell(record, scope, cell)
        labels = METHODS[cell.setting.method].names(spec.verdicts(cell.setting.judge), cell.setting.scores)
        for row in _rows(record, cell, {*outcomes.values()} & {ANSWER, *scope.units}):
            item = where.items[row.item]
            if not scope.tags.matches(item.tags):
                continue
            earned = {key: of(row, item, labels, cell.setting) for key, of in earned_of.items()}
            if None in earned.values():
                continue
            of_row = {
                "model": where.model,
                "benchmark": where.benchmark,
                "category": where.category[row.item],
                "opponent": where.opponent,
                "level": where.level,
                "unit": units[cell.benchmark, row.item],
                "item": numbers.setdefault((cell.model, cell.benchmark, row.item), len(numbers)),
                "positive": where.positive[row.item],
                "counted": 1.0,
                "texts": _answer(row.text),
                "references": item.references,
            }
            for name, value in of_row.items():
                columns[name].append(value)
            for key, value in earned.items():
                values[key].append(value or 0.0)
            read[cell.model].append([cell.key, row.item, *earned.values(), of_row["texts"]])
    arrays = {name: _array(name, column) for name, column in columns.items() if name != "values"}
    rows = StatisticRows(
        **arrays, values={key: np.array(column, np.float64) for key, column in values.items()}
    )
    return rows, {model: digest(found) for model, found in read.items()}


def _rows(record: StatisticSource, cell: Cell, names: Set[str]) -> Iterator[ResponseRow]:
    """The responses of a cell, with what their calls took and what they were read to where that is asked."""
    stamp = record.plan.study_digest
    rows = record.store.responses_of(stamp, cell.key, None)
    if names & CALL_NUMBERS.keys():
        calls = record.store.call_numbers_of(stamp, cell.key)
        rows = (row._replace(calls=own) for row, own in zip(rows, calls, strict=True))
    if ANSWER in names:
        votes = record.store.votes_of(stamp, cell.key)
        rows = (row._replace(answer=answer) for row, (_, answer, *_) in zip(rows, votes, strict=True))
    return rows


def _earned(name: str, record: StatisticSource, scope: StatisticScope) -> EarnedOf:
    """What a response earns of an outcome, or how much it is of a number with a unit. An answer is numbered
    in the order in which answers come, an unreadable one apart from every other."""
    if name == ANSWER:
        known: dict[int | str, float] = {}

        def numbered(row: ResponseRow, *_: Any) -> float:
            return -1.0 if row.answer is None else known.setdefault(row.answer, float(len(known)))

        return numbered
    if name in CALL_NUMBERS and name in scope.units:
        return lambda row, *_: row.calls.get(name)
    if name in scope.units:
        return lambda row, *_: row.numbers[name] / UNIT if name in row.numbers else None
    return of_response(name, record.plan.study.spec.outcomes)


def _array(name: str, column: list[Any]) -> NDArray[Any]:
    if name in ("texts", "references"):
        found = np.empty(len(column), np.object_)
        found[:] = column
        return found
    kinds: Mapping[str, Any] = {"positive": np.bool_, "counted": np.float64}
    return np.array(column, kinds.get(name, np.int64))


def _answer(text: str | None) -> str:
    """The answer in a response, behind its reasoning; empty where there is none."""
    begins = None if text is None else answer_begins(text)
    return "" if text is None or begins is None else text[begins:].strip()
