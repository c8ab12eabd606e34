"""A part of the grid and an item, as a person names them."""

from collections.abc import Iterable, Sequence

from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid.cell import Cell
from gridc.compiler.grid.configurations import where
from gridc.compiler.instrument.item import Item
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.schema.selector import Selector, selector_of
from gridc.schema.spec import Spec


def selector(spec: Spec, texts: Iterable[str]) -> Selector:
    """The selector that these texts write (`selector_of`). Raises `UsageError` for a name that the spec does
    not have."""
    try:
        chosen = selector_of(texts)
    except ValueError as error:
        help = "--where template=T1, --where template=T1,T2, --where decoding!=greedy"
        raise UsageError([Diagnostic("GC000", str(error), help=help)]) from None
    known = {axis.id: [level.id for level in axis.level] for axis in spec.axis}
    known["model"] = [model.id for model in spec.model]
    known["benchmark"] = [benchmark.id for benchmark in spec.benchmark]
    known["tier"] = list(spec.tiers)
    for dimension in chosen.root:
        if dimension not in known:
            message = f"the study has no axis `{dimension}`"
            raise UsageError([Diagnostic("GC000", message, help=did_you_mean(dimension, known))])
    for _, dimension, name in chosen.mentions():
        if name not in known[dimension]:
            what = dimension if dimension in ("model", "benchmark", "tier") else f"level of `{dimension}`"
            message = f"`{name}` is no {what}"
            raise UsageError([Diagnostic("GC000", message, help=did_you_mean(name, known[dimension]))])
    return chosen


def cells_in(plan: Plan, chosen: Selector) -> list[Cell]:
    """The planned cells of a part of the grid. Raises `UsageError` where there is none, with the exclusion
    that is to blame."""
    cells = [cell for cell in plan.cells() if chosen.matches(_place(cell))]
    if not cells:
        reasons = [exclusion.why for exclusion in plan.study.spec.exclude]
        help = f"the study excludes combinations: {'; '.join(reasons)}" if reasons else None
        raise UsageError([Diagnostic("GC000", "no planned cell is in that part of the grid", help=help)])
    return cells


def _place(cell: Cell) -> dict[str, str]:
    return where(cell.levels, cell.tier, cell.benchmark, cell.model)


class Finder:
    """Finds the item that a text names: by its id, or where no item has that id by its number, from 1, in the
    order in which a benchmark's items are asked. Without a text it is the first one."""

    def __init__(self, plan: Plan, cells: Sequence[Cell], text: str | None) -> None:
        self._plan, self._text = plan, text
        self._found: dict[object, Item | None] = {}
        ids = {item.id for cell in cells for item in self._items(cell)} if text else set()
        self._by_number = text is not None and text not in ids and len(text) < 10 and text.isdecimal()
        if text and not self._by_number and text not in ids:
            help = did_you_mean(text, sorted(ids)) if ids else "the items are not here"
            message = f"no item that is asked there has the id `{text}`"
            raise UsageError([Diagnostic("GC000", message, help=help)])

    def _items(self, cell: Cell) -> Sequence[Item]:
        return () if cell.benchmark in self._plan.study.absent else self._plan.items(cell)

    def item(self, cell: Cell) -> Item | None:
        """The item in a cell; None where the cell does not ask it."""
        setting = cell.setting
        alike = (cell.benchmark, setting.option_order, setting.items, setting.variant)
        if alike not in self._found:
            self._found[alike] = self._look(self._items(cell))
        return self._found[alike]

    def _look(self, items: Sequence[Item]) -> Item | None:
        number = int(self._text) if self._by_number and self._text else 1
        if self._text is None or self._by_number:
            return items[number - 1] if 0 < number <= len(items) else None
        return next((item for item in items if item.id == self._text), None)
