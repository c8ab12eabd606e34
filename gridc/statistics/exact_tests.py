"""Item-level evidence: is an order, or its reversal, more than these items' luck?

delta(c) = E_item[x_A(c, i) - x_B(c, i)], one item sample shared by all configurations. Every test here is
built from one-sided p-values of single configurations by union bounds and intersection-union, so it is
valid under any dependence between configurations (Gail & Simon 1985 state the hypothesis; their test
assumes independent strata, and here the strata share items).

The p-value of one configuration flips the sign of each unit's difference: exactly, by convolution. Where
units are single items and outcomes 0 or 1 this is the exact one-sided McNemar test. Where items come
in families, or replicates are summed, it assumes a symmetric difference under the null, and is labelled
so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, permutations
from math import comb

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]


@lru_cache(maxsize=4096)
def upper_tails(n: int) -> tuple[float, ...]:
    """P(Bin(n, 1/2) >= b) for b = 0 .. n + 1, from whole numbers, each rounded once."""
    tails, held, whole = [0.0], 0, 1 << n
    for b in range(n, -1, -1):
        held += comb(n, b)
        tails.append(float(Fraction(held, whole)))
    return tuple(reversed(tails))


def mcnemar_two_sided(b: int, c: int) -> float:
    """Exact two-sided McNemar p-value of b and c discordant items; 1 where there is none or b = c."""
    return min(1.0, 2 * upper_tails(b + c)[max(b, c)])


def one_sided(differences: Whole) -> tuple[Floats, Floats]:
    """p-values against delta <= 0 and against delta >= 0, from differences by configuration and unit,
    (configurations, units) -> two arrays (configurations,)."""
    if np.abs(differences).max(initial=0) <= 1:
        up, down = (differences > 0).sum(axis=1), (differences < 0).sum(axis=1)
        counts = list(zip(up.tolist(), down.tolist(), strict=True))
        plus = [upper_tails(b + c)[b] for b, c in counts]
        minus = [upper_tails(b + c)[c] for b, c in counts]
        return np.array(plus), np.array(minus)
    both = [_sign_flip(row) for row in differences]
    return np.array([plus for plus, _ in both]), np.array([minus for _, minus in both])


def _sign_flip(differences: Whole) -> tuple[float, float]:
    """P(S >= s) and P(S <= s) for S = sum of +-|d| with random signs: the exact distribution, convolved
    size by size from binomials."""
    sizes, counts = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    mass = np.ones(1)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        binomial = np.zeros(2 * size * count + 1)
        binomial[:: 2 * size] = _binomial(count)
        mass = np.convolve(mass, binomial)
    at = int(differences.sum()) + len(mass) // 2
    return _digits(float(mass[at:].sum())), _digits(float(mass[: at + 1].sum()))


@lru_cache(maxsize=4096)
def _binomial(n: int) -> tuple[float, ...]:
    """P(Bin(n, 1/2) = k) for k = 0 .. n."""
    return tuple(float(Fraction(comb(n, k), 1 << n)) for k in range(n + 1))


def reversal_p(plus: Floats, minus: Floats, multiplicity: int) -> float:
    """p-value of "delta changes sign somewhere": max(n min p+, n min p-), the intersection-union of two
    Bonferroni tests. `multiplicity` n counts the configurations among which a witness could be chosen."""
    return min(1.0, multiplicity * max(float(plus.min(initial=1.0)), float(minus.min(initial=1.0))))


def order_p(plus: Floats, size: int) -> float:
    """p-value of "delta > 0 in every one of `size` configurations": the largest, and 1 when one lacks."""
    return float(plus.max()) if len(plus) == size else 1.0


def ordering_p(order: Sequence[str], plus: Mapping[tuple[str, str], Floats], multiplicity: int) -> float:
    """p-value of "these models stand in this strict order somewhere": n min_c max over neighbours of p.
    `plus` holds for each ordered pair (a, b) the p-values against delta <= 0, by configuration."""
    worst = np.maximum.reduce([plus[a, b] for a, b in pairwise(order)])
    return min(1.0, multiplicity * float(worst.min(initial=1.0)))


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


@dataclass(frozen=True, slots=True)
class Named:
    """Configurations whose direction is certified, Holm at alpha / 2 in each direction over the
    configurations of one pair; numbers of configurations, most certain first."""

    plus: tuple[int, ...]
    minus: tuple[int, ...]


def named_witnesses(plus: Floats, minus: Floats, alpha: float) -> Named:
    """The configurations where the direction itself is certified, with family-wise error at most alpha."""

    def certified(p: Floats) -> tuple[int, ...]:
        values = p.tolist()
        adjusted = holm(values)
        held = [number for number, each in enumerate(adjusted) if each <= alpha / 2]
        return tuple(sorted(held, key=lambda number: (values[number], number)))

    return Named(certified(plus), certified(minus))


def rho_interval(named: Named, size: int) -> tuple[Fraction, Fraction]:
    """How much of the envelope reverses, at the level of the named witnesses: [min(k+, k-),
    min(floor(n / 2), n - k+, n - k-)] / n."""
    up, down = len(named.plus), len(named.minus)
    return Fraction(min(up, down), size), Fraction(min(size // 2, size - up, size - down), size)


@dataclass(frozen=True, slots=True)
class Identical:
    """What models that are identical would show: rho_flip when the outcomes of both are exchanged at
    random, unit by unit, the same exchange in all configurations. `at_least` is the share of exchanges
    with at least the observed rho_flip, the observed one counted among them."""

    exchanges: int
    mean: float
    upper: float
    at_least: float


def exchanges(units: int, number: int, seed: int) -> NDArray[np.float32]:
    """Random signs, shape (units, number): one exchange of both models a column."""
    bits = np.random.default_rng(seed).integers(0, 2, size=(units, number), dtype=np.int8)
    signs: NDArray[np.float32] = (2 * bits - 1).astype(np.float32)
    return signs


def exchanged_signs(differences: Whole, signs: NDArray[np.float32]) -> NDArray[np.int8]:
    """The sign of each configuration's total under each exchange, (configurations, exchanges). Products
    and sums are of whole numbers far below 2^24, so single precision is exact. Raises `ValueError` where
    it would not be."""
    if np.abs(differences).sum(axis=1).max(initial=0) >= 1 << 24:
        raise ValueError("too many replicates for exact sums")
    found: NDArray[np.int8] = np.sign(differences.astype(np.float32) @ signs).astype(np.int8)
    return found


def identical(signs: NDArray[np.int8], observed: Fraction) -> Identical:
    """The reference distribution from the signs of the configurations of a scope."""
    size, number = signs.shape
    least = np.minimum((signs > 0).sum(axis=0), (signs < 0).sum(axis=0))
    ordered = np.sort(least)
    reached = int((least * observed.denominator >= observed.numerator * size).sum())
    return Identical(
        number,
        _digits(int(least.sum()) / number / size),
        _digits(int(ordered[min(number - 1, int(0.95 * number))]) / size),
        _digits((reached + 1) / (number + 1)),
    )


def smallest_gap(items: int, discordance: float, level: float) -> float | None:
    """The smallest observed gap, as a share, that the exact test certifies in one configuration at this
    level, when a share `discordance` of the items is discordant. None when even all would not do."""
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


def _digits(value: float) -> float:
    """Ten digits: no machine's last bits, so that a report is the same file everywhere."""
    return float(f"{value:.10g}")
