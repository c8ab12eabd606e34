"""The specifications of a curve, counted without listing them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from gridc.schema.inference import Curve, Fork
from gridc.schema.selector import Selector


@dataclass(frozen=True, slots=True)
class Specifications:
    """How many combinations of a curve's forks there are, and what its exclusions take from them.

    `removed` counts, exclusion by exclusion, the combinations that it matches; one combination may be
    matched by several.
    """

    product: int
    removed: tuple[int, ...]
    size: int


def specifications(curve: Curve, forks: Mapping[str, Fork]) -> Specifications:
    """Count a curve's specifications. Selectors are boxes, so inclusion and exclusion is exact, and a curve
    of 29 forks costs no more than one of two; what costs is exclusions, of which a curve has at most 12."""
    levels = {name: forks[name].levels for name in curve.forks}
    boxes = [_box(each.when, levels) for each in curve.exclude]
    every = prod(len(choices) for choices in levels.values())
    excluded = sum(
        (-1) ** (size + 1) * _volume(subset, levels)
        for size in range(1, len(boxes) + 1)
        for subset in combinations(boxes, size)
    )
    return Specifications(every, tuple(_volume([box], levels) for box in boxes), every - excluded)


Box = Mapping[str, frozenset[str]]


def _box(selector: Selector, levels: Mapping[str, Sequence[str]]) -> Box:
    return {
        name: frozenset(level for level in levels[name] if Selector({name: choice}).matches({name: level}))
        for name, choice in selector.root.items()
    }


def _volume(boxes: Sequence[Box], levels: Mapping[str, Sequence[str]]) -> int:
    """How many combinations lie in all of the boxes."""
    return prod(
        len(frozenset(choices).intersection(*(box[name] for box in boxes if name in box)))
        for name, choices in levels.items()
    )
