"""Pairs the answers of the two arms that a specification curve compares, under every choice of a
specification."""

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.draw import one_group
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.observations import AS_SCORED, Reading, ResponseReading, Samples
from gridc.schema.base import Selector
from gridc.schema.canonical import digest
from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.case_totals import (
    CaseTotals,
    DesignMatrix,
    collapse,
    factor,
    no_rows,
    paired_totals,
    treatment,
)
from gridc.statistics.curve import ArmPairs, Entries


@dataclass(frozen=True)
class RowSelection:
    """Which outcome of the answers a specification reads, how it reads those that are unreadable, and on
    which items. `instead` has the benchmarks on which it reads another outcome, with it, and `items_of` those
    of which only some items are read; `responses` says which of them count. Of `pooled` axes the levels are
    counted together, in the cells that `within` matches."""

    outcome: str
    reading: Reading
    items: tuple[Selector, ...]
    instead: tuple[tuple[str, str], ...] = ()
    items_of: tuple[tuple[str, Selector], ...] = ()
    responses: ResponseReading = AS_SCORED
    pooled: tuple[str, ...] = ()
    within: tuple[Selector, ...] = ()

    @property
    def name(self) -> str:
        """Of the rows that these are."""
        tags = [_text(item) for item in self.items]
        tags += [f"{benchmark}: {_text(item)}" for benchmark, item in self.items_of]
        tags += [self.responses.name] if self.responses.stated else []
        tags += [f"pooled: {axis}" for axis in self.pooled]
        tags += [_text(part) for part in self.within] if self.pooled else []
        return " ".join([self.outcomes, self.reading, *tags])

    @property
    def outcomes(self) -> str:
        """The outcome, and those that are read in its place, in words."""
        return ", ".join([self.outcome, *(f"{name} of {benchmark}" for benchmark, name in self.instead)])

    @property
    def source(self) -> "RowSource":
        """What is read of the store for it."""
        return self.outcome, self.instead, self.responses, self.pooled, self.within if self.pooled else ()

    def outcome_on(self, benchmark: str) -> str:
        """The outcome that is read of a benchmark."""
        return dict(self.instead).get(benchmark, self.outcome)


RowSource = tuple[str, tuple[tuple[str, str], ...], ResponseReading, tuple[str, ...], tuple[Selector, ...]]
"""What selections that differ in their reading or their items share."""


def _text(selector: Selector) -> str:
    return selector.model_dump_json(by_alias=True)


@dataclass(frozen=True, eq=False)
class CurveRows:
    """Every pair of entries: a model (or, of two models, none), an item and all other levels, asked under
    both arms. `cells` are the patterns. `entries` and `totals` are of each slice, by its name; `digests` of
    the rows of each source, by cell. `unbalanced` names the slices with pairs of pooled cells whose arms
    were asked unequally often."""

    plan: Plan
    cells: tuple[Cell, ...]
    pairs: ArmPairs
    entries: Mapping[str, Entries]
    totals: Mapping[str, CaseTotals]
    digests: Mapping[RowSource, Mapping[str, str]]
    unbalanced: frozenset[str] = frozenset()

    @property
    def exchangeable(self) -> bool:
        """Whether both arms were asked equally often, so that their labels can be exchanged."""
        asked = np.array([cell.setting.outcomes_of_item for cell in self.cells])[self.pairs.patterns]
        return bool((asked[:, 0] == asked[:, 1]).all())

    @cached_property
    def _places(self) -> list[dict[str, str]]:
        spec = self.plan.study.spec
        return [grid.place_values(spec, cell.levels, cell.benchmark, cell.model) for cell in self.cells]

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
        return {dimension_level(cell, dimension) for cell in self._some(self.kept(where))} == set(arms)

    def occupied(self, slice_: RowSelection) -> Flags:
        """The cells in which a slice has a row, (P,)."""
        occupied: Flags = self.totals[slice_.name].rows > 0
        return occupied

    def terms(self, kept: Flags, dimension: str, without: Set[str]) -> tuple[str, ...]:
        """The fixed effects beside the comparison: model, benchmark and other axes, where they vary."""
        axes = self.cells[0].levels
        every = [name for name in ("model", "benchmark", *axes) if name != dimension and name not in without]
        return tuple(
            name for name in every if len({dimension_level(cell, name) for cell in self._some(kept)}) > 1
        )

    def informative(
        self, slice_: RowSelection, kept: Flags, dimension: str, without: Set[str]
    ) -> tuple[Flags, tuple[str, ...]]:
        """The cells that say something of the comparison, (P,), and the levels of the fixed effects that say
        nothing, all of whose answers earn everything or nothing, as `term = level`: whatever the comparison
        is, an effect of their own without end explains them, and the likelihood of the others is that of all
        rows. Where nothing would be left all cells stand."""
        totals, left, lost = self.totals[slice_.name], kept.copy(), list[str]()
        while True:
            found = next(self._constant(totals, left, self.terms(left, dimension, without)), None)
            if found is None:
                return left, tuple(lost)
            name, level, cells = found
            left &= ~cells
            if not left.any():
                return kept, ()
            lost.append(f"{name} = {level}")

    def _constant(
        self, totals: CaseTotals, kept: Flags, terms: Sequence[str]
    ) -> Iterator[tuple[str, str, Flags]]:
        """Levels of terms of whose rows all are worth 1 or all 0, with their cells."""
        for name in terms:
            levels = np.array([dimension_level(cell, name) for cell in self.cells])
            for level in dict.fromkeys(levels[kept].tolist()):
                cells = kept & (levels == level)
                if totals.sums[cells].sum() in (0, totals.rows[cells].sum()):
                    yield name, level, cells

    def design(self, kept: Flags, dimension: str, arms: tuple[str, str], without: Set[str]) -> DesignMatrix:
        """Main effects of the comparison, the reference first, and of all terms, on the cells kept."""
        cells = self._some(kept)
        factors = [factor(dimension, arms, [dimension_level(cell, dimension) for cell in cells])]
        for name in self.terms(kept, dimension, without):
            levels = [dimension_level(cell, name) for cell in cells]
            factors.append(factor(name, list(dict.fromkeys(levels)), levels))
        return treatment(factors)

    def digest(self, slice_: RowSelection, kept: Flags) -> str:
        """Of the rows of a slice in the cells that are kept."""
        of = self.digests[slice_.source]
        read = self._some(self.kept(slice_.within) if slice_.pooled else kept)
        return digest([slice_.name, *(of[cell.key] for cell in read if cell.key in of)])

    def _some(self, kept: Flags) -> list[Cell]:
        return [cell for cell, held in zip(self.cells, kept.tolist(), strict=True) if held]


def dimension_level(cell: Cell, dimension: str) -> str:
    if dimension in ("model", "benchmark"):
        return str(getattr(cell, dimension))
    return cell.levels[dimension]


def curve_rows_of(
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
    places = _Places(plan, cells, dimension, arms)
    unbalanced = [each.name for each in slices if each.pooled and not places.balanced(each)]
    digests: dict[RowSource, Mapping[str, str]] = {}
    columns: dict[RowSource, _Columns] = {}
    for row_selection in slices:
        if row_selection.source not in columns:
            columns[row_selection.source], digests[row_selection.source] = _columns(
                samples, cells, places, numbers, row_selection
            )
    width = max(len(numbers.known), 1)
    blocks = np.unique(np.concatenate([each.base * width + each.item for each in columns.values()]))
    tables: dict[RowSource, Floats] = {}
    patterns = np.zeros((len(blocks), 2), dtype=np.int64)
    for source, each in columns.items():
        table = np.zeros((len(blocks), 2, 4))
        block = np.searchsorted(blocks, each.base * width + each.item)
        np.add.at(table, (block, each.arm), each.values)
        patterns[block, each.arm] = each.pattern
        for way in (0, 2):
            asked = table[:, :, way].astype(np.int64)
            table[:, :, way], table[:, :, way + 1] = paired_totals(asked, table[:, :, way + 1])
        tables[source] = table
    both = np.any([table[:, 0, 0] > 0 for table in tables.values()], axis=0)
    items = blocks[both] % width
    unit, patterns = numbers.units[items], patterns[both]
    entries = {}
    for row_selection in slices:
        first = 0 if row_selection.reading == "itt" else 2
        table = (
            tables[row_selection.source][both][:, :, first : first + 2]
            * numbers.selected(row_selection)[items][:, None, None]
        )
        entries[row_selection.name] = Entries(table[:, :, 0], table[:, :, 1])
    case = np.repeat(unit, 2)
    totals = {
        name: collapse(case, patterns.ravel(), held.sums.ravel(), len(cells), held.rows.ravel())
        if held.rows.any()
        else no_rows(len(cells))
        for name, held in entries.items()
    }
    return CurveRows(
        plan, tuple(cells), ArmPairs(unit, patterns), entries, totals, digests, frozenset(unbalanced)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """What is read of N items in cells: their base, arm, pattern and item, (N,), and how many samples count
    and what they earned, of all and of the readable, (N, 4)."""

    base: Whole
    arm: Whole
    pattern: Whole
    item: Whole
    values: Floats


class _Places:
    """Where the rows of each cell stand: everything about it but the arm is its base. Cells whose pooled axes
    alone differ share a base of their own, and in each arm the pattern of the first of them."""

    def __init__(self, plan: Plan, cells: Sequence[Cell], dimension: str, arms: tuple[str, str]) -> None:
        self._spec, self._cells, self._dimension = plan.study.spec, cells, dimension
        self._arm = np.array([arms.index(dimension_level(cell, dimension)) for cell in cells], dtype=np.int64)
        self._bases: dict[tuple[object, ...], int] = {}

    def of(self, row_selection: RowSelection) -> tuple[list[int], Whole, Whole, Whole]:
        """The cells that a selection reads, by number, and the base, arm and pattern of every cell."""
        pattern = np.arange(len(self._cells))
        if not row_selection.pooled:
            base = self._numbers([_base(cell, self._dimension) for cell in self._cells])
            return pattern.tolist(), base, self._arm, pattern
        inside, base = self._inside(row_selection), self._pooled(row_selection)
        first: dict[tuple[int, int], int] = {}
        for number in inside:
            pattern[number] = first.setdefault((int(base[number]), int(self._arm[number])), number)
        return inside, base, self._arm, pattern

    def balanced(self, row_selection: RowSelection) -> bool:
        """Whether both arms of every pooled pair were asked equally often."""
        base = self._pooled(row_selection)
        asked = np.zeros((int(base.max(initial=-1)) + 1, 2), dtype=np.int64)
        for number in self._inside(row_selection):
            asked[base[number], self._arm[number]] += self._cells[number].setting.outcomes_of_item
        return bool((asked[:, 0] == asked[:, 1]).all())

    def _inside(self, row_selection: RowSelection) -> list[int]:
        places = (
            grid.place_values(self._spec, cell.levels, cell.benchmark, cell.model) for cell in self._cells
        )
        return [
            number
            for number, place in enumerate(places)
            if all(part.matches(place) for part in row_selection.within)
        ]

    def _pooled(self, row_selection: RowSelection) -> Whole:
        tag = row_selection.pooled, row_selection.within
        return self._numbers(
            [(*tag, _base(cell, self._dimension, row_selection.pooled)) for cell in self._cells]
        )

    def _numbers(self, keys: Sequence[tuple[object, ...]]) -> Whole:
        return np.array([self._bases.setdefault(key, len(self._bases)) for key in keys], dtype=np.int64)


def _columns(
    samples: Samples,
    cells: Sequence[Cell],
    places: _Places,
    numbers: "_Items",
    row_selection: RowSelection,
) -> tuple[_Columns, Mapping[str, str]]:
    """What a selection reads of the store, under both readings, and the digests of its rows by cell."""
    inside, base, arm, pattern = places.of(row_selection)
    at = {cell.key: number for number, cell in enumerate(cells)}
    by_outcome: dict[str, list[Cell]] = {}
    for number in inside:
        by_outcome.setdefault(row_selection.outcome_on(cells[number].benchmark), []).append(cells[number])
    parts, digests = list[tuple[Whole, Whole, Floats]](), dict[str, str]()
    for outcome, some in by_outcome.items():
        read = samples.of(outcome, some, responses=row_selection.responses)
        cell = np.array([at[each.key] for each in read.cells], dtype=np.int64)[read.cell]
        counts = [np.column_stack(read.reading(way)) for way in ("itt", "pp")]
        parts.append((cell, numbers.of(read.items)[read.item], np.hstack(counts).astype(np.float64)))
        digests |= read.digests
    if not parts:
        empty = np.zeros(0, np.int64)
        return _Columns(empty, empty, empty, empty, np.zeros((0, 4))), {}
    cell, item, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Columns(base[cell], arm[cell], pattern[cell], item, values), digests


def _base(cell: Cell, dimension: str, pooled: Collection[str] = ()) -> tuple[str, ...]:
    """Everything about a cell but the arm, and the levels of pooled axes."""
    rest = [level for axis, level in cell.levels.items() if axis != dimension and axis not in pooled]
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

    def selected(self, row_selection: RowSelection) -> Flags:
        """The items that a selection reads."""
        items = {
            (name, item.id): item for name, each in self._plan.study.items.items() for item in each.sampled
        }
        return np.array(
            [
                all(tag.matches(items[key].tags) for tag in row_selection.items)
                and all(
                    part.matches(items[key].described)
                    for benchmark, part in row_selection.items_of
                    if benchmark == key[0]
                )
                for key in self.known
            ],
            dtype=np.bool_,
        )
