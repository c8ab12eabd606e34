"""Whether a prediction can be tested at all by the study that makes it.

For each hypothesis: the outcome that would support it, the one that would refute it and the one that would
leave it open, each with as few changed items as it takes; and the smallest effect that the design finds,
beside the margin. A hypothesis that nothing could support (GC521) or refute (GC522) is a hazard.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gridc.compiler.hazard import Hazard
from gridc.compiler.plan import Plan
from gridc.compiler.power import Claim, Outcome, Rule, Side, Verdict, detectable, witnesses
from gridc.compiler.rates import COUNTED
from gridc.compiler.survey import Spoken
from gridc.schema.inference import (
    AnyHypothesis,
    ContrastHypothesis,
    InteractionHypothesis,
    RankingHypothesis,
    TrendHypothesis,
)
from gridc.schema.items import Sample as Subset
from gridc.schema.spec import Spec

CHANGING = (0.1, 0.3)
"""Shares of items that change between two levels, for which the smallest detectable effect is given."""

MANY = 10_000
"""How many items are assumed, where their number is not known, to see what is possible at all."""

SMALL = 4
"""Up to this many configurations rho_flip is as large as it can be at an even split of two or four of them:
it shows that a reversal exists and not how large it is (SafetyRepro, app. Y)."""

CLAIMS: Mapping[str, Claim] = {
    "difference": "effect",
    "null_control": "no_effect",
    "equivalence": "equivalence",
    "noninferiority": "noninferiority",
}

_SIDES: Mapping[str, Side] = {"increasing": "greater", "decreasing": "less"}


@dataclass(frozen=True, slots=True)
class Prospect:
    """What can become of a hypothesis.

    `items` are the items that it is tested on, each counted once (None where their number is not known);
    `alpha` is the strictest level that its family can ask of it. `outcomes` has a sentence for each verdict
    that can be reached. `detectable_pp` gives the smallest effect by share of items that change; null where
    the items are too few for any. Percentage points.
    """

    id: str
    kind: str
    items: int | None
    alpha: float
    margin_pp: float | None
    outcomes: Mapping[Verdict, str]
    detectable_pp: Mapping[str, float | None] | None


def prospects(plan: Plan) -> list[Prospect]:
    """Every hypothesis of a study, in order. Needs no items where the spec says how many are drawn."""
    spec = plan.study.spec
    return [
        _prospect(plan, each, spoken)
        for each, spoken in zip(spec.hypothesis, plan.survey.hypothesis, strict=True)
    ]


def manifest(plan: Plan) -> dict[str, Any]:
    """What the design can show, as `gridc plan` prints it: hypotheses, and notes on both them and the
    envelopes."""
    found = prospects(plan)
    return {"hypotheses": [asdict(each) for each in found], "notes": [*notes(plan, found)]}


def notes(plan: Plan, found: list[Prospect]) -> Iterator[str]:
    """What a reader of the design should know before a run: effects below what can be found, and envelopes
    whose rho_flip saturates."""
    for each in found:
        least = each.detectable_pp and each.detectable_pp[str(CHANGING[0])]
        if each.margin_pp is not None and least and least > each.margin_pp:
            yield (
                f"{each.id}: its margin of {each.margin_pp:g} pp is below the {least:.1f} pp that "
                f"{each.items:,} items can show when {CHANGING[0]:.0%} of them change"
            )
    if len(plan.study.spec.model) < 2:
        return
    small: dict[tuple[str, int], list[str]] = {}
    for envelope in plan.survey.envelopes:
        parts = {"the envelope": envelope.size, **envelope.slices}
        for name, size in parts.items():
            if 0 < size <= SMALL:
                small.setdefault((name, size), []).append(envelope.benchmark)
    for (name, size), benchmarks in small.items():
        where = f"{name} of {', '.join(benchmarks)}"
        if size == 1:
            yield f"{where}: one configuration, in which no reversal can be seen"
        else:
            ceiling = size // 2 / size
            yield (
                f"{where}: {size} configurations, where rho_flip saturates at {ceiling:.2f} and shows that a "
                "reversal exists, not how large it is"
            )


def hypothesis_hazards(plan: Plan) -> Iterator[Hazard]:
    """Hypotheses that no outcome could support (GC521) or refute (GC522)."""
    for number, found in enumerate(prospects(plan)):
        hypothesis = plan.study.spec.hypothesis[number]
        size = "" if found.items is None else f" of {found.items:,} items"
        for code, verdict, verb in (("GC521", "supported", "support"), ("GC522", "refuted", "refute")):
            if verdict not in found.outcomes:
                problem = f"no outcome{size} could {verb} `{found.id}`"
                path = ("hypothesis", number, "id")
                yield Hazard(code, problem, {"hypothesis": found.id}, None, _way_out(hypothesis, code), path)


def _way_out(hypothesis: AnyHypothesis, code: str) -> str:
    if isinstance(hypothesis, ContrastHypothesis) and hypothesis.margin is None:
        both = hypothesis.kind == "null_control"
        aside = "" if both or hypothesis.side != "two-sided" else ", or say which `side` is predicted"
        return f"give it a margin, below which a difference counts as none: margin = {{ pp = 2 }}{aside}"
    if code == "GC522":
        return "say what would count against it, or waive this with a reason"
    return "draw more items, or widen the margin"


def _prospect(plan: Plan, hypothesis: AnyHypothesis, spoken: Spoken) -> Prospect:
    spec = plan.study.spec
    items = _items(plan, hypothesis, spoken)
    alpha = _alpha(spec, hypothesis)
    margin = hypothesis.margin if isinstance(hypothesis, ContrastHypothesis) else None
    rule = _rule(hypothesis, alpha)
    if isinstance(hypothesis, RankingHypothesis):
        outcomes = _orders(hypothesis, items)
    else:
        size = MANY if items is None else items
        reached = witnesses(rule, size) if size else {}
        outcomes = {verdict: _sentence(rule, each, items) for verdict, each in reached.items()}
    effects = None
    if items:
        # A difference of differences has twice the variance of one.
        share = 2.0 if isinstance(hypothesis, InteractionHypothesis) else 1.0
        effects = {str(each): _points(detectable(rule, items, each * share)) for each in CHANGING}
    pp = None if margin is None else margin.pp
    return Prospect(hypothesis.id, hypothesis.kind, items, alpha, pp, outcomes, effects)


def _rule(hypothesis: AnyHypothesis, alpha: float) -> Rule:
    match hypothesis:
        case ContrastHypothesis():
            margin = None if hypothesis.margin is None else hypothesis.margin.pp / 100
            # An omnibus test of several levels finds what the strictest of their contrasts finds.
            strictest = alpha / len(hypothesis.levels)
            return Rule(CLAIMS[hypothesis.kind], hypothesis.side, strictest, margin)
        case TrendHypothesis():
            return Rule("effect", _SIDES[hypothesis.direction], alpha, None)
        case InteractionHypothesis():
            return Rule("effect", "two-sided", alpha, None)
        case RankingHypothesis():
            return Rule("effect", "greater", alpha, None)


def _alpha(spec: Spec, hypothesis: AnyHypothesis) -> float:
    """The level at which the hypothesis is tested when nothing else of its family is found."""
    family = next((each for each in spec.family if each.id == hypothesis.family), None)
    if family is None:
        return spec.analysis.alpha or 0.05
    members = sum(each.family == family.id for each in spec.hypothesis)
    return family.alpha if family.correction == "none" else family.alpha / members


def _items(plan: Plan, hypothesis: AnyHypothesis, spoken: Spoken) -> int | None:
    """The items that have its rate, of the benchmarks in which all levels of the hypothesis are run. Where
    configurations ask different subsets, the smallest counts."""
    least: dict[str, int] = {}
    crossed = isinstance(hypothesis, InteractionHypothesis) and hypothesis.by == "benchmark"
    for (benchmark, subset), levels in spoken.items():
        if not _comparable(plan.study.spec, hypothesis, levels):
            continue
        asked = _counted(plan, hypothesis, benchmark, subset)
        if asked is None:
            return None
        least[benchmark] = min(asked, least.get(benchmark, asked))
    if crossed and len(least) < 2:
        return 0
    return sum(least.values())


def _counted(plan: Plan, hypothesis: AnyHypothesis, benchmark: str, subset: Subset | None) -> int | None:
    """The items that have the rate which the hypothesis is about; None where that is not known here."""
    if isinstance(hypothesis, RankingHypothesis) or hypothesis.outcome not in COUNTED:
        return plan.asked(benchmark, subset)
    here = plan.study.items.get(benchmark)
    counts, _ = COUNTED[hypothesis.outcome]
    return None if here is None else sum(map(counts, here.asked(None, subset)))


def _comparable(spec: Spec, hypothesis: AnyHypothesis, levels: frozenset[tuple[str, ...]]) -> bool:
    first = {each[0] for each in levels if each}
    match hypothesis:
        case ContrastHypothesis():
            return first >= {*hypothesis.levels, hypothesis.reference}
        case TrendHypothesis():
            return first >= set(hypothesis.order)
        case InteractionHypothesis():
            by = {"model": len(spec.model), "benchmark": len(spec.benchmark)}
            others = by.get(hypothesis.by, len({each[-1] for each in levels}))
            return len(first) > 1 and others > 1
        case RankingHypothesis():
            return bool(levels)


def _orders(hypothesis: RankingHypothesis, items: int | None) -> dict[Verdict, str]:
    """An order of M models, each strictly ahead of the next, needs M - 1 items."""
    steps = len(hypothesis.order) - 1
    found: dict[Verdict, str] = {}
    if items is None or items >= steps:
        found["supported"] = "in every configuration each model is ahead of the next by an item or more"
    if items is None or items:
        found["refuted"] = "in one configuration a model is behind the next by an item"
        found["open"] = "two of them tie in a configuration and none is behind"
    return found


def _sentence(rule: Rule, outcome: Outcome, items: int | None) -> str:
    changed = sum(outcome)
    if not changed:
        return "no item changes"
    share = f"{changed:,}" if items is None else f"{changed:,} of {items:,}"
    verb = "changes" if changed == 1 else "change"
    if all(outcome):
        return f"{share} items {verb}, as many up as down"
    if rule.tails == 2 or rule.claim == "equivalence":
        return f"{share} items {verb}, all one way" if changed > 1 else f"{share} items {verb}"
    rise, fall = ("rise", "falls") if outcome.rise else ("fall", "rises")
    return f"{share} items {rise} and none {fall}"


def _points(difference: float | None) -> float | None:
    return None if difference is None else 100 * difference
