"""Units: which items are taken as independent of each other.

Items that were made together (versions of a scenario, fillings of one template) rise and fall together, and
a test that takes each for an independent witness is wrong about its own error rate: with 25 templates and a
correlation of .02 within them, BBQ's families of four certify falsely in .118 of studies of 800 items. So
the unit is the coarsest level that the data document. A category is a topic that was chosen, not drawn from
many, so it is a unit only where a spec says so.
"""

from collections.abc import Mapping, Sequence

from gridc.compiler.inputs.questions import QuestionDigests, of_item
from gridc.compiler.instrument.item import Item
from gridc.schema.items import UNIT_LEVELS, UnitLevel

BOOTSTRAP_LEVELS: Mapping[str, UnitLevel] = {
    "item": "item",
    "cluster": "family",
    "template": "template",
    "category": "category",
}
"""The level of items that `[analysis] bootstrap` draws, by its `unit`; of the others it draws none."""


class UndocumentedUnit(ValueError):
    """No item says to which group of the level it belongs; `known` are the levels at which some do."""

    def __init__(self, level: UnitLevel, known: Sequence[UnitLevel]) -> None:
        self.level, self.known = level, tuple(known)
        super().__init__(f"no item says which {level} it belongs to")


def documented(items: Sequence[Item]) -> tuple[UnitLevel, ...]:
    """The levels at which some item says where it belongs, the finest first; the item is one always."""
    return tuple(level for level in UNIT_LEVELS if any(item.documents(level) for item in items))


def unit_of(items: Sequence[Item], stated: UnitLevel | None) -> UnitLevel:
    """The level whose groups are independent: the stated one, or the coarsest below `category`.

    Raises `UndocumentedUnit`; and `ValueError` where a group of a finer level lies in several units, which
    are then not independent of each other.
    """
    known = documented(items)
    if stated is not None and stated not in known and items:
        raise UndocumentedUnit(stated, known)
    unit = stated or [level for level in known if level != "category"][-1]
    for finer in known[1 : known.index(unit)] if unit in known else ():
        holder: dict[str, str] = {}
        for item in items:
            if item.documents(finer) and holder.setdefault(item.at(finer), item.at(unit)) != item.at(unit):
                raise ValueError(f"{finer} `{item.at(finer)}` lies in more than one {unit}")
    return unit


Group = tuple[str, str]
"""A benchmark, and the name of a group of its items."""


def one_group(items: Mapping[str, Sequence[Item]], levels: Mapping[str, UnitLevel]) -> dict[Group, Group]:
    """The groups of several benchmarks at a level of each, by the first group that each is one with: those of
    two benchmarks that hold the same item, by its text and choices and not by its id, are not independent."""
    one: dict[Group, Group] = {}

    def first(group: Group) -> Group:
        while one.setdefault(group, group) != group:
            group = one[group]
        return group

    holders: dict[QuestionDigests, Group] = {}
    for benchmark, sampled in items.items():
        own: dict[QuestionDigests, Group] = {}
        for item in sampled:
            group = benchmark, item.at(levels[benchmark])
            content = of_item(item)._replace(target=None)
            if content in holders:
                one[first(group)] = first(holders[content])
            own.setdefault(content, group)
            first(group)
        holders = own | holders
    return {group: first(group) for group in one}
