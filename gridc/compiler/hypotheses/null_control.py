"""No effect is expected."""

from dataclasses import replace

from gridc.compiler.hypotheses.contrast import ContrastKind, joint_words, margin_words, within_words
from gridc.compiler.hypotheses.kind import BOTH, Claims, PlannedTest, Problem
from gridc.compiler.hypotheses.tested import by_estimator
from gridc.schema.inference import ContrastHypothesis
from gridc.statistics import margins
from gridc.statistics.expected_power import Assumptions, ClaimKind, power
from gridc.statistics.verdicts import Alternative, Decided, Evidence


class NullControl(ContrastKind):
    claim: ClaimKind = "no_effect"
    first: Decided = "refuted"
    takes_side = False
    at_margin = False
    finds_effects = False
    shows_margins = False

    @staticmethod
    def p_values(evidence: Evidence, side: Alternative, margin: float | None) -> tuple[float, float]:
        """Refuted: the test finds a difference. Supported: it lies within the margin."""
        return 1.0 if margin is None else evidence.every(margins.within, margin), evidence.p

    def claims(self, hypothesis: ContrastHypothesis) -> Claims:
        return Claims(("refute",) if hypothesis.margin is None else BOTH, 1)

    def test_words(self, hypothesis: ContrastHypothesis, design: PlannedTest) -> str:
        return by_estimator(joint_words(hypothesis), design.spec)

    def why_no_design(self, hypothesis: ContrastHypothesis, effect: float | None) -> Problem | None:
        if hypothesis.margin is not None:
            return None
        help = "margin = { pp = 2 } in the spec: below it a difference counts as none"
        return Problem(f"`{hypothesis.id}` does not say how large a difference is to be found", help)

    def target(self, hypothesis: ContrastHypothesis, effect: float) -> str:
        return margin_words(hypothesis)

    def power_at(
        self, hypothesis: ContrastHypothesis, design: PlannedTest, effect: float, assumed: Assumptions
    ) -> float:
        """That a difference is found, or that none is shown to lie within the margin: the smaller of both."""
        test, layout = self._test(hypothesis, design), self.layout(hypothesis, design)
        shown = replace(test, claim="inside")
        within = power(shown, self.at_margin_layout(hypothesis, design), assumed, 0.0)
        return min(self.chance(test, layout, assumed, effect), within)

    def claimed(self, hypothesis: ContrastHypothesis) -> str:
        return within_words(hypothesis)


KIND = NullControl()
