"""The outcome changes in one direction along ordered levels."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from gridc.compiler.hypotheses.kind import (
    BOTH,
    Claims,
    Levels,
    Misfit,
    PlannedTest,
    Reference,
    levels_by_axis,
    order_references,
)
from gridc.compiler.hypotheses.tested import (
    LevelComparison,
    TestedKind,
    by_estimator,
    outcome_reference,
    run_levels,
)
from gridc.schema.inference import TrendHypothesis
from gridc.schema.spec import Spec
from gridc.statistics.expected_power import DecidingTest
from gridc.statistics.reproducibility import Verdict
from gridc.statistics.verdicts import Alternative, Decided, Evidence, Rule

SIDES: Mapping[str, Alternative] = {"increasing": "greater", "decreasing": "less"}


def trend_p_values(evidence: Evidence, side: Alternative, margin: float | None) -> tuple[float, float]:
    """Supported: the slope over the doses goes the predicted way. Refuted: it goes the other way."""
    ((up, down),) = evidence.sides
    return (up, down) if side == "greater" else (down, up)


class Trend(TestedKind[TrendHypothesis]):
    first: Decided = "supported"
    interacts = False
    at_margin = False
    finds_effects = True
    shows_margins = False

    def references(self, hypothesis: TrendHypothesis, spec: Spec) -> Iterator[Reference]:
        axes = levels_by_axis(spec)
        yield Reference(("axis",), "axis", hypothesis.axis, axes)
        yield outcome_reference(hypothesis, spec)
        yield from order_references("level", hypothesis.order, axes.get(hypothesis.axis, hypothesis.order))

    def misfits(self, hypothesis: TrendHypothesis, spec: Spec) -> Iterator[Misfit]:
        levels = {level.id: level for axis in spec.axis if axis.id == hypothesis.axis for level in axis.level}
        doses = [levels[name].dose for name in hypothesis.order if name in levels]
        if all(dose is None for dose in doses):
            return
        if None in doses:
            lacking = next(name for name in hypothesis.order if levels[name].dose is None)
            problem = f"`{lacking}` has no `dose`, and other levels of the trend `{hypothesis.id}` have one"
            yield Misfit("GC105", "order", problem, "give every level of the order a dose, or none")
        elif any(later <= earlier for earlier, later in pairwise(dose for dose in doses if dose is not None)):
            problem = f"the doses of `{hypothesis.id}` do not rise along its order"
            yield Misfit("GC105", "order", problem, "name the levels from the smallest dose to the largest")

    def axes(self, hypothesis: TrendHypothesis) -> tuple[str, ...]:
        return (hypothesis.axis,)

    def levels(self, hypothesis: TrendHypothesis, axis: str, run: Sequence[str]) -> Collection[str]:
        return hypothesis.order if axis == hypothesis.axis else ()

    def comparable(self, hypothesis: TrendHypothesis, spec: Spec, levels: Levels) -> bool:
        return run_levels(levels).issuperset(hypothesis.order)

    def claims(self, hypothesis: TrendHypothesis) -> Claims:
        """Where the outcome does not move, both ways are false."""
        return Claims(BOTH, 2)

    def compared(self, hypothesis: TrendHypothesis, spec: Spec, levels: Levels) -> LevelComparison:
        return LevelComparison(hypothesis.order, doses=tuple(doses_of(spec, hypothesis).values()))

    def rule(self, hypothesis: TrendHypothesis, level: float) -> Rule:
        return Rule(trend_p_values, SIDES[hypothesis.direction], level, None, sided=True, first=self.first)

    def test(self, hypothesis: TrendHypothesis, level: float) -> DecidingTest:
        return DecidingTest("effect", SIDES[hypothesis.direction], level)

    def test_words(self, hypothesis: TrendHypothesis, design: PlannedTest) -> str:
        return by_estimator("one-sided test of the slope", design.spec)

    def unreachable_help(self, hypothesis: TrendHypothesis, design: PlannedTest, verdict: Verdict) -> str:
        return "predict the differences that make it up"


def doses_of(spec: Spec, hypothesis: TrendHypothesis) -> dict[str, float]:
    """The dose of each level of the order: as the spec says, or 0, 1, 2, ..."""
    stated = {
        level.id: level.dose for axis in spec.axis if axis.id == hypothesis.axis for level in axis.level
    }
    known = {name: stated[name] for name in hypothesis.order}
    return {
        name: float(place) if dose is None else float(dose)
        for place, (name, dose) in enumerate(known.items())
    }


KIND = Trend()
