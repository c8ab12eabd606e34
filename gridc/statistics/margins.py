"""Whether the difference of two rates lies beyond a bound: tests at a margin of units in pairs.

Where every unit is one item that is answered once under each arm and earns 0 or 1 points, the exact test of
`paired_items` decides, unless there are too many to count.

Otherwise unit u has n_u0 and n_u1 answers under the reference and the level, of which s_u0 and s_u1 earn a
point; N and S are their sums over units. It moves the difference S_1/N_1 - S_0/N_0 by

    y_u = s_u1/N_1 - s_u0/N_0 - b w_u,   w_u = (n_u0/N_0 + n_u1/N_1) / 2,

beyond the bound b, and the sum of y is above 0 exactly where the difference is above b. None can be lower
than that of a unit as large as the largest that lost the share L of its answers: the largest change that is
stated, or every one. So Gaffke's test (`bounded_means`) of a mean above 0 decides: it needs no spread between
units, no symmetry and no unit that changes, and assumes that units are independent and that how large they
are does not go with how much they change. Of n units of one size of which none changes, p of a difference
above -m is (1 - m / L)^n; and where there is no difference no valid test shows it with a probability of more
than alpha (1 - m / L)^-n (Bahadur & Savage 1956). Where a unit changed by more than L nothing is shown.

By both tests p falls with every answer that is gained and rises with every one that is lost.

The answers of a unit are counted under both arms alike (blocks); where their numbers differ, w is between.
"""

from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gridc.statistics import paired_items
from gridc.statistics.arrays import Flags, Floats
from gridc.statistics.bounded_means import LEAST, mean_above_zero, means_above_zero
from gridc.statistics.case_totals import CaseTable
from gridc.statistics.digits import decimals

METHOD = "Gaffke's test of a mean of units"
OF_ITEMS = "the exact test of paired items (Tango's score)"
"""What decides, in words: plans and reports say the same."""


def method(units: CaseTable, level: int, reference: int) -> str:
    """What decides of these units, in words."""
    return METHOD if _items(units, level, reference) is None else OF_ITEMS


def method_of(answers: ArrayLike, whole: bool) -> str:
    """What will decide of units with so many answers under each arm, (U,); `whole` as in `above_in_each`."""
    counts = np.asarray(answers, np.float64)
    single = whole and 0 < len(counts) <= paired_items.MOST and bool((counts == 1).all())
    return OF_ITEMS if single else METHOD


def above(units: CaseTable, level: int, reference: int, bound: float, largest: float = 1.0) -> float:
    """p of: the rate of arm `level` less that of arm `reference` is above `bound`, -1 to 1, if the rate of no
    unit changes by more than `largest`. The patterns of `units` are the arms. 1 where an arm has no answer,
    there is no unit, or one changed by more."""
    totals = units.cases @ units.rows
    if not len(units.cases) or totals[level] <= 0 or totals[reference] <= 0:
        return 1.0
    if largest < 1 and _changed(units.rows, units.sums, level, reference)[units.cases > 0].max() > largest:
        return 1.0
    if bound <= -largest:
        return LEAST  # no difference is lower
    if (items := _items(units, level, reference)) is not None:
        return paired_items.above(*items, bound)
    return _mean_above(units, level, reference, bound, largest)


def _mean_above(units: CaseTable, level: int, reference: int, bound: float, largest: float) -> float:
    """The same of units of any kind, by Gaffke's test."""
    totals = units.cases @ units.rows
    values, lowest = _moved(units.rows, units.sums, totals, level, reference, bound, largest)
    return LEAST if lowest >= 0 else mean_above_zero(np.repeat(values, units.cases), lowest)


def above_in_each(
    rows: Floats,
    sums: Floats,
    studies: Any,
    level: int,
    reference: int,
    bound: float,
    alpha: float,
    whole: bool,
    largest: float = 1.0,
) -> Flags:
    """Whether p of `above` is `alpha` or less in each of many studies, (N,), as near as `means_above_zero`
    and `paired_items.shown` are: of kinds of units with `rows` and `sums`, (F, arms), each holds as many as
    `studies`, (N, F), dense or sparse, says. All hold as many rows of each arm. `whole`: a unit of one
    answer earns 0 or 1."""
    allowed = np.ones(studies.shape[0], np.bool_)
    if largest < 1:
        allowed = np.asarray(studies @ (_changed(rows, sums, level, reference) > largest)).ravel() == 0
    if bound <= -largest:
        return allowed
    totals = np.asarray(studies[:1] @ rows)[0]
    items = round(float(totals[level]))
    if whole and items <= paired_items.MOST and (rows == 1).all():
        moved = sums[:, level] - sums[:, reference]
        gained, lost = (np.asarray(studies @ (moved == way), np.float64).round() for way in (1, -1))
        shown = paired_items.shown(items, gained.astype(np.int64), lost.astype(np.int64), bound, alpha)
        return allowed & shown
    values, lowest = _moved(rows, sums, totals, level, reference, bound, largest)
    flags: Flags = allowed & (means_above_zero(values, studies, lowest, alpha) <= alpha)
    return flags


def _items(units: CaseTable, level: int, reference: int) -> tuple[int, int, int] | None:
    """How many items there are, how many are gained and how many lost, where the exact test is of them."""
    arms = [reference, level]
    some = units.rows[:, arms].any(axis=1)
    sums, cases = units.sums[some][:, arms], units.cases[some]
    items, moved = int(cases.sum()), sums[:, 1] - sums[:, 0]
    if items > paired_items.MOST or (units.rows[some][:, arms] != 1).any() or (sums * (1 - sums)).any():
        return None
    return items, int(cases[moved > 0].sum()), int(cases[moved < 0].sum())


def _moved(
    rows: Floats, sums: Floats, totals: Floats, level: int, reference: int, bound: float, largest: float
) -> tuple[Floats, float]:
    """How far units of each kind move the difference beyond the bound, (F,), and the least that one could."""
    shares = rows / np.where(totals > 0, totals, 1.0)
    weight = (shares[:, level] + shares[:, reference]) / 2
    moved = sums[:, level] / totals[level] - sums[:, reference] / totals[reference]
    lost = np.maximum(largest * shares[:, reference], shares[:, reference] - (1 - largest) * shares[:, level])
    lowest = -float((lost + bound * weight).max())
    scale = float(weight.max())  # so that equal units have equal digits
    values: Floats = np.round((moved - bound * weight) / scale, 12)
    lowest = round(lowest / scale, 12)
    if largest < 1:  # what changed by more is not tested
        return np.maximum(values, lowest), lowest
    return values, min(lowest, float(values.min()))


def _changed(rows: Floats, sums: Floats, level: int, reference: int) -> Floats:
    """By how much the rate of each kind of unit changes, (F,), without the last digits; 0 where it has no
    answer under one of both."""
    with np.errstate(divide="ignore", invalid="ignore"):
        change = sums[:, level] / rows[:, level] - sums[:, reference] / rows[:, reference]
    moved: Floats = np.abs(np.nan_to_num(change)).round(9)
    return moved


def below(units: CaseTable, level: int, reference: int, bound: float, largest: float = 1.0) -> float:
    """p of: the difference is below `bound`."""
    return above(units, reference, level, -bound, largest)


def within(units: CaseTable, level: int, reference: int, margin: float, largest: float = 1.0) -> float:
    """p of: the difference lies inside (-margin, margin), by two one-sided tests."""
    sides = above(units, level, reference, -margin, largest), below(units, level, reference, margin, largest)
    return max(sides)


def beyond(units: CaseTable, level: int, reference: int, margin: float, largest: float = 1.0) -> float:
    """p of: the difference is as far from 0 as the margin or further, on either side: twice the smaller,
    because both can be wrong at once where the margin is small."""
    sides = above(units, level, reference, margin, largest), below(units, level, reference, -margin, largest)
    return min(1.0, 2 * min(sides))


def unchanged(units: CaseTable, level: int, reference: int, margin: float, largest: float = 1.0) -> float:
    """p of a margin that is shown, on either side, if no answer changes: where it is above alpha, units like
    these show the margin by no outcome, but for gains where only losses matter."""
    still = CaseTable(units.rows, np.zeros_like(units.rows), units.cases)
    return above(still, level, reference, -margin, largest)


def limits(
    units: CaseTable, level: int, reference: int, alpha: float, largest: float = 1.0
) -> tuple[float, float] | None:
    """The lower and the upper limit of the difference, each missed with probability `alpha`: the bounds at
    which `above` and `below` come to alpha. So the limits lie inside a margin exactly where `within` is at
    most alpha. None where an arm has no answer."""
    if largest < 1 and _changed(units.rows, units.sums, level, reference)[units.cases > 0].max() > largest:
        return None
    items = _items(units, level, reference)
    if items is not None and items[0]:
        count, gained, lost = items
        low, high = (paired_items.lower_limit(count, *way, alpha) for way in ((gained, lost), (lost, gained)))
        return decimals(low), decimals(-high)
    return mean_limits(units, level, reference, alpha, largest)


def mean_limits(
    units: CaseTable, level: int, reference: int, alpha: float, largest: float = 1.0
) -> tuple[float, float] | None:
    """The same of units of any kind, by Gaffke's test: of single items too."""
    from scipy.optimize import brentq

    totals = units.cases @ units.rows
    if not len(units.cases) or totals[level] <= 0 or totals[reference] <= 0:
        return None

    def limit(one: int, other: int) -> float:
        def excess(bound: float) -> float:
            return log(_mean_above(units, one, other, bound, largest)) - log(alpha)

        ends = -largest * (1 - 1e-9), 1.0
        if excess(ends[0]) >= 0:
            return -largest
        return decimals(float(brentq(excess, *ends, xtol=1e-13)))

    return limit(level, reference), -limit(reference, level)
