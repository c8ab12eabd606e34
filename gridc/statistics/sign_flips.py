"""Joint sign flips of whole units: what is *supported*, and what models that agree on average would show.

If the answers of two models are exchangeable, the models may be swapped on any unit (item, family, template)
without changing the distribution of the data, provided that they are swapped in all configurations at once.
Tests against such swaps are then exact, whatever they compare.

If the models only agree on average, studentised means make the tests valid as the number of units grows
(Romano 1990). That is slow where differences are skewed: with about ten units that lose everything and many
that gain a little, a direction is claimed in .09 of studies. So the skewness that the units show is removed
from Student's t (Hall 1992, "On the removal of skewness by transformation", J. R. Statist. Soc. B 54), again
under every flip.

No correction knows what no unit shows. If three units lose everything on average, one study in twenty has
none of them. So where fewer than `SEEN` units go against a claim, Gaffke's test (`bounded_means`) has to
agree, which needs to see none. Even that does not help against kinds of units that were not drawn: with 30
units that earn nearly everything, of which one in forty loses everything, some model that is not ahead is
supported in .4 of studies (docs/sizes.md). So "supported" assumes ten or more units of each kind, and is
weaker than "certified".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.bounded_means import mean_above_zero
from gridc.statistics.clustered_logit import effective_number, enough_cases
from gridc.statistics.reproducibility import digits

Signs = NDArray[np.int8]

FLIPS = 4_999
CHUNK = 1_000
CONSTANT = 1e-6
"""The share of the mean square that is variance below which differences are all the same."""
BEYOND = 1e9
"""What stands for t where there is no variance."""
RISING = 4.5
"""t without its skewness k / sqrt(units) rises with it where minus their product is less than this."""
SEEN = 3
"""Units that go against a claim from which on flips are believed alone. With 3, as with 10, nothing false is
found more often, and 4 of 55 directions among 30 units of 4 items are lost instead of 52."""


def can_support(sizes: ArrayLike) -> bool:
    """Whether units of these sizes, in items, are enough for the tests here: single items, or 20 effective
    units (`clustered_logit.FLOOR`)."""
    items = np.asarray(sizes)
    return bool((items == 1).all()) or enough_cases(effective_number(items))


def random_signs(units: int, number: int, seed: int) -> Signs:
    """Random signs, shape (units, number): one joint flip a column."""
    signs: Signs = np.random.default_rng(seed).integers(0, 2, size=(units, number), dtype=np.int8)
    signs *= 2
    signs -= 1
    return signs


def flipped_sums(differences: Whole, signs: Signs) -> Floats:
    """The sum of each row's differences under each flip, (rows, units) and (units, flips) -> (rows, flips).
    Whole numbers, exact. Raises `ValueError` where they would not be."""
    largest = int(np.abs(differences).sum(axis=1).max(initial=0))
    if largest >= 1 << 53:
        raise ValueError("too large for exact sums")
    return flipped(differences.astype(np.float32 if largest < 1 << 24 else np.float64), signs)


def flipped(rows: NDArray[np.floating[Any]], signs: Signs) -> Floats:
    """The sum of each row under each flip, (rows, units) and (units, flips) -> (rows, flips), added up in the
    precision of the rows. Many rows at once cost little more than one: the signs are converted once."""
    sums: Floats = np.empty((len(rows), signs.shape[1]), np.float64)
    for at in range(0, signs.shape[1], CHUNK):
        sums[:, at : at + CHUNK] = rows @ signs[:, at : at + CHUNK].astype(rows.dtype)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class MaxT:
    """One-sided p-values of contrasts, each (contrasts,). `plus` and `minus` are adjusted for the search
    among all contrasts (Westfall & Young 1993, single-step max-T), so that the smallest is the p-value of
    "some contrast is above 0"; `plus_alone` and `minus_alone` are those of each contrast by itself."""

    plus: Floats
    minus: Floats
    plus_alone: Floats
    minus_alone: Floats


def cubes(differences: Whole, groups: Whole) -> Floats:
    """The cube of each unit's share in a contrast, (contrasts, units): of its difference over the root of the
    sum of all squares. 0 in a contrast without any difference."""
    grouped = (groups @ differences).astype(np.float64)
    norms = np.sqrt((grouped * grouped).sum(axis=1))
    shares: Floats = grouped / np.where(norms > 0, norms, 1.0)[:, None]
    return shares**3


def max_t(differences: Whole, sums: Floats, groups: Whole, flipped_cubes: Floats) -> MaxT:
    """Tests of the sums over groups of configurations, by Student's t without its skewness (`without_skew`).

    `differences` (configurations, units) and their `sums` under flips, (configurations, flips); `groups`
    (contrasts, configurations) says with which weight, 0 or more, a contrast takes each configuration: a
    weighted average above 0 implies a configuration above 0. `flipped_cubes` (contrasts, flips) are the sums
    of `cubes` under the same flips. A contrast without any difference has p-values of 1. The observed data
    count as one more flip (Phipson & Smyth 2010). Values that agree in nine digits are ties, so that what
    rounding makes of them decides nothing."""
    grouped = (groups @ differences).astype(np.float64)
    norms = np.sqrt((grouped * grouped).sum(axis=1))
    live = norms > 0
    one = np.ones(len(groups))
    evidence = MaxT(one, one.copy(), one.copy(), one.copy())
    if not live.any():
        return evidence
    shares, units = grouped[live] / norms[live, None], differences.shape[1]
    t = without_skew(shares.sum(axis=1), (shares**3).sum(axis=1), units)
    drawn_sums = (groups[live].astype(np.float64) @ sums) / norms[live, None]
    under = without_skew(drawn_sums, flipped_cubes[live], units)
    total = sums.shape[1] + 1
    for side, alone, observed, drawn in (
        (evidence.plus, evidence.plus_alone, t, under),
        (evidence.minus, evidence.minus_alone, -t, -under),
    ):
        highest, tied = np.sort(drawn.max(axis=0)), observed - 1e-9 * np.maximum(1, np.abs(observed))
        reached = len(highest) - np.searchsorted(highest, tied, side="left")
        side[live] = (reached + 1) / total
        alone[live] = ((drawn >= tied[:, None]).sum(axis=1) + 1) / total
    return evidence


def of_one_contrast(differences: Whole, sums: Floats, by_flip: Signs) -> MaxT | None:
    """`max_t` of a single contrast, of its `differences` (units,), their `sums` under flips, (flips,), and
    the flips themselves, (flips, units). None where few units carry the differences.

    A cube's sum is what follows from the sum of the differences and a rest that is bounded, and t without its
    skewness rises with it. So most flips are on one side of the observed t whatever their cubes add up to,
    and cubes are summed under the others alone."""
    norm, units = math.sqrt(float((differences.astype(np.float64) ** 2).sum())), len(differences)
    one = np.ones(1)
    if norm == 0:
        return MaxT(one, one.copy(), one.copy(), one.copy())
    shares = differences / norm
    cubed = shares**3
    slope = float(cubed @ shares)  # the squares of the shares add up to 1
    bound = float(np.abs(cubed - slope * shares).sum()) * (1 + 1e-9) + 1e-12
    most = max(float(sums.max(initial=0)), -float(sums.min(initial=0))) / norm
    # Where the variance is half of the mean square or more, no t and no |k| is above these.
    high, skewness = 1.5 * most, 3 * (bound + slope * most + 3 * most / units + 2 * most**3 / units**2)
    if 2 * most * most > units or skewness * high > RISING:
        return None
    t = float(without_skew(shares.sum(), cubed.sum(), units))
    tie = 1e-9 * max(1.0, abs(t))
    # Nor is t further than this from what is left of it without its skewness.
    moved = tie + 1e-9 + skewness * (high * high / 3 + 1 / 6) + skewness * skewness * high**3 / 27
    first, last = (norm * each / math.sqrt(1 + each * each / units) for each in (t - moved, t + moved))
    near = np.flatnonzero((sums >= first) & (sums <= last))
    drawn = sums[near] / norm
    least, greatest = (without_skew(drawn, slope * drawn + rest, units) for rest in (-bound, bound))
    unsure = (greatest >= t - tie) & (least <= t + tie)
    exact = without_skew(drawn[unsure], by_flip[near[unsure]].astype(np.float64) @ cubed, units)
    above = (sums > last).sum() + (least > t + tie).sum() + (exact >= t - tie).sum()
    below = (sums < first).sum() + (greatest < t - tie).sum() + (exact <= t + tie).sum()
    plus, minus = (np.array([(int(reached) + 1) / (len(sums) + 1)]) for reached in (above, below))
    return MaxT(plus, minus, plus.copy(), minus.copy())


def max_t_alone(differences: Whole, groups: Whole, signs: Signs) -> MaxT:
    """`max_t` of one pair, of which nothing is flipped yet."""
    flipped_cubes = flipped(cubes(differences, groups), signs)
    return max_t(differences, flipped_sums(differences, signs), groups, flipped_cubes)


def where_seen(found: MaxT, differences: Whole, groups: Whole, span: int) -> MaxT:
    """The same, of contrasts that too few units go against no smaller than Gaffke's p (times the number of
    contrasts where all were searched), which needs no such unit. No difference is beyond `span` either way;
    where every one is 0 or as large as that, a unit that was not drawn can be no larger."""
    grouped, most = (groups @ differences).astype(np.float64), (span * groups.sum(axis=1)).astype(np.float64)
    size = np.abs(grouped)
    by_less = np.where(size > 0, size, np.inf).min(axis=1) < most
    sides = []
    for sign, joint, alone in ((1, found.plus, found.plus_alone), (-1, found.minus, found.minus_alone)):
        least = np.zeros(len(groups))
        unseen = by_less & ((sign * grouped < 0).sum(axis=1) < SEEN)
        for place in np.flatnonzero(unseen & (alone < 1)):
            least[place] = mean_above_zero(sign * grouped[place] / most[place], -1.0)
        sides.append((np.maximum(joint, np.minimum(len(groups) * least, 1.0)), np.maximum(alone, least)))
    (plus, plus_alone), (minus, minus_alone) = sides
    return MaxT(plus, minus, plus_alone, minus_alone)


def without_skew(sums: Floats, cubes: Floats, units: int) -> Floats:
    """Student's t of `units` differences, of which a skewness of the differences moves neither tail by
    1 / sqrt(units): g = t + k t^2 / 3 + k^2 t^3 / 27 + k / 6 with k = skewness / sqrt(units), (Hall 1992,
    eq. 2.5), which rises with t. `sums` of the differences over the root of the sum of their squares, which
    is t but for its denominator, and of their cubes over its third power; of any one shape."""
    squares = sums * sums
    rest = 1 - squares / units  # variance over mean square
    varied = rest > CONSTANT
    rest = np.where(varied, rest, 1.0)
    root = np.sqrt(rest)  # products, since powers of arrays take ten times as long
    t, k = sums / root, (cubes - 3 * sums / units + 2 * squares * sums / units**2) / (rest * root)
    kt = k * t
    g: Floats = t + kt * t / 3 + kt * kt * t / 27 + k / 6
    return np.where(varied, g, np.copysign(BEYOND, sums))


@dataclass(frozen=True, slots=True)
class IdenticalModels:
    """rho_flip of models that agree on average, given how often they differ: both models' outcomes are
    exchanged at random, unit by unit, the same exchange in all configurations. The observed discordance is
    kept. `at_least` is the share of exchanges with at least the observed rho_flip, the observed one counted
    among them."""

    exchanges: int
    mean: float
    upper: float
    at_least: float


def identical(sums: Floats, observed: Fraction) -> IdenticalModels:
    """The reference distribution from the flipped sums of the configurations of a scope."""
    size, number = sums.shape
    least = np.minimum((sums > 0).sum(axis=0), (sums < 0).sum(axis=0))
    place = min(number - 1, int(0.95 * number))
    reached = int((least * observed.denominator >= observed.numerator * size).sum())
    return IdenticalModels(
        number,
        digits(int(least.sum()) / number / size),
        digits(int(np.partition(least, place)[place]) / size),
        digits((reached + 1) / (number + 1)),
    )


@dataclass(frozen=True, slots=True)
class SameModel:
    """rho_flip of a model against itself, at most: greedy answers are the same, so these configurations tie;
    in the `sampled` ones the sign is a fair coin at most. `mean` and what 95 % of cases stay at or below."""

    sampled: int
    mean: float
    upper: float


def same_model(sampled: int, size: int) -> SameModel:
    """The reference in closed form: min(K, sampled - K) / size with K ~ Binomial(sampled, 1/2)."""
    weights = [comb(sampled, k) for k in range(sampled + 1)]
    least = [min(k, sampled - k) for k in range(sampled + 1)]
    mean = Fraction(sum(w * k for w, k in zip(weights, least, strict=True)), (1 << sampled) * size)
    return SameModel(sampled, digits(float(mean)), digits(_upper(weights, least) / size))


def _upper(weights: Sequence[int], values: Sequence[int]) -> int:
    """The smallest value that 95 % of the weight stays at or below."""
    total, reached = sum(weights), 0
    for value, weight in sorted(zip(values, weights, strict=True)):
        reached += weight
        if 20 * reached >= 19 * total:
            return value
    return 0
