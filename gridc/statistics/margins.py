"""Whether the difference of two rates exceeds a bound: tests at a margin, exact for single items.

Where every unit is one item that is answered once under each arm and earns 0 or 1 points, the exact
unconditional test decides, unless there are too many units to count.

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

from functools import lru_cache
from math import asin, ceil, floor, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.bounded_means import LEAST, mean_above_zero, means_above_zero
from gridc.statistics.case_totals import CaseTable
from gridc.statistics.reproducibility import decimals

MOST_PAIRS = 3000
"""Items that are counted out; of more `margins` takes its test of means, which then loses no power to speak
of (docs/statistics.md)."""
TAIL = 1e-12
"""No p is smaller: tails beyond are not summed."""
FEW_PAIRS, TRIED = 400, (0.02, 0.06, 0.15)
"""Of fewer pairs a power is known from outcomes that are tried one by one, with such shares lost."""
COARSE = 100
"""Fewer items have a lattice of bounds of half a point, others of a tenth of one."""
STEP, CLOSER, NEAR = 0.15, 9, 0.97
"""Between places of the nuisance that are looked at, on the scale of its arc sine, over the root of the
items: p is smooth there. Around peaks that come near the highest one so many more are looked at."""
FALLS = 3.0
"""Bounds below are looked at until p has fallen by this factor; it never rises again by as much."""


def paired_above(items: int, gained: int, lost: int, bound: float) -> float:
    """p of: the difference of both rates is above `bound`, -1 < bound < 1; 1 where that counted is not."""
    if gained - lost <= bound * items + 1e-9:
        return 1.0
    lattice = _lattice(items)
    place = min(ceil(round(bound * lattice, 9)), lattice - 1)
    p = _largest(items, gained, lost, place, round(bound, 12))
    return max(p, _largest_p_below(items, gained, lost, place - 1, p))


def paired_lower_limit(items: int, gained: int, lost: int, alpha: float) -> float:
    """The bound up to which `above` is at most `alpha`, itself included; -1 where it is nowhere."""
    from scipy.optimize import brentq

    lattice = _lattice(items)
    low, high = -lattice, floor(lattice * (gained - lost) / items) + 1  # p is alpha or less; is more
    while high - low > 1:
        middle = (low + high) // 2
        paired_shown = paired_above(items, gained, lost, middle / lattice) <= alpha
        low, high = (middle, high) if paired_shown else (low, middle)
    if low == -lattice:
        return -1.0
    place, ends = min(high, lattice - 1), (low / lattice, min(high / lattice, (gained - lost) / items))

    def excess(bound: float) -> float:
        return _largest(items, gained, lost, place, bound) - alpha

    if excess(ends[0]) > 0:  # p jumps where the order changes
        return ends[0]
    return float(brentq(excess, *ends, xtol=1e-12)) if excess(ends[1]) > 0 else ends[1]


def paired_shown(items: int, gained: Whole, lost: Whole, bound: float, alpha: float) -> Flags:
    """Of which outcomes, (N,), p is `alpha` or less, about: to know a power. p at bounds below can be larger,
    which matters of few items and a bound above 0, so there the score is that of outcomes tried one by
    one."""
    scores, simple = _score(gained, lost, items, bound), _critical(items, round(bound, 12), alpha)
    critical: float | Floats = simple
    if bound > 0 and items < FEW_PAIRS:
        tried = [round(share * items) for share in TRIED]
        critical = np.interp(lost, tried, [_shown_from(items, one, round(bound, 12), alpha) for one in tried])
    flags: Flags = scores >= critical
    return flags


@lru_cache(maxsize=4096)
def _shown_from(items: int, lost: int, bound: float, alpha: float) -> float:
    """The score from which p is `alpha` or less, of outcomes with so many `lost`: half way between the last
    one that is not shown and the first one that is."""
    scores = _score(np.arange(items - lost + 1), np.full(items - lost + 1, lost), items, bound)
    least = min(int(np.searchsorted(scores, _critical(items, bound, alpha))), items - lost)
    while least < items - lost and paired_above(items, least, lost, bound) > alpha:
        least += 1
    while least > 1 and paired_above(items, least - 1, lost, bound) <= alpha:
        least -= 1
    return float(scores[max(least - 1, 0)] + scores[least]) / 2


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


def _largest_p_below(items: int, gained: int, lost: int, place: int, p: float) -> float:
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


METHOD = "Gaffke's test of a mean of units"
OF_ITEMS = "the exact test of paired items (Tango's score)"
"""What decides, in words: plans and reports say the same."""


def method(units: CaseTable, level: int, reference: int) -> str:
    """What decides of these units, in words."""
    return METHOD if _items(units, level, reference) is None else OF_ITEMS


def method_of(answers: ArrayLike, binary: bool) -> str:
    """What will decide of units with so many answers under each arm, (U,); `binary` as in `above_in_each`."""
    counts = np.asarray(answers, np.float64)
    single = binary and 0 < len(counts) <= MOST_PAIRS and bool((counts == 1).all())
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
        return paired_above(*items, bound)
    return _mean_above(units, level, reference, bound, largest)


def _mean_above(units: CaseTable, level: int, reference: int, bound: float, largest: float) -> float:
    """The same of units of any kind, by Gaffke's test."""
    totals = units.cases @ units.rows
    values, lowest = _unit_moves(units.rows, units.sums, totals, level, reference, bound, largest)
    return LEAST if lowest >= 0 else mean_above_zero(np.repeat(values, units.cases), lowest)


def above_in_each(
    rows: Floats,
    sums: Floats,
    studies: Any,
    level: int,
    reference: int,
    bound: float,
    alpha: float,
    binary: bool,
    largest: float = 1.0,
) -> Flags:
    """Whether p of `above` is `alpha` or less in each of many studies, (N,), as near as `means_above_zero`
    and `paired_shown` are: of kinds of units with `rows` and `sums`, (F, arms), each holds as many as
    `studies`, (N, F), dense or sparse, says. All hold as many rows of each arm. `binary`: a unit of one
    answer earns 0 or 1."""
    allowed = np.ones(studies.shape[0], np.bool_)
    if largest < 1:
        allowed = np.asarray(studies @ (_changed(rows, sums, level, reference) > largest)).ravel() == 0
    if bound <= -largest:
        return allowed
    totals = np.asarray(studies[:1] @ rows)[0]
    items = round(float(totals[level]))
    if binary and items <= MOST_PAIRS and (rows == 1).all():
        moved = sums[:, level] - sums[:, reference]
        gained, lost = (np.asarray(studies @ (moved == way), np.float64).round() for way in (1, -1))
        shown = paired_shown(items, gained.astype(np.int64), lost.astype(np.int64), bound, alpha)
        return allowed & shown
    values, lowest = _unit_moves(rows, sums, totals, level, reference, bound, largest)
    flags: Flags = allowed & (means_above_zero(values, studies, lowest, alpha) <= alpha)
    return flags


def _items(units: CaseTable, level: int, reference: int) -> tuple[int, int, int] | None:
    """How many items there are, how many are gained and how many lost, where the exact test is of them."""
    arms = [reference, level]
    some = units.rows[:, arms].any(axis=1)
    sums, cases = units.sums[some][:, arms], units.cases[some]
    items, moved = int(cases.sum()), sums[:, 1] - sums[:, 0]
    if items > MOST_PAIRS or (units.rows[some][:, arms] != 1).any() or (sums * (1 - sums)).any():
        return None
    return items, int(cases[moved > 0].sum()), int(cases[moved < 0].sum())


def _unit_moves(
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


def outside(units: CaseTable, level: int, reference: int, margin: float, largest: float = 1.0) -> float:
    """p of: the difference is as far from 0 as the margin or further, on either side: twice the smaller,
    because both can be wrong at once where the margin is small."""
    sides = above(units, level, reference, margin, largest), below(units, level, reference, -margin, largest)
    return min(1.0, 2 * min(sides))


def unchanged(units: CaseTable, level: int, reference: int, margin: float, largest: float = 1.0) -> float:
    """p of a margin that is shown, on either side, if no answer changes: where it is above alpha, units like
    these show the margin by no outcome, but for gains where only losses matter."""
    still = CaseTable(units.rows, np.zeros_like(units.rows), units.cases)
    return above(still, level, reference, -margin, largest)


def difference_limits(
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
        low, high = (paired_lower_limit(count, *way, alpha) for way in ((gained, lost), (lost, gained)))
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
