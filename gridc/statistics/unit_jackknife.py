"""Intervals of whatever is computed from totals, by leaving out one unit at a time.

A statistic of sums over units (a share, a difference, a ratio, a slope) is computed again without each unit.
Of G units its variance is (G - 1) / G times the sum of squares about the mean of these values, and the
interval is that of Student's t with G - 1 degrees of freedom (Efron & Stein 1981). As everywhere, units that
are few or unequal give none: below an effective number of `FLOOR` the errors are not known well enough.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.digits import digits
from gridc.statistics.jackknife import effective_number, enough
from gridc.statistics.resample import LEVEL
from gridc.statistics.unit_bootstrap import Ends

OfTotals = Callable[[Floats], Floats]
"""From totals, (B, K), to B values; not a number where the totals do not determine one."""


@dataclass(frozen=True, slots=True)
class UnitEstimate:
    """A value, None where it is not determined, and its interval: None of too few or too unequal units, where
    nothing varies between them, and where it is not determined without one of them."""

    value: float | None
    interval: Ends | None
    units: int
    effective: float


def unit_totals(units: Whole, columns: ArrayLike) -> Floats:
    """The totals of rows by unit, (G, K), from the unit of each row, (N,), and what each adds, (N, K)."""
    _, place = np.unique(units, return_inverse=True)
    values = np.asarray(columns, np.float64)
    totals = np.zeros((int(place.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(totals, place.ravel(), values)
    return totals


def estimate(
    totals: Floats,
    statistic: OfTotals,
    sizes: Floats | None = None,
    share: bool = False,
    informs: Sequence[Floats] = (),
) -> UnitEstimate:
    """The statistic of all units, (G, K), with its interval. `sizes`, (G,), say how much of a unit counts:
    the first column without them. A unit of size 0 is none. The interval of a `share` ends at 0 and 1.
    `informs`, (G,) each, say how much a unit tells of what the value turns on (of each side of a difference,
    of a slope): the effective number is the least of all."""
    weight = totals[:, 0] if sizes is None else sizes
    totals, weight = totals[weight > 0], weight[weight > 0]
    count = len(totals)
    effective = min(effective_number(part / max(part.max(initial=0), 1e-12)) for part in (weight, *informs))
    if not count:
        return UnitEstimate(None, None, 0, 0.0)
    whole = totals.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        (value,) = statistic(whole[None]).tolist()
        if not np.isfinite(value):
            return UnitEstimate(None, None, count, effective)
        if not enough(effective):
            return UnitEstimate(digits(value), None, count, effective)
        without = statistic(whole - totals)
    if not np.isfinite(without).all():
        return UnitEstimate(digits(value), None, count, effective)
    error = float(np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum()))
    ends = None
    if error > 1e-12:
        half = _quantile(count - 1) * error
        least, most = (0.0, 1.0) if share else (-np.inf, np.inf)
        ends = (digits(max(value - half, least)), digits(min(value + half, most)))
    return UnitEstimate(digits(value), ends, count, effective)


def ratio(above: int, below: int) -> OfTotals:
    """One total over another."""
    return lambda totals: np.divide(
        totals[:, above], totals[:, below], out=np.full(len(totals), np.nan), where=totals[:, below] > 0
    )


def _quantile(freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + LEVEL) / 2))
