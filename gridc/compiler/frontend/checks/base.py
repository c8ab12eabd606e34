"""What checks share: their signature, and where a spec has selectors over its grid or sets effects."""

from collections.abc import Callable, Iterator

from gridc.compiler.frontend.source import Source
from gridc.diagnostics.errors import Diagnostic
from gridc.diagnostics.places import KeyPath
from gridc.schema.selector import Selector
from gridc.schema.spec import BenchmarkEffects, Spec

Check = Callable[[Spec, Source], Iterator[Diagnostic]]


def grid_selectors(spec: Spec) -> Iterator[tuple[KeyPath, Selector]]:
    """Every selector over the grid, with its place in the spec."""
    for number, exclude in enumerate(spec.exclude):
        yield ("exclude", number, "when"), exclude.when
    for number, each in enumerate(spec.slice):
        yield ("slice", number, "where"), each.where
    for number, hypothesis in enumerate(spec.hypothesis):
        yield ("hypothesis", number, "where"), hypothesis.where
    for number, waive in enumerate(spec.waive):
        yield ("waive", number, "where"), waive.where
    yield ("analysis", "primary"), spec.analysis.primary


def effect_tables(spec: Spec) -> Iterator[tuple[KeyPath, str, BenchmarkEffects]]:
    """Every table that says how a call is made or scored, with its place and its name."""
    yield ("harness",), "harness", spec.harness
    for number, benchmark in enumerate(spec.benchmark):
        yield ("benchmark", number), benchmark.id, benchmark
    for number, axis in enumerate(spec.axis):
        for rank, level in enumerate(axis.level):
            yield ("axis", number, "level", rank), f"{axis.id} = {level.id}", level
