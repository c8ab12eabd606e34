"""What a spec can state and this version does not compute.

Nothing that is stated is dropped silently: what is not computed is listed once on the terminal, the page, the
cards and in the certificate, from here.
"""

from collections.abc import Iterator

from gridc.compiler.grid.specifications import curve_hypotheses, meaning
from gridc.schema.certificate import UncomputedRow
from gridc.schema.inference import Analysis, Choice, Falsification
from gridc.schema.spec import Spec


def uncomputed_rows(spec: Spec) -> tuple[UncomputedRow, ...]:
    """Everything that the spec states and no number of the report answers, in the order of the language."""
    return tuple(_stated(spec))


def _stated(spec: Spec) -> Iterator[UncomputedRow]:
    yield from _open_choices(spec)
    for test in spec.falsification:
        why = why_undecidable(spec, test)
        if why is not None:
            yield UncomputedRow(table="falsification", id=test.id, what=f"{test.test} ({why})")
    for key, what in _analysis(spec.analysis, any(curve_hypotheses(spec, curve) for curve in spec.curve)):
        yield UncomputedRow(table="analysis", id=key, what=what)


def _open_choices(spec: Spec) -> Iterator[UncomputedRow]:
    """Levels of forks that no curve runs, and curves that compare nothing."""
    run = {name for curve in spec.curve if curve_hypotheses(spec, curve) for name in curve.forks}
    for fork in spec.fork:
        bound = [level for level in fork.levels if isinstance(meaning(spec, fork, level), Choice)]
        others = [level for level in fork.levels if fork.id not in run or level not in bound]
        text = ", ".join(level for level in others if level != fork.default)
        if text:
            what = f"{fork.default} was chosen; instead of it: {text}"
            yield UncomputedRow(table="fork", id=fork.id, what=what)
    for curve in spec.curve:
        if not curve_hypotheses(spec, curve):
            what = f"over {', '.join(curve.forks)}: no difference or ranking is stated to compare"
            yield UncomputedRow(table="curve", id=curve.id, what=what)


def criteria_words(test: Falsification) -> str:
    """When a test passes and fails, in the words of the spec."""
    stated = {"passes": test.passes, "in part": test.partial, "fails": test.fails}
    return "; ".join(f"{result}: {words}" for result, words in stated.items() if words)


def why_undecidable(spec: Spec, test: Falsification) -> str | None:
    """Why no number of the report decides a falsification test; None where one does."""
    if test.criterion is None:
        return f"for people to do; {criteria_words(test)}"
    if test.criterion.fork is not None:
        fork = next(declared for declared in spec.fork if declared.id == test.criterion.fork)
        if fork.binds != "analysis.outcome" or test.criterion.level not in ("itt", "pp"):
            return f"what {fork.id} = {test.criterion.level} gives is not computed"
    return None


def _analysis(stated: Analysis, curves: bool) -> Iterator[tuple[str, str]]:
    generalized = len(stated.generalizability) == 2
    if stated.bootstrap is not None and stated.bootstrap.unit == "model" and not generalized:
        draws, unit = stated.bootstrap.resamples, stated.bootstrap.unit
        yield "bootstrap", f"{draws} resamples by {unit}; items and configurations are resampled instead"
    if stated.permutations is not None and not curves:
        yield "permutations", f"{stated.permutations} draws"
    if stated.generalizability and not generalized:
        facets = ", ".join(f"{facet} {kind}" for facet, kind in stated.generalizability.items())
        yield "generalizability", facets
