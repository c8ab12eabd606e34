"""Measures how another configuration changes a model's score, and how sensitive each model is to all of them.

A change is the difference from the reference, and the number of answers until one more is worse (the number
needed to harm).

The reference is the configuration that the spec's anchor selects, the first of the envelope where it selects
none. Cells are compared on the items that both ask, whose units are drawn together, so that a difference is
one of pairs. Differences point upwards where the change is for the better, whatever the benchmark's
direction; where it is a target there are none.

How sensitive each model is to the configuration is summed up over all benchmarks (Safety Under Scaffolding,
table 40).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import lcm
from statistics import fmean

import numpy as np

from gridc.compiler.grid.cells import anchored
from gridc.compiler.inputs.items import Items
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.scores import CellScore, resampling_of, unit_number_of_items
from gridc.schema.canonical import digest
from gridc.schema.hypotheses import NumberNeededRow
from gridc.schema.scorecard import SensitivityRow
from gridc.schema.spec import Axis, Spec
from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.case_totals import paired_totals
from gridc.statistics.envelope import Direction
from gridc.statistics.reproducibility import decimals
from gridc.statistics.risk import Interval, Rounding, number_needed
from gridc.statistics.unit_intervals import Ends, change, gains_and_losses, unit_totals
from gridc.statistics.variance import decompose


@dataclass(frozen=True, slots=True)
class ScoreDifference:
    """A difference of two scores, exact, positive for the better, and its interval over units. Of few units
    `on_units` is that of these very units, of new items of them. An end that is 0 but for rounding is 0."""

    difference: Fraction
    interval: Ends | None
    on_units: Ends | None = None

    def number_needed(self, rounding: Rounding = "ceil") -> NumberNeededRow:
        """Of the exact difference: one that is rounded would turn 120 into 121."""
        interval = None if self.interval is None else Interval(*self.interval)
        return NumberNeededRow.of(number_needed(float(self.difference), interval, rounding))

    def same_as(self, other: "ScoreDifference") -> bool:
        """Whether both are one difference with one interval, but for rounding."""
        ends, others = self.interval or (), other.interval or ()
        return (
            self.difference == other.difference
            and len(ends) == len(others)
            and not any(decimals(one - two) for one, two in zip(ends, others, strict=True))
        )

    @property
    def side(self) -> int:
        """-1 where the interval lies below 0, 1 where it lies above, 0 where it holds 0 or there is none."""
        if self.interval is None:
            return 0
        low, high = self.interval
        return (low > 0) - (high < 0)


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """One model's score under `configuration` against that under `reference`, which differ in `levels`,
    by axis. `itt` counts every answer; `pp` the items with a readable answer under both, None where
    nothing is read from text or no item has one. `n` samples are compared; `common` is how many items both
    ask, None where they ask the same."""

    model: str
    configuration: str
    reference: str
    levels: Mapping[str, str]
    itt: ScoreDifference
    pp: ScoreDifference | None
    rows: str
    n: int
    common: int | None = None


@dataclass(frozen=True, slots=True)
class RescoredChange:
    """The same change, measured by two rules that score the same answers: the levels `left` and `right`
    of `axis`. `n` samples are in the rows of the four cells."""

    model: str
    axis: str
    left: str
    right: str
    levels: Mapping[str, str]
    by_left: ScoreDifference
    by_right: ScoreDifference
    rows: str
    n: int


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """By item the points of a cell and how many they are of, and those of readable answers, (4, items)."""

    score: CellScore
    by_item: Whole

    @property
    def asked(self) -> Flags:
        """The items that the cell asks, (items,)."""
        asked: Flags = self.by_item[1] > 0
        return asked

    @property
    def readable(self) -> Whole:
        return self.by_item[2:]


@dataclass(frozen=True, slots=True, eq=False)
class SharedCells:
    """The complete shared cells of one benchmark, ready to be compared: each model's sums by
    configuration. `units` numbers the unit of each item, (items,); `questions` the question, where that is
    finer and there are few units to tell from."""

    sums: Mapping[tuple[str, str], _Sums]
    references: Mapping[str, str]
    units: Whole
    questions: Whole | None
    sign: int

    def in_common(self, cells: Sequence[_Sums]) -> "tuple[SharedCells, tuple[_Sums, ...], int | None] | None":
        """What compares these cells on the items that all of them ask, the cells there, and how many items
        that are, None where it is every item of each; None where they share no item."""
        asked = np.stack([held.asked for held in cells])
        every = asked.all(axis=0)
        if (asked == every).all():
            return self, tuple(cells), None
        if not every.any():
            return None
        questions = None if self.questions is None else self.questions[every]
        some = tuple(_Sums(held.score, held.by_item[:, every]) for held in cells)
        return replace(self, sums={}, units=self.units[every], questions=questions), some, int(every.sum())

    def between(self, first: _Sums, second: _Sums) -> ScoreDifference:
        """The second cell's score less the first one's."""
        (points, most), (earned, possible) = first.by_item[:2], second.by_item[:2]
        before = Fraction(int(points.sum()), int(most.sum()))
        after = Fraction(int(earned.sum()), int(possible.sum()))
        moved = earned / np.maximum(possible, 1) - points / np.maximum(most, 1)
        return self._moved(after - before, moved, (most > 0).astype(np.float64))

    def readable(self, first: _Sums, second: _Sums) -> ScoreDifference | None:
        """The same of items with a readable answer in both cells; None where there is none."""
        scale = lcm(first.score.scale, second.score.scale)
        points, counts = np.stack([first.readable, second.readable], axis=-1)
        points *= [scale // first.score.scale, scale // second.score.scale]
        kept, earned = paired_totals(counts, points / scale)
        if not kept.any():
            return None
        before, after = (_exact(points[:, side], counts[:, side], kept[:, side], scale) for side in range(2))
        # Both sides keep as many answers of an item, or in one proportion of all: its mean is what counts.
        means = earned / np.maximum(kept, 1)
        return self._moved(after - before, means[:, 1] - means[:, 0], kept[:, 0] / kept[:, 0].max())

    def _moved(self, difference: Fraction, moved: Floats, weights: Floats) -> ScoreDifference:
        """From what every item moves, (items,), and how much it counts."""
        columns = gains_and_losses(self.sign * moved).round(12) * weights[:, None]
        found = change(unit_totals(self.units, columns))
        finer = self.questions if found.few else None
        ends, on_units = (
            None if estimate is None or estimate.interval is None else _zeroed(estimate.interval)
            for estimate in (found, None if finer is None else change(unit_totals(finer, columns)))
        )
        return ScoreDifference(self.sign * difference, ends, on_units)


def _zeroed(ends: Ends) -> Ends:
    low, high = (end if decimals(end) else 0.0 for end in ends)
    return low, high


def _exact(points: Whole, counts: Whole, kept: Whole, scale: int) -> Fraction:
    """The mean score of items that weigh `kept` answers each, of the points of `counts` answers."""
    total = Fraction(0)
    for weight, count in np.unique(np.stack([kept, counts], axis=1)[kept > 0], axis=0).tolist():
        total += Fraction(int(points[(kept == weight) & (counts == count)].sum()) * weight, count * scale)
    return total / int(kept.sum())


def shared_cells(
    spec: Spec,
    items: Items,
    cells: Sequence[CellScore],
    stored: Mapping[str, CellOutcomes],
    direction: Direction,
) -> SharedCells:
    """Read the cells of one benchmark. Under a target none are compared: how much nearer a score comes has
    neither a test nor an interval here, and answers needed until one more is better do not exist."""
    if direction.target is not None:
        cells = ()
    unit = resampling_of(spec, items).unit
    shared = [cell for cell in cells if cell.cell.shared]
    names = tuple(sorted({name for cell_score in shared for name in stored[cell_score.cell.key].items}))
    units, questions = (
        unit_number_of_items(names, {item.id: item.at(level) for item in items.sampled})
        for level in (unit, "question")
    )
    sums = {
        (score.cell.model, score.cell.configuration): _Sums(
            score, _by_item(score, stored[score.cell.key], names)
        )
        for score in shared
        if score.complete
    }
    references: dict[str, str] = {}
    for score in shared:
        if anchored(spec, score.cell):
            references.setdefault(score.cell.model, score.cell.configuration)
    finer = None if unit in ("item", "question") else questions
    return SharedCells(sums, references, units, finer, direction.sign)


def changes(shared: SharedCells) -> tuple[ScoreChange, ...]:
    """Every configuration of every model against its reference, as far as both are measured and ask items in
    common."""
    rows = []
    for (model, configuration), here in shared.sums.items():
        reference = shared.sums.get((model, shared.references.get(model, "")))
        if reference is None or reference is here:
            continue
        read = here.score.cell.setting.reads_text and reference.score.cell.setting.reads_text
        together = shared.in_common((reference, here))
        if together is None:
            continue
        some, (reference, here), common = together
        rows.append(
            ScoreChange(
                model,
                configuration,
                reference.score.cell.configuration,
                _differs(reference.score, here.score),
                some.between(reference, here),
                some.readable(reference, here) if read else None,
                digest([reference.score.rows, here.score.rows]),
                _samples(reference) + _samples(here),
                common,
            )
        )
    return tuple(rows)


def reread(axes: Sequence[Axis], shared: SharedCells) -> tuple[RescoredChange, ...]:
    """Every change of one level from the reference, under each pair of levels that score the very same
    answers."""
    rows = []
    for axis in axes:
        for left, right in combinations([level.id for level in axis.level], 2):
            for model, reference in shared.references.items():
                rows += _reread(shared, axis.id, left, right, model, reference)
    return tuple(rows)


def _reread(
    shared: SharedCells, axis: str, left: str, right: str, model: str, reference: str
) -> list[RescoredChange]:
    by_levels = {
        tuple(sums.score.cell.levels.items()): sums
        for (name, _), sums in shared.sums.items()
        if name == model
    }
    first = shared.sums.get((model, reference))
    if first is None:
        return []
    start = dict(first.score.cell.levels)
    rows = []
    for levels in by_levels:
        moved_to = {name: level for name, level in levels if name != axis and start[name] != level}
        if len(moved_to) != 1 or dict(levels)[axis] != left:
            continue
        corners = [
            by_levels.get(tuple((start | change | {axis: rule}).items()))
            for rule in (left, right)
            for change in ({}, moved_to)
        ]
        before_left, after_left, before_right, after_right = corners
        if before_left is None or after_left is None or before_right is None or after_right is None:
            continue
        if not (_same_answers(before_left, before_right) and _same_answers(after_left, after_right)):
            continue
        used = (before_left, after_left, before_right, after_right)
        together = shared.in_common(used)
        if together is None:
            continue
        some, (before_left, after_left, before_right, after_right), _ = together
        by_left, by_right = some.between(before_left, after_left), some.between(before_right, after_right)
        rows.append(
            RescoredChange(
                model, axis, left, right, moved_to, by_left, by_right,
                digest([sums.score.rows for sums in used]),
                sum(map(_samples, (before_left, after_left, before_right, after_right))),
            )
        )  # fmt: skip
    return rows


def _samples(held: _Sums) -> int:
    """How many samples of a complete cell are compared."""
    return int(held.by_item[1].sum()) // held.score.scale


def _same_answers(one: _Sums, other: _Sums) -> bool:
    return one.score.cell.setting.asked == other.score.cell.setting.asked


def _by_item(score: CellScore, outcomes: CellOutcomes, names: Sequence[str]) -> Whole:
    """What each item of a cell earned and the most that it could, of all answers; then what its readable
    answers earned and how many they are, (4, items)."""
    unread = outcomes.scored - outcomes.parsed
    columns = (
        outcomes.correct,
        outcomes.trials * score.scale,
        outcomes.correct - unread * score.credit,
        outcomes.parsed,
    )
    by_item = np.zeros((4, len(names)), dtype=np.int64)
    by_item[:, np.searchsorted(names, outcomes.items)] = np.stack(columns)
    return by_item


def _differs(reference: CellScore, here: CellScore) -> dict[str, str]:
    start = reference.cell.levels
    return {axis: level for axis, level in here.cell.levels.items() if start[axis] != level}


CONFIGURATION, BENCHMARK = "configuration", "benchmark"


def sensitivities(
    cells: Sequence[CellScore], directions: Mapping[str, Direction]
) -> dict[str, SensitivityRow]:
    """The profile of each model's complete shared cells, in the order of its cells. Where lower is better a
    rate counts from the other end, so that rates of all benchmarks that have a good end point the same
    way."""
    by_model: dict[str, list[tuple[CellScore, Fraction]]] = {}
    for score in cells:
        if score.cell.shared and score.score is not None:
            rate = 1 - score.score if directions[score.cell.benchmark].lower else score.score
            by_model.setdefault(score.cell.model, []).append((score, rate))
    profiles = {}
    for model, rated in by_model.items():
        rates: dict[str, list[Fraction]] = {}
        for score, rate in rated:
            rates.setdefault(score.cell.benchmark, []).append(rate)
        ranges = {name: max(shares) - min(shares) for name, shares in rates.items()}
        widest = max(ranges, key=lambda name: ranges[name])
        trials = sum(cell_score.trials for cell_score, _ in rated)
        ended = all(directions[name].target is None for name in rates)
        earned = sum(cell_score.trials * rate for cell_score, rate in rated)
        profiles[model] = SensitivityRow(
            cells=len(rated),
            share=_share(rated),
            mean_range=fmean(map(float, ranges.values())),
            max_range=float(ranges[widest]),
            widest=widest,
            rate=float(earned / trials) if ended else None,
            rows=digest([cell_score.rows for cell_score, _ in rated]),
        )
    return profiles


def _share(rated: Sequence[tuple[CellScore, Fraction]]) -> float | None:
    """eta squared of the configuration, after the benchmark and with their interaction; None where an answer
    can earn a part of a point, a benchmark lacks configurations of another, or nothing varies."""
    if any(score.scale != 1 for score, _ in rated):
        return None
    factors = {
        CONFIGURATION: [score.cell.configuration for score, _ in rated],
        BENCHMARK: [score.cell.benchmark for score, _ in rated],
    }
    crossed = {name: levels for name, levels in factors.items() if len(set(levels)) > 1}
    if CONFIGURATION not in crossed:
        return None
    terms: list[tuple[str, ...]] = [(name,) for name in crossed]
    terms += [(CONFIGURATION, BENCHMARK)] if len(crossed) > 1 else []
    decomposition = decompose(
        [float(rate) for _, rate in rated], crossed, "II", terms, [score.trials for score, _ in rated]
    )
    if decomposition is None:
        return None
    return next(term.eta2 for term in decomposition.terms if term.term == (CONFIGURATION,))
