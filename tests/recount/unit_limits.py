"""Limits of shares and of their differences over units, computed again with plain scipy.

Gaffke's test is done here by Gil-Pelaez' inversion of the characteristic function of a weighted sum of
exponentials, where gridc integrates along a line through a saddle point.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from math import exp, log, nan, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.stats import beta, t

Interval = tuple[float, float] | None
Rows = Sequence[tuple[str, tuple[float, ...]]]
"""The unit of each, and what it adds: how many there are, and their points."""


def by_unit(rows: Rows) -> np.ndarray:
    """The totals of each unit that has any."""
    totals: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(rows[0][1]))
    for unit, parts in rows:
        totals[unit] = [held + part for held, part in zip(totals[unit], parts, strict=True)]
    return np.array([own for own in totals.values() if own[0] > 0])


def few(sizes: np.ndarray) -> bool:
    """Below 20 units of one size."""
    return bool(sizes.sum() ** 2 / (sizes**2).sum() < 20 * (1 - 1e-9))


PLACES = np.exp(np.arange(-36, 36, 0.04))[:, None]
"""Where the formula is summed: even steps of the logarithm. Steps of a quarter move it by less than 1e-13."""


def below_zero(values: Sequence[float] | np.ndarray) -> float:
    """P(sum of value x exponential <= 0), by Gil-Pelaez's formula."""
    scaled, counts = np.unique(np.asarray(values) / np.abs(values).max(), return_counts=True)
    turned = PLACES * scaled
    sizes = np.exp(-0.5 * (np.log1p(turned**2) @ counts))
    return float(0.5 - (np.sin(np.arctan(turned) @ counts) * sizes).sum() * 0.04 / np.pi)


def gaffke(n: np.ndarray, y: np.ndarray, error: float = 0.025) -> tuple[float, float]:
    def least(points: np.ndarray) -> float:
        return _least(tuple(sorted(zip(n.tolist(), points.tolist(), strict=True))), error)

    return least(y), 1 - least(n - y)


@cache
def _least(units: tuple[tuple[float, float], ...], error: float) -> float:
    """Many rows of a document rest on the same units."""
    n, points = np.array(units).T
    added = (n**2).sum() / n.sum()

    def excess(rate: float) -> float:
        return below_zero([*(points - rate * n), -rate * added]) - error

    top = points.sum() / n.sum()
    return 0.0 if excess(1e-9) > 0 else float(brentq(excess, 1e-9, top))


def carriers(d: np.ndarray) -> float:
    return float((d**2).sum() ** 2 / (d**4).sum()) if abs(d).max() > 1e-12 else 0.0


def limits(n: np.ndarray, y: np.ndarray, error: float = 0.025) -> tuple[float, float]:
    """Of a share, both one-sided at an error: Clopper and Pearson's of units of one size that earn all or
    nothing; of other units exact at 0 and 1, else Gaffke's."""
    count, rate = len(n), float(y.sum() / n.sum())
    if whole(n, y):
        return clopper_pearson(rate, count, error)
    if rate in (0, 1):
        reach = _all_or_none(sorted(n, reverse=True), error)
        return (0.0, reach) if rate == 0 else (1 - reach, 1.0)
    return gaffke(n, y, error)


def whole(n: np.ndarray, y: np.ndarray) -> bool:
    """Whether units of one size have all or nothing."""
    return len(set(n.tolist())) == 1 and all(each in (0, n[0]) for each in abs(y).tolist())


def clopper_pearson(rate: float, n: float, error: float) -> tuple[float, float]:
    return (
        float(beta.ppf(error, rate * n, n - rate * n + 1)) if rate > 0 else 0.0,
        float(beta.ppf(1 - error, rate * n + 1, n - rate * n)) if rate < 1 else 1.0,
    )


def _all_or_none(sizes: Sequence[float], error: float) -> float:
    """The largest mean share under which units earn nothing with a chance of `error`, by search over how many
    of the largest could earn anything."""
    best = 0.0
    for many in range(1, len(sizes) + 1):
        c = exp((log(error) + sum(map(log, sizes[:many]))) / many)
        shares = [1 - min(1.0, c / size) for size in sizes[:many]]
        if np.prod([1 - share for share in shares]) >= error - 1e-12:
            best = max(best, sum(a * b for a, b in zip(sizes, shares, strict=False)) / sum(sizes))
    return best


Found = tuple[float, Interval]
Part = dict[str, tuple[float, float]]
"""Of the units of a part the rows and their points."""


def rate(of: Part) -> float:
    return sum(y for _, y in of.values()) / sum(n for n, _ in of.values())


def of_parts(value: Callable[[Sequence[float]], float], parts: Sequence[Part], error: float = 0.025) -> Found:
    """A function of shares, and how far it is to either side while one share after the other goes from its
    lower limit to its upper one, in four steps."""
    if not all(parts):
        return nan, None
    rates = [rate(each) for each in parts]
    here = value(rates)
    if not np.isfinite(here):
        return nan, None
    moves: list[list[tuple[float, int]]] = [[], []]
    for at, each in enumerate(parts):
        n, y = np.array(list(each.values())).T
        low, high = limits(n, y, error)
        steps = []
        for place in np.linspace(low, high, 5).tolist():
            moved = value([place if other == at else own for other, own in enumerate(rates)])
            steps.append((moved - here, int(np.sign(place - rates[at]))))
        moves[0].append(max((max(-moved, 0.0), way) for moved, way in steps))
        moves[1].append(max((max(moved, 0.0), way) for moved, way in steps))
    down, up = (sqrt(max(0.0, together(side, parts))) for side in moves)
    return here, (here - down, here + up)


def together(moves: Sequence[tuple[float, int]], parts: Sequence[Part]) -> float:
    """The square of what the moves of all parts come to."""
    found = sum(size**2 for size, _ in moves)
    for one, other in combinations(range(len(parts)), 2):
        (first, way), (second, back) = moves[one], moves[other]
        known, most = correlation(parts[one], parts[other])
        found += 2 * first * second * (most if known is None else known * way * back)
    return found


def correlation(one: Part, other: Part) -> tuple[float | None, float]:
    """By how far units move both shares, None where few carry either; and the largest that the units in both
    allow."""
    both = sorted({*one, *other})
    moved, shared = [], []
    for own, beside in ((one, other), (other, one)):
        share = rate(own)
        pairs = [own.get(unit, (0.0, 0.0)) for unit in both]
        moved.append(np.array([y - share * n for n, y in pairs]))
        squares = {unit: n**2 for unit, (n, _) in own.items()}
        shared.append(sum(squares[unit] for unit in own if unit in beside) / sum(squares.values()))
    if min(map(carriers, moved)) < 8:
        return None, sqrt(shared[0] * shared[1])
    return float(moved[0] @ moved[1] / sqrt((moved[0] @ moved[0]) * (moved[1] @ moved[1]))), 0.0


def part_of(n: np.ndarray, y: np.ndarray) -> Part:
    return {str(at): (float(n[at]), float(y[at])) for at in np.flatnonzero(n)}


def share(rows: Rows) -> tuple[float, Interval]:
    if not rows:
        return nan, None
    n, y = by_unit(rows).T
    return float(y.sum() / n.sum()), limits(n, y)


def mover(
    one: tuple[np.ndarray, ...], other: tuple[np.ndarray, ...], scale: Callable[[float], float] = float
) -> tuple[float, float]:
    moved, ends, at = [], [], []
    for n, y in (one, other):
        rate = y.sum() / n.sum()
        moved.append(y - rate * n)
        ends.append([scale(end) for end in limits(n, y)])
        at.append(scale(rate))
    r = float(np.corrcoef(*moved)[0, 1]) if all(abs(each).max() > 1e-12 for each in moved) else 0.0
    down, up = at[0] - ends[0][0], ends[1][1] - at[1]
    rise, fall = ends[0][1] - at[0], at[1] - ends[1][0]
    low = sqrt(max(down**2 + up**2 - 2 * r * down * up, 0))
    high = sqrt(max(rise**2 + fall**2 - 2 * r * rise * fall, 0))
    return at[0] - at[1] - low, at[0] - at[1] + high


def change(rows: Rows) -> tuple[float, Interval]:
    """Of rows with a difference each, or with how much each counts and its difference times that."""
    if not rows:
        return nan, None
    split = [(unit, (n, max(own, 0.0), max(-own, 0.0))) for unit, (n, own) in rows]
    return change_of_units(*by_unit(split).T)


def change_of_units(n: np.ndarray, gained: np.ndarray, lost: np.ndarray) -> tuple[float, Interval]:
    """Of units' rows, and what these gain and lose."""
    value = float((gained - lost).sum() / n.sum())
    low, high = gaffke(n, (n + gained - lost) / 2)
    return value, (2 * low - 1, 2 * high - 1)


def gap(clean: Rows, dirty: Rows) -> tuple[float, Interval]:
    """The share of the second rows less that of the first, which share their units."""
    both = [(unit, (n, y, 0.0, 0.0)) for unit, (n, y) in clean]
    both += [(unit, (0.0, 0.0, n, y)) for unit, (n, y) in dirty]
    totals: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(4))
    for unit, parts in both:
        totals[unit] += parts
    return gap_of_units(*np.array(list(totals.values())).T)


def gap_of_units(n: np.ndarray, y: np.ndarray, m: np.ndarray, x: np.ndarray) -> tuple[float, Interval]:
    """The same of units' rows and points, of the first and of the second."""
    if not n.sum() or not m.sum():
        return nan, None
    if np.array_equal(n, m):
        some = n > 0
        return change_of_units(n[some], np.maximum(x - y, 0)[some], np.maximum(y - x, 0)[some])
    some = n + m > 0
    n, y, m, x = n[some], y[some], m[some], x[some]
    found, ends = of_parts(lambda shares: shares[0] - shares[1], [part_of(m, x), part_of(n, y)])
    assert ends is not None
    return found, (max(ends[0], -1.0), min(ends[1], 1.0))


def ratio(rows: Rows) -> Interval:
    """Of two shares: rows of four totals."""
    n, y, m, x = by_unit(rows).T
    if not x.sum() or not y.sum():
        return None
    _, ends = of_parts(lambda shares: log(shares[0] / shares[1]), [part_of(n, y), part_of(m, x)])
    return None if ends is None else (exp(ends[0]), exp(ends[1]))


def least_ratio(above: np.ndarray, below: np.ndarray, least: np.ndarray, error: float = 0.025) -> float:
    """Gaffke's lower limit of one sum over another one, of units whose part of the first is at least so much;
    one more unit has the least of all."""
    top, bottom = above.sum() / below.sum(), (least / below).min()

    def excess(ratio: float) -> float:
        lowest = min((least - ratio * below).min(), (above - ratio * below).min())
        return below_zero([*(above - ratio * below), lowest]) - error

    margin = 1e-7 * max(abs(top), abs(bottom))
    if top - bottom <= 2 * margin or excess(bottom + margin) > 0:
        return float(bottom)
    return float(brentq(excess, bottom + margin, top - margin))


def slope(
    above: np.ndarray, below: np.ndarray, least: np.ndarray, most: np.ndarray
) -> tuple[float, Interval]:
    """A ratio whose first sum has ends: of the units that have any of the second."""
    above, below, least, most = (each[below > 1e-9] for each in (above, below, least, most))
    if not len(below):
        return nan, None
    ends = least_ratio(above, below, least), -least_ratio(-above, below, -most)
    return float(above.sum() / below.sum()), ends


def foretold(n: np.ndarray, y: np.ndarray) -> float:
    """What the spread of logarithms says of the square of a mean's relative error."""
    some = y > 0
    count = int(some.sum())
    if count < 2:
        return 0.0
    rates, weights = np.log(y[some] / n[some]), np.log(n[some])
    middle = np.median(rates)
    upper = [rate - middle for rate in rates if rate > middle] or [0.0]
    held = [max(rate, middle - 2.5 * sqrt(np.mean(np.square(upper)))) for rate in rates]
    logs = held + weights
    grown = np.exp(np.cov(logs, weights) * (count - 1) / max(count - 3, 1))
    return max(0.0, float(grown[0, 0] * len(y) / count - 2 * grown[0, 1] + grown[1, 1])) / len(y)


def jackknife(n: np.ndarray, y: np.ndarray) -> tuple[float, float, Callable[[float, float], float]]:
    """A ratio, its error, and the end that t with Hall's cubic gives at some error and side."""
    count, value = len(n), float(y.sum() / n.sum())
    moved = y - value * n
    error = float(np.sqrt((moved**2).sum() * count / (count - 1)) / n.sum())
    a = float((moved**3).mean() / (moved**2).mean() ** 1.5) / sqrt(count)
    quantile = float(t.ppf(0.975, count - 1))

    def end(used: float, side: float) -> float:
        def cubic(x: float) -> float:
            return x + a / 6 + a * x**2 / 3 + a**2 * x**3 / 27 - side * quantile

        return value - used * float(brentq(cubic, -200, 200))

    return value, error, end


def unbounded(rows: Rows) -> tuple[float, Interval]:
    """A sum of values from 0 up over that of sizes: rows of size and value."""
    n, y = by_unit(rows).T
    sizes, values = np.array([own for _, own in rows]).T
    value, error, end = jackknife(n, y)
    some = int((y > 0).sum())
    if few(n) or some < 2 or error < 1e-12:
        return value, None
    square = max((error / value) ** 2, foretold(n, y), foretold(sizes, values))
    high = value * exp(float(t.ppf(0.975, some - 1)) * sqrt(log(1 + square)))
    return value, (least_ratio(y, n, 0 * n), max(high, end(error, -1)))


def difference(rows: Rows) -> tuple[float, Interval]:
    """The same of values of either sign."""
    n, y = by_unit(rows).T
    sizes, values = np.array([own for _, own in rows]).T
    value, error, end = jackknife(n, y)
    if few(n) or error < 1e-12:
        return value, None

    def total(weights: np.ndarray, moved: np.ndarray) -> float:
        parts = [np.clip(way * moved, 0, None) for way in (1, -1)]
        return sum(
            float((part**2).sum())
            if (part > 0).sum() < 2
            else foretold(weights, part) * float(part.sum()) ** 2
            for part in parts
        )

    error = max(error, sqrt(max(total(n, y), total(sizes, values))) / n.sum())
    half = float(t.ppf(0.975, len(n) - 1)) * error
    return value, (min(value - half, end(error, 1)), max(value + half, end(error, -1)))


def product(one: tuple[float, Interval], other: tuple[float, Interval]) -> Interval:
    """The least and the most of a product on the ellipse of the limits of both."""
    turned = np.linspace(0, 2 * np.pi, 721)
    sides = []
    for (value, ends), way in ((one, np.cos(turned)), (other, np.sin(turned))):
        assert ends is not None
        sides.append([value + abs(w) * ((ends[1] if w > 0 else ends[0]) - value) for w in way])
    found = [a * b for a, b in zip(*sides, strict=True)]
    return min(found), max(found)
