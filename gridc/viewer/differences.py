"""Two cells item by item: two models under one configuration, two configurations, or one cell in two stores;
and the cells that two stores both have.

Both are read in the order of their items, side by side, from a given item on, so that a page costs what it
shows and the rows that it passes over.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import Any

from gridc.reports import page_links
from gridc.viewer.lists import LOOK_SECONDS, ROWS, response
from gridc.viewer.store import Moment, StoredCell, StoredStudy, absent
from gridc.viewer.view import View

CELLS = 200
"""Cells of a page."""

ORDERS = {"": "largest difference first", "study": "in the order of the study"}


@dataclass(frozen=True, slots=True)
class CellPair:
    """A cell of the first store, and the same place of the grid in the second. `points` is the second score
    minus the first in points of a hundred; None where one is not measured in full."""

    a: StoredCell
    b: StoredCell

    @property
    def points(self) -> float | None:
        if self.a.score is None or self.b.score is None:
            return None
        return float(100 * (self.b.score - self.a.score))


def page(view: View) -> dict[str, Any]:
    """All cells that both stores have; with `cell` in the address, the items of that cell."""
    second = view.second()
    if view.side:
        raise absent("a comparison begins with the first store")
    pairs = list(shared(view.study, second.study))
    values: dict[str, Any] = {"second": second, "cells": len(pairs), "one": None}
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
        "rows": rows,
        "only_a": len(view.study.cells) - len(pairs),
        "only_b": len(second.study.cells) - len(pairs),
        "differ": sum(bool(both.points) for both in pairs),
        "unmeasured": sum(both.points is None for both in pairs),
        "order": order,
        "orders": ORDERS,
    }


def shared(a: StoredStudy, b: StoredStudy) -> Iterator[CellPair]:
    """The cells that both have, matched by place, whatever the order of their axes. The only model of each
    matches whatever it is called, and so does the only benchmark, as for `gridc compare`."""
    model = len(a.models) == len(b.models) == 1
    benchmark = len(a.benchmarks) == len(b.benchmarks) == 1

    def where(cell: StoredCell) -> tuple[str, str, frozenset[tuple[str, str]]]:
        names = "" if model else cell.model, "" if benchmark else cell.benchmark
        return *names, frozenset(cell.levels.items())

    there = {where(cell): cell for cell in b.cells}
    yield from (CellPair(cell, there[where(cell)]) for cell in a.cells if where(cell) in there)


def first_page(a: StoredStudy, b: StoredStudy) -> str:
    """The address to begin with: the items that differ in the only cell that both have, or all such cells."""
    pairs = list(shared(a, b))
    return page_links.address("compare", {"cell": pairs[0].a.key} if len(pairs) == 1 else None)


def _benchmarks_of(view: View, second: View) -> dict[str, Any]:
    cell = view.cell()
    other = next((both.b for both in shared(view.study, second.study) if both.a is cell), None)
    if other is None:
        raise absent(f"the second store has no cell `{cell.key}`")
    strangers = _strangers(view, cell, second, other)
    sides = (view.moment, cell), (second.moment, other)
    items = differing_page(view.request.query, *sides, strangers)
    return {"one": cell, "other": other, "strangers": len(strangers), **items}


def _strangers(view: View, cell: StoredCell, second: View, other: StoredCell) -> frozenset[str]:
    """The ids under which the two stores ask another question each."""
    asked, also = (
        dict(
            side.moment.rows(
                "SELECT item, text FROM question WHERE (stamp, benchmark) = (?, ?) AND text IS NOT NULL",
                [side.study.stamp, one.benchmark],
            ).fetchall()
        )
        for side, one in ((view, cell), (second, other))
    )
    return frozenset(item for item, text in asked.items() if also.get(item, text) != text)


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
    """An item that both cells ask."""

    item: str
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


def differing(
    left: tuple[Moment, StoredCell],
    right: tuple[Moment, StoredCell],
    differ: str,
    after: str | None = None,
    before: str | None = None,
    strangers: frozenset[str] = frozenset(),
) -> DifferencePage:
    """A page of the items of both cells but the `strangers`, behind the item `after` or before the item
    `before`."""
    if differ not in DIFFER:
        raise absent(f"`{differ}` is not a value of `differ`")
    back = before is not None
    deadline = time.monotonic() + LOOK_SECONDS
    rows: list[ItemPair] = []
    reached: str | None = None
    for number, pair in enumerate(_pairs(left, right, before if back else after, back), 1):
        if pair.is_(differ) and pair.item not in strangers:
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
    strangers: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """What a page about two cells shows: the items that differ as the query says, with both responses to
    each, and how many there are of each kind."""
    differ = query.get("differ") or "score"
    page = differing(left, right, differ, query.get("after") or None, query.get("before") or None, strangers)
    return {
        "differ": differ,
        "kinds": DIFFER,
        "page": page,
        "counts": totals(left, right, strangers),
        "responses": {
            row.item: tuple(
                response(moment, cell.id, row.item, row.telling) for moment, cell in (left, right)
            )
            for row in page.rows
        },
    }


def totals(
    left: tuple[Moment, StoredCell],
    right: tuple[Moment, StoredCell],
    strangers: frozenset[str] = frozenset(),
) -> Totals:
    """Counts over all items of both cells but the `strangers`."""
    counts = dict.fromkeys(DIFFER, 0)
    items = 0
    for pair in _pairs(left, right, None, False):
        if pair.item in strangers:
            continue
        items += 1
        for differ in DIFFER:
            counts[differ] += pair.is_(differ)
    return Totals(items, counts)


def _pairs(
    left: tuple[Moment, StoredCell], right: tuple[Moment, StoredCell], place: str | None, back: bool
) -> Iterator[ItemPair]:
    """The items that both cells ask, in order."""
    ones, others = (_items(*side, place, back) for side in (left, right))
    a, b = next(ones, None), next(others, None)
    while a is not None and b is not None:
        if a[0] == b[0]:
            yield ItemPair(a[0], a[1], b[1])
            a, b = next(ones, None), next(others, None)
        elif (a[0] < b[0]) != back:
            a = next(ones, None)
        else:
            b = next(others, None)


def _items(
    moment: Moment, cell: StoredCell, place: str | None, back: bool
) -> Iterator[tuple[str, ItemSamples]]:
    sign, order = ("<", "DESC") if back else (">", "ASC")
    here, values = ("", []) if place is None else (f" AND item {sign} ?", [place])
    rows = moment.rows(
        f"""SELECT item, choice, score FROM sample WHERE cell = ?{here}
            ORDER BY item {order}, replicate {order}""",
        [cell.id, *values],
    )
    for item, group in groupby(rows, itemgetter(0)):
        outcomes = list(group)[:: -1 if back else 1]
        choices, scores = tuple(o[1] for o in outcomes), tuple(o[2] for o in outcomes)
        yield item, ItemSamples(choices, scores, cell.scale, (cell.made or {}).get(item))
