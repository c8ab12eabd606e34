"""Configuration bootstrap: how much a statistic depends on which configurations are in the envelope.

The envelope is finite and was chosen, so these are sensitivity ranges and no confidence intervals
(SafetyRepro, app. G). Least and greatest of a resample cannot pass those of the sample, so SDI can fall
but hardly rise; and a resample repeats configurations, which lifts tau_R by about (1 - tau_R) / n: the
interval is printed with that bias, which the point does not have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from gridc.statistics.digits import digits
from gridc.statistics.orderings import sign_vectors
from gridc.statistics.pairs import ScoreByModel

RESAMPLES = 2000
LEVEL = 0.95

Draws = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ResampledStatistic:
    """A statistic with the central range that it takes over resamples of the configurations.

    `dropped` counts resamples in which it is not defined.
    """

    point: float | None
    low: float | None
    high: float | None
    dropped: int = 0


def draws(n: int, resamples: int, seed: int) -> Draws:
    """n-of-n resamples of configuration numbers, shape (resamples, n)."""
    return np.random.default_rng(seed).integers(0, n, size=(resamples, n))


def sdi_interval(scores: Sequence[Fraction], chosen: Draws, level: float = LEVEL) -> ResampledStatistic:
    """SDI over resamples. Scores are put on one denominator, so that every sum is exact."""
    values = _sdi(scores, chosen)
    whole = _sdi(scores, np.arange(len(scores))[None, :])
    return interval(None if np.isnan(whole[0]) else float(whole[0]), values, level)


def cfr_interval(passing: int, n: int, level: float = LEVEL) -> ResampledStatistic:
    """CFR over resamples in closed form: of n configurations drawn with replacement the number that pass is
    Binomial(n, k / n). None for a single configuration."""
    if n < 2:
        return ResampledStatistic(None, None, None)
    weights = [comb(n, k) * passing**k * (n - passing) ** (n - k) for k in range(n + 1)]
    rates = sorted((Fraction(2 * k * (n - k), n * (n - 1)), weights[k]) for k in range(n + 1))
    low, high = (_quantile(rates, Fraction(str(tail))) for tail in _tails(level))
    return ResampledStatistic(
        float(Fraction(2 * passing * (n - passing), n * (n - 1))), float(low), float(high)
    )


def tau_interval(
    scores: Mapping[str, ScoreByModel], chosen: Draws | None = None, seed: int = 0
) -> ResampledStatistic:
    """tau_R over resamples of the configurations in which not all models tie."""
    vectors = np.array(sign_vectors(scores)[0], dtype=np.float64)
    n = len(vectors)
    if n < 2:
        return ResampledStatistic(None, None, None)
    picked = draws(n, RESAMPLES, seed) if chosen is None else chosen
    values = _tau(vectors, picked)
    return interval(float(_tau(vectors, np.arange(n)[None, :])[0]), values)


def interval(point: float | None, values: NDArray[np.float64], level: float = LEVEL) -> ResampledStatistic:
    """The central percentiles of the values that are defined."""
    defined = np.sort(values[~np.isnan(values)])
    if point is None or not len(defined):
        return ResampledStatistic(point, None, None, len(values) - len(defined))
    low, high = (float(defined[min(int(tail * len(defined)), len(defined) - 1)]) for tail in _tails(level))
    return ResampledStatistic(digits(point), digits(low), digits(high), len(values) - len(defined))


def max_statistic(slices: Sequence[NDArray[np.float64]], points: Sequence[float]) -> ResampledStatistic:
    """The range of the maximum over slices (SafetyRepro, app. I), one array of resampled values for each.

    Resample r of every array must belong together: where slices share their configurations, as the
    models of a benchmark do, they share the draw; across benchmarks the draws are independent.
    """
    stacked = np.stack(slices)
    undefined = np.isnan(stacked).all(axis=0)
    values = np.where(undefined, np.nan, np.nanmax(np.where(undefined, 0.0, stacked), axis=0))
    return interval(max(points), values)


def max_cfr_interval(counts: Sequence[tuple[int, int]], level: float = LEVEL) -> ResampledStatistic:
    """The maximum CFR over slices of (passing, n), their resamples independent, in closed form: the
    distribution function of a maximum is the product of those of its parts."""
    rates = sorted({Fraction(2 * k * (n - k), n * (n - 1)) for _, n in counts for k in range(n + 1)})
    below = [
        prod((_share_at_most(passing, n, rate) for passing, n in counts), start=Fraction(1)) for rate in rates
    ]  # P(max <= rate)
    low, high = (
        float(next(rate for rate, total in zip(rates, below, strict=True) if total >= tail))
        for tail in (Fraction(str(share)) for share in _tails(level))
    )
    point = max(Fraction(2 * k * (n - k), n * (n - 1)) for k, n in counts)
    return ResampledStatistic(float(point), low, high)


def sdi_values(scores: Sequence[Fraction], chosen: Draws) -> NDArray[np.float64]:
    """SDI of each resample; not a number where its mean is 0."""
    return _sdi(scores, chosen)


def _sdi(scores: Sequence[Fraction], chosen: Draws) -> NDArray[np.float64]:
    common = np.lcm.reduce(np.array([score.denominator for score in scores], dtype=np.int64))
    whole = np.array([int(score * int(common)) for score in scores], dtype=np.int64)[chosen]
    sums = whole.sum(axis=1)
    spread = (whole.max(axis=1) - whole.min(axis=1)) * chosen.shape[1]
    shares: NDArray[np.float64] = np.divide(spread, sums, out=np.full(len(sums), np.nan), where=sums != 0)
    return shares


def _tau(vectors: NDArray[np.float64], chosen: Draws) -> NDArray[np.float64]:
    n = chosen.shape[1]
    sums = vectors[chosen].sum(axis=1)
    mean: NDArray[np.float64] = ((sums * sums).sum(axis=1) - n) / (n * (n - 1))
    return np.minimum(mean, 1.0)


def _share_at_most(passing: int, n: int, rate: Fraction) -> Fraction:
    """P(CFR <= rate) when k ~ Binomial(n, passing / n)."""
    held = sum(
        comb(n, k) * passing**k * (n - passing) ** (n - k)
        for k in range(n + 1)
        if Fraction(2 * k * (n - k), n * (n - 1)) <= rate
    )
    return Fraction(held, n**n)


def _quantile(rates: Sequence[tuple[Fraction, int]], tail: Fraction) -> Fraction:
    total, reached = sum(weight for _, weight in rates), 0
    for rate, weight in rates:
        reached += weight
        if Fraction(reached, total) >= tail:
            return rate
    return rates[-1][0]


def _tails(level: float) -> tuple[float, float]:
    tail = round((1 - level) / 2, 6)
    return tail, round(1 - tail, 6)
