"""Exact tests: of configurations and claims, of what a draw can find, of what chance can give.

A test of a single configuration is of delta(c) = E_unit[x_A(c) - x_B(c)], with one sample of units shared by
all configurations. The p-value of one configuration is McNemar's, exact and one-sided, where units are items
with outcomes 0 or 1, and 1 / e of a betting e-value where units hold several items (`betting`). Claims
combine them by union bounds or means of e-values, and by intersection-union, so they are valid under any
dependence between configurations (Gail & Simon 1985 state the hypothesis; their test assumes independent
strata, and here the strata share items).

Tarone's correction, which does not count configurations with too few discordant items to reject, is not used:
it needs the discordance of all configurations at once to be uninformative of the signs. Where configurations
share items it is not, and false certification reaches .11 at alpha .05 (tests/statistics/test_nulls.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, permutations
from math import comb
from typing import Literal

import numpy as np

from gridc.statistics import betting
from gridc.statistics.arrays import Floats, Whole


def detection(total: int, changed: int, drawn: int, needed: int = 1) -> float:
    """The probability that a draw of so many of `total`, without replacement, holds `needed` of the changed:
    the hypergeometric distribution's P(X >= needed); for one, 1 - C(total - changed, drawn) / C(total,
    drawn)."""
    from scipy.stats import hypergeom

    return float(hypergeom.sf(needed - 1, total, changed, drawn))


def least_detected(total: int, drawn: int, needed: int = 1, probability: float = 0.95) -> int:
    """The smallest number of changed answers that a draw holds `needed` of with at least this probability;
    `total` + 1 where not even a change of all is."""
    low, high = 0, total + 1
    while high - low > 1:
        middle = (low + high) // 2
        enough = detection(total, middle, drawn, needed) >= probability
        low, high = (low, middle) if enough else (middle, high)
    return high


def least_exceeding(floor: int, of: int, alpha: float) -> int:
    """The smallest number of changed answers of so many that is significantly (`exceeds` below `alpha`) more
    than `floor`; `of` + 1 where not even a change of all is."""
    low, high = floor, of + 1  # as many as the floor are never more often changed
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if excess_p(middle, floor, of) < alpha else (middle, high)
    return high


def excess_p(changed: int, floor: int, of: int) -> float:
    """One-sided exact p (Fisher) that `changed` of so many are no more often changed than `floor` of as
    many, which are what the method alone does."""
    from scipy.stats import fisher_exact

    return float(fisher_exact([[changed, of - changed], [floor, of - floor]], alternative="greater").pvalue)


PairTest = Literal["mcnemar", "betting"]


@lru_cache(maxsize=4096)
def upper_tails(n: int) -> tuple[float, ...]:
    """P(Bin(n, 1/2) >= b) for b = 0 .. n + 1, from whole numbers, each rounded once."""
    tails, held, whole = [0.0], 0, 1 << n
    for ways in _binomials(n):
        held += ways
        tails.append(held / whole)
    return tuple(reversed(tails))


def _binomials(n: int) -> list[int]:
    """The binomial coefficients of n, which read the same from both ends."""
    half = [1]
    for k in range(1, n // 2 + 1):
        half.append(half[-1] * (n - k + 1) // k)
    return half + half[: (n + 1) // 2][::-1]


def mcnemar_two_sided(b: int, c: int) -> float:
    """Exact two-sided McNemar p-value of b and c discordant items; 1 where there is none or b = c."""
    return min(1.0, 2 * upper_tails(b + c)[max(b, c)])


@dataclass(frozen=True, slots=True, eq=False)
class PairTests:
    """One pair (a, b), configuration by configuration: how many units put a ahead, how many b, and the
    p-values against delta <= 0 (`plus`) and against delta >= 0 (`minus`), each (configurations,). Those of
    betting are 1 / e and may pass 1."""

    kind: PairTest
    ahead: Whole
    behind: Whole
    plus: Floats
    minus: Floats


def mcnemar_tests(differences: Whole) -> PairTests:
    """Exact one-sided McNemar tests of differences in {-1, 0, 1}, shape (configurations, items)."""
    ahead, behind = (differences > 0).sum(axis=1), (differences < 0).sum(axis=1)
    counts = list(zip(ahead.tolist(), behind.tolist(), strict=True))
    plus = np.array([upper_tails(b + c)[b] for b, c in counts])
    minus = np.array([upper_tails(b + c)[c] for b, c in counts])
    return PairTests("mcnemar", ahead, behind, plus, minus)


def betting_tests(differences: Whole, span: int, items: float) -> PairTests:
    """Betting tests of differences in units of 1 / `span`, shape (configurations, units), whose units have
    `items` items on average. Raises `ValueError` where a difference is larger than 1."""
    staked = betting.stakes(items)
    ahead, behind = (differences > 0).sum(axis=1), (differences < 0).sum(axis=1)
    plus = betting.p_of_e_values(betting.log_e_values(differences, span, staked))
    minus = betting.p_of_e_values(betting.log_e_values(-differences, span, staked))
    return PairTests("betting", ahead, behind, plus, minus)


def somewhere(p: Floats, kind: PairTest, among: int) -> float:
    """p-value of "delta is above 0 in some configuration", of `among` that could have been the one: n min p
    (Bonferroni), or for e-values 1 / mean e = n / sum(1 / p), never larger."""
    if not len(p):
        return 1.0
    best = float(p.min()) if kind == "mcnemar" else float(1 / (1 / p).sum())
    return min(1.0, among * best)


def everywhere(p: Floats) -> float:
    """p-value of "delta is above 0 in every configuration" (intersection-union): the largest."""
    return min(1.0, float(p.max(initial=0.0))) if len(p) else 1.0


def ordering_p(order: Sequence[str], plus: Mapping[tuple[str, str], Floats], kind: PairTest) -> float:
    """p-value of "these models stand in this strict order somewhere": in each configuration the largest p of
    two neighbours, combined over configurations. `plus` holds for each ordered pair (a, b) the p-values
    against delta <= 0, by configuration."""
    worst: Floats = np.maximum.reduce([plus[a, b] for a, b in pairwise(order)])
    return somewhere(worst, kind, len(worst))


def orderings(models: Sequence[str], most: int = 5) -> list[tuple[str, ...]]:
    """Every strict order of the models, for which `ordering_p` makes sense; none above `most` models,
    where there are too many to test."""
    return list(permutations(models)) if 1 < len(models) <= most else []


def holm(p: Sequence[float], size: int | None = None) -> list[float]:
    """Holm-adjusted p-values in the order given. `size` is the size of the family when it has members
    that are not listed, all of them with p = 1."""
    m = len(p) if size is None else size
    adjusted, running = [1.0] * len(p), 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=lambda number: p[number])):
        running = max(running, min(1.0, (m - rank) * p[place]))
        adjusted[place] = running
    return adjusted


def rho_interval(up: int, down: int, size: int, reversal: bool) -> tuple[Fraction, Fraction]:
    """How much of an envelope reverses beyond these units, from the numbers of configurations that are
    named in each direction: [min(k+, k-), min(floor(n / 2), n - k+, n - k-)] / n. The lower end is 0 unless
    the `reversal` itself is certified."""
    low = Fraction(min(up, down), size) if reversal else Fraction(0)
    return low, Fraction(min(size // 2, size - up, size - down), size)


def mcnemar_gap(items: int, discordance: float, level: float) -> float | None:
    """The smallest observed gap, as a share, that McNemar's test certifies in one configuration at this
    level, when a share `discordance` of the items is discordant. None when even all would not do.
    `betting.betting_gap` is that of units of several items."""
    discordant = round(discordance * items)
    tails = upper_tails(discordant)
    needed = next((b for b in range(discordant + 1) if tails[b] <= level), None)
    return None if needed is None else (2 * needed - discordant) / items


def minority_bound(size: int, drawn: int, alpha: float = 0.05) -> int:
    """The most configurations that can reverse when `drawn` of `size`, drawn at random, show none, at
    confidence 1 - alpha (hypergeometric)."""
    bound = 0
    while bound < size - drawn and comb(size - bound - 1, drawn) > Fraction(str(alpha)) * comb(size, drawn):
        bound += 1
    return bound


def expected_until_both(plus: int, minus: int, size: int) -> float | None:
    """Expected number of configurations, in random order, until both signs are seen:
    (n + 1) [1 / (N+ + 1) + 1 / (N- + 1) - 1 / (N+ + N- + 1)]. None without a reversal."""
    if not plus or not minus:
        return None
    return (size + 1) * (1 / (plus + 1) + 1 / (minus + 1) - 1 / (plus + minus + 1))


def poisson_binomial_tails(chances: Sequence[float], hits: int) -> tuple[float, float]:
    """P(X <= hits) and P(X >= hits), X being the number of successes in independent trials with these
    chances (Poisson's binomial distribution), by convolution: exact, O(n^2)."""
    masses = [1.0]
    for chance in chances:
        without = [mass * (1 - chance) for mass in masses]
        within = [mass * chance for mass in masses]
        masses = [a + b for a, b in zip([*without, 0.0], [0.0, *within], strict=True)]
    return sum(masses[: hits + 1]), sum(masses[hits:])
