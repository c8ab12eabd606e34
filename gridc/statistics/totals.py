"""The statistics that a spec can state of rows: tables of two classes, calibration, spread, paired
comparisons.

Rows are (N,): the unit of each, how many responses it counts and what they earn, from 0 to as many. Limits
are those of `strata`, of the parts that each statistic has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import comb

import numpy as np

from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.envelope import LEVEL
from gridc.statistics.strata import UNDETERMINED, PartShare, PartsStatistic, itself, of_parts, part
from gridc.statistics.unit_intervals import UnitEstimate, unit_totals

TIED = 1e-12
"""Two means that differ by less are the same."""


def _part(unit: Whole, rows: Floats, points: Floats, level: float) -> PartShare:
    """The rows of a part and their points, (N,) both, 0 for those of other parts."""
    totals = unit_totals(unit, np.column_stack([rows, points]))
    return part(totals[:, 0], totals[:, 1], level)


def share_of_rows(unit: Whole, rows: Floats, points: Floats, level: float = LEVEL) -> PartsStatistic:
    """The points of rows over their number."""
    return PartsStatistic(itself, _parts(unit, [(rows, points)], level))


def _parts(unit: Whole, shares: Sequence[tuple[Floats, Floats]], level: float) -> list[PartShare]:
    """The rows and points of each part; none where one of them has no row."""
    some = all(rows.any() for rows, _ in shares)
    return [_part(unit, rows, points, level) for rows, points in shares] if some else []


CALLED = "few units, and one that nobody saw may call more answers positive than any of these"


def precision(unit: Whole, table: Floats, level: float = LEVEL) -> PartsStatistic:
    """TP / (TP + FP), of the columns of `two_classes`."""
    rows = table[:, :2].sum(axis=1)
    return replace(share_of_rows(unit, rows, table[:, 0], level), few=_of_called(unit, rows))


def _of_called(unit: Whole, rows: Floats) -> str:
    """Why few units of several rows give no interval where what is called positive decides which count: a
    unit that nobody saw can weigh more than its size says."""
    return CALLED if rows.any() and unit_totals(unit, rows[:, None]).max() > 1 else ""


def two_classes(positive: Flags, says: Floats, counted: Floats) -> Floats:
    """What rows add to a table of two classes, (N, 4): true positives, false positives, false negatives, true
    negatives. `says` is how often a row was called positive in `counted` responses, (N,) both."""
    rest = counted - says
    columns = [says * positive, says * ~positive, rest * positive, rest * ~positive]
    return np.column_stack(columns)


def f1(unit: Whole, table: Floats, level: float = LEVEL) -> PartsStatistic:
    """2 TP / (2 TP + FP + FN), of the columns of `two_classes`. A hit counts twice and is one row, so this is
    a function of the share TP / (TP + FP + FN) of rows, and its limits are those of that share."""
    hits, rows = table[:, 0], table[:, :3].sum(axis=1)
    parts = _parts(unit, [(rows, hits)], level)
    return PartsStatistic(
        lambda shares: 2 * shares[:, 0] / (1 + shares[:, 0]), parts, few=_of_called(unit, rows)
    )


def matthews(unit: Whole, table: Floats, level: float = LEVEL) -> PartsStatistic:
    """The correlation of both classes (Matthews 1975), of the columns of `two_classes`. Its parts are the
    share of the positive rows that are called so, that of the negative ones that are not, and that of the
    rows that are positive. Undefined where a class has no row, or nobody or everybody is called positive."""
    found, alarms, missed, cleared = table.T
    positive, negative = found + missed, alarms + cleared
    shares = (positive, found), (negative, cleared), (positive + negative, positive)
    return PartsStatistic(_correlation, _parts(unit, shares, level))


def _correlation(shares: Floats) -> Floats:
    found, cleared, positive = shares.T
    called = positive * found + (1 - positive) * (1 - cleared)
    spread = np.sqrt(np.maximum(called * (1 - called), 0.0))
    return _quotient((found + cleared - 1) * np.sqrt(positive * (1 - positive)), spread)


def area_under_curve(
    unit: Whole, values: Floats, positive: Flags, negative: Flags, level: float = LEVEL
) -> PartsStatistic:
    """The chance that a positive row has a larger value than a negative one, ties counting half: the area
    under the receiver operating characteristic (Hanley & McNeil 1982). Its parts are both classes: it is the
    mean of the positive rows' placements among the negative ones, and that of the negative ones' (DeLong,
    DeLong & Clarke-Pearson 1988). Undefined where a class has no row. A row of neither does not count."""
    some, placed = positive | negative, np.zeros(len(values))
    if positive.any() and negative.any():
        placed[some] = placements(values[some], positive[some])
    classes = [own.astype(np.float64) for own in (positive, negative)]
    parts = _parts(unit, [(rows, rows * placed) for rows in classes], level)
    area = parts[0].rate if parts else 0.0
    return PartsStatistic(lambda shares: shares.sum(axis=1) - area, parts, 0.0, 1.0)


def placements(values: Floats, positive: Flags) -> Floats:
    """The share of the other class that each row is on the right side of, ties counting half, (N,)."""
    _, place = np.unique(values, return_inverse=True)
    table = np.zeros((2, int(place.max()) + 1))
    np.add.at(table, (positive.astype(np.int64), place), 1)
    below = (np.cumsum(table, axis=1) - table / 2) / table.sum(axis=1, keepdims=True)
    placed: Floats = np.where(positive, below[0, place], 1 - below[1, place])
    return placed


def calibration_error(confidence: Floats, right: Floats, bins: int) -> float:
    """The mean distance of a confidence from 0 to 1 from the share that is right, over bins of equal width
    weighted by their rows (expected calibration error, Naeini et al. 2015). A bin holds its upper end, the
    first one 0 too (Guo et al. 2017)."""
    place = np.clip(np.ceil(np.round(confidence * bins, 9)).astype(np.int64) - 1, 0, bins - 1)
    return float(np.abs(np.bincount(place, confidence - right, bins)).sum() / len(confidence))


def macro_mean(
    unit: Whole, group: Whole, groups: int, rows: Floats, points: Floats, level: float = LEVEL
) -> PartsStatistic:
    """The mean over groups of their means, from the group of each row, (N,). Undefined where a group has
    none."""
    here = [group == place for place in range(groups)]
    parts = _parts(unit, [(rows * some, points * some) for some in here], level)
    return PartsStatistic(lambda shares: shares.mean(axis=1), parts)


def win_rates(means: Floats, signs: Sequence[float]) -> Floats:
    """The share of the other models that each model beats, a tie counting half, mean over benchmarks, (M,):
    of their means on each benchmark, (M, B). `signs` says by benchmark whether more is better (1) or less
    (-1). The mean win rate of HELM (Liang et al. 2022), which breaks ties by their place."""
    signed = means * np.array(signs)
    gaps = signed[:, None, :] - signed[None, :, :]
    wins = np.where(np.abs(gaps) < TIED, 0.5, gaps > 0).astype(np.float64)
    wins[np.isnan(gaps)] = np.nan
    rates: Floats = ((wins.sum(axis=1) - 0.5) / (len(means) - 1)).mean(axis=1)
    return rates


@dataclass(frozen=True, slots=True, eq=False)
class _Replicated:
    """Items with two replicates or more, (I,) each."""

    unit: Whole
    replicates: Whole
    means: Floats
    variances: Floats


def _replicated(unit: Whole, item: Whole, values: Floats) -> _Replicated:
    _, first, place, counts = np.unique(item, return_index=True, return_inverse=True, return_counts=True)
    means = np.bincount(place, values) / counts
    squares = np.bincount(place, (values - means[place]) ** 2)
    several = counts > 1
    variances = squares[several] / (counts[several] - 1)
    return _Replicated(unit[first[several]], counts[several], means[several], variances)


def spread_within(unit: Whole, item: Whole, values: Floats, level: float = LEVEL) -> UnitEstimate:
    """The standard deviation of values from 0 to 1 over the replicates of an item, from the mean of the
    items' variances: a mean of numbers that have a largest value. Undefined where no item has two
    replicates."""
    items = _replicated(unit, item, values)
    if not len(items.means):
        return UNDETERMINED
    k = items.replicates
    most = float(((k // 2) * (k - k // 2) / (k * (k - 1))).max())
    return _deviation(items, items.variances, 0.0, most, level)


def spread_between(unit: Whole, item: Whole, values: Floats, level: float = LEVEL) -> UnitEstimate:
    """The standard deviation of the items' expected values, from 0 to 1: the variance of their means less
    what their replicates add to it (one-way analysis of variance; 0 where that is more). It is a mean over
    items of numbers between the least and the most that one item can have. Undefined of one item."""
    items = _replicated(unit, item, values)
    n = len(items.means)
    if n < 2:
        return UNDETERMINED
    mean = float(items.means.mean())
    moved = (items.means - mean) ** 2 * n / (n - 1) - items.variances / items.replicates
    least = -1 / (4 * (float(items.replicates.min()) - 1))
    return _deviation(items, moved, least, max(mean, 1 - mean) ** 2 * n / (n - 1), level)


def attempts(
    unit: Whole, item: Whole, right: Floats, k: int, every: bool, level: float = LEVEL
) -> UnitEstimate:
    """The chance that of `k` answers to an item one is right or more, or `every` one, mean over items, of
    answers that are right (1) or not (0), (N,). By item the unbiased estimate of n answers of which c are
    right: 1 - C(n - c, k) / C(n, k) (Chen et al. 2021, eq. 1), C(c, k) / C(n, k) (Yao et al. 2024, sec. 5).
    Undefined of other numbers, and where an item has fewer than `k` answers."""
    _, first, place, counts = np.unique(item, return_index=True, return_inverse=True, return_counts=True)
    if not len(first):
        return UNDETERMINED
    if not np.isin(right, (0.0, 1.0)).all():
        return replace(UNDETERMINED, no_interval=PARTS)
    if counts.min() < k:
        return replace(UNDETERMINED, no_interval=f"some item has fewer than {k} answers")
    correct = np.bincount(place, right).astype(np.int64)
    shares = [
        1 - comb(n - c, k) / comb(n, k) if not every else comb(c, k) / comb(n, k)
        for n, c in zip(counts.tolist(), correct.tolist(), strict=True)
    ]
    return share_of_rows(unit[first], np.ones(len(first)), np.array(shares), level).estimate()


PARTS = "answers earn parts of a point, and only 1 and 0 are counted"


def _deviation(
    items: _Replicated, variances: Floats, least: float, most: float, level: float
) -> UnitEstimate:
    """The root of a mean of what items add to a variance, from the least to the most."""
    points = np.clip((variances - least) / (most - least), 0.0, 1.0)
    own = _part(items.unit, np.ones(len(points)), points, level)
    return of_parts(partial(_root, least, most), [own])[0]


def _root(least: float, most: float, shares: Floats) -> Floats:
    value: Floats = np.sqrt(np.maximum(least + shares[:, 0] * (most - least), 0.0))
    return value


def player_strengths(
    unit: Whole, one: Whole, other: Whole, games: Floats, won: Floats, players: int, level: float = LEVEL
) -> list[UnitEstimate]:
    """The strengths of players, from how often two of them met in each row and what the one won, a tie half.
    The parts are the pairs that met: the share that the first of them won."""
    met = [
        (first, second, np.where(one == first, games, 0) * (other == second),
         np.where(one == second, games, 0) * (other == first))
        for first in range(players) for second in range(first + 1, players)
    ]  # fmt: skip
    pairs = [(first, second, own, theirs) for first, second, own, theirs in met if (own + theirs).any()]
    if not pairs:
        return [UNDETERMINED] * players
    lost = games - won
    points_of = [np.where(own > 0, won, 0.0) + np.where(theirs > 0, lost, 0.0) for *_, own, theirs in pairs]
    parts = [
        _part(unit, own + theirs, points, level)
        for (*_, own, theirs), points in zip(pairs, points_of, strict=True)
    ]
    firsts, seconds = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    counts = np.array([float((own + theirs).sum()) for *_, own, theirs in pairs])

    def of_shares(shares: Floats) -> Floats:
        wins = np.zeros((len(shares), players, players))
        wins[:, firsts, seconds], wins[:, seconds, firsts] = counts * shares, counts * (1 - shares)
        return strengths(wins)

    found = of_parts(of_shares, parts)
    rarer = min(
        int((unit_totals(unit, side[:, None]) > 0).sum())
        for (*_, own, theirs), points in zip(pairs, points_of, strict=True)
        for side in (points, own + theirs - points)
    )
    if rarer < DECIDED:
        return [replace(each, interval=None, no_interval=ONE_SIDED) for each in found]
    return found


DECIDED = 5
"""Units in which each player of a pair won: with fewer, what is printed is what luck made known."""
ONE_SIDED = f"of some two players one won in fewer than {DECIDED} units"
STEPS = 100


def strengths(wins: Floats) -> Floats:
    """The strengths of Bradley and Terry (1952), in log odds about a mean of 0, (B, P): of what the row's
    player won against the column's, (B, P, P), a tie half a win for both. By Newton's method; not a number
    where somebody won or lost everything against the others, directly or by way of third players, so that no
    strengths are the likeliest."""
    players = wins.shape[1]
    games = wins + wins.transpose(0, 2, 1)
    fitted = np.zeros(wins.shape[:2])
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
