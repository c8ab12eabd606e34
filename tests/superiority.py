"""A kind of hypothesis that gridc does not have, added as docs/additions.md says, and what it must do."""

COMPILED = '''"""The outcome moves the predicted way, by more than the margin."""

from collections.abc import Iterator
from dataclasses import replace

from gridc.compiler.hypotheses.contrast import ContrastKind, without_margin
from gridc.compiler.hypotheses.kind import BOTH, Claims, Misfit, PlannedTest, Problem
from gridc.schema.inference import ContrastHypothesis
from gridc.schema.spec import Spec
from gridc.statistics import margins
from gridc.statistics.expected_power import Assumptions, ClaimKind, DecidingTest, Layout, power, smallest
from gridc.statistics.verdicts import Alternative
from gridc.statistics.verdicts import Decided, Evidence


class Superiority(ContrastKind):
    claim: ClaimKind = "above"
    first: Decided = "supported"
    needs_good_side = True
    takes_side = True
    at_margin = True
    finds_effects = True
    shows_margins = False

    @staticmethod
    def p_values(evidence: Evidence, side: Alternative, margin: float | None) -> tuple[float, float]:
        """Supported: the difference lies beyond the margin, the predicted way. Refuted: it does not."""
        assert margin is not None
        if side == "greater":
            return evidence.every(margins.above, margin), evidence.some(margins.below, margin)
        return evidence.every(margins.below, -margin), evidence.some(margins.above, -margin)

    def misfits(self, hypothesis: ContrastHypothesis, spec: Spec) -> Iterator[Misfit]:
        yield from without_margin(hypothesis)
        yield from super().misfits(hypothesis, spec)
        if hypothesis.side == "two-sided":
            problem = f"`{hypothesis.id}` is a test of superiority, which has a side"
            yield Misfit("GC105", None, problem, 'side = "greater", or "less"')

    def claims(self, hypothesis: ContrastHypothesis) -> Claims:
        return Claims(BOTH, 1)

    def test_words(self, hypothesis: ContrastHypothesis, design: PlannedTest) -> str:
        return self.at_margin_words(hypothesis, design, "the far side of")

    def chance(self, test: DecidingTest, layout: Layout, assumed: Assumptions, effect: float) -> float:
        """What lies between effect and margin is room, as a margin is where there is no effect."""
        room = effect - (test.margin or 0.0)
        return power(replace(test, margin=room), layout, assumed, 0.0) if room > 0 else 0.0

    def least(self, test: DecidingTest, layout: Layout, assumed: Assumptions) -> float | None:
        room = smallest(test, layout, assumed)
        return None if room is None else (test.margin or 0.0) + room

    def why_no_design(self, hypothesis: ContrastHypothesis, effect: float | None) -> Problem | None:
        if effect is not None:
            return None
        help = f"--effect {hypothesis.id}=20, above its margin"
        return Problem(f"`{hypothesis.id}` does not say how large a difference is to be found", help)

    def claimed(self, hypothesis: ContrastHypothesis) -> str:
        by = "" if hypothesis.margin is None else f" by more than {hypothesis.margin.pp:g} pp"
        way = "rises" if hypothesis.side == "greater" else "falls"
        return f", that it {way}{by} between levels of {hypothesis.axis}"


KIND = Superiority()
'''

RULES = """    ("superiority", "greater", (max(above(1, MARGIN), above(2, MARGIN)),
                                min(1.0, 2 * min(below(1, MARGIN), below(2, MARGIN))))),
    ("superiority", "less", (max(below(1, -MARGIN), below(2, -MARGIN)),
                             min(1.0, 2 * min(above(1, -MARGIN), above(2, -MARGIN))))),
"""
"""Rows of tests/reports/test_rules.py."""

BEHAVES = '''"""What a superiority is, of 250 items of which half are right under the reference."""

import pytest

from tests.compiler.test_design_power import TO
from tests.compiler.test_power import decided


def stated(kind, margin):
    return {"kind": kind, "level": "c", "side": "greater", "margin": {"pp": margin}, **TO}


@pytest.mark.parametrize(("kind", "margin", "verdict"), [
    ("superiority", 90, "refuted"), ("superiority", 10, "supported"), ("superiority", 30, "open"),
    ("difference", 90, "supported"), ("noninferiority", 90, "supported"),
])
def test_a_change_of_30_points(kind, margin, verdict):
    assert decided(stated(kind, margin), 75, 0)[0] == verdict


def test_the_plan_knows_what_a_change_can_show():
    _, far = decided(stated("superiority", 90), 0, 0)
    assert "supported" not in far.outcomes and "refuted" in far.outcomes
    _, near = decided(stated("superiority", 10), 0, 0)
    assert near.outcomes.keys() == {"supported", "refuted", "open"}
    assert all(effect > 10 for effect in near.power.detectable_pp.values())
    assert set(near.power.power_at_margin.values()) == {0.0}
'''

_MODULE = "gridc/compiler/hypotheses/superiority.py"

MISTAKES = {
    "its p-values are those of a difference": (
        _MODULE,
        (
            "        assert margin is not None\n",
            "        from gridc.compiler.hypotheses.difference import Difference\n\n"
            "        return Difference.p_values(evidence, side, margin)\n",
        ),
    ),
    "its margin lies on the other side of 0": (
        _MODULE,
        (
            "evidence.every(margins.above, margin), evidence.some(margins.below, margin)",
            "evidence.every(margins.above, -margin), evidence.some(margins.below, -margin)",
        ),
    ),
    "its power is that of its precedent": (_MODULE, ("    def chance(", "    def unasked(")),
    "the verdict where both are found is not said": (_MODULE, ('    first: Decided = "supported"\n', "")),
    "its claims are not counted": (_MODULE, ("    def claims(", "    def uncounted(")),
    "its claim has no words": (_MODULE, ("    def claimed(", "    def unworded(")),
}
"""An addition that is wrong although every file is there: by what is wrong, the file and the edit of it."""
