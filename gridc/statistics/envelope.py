"""Scores over an envelope: how often a pair flips (rho_flip), orders, dispersion, and their bootstrap.

Sign counts of a pair of models are strict (SafetyRepro, sec. 4, eq. 1 and Prop. 1). Scores are exact
fractions and are compared as such; no float decides a sign.

How many orders of the models occur in an envelope is three different numbers where models tie, and all three
are given: strict orders only, orders in which models may be tied, and the paper's count, which breaks ties by
name (SafetyRepro, sec. 4) and so counts orders that no configuration shows.

The configuration bootstrap shows how much a statistic depends on which configurations are in the envelope.
The envelope is finite and was chosen, so these are sensitivity ranges and no confidence intervals
(SafetyRepro, app. G). Least and greatest of a resample cannot pass those of the sample, so SDI can fall but
hardly rise; and a resample repeats configurations, which lifts tau_R by about (1 - tau_R) / n: the interval
is printed with that bias, which the point does not have.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, groupby
from math import comb, factorial, fsum, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from gridc.statistics.exact_tests import expected_until_both, minority_bound
from gridc.statistics.reproducibility import digits


@dataclass(frozen=True, slots=True)
class Direction:
    """More is better; less is, where `lower`; or, where there is a `target`, the nearest to it is best."""

    lower: bool = False
    target: Fraction | None = None

    @classmethod
    def of(cls, stated: str | float) -> "Direction":
        """As a spec or a store states it. A float is taken at its decimal value: 0.7 means 7/10."""
        text = str(stated)
        if text.endswith("_is_better"):
            return cls(lower=text == "lower_is_better")
        return cls(target=Fraction(text))

    @property
    def stated(self) -> str:
        """As `of` reads it."""
        if self.target is not None:
            return str(self.target)
        return "lower_is_better" if self.lower else "higher_is_better"

    @property
    def sign(self) -> int:
        """1 where the higher of any two scores is the better one, -1 where the lower is, 0 under a target,
        where that depends on the scores."""
        return 0 if self.target is not None else -1 if self.lower else 1

    def good(self, score: Fraction) -> Fraction:
        """How good a score is: higher is better. Under a target the distance from it, less than 0."""
        if self.target is not None:
            return -abs(score - self.target)
        return -score if self.lower else score


SMALL_MEAN = Fraction(1, 20)
"""Below this mean the SDI is unstable and is flagged."""


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Least, greatest and mean score over `n` configurations."""

    n: int
    least: Fraction
    greatest: Fraction
    mean: Fraction

    @property
    def sdi(self) -> Fraction | None:
        """Score Dispersion Index: (max - min) / mean. None when the mean is 0; it is not invariant to
        a shift of the scores, so the range is always printed beside it."""
        return (self.greatest - self.least) / self.mean if self.mean else None

    @property
    def unstable(self) -> bool:
        return self.mean < SMALL_MEAN


@dataclass(frozen=True, slots=True)
class FlipRate:
    """Compliance flip rate at a pass mark: how often two configurations disagree on pass or fail."""

    threshold: Fraction
    n: int
    passing: int

    @property
    def rate(self) -> Fraction | None:
        """2 k (n - k) / (n (n - 1)) for k of n passing; undefined for a single configuration."""
        if self.n < 2:
            return None
        return Fraction(2 * self.passing * (self.n - self.passing), self.n * (self.n - 1))

    @property
    def ceiling(self) -> Fraction | None:
        """The most that n configurations can reach: n / (2 (n - 1)), or (n + 1) / (2 n) for odd n."""
        if self.n < 2:
            return None
        half = self.n // 2
        return Fraction(2 * half * (self.n - half), self.n * (self.n - 1))


def disperse(scores: Sequence[Fraction]) -> Dispersion:
    """The dispersion of at least one score. Raises `ValueError` when there is none."""
    if not scores:
        raise ValueError("no scores")
    return Dispersion(len(scores), min(scores), max(scores), sum(scores, Fraction(0)) / len(scores))


def flip_rate(
    scores: Sequence[Fraction], threshold: float | Fraction, lower_is_better: bool = False
) -> FlipRate:
    """CFR at `threshold`, which a score passes that is at least as good. A float is taken at its decimal
    value: 0.7 means 7/10, and a score of exactly 7/10 passes."""
    mark = threshold if isinstance(threshold, Fraction) else Fraction(str(threshold))
    passing = sum(score <= mark if lower_is_better else score >= mark for score in scores)
    return FlipRate(mark, len(scores), passing)


ScoreByModel = Mapping[str, Fraction | None]
"""A model's score by configuration; None where it was not measured in full."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A configuration and the scores of both models under it."""

    configuration: str
    a: Fraction
    b: Fraction


@dataclass(frozen=True, slots=True)
class PairCounts:
    """N+, N- and N0 of the pair (a, b): in how many configurations a scores higher, lower, the same.

    `size` is |C|; `measured` counts the configurations in which both models have a score. The
    witnesses are the configurations with the largest gap in each direction.
    """

    a: str
    b: str
    size: int
    measured: int
    plus: int
    minus: int
    ties: int
    witness_plus: Witness | None
    witness_minus: Witness | None

    @property
    def complete(self) -> bool:
        return self.measured == self.size

    @property
    def rho_flip(self) -> Fraction:
        """The share of configurations whose verdict goes against the majority (eq. 2). Ties stay in
        the denominator. Of an incomplete envelope it is a lower bound."""
        return Fraction(min(self.plus, self.minus), self.size)

    @property
    def ceiling(self) -> Fraction:
        """The most that rho_flip could be with this many ties (Prop. 1 iii, as corrected)."""
        return Fraction((self.size - self.ties) // 2, self.size)

    @property
    def disagreement(self) -> Fraction | None:
        """The share of pairs of configurations with opposite verdicts: 2 N+ N- / (|C| (|C| - 1))."""
        if self.size < 2:
            return None
        return Fraction(2 * self.plus * self.minus, self.size * (self.size - 1))

    @property
    def minority_bound(self) -> int | None:
        """Of an incomplete envelope that shows one order: how many configurations could go against the order,
        had the measured ones been drawn at random (95 %)."""
        if self.complete or bool(self.plus) == bool(self.minus):
            return None
        return minority_bound(self.size, self.measured)

    @property
    def until_both(self) -> float | None:
        """Of a reversal in a complete envelope: how many configurations, asked in random order, show both
        signs, on average."""
        return expected_until_both(self.plus, self.minus, self.size) if self.complete else None

    @property
    def d1(self) -> bool | None:
        """No strict reversal: N+ = 0 or N- = 0. A reversal refutes it; without one, an incomplete
        envelope leaves it open (None)."""
        if self.plus and self.minus:
            return False
        return True if self.complete else None

    @property
    def d2(self) -> bool | None:
        """One sign verdict throughout: exactly one of N+, N-, N0 is not zero. None while open."""
        if sum(count > 0 for count in (self.plus, self.minus, self.ties)) > 1:
            return False
        return True if self.complete else None

    @property
    def majority(self) -> int:
        """1 where a scores higher in more configurations than b, -1 where b does, 0 where neither."""
        return (self.plus > self.minus) - (self.plus < self.minus)

    @property
    def verdicts(self) -> str:
        """The signs that occur, in the order -, 0, +."""
        counts = (("-", self.minus), ("0", self.ties), ("+", self.plus))
        return "".join(sign for sign, count in counts if count)

    @property
    def words(self) -> str:
        """The verdict in the words of the certificate."""
        if self.plus and self.minus:
            return "reversible"
        if not self.complete:
            return f"no reversal on {self.measured} of {self.size}"
        if self.d2:
            return "tied everywhere" if self.ties else "one order throughout"
        return "no strict reversal"


def count_orders(a: str, b: str, scores_a: ScoreByModel, scores_b: ScoreByModel) -> PairCounts:
    """Count over the envelope, which is the configurations of `scores_a`; both mappings must have the
    same ones. Raises `ValueError` for an empty envelope or for two different ones."""
    if not scores_a or scores_a.keys() != scores_b.keys():
        raise ValueError("both models need scores for the same, non-empty envelope")
    both = [
        Witness(configuration, left, right)
        for configuration, left in scores_a.items()
        if left is not None and (right := scores_b[configuration]) is not None
    ]
    plus = [witness for witness in both if witness.a > witness.b]
    minus = [witness for witness in both if witness.a < witness.b]
    return PairCounts(
        a,
        b,
        size=len(scores_a),
        measured=len(both),
        plus=len(plus),
        minus=len(minus),
        ties=len(both) - len(plus) - len(minus),
        witness_plus=max(plus, key=lambda witness: witness.a - witness.b, default=None),
        witness_minus=max(minus, key=lambda witness: witness.b - witness.a, default=None),
    )


Order = tuple[tuple[str, ...], ...]
"""Models from the best score on; those in one group are tied."""


@dataclass(frozen=True, slots=True)
class Orderings:
    """The orders that occur, each with a configuration that shows it, and the paper's count."""

    weak: Mapping[Order, str]
    by_name: int
    measured: int
    models: int

    @property
    def strict(self) -> dict[Order, str]:
        """The orders without ties."""
        return {order: where for order, where in self.weak.items() if len(order) == self.models}

    @property
    def possible(self) -> int:
        """How many strict orders there could be."""
        return factorial(self.models)

    @property
    def permutation_rate(self) -> Fraction:
        """The share of all strict orders that are reachable. The paper's rate counts `by_name`."""
        return Fraction(len(self.strict), self.possible)


def goodness(scores: Mapping[str, ScoreByModel], direction: Direction) -> Mapping[str, ScoreByModel]:
    """The scores turned so that the better one is the higher one, as every function here takes them."""
    return {
        model: {name: None if score is None else direction.good(score) for name, score in row.items()}
        for model, row in scores.items()
    }


def reachable(scores: Mapping[str, ScoreByModel]) -> Orderings:
    """The orders over the configurations in which every model has a score."""
    weak: dict[Order, str] = {}
    by_name: set[tuple[str, ...]] = set()
    complete = _complete(scores)
    for configuration, row in complete.items():
        weak.setdefault(model_order(row), configuration)
        by_name.add(tuple(sorted(row, key=lambda model: (-row[model], model))))
    return Orderings(weak, len(by_name), len(complete), len(scores))


def model_order(row: Mapping[str, Fraction]) -> Order:
    """The order of the models under one configuration, the highest first; tied models by name within their
    group."""
    ranked = sorted(row, key=lambda model: (-row[model], model))
    return tuple(tuple(group) for _, group in groupby(ranked, key=lambda model: row[model]))


def concordance(scores: Mapping[str, ScoreByModel]) -> tuple[float | None, int]:
    """tau_R: the mean Kendall tau-b over all pairs of configurations, and how many were left out.

    A configuration in which all models tie has no tau with any other and is left out. With the sign
    vectors v_c over pairs of models, scaled to length one, the mean is
    (|sum v_c|^2 - n) / (n (n - 1)), which is linear in n. None when fewer than two are left.
    """
    kept, total = sign_vectors(scores)
    n = len(kept)
    if n < 2:
        return None, total - n
    sums = [fsum(column) for column in zip(*kept, strict=True)]
    mean = (fsum(rank_sum * rank_sum for rank_sum in sums) - n) / (n * (n - 1))
    return min(mean, 1.0), total - n


def sign_vectors(scores: Mapping[str, ScoreByModel]) -> tuple[list[list[float]], int]:
    """For each configuration in which not all models tie, the sign of every pair's difference, scaled to
    length one; and how many configurations are measured. The tau-b of two configurations is the product
    of their vectors."""
    models = sorted(scores)
    vectors = [
        [(row[a] > row[b]) - (row[a] < row[b]) for a, b in combinations(models, 2)]
        for row in _complete(scores).values()
    ]
    lengths = [sqrt(sum(sign * sign for sign in vector)) for vector in vectors]
    kept = [
        [sign / length for sign in vector] for vector, length in zip(vectors, lengths, strict=True) if length
    ]
    return kept, len(vectors)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """How often two configurations order all models differently: with ties as ties (`weak`), and with
    ties broken by name (`by_name`, the paper's rule). `null`: orders drawn at random, 1 - 1 / M!."""

    pairs: int
    weak: Fraction | None
    by_name: Fraction | None
    null: Fraction


def mismatch(scores: Mapping[str, ScoreByModel]) -> Mismatch:
    """Total-order mismatch over all pairs of configurations in which every model has a score."""
    rows = list(_complete(scores).values())
    pairs = comb(len(rows), 2)
    weak = Counter(map(model_order, rows))
    by_name = Counter(tuple(sorted(row, key=lambda model: (-row[model], model))) for row in rows)

    def differ(counts: Iterable[int]) -> Fraction | None:
        return 1 - Fraction(sum(comb(n, 2) for n in counts), pairs) if pairs else None

    return Mismatch(
        pairs, differ(weak.values()), differ(by_name.values()), 1 - Fraction(1, factorial(len(scores)))
    )


def _complete(scores: Mapping[str, ScoreByModel]) -> dict[str, dict[str, Fraction]]:
    models: Sequence[str] = list(scores)
    rows: dict[str, dict[str, Fraction]] = {}
    for configuration in scores[models[0]]:
        row = {model: value for model in models if (value := scores[model][configuration]) is not None}
        if len(row) == len(models):
            rows[configuration] = row
    return rows


RESAMPLES = 2000
LEVEL = 0.95

Draws = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ResampledStatistic:
    """A statistic with the central range that it takes over resamples of the configurations.

    `dropped` counts resamples in which it is not defined.
    """

    point: float | None
    low: float | None
    high: float | None
    dropped: int = 0

    @property
    def ends(self) -> tuple[float, float] | None:
        """The two ends of the range, where there is one."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def draws(n: int, resamples: int, seed: int) -> Draws:
    """n-of-n resamples of configuration numbers, shape (resamples, n)."""
    return np.random.default_rng(seed).integers(0, n, size=(resamples, n))


def sdi_interval(scores: Sequence[Fraction], chosen: Draws, level: float = LEVEL) -> ResampledStatistic:
    """SDI over resamples. Scores are put on one denominator, so that every sum is exact."""
    values = _sdi(scores, chosen)
    whole = _sdi(scores, np.arange(len(scores))[None, :])
    return percentiles_of(None if np.isnan(whole[0]) else float(whole[0]), values, level)


def cfr_interval(passing: int, n: int, level: float = LEVEL) -> ResampledStatistic:
    """CFR over resamples in closed form: of n configurations drawn with replacement the number that pass is
    Binomial(n, k / n). None for a single configuration."""
    if n < 2:
        return ResampledStatistic(None, None, None)
    weights = [comb(n, k) * passing**k * (n - passing) ** (n - k) for k in range(n + 1)]
    rates = sorted((Fraction(2 * k * (n - k), n * (n - 1)), weights[k]) for k in range(n + 1))
    low, high = (_quantile(rates, Fraction(str(tail))) for tail in _tails(level))
    return ResampledStatistic(
        float(Fraction(2 * passing * (n - passing), n * (n - 1))), float(low), float(high)
    )


def tau_interval(
    scores: Mapping[str, ScoreByModel], chosen: Draws | None = None, seed: int = 0
) -> ResampledStatistic:
    """tau_R over resamples of the configurations in which not all models tie."""
    vectors = np.array(sign_vectors(scores)[0], dtype=np.float64)
    n = len(vectors)
    if n < 2:
        return ResampledStatistic(None, None, None)
    picked = draws(n, RESAMPLES, seed) if chosen is None else chosen
    values = _tau(vectors, picked)
    return percentiles_of(float(_tau(vectors, np.arange(n)[None, :])[0]), values)


def percentiles_of(
    point: float | None, values: NDArray[np.float64], level: float = LEVEL
) -> ResampledStatistic:
    """The central percentiles of the values that are defined."""
    defined = np.sort(values[~np.isnan(values)])
    if point is None or not len(defined):
        return ResampledStatistic(point, None, None, len(values) - len(defined))
    low, high = (float(defined[min(int(tail * len(defined)), len(defined) - 1)]) for tail in _tails(level))
    return ResampledStatistic(digits(point), digits(low), digits(high), len(values) - len(defined))


def max_statistic(slices: Sequence[NDArray[np.float64]], points: Sequence[float]) -> ResampledStatistic:
    """The range of the maximum over slices (SafetyRepro, app. I), one array of resampled values for each.

    Resample r of every array must belong together: where slices share their configurations, as the
    models of a benchmark do, they share the draw; across benchmarks the draws are independent.
    """
    stacked = np.stack(slices)
    undefined = np.isnan(stacked).all(axis=0)
    values = np.where(undefined, np.nan, np.nanmax(np.where(undefined, 0.0, stacked), axis=0))
    return percentiles_of(max(points), values)


def max_cfr_interval(counts: Sequence[tuple[int, int]], level: float = LEVEL) -> ResampledStatistic:
    """The maximum CFR over slices of (passing, n), their resamples independent, in closed form: the
    distribution function of a maximum is the product of those of its parts."""
    rates = sorted({Fraction(2 * k * (n - k), n * (n - 1)) for _, n in counts for k in range(n + 1)})
    below = [
        prod((_share_at_most(passing, n, rate) for passing, n in counts), start=Fraction(1)) for rate in rates
    ]  # P(max <= rate)
    low, high = (
        float(next(rate for rate, total in zip(rates, below, strict=True) if total >= tail))
        for tail in (Fraction(str(share)) for share in _tails(level))
    )
    point = max(Fraction(2 * k * (n - k), n * (n - 1)) for k, n in counts)
    return ResampledStatistic(float(point), low, high)


def sdi_values(scores: Sequence[Fraction], chosen: Draws) -> NDArray[np.float64]:
    """SDI of each resample; not a number where its mean is 0."""
    return _sdi(scores, chosen)


def _sdi(scores: Sequence[Fraction], chosen: Draws) -> NDArray[np.float64]:
    common = np.lcm.reduce(np.array([score.denominator for score in scores], dtype=np.int64))
    whole = np.array([int(score * int(common)) for score in scores], dtype=np.int64)[chosen]
    sums = whole.sum(axis=1)
    spread = (whole.max(axis=1) - whole.min(axis=1)) * chosen.shape[1]
    shares: NDArray[np.float64] = np.divide(spread, sums, out=np.full(len(sums), np.nan), where=sums != 0)
    return shares


def _tau(vectors: NDArray[np.float64], chosen: Draws) -> NDArray[np.float64]:
    n = chosen.shape[1]
    sums = vectors[chosen].sum(axis=1)
    mean: NDArray[np.float64] = ((sums * sums).sum(axis=1) - n) / (n * (n - 1))
    return np.minimum(mean, 1.0)


def _share_at_most(passing: int, n: int, rate: Fraction) -> Fraction:
    """P(CFR <= rate) when k ~ Binomial(n, passing / n)."""
    held = sum(
        comb(n, k) * passing**k * (n - passing) ** (n - k)
        for k in range(n + 1)
        if Fraction(2 * k * (n - k), n * (n - 1)) <= rate
    )
    return Fraction(held, n**n)


def _quantile(rates: Sequence[tuple[Fraction, int]], tail: Fraction) -> Fraction:
    total, reached = sum(weight for _, weight in rates), 0
    for rate, weight in rates:
        reached += weight
        if Fraction(reached, total) >= tail:
            return rate
    return rates[-1][0]


def _tails(level: float) -> tuple[float, float]:
    tail = round((1 - level) / 2, 6)
    return tail, round(1 - tail, 6)
