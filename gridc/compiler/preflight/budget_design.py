"""Searches for the cheapest design that can decide named hypotheses (`gridc plan --decide H`).

A design is the study cut to what the hypotheses need: their models and benchmarks, the levels that they
compare, and of every other axis either its first level or all levels. It asks other numbers of items, in the
benchmarks' proportions, with one answer to each: replicates add nothing to the power that is assumed. Items
are drawn as the spec draws them, so that units have the sizes that a run would meet.

Power is computed as for a plan. The search estimates costs from a few items of each benchmark; the cost of
the design that it finds is counted by lowering it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal

from gridc.compiler.grid.cells import ComparedLevels, graded, survey
from gridc.compiler.hypotheses import kind_of, strictest_level
from gridc.compiler.hypotheses.kind import (
    TOGETHER,
    BenchmarkUnits,
    PlannedTest,
    assumed_words,
    replicates_of,
)
from gridc.compiler.inputs.draw import draw_at_most, joined_at, with_questions
from gridc.compiler.inputs.items import Items
from gridc.compiler.inputs.prices import TokenPrice
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.instrument.item import Item
from gridc.compiler.lowering.estimate import Estimate
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.falsifiability import parts_of
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.numbers import percent
from gridc.schema.inference import AnyHypothesis
from gridc.schema.items import Sample
from gridc.schema.spec import Spec
from gridc.statistics.expected_power import Assumptions

FORMAT = "gridc-design/1"
PILOT = 12
"""Items of a benchmark whose calls are counted to know what one more costs."""
FREE_AXES = 5
"""The most axes without a compared level for which both one level and all levels are tried: each doubles the
designs to look at."""
MOST_CHANGING = 0.5
"""The largest share of answers that can differ by chance, where both rates are 50 %."""

Currency = Literal["usd", "tokens", "hours"]
Drawn = Mapping[str, tuple[Item, ...]]
"""The items of each benchmark."""
LIMITED: Mapping[Currency, tuple[str, str]] = {
    "usd": ("price", "state `price` in [[model]], or give --tokens"),
    "tokens": ("size", "give --usd or --hours"),
    "hours": ("time", "a run that has begun says how long its calls take; or give --tokens"),
}
"""For each limit, what has to be known to hold it, and the way out where that is not known."""


@dataclass(frozen=True, slots=True)
class DesignRequest:
    """What the user asks for: the ids of the hypotheses to `decide`, each with probability `power`; what
    there is to spend (`limits`); the `effects` to find, by id, in percentage points; and `changing`, the
    share of items whose answers differ between two levels apart from the effect."""

    decide: tuple[str, ...]
    power: float
    limits: Mapping[Currency, float]
    effects: Mapping[str, float]
    changing: float


@dataclass(frozen=True, slots=True)
class Cost:
    """What calls are expected to cost in US dollars (None: no price is known), tokens, hours (None: no time
    is known) and calls, later calls that depend on answers included. `usd_most` is the most that the same
    calls can cost."""

    usd: float | None
    usd_most: float | None
    tokens: float
    hours: float | None
    calls: float

    def times(self, factor: float) -> "Cost":
        return Cost(*(None if value is None else factor * value for value in self._values()))  # type: ignore[arg-type]

    def __add__(self, other: "Cost") -> "Cost":
        pairs = zip(self._values(), other._values(), strict=True)
        return Cost(*(None if a is None or b is None else a + b for a, b in pairs))  # type: ignore[arg-type]

    def _values(self) -> tuple[float | None, ...]:
        return self.usd, self.usd_most, self.tokens, self.hours, self.calls

    def within(self, limits: Mapping[Currency, float]) -> bool:
        return all((getattr(self, name) or 0) <= limit for name, limit in limits.items())


@dataclass(frozen=True, slots=True)
class Design:
    """A design: items and units of each benchmark, the levels of each axis, the number of cells (models x
    configurations x benchmarks), their cost and the power of each hypothesis. One answer to each item."""

    items: Mapping[str, int]
    units: Mapping[str, int]
    levels: Mapping[str, tuple[str, ...]]
    cells: int
    cost: Cost
    power: Mapping[str, float]
    replicates: int = 1


@dataclass(frozen=True, slots=True)
class HypothesisDesign:
    """What one hypothesis needs by itself: its cheapest design without limits, None where all items of the
    data are too few; the largest power within the limits; and the power with all items of the data."""

    id: str
    design: Design | None
    power_within: float
    power_at_most: float


@dataclass(frozen=True, slots=True)
class WrongAssumption:
    """A less favourable assumption: the power of the design under it, and what the wanted power would then
    cost (None: all items of the data are too few)."""

    what: str
    power: Mapping[str, float]
    cost: Cost | None


@dataclass(frozen=True, slots=True)
class DesignAnswer:
    """The cheapest design that decides all hypotheses within the limits. Where `design` is None, `alone` says
    what each hypothesis needs by itself. `effects` has the effect that each is to find, or the margin that it
    is to show, in percentage points; `whole` is the spec as it stands."""

    wanted: DesignRequest
    effects: Mapping[str, str]
    assumed: str
    design: Design | None
    alone: tuple[HypothesisDesign, ...]
    wrong: tuple[WrongAssumption, ...]
    whole: Design

    def as_json(self) -> dict[str, Any]:
        """As `gridc plan --decide H --json` prints it."""
        return {"format": FORMAT, **asdict(self)}


def cheapest_design(
    study: Study, request: DesignRequest, speeds: Mapping[str, float], prices: Mapping[str, TokenPrice]
) -> DesignAnswer:
    """Search for the design. `speeds` are seconds per call and `prices` US dollars, both by model. Raises
    `UsageError`: GC324 for a hypothesis that does not exist or has no power to plan, GC325 where no price or
    time is known for a limit, and GC326 without the items."""
    spec = study.spec
    hypotheses = _named(spec, request)
    if study.absent:
        name, why = next(iter(study.absent.items()))
        raise _refusal("GC326", f"the items of `{name}` are not here: {why}", "--data FOLDER")
    search = _Search(study, request, hypotheses, speeds, prices)
    usual = Assumptions(request.changing, TOGETHER)
    design = search.cheapest(request.decide, usual, request.limits)
    alone = () if design else tuple(search.by_itself(name, usual) for name in request.decide)
    doubled = min(2 * request.changing, MOST_CHANGING)
    assumptions = {
        f"answers differ on {percent(doubled, 0)} of the items": Assumptions(doubled, TOGETHER),
        "all answers to a unit move as one": Assumptions(request.changing, 1.0),
    }
    wrong = (
        tuple(search.if_wrong(what, design, assumed) for what, assumed in assumptions.items())
        if design
        else ()
    )
    targets = {name: _target(hypotheses[name], request) for name in request.decide}
    return DesignAnswer(
        request, targets, assumed_words(request.changing), design, alone, wrong, search.as_stated(usual)
    )


def _refusal(code: str, problem: str, help: str) -> UsageError:
    return UsageError([Diagnostic(code, problem, help=help)])


def _named(spec: Spec, request: DesignRequest) -> dict[str, AnyHypothesis]:
    """The hypotheses by id, each of them with an effect to find where it needs one."""
    by_id = {declared.id: declared for declared in spec.hypothesis}
    for name in (*request.decide, *request.effects):
        if name not in by_id:
            names = f"there is {', '.join(by_id)}" if by_id else "the spec states none"
            raise _refusal("GC324", f"no hypothesis is called `{name}`", names)
    for name in request.decide:
        hypothesis, kind = by_id[name], kind_of(by_id[name])
        if why := kind.why_no_test(hypothesis, spec):
            raise _refusal("GC324", f"`{name}` has no power to plan: {why}", "decide the others")
        if unplannable := kind.why_no_design(hypothesis, request.effects.get(name)):
            raise _refusal("GC324", unplannable.problem, unplannable.help)
    return {name: by_id[name] for name in request.decide}


def _target(hypothesis: AnyHypothesis, request: DesignRequest) -> str:
    """`difference of 5 pp`, `equivalence within 2 pp`."""
    return kind_of(hypothesis).target(hypothesis, _effect(hypothesis, request))


def _effect(hypothesis: AnyHypothesis, request: DesignRequest) -> float:
    effect = request.effects.get(hypothesis.id)
    return kind_of(hypothesis).margin(hypothesis) or 0.0 if effect is None else effect


@dataclass
class _Variant:
    """The study with some of its levels, what its hypotheses compare there, and what an item of each
    benchmark costs."""

    study: Study
    levels: Mapping[str, tuple[str, ...]]
    speeds: Mapping[str, float]
    prices: Mapping[str, TokenPrice]

    @cached_property
    def compared(self) -> Mapping[str, ComparedLevels]:
        named = zip(self.study.spec.hypothesis, survey(self.study.spec).hypothesis, strict=True)
        return {hypothesis.id: compared for hypothesis, compared in named}

    @cached_property
    def per_item(self) -> dict[str, Cost]:
        """What one more item of each benchmark costs."""
        costs = {}
        for benchmark in self.study.spec.benchmark:
            items = self.study.items[benchmark.id]
            pilot = items.sampled[:: max(1, len(items.sampled) // PILOT)][:PILOT]
            one_benchmark = self.study.spec.model_copy(update={"benchmark": (benchmark,)})
            study = replace(
                self.study, spec=one_benchmark, items={benchmark.id: replace(items, sampled=pilot)}
            )
            costs[benchmark.id] = lowered_cost(study, self.speeds, self.prices).times(1 / len(pilot))
        return costs

    def on(self, drawn: Drawn) -> Study:
        items = {}
        for name, sampled in drawn.items():
            all_items = self.study.items[name]
            repeats = (
                all_items.repeats if sampled is all_items.sampled else 1
            )  # part of them may hold some twice
            items[name] = replace(all_items, sampled=sampled, repeats=repeats)
        return replace(self.study, items=items)

    def cost(self, drawn: Drawn) -> Cost:
        costs = [self.per_item[name].times(len(sampled)) for name, sampled in drawn.items()]
        return sum(costs[1:], costs[0])


def lowered_cost(study: Study, speeds: Mapping[str, float], prices: Mapping[str, TokenPrice]) -> Cost:
    """The cost of all calls of a study, as if none had been answered before. A local model costs no money; a
    provider's model without a price makes the money unknown."""
    manifest = Plan(study).manifest(speeds=speeds, prices=prices)
    assert manifest.counts is not None and manifest.estimates is not None
    local = {model.id for model in study.spec.asked_models if not _provided(model.engine)}
    rows = [_share(name in local, estimate) for name, estimate in manifest.estimates.items()]
    total = sum(rows[1:], rows[0])
    return replace(total, calls=total.calls + manifest.counts.unique)


def _provided(engine: str) -> bool:
    from gridc.schema.models import engine_kind

    return engine_kind(engine).provider


def _share(local: bool, expected: Estimate) -> Cost:
    later = expected.later
    tokens, calls = float(expected.prompt_tokens + expected.generated_tokens), 0.0
    usd, most = expected.usd, expected.usd_most
    hours = None if expected.seconds is None else expected.seconds / 3600
    if later is not None:
        tokens += later.expected.prompt_tokens + later.expected.generated_tokens
        calls += later.expected.calls
        usd = None if usd is None or later.expected.usd is None else usd + later.expected.usd
        most = None if most is None or later.most.usd is None else most + later.most.usd
        first = expected.prompt_tokens + expected.generated_tokens
        hours = None if hours is None or not first else hours * tokens / first
    return Cost(0.0 if local else usd, 0.0 if local else most, tokens, hours, calls)


@dataclass
class _Search:
    """Designs of one study for some hypotheses."""

    study: Study
    request: DesignRequest
    hypotheses: Mapping[str, AnyHypothesis]
    speeds: Mapping[str, float]
    prices: Mapping[str, TokenPrice]
    _drawn: dict[tuple[str, int], tuple[Item, ...]] = field(default_factory=dict)

    @cached_property
    def full(self) -> _Variant:
        """The part of the study that the hypotheses are about, replicates and all."""
        levels = {axis.id: tuple(level.id for level in axis.level) for axis in self.study.spec.axis}
        return _Variant(self.study, levels, self.speeds, self.prices)

    @cached_property
    def currency(self) -> Currency:
        """What designs are compared by: the first limit, else money where prices are known, else tokens."""
        costs = self.variants[0].per_item
        for name in self.request.limits:
            unknown = [benchmark for benchmark, cost in costs.items() if getattr(cost, name) is None]
            if unknown:
                what, help = LIMITED[name]
                raise _refusal("GC325", f"no {what} is known of every model that `{unknown[0]}` asks", help)
        if "usd" in self.request.limits and not any(cost.usd for cost in costs.values()):
            help = "--tokens or --hours limits what they compute"
            raise _refusal("GC325", "no call of this design costs money: its models are local", help)
        if self.request.limits:
            return next(iter(self.request.limits))
        return "usd" if all(cost.usd for cost in costs.values()) else "tokens"

    @cached_property
    def variants(self) -> list[_Variant]:
        """The study with one replicate, cut to what the hypotheses need, the fewest levels first."""
        spec = self.study.spec
        benchmarks = [
            benchmark.id for benchmark in spec.benchmark
            if any(name == benchmark.id for tested in self.hypotheses
                   for name, _ in self.full.compared[tested])
        ]  # fmt: skip
        every = self.hypotheses.values()
        models = self._about_any("model")
        options: list[list[tuple[str, ...]]] = []
        free = 0
        for axis in spec.axis:
            compared = self._compared(axis.id)
            kept = tuple(name for name in self._about_any(axis.id) if compared is None or name in compared)
            shared = [
                name for name in kept if all(self._about(hypothesis, axis.id, name) for hypothesis in every)
            ]
            if spec.draw is not None:  # with fewer levels, the same seed would draw other configurations
                options.append([self.full.levels[axis.id]])
            elif compared is not None or len(kept) < 2 or not shared or free == FREE_AXES:
                options.append([kept])
            else:
                free += 1
                options.append([(shared[0],), kept])
        cuts = []
        for chosen in product(*options):
            levels = dict(zip((axis.id for axis in spec.axis), chosen, strict=True))
            cut = _without_replicates(_with_levels(spec, levels)).model_copy(
                update={
                    "benchmark": tuple(
                        benchmark for benchmark in spec.benchmark if benchmark.id in benchmarks
                    ),
                    "model": tuple(model for model in spec.model if model.id in models),
                }
            )
            items = {name: self.study.items[name] for name in benchmarks}
            study = replace(self.study, spec=cut, items=items)
            cuts.append(_Variant(study, levels, self.speeds, self.prices))
        return [
            variant
            for variant in cuts
            if all(self._parts(variant, hypothesis) for hypothesis in self.hypotheses)
        ]

    def _about(self, hypothesis: AnyHypothesis, dimension: str, name: str) -> bool:
        models = kind_of(hypothesis).models(hypothesis)
        if dimension == "model" and models is not None:
            return name in models
        selectors = (hypothesis.where, self.study.spec.analysis.primary)
        return all(selector.restricted({dimension}).matches({dimension: name}) for selector in selectors)

    def _about_any(self, dimension: str) -> tuple[str, ...]:
        """The models, or the levels of an axis, that some hypothesis is about."""
        models = tuple(model.id for model in self.study.spec.model)
        names = models if dimension == "model" else self.full.levels[dimension]
        every = self.hypotheses.values()
        return tuple(
            name for name in names if any(self._about(hypothesis, dimension, name) for hypothesis in every)
        )

    def _compared(self, axis: str) -> set[str] | None:
        """The levels of an axis that some hypothesis compares; None where none does."""
        named: set[str] = set()
        for hypothesis in self.hypotheses.values():
            named |= {*kind_of(hypothesis).levels(hypothesis, axis, self.full.levels[axis])}
        return named or None

    def _parts(
        self, variant: _Variant, name: str, drawn: Drawn | None = None
    ) -> dict[str, BenchmarkUnits] | None:
        study = variant.study if drawn is None else variant.on(drawn)
        return parts_of(study, self.hypotheses[name], variant.compared[name])

    def power(self, variant: _Variant, name: str, drawn: Drawn, assumed: Assumptions) -> float:
        hypothesis = self.hypotheses[name]
        parts, effect = self._parts(variant, name, drawn), _effect(hypothesis, self.request) / 100
        if not parts or min(part.units for part in parts.values()) < 2:
            return 0.0
        whole = self.study.spec
        # By the whole spec: a design that decides one hypothesis must still correct for its family.
        level = strictest_level(whole, hypothesis)
        cut = PlannedTest(variant.study.spec, level, graded(whole), parts)
        return kind_of(hypothesis).power_at(hypothesis, cut, effect, assumed)

    def pool(self, benchmark: str) -> tuple[Sequence[Item], Sample]:
        """The items that a benchmark could ask, and how they are drawn. They are more than the spec draws
        only where that changes no exemplar, no other sample and no wording."""
        drawn_items = self.study.items[benchmark]
        sample = next(declared.sample for declared in self.study.spec.benchmark if declared.id == benchmark)
        plain = sample is None or not sample.disjoint_from
        taken = {item.family for item in drawn_items.exemplars}
        wider = plain and not drawn_items.variants
        every = (
            [item for item in drawn_items.source.every if item.family not in taken]
            if wider
            else drawn_items.sampled
        )
        seed = 0 if sample is None or sample.seed is None else sample.seed
        if sample is None:
            return every, Sample(n=1, seed=seed)
        return every, sample.model_copy(update={"seed": seed})

    @cached_property
    def _pools(self) -> dict[str, tuple[Sequence[Item], Sample]]:
        return {name: self.pool(name) for name in self.variants[0].study.items}

    @cached_property
    def largest(self) -> int:
        """The factor, in thousandths of the items that are drawn now, at which every benchmark asks all that
        it has. Where an axis chooses among items, their number stays as it is: 1000."""
        now = {name: len(self.study.items[name].sampled) for name in self._pools}
        if any(self.study.items[name].subsets for name in now):
            return 1000
        return max(1000 * len(items) // now[name] + 1 for name, (items, _) in self._pools.items())

    def drawn(self, thousandths: int) -> dict[str, tuple[Item, ...]]:
        """The items of each benchmark, at so many thousandths of those that the spec draws."""
        by_benchmark = {}
        for name, (items, sample) in self._pools.items():
            drawn_items = self.study.items[name]
            number = round(len(drawn_items.sampled) * thousandths / 1000)
            if thousandths == 1000:
                by_benchmark[name] = drawn_items.sampled
                continue
            number = max(1, min(number, len(items)))
            if (name, number) not in self._drawn:
                asked = with_questions(draw_at_most(items, sample, number))
                self._drawn[name, number] = joined_at(asked, drawn_items.unit)
            by_benchmark[name] = self._drawn[name, number]
        return by_benchmark

    def least(self, variant: _Variant, names: Sequence[str], assumed: Assumptions) -> int | None:
        """The fewest thousandths at which each of these hypotheses has the wanted power; None: at none."""

        def enough(thousandths: int) -> bool:
            drawn = self.drawn(thousandths)
            return all(self.power(variant, name, drawn, assumed) >= self.request.power for name in names)

        low, high = 0, self.largest
        if not enough(high):
            return None
        # Each step draws items and computes power; half a percent of the items moves no decision.
        while high - low > max(1, high // 200):
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    def designs(self, names: Sequence[str], assumed: Assumptions) -> Iterator[tuple[_Variant, int, Cost]]:
        for variant in self.variants:
            thousandths = self.least(variant, names, assumed)
            if thousandths is not None:
                yield variant, thousandths, variant.cost(self.drawn(thousandths))

    def cheapest(
        self, names: Sequence[str], assumed: Assumptions, limits: Mapping[Currency, float]
    ) -> Design | None:
        """The cheapest design within the limits; None where there is none. Its cost is counted by lowering
        it. Where that is more than the estimate, and over a limit, the next design is tried."""
        currency = self.currency
        by_cost = sorted(self.designs(names, assumed), key=lambda priced: getattr(priced[2], currency))
        for variant, thousandths, about in by_cost:
            # The estimate from a few items may be too high by some percent: let lowering decide.
            if about.times(0.9).within(limits):
                drawn = self.drawn(thousandths)
                cost = lowered_cost(variant.on(drawn), self.speeds, self.prices)
                if cost.within(limits):
                    return self.described(variant, drawn, cost, assumed)
        return None

    def described(self, variant: _Variant, drawn: Drawn, cost: Cost, assumed: Assumptions) -> Design:
        items: Mapping[str, Items] = variant.on(drawn).items
        return Design(
            {name: len(benchmark_items.sampled) for name, benchmark_items in items.items()},
            {name: len({*benchmark_items.units.values()}) for name, benchmark_items in items.items()},
            variant.levels,
            survey(variant.study.spec).cells,
            cost,
            {name: round(self.power(variant, name, drawn, assumed), 3) for name in self.hypotheses},
        )

    def by_itself(self, name: str, assumed: Assumptions) -> HypothesisDesign:
        """What one hypothesis needs by itself, and how much power the limits allow it."""
        within = at_most = 0.0
        for variant in self.variants:
            low, high = 0, self.largest
            at_most = max(at_most, self.power(variant, name, self.drawn(high), assumed))
            while high - low > 1:
                middle = (low + high) // 2
                fits = variant.cost(self.drawn(middle)).within(self.request.limits)
                low, high = (middle, high) if fits else (low, middle)
            if low:
                within = max(within, self.power(variant, name, self.drawn(low), assumed))
        return HypothesisDesign(
            name, self.cheapest((name,), assumed, {}), round(within, 3), round(at_most, 3)
        )

    def if_wrong(self, what: str, design: Design, assumed: Assumptions) -> WrongAssumption:
        """The power of a design under another assumption, and what the wanted power would then cost."""
        variant = next(candidate for candidate in self.variants if candidate.levels == design.levels)
        thousandths = self.least(variant, self.request.decide, Assumptions(self.request.changing, TOGETHER))
        drawn = self.drawn(thousandths or 1000)
        power = {name: round(self.power(variant, name, drawn, assumed), 3) for name in self.hypotheses}
        costs = [cost for *_, cost in self.designs(self.request.decide, assumed)]
        least = min(costs, key=lambda cost: getattr(cost, self.currency), default=None)
        return WrongAssumption(what, power, least)

    def as_stated(self, assumed: Assumptions) -> Design:
        """The spec as it stands."""
        drawn = {name: items.sampled for name, items in self.study.items.items()}
        design = self.described(self.full, drawn, self.full.cost(drawn), assumed)
        return replace(design, replicates=replicates_of(self.study.spec))


def _with_levels(spec: Spec, levels: Mapping[str, tuple[str, ...]]) -> Spec:
    axes = tuple(
        axis.model_copy(update={"level": tuple(level for level in axis.level if level.id in levels[axis.id])})
        for axis in spec.axis
    )
    return spec.model_copy(update={"axis": axes})


def _without_replicates(spec: Spec) -> Spec:
    """One answer to each item."""
    axes = tuple(
        axis.model_copy(
            update={"level": tuple(level.model_copy(update={"replicates": None}) for level in axis.level)}
        )
        for axis in spec.axis
    )
    harness = spec.harness.model_copy(update={"replicates": None})
    return spec.model_copy(update={"axis": axes, "harness": harness})
