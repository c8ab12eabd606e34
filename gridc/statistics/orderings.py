"""Which orders of all models occur somewhere in an envelope, and how alike the orders are.

Ties make "how many orderings" three different numbers, so all three are given: strict orders only,
orders in which models may be tied, and the paper's count, which breaks ties by name (SafetyRepro,
sec. 4) and so counts orders that no configuration shows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, groupby
from math import comb, factorial, fsum, sqrt

from gridc.statistics.direction import Direction
from gridc.statistics.pairs import ScoreByModel

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
        weak.setdefault(order_of(row), configuration)
        by_name.add(tuple(sorted(row, key=lambda model: (-row[model], model))))
    return Orderings(weak, len(by_name), len(complete), len(scores))


def order_of(row: Mapping[str, Fraction]) -> Order:
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
    weak = Counter(map(order_of, rows))
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
