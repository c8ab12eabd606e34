"""An order of models, in every configuration."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil, log2

from gridc.compiler.hypotheses.kind import (
    BOTH,
    CHANGING,
    TOGETHER,
    Claims,
    DesignPower,
    HypothesisKind,
    Levels,
    Misfit,
    Pair,
    PlannedTest,
    Problem,
    Reference,
    benchmarks_of,
    order_references,
    points_rounded_up,
    unstated_effect,
)
from gridc.schema.inference import RankingHypothesis, RateName
from gridc.schema.spec import Spec
from gridc.statistics.clustered_logit import FLOOR
from gridc.statistics.expected_power import Assumptions, OrderTest, detectable_gap, order_power
from gridc.statistics.reproducibility import Verdict
from gridc.statistics.sign_flips import can_support

Sizes = tuple[int, ...]
"""How many items each unit has."""

ORDER_TESTS: Mapping[OrderTest, str] = {
    "mcnemar": "exact McNemar",
    "bets": "bets on units",
    "flips": "sign flips of units",
}


class RankingKind(HypothesisKind[RankingHypothesis]):
    needs_good_side = False
    pooled = False
    shares_level = True
    finds_effects = True
    shows_margins = False

    def references(self, hypothesis: RankingHypothesis, spec: Spec) -> Iterator[Reference]:
        yield from order_references("model", hypothesis.order, [model.id for model in spec.model])

    def misfits(self, hypothesis: RankingHypothesis, spec: Spec) -> Iterator[Misfit]:
        yield from ()

    def why_no_each(self, hypothesis: RankingHypothesis) -> Mapping[str, Problem]:
        return {"model": Problem("an order of models has no verdict for each model", 'each = "benchmark"')}

    def rate(self, hypothesis: RankingHypothesis) -> RateName:
        return "score"

    def margin(self, hypothesis: RankingHypothesis) -> None:
        return None

    def models(self, hypothesis: RankingHypothesis) -> Sequence[str]:
        return hypothesis.order

    def restricted_to(
        self, hypothesis: RankingHypothesis, models: Collection[str]
    ) -> RankingHypothesis | None:
        order = tuple(model for model in hypothesis.order if model in models)
        return None if len(order) < 2 else hypothesis.model_copy(update={"order": order})

    def axes(self, hypothesis: RankingHypothesis) -> tuple[str, ...]:
        return ()

    def levels(self, hypothesis: RankingHypothesis, axis: str, run: Sequence[str]) -> Collection[str]:
        return run  # an order is one of every configuration

    def comparable(self, hypothesis: RankingHypothesis, spec: Spec, levels: Levels) -> bool:
        return bool(levels)

    def benchmarks(self, hypothesis: RankingHypothesis) -> int:
        return 1

    def contrasts(self, hypothesis: RankingHypothesis) -> int:
        return 1

    def pairs(self, hypothesis: RankingHypothesis) -> Sequence[Pair]:
        return [Pair("model", better, worse) for better, worse in pairwise(hypothesis.order)]

    def claims(self, hypothesis: RankingHypothesis) -> Claims:
        """Where there is no difference at all, an order is false, and so is its reverse."""
        return Claims(BOTH, 2)

    def verdict(self, support: float, refute: float, alpha: float) -> Verdict:
        if min(support, refute) > alpha:
            return "open"
        return "supported" if support <= refute else "refuted"

    def needs_estimator(self, hypothesis: RankingHypothesis) -> bool:
        return False

    def unreachable_verdicts(self, hypothesis: RankingHypothesis, spec: Spec) -> Collection[Verdict]:
        return ()

    def why_no_test(self, hypothesis: RankingHypothesis, spec: Spec) -> str | None:
        if spec.analysis.evidence == "descriptive":
            return "the scores on the items that are asked decide"
        return "nothing is tested of distances from a target" if _untested(hypothesis, spec) else None

    def possible_outcomes(self, hypothesis: RankingHypothesis, design: PlannedTest) -> Mapping[Verdict, str]:
        """It is supported where it holds on every benchmark, and refuted by one."""
        if not design.parts:
            return order_outcomes(hypothesis, design, None if design.parts is None else ())
        by_benchmark = {
            name: order_outcomes(hypothesis, design, part.sizes) for name, part in design.parts.items()
        }
        outcomes: dict[Verdict, str] = {}
        verdicts: tuple[Verdict, ...] = ("supported", "refuted", "open")
        for verdict in verdicts:
            words = {
                name: words_by_verdict[verdict]
                for name, words_by_verdict in by_benchmark.items()
                if verdict in words_by_verdict
            }
            if words and (verdict != "supported" or len(words) == len(by_benchmark)):
                alike = len({*words.values()}) == 1
                outcomes[verdict] = (
                    next(iter(words.values()))
                    if alike
                    else "; ".join(f"{name}: {text}" for name, text in words.items())
                )
        return outcomes

    def way_out(self, hypothesis: RankingHypothesis, design: PlannedTest, verdict: Verdict) -> str:
        spec = design.spec
        if without := _untested(hypothesis, spec):
            return (
                f"no test is of distances from a target, which {', '.join(without)} "
                f'{"has" if len(without) == 1 else "have"}: in [analysis], evidence = "descriptive" decides '
                "on the items that are asked; or leave it out with the hypothesis's `where`"
            )
        least = min((design.parts or {}).values(), key=lambda part: (part.units, part.items), default=None)
        several = least is not None and least.items != least.units
        if several and spec.analysis.evidence == "supported":
            return f"draw more units: of several items as many as {FLOOR:g} of one size are needed"
        by_bets = several and spec.analysis.evidence in (None, "certified")
        else_ = ', or in [analysis] say evidence = "supported", which assumes more' if by_bets else ""
        return f"draw more {'units' if by_bets else 'items'}: each step of the order takes some{else_}"

    def power(self, hypothesis: RankingHypothesis, design: PlannedTest) -> DesignPower:
        if design.spec.analysis.evidence == "descriptive":
            return DesignPower("none: the scores on the items that are asked decide", None)
        if _untested(hypothesis, design.spec):
            return DesignPower("none of distances from a target", None)
        kind, level = _order_test(design), design.level
        test = f"{ORDER_TESTS[kind]} for every step in every configuration"
        if design.empty:
            return DesignPower(test, level)
        tests, sizes = _order_tests(hypothesis, design)
        gaps = {str(share): detectable_gap(kind, tests, level, sizes, share, TOGETHER) for share in CHANGING}
        effects = {share: points_rounded_up(gap.gap) for share, gap in gaps.items()}
        error = max(gap.error for gap in gaps.values())
        return DesignPower(f"{test} ({tests})", level, effects, error=round(error, 3) if error else None)

    def power_at(
        self, hypothesis: RankingHypothesis, design: PlannedTest, effect: float, assumed: Assumptions
    ) -> float:
        tests, sizes = _order_tests(hypothesis, design)
        chance, _ = order_power(
            _order_test(design), tests, design.level, sizes, assumed.changing, assumed.together, effect
        )
        return max(chance, 0.0)

    def why_no_design(self, hypothesis: RankingHypothesis, effect: float | None) -> Problem | None:
        return unstated_effect(hypothesis, None, effect)

    def target(self, hypothesis: RankingHypothesis, effect: float) -> str:
        return f"{hypothesis.kind} of {effect:g} pp"


KIND = RankingKind()


def _untested(hypothesis: RankingHypothesis, spec: Spec) -> tuple[str, ...]:
    """The benchmarks on which nothing is evidence of an order beyond the items: those with a target, from
    which distances are not tested. None of them where descriptive evidence is enough."""
    if spec.analysis.evidence == "descriptive":
        return ()
    return tuple(
        benchmark.id for benchmark in benchmarks_of(hypothesis, spec) if benchmark.target is not None
    )


def _order_tests(hypothesis: RankingHypothesis, design: PlannedTest) -> tuple[int, Sizes]:
    """How many steps in how many configurations are tested, and the units of the smallest benchmark."""
    parts, steps = design.known.values(), len(hypothesis.order) - 1
    models = len(hypothesis.order)
    tests = sum(steps * max(1, sum(part.cells.values()) // models) for part in parts)
    return tests, min(parts, key=lambda part: part.units).sizes


def _order_test(design: PlannedTest) -> OrderTest:
    """The test of a step in a configuration, as `PairEvidence` chooses it."""
    if design.spec.analysis.evidence == "supported":
        return "flips"
    single = design.parts is not None and all(part.items == part.units for part in design.parts.values())
    return "mcnemar" if single and not design.graded else "bets"


def order_outcomes(
    hypothesis: RankingHypothesis, design: PlannedTest, sizes: Sizes | None
) -> dict[Verdict, str]:
    """What an order needs: by descriptive evidence an item a step; else, in every configuration, as many
    units as the test of the verdict takes where all go one way, at `level`. A model can be ahead of
    the next only on other items than that one is of its next, so that the steps share the items."""
    spec, level = design.spec, design.level
    steps, evidence = len(hypothesis.order) - 1, spec.analysis.evidence
    of_items = sizes is None or len(sizes) == sum(sizes)
    bets = (not of_items or design.graded) and evidence != "supported"
    held = None if sizes is None else len(sizes)
    if evidence == "descriptive":
        held = None if sizes is None else sum(sizes)
        least, most = steps, 1
        ahead = behind = "by an item or more"
    elif bets:
        least, most = fewest_by_bets(level, sizes, steps), fewest_by_bets(level, sizes, 1)
        share = "all items" if steps == 1 else f"1/{steps} of the items"
        largest = ", if these are the largest," if len({*(sizes or ())}) > 1 else ""
        ahead = f"on {share} of {least:,} units or more{largest} and behind on none"
        behind = f"on all items of {most:,} units or more{largest} and ahead on none"
    else:
        fewest = ceil(-log2(level))  # 0.5**fewest <= level
        least, most = fewest * (steps if of_items else 1), fewest
        on = f"on {fewest:,} items or more" if of_items else f"on items of {fewest:,} units or more"
        ahead, behind = f"{on}, and behind on none", f"{on}, and ahead on none"
    possible: dict[Verdict, str] = {}
    here, without = benchmarks_of(hypothesis, spec), _untested(hypothesis, spec)
    decides = evidence != "supported" or not sizes or can_support(sizes)
    if decides and not without and (held is None or held >= least):
        possible["supported"] = f"in every configuration each model is ahead of the next {ahead}"
    if decides and len(without) < len(here) and (held is None or held >= most):
        possible["refuted"] = f"in one configuration a model is behind the next {behind}"
    if held is None or held:
        possible["open"] = "two of them tie in a configuration and none is behind"
    return possible


def fewest_by_bets(level: float, sizes: Sizes | None, steps: int) -> int:
    """The fewest units by which a bettor reaches 1 / level in each of so many steps that share their items.
    It stakes on each unit in proportion to its items; the largest come first, and where all of them are too
    few there are more of these."""
    import numpy as np

    from gridc.statistics.betting import stakes

    ordered = sorted(sizes or (1,), reverse=True)
    staked, n = stakes(sum(ordered) / len(ordered)), 0
    wealth = np.ones(len(staked))
    while wealth.mean() * level < 1:
        wealth *= 1 + staked * ordered[n if n < len(ordered) else 0] / ordered[0] / steps
        n += 1
    return n
