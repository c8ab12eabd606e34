"""Item outcomes of a benchmark as arrays: what the evidence behind a count is computed from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm

import numpy as np
from numpy.typing import NDArray

from gridc.compiler.grid.cell import Cell
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.scores import units_of
from gridc.statistics.arrays import Whole
from gridc.statistics.jackknife import effective_number


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Every model's outcomes on the items of one benchmark under its envelope.

    `correct` has shape (models, configurations, items): the sum of an item's scores over its
    replicates, in units of 1 / `scale`. `first` is the score of replicate 0, which was designated before any
    data existed, in the same units. `scale` is 1 where an answer earns a point or none.
    `measured` (models, configurations) says where all are there; elsewhere the numbers mean nothing.
    `asked` (configurations, items) is false where a configuration asks a subset without the item; there
    the outcomes of all models are 0, so that no difference comes of it. `levels` are those of each
    configuration, by axis; `sampled` (configurations,) is false where decoding is greedy.
    `units` (items,) numbers the unit of each item: the groups that are independent of each other, as the spec
    or the benchmark's data say. `replicates` (configurations,) how many outcomes
    an item has: how often it is asked, or the one that is made of these, which is then the first too.
    """

    models: tuple[str, ...]
    configurations: tuple[str, ...]
    levels: tuple[Mapping[str, str], ...]
    sampled: NDArray[np.bool_]
    items: tuple[str, ...]
    units: Whole
    replicates: Whole
    correct: Whole
    first: Whole
    measured: NDArray[np.bool_]
    asked: NDArray[np.bool_]
    scale: int = 1

    @property
    def unit_count(self) -> int:
        return int(self.units.max(initial=-1)) + 1

    @property
    def items_per_unit(self) -> float:
        """How many items a unit holds on average; 1 where there is none."""
        return len(self.items) / max(self.unit_count, 1) if len(self.items) else 1.0

    @property
    def items_of_units(self) -> NDArray[np.int64]:
        """How many items each unit holds, (units,)."""
        return np.bincount(self.units)

    @property
    def effective_units(self) -> float:
        """How many units of one size would give a score that is known as well."""
        return effective_number(self.items_of_units)

    @property
    def unit_is_item(self) -> bool:
        """Whether every unit holds a single item."""
        return self.unit_count == len(self.items)

    @property
    def discordant_or_not(self) -> bool:
        """Whether two models differ on a unit by a whole point or not at all, which is what McNemar's exact
        test is about: each unit is an item, and no answer earns a part of a point."""
        return self.unit_is_item and self.scale == 1

    def differences(self, a: str, b: str, designated: bool) -> Whole:
        """Score of a minus score of b by configuration and unit, shape (configurations, units): of
        replicate 0 when `designated`, else summed over replicates."""
        rows = self.first if designated else self.correct
        by_item = rows[self.models.index(a)] - rows[self.models.index(b)]
        return sum_units(by_item, self.units)

    def both(self, a: str, b: str) -> NDArray[np.bool_]:
        """Where both models are measured, shape (configurations,)."""
        both: NDArray[np.bool_] = self.measured[self.models.index(a)] & self.measured[self.models.index(b)]
        return both


def sum_units(by_item: Whole, units: Whole) -> Whole:
    """Sums over the items of each unit, (..., items) -> (..., units)."""
    if len(units) == 0 or np.array_equal(units, np.arange(len(units))):
        return by_item
    order = np.argsort(units, kind="stable")
    starts = np.searchsorted(units[order], np.arange(units.max() + 1))
    summed: Whole = np.add.reduceat(by_item[..., order], starts, axis=-1)
    return summed


def gather(
    cells: Sequence[Cell],
    stored: Mapping[str, CellOutcomes],
    units: Mapping[str, str],
    models: Sequence[str],
) -> Outcomes:
    """The outcomes of the shared cells of one benchmark. `units` gives the unit of each item."""
    shared = [cell for cell in cells if cell.shared]
    configurations = tuple(dict.fromkeys(cell.configuration for cell in shared))
    places = {cell.configuration: cell for cell in shared}
    items = tuple(sorted({item for cell in shared for item in stored[cell.key].items}))
    shape = (len(models), len(configurations), len(items))
    correct, first = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    measured, planned = np.zeros(shape[:2], dtype=np.bool_), np.zeros(shape[1:], dtype=np.bool_)
    numbers = {name: number for number, name in enumerate(configurations)}
    columns: dict[tuple[str, ...], Whole] = {}
    scale = lcm(*(cell.setting.item_scale for cell in shared))
    for cell in shared:
        outcomes, row = stored[cell.key], numbers[cell.configuration]
        if outcomes.items not in columns:
            columns[outcomes.items] = np.searchsorted(items, outcomes.items)
        model, at = models.index(cell.model), columns[outcomes.items]
        parts = scale // cell.setting.item_scale
        correct[model, row, at], first[model, row, at] = outcomes.correct * parts, outcomes.first * parts
        measured[model, row] = bool((outcomes.scored == outcomes.trials).all())
        planned[row, at] = True
    return Outcomes(
        models=tuple(models),
        configurations=configurations,
        levels=tuple(places[configuration].levels for configuration in configurations),
        sampled=np.array(
            [places[configuration].setting.temperature > 0 for configuration in configurations],
            dtype=np.bool_,
        ),
        items=items,
        units=units_of(items, units),
        replicates=np.array(
            [places[configuration].setting.outcomes_of_item for configuration in configurations],
            dtype=np.int64,
        ),
        correct=correct,
        first=first,
        measured=measured,
        asked=planned,
        scale=scale,
    )
