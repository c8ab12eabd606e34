"""The outcome does not fall by the margin, or does not rise where lower is better."""

from collections.abc import Iterator

from gridc.compiler.hypotheses.contrast import (
    ContrastKind,
    assumption_words,
    margin_words,
    no_effect_to_find,
    without_margin,
)
from gridc.compiler.hypotheses.kind import BOTH, Claims, Misfit, PlannedTest, Problem, benchmarks_of
from gridc.schema.inference import AnyHypothesis, ContrastHypothesis, contrast_noun, rate_kind
from gridc.schema.spec import Spec
from gridc.statistics import margins
from gridc.statistics.expected_power import ClaimKind
from gridc.statistics.verdicts import Alternative, Decided, Evidence


class Noninferiority(ContrastKind):
    claim: ClaimKind = "above"
    first: Decided = "supported"
    needs_good_side = True
    takes_side = True
    at_margin = True
    finds_effects = False
    shows_margins = True

    @staticmethod
    def p_values(evidence: Evidence, side: Alternative, margin: float | None) -> tuple[float, float]:
        """Supported: the difference lies above minus the margin, where greater is better. Refuted: below."""
        assert margin is not None
        if side == "greater":
            return evidence.every(margins.above, -margin), evidence.some(margins.below, -margin)
        return evidence.every(margins.below, margin), evidence.some(margins.above, margin)

    def misfits(self, hypothesis: ContrastHypothesis, spec: Spec) -> Iterator[Misfit]:
        yield from without_margin(hypothesis)
        yield from super().misfits(hypothesis, spec)
        if hypothesis.side == "two-sided":
            help = 'side = "greater" when a higher outcome is better, else "less"'
            problem = f"`{hypothesis.id}` is a test of noninferiority, which has a side"
            yield Misfit("GC105", None, problem, help)
        else:
            yield from _worse_side(hypothesis, spec)

    def claims(self, hypothesis: ContrastHypothesis) -> Claims:
        return Claims(BOTH, 1)

    def test_words(self, hypothesis: ContrastHypothesis, design: PlannedTest) -> str:
        return self.at_margin_words(hypothesis, design, "one side of")

    def why_no_design(self, hypothesis: ContrastHypothesis, effect: float | None) -> Problem | None:
        return None if effect is None else no_effect_to_find(hypothesis)

    def target(self, hypothesis: ContrastHypothesis, effect: float) -> str:
        return margin_words(hypothesis)

    def claimed(self, hypothesis: ContrastHypothesis) -> str:
        """With its side, whichever score is the better one."""
        by = "" if hypothesis.margin is None else f" by {hypothesis.margin.pp:g} pp"
        way = "fall" if hypothesis.side == "greater" else "rise"
        between = contrast_noun(hypothesis.axis)
        return f", that it does not {way}{by} between {between}{assumption_words(hypothesis)}"


KIND = Noninferiority()


def _worse_side(hypothesis: ContrastHypothesis, spec: Spec) -> Iterator[Misfit]:
    """A test of noninferiority on the worse side of its outcome: a level that is much worse supports it."""
    side, outcome = hypothesis.side, hypothesis.outcome
    other, good, worse = (
        ("less", "higher_is_better", "lower_is_better")
        if side == "greater"
        else ("greater", "lower_is_better", "higher_is_better")
    )
    help = f'side = "{other}"'
    if rate_kind(outcome).better == (-1 if side == "greater" else 1):
        better = "lower" if side == "greater" else "higher"
        problem = f"`{hypothesis.id}` would be supported by what is worse: a {better} `{outcome}` is better"
        yield Misfit("GC105", "side", problem, help)
    wrong = [benchmark.id for benchmark in benchmarks_of(hypothesis, spec) if benchmark.direction == worse]
    if not rate_kind(outcome).of_score or not wrong:
        return
    written = [stated for stated in spec.hypothesis if _of_one(stated, hypothesis)]
    right = dict.fromkeys(
        benchmark.id
        for stated in written
        for benchmark in benchmarks_of(stated, spec)
        if benchmark.direction == good
    )
    places = ", ".join(f"`{benchmark_name}`" for benchmark_name in wrong)
    problem = f'`{hypothesis.id}` would be supported by what is worse: {places} has direction = "{worse}"'
    if right:
        alone = ", ".join(f'"{benchmark_name}"' for benchmark_name in right)
        help = f"where = {{ benchmark = [{alone}] }}, and another hypothesis with {help} for the rest"
    yield Misfit("GC105", "side", problem, help)


def _of_one(one: AnyHypothesis, other: AnyHypothesis) -> bool:
    """Whether two hypotheses are one of the spec, which is stated for `each` of several benchmarks."""
    same = other.model_copy(update={"id": one.id, "where": one.where})
    return one == same and one.id.split(".")[0] == other.id.split(".")[0]
