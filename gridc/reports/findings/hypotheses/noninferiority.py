"""Levels that are not worse than the reference by the margin."""

from gridc.compiler.hypotheses.contrast import assumed
from gridc.compiler.hypotheses.noninferiority import KIND
from gridc.reports.findings.hypotheses.contrasts import ContrastDecision
from gridc.schema.inference import ContrastHypothesis, between


class NoninferiorityDecision(ContrastDecision):
    kind = KIND

    def claimed(self, hypothesis: ContrastHypothesis) -> str:
        """With its side, whichever score is the better one."""
        by = "" if hypothesis.margin is None else f" by {hypothesis.margin.pp:g} pp"
        way = "fall" if hypothesis.side == "greater" else "rise"
        return f", that it does not {way}{by} between {between(hypothesis.axis)}{assumed(hypothesis)}"


DECISION = NoninferiorityDecision()
