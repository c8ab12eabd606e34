"""Rows that are compared: levels of an axis, asked of the same model and item with all else the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan

import numpy as np

from gridc.reports.findings.hypotheses.effects import AtMargin, Change, Flips
from gridc.reports.findings.hypotheses.finding import Measured
from gridc.reports.findings.intervals import Ends, resampling_of
from gridc.reports.findings.observations import Flags, Floats, Observations, Reading, Whole
from gridc.schema.inference import ContrastHypothesis, InteractionHypothesis, Margin, TrendHypothesis
from gridc.schema.selector import EVERYWHERE
from gridc.statistics.exact_tests import mcnemar_two_sided
from gridc.statistics.resample import LEVEL
from gridc.statistics.risk import (
    ArmSums,
    arm_sums,
    equivalence,
    noninferiority,
    outside,
    percentile_interval,
    resampled_rates,
    unchanged_p,
)

STILL = 1e-12
"""Differences of rates below this are errors of rounding."""

AboutAnEffect = ContrastHypothesis | InteractionHypothesis | TrendHypothesis


@dataclass(frozen=True)
class Comparison:
    """Rows of `levels` of an axis, the reference first, in blocks: a model, an item and all other levels.
    Every block has rows of the levels that must be there; `left_out` samples stood in other blocks."""

    rows: Observations
    axis: str
    levels: tuple[str, ...]
    left_out: int
    reading: Reading
    resamples: int
    seed: int

    def read(self, reading: Reading) -> "Comparison":
        return Comparison(
            self.rows, self.axis, self.levels, self.left_out, reading, self.resamples, self.seed
        )

    def part(self, rows: Flags) -> "Comparison":
        """The same of some of the rows: whole blocks."""
        return Comparison(
            self.rows.where(rows), self.axis, self.levels, 0, self.reading, self.resamples, self.seed
        )

    @cached_property
    def arms(self) -> Whole:
        """The place of each row's level."""
        return self.rows.codes(self.axis, self.levels)

    @cached_property
    def sums(self) -> ArmSums:
        """Rows and outcomes by kind of resampled unit and level."""
        counts, earned = self.rows.reading(self.reading)
        return arm_sums(self.rows.drawn[self.rows.item], self.arms, earned, len(self.levels), counts)

    @cached_property
    def drawn_rates(self) -> Floats:
        """The rate of each level in each resample of units, (resamples, levels)."""
        return resampled_rates(self.sums, self.resamples, self.seed)

    @property
    def units(self) -> int:
        return int(self.sums.cases.sum())

    def samples(self, level: str) -> int:
        at = self.levels.index(level)
        return int((self.sums.cases @ self.sums.rows)[at])

    def rate(self, level: str) -> float | None:
        """The rate under a level; None where no sample counts."""
        rate = float(self.sums.rates[self.levels.index(level)])
        return None if isnan(rate) else rate

    def differences(self, level: str, reference: str) -> Floats:
        """The difference of two rates in every resample."""
        at, against = self.levels.index(level), self.levels.index(reference)
        return self.drawn_rates[:, at] - self.drawn_rates[:, against]

    def interval(self, values: Floats) -> Ends | None:
        found = percentile_interval(values, self.units, LEVEL)
        return None if found is None else (found.low, found.high)

    def change(
        self, level: str, reference: str, margin: Margin | None, alpha: float, part: str | None = None
    ) -> Change:
        """Two levels, with the tests at the stated margin and at those of sensitivity."""
        sizes = () if margin is None else tuple(dict.fromkeys((margin.pp, *margin.sensitivity_pp)))
        differences = self.differences(level, reference)
        margins = []
        for pp in sizes:
            p = self.within(level, reference, pp / 100)
            margins.append(AtMargin(pp, p, p <= alpha))
        rate, against = self.rate(level), self.rate(reference)
        return Change(
            part,
            level,
            reference,
            self.samples(level),
            self.units,
            rate,
            against,
            None if rate is None or against is None else rate - against,
            self.interval(differences),
            tuple(margins),
            self._still(level, reference),
            self._no_interval(differences),
        )

    def _no_interval(self, differences: Floats) -> str:
        """Why resamples make no interval, as `percentile_interval` decides it; empty where they do."""
        if self.interval(differences) is not None:
            return ""
        if self.units < 2:
            return "one unit"
        if np.isnan(differences).any():
            return "some resamples of units hold no answer that counts"
        spread = differences.min() < differences.max()
        return "too few resamples for so few units" if spread else "no spread between units"

    def within(self, level: str, reference: str, margin: float) -> float:
        """p of: the difference lies inside the margin (two one-sided tests)."""
        if (still := self._unchanged(level, reference, margin)) is not None:
            return still
        return equivalence(self.differences(level, reference), self.units, margin, 0.05).p

    def above(self, level: str, reference: str, bound: float) -> float:
        """p of: the difference is above `bound`."""
        if bound < 0 and (still := self._unchanged(level, reference, -bound)) is not None:
            return still
        return noninferiority(self.differences(level, reference), self.units, -bound, 0.05).p

    def below(self, level: str, reference: str, bound: float) -> float:
        """p of: the difference is below `bound`."""
        return self.above(reference, level, -bound)

    def beyond(self, level: str, reference: str, margin: float) -> float:
        """p of: the difference is as large as the margin or larger, either way."""
        return outside(self.differences(level, reference), self.units, margin)

    def _unchanged(self, level: str, reference: str, margin: float) -> float | None:
        """p where no resample changes between the levels; None where one does."""
        if not self._still(level, reference):
            return None
        pair = [self.levels.index(level), self.levels.index(reference)]
        sizes = np.repeat(self.sums.rows[:, pair].max(axis=1), self.sums.cases)
        return unchanged_p(sizes[sizes > 0], margin)

    def _still(self, level: str, reference: str) -> bool:
        """Whether both rates are the same in every resample. Per protocol they can be where units have other
        numbers of readable answers, all of them right."""
        return bool((np.abs(self.differences(level, reference)) < STILL).all())

    def flips(self, level: str, reference: str) -> Flips | None:
        """How single answers moved; None where an item is asked several times or earns a part of a point."""
        counts, earned = self.rows.reading(self.reading)
        if (counts > 1).any() or self.rows.scale != 1:
            return None
        blocks = _blocks(self.rows, self.axis)
        sides = []
        for name in (reference, level):
            here = (self.arms == self.levels.index(name)) & (counts > 0)
            order = np.argsort(blocks[here])
            sides.append((blocks[here][order], earned[here][order], self.rows.unit[here][order]))
        (before, was, unit), (after, now, _) = sides
        both, first, second = np.intersect1d(before, after, return_indices=True)
        if not len(both):
            return None
        moved = now[second] - was[first]
        gained, lost = int((moved > 0).sum()), int((moved < 0).sum())
        alone = len(np.unique(unit[first])) == len(both)
        p = mcnemar_two_sided(gained, lost) if alone else None
        return Flips(gained, lost, len(both) - gained - lost, p)


def compare(
    measured: Measured,
    hypothesis: AboutAnEffect,
    levels: Sequence[str] | None,
    reading: Reading,
    only: bool = False,
) -> Comparison | None:
    """The rows that a hypothesis is about, in blocks that have every one of `levels` (None: of all that are
    run there); None where there is none. Rows of other levels of the axis stay, unless `only`: they help an
    estimator with the other covariates. Raises `NotMean`."""
    spec, samples, inside = measured.spec, measured.samples, measured.inside
    cells = [
        cell
        for cell in samples.about(hypothesis.where, spec.analysis.primary)
        if inside is None or cell.key in inside
    ]
    rows = samples.of(hypothesis.outcome, cells, hypothesis.items or EVERYWHERE)
    if not len(rows):
        return None
    here = set(rows.levels(hypothesis.axis))
    stated = [level.id for axis in spec.axis if axis.id == hypothesis.axis for level in axis.level]
    levels = [name for name in stated if name in here] if levels is None else levels
    others = [] if only else [name for name in stated if name in here and name not in levels]
    named = (*levels, *others)
    codes, blocks = rows.codes(hypothesis.axis, named), _blocks(rows, hypothesis.axis)
    count = int(blocks.max()) + 1
    whole = np.ones(count, dtype=np.bool_)
    for place in range(len(levels)):
        whole &= np.bincount(blocks[codes == place], minlength=count) > 0
    kept = whole[blocks] & (codes >= 0)
    if not kept.any():
        return None
    drawn = resampling_of(spec, samples.plan.study.items[rows.cells[0].benchmark])
    left_out = int(rows.counted[(codes >= 0) & (codes < len(levels)) & ~kept].sum())
    return Comparison(
        rows.where(kept), hypothesis.axis, named, left_out, reading, drawn.resamples, drawn.seed
    )


def _blocks(rows: Observations, axis: str) -> Whole:
    """The number of each row's block: its model, its item, and the levels of all other axes."""
    groups: dict[tuple[str, ...], int] = {}
    of_cell = [
        groups.setdefault(
            (cell.model, *(level for name, level in cell.levels.items() if name != axis)), len(groups)
        )
        for cell in rows.cells
    ]
    key = np.array(of_cell, dtype=np.int64)[rows.cell] * len(rows.items) + rows.item
    _, block = np.unique(key, return_inverse=True)
    return np.asarray(block, np.int64)
