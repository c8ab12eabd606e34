"""Which items the cells of a benchmark ask: all of them together, or those under one level of an axis.

Levels of an axis may draw items of their own (the effect key `items`), so the sample of a benchmark says only
what can be asked. Whoever prints how many items were asked, or compares levels, asks here.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gridc.compiler.grid.cells import Cell, Survey
from gridc.compiler.inputs.items import Items
from gridc.numbers import count, counted
from gridc.schema.items import Sample

SHOWN = 6
"""Levels that are named one by one."""


def differing_words(benchmark: str, differing: Sequence["DifferingLevels"]) -> str:
    """`On mine, not all levels ask the same items: sample (few 6, many 40; 4 in common)`."""
    return f"On {benchmark}, not all levels ask the same items: {', '.join(axis.words for axis in differing)}"


@dataclass(frozen=True, slots=True)
class DifferingLevels:
    """Levels of an axis that do not all ask the same items: how many each asks, and how many are asked under
    every one of them."""

    axis: str
    asked: Mapping[str, int]
    common: int

    @property
    def words(self) -> str:
        """`sample (few 6, many 40; 4 in common)`."""
        if len(self.asked) > SHOWN:
            least, most = min(self.asked.values()), max(self.asked.values())
            size = count(least) if least == most else f"{count(least)} to {count(most)}"
            sizes = f"{counted(len(self.asked), 'level')} of {size} items"
        else:
            sizes = ", ".join(f"{level} {count(items)}" for level, items in self.asked.items())
        return f"{self.axis} ({sizes}; {count(self.common)} in common)"


@dataclass(frozen=True)
class AskedByCells:
    """The items of a benchmark that its cells ask. `subsets` has the ids of each part of its sample that some
    cell asks, and `levels` the levels, by axis, of the cells that ask it."""

    source: Items
    subsets: Mapping[Sample | None, frozenset[str]]
    levels: Mapping[Sample | None, Mapping[str, Collection[str]]]

    @cached_property
    def items(self) -> frozenset[str]:
        """What any cell asks."""
        return frozenset().union(*self.subsets.values())

    @cached_property
    def distinct(self) -> int:
        """How many questions these ask, where some are asked several times; 0 where none is."""
        questions = {item.at("question") for item in self.source.sampled if item.id in self.items}
        return len(questions) if len(questions) < len(self.items) else 0

    @cached_property
    def units(self) -> int:
        """How many units these are of."""
        return len({unit for item, unit in self.source.units.items() if item in self.items})

    def of(self, cells: Iterable[Cell]) -> frozenset[str]:
        """What some of its cells ask."""
        return frozenset().union(*(self.subsets[part] for part in {cell.setting.items for cell in cells}))

    def under(self, axis: str, level: str) -> frozenset[str]:
        """What the cells of a level ask."""
        return frozenset().union(
            *(ids for part, ids in self.subsets.items() if level in self.levels[part].get(axis, ()))
        )

    @cached_property
    def differing(self) -> tuple[DifferingLevels, ...]:
        """The axes of which not all levels ask the same items."""
        if len(self.subsets) < 2:
            return ()
        axes = dict.fromkeys(axis for by_axis in self.levels.values() for axis in by_axis)
        found = []
        for axis in axes:
            names = dict.fromkeys(
                level for by_axis in self.levels.values() for level in by_axis.get(axis, ())
            )
            asked = {name: self.under(axis, name) for name in names}
            if len(set(asked.values())) > 1:
                sizes = {name: len(ids) for name, ids in asked.items()}
                found.append(DifferingLevels(axis, sizes, len(frozenset.intersection(*asked.values()))))
        return tuple(found)


def asked_by_cells(survey: Survey, benchmark: str, items: Items) -> AskedByCells:
    """What the cells of a benchmark ask of its items."""
    parts = [part for name, part in survey.asked if name == benchmark]
    return AskedByCells(
        items,
        {part: frozenset(item.id for item in items.asked(None, part)) for part in parts},
        {part: survey.levels.get((benchmark, part), {}) for part in parts},
    )
