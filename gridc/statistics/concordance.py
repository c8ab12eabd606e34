"""Do the rows of a table rank its columns alike? Kendall's W, and Friedman's test of the same statistic."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gridc.statistics.arrays import Whole


@dataclass(frozen=True, slots=True)
class Concordance:
    """How far `rows` rank `columns` alike: W from 0 (no agreement) to 1 (the same order), Friedman's
    chi-squared, which is rows (columns - 1) W, and its p, of rows that are independent of each other."""

    w: float
    chi2: float
    freedom: int
    p: float
    rows: int


def concordance(table: ArrayLike) -> Concordance | None:
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
class Exchanged:
    """A range of column means where each row's values change their places at random: its mean, the 95th
    percentile, and the share of draws (the table itself among them) with a range as wide as the table's."""

    mean: float
    upper: float
    p: float
    draws: int


def exchanged_range(sums: Whole, total: int, draws: int, seed: int) -> Exchanged:
    """What of max - min of the column means a table (rows, columns) of whole numbers would show if each of
    its rows did not depend on the column: the values of a row are permuted, each row by itself. Column means
    are sums / `total`."""
    observed = int(np.ptp(sums.sum(axis=0)))
    random = np.random.default_rng(seed)
    ranges = np.array(
        [np.ptp(random.permuted(sums, axis=1).sum(axis=0)) for _ in range(draws)], dtype=np.int64
    )
    upper = int(np.sort(ranges)[min(draws - 1, int(np.ceil(0.95 * draws)) - 1)])
    return Exchanged(
        float(ranges.mean()) / total,
        upper / total,
        (1 + int((ranges >= observed).sum())) / (1 + draws),
        draws,
    )
