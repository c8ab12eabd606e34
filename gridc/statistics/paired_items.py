"""Items asked twice, each 0 or 1 both times: the exact unconditional test of the difference at a bound.

Of n independent items g are gained and l lost. Outcomes are ordered by Tango's score at the bound b (1998,
"Equivalence test and confidence interval for the difference in proportions for the paired-sample design",
Statist. Med. 17): g - l - n b over its standard deviation, where the difference of both shares is b and what
else there is to know is as likely as can be. p of "the difference is above b" is the probability of scores
that are as high, the largest over the nuisance: the share of items that change for no reason. The score rises
with every item gained and falls with every one lost. So no difference below b makes that probability larger,
and p moves one way with both counts.

A family of such tests need not be monotone in b, because the order changes with it. So orders are those at
bounds on a lattice, each kept up to the next one, and p at a bound is the largest of all at and below it: p
then rises with b, and limits are where it passes alpha.
"""

from functools import lru_cache
from math import asin, ceil, floor, sqrt

import numpy as np

from gridc.statistics.arrays import Flags, Floats, Whole

MOST = 3000
"""Items that are counted out; of more `margins` takes its test of means, which then loses no power to speak
of (docs/statistics.md)."""
TAIL = 1e-12
"""No p is smaller: tails beyond are not summed."""
COARSE = 100
"""Fewer items have a lattice of bounds of half a point, others of a tenth of one."""
STEP, CLOSER, NEAR = 0.15, 9, 0.97
"""Between places of the nuisance that are looked at, on the scale of its arc sine, over the root of the
items: p is smooth there. Around peaks that come near the highest one so many more are looked at."""
FALLS = 3.0
"""Bounds below are looked at until p has fallen by this factor; it never rises again by as much."""


def above(items: int, gained: int, lost: int, bound: float) -> float:
    """p of: the difference of both rates is above `bound`, -1 < bound < 1; 1 where that counted is not."""
    if gained - lost <= bound * items + 1e-9:
        return 1.0
    lattice = _lattice(items)
    place = min(ceil(round(bound * lattice, 9)), lattice - 1)
    p = _largest(items, gained, lost, place, round(bound, 12))
    return max(p, _below(items, gained, lost, place - 1, p))


def lower_limit(items: int, gained: int, lost: int, alpha: float) -> float:
    """The bound up to which `above` is at most `alpha`, itself included; -1 where it is nowhere."""
    from scipy.optimize import brentq

    lattice = _lattice(items)
    low, high = -lattice, floor(lattice * (gained - lost) / items) + 1  # p is alpha or less; is more
    while high - low > 1:
        middle = (low + high) // 2
        shown = above(items, gained, lost, middle / lattice) <= alpha
        low, high = (middle, high) if shown else (low, middle)
    if low == -lattice:
        return -1.0
    place, ends = min(high, lattice - 1), (low / lattice, min(high / lattice, (gained - lost) / items))

    def excess(bound: float) -> float:
        return _largest(items, gained, lost, place, bound) - alpha

    if excess(ends[0]) > 0:  # p jumps where the order changes
        return ends[0]
    return float(brentq(excess, *ends, xtol=1e-12)) if excess(ends[1]) > 0 else ends[1]


def shown(items: int, gained: Whole, lost: Whole, bound: float, alpha: float) -> Flags:
    """Of which outcomes, (N,), p is `alpha` or less, but for the larger p at bounds below, which few outcomes
    have: to know a power."""
    flags: Flags = _score(gained, lost, items, bound) >= _critical(items, round(bound, 12), alpha)
    return flags


@lru_cache(maxsize=4096)
def _critical(items: int, bound: float, alpha: float) -> float:
    """The score from which p is `alpha` or less, to a hundredth."""
    from scipy.special import ndtri

    low, high = -float(ndtri(alpha)) - 0.2, -float(ndtri(alpha)) + 0.6
    while _of_score(items, high, bound, bound) > alpha:
        if high > sqrt(items):
            return high
        low, high = high, 2 * high
    while high - low > 0.01:
        middle = (low + high) / 2
        is_shown = _of_score(items, middle, bound, bound) <= alpha
        low, high = (low, middle) if is_shown else (middle, high)
    return high


def _lattice(items: int) -> int:
    """Bounds to a unit at which outcomes are ordered."""
    return 200 if items < COARSE else 1000


def _below(items: int, gained: int, lost: int, place: int, p: float) -> float:
    """The largest p at bounds on the lattice from `place` downwards."""
    lattice, largest = _lattice(items), p
    for at in range(place, -lattice, -1):
        here = _largest(items, gained, lost, at, at / lattice)
        if here <= max(TAIL, largest / FALLS):
            break
        largest = max(largest, here)
    return largest


@lru_cache(maxsize=100_000)
def _largest(items: int, gained: int, lost: int, place: int, bound: float) -> float:
    """p where the difference is `bound`, of the order at a `place` of the lattice."""
    order = place / _lattice(items)
    score = float(_score(np.array([gained]), np.array([lost]), items, order)[0])
    return _of_score(items, score - 1e-9, order, bound)


def _of_score(items: int, score: float, order: float, bound: float) -> float:
    """The largest probability, over the nuisance, of scores at `order` that are so high, where the difference
    is `bound`."""
    counts, least = _as_high(items, score, order)
    if not len(counts):
        return TAIL
    top = asin(sqrt((1 - abs(bound)) / 2))
    places = np.linspace(0, top, max(40, ceil(top * sqrt(items) / STEP)))
    chances = _chances(items, counts, least, bound, np.sin(places) ** 2)
    sides = np.pad(chances, 1, constant_values=-1.0)
    peaks = (chances >= sides[:-2]) & (chances >= sides[2:]) & (chances >= NEAR * chances.max())
    at = np.flatnonzero(peaks)
    ends = places[np.maximum(at - 1, 0)], places[np.minimum(at + 1, len(places) - 1)]
    around = np.linspace(*ends, CLOSER)[1:-1].ravel()
    closer = _chances(items, counts, least, bound, np.sin(around) ** 2)
    return min(1.0, max(TAIL, float(chances.max()), float(closer.max())))


def _as_high(items: int, score: float, order: float) -> tuple[Whole, Whole]:
    """For every number of lost items, the least number of gained ones with which the score is so high; only
    where there is one."""
    counts = np.arange(items + 1)
    low, high = np.full(items + 1, -1), items - counts + 1
    for _ in range(int(items + 1).bit_length()):
        middle = (low + high) // 2
        enough, apart = _score(middle, counts, items, order) >= score, high - low > 1
        low, high = np.where(apart & ~enough, middle, low), np.where(apart & enough, middle, high)
    some = high <= items - counts
    return counts[some], high[some]


def _score(gained: Whole, lost: Whole, items: int, bound: float) -> Floats:
    """Tango's; the share that is lost where the difference is the bound solves a quadratic."""
    linear = gained * (1 + bound) + lost * (1 - bound) - 2 * items * bound
    root = np.sqrt(np.maximum(linear**2 + 8 * items * lost * bound * (1 - bound), 0))
    share = np.clip((linear + root) / (4 * items), max(0.0, -bound), (1 - bound) / 2)
    variance = items * (2 * share + bound - bound**2)
    score: Floats = (gained - lost - items * bound) / np.sqrt(np.maximum(variance, 1e-300))
    return score


def _chances(items: int, counts: Whole, least: Whole, bound: float, rarer: Floats) -> Floats:
    """The probability of outcomes that have at least so many gains with so many losses, where the rarer of
    both has these probabilities, (K,), and the other one as much more as `bound` says."""
    from scipy.special import bdtrc, gammaln, xlogy

    losing, gaining = rarer - min(bound, 0.0), rarer + max(bound, 0.0)
    ways = gammaln(items + 1) - gammaln(counts + 1) - gammaln(items - counts + 1)
    chances = np.empty(len(rarer))
    for at, (loss, gain) in enumerate(zip(losing.tolist(), gaining.tolist(), strict=True)):
        logs = ways + xlogy(counts, loss) + xlogy(items - counts, 1 - loss)
        some = logs > -40.0
        rest, needed = items - counts[some], least[some]
        others = bdtrc(needed - 1, rest, min(1.0, gain / (1 - loss)) if loss < 1 else 0.0)
        chances[at] = np.exp(logs[some]) @ np.where(needed > 0, others, 1.0)
    return chances
