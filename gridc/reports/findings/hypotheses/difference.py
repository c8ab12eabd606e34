"""A difference between levels: what is said where it is found and is smaller than the margin."""

from collections.abc import Iterator

from gridc.compiler.hypotheses.difference import KIND
from gridc.numbers import p_in_text
from gridc.reports.findings.hypotheses.contrasts import ContrastDecision
from gridc.reports.findings.hypotheses.finding import HypothesisFinding
from gridc.schema.hypotheses import EffectRow
from gridc.schema.inference import ContrastHypothesis


class DifferenceDecision(ContrastDecision):
    kind = KIND

    def claimed(self, hypothesis: ContrastHypothesis) -> str:
        return ""

    def further(self, finding: HypothesisFinding, effect: EffectRow) -> Iterator[str]:
        """A difference that is found and lies within the margin is said to be both."""
        inside = [
            contrast.change
            for contrast in effect.contrasts
            if contrast.change.margins and contrast.change.margins[0].holds
        ]
        if inside and finding.verdict == "supported":
            names, first = ", ".join(change.level for change in inside), inside[0]
            p = p_in_text(max(change.margins[0].p for change in inside))
            yield (
                f"It is found and smaller than the margin: {names} and {first.reference} are equivalent "
                f"within {first.margins[0].pp:g} pp ({p}, uncorrected)."
            )


DECISION = DifferenceDecision()
