"""Store -> Findings: everything that a report says, computed once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from itertools import combinations
from typing import Any

from gridc.compiler.compile import Compiled
from gridc.compiler.frontend.unsupported import uncomputed
from gridc.compiler.grid.cell import anchored
from gridc.compiler.lock.anchor import Anchor, anchors
from gridc.compiler.lock.deviations import log_path, reconcile
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.analysis import analyse, maxima
from gridc.reports.findings.attribution import Attribution, explain
from gridc.reports.findings.audit import audits
from gridc.reports.findings.blinding import (
    guess_findings,
    sanitised_finding,
)
from gridc.reports.findings.certification import CHOSEN, FULL, Region, Weighed, weigh
from gridc.reports.findings.changes import changes, compare, reread
from gridc.reports.findings.components import factorial, generalize
from gridc.reports.findings.conduct import conduct
from gridc.reports.findings.curves import curve_findings
from gridc.reports.findings.endings import count_endings
from gridc.reports.findings.falsification import falsify
from gridc.reports.findings.findings import (
    BenchmarkFinding,
    Findings,
    ModelFinding,
    PairFinding,
    ParseRate,
    Scope,
    ScopeFinding,
)
from gridc.reports.findings.hypotheses import decisions, regions_of
from gridc.reports.findings.hypotheses.finding import Measured
from gridc.reports.findings.intervals import unit_intervals
from gridc.reports.findings.judges import find_judging
from gridc.reports.findings.noise import (
    Floors,
    NoiseFloor,
    PairNoise,
    floors_of,
    model_noise,
    of_pair,
)
from gridc.reports.findings.observations import Samples
from gridc.reports.findings.outcomes import Outcomes, gather
from gridc.reports.findings.paired import precision_reports
from gridc.reports.findings.rates import find_rates
from gridc.reports.findings.scaffolds import Step, propagation
from gridc.reports.findings.scores import CellScore, cell_scores
from gridc.runtime.judgements import judged
from gridc.runtime.store.events import ModelLoaded, steps_back
from gridc.runtime.store.rows import CellOutcomes
from gridc.runtime.store.store import Store
from gridc.schema.base import ALPHA, Declared
from gridc.schema.canonical import digest
from gridc.schema.evidence import Family, OrderingClaimRow
from gridc.schema.scopes import ScopeKind
from gridc.schema.spec import Spec
from gridc.statistics import orderings
from gridc.statistics.direction import Direction
from gridc.statistics.dispersion import disperse, flip_rate
from gridc.statistics.pairs import Scores, count


def find(
    compiled: Compiled,
    lock: Lock,
    store: Store,
    tied: Sequence[Anchor] = (),
    attribution: tuple[Attribution, ...] = (),
    results: str | None = None,
    results_tied: Sequence[Anchor] = (),
    traced: tuple[Step, ...] | None = None,
) -> Findings:
    """The findings of a stamped study from its store, complete or not. `tied` are the ties
    of the lock; without them they are looked for. `attribution` is what that report explained, `results` the
    digest of the stored results where it is known already, and `results_tied` are the ties of these. `traced`
    is what reached the steps of scaffolds where items are not here to trace it.

    Raises `StoreError` when the store holds no run of it.
    """
    plan = Plan(compiled.study)
    store.require(plan.study_digest)
    stored = store.outcomes(plan.study_digest)
    progress = store.progress(plan.study_digest)
    scores = cell_scores(plan, stored)
    first_call, before_stamp = _dated(store, plan.study_digest, datetime.fromisoformat(lock.created))
    noise = model_noise(plan, store.noise())
    floors = floors_of(noise)
    log = reconcile(lock, compiled.study, log_path(compiled.source.path))
    samples = Samples(plan, stored, lambda: store.choices(plan.study_digest))
    benchmarks, measured = weighed_findings(samples, scores, progress.complete, floors)
    hypotheses = tuple(decisions(measured))
    rates = find_rates(plan, store, scores)
    endings = count_endings([each.id for each in compiled.spec.model], store.endings(plan.study_digest))
    judgements = judged(plan, store)
    labelled = tuple(audits(plan, store))
    tests = falsify(measured, rates, hypotheses, labelled)
    return Findings(
        plan=plan,
        lock=lock,
        anchors=tuple(tied or anchors(compiled.lock_path, compiled.source.path)),
        results_anchors=tuple(results_tied),
        progress=progress,
        results=results or store.results_digest(plan.study_digest),
        near_ties=store.near_ties(plan.study_digest),
        first_call=first_call,
        before_stamp=before_stamp,
        steps_back=tuple(steps_back(store.events())),
        environment=_environment(plan, store),
        benchmarks=tuple(
            replace(each, rates=rates[each.benchmark], endings=endings.get(each.benchmark, ()))
            for each in benchmarks
        ),
        hypotheses=hypotheses,
        falsifications=tests,
        judging=find_judging(plan, store, judgements),
        curves=curve_findings(samples) if progress.complete else (),
        audits=labelled,
        factorial=factorial(samples) if progress.complete else None,
        generalizability=generalize(samples) if progress.complete else None,
        guesses=guess_findings(plan, store, judgements),
        sanitised=sanitised_finding(plan, store),
        maxima=maxima(compiled.spec, _by_benchmark(plan, scores)),
        noise=noise,
        precisions=precision_reports(compiled.spec, scores),
        uncomputed=uncomputed(compiled.spec),
        deviations=tuple(log.manifest()),
        attribution=attribution,
        conduct=conduct(store, plan),
        propagation=propagation(plan, store) if traced is None else traced,
    )


def _dated(store: Store, stamp: str, created: datetime) -> tuple[str | None, int]:
    """When the first call was finished, and how many were before this time. There can be as many times as
    calls."""
    first, before = None, 0
    for at, number in store.finished(stamp):
        first = first or at
        before += number if datetime.fromisoformat(at) < created else 0
    return first, before


def explained(findings: Findings) -> Findings:
    """The same with the axis attribution of every benchmark. Raises `UnavailableError` (GC604) where lightgbm
    is not installed."""
    models = [model.id for model in findings.plan.study.spec.model]
    found = [each for row in findings.benchmarks for each in explain(row.benchmark, models, row.cells)]
    return replace(findings, attribution=tuple(found))


def weighed_findings(
    samples: Samples,
    scores: Sequence[CellScore],
    complete: bool,
    floors: Floors,
) -> tuple[tuple[BenchmarkFinding, ...], Measured]:
    """The findings of every benchmark, and what hypotheses are decided on. All are weighed together, because
    their claims share families. `complete` says whether the run is; of an interim look nothing is
    certified."""
    plan, spec = samples.plan, samples.plan.study.spec
    models = [model.id for model in spec.model]
    cells = dict(zip((each.id for each in spec.benchmark), _by_benchmark(plan, scores), strict=True))
    scopes = {name: _scopes(plan, each) for name, each in cells.items()}
    outcomes = {
        name: gather(
            [each.cell for each in found],
            samples.stored,
            plan.study.items[name].units,
            models,
        )
        for name, found in cells.items()
    }
    weighed = weigh(
        [region for name, found in scopes.items() for region in _regions(name, found)],
        outcomes,
        spec.analysis.alpha or ALPHA,
        spec.sampling.seed,
        complete,
        asked=regions_of(spec, [each.cell for each in scores]),
    )
    benchmarks = tuple(
        _benchmark(plan, name, cells[name], scopes[name], outcomes[name], weighed, floors, samples.stored)
        for name in cells
    )
    return benchmarks, Measured(spec, samples, scores, floors, weighed, complete)


def _by_benchmark(plan: Plan, scores: Sequence[CellScore]) -> list[list[CellScore]]:
    return [
        [each for each in scores if each.cell.benchmark == benchmark.id]
        for benchmark in plan.study.spec.benchmark
    ]


def _regions(benchmark: str, scopes: Sequence[Scope]) -> list[Region]:
    """The scopes as regions, each set of configurations once, as the first scope that has it."""
    first: dict[tuple[str, ...], Region] = {}
    for scope in scopes:
        named = scope.declared == "ex_ante" and scope.kind != "parse_clean"
        family: Family = FULL if scope.kind == "full" else "other scopes" if named else CHOSEN
        region = Region(benchmark, scope.configurations, family)
        first.setdefault(scope.configurations, region)
    return list(first.values())


def _benchmark(
    plan: Plan,
    name: str,
    cells: Sequence[CellScore],
    scopes: Sequence[Scope],
    outcomes: Outcomes,
    weighed: Weighed,
    floors: Floors,
    stored: Mapping[str, CellOutcomes],
) -> BenchmarkFinding:
    spec = plan.study.spec
    models = [model.id for model in spec.model]
    shared = [each for each in cells if each.cell.shared]
    by_model = {model: [each for each in shared if each.cell.model == model] for model in models}
    thresholds = [each.at for each in spec.analysis.marks(name)]
    items = plan.study.items[name]
    stated = next(each for each in spec.benchmark if each.id == name)
    direction = Direction.of(stated.direction)
    compared = compare(spec, items, cells, stored, direction)
    return BenchmarkFinding(
        benchmark=name,
        items=len(items.sampled),
        unit=items.unit,
        units=len(set(items.units.values())),
        coarser=items.coarser,
        direction=direction,
        intervals=unit_intervals(spec, items, outcomes),
        cells=tuple(cells),
        scopes=tuple(_scope(name, scope, by_model, weighed, floors, direction) for scope in scopes),
        models=tuple(_model(spec, model, by_model[model], scopes, thresholds, direction) for model in models),
        parse_rates=tuple(_parse_rates(plan, cells)),
        analysis=analyse(spec, cells, outcomes),
        ordering_claims=_best_first(weighed.orderings[name], direction),
        tests=weighed.tests[name],
        changes=changes(compared),
        reread=reread(spec.axis, compared),
    )


def _best_first(claims: Sequence[OrderingClaimRow], direction: Direction) -> tuple[OrderingClaimRow, ...]:
    """Orders are weighed from the highest score down: where lower is better the best stands last in them,
    and of distances from a target they say nothing."""
    if direction.target is not None:
        return ()
    turned = ({"order": each.order[::-1] if direction.lower else each.order} for each in claims)
    return tuple(each.model_copy(update=order) for each, order in zip(claims, turned, strict=True))


def _scopes(plan: Plan, found: Sequence[CellScore]) -> list[Scope]:
    spec = plan.study.spec
    shared = [each for each in found if each.cell.shared]
    cells = [each.cell for each in shared if each.cell.model == spec.model[0].id]

    def where(kind: ScopeKind, name: str, declared: Declared, holds: Sequence[bool]) -> Scope:
        chosen = tuple(cell.configuration for cell, held in zip(cells, holds, strict=True) if held)
        return Scope(kind, name, declared, chosen)

    unclean = {
        each.cell.configuration
        for each in shared
        if each.parse_rate is not None and each.parse_rate < Fraction(str(spec.analysis.parse_clean))
    }
    # Which configurations are parse-clean is known only when all are measured.
    known = all(each.complete for each in shared)
    clean = [known and cell.configuration not in unclean for cell in cells]
    methods = dict.fromkeys(cell.setting.method for cell in cells)
    scopes = [
        where("full", "full envelope", "ex_ante", [True] * len(cells)),
        *(where("tier", tier, "ex_ante", [cell.tier == tier for cell in cells]) for tier in spec.tiers),
        *(
            where("slice", each.id, each.declared, [each.id in cell.slices for cell in cells])
            for each in spec.slice
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
    weighed: Weighed,
    floors: Floors,
    direction: Direction,
) -> ScopeFinding:
    chosen = set(scope.configurations)
    inside = {
        model: [each for each in cells if each.cell.configuration in chosen]
        for model, cells in by_model.items()
    }
    scores: dict[str, Scores] = {
        model: {each.cell.configuration: each.score for each in cells} for model, cells in inside.items()
    }
    readable: dict[str, Scores] = {
        model: {each.cell.configuration: each.of_readable for each in cells}
        for model, cells in inside.items()
    }
    pairs = tuple(
        PairFinding(
            count(a, b, scores[a], scores[b]),
            count(a, b, readable[a], readable[b]),
            weighed.pairs[benchmark, scope.configurations, a, b],
            _noise(inside[a], inside[b], floors),
            digest([each.rows for each in (*inside[a], *inside[b])]),
        )
        for a, b in combinations(by_model, 2)
    )
    good = orderings.goodness(scores, direction)
    tau, dropped = orderings.concordance(good)
    return ScopeFinding(scope, pairs, orderings.reachable(good), orderings.mismatch(good), tau, dropped)


def _noise(a: Sequence[CellScore], b: Sequence[CellScore], floors: Floors) -> PairNoise:
    """Both models' cells, in the same order of configurations, against the floors."""

    def floor(each: CellScore) -> NoiseFloor | None:
        return floors.get((each.cell.model, each.cell.setting.precision))

    return of_pair(
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
    measured = [(each, each.score) for each in cells if each.score is not None]
    values = [score for _, score in measured]
    by_scope = []
    for scope in scopes:
        inside = [score for each, score in measured if each.cell.configuration in scope.configurations]
        if inside:
            by_scope.append((scope, disperse(inside)))
    return ModelFinding(
        model=model,
        anchor=next(each for each in cells if anchored(spec, each.cell)),
        dispersion=disperse(values) if values else None,
        dispersion_by_scope=tuple(by_scope),
        flip_rates=tuple(flip_rate(values, each, direction.lower) for each in thresholds) if values else (),
    )


def _parse_rates(plan: Plan, cells: Sequence[CellScore]) -> list[ParseRate]:
    found = []
    for axis in plan.study.spec.axis:
        for level in axis.level:
            rates = [
                each.parse_rate
                for each in cells
                if each.parse_rate is not None and each.cell.levels[axis.id] == level.id
            ]
            if rates:
                mean = sum(rates, Fraction(0)) / len(rates)
                found.append(ParseRate(axis.id, level.id, len(rates), min(rates), mean))
    return found


def _environment(plan: Plan, store: Store) -> tuple[dict[str, Any], ...]:
    """Each distinct thing that was really run, once; for this study or for one that shares its calls."""
    names = {identity.digest: name for name, identity in plan.study.models.items()}
    distinct = {}
    for load in store.recorded(ModelLoaded):
        if load.identity in names:
            ran = load.ran | {"model": names[load.identity]}
            distinct[digest(ran)] = ran
    return tuple(distinct.values())
