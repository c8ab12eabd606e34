"""Gaffke's test of a bounded mean, and its check of a logit where no unit goes against it.

The test is of a mean of independent values of which only one end is known. It is made for few units, rare
changes and values without any spread.

Gaffke's test (2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a
nonnegative variable", Math. Methods Statist. 14): to n values that are -L at the lowest, one more of -L is
added, and all n + 1 get random weights that are uniform on the simplex. The p-value of "the mean is above 0"
is the probability that the weighted mean is 0 or below. It is Clopper and Pearson's where values are 0 or 1,
(1 - m)^n where n values are all m above -L = -1 + m, and it falls in every value. That it holds its level for
independent values of any shape has been searched for a counterexample in many worlds (docs/sizes.md), here
and in the literature, and is not proved: so it supports and never certifies.

The weights are exponentials over their sum, so the p-value is the probability that S = sum of value x
exponential is 0 or below. It is computed to twelve digits by the inversion integral of the transform of S
along the vertical line through its saddle point (Daniels 1954), and needs no random number.

The check stands beside a logit. An error that is made of the units that were drawn knows nothing of those
that were not: where one unit in a hundred loses all and the others gain a little, a third of studies of 100
units draw none of the former, and a test finds that all gain. Gaffke's test needs to see none. So where no
unit goes against a claim it has to agree. It is left out where each unit moved as far as one can, or not at
all: a unit that was not drawn can be no larger.

It is a check and no cure. Where units earn nearly all and one in forty loses all, those that are drawn go
both ways by little, and a difference is found that is not there in .3 of studies. No test that rules this out
has the power of a logit (Bahadur & Savage 1956), so ten or more of each kind are assumed, and said. Three
units in place of one make it no better and find less: docs/sizes.md has the figures.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.case_totals import CaseTable

LOGARITHMS = np.arange(-32.0, 16.0, 0.02)
"""Of the heights, in units of the curvature, at which the trapezoidal rule takes the integrand: it has
vanished beyond both ends, and a smaller step gives the same p to twelve digits."""
ROUGH = LOGARITHMS[::3]
"""The same to three digits at worst."""
COARSE = np.arange(-13.0, 5.0, 0.25)
"""The same to five digits, for many samples at once."""
VANISHED = 80.0
"""The logarithm by which the integrand has vanished, and the product does not overflow."""
NEAR, TERMS = 0.02, 10
"""Up to which turn a logarithm is summed by its series, and by how many terms."""
LEAST = 1e-300
"""No p-value is printed as 0."""
MOST_KINDS = 2000
"""Of more distinct values a limit takes each rounded down to so many steps."""
FEW_KINDS = 8
"""Kinds of units up to which a limit is sought with `ROUGH` heights, else with `COARSE` ones."""
NEARLY_0 = 1e-9
"""A share that is as good as 0."""
HALVINGS = 80
"""Of the interval in which a saddle point or a limit is sought."""


def mean_above_zero(values: ArrayLike, lowest: float) -> float:
    """p of: the mean of independent `values`, (n,), none of which can be below `lowest` < 0, is above 0.

    Raises `ValueError` where a value is below `lowest`, or `lowest` is not below 0."""
    held = np.asarray(values, np.float64)
    if lowest >= 0 or held.min(initial=0.0) < lowest * (1 + 1e-9):
        raise ValueError("a value is below the lowest one, or that is not below 0")
    scale = max(-lowest, float(np.abs(held).max(initial=0.0)))
    distinct, counts = np.unique(np.append(held, lowest) / scale, return_counts=True)
    return _at_most_zero(tuple(distinct.tolist()), tuple(counts.tolist()))


@lru_cache(maxsize=20_000)
def _at_most_zero(distinct: tuple[float, ...], multiplicity: tuple[int, ...]) -> float:
    """P(sum of multiplicity[k] exponentials times distinct[k] <= 0), the values rising from below 0."""
    return _inverted(np.array(distinct), np.array(multiplicity, np.float64), LOGARITHMS)


def _inverted(values: Floats, counts: Floats, logarithms: Floats) -> float:
    """The same of arrays, (K,) each, by the integral at these heights."""
    if values[-1] <= 0:
        return 1.0
    # log E exp(z S) = -sum of counts x log(1 - z values), between the poles 1/lowest < z < 1/highest.
    place = _saddle(values, counts)
    # Clear of the pole at 0, which the line must pass on one side.
    near = 0.05 * min(-1 / values[0], 1 / values[-1])
    if abs(place) < near:
        place = -near if place <= 0 else near
    ratio = values / (1 - place * values)
    curvature = math.sqrt(float((counts * ratio**2).sum()))
    heights = np.exp(logarithms) / curvature
    heights = heights[: bisect_left(heights, VANISHED, key=lambda at: _lost(at * ratio, counts))]
    base = -float((counts * np.log1p(-place * values)).sum())
    # The product of 1 - i height x ratio, each as often as it counts: near 0 the series of its logarithm, and
    # elsewhere what is alone is multiplied, which is twenty times as fast as its logarithm.
    begin = int((heights * float(np.abs(ratio).max()) < NEAR).sum())
    powers = np.multiply.accumulate(np.broadcast_to(ratio, (TERMS, len(ratio))), axis=0)
    terms = np.append((powers @ counts / np.arange(1, TERMS + 1))[::-1], 0.0)
    first, heights_left = np.exp(np.polyval(terms, 1j * heights[:begin])), heights[begin:, None]
    alone = counts == 1
    turned = heights_left * ratio[~alone]
    size = np.exp(-0.5 * (np.log1p(turned * turned) @ counts[~alone]))
    angle = np.arctan(turned) @ counts[~alone]
    product = np.multiply.reduce(1 - 1j * (ratio[alone][:, None] * heights_left.T), axis=0)
    line = np.append(first, size * np.exp(1j * angle) / product)
    # The real part of exp(i angle) / (place + i height).
    integrand = (line / (place + 1j * heights)).real * heights
    step = float(logarithms[1] - logarithms[0])
    mass = float(integrand.sum()) * step / math.pi * math.exp(base)
    probability = -mass if place < 0 else 1 - mass
    return min(1.0, max(LEAST, probability))


def _lost(turned: Floats, counts: Floats) -> float:
    """The logarithm of the size of the product of 1 - i `turned`, (K,), each as often as it counts."""
    return 0.5 * float(counts @ np.log1p(turned * turned))


def _saddle(values: Floats, counts: Floats) -> float:
    """Where sum of counts x values / (1 - z values), which rises between its poles, is 0."""
    low, high, place = 1 / values[0], 1 / values[-1], 0.0
    near = 1e-9 * (high - low)
    for _ in range(HALVINGS):
        ratio = values / (1 - place * values)
        slope = float(counts @ ratio)
        step = slope / float(counts @ ratio**2)
        if abs(step) < near:
            break
        low, high = (place, high) if slope < 0 else (low, place)
        # Newton's step where it stays between the poles, else half of what is left.
        place = place - step if low < place - step < high else (low + high) / 2
    return place


def lower_limit(values: ArrayLike, weights: ArrayLike, level: float) -> float:
    """The limit of a mean of shares, which is missed with a chance of at most (1 - level) / 2, by Gaffke's
    test: sum(values) / sum(weights) of independent units with `values` from 0 to their `weights`, (n,). The
    unit that is added has nothing, and weighs as much as that of a row that is drawn at random."""
    from scipy.special import ndtri

    columns = np.column_stack([np.asarray(values, np.float64), np.asarray(weights, np.float64)]).round(12)
    if len(np.unique(columns[:, 0])) > MOST_KINDS:
        columns[:, 0] = np.floor(columns[:, 0] / columns.max() * MOST_KINDS) * (columns.max() / MOST_KINDS)
    kinds, multiplicity = np.unique(columns, axis=0, return_counts=True)
    (points, rows), counts = kinds.T, multiplicity.astype(np.float64)
    total, error = float(counts @ rows), (1 - level) / 2
    added, most = float(counts @ rows**2) / total, float(counts @ points) / total

    def place(share: float, logarithms: Floats) -> float:
        """Of p on the scale of a normal, which is nearly straight in the share, beyond that of the error."""
        held = np.append(-share * added, points - share * rows)
        order = np.argsort(held)
        p = _inverted(held[order], np.append(1.0, counts)[order], logarithms)
        return float(ndtri(min(p, 1 - 1e-16)) - ndtri(error))

    # Of few kinds, where nearly all units can be alike, p needs more heights.
    heights = COARSE if len(points) > FEW_KINDS else ROUGH
    spread = math.sqrt(float(counts @ (points - most * rows) ** 2))
    least = most - (3 * spread + 4 * added) / total
    if least <= NEARLY_0 or place(least, heights) >= 0:
        least = NEARLY_0
        if most <= least or place(least, ROUGH) >= 0:
            return 0.0
    found = _crossing(lambda share: place(share, heights), least, most)
    # One step of Newton's with the p of all heights.
    step = 1e-5 * min(found, 1 - found)
    slope = (place(found + step, heights) - place(found - step, heights)) / (2 * step)
    return min(max(found - place(found, LOGARITHMS[::2]) / slope, 0.0), 1.0)


def share_above(values: ArrayLike, weights: ArrayLike, share: float) -> float:
    """p of: the mean sum(values) / sum(weights) of independent units with `values` from 0 to their `weights`,
    (n,), is above `share`. It is the test that `lower_limit` inverts: p is at most half of 1 - level exactly
    where the lower limit is at least the share."""
    columns = np.column_stack([np.asarray(values, np.float64), np.asarray(weights, np.float64)]).round(12)
    kinds, multiplicity = np.unique(columns, axis=0, return_counts=True)
    (points, rows), counts = kinds.T, multiplicity.astype(np.float64)
    total = float(counts @ rows)
    if total == 0:
        return 1.0
    added = float(counts @ rows**2) / total
    held = np.append(-share * added, points - share * rows)
    order = np.argsort(held)
    return _inverted(held[order], np.append(1.0, counts)[order], LOGARITHMS)


def _crossing(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that is below 0 at `low` and above at `high` is 0, to six digits: the Illinois rule.
    Loading SciPy's `brentq`, which needs as many steps, would add .27 s to each `gridc status`."""
    below, above = rising(low), rising(high)
    last = 0.0
    for _ in range(HALVINGS):
        place = (low * above - high * below) / (above - below)
        value = rising(place)
        if value == 0 or high - low < 1e-6:
            break
        # An end that stays twice counts half, so that both ends move.
        if value < 0:
            low, below, above = place, value, above / 2 if last < 0 else above
        else:
            high, above, below = place, value, below / 2 if last > 0 else below
        if abs(last - value) < 1e-9:
            break
        last = value
    return place


def means_above_zero(values: ArrayLike, samples: Any, lowest: float, alpha: float) -> Floats:
    """`mean_above_zero` of many samples at once, shape (N,): how often each holds each of the `values`, (K,),
    is `samples`, (N, K), dense or sparse. To five digits where p is anywhere near `alpha`, which is below
    1/2; elsewhere p is on the right side of `alpha`.

    All samples share one line of integration: that through the saddle points of those whose p is about alpha,
    by a normal approximation of their mean."""
    from scipy.special import ndtri

    held = np.append(np.asarray(values, np.float64), lowest)
    usual = np.append(np.asarray(samples.mean(axis=0)).ravel(), 1.0)
    reached, low, high = 0.5 * float(ndtri(alpha)) ** 2, 1 / float(held.min()), 0.0
    for _ in range(HALVINGS):
        place = (low + high) / 2
        ratio = held / (1 - place * held)
        exponent = -float(usual @ np.log1p(-place * held)) - place * float(usual @ ratio)
        low, high = (place, high) if exponent < -reached else (low, place)
    heights = np.exp(COARSE) / math.sqrt(float(usual @ ratio**2))
    line = place + 1j * heights
    logarithms = -np.log(1 - np.multiply.outer(held, line))
    sums = samples @ logarithms[:-1].real + 1j * (samples @ logarithms[:-1].imag) + logarithms[-1]
    integrand = (np.exp(sums) * (heights / line)).real
    probability: Floats = -integrand.sum(axis=1) * float(COARSE[1] - COARSE[0]) / math.pi
    return np.clip(probability, LEAST, 1.0)


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
