"""Joint sign flips of whole units: what is *supported*, and what models that agree on average would show.

Two models whose answers are exchangeable may be swapped on any unit (item, family, template) without
changing the law of the data, if they are swapped in all configurations at once. Tests against the swaps are
exact then. Where the models only agree on average the studentised sums still make them valid as units grow
(Romano 1990); with few units and skewed differences they are not: where one template in thirty loses all and
the others gain a little, they claim falsely in half of all studies. So each contrast also has to stand
Gaffke's test of a bounded mean (`bounded_means`), which adds a unit that lost everything. Nothing here
certifies: that test has no proof.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from gridc.statistics.bounded_means import mean_above_zero

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]
Signs = NDArray[np.int8]

FLIPS = 4_999
CHUNK = 1_000


def flips(units: int, number: int, seed: int) -> Signs:
    """Random signs, shape (units, number): one joint flip a column."""
    bits = np.random.default_rng(seed).integers(0, 2, size=(units, number), dtype=np.int8)
    signs: Signs = 2 * bits - 1
    return signs


def flipped_sums(differences: Whole, signs: Signs) -> Floats:
    """The sum of each configuration's differences under each flip, (configurations, units) and (units, flips)
    -> (configurations, flips). Whole numbers, exact. Raises `ValueError` where they would not be."""
    largest = int(np.abs(differences).sum(axis=1).max(initial=0))
    if largest >= 1 << 53:
        raise ValueError("too large for exact sums")
    kind = np.float32 if largest < 1 << 24 else np.float64
    held = differences.astype(kind)
    chunks = [held @ signs[:, at : at + CHUNK].astype(kind) for at in range(0, signs.shape[1], CHUNK)]
    sums: Floats = np.hstack(chunks).astype(np.float64) if chunks else np.zeros((len(held), 0))
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


def max_t(differences: Whole, sums: Floats, groups: Whole, span: int) -> MaxT:
    """Tests of the sums over groups of configurations: T = sum_u d_u / sqrt(sum_u d_u^2), whose denominator
    no flip moves.

    `differences` (configurations, units) and their flipped `sums` (configurations, flips); `groups`
    (contrasts, configurations) says with which weight, 0 or more, a contrast takes each configuration: a
    weighted average above 0 implies a configuration above 0. A contrast without any difference has p-values
    of 1. The observed data count as one more flip (Phipson & Smyth 2010). Values that agree in twelve digits
    are ties: 4 / sqrt(8) is 6 / sqrt(18), and what rounding makes of them decides nothing. Sums are whole and
    division is exactly rounded, so the result is the same on every machine.

    No difference is larger than `span`. One configuration of a span of 1 gains or loses a point on a unit: it
    is as likely above as below wherever its mean is 0, and flips are enough. Any other contrast takes the
    larger of two p-values: that of the flips, and that of its bounded mean times the number of such contrasts
    (by itself: once). Where flips alone come to 1/2 or more the second is not asked for."""
    grouped = groups @ differences
    norms = np.sqrt((grouped * grouped).sum(axis=1, dtype=np.float64))
    live = norms > 0
    one = np.ones(len(groups))
    found = MaxT(one, one.copy(), one.copy(), one.copy())
    if not live.any():
        return found
    t = grouped[live].sum(axis=1) / norms[live]
    under = (groups[live].astype(np.float64) @ sums) / norms[live, None]
    total = sums.shape[1] + 1
    for side, alone, observed, drawn in (
        (found.plus, found.plus_alone, t, under),
        (found.minus, found.minus_alone, -t, -under),
    ):
        highest, tied = np.sort(drawn.max(axis=0)), observed - 1e-12 * np.abs(observed)
        reached = len(highest) - np.searchsorted(highest, tied, side="left")
        side[live] = (reached + 1) / total
        alone[live] = ((drawn >= tied[:, None]).sum(axis=1) + 1) / total
    most = span * groups.sum(axis=1)
    skewed = np.flatnonzero(live & (most > 1))
    for place in skewed:
        for sign, side, alone in ((1, found.plus, found.plus_alone), (-1, found.minus, found.minus_alone)):
            if alone[place] < 0.5:
                bounded = mean_above_zero(sign * grouped[place] / most[place], -1.0)
                side[place] = max(side[place], min(1.0, int((most > 1).sum()) * bounded))
                alone[place] = max(alone[place], bounded)
    return found


@dataclass(frozen=True, slots=True)
class Identical:
    """rho_flip of models that agree on average, given how often they differ: both models' outcomes are
    exchanged at random, unit by unit, the same exchange in all configurations. The observed discordance is
    kept. `at_least` is the share of exchanges with at least the observed rho_flip, the observed one counted
    among them."""

    exchanges: int
    mean: float
    upper: float
    at_least: float


def identical(sums: Floats, observed: Fraction) -> Identical:
    """The reference distribution from the flipped sums of the configurations of a scope."""
    size, number = sums.shape
    least = np.minimum((sums > 0).sum(axis=0), (sums < 0).sum(axis=0))
    ordered = np.sort(least)
    reached = int((least * observed.denominator >= observed.numerator * size).sum())
    return Identical(
        number,
        _digits(int(least.sum()) / number / size),
        _digits(int(ordered[min(number - 1, int(0.95 * number))]) / size),
        _digits((reached + 1) / (number + 1)),
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
    return SameModel(sampled, _digits(float(mean)), _digits(_upper(weights, least) / size))


def _upper(weights: Sequence[int], values: Sequence[int]) -> int:
    """The smallest value that 95 % of the weight stays at or below."""
    total, reached = sum(weights), 0
    for value, weight in sorted(zip(values, weights, strict=True)):
        reached += weight
        if 20 * reached >= 19 * total:
            return value
    return 0


def _digits(value: float) -> float:
    """Ten digits: no machine's last bits, so that a report is the same file everywhere."""
    return float(f"{value:.10g}")
