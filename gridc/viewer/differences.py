"""Two cells item by item: two models under one configuration, two configurations, or one cell in two stores.

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

from gridc.viewer.cells import StoredCell, absent
from gridc.viewer.lists import LOOK_SECONDS, ROWS, response
from gridc.viewer.reader import Moment

DIFFER = {
    "score": "different scores",
    "a": "the first scores higher",
    "b": "the second scores higher",
    "choice": "different answers",
    "all": "all items",
}


@dataclass(frozen=True, slots=True)
class OfItem:
    """The samples of an item in a cell, by replicate: option chosen and score, None where there is none."""

    choices: tuple[int | None, ...]
    scores: tuple[int | None, ...]
    scale: int

    @property
    def score(self) -> Fraction | None:
        """Mean over replicates; None while one has no outcome."""
        scored = [score for score in self.scores if score is not None]
        if not self.scores or len(scored) < len(self.scores):
            return None
        return Fraction(sum(scored), len(scored) * self.scale)


@dataclass(frozen=True, slots=True)
class ItemPair:
    """An item that both cells ask."""

    item: str
    a: OfItem
    b: OfItem

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
class Differing:
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
) -> Differing:
    """A page of the items of both cells, behind the item `after` or before the item `before`."""
    if differ not in DIFFER:
        raise absent(f"`{differ}` is not a value of `differ`")
    back = before is not None
    deadline = time.monotonic() + LOOK_SECONDS
    rows: list[ItemPair] = []
    reached: str | None = None
    for number, pair in enumerate(_pairs(left, right, before if back else after, back), 1):
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
    return Differing(tuple(rows), onward if back else came, came if back else onward, reached is not None)


def differing_page(
    query: Mapping[str, str], left: tuple[Moment, StoredCell], right: tuple[Moment, StoredCell]
) -> dict[str, Any]:
    """What a page about two cells shows: the items that differ as the query says, with both responses to
    each, and how many there are of each kind."""
    differ = query.get("differ") or "score"
    page = differing(left, right, differ, query.get("after") or None, query.get("before") or None)
    return {
        "differ": differ,
        "kinds": DIFFER,
        "page": page,
        "counts": totals(left, right),
        "responses": {
            row.item: tuple(response(moment, cell.id, row.item, 0) for moment, cell in (left, right))
            for row in page.rows
        },
    }


def totals(left: tuple[Moment, StoredCell], right: tuple[Moment, StoredCell]) -> Totals:
    """Counts over all items of both cells."""
    counts = dict.fromkeys(DIFFER, 0)
    items = 0
    for pair in _pairs(left, right, None, False):
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


def _items(moment: Moment, cell: StoredCell, place: str | None, back: bool) -> Iterator[tuple[str, OfItem]]:
    sign, order = ("<", "DESC") if back else (">", "ASC")
    here, values = ("", []) if place is None else (f" AND item {sign} ?", [place])
    rows = moment.rows(
        f"""SELECT item, choice, score FROM sample WHERE cell = ?{here}
            ORDER BY item {order}, replicate {order}""",
        [cell.id, *values],
    )
    for item, group in groupby(rows, itemgetter(0)):
        outcomes = list(group)[:: -1 if back else 1]
        yield item, OfItem(tuple(o[1] for o in outcomes), tuple(o[2] for o in outcomes), cell.scale)
