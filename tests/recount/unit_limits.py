"""Limits of shares and of their differences over units, computed again with plain scipy.

Gaffke's test is done here by Gil-Pelaez' inversion of the characteristic function of a weighted sum of
exponentials, where gridc integrates along a line through a saddle point.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import exp, inf, log, nan, sqrt

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import beta, norm, t

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
    return bool(sizes.sum() ** 2 / (sizes**2).sum() < 20)


def below_zero(values: list[float]) -> float:
    """P(sum of value x exponential <= 0)."""
    scaled = np.array(values) / max(map(abs, values))

    def imaginary(place: float) -> float:
        angle = float(np.arctan(place * scaled).sum())
        return float(np.sin(angle)) * float(np.exp(-0.5 * np.log1p((place * scaled) ** 2).sum())) / place

    return float(0.5 - quad(imaginary, 0, inf, limit=500)[0] / np.pi)


def gaffke(n: np.ndarray, y: np.ndarray, error: float = 0.025) -> tuple[float, float]:
    def least(points: np.ndarray) -> float:
        def excess(rate: float) -> float:
            return below_zero([*(points - rate * n), -rate * n.max()]) - error

        top = points.sum() / n.sum()
        return 0.0 if excess(1e-9) > 0 else float(brentq(excess, 1e-9, top))

    return least(y), 1 - least(n - y)


def carriers(d: np.ndarray) -> float:
    return float((d**2).sum() ** 2 / (d**4).sum()) if abs(d).max() > 1e-12 else 0.0


def limits(n: np.ndarray, y: np.ndarray, error: float = 0.025) -> tuple[float, float]:
    """Of a share, both one-sided at an error: exact at 0 and 1 for units of one size, Gaffke's where few
    units carry it, else Korn and Graubard's."""
    count, rate = len(n), y.sum() / n.sum()
    if rate in (0, 1):
        sizes = sorted(n, reverse=True)
        reach = _all_or_none(sizes, error)
        return (0.0, reach) if rate == 0 else (1 - reach, 1.0)
    if carriers(y - rate * n) < 8 or few(n):
        return gaffke(n, y, error)
    left = (y.sum() - y) / (n.sum() - n)
    variance = (count - 1) / count * ((left - left.mean()) ** 2).sum()
    worth = rate * (1 - rate) / variance * (norm.ppf(1 - error) / t.ppf(1 - error, count - 1)) ** 2
    worth = min(worth, n.sum())
    return (
        float(beta.ppf(error, rate * worth, worth - rate * worth + 1)),
        float(beta.ppf(1 - error, rate * worth + 1, worth - rate * worth)),
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


def share(rows: Rows) -> tuple[float, Interval]:
    if not rows:
        return nan, None
    n, y = by_unit(rows).T
    rate = float(y.sum() / n.sum())
    return rate, None if few(n) and rate not in (0, 1) else limits(n, y)


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
    """Of rows with a difference each."""
    if not rows:
        return nan, None
    split = [(unit, (1.0, max(own, 0.0), max(-own, 0.0))) for unit, (_, own) in rows]
    n, gained, lost = by_unit(split).T
    value = float((gained - lost).sum() / n.sum())
    if few(n):
        return value, None
    if carriers(gained - lost - value * n) < 8:
        low, high = gaffke(n, (n + gained - lost) / 2)
        return value, (2 * low - 1, 2 * high - 1)
    return value, mover((n, gained), (n, lost))


def gap(clean: Rows, dirty: Rows) -> tuple[float, Interval]:
    """The share of the second rows less that of the first, which share their units."""
    both = [(unit, (n, y, 0.0, 0.0)) for unit, (n, y) in clean]
    both += [(unit, (0.0, 0.0, n, y)) for unit, (n, y) in dirty]
    totals: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(4))
    for unit, parts in both:
        totals[unit] += parts
    n, y, m, x = np.array(list(totals.values())).T
    if not n.sum() or not m.sum():
        return nan, None
    value = float(x.sum() / m.sum() - y.sum() / n.sum())
    if few(n[n > 0]) or few(m[m > 0]) or few(n + m):
        return value, None
    return value, mover((m, x), (n, y))


def ratio(rows: Rows) -> Interval:
    """Of two shares: rows of four totals."""
    n, y, m, x = by_unit(rows).T
    if not x.sum() or few(n) or few(m) or min(
        carriers(y - y.sum() / n.sum() * n), carriers(x - x.sum() / m.sum() * m)
    ) < 8:  # fmt: skip
        return None
    low, high = mover((n, y), (m, x), lambda rate: log(max(rate, 1e-300)))
    return exp(low), exp(high)


def mean(rows: Rows, logarithm: bool = True) -> tuple[float, Interval]:
    """A sum of values over another one. The wider at each end of t of the jackknife (on the log scale where
    no value is below 0) and of t with Hall's cubic, inverted by search; none where few units carry it."""
    n, y = by_unit(rows).T
    count, value = len(n), float(y.sum() / n.sum())
    left = (y.sum() - y) / (n.sum() - n)
    moved = (count - 1) * (left.mean() - left)
    if few(n) or carriers(moved) < min(12, max(8, count / 5)):
        return value, None
    error = float(moved.std()) / sqrt(count - 1)
    quantile = float(t.ppf(0.975, count - 1))
    a = float((moved**3).mean() / (moved**2).mean() ** 1.5) / sqrt(count)

    def cubic(x: float, side: float) -> float:
        return x + a / 6 + a * x**2 / 3 + a**2 * x**3 / 27 - side

    low, high = (value - error * brentq(cubic, -100, 100, (side,)) for side in (quantile, -quantile))
    if not logarithm:
        return value, (min(low, value - quantile * error), max(high, value + quantile * error))
    half = quantile * sqrt((count - 1) * float(np.log(left).var()))
    return value, (min(low, value * exp(-half)), max(high, value * exp(half)))
