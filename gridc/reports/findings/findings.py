"""Computes the findings of a study and of each of its benchmarks from a store, for every report."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from itertools import combinations
from statistics import median
from typing import Any, TypeVar, cast

from gridc.compiler.compile import Compiled
from gridc.compiler.frontend.unsupported import uncomputed_rows
from gridc.compiler.grid.cells import ONLY, anchored
from gridc.compiler.instrument.propagation import StepShares
from gridc.compiler.lock.attestation import Attestation, attestations, strongest_attestation
from gridc.compiler.lock.deviations import log_path, reconcile
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.asked import DifferingLevels
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings import unread
from gridc.reports.findings.analysis import BenchmarkAnalysis, analyse
from gridc.reports.findings.certification import (
    CHOSEN,
    FULL,
    ClaimEvidence,
    PairKey,
    Region,
    claim_evidence,
    exact_claims,
)
from gridc.reports.findings.changes import RescoredChange, ScoreChange, changes, reread, shared_cells
from gridc.reports.findings.conduct import CONDUCT, EARLIER, count_endings, forms_of, thoughts_of
from gridc.reports.findings.corrected import CORRECTED, BenchmarkAudit, with_labels
from gridc.reports.findings.doubtful import DOUBTFUL
from gridc.reports.findings.hypotheses import decisions, regions_of
from gridc.reports.findings.hypotheses.finding import HypothesisFinding, MeasuredStudy
from gridc.reports.findings.noise import Floors, ModelNoise, pair_noise
from gridc.reports.findings.observations import Samples
from gridc.reports.findings.rates import RateFinding, find_rates
from gridc.reports.findings.run_record import Finding, RunRecord, reported
from gridc.reports.findings.scaffolds import PROPAGATION, Step
from gridc.reports.findings.scores import (
    CellScore,
    Outcomes,
    UnitIntervals,
    cells_by_benchmark,
    gather_outcomes,
    unit_intervals,
)
from gridc.reports.findings.standings import standings
from gridc.reports.findings.unread import readings_disagree
from gridc.runtime.store.events import InterimLook, before_reports, steps_back
from gridc.runtime.store.reader import Progress
from gridc.runtime.store.store import Store
from gridc.schema.audit import TakenBackRow
from gridc.schema.base import ALPHA, Declared
from gridc.schema.canonical import digest
from gridc.schema.certificate import (
    DoubtfulRow,
    EndingsRow,
    Floor,
    FormRow,
    NoiseRow,
    ScopeKind,
    ThoughtsRow,
    UncomputedRow,
)
from gridc.schema.deviation import DeviationEntry, EarlierAnswersRow
from gridc.schema.items import UnitLevel
from gridc.schema.recorded import RecordedRuns
from gridc.schema.rows import (
    ClaimFamily,
    EvidenceRow,
    OrderingClaimRow,
    PairTestsRow,
    StandingsRow,
    StrengthRow,
    UnreadRow,
)
from gridc.schema.spec import Spec
from gridc.statistics import envelope as orderings
from gridc.statistics.envelope import (
    Direction,
    Dispersion,
    FlipRate,
    Mismatch,
    Orderings,
    PairCounts,
    ScoreByModel,
    count_orders,
    disperse,
    flip_rate,
)
from gridc.statistics.reproducibility import every_digits

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scope:
    """A part of an envelope: all of it, a tier, a slice, a measurand, or the parse-clean part.

    `declared` says whether it was named before the data (`ex_ante`) or after (`post_hoc`).
    """

    kind: ScopeKind
    name: str
    declared: Declared
    configurations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairFinding:
    """A pair's counts, what the items and the noise floor say of them, and the digest of their rows.

    `counts` are intention-to-treat: an unreadable answer scores 0. `readable` are the same counts of
    the per-protocol scores, which leave unreadable answers out. `unread` says what holds whatever these are.
    """

    counts: PairCounts
    readable: PairCounts
    evidence: EvidenceRow
    noise: NoiseRow
    unread: UnreadRow
    rows: str

    @property
    def parted(self) -> bool:
        """Whether the two ways of counting disagree on the majority, on D1 or on D2."""
        return readings_disagree(self.counts, self.readable)


@dataclass(frozen=True, slots=True)
class ScopeFinding:
    """What a scope shows of the models' order. `tau` is tau_R, `tau_dropped` the configurations in
    which all models tie."""

    scope: Scope
    pairs: tuple[PairFinding, ...]
    orderings: Orderings
    mismatch: Mismatch
    tau: float | None
    tau_dropped: int


@dataclass(frozen=True, slots=True)
class ModelFinding:
    """What one model does on one benchmark: its score under the anchor configuration, and how far it
    moves over the envelope, as far as it is measured. `median_flips` is the flip rate at the median of its
    own scores (SafetyRepro, app. L), of which half pass by construction."""

    model: str
    anchor: CellScore
    dispersion: Dispersion | None
    dispersion_by_scope: tuple[tuple[Scope, Dispersion], ...]
    flip_rates: tuple[FlipRate, ...]
    median_flips: FlipRate | None = None


@dataclass(frozen=True, slots=True)
class ParseRate:
    """Readable answers under one level of an axis, over the cells that read answers from text."""

    axis: str
    level: str
    cells: int
    least: Fraction
    mean: Fraction


@dataclass(frozen=True, slots=True)
class BenchmarkFinding:
    """Everything about one benchmark. The first scope is the full envelope, and `models` is the roster.

    `items` are asked of the `held` ones that its files hold, or 0 where nobody recorded how many these are.
    `units` groups of items, at the level `unit`, are taken as independent of each other, and worth
    `effective` ones of one size; `coarser` are the levels above it that the data document and the spec passes
    over. Of the items `distinct` ask something of their own; `grouped` says whether a unit has several of
    them, each in calls of its own. `differing` are the axes whose levels do not all ask the same items.
    """

    benchmark: str
    items: int
    held: int
    unit: UnitLevel
    units: int
    effective: float
    grouped: bool
    distinct: int
    coarser: tuple[UnitLevel, ...]
    differing: tuple[DifferingLevels, ...]
    direction: Direction
    intervals: UnitIntervals
    cells: tuple[CellScore, ...]
    scopes: tuple[ScopeFinding, ...]
    models: tuple[ModelFinding, ...]
    parse_rates: tuple[ParseRate, ...]
    analysis: BenchmarkAnalysis
    ordering_claims: tuple[OrderingClaimRow, ...]
    tests: tuple[PairTestsRow, ...]
    standings: StandingsRow | None = None
    rates: tuple[RateFinding, ...] = ()
    endings: tuple[EndingsRow, ...] = ()
    thoughts: tuple[ThoughtsRow, ...] = ()
    forms: tuple[FormRow, ...] = ()
    doubtful: tuple[DoubtfulRow, ...] = ()
    changes: tuple[ScoreChange, ...] = ()
    reread: tuple[RescoredChange, ...] = ()
    audit: BenchmarkAudit | None = None
    taken_back: tuple[TakenBackRow, ...] = ()

    @property
    def full(self) -> ScopeFinding:
        return self.scopes[0]


@dataclass(frozen=True, slots=True)
class Findings:
    """A study's findings, with what they rest on. `deviations` is the log;
    `steps_back` are the events at which the clock was set back; `computed` has all else by name
    (`run_record.reported`)."""

    plan: Plan
    lock: Lock
    anchors: tuple[Attestation, ...]
    results_anchors: tuple[Attestation, ...]
    progress: Progress
    results: str
    near_ties: int
    first_call: str | None
    before_stamp: int
    steps_back: tuple[int, ...]
    deviations: tuple[DeviationEntry, ...]
    benchmarks: tuple[BenchmarkFinding, ...]
    hypotheses: tuple[HypothesisFinding, ...]
    noise: tuple[ModelNoise, ...]
    computed: Mapping[str, Any]

    def __getitem__(self, finding: Finding[T]) -> T:
        """A finding by its key, or its placeholder where it was not requested."""
        return cast(T, self.computed.get(finding.name, finding.absent))

    @property
    def study(self) -> str:
        """The study's id."""
        return self.plan.study.spec.study.id

    @property
    def title(self) -> str:
        return self.plan.study.spec.study.title

    @property
    def stamp(self) -> str:
        """The stamp of the study as it ran."""
        return self.plan.study_digest

    @property
    def registered(self) -> str:
        """The lock's stamp."""
        return self.lock.stamp

    @property
    def supersedes(self) -> tuple[str, ...]:
        """The stamps that the lock's replaced."""
        return tuple(earlier.stamp for earlier in self.lock.supersedes)

    @property
    def earlier(self) -> tuple[EarlierAnswersRow, ...]:
        """What its models had answered to its items, under other stamps, before its own first call."""
        return self[EARLIER]

    @property
    def older(self) -> tuple[EarlierAnswersRow, ...]:
        """The part of `earlier` that is older than the stamp."""
        return tuple(row for row in self.earlier if row.before_stamp)

    @property
    def replaced_late(self) -> tuple[EarlierAnswersRow, ...]:
        """The stamps that were replaced when there were data."""
        return tuple(row for row in self.older if row.superseded)

    @property
    def first_answer(self) -> str | None:
        """When the first answer of its models to its items ended, under whatever stamp."""
        dates = [row.first for row in self.earlier] + ([self.first_call] if self.first_call else [])
        return min(dates, key=datetime.fromisoformat, default=None)

    @property
    def dated_by(self) -> Attestation | None:
        """The first third party that dates the lock."""
        believed = ("timestamped", "registered")
        dated = [anchor for anchor in self.anchors if anchor.strength in believed and anchor.time]
        return min(dated, key=lambda anchor: datetime.fromisoformat(anchor.time or ""), default=None)

    @property
    def vouched(self) -> bool | None:
        """Whether a third party dates the stamp before the first answer of its models to its items, under
        whatever stamp; None where no third party dates it, nothing is answered, or no dates show an order."""
        if self.dated_by is None or self.first_answer is None:
            return None
        if self.older:
            return False
        if self.steps_back:
            return None
        dates = map(datetime.fromisoformat, (self.dated_by.time or "", self.first_answer))
        return next(dates) < next(dates)

    @property
    def recorded(self) -> RecordedRuns | None:
        """The logs that the answers are read from; None where gridc asked."""
        return self.plan.study.recorded

    @property
    def uncomputed(self) -> tuple[UncomputedRow, ...]:
        """What the study declares but this version does not compute."""
        return uncomputed_rows(self.plan.study.spec)

    @property
    def alpha(self) -> float:
        """The level of the certificate."""
        return self.plan.study.spec.analysis.alpha or ALPHA

    @property
    def anchor(self) -> Attestation:
        """The strongest tie of the lock."""
        return strongest_attestation(self.anchors)

    @property
    def complete(self) -> bool:
        return self.progress.complete

    @property
    def gridc(self) -> str:
        """The versions of gridc that ran the study; of one that never ran, the version that stamped it."""
        return ", ".join(self[CONDUCT].versions) or self.lock.gridc


def unused_generation(ran: dict[str, Any]) -> str:
    """What the generation config of a model that was run asks for, beside the tokens that end an answer:
    every call has the study's own values in its place. Empty where it asks for nothing."""
    declared: dict[str, Any] = ran.get("generation_config_not_used") or {}
    return ", ".join(f"{name} = {value}" for name, value in sorted(declared.items()))


def weighed_findings(
    samples: Samples,
    scores: Sequence[CellScore],
    complete: bool,
    floors: Floors,
    audits: Sequence[BenchmarkAudit] = (),
    store: Store | None = None,
) -> tuple[tuple[BenchmarkFinding, ...], MeasuredStudy]:
    """The findings of every benchmark, and what hypotheses are decided on. All are weighed together, because
    their claims share families. `complete` says whether the run is; of an interim look nothing is
    certified. `audits` are what people's labels correct."""
    plan, spec = samples.plan, samples.plan.study.spec
    cells = cells_by_benchmark(spec, scores)
    scopes = {name: _scopes(plan, cell_scores) for name, cell_scores in cells.items()}
    outcomes = {
        name: gather_outcomes([score.cell for score in cell_scores], samples.stored, plan.study.items[name])
        for name, cell_scores in cells.items()
    }
    as_read = exact_claims(outcomes, spec.analysis.alpha or ALPHA) if audits and complete else {}
    for audit in audits:
        outcomes[audit.benchmark] = with_labels(outcomes[audit.benchmark], audit)
    weighed = claim_evidence(
        [region for name, regions in scopes.items() for region in _regions(name, regions)],
        outcomes,
        spec.analysis.alpha or ALPHA,
        spec.sampling.seed,
        complete,
        hypothesis_regions=regions_of(spec, [score.cell for score in scores]),
    )
    benchmarks = tuple(
        _benchmark(samples, name, cells[name], scopes[name], outcomes[name], weighed, floors, complete)
        for name in cells
    )
    for audit in audits:
        benchmarks = tuple(
            replace(each, audit=audit, taken_back=tuple(_taken_back(each, as_read)))
            if each.benchmark == audit.benchmark
            else each
            for each in benchmarks
        )
    study = MeasuredStudy(spec, samples, scores, floors, weighed, complete, outcomes=outcomes, store=store)
    return benchmarks, study


def _taken_back(
    benchmark: BenchmarkFinding, as_read: Mapping[PairKey, StrengthRow]
) -> Iterator[TakenBackRow]:
    """What the items alone would certify of the full envelope, and what is not certified with the labels."""
    for pair in benchmark.full.pairs:
        a, b = pair.counts.a, pair.counts.b
        alone = as_read.get((benchmark.benchmark, a, b))
        if alone is not None and alone.claim is not None and pair.evidence.certified.claim is None:
            yield TakenBackRow(a=a, b=b, claim=alone.claim, first=alone.first)


def _regions(benchmark: str, scopes: Sequence[Scope]) -> list[Region]:
    """The scopes as regions, each set of configurations once, as the first scope that has it."""
    first: dict[tuple[str, ...], Region] = {}
    for scope in scopes:
        named = scope.declared == "ex_ante" and scope.kind != "parse_clean"
        family: ClaimFamily = FULL if scope.kind == "full" else "other scopes" if named else CHOSEN
        region = Region(benchmark, scope.configurations, family)
        first.setdefault(scope.configurations, region)
    return list(first.values())


def _benchmark(
    samples: Samples,
    name: str,
    cells: Sequence[CellScore],
    scopes: Sequence[Scope],
    outcomes: Outcomes,
    weighed: ClaimEvidence,
    floors: Floors,
    complete: bool,
) -> BenchmarkFinding:
    plan, spec = samples.plan, samples.plan.study.spec
    shared = [cell for cell in cells if cell.cell.shared]
    by_model = {model: [score for score in shared if score.cell.model == model] for model in outcomes.models}
    thresholds = [threshold.at for threshold in spec.analysis.marks(name)]
    items, asked = plan.study.items[name], plan.asked(name)
    stated = next(benchmark for benchmark in spec.benchmark if benchmark.id == name)
    direction = Direction.of(stated.direction)
    compared = shared_cells(spec, items, cells, samples.stored, direction)
    return BenchmarkFinding(
        benchmark=name,
        items=len(asked.items),
        held=items.held,
        unit=items.unit,
        units=asked.units,
        effective=outcomes.effective_units,
        grouped=not outcomes.unit_is_item,
        distinct=asked.distinct,
        coarser=items.coarser,
        differing=asked.differing,
        direction=direction,
        intervals=unit_intervals(spec, items, outcomes),
        cells=tuple(cells),
        scopes=tuple(_scope(name, scope, by_model, weighed, floors, direction) for scope in scopes),
        models=tuple(
            _model(spec, model, own, scopes, thresholds, direction) for model, own in by_model.items()
        ),
        parse_rates=tuple(_parse_rates(plan, cells)),
        analysis=analyse(spec, cells, outcomes),
        ordering_claims=_best_first(weighed.orderings[name], direction),
        tests=weighed.tests[name],
        standings=standings(outcomes, direction, spec.analysis.alpha or ALPHA) if complete else None,
        changes=changes(compared),
        reread=reread(spec.axis, compared),
    )


def _best_first(claims: Sequence[OrderingClaimRow], direction: Direction) -> tuple[OrderingClaimRow, ...]:
    """Orders are weighed from the highest score down: where lower is better the best stands last in them,
    and of distances from a target they say nothing."""
    if direction.target is not None:
        return ()
    turned = ({"order": claim.order[::-1] if direction.lower else claim.order} for claim in claims)
    return tuple(claim.model_copy(update=order) for claim, order in zip(claims, turned, strict=True))


def _scopes(plan: Plan, scores: Sequence[CellScore]) -> list[Scope]:
    spec = plan.study.spec
    shared = [score for score in scores if score.cell.shared]
    cells = [score.cell for score in shared if score.cell.model == shared[0].cell.model]

    def where(kind: ScopeKind, name: str, declared: Declared, holds: Sequence[bool]) -> Scope:
        chosen = tuple(cell.configuration for cell, held in zip(cells, holds, strict=True) if held)
        return Scope(kind, name, declared, chosen)

    # Of logs nobody said before the data what is compared, how common it is, or how it is scored.
    recorded = plan.study.recorded is not None
    whole = where("full", "full envelope", "post_hoc" if recorded else "ex_ante", [True] * len(cells))
    if recorded:
        return [whole] if cells else []
    unclean = {
        score.cell.configuration
        for score in shared
        if score.parse_rate is not None and score.parse_rate < Fraction(str(spec.analysis.parse_clean))
    }
    # Which configurations are parse-clean is known only when all are measured.
    known = all(score.complete for score in shared)
    clean = [known and cell.configuration not in unclean for cell in cells]
    methods = dict.fromkeys(cell.setting.method for cell in cells)
    scopes = [
        whole,
        *(where("tier", tier, "ex_ante", [cell.tier == tier for cell in cells]) for tier in spec.tiers),
        *(
            where("slice", part.id, part.declared, [part.id in cell.slices for cell in cells])
            for part in spec.slice
        ),
        *(
            where("measurand", name, "ex_ante", [cell.setting.method == name for cell in cells])
            for name in methods
        ),
        where("parse_clean", "parse-clean", "ex_ante", clean),
    ]
    return [scope for scope in scopes if scope.configurations]


def _scope(
    benchmark: str,
    scope: Scope,
    by_model: Mapping[str, Sequence[CellScore]],
    weighed: ClaimEvidence,
    floors: Floors,
    direction: Direction,
) -> ScopeFinding:
    chosen = set(scope.configurations)
    inside = {
        model: [cell for cell in cells if cell.cell.configuration in chosen]
        for model, cells in by_model.items()
    }
    scores: dict[str, ScoreByModel] = {
        model: {score.cell.configuration: score.score for score in cells} for model, cells in inside.items()
    }
    readable: dict[str, ScoreByModel] = {
        model: {score.cell.configuration: score.of_readable for score in cells}
        for model, cells in inside.items()
    }
    pairs = []
    for a, b in combinations(by_model, 2):
        counts = count_orders(a, b, scores[a], scores[b])
        evidence = weighed.pairs[benchmark, scope.configurations, a, b]
        pairs.append(
            PairFinding(
                counts,
                count_orders(a, b, readable[a], readable[b]),
                evidence,
                _noise(inside[a], inside[b], floors),
                unread.pair_unread(inside[a], inside[b], counts, evidence),
                digest([score.rows for score in (*inside[a], *inside[b])]),
            )
        )
    good = orderings.goodness(scores, direction)
    tau, dropped = orderings.concordance(good)
    reachable, mismatch = orderings.reachable(good), orderings.mismatch(good)
    return ScopeFinding(scope, tuple(pairs), reachable, mismatch, tau, dropped)


def _noise(a: Sequence[CellScore], b: Sequence[CellScore], floors: Floors) -> NoiseRow:
    """Both models' cells, in the same order of configurations, against the floors."""

    def floor(score: CellScore) -> Floor | None:
        return floors.get((score.cell.model, score.cell.setting.precision))

    return pair_noise(
        {
            one.cell.configuration: (one.score - other.score, floor(one), floor(other))
            for one, other in zip(a, b, strict=True)
            if one.score is not None and other.score is not None
        }
    )


def _model(
    spec: Spec,
    model: str,
    cells: Sequence[CellScore],
    scopes: Sequence[Scope],
    thresholds: Sequence[float],
    direction: Direction,
) -> ModelFinding:
    measured = [(cell, cell.score) for cell in cells if cell.score is not None]
    values = [score for _, score in measured]
    by_scope = []
    for scope in scopes:
        inside = [
            score for cell_score, score in measured if cell_score.cell.configuration in scope.configurations
        ]
        if inside:
            by_scope.append((scope, disperse(inside)))
    return ModelFinding(
        model=model,
        anchor=next(cell_score for cell_score in cells if anchored(spec, cell_score.cell)),
        dispersion=disperse(values) if values else None,
        dispersion_by_scope=tuple(by_scope),
        flip_rates=tuple(flip_rate(values, threshold, direction.lower) for threshold in thresholds)
        if values
        else (),
        median_flips=flip_rate(values, median(values), direction.lower) if values else None,
    )


def _parse_rates(plan: Plan, cells: Sequence[CellScore]) -> list[ParseRate]:
    """Under each level of each axis; of a study without axes under its only configuration."""
    levels = [(axis.id, level.id) for axis in plan.study.spec.axis for level in axis.level]
    parse_rates = []
    for axis, level in levels or [("configuration", ONLY)]:
        rates = [
            cell.parse_rate
            for cell in cells
            if cell.parse_rate is not None and cell.cell.levels.get(axis, ONLY) == level
        ]
        if rates:
            mean = sum(rates, Fraction(0)) / len(rates)
            parse_rates.append(ParseRate(axis, level, len(rates), min(rates), mean))
    return parse_rates


def _weighed(record: RunRecord) -> tuple[tuple[BenchmarkFinding, ...], MeasuredStudy]:
    return weighed_findings(
        record.samples, record.scores, record.complete, record.floors, record[CORRECTED], record.store
    )


def _benchmarks(record: RunRecord) -> tuple[BenchmarkFinding, ...]:
    plan, rates = record.plan, record[RATES]
    models = [model.id for model in plan.study.spec.model]
    recorded = plan.study.recorded is not None  # how its answers ended is in the notes of its logs
    limited = record.store.limited(plan.study_digest)
    doubtful = {} if recorded else record[DOUBTFUL]
    endings = {} if recorded else count_endings(models, record.store.endings(plan.study_digest))
    return tuple(
        replace(
            finding,
            rates=rates[finding.benchmark],
            endings=endings.get(finding.benchmark, ()),
            thoughts=tuple(thoughts_of(record, [score.cell for score in finding.cells], limited)),
            doubtful=doubtful.get(finding.benchmark, ()),
            forms=tuple(forms_of(record, [score.cell for score in finding.cells])),
        )
        for finding in record[WEIGHED][0]
    )


def _hypotheses(record: RunRecord) -> tuple[HypothesisFinding, ...]:
    return tuple(decisions(record[MEASURED]))


RATES: Finding[dict[str, tuple[RateFinding, ...]]] = Finding(
    "rates",
    lambda record: find_rates(record.plan, record.store, record.scores),
    on_request=True,
    about="The rates that the spec names, in every cell of every benchmark.",
)
WEIGHED: Finding[tuple[tuple[BenchmarkFinding, ...], MeasuredStudy]] = Finding(
    "weighed",
    _weighed,
    on_request=True,
    about="Every benchmark with its measurements, and the evidence on all pairs and orders together.",
)
MEASURED: Finding[MeasuredStudy] = Finding(
    "measured",
    lambda record: record[WEIGHED][1],
    on_request=True,
    about="What hypotheses are decided on: scores, outcomes and intervals by benchmark.",
)
BENCHMARKS: Finding[tuple[BenchmarkFinding, ...]] = Finding(
    "benchmarks",
    _benchmarks,
    on_request=True,
    about="The findings on each benchmark: scores, scopes, pairs and models.",
)
HYPOTHESES: Finding[tuple[HypothesisFinding, ...]] = Finding(
    "hypotheses",
    _hypotheses,
    on_request=True,
    about="The verdict on each hypothesis, with its test and its family.",
)


def all_findings(
    compiled: Compiled,
    lock: Lock,
    store: Store,
    tied: Sequence[Attestation] = (),
    results: str | None = None,
    results_tied: Sequence[Attestation] = (),
    requested: Iterable[Finding[Any]] = (),
    known: Mapping[Finding[Any], Any] | None = None,
) -> Findings:
    """The findings of a stamped study from its store, complete or not. `tied` are the ties of the lock;
    without them they are looked for. `results` is the digest of the stored results where it is known already,
    and `results_tied` are the ties of these. What is `requested` is found beside what every report holds, and
    what is `known` is taken as given.

    Raises `StoreError` when the store holds no run of it.
    """
    record = RunRecord(compiled, store, known)
    stamp = record.plan.study_digest
    first_call, before_stamp = dated(store, stamp, lock)
    log = reconcile(lock, compiled.study, log_path(compiled.source.path))
    return Findings(
        plan=record.plan,
        lock=lock,
        anchors=tuple(tied or attestations(compiled.lock_path, compiled.source.path)),
        results_anchors=tuple(results_tied),
        progress=record.progress,
        results=results or store.results_digest(stamp),
        near_ties=store.near_ties(stamp),
        first_call=first_call,
        before_stamp=before_stamp,
        steps_back=tuple(steps_back(before_reports(store.events()))),
        deviations=tuple(map(DeviationEntry.of_manifest, log.manifest())),
        benchmarks=every_digits(record[BENCHMARKS]),
        hypotheses=every_digits(record[HYPOTHESES]),
        noise=every_digits(record.noise),
        computed={
            finding.name: every_digits(record[finding])
            for finding in (*reported(), *requested, *(known or ()))
        },
    )


def noted_of_items(look: InterimLook | None) -> dict[Finding[Any], Any]:
    """What rests on the text of items, as the `look` at the results noted it: the parts of tasks that reached
    the steps of scaffolds, and what these came to. Without a look nothing is known of it."""
    known: dict[Finding[Any], Any] = {finding: finding.absent for finding in reported() if finding.recorded}
    known[PROPAGATION] = ()
    if look is not None:
        known |= {
            finding: finding.from_json(look.recorded[finding.name])
            for finding in reported()
            if finding.recorded and look.recorded.get(finding.name) is not None
        }
        known[PROPAGATION] = tuple(
            Step(StepShares(**step["shares"]), step["rows"]) for step in look.propagation
        )
    return known


def dated(store: Store, stamp: str, lock: Lock) -> tuple[str | None, int]:
    """When the first call was finished, and how many were before the stamp was made. There can be as many
    times as calls."""
    first, before, created = None, 0, datetime.fromisoformat(lock.created)
    for at, number in store.finished(stamp):
        first = first or at
        before += number if datetime.fromisoformat(at) < created else 0
    return first, before
