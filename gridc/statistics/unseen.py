"""What units do not show: Gaffke's test beside a logit's, where no unit goes against what it claims.

An error that is made of the units that were drawn knows nothing of those that were not: where one unit in a
hundred loses all and the others gain a little, none of the former is in a third of studies of 100, and a test
finds that all gain. Gaffke's test (`bounded_means`) needs to see none. So where no unit goes against a claim
it has to agree. It is left out where each unit moved as far as one can, or not at all: a unit that was not
drawn can be no larger.

This is a check and no cure. Where units earn nearly all and one in forty loses all, those that are drawn go
both ways by little, and a difference is found that is not there in .3 of studies. No test that rules this out
has the power of a logit (Bahadur & Savage 1956), so ten or more of each kind are assumed, and said. Three
units in place of one make it no better and find less: docs/sizes.md has the figures.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.bounded_means import mean_above_zero
from gridc.statistics.case_totals import CaseTable

SAME = 1e-9
"""The share of the largest change by which changes are equal."""


def contrast(arms: int, level: int, reference: int) -> Floats:
    """The weights of a level's rate less that of the reference, (arms,)."""
    weights = np.zeros(arms)
    weights[level], weights[reference] = 1.0, -1.0
    return weights


def slope(doses: Sequence[float]) -> Floats:
    """The weights of what rises along doses, (arms,)."""
    values = np.array(doses, np.float64)
    weights: Floats = values - values.mean()
    return weights


Agreement = tuple[float | None, float | None]
"""Gaffke's p of a rise and of a fall, each None where some unit goes against it."""


def against_zero(units: CaseTable, weights: ArrayLike) -> Agreement:
    """The check of: the weighted sum of the rates of the arms is above 0, and of: it is below. `units` by
    arm; `weights`, (arms,), add up to 0. 1 where an arm has no answer."""
    w, totals = np.asarray(weights, np.float64), units.cases @ units.rows
    if not len(units.cases) or (totals[w != 0] <= 0).any():
        return 1.0, 1.0
    per = w / np.where(totals > 0, totals, 1.0)
    moved = units.sums @ per
    # The least of a unit: all of its answers earn their points where they count against it.
    least, most = (float((units.rows @ np.minimum(way * per, 0)).min()) for way in (1, -1))
    return _above(moved, units.cases, least), _above(-moved, units.cases, most)


def _above(moved: Floats, cases: Whole, least: float) -> float | None:
    values = np.round(moved / -least, 12)
    some = np.abs(values) > SAME
    if (values < -SAME).any() or (np.abs(values[some]) >= 1 - SAME).all():
        return None
    return mean_above_zero(np.repeat(values, cases), min(-1.0, float(values.min())))


def of_direction(check: Agreement, ratio: float) -> float | None:
    """What has to agree with an estimate over its error."""
    return check[0 if ratio > 0 else 1]


def agreed(p: float, agrees: float | None) -> float:
    """A two-sided p, no smaller than what has to agree allows."""
    return p if agrees is None else max(p, min(1.0, 2 * agrees))


def jointly(p: float, each: Sequence[float], agrees: Sequence[float | None]) -> float:
    """The p of a joint test; where some part has to be agreed with, no smaller than that of its parts, each
    checked (Bonferroni)."""
    checked = any(own is not None for own in agrees)
    return max(p, min(1.0, len(each) * min(each))) if checked else p
