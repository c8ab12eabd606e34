"""The outcome changes, in the predicted direction if one is stated."""

from collections.abc import Sequence

from gridc.compiler.hypotheses.contrast import ContrastKind, joint_words
from gridc.compiler.hypotheses.kind import BOTH, Claims, Pair, PlannedTest
from gridc.compiler.hypotheses.tested import by_estimator
from gridc.schema.inference import ContrastHypothesis
from gridc.statistics import margins
from gridc.statistics.expected_power import ClaimKind
from gridc.statistics.reproducibility import Verdict
from gridc.statistics.verdicts import Alternative, Decided, Evidence


class Difference(ContrastKind):
    claim: ClaimKind = "effect"
    first: Decided = "supported"
    takes_side = True
    at_margin = False
    finds_effects = True
    shows_margins = False

    @staticmethod
    def p_values(evidence: Evidence, side: Alternative, margin: float | None) -> tuple[float, float]:
        """Supported: the test finds a difference on the predicted side. Refuted: it finds one on the other
        side, or a test at the margin shows that there is none as large."""
        if side == "two-sided":
            return evidence.p, 1.0 if margin is None else evidence.every(margins.within, margin)
        greater = side == "greater"
        toward, away = (evidence.rises, evidence.falls) if greater else (evidence.falls, evidence.rises)
        if margin is None:
            return toward, away
        small = evidence.every(margins.below, margin) if greater else evidence.every(margins.above, -margin)
        return toward, min(1.0, 2 * min(small, away))

    def claims(self, hypothesis: ContrastHypothesis) -> Claims:
        """A difference that is none is not as large as a margin too. Where there is no difference at all, a
        prediction with a side is false both ways."""
        if hypothesis.margin is not None:
            return Claims(BOTH, 1)
        return Claims(("support",), 1) if hypothesis.side == "two-sided" else Claims(BOTH, 2)

    def pairs(self, hypothesis: ContrastHypothesis) -> Sequence[Pair]:
        return [Pair(hypothesis.axis, level, hypothesis.reference) for level in hypothesis.levels]

    def test_words(self, hypothesis: ContrastHypothesis, design: PlannedTest) -> str:
        if hypothesis.side == "two-sided":
            return by_estimator(joint_words(hypothesis), design.spec)
        several = len(hypothesis.levels)
        best = f", for the best of {several} levels" if several > 1 else ""
        return by_estimator(f"one-sided test{best}", design.spec)

    def unreachable_help(self, hypothesis: ContrastHypothesis, design: PlannedTest, verdict: Verdict) -> str:
        """A difference either way is refuted by none that is large enough to matter, and one with a side by
        the other side."""
        other = super().unreachable_help(hypothesis, design, verdict)
        sideless = hypothesis.margin is None and hypothesis.side == "two-sided"
        if not sideless or not self.would_reach(hypothesis, design, verdict, side="greater"):
            return other
        return f'say which way: side = "greater" or side = "less"; or {other}'

    def claimed(self, hypothesis: ContrastHypothesis) -> str:
        return ""


KIND = Difference()
