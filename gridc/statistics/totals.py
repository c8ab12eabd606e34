"""Statistics that are functions of totals: tables of two classes, calibration, ranks, spread, paired
comparisons.

A unit adds to some totals, and the statistic is computed of their sums, so that it can be computed without
each unit as well: totals are (B, K), one row for each set of units, and values (B,), not a number where the
totals do not determine one. Intervals are those of `unit_intervals`.
"""

from collections.abc import Sequence

import numpy as np

from gridc.statistics.arrays import Flags, Floats, Whole

TIED = 1e-12
"""Two means that differ by less are the same."""


def two_classes(positive: Flags, says: Floats, counted: Floats) -> Floats:
    """What rows add to a table of two classes, (N, 4): true positives, false positives, false negatives, true
    negatives. `says` is how often a row was called positive in `counted` responses, (N,) both."""
    rest = counted - says
    columns = [says * positive, says * ~positive, rest * positive, rest * ~positive]
    return np.column_stack(columns)


def matthews(totals: Floats) -> Floats:
    """The correlation of both classes (Matthews 1975), of the columns of `two_classes`. Undefined where a
    class has no row, or nobody or everybody is called positive."""
    tp, fp, fn, tn = totals.T
    return _quotient(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


def by_value(values: Floats, positive: Flags) -> Floats:
    """What rows add to a table of values by class, (N, 2V): a column for each distinct value, smallest first,
    of the negative rows, then of the positive ones."""
    distinct, place = np.unique(values, return_inverse=True)
    columns = np.zeros((len(values), 2 * len(distinct)))
    columns[np.arange(len(values)), place + positive * len(distinct)] = 1
    return columns


def area_under_curve(totals: Floats) -> Floats:
    """The chance that a positive row has a larger value than a negative one, ties counting half, of the
    columns of `by_value`: the area under the receiver operating characteristic (Hanley & McNeil 1982)."""
    negative, positive = np.hsplit(totals, 2)
    below = np.cumsum(negative, axis=1) - negative / 2
    return _quotient((positive * below).sum(axis=1), negative.sum(axis=1) * positive.sum(axis=1))


def by_bin(confidence: Floats, right: Floats, bins: int) -> Floats:
    """What rows add to bins of equal width of a confidence from 0 to 1, (N, 3 bins): how many, their
    confidence, and what they earn. A bin holds its upper end, the first one 0 too (Guo et al. 2017)."""
    place = np.clip(np.ceil(np.round(confidence * bins, 9)).astype(np.int64) - 1, 0, bins - 1)
    columns = np.zeros((len(confidence), 3 * bins))
    here = np.arange(len(confidence))
    for part, values in enumerate((np.ones(len(confidence)), confidence, right)):
        columns[here, part * bins + place] = values
    return columns


def calibration_error(totals: Floats) -> Floats:
    """The mean distance of the confidence from the share that is right, over bins weighted by their rows, of
    the columns of `by_bin` (expected calibration error, Naeini et al. 2015)."""
    counts, confidence, right = np.hsplit(totals, 3)
    return _quotient(np.abs(confidence - right).sum(axis=1), counts.sum(axis=1))


def mean_of_means(totals: Floats) -> Floats:
    """The mean over groups of their means, of columns (N, 2G): how many rows each group has, then their
    sums."""
    counts, sums = np.hsplit(totals, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        means: Floats = (sums / counts).mean(axis=1)
    return means


def win_rates(totals: Floats, models: int, signs: Sequence[float]) -> Floats:
    """The share of the other models that each model beats, a tie counting half, mean over benchmarks, (B,
    models): of columns (N, 2 models benchmarks), how many rows each model has on each benchmark, then their
    sums, model by model. `signs` says by benchmark whether more is better (1) or less (-1). The mean win rate
    of HELM (Liang et al. 2022), which breaks ties by their place."""
    counts, sums = (part.reshape(len(totals), models, len(signs)) for part in np.hsplit(totals, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums / counts * np.array(signs)
    gaps = means[:, :, None, :] - means[:, None, :, :]
    wins = np.where(np.abs(gaps) < TIED, 0.5, gaps > 0).astype(np.float64)
    wins[np.isnan(gaps)] = np.nan
    rates: Floats = (wins.sum(axis=2) - 0.5) / (models - 1)
    over_benchmarks: Floats = rates.mean(axis=2)
    return over_benchmarks


def of_items(item: Whole, values: Floats) -> tuple[Whole, Floats]:
    """What items with two replicates or more add to totals of spread, (items, 5): 1, their mean, its square,
    the variance over their replicates, and that over how many they are. Also the place of the first row of
    each."""
    _, first, place, counts = np.unique(item, return_index=True, return_inverse=True, return_counts=True)
    means = np.bincount(place, values) / counts
    squares = np.bincount(place, (values - means[place]) ** 2)
    several = counts > 1
    variance = squares[several] / (counts[several] - 1)
    means = means[several]
    columns = [np.ones(len(means)), means, means**2, variance, variance / counts[several]]
    return first[several], np.column_stack(columns)


def spread_within(totals: Floats) -> Floats:
    """The standard deviation over the replicates of an item, from the mean of the items' variances, of the
    columns of `of_items`."""
    return np.sqrt(_quotient(totals[:, 3], totals[:, 0]))


def spread_between(totals: Floats) -> Floats:
    """The standard deviation of the items' expected scores: the variance of their means less what their
    replicates add to it (one-way analysis of variance; 0 where that is more), of the columns of
    `of_items`."""
    n, sums, squares, _, error = totals.T
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (squares - sums**2 / n) / (n - 1) - error / n
    return np.sqrt(np.where(np.isnan(variance), np.nan, np.maximum(variance, 0.0)))


STEPS = 100


def strengths(totals: Floats, players: int) -> Floats:
    """The strengths of Bradley and Terry (1952), in log odds about a mean of 0, (B, players): of columns
    (N, players^2), what the row's player won against the column's, a tie half a win for both. By Newton's
    method; not a number where somebody won or lost everything against the others, directly or by way of
    third players, so that no strengths are the likeliest."""
    wins = totals.reshape(len(totals), players, players)
    games = wins + wins.transpose(0, 2, 1)
    fitted = np.zeros((len(totals), players))
    joined = np.array([_strongly_connected(table > 0) for table in wins])
    corner = np.full((players, players), 1.0)
    for _ in range(STEPS if joined.any() else 0):
        expected = 1 / (1 + np.exp(fitted[:, None, :] - fitted[:, :, None]))
        slope = wins.sum(axis=2) - (games * expected).sum(axis=2)
        weight = games * expected * (1 - expected)
        curvature = np.eye(players) * weight.sum(axis=2)[:, :, None] - weight + corner
        step = np.linalg.solve(curvature[joined], slope[joined][..., None])[..., 0]
        fitted[joined] += np.clip(step, -1, 1)
        if np.abs(step).max() < TIED:
            break
    fitted -= fitted.mean(axis=1, keepdims=True)
    fitted[~joined] = np.nan
    return fitted


def _strongly_connected(wins: Flags) -> bool:
    """Whether everybody beat everybody else, directly or by way of others."""
    reach = wins | np.eye(len(wins), dtype=np.bool_)
    for _ in range(len(wins).bit_length()):
        reach = (reach.astype(np.int64) @ reach.astype(np.int64)) > 0
    return bool(reach.all())


def _quotient(above: Floats, below: Floats) -> Floats:
    value: Floats = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    return value
