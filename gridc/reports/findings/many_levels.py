"""What an axis of many levels does to a score: paraphrases of one prompt, orders of the same options.

Of few levels each has its place in every table; of many these say it: mean, worst, best, how far apart they
are beside what levels that do nothing would show, and whether the models keep their order (Mizrahi et al.
2024).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from gridc.reports.findings.intervals import resampling_of
from gridc.reports.findings.outcomes import sum_units
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.scores import CellScore, units_of
from gridc.schema.canonical import digest
from gridc.statistics.arrays import Whole
from gridc.statistics.concordance import Concordance, Exchanged, concordance, exchanged_range
from gridc.statistics.direction import Direction
from gridc.statistics.resample import LEVEL
from gridc.statistics.unit_bootstrap import Ends, at_bound, draw_weights, intervals, resampled_means

MANY = 5
"""Levels of an axis from which on they are summed up."""
DRAWS = 1000
"""Random exchanges of levels."""

Levelled = Mapping[str, Mapping[str, tuple[CellScore, ...]]]
"""By model and level the cells that the levels are compared on, in one order."""


@dataclass(frozen=True, slots=True)
class LevelScore:
    """A level, and the mean of its cells."""

    level: str
    score: Fraction


@dataclass(frozen=True, slots=True)
class ModelOverLevels:
    """One model over the levels of an axis. `scores` are in their order; `worst` and `best` follow the
    direction of the benchmark; `range_by_chance` is what levels that do nothing would show; `test` is
    Friedman's over `units`, None where no unit tells two levels apart."""

    model: str
    scores: tuple[LevelScore, ...]
    mean: Fraction
    interval: Ends | None
    worst: LevelScore
    best: LevelScore
    saturation: Fraction
    range_by_chance: Exchanged
    test: Concordance | None

    @property
    def range(self) -> Fraction:
        """The highest score of a level less the lowest."""
        scores = [level.score for level in self.scores]
        return max(scores) - min(scores)


@dataclass(frozen=True, slots=True)
class ManyLevels:
    """An axis of many levels on a benchmark; each level's score is the mean over the `contexts`
    configurations of the other axes that all levels and models were run under. `agreement` is of the orders
    of the models under the levels; None of one model, and where every level ties all."""

    benchmark: str
    axis: str
    levels: int
    contexts: int
    units: int
    models: tuple[ModelOverLevels, ...]
    agreement: Concordance | None
    rows: str


def many_levels(record: RunRecord) -> tuple[ManyLevels, ...]:
    """Of every benchmark and every axis that has many levels on it; of an interim look none."""
    return tuple(_findings(record)) if record.complete else ()


def _findings(record: RunRecord) -> Iterator[ManyLevels]:
    spec = record.plan.study.spec
    for benchmark in spec.benchmark:
        cells = [
            score
            for score in record.scores
            if score.cell.benchmark == benchmark.id and score.cell.shared and score.complete
        ]
        for axis in spec.axis:
            levelled = _levelled(record, cells, axis.id)
            if levelled:
                direction = Direction.of(benchmark.direction)
                yield _finding(record, benchmark.id, axis.id, levelled, direction)


def _levelled(record: RunRecord, cells: Sequence[CellScore], axis: str) -> Levelled:
    """The cells under which every level and model was run; empty where the levels are not many, or where they
    ask different items."""
    levels = list(dict.fromkeys(score.cell.levels[axis] for score in cells))
    models = list(dict.fromkeys(score.cell.model for score in cells))
    if len(levels) < MANY:
        return {}
    by_context: dict[tuple[str, ...], dict[tuple[str, str], CellScore]] = {}
    for score in cells:
        context = tuple(level for name, level in score.cell.levels.items() if name != axis)
        by_context.setdefault(context, {})[score.cell.model, score.cell.levels[axis]] = score
    whole = [context for context in by_context.values() if len(context) == len(levels) * len(models)]
    items = {record.samples.stored[score.cell.key].items for context in whole for score in context.values()}
    if len(items) != 1:
        return {}
    return {
        model: {level: tuple(context[model, level] for context in whole) for level in levels}
        for model in models
    }


def _finding(
    record: RunRecord, benchmark: str, axis: str, levelled: Levelled, direction: Direction
) -> ManyLevels:
    items = record.plan.study.items[benchmark]
    scores = {
        model: tuple(LevelScore(level, _mean([cell.score for cell in cells])) for level, cells in own.items())
        for model, own in levelled.items()
    }
    ranked = [[direction.good(level.score) for level in own] for own in scores.values()]
    cells = [cell for own in levelled.values() for some in own.values() for cell in some]
    units = len(set(items.units.values()))
    return ManyLevels(
        benchmark,
        axis,
        len(next(iter(scores.values()))),
        len(next(iter(next(iter(levelled.values())).values()))),
        units,
        tuple(
            _model(record, benchmark, model, own, levelled[model], direction) for model, own in scores.items()
        ),
        concordance(_whole(ranked).T) if len(scores) > 1 else None,
        digest([cell.rows for cell in cells]),
    )


def _model(
    record: RunRecord,
    benchmark: str,
    model: str,
    scores: tuple[LevelScore, ...],
    cells: Mapping[str, Sequence[CellScore]],
    direction: Direction,
) -> ModelOverLevels:
    spec, items = record.plan.study.spec, record.plan.study.items[benchmark]
    best = max(scores, key=lambda level: direction.good(level.score))
    worst = min(scores, key=lambda level: direction.good(level.score))
    goodness = _mean([direction.good(level.score) for level in scores])
    names, points, most = _points(record, list(cells.values()))
    sums = sum_units(points.T, units_of(names, items.units)).T
    unit, resamples, seed = resampling_of(spec, items)
    drawn = units_of(names, {item.id: item.at(unit) for item in items.sampled})
    earned = sum_units(points.sum(axis=1)[None, :], drawn)
    sizes = sum_units(np.full((1, len(names)), most * len(scores)), drawn)
    means = resampled_means(earned, sizes, draw_weights(int(drawn.max()) + 1, resamples, seed))
    (ends,) = intervals(means, int(drawn.max()) + 1, LEVEL)
    return ModelOverLevels(
        model,
        scores,
        _mean([level.score for level in scores]),
        ends or at_bound(earned[0], sizes[0], LEVEL),
        worst,
        best,
        1 - (direction.good(best.score) - goodness),
        exchanged_range(sums, most * len(names), DRAWS, spec.sampling.seed),
        concordance(sums),
    )


def _points(record: RunRecord, by_level: Sequence[Sequence[CellScore]]) -> tuple[tuple[str, ...], Whole, int]:
    """What each item earned under each level, (items, levels), in units of which it can earn so many."""
    stored = record.samples.stored
    names = stored[by_level[0][0].cell.key].items
    asked = [cell.cell.setting for cells in by_level for cell in cells]
    most = lcm(*(setting.outcomes_of_item * setting.item_scale for setting in asked))
    columns = []
    for cells in by_level:
        column = np.zeros(len(names), dtype=np.int64)
        for cell in cells:
            own, setting = stored[cell.cell.key], cell.cell.setting
            column += own.correct * (most // (setting.outcomes_of_item * setting.item_scale))
        columns.append(column)
    return names, np.stack(columns, axis=1), most * len(by_level[0])


def _mean(values: Sequence[Fraction | None]) -> Fraction:
    known = [value for value in values if value is not None]
    return sum(known, Fraction(0)) / len(known)


def _whole(rows: Sequence[Sequence[Fraction]]) -> Whole:
    """Fractions as whole numbers of one unit: what is equal stays so."""
    unit = lcm(*(value.denominator for row in rows for value in row))
    return np.array([[int(value * unit) for value in row] for row in rows], dtype=np.int64)


MANY_LEVELS: Finding[tuple[ManyLevels, ...]] = Finding("many_levels", many_levels, ())
