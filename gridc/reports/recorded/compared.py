"""Chooses the cells of a benchmark in logs that can be compared, and brings them into the form that a study's
tests take."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count
from math import lcm
from typing import NamedTuple

import numpy as np

from gridc.numbers import counted
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.scores import Outcomes, unit_number_of_items
from gridc.reports.findings.standings import most_compared
from gridc.reports.recorded.cells import RecordedBenchmark, RecordedCell, by_items
from gridc.schema.scores import DIGITS, UNIT
from gridc.statistics.arrays import Flags, Whole

MOST_REPETITIONS = 5_040
"""Repetitions are kept apart where their numbers have a common multiple of at most this; else each of them
counts as a whole number of parts of so many."""


MOST_PAIRS = 5_000
"""Pairs of models of a benchmark up to which the reports of a study are made: they test every one."""
MOST_COMPARED = 25_000
"""Pairs x configurations up to which they are made of more pairs: 220 models in one configuration take three
minutes and 2 GB."""


@dataclass(frozen=True, eq=False)
class ComparedCells:
    """Models of a benchmark that are compared, each with the others in all of these configurations. They were
    asked from one list. `others` are models and cells that cannot be compared, with the reasons. `name` is
    the benchmark's, with a number where these are not its first cells; `apart` says why they are not among
    those."""

    benchmark: RecordedBenchmark
    name: str
    models: tuple[str, ...]
    configurations: tuple[str, ...]
    others: Mapping[str, str]
    apart: str = ""

    @property
    def is_first(self) -> bool:
        """Whether these are the first models of their benchmark: what is said of it is said there."""
        return self.name == self.benchmark.name

    @property
    def in_study(self) -> dict[tuple[str, str], RecordedCell]:
        """The cells that are compared, by model and configuration."""
        cells = self.benchmark.cells
        return {(model, name): cells[model, name] for model in self.models for name in self.configurations}

    @property
    def cells(self) -> list[RecordedCell]:
        """These, and those of which nothing can be compared."""
        of_others = {
            place: cell
            for place, cell in self.benchmark.cells.items()
            if self.is_first and not _is_able(self.benchmark, *place)
        }
        return list((self.in_study | of_others).values())

    @property
    def items(self) -> Flags:
        """Which items any model answered or should have answered, (items,); all, where no log lists items."""
        every = [cell.held | cell.counts for cell in self.cells if cell.itemised]
        items: Flags = np.logical_or.reduce(every or [np.ones(self.benchmark.count, np.bool_)])
        return items

    @property
    def left_out(self) -> int:
        """How many items some model has in a configuration where they do not count."""
        out = [cell.held & ~cell.counts for cell in self.cells if cell.itemised]
        return int(np.logical_or.reduce(out).sum()) if out else 0

    def has(self, model: str, configuration: str) -> bool:
        """Whether a cell is compared here."""
        return model in self.models and configuration in self.configurations

    def counts(self, configuration: str) -> Flags:
        """The items that count in a configuration, (items,)."""
        return self.benchmark.cells[self.models[0], configuration].counts

    @cached_property
    def asked(self) -> Flags:
        """The items that count in each configuration that is compared, (configurations, items)."""
        asked: Flags = np.array([self.counts(name) for name in self.configurations], np.bool_)
        return asked

    def mean(self, model: str, configuration: str) -> Fraction:
        """The mean score. A missing answer counts as wrong."""
        outcomes = self.outcomes
        at, place = self.models.index(model), self.configurations.index(configuration)
        most = int(outcomes.replicates[place]) * outcomes.scale * int(self.asked[place].sum())
        return Fraction(int(outcomes.correct[at, place].sum()), most)

    @cached_property
    def outcomes(self) -> Outcomes:
        """The outcomes in the form that a study has them. Where some items were asked more often than others,
        every item has the same weight."""
        cells = self.benchmark.cells
        asked, some = self.asked, self.asked.any(axis=0)
        runs = {
            (model, name): cells[model, name].to_decimals(DIGITS)
            for model in self.models
            for name in self.configurations
        }
        times = [
            _repetitions(runs[model, name].trials[asked[at]] for model in self.models)
            for at, name in enumerate(self.configurations)
        ]
        scale = 1 if all(map(_is_binary, runs.values())) else UNIT
        credit = scale if self.benchmark.lower else 0
        rows = {
            (model, name): _points(runs[model, name], asked[at], times[at], scale, credit)
            for model in self.models
            for at, name in enumerate(self.configurations)
        }

        def every(column: int) -> Whole:
            table = [[rows[model, name][column] for name in self.configurations] for model in self.models]
            values: Whole = np.array(table, np.int64)[..., some]
            return values

        correct, first, lost = map(every, range(3))
        names = tuple(f"{number:09}" for number in np.flatnonzero(some))
        units = np.array(self.benchmark.units, np.object_)[some].tolist()
        return Outcomes(
            models=self.models,
            configurations=self.configurations,
            levels=({},) * len(self.configurations),
            sampled=np.ones(len(self.configurations), np.bool_),
            items=names,
            units=unit_number_of_items(names, dict(zip(names, units, strict=True))),
            replicates=np.array(times, np.int64),
            correct=correct,
            first=first,
            measured=np.ones(correct.shape[:2], np.bool_),
            asked=asked[:, some],
            scale=scale,
            nothing_read=frozenset(place for place, row in rows.items() if row.unread),
            credited=lost if lost.any() else None,
            credit=np.full(correct.shape[:2], credit),
        )


def comparable_cells(benchmark: RecordedBenchmark, taken: Container[str] = ()) -> list[ComparedCells]:
    """All cells of a benchmark that can be compared, the most comparisons first: models that lack some
    configurations, configurations that some models lack, and models that were asked from another list follow
    as parts of their own. The first part keeps the benchmark's name; later parts are numbered, and skip the
    names that are `taken`."""
    others: dict[str, str] = {}
    lists: dict[int, list[str]] = {}
    for model in benchmark.models:
        own = [cell for (name, _), cell in benchmark.cells.items() if name == model]
        unable = [cell for cell in own if not _is_able(benchmark, model, cell.configuration)]
        if len(unable) == len(own):
            others[model] = _why_not(own)
            continue
        others |= {f"{model}, {cell.configuration}": _why_not([cell]) for cell in unable}
        lists.setdefault(benchmark.lists[model], []).append(model)
    groups: list[tuple[list[str], list[str]]] = []
    for models in lists.values():
        for asked in by_items(benchmark.cells, models):
            known = [name for name in benchmark.configurations if name in asked]
            rest = np.array([[_is_able(benchmark, model, name) for name in known] for model in models])
            while rest.any():
                over, places = most_compared(rest)
                groups.append(([models[place] for place in places], [known[place] for place in over]))
                rest[np.ix_(places, over)] = False
    groups.sort(key=lambda group: (-len(group[0]) * (len(group[0]) - 1) * len(group[1]), -len(group[0])))
    first, *more = groups or [([], [])]
    parts = [ComparedCells(benchmark, benchmark.name, tuple(first[0]), tuple(first[1]), others)]
    numbers = (number for number in count(2) if f"{benchmark.name} ({number})" not in taken)
    for number, (models, names) in zip(numbers, more, strict=False):
        shared = benchmark.lists[models[0]] == benchmark.lists[first[0][0]]
        why = "these models share no item with those"
        alike = by_items(benchmark.cells, (*models, *first[0])) if shared else []
        if not any({*names, *first[1]} <= {*some} for some in alike) and shared:
            why = "these configurations share no item with those"
        elif shared and set(models) & set(first[0]):
            why = "not every model that is compared there has these configurations"
        elif shared:
            why = (
                "these models lack a configuration that is compared there; two that differ are non-equivalent"
            )
        name = f"{benchmark.name} ({number})"
        parts.append(
            ComparedCells(benchmark, name, tuple(models), tuple(names), {}, f"{benchmark.name}: {why}")
        )
    return parts


class _Points(NamedTuple):
    """What the items of a cell earned over their repetitions, the first one alone, and how many repetitions
    have no score and earned `credit`, (items,) each; `unread` says that no answer was read."""

    correct: Whole
    first: Whole
    lost: Whole
    unread: bool


def _points(run: CellOutcomes, asked: Flags, times: int, scale: int, credit: int) -> _Points:
    """Of `times` repetitions of each item, in units of 1 / `scale`."""
    known = np.maximum(run.trials, 1)
    missing = np.where(run.trials > 0, (run.trials - run.scored) / known, 1.0)
    lost = np.where(asked, np.round(missing * times), 0).astype(np.int64)
    earned = np.round(run.correct / known * (times * scale)).astype(np.int64) + credit * lost
    correct = np.where(asked, earned, 0)
    begun = np.where(np.isnan(run.first), credit, np.round(np.nan_to_num(run.first) * scale))
    first = np.where(asked, begun, 0).astype(np.int64)
    # What earned something was read, whatever its log says of the answer's end.
    read = run.parsed[asked].any() or (correct != credit * times)[asked].any()
    return _Points(correct, first, lost, not read)


def _repetitions(trials: Iterable[Whole]) -> int:
    """A number that every item's number of repetitions divides, as far as there is one in reach."""
    numbers = {number for column in trials for number in np.unique(column).tolist() if number}
    return min(lcm(*numbers), MOST_REPETITIONS)


def _is_binary(run: CellOutcomes) -> bool:
    """Whether each answer earned a point or none, as far as sums tell."""
    first = run.first[~np.isnan(run.first)]
    return bool(np.isin(first, (0.0, 1.0)).all()) and bool((run.correct % 1 == 0).all())


def _is_able(benchmark: RecordedBenchmark, model: str, configuration: str) -> bool:
    """Whether a model has items in a configuration, with scores from 0 to 1."""
    cell = benchmark.cells.get((model, configuration))
    return cell is not None and cell.bounded and bool(cell.counts.any())


def _why_not(cells: Sequence[RecordedCell]) -> str:
    """What keeps cells of a model from being compared."""
    if not any(cell.itemised for cell in cells):
        return "no items, so that its score is described and not tested"
    if all(np.isnan(cell.scores).all() for cell in cells):
        return "the log has no score of an item"
    if not any(cell.bounded for cell in cells):
        return "scores outside of 0 to 1 are described and not tested"
    return "no item of it is common to all models"


def in_a_study(parts: Sequence[ComparedCells]) -> tuple[list[ComparedCells], tuple[str, ...]]:
    """What a study can have, and of the rest why not: it asks every item of a configuration as often as the
    others."""
    kept, reasons = [], []
    for part in parts:
        name, cells = part.name, part.in_study.values()
        pairs = len(part.models) * (len(part.models) - 1) // 2
        often = {(cell.configuration, cell.repetitions) for cell in cells}
        if pairs > MOST_PAIRS and pairs * len(part.configurations) > MOST_COMPARED:
            over = counted(len(part.configurations), "configuration")
            most = f"{MOST_PAIRS:,} pairs, or {MOST_COMPARED:,} in all configurations together"
            reasons.append(f"{name}: {pairs:,} pairs of models in {over}; such reports test up to {most}")
        elif not part.models:
            reasons += [f"{name}: {why}" for why in [*part.others.values()][:1]]
        elif any(len(np.unique(cell.outcomes.trials[cell.held])) > 1 for cell in cells):
            reasons.append(f"{name}: some items were asked more often than others")
        elif len(often) > len(part.configurations):
            reasons.append(f"{name}: some models were asked more often than others")
        else:
            kept.append(part)
    return kept, tuple(reasons)
