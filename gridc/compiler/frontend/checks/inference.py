"""Hypotheses and curves: what each kind needs, and whether a curve has any specification left."""

from collections.abc import Iterator

from gridc.compiler.frontend.source import Source
from gridc.compiler.grid.specifications import specifications
from gridc.diagnostics.errors import Diagnostic
from gridc.schema.inference import ContrastHypothesis, InteractionHypothesis
from gridc.schema.spec import Spec


def needed_keys(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Margins where a kind is defined by one, and comparisons of a thing with something else."""
    for number, each in enumerate(spec.hypothesis):
        here = ("hypothesis", number)
        if isinstance(each, InteractionHypothesis) and each.by == each.axis:
            message = f"`{each.id}` says that `{each.axis}` interacts with itself"
            help = "`by` is `model`, `benchmark` or another axis"
            yield source.diagnose("GC105", (*here, "by"), message, help)
        if not isinstance(each, ContrastHypothesis):
            continue
        if each.kind in ("equivalence", "noninferiority") and each.margin is None:
            message = f"`{each.id}` is a test of {each.kind} and has no `margin`"
            help = "margin = { pp = 2 }: the smallest difference that would matter, in percentage points"
            yield source.diagnose("GC103", here, message, help, at_key=True)
        if each.reference in each.levels:
            message = f"`{each.id}` compares `{each.reference}` with itself"
            axis = next(axis for axis in spec.axis if axis.id == each.axis)
            others = [level.id for level in axis.level if level.id not in each.levels]
            known = f"`{each.axis}` also has {', '.join(f'`{name}`' for name in others)}"
            help = known if others else "name fewer levels, or another reference"
            yield source.diagnose("GC105", (*here, "reference"), message, help)
        if each.kind == "noninferiority" and each.side == "two-sided":
            message = f"`{each.id}` is a test of noninferiority, which has a side"
            help = 'side = "greater" when a higher outcome is better, else "less"'
            yield source.diagnose("GC105", here, message, help, at_key=True)


def curves_hold_something(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Each exclusion of a curve removes something, and something is left."""
    forks = {fork.id: fork for fork in spec.fork}
    for number, curve in enumerate(spec.curve):
        counted = specifications(curve, forks)
        for rank, removed in enumerate(counted.removed):
            if removed == 0:
                where = ("curve", number, "exclude", rank, "when")
                yield source.diagnose("GC305", where, "no combination of the curve's forks matches this")
        if counted.size == 0:
            message = f"no specification of `{curve.id}` is left after its exclusions"
            yield source.diagnose("GC301", ("curve", number), message, at_key=True)
