"""Gathers the rows that a hypothesis compares: levels of an axis, or models, asked the same items with all
else the same."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan

import numpy as np

from gridc.compiler.hypotheses.kind import comparable_levels
from gridc.compiler.hypotheses.tested import AboutAnEffect as AboutAnEffect
from gridc.numbers import in_points
from gridc.reports.findings.hypotheses.finding import MeasuredStudy
from gridc.reports.findings.observations import Observations, Reading
from gridc.reports.findings.scores import resampling_of
from gridc.schema.base import EVERYWHERE
from gridc.schema.hypotheses import FailureRow, FlipsRow, MarginRow, PairsRow, RateChangeRow
from gridc.schema.inference import MODELS, Margin, rate_kind
from gridc.statistics import margins, risk
from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.bounded_means import Agreement, against_zero, contrast_weights
from gridc.statistics.case_totals import CaseTable, case_table, paired_totals
from gridc.statistics.envelope import LEVEL
from gridc.statistics.exact_tests import mcnemar_two_sided
from gridc.statistics.reproducibility import DECIMALS, digits, every_digits
from gridc.statistics.risk import ArmSums, FittedOdds, arm_sums, percentile_interval, resampled_rates
from gridc.statistics.unit_intervals import Ends


@dataclass(frozen=True)
class Comparison:
    """Rows of `levels` of an axis, or of models, the reference first, in blocks: an item, all else the same.
    Every block has rows of the first `together` levels; `left_out` samples stood in other blocks. By either
    reading a block counts under all of those or under none (`counted`); the levels behind them tell an
    estimator about the other covariates. On the benchmarks `copied` the spec takes copies of one question as
    independent, so that nothing is decided."""

    rows: Observations
    axis: str
    levels: tuple[str, ...]
    together: int
    left_out: int
    reading: Reading
    resamples: int
    seed: int
    copied: tuple[str, ...] = ()

    def read(self, reading: Reading) -> "Comparison":
        return replace(self, reading=reading)

    def part(self, rows: Flags) -> "Comparison":
        """The same of some of the rows: whole blocks."""
        return replace(self, rows=self.rows.where(rows), left_out=0)

    @cached_property
    def arms(self) -> Whole:
        """The place of each row's level."""
        return self.rows.codes(self.axis, self.levels)

    @cached_property
    def blocks(self) -> Whole:
        """The number of each row's block."""
        return _blocks(self.rows, self.axis)

    @cached_property
    def counted(self) -> tuple[Whole, Floats]:
        """How many samples of each row count, and what they earned, (N,) both: of the first `together` levels
        in blocks that have some under each of them, weighing the same there."""
        counts, earned = self.rows.reading(self.reading)
        counts, earned = counts.copy(), earned.copy()
        own = self.arms < self.together
        place = self.blocks[own], self.arms[own]
        shape = int(self.blocks.max()) + 1, self.together
        of_block, earned_there = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        of_block[place], earned_there[place] = counts[own], earned[own]
        kept, points = paired_totals(of_block, earned_there)
        counts[own], earned[own] = kept[place], points[place]
        return counts, earned

    def table(self) -> CaseTable:
        """What counts, by unit and cell."""
        counts, earned = self.counted
        return case_table(self.rows.unit, self.rows.cell, earned, len(self.rows.cells), counts)

    @cached_property
    def sums(self) -> ArmSums:
        """Rows and outcomes by kind of resampled unit and level."""
        counts, earned = self.counted
        some = counts > 0
        drawn = self.rows.drawn[self.rows.item[some]]
        return arm_sums(drawn, self.arms[some], earned[some], len(self.levels), counts[some])

    def at_margin(self, margin: Margin | None) -> CaseTable:
        """Rows and outcomes by kind of independent unit and level: what tests at a margin read."""
        return self.by_item if margin is not None and margin.about == "these_units" else self.by_unit

    @cached_property
    def by_unit(self) -> CaseTable:
        counts, earned = self.counted
        return case_table(self.rows.unit, self.arms, earned, len(self.levels), counts)

    @cached_property
    def by_item(self) -> CaseTable:
        counts, earned = self.counted
        return case_table(self.rows.asked[self.rows.item], self.arms, earned, len(self.levels), counts)

    def changed_too_much(self, level: str, reference: str, margin: Margin) -> str:
        """Which unit changed by more than the largest change that is stated; empty where none did."""
        if margin.largest_change is None:
            return ""
        counts, earned = self.counted
        of = self.rows.asked if margin.about == "these_units" else self.rows.units
        units = of[self.rows.item]
        rates = []
        for name in (level, reference):
            here = self.arms == self.levels.index(name)
            held, sums = (
                np.bincount(units[here], values[here], int(units.max()) + 1) for values in (counts, earned)
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                rates.append(sums / held)
        moved = np.nan_to_num(rates[0] - rates[1])
        worst = int(np.abs(moved).argmax())
        if round(abs(float(moved[worst])), DECIMALS) <= margin.largest:
            return ""
        benchmark, item = self.rows.items[int(self.rows.item[units == worst][0])]
        what = "item" if margin.about == "these_units" else "the unit of item"
        return (
            f"{what} {item} of {benchmark} changed by {in_points(moved[worst])} pp under {level}, and "
            f"`largest_change` is {margin.largest_change:g}"
        )

    @cached_property
    def drawn_rates(self) -> Floats:
        """The rate of each level in each resample of units, (resamples, levels)."""
        if not self.units:
            return np.full((self.resamples, len(self.levels)), np.nan)
        return resampled_rates(self.sums, self.resamples, self.seed)

    @property
    def unanswered(self) -> FailureRow | None:
        """Why no rate is defined, where none is."""
        if self.rate(self.levels[0]) is not None:
            return None
        named = ", ".join(f"`{level}`" for level in self.levels[: self.together])
        return FailureRow(code="rows", words=f"no item has an answer that counts under each of {named}")

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
        percentiles = percentile_interval(values, self.units, LEVEL)
        return None if percentiles is None else (percentiles.low, percentiles.high)

    def change(
        self,
        level: str,
        reference: str,
        margin: Margin | None,
        alpha: float,
        part: str | None = None,
        tested: FittedOdds | None = None,
    ) -> RateChangeRow:
        """Two levels, with the tests at the stated margin and at those of sensitivity. The interval agrees
        with what is `tested` of all rows."""
        sizes = () if margin is None else tuple(dict.fromkeys((margin.pp, *margin.sensitivity_pp)))
        units, places = self.at_margin(margin), self._places(level, reference)
        largest = 1.0 if margin is None else margin.largest
        interval = risk.rate_difference(self.by_unit, *places, tested)
        at_margins = []
        for pp in sizes:
            p = digits(margins.within(units, *places, pp / 100, largest))
            at_margins.append(MarginRow(pp=pp, p=p, holds=p <= alpha))
        rate, against = self.rate(level), self.rate(reference)
        return RateChangeRow(
            part=part,
            level=level,
            reference=reference,
            samples=self.samples(level),
            units=self.units,
            rate=rate,
            reference_rate=against,
            difference=None if rate is None or against is None else rate - against,
            interval=interval and every_digits(interval),
            margins=tuple(at_margins),
            limits=margins.difference_limits(units, *places, alpha, largest) if sizes else None,
            no_interval="" if interval is not None else "no answer that counts under both",
            pairs=self._pairs(level, reference),
            method=margins.method(units, *places) if sizes else "",
            untested="" if margin is None else self.changed_too_much(level, reference, margin),
            unchanged=None if margin is None else margins.unchanged(units, *places, margin.pp / 100, largest),
        )

    def _pairs(self, level: str, reference: str) -> PairsRow | None:
        """What a per-protocol difference is of; None where every answer counts."""
        if self.reading == "itt":
            return None
        counts, _ = self.counted
        rows = self.rows
        asked, compared, given, read = (
            np.bincount(self.arms, values, len(self.levels))
            for values in (np.ones_like(counts), counts.astype(bool), rows.counted, rows.read_counted)
        )
        at, against = self._places(level, reference)
        return PairsRow(
            compared=int(compared[at]),
            asked=int(asked[at]),
            readable=float(read[at] / given[at]),
            reference_readable=float(read[against] / given[against]),
        )

    def ratio(self, level: str, reference: str, tested: FittedOdds | None) -> Ends | None:
        """The interval of the ratio of two rates."""
        return risk.rate_ratio(self.by_unit, *self._places(level, reference), tested)

    def odds_ends(self, level: str, reference: str, log_odds: float, tested: FittedOdds) -> Ends:
        """The ends of the log odds that a test came to."""
        return risk.odds_ends(self.by_unit, *self._places(level, reference), log_odds, tested)

    def samples_of_cells(self, level: str) -> Floats:
        """How many samples of each cell count under a level, (P,)."""
        own, (counts, _) = self.arms == self.levels.index(level), self.counted
        return np.bincount(self.rows.cell[own], counts[own], len(self.rows.cells)).astype(np.float64)

    def unseen(self, level: str, reference: str) -> Agreement:
        """What has to agree with a rise and with a fall of the rate."""
        return against_zero(self.by_unit, contrast_weights(len(self.levels), *self._places(level, reference)))

    def joined(self, level: str, reference: str, tested: FittedOdds) -> FittedOdds:
        """What is tested, with ends that its check allows."""
        return risk.joined_odds(self.by_unit, *self._places(level, reference), tested)

    def _places(self, level: str, reference: str) -> tuple[int, int]:
        return self.levels.index(level), self.levels.index(reference)

    def flips(self, level: str, reference: str) -> FlipsRow | None:
        """How single answers moved; None where an item is asked several times or earns a part of a point."""
        counts, earned = self.counted
        if (counts > 1).any() or self.rows.scale != 1:
            return None
        sides = []
        for name in (reference, level):
            here = (self.arms == self.levels.index(name)) & (counts > 0)
            order = np.argsort(self.blocks[here])
            sides.append((self.blocks[here][order], earned[here][order], self.rows.unit[here][order]))
        (before, was, unit), (after, now, _) = sides
        both, first, second = np.intersect1d(before, after, return_indices=True)
        if not len(both):
            return None
        moved = now[second] - was[first]
        gained, lost = int((moved > 0).sum()), int((moved < 0).sum())
        alone = len(np.unique(unit[first])) == len(both)
        p = mcnemar_two_sided(gained, lost) if alone else None
        return FlipsRow(
            gained=gained,
            lost=lost,
            same=len(both) - gained - lost,
            churn=(gained + lost) / len(both),
            p=p,
        )


def comparison_rows(
    measured: MeasuredStudy,
    hypothesis: AboutAnEffect,
    levels: Sequence[str] | None,
    reading: Reading,
    only: bool = False,
) -> Comparison | None:
    """The rows that a hypothesis is about, in blocks that have every one of `levels` (None: of all that are
    run there); None where there is none. Cells without a readable answer are not compared. Rows of other
    levels of the axis stay, unless `only`: they help an estimator with the other covariates. Raises
    `NotMean`."""
    spec, samples, inside = measured.spec, measured.samples, measured.inside
    # Whether answers can be read at all is what one outcome is about; of the others they say nothing.
    read = rate_kind(hypothesis.outcome).of_reading
    unread = {score.cell.key for score in measured.scores if score.nothing_read and not read}
    cells = [
        cell
        for cell in samples.about(hypothesis.where, spec.analysis.primary)
        if (inside is None or cell.key in inside) and cell.key not in unread
    ]
    rows = samples.of(hypothesis.outcome, cells, hypothesis.items or EVERYWHERE)
    if not len(rows):
        return None
    here = set(rows.levels(hypothesis.axis))
    stated = comparable_levels(spec)[hypothesis.axis]
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
    held = samples.plan.study.items
    copied = dict.fromkeys(
        cell.benchmark for cell in rows.cells if "question" in held[cell.benchmark].coarser
    )
    return Comparison(
        rows.where(kept), hypothesis.axis, named, len(levels), left_out, reading, drawn.resamples,
        drawn.seed, tuple(copied),
    )  # fmt: skip


def _blocks(rows: Observations, axis: str) -> Whole:
    """The number of each row's block: its item, its model and the levels of all axes, but for what is
    compared."""
    groups: dict[tuple[str, ...], int] = {}
    of_cell = [
        groups.setdefault(
            tuple(level for name, level in {MODELS: cell.model, **cell.levels}.items() if name != axis),
            len(groups),
        )
        for cell in rows.cells
    ]
    key = np.array(of_cell, dtype=np.int64)[rows.cell] * len(rows.items) + rows.item
    _, block = np.unique(key, return_inverse=True)
    return np.asarray(block, np.int64)
