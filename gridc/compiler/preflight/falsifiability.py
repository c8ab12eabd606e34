"""Whether the study that makes a prediction can test it at all.

For each hypothesis: the outcome that would support it, the one that would refute it and the one that would
leave it open, each with as few changes as it takes; and the power of the test that decides it. Its kind says
both (`compiler.hypotheses`). A hypothesis that nothing could support (GC521) or refute (GC522) is a hazard.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from gridc.compiler.frontend.unsupported import uncomputed_rows
from gridc.compiler.grid.cells import ComparedLevels, graded
from gridc.compiler.grid.configurations import drawn_words
from gridc.compiler.hypotheses import kind_of, strictest_level
from gridc.compiler.hypotheses.kind import (
    ASSUMED,
    CHANGING,
    BenchmarkUnits,
    DesignPower,
    PlannedTest,
    units_in_all,
)
from gridc.compiler.inputs.draw import Group, one_group
from gridc.compiler.inputs.rates import COUNTED
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.instrument.item import Item
from gridc.compiler.lowering.plan import Plan, sample_size
from gridc.compiler.lowering.task_prompts import prompt_proofs
from gridc.compiler.preflight.hazard import Hazard
from gridc.compiler.preflight.run_on import stops_advised
from gridc.numbers import percent
from gridc.schema.inference import AnyHypothesis
from gridc.schema.items import Sample as Subset
from gridc.schema.spec import Spec
from gridc.statistics.reproducibility import Verdict

MANY = 10_000
"""How many units are assumed, to see what is possible at all."""

UNREACHED: tuple[tuple[str, Verdict, str], ...] = (
    ("GC521", "supported", "support"),
    ("GC522", "refuted", "refute"),
)
"""The hazard where no outcome reaches a verdict."""

SMALL = 4
"""Up to this many configurations rho_flip is as large as it can be at an even split of two or four of them:
it shows that a reversal exists and not how large it is (SafetyRepro, app. Y)."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What can become of a hypothesis.

    `items` and `units` are None where the number of items is not known. `axis` is the axis whose levels are
    compared. `outcomes` has a sentence for each verdict that can be reached: it assumes an exact test of
    paired units, at the corrected level of each of its `contrasts`. `power` is the power of the test that
    decides it. `unshown` says what the design lacks to confirm the margin if there is truly no effect; None
    if it can.
    """

    id: str
    kind: str
    items: int | None
    units: int | None
    contrasts: int
    margin_pp: float | None
    axis: str | None
    outcomes: Mapping[Verdict, str]
    power: DesignPower
    unshown: str | None = None


def prospects(plan: Plan) -> list[Prospect]:
    """Every hypothesis of a study, in order. Needs no items where the spec says how many are drawn."""
    spec = plan.study.spec
    return [
        _prospect(plan, hypothesis, compared)
        for hypothesis, compared in zip(spec.hypothesis, plan.survey.hypothesis, strict=True)
    ]


def manifest(plan: Plan) -> dict[str, Any]:
    """What the design can show, as `gridc plan` prints it: hypotheses, notes on them and on the envelopes,
    and what is stated and will not be computed."""
    shown, spec = prospects(plan), plan.study.spec
    hypotheses = []
    for prospect, hypothesis in zip(shown, spec.hypothesis, strict=True):
        untested = kind_of(hypothesis).unreachable_verdicts(hypothesis, spec)
        outcomes = {verdict: words for verdict, words in prospect.outcomes.items() if verdict not in untested}
        hypotheses.append(asdict(prospect) | {"outcomes": outcomes})
    return {
        "hypotheses": hypotheses,
        "assumed": ASSUMED,
        "notes": [*design_notes(plan, shown)],
        "uncomputed": [statement.model_dump() for statement in uncomputed_rows(spec)],
    }


def design_notes(plan: Plan, shown: Sequence[Prospect]) -> Iterator[str]:
    """What a reader of the design should know before a run: how the items were read and which are left out,
    models that may run on, effects below what can be found, and envelopes whose rho_flip saturates."""
    yield from plan.study.notes()
    yield from (f"{proof.benchmark}: {proof}" for proof in prompt_proofs(plan))
    yield from stops_advised(plan.study)
    yield from _untested(plan.study.spec)
    for prospect in shown:
        least = prospect.power.detectable_pp and prospect.power.detectable_pp[str(CHANGING[0])]
        if prospect.margin_pp is not None and least and least > prospect.margin_pp:
            yield (
                f"{prospect.id}: its margin of {prospect.margin_pp:g} pp is below the {least:.1f} pp that "
                f"{size_of(prospect)} can show when {percent(CHANGING[0], 0)} of the answers change"
            )
    drawn = drawn_words(plan.study.spec)
    if drawn is not None:
        yield drawn
    small: dict[tuple[str, int], list[str]] = {}
    for envelope in plan.survey.envelopes:
        if len(envelope.models) < 2:
            continue
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


def _untested(spec: Spec) -> Iterator[str]:
    """Which hypotheses no test decides, by the reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for hypothesis in spec.hypothesis:
        kind = kind_of(hypothesis)
        if untested := kind.unreachable_verdicts(hypothesis, spec):
            verbs = " or ".join(verb for _, verdict, verb in UNREACHED if verdict in untested)
            reasons.setdefault((verbs, kind.why_no_test(hypothesis, spec) or ""), []).append(hypothesis.id)
    for (verbs, why), names in reasons.items():
        yield f"no test can {verbs} {', '.join(names)}: {why}"


def size_of(prospect: Prospect) -> str:
    """`80 items`, `20 units of items`, `an unknown number of items`."""
    if prospect.items is None or prospect.units is None:
        return "an unknown number of items"
    return f"{prospect.units:,} {_kind(prospect.items, prospect.units)}"


def hypothesis_hazards(plan: Plan) -> Iterator[Hazard]:
    """Hypotheses that no outcome could support (GC521) or refute (GC522), even by the most sensitive test. A
    note reports hypotheses without any test."""
    for number, prospect in enumerate(prospects(plan)):
        hypothesis = plan.study.spec.hypothesis[number]
        size = "" if prospect.items is None else f" of {size_of(prospect)}"
        for code, verdict, verb in UNREACHED:
            if verdict not in prospect.outcomes:
                problem = f"no outcome{size} could {verb} `{prospect.id}`"
                path = ("hypothesis", number, "id")
                hazard = Hazard(code, problem, {"hypothesis": prospect.id}, None, None, path)
                if not hazard.waived(plan.study.spec):  # a way out is sought among thousands of outcomes
                    compared = plan.survey.hypothesis[number]
                    hazard = replace(hazard, help=_way_out(plan, hypothesis, prospect, verdict, compared))
                yield hazard


def _way_out(
    plan: Plan, hypothesis: AnyHypothesis, prospect: Prospect, verdict: Verdict, compared: ComparedLevels
) -> str:
    if prospect.units == 0:
        return "what it compares is never run together there: check its `where` and the exclusions"
    return kind_of(hypothesis).way_out(hypothesis, _design(plan, hypothesis, compared), verdict)


def _prospect(plan: Plan, hypothesis: AnyHypothesis, compared: ComparedLevels) -> Prospect:
    kind, design = kind_of(hypothesis), _design(plan, hypothesis, compared)
    items, units = (None, None) if design.parts is None else _planned_size(kind.pooled, design.parts)
    return Prospect(
        hypothesis.id,
        hypothesis.kind,
        items,
        units,
        kind.contrasts(hypothesis),
        kind.margin(hypothesis),
        next(iter(kind.axes(hypothesis)), None),
        kind.possible_outcomes(hypothesis, design),
        kind.power(hypothesis, design),
        kind.what_would_show_margin(hypothesis, design),
    )


def _design(plan: Plan, hypothesis: AnyHypothesis, compared: ComparedLevels) -> PlannedTest:
    spec, parts = plan.study.spec, parts_of(plan.study, hypothesis, compared)
    many = _assumed_parts(spec, hypothesis, compared)
    return PlannedTest(spec, strictest_level(spec, hypothesis), graded(spec), parts, many)


def _assumed_parts(
    spec: Spec, hypothesis: AnyHypothesis, compared: ComparedLevels
) -> dict[str, BenchmarkUnits]:
    """Many single items, to see what is possible at all."""
    return {
        benchmark: BenchmarkUnits((1,) * MANY, cells)
        for benchmark, _, cells in _comparable(spec, hypothesis, compared)
    }


Subsets = tuple[Subset | None, ...]


def _comparable(
    spec: Spec, hypothesis: AnyHypothesis, compared: ComparedLevels
) -> Iterator[tuple[str, Subsets, Mapping[tuple[str, ...], int]]]:
    """Where a hypothesis can be tested: benchmark, subsets of its items, and cells. Where each level asks a
    subset of its own, no subset is enough, and what all of them have in common is compared."""
    comparable = kind_of(hypothesis).comparable
    for name in dict.fromkeys(benchmark for benchmark, _ in compared):
        asked = {subset: cells for (benchmark, subset), cells in compared.items() if benchmark == name}
        alone = [subset for subset, cells in asked.items() if comparable(hypothesis, spec, cells)]
        yield from ((name, (subset,), asked[subset]) for subset in alone)
        together = Counter[tuple[str, ...]]()
        for cells in asked.values():
            together.update(cells)
        if not alone and comparable(hypothesis, spec, together):
            yield name, tuple(asked), together


def parts_of(
    study: Study, hypothesis: AnyHypothesis, compared: ComparedLevels
) -> dict[str, BenchmarkUnits] | None:
    """The items that have its rate, in each benchmark in which all levels of the hypothesis are run; None
    where their number is not known. Where configurations ask different subsets, the smallest counts. Units
    are those of the report: of an effect one where two benchmarks hold the same item, of an order each
    benchmark's own. Empty where the benchmarks are fewer than it takes."""
    kind = kind_of(hypothesis)
    parts: dict[str, BenchmarkUnits] = {}
    one = _one_unit(study) if kind.pooled else {}
    for benchmark, subsets, cells in _comparable(study.spec, hypothesis, compared):
        sized = _asked(study, hypothesis, benchmark, subsets, one)
        if sized is None:
            return None
        sizes, names = sized
        part = BenchmarkUnits(sizes, cells, names)
        parts[benchmark] = min(part, parts.get(benchmark, part), key=lambda part: part.units)
    return parts if len(parts) >= kind.benchmarks(hypothesis) else {}


def _planned_size(pooled: bool, parts: Mapping[str, BenchmarkUnits]) -> tuple[int, int]:
    """Items and units of all benchmarks; a ranking holds in every benchmark, so that its smallest one
    counts."""
    if not parts:
        return 0, 0
    if not pooled:
        least = min(parts.values(), key=lambda part: (part.units, part.items))
        return least.items, least.units
    return sum(part.items for part in parts.values()), units_in_all(parts.values())


def _one_unit(study: Study) -> Mapping[Group, Group]:
    """The units of benchmarks that share items, as `one_group` has them."""
    here = {name: items for name, items in study.items.items() if name not in study.absent}
    if len(here) < 2:
        return {}
    texts = {name: items.sampled for name, items in here.items()}
    return one_group(texts, {name: items.unit for name, items in here.items()})


def _asked(
    study: Study,
    hypothesis: AnyHypothesis,
    benchmark: str,
    subsets: Subsets,
    one: Mapping[Group, Group],
) -> tuple[tuple[int, ...], tuple[Group, ...]] | None:
    """How many items that all subsets have in common each unit has, and the unit's name. Units that
    benchmarks share are merged, under the name that `one` gives them."""
    here = study.items.get(benchmark)
    rate = kind_of(hypothesis).rate(hypothesis)
    if here is None:
        known = len(subsets) == 1 and rate not in COUNTED and not hypothesis.items
        count = sample_size(study, benchmark, subsets[0]) if known else None
        return None if count is None else ((1,) * count, ())
    items: Sequence[Item] = here.asked(None, subsets[0])
    for subset in subsets[1:]:
        common = {item.id for item in here.asked(None, subset)}
        items = [item for item in items if item.id in common]
    if here.repeats > 1:  # each question is read once, as after the run
        items = [item for item in items if item.id not in here.copies]
    if hypothesis.items is not None:
        items = [item for item in items if hypothesis.items.matches(item.tags)]
    if rate in COUNTED:
        counts, _ = COUNTED[rate]
        items = [item for item in items if counts(item)]
    groups = [(benchmark, item.at(here.unit)) for item in items]
    units = Counter(one.get(group, group) for group in groups)
    return tuple(units.values()), tuple(units)


def _kind(items: int, units: int) -> str:
    if items == units:
        return "item" if items == 1 else "items"
    return "unit of items" if units == 1 else "units of items"
