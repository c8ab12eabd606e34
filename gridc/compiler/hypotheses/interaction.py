"""The effect of an axis depends on the model, the benchmark or another axis."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from gridc.compiler.hypotheses.kind import (
    Claims,
    Levels,
    Misfit,
    PlannedTest,
    Problem,
    Reference,
    levels_by_axis,
)
from gridc.compiler.hypotheses.tested import (
    LevelComparison,
    TestedKind,
    by_estimator,
    outcome_reference,
    run_levels,
)
from gridc.schema.base import RESERVED_DIMENSIONS
from gridc.schema.inference import InteractionHypothesis
from gridc.schema.spec import Spec
from gridc.statistics.expected_power import DecidingTest
from gridc.statistics.reproducibility import Verdict
from gridc.statistics.verdicts import Alternative, Decided, Evidence, Rule


def interaction_p_values(evidence: Evidence, side: Alternative, margin: float | None) -> tuple[float, float]:
    """Supported: the joint test finds it. Nothing refutes it: no difference is too small to be one."""
    return evidence.p, 1.0


class Interaction(TestedKind[InteractionHypothesis]):
    first: Decided = "supported"
    interacts = True
    at_margin = False
    finds_effects = True
    shows_margins = False

    def references(self, hypothesis: InteractionHypothesis, spec: Spec) -> Iterator[Reference]:
        axes = levels_by_axis(spec)
        yield Reference(("axis",), "axis", hypothesis.axis, axes)
        yield outcome_reference(hypothesis, spec)
        yield Reference(("by",), "axis", hypothesis.by, ["model", "benchmark", *axes])

    def misfits(self, hypothesis: InteractionHypothesis, spec: Spec) -> Iterator[Misfit]:
        if hypothesis.by == hypothesis.axis:
            problem = f"`{hypothesis.id}` says that `{hypothesis.axis}` interacts with itself"
            yield Misfit("GC105", "by", problem, "`by` is `model`, `benchmark` or another axis")

    def why_no_each(self, hypothesis: InteractionHypothesis) -> Mapping[str, Problem]:
        by = hypothesis.by
        problem = f"an interaction with `{by}` has no verdict for each {by}"
        return {by: Problem(problem, "leave `each` out, or choose another `by`")}

    def axes(self, hypothesis: InteractionHypothesis) -> tuple[str, ...]:
        alone = hypothesis.by in RESERVED_DIMENSIONS
        return (hypothesis.axis,) if alone else (hypothesis.axis, hypothesis.by)

    def levels(self, hypothesis: InteractionHypothesis, axis: str, run: Sequence[str]) -> Collection[str]:
        return run if axis in self.axes(hypothesis) else ()

    def comparable(self, hypothesis: InteractionHypothesis, spec: Spec, levels: Levels) -> bool:
        by = {"model": _models(hypothesis, spec), "benchmark": len(spec.benchmark)}
        return len(run_levels(levels)) > 1 and by.get(hypothesis.by, _others(levels)) > 1

    def benchmarks(self, hypothesis: InteractionHypothesis) -> int:
        return 2 if hypothesis.by == "benchmark" else 1

    def claims(self, hypothesis: InteractionHypothesis) -> Claims:
        return Claims(("support",), 1)

    def compared(self, hypothesis: InteractionHypothesis, spec: Spec, levels: Levels) -> LevelComparison:
        run = run_levels(levels)
        names = tuple(name for name in levels_by_axis(spec)[hypothesis.axis] if name in run)
        if hypothesis.by == "benchmark":
            return LevelComparison(names, "benchmark")
        return LevelComparison(
            names, _models(hypothesis, spec) if hypothesis.by == "model" else _others(levels)
        )

    def rule(self, hypothesis: InteractionHypothesis, level: float) -> Rule:
        return Rule(interaction_p_values, "two-sided", level, None, sided=False, first=self.first)

    def test(self, hypothesis: InteractionHypothesis, level: float) -> DecidingTest:
        return DecidingTest("crossed", "two-sided", level)

    def test_words(self, hypothesis: InteractionHypothesis, design: PlannedTest) -> str:
        return by_estimator("joint test of the interactions", design.spec)

    def unreachable_help(
        self, hypothesis: InteractionHypothesis, design: PlannedTest, verdict: Verdict
    ) -> str:
        by = hypothesis.by
        parts = (
            f'each = "{by}"'
            if by in RESERVED_DIMENSIONS
            else f"where = {{ {by} = ... }} for a level of `{by}`"
        )
        return (
            "an interaction is found or left open, and nothing shows that there is none; what it is made of "
            f'can be predicted: kind = "difference", a `side` and {parts}'
        )


def _models(hypothesis: InteractionHypothesis, spec: Spec) -> int:
    about = hypothesis.where.restricted({"model"})
    return sum(about.matches({"model": model.id}) for model in spec.model)


def _others(levels: Levels) -> int:
    """How many levels of the other axis are run."""
    return len({combination[-1] for combination in levels})


KIND = Interaction()
