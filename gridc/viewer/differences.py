"""Two cells item by item: two models under one configuration, two configurations, or one cell in two stores;
and the cells that two stores both have, paired as `comparison.pairing` says.

Items are read in the order of the first cell from a given item on, and with them those of the second, so that
a page costs what it shows and the rows that it passes over.
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from gridc.reports import page_links
from gridc.reports.comparison.pairing import PairedItems
from gridc.viewer.downloads import differing_table, stores_table
from gridc.viewer.lists import LOOK_SECONDS, ROWS, response
from gridc.viewer.store import Moment, StoredCell, absent
from gridc.viewer.view import View

CELLS = 200
"""Cells of a page."""
AT_ONCE = 200
"""Items that are read together."""

ORDERS = {"": "largest difference first", "study": "in the order of the study"}


@dataclass(frozen=True, slots=True)
class CellPair:
    """A cell of the first store, and the one of the second that it is paired with, as their `items` are.
    `points` is the second score minus the first in points of a hundred; None where one is not measured in
    full."""

    a: StoredCell
    b: StoredCell
    items: PairedItems

    @property
    def difference(self) -> Fraction | None:
        if self.a.score is None or self.b.score is None:
            return None
        return 100 * (self.b.score - self.a.score)

    @property
    def points(self) -> float | None:
        return None if self.difference is None else float(self.difference)


def differences_page(view: View) -> dict[str, Any]:
    """All cells that both stores have; with `cell` in the address, the items of that cell."""
    second = view.second()
    if view.side:
        raise absent("a comparison begins with the first store")
    pairing, pairs = view.pairing(second), cells_of_both(view, second)
    values: dict[str, Any] = {
        "second": second,
        "cells": len(pairs),
        "one": None,
        "said": list(pairing.said()),
    }
    if view.request.query.get("cell"):
        return values | _benchmarks_of(view, second)
    order = view.request.query.get("sort", "")
    if order not in ORDERS:
        raise absent(f"`{order}` is not an order of cells")
    if not order:
        pairs.sort(key=lambda both: -abs(both.points or 0.0))
    rows, part = view.part(pairs, CELLS)
    return {
        **values,
        **part,
        "csv": partial(stores_table, pairs),
        "rows": rows,
        "alone": [
            (name, len(side.study.cells) - len(pairs), pairing.why(number))
            for number, (name, side) in enumerate((("first", view), ("second", second)))
        ],
        "differ": sum(bool(both.points) for both in pairs),
        "unmeasured": sum(both.points is None for both in pairs),
        "order": order,
        "orders": ORDERS,
    }


def cells_of_both(view: View, second: View) -> list[CellPair]:
    """The cells that both stores have, in the order of the first."""
    pairs = [
        CellPair(a, b, place.items)
        for place in view.pairing(second).places
        for names in place.configurations
        if (a := view.study.at(*place.names[0], names[0]))
        and (b := second.study.at(*place.names[1], names[1]))
    ]
    return sorted(pairs, key=lambda both: both.a.id)


def first_page(view: View) -> str:
    """The address to begin with: the items that differ in the only cell that both have, or all such cells."""
    pairs = cells_of_both(view, view.second())
    return page_links.address("compare", {"cell": pairs[0].a.key} if len(pairs) == 1 else None)


def partners_of(view: View, second: View, left: StoredCell, right: StoredCell) -> Mapping[str, str]:
    """What the second store calls the items of the first in a pair of cells."""
    for both in cells_of_both(view, second):
        if both.a is left and both.b is right:
            return both.items.partners
    raise absent(f"`{left.key}` of the first store is not paired with `{right.key}` of the second")


def _benchmarks_of(view: View, second: View) -> dict[str, Any]:
    cell = view.cell()
    both = next((both for both in cells_of_both(view, second) if both.a is cell), None)
    if both is None:
        raise absent(f"the second store has no cell that is paired with `{cell.key}`")
    sides = (view.moment, cell), (second.moment, both.b)
    items = differing_page(view.request.query, *sides, both.items.partners, ("first", "second"))
    return {"one": cell, "other": both.b, **items}


DIFFER = {
    "score": "different scores",
    "a": "the first scores higher",
    "b": "the second scores higher",
    "choice": "different answers",
    "all": "all items",
}


@dataclass(frozen=True, slots=True)
class ItemSamples:
    """The samples of an item in a cell, by replicate: option chosen and score, None where there is none.
    `made` is the item's score where one is made of several (`StoredCell.made`)."""

    choices: tuple[int | None, ...]
    scores: tuple[int | None, ...]
    scale: int
    made: Fraction | None = None

    @property
    def score(self) -> Fraction | None:
        """Mean over replicates, unless it is made otherwise; None while one has no outcome."""
        if self.made is not None:
            return self.made
        scored = [score for score in self.scores if score is not None]
        if not self.scores or len(scored) < len(self.scores):
            return None
        return Fraction(sum(scored), len(scored) * self.scale)


@dataclass(frozen=True, slots=True)
class ItemPair:
    """An item that both cells ask; the second cell calls it `other`."""

    item: str
    other: str
    a: ItemSamples
    b: ItemSamples

    @property
    def telling(self) -> int:
        """The first replicate on whose scores the cells differ, or else on whose choices; 0 where on none."""
        both = [
            zip(self.a.scores, self.b.scores, strict=False),
            zip(self.a.choices, self.b.choices, strict=False),
        ]
        places = [number for values in both for number, (one, other) in enumerate(values) if one != other]
        return places[0] if places else 0

    def is_(self, differ: str) -> bool:
        """Whether it is one of those that `DIFFER` names."""
        if differ == "choice":
            return (self.a.choices, self.a.scores) != (self.b.choices, self.b.scores)
        one, other = self.a.score, self.b.score
        if differ == "all":
            return True
        if one is None or other is None:
            return False
        return {"score": one != other, "a": one > other, "b": one < other}[differ]


@dataclass(frozen=True, slots=True)
class DifferencePage:
    """A page of item pairs. `before` and `after` are the items at which the pages around it begin or end."""

    rows: tuple[ItemPair, ...]
    before: str | None
    after: str | None
    partial: bool


@dataclass(frozen=True, slots=True)
class Totals:
    """Of all items that both cells ask: how many, and how many of them are of each kind of `DIFFER`."""

    items: int
    counts: dict[str, int]


def differing_items_page(
    left: tuple[Moment, StoredCell],
    right: tuple[Moment, StoredCell],
    differ: str,
    after: str | None = None,
    before: str | None = None,
    partners: Mapping[str, str] | None = None,
) -> DifferencePage:
    """A page of the items of both cells, behind the item `after` or before the item `before`. `partners` are
    the second cell's names for the first one's items, None where both have the same."""
    if differ not in DIFFER:
        raise absent(f"`{differ}` is not a value of `differ`")
    back = before is not None
    deadline = time.monotonic() + LOOK_SECONDS
    rows: list[ItemPair] = []
    reached: str | None = None
    for number, pair in enumerate(_pairs(left, right, partners, before if back else after, back), 1):
        if pair.is_(differ):
            rows.append(pair)
        if len(rows) > ROWS:
            break
        if number % 500 == 0 and time.monotonic() > deadline:
            reached = pair.item
            break
    full = len(rows) > ROWS
    del rows[ROWS:]
    if back:
        rows.reverse()
    first, last = (rows[0].item, rows[-1].item) if rows else (before or after, before or after)
    onward = (first if back else last) if full else reached
    came = (last if back else first) if (after or before) else None
    return DifferencePage(
        tuple(rows), onward if back else came, came if back else onward, reached is not None
    )


def differing_page(
    query: Mapping[str, str],
    left: tuple[Moment, StoredCell],
    right: tuple[Moment, StoredCell],
    partners: Mapping[str, str] | None = None,
    names: tuple[str, str] | None = None,
) -> dict[str, Any]:
    """What a page about two cells shows: the items that differ as the query says, with both responses to
    each, and how many there are of each kind. Its table calls the cells by their models, or by `names`."""
    differ = query.get("differ") or "score"
    page = differing_items_page(
        left, right, differ, query.get("after") or None, query.get("before") or None, partners
    )
    every = (pair for pair in _pairs(left, right, partners, None, False) if pair.is_(differ))
    return {
        "csv": partial(differing_table, every, *(names or (left[1].model, right[1].model))),
        "differ": differ,
        "kinds": DIFFER,
        "page": page,
        "counts": totals(left, right, partners),
        "responses": {
            row.item: tuple(
                response(moment, cell.id, item, row.telling)
                for (moment, cell), item in ((left, row.item), (right, row.other))
            )
            for row in page.rows
        },
    }


def totals(
    left: tuple[Moment, StoredCell],
    right: tuple[Moment, StoredCell],
    partners: Mapping[str, str] | None = None,
) -> Totals:
    """Counts over all items of both cells."""
    counts = dict.fromkeys(DIFFER, 0)
    items = 0
    for pair in _pairs(left, right, partners, None, False):
        items += 1
        for differ in DIFFER:
            counts[differ] += pair.is_(differ)
    return Totals(items, counts)


def _pairs(
    left: tuple[Moment, StoredCell],
    right: tuple[Moment, StoredCell],
    partners: Mapping[str, str] | None,
    place: str | None,
    back: bool,
) -> Iterator[ItemPair]:
    """The items that both cells ask, in the order of the first."""
    sign, order = ("<", "DESC") if back else (">", "ASC")
    behind, values = ("", []) if place is None else (f" AND item {sign} ?", [place])
    ones = _items(*left, f"{behind} ORDER BY item {order}, replicate {order}", values)
    while some := list(islice(ones, AT_ONCE)):
        names = {item: item if partners is None else partners.get(item, "") for item, _ in some}
        asked = " AND item IN (SELECT value FROM json_each(?)) ORDER BY item, replicate"
        there = dict(_items(*right, asked, [json.dumps([*names.values()])]))
        for item, own in some:
            if names[item] in there:
                yield ItemPair(item, names[item], own, there[names[item]])


def _items(
    moment: Moment, cell: StoredCell, which: str, values: list[str]
) -> Iterator[tuple[str, ItemSamples]]:
    rows = moment.rows(
        f"SELECT item, replicate, choice, score FROM sample WHERE cell = ?{which}", [cell.id, *values]
    )
    for item, group in groupby(rows, itemgetter(0)):
        _, _, choices, scores = zip(*sorted(group, key=itemgetter(1)), strict=True)
        yield item, ItemSamples(choices, scores, cell.scale, (cell.made or {}).get(item))
