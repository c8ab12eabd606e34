"""What checks share: their signature, and where a spec has selectors over its grid."""

import os
from collections.abc import Callable, Iterator

from gridc.compiler.frontend.source import Source
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.diagnostics.places import KeyPath
from gridc.schema.selector import Selector
from gridc.schema.spec import Spec

Check = Callable[[Spec, Source], Iterator[Diagnostic]]


def grid_selectors(spec: Spec) -> Iterator[tuple[KeyPath, Selector]]:
    """Every selector over the grid, with its place in the spec."""
    for number, exclude in enumerate(spec.exclude):
        yield ("exclude", number, "when"), exclude.when
    for number, part in enumerate(spec.slice):
        yield ("slice", number, "where"), part.where
    for number, hypothesis in enumerate(spec.hypothesis):
        yield ("hypothesis", number, "where"), hypothesis.where
    for number, waive in enumerate(spec.waive):
        yield ("waive", number, "where"), waive.where
    for number, test in enumerate(spec.falsification):
        if test.criterion is not None:
            yield ("falsification", number, "criterion", "where"), test.criterion.where
    yield ("analysis", "primary"), spec.analysis.primary
    if spec.analysis.anchor is not None:
        yield ("analysis", "anchor"), spec.analysis.anchor
    for number, mark in enumerate(spec.analysis.thresholds):
        if mark.where is not None:
            yield ("analysis", "thresholds", number, "where"), mark.where


MAX_CELLS = 50_000
"""Cells of a grid before its exclusions, unless whoever runs gridc allows more: `GRIDC_MAX_CELLS`."""


def most_cells() -> int:
    """The most cells that a grid, and hypotheses that a spec, may come to. Raises `UsageError` (GC000)."""
    allowed = os.environ.get("GRIDC_MAX_CELLS", "")
    if allowed and not allowed.isdecimal():
        raise UsageError([Diagnostic("GC000", f"GRIDC_MAX_CELLS is `{allowed}`", help="give a whole number")])
    return int(allowed or MAX_CELLS)
