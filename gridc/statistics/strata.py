"""Limits of a statistic of several shares: of the rates of both classes, scores of benchmarks, shares of
games that pairs of players win.

A jackknife knows only what varied. Where the few units that matter happen to be alike, the others carry the
spread, and what is printed is far too narrow: of nine positive items, all of them found, a sample knows no
spread, and yet up to a third of such items may be missed. So each part has limits of its own, from its own
units, and the statistic is moved to them one part after the other. Its limits are as far away as the root of
the sum of the squares of these moves (MOVER: Newcombe 2001, "Estimating the difference between differences",
Statist. Med. 20; Zou & Donner 2008, "Construction of confidence limits about effect measures", Statist. Med.
27). Of one part they are the statistic at its limits.

The moves of two parts without a unit in common are independent. Otherwise they are correlated as their units'
influences are, or, where few units carry one of them and the correlation is not known, as much as the units
that they share allow.

A smooth statistic that has no parts, such as BLEU, is taken as the mean of the influences of its units, each
between the least and the most that one unit could have (`of_influences`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, sqrt

import numpy as np

from gridc.statistics.arrays import Floats
from gridc.statistics.clustered_logit import effective_number
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import digits
from gridc.statistics.unit_intervals import (
    CARRIERS,
    LIMITS,
    Ends,
    UnitEstimate,
    carriers,
    change,
    share_limits,
)

PLACES = np.linspace(0, 1, 5)
"""From the lower limit of a part to its upper one, where a statistic is computed: it can turn in between."""
FAINT = 1e-24
"""The square of a rate's influence that is rounding."""
SEVERAL = f"{LIMITS} of each share, combined by the squares of how far each moves the value"
CHANGES = (
    "limits of what units change (Gaffke's, of ratios Student's t), or those of both values combined by "
    "squares where they are farther"
)
STEP = 1e-6
"""Of a slope by a share."""
TINY = 1e-300
INFLUENCES = (
    "Gaffke's limits of the mean of the units' influences, each between the least and the most of a unit"
)

UNDETERMINED = UnitEstimate(None, None, 0, 0.0, "not determined")
OfShares = Callable[[Floats], Floats]
"""From the shares of the parts, (B, P), to one value or several of each row, (B,) or (B, Q)."""


@dataclass(frozen=True, slots=True, eq=False)
class PartShare:
    """A share or another mean, its limits, and of each unit of all parts the rows and how far it moves the
    mean, (G,). Of a share no unit has more than its rows."""

    rate: float
    ends: Ends
    rows: Floats
    influences: Floats
    is_share: bool = True


def itself(shares: Floats) -> Floats:
    """Of one part, (B, 1), its share."""
    return shares[:, 0]


def _same_rows(parts: Sequence[PartShare]) -> bool:
    """Whether they are shares of the same rows, so that what units change is all there is."""
    return all(each.is_share and np.array_equal(each.rows, parts[0].rows) for each in parts)


def part(rows: Floats, points: Floats, level: float = LEVEL) -> PartShare:
    """Of each unit the rows and their points, (G,) each, 0 where a unit has none in this part, which has
    some."""
    total = float(rows.sum())
    rate = float(points.sum()) / total
    return PartShare(rate, share_limits(rows, points, level), rows, (points - rate * rows) / total)


def of_parts(
    statistic: OfShares, parts: Sequence[PartShare], least: float = -inf, most: float = inf
) -> list[UnitEstimate]:
    """The statistic of the parts' shares, each of its values with its limits, cut at `least` and `most`. Its
    effective number of units is the least of the parts'. Not determined where it is not a number."""
    units = int((np.array([each.rows for each in parts]) > 0).any(axis=0).sum())
    effective = min(effective_number(each.rows / each.rows.max()) for each in parts)
    with np.errstate(divide="ignore", invalid="ignore"):
        values, lows, highs = _limits(statistic, parts)
    method = SEVERAL if len(parts) > 1 else LIMITS
    return [
        UnitEstimate(
            digits(value), (digits(max(low, least)), digits(min(high, most))), units, effective, "", method
        )
        if np.isfinite([value, low, high]).all()
        else UnitEstimate(None, None, units, effective, "not determined")
        for value, low, high in zip(values, lows, highs, strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class PartsStatistic:
    """A statistic of the shares of parts, from `least` to `most`. Of no part where rows do not determine it
    or its limits, which is then said by `undetermined`. `few` says why few units give no interval of it,
    empty where they do, and `method` how limits are made where the parts have limits of another kind."""

    value: OfShares
    parts: Sequence[PartShare] = ()
    least: float = -inf
    most: float = inf
    few: str = ""
    undetermined: UnitEstimate = UNDETERMINED
    method: str = ""

    def estimate(self) -> UnitEstimate:
        """Its value and limits."""
        if not self.parts:
            return self.undetermined
        (found,) = of_parts(self.value, self.parts, self.least, self.most)
        return self._gated(found)

    def minus(self, other: "PartsStatistic", level: float = LEVEL) -> UnitEstimate:
        """This one less another of the same units, in the same order: see `part`. Where two shares go
        together their limits cancel out, and a change that few units show would be ruled out with them. So
        the limits are no nearer than those of what units change (`change_limits`), and are these for shares
        of the same rows."""
        if not (self.parts and other.parts):
            lacking = other if self.parts else self
            one, two = self.estimate().value, other.estimate().value
            value = None if one is None or two is None else digits(one - two)
            return replace(lacking.undetermined, value=value)
        size, widest = len(self.parts), self.most - self.least
        both = [*self.parts, *other.parts]

        def apart(shares: Floats) -> Floats:
            return self.value(shares[:, :size]) - other.value(shares[:, size:])

        (found,) = of_parts(apart, both, -widest, widest)
        if size == 1 and found.interval is not None:
            low, high = change_limits(apart, both, level)
            if not (self.value is other.value is itself and _same_rows(both)):
                low, high = min(low, found.interval[0]), max(high, found.interval[1])
            ends = digits(max(low, -widest)), digits(min(high, widest))
            found = replace(found, interval=ends, method=CHANGES)
        return other._gated(self._gated(found))

    def _gated(self, found: UnitEstimate) -> UnitEstimate:
        if found.few and self.few:
            return replace(found, interval=None, no_interval=self.few)
        return replace(found, method=self.method) if self.method and found.method != CHANGES else found


def change_limits(difference: OfShares, parts: Sequence[PartShare], level: float = LEVEL) -> Ends:
    """Limits of a difference of two statistics by how far each unit moves it: Gaffke's, of moves between the
    least and the most that the unit's rows allow; or Student's t of as many units as carry it, where a part
    is a ratio and has no such bounds."""
    rates = np.array([each.rate for each in parts])
    # Into the range of shares, beyond which a statistic may have no value.
    steps = np.diag(np.where(rates < 0.5, STEP, -STEP))
    here = float(difference(rates[None])[0])
    slopes = (difference(rates + steps) - here) / steps.diagonal()
    moves = slopes @ np.array([each.influences for each in parts])
    if not all(each.is_share for each in parts):
        half = students(moves, level)
        return here - half, here + half
    least, most = np.zeros(len(moves)), np.zeros(len(moves))
    for slope, each in zip(slopes.tolist(), parts, strict=True):
        nothing, everything = (
            slope * each.rows / each.rows.sum() * end for end in (-each.rate, 1 - each.rate)
        )
        least += np.minimum(nothing, everything)
        most += np.maximum(nothing, everything)
    room, gained = most - least, moves - least
    some = room > 0
    if not some.any():
        return here, here
    low, high = share_limits(room[some], np.clip(gained[some], 0.0, room[some]), level)
    return here + float(least.sum() + low * room.sum()), here + float(least.sum() + high * room.sum())


def students(influences: Floats, level: float = LEVEL) -> float:
    """Student's t times the error of the sum of the influences of units, (G,), of as many as carry it."""
    from scipy.special import stdtrit

    units = len(influences)
    error = sqrt(units / (units - 1) * float((influences**2).sum()))
    freedom = max(carriers(influences / max(float(np.abs(influences).max()), TINY)), 2.0) - 1
    return float(stdtrit(freedom, (1 + level) / 2)) * error


def gap(totals: Floats, level: float = LEVEL) -> UnitEstimate:
    """Of each unit the rows and points on one side and on the other one, (G, 4): the second share less the
    first one. Where units have as many rows on both sides it is a change of units."""
    rows, points, others, theirs = totals.T
    if np.array_equal(rows, others):
        moved = theirs - points
        return change(np.column_stack([rows, np.maximum(moved, 0.0), np.maximum(-moved, 0.0)]), level)
    if not rows.any() or not others.any():
        return UNDETERMINED
    sides = part(others, theirs, level), part(rows, points, level)
    (found,) = of_parts(lambda shares: shares[:, 0] - shares[:, 1], sides, -1.0, 1.0)
    return found


def share_ratio(totals: Floats, level: float = LEVEL) -> UnitEstimate:
    """Of each unit the rows and points on one side and on the other one, (G, 4): the first share over the
    second; not determined where that is 0, and without an interval where the first is."""
    rows, points, others, theirs = totals.T
    if not rows.any() or not theirs.any():
        return UNDETERMINED
    sides = part(rows, points, level), part(others, theirs, level)
    if not points.any():
        return replace(UNDETERMINED, value=0.0, no_interval="the first share is 0")
    (found,) = of_parts(lambda shares: np.log(shares[:, 0] / shares[:, 1]), sides)
    value = digits(sides[0].rate / sides[1].rate)
    if found.interval is None:  # a share can be as good as 0
        return replace(found, value=value, no_interval="a limit of one of the shares is 0")
    low, high = found.interval
    return replace(found, value=value, interval=(digits(exp(low)), digits(exp(high))))


def of_influences(value: float, influences: Floats, ends: Ends, level: float = LEVEL) -> Ends:
    """The limits of a smooth statistic, from how far each unit moves it times their number, (G,), and the
    least and most that this could be of a unit, which those seen may pass."""
    low, high = min(ends[0], float(influences.min())), max(ends[1], float(influences.max()))
    points = np.clip((influences - low) / (high - low), 0.0, 1.0)
    below, above = share_limits(np.ones(len(points)), points, level)
    return value + low + below * (high - low), value + low + above * (high - low)


def _limits(statistic: OfShares, parts: Sequence[PartShare]) -> tuple[list[float], list[float], list[float]]:
    """Every value of the statistic, its lower limit and its upper one."""
    rates = np.array([each.rate for each in parts])
    placed = np.array([low + PLACES * (high - low) for low, high in (each.ends for each in parts)])
    tried = np.tile(rates, (len(parts), len(PLACES), 1))
    for at, own in enumerate(placed):
        tried[at, :, at] = own
    here = np.atleast_1d(statistic(rates[None])[0])
    found = statistic(tried.reshape(-1, len(parts))).reshape(*placed.shape, len(here))
    ways, together = np.sign(placed - rates[:, None]), correlations(parts)
    down, up = (
        [_reach(sign * (found[:, :, column] - value), ways, together) for column, value in enumerate(here)]
        for sign in (-1, 1)
    )
    return here.tolist(), (here - down).tolist(), (here + up).tolist()


def _reach(moved: Floats, ways: Floats, together: tuple[Floats, Floats]) -> float:
    """How far all parts together move a value, from how far each does at its places, and whether these lie
    below its share or above, (P, places) both."""
    known, most = together
    here, furthest = np.arange(len(moved)), moved.argmax(axis=1)
    moves = np.maximum(moved[here, furthest], 0.0)
    signed = moves * ways[here, furthest]
    return sqrt(max(float(signed @ known @ signed + moves @ most @ moves), 0.0))


def correlations(parts: Sequence[PartShare]) -> tuple[Floats, Floats]:
    """The correlation of each two parts by the influences of their units; and where few units carry one of
    them the largest that the units in both allow; (P, P) each, 0 where it is the other."""
    influences = np.array([each.influences for each in parts])
    squares = np.array([each.rows for each in parts]) ** 2
    sizes = np.sqrt(np.maximum((influences**2).sum(axis=1), FAINT))
    carried = np.array([carriers(own) >= CARRIERS for own in influences])
    both = carried[:, None] & carried
    known = np.where(both, influences @ influences.T / np.outer(sizes, sizes), 0.0)
    shared = squares @ (squares > 0).T.astype(np.float64) / squares.sum(axis=1)[:, None]
    most = np.where(both, 0.0, np.sqrt(shared * shared.T))
    np.fill_diagonal(known, 1.0)
    np.fill_diagonal(most, 0.0)
    return known, most
