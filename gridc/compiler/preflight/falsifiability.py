"""Whether a prediction can be tested at all by the study that makes it.

For each hypothesis: the outcome that would support it, the one that would refute it and the one that would
leave it open, each with as few changes as it takes; and the smallest effect that the design finds, beside the
margin. A hypothesis that nothing could support (GC521) or refute (GC522) is a hazard.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gridc.compiler.frontend.unsupported import uncomputed
from gridc.compiler.grid.configurations import drawn_words
from gridc.compiler.grid.grid_counts import Spoken
from gridc.compiler.grid.hypothesis_kinds import kind_of, rate_of, strictest_level, untested
from gridc.compiler.inputs.rates import COUNTED
from gridc.compiler.instrument.item import Item
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.hazard import Hazard
from gridc.schema.inference import AnyHypothesis, RankingHypothesis
from gridc.schema.items import Sample as Subset
from gridc.schema.spec import Spec
from gridc.statistics.power import Outcome, Rule, Verdict, detectable, power, witnesses

CHANGING = (0.1, 0.3)
"""Shares of units that change between two levels, for which the smallest detectable effect is given."""

MANY = 10_000
"""How many units are assumed, to see what is possible at all."""

SMALL = 4
"""Up to this many configurations rho_flip is as large as it can be at an even split of two or four of them:
it shows that a reversal exists and not how large it is (SafetyRepro, app. Y)."""


@dataclass(frozen=True, slots=True)
class Size:
    """What a hypothesis is tested on: items, each counted once, and the units that they come in, which are
    what changes. Equal where every item is a unit."""

    items: int
    units: int


@dataclass(frozen=True, slots=True)
class Prospect:
    """What can become of a hypothesis.

    `items` and `units` are None where the number of items is not known. `alpha` is the strictest level that
    its family can ask of each of its `contrasts`; None for a ranking, which is judged by its
    configurations and not by a test. `outcomes` has a sentence for each verdict that can be reached.
    `detectable_pp` gives the smallest effect, in percentage points rounded up to a tenth, by the share of
    units that change; null where units are too few for any. `power_at_margin` gives, by the same
    shares, the probability of finding a difference of the stated margin (null where fewer units change), or
    of showing the margin where there is no difference.
    """

    id: str
    kind: str
    items: int | None
    units: int | None
    alpha: float | None
    contrasts: int
    margin_pp: float | None
    outcomes: Mapping[Verdict, str]
    detectable_pp: Mapping[str, float | None] | None
    power_at_margin: Mapping[str, float | None] | None = None


def prospects(plan: Plan) -> list[Prospect]:
    """Every hypothesis of a study, in order. Needs no items where the spec says how many are drawn."""
    spec = plan.study.spec
    return [
        _prospect(plan, each, spoken)
        for each, spoken in zip(spec.hypothesis, plan.survey.hypothesis, strict=True)
    ]


def manifest(plan: Plan) -> dict[str, Any]:
    """What the design can show, as `gridc plan` prints it: hypotheses, notes on them and on the envelopes,
    and what is stated and will not be computed."""
    found = prospects(plan)
    return {
        "hypotheses": [asdict(each) for each in found],
        "notes": [*notes(plan, found)],
        "uncomputed": [asdict(each) for each in uncomputed(plan.study.spec)],
    }


def notes(plan: Plan, found: Sequence[Prospect]) -> Iterator[str]:
    """What a reader of the design should know before a run: how the items were read and which are left out,
    effects below what can be found, and envelopes whose rho_flip saturates."""
    yield from plan.study.notes()
    for each in found:
        least = each.detectable_pp and each.detectable_pp[str(CHANGING[0])]
        if each.margin_pp is not None and least and least > each.margin_pp:
            yield (
                f"{each.id}: its margin of {each.margin_pp:g} pp is below the {least:.1f} pp that "
                f"{size_of(each)} can show by an exact test when {CHANGING[0]:.0%} of them change"
            )
    drawn = drawn_words(plan.study.spec)
    if drawn is not None:
        yield drawn
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


def rounded_up(points: float) -> float:
    """Percentage points to a tenth, never fewer than are needed."""
    return math.ceil(round(10 * points, 3)) / 10


def size_of(found: Prospect) -> str:
    """`80 items`, `20 units of items`, `an unknown number of items`."""
    if found.items is None or found.units is None:
        return "an unknown number of items"
    return f"{found.units:,} {_kind(found.items, found.units)}"


def hypothesis_hazards(plan: Plan) -> Iterator[Hazard]:
    """Hypotheses that no outcome could support (GC521) or refute (GC522)."""
    for number, found in enumerate(prospects(plan)):
        hypothesis = plan.study.spec.hypothesis[number]
        size = "" if found.items is None else f" of {size_of(found)}"
        for code, verdict, verb in (("GC521", "supported", "support"), ("GC522", "refuted", "refute")):
            if verdict not in found.outcomes:
                problem = f"no outcome{size} could {verb} `{found.id}`"
                path = ("hypothesis", number, "id")
                help = _way_out(plan.study.spec, hypothesis, found, verdict)
                yield Hazard(code, problem, {"hypothesis": found.id}, None, help, path)


def _way_out(spec: Spec, hypothesis: AnyHypothesis, found: Prospect, verdict: str) -> str:
    if found.units == 0:
        return "what it compares is never run together there: check its `where` and the exclusions"
    rule = kind_of(hypothesis).rule
    if isinstance(hypothesis, RankingHypothesis) and (without := untested(hypothesis, spec)):
        return (
            f"no test is of distances from a target, which {', '.join(without)} "
            f'{"has" if len(without) == 1 else "have"}: in [analysis], evidence = "descriptive" decides on '
            "the items that are asked; or leave it out with the hypothesis's `where`"
        )
    if rule is None:
        return "draw more items: each step of the order takes some of its own"
    if verdict in witnesses(rule(hypothesis, found.alpha or 0.05), MANY):
        margin = " or widen the margin" if found.margin_pp is not None and verdict == "supported" else ""
        return f"draw more items{margin}"
    if "margin" in type(hypothesis).model_fields and found.margin_pp is None:
        sided = hypothesis.kind == "difference" and hypothesis.side == "two-sided"
        aside = ", or state which `side` is predicted" if sided else ""
        return f"give it a margin below which a difference counts as none: margin = {{ pp = 2 }}{aside}"
    if found.margin_pp is not None:
        return "no difference is as large as the margin: make it smaller"
    return "predict the differences that make it up"


def _prospect(plan: Plan, hypothesis: AnyHypothesis, spoken: Spoken) -> Prospect:
    size = _size(plan, hypothesis, spoken)
    items, units = (None, None) if size is None else (size.items, size.units)
    kind = kind_of(hypothesis)
    if kind.rule is None:
        outcomes = kind.outcomes(hypothesis, plan.study.spec, items, units)
        return Prospect(hypothesis.id, hypothesis.kind, items, units, None, 1, None, outcomes, None)
    rule = kind.rule(hypothesis, _alpha(plan.study.spec, hypothesis))
    margin = getattr(hypothesis, "margin", None)
    reached = {} if units == 0 else witnesses(rule, units or MANY)
    effects = None
    if units:
        effects = {str(each): _points(detectable(rule, units, each * kind.spread)) for each in CHANGING}
    return Prospect(
        id=hypothesis.id,
        kind=hypothesis.kind,
        items=items,
        units=units,
        alpha=rule.alpha,
        contrasts=kind.contrasts(hypothesis),
        margin_pp=None if margin is None else margin.pp,
        outcomes={verdict: _sentence(rule, each, size) for verdict, each in reached.items()},
        detectable_pp=effects,
        power_at_margin=_at_margin(rule, units, kind.spread) if units and rule.margin else None,
    )


def _at_margin(rule: Rule, units: int, spread: float) -> dict[str, float | None]:
    """The power at the stated margin, by the share of units that change."""
    found: dict[str, float | None] = {}
    for share in CHANGING:
        changing = share * spread
        gap = 0.0 if rule.claim in ("equivalence", "noninferiority") else rule.margin or 0.0
        toward, away = (changing + gap) / 2, (changing - gap) / 2
        sides = (away, toward) if rule.side == "less" else (toward, away)
        found[str(share)] = power(rule, units, *sides) if away >= 0 else None
    return found


def _alpha(spec: Spec, hypothesis: AnyHypothesis) -> float:
    """The level at which each contrast is tested when nothing else of its family is found."""
    return strictest_level(spec, hypothesis) / kind_of(hypothesis).contrasts(hypothesis)


def _size(plan: Plan, hypothesis: AnyHypothesis, spoken: Spoken) -> Size | None:
    """The items that have its rate, of the benchmarks in which all levels of the hypothesis are run; None
    where their number is not known. Where configurations ask different subsets, the smallest counts; a
    ranking holds in every benchmark, so that its smallest one does."""
    kind = kind_of(hypothesis)
    found: dict[str, Size] = {}
    for (benchmark, subset), levels in spoken.items():
        if kind.comparable(hypothesis, plan.study.spec, levels):
            size = _asked(plan, hypothesis, benchmark, subset)
            if size is None:
                return None
            found[benchmark] = min(size, found.get(benchmark, size), key=lambda each: each.units)
    if len(found) < kind.benchmarks(hypothesis):
        return Size(0, 0)
    if not kind.pooled:
        return min(found.values(), key=lambda each: each.items)
    return Size(sum(each.items for each in found.values()), sum(each.units for each in found.values()))


def _asked(plan: Plan, hypothesis: AnyHypothesis, benchmark: str, subset: Subset | None) -> Size | None:
    here = plan.study.items.get(benchmark)
    rate = rate_of(hypothesis)
    if here is None:
        asked = None if rate in COUNTED or hypothesis.items else plan.asked(benchmark, subset)
        return None if asked is None else Size(asked, asked)
    items: Sequence[Item] = here.asked(None, subset)
    if hypothesis.items is not None:
        items = [item for item in items if hypothesis.items.matches(item.tags)]
    if rate in COUNTED:
        counts, _ = COUNTED[rate]
        items = [item for item in items if counts(item)]
    return Size(len(items), len({item.at(here.unit) for item in items}))


def _sentence(rule: Rule, outcome: Outcome, size: Size | None) -> str:
    if size is None:
        return "there are enough of them and the outcome is clear"
    changed = sum(outcome)
    if not changed:
        return "nothing changes"
    what = f"{changed:,} of {size.units:,} {_kind(size.items, size.units)}"
    change, rise, fall = ("changes", "rises", "falls") if changed == 1 else ("change", "rise", "fall")
    if all(outcome):
        return f"{what} {change}, as many up as down"
    if rule.tails == 2 or rule.claim == "equivalence":
        return f"{what} {change}{'' if changed == 1 else ', all one way'}"
    return f"{what} {rise} and none falls" if outcome.rise else f"{what} {fall} and none rises"


def _kind(items: int, units: int) -> str:
    if items == units:
        return "item" if items == 1 else "items"
    return "unit of items" if units == 1 else "units of items"


def _points(difference: float | None) -> float | None:
    return None if difference is None else rounded_up(100 * difference)
