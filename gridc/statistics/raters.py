"""Agreement of two raters, and whether blinded raters knew: Cohen's kappa, Bang's index, chi-squared.

Labels of one unit (an item that is answered under several configurations) are not independent. Every share
has the limits of `unit_intervals.share_limits` over units; where each label is of a unit of its own they are
Clopper and Pearson's.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from gridc.statistics.arrays import Whole
from gridc.statistics.unit_intervals import Ends, as_independent, clopper_pearson, share_limits, unit_totals


@dataclass(frozen=True, slots=True)
class Kappa:
    """Cohen's kappa with its standard error (Fleiss, Cohen and Everitt 1969) and interval, which one
    constant rater does not give. Kappa is None where both are: chance alone then agrees always.

    The interval is kappa at the exact (Clopper-Pearson) limits of the share of agreement, chance agreement
    being what it is here: in simulations of 5 to 300 responses it covers .958 of the time or more, where
    kappa with 1.96 errors to each side covers .31 to .95 and shrinks to a point at full agreement.
    Where several responses are of one of the `units`, either end is the farther of two: the limits of the
    agreement over units, and those of as many independent responses as would give kappa its jackknife
    variance over units (Korn & Graubard 1998). The first know nothing of the chance agreement, the second too
    little where few units carry kappa: alone they miss up to .09 and .19, together at most .05.
    """

    n: int
    agreement: float
    kappa: float | None
    error: float | None
    low: float | None
    high: float | None
    units: int

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


def kappa(
    first: Sequence[str],
    second: Sequence[str],
    units: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Kappa:
    """Two raters' labels of the same responses, in one order, and the unit of each response: what is
    independent. None: every response."""
    from statsmodels.stats.inter_rater import cohens_kappa

    if len(first) != len(second) or not first:
        raise ValueError("the raters did not label the same responses")
    table = label_table(first, second)
    n = int(table.sum())
    independent = n if units is None else len(set(units))
    agreement, value = float(np.trace(table) / n), cohen(table)
    if value is None or 1 in ((table.sum(axis=0) > 0).sum(), (table.sum(axis=1) > 0).sum()):
        return Kappa(n, agreement, value, None, None, None, independent)
    chance = float(table.sum(axis=0) @ table.sum(axis=1)) / n**2
    of = range(n) if units is None else units
    low, high = _share_limits([one == other for one, other in zip(first, second, strict=True)], of, level)
    if independent < n:
        worth = _effective_responses(first, second, of, level) if independent > 1 else 1.0
        least, most = clopper_pearson(agreement, worth, 1 - level)
        low, high = min(low, least), max(high, most)
    low, high = ((limit - chance) / (1 - chance) for limit in (low, high))
    with np.errstate(invalid="ignore"):  # its z is 0 / 0 where the raters have no label in common
        error = float(cohens_kappa(table).std_kappa)
    return Kappa(n, agreement, value, error, low, high, independent)


def _effective_responses(
    first: Sequence[str], second: Sequence[str], units: Sequence[Hashable], level: float
) -> float:
    """How many independent responses show as much of kappa as these of several units: their variance of
    kappa at this agreement over its jackknife variance, less what Student's t adds for few units. Where no
    unit matters, one for each unit: no spread in the sample is no evidence of none."""
    table = label_table(first, second)
    labels, places = sorted({*first, *second}), {unit: at for at, unit in enumerate(dict.fromkeys(units))}
    number = {label: at for at, label in enumerate(labels)}
    by_unit = np.zeros((len(places), *table.shape), np.int64)
    at = [places[unit] for unit in units], [number[x] for x in first], [number[x] for x in second]
    np.add.at(by_unit, at, 1)
    without = table - by_unit
    n = without.sum(axis=(1, 2))
    chance = (without.sum(axis=1) * without.sum(axis=2)).sum(axis=1)
    agreed = without.trace(axis1=1, axis2=2) * n
    if (n**2 == chance).any():
        return float(len(places))
    left_out = (agreed - chance) / (n**2 - chance)
    spread = (len(places) - 1) / len(places) * float(((left_out - left_out.mean()) ** 2).sum())
    total = int(table.sum())
    share = float(np.trace(table) / total)
    by_chance = float(table.sum(axis=0) @ table.sum(axis=1)) / total**2
    alone = share * (1 - share) / total / (1 - by_chance) ** 2
    return as_independent(total, len(places), alone, spread, level)


@dataclass(frozen=True, slots=True)
class UnitShare:
    """How many of n have a property, as a share with its limits over `units`."""

    n: int
    count: int
    low: float
    high: float
    units: int

    @property
    def share(self) -> float:
        return self.count / self.n


def unit_share(having: Sequence[bool], units: Sequence[Hashable], level: float = 0.95) -> UnitShare:
    """Which have it, and the unit of each, in one order."""
    if len(having) != len(units) or not having:
        raise ValueError("there is nothing to have a share of, or not one unit for each")
    return UnitShare(len(having), sum(having), *_share_limits(having, units, level), len(set(units)))


def _share_limits(having: Sequence[bool], units: Sequence[Hashable], level: float) -> Ends:
    """The limits of the share of those that have a property, by the unit of each."""
    number = {unit: at for at, unit in enumerate(dict.fromkeys(units))}
    if len(number) == len(having):
        return clopper_pearson(sum(having) / len(having), len(having), 1 - level)
    totals = unit_totals(np.array([number[unit] for unit in units]), [(1.0, float(has)) for has in having])
    return share_limits(totals[:, 0], totals[:, 1], level)


def cohen(table: Whole) -> float | None:
    """Cohen's kappa of a square table of counts; None where both raters always give one same label."""
    from statsmodels.stats.inter_rater import cohens_kappa

    if table.sum() in np.diag(table):
        return None
    return float(cohens_kappa(table, return_results=False))


def label_table(first: Sequence[str], second: Sequence[str]) -> Whole:
    """How often each pair of labels was given, over the labels that either gave, sorted."""
    labels = sorted({*first, *second})
    place = {label: at for at, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)), np.int64)
    np.add.at(counts, ([place[label] for label in first], [place[label] for label in second]), 1)
    return counts


@dataclass(frozen=True, slots=True)
class Leniency:
    """How much more one rater gives than another, over `n` responses: the `mean` difference of their points
    (1 is a whole one), and how often it is `higher` or `lower`. `low` and `high` hold the mean difference
    with the stated chance wherever no difference is greater than 1."""

    n: int
    higher: int
    lower: int
    mean: float
    low: float
    high: float


def leniency(
    gained: Sequence[float], units: Sequence[Hashable] | None = None, level: float = 0.95
) -> Leniency:
    """From what the first rater gave less what the other one gave to each response, each in [-1, 1], and the
    unit of each (None: every response).

    The shares of responses above and below each have their limits at half the error. Where every difference
    is a whole point the mean is the one share less the other; where some are fractions it is still between
    the limits of the one and of the other.
    """
    n = len(gained)
    if not n or max(map(abs, gained)) > 1:
        raise ValueError("no response, or a difference of more than one point")
    above, below = [gain > 0 for gain in gained], [gain < 0 for gain in gained]
    low, high = _less(above, below, units, level, any(gain % 1 for gain in gained))
    return Leniency(n, sum(above), sum(below), sum(gained) / n, low, high)


def _less(
    one: Sequence[bool],
    other: Sequence[bool],
    units: Sequence[Hashable] | None,
    level: float,
    fractions: bool = False,
) -> Ends:
    """Limits of one share less another one of the same rows, each at half of the error; of their means where
    what a row has of either is a fraction."""
    of = range(len(one)) if units is None else units
    half = (1 + level) / 2
    (low, high), (least, most) = (_share_limits(having, of, half) for having in (one, other))
    return (-most, high) if fractions else (low - most, high - least)


@dataclass(frozen=True, slots=True)
class Bang:
    """Bang's blinding index of one arm (Bang, Ni and Davis 2004): (right - wrong) / n, those who do not know
    counted in n. With K arms a guesser by chance has `chance` = 2 / K - 1, not 0; `corrected` is 0 for chance
    and 1 for knowing, (K p - 1) / (K - 1) of the share p that is right among all n."""

    arm: str
    n: int
    right: int
    wrong: int
    index: float
    error: float
    low: float
    high: float
    chance: float
    corrected: float


def bang(
    arm: str,
    guesses: Sequence[bool | None],
    arms: int,
    units: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Bang:
    """The index of an arm from its guesses, each right or not or None (does not know), of `arms` to name, and
    the unit of each (None: every guess). Where every guess names an arm the interval is that of the share of
    right ones; else it has the limits of both shares, each at half of the error."""
    n = len(guesses)
    if n == 0 or arms < 2:
        raise ValueError("no guess, or fewer than two arms to name")
    right, wrong = ([guess is of for guess in guesses] for of in (True, False))
    unknown = n - sum(right) - sum(wrong)
    p, q = sum(right) / n, sum(wrong) / n
    index, error = p - q, sqrt(max(p + q - (p - q) ** 2, 0.0) / n)
    if unknown:
        low, high = _less(right, wrong, units, level)
    else:  # the index is 2 p - 1
        low, high = (2 * limit - 1 for limit in share_right(right, units, level))
    chance = 2 / arms - 1 if unknown == 0 else (1 - unknown / n) * (2 / arms - 1)
    corrected = (arms * p - 1) / (arms - 1)
    return Bang(arm, n, sum(right), sum(wrong), index, error, low, high, chance, corrected)


EXCHANGES = 1999
"""Of the guesses of one item, for a p-value."""


@dataclass(frozen=True, slots=True)
class Guesses:
    """Whether guesses depend on the truth: chi-squared of the table of true arm by guess. Where items have
    several guesses (`by_item`) p is of exchanging each item's among its arms; else it is of the chi-squared
    law, and rough where `least`, the smallest expected count, is below 5."""

    chi2: float | None
    df: int
    p: float
    least: float | None = None
    by_item: bool = False


def guesses_independent(
    truth: Sequence[str], guessed: Sequence[str], items: Sequence[Hashable] | None = None, seed: int = 0
) -> Guesses:
    """Pearson's test of independence of the true arm and the guess, with the item of each guess (None: no two
    share one). A judge who knows nothing passes with any habit of guessing; a test of uniform guesses does
    not allow for habits. Guesses of one item go together whatever its arm, and would be taken for more than
    they are: they change places within the item, and those of items with one guess among each other."""
    from scipy.stats import chi2_contingency

    (_, true), (_, said) = (np.unique(values, return_inverse=True) for values in (truth, guessed))
    shape = int(true.max(initial=-1)) + 1, int(said.max(initial=-1)) + 1
    if min(shape) < 2:
        return Guesses(None, 0, 1.0)
    table = np.bincount(true * shape[1] + said, minlength=shape[0] * shape[1]).reshape(shape)
    independence = chi2_contingency(table, correction=False)
    expected = independence.expected_freq
    value, df, least = float(independence.statistic), int(independence.dof), float(expected.min())
    if items is None or len(set(items)) == len(items):
        return Guesses(value, df, float(independence.pvalue), least)
    number = {item: at for at, item in enumerate(dict.fromkeys(items))}
    group = np.array([number[item] for item in items])
    group[np.bincount(group)[group] == 1] = -1
    random, by_group = np.random.default_rng(seed), np.argsort(group, kind="stable")
    reached = 1
    for _ in range(EXCHANGES):
        order = np.lexsort((random.random(len(group)), group))
        moved = np.bincount(true[by_group] * shape[1] + said[order], minlength=table.size).reshape(shape)
        reached += float((moved**2 / expected).sum()) >= float((table**2 / expected).sum()) - 1e-9
    return Guesses(value, df, reached / (EXCHANGES + 1), least, True)


def share_right(right: Sequence[bool], units: Sequence[Hashable] | None = None, level: float = 0.95) -> Ends:
    """The limits of the share of right guesses, by the unit of each (None: every guess)."""
    return _share_limits(right, range(len(right)) if units is None else units, level)
