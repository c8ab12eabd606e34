"""Tests of ranks: whether rows rank columns alike, and trends over ordered levels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gridc.statistics.arrays import Floats, Whole


@dataclass(frozen=True, slots=True)
class Concordance:
    """How far `rows` rank `columns` alike: W from 0 (no agreement) to 1 (the same order), Friedman's
    chi-squared, which is rows (columns - 1) W, and its p, of rows that are independent of each other."""

    w: float
    chi2: float
    freedom: int
    p: float
    rows: int


def kendalls_w(table: ArrayLike) -> Concordance | None:
    """Of a table (rows, columns), ranked within each row with mid-ranks. Ties are corrected for (Kendall &
    Babington Smith 1939; of 0 and 1 it is Cochran's Q). None where no row tells two columns apart, and of
    fewer than two columns."""
    from scipy.stats import chi2, rankdata

    values = np.asarray(table)
    if values.ndim != 2 or values.shape[1] < 2 or not len(values):
        return None
    ranks = rankdata(values, axis=1)
    rows, columns = ranks.shape
    centre = (columns + 1) / 2
    within = float(((ranks - centre) ** 2).sum())
    if within == 0:
        return None
    between = float(((ranks.sum(axis=0) - rows * centre) ** 2).sum())
    w = between / (rows * within)
    statistic = rows * (columns - 1) * w
    return Concordance(w, statistic, columns - 1, float(chi2.sf(statistic, columns - 1)), rows)


@dataclass(frozen=True, slots=True)
class RangeByChance:
    """A range of column means where each row's values change their places at random: its mean, the 95th
    percentile, and the share of draws (the table itself among them) with a range as wide as the table's."""

    mean: float
    upper: float
    p: float
    draws: int


def exchanged_range(sums: Whole, total: int, draws: int, seed: int) -> RangeByChance:
    """What of max - min of the column means a table (rows, columns) of whole numbers would show if each of
    its rows did not depend on the column: the values of a row are permuted, each row by itself. Column means
    are sums / `total`."""
    observed = int(np.ptp(sums.sum(axis=0)))
    random = np.random.default_rng(seed)
    ranges = np.array(
        [np.ptp(random.permuted(sums, axis=1).sum(axis=0)) for _ in range(draws)], dtype=np.int64
    )
    upper = int(np.sort(ranges)[min(draws - 1, int(np.ceil(0.95 * draws)) - 1)])
    return RangeByChance(
        float(ranges.mean()) / total,
        upper / total,
        (1 + int((ranges >= observed).sum())) / (1 + draws),
        draws,
    )


@dataclass(frozen=True, slots=True)
class TrendTest:
    """A statistic, its mean and standard deviation under no trend, and the p-value for an increasing one."""

    statistic: float
    mean: float
    deviation: float
    p: float


def isotonic(means: Sequence[float], weights: Sequence[float], increasing: bool = True) -> list[float]:
    """The monotone means nearest to `means` by weighted least squares (pool adjacent violators)."""
    from scipy.optimize import isotonic_regression

    fitted = isotonic_regression(means, weights=weights, increasing=increasing)
    return [float(value) for value in fitted.x]


def jonckheere_terpstra(groups: Sequence[ArrayLike]) -> TrendTest:
    """Independent groups in their predicted order: J counts the pairs whose later group is higher, a tie as
    half; variance with ties (Lehmann 1975, eq. 6.26). Not for levels that share their cases: `page`."""
    from scipy.stats import norm, rankdata

    values = [np.asarray(group, np.float64) for group in groups]
    sizes = np.array([len(group) for group in values], np.float64)
    if len(values) < 2 or not sizes.all():
        raise ValueError("a trend needs two groups or more, none of them empty")
    statistic = 0.0
    for at, low in enumerate(values):
        for high in values[at + 1 :]:
            ranks = rankdata(np.concatenate([low, high]))
            statistic += float(ranks[len(low) :].sum() - len(high) * (len(high) + 1) / 2)
    n = float(sizes.sum())
    _, counts = np.unique(np.concatenate(values), return_counts=True)
    ties = counts.astype(np.float64)
    mean = (n**2 - (sizes**2).sum()) / 4
    variance = float(_two(np.array([n])).sum() - _two(sizes).sum() - _two(ties).sum()) / 72
    if n > 2:
        variance += _three(sizes).sum() * _three(ties).sum() / (36 * n * (n - 1) * (n - 2))
    variance += (sizes * (sizes - 1)).sum() * (ties * (ties - 1)).sum() / (8 * n * (n - 1))
    if variance <= 0:
        return TrendTest(statistic, mean, 0.0, 1.0)
    return TrendTest(statistic, mean, variance**0.5, float(norm.sf((statistic - mean) / variance**0.5)))


def page_trend(outcomes: ArrayLike, doses: ArrayLike | None = None) -> TrendTest:
    """Levels that share their cases: `outcomes`, (cases, levels), in the predicted order. Page's L with ranks
    within each case, ties as mid-ranks; the variance is that of permuting each case's own ranks, so that ties
    are counted exactly. `doses` are the distances of the levels; 1, 2, 3, ... without them."""
    from scipy.stats import norm, rankdata

    ranks = rankdata(np.asarray(outcomes, np.float64), axis=1)
    cases, levels = ranks.shape
    if levels < 2:
        raise ValueError("a trend needs two levels or more")
    dose = np.arange(1, levels + 1, dtype=np.float64) if doses is None else np.asarray(doses, np.float64)
    if dose.shape != (levels,) or not (np.diff(dose) > 0).all():
        raise ValueError(f"the doses are not {levels} increasing numbers")
    statistic, mean = float((ranks @ dose).sum()), cases * float(dose.sum()) * (levels + 1) / 2
    spread = ((ranks - (levels + 1) / 2) ** 2).sum()
    variance = float(spread * ((dose - dose.mean()) ** 2).sum() / (levels - 1))
    if variance <= 0:
        return TrendTest(statistic, mean, 0.0, 1.0)
    return TrendTest(statistic, mean, variance**0.5, float(norm.sf((statistic - mean) / variance**0.5)))


def _two(sizes: Floats) -> Floats:
    return sizes * (sizes - 1) * (2 * sizes + 5)


def _three(sizes: Floats) -> Floats:
    return sizes * (sizes - 1) * (sizes - 2)
