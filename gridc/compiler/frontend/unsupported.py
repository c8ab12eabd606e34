"""Lists what a spec states and this version does not compute.

The terminal, the page, the cards and the certificate print this list, so that nothing is dropped silently.
"""

from collections.abc import Iterator

from gridc.compiler.grid.specifications import curve_hypotheses, meaning
from gridc.schema.certificate import UncomputedRow
from gridc.schema.inference import Analysis, Choice, Falsification
from gridc.schema.spec import Spec


def uncomputed_rows(spec: Spec) -> tuple[UncomputedRow, ...]:
    """List everything that the spec states and no number of the report answers, in the language's order."""
    return tuple(_uncomputed(spec))


def _uncomputed(spec: Spec) -> Iterator[UncomputedRow]:
    yield from _uncomputed_choices(spec)
    for test in spec.falsification:
        why = why_undecidable(spec, test)
        if why is not None:
            yield UncomputedRow(table="falsification", id=test.id, what=f"{test.test} ({why})")
    for key, what in _uncomputed_analysis(
        spec.analysis, any(curve_hypotheses(spec, curve) for curve in spec.curve)
    ):
        yield UncomputedRow(table="analysis", id=key, what=what)


def _uncomputed_choices(spec: Spec) -> Iterator[UncomputedRow]:
    """List the levels of forks that no curve runs, and the curves that compare nothing."""
    run = {name for curve in spec.curve if curve_hypotheses(spec, curve) for name in curve.forks}
    for fork in spec.fork:
        bound = [level for level in fork.levels if isinstance(meaning(spec, fork, level), Choice)]
        not_run = [level for level in fork.levels if fork.id not in run or level not in bound]
        alternatives = ", ".join(level for level in not_run if level != fork.default)
        if alternatives:
            what = f"{fork.default} was chosen; instead of it: {alternatives}"
            yield UncomputedRow(table="fork", id=fork.id, what=what)
    for curve in spec.curve:
        if not curve_hypotheses(spec, curve):
            what = f"over {', '.join(curve.forks)}: no difference or ranking is stated to compare"
            yield UncomputedRow(table="curve", id=curve.id, what=what)


def criteria_words(test: Falsification) -> str:
    """Say when a test passes and fails, in the words of the spec."""
    results = {"passes": test.passes, "in part": test.partial, "fails": test.fails}
    return "; ".join(f"{result}: {words}" for result, words in results.items() if words)


def why_undecidable(spec: Spec, test: Falsification) -> str | None:
    """Say why no number of the report decides a falsification test; None where a number does."""
    if test.criterion is None:
        return f"for people to do; {criteria_words(test)}"
    if test.criterion.fork is not None:
        fork = next(fork for fork in spec.fork if fork.id == test.criterion.fork)
        if fork.binds != "analysis.outcome" or test.criterion.level not in ("itt", "pp"):
            return f"what {fork.id} = {test.criterion.level} gives is not computed"
    return None


def _uncomputed_analysis(analysis: Analysis, curves: bool) -> Iterator[tuple[str, str]]:
    """List the keys of [analysis] that have no effect, each with what it says."""
    generalized = len(analysis.generalizability) == 2
    if analysis.bootstrap is not None and analysis.bootstrap.unit == "model" and not generalized:
        draws, unit = analysis.bootstrap.resamples, analysis.bootstrap.unit
        yield "bootstrap", f"{draws} resamples by {unit}; items and configurations are resampled instead"
    if analysis.permutations is not None and not curves:
        yield "permutations", f"{analysis.permutations} draws"
    if analysis.generalizability and not generalized:
        facets = ", ".join(f"{facet} {kind}" for facet, kind in analysis.generalizability.items())
        yield "generalizability", facets
