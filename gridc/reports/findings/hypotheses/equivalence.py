"""Levels that differ by less than the margin."""

from gridc.compiler.hypotheses.equivalence import KIND
from gridc.reports.findings.hypotheses.contrasts import ContrastDecision, within_words
from gridc.schema.inference import ContrastHypothesis


class EquivalenceDecision(ContrastDecision):
    kind = KIND

    def claimed(self, hypothesis: ContrastHypothesis) -> str:
        return within_words(hypothesis)


DECISION = EquivalenceDecision()
