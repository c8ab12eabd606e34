"""Lowering, first half: from the grid to the cells that are run, as named passes with one signature.

Each pass takes the stream of cells and gives a stream of cells, so a plan of any size is lowered in
constant memory.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cell import Cell
from gridc.schema.spec import Spec

Pass = Callable[[Spec, Iterator[Cell]], Iterator[Cell]]


def enumerate_grid(spec: Spec) -> Iterator[Cell]:
    """Every model x benchmark x configuration, with tier and setting; benchmarks outermost."""
    settings = grid.Settings(spec)
    for benchmark in spec.benchmark:
        for model in spec.model:
            for configuration in grid.configurations(spec):
                setting = settings.of(model.id, benchmark.id, configuration)
                yield Cell(model.id, benchmark.id, configuration.levels, setting, configuration.tier)


def exclude(spec: Spec, cells: Iterator[Cell]) -> Iterator[Cell]:
    """Drop the cells that an exclusion covers."""
    for cell in cells:
        if grid.excluded_by(spec, grid.where(cell.levels, cell.tier, cell.benchmark, cell.model)) is None:
            yield cell


def mark_shared(spec: Spec, cells: Iterator[Cell]) -> Iterator[Cell]:
    """A configuration that an exclusion takes from any model is outside the envelope."""
    one_by_one = [exclusion for exclusion in spec.exclude if "model" in exclusion.when.root]
    if not one_by_one:
        yield from cells
        return
    for cell in cells:
        places = [grid.where(cell.levels, cell.tier, cell.benchmark, model.id) for model in spec.model]
        lost = any(exclusion.when.matches(where) for exclusion in one_by_one for where in places)
        yield replace(cell, shared=not lost)


def mark_slices(spec: Spec, cells: Iterator[Cell]) -> Iterator[Cell]:
    """The named sub-envelopes that hold the cell's configuration."""
    for cell in cells:
        where = grid.where(cell.levels, cell.tier, cell.benchmark)
        yield replace(cell, slices=tuple(part.id for part in spec.slice if part.where.matches(where)))


PASSES: tuple[Pass, ...] = (exclude, mark_shared, mark_slices)


def cells(spec: Spec) -> Iterator[Cell]:
    """The cells of a study, in the order of the spec."""
    stream = enumerate_grid(spec)
    for grid_pass in PASSES:
        stream = grid_pass(spec, stream)
    return stream


def graded(spec: Spec) -> bool:
    """Whether an item can earn a part of a point, so that no test of right and wrong is of its score."""
    return spec.graded or (spec.aggregated and any(cell.setting.item_scale > 1 for cell in cells(spec)))
