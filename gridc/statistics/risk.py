"""Differences and ratios of the rates of two arms on the same cases, with limits that agree with the test;
numbers needed, and recovery.

Intervals of a difference or a ratio of rates are, without a model, those of two shares (`strata`): Gaffke's
limits of a change where units have as many rows under both, else limits of both rates, combined.

A clustered logit tests the difference, so the interval has its errors and its t: the log odds of the level go
to the ends of their own interval, and the change of the fitted rates is averaged over rows (standardisation,
or g-computation). Averaged over the reference's rows alone the rate of the reference would be known, and over
the level's rows that of the level: the mean of both is taken (at the estimate either is the difference of the
rates, as every block has both arms). The rates as such count as known still, so it is joined with the limits
of both rates, the wider at each end. Only 0 is left to the test: the interval holds it exactly where its p is
above .05. Where limits of the rates would pass 0 against it, the end is that of the test, drawn towards 0 as
far as the rate of what is rarer could be lower.

The bootstrap draws cases with replacement, each with all its rows, so that whatever ties the rows of a case
together (its models, its arms) is kept (scaffold study, Q.3). Cases with equal sums by arm are one kind of
case: a resample is a multinomial draw of kinds, which has the law of drawing the cases themselves one by one,
and the faster of the two is done.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, floor, inf, isfinite, log2, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridc.statistics import margins
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.bounded_means import against_zero, contrast_weights
from gridc.statistics.case_totals import CaseTable, distinct_rows, numbered
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import decimals, digits
from gridc.statistics.strata import gap, of_parts, part, share_ratio
from gridc.statistics.unit_intervals import Ends, share

FAR = 60.0
"""Log odds beyond which every rate is 0 or 1."""


@dataclass(frozen=True, slots=True)
class FittedOdds:
    """Of a fitted logit: the linear predictor of cells, how many rows of the reference and of the level each
    has, (P,) all, and the ends of the interval of the level's log odds."""

    predictor: Floats
    reference: Floats
    level: Floats
    ends: Ends

    def rates(self, log_odds: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """The rates of the reference and of the level with these log odds: over the reference's rows, and
        over the level's."""
        from scipy.special import expit

        of_reference, of_level = self.reference / self.reference.sum(), self.level / self.level.sum()
        fitted, moved, back = (expit(self.predictor + by) for by in (0.0, log_odds, -log_odds))
        return (
            (float(of_reference @ fitted), float(of_reference @ moved)),
            (float(of_level @ back), float(of_level @ fitted)),
        )

    def change(self, log_odds: float) -> float:
        """The difference of the rates with these log odds, the mean of both."""
        return float(np.mean([after - before for before, after in self.rates(log_odds)]))

    def log_odds_of(self, change: float) -> float:
        """The log odds with such a difference; infinite where none is so large."""
        from scipy.optimize import brentq

        if not self.change(-FAR) < change < self.change(FAR):
            return -np.inf if change < 0 else np.inf
        return float(brentq(lambda odds: self.change(odds) - change, -FAR, FAR, xtol=1e-12))


def joined_odds(units: CaseTable, level: int, reference: int, tested: FittedOdds) -> FittedOdds:
    """The same, of whose interval an end that no unit goes against is no nearer to 0 than Gaffke's limit of
    the difference (`unseen`)."""
    rise, fall = against_zero(units, contrast_weights(units.rows.shape[1], level, reference))
    if rise is None and fall is None:
        return tested
    limits = margins.mean_limits(units, level, reference, (1 - LEVEL) / 2)
    if limits is None:
        return tested
    low, high = tested.ends
    if rise is not None:
        low = min(low, tested.log_odds_of(limits[0]))
    if fall is not None:
        high = max(high, tested.log_odds_of(limits[1]))
    return replace(tested, ends=(low, high))


def rate_difference(
    units: CaseTable, level: int, reference: int, tested: FittedOdds | None = None
) -> Ends | None:
    """The limits of the rate of arm `level` less that of arm `reference`, the patterns of `units` being the
    arms; with a test, as it says. None where an arm has no row."""
    totals = _totals(units, level, reference)
    if not totals[:, 0].sum() or not totals[:, 2].sum():
        return None
    found = gap(totals).interval
    if tested is None or found is None:
        return found
    low, high = map(tested.change, tested.ends)
    return _joined(found, (low, high), _drawn(totals))


def rate_ratio(units: CaseTable, level: int, reference: int, tested: FittedOdds | None = None) -> Ends | None:
    """The same of the rate of arm `level` over that of arm `reference`. None where one of them is 0."""
    totals = _totals(units, level, reference)
    found = share_ratio(totals[:, [2, 3, 0, 1]]).interval
    if tested is None or found is None:
        return found
    low, high = (
        float(np.mean([np.log(after / before) for before, after in tested.rates(end)])) for end in tested.ends
    )
    ends = _joined((float(np.log(found[0])), float(np.log(found[1]))), (low, high), _drawn(totals))
    return float(np.exp(ends[0])), float(np.exp(ends[1]))


def odds_ends(units: CaseTable, level: int, reference: int, log_odds: float, tested: FittedOdds) -> Ends:
    """The ends of the tested log odds of arm `level` against arm `reference`, at least as far away as the
    limits of both rates allow, and on the side of 0 that the test says."""
    totals = _totals(units, level, reference)
    rows, points, others, theirs = totals.T
    if any(y.sum() in (0.0, n.sum()) for n, y in ((rows, points), (others, theirs))):
        return tested.ends
    sides = part(others, theirs), part(rows, points)
    (found,) = of_parts(lambda shares: np.log(shares / (1 - shares)) @ np.array([1.0, -1.0]), sides)
    if found.value is None or found.interval is None:
        return tested.ends
    low, high = (end - found.value + log_odds for end in found.interval)
    return _joined((low, high), tested.ends, _drawn(totals))


def _totals(units: CaseTable, level: int, reference: int) -> Floats:
    """Of each unit rows and points of the reference and of the level, (G, 4)."""
    columns = [each[:, arm] for arm in (reference, level) for each in (units.rows, units.sums)]
    totals: Floats = np.repeat(np.column_stack(columns).astype(np.float64), units.cases, axis=0)
    return totals


def _drawn(totals: Floats) -> float:
    """The lower limit of the rate of what is rarer in both arms together, over that rate."""
    rows, points = totals[:, 0] + totals[:, 2], totals[:, 1] + totals[:, 3]
    if 2 * points.sum() > rows.sum():
        points = rows - points
    found = share(np.column_stack([rows, points]))
    return found.interval[0] / found.value if found.interval and found.value else 1.0


def _joined(limits: Ends, tested: Ends, drawn: float) -> Ends:
    """The wider at each end; on the side of 0 as `tested` says."""
    low, high = min(limits[0], tested[0]), max(limits[1], tested[1])
    if tested[0] > 0 >= low:
        low = drawn * tested[0]
    if tested[1] < 0 <= high:
        high = drawn * tested[1]
    return low, high


Rounding = Literal["ceil", "round"]
"""Of a number needed to a whole one: up, or to the nearest."""
RESAMPLES = 1999
"""One below a round number: the tail of .05 is then exactly 100 of 2,000 places."""
CHUNK = 4_000_000
"""Draws of kinds of cases that are held at a time, bounding memory."""
CACHED = 100_000
"""Draws of single cases that are held at a time: what stays in a processor's cache."""
DEAR = 12
"""How many single cases are drawn in the time that one kind takes: a binomial draw and a sum."""


@dataclass(frozen=True, slots=True, eq=False)
class ArmSums:
    """Kinds of cases: rows and sums of outcomes by arm, (F, A), and of how many cases each kind is, (F,)."""

    rows: Whole
    sums: Floats
    cases: Whole

    @property
    def rates(self) -> Floats:
        """The rate of each arm over all rows, shape (A,). Not a number where an arm has no row."""
        return _rates(self.cases @ self.sums, self.cases @ self.rows)


@dataclass(frozen=True, slots=True)
class Interval:
    """Ends of an interval; either may be infinite."""

    low: float
    high: float

    @property
    def holds_zero(self) -> bool:
        return decimals(self.low) <= 0 <= decimals(self.high)


def arm_sums(
    cases: ArrayLike, arms: ArrayLike, outcomes: ArrayLike, count: int, counts: ArrayLike = 1
) -> ArmSums:
    """Collapse rows: `cases` and `arms` are whole numbers from 0, `outcomes` lie in [0, 1], shape (N,). An
    entry may stand for several rows: `counts` of them, whose outcomes add up to what `outcomes` says."""
    case, arm = np.asarray(cases, np.int64), np.asarray(arms, np.int64)
    named = numbered(case)
    size, places = int(named.max(initial=-1)) + 1, named * count + arm
    held = np.broadcast_to(np.asarray(counts, np.float64), places.shape)
    rows = np.bincount(places, held, minlength=size * count).reshape(size, count)
    sums = np.bincount(places, np.asarray(outcomes, np.float64), size * count)
    sums = np.round(sums, 12)  # so that what is equal is one kind, in whatever order it was added up
    kinds, of_case = distinct_rows(np.hstack([rows, sums.reshape(size, count)]))
    order = np.lexsort(kinds.T[::-1])
    kinds = kinds[order]
    return ArmSums(
        kinds[:, :count].astype(np.int64),
        kinds[:, count:],
        np.bincount(of_case, minlength=len(kinds))[order],
    )


def resampled_rates(sums: ArmSums, resamples: int, seed: int) -> Floats:
    """The rate of each arm in each resample of cases, shape (resamples, A)."""
    generator = np.random.default_rng(seed)
    draw = _kinds if int(sums.cases.sum()) > DEAR * len(sums.cases) else _single_cases
    earned, trials = np.split(draw(sums, resamples, generator), 2, axis=1)
    return _rates(earned, trials)


def _columns(sums: ArmSums) -> Floats:
    """What is added up of each kind: outcomes and rows by arm, (F, 2 A)."""
    columns: Floats = np.hstack([sums.sums, sums.rows])
    return columns


def _kinds(sums: ArmSums, resamples: int, generator: np.random.Generator) -> Floats:
    """The totals of `_columns` in each resample, by how often each kind of case is drawn."""
    total, columns = int(sums.cases.sum()), _columns(sums)
    share, at_once = sums.cases / total, max(1, CHUNK // len(sums.cases))
    sizes = (min(at_once, resamples - start) for start in range(0, resamples, at_once))
    return np.concatenate([generator.multinomial(total, share, size=size) @ columns for size in sizes])


def _single_cases(sums: ArmSums, resamples: int, generator: np.random.Generator) -> Floats:
    """The same by drawing one case after the other."""
    columns = np.repeat(_columns(sums).T, sums.cases, axis=1)
    cases = columns.shape[1]
    sums_drawn = np.tile(cases * columns[:, 0], (resamples, 1))
    differing = np.flatnonzero((columns != columns[:, :1]).any(axis=1))
    together = list(_in_one_number(columns[differing]))
    at_once = max(1, CACHED // cases)
    for start in range(0, resamples, at_once):
        some = slice(start, min(start + at_once, resamples))
        drawn = generator.integers(0, cases, size=(some.stop - start, cases))
        for places, numbers, base in together:
            total = numbers.take(drawn).sum(axis=1)
            for place in places[:0:-1]:
                total, sums_drawn[some, differing[place]] = np.divmod(total, base)
            sums_drawn[some, differing[places[0]]] = total
    return sums_drawn


def _in_one_number(columns: Floats) -> Iterator[tuple[list[int], Floats | Whole, int]]:
    """Columns of whole numbers from 0 as the digits of one number, so that one sum adds up all of them: which
    columns, the number of each case, and the base, above every sum. Other columns stay alone."""
    whole = bool(((columns == np.rint(columns)) & (columns >= 0)).all())
    base = int(columns.max(initial=0)) * columns.shape[1] + 1
    most = max(1, int(62 // log2(base))) if whole and base > 1 else 1
    for first in range(0, len(columns), most):
        places = list(range(first, min(first + most, len(columns))))
        number: Floats | Whole = columns[first].astype(np.int64) if len(places) > 1 else columns[first]
        for place in places[1:]:
            number = number * base + columns[place].astype(np.int64)
        yield places, number, base


@cache
def tail_of(cases: int, level: float) -> float:
    """The share of resamples that an interval leaves out on each side. Percentiles of few cases are too near
    to each other, so they are moved apart to the width that Student's t asks for (Hesterberg 2015, "What
    teachers should know about the bootstrap", sec. 5.3)."""
    from scipy.special import ndtr, stdtrit

    return float(ndtr(-sqrt(cases / (cases - 1)) * stdtrit(cases - 1, (1 + level) / 2)))


def percentile_interval(values: Floats, cases: int, level: float) -> Interval | None:
    """The central interval of resampled values, (B,), with the tails of `tail_of`. Its ends are the k-th from
    each side, k = floor(tail (B + 1)). None with fewer than two cases, with a value that is not a number,
    without any spread, or where the tail is smaller than one resample."""
    if cases < 2 or np.isnan(values).any() or not decimals(float(values.max() - values.min())):
        return None
    ordered = np.sort(values)
    skipped = floor(tail_of(cases, level) * (len(values) + 1) + 1e-9)
    if skipped == 0:
        return None
    return Interval(float(ordered[skipped - 1]), float(ordered[-skipped]))


@dataclass(frozen=True, slots=True)
class NumberNeededEstimate:
    """How many more answers until one more is worse (harm) or better (benefit): 1 / |difference|.

    `number` is the real number, infinite for no difference, and `displayed` is a whole one. The interval,
    where the difference is known not to be zero, is `low` to `high`; else it is Altman's (1998): from `harm`
    through infinity to `benefit`, each a number needed, infinite where that side is not in reach.
    """

    kind: Literal["harm", "benefit", "none"]
    number: float
    displayed: int | None
    low: float | None = None
    high: float | None = None
    harm: float | None = None
    benefit: float | None = None


def number_needed(
    difference: float, interval: Interval | None, rounding: Rounding = "ceil"
) -> NumberNeededEstimate:
    """From a difference of rates, better upwards, and its interval; shown rounded up, or to the nearest."""
    number = _inverse(difference)
    displayed = None
    if isfinite(number):
        settled = digits(number)  # 22.5 to the last bit: above it, another number is the nearest
        displayed = round(settled) if rounding == "round" else ceil(settled)
    kind: Literal["harm", "benefit", "none"] = (
        "none" if not decimals(difference) else "harm" if difference < 0 else "benefit"
    )
    needed = NumberNeededEstimate(kind, number, displayed)
    if interval is None:
        return needed
    if interval.holds_zero:
        harm, benefit = _inverse(min(interval.low, 0.0)), _inverse(max(interval.high, 0.0))
        return replace(needed, harm=harm, benefit=benefit)
    low, high = sorted((_inverse(interval.low), _inverse(interval.high)))
    return replace(needed, low=low, high=high)


def _inverse(difference: float) -> float:
    return 1 / abs(difference) if decimals(difference) else inf


@dataclass(frozen=True, slots=True)
class RecoveredShare:
    """Which share of a loss a remedy takes back: (remedy - treated) / (control - treated), on the same cases.

    None where there is no loss to take back. `interval` is Fieller's (1954) on the means per case, which is
    right where the loss may be zero: None there, since every value fits then.
    """

    loss: float
    share: float | None
    interval: Interval | None


def recovery(
    control: ArrayLike, treated: ArrayLike, remedy: ArrayLike, level: float = 0.95
) -> RecoveredShare:
    """From the outcomes of one case each, shape (n,)."""
    from scipy.special import stdtrit

    c, m, o = (np.asarray(values, np.float64) for values in (control, treated, remedy))
    if not len(c) or not (len(c) == len(m) == len(o)):
        raise ValueError("the three arms do not have the same cases")
    gains, losses = o - m, c - m
    n, loss = len(c), float(losses.mean())
    if loss <= 0:
        return RecoveredShare(loss, None, None)
    share = float(gains.mean() / loss)
    if n < 2:
        return RecoveredShare(loss, share, None)
    covariance = np.cov(gains, losses) / n
    cut = float(stdtrit(n - 1, (1 + level) / 2)) ** 2
    square = loss**2 - cut * covariance[1, 1]
    if square <= 0:
        return RecoveredShare(loss, share, None)
    middle = loss * gains.mean() - cut * covariance[0, 1]
    last = gains.mean() ** 2 - cut * covariance[0, 0]
    half = sqrt(max(middle**2 - square * last, 0.0))
    return RecoveredShare(
        loss, share, Interval(float((middle - half) / square), float((middle + half) / square))
    )


def _rates(sums: Floats, rows: NDArray[np.int64] | Floats) -> Floats:
    rates: Floats = np.divide(sums, rows, out=np.full(np.shape(sums), np.nan), where=np.asarray(rows) > 0)
    return np.round(rates, 12)  # so that equal rates are equal, in whatever order they were added up
