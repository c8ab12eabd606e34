"""A statistic, such as cost per success or F1, under a level against a reference."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from gridc.compiler.hypotheses.kind import (
    BOTH,
    Claims,
    DesignPower,
    HypothesisKind,
    Levels,
    Misfit,
    Pair,
    PlannedTest,
    Problem,
    Reference,
    comparable_levels,
    unstated_effect,
)
from gridc.schema.inference import MODELS, RATES, RateName, StatisticHypothesis, contrast_noun
from gridc.schema.spec import Spec
from gridc.schema.statistics import COMPARABLE, called
from gridc.statistics.expected_power import Assumptions
from gridc.statistics.reproducibility import Verdict

TEST = "the interval of a difference of two values over units"


class StatisticPrediction(HypothesisKind[StatisticHypothesis]):
    needs_good_side = False
    pooled = True
    shares_level = False
    finds_effects = True
    shows_margins = False

    def references(self, hypothesis: StatisticHypothesis, spec: Spec) -> Iterator[Reference]:
        known = comparable_levels(spec)
        stated = [each.id for each in spec.statistics]
        means = [name for name, rate in RATES.items() if rate.mean]
        outcomes = [outcome.id for outcome in spec.outcomes]
        names = [*stated, *spec.units_of_numbers, *outcomes, *means]
        yield Reference(("statistic",), "statistic", hypothesis.statistic, names)
        yield Reference(("axis",), "axis", hypothesis.axis, known)
        levels = known.get(hypothesis.axis)
        what = "model" if hypothesis.axis == MODELS else "level"
        for key in ("level", "reference") if levels is not None else ():
            yield Reference((key,), what, getattr(hypothesis, key), levels or ())

    def misfits(self, hypothesis: StatisticHypothesis, spec: Spec) -> Iterator[Misfit]:
        own = called(hypothesis.statistic, spec.statistics)
        if own.kind not in COMPARABLE:
            problem = f"no difference of two values of `{own.id}` has limits: it is {own.kind}"
            yield Misfit(
                "GC105", "statistic", problem, f"a statistic of another kind: {', '.join(COMPARABLE)}"
            )
        if hypothesis.level == hypothesis.reference:
            problem = f"`{hypothesis.level}` is compared with itself"
            yield Misfit("GC105", "level", problem, f"name two {contrast_noun(hypothesis.axis)}")
        if hypothesis.axis in (own.over or ()):
            problem = f"`{own.id}` takes the levels of {hypothesis.axis} together, and they are compared here"
            yield Misfit("GC105", "axis", problem, "compare the levels of another axis")

    def why_no_each(self, hypothesis: StatisticHypothesis) -> Mapping[str, Problem]:
        if hypothesis.axis != MODELS:
            return {}
        return {
            "model": Problem(
                "models are compared, so that none has a verdict of its own", 'each = "benchmark"'
            )
        }

    def rate(self, hypothesis: StatisticHypothesis) -> RateName:
        return "score"

    def margin(self, hypothesis: StatisticHypothesis) -> None:
        return None  # in the unit of the statistic, and not in percentage points

    def models(self, hypothesis: StatisticHypothesis) -> Sequence[str] | None:
        return (hypothesis.reference, hypothesis.level) if hypothesis.axis == MODELS else None

    def restricted_to(
        self, hypothesis: StatisticHypothesis, models: Collection[str]
    ) -> StatisticHypothesis | None:
        named = self.models(hypothesis)
        return hypothesis if named is None or set(named) <= set(models) else None

    def axes(self, hypothesis: StatisticHypothesis) -> tuple[str, ...]:
        return (hypothesis.axis,)

    def levels(self, hypothesis: StatisticHypothesis, axis: str, run: Sequence[str]) -> Collection[str]:
        return (hypothesis.reference, hypothesis.level) if axis == hypothesis.axis else ()

    def comparable(self, hypothesis: StatisticHypothesis, spec: Spec, levels: Levels) -> bool:
        return {level for own in levels for level in own} >= {hypothesis.level, hypothesis.reference}

    def benchmarks(self, hypothesis: StatisticHypothesis) -> int:
        return 1

    def contrasts(self, hypothesis: StatisticHypothesis) -> int:
        return 1

    def pairs(self, hypothesis: StatisticHypothesis) -> Sequence[Pair]:
        return ()

    def claims(self, hypothesis: StatisticHypothesis) -> Claims:
        """Where both values are the same, or apart by the margin, a prediction is false and so is what
        refutes it. That they differ is refuted by nothing."""
        if hypothesis.predicts == "different":
            return Claims(("support",), 1)
        return Claims(BOTH, 2)

    def verdict(self, support: float, refute: float, alpha: float) -> Verdict:
        if min(support, refute) > alpha:
            return "open"
        return "supported" if support <= refute else "refuted"

    def needs_estimator(self, hypothesis: StatisticHypothesis) -> bool:
        return False

    def unreachable_verdicts(self, hypothesis: StatisticHypothesis, spec: Spec) -> Collection[Verdict]:
        never: tuple[Verdict, ...] = ("refuted",)
        return never if hypothesis.predicts == "different" else ()

    def why_no_test(self, hypothesis: StatisticHypothesis, spec: Spec) -> str | None:
        return None

    def possible_outcomes(
        self, hypothesis: StatisticHypothesis, design: PlannedTest
    ) -> Mapping[Verdict, str]:
        level, reference = hypothesis.level, hypothesis.reference
        lies = f"the interval of {level} less {reference} lies"
        margin = "" if hypothesis.margin is None else f"{hypothesis.margin:g}"
        where: Mapping[str, tuple[str, str]] = {
            "different": ("on one side of 0", ""),
            "higher": ("above 0", "below 0"),
            "lower": ("below 0", "above 0"),
            "not_higher": (f"below {margin}", f"above {margin}"),
            "not_lower": (f"above -{margin}", f"below -{margin}"),
            "within": (f"between -{margin} and {margin}", f"beyond {margin}, or -{margin}"),
        }
        if design.parts is not None and not any(part.units for part in design.parts.values()):
            return {}
        supports, refutes = where[hypothesis.predicts]
        outcomes: dict[Verdict, str] = {"supported": f"{lies} {supports}", "open": f"{lies} on both sides"}
        return {**outcomes, "refuted": f"{lies} {refutes}"} if refutes else outcomes

    def way_out(self, hypothesis: StatisticHypothesis, design: PlannedTest, verdict: Verdict) -> str:
        return "ask more items"

    def power(self, hypothesis: StatisticHypothesis, design: PlannedTest) -> DesignPower:
        """It depends on how the statistic varies, which nothing says before the run."""
        return DesignPower(TEST, design.level)

    def power_at(
        self, hypothesis: StatisticHypothesis, design: PlannedTest, effect: float, assumed: Assumptions
    ) -> float:
        return 0.0

    def why_no_design(self, hypothesis: StatisticHypothesis, effect: float | None) -> Problem | None:
        problem = (
            "how much a statistic varies is not known before the run, and so no design can be looked for"
        )
        return unstated_effect(hypothesis, None, effect) or Problem(problem, "name other hypotheses")

    def target(self, hypothesis: StatisticHypothesis, effect: float) -> str:
        return f"{hypothesis.statistic} {hypothesis.predicts}"


KIND = StatisticPrediction()
