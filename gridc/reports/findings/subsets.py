"""Does another subset of the items tell the same story? (SafetyRepro, app. X)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gridc.reports.findings.outcomes import Outcomes
from gridc.statistics.direction import Direction
from gridc.statistics.orderings import Order, order_of


@dataclass(frozen=True, slots=True)
class ConfigurationRobustness:
    """One configuration over the subsets: the order of all models on every subset, and how far each
    model's score moves between them."""

    configuration: str
    full: Order
    orders: tuple[Order, ...]
    ranges: dict[str, Fraction]

    @property
    def kept(self) -> int:
        """On how many subsets the order is that of all items, a tie being another order."""
        return sum(order == self.full for order in self.orders)


def stratified(units: NDArray[np.int64], strata: Sequence[str], share: float, seed: int) -> NDArray[np.int64]:
    """Item numbers of a subset: `share` of the families of each stratum, rounded, at least one.

    `units` numbers the family of each item, `strata` names the stratum of each item (a family lies in
    the stratum of its first item). Raises `ValueError` for a share outside (0, 1].
    """
    if not 0 < share <= 1:
        raise ValueError("a share lies above 0 and at most at 1")
    random = np.random.default_rng(seed)
    first = {int(unit): strata[number] for number, unit in reversed(list(enumerate(units)))}
    by_stratum: dict[str, list[int]] = {}
    for unit in sorted(first):
        by_stratum.setdefault(first[unit], []).append(unit)
    kept: list[int] = []
    for _, families in sorted(by_stratum.items()):
        n = max(1, round(share * len(families)))
        kept += random.permutation(families)[:n].tolist()
    return np.flatnonzero(np.isin(units, kept))


def robustness(
    outcomes: Outcomes,
    configurations: Sequence[str],
    subsets: Sequence[NDArray[np.int64]],
    direction: Direction,
) -> list[ConfigurationRobustness]:
    """Each configuration that every model has been measured in, on all items and on each subset."""

    def order(row: Mapping[str, Fraction]) -> Order:
        return order_of({model: direction.good(score) for model, score in row.items()})

    results = []
    for name in configurations:
        at = outcomes.configurations.index(name)
        if not outcomes.measured[:, at].all():
            continue
        replicates = int(outcomes.replicates[at]) * outcomes.scale

        def scores(items: NDArray[np.int64], at: int = at, k: int = replicates) -> dict[str, Fraction]:
            sums = outcomes.correct[:, at, items].sum(axis=1)
            return {
                model: Fraction(int(total), k * len(items))
                for model, total in zip(outcomes.models, sums, strict=True)
            }

        planned = np.flatnonzero(outcomes.asked[at])
        rows = [scores(kept) for items in subsets if len(kept := np.intersect1d(items, planned))]
        if not rows:
            continue
        results.append(
            ConfigurationRobustness(
                name,
                order(scores(planned)),
                tuple(order(row) for row in rows),
                {
                    model: max(row[model] for row in rows) - min(row[model] for row in rows)
                    for model in outcomes.models
                },
            )
        )
    return results
