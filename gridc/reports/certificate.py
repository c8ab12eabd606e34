"""Findings -> Certificate: the document that anyone can recount."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from gridc.compiler.lock.anchor import in_words, strongest
from gridc.reports.findings.analysis import MAXIMA, Between
from gridc.reports.findings.falsification import FALSIFICATIONS
from gridc.reports.findings.findings import BenchmarkFinding, Findings, PairFinding, ScopeFinding
from gridc.reports.findings.intervals import UnitIntervals
from gridc.reports.findings.paired import PRECISIONS, PairedReport
from gridc.reports.findings.rates import RateFinding
from gridc.reports.quantities.methods import AT_BOUND, INTERVAL_METHOD, interval_assumption
from gridc.reports.statements import sentences
from gridc.schema.certificate import (
    FORMAT,
    AnchorRow,
    BenchmarkRow,
    Certificate,
    ConfigurationRow,
    EndingsRow,
    FalsificationRow,
    FloorRow,
    IntervalsRow,
    RateCell,
    RateRow,
    ResultsAnchorRow,
    Tally,
    UncomputedRow,
)
from gridc.schema.hypotheses import HypothesisRow
from gridc.schema.scopes import OrderingCounts, OrderingRow, PairRow, ReadableRow, ScopeRow
from gridc.schema.spread import (
    BetweenRow,
    ChangeRow,
    LevelGapRow,
    MaximumRow,
    MovedRow,
    PairedRow,
    ReorderedRow,
)
from gridc.statistics.contrasts import GridPoint, Summary

DIRECTIONS: Mapping[int, Literal["higher_is_better", "lower_is_better", "nearest_is_best"]] = {
    1: "higher_is_better",
    -1: "lower_is_better",
    0: "nearest_is_best",
}
"""By `Direction.sign`."""


def certify(findings: Findings) -> Certificate:
    """The certificate of a study, complete or not."""
    spec, left_out = findings.plan.study.spec, findings.plan.study.left_out()
    return Certificate(
        format=FORMAT,
        study=spec.study.id,
        title=spec.study.title,
        stamp=findings.plan.study_digest,
        registered=findings.lock.stamp,
        supersedes=tuple(earlier.stamp for earlier in findings.lock.supersedes),
        anchor=_anchor(findings),
        results_anchor=_results_anchor(findings),
        gridc=findings.lock.gridc,
        models={model.id: model.note for model in spec.model},
        complete=findings.complete,
        answered=findings.progress.answered,
        calls=findings.progress.total,
        results=findings.results,
        near_ties=findings.near_ties,
        calls_before_stamp=findings.before_stamp,
        outcome="itt",
        statements=tuple(sentences(findings)),
        noise_floors=floor_rows(findings),
        benchmarks=tuple(
            _benchmark(benchmark, len(left_out.get(benchmark.benchmark, ())))
            for benchmark in findings.benchmarks
        ),
        hypotheses=tuple(HypothesisRow.model_validate(hypothesis) for hypothesis in findings.hypotheses),
        falsifications=falsification_rows(findings),
        maxima=tuple(MaximumRow.of(maximum) for maximum in findings[MAXIMA]),
        precisions=tuple(paired_row(report) for report in findings[PRECISIONS]),
        uncomputed=uncomputed_rows(findings),
    )


def floor_rows(findings: Findings) -> tuple[FloorRow, ...]:
    """The noise floor of every model and precision, measured or not."""
    return tuple(
        FloorRow.of(noise, floor=None if noise.floor is None else noise.floor.row) for noise in findings.noise
    )


def falsification_rows(findings: Findings) -> tuple[FalsificationRow, ...]:
    """What became of the falsification tests that this version decides."""
    return tuple(FalsificationRow.model_validate(falsification) for falsification in findings[FALSIFICATIONS])


def uncomputed_rows(findings: Findings) -> tuple[UncomputedRow, ...]:
    """What the spec states and this version does not compute."""
    return tuple(UncomputedRow.of(each) for each in findings.uncomputed)


def paired_row(found: PairedReport) -> PairedRow:
    """A paired report as certificate, page and `gridc diff` have it."""
    return PairedRow.of(
        found,
        overall=None if found.change is None else _change(found.change),
        by_model={model: _change(summary) for model, summary in found.by_model.items()},
        largest=tuple(
            MovedRow.of(cell=_named(delta.place), left=delta.before, right=delta.after)
            for delta in found.largest
        ),
        reordered=tuple(ReorderedRow.of(each, configuration=_named(each.place)) for each in found.reordered),
    )


def _change(found: Summary) -> ChangeRow:
    return ChangeRow.of(found, cells=found.n)


def _named(place: GridPoint) -> str:
    """A place as a cell's key, without what the sides do not share: `model/benchmark/axis=level,...`."""
    head = [place[key] for key in ("model", "benchmark") if key in place]
    levels = ",".join(
        f"{axis}={level}" for axis, level in place.items() if axis not in ("model", "benchmark")
    )
    return "/".join([*head, levels])


def _anchor(findings: Findings) -> AnchorRow:
    anchor = findings.anchor
    before = None
    if anchor.time is not None and findings.first_call is not None:
        before = datetime.fromisoformat(anchor.time) < datetime.fromisoformat(findings.first_call)
    return AnchorRow(
        strength=anchor.strength,
        detail=in_words(findings.anchors),
        before_first_call=before,
    )


def _results_anchor(findings: Findings) -> ResultsAnchorRow | None:
    anchors = findings.results_anchors
    if not anchors:
        return None
    return ResultsAnchorRow(strength=strongest(anchors).strength, detail=in_words(anchors))


def _benchmark(finding: BenchmarkFinding, left_out: int) -> BenchmarkRow:
    rows: dict[str, ConfigurationRow] = {}
    for score in finding.cells:
        cell = score.cell
        if cell.shared:
            tier, method = cell.tier, cell.setting.method
            row = rows.setdefault(
                cell.configuration, ConfigurationRow.of(cell, tier=tier, method=method, scores={})
            )
            interval = finding.intervals.scores.get((cell.model, cell.configuration))
            row.scores[cell.model] = Tally.of(score, interval=interval)
    analysis = finding.analysis
    return BenchmarkRow.of(
        finding,
        left_out=left_out,
        direction=DIRECTIONS[finding.direction.sign],
        target=None if finding.direction.target is None else float(finding.direction.target),
        intervals=_intervals(finding.intervals),
        envelope=tuple(rows.values()),
        rates=tuple(_rate(rate) for rate in finding.rates),
        endings=tuple(EndingsRow.model_validate(endings) for endings in finding.endings),
        scopes=tuple(_scope(scope) for scope in finding.scopes),
        between=tuple(_between(each) for each in analysis.between),
        variance=analysis.variance,
        gaps=tuple(LevelGapRow.of(gap, change=_change(gap.summary)) for gap in analysis.gaps),
        agreements=analysis.agreements,
    )


def _rate(found: RateFinding) -> RateRow:
    models: dict[str, dict[str, RateCell]] = {}
    for (model, configuration), value in found.values.items():
        models.setdefault(model, {})[configuration] = RateCell.of(value)
    return RateRow.of(found, models=models)


def _intervals(found: UnitIntervals) -> IntervalsRow:
    return IntervalsRow.of(
        found, method=f"{INTERVAL_METHOD}; {AT_BOUND}", assumption=interval_assumption(found.unit)
    )


def _between(found: Between) -> BetweenRow:
    one, other = found.dispersion_a, found.dispersion_b
    return BetweenRow.of(
        found,
        change=_change(found.change),
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
