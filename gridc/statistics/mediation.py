"""How much of an arm's effect goes through something that the arm takes away, such as a task's options.

With D the change of an outcome from the reference to the arm on one item and G the change of the mediator
(here minus the share that is lost, as the reference loses nothing), the model is linear:

    D = direct + slope x G + error,    through = slope x mean G,    direct = mean D - through.

The slope comes from one of two comparisons. *Between arms*: a second arm differs from the first in the
mediator alone, and the slope is that of the difference of both arms' outcomes on the difference of their
mediators, through the origin, item by item; what is assumed is that the arms differ in nothing else and that
what is lost acts alike whatever else the arm does. *Within the arm*: G differs between items, and the slope
is that of D on G within each group (a model); what is assumed besides is that nothing else makes an item both
lose and change, which no data of one arm can show (VanderWeele 2015, ch. 2).
"""

from dataclasses import dataclass

import numpy as np

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.unit_intervals import (
    OfTotals,
    UnitEstimate,
    gains_and_losses,
    share,
    smooth,
    unit_totals,
)
from gridc.statistics.unit_intervals import (
    change as change_of,
)


@dataclass(frozen=True, slots=True)
class MediatedEffect:
    """The mean change, the part of it that goes through the mediator and the rest, in units of the outcome;
    `lost` is the mean share lost, and `slope` what losing all of it changes. What goes through is None where
    the mediator does not vary in the comparison that the slope comes from."""

    total: UnitEstimate
    lost: UnitEstimate
    slope: UnitEstimate
    through: UnitEstimate
    rest: UnitEstimate


def between_arms(
    change: Floats, lost: Floats, remedied: Floats, still_lost: Floats, units: Whole
) -> MediatedEffect:
    """From rows of one item each, (N,): the change of the outcome from the reference to the arm and the share
    that the arm loses, the same two of the second arm, and the unit."""
    apart, moved = lost - still_lost, change - remedied
    columns = np.column_stack([np.ones(len(change)), change, lost, apart * moved, apart**2])
    totals = unit_totals(units, columns)

    def slope(sums: Floats) -> Floats:
        return _over(sums[:, 3], sums[:, 4])

    return _effect(change, units, totals, slope, totals[:, 4])


def within_arm(change: Floats, lost: Floats, groups: Whole, units: Whole) -> MediatedEffect:
    """From rows of one item each, (N,): the change of the outcome, the share lost, the group within which
    rows are compared (numbers from 0), and the unit."""
    ones = np.ones(len(change))
    own = np.column_stack([ones, change, lost, lost * change, lost**2])
    member = groups[:, None] == np.arange(int(groups.max(initial=-1)) + 1)
    columns = np.hstack([own[:, :3], *(own * inside[:, None] for inside in member.T)])
    totals = unit_totals(units, columns)

    def slope(sums: Floats) -> Floats:
        n, y, g, gy, gg = np.moveaxis(sums[:, 3:].reshape(len(sums), -1, 5), 2, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.where(n > 0, gy - g * y / n, 0.0).sum(axis=1)
            below = np.where(n > 0, gg - g * g / n, 0.0).sum(axis=1)
        return _over(above, below)

    size = np.maximum(member.sum(axis=0), 1)
    away = lost - ((lost[:, None] * member).sum(axis=0) / size)[groups]
    return _effect(change, units, totals, slope, unit_totals(units, away[:, None] ** 2)[:, 0])


def _effect(change: Floats, units: Whole, totals: Floats, slope: OfTotals, informs: Floats) -> MediatedEffect:
    """`informs`, (G,), is how much each unit tells of the slope."""

    def through(sums: Floats) -> Floats:
        value: Floats = slope(sums) * sums[:, 2] / sums[:, 0]
        return value

    return MediatedEffect(
        change_of(unit_totals(units, gains_and_losses(change))),
        share(totals[:, [0, 2]]),
        smooth(totals, slope, informs=(informs,)),
        smooth(totals, through, informs=(informs,)),
        smooth(totals, lambda sums: sums[:, 1] / sums[:, 0] - through(sums), informs=(informs,)),
    )


def _over(above: Floats, below: Floats) -> Floats:
    """The quotient, where what is below is more than rounding."""
    value: Floats = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 1e-9)
    return value
