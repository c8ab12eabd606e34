"""Findings -> Certificate: the document that anyone can recount."""

from dataclasses import asdict
from datetime import datetime
from fractions import Fraction

from gridc.compiler.lock.anchor import in_words
from gridc.reports.findings.analysis import Between
from gridc.reports.findings.findings import BenchmarkFinding, Findings, PairFinding, ScopeFinding
from gridc.reports.findings.intervals import UnitIntervals
from gridc.reports.findings.paired import PairedReport
from gridc.reports.findings.scores import CellScore
from gridc.reports.sentences import INTERVAL_METHOD, interval_assumption, statements
from gridc.schema.certificate import (
    FORMAT,
    AgreementRow,
    AnchorRow,
    BenchmarkRow,
    BetweenRow,
    Certificate,
    ChangeRow,
    ConfigurationRow,
    FloorRow,
    GapRow,
    HypothesisRow,
    IntervalsRow,
    MovedRow,
    NoiseRow,
    OrderingCounts,
    OrderingRow,
    PairedRow,
    PairGapsRow,
    PairRow,
    ReadableRow,
    ReorderedRow,
    ScopeRow,
    Tally,
    UncomputedRow,
    WitnessRow,
)
from gridc.statistics.contrasts import Place, Summary
from gridc.statistics.pairs import Witness


def certify(findings: Findings) -> Certificate:
    """The certificate of a study, complete or not."""
    spec = findings.plan.study.spec
    return Certificate(
        format=FORMAT,
        study=spec.study.id,
        title=spec.study.title,
        stamp=findings.plan.study_digest,
        registered=findings.lock.stamp,
        supersedes=tuple(each.stamp for each in findings.lock.supersedes),
        anchor=_anchor(findings),
        gridc=findings.lock.gridc,
        models={model.id: model.note for model in spec.model},
        complete=findings.complete,
        answered=findings.progress.answered,
        calls=findings.progress.total,
        results=findings.results,
        near_ties=findings.near_ties,
        calls_before_stamp=findings.before_stamp,
        outcome="itt",
        statements=tuple(statements(findings)),
        noise_floors=floor_rows(findings),
        benchmarks=tuple(_benchmark(each) for each in findings.benchmarks),
        hypotheses=tuple(HypothesisRow.model_validate(each) for each in findings.hypotheses),
        precisions=tuple(paired_row(each) for each in findings.precisions),
        uncomputed=uncomputed_rows(findings),
    )


def floor_rows(findings: Findings) -> tuple[FloorRow, ...]:
    """The noise floor of every model and precision, measured or not."""
    return tuple(
        FloorRow(
            model=each.model,
            precision=each.precision,
            floor=None if each.floor is None else each.floor.row,
        )
        for each in findings.noise
    )


def uncomputed_rows(findings: Findings) -> tuple[UncomputedRow, ...]:
    """What the spec states and this version does not compute."""
    return tuple(UncomputedRow(**asdict(each)) for each in findings.uncomputed)


def paired_row(found: PairedReport) -> PairedRow:
    """A paired report as certificate, page and `gridc diff` have it."""
    return PairedRow(
        axis=found.axis,
        rows=found.rows,
        left=found.left,
        right=found.right,
        unpaired=found.unpaired,
        overall=None if found.change is None else _change(found.change),
        by_model={model: _change(each) for model, each in found.by_model.items()},
        largest=tuple(
            MovedRow(
                cell=_named(each.place),
                left=each.before.as_integer_ratio(),
                right=each.after.as_integer_ratio(),
            )
            for each in found.largest
        ),
        orderings=found.orderings,
        same_order=found.same_order,
        flips=found.flips,
        reordered=tuple(
            ReorderedRow(configuration=_named(each.place), left=each.left, right=each.right, flips=each.flips)
            for each in found.reordered
        ),
    )


def _change(found: Summary) -> ChangeRow:
    return ChangeRow(
        cells=found.n,
        mean=found.mean,
        median_absolute=found.median_absolute,
        mean_absolute=found.mean_absolute,
        max_absolute=found.max_absolute,
        over_5=found.over_5,
        over_10=found.over_10,
    )


def _named(place: Place) -> str:
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


def _benchmark(finding: BenchmarkFinding) -> BenchmarkRow:
    rows: dict[str, ConfigurationRow] = {}
    for each in finding.cells:
        cell = each.cell
        if cell.shared:
            row = rows.setdefault(
                cell.configuration,
                ConfigurationRow(
                    configuration=cell.configuration,
                    tier="core" if cell.tier == "core" else "stress",
                    slices=cell.slices,
                    method=cell.setting.method,
                    scores={},
                ),
            )
            interval = finding.intervals.scores.get((cell.model, cell.configuration))
            row.scores[cell.model] = _tally(each, interval)
    return BenchmarkRow(
        benchmark=finding.benchmark,
        items=finding.items,
        unit=finding.unit,
        units=finding.units,
        direction="lower_is_better" if finding.lower_is_better else "higher_is_better",
        intervals=_intervals(finding.intervals),
        envelope=tuple(rows.values()),
        scopes=tuple(_scope(each) for each in finding.scopes),
        tests=finding.tests,
        ordering_claims=finding.ordering_claims,
        between=tuple(_between(each) for each in finding.analysis.between),
        agreements=tuple(AgreementRow(**asdict(each)) for each in finding.analysis.agreements),
    )


def _intervals(found: UnitIntervals) -> IntervalsRow:
    return IntervalsRow(
        method=INTERVAL_METHOD,
        assumption=interval_assumption(found.unit),
        level=found.level,
        unit=found.unit,
        units=found.units,
        resamples=found.resamples,
        seed=found.seed,
        gaps=tuple(
            PairGapsRow(
                a=each.a,
                b=each.b,
                mean=GapRow(**asdict(each.mean)),
                by_configuration={name: GapRow(**asdict(gap)) for name, gap in each.by_configuration.items()},
            )
            for each in found.gaps
        ),
    )


def _between(found: Between) -> BetweenRow:
    one, other = found.dispersion_a, found.dispersion_b
    return BetweenRow(
        a=found.a,
        b=found.b,
        rows=found.rows,
        change=_change(found.change),
        range_a=float(one.greatest - one.least),
        range_b=float(other.greatest - other.least),
        sdi_a=_share(one.sdi),
        sdi_b=_share(other.sdi),
    )


def _tally(score: CellScore, interval: tuple[float, float] | None) -> Tally:
    return Tally(
        trials=score.trials,
        scored=score.scored,
        parsed=score.parsed,
        correct=score.correct,
        standard_error=score.standard_error,
        interval=interval,
        rows=score.rows,
    )


def _scope(finding: ScopeFinding) -> ScopeRow:
    scope, seen = finding.scope, finding.orderings
    return ScopeRow(
        kind=scope.kind,
        name=scope.name,
        declared=scope.declared,
        size=len(scope.configurations),
        configurations=scope.configurations,
        pairs=tuple(_pair(each) for each in finding.pairs),
        orderings=OrderingCounts(
            possible=seen.possible,
            strict=len(seen.strict),
            weak=len(seen.weak),
            by_name=seen.by_name,
            permutation_rate=float(seen.permutation_rate),
            measured=seen.measured,
            seen=tuple(
                OrderingRow(order=order, configuration=where) for order, where in sorted(seen.weak.items())
            ),
        ),
        mismatch=_share(finding.mismatch.weak),
        mismatch_by_name=_share(finding.mismatch.by_name),
        tau_r=finding.tau,
        tau_r_dropped=finding.tau_dropped,
    )


def _readable(finding: PairFinding) -> ReadableRow:
    counts = finding.readable
    return ReadableRow(
        measured=counts.measured,
        plus=counts.plus,
        minus=counts.minus,
        ties=counts.ties,
        rho_flip=float(counts.rho_flip),
        d1=counts.d1,
        d2=counts.d2,
        words=counts.words,
        agrees=not finding.parted,
    )


def _pair(finding: PairFinding) -> PairRow:
    counts = finding.counts
    return PairRow(
        a=counts.a,
        b=counts.b,
        size=counts.size,
        measured=counts.measured,
        plus=counts.plus,
        minus=counts.minus,
        ties=counts.ties,
        rho_flip=float(counts.rho_flip),
        ceiling=float(counts.ceiling),
        disagreement=None if counts.disagreement is None else float(counts.disagreement),
        d1=counts.d1,
        d2=counts.d2,
        verdicts=counts.verdicts,
        words=counts.words,
        minority_bound=counts.minority_bound,
        until_both=counts.until_both,
        per_protocol=_readable(finding),
        noise=NoiseRow(**asdict(finding.noise)),
        evidence=finding.evidence,
        witness_plus=_witness(counts.witness_plus),
        witness_minus=_witness(counts.witness_minus),
        rows=finding.rows,
    )


def _share(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _witness(witness: Witness | None) -> WitnessRow | None:
    if witness is None:
        return None
    a, b = witness.a, witness.b
    return WitnessRow(
        configuration=witness.configuration,
        a=(a.numerator, a.denominator),
        b=(b.numerator, b.denominator),
    )
