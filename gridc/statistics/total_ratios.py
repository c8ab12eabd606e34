"""Ratios of two totals that units vary in both: cost per success, tokens per right answer, weighted recall.

A cost per success is uncertain in three ways: what rows cost, how many of them succeed, and what both have
to do with each other. A jackknife knows only what varied. Where nearly all rows succeed it does not see what
a failure costs, and where few do it takes the error of a quotient for that of a straight line. So each total
has limits of its own, as a mean of the rows: one that is 0 or a fixed number in each row is a share
(`unit_intervals`), any other has no upper end (`unbounded_means`), and what rare large values would do is
foretold from the logarithms. The ratio is moved to them one after the other, on the log scale, and the moves
add up by squares with the correlation of the units' influences, or the largest that is possible where few
units carry a total (`strata`). So of few successes the upper limit lies far away, and is never near because
nothing varied. With one success of a hundred rows that cost alike it is forty times the value. Where totals
go together they cancel out, so the limits are no nearer than Student's t of the logarithm.

Nobody can know what a failure costs that was never seen: where fewer than about ten units fail, or succeed,
it is assumed that those not seen cost what the others do.

A ratio of two such ratios, of models or levels on the same units, has the four totals as its parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log, sqrt

import numpy as np

from gridc.statistics import unbounded_means
from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.clustered_logit import effective_number
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import digits
from gridc.statistics.strata import UNDETERMINED, PartShare, of_parts, part
from gridc.statistics.unit_intervals import UnitEstimate, carriers, share, unit_totals

METHOD = (
    "limits of each total, combined by the squares of how far each moves the logarithm; or Student's t of it "
    "over units, the farther"
)
MOST = 300.0
"""Of the logarithm of a limit over the value: no number is infinite."""
NO_SUCCESS = "no success"
NOTHING = "the first total is 0"
NO_COST = "a total that is compared is 0"
LEAST = 1e-9
"""Of a mean, below which its lower limit is as good as 0."""


@dataclass(frozen=True, slots=True, eq=False)
class _RowTotal:
    """What rows add to a total, and whether they count for it, (N,) each; 1 where it multiplies the ratio
    and -1 where it divides it."""

    values: Floats
    counted: Floats
    way: float


def ratio(
    unit: Whole, above: Floats, below: Floats, level: float = LEVEL, *, part_of: bool = False
) -> UnitEstimate:
    """The sum of `above` over that of `below`, of rows, (N,) each, all 0 or more.

    With `part_of` what a row has above is known to be a part of what it has below, as the weights of what was
    found are of all weights. The ratio is then a share, with its limits, and any number of units will do. It
    has to be known and not seen: costs of less than one dollar a success are no part of it.

    None where `below` adds up to 0. Without an interval where one of the totals has none, such as below 20
    effective units or where all rows cost the same: what other units cost is then not known. Raises
    `ValueError` of rows below 0, or with more above than below where they are a part of it."""
    _check(above, below)
    if part_of and (above > below * (1 + 1e-9)).any():
        raise ValueError("a row has more above than below, and was said to be a part of it")
    if not below.any():
        return replace(UNDETERMINED, no_interval=NO_SUCCESS)
    if part_of:
        return share(unit_totals(unit, np.column_stack([below, above])), level)
    return _of_totals(unit, _ratio(above, below, np.ones(len(unit)), 1.0), level)


def ratio_gap(unit: Whole, other: Flags, above: Floats, below: Floats, level: float = LEVEL) -> UnitEstimate:
    """The ratio of the rows that are not of the `other` side over that of those that are: how many times as
    much. Rows of both sides stand below each other, (N,) each, with the same number for the same unit.

    None where `below` adds up to 0 on a side, or `above` on the other one."""
    _check(above, below)
    if not below[other].any() or not below[~other].any():
        return replace(UNDETERMINED, no_interval=NO_SUCCESS)
    if not above[other].any():
        return replace(UNDETERMINED, no_interval=NO_COST)
    here, there = (~other).astype(np.float64), other.astype(np.float64)
    totals = [*_ratio(above, below, here, 1.0), *_ratio(above, below, there, -1.0)]
    return _of_totals(unit, totals, level)


def _check(above: Floats, below: Floats) -> None:
    if (above < 0).any() or (below < 0).any():
        raise ValueError("a total of a ratio is made of numbers that are 0 or more")


def _ratio(above: Floats, below: Floats, counted: Floats, way: float) -> list[_RowTotal]:
    return [_RowTotal(above * counted, counted, way), _RowTotal(below * counted, counted, -way)]


def _of_totals(unit: Whole, totals: Sequence[_RowTotal], level: float) -> UnitEstimate:
    """The product of the means of the rows, each to the power of its way."""
    ways = np.array([each.way for each in totals])
    means = np.array([each.values.sum() / each.counted.sum() for each in totals])
    value = digits(float(np.prod(means**ways)))
    rows = unit_totals(unit, totals[0].counted[:, None])[:, 0]
    found = UnitEstimate(value, None, int((rows > 0).sum()), effective_number(rows / rows.max()))
    if value == 0:
        return replace(found, no_interval=NOTHING)
    parts = [_part(unit, each, level) for each in totals]
    reasons = [each for each in parts if isinstance(each, str)]
    if reasons:
        return replace(found, no_interval=reasons[0])
    (logarithm,) = of_parts(
        lambda each: np.log(each) @ ways, [each for each in parts if not isinstance(each, str)]
    )
    if logarithm.interval is None:
        return replace(found, no_interval="a limit of one of the totals is 0")
    # What totals have in common cancels out, and with it the room that their own limits leave.
    half, middle = _by_units(unit, totals, level), log(float(np.prod(means**ways)))
    low, high = min(logarithm.interval[0], middle - half), max(logarithm.interval[1], middle + half)
    return replace(logarithm, value=value, interval=(digits(exp(low)), digits(exp(high))), method=METHOD)


def _by_units(unit: Whole, totals: Sequence[_RowTotal], level: float) -> float:
    """Student's t times the error of the logarithm over units (the infinitesimal jackknife), of as many as
    carry it."""
    from scipy.special import stdtrit

    sums = unit_totals(unit, np.column_stack([each.values for each in totals]))
    influences = (sums / sums.sum(axis=0)) @ np.array([each.way for each in totals])
    units = len(sums)
    error = sqrt(units / (units - 1) * float((influences**2).sum()))
    freedom = max(carriers(influences), 2.0) - 1
    return min(float(stdtrit(freedom, (1 + level) / 2)) * error, MOST)


def _part(unit: Whole, total: _RowTotal, level: float) -> PartShare | str:
    """The mean of the rows with its limits, or why it has none."""
    rows, sums = unit_totals(unit, np.column_stack([total.counted, total.values])).T
    most = float(total.values.max())
    if ((total.values == 0) | (total.values == most)).all():
        found = part(rows, sums / most, level)
        mean, ends, influences = found.rate * most, found.ends, found.influences * most
        low, high = ends[0] * most, ends[1] * most
    else:
        some = total.counted > 0
        apart = unbounded_means.mean(unit[some], total.counted[some], total.values[some], level)
        if apart.interval is None:
            return apart.no_interval
        mean, (low, high) = float(sums.sum() / rows.sum()), apart.interval
        influences = (sums - mean * rows) / rows.sum()
    return PartShare(mean, (max(low, LEAST * mean), high), rows, influences)
