"""Findings -> Certificate: the document that anyone can recount."""

from collections.abc import Mapping
from typing import Literal

from gridc.compiler.lock.attestation import in_words, strongest_attestation
from gridc.reports.findings.analysis import LARGEST_RHO, MAXIMA, ModelComparison
from gridc.reports.findings.breakdowns import BREAKDOWNS
from gridc.reports.findings.falsification import FALSIFICATIONS
from gridc.reports.findings.findings import BenchmarkFinding, Findings, PairFinding, ScopeFinding
from gridc.reports.findings.paired import PRECISIONS
from gridc.reports.findings.rates import RateFinding, RateValue
from gridc.reports.findings.scores import UnitIntervals
from gridc.reports.findings.summaries import SUMMARIES, StatedStatistic, SummaryValue
from gridc.reports.findings.verdicts import VERDICTS
from gridc.reports.quantities import QUANTITIES, SHARE_LIMITS, interval_assumption
from gridc.reports.statements import statement_texts
from gridc.reports.statements.rates import estimand
from gridc.schema.audit import BenchmarkAuditRow
from gridc.schema.certificate import (
    FORMAT,
    AnchorRow,
    BenchmarkRow,
    BetweenRow,
    Certificate,
    ConfigurationRow,
    IntervalsRow,
    OrderingCounts,
    OrderingRow,
    PairRow,
    RateRow,
    ReadableRow,
    ResultsAnchorRow,
    ScopeRow,
    StatisticCell,
    StatisticRow,
    Tally,
)
from gridc.schema.rows import in_ten_decimals

DIRECTIONS: Mapping[int, Literal["higher_is_better", "lower_is_better", "nearest_is_best"]] = {
    1: "higher_is_better",
    -1: "lower_is_better",
    0: "nearest_is_best",
}
"""By `Direction.sign`."""


def certificate_of(findings: Findings) -> Certificate:
    """The certificate of a study, complete or not."""
    spec, left_out = findings.plan.study.spec, findings.plan.study.left_out()
    return Certificate.of(
        findings,
        format=FORMAT,
        anchor=_anchor(findings),
        results_anchor=_results_anchor(findings),
        models={model.id: model.note for model in spec.model},
        answered=findings.progress.answered,
        calls=findings.progress.total,
        calls_before_stamp=findings.before_stamp,
        outcome="itt",
        statements=tuple(statement_texts(findings)),
        verdicts=findings[VERDICTS],
        noise_floors=findings.noise,
        benchmarks=tuple(
            _benchmark(benchmark, len(left_out.get(benchmark.benchmark, ())))
            for benchmark in findings.benchmarks
        ),
        breakdowns=findings[BREAKDOWNS],
        statistics=tuple(map(_statistic, findings[SUMMARIES])),
        falsifications=findings[FALSIFICATIONS],
        maxima=findings[MAXIMA],
        largest_rho=findings[LARGEST_RHO],
        precisions=findings[PRECISIONS],
    ).as_written()


def _anchor(findings: Findings) -> AnchorRow:
    return AnchorRow(
        strength=findings.anchor.strength,
        detail=in_words(findings.anchors),
        before_first_call=findings.vouched,
    )


def _results_anchor(findings: Findings) -> ResultsAnchorRow | None:
    anchors = findings.results_anchors
    if not anchors:
        return None
    return ResultsAnchorRow(strength=strongest_attestation(anchors).strength, detail=in_words(anchors))


def _benchmark(finding: BenchmarkFinding, left_out: int) -> BenchmarkRow:
    rows: dict[str, ConfigurationRow] = {}
    intervals = finding.intervals
    for score in finding.cells:
        cell = score.cell
        if cell.shared:
            tier, method = cell.tier, cell.setting.method
            row = rows.setdefault(
                cell.configuration, ConfigurationRow.of(cell, tier=tier, method=method, scores={})
            )
            key = cell.model, cell.configuration
            interval, on_units = (
                of.get(key) for of in (finding.intervals.scores, finding.intervals.on_units)
            )
            row.scores[cell.model] = Tally.of(score, interval=interval, on_units=on_units)
    analysis = finding.analysis
    return BenchmarkRow.of(
        finding,
        analysis,
        left_out=left_out,
        direction=DIRECTIONS[finding.direction.sign],
        target=finding.direction.target,
        estimand=estimand(finding),
        intervals=_intervals(intervals),
        envelope=tuple(rows.values()),
        audit=None
        if finding.audit is None
        else BenchmarkAuditRow.of(finding.audit, taken_back=finding.taken_back),
        rates=tuple(_rate(rate) for rate in finding.rates),
        scopes=tuple(_scope(scope) for scope in finding.scopes),
        between=tuple(map(_model_comparison, analysis.between)),
    )


def _rate(rate: RateFinding) -> RateRow:
    models: dict[str, dict[str, RateValue]] = {}
    for (model, configuration), value in rate.values.items():
        models.setdefault(model, {})[configuration] = value
    return RateRow.of(rate, models=models)


def _statistic_cell(value: SummaryValue, kind: str) -> StatisticCell:
    if QUANTITIES[kind].measure == "in its unit":
        return StatisticCell.of(value)
    ends = None if value.interval is None else tuple(map(in_ten_decimals, value.interval))
    return StatisticCell.of(value, value=in_ten_decimals(value.value), interval=ends)


def _statistic(summary: StatedStatistic) -> StatisticRow:
    models = {
        model: {name: _statistic_cell(value, summary.kind) for name, value in values.items()}
        for model, values in summary.values.items()
    }
    counted_in = "" if summary.unit in ("", "%", "pp") else f", in {summary.unit}"
    return StatisticRow.of(summary, what=f"{summary.what}{counted_in}", models=models)


def _intervals(intervals: UnitIntervals) -> IntervalsRow:
    return IntervalsRow.of(
        intervals,
        method=SHARE_LIMITS,
        assumption=interval_assumption(intervals.unit),
    )


def _model_comparison(between: ModelComparison) -> BetweenRow:
    one, other = between.dispersion_a, between.dispersion_b
    return BetweenRow.of(
        between,
        range_a=one.greatest - one.least,
        range_b=other.greatest - other.least,
        sdi_a=one.sdi,
        sdi_b=other.sdi,
    )


def _scope(finding: ScopeFinding) -> ScopeRow:
    scope, seen = finding.scope, finding.orderings
    return ScopeRow.of(
        scope,
        size=len(scope.configurations),
        pairs=tuple(_pair(pair) for pair in finding.pairs),
        orderings=OrderingCounts.of(
            seen,
            strict=len(seen.strict),
            weak=len(seen.weak),
            seen=tuple(
                OrderingRow(order=order, configuration=where) for order, where in sorted(seen.weak.items())
            ),
        ),
        mismatch=finding.mismatch.weak,
        mismatch_by_name=finding.mismatch.by_name,
        tau_r=finding.tau,
        tau_r_dropped=finding.tau_dropped,
    )


def _pair(finding: PairFinding) -> PairRow:
    readable = ReadableRow.of(finding.readable, agrees=not finding.parted)
    return PairRow.of(finding.counts, finding, per_protocol=readable)
