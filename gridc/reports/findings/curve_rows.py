"""The rows of a curve: two arms of a comparison in pairs, under every reading that a specification makes."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cell import Cell
from gridc.compiler.inputs.units import one_group
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.observations import Reading, Samples
from gridc.schema.canonical import digest
from gridc.schema.selector import Selector
from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.case_totals import CaseTotals, collapse, nothing
from gridc.statistics.curve import ArmPairs, Entries
from gridc.statistics.designs import DesignMatrix, factor, treatment
from gridc.statistics.paired_rows import paired


@dataclass(frozen=True)
class RowSelection:
    """Which outcome of the answers a specification reads, how it reads those that are unreadable, and on
    which items."""

    outcome: str
    reading: Reading
    items: tuple[Selector, ...]

    @property
    def name(self) -> str:
        """Of the rows that these are."""
        tags = [item.model_dump_json(by_alias=True) for item in self.items]
        return " ".join([self.outcome, self.reading, *tags])


@dataclass(frozen=True, eq=False)
class CurveRows:
    """Every pair of entries: a model (or, of two models, none), an item and all other levels, asked under
    both arms. `cells` are the patterns. `entries` and `totals` are of each slice, by its name; `digests` of
    the rows of each outcome, by cell."""

    plan: Plan
    cells: tuple[Cell, ...]
    pairs: ArmPairs
    entries: Mapping[str, Entries]
    totals: Mapping[str, CaseTotals]
    digests: Mapping[str, Mapping[str, str]]

    @property
    def exchangeable(self) -> bool:
        """Whether both arms were asked equally often, so that their labels can be exchanged."""
        asked = np.array([cell.setting.replicates for cell in self.cells])[self.pairs.patterns]
        return bool((asked[:, 0] == asked[:, 1]).all())

    @cached_property
    def _places(self) -> list[dict[str, str]]:
        spec = self.plan.study.spec
        return [grid.place(spec, cell.levels, cell.benchmark, cell.model) for cell in self.cells]

    @cached_property
    def _kept(self) -> dict[tuple[Selector, ...], Flags]:
        return {}

    def kept(self, where: tuple[Selector, ...]) -> Flags:
        """The cells that all selectors match, (P,)."""
        if where not in self._kept:
            matched = [all(part.matches(place) for part in where) for place in self._places]
            self._kept[where] = np.array(matched, dtype=np.bool_)
        return self._kept[where]

    def has_both(self, where: tuple[Selector, ...], dimension: str, arms: tuple[str, str]) -> bool:
        """Whether cells of both arms are kept."""
        return {level_of(cell, dimension) for cell in self._some(self.kept(where))} == set(arms)

    def occupied(self, slice_: RowSelection) -> Flags:
        """The cells in which a slice has a row, (P,)."""
        occupied: Flags = self.totals[slice_.name].rows > 0
        return occupied

    def terms(self, kept: Flags, dimension: str, without: Set[str]) -> tuple[str, ...]:
        """The fixed effects beside the comparison: model, benchmark and other axes, where they vary."""
        axes = self.cells[0].levels
        every = [name for name in ("model", "benchmark", *axes) if name != dimension and name not in without]
        return tuple(name for name in every if len({level_of(cell, name) for cell in self._some(kept)}) > 1)

    def design(self, kept: Flags, dimension: str, arms: tuple[str, str], without: Set[str]) -> DesignMatrix:
        """Main effects of the comparison, the reference first, and of all terms, on the cells kept."""
        cells = self._some(kept)
        factors = [factor(dimension, arms, [level_of(cell, dimension) for cell in cells])]
        for name in self.terms(kept, dimension, without):
            levels = [level_of(cell, name) for cell in cells]
            factors.append(factor(name, list(dict.fromkeys(levels)), levels))
        return treatment(factors)

    def digest(self, slice_: RowSelection, kept: Flags) -> str:
        """Of the rows of a slice in the cells that are kept."""
        of = self.digests[slice_.outcome]
        return digest([slice_.name, *(of[cell.key] for cell in self._some(kept) if cell.key in of)])

    def _some(self, kept: Flags) -> list[Cell]:
        return [cell for cell, held in zip(self.cells, kept.tolist(), strict=True) if held]


def level_of(cell: Cell, dimension: str) -> str:
    if dimension in ("model", "benchmark"):
        return str(getattr(cell, dimension))
    return cell.levels[dimension]


def rows_of(
    samples: Samples,
    cells: Sequence[Cell],
    dimension: str,
    arms: tuple[str, str],
    slices: Sequence[RowSelection],
) -> CurveRows:
    """The rows of some cells, each of which is of one of the arms. Raises `NotMean` for an outcome that is no
    mean over items."""
    plan = samples.plan
    numbers = _Items(plan)
    bases: dict[tuple[str, ...], int] = {}
    base = np.array([bases.setdefault(_base(cell, dimension), len(bases)) for cell in cells], dtype=np.int64)
    arm = np.array([arms.index(level_of(cell, dimension)) for cell in cells], dtype=np.int64)
    at = {cell.key: number for number, cell in enumerate(cells)}
    columns: dict[str, tuple[Whole, Whole, Floats]] = {}
    digests: dict[str, Mapping[str, str]] = {}
    for outcome in dict.fromkeys(each.outcome for each in slices):
        read = samples.of(outcome, cells)
        cell = np.array([at[each.key] for each in read.cells], dtype=np.int64)[read.cell]
        item = numbers.of(read.items)[read.item]
        counts = [np.column_stack(read.reading(way)) for way in ("itt", "pp")]
        columns[outcome] = cell, item, np.hstack(counts).astype(np.float64)
        digests[outcome] = read.digests
    width = max(len(numbers.known), 1)
    blocks = np.unique(np.concatenate([base[cell] * width + item for cell, item, _ in columns.values()]))
    tables: dict[str, Floats] = {}
    patterns = np.zeros((len(blocks), 2), dtype=np.int64)
    for outcome, (cell, item, values) in columns.items():
        table = np.zeros((len(blocks), 2, 4))
        place = np.searchsorted(blocks, base[cell] * width + item)
        table[place, arm[cell]] = values
        patterns[place, arm[cell]] = cell
        for way in (0, 2):
            asked = table[:, :, way].astype(np.int64)
            table[:, :, way], table[:, :, way + 1] = paired(asked, table[:, :, way + 1])
        tables[outcome] = table
    both = np.any([table[:, 0, 0] > 0 for table in tables.values()], axis=0)
    items = blocks[both] % width
    unit, patterns = numbers.units[items], patterns[both]
    entries = {}
    for row_selection in slices:
        first = 0 if row_selection.reading == "itt" else 2
        table = (
            tables[row_selection.outcome][both][:, :, first : first + 2]
            * numbers.tagged(row_selection.items)[items][:, None, None]
        )
        entries[row_selection.name] = Entries(table[:, :, 0], table[:, :, 1])
    case = np.repeat(unit, 2)
    totals = {
        name: collapse(case, patterns.ravel(), held.sums.ravel(), len(cells), held.rows.ravel())
        if held.rows.any()
        else nothing(len(cells))
        for name, held in entries.items()
    }
    return CurveRows(plan, tuple(cells), ArmPairs(unit, patterns), entries, totals, digests)


def _base(cell: Cell, dimension: str) -> tuple[str, ...]:
    """Everything about a cell but the arm."""
    rest = [level for axis, level in cell.levels.items() if axis != dimension]
    return (cell.benchmark, "" if dimension == "model" else cell.model, *rest)


class _Items:
    """Numbers for the items of all benchmarks, their units and tags."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.known: dict[tuple[str, str], int] = {}

    def of(self, items: Sequence[tuple[str, str]]) -> Whole:
        return np.array([self.known.setdefault(item, len(self.known)) for item in items], dtype=np.int64)

    @property
    def units(self) -> Whole:
        numbers: dict[tuple[str, str], int] = {}
        study = self._plan.study
        units = {name: items.units for name, items in study.items.items()}
        here = {name: items for name, items in study.items.items() if name not in study.absent}
        one = one_group(
            {name: items.sampled for name, items in here.items()},
            {name: items.unit for name, items in here.items()},
        )
        groups = [(name, units[name][item]) for name, item in self.known]
        return np.array(
            [numbers.setdefault(one.get(group, group), len(numbers)) for group in groups], dtype=np.int64
        )

    def tagged(self, tags: Sequence[Selector]) -> Flags:
        items = {
            (name, item.id): item for name, each in self._plan.study.items.items() for item in each.sampled
        }
        return np.array(
            [all(tag.matches(items[key].tags) for tag in tags) for key in self.known], dtype=np.bool_
        )
