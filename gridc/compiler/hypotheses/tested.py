"""Kinds of hypothesis that are decided by a test of the levels of an axis.

A plan asks the functions that a report decides by (`statistics.verdicts`) what some outcome would be, and
both ask `untested` which verdicts nothing reaches, so that both say the same.
"""

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal, NamedTuple, TypeVar

from gridc.compiler.hypotheses.kind import (
    CHANGING,
    TOGETHER,
    BenchmarkUnits,
    DesignPower,
    HypothesisKind,
    Levels,
    Pair,
    PlannedTest,
    Problem,
    Reference,
    numbers_of,
    points_rounded_up,
    unstated_effect,
)
from gridc.schema.inference import (
    RATES,
    ContrastHypothesis,
    InteractionHypothesis,
    RateName,
    TrendHypothesis,
    rate_kind,
)
from gridc.schema.spec import Spec
from gridc.statistics.expected_power import (
    Assumptions,
    DecidingTest,
    Layout,
    Stratum,
    assumed_design,
    coefficients_of,
    margin_error,
    power,
    smallest,
)
from gridc.statistics.reproducibility import Verdict
from gridc.statistics.verdicts import AskedItems, Decided, RiseFall, Rule, decided_verdict, witnesses

AboutAnEffect = ContrastHypothesis | InteractionHypothesis | TrendHypothesis
T = TypeVar("T", bound=AboutAnEffect)

MODELS: Mapping[str, str] = {"cluster_logit": "the clustered logit"}
"""The model that power is of, by the `estimator` of the language that decides."""
DECIDES_NOTHING: Mapping[str, str] = {
    "none": "[analysis] declares no estimator",
    "glmm": "a random intercept is reported and decides nothing, because it takes units to react alike; "
    'estimator = "cluster_logit" decides',
}
"""Why no test decides, by the other estimators. What is found by random intercepts where units react each in
its own way is not there in up to .6 of studies (docs/sizes.md)."""
BOTH_VERDICTS: tuple[Decided, ...] = ("supported", "refuted")
FEW = 30
"""Units below which a power is approximate: the tests' errors are then too."""


class LevelComparison(NamedTuple):
    """What the test of a kind compares: names of levels of its axis, the reference first, with doses where
    they have some; and the parts of `by` that their effect may depend on: how many inside each unit, or the
    benchmarks."""

    levels: tuple[str, ...]
    by: int | Literal["benchmark"] = 1
    doses: tuple[float, ...] = ()


class TestedKind(HypothesisKind[T]):
    """What such kinds have in common. How it is tested, and which verdicts that allows, each says itself."""

    @abstractmethod
    def rule(self, hypothesis: T, level: float) -> Rule:
        """When an outcome supports or refutes it, at a level."""

    @abstractmethod
    def test(self, hypothesis: T, level: float) -> DecidingTest:
        """Its test, as power is computed of it."""

    @abstractmethod
    def test_words(self, hypothesis: T, design: PlannedTest) -> str:
        """Which test decides."""

    @abstractmethod
    def compared(self, hypothesis: T, spec: Spec, levels: Levels) -> LevelComparison:
        """What the test compares, where these levels are run."""

    @abstractmethod
    def unreachable_help(self, hypothesis: T, design: PlannedTest, verdict: Verdict) -> str:
        """The way out where no outcome of any number of items reaches a verdict."""

    @property
    @abstractmethod
    def interacts(self) -> bool:
        """Whether it is about how an effect differs between parts."""

    @property
    @abstractmethod
    def at_margin(self) -> bool:
        """Whether tests of units at its margin decide it, whatever the estimator."""

    @property
    @abstractmethod
    def first(self) -> Decided:
        """Its verdict where what it predicts is found, and what refutes it too."""

    needs_good_side = False
    pooled = True
    shares_level = False

    def why_no_each(self, hypothesis: T) -> Mapping[str, Problem]:
        return {}

    def rate(self, hypothesis: T) -> RateName:
        return hypothesis.outcome

    def margin(self, hypothesis: T) -> float | None:
        return None

    def models(self, hypothesis: T) -> Sequence[str] | None:
        return None

    def restricted_to(self, hypothesis: T, models: Collection[str]) -> T | None:
        return hypothesis

    def benchmarks(self, hypothesis: T) -> int:
        return 1

    def contrasts(self, hypothesis: T) -> int:
        return 1

    def pairs(self, hypothesis: T) -> Sequence[Pair]:
        return ()

    def verdict(self, support: float, refute: float, alpha: float) -> Verdict:
        return decided_verdict(support, refute, alpha, self.first)

    def why_no_design(self, hypothesis: T, effect: float | None) -> Problem | None:
        return unstated_effect(hypothesis, self.margin(hypothesis), effect)

    def target(self, hypothesis: T, effect: float) -> str:
        return f"{hypothesis.kind} of {effect:g} pp"

    def needs_estimator(self, hypothesis: T) -> bool:
        return not self.at_margin and rate_kind(hypothesis.outcome).mean

    def unreachable_verdicts(self, hypothesis: T, spec: Spec) -> Collection[Verdict]:
        if not rate_kind(hypothesis.outcome).mean:
            return BOTH_VERDICTS
        if spec.analysis.estimator in MODELS or not self.needs_estimator(hypothesis):
            return ()
        return BOTH_VERDICTS if self.margin(hypothesis) is None else (self.first,)

    def why_no_test(self, hypothesis: T, spec: Spec) -> str | None:
        if not rate_kind(hypothesis.outcome).mean:
            return f"{hypothesis.outcome} is not a mean over items"
        return DECIDES_NOTHING.get(spec.analysis.estimator) if self.needs_estimator(hypothesis) else None

    def power(self, hypothesis: T, design: PlannedTest) -> DesignPower:
        level = design.level
        if why := self.why_no_test(hypothesis, design.spec):
            return DesignPower(f"none, since {why}", level)
        test, words = self._test(hypothesis, design), self.test_words(hypothesis, design)
        if design.empty:
            return DesignPower(words, level)
        layout = (self.at_margin_layout if self.at_margin else self.layout)(hypothesis, design)

        def effects(together: float) -> dict[str, float | None]:
            return {
                str(share): points_rounded_up(self.least(test, layout, Assumptions(share, together)))
                for share in CHANGING
            }

        at_margin = None
        if test.margin:
            size = 0.0 if self.shows_margins else test.margin
            at_margin = {
                str(share): round(self.chance(test, layout, Assumptions(share, TOGETHER), size), 4)
                for share in CHANGING
            }
        several = float(layout.by_unit.sum(axis=1).max()) > 1 and not self.interacts
        few = "" if layout.units >= FEW else f" (approximate: {layout.units} units)"
        return DesignPower(
            words + few,
            level,
            effects(TOGETHER),
            effects(1.0) if several else None,
            at_margin,
            round(margin_error(test, layout), 3) if self.at_margin else None,
        )

    def power_at(self, hypothesis: T, design: PlannedTest, effect: float, assumed: Assumptions) -> float:
        layout = (self.at_margin_layout if self.at_margin else self.layout)(hypothesis, design)
        test = self._test(hypothesis, design)
        return self.chance(test, layout, assumed, 0.0 if self.shows_margins else effect)

    def chance(self, test: DecidingTest, layout: Layout, assumed: Assumptions, effect: float) -> float:
        """The probability that a difference of `effect` decides for it."""
        return power(test, layout, assumed, effect)

    def least(self, test: DecidingTest, layout: Layout, assumed: Assumptions) -> float | None:
        """The smallest difference that is found, or margin that is shown."""
        return smallest(test, layout, assumed)

    def _test(self, hypothesis: T, design: PlannedTest) -> DecidingTest:
        return replace(self.test(hypothesis, design.level), binary=design.binary)

    def at_margin_layout(self, hypothesis: T, design: PlannedTest) -> Layout:
        """The units that tests at its margin take as independent."""
        return self.layout(hypothesis, design)

    def layout(self, hypothesis: T, design: PlannedTest) -> Layout:
        """What its test compares. Of the cells under each compared level the fewest count: the others have no
        partner there."""
        parts = design.known
        compared = self.compared(hypothesis, design.spec, next(iter(parts.values())).cells)
        blocks = 1 if compared.by == "benchmark" else compared.by
        strata = []
        for part, numbers in zip(parts.values(), numbers_of(parts.values()), strict=True):
            by_level = [
                sum(count for combination, count in part.cells.items() if combination[0] == level)
                for level in compared.levels
            ]
            answers = tuple(size * min(by_level) / blocks for size in part.sizes)
            strata.append(Stratum(answers, numbers))
        by: int | Literal["stratum"] = "stratum" if compared.by == "benchmark" else compared.by
        return Layout(tuple(strata), len(compared.levels), by, compared.doses)

    def possible_outcomes(self, hypothesis: T, design: PlannedTest) -> Mapping[Verdict, str]:
        if not any(part.units for part in design.known.values()):
            return {}
        reached, sided = self.reached(hypothesis, design), self.rule(hypothesis, design.level).sided
        return {
            verdict: self._words(hypothesis, outcome, sided, design.parts)
            for verdict, outcome in reached.items()
        }

    def way_out(self, hypothesis: T, design: PlannedTest, verdict: Verdict) -> str:
        if verdict not in self.reached(hypothesis, replace(design, parts=None)):
            return self.unreachable_help(hypothesis, design, verdict)
        wider = self.margin(hypothesis) is not None and verdict == "supported"
        return f"{what_to_draw(design)}{' or widen the margin' if wider else ''}"

    def reached(self, hypothesis: T, design: PlannedTest) -> Mapping[Verdict, RiseFall]:
        """An outcome for each verdict that some outcome reaches."""
        parts, level = design.known, design.level
        layout = self.layout(hypothesis, design)
        planned = AskedItems(
            tuple(part.sizes for part in parts.values()),
            tuple(stratum.numbers for stratum in layout.strata),
            tuple(
                design.replicates * stratum.answers[0] / part.sizes[0]
                for stratum, part in zip(layout.strata, parts.values(), strict=True)
            ),
            layout.levels,
            "part" if layout.by == "stratum" else layout.by,
            layout.doses,
            self.interacts,
        )
        return _witnesses(self.rule(hypothesis, level), planned, self._test(hypothesis, design), layout)

    def _words(
        self, hypothesis: T, outcome: RiseFall, sided: bool, parts: Mapping[str, BenchmarkUnits] | None
    ) -> str:
        """An outcome in words."""
        if parts is None:
            return "there are enough of them and the outcome is clear"
        changed, items = sum(outcome), sum(part.items for part in parts.values())
        if not changed:
            return "nothing changes"
        what = f"{changed:,} of {items:,} {'item' if items == 1 else 'items'}"
        change, rise, fall = ("changes", "rises", "falls") if changed == 1 else ("change", "rise", "fall")
        if self.interacts:
            return f"{what} {change} under each level, one way in one part and the other way in the rest"
        spread = (
            []
            if changed == 1 or {size for part in parts.values() for size in part.sizes} == {1}
            else ["evenly over the units"]
        )
        if self.contrasts(hypothesis) > 1:
            spread.append("under each level")
        if all(outcome):
            words = [f"{what} {change}", "as many up as down"]
        elif not sided:
            words = [f"{what} {change}", *([] if changed == 1 else ["all one way"])]
        else:
            words = [f"{what} {rise} and none falls" if outcome.rise else f"{what} {fall} and none rises"]
        return ", ".join([*words, *spread])


@lru_cache(maxsize=256)
def _witnesses(
    rule: Rule, planned: AskedItems, test: DecidingTest, layout: Layout
) -> Mapping[Verdict, RiseFall]:
    """Hypotheses often differ in their levels alone."""
    design = assumed_design(test, layout)
    return witnesses(rule, planned, design, coefficients_of(test, layout, design))


def what_to_draw(design: PlannedTest) -> str:
    """What to draw, where there is too little: items of units that are there already add next to nothing."""
    if all(size == 1 for part in design.known.values() for size in part.sizes):
        return "draw more items"
    return "draw items of more units (those of one unit are not independent)"


def outcome_reference(hypothesis: AboutAnEffect, spec: Spec) -> Reference:
    known = (*RATES, *(outcome.id for outcome in spec.outcomes))
    return Reference(("outcome",), "outcome", hypothesis.outcome, known)


def run_levels(levels: Levels) -> set[str]:
    """The levels of the first axis that are run."""
    return {combination[0] for combination in levels if combination}


def by_estimator(what: str, spec: Spec) -> str:
    """A test of coefficients, and the model they are of."""
    return f"{what}, {MODELS[spec.analysis.estimator]}"
