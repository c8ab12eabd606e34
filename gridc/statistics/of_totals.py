"""A function of totals that its author wrote, and of which nothing else is known, with limits over units.

What a unit adds is known by its influence: the slope of the function at the totals, times the unit's own
totals (the infinitesimal jackknife). The mean of influences has Gaffke's limits (`unit_intervals`), with one
unit that nobody saw. That unit lies in the corner, of the box of what units have in each column, 0 included,
that moves the value furthest, so that what did not vary counts too.

A slope is not enough where the function bends: with four successes a quotient may be much larger than its
slope says. So the units seen, and the one that was not, get weights that bring the mean of influences to its
limit and are otherwise as even as can be (exponential tilting: Efron 1981, "Nonparametric standard errors
and confidence intervals", Canad. J. Statist. 9, sec. 11). The function has another slope at the totals with
these weights, and the same is done with that one, until the value moves no further. What it comes to is the
limit.

The jackknife with Student's t, BCa and the bootstrap-t were searched beside it (docs/sizes.md). A gate on how
many units carry the value makes each of them worse: what passes it is what luck made large. So there is none.

There is no interval of fewer than 20 units, where the function jumps or bends sharply at the totals (steps of
another size find other slopes), or where it depends on a column in which no unit has anything. No unit is
assumed to have more in a column than the largest that was seen: a unit that is far larger than the others has
to have been seen in each of the columns it could be in.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gridc.statistics.arrays import Floats
from gridc.statistics.clustered_logit import FLOOR
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import digits
from gridc.statistics.strata import UNDETERMINED
from gridc.statistics.unit_intervals import UnitEstimate, carriers, share_limit

METHOD = "Gaffke's limits of the units' influences, and the value of the totals weighted to reach them"
STEP, COARSE = 1e-4, 1e-2
"""Of a slope, as a share of a total; and of others, which are much the same where a function is smooth."""
SHARP = 0.1
"""The most by which these differ, of the squares of influences."""
TURNS, MOVED = 6, 1e-3
"""How often a slope is taken anew, and the share of the value by which the last one moves it."""
STEEPEST = 1e6
"""Of weights: only the units furthest out have any."""
FAINT = 1e-9
"""The share of a value by which units move it that is rounding."""

FEW = f"fewer than {FLOOR:g} units, and the limits of a function of totals need them"
UNMOVED = "no unit moves the value"
NOT_SMOOTH = "the function has no slope here: it jumps, bends sharply, or is not a number nearby"
UNSEEN = "the value depends on a total in which no unit has anything"
BEYOND = "the function is not a number at a limit"

OfTotals = Callable[[Floats], Floats]
"""From sums, (B, K), to one value of each, (B,), which may be NaN."""


def of_totals(function: OfTotals, totals: Floats, level: float = LEVEL) -> UnitEstimate:
    """The function of the sums of the units' totals, (G, K), and its limits; None where it is not a number.
    Its effective number of units is that of those that carry it."""
    if not len(totals):
        return UNDETERMINED
    with np.errstate(all="ignore"):
        return _of_units(function, totals, level)


def _of_units(function: OfTotals, totals: Floats, level: float) -> UnitEstimate:
    units, sums = len(totals), totals.sum(axis=0)
    (value,) = function(sums[None]).tolist()
    if not np.isfinite(value):
        return UnitEstimate(None, None, units, 0.0, "not determined")
    slope = _slope(function, sums)
    influences = (totals - sums / units) @ slope
    smooth = bool(np.isfinite(influences).all())
    found = UnitEstimate(digits(value), None, units, carriers(units * influences) if smooth else 0.0)
    reason = _withheld(function, totals, value, slope) if smooth else NOT_SMOOTH
    if reason:
        return replace(found, no_interval=reason)
    ends = [_limit(function, totals, value, slope, level, way) for way in (-1.0, 1.0)]
    if not np.isfinite(ends).all():
        return replace(found, no_interval=BEYOND)
    return replace(found, interval=(digits(ends[0]), digits(ends[1])), method=METHOD)


def _slope(function: OfTotals, sums: Floats) -> Floats:
    """Of the function at these sums, by each column, (K,); 0 by one that is 0."""
    steps = STEP * np.abs(sums)
    moved = np.diag(steps)
    rise: Floats = function(sums + moved) - function(sums - moved)
    slope: Floats = np.divide(rise, 2 * steps, out=np.zeros(len(sums)), where=steps > 0)
    return slope


def _withheld(function: OfTotals, totals: Floats, value: float, slope: Floats) -> str:
    """Why there is no interval; nothing where there is one."""
    sums = totals.sum(axis=0)
    if len(totals) < FLOOR:
        return FEW
    empty = sums == 0
    if empty.any() and not (function(sums + np.eye(len(sums))[empty]) == value).all():
        return UNSEEN
    # Forwards and backwards, because both sides of a sharp bend may make up for each other.
    steps = COARSE * np.abs(sums)
    apart = totals - sums / len(totals)
    told = apart @ slope
    for way in (1, -1):
        moved = function(sums + way * np.diag(steps)) - value
        coarse = apart @ np.divide(moved, way * steps, out=np.zeros(len(sums)), where=steps > 0)
        if not np.isfinite(coarse).all():
            return NOT_SMOOTH
        if float(np.abs(np.append(told, coarse)).max()) <= FAINT * max(abs(value), FAINT):
            return UNMOVED
        if ((coarse - told) ** 2).sum() > SHARP * (told**2).sum():
            return NOT_SMOOTH
    return ""


def _limit(
    function: OfTotals, totals: Floats, value: float, slope: Floats, level: float, way: float
) -> float:
    """The upper limit, and where `way` is -1 the lower one."""
    found = value
    for _ in range(TURNS):
        sums = _reached(totals, way * slope, level)
        (reached,) = function(sums[None]).tolist()
        slope = _slope(function, sums)
        if not np.isfinite([reached, *slope]).all():
            return float("nan")
        if way * (reached - found) <= MOVED * abs(found):
            break
        found = reached
    return found


def _reached(totals: Floats, slope: Floats, level: float) -> Floats:
    """The sums of units that are weighted so that the mean of what the slope makes of them is at its upper
    limit."""
    from scipy.optimize import brentq

    units = len(totals)
    least, most = np.minimum(totals.min(axis=0), 0.0), np.maximum(totals.max(axis=0), 0.0)
    rows = np.vstack([totals, np.where(slope > 0, most, least)])
    own = rows @ slope
    if own.max() <= own.min():
        still: Floats = totals.sum(axis=0)
        return still
    fallen = (own.max() - own) / (own.max() - own.min())
    reach = share_limit(np.ones(units), fallen[:-1], level, 0)

    def weighted(steepness: float) -> Floats:
        tilted = np.exp(-steepness * fallen)
        even: Floats = tilted / tilted.sum()
        return even

    def short(steepness: float) -> float:
        return float(weighted(steepness) @ fallen) - reach

    # Even weights count the unit that nobody saw in full, and can lie beyond the limit.
    if short(STEEPEST) >= 0:
        steepness = STEEPEST
    elif short(-1.0) <= 0:
        steepness = -1.0
    else:
        steepness = float(brentq(short, -1.0, STEEPEST))
    sums: Floats = units * (weighted(steepness) @ rows)
    return sums
