"""Findings -> Scorecard."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp
from typing import Any

from gridc.reports.findings.changes import ScoreChange
from gridc.reports.findings.conduct import CONDUCT
from gridc.reports.findings.curves import CURVES, CurveFinding, WithoutModel
from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.findings.scores import CellScore
from gridc.reports.findings.sensitivity import sensitivities
from gridc.reports.printed import as_markdown
from gridc.reports.scorecard import tables
from gridc.reports.scorecard.methodology import methodology
from gridc.reports.scorecard.validity import checklist, claims, integrity, threats
from gridc.reports.templates import markdown, render
from gridc.schema.models import Model
from gridc.schema.scorecard import (
    FORMAT,
    CurveRow,
    MatrixRow,
    ModelScore,
    Scorecard,
    ScoreChangeRow,
    SensitivityRow,
    WithoutRow,
)
from gridc.schema.spec import Spec
from gridc.statistics.resample import LEVEL


def make_scorecard(findings: Findings) -> Scorecard:
    """The scorecard of a study, complete or not."""
    spec = findings.plan.study.spec
    directions = {benchmark.benchmark: benchmark.direction for benchmark in findings.benchmarks}
    cells = [cell for row in findings.benchmarks for cell in row.cells]
    profiles = sensitivities(cells, directions)
    return Scorecard.of(
        findings,
        format=FORMAT,
        gridc=findings.lock.gridc,
        level=LEVEL,
        lower_is_better={name: direction.lower for name, direction in directions.items()},
        targets={
            name: direction.target for name, direction in directions.items() if direction.target is not None
        },
        methodology=methodology(findings),
        models=tuple(
            score_model(spec, findings.benchmarks, model, profiles.get(model.id)) for model in spec.model
        ),
        curves=tuple(_curve(curve) for curve in findings[CURVES]),
        integrity=tuple(integrity(findings)),
        threats=tuple(threats(findings)),
        checklist=tuple(checklist(findings)),
        claims=tuple(claims(findings)),
        observed=findings[CONDUCT].observed,
        not_varied=spec.study.not_varied,
    ).as_written()


def _curve(curve: CurveFinding) -> CurveRow:
    summary, contrast = curve.summary, curve.contrast
    return CurveRow.of(
        curve,
        contrast,
        stated=curve.ran.stated,
        run=len(curve.specifications),
        fitted=len(curve.fitted),
        median=None if summary is None else exp(summary.median),
        quartiles=None if summary is None else (exp(summary.low), exp(summary.high)),
        same_side=curve.same_sign,
        below=None if summary is None else summary.below,
        above=None if summary is None else summary.above,
        permutation_p=None if curve.permutation is None else curve.permutation.p_median,
        without=tuple(map(_without, curve.without)),
    )


def _without(without: WithoutModel) -> WithoutRow:
    fitted = None if without.default is None else without.default.fitted
    return WithoutRow(
        model=without.model,
        odds_ratio=None if fitted is None else exp(fitted.estimate),
        interval=None if fitted is None else (exp(fitted.low), exp(fitted.high)),
        p=None if fitted is None else fitted.p,
        median=None if without.summary is None else exp(without.summary.median),
    )


def score_model(
    spec: Spec, benchmarks: Sequence[BenchmarkFinding], model: Model, profile: SensitivityRow | None
) -> ModelScore:
    """One model's matrix and profile."""
    references = {
        row.benchmark: finding.anchor.cell.configuration
        for row in benchmarks
        for finding in row.models
        if finding.model == model.id
    }
    return ModelScore(
        model=model.id,
        note=model.note,
        reference=references,
        matrix=tuple(
            matrix_row
            for row in benchmarks
            for matrix_row in _matrix(spec, row, model.id, references[row.benchmark])
        ),
        sensitivity=profile,
    )


def _matrix(spec: Spec, row: BenchmarkFinding, model: str, reference: str) -> Iterator[MatrixRow]:
    moved = {change.configuration: change for change in row.changes if change.model == model}
    mine = [cell for cell in row.cells if cell.cell.shared and cell.cell.model == model]
    start = next(cell_score.cell.levels for cell_score in mine if cell_score.cell.configuration == reference)
    for score in mine:
        yield _cell(spec, row, score, moved.get(score.cell.configuration), start)


def _cell(
    spec: Spec, row: BenchmarkFinding, score: CellScore, change: ScoreChange | None, start: Mapping[str, str]
) -> MatrixRow:
    cell = score.cell
    return MatrixRow.of(
        cell,
        score,
        levels={axis: level for axis, level in cell.levels.items() if start[axis] != level},
        rate=score.score,
        interval=row.intervals.scores.get((cell.model, cell.configuration)),
        readable=None if score.parse_rate is None else score.parsed,
        change=None if change is None else _change(spec, change),
    )


def _change(spec: Spec, change: ScoreChange) -> ScoreChangeRow:
    return ScoreChangeRow.of(
        change.itt,
        number_needed=change.itt.needed(spec.analysis.nnh.rounding if spec.analysis.nnh else "ceil"),
        per_protocol=None if change.pp is None else change.pp.difference,
        per_protocol_interval=None if change.pp is None else change.pp.interval,
        rows=change.rows,
    )


FOLLOWING = ("sensitivity", "hypotheses", "curves", "integrity", "threats", "checklist", "claims")
"""The tables behind the models, in order."""
SHOWN: tuple[Callable[..., Any], ...] = (
    tables.first_columns, tables.by_benchmark, tables.change_words, tables.matrix_table,
)  # fmt: skip
"""What the page's template calls."""


def as_html(card: Scorecard) -> str:
    """The page."""
    shown = {table.id: table for table in tables.scorecard_tables(card)}
    return render(
        "scorecard.html.jinja",
        card=card,
        held=tables.HELD,
        needed_note=tables.NEEDED_NOTE,
        tables={name: shown[name] for name in FOLLOWING},
        **{function.__name__: function for function in SHOWN},
    )


def as_text(card: Scorecard) -> str:
    """The scorecard in Markdown."""
    ran = "" if card.stamp == card.registered else f", as it ran `{card.stamp}`"
    head = [
        f"# Scorecard: {markdown(card.title)}",
        "",
        f"Study {markdown(card.study)}, stamp `{card.registered}`{ran}, results `{card.results}`.",
        "",
    ]
    if not card.complete:
        head += ["**The run is incomplete. Every number here is an interim look.**", ""]
    body = [as_markdown(table) for table in tables.scorecard_tables(card)]
    rest = ["## Not varied", "", *[f"- {markdown(dimension)}" for dimension in card.not_varied], ""]
    return "\n".join([*head, *body, *rest])
