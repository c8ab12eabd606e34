"""Odds of a bad answer by what its parts were exposed to: a logit with fixed effects of groups.

The errors are those of the cluster jackknife (`jackknife`), by unit, as of every hypothesis; where the units
are too few for them, or the logit is separated, only the reason stands.

How much of an arm's effect goes through something that the arm takes away, such as a task's options: with D
the change of an outcome from the reference to the arm on one item and G the change of the mediator (here
minus the share that is lost, as the reference loses nothing), the model is linear:

    D = direct + slope x G + error,    through = slope x mean G,    direct = mean D - through.

The slope comes from one of two comparisons. *Between arms*: a second arm differs from the first in the
mediator alone, and the slope is that of the difference of both arms' outcomes on the difference of their
mediators, through the origin, item by item; what is assumed is that the arms differ in nothing else and that
what is lost acts alike whatever else the arm does. *Within the arm*: G differs between items, and the slope
is that of D on G within each group (a model); what is assumed besides is that nothing else makes an item both
lose and change, which no data of one arm can show (VanderWeele 2015, ch. 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

import numpy as np

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.case_totals import case_table
from gridc.statistics.clustered_logit import NotEstimable, maximum
from gridc.statistics.jackknife import Jackknife
from gridc.statistics.unit_bootstrap import Ends
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


@dataclass(frozen=True, slots=True)
class ExposureOdds:
    """The odds ratio of a bad answer for one more of an exposure, the others and the group held; `problem`
    says why there is none, or no interval."""

    exposure: str
    ratio: float | None
    interval: Ends | None
    p: float | None
    problem: str


def exposure_odds(
    names: Sequence[str], exposures: Floats, bad: Floats, groups: Whole, units: Whole
) -> tuple[ExposureOdds, ...]:
    """From rows, (N,): the exposures (N, K), how bad the answer is (0 to 1), the group and the unit. An
    exposure that never varies has no odds."""
    varies = [len(np.unique(column)) > 1 for column in exposures.T]
    dummies = (groups[:, None] == np.arange(int(groups.max(initial=-1)) + 1)).astype(np.float64)
    patterns, pattern = np.unique(np.hstack([exposures[:, varies], dummies]), axis=0, return_inverse=True)
    table = case_table(units, pattern.ravel(), bad, len(patterns))
    problem, fitted = "", None
    try:
        fitted = Jackknife(patterns, table, maximum(patterns, table)) if any(varies) else None
    except NotEstimable as error:
        problem = str(error)
    found, column = [], 0
    for name, varied in zip(names, varies, strict=True):
        if not varied:
            found.append(ExposureOdds(name, None, None, None, "it never varies"))
        elif fitted is None:
            found.append(ExposureOdds(name, None, None, None, problem))
        else:
            found.append(_odds(name, fitted, column, patterns.shape[1]))
        column += varied
    return tuple(found)


def _odds(name: str, fitted: Jackknife, column: int, width: int) -> ExposureOdds:
    ratio = exp(float(fitted.coefficients[column]))
    try:
        tested = fitted.combination(np.eye(width)[column])
    except NotEstimable as error:
        return ExposureOdds(name, ratio, None, None, str(error))
    if not tested.spread.enough:
        problem = (
            f"{tested.spread.effective:.1f} units of one size would tell as much: too few for an interval"
        )
        return ExposureOdds(name, ratio, None, None, problem)
    return ExposureOdds(name, ratio, (exp(tested.low), exp(tested.high)), tested.p, "")
