"""Intervals over units, by a method for each kind of quantity: a share, a change, a gap, a ratio of shares, a
mean; and where there is none.

The bootstrap shows how far a score or a gap could move with another draw of items. Units are drawn with
replacement, n of n, the same draw in all configurations and for all models, so that a gap is an interval of
paired differences. Each draw is a row of multinomial weights on per-unit sums.

Percentile intervals of few units are too narrow. They are expanded to the width that Student's t asks for
(Hesterberg 2015, "What teachers should know about the bootstrap", sec. 5.3): the tail alpha / 2 becomes
Phi(-sqrt(n / (n - 1)) t(1 - alpha / 2, n - 1)).

What is computed from totals has one method for each kind of quantity:

    share        the sum of points in [0, 1] over the rows that could earn one
    change       the mean of differences in [-1, 1], from what rows gain and what they lose
    gap          one share less another one, of different rows of the same units
    share_ratio  one share over another one
    mean         a sum of values above 0 over rows, bytes or tokens, where no value has an upper end
    smooth       any other smooth function of totals: a difference of such means, a slope, a product

How far a unit moves the value is its influence d (of a ratio y - theta x; in general by leaving it out). What
makes an interval of few units too short is that few of them carry the spread, whatever their sizes, so the
*carriers* K = (sum d^2)^2 / sum d^4 decide. A share of enough carriers has Clopper and Pearson's limits of as
many independent rows as would vary like it (Korn & Graubard 1998); differences and ratios of shares combine
the limits of both (MOVER; Zou & Donner 2008, Newcombe 1998). With fewer carriers, none included, limits are
Gaffke's (`bounded_means`), which are Clopper and Pearson's again where units are rows of 0 or 1 point. Values
without an upper end have the wider of two at each end: Student's t of the jackknife (Efron & Stein 1981), of
a mean on the log scale, and t with Hall's (1992) correction for skewness; with fewer carriers none. An
influence that no unit in the sample shows is seen by no method: all assume that no rare larger ones exist.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import exp, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.bounded_means import mean_above_zero
from gridc.statistics.clustered_logit import FLOOR, effective_number, enough_cases
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import decimals, digits

Ends = tuple[float, float]
"""Of an interval."""
Counts = NDArray[np.unsignedinteger[Any]]

CHUNK = 250
"""Resamples that are multiplied at a time."""


def chunks_of_weights(units: int, resamples: int, seed: int) -> Iterator[Counts]:
    """How often each unit is drawn in each resample, at most `CHUNK` resamples at a time, (chunk, units);
    every row sums to `units`."""
    random, kind = np.random.default_rng(seed), np.min_scalar_type(units)
    for at in range(0, resamples, CHUNK):
        size = min(CHUNK, resamples - at)
        places = random.integers(0, units, size=(size, units))
        places += np.arange(size, dtype=np.int64)[:, None] * units
        counts = np.bincount(places.ravel(), minlength=size * units).reshape(size, units)
        yield counts.astype(kind)


def draw_weights(units: int, resamples: int, seed: int) -> Counts:
    """The same in one table, (resamples, units)."""
    weights = np.zeros((resamples, units), np.min_scalar_type(units))
    for number, chunk in enumerate(chunks_of_weights(units, resamples, seed)):
        weights[number * CHUNK : number * CHUNK + len(chunk)] = chunk
    return weights


def resampled_sums(rows: Whole | Floats, weights: Counts) -> Floats:
    """The sum of each row in every resample, (rows, units) and (resamples, units) -> (resamples, rows). Of
    whole numbers, so it is exact."""
    columns = rows.T.astype(np.float64)
    sums = [weights[at : at + CHUNK].astype(np.float64) @ columns for at in range(0, len(weights), CHUNK)]
    return np.concatenate(sums) if sums else np.zeros((0, len(rows)))


def resampled_means(sums: Whole | Floats, sizes: Whole | Floats, weights: Counts) -> Floats:
    """The mean in every resample, shape (resamples, rows), of rows that have `sums` and `sizes` (trials) by
    unit, (rows, units). Not a number where a resample holds no trial of a row."""
    totals, trials = resampled_sums(sums, weights), resampled_sums(sizes, weights)
    means: Floats = np.divide(totals, trials, out=np.full(totals.shape, np.nan), where=trials > 0)
    return means


@cache
def tail_of(units: int, level: float) -> float:
    """The share of resamples that an expanded percentile interval leaves out on each side."""
    from scipy.special import ndtr

    return float(ndtr(-sqrt(units / (units - 1)) * _quantile(units - 1, (1 + level) / 2)))


def intervals(values: Floats, units: int, level: float) -> list[Ends | None]:
    """The interval of every column of `values`, (resamples, columns). None where there are fewer than two
    units, or where no resample differs from another: no spread in the sample is no evidence of none.
    Of a rate of 0 or 1 see `at_bound`."""
    if units < 2 or not values.size:
        return [None] * values.shape[1]
    tail = tail_of(units, level)
    ordered = np.sort(values, axis=0)  # what is not a number stands last
    defined = (~np.isnan(values)).sum(axis=0)
    ends_by_column: list[Ends | None] = []
    for column, count in enumerate(defined.tolist()):
        if not count or not decimals(float(ordered[count - 1, column] - ordered[0, column])):
            ends_by_column.append(None)
            continue
        skipped = min(int(tail * count), (count - 1) // 2)
        ends = ordered[skipped, column], ordered[count - 1 - skipped, column]
        ends_by_column.append((digits(ends[0]), digits(ends[1])))
    return ends_by_column


def at_bound(earned: Whole | Floats, most: Whole | Floats, level: float) -> Ends | None:
    """The exact one-sided interval of a rate of 0 or 1, of what units `earned` and what they could at most,
    (units,); None of any other rate.

    A unit that is expected to earn a share p of its most earns nothing at all with a chance of 1 - p or less,
    whatever ties its answers. So rates are left out under which all units would earn nothing with a chance
    below 1 - level: the largest that is not is max sum(most p) / sum(most) over prod(1 - p) >= 1 - level,
    which has 1 - p = min(1, c / most). Of units of one size it is 1 - (1 - level)^(1 / units), the limit of
    Clopper and Pearson."""
    sizes = np.sort(most[most > 0])[::-1].astype(np.float64)
    total = float(earned.sum())
    if not len(sizes) or total not in (0.0, float(most.sum())):
        return None
    ranks = np.arange(1, len(sizes) + 1)
    cuts = np.exp((np.log(1 - level) + np.cumsum(np.log(sizes))) / ranks)
    # The units with p > 0 are the largest ones, down to the first whose next one the cut leaves out.
    cut = cuts[np.flatnonzero(np.append(sizes[1:], 0.0) <= cuts)[0]]
    reach = float(np.maximum(sizes - cut, 0.0).sum() / sizes.sum())
    return (0.0, digits(reach)) if total == 0 else (digits(1 - reach), 1.0)


OfTotals = Callable[[Floats], Floats]
"""From totals, (B, K), to B values; not a number where the totals do not determine one."""
CARRIERS = 8.0
"""The least K for limits of shares that are not Gaffke's."""
FAINT = 1e-24
"""The square of an influence that is rounding."""
SHARE = "Clopper and Pearson's limits of as many independent rows, Gaffke's where few units carry the spread"
DIFFERENCE = "limits of both shares, combined by their correlation over units"
SMOOTH = "Student's t of the jackknife, with and without its skewness, the wider; no rare larger values"
MEAN = "Student's t of logarithms and t with its skewness, the wider; no rare larger values"


@dataclass(frozen=True, slots=True)
class UnitEstimate:
    """A value, None where it is not determined, and its interval over `units`, whose effective number is that
    of equal ones that would tell as much. `method` says how the interval is made, `no_interval` why there is
    none."""

    value: float | None
    interval: Ends | None
    units: int
    effective: float
    no_interval: str = ""
    method: str = ""


def unit_totals(units: Whole, columns: ArrayLike) -> Floats:
    """The totals of rows by unit, (G, K), from the unit of each row, (N,), and what each adds, (N, K)."""
    _, place = np.unique(units, return_inverse=True)
    values = np.asarray(columns, np.float64)
    totals = np.zeros((int(place.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(totals, place.ravel(), values)
    return totals


def gains_and_losses(differences: Floats) -> Floats:
    """What each row adds to the totals of a `change`, (N, 3)."""
    columns: Floats = np.column_stack(
        [np.ones(len(differences)), np.maximum(differences, 0.0), np.maximum(-differences, 0.0)]
    )
    return columns


def share(totals: Floats, level: float = LEVEL) -> UnitEstimate:
    """Of each unit the rows and their points, (G, 2). A share of 0 or 1 has limits of few units too."""
    totals, found = _counted(totals, totals[:, 0])
    if found.no_interval and found.value not in (0, 1):
        return found
    return _with_interval(replace(found, no_interval=""), SHARE, *_share(totals[:, 0], totals[:, 1], level))


def change(totals: Floats) -> UnitEstimate:
    """Of each unit the rows, the points that they gain and the points that they lose, (G, 3): see
    `gains_and_losses`."""
    totals, found = _counted(totals, totals[:, 0], lambda sums: (sums[:, 1] - sums[:, 2]) / sums[:, 0])
    if found.no_interval:
        return found
    rows, gained, lost = totals.T
    value = float((gained - lost).sum() / rows.sum())
    if carriers(gained - lost - value * rows) < CARRIERS:
        # (1 + change) / 2 is a share.
        low, high = (2 * end - 1 for end in _gaffke(rows, (rows + gained - lost) / 2))
        return _with_interval(found, "Gaffke's limits", low, high)
    return _with_interval(found, DIFFERENCE, *_mover((rows, gained), (rows, lost), lambda rate: rate))


def gap(totals: Floats) -> UnitEstimate:
    """Of each unit the rows and points on one side and on the other one, (G, 4): the second share less the
    first one. Either kind needs units enough."""
    one, other = totals[:, :2], totals[:, 2:]
    totals, found = _counted(
        totals,
        one[:, 0] + other[:, 0],
        lambda sums: _quotient(sums[:, 3], sums[:, 2]) - _quotient(sums[:, 1], sums[:, 0]),
        (one[:, 0], other[:, 0]),
    )
    if found.no_interval:
        return found
    rows, points, others, theirs = totals.T
    return _with_interval(found, DIFFERENCE, *_mover((others, theirs), (rows, points), lambda rate: rate))


def share_ratio(totals: Floats) -> UnitEstimate:
    """Of each unit the rows and points on one side and on the other one, (G, 4): the first share over the
    second. None where too few units carry either share."""
    totals, found = _counted(
        totals,
        totals[:, 0] + totals[:, 2],
        lambda sums: _quotient(_quotient(sums[:, 1], sums[:, 0]), _quotient(sums[:, 3], sums[:, 2])),
        (totals[:, 0], totals[:, 2]),
    )
    if found.no_interval:
        return found
    rows, points, others, theirs = totals.T
    for n, y in ((rows, points), (others, theirs)):
        carried = carriers(y - y.sum() / n.sum() * n)
        if carried < CARRIERS:
            return _without_interval(found, carried, CARRIERS)
    low, high = _mover((rows, points), (others, theirs), lambda rate: log(max(rate, 1e-300)))
    return _with_interval(found, f"{DIFFERENCE}, of logarithms", exp(low), exp(high))


def mean(totals: Floats) -> UnitEstimate:
    """Of each unit how much it has and the sum of its values, (G, 2), which are 0 or more."""
    return _smooth(totals, ratio(1, 0), totals[:, 0], (), logarithm=True)


def smooth(
    totals: Floats,
    statistic: OfTotals,
    sizes: Floats | None = None,
    informs: Sequence[Floats] = (),
    level: float = LEVEL,
) -> UnitEstimate:
    """The statistic of all units, (G, K). `sizes`, (G,), say how much of a unit counts: the first column
    without them. `informs`, (G,) each, say how much a unit tells of what the value turns on, such as a slope:
    the effective number is the least of all."""
    counted = totals[:, 0] if sizes is None else sizes
    return _smooth(totals, statistic, counted, informs, logarithm=False, level=level)


def ratio(above: int, below: int) -> OfTotals:
    """One total over another."""
    return lambda totals: _quotient(totals[:, above], totals[:, below])


def carriers(influences: Floats) -> float:
    """How many units carry the spread: (sum d^2)^2 / sum d^4 of their influences; 0 where there is none."""
    squares = influences**2
    fourth = float((squares**2).sum())
    return float(squares.sum() ** 2 / fourth) if squares.max(initial=0.0) > FAINT else 0.0


def least_carriers(units: int) -> float:
    """How many are needed where values have no upper end: 8, rising to 12 from 60 units (docs/sizes.md)."""
    return min(12.0, max(CARRIERS, units / 5))


def limits(rate: float, n: float, error: float) -> Ends:
    """Clopper and Pearson's limits of a share of n trials, which need not be whole numbers."""
    from scipy.special import betaincinv

    points = rate * n
    low = 0.0 if rate <= 0 else float(betaincinv(points, n - points + 1, error / 2))
    high = 1.0 if rate >= 1 else float(betaincinv(points + 1, n - points, 1 - error / 2))
    return low, high


def as_independent(n: float, units: float, alone: float, spread: float, level: float = LEVEL) -> float:
    """How many independent rows show as much as n of several units: by the variance of a statistic of n
    independent ones over its jackknife variance, less what Student's t adds for few units."""
    from scipy.special import ndtri

    if spread <= 0 or alone <= 0:
        return float(units)
    tail = (1 + level) / 2
    few = float(ndtri(tail) / _quantile(units - 1, tail)) ** 2
    return min(float(n), n * alone / spread * few)


def _counted(
    totals: Floats, sizes: Floats, statistic: OfTotals | None = None, informs: Sequence[Floats] = ()
) -> tuple[Floats, UnitEstimate]:
    """The units of any size, and the value of `statistic` (a share without one) with the reason for which
    their numbers allow no interval."""
    some = sizes > 0
    effective = min(effective_number(part / max(part.max(initial=0), 1e-12)) for part in (sizes, *informs))
    whole = totals[some].sum(axis=0)[None]
    with np.errstate(divide="ignore", invalid="ignore"):
        (value,) = (statistic or ratio(1, 0))(whole).tolist() if some.any() else (np.nan,)
    if not np.isfinite(value):
        return totals[some], UnitEstimate(None, None, int(some.sum()), effective, "not determined")
    few = ""
    if not enough_cases(effective):
        few = f"worth {effective:.1f} equal units, and an interval needs {FLOOR:g}"
    return totals[some], UnitEstimate(digits(value), None, int(some.sum()), effective, few)


def _with_interval(found: UnitEstimate, method: str, low: float, high: float) -> UnitEstimate:
    return replace(found, interval=(digits(low), digits(high)), method=method)


def _without_interval(found: UnitEstimate, carried: float, needed: float) -> UnitEstimate:
    few = f"{carried:.1f} units carry the spread, and an interval needs {needed:.3g}"
    return replace(found, no_interval=few if carried else "nothing varies between units")


def share_limits(rows: Floats, points: Floats, level: float = LEVEL) -> Ends:
    """The limits of `share` by units' rows and points, (G,) each, some rows among them; of few units, or few
    that carry the spread, Gaffke's."""
    rows, points = rows[rows > 0], points[rows > 0]
    limits_of = _share if enough_cases(effective_number(rows)) else _few
    low, high = limits_of(rows, points, level)
    return digits(low), digits(high)


def _share(rows: Floats, points: Floats, level: float = LEVEL) -> Ends:
    if carriers(points - points.sum() / rows.sum() * rows) < CARRIERS:
        return _few(rows, points, level)
    return _korn_graubard(rows, points, level)


def _few(rows: Floats, points: Floats, level: float) -> Ends:
    exact = at_bound(points, rows, (1 + level) / 2)
    return exact if exact is not None else _gaffke(rows, points, level)


def _korn_graubard(rows: Floats, points: Floats, level: float) -> Ends:
    n, count = float(rows.sum()), len(rows)
    rate = float(points.sum()) / n
    without = (points.sum() - points) / (n - rows)
    spread = (count - 1) / count * float(((without - without.mean()) ** 2).sum())
    return limits(rate, as_independent(n, count, rate * (1 - rate) / n, spread, level), 1 - level)


def _gaffke(rows: Floats, points: Floats, level: float = LEVEL) -> Ends:
    """Limits of a share: how much a unit has above a share t of its rows is at least -t of those of the
    largest."""
    return _least(rows, points, level), 1 - _least(rows, rows - points, level)


def _least(rows: Floats, points: Floats, level: float) -> float:
    from scipy.optimize import brentq

    size = float(rows.max())

    def excess(rate: float) -> float:
        values = np.round((points - rate * rows) / size, 12)
        return log(mean_above_zero(values, min(-rate, float(values.min())))) - log((1 - level) / 2)

    ends = 1e-9, float(points.sum() / rows.sum())
    if ends[1] <= ends[0] or excess(ends[0]) >= 0:
        return 0.0
    return float(brentq(excess, *ends, xtol=1e-13)) if excess(ends[1]) > 0 else ends[1]


def _mover(one: tuple[Floats, Floats], other: tuple[Floats, Floats], scale: Callable[[float], float]) -> Ends:
    """Limits of one share less another one, on a scale, from those of each and their correlation over units;
    both are rows and points."""
    rates = [float(points.sum() / rows.sum()) for rows, points in (one, other)]
    (low, high), (below, above) = (tuple(map(scale, _share(rows, points))) for rows, points in (one, other))
    moved = [
        (points - rate * rows) / rows.sum() for rate, (rows, points) in zip(rates, (one, other), strict=True)
    ]
    sizes = sqrt(float((moved[0] @ moved[0]) * (moved[1] @ moved[1])))
    together = float(moved[0] @ moved[1]) / sizes if sizes > FAINT else 0.0
    at, against = map(scale, rates)

    def reach(left: float, right: float) -> float:
        return sqrt(max(left**2 + right**2 - 2 * together * left * right, 0.0))

    return at - against - reach(at - low, above - against), at - against + reach(high - at, against - below)


def _smooth(
    totals: Floats,
    statistic: OfTotals,
    sizes: Floats,
    informs: Sequence[Floats],
    logarithm: bool,
    level: float = LEVEL,
) -> UnitEstimate:
    totals, found = _counted(totals, sizes, statistic, informs)
    if found.no_interval or found.value is None:
        return found
    count, value = len(totals), found.value
    with np.errstate(divide="ignore", invalid="ignore"):
        without = statistic(totals.sum(axis=0) - totals)
    if not np.isfinite(without).all():
        return replace(found, no_interval="not determined without one of the units")
    influences = (count - 1) * (without.mean() - without)
    carried, needed = carriers(influences), least_carriers(count)
    if carried < needed:
        return _without_interval(found, carried, needed)
    t = _quantile(count - 1, (1 + level) / 2)
    error = sqrt(float((influences**2).sum()) / (count * (count - 1)))
    skewness = float((influences**3).mean() / (influences**2).mean() ** 1.5)
    low, high = value - _skewed(t, skewness, count) * error, value - _skewed(-t, skewness, count) * error
    if logarithm:
        logs = np.log(without)
        half = t * sqrt((count - 1) / count * float(((logs - logs.mean()) ** 2).sum()))
        return _with_interval(
            found, MEAN, max(0.0, min(low, value * exp(-half))), max(high, value * exp(half))
        )
    return _with_interval(found, SMOOTH, min(low, value - t * error), max(high, value + t * error))


def _skewed(t: float, skewness: float, units: int) -> float:
    """The ratio of a mean to its error that stands where t would without skewness: the inverse of Hall's
    (1992, "On the removal of skewness by transformation", J. R. Statist. Soc. B 54) cubic."""
    a = skewness / sqrt(units)
    return t if abs(a) < 1e-6 else 3 / a * (float(np.cbrt(1 + a * (t - a / 6))) - 1)


def _quotient(above: Floats, below: Floats) -> Floats:
    value: Floats = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    return value


def _quantile(freedom: float, place: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, place))
