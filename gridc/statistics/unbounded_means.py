"""Means and mean differences of values without an upper end, over units: bits per byte, divergences.

No interval of such a mean holds in every world: a value that is rare and large enough is in no sample
(Bahadur & Savage 1956). Here logarithms are taken to be about normal in their upper half. What makes
intervals of such values too short is that the error is estimated from the largest values: where the sample
has none of them both the mean and its error are too small, and a gate on how many units carry the error
opens just then. The spread of the logarithms knows of the large values that are missing. So the error is
the largest of three: that of the jackknife over units (Efron & Stein 1981), and those that the logarithms
of the units' values, and of the rows', foretell. With y and n the sums of values and sizes of a unit or
row, S the covariances of their logarithms and q the share of y above 0, the square of the foretold error of
a mean, relative to it, is

    (exp(S_yy) / q - 2 exp(S_yn) + exp(S_nn)) / N.

What is far below the median (2.5 spreads of the upper half) is held up to there: it says nothing of large
values. S is multiplied by (k - 1) / (k - 3) for k values, as errors of S make its exponential too small.

The lower limit of a mean of values from 0 up is Gaffke's, whatever large values there are. The upper limit
is the larger one of Student's t on the log scale and t with Hall's (1992) correction for skewness. A
difference of means on the same rows has, at either end, the farther of t and of t with that correction; its
gains and losses are foretold apart.
"""

from math import exp, expm1, log1p, sqrt

import numpy as np

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.bounded_ratios import ratio_lower_limit
from gridc.statistics.clustered_logit import FLOOR, effective_number, enough_cases
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import digits
from gridc.statistics.unit_intervals import UnitEstimate, unit_totals

FAR = 2.5
"""Spreads of the upper half below the median, up to where logarithms count as they are."""
MOST = 300.0
"""Of the logarithm of a limit over the value: no number is infinite."""
FAINT = 1e-12
"""The error of a mean, relative to the values, that is rounding."""
MEAN = (
    "Gaffke's lower limit; the upper one by the spread of logarithms and by t with its skewness, the larger"
)
DIFFERENCE = (
    "Student's t with and without its skewness, the farther, and an error by the spread of logarithms"
)


def mean(units: Whole, sizes: Floats, values: Floats, level: float = LEVEL) -> UnitEstimate:
    """The sum of values, which are 0 or more, over that of sizes, which are above 0; of rows, (N,) each."""
    totals, found = _counted(units, sizes, values)
    if found.value is None or found.no_interval:
        return found
    n, y = totals.T
    value, error, skewness = _jackknife(totals)
    some = int((y > 0).sum())
    if some < 2 or error <= FAINT * value:
        return _without(found, "nothing varies between units" if some != 1 else "one unit has all of it")
    foretold = max(_foretold(n, y), _foretold(sizes, values), (error / value) ** 2)
    place = (1 + level) / 2
    half = _quantile(some - 1, place) * sqrt(log1p(foretold))
    high = value - _skewed(-_quantile(len(n) - 1, place), skewness, len(n)) * error
    low = ratio_lower_limit(y, n, np.zeros(len(n)), (1 - level) / 2)
    return _with(found, MEAN, low, max(high, value * exp(min(half, MOST))))


def mean_difference(units: Whole, sizes: Floats, values: Floats, level: float = LEVEL) -> UnitEstimate:
    """The same of values of either sign."""
    totals, found = _counted(units, sizes, values)
    if found.value is None or found.no_interval:
        return found
    n, y = totals.T
    value, error, skewness = _jackknife(totals)
    if error <= FAINT * float(np.abs(y).sum() / n.sum()):
        return _without(found, "nothing varies between units")
    foretold = max(_both_ways(n, y), _both_ways(sizes, values)) / float(n.sum()) ** 2
    error = max(error, sqrt(foretold))
    t = _quantile(len(n) - 1, (1 + level) / 2)
    ends = [value - place * error for place in (t, -t)]
    ends += [value - _skewed(place, skewness, len(n)) * error for place in (t, -t)]
    return _with(found, DIFFERENCE, min(ends), max(ends))


def _counted(units: Whole, sizes: Floats, values: Floats) -> tuple[Floats, UnitEstimate]:
    """The sizes and sums of units, (G, 2), and the value, with the reason for which their number allows no
    interval."""
    totals = unit_totals(units, np.column_stack([sizes, values]))
    if not len(totals):
        return totals, UnitEstimate(None, None, 0, 0.0, "not determined")
    effective = effective_number(totals[:, 0] / totals[:, 0].max())
    few = "" if enough_cases(effective) else _few(effective)
    value = digits(float(values.sum() / sizes.sum()))
    return totals, UnitEstimate(value, None, len(totals), effective, few)


def _few(effective: float) -> str:
    return f"worth {effective:.1f} equal units, and values without an upper end need {FLOOR:g}"


def _with(found: UnitEstimate, method: str, low: float, high: float) -> UnitEstimate:
    ends = digits(low), digits(high)
    return UnitEstimate(found.value, ends, found.units, found.effective, "", method)


def _without(found: UnitEstimate, reason: str) -> UnitEstimate:
    return UnitEstimate(found.value, None, found.units, found.effective, reason)


def _jackknife(totals: Floats) -> tuple[float, float, float]:
    """The ratio of totals, its error and the skewness of the units' influences."""
    n, y = totals.T
    count, value = len(n), float(y.sum() / n.sum())
    influences = y - value * n
    squares = float((influences**2).sum())
    error = sqrt(count / (count - 1) * squares) / float(n.sum())
    skewness = float((influences**3).mean()) / max((squares / count) ** 1.5, 1e-300)
    return value, error, skewness


def _foretold(sizes: Floats, values: Floats) -> float:
    """The square of the error of a mean, relative to it, from the logarithms of values from 0 up; 0 of fewer
    than two that are above 0."""
    some = (values > 0) & (sizes > 0)
    count = int(some.sum())
    if count < 2:
        return 0.0
    weight = np.log(sizes[some])
    rate = np.log(values[some]) - weight
    middle = float(np.median(rate))
    above = rate[rate > middle] - middle
    spread = sqrt(float((above**2).mean())) if len(above) else 0.0
    both = np.vstack([np.maximum(rate, middle - FAR * spread) + weight, weight])
    grown = np.minimum(np.cov(both) * (count - 1) / max(count - 3, 1), MOST)
    own, shared, of_sizes = grown[0, 0], grown[0, 1], grown[1, 1]
    # exp(a) - 2 exp(c) + exp(b), of numbers that may all be near 1.
    apart = expm1(own) - 2 * expm1(shared) + expm1(of_sizes) + exp(own) * (len(values) / count - 1)
    return max(apart, 0.0) / len(values)


def _both_ways(sizes: Floats, values: Floats) -> float:
    """The square of the error of a total of gains and losses. Of one value alone it is that of the value."""
    squares = 0.0
    for way in (np.maximum(values, 0.0), np.maximum(-values, 0.0)):
        alone = (way > 0).sum() < 2
        squares += float((way**2).sum()) if alone else _foretold(sizes, way) * float(way.sum()) ** 2
    return squares


def _skewed(t: float, skewness: float, units: int) -> float:
    """The ratio of a mean to its error that stands where t would without skewness: the inverse of Hall's
    (1992, "On the removal of skewness by transformation", J. R. Statist. Soc. B 54) cubic."""
    a = skewness / sqrt(units)
    return t if abs(a) < 1e-6 else 3 / a * (float(np.cbrt(1 + a * (t - a / 6))) - 1)


def _quantile(freedom: float, place: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, place))
