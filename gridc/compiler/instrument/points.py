"""What a reading earns under a spec's own scores: the labels that it has, and the points of each.

A reading is an option of the item, one of the behaviours, or one of a judge's labels; its labels are the
option's text and the roles that the item gives it, or its name. The first rule is that every reading earns
exactly one score: a reading with no label that the scores name, or with two whose scores differ, is an error
before any call (GC334).
"""

from collections.abc import Iterator, Sequence

from gridc.compiler.instrument.item import Item
from gridc.schema.scores import OTHER, Scores

VERSIONS = {
    "scores:stated": 1,
}
"""The version of each part here, which stamps hold (`instrument.versions`)."""


class Unscored(ValueError):
    """A reading that earns no score, or two."""


def labels(item: Item, choice: int) -> Iterator[str]:
    """The labels of an option of an item: its text and its roles."""
    yield item.options[choice].strip()
    if choice in item.right:
        yield "right"
    if choice == item.unknown:
        yield "unknown"
    if choice == item.matching:
        yield "matching"


def points(scores: Scores, item: Item, choice: int, names: Sequence[str] | None = None) -> int:
    """What a reading earns, in units of 1 / `scores.scale`: an option, or one of the `names` of what is read.
    Raises `Unscored`."""
    own = list(labels(item, choice)) if names is None else [names[choice]]
    named = [label for label in own if label in scores.root] or [OTHER] * (OTHER in scores.root)
    earned = {label: scores.of(label, item.expected) for label in named}
    shown = f"item {item.id}: {own[0]!r}"
    if not earned:
        raise Unscored(f"{shown} has no score")
    if None in earned.values():
        raise Unscored(f"{shown} has a score by what is expected, and the item does not say what is")
    if len(set(earned.values())) > 1:
        raise Unscored(f"{shown} is {' and '.join(earned)}, whose scores differ")
    return next(value for value in earned.values() if value is not None)


def best(scores: Scores, item: Item) -> frozenset[int]:
    """The options that earn most; empty where all earn the same. Raises `Unscored`."""
    earned = [points(scores, item, choice) for choice in range(len(item.options))]
    if len(set(earned)) < 2:
        return frozenset()
    return frozenset(choice for choice, value in enumerate(earned) if value == max(earned))
