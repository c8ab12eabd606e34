"""Intervals over units, by a method for each kind of quantity; and where there is none.

Units are independent of each other; the rows of one are not. What is computed from totals of units has one
method for each kind of quantity:

    share        the sum of points in [0, 1] over the rows that could earn one
    change       the mean of differences in [-1, 1], from what rows gain and what they lose

(`strata` has gaps, ratios and other statistics of several shares, `unbounded_means` means of values without
an upper end, `bounded_ratios` slopes.)

A share is a mean of units that earn at most their rows, and a change one of units that gain or lose at most
theirs, so their limits are Gaffke's (`bounded_means`): one unit is added that nobody saw, with nothing and
then with everything. They hold for any number of units, of any kinds, however wide that makes them. Of units
of one size that earn all or nothing they are Clopper and Pearson's, and of such changes they leave 0 out
exactly where McNemar's exact test rejects. Of fewer than 20 effective units all of this is wide; beside it
documents print the limits for new items of the same units.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.bounded_means import lower_limit
from gridc.statistics.clustered_logit import effective_number, enough_cases
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import digits

Ends = tuple[float, float]
"""Of an interval."""


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


ERRORS = (0.999, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-6, 1e-9)
"""Of intervals that are tried for a p-value, which is no smaller than the last one."""
NARROW = 1e-6
"""The share of a p-value to which it is found."""


def p_at(limits: Callable[[float], Ends | None], null: float) -> float:
    """The two-sided p-value that belongs to the intervals of a value: the smallest error, 1 - level, from
    which on all that are tried leave `null` out. So p is at most .05 only where the 95 % interval does. 1
    where none does, or there are no intervals. `limits(level)` are those at a level, `null` inside where it
    is one of them."""

    def leaves_out(error: float) -> bool:
        ends = limits(1 - error)
        return ends is not None and not ends[0] <= null <= ends[1]

    # From wide errors down, because a method can have intervals that do not lie in each other.
    out = 1.0
    for error in ERRORS:
        if not leaves_out(error):
            break
        out = error
    else:
        return out
    if out == 1.0:
        return out
    holds = error
    while out - holds > NARROW * out:
        middle = sqrt(out * holds)
        holds, out = (holds, middle) if leaves_out(middle) else (middle, out)
    return digits(out)


CARRIERS = 8.0
"""The least K for correlations of shares that are taken as they are."""
FAINT = 1e-24
"""The square of an influence that is rounding."""
LIMITS = "Gaffke's limits (Clopper and Pearson's of units that earn all or nothing)"


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

    @property
    def few(self) -> bool:
        """Whether the units are worth fewer than 20 equal ones: limits that hold for them are wide."""
        return not enough_cases(self.effective)


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
    """Of each unit the rows and their points, (G, 2)."""
    totals, found = _counted(totals, totals[:, 0], totals[:, 1])
    if found.value is None:
        return found
    return _with_interval(found, LIMITS, *share_limits(totals[:, 0], totals[:, 1], level))


def change(totals: Floats, level: float = LEVEL) -> UnitEstimate:
    """Of each unit the rows, the points that they gain and the points that they lose, (G, 3): see
    `gains_and_losses`."""
    totals, found = _counted(totals, totals[:, 0], totals[:, 1] - totals[:, 2])
    if found.value is None:
        return found
    rows, gained, lost = totals.T
    # (1 + change) / 2 is a share.
    low, high = (2 * end - 1 for end in _gaffke(rows, (rows + gained - lost) / 2, level))
    return _with_interval(found, LIMITS, low, high)


def carriers(influences: Floats) -> float:
    """How many units carry the spread: (sum d^2)^2 / sum d^4 of their influences; 0 where there is none."""
    squares = influences**2
    fourth = float((squares**2).sum())
    return float(squares.sum() ** 2 / fourth) if squares.max(initial=0.0) > FAINT else 0.0


def clopper_pearson(rate: float, n: float, error: float) -> Ends:
    """Clopper and Pearson's limits of a share of n trials, which need not be whole numbers."""
    from scipy.special import betaincinv

    points = rate * n
    low = 0.0 if rate <= 0 else float(betaincinv(points, n - points + 1, error / 2))
    high = 1.0 if rate >= 1 else float(betaincinv(points + 1, n - points, 1 - error / 2))
    return low, high


def as_independent(n: float, units: float, alone: float, spread: float, level: float = LEVEL) -> float:
    """How many independent rows show as much as n of several units: by the variance of a statistic of n
    independent ones over its jackknife variance, less what Student's t adds for few units."""
    from scipy.special import ndtri, stdtrit

    if spread <= 0 or alone <= 0:
        return float(units)
    tail = (1 + level) / 2
    few = float(ndtri(tail) / stdtrit(units - 1, tail)) ** 2
    return min(float(n), n * alone / spread * few)


def _counted(totals: Floats, rows: Floats, points: Floats) -> tuple[Floats, UnitEstimate]:
    """The units that have rows, (G,), and their points over these."""
    some = rows > 0
    if not some.any():
        return totals[some], UnitEstimate(None, None, 0, 0.0, "not determined")
    value = digits(float(points.sum() / rows.sum()))
    return totals[some], UnitEstimate(value, None, int(some.sum()), effective_number(rows / rows.max()))


def _with_interval(found: UnitEstimate, method: str, low: float, high: float) -> UnitEstimate:
    return replace(found, interval=(digits(low), digits(high)), method=method)


def share_limits(rows: Whole | Floats, points: Whole | Floats, level: float = LEVEL) -> Ends:
    """The limits of `share` by units' rows and points, (G,) each, some rows among them."""
    rows, points = (each[rows > 0].astype(np.float64) for each in (rows, points))
    low, high = _share(rows, points, level)
    return digits(low), digits(high)


def share_limit(rows: Whole | Floats, points: Whole | Floats, level: float, end: int) -> float:
    """One of `share_limits`, the lower one or the upper one, without the other."""
    rows, points = (each[rows > 0].astype(np.float64) for each in (rows, points))
    if _all_or_nothing(rows, points) or float(points.sum()) in (0.0, float(rows.sum())):
        return share_limits(rows, points, level)[end]
    return digits(1 - lower_limit(rows - points, rows, level) if end else lower_limit(points, rows, level))


def _all_or_nothing(rows: Floats, points: Floats) -> bool:
    """Whether units are of one size, and each earns all or nothing."""
    return bool((rows == rows[0]).all() and ((points == 0) | (points == rows)).all())


def _share(rows: Floats, points: Floats, level: float) -> Ends:
    if _all_or_nothing(rows, points):
        return clopper_pearson(float(points.sum() / rows.sum()), len(rows), 1 - level)
    exact = at_bound(points, rows, (1 + level) / 2)
    return _gaffke(rows, points, level) if exact is None else exact


def _gaffke(rows: Floats, points: Floats, level: float) -> Ends:
    return lower_limit(points, rows, level), 1 - lower_limit(rows - points, rows, level)
