"""The outcome changes by less than the margin."""

from collections.abc import Iterator

from gridc.compiler.hypotheses.contrast import (
    ContrastKind,
    margin_words,
    no_effect_to_find,
    within_words,
    without_margin,
)
from gridc.compiler.hypotheses.kind import BOTH, Claims, Misfit, PlannedTest, Problem
from gridc.schema.inference import ContrastHypothesis
from gridc.schema.spec import Spec
from gridc.statistics import margins
from gridc.statistics.expected_power import ClaimKind
from gridc.statistics.verdicts import Alternative, Decided, Evidence


class Equivalence(ContrastKind):
    claim: ClaimKind = "inside"
    first: Decided = "supported"
    takes_side = False
    at_margin = True
    finds_effects = False
    shows_margins = True

    @staticmethod
    def p_values(evidence: Evidence, side: Alternative, margin: float | None) -> tuple[float, float]:
        """Supported: the difference lies within the margin (two one-sided tests). Refuted: outside."""
        assert margin is not None
        return evidence.every(margins.within, margin), evidence.some(margins.outside, margin)

    def misfits(self, hypothesis: ContrastHypothesis, spec: Spec) -> Iterator[Misfit]:
        yield from without_margin(hypothesis)
        yield from super().misfits(hypothesis, spec)

    def claims(self, hypothesis: ContrastHypothesis) -> Claims:
        return Claims(BOTH, 1)

    def test_words(self, hypothesis: ContrastHypothesis, design: PlannedTest) -> str:
        return self.at_margin_words(hypothesis, design, "both sides of")

    def why_no_design(self, hypothesis: ContrastHypothesis, effect: float | None) -> Problem | None:
        return None if effect is None else no_effect_to_find(hypothesis)

    def target(self, hypothesis: ContrastHypothesis, effect: float) -> str:
        return margin_words(hypothesis)

    def claimed(self, hypothesis: ContrastHypothesis) -> str:
        return within_words(hypothesis)


KIND = Equivalence()
