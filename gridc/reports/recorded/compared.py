"""Selects the cells in logs that can be compared, and brings their outcomes into the form that a study's
tests take."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
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
"""The most repetitions of an item in a study's form. Where the numbers of repetitions have no common multiple
up to this, sums of scores are rounded to so many parts of an item."""

MOST_PAIRS = 5_000
"""The most pairs of models of a benchmark for which a study's reports are made: they test every pair."""
MOST_COMPARED = 25_000
"""The most pairs x configurations for which reports are made of more pairs: 220 models in one configuration
take three minutes and 2 GB."""


@dataclass(frozen=True, eq=False)
class ComparedCells:
    """Models of a benchmark that are compared with each other in all of these configurations.

    All of them were asked from one list of items.

    Attributes:
        benchmark: Holds all cells of the benchmark, compared or not.
        name: Is the benchmark's name, with a number if these are not its main comparison.
        models: Lists the models, each compared with the others.
        configurations: Lists the configurations in which they are compared.
        incomparable: Gives the reason for each model, or "model, configuration", that cannot be compared.
        why_separate: Says why these cells are not in the benchmark's main comparison; empty for that one.
    """

    benchmark: RecordedBenchmark
    name: str
    models: tuple[str, ...]
    configurations: tuple[str, ...]
    incomparable: Mapping[str, str]
    why_separate: str = ""

    @property
    def is_main(self) -> bool:
        """Tell whether this is the benchmark's main comparison, which also reports on the benchmark
        itself."""
        return self.name == self.benchmark.name

    @property
    def compared_cells(self) -> dict[tuple[str, str], RecordedCell]:
        """The compared cells, by model and configuration."""
        cells = self.benchmark.cells
        return {(model, name): cells[model, name] for model in self.models for name in self.configurations}

    @property
    def reported_cells(self) -> list[RecordedCell]:
        """The compared cells; in the main comparison also those that cannot be compared at all."""
        incomparable = {
            place: cell
            for place, cell in self.benchmark.cells.items()
            if self.is_main and not _can_be_compared(self.benchmark, *place)
        }
        return list((self.compared_cells | incomparable).values())

    @property
    def reported_items(self) -> Flags:
        """Flag the items that a model answered or should have answered, (items,); all, if no log lists
        items."""
        flags = [cell.held | cell.counts for cell in self.reported_cells if cell.itemised]
        items: Flags = np.logical_or.reduce(flags or [np.ones(self.benchmark.count, np.bool_)])
        return items

    @property
    def uncounted_items(self) -> int:
        """Count the items that a model answered in a configuration where they do not count."""
        flags = [cell.held & ~cell.counts for cell in self.reported_cells if cell.itemised]
        return int(np.logical_or.reduce(flags).sum()) if flags else 0

    def counted_in(self, configuration: str) -> Flags:
        """Flag the items that count in a configuration, (items,)."""
        return self.benchmark.cells[self.models[0], configuration].counts

    @cached_property
    def counted_items(self) -> Flags:
        """Flag the items that count in each configuration, (configurations, items)."""
        flags: Flags = np.array([self.counted_in(name) for name in self.configurations], np.bool_)
        return flags

    def mean(self, model: str, configuration: str) -> Fraction:
        """Compute the mean score. A missing answer counts as wrong."""
        outcomes = self.outcomes
        row, column = self.models.index(model), self.configurations.index(configuration)
        most = int(outcomes.replicates[column]) * outcomes.scale * int(self.counted_items[column].sum())
        return Fraction(int(outcomes.correct[row, column].sum()), most)

    @cached_property
    def outcomes(self) -> Outcomes:
        """Bring the outcomes into a study's form. Items have equal weight, however often each was asked."""
        cells = self.benchmark.cells
        counted_items = self.counted_items
        in_any = counted_items.any(axis=0)
        runs = {
            (model, name): cells[model, name].to_decimals(DIGITS)
            for model in self.models
            for name in self.configurations
        }
        repetitions = [
            _common_repetitions(runs[model, name].trials[counted_items[place]] for model in self.models)
            for place, name in enumerate(self.configurations)
        ]
        scale = 1 if all(map(_is_binary, runs.values())) else UNIT
        worst = scale if self.benchmark.lower else 0
        points = {
            (model, name): _item_points(
                runs[model, name], counted_items[place], repetitions[place], scale, worst
            )
            for model in self.models
            for place, name in enumerate(self.configurations)
        }

        def table(field: int) -> Whole:
            rows = [[points[model, name][field] for name in self.configurations] for model in self.models]
            values: Whole = np.array(rows, np.int64)[..., in_any]
            return values

        correct, first, unscored = map(table, range(3))
        names = tuple(f"{number:09}" for number in np.flatnonzero(in_any))
        units = np.array(self.benchmark.units, np.object_)[in_any].tolist()
        return Outcomes(
            models=self.models,
            configurations=self.configurations,
            levels=({},) * len(self.configurations),
            sampled=np.ones(len(self.configurations), np.bool_),
            items=names,
            units=unit_number_of_items(names, dict(zip(names, units, strict=True))),
            replicates=np.array(repetitions, np.int64),
            correct=correct,
            first=first,
            measured=np.ones(correct.shape[:2], np.bool_),
            asked=counted_items[:, in_any],
            scale=scale,
            nothing_read=frozenset(place for place, row in points.items() if row.nothing_read),
            credited=unscored if unscored.any() else None,
            credit=np.full(correct.shape[:2], worst),
        )


@dataclass(frozen=True)
class _ComparableGroup:
    """Models that all have items in the same configurations."""

    models: list[str]
    configurations: list[str]

    @property
    def comparisons(self) -> int:
        """Count ordered pairs of models over all configurations."""
        return len(self.models) * (len(self.models) - 1) * len(self.configurations)


def comparable_cells(benchmark: RecordedBenchmark, names_in_use: Container[str] = ()) -> list[ComparedCells]:
    """Part all cells of a benchmark that can be compared into comparisons, the largest first.

    The first one is the main comparison and has the benchmark's name. Models that lack a configuration,
    configurations that a model lacks, and models that were asked from another list of items follow in further
    comparisons. These are numbered, and skip `names_in_use`.
    """
    incomparable: dict[str, str] = {}
    by_list: dict[int, list[str]] = {}
    for model in benchmark.models:
        cells = [cell for (name, _), cell in benchmark.cells.items() if name == model]
        unable = [cell for cell in cells if not _can_be_compared(benchmark, model, cell.configuration)]
        if len(unable) == len(cells):
            incomparable[model] = _why_incomparable(cells)
            continue
        incomparable |= {f"{model}, {cell.configuration}": _why_incomparable([cell]) for cell in unable}
        by_list.setdefault(benchmark.lists[model], []).append(model)
    groups = [group for models in by_list.values() for group in _comparable_groups(benchmark, models)]
    groups.sort(key=lambda group: (-group.comparisons, -len(group.models)))
    main, *further = groups or [_ComparableGroup([], [])]
    comparisons = [
        ComparedCells(benchmark, benchmark.name, tuple(main.models), tuple(main.configurations), incomparable)
    ]
    numbers = (number for number in count(2) if f"{benchmark.name} ({number})" not in names_in_use)
    for number, group in zip(numbers, further, strict=False):
        comparisons.append(
            ComparedCells(
                benchmark,
                f"{benchmark.name} ({number})",
                tuple(group.models),
                tuple(group.configurations),
                {},
                f"{benchmark.name}: {_why_separate(benchmark, group, main)}",
            )
        )
    return comparisons


def _comparable_groups(benchmark: RecordedBenchmark, models: list[str]) -> Iterator[_ComparableGroup]:
    """Part the cells of models that were asked from one list, the most comparisons first."""
    for sharing_items in by_items(benchmark.cells, models):
        names = [name for name in benchmark.configurations if name in sharing_items]
        ungrouped = np.array(
            [[_can_be_compared(benchmark, model, name) for name in names] for model in models]
        )
        while ungrouped.any():
            columns, rows = most_compared(ungrouped)
            yield _ComparableGroup([models[row] for row in rows], [names[column] for column in columns])
            ungrouped[np.ix_(rows, columns)] = False


def _why_separate(benchmark: RecordedBenchmark, group: _ComparableGroup, main: _ComparableGroup) -> str:
    """Say why a group is not in the benchmark's main comparison."""
    if benchmark.lists[group.models[0]] != benchmark.lists[main.models[0]]:
        return "these models share no item with those"
    sharing_items = by_items(benchmark.cells, (*group.models, *main.models))
    if not any({*group.configurations, *main.configurations} <= {*names} for names in sharing_items):
        return "these configurations share no item with those"
    if set(group.models) & set(main.models):
        return "not every model that is compared there has these configurations"
    return "these models lack a configuration that is compared there; two that differ are non-equivalent"


class _ItemPoints(NamedTuple):
    """What the items of a cell earned.

    `correct` has the sum over an item's repetitions, `first` the first repetition alone, and `unscored` the
    number of repetitions without a score, (items,) each. `nothing_read` says that no answer was read.
    """

    correct: Whole
    first: Whole
    unscored: Whole
    nothing_read: bool


def _item_points(
    run: CellOutcomes, counted_items: Flags, repetitions: int, scale: int, worst: int
) -> _ItemPoints:
    """Add up what items earned over `repetitions` each, in units of 1 / `scale`.

    A repetition without a score earns `worst`. Where an item has fewer repetitions, each counts several
    times.
    """
    trials = np.maximum(run.trials, 1)
    unscored_share = np.where(run.trials > 0, (run.trials - run.scored) / trials, 1.0)
    unscored = np.where(counted_items, np.round(unscored_share * repetitions), 0).astype(np.int64)
    earned = np.round(run.correct / trials * (repetitions * scale)).astype(np.int64) + worst * unscored
    correct = np.where(counted_items, earned, 0)
    first_earned = np.where(np.isnan(run.first), worst, np.round(np.nan_to_num(run.first) * scale))
    first = np.where(counted_items, first_earned, 0).astype(np.int64)
    # An answer that earned something was read, whatever its log says of its end.
    read = run.parsed[counted_items].any() or (correct != worst * repetitions)[counted_items].any()
    return _ItemPoints(correct, first, unscored, not read)


def _common_repetitions(trials: Iterable[Whole]) -> int:
    """Find the least common multiple of the items' numbers of repetitions, or `MOST_REPETITIONS`."""
    numbers = {number for column in trials for number in np.unique(column).tolist() if number}
    return min(lcm(*numbers), MOST_REPETITIONS)


def _is_binary(run: CellOutcomes) -> bool:
    """Tell whether each answer earned a point or none, as far as sums show."""
    first = run.first[~np.isnan(run.first)]
    return bool(np.isin(first, (0.0, 1.0)).all()) and bool((run.correct % 1 == 0).all())


def _can_be_compared(benchmark: RecordedBenchmark, model: str, configuration: str) -> bool:
    """Tell whether a model has items in a configuration, with scores from 0 to 1."""
    cell = benchmark.cells.get((model, configuration))
    return cell is not None and cell.bounded and bool(cell.counts.any())


def _why_incomparable(cells: Sequence[RecordedCell]) -> str:
    """Say what keeps cells of a model from being compared."""
    if not any(cell.itemised for cell in cells):
        return "the log lists no items, so the score is reported but not tested"
    if all(np.isnan(cell.scores).all() for cell in cells):
        return "the log has no score of an item"
    if not any(cell.bounded for cell in cells):
        return "scores outside of 0 to 1 are described and not tested"
    return "no item of it is common to all models"


def study_parts(parts: Sequence[ComparedCells]) -> tuple[list[ComparedCells], tuple[str, ...]]:
    """Select the comparisons that a study can hold, and give the reason for each of the others.

    A study asks all items of a configuration equally often, and tests every pair of models.
    """
    kept, reasons = [], []
    for part in parts:
        name, cells = part.name, part.compared_cells.values()
        pairs = len(part.models) * (len(part.models) - 1) // 2
        repetitions = {(cell.configuration, cell.repetitions) for cell in cells}
        if pairs > MOST_PAIRS and pairs * len(part.configurations) > MOST_COMPARED:
            configurations = counted(len(part.configurations), "configuration")
            most = f"{MOST_PAIRS:,} pairs, or {MOST_COMPARED:,} in all configurations together"
            reasons.append(
                f"{name}: {pairs:,} pairs of models in {configurations}; such reports test up to {most}"
            )
        elif not part.models:
            reasons += [f"{name}: {why}" for why in [*part.incomparable.values()][:1]]
        elif any(len(np.unique(cell.outcomes.trials[cell.held])) > 1 for cell in cells):
            reasons.append(f"{name}: some items were asked more often than others")
        elif len(repetitions) > len(part.configurations):
            reasons.append(f"{name}: some models were asked more often than others")
        else:
            kept.append(part)
    return kept, tuple(reasons)
