"""Findings -> Scorecard."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from gridc.reports.findings.changes import Change, Moved
from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.findings.scores import CellScore
from gridc.reports.findings.sensitivity import Sensitivity, sensitivities
from gridc.reports.scorecard.methodology import methodology
from gridc.reports.scorecard.validity import checklist, claims, integrity, threats
from gridc.schema.scorecard import (
    FORMAT,
    ChangeRow,
    DeviationLine,
    MatrixRow,
    ModelScore,
    Needed,
    Scorecard,
    SensitivityRow,
)
from gridc.schema.spec import Model, Spec
from gridc.statistics.resample import LEVEL


def make_scorecard(findings: Findings) -> Scorecard:
    """The scorecard of a study, complete or not."""
    spec = findings.plan.study.spec
    lower = {each.benchmark: each.lower_is_better for each in findings.benchmarks}
    cells = [each for row in findings.benchmarks for each in row.cells]
    profiles = {each.model: each for each in sensitivities(cells, lower)}
    return Scorecard(
        format=FORMAT,
        study=spec.study.id,
        title=spec.study.title,
        gridc=findings.lock.gridc,
        stamp=findings.plan.study_digest,
        registered=findings.lock.stamp,
        results=findings.results,
        complete=findings.complete,
        level=LEVEL,
        lower_is_better=lower,
        methodology=methodology(findings),
        models=tuple(
            score_model(spec, findings.benchmarks, model, profiles.get(model.id)) for model in spec.model
        ),
        integrity=tuple(integrity(findings)),
        threats=tuple(threats(findings)),
        checklist=tuple(checklist(findings)),
        claims=tuple(claims(findings)),
        deviations=tuple(_deviation(each) for each in findings.deviations),
        observed=findings.conduct.observed,
        not_varied=spec.study.not_varied,
    )


def needed(moved: Moved, rounding: str = "ceil") -> Needed:
    """The number needed of a difference, as documents hold it. Infinite numbers are null."""
    found = moved.needed
    shown = found.display
    if rounding == "round" and shown is not None:
        shown = round(found.number)
    inside = found.low is not None and found.high is not None
    return Needed(
        kind=found.kind,  # type: ignore[arg-type]
        number=_finite(found.number),
        shown=shown,
        interval=(found.low, found.high) if inside else None,  # type: ignore[arg-type]
        through_infinity=None
        if found.harm is None or found.benefit is None
        else (_finite(found.harm), _finite(found.benefit)),
    )


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def score_model(
    spec: Spec, benchmarks: Sequence[BenchmarkFinding], model: Model, profile: Sensitivity | None
) -> ModelScore:
    """One model's matrix and profile."""
    references = {
        row.benchmark: each.anchor.cell.configuration
        for row in benchmarks
        for each in row.models
        if each.model == model.id
    }
    return ModelScore(
        model=model.id,
        note=model.note,
        reference=references,
        matrix=tuple(
            each for row in benchmarks for each in _matrix(spec, row, model.id, references[row.benchmark])
        ),
        sensitivity=None if profile is None else SensitivityRow.of(profile),
    )


def _matrix(spec: Spec, row: BenchmarkFinding, model: str, reference: str) -> Iterator[MatrixRow]:
    moved = {each.configuration: each for each in row.changes if each.model == model}
    mine = [each for each in row.cells if each.cell.shared and each.cell.model == model]
    start = next(each.cell.levels for each in mine if each.cell.configuration == reference)
    for each in mine:
        yield _cell(spec, row, each, moved.get(each.cell.configuration), start)


def _cell(
    spec: Spec, row: BenchmarkFinding, score: CellScore, change: Change | None, start: Mapping[str, str]
) -> MatrixRow:
    cell = score.cell
    return MatrixRow(
        benchmark=cell.benchmark,
        configuration=cell.configuration,
        levels={axis: level for axis, level in cell.levels.items() if start[axis] != level},
        points=float(score.points),
        trials=score.trials,
        rate=None if score.score is None else float(score.score),
        interval=row.intervals.scores.get((cell.model, cell.configuration)),
        readable=None if score.parse_rate is None else score.parsed,
        per_protocol=None if score.per_protocol is None else float(score.per_protocol),
        change=None if change is None else _change(spec, change),
        rows=score.rows,
    )


def _change(spec: Spec, change: Change) -> ChangeRow:
    return ChangeRow(
        difference=float(change.itt.difference),
        interval=change.itt.interval,
        needed=needed(change.itt, spec.analysis.nnh.rounding if spec.analysis.nnh else "ceil"),
        per_protocol=None if change.pp is None else float(change.pp.difference),
        per_protocol_interval=None if change.pp is None else change.pp.interval,
        rows=change.rows,
    )


def _deviation(entry: Mapping[str, Any]) -> DeviationLine:
    kept = {key: value for key, value in entry.items() if key in DeviationLine.model_fields}
    return DeviationLine(**kept, paths=tuple(each["path"] for each in entry["changes"]))
