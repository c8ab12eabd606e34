"""Two stores: the cells that both have, and the items of a cell on which they differ."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gridc.viewer.cells import StoredCell, StoredStudy, absent
from gridc.viewer.differences import differing_page
from gridc.viewer.view import View

CELLS = 200
"""Cells of a page."""

ORDERS = {"": "largest difference first", "study": "in the order of the study"}


@dataclass(frozen=True, slots=True)
class Both:
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
    """All cells that both stores have; with `cell` in the address, the items of one."""
    second = view.second()
    if view.side:
        raise absent("a comparison begins with the first store")
    pairs = list(shared(view.study, second.study))
    values: dict[str, Any] = {"second": second, "cells": len(pairs), "one": None}
    if view.request.query.get("cell"):
        return values | _items(view, second)
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


def shared(a: StoredStudy, b: StoredStudy) -> Iterator[Both]:
    """The cells that both have, matched by place, whatever the order of their axes. Two studies of one model
    each match whatever it is called, as for `gridc compare`."""
    alone = len(a.models) == len(b.models) == 1

    def where(cell: StoredCell) -> tuple[str, str, frozenset[tuple[str, str]]]:
        return "" if alone else cell.model, cell.benchmark, frozenset(cell.levels.items())

    there = {where(cell): cell for cell in b.cells}
    yield from (Both(cell, there[where(cell)]) for cell in a.cells if where(cell) in there)


def _items(view: View, second: View) -> dict[str, Any]:
    cell = view.cell()
    other = next((both.b for both in shared(view.study, second.study) if both.a is cell), None)
    if other is None:
        raise absent(f"the second store has no cell `{cell.key}`")
    items = differing_page(view.request.query, (view.moment, cell), (second.moment, other))
    return {"one": cell, "other": other, **items}
