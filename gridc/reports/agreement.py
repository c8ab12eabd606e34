"""The same responses, scored two ways: how far two scoring rules agree on them.

Levels of an axis that send the very same calls differ in scoring alone: two readers, two normalisations of
a likelihood, keywords for refusals beside a judge. What they make of each item (replicate 0) is compared
within every other configuration. Descriptive: configurations share their items, so no error is stated.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gridc.compiler.calls import Cell
from gridc.runtime.store import CellOutcomes


@dataclass(frozen=True, slots=True)
class Agreement:
    """One model's items on a benchmark under two levels of an axis, over all configurations they share.

    `table` counts items x configurations: scored under both, under the left level only, under the right one
    only, under neither. `kappa` is Cohen's over the whole table, `least` and `greatest` those of single
    configurations; None where a rule gives every item the same score, so that chance explains everything.
    """

    benchmark: str
    model: str
    axis: str
    left: str
    right: str
    configurations: int
    table: tuple[int, int, int, int]
    kappa: float | None
    least: float | None
    greatest: float | None

    @property
    def items(self) -> int:
        return sum(self.table)

    @property
    def agreeing(self) -> float:
        """The share of items that both rules score alike."""
        return (self.table[0] + self.table[3]) / self.items


def agreements(
    cells: Sequence[Cell], axes: Mapping[str, Sequence[str]], stored: Mapping[str, CellOutcomes]
) -> Iterator[Agreement]:
    """Every pair of levels that scores the same calls, by axis, benchmark and model. `axes` gives the levels
    of each axis in order; cells without all their outcomes are left out."""
    for axis, levels in axes.items():
        rows: dict[tuple[str, str], dict[tuple[str, ...], dict[str, Cell]]] = {}
        for cell in cells:
            rest = tuple(level for name, level in cell.levels.items() if name != axis)
            found = rows.setdefault((cell.benchmark, cell.model), {})
            found.setdefault(rest, {})[cell.levels[axis]] = cell
        for (benchmark, model), places in rows.items():
            for left, right in combinations(levels, 2):
                tables = [
                    table(stored[place[left].key], stored[place[right].key])
                    for place in places.values()
                    if _comparable(place, left, right, stored)
                ]
                if tables:
                    yield _agreement(benchmark, model, axis, left, right, tables)


def table(left: CellOutcomes, right: CellOutcomes) -> NDArray[np.int64]:
    """Items by what two rules make of them, shape (2, 2): rows the left rule, columns the right one, a point
    first. Both score the same items."""
    one, other = left.first == 1, right.first == 1
    found = [(one & other).sum(), (one & ~other).sum(), (~one & other).sum(), (~one & ~other).sum()]
    return np.array(found, dtype=np.int64).reshape(2, 2)


def cohen(counts: NDArray[np.int64]) -> float | None:
    """Cohen's kappa of a table (2, 2); None where a rule never differs, so that it is 0 over 0."""
    from statsmodels.stats.inter_rater import cohens_kappa

    if counts.sum(axis=0).max() == counts.sum() and counts.sum(axis=1).max() == counts.sum():
        return None
    return float(cohens_kappa(counts, return_results=False))


def _comparable(place: Mapping[str, Cell], left: str, right: str, stored: Mapping[str, CellOutcomes]) -> bool:
    if left not in place or right not in place:
        return False
    one, other = place[left], place[right]
    if one.setting.asked != other.setting.asked:
        return False
    return all(bool((stored[each.key].scored == stored[each.key].trials).all()) for each in (one, other))


def _agreement(
    benchmark: str, model: str, axis: str, left: str, right: str, tables: Sequence[NDArray[np.int64]]
) -> Agreement:
    whole = np.sum(tables, axis=0)
    single = [each for each in map(cohen, tables) if each is not None]
    both, one, other, neither = (int(each) for each in whole.flat)
    return Agreement(
        benchmark=benchmark,
        model=model,
        axis=axis,
        left=left,
        right=right,
        configurations=len(tables),
        table=(both, one, other, neither),
        kappa=cohen(whole),
        least=min(single, default=None),
        greatest=max(single, default=None),
    )
