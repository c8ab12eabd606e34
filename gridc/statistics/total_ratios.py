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

A difference of two such ratios, of models or levels on the same units, has both as its parts, and its limits
are no nearer than Student's t of what units change (`strata`).

What is a part of its whole in every row, as the weight of what was found is of all weight, is a share.
"""

from dataclasses import dataclass, replace
from math import exp, log

import numpy as np

from gridc.statistics import unbounded_means
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.bounded_means import lower_limit
from gridc.statistics.clustered_logit import effective_number
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import digits
from gridc.statistics.strata import UNDETERMINED, PartShare, PartsStatistic, itself, of_parts, part, students
from gridc.statistics.unit_intervals import UnitEstimate, unit_totals

METHOD = (
    "limits of each total, combined by the squares of how far each moves the logarithm; or Student's t of it "
    "over units, the farther"
)
MOST = 300.0
"""Of the logarithm of a limit over the value: no number is infinite."""
NO_SUCCESS = "no success"
NOTHING = "the first total is 0"
ONE_UNIT = "one unit does not show how units vary"
LEAST = 1e-9
"""Of a mean, below which its lower limit is as good as 0."""


@dataclass(frozen=True, slots=True, eq=False)
class _RowTotal:
    """What rows add to a total, and whether they count for it, (N,) each."""

    values: Floats
    counted: Floats


def ratio(
    unit: Whole, above: Floats, below: Floats, counted: Floats, level: float = LEVEL, *, part_of: bool = False
) -> PartsStatistic:
    """The sum of `above` over that of `below`, of rows, (N,) each, all 0 or more, and 0 where a row is not
    `counted`.

    With `part_of` what a row has above is known to be a part of what it has below, as the weights of what was
    found are of all weights. The ratio is then a share, with limits from any number of units. It has to be
    known and not seen: costs of less than one dollar a success are no part of it.

    None where `below` adds up to 0. Without an interval where one of the totals has none, such as below 20
    effective units or where all rows cost the same: what other units cost is then not known. Raises
    `ValueError` of rows below 0, or with more above than below where they are a part of it."""
    if (above < 0).any() or (below < 0).any():
        raise ValueError("a total of a ratio is made of numbers that are 0 or more")
    if part_of and (above > below * (1 + 1e-9)).any():
        raise ValueError("a row has more above than below, and was said to be a part of it")
    if not counted.any():
        return PartsStatistic(itself)
    if not below.any():
        return PartsStatistic(itself, undetermined=replace(UNDETERMINED, no_interval=NO_SUCCESS))
    if part_of:
        return _weighted_share(unit, np.minimum(above, below), below, counted, level)
    return _quotient(unit, _RowTotal(above, counted), _RowTotal(below, counted), level)


def _weighted_share(
    unit: Whole, found: Floats, weight: Floats, counted: Floats, level: float
) -> PartsStatistic:
    """What is found of all weight: Gaffke's limits, in which the unit that nobody saw is as large as the
    largest one and as heavy, row by row, as the heaviest. Of few heavy units luck decides how many are seen,
    and whether large ones are among them."""
    columns = unit_totals(unit, np.column_stack([counted, weight, found]))
    rows, weights, points = columns[columns[:, 1] > 0].T
    added = float(rows.max() * (weights / rows).max())
    low = lower_limit(points, weights, level, added)
    high = 1 - lower_limit(weights - points, weights, level, added)
    rate, total = float(points.sum() / weights.sum()), float(weights.sum())
    influences = (columns[:, 2] - rate * columns[:, 1]) / total
    share = PartShare(rate, (digits(low), digits(high)), columns[:, 1], influences)
    return PartsStatistic(itself, [share], 0.0, 1.0)


def _quotient(unit: Whole, above: "_RowTotal", below: "_RowTotal", level: float) -> PartsStatistic:
    """The mean of the one over that of the other, limits of which move the logarithm."""
    rows = unit_totals(unit, above.counted[:, None])[:, 0]
    means = above.values.sum(), below.values.sum()
    value = float(means[0] / means[1])
    found = UnitEstimate(digits(value), None, int((rows > 0).sum()), effective_number(rows / rows.max()))

    def without(reason: str) -> PartsStatistic:
        return PartsStatistic(itself, undetermined=replace(found, no_interval=reason))

    if value == 0:
        return without(NOTHING)
    if found.units < 2:
        return without(ONE_UNIT)
    parts: list[PartShare] = []
    for each in (above, below):
        own = _part(unit, each, level)
        if isinstance(own, str):
            return without(own)
        parts.append(own)
    (logarithm,) = of_parts(lambda each: np.log(each[:, 0] / each[:, 1]), parts)
    if logarithm.interval is None:
        return without("a limit of one of the totals is 0")
    sums = unit_totals(unit, np.column_stack([above.values, below.values]))
    influences = (sums / sums.sum(axis=0)) @ np.array([1.0, -1.0])
    # What totals have in common cancels out, and with it the room that their own limits leave.
    half, middle = min(students(influences, level), MOST), log(value)
    low, high = min(logarithm.interval[0], middle - half), max(logarithm.interval[1], middle + half)
    ends = exp(low), exp(high)
    return PartsStatistic(
        itself, [PartShare(value, ends, rows, value * influences, is_share=False)], method=METHOD
    )


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
