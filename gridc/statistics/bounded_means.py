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
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.case_totals import CaseTable

LOST = 42.0
"""The logarithm by which what a sum leaves out is smaller than the transform on its line: 16 digits of any p,
since a p is a hundredth of that transform at least."""
MOST_EVEN = 400
"""Even heights up to which they are used, else those that are even in their logarithm."""
LEAST_LOGARITHM, MOST_LOGARITHM, STEP = -32.0, 16.0, 0.08
"""Of these, in units of the curvature: the integrand has vanished beyond both ends. Where the rule of twice
the step says something else, the step is halved, up to `FINEST`."""
FINEST = 0.08 / 64
AGREED = 1e-12
"""The share of p by which the rules of two steps differ where the smaller step is enough. The error of the
trapezoidal rule of an analytic integrand is exp(-c / step): that of half the step is the square."""
COARSE = np.arange(-13.0, 5.0, 0.25)
"""Logarithms at which p is found to five digits, for many samples at once."""
VANISHED = 80.0
"""The logarithm by which the integrand has vanished, and the product does not overflow."""
NEAR, TERMS = 0.02, 10
"""Up to which turn a logarithm is summed by its series, and by how many terms."""
AT_ONCE = 1_000_000
"""Heights x values that are held at once."""
LEAST = 1e-300
"""No p-value is printed as 0."""
MOST_KINDS = 2000
"""Of more distinct values a limit takes each rounded down to so many steps."""
MOST_KNOWN = 100_000
"""p-values that are kept, by the digests of what they are of."""
NEARLY_0 = 1e-9
"""A share that is as good as 0."""
EXACT = 1e-9
"""The share of a limit by which the last step of its search moves it: the next one would move it by 1e-12."""
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
    # The standings of a leaderboard are asked for twice, and a digest is a hundredth of what it is of.
    key = blake2b(distinct.tobytes() + counts.tobytes(), digest_size=16).digest()
    if key not in _KNOWN:
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = _inverted(distinct, counts.astype(np.float64))
    return _KNOWN[key]


_KNOWN: dict[bytes, float] = {}


def _inverted(values: Floats, counts: Floats) -> float:
    """P(sum of counts[k] exponentials times values[k] <= 0), the values, (K,), rising from below 0, by the
    integral along a line."""
    if values[-1] <= 0:
        return 1.0
    # log E exp(z S) = -sum of counts x log(1 - z values), between the poles 1/lowest < z < 1/highest.
    place = _saddle(values, counts)
    # Clear of the pole at 0, which the line must pass on one side.
    near = 0.05 * min(-1 / values[0], 1 / values[-1])
    if abs(place) < near:
        place = -near if place <= 0 else near
    # Left of 0; of -S where it is right of it.
    turned = place > 0
    line = _Line(-values if turned else values, counts, -abs(place))
    if line.scale * math.pi <= LEAST:  # no p is larger than that (Chernoff)
        return 1.0 if turned else LEAST
    mass = line.by_even_heights()
    if mass is None:
        mass = line.by_logarithms()
    return min(1.0, max(LEAST, 1 - mass if turned else mass))


class _Line:
    """The line through `place`, which is left of 0 and right of 1/lowest, on which P(S <= 0) is integrated:
    -1/pi times the integral of the real part of E exp(z S) / z over the heights above 0."""

    def __init__(self, values: Floats, counts: Floats, place: float) -> None:
        self.place, self.counts = place, counts
        self.ratio: Floats = values / (1 - place * values)
        self.curvature = math.sqrt(float(counts @ self.ratio**2))
        self.alone = counts == 1
        self.scale = math.exp(-float(counts @ np.log1p(-place * values))) / math.pi

    def by_even_heights(self) -> float | None:
        """By heights 0, h, 2h, ...: None where these are too many.

        With X = 2 pi / h the rule is the sum over all whole m of exp(place m X) P(S <= m X) (Poisson), whose
        term of m = 0 is sought. Those of m < 0 are at most E exp(z S) exp((z - place) m X) for any z between
        1/lowest and the place. Those of m > 0 are so too, for any z between the place and 0; or they are
        exp(place m X), whose sum is known, less exp(place m X) P(S > m X), which is bounded in the same way
        by any z between 0 and 1/highest. So X is as large as makes the bounds small."""
        period, passes_0 = 0.0, False
        for way, end in ((-1.0, float(self.ratio.min())), (1.0, float(self.ratio.max()))):
            # As far as a normal S needs, short of the pole.
            most = min(math.sqrt(2 * LOST) / self.curvature, 0.9 * way / end)
            own, far = min(
                ((LOST - float(self.counts @ np.log1p(-way * far * self.ratio))) / far, far)
                for far in (most, most / 2)
            )
            period = max(period, own)
            passes_0 = far > -self.place
        step = 2 * math.pi / period
        reach = math.sqrt(2 * LOST) / self.curvature
        while _lost(reach * self.ratio, self.counts) < LOST:
            reach *= 1.3
            if reach > MOST_EVEN * step:
                return None
        heights: Floats = step * np.arange(1, int(reach / step) + 1, dtype=np.float64)
        line = self._transform(heights) / (self.place + 1j * heights)
        # The transform at height 0 counts half, since heights below 0 have the same real part.
        mass = -self.scale * step * (0.5 / self.place + float(line.real.sum()))
        return mass - (1 / math.expm1(min(-self.place * period, 700.0)) if passes_0 else 0.0)

    def by_logarithms(self) -> float:
        """By heights whose logarithms are even, as many as a rule needs that agrees with itself."""
        step, grid = STEP, np.arange(LEAST_LOGARITHM, MOST_LOGARITHM, STEP)
        integrand = self._integrand(grid)
        coarse, fine = 2 * float(integrand[::2].sum()), float(integrand.sum())
        while abs(fine - coarse) > AGREED * abs(fine) and step > FINEST:
            grid, step = np.arange(LEAST_LOGARITHM + step / 2, MOST_LOGARITHM, step), step / 2
            # The mean of both is the rule of half the step.
            coarse, fine = 2 * fine, fine + float(self._integrand(grid).sum())
        return -self.scale * step * fine

    def _integrand(self, logarithms: Floats) -> Floats:
        heights = np.exp(logarithms) / self.curvature
        heights = heights[
            : bisect_left(heights, VANISHED, key=lambda at: _lost(at * self.ratio, self.counts))
        ]
        # Near 0 the series of the logarithm.
        begin = int((heights * float(np.abs(self.ratio).max()) < NEAR).sum())
        powers = np.multiply.accumulate(np.broadcast_to(self.ratio, (TERMS, len(self.ratio))), axis=0)
        terms = np.append((powers @ self.counts / np.arange(1, TERMS + 1))[::-1], 0.0)
        first = np.exp(np.polyval(terms, 1j * heights[:begin]))
        line = np.append(first, self._transform(heights[begin:]))
        integrand: Floats = (line / (self.place + 1j * heights)).real * heights
        return integrand

    def _transform(self, heights: Floats) -> NDArray[np.complex128]:
        """Of S at these heights over that at height 0: one over the product of 1 - i height x ratio, each as
        often as it counts. What is alone is multiplied, which is twenty times as fast as its logarithm."""
        several, alone = self.ratio[~self.alone], self.ratio[self.alone][:, None]
        counts, parts = self.counts[~self.alone], []
        size = max(1, AT_ONCE // len(self.ratio))
        for at in range(0, len(heights), size):
            own = heights[at : at + size]
            turned = own[:, None] * several
            lost = 0.5 * (np.log1p(turned * turned) @ counts)
            angle = np.arctan(turned) @ counts
            product = np.multiply.reduce(1 - 1j * (alone * own), axis=0)
            parts.append(np.exp(1j * angle - lost) / product)
        return np.concatenate(parts) if parts else np.empty(0, np.complex128)


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


def lower_limit(values: ArrayLike, weights: ArrayLike, level: float, added: float = 0.0) -> float:
    """The limit of a mean of shares, which is missed with a chance of at most (1 - level) / 2, by Gaffke's
    test: sum(values) / sum(weights) of independent units with `values` from 0 to their `weights`, (n,). The
    unit that is added has nothing, and weighs as much as that of a row that is drawn at random, or `added` if
    that is more."""
    from scipy.special import ndtri

    columns = np.column_stack([np.asarray(values, np.float64), np.asarray(weights, np.float64)]).round(12)
    if len(np.unique(columns[:, 0])) > MOST_KINDS:
        columns[:, 0] = np.floor(columns[:, 0] / columns.max() * MOST_KINDS) * (columns.max() / MOST_KINDS)
    points, rows, counts = _kinds(columns)
    total, error = float(counts @ rows), (1 - level) / 2
    added = max(added, float(counts @ rows**2) / total)
    most = float(counts @ points) / total
    beyond = -float(ndtri(error))

    def place(share: float) -> float:
        """Of p on the scale of a normal, which is nearly straight in the share, beyond that of the error."""
        p = _share_p(share, points, rows, counts, added)
        return float(ndtri(min(p, 1 - 1e-16))) + beyond

    if most <= NEARLY_0:
        return 0.0
    spread = math.sqrt(float(counts @ (points - most * rows) ** 2) + added**2) / total
    begin = (most - beyond * spread) / (1 + added / total)
    if begin <= spread and place(NEARLY_0) >= 0:
        return 0.0
    found = crossing(place, NEARLY_0, most, begin, 1 / spread)
    return 0.0 if found <= 2 * NEARLY_0 else found


def _kinds(columns: Floats) -> tuple[Floats, Floats, Floats]:
    """The distinct rows of two columns, (n, 2), each column by itself, and how often each is there."""
    if (columns[:, 1] == columns[0, 1]).all():  # which is sorted ten times as fast
        points, multiplicity = np.unique(columns[:, 0], return_counts=True)
        return points, np.full(len(points), columns[0, 1]), multiplicity.astype(np.float64)
    kinds, multiplicity = np.unique(columns, axis=0, return_counts=True)
    return kinds[:, 0], kinds[:, 1], multiplicity.astype(np.float64)


def _share_p(share: float, points: Floats, rows: Floats, counts: Floats, added: float) -> float:
    """p of a mean above a share, of kinds of units, (K,) each, and the unit that is added."""
    held = np.append(-share * added, points - share * rows)
    order = np.argsort(held)
    return _inverted(held[order], np.append(1.0, counts)[order])


def share_above(values: ArrayLike, weights: ArrayLike, share: float) -> float:
    """p of: the mean sum(values) / sum(weights) of independent units with `values` from 0 to their `weights`,
    (n,), is above `share`. It is the test that `lower_limit` inverts: p is at most half of 1 - level exactly
    where the lower limit is at least the share."""
    columns = np.column_stack([np.asarray(values, np.float64), np.asarray(weights, np.float64)]).round(12)
    points, rows, counts = _kinds(columns)
    total = float(counts @ rows)
    if total == 0:
        return 1.0
    return _share_p(share, points, rows, counts, float(counts @ rows**2) / total)


def crossing(rising: Callable[[float], float], low: float, high: float, begin: float, slope: float) -> float:
    """Where a function that is above 0 at `high` is 0, by the secant from `begin`, where it rises about by
    `slope`; near `low` where it is above 0 everywhere. Loading SciPy's `brentq`, which needs as many steps,
    would add .27 s to each `gridc status`."""
    place, last = (begin if low < begin < high else (low + high) / 2), None
    for _ in range(HALVINGS):
        value = rising(place)
        if last is not None and value != last[1]:
            slope = (value - last[1]) / (place - last[0])
        low, high = (place, high) if value < 0 else (low, place)
        after = place - value / slope if slope > 0 else low
        if slope > 0 and abs(after - place) <= EXACT * abs(place):
            return after
        if not low < after < high:
            after = (low + high) / 2
            if after in (low, high):
                return after
        place, last = after, (place, value)
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


def contrast_weights(arms: int, level: int, reference: int) -> Floats:
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
