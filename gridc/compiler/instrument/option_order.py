"""The order in which an item's options stand. Pure; what points at an option moves along with it."""

from collections.abc import Sequence
from dataclasses import replace

from gridc.compiler.instrument.item import Item
from gridc.statistics.seeded import DrawError, ranked


def arranged(item: Item, order: str | None) -> Item:
    """The item with its options in an order of the language (`option_order`).

    `file`, `reversed`, `shuffled:SEED` (drawn item by item), `rotated:K` (the first K options go last, as
    often as there are options), `gold_at:LETTER` (the right option there, the others in file order).
    Raises `DrawError` where the item has no such order.
    """
    kind, _, value = (order or "file").partition(":")
    if kind == "file":
        return item
    places = list(range(len(item.options)))
    match kind:
        case "reversed":
            places.reverse()
        case "shuffled":
            places = ranked(places, int(value), f"options\0{item.id}", str)
        case "rotated" if places:
            start = int(value) % len(places)
            places = places[start:] + places[:start]
        case "gold_at" if places:
            places = _gold_at(item, value)
    return permuted(item, places)


def permuted(item: Item, order: Sequence[int]) -> Item:
    """The item with its options in this order (`order[new] = old`)."""

    def moved(place: int | None) -> int | None:
        return None if place is None else order.index(place)

    return replace(
        item,
        options=tuple(item.options[place] for place in order),
        gold=moved(item.gold),
        unknown=moved(item.unknown),
        matching=moved(item.matching),
    )


def _gold_at(item: Item, letter: str) -> list[int]:
    if item.gold is None:
        raise DrawError(f"item `{item.id}` has no right option to put at {letter}")
    if letter not in item.letters:
        raise DrawError(f"item `{item.id}` has {len(item.options)} options and no {letter}")
    others = [place for place in range(len(item.options)) if place != item.gold]
    target = item.letters.index(letter)
    return [*others[:target], item.gold, *others[target:]]
