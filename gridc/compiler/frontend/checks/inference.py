"""Hypotheses and curves: what each kind needs, and whether a curve has any specification left."""

from collections.abc import Iterator

from gridc.compiler.frontend.source import Source
from gridc.compiler.grid.specifications import specifications
from gridc.compiler.hypotheses import kind_of
from gridc.diagnostics.errors import Diagnostic, SpecError
from gridc.diagnostics.places import KeyPath
from gridc.schema.spec import Spec


def needed_keys(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Keys that a kind needs, and keys that contradict each other."""
    for number, hypothesis in enumerate(spec.hypothesis):
        for misfit in kind_of(hypothesis).misfits(hypothesis, spec):
            here: KeyPath = ("hypothesis", number)
            path = here if misfit.key is None else (*here, misfit.key)
            yield source.diagnose(misfit.code, path, misfit.problem, misfit.help, at_key=misfit.key is None)


def require_estimator(spec: Spec, source: Source) -> None:
    """Raise `SpecError` (GC338) where the spec does not say which test decides its effects, or that none
    does. It is asked before a stamp and a run, and never of results: what was run without one stays readable.
    """
    if "estimator" in spec.analysis.model_fields_set:
        return
    for number, hypothesis in enumerate(spec.hypothesis):
        if kind_of(hypothesis).needs_estimator(hypothesis):
            message = f"no test decides `{hypothesis.id}`: [analysis] names no `estimator`"
            help = (
                'estimator = "cluster_logit" takes any scores and assumes only that units are independent; '
                'estimator = "none" leaves effects untested'
            )
            raise SpecError([source.diagnose("GC338", ("hypothesis", number, "kind"), message, help)])


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
            help = "narrow the `when` of one of its exclusions, or take one out"
            yield source.diagnose("GC301", ("curve", number), message, help, at_key=True)
