"""Levels that are expected not to differ."""

from gridc.compiler.hypotheses.null_control import KIND
from gridc.reports.findings.hypotheses.contrasts import ContrastDecision, within_words
from gridc.schema.inference import ContrastHypothesis


class NullControlDecision(ContrastDecision):
    kind = KIND

    def claimed(self, hypothesis: ContrastHypothesis) -> str:
        return within_words(hypothesis)


DECISION = NullControlDecision()
