"""What is found of each benchmark: scores, scopes, pairs and models, weighed together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from statistics import median

from gridc.compiler.grid.cell import anchored
from gridc.compiler.lowering.plan import Plan
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.analysis import analyse
from gridc.reports.findings.certification import CHOSEN, FULL, Region, Weighed, weigh
from gridc.reports.findings.changes import changes, compare, reread
from gridc.reports.findings.endings import count_endings
from gridc.reports.findings.findings import (
    BenchmarkFinding,
    ModelFinding,
    PairFinding,
    ParseRate,
    Scope,
    ScopeFinding,
)
from gridc.reports.findings.hypotheses import decisions, regions_of
from gridc.reports.findings.hypotheses.finding import HypothesisFinding, Measured
from gridc.reports.findings.intervals import unit_intervals
from gridc.reports.findings.noise import Floors, of_pair
from gridc.reports.findings.observations import Samples
from gridc.reports.findings.outcomes import Outcomes, gather
from gridc.reports.findings.rates import RateFinding, find_rates
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.scores import CellScore, by_benchmark
from gridc.schema.base import ALPHA, Declared
from gridc.schema.canonical import digest
from gridc.schema.certificate import Floor
from gridc.schema.evidence import ClaimFamily, OrderingClaimRow
from gridc.schema.scopes import NoiseRow, ScopeKind
from gridc.schema.spec import Spec
from gridc.statistics import orderings
from gridc.statistics.direction import Direction
from gridc.statistics.dispersion import disperse, flip_rate
from gridc.statistics.pairs import ScoreByModel, count


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
    cells = by_benchmark(spec, scores)
    scopes = {name: _scopes(plan, cell_scores) for name, cell_scores in cells.items()}
    outcomes = {
        name: gather(
            [score.cell for score in cell_scores],
            samples.stored,
            plan.study.items[name].units,
            models,
        )
        for name, cell_scores in cells.items()
    }
    weighed = weigh(
        [region for name, regions in scopes.items() for region in _regions(name, regions)],
        outcomes,
        spec.analysis.alpha or ALPHA,
        spec.sampling.seed,
        complete,
        hypothesis_regions=regions_of(spec, [score.cell for score in scores]),
    )
    benchmarks = tuple(
        _benchmark(plan, name, cells[name], scopes[name], outcomes[name], weighed, floors, samples.stored)
        for name in cells
    )
    return benchmarks, Measured(spec, samples, scores, floors, weighed, complete)


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
    shared = [cell for cell in cells if cell.cell.shared]
    by_model = {model: [score for score in shared if score.cell.model == model] for model in models}
    thresholds = [threshold.at for threshold in spec.analysis.marks(name)]
    items = plan.study.items[name]
    stated = next(benchmark for benchmark in spec.benchmark if benchmark.id == name)
    direction = Direction.of(stated.direction)
    compared = compare(spec, items, cells, stored, direction)
    return BenchmarkFinding(
        benchmark=name,
        items=len(items.sampled),
        unit=items.unit,
        units=len(set(items.units.values())),
        effective=outcomes.effective_units,
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
    turned = ({"order": claim.order[::-1] if direction.lower else claim.order} for claim in claims)
    return tuple(claim.model_copy(update=order) for claim, order in zip(claims, turned, strict=True))


def _scopes(plan: Plan, scores: Sequence[CellScore]) -> list[Scope]:
    spec = plan.study.spec
    shared = [score for score in scores if score.cell.shared]
    cells = [score.cell for score in shared if score.cell.model == spec.model[0].id]

    def where(kind: ScopeKind, name: str, declared: Declared, holds: Sequence[bool]) -> Scope:
        chosen = tuple(cell.configuration for cell, held in zip(cells, holds, strict=True) if held)
        return Scope(kind, name, declared, chosen)

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
        where("full", "full envelope", "ex_ante", [True] * len(cells)),
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
    weighed: Weighed,
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
    pairs = tuple(
        PairFinding(
            count(a, b, scores[a], scores[b]),
            count(a, b, readable[a], readable[b]),
            weighed.pairs[benchmark, scope.configurations, a, b],
            _noise(inside[a], inside[b], floors),
            digest([score.rows for score in (*inside[a], *inside[b])]),
        )
        for a, b in combinations(by_model, 2)
    )
    good = orderings.goodness(scores, direction)
    tau, dropped = orderings.concordance(good)
    return ScopeFinding(scope, pairs, orderings.reachable(good), orderings.mismatch(good), tau, dropped)


def _noise(a: Sequence[CellScore], b: Sequence[CellScore], floors: Floors) -> NoiseRow:
    """Both models' cells, in the same order of configurations, against the floors."""

    def floor(score: CellScore) -> Floor | None:
        return floors.get((score.cell.model, score.cell.setting.precision))

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
    parse_rates = []
    for axis in plan.study.spec.axis:
        for level in axis.level:
            rates = [
                cell.parse_rate
                for cell in cells
                if cell.parse_rate is not None and cell.cell.levels[axis.id] == level.id
            ]
            if rates:
                mean = sum(rates, Fraction(0)) / len(rates)
                parse_rates.append(ParseRate(axis.id, level.id, len(rates), min(rates), mean))
    return parse_rates


def _weighed(record: RunRecord) -> tuple[tuple[BenchmarkFinding, ...], Measured]:
    return weighed_findings(record.samples, record.scores, record.complete, record.floors)


def _benchmarks(record: RunRecord) -> tuple[BenchmarkFinding, ...]:
    plan, rates = record.plan, record[RATES]
    models = [model.id for model in plan.study.spec.model]
    endings = count_endings(models, record.store.endings(plan.study_digest))
    return tuple(
        replace(finding, rates=rates[finding.benchmark], endings=endings.get(finding.benchmark, ()))
        for finding in record[WEIGHED][0]
    )


def _hypotheses(record: RunRecord) -> tuple[HypothesisFinding, ...]:
    return tuple(decisions(record[MEASURED]))


RATES: Finding[dict[str, tuple[RateFinding, ...]]] = Finding(
    "rates", lambda record: find_rates(record.plan, record.store, record.scores), on_request=True
)
WEIGHED: Finding[tuple[tuple[BenchmarkFinding, ...], Measured]] = Finding(
    "weighed", _weighed, on_request=True
)
MEASURED: Finding[Measured] = Finding("measured", lambda record: record[WEIGHED][1], on_request=True)
BENCHMARKS: Finding[tuple[BenchmarkFinding, ...]] = Finding("benchmarks", _benchmarks, on_request=True)
HYPOTHESES: Finding[tuple[HypothesisFinding, ...]] = Finding("hypotheses", _hypotheses, on_request=True)
