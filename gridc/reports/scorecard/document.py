"""Makes the scorecard of a study from its findings, and prints its tables."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import exp, isfinite, isinf
from typing import Any

from gridc import __version__
from gridc.numbers import figures, hundredths, in_points, interval_words, p_value, percent
from gridc.reports import quantities
from gridc.reports.findings.changes import ScoreChange, sensitivities
from gridc.reports.findings.conduct import CONDUCT
from gridc.reports.findings.curves import CURVES, CurveFinding, WithoutModel
from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.findings.hypotheses.statistic import values_words
from gridc.reports.findings.scores import CellScore
from gridc.reports.rendering import TextTable, escape_markdown, render_template, table_markdown
from gridc.reports.scorecard.methodology import methodology
from gridc.reports.scorecard.validity import checklist, claims, integrity, threats
from gridc.reports.statements.answer import difference_lines, study_answer, warning_lines
from gridc.schema.hypotheses import ContrastRow, HypothesisRow
from gridc.schema.models import Model
from gridc.schema.scorecard import (
    FORMAT,
    CurveRow,
    Held,
    MatrixRow,
    ModelScore,
    Scorecard,
    ScoreChangeRow,
    SensitivityRow,
    WithoutRow,
)
from gridc.schema.spec import Spec
from gridc.statistics.envelope import LEVEL

HELD: Mapping[Held, str] = {
    "yes": "yes",
    "partly": "in part",
    "no": "no",
    "not_measured": "not measured",
    "not_applicable": "does not apply",
}
STATED = {
    "before_stamp": "before the stamp",
    "changed_after": "changed after the stamp",
    "added_after": "added after the stamp",
    "post_hoc": "after the data",
    "always": "in every study",
}
KEPT = {
    "same": "same side of 0",
    "reversed": "reversed",
    "only_left": "only by the first",
    "only_right": "only by the second",
    "neither": "by neither",
}
NEEDED_NOTE = f"{quantities.NUMBER_NEEDED} Intervals hold for new units, and are wide where units are few."
DIFFERENCE_NOTE = (
    "Differences are from the reference, in points of the better direction: where a lower rate is the better "
    "one, a rate that falls has a difference above 0. Under a target there are none."
)


def scorecard_tables(card: Scorecard) -> Iterator[TextTable]:
    """Every table, in the order of the page."""
    yield methodology_table(card)
    for model in card.models:
        yield matrix_table(model)
    yield sensitivity_table(card.models)
    yield hypothesis_table(card.hypotheses)
    yield curve_table(card.curves)
    yield integrity_table(card)
    yield TextTable(
        "threats", "Threats to validity", ("threat", "what was done", "what remains"),
        tuple((row.threat, row.met, row.left) for row in card.threats),
    )  # fmt: skip
    yield TextTable(
        "checklist", "Checklist", ("recommendation", "followed", "what is shown"),
        tuple((row.recommendation, HELD[row.holds], row.said) for row in card.checklist),
    )  # fmt: skip
    yield claims_table(card)


def methodology_table(card: Scorecard) -> TextTable:
    return TextTable(
        "methodology", "Methodology stamp", ("question", "answer", "what is shown", "evidence"),
        tuple((row.question, HELD[row.holds], row.said, row.evidence) for row in card.methodology),
    )  # fmt: skip


def matrix_table(model: ModelScore) -> TextTable:
    """Every cell of a model."""
    columns = (
        "benchmark",
        "configuration",
        "rate",
        "95 %",
        "readable",
        "per protocol",
        "difference",
        "pp 95 %",
        "needed",
    )
    rows = tuple(
        (
            row.benchmark,
            configuration_change(row.levels),
            percent(row.rate),
            interval_words(row.interval, hundredths),
            "–" if row.readable is None else f"{row.readable:,} of {row.trials:,}",
            percent(row.per_protocol),
            "–" if row.change is None else in_points(row.change.difference),
            "–" if row.change is None else interval_words(row.change.interval, in_points),
            "–" if row.change is None else quantities.needed_cell(row.change.number_needed),
        )
        for row in model.matrix
    )  # fmt: skip
    numeric = frozenset(columns) - {"benchmark", "configuration", "needed"}
    note = f"{DIFFERENCE_NOTE} {NEEDED_NOTE}"
    return TextTable(f"matrix-{model.model}", f"Rates of {model.model}", columns, rows, numeric, note)


def sensitivity_table(models: Iterable[ModelScore]) -> TextTable:
    columns = (
        "model",
        "share of configuration, %",
        "mean range, pp",
        "widest range, pp",
        "where",
        "good answers, %",
    )
    rows = tuple(
        (
            model.model,
            hundredths(row.share, 2),
            hundredths(row.mean_range),
            hundredths(row.max_range),
            row.widest,
            hundredths(row.rate),
        )
        for model in models
        if (row := model.sensitivity) is not None
    )
    note = (
        "The share is eta squared among single answers. Good answers are of all configurations, right ones, "
        "or wrong ones where a lower rate is the better one: their share depends on how many items each "
        "benchmark has, and is no measure of a model."
    )
    numeric = frozenset(columns) - {"model", "where"}
    return TextTable("sensitivity", "Sensitivity to the configuration", columns, rows, numeric, note)


def _verdict(row: HypothesisRow) -> str:
    """The verdict, and the other one where it depends on how unreadable answers are read."""
    if row.otherwise in (None, row.verdict) or row.effect is None:
        return row.verdict
    other = "are left out" if row.effect.reading == "itt" else "count"
    return f"{row.verdict}, but {row.otherwise} where unreadable answers {other}"


def hypothesis_table(rows: Iterable[HypothesisRow]) -> TextTable:
    """A line for each comparison of a hypothesis; one for a ranking."""
    columns = ("id", "claim", "verdict", "p", "comparison", "pp 95 %", "odds ratio", "needed", "margins")
    shown = []
    for row in rows:
        p = " / ".join(map(p_value, (row.support, row.refute)))
        head: tuple[str, ...] = (row.id, row.claim or row.kind, _verdict(row), p)
        if row.ranking is not None:
            counts = f"{row.ranking.agree} agree, {row.ranking.contradict} contradict"
            shown.append((*head, f"{' > '.join(row.ranking.order)}: {counts}", "", "", "", ""))
        if row.statistic is not None:
            shown.append((*head, values_words(row.statistic), "", "", "", ""))
        contrasts = () if row.effect is None else row.effect.contrasts
        if row.effect is not None and not contrasts:
            failure = row.effect.failure
            shown.append((*head, "" if failure is None else failure.words, "", "", "", ""))
        for place, contrast in enumerate(contrasts):
            shown.append((*(head if place == 0 else ("", "", "", "")), *_contrast(contrast)))
    note = (
        "p of support / p of refutation, corrected over the family. Intervals of differences are over "
        "units; odds "
        "ratios are adjusted as the report page says. A difference can be found and lie within the "
        "margin: both stand here. Differences are of the rates themselves: above 0 is higher, whether or not "
        "that is the better direction."
    )
    return TextTable("hypotheses", "Hypotheses", columns, tuple(shown), frozenset(), note)


def _contrast(row: ContrastRow) -> tuple[str, str, str, str, str]:
    change, odds = row.change, row.odds
    moved = in_points(change.difference)
    ratio = "–" if odds is None or isinf(odds.ratio) else figures(odds.ratio)
    if odds is not None and all(map(isfinite, odds.interval)):
        ratio += f" ({interval_words(odds.interval, figures)})"
    margins = [f"{margin.pp:g} pp {'holds' if margin.holds else 'not shown'}" for margin in change.margins]
    recovered = ""
    if row.recovery is not None:
        share = row.recovery.share
        text = "open" if share is None else percent(share, 0)
        if share is not None and row.recovery.interval is not None:
            text += f" ({interval_words(row.recovery.interval, hundredths, 0)})"
        recovered = f"; recovery of {row.recovery.control} {text}"
    return (
        f"{change.level} against {change.reference}{recovered}",
        moved if change.interval is None else f"{moved} ({interval_words(change.interval, in_points)})",
        ratio,
        "–" if row.number_needed is None else quantities.needed_cell(row.number_needed),
        ", ".join(margins) or "–",
    )


def curve_table(curves: Iterable[CurveRow]) -> TextTable:
    """A line for each curve and comparison, then one for each model that is left out."""
    columns = ("curve", "comparison", "run", "odds ratio", "quartiles", "below 1 / above", "permutation p")
    shown = []
    for row in curves:
        declared = "" if row.declared == "ex_ante" else " (after the data)"
        shown.append(
            (
                f"{row.curve}{declared}",
                f"{row.level} against {row.reference}",
                f"{row.run:,} of {row.stated:,}, {row.fitted:,} fitted",
                figures(row.median),
                interval_words(row.quartiles, figures),
                "–"
                if row.below is None or row.above is None
                else f"{percent(row.below)} / {percent(row.above)}",
                p_value(row.permutation_p),
            )
        )
        for left_out in row.without:
            text = (
                f"own choices {figures(left_out.odds_ratio)} ({interval_words(left_out.interval, figures)})"
            )
            shown.append(("", f"without {left_out.model}: {text}", "", figures(left_out.median), "", "", ""))
    note = (
        "Medians and quartiles of odds ratios over the specifications that could be fitted; shares at "
        "the curve’s level."
    )
    return TextTable("curves", "Specification curves", columns, tuple(shown), frozenset(), note)


def integrity_table(card: Scorecard) -> TextTable:
    columns = (
        "model",
        "benchmark",
        "change",
        "first way",
        "pp",
        "second way",
        "pp (second)",
        "interval clear of 0",
    )
    rows = tuple(
        (
            row.model,
            row.benchmark,
            configuration_change(row.change),
            row.left,
            f"{in_points(row.by_left)} {interval_words(row.left_interval, in_points)}",
            row.right,
            f"{in_points(row.by_right)} {interval_words(row.right_interval, in_points)}",
            KEPT[row.kept],
        )
        for row in card.integrity
    )
    note = (
        "Changes of one level that two ways of measuring the same answers see; where both see the same "
        "it is not listed."
    )
    return TextTable("integrity", "Integrity of the measurement", columns, rows, frozenset(), note)


def claims_table(card: Scorecard) -> TextTable:
    columns = ("id", "claim", "stated", "answer", "cases x models x configurations", "reaches")
    rows = tuple(
        (
            row.id,
            row.claim,
            STATED[row.stated],
            row.answer,
            f"{row.cases:,} x {row.models} x {row.configurations}",
            row.reach,
        )
        for row in card.claims
    )
    return TextTable("claims", "Scope of the claims", columns, rows)


def configuration_change(levels: Mapping[str, str]) -> str:
    """What a configuration changes of the reference."""
    return ", ".join(f"{axis} = {level}" for axis, level in levels.items()) or "reference"


def first_columns(model: ModelScore) -> list[dict[str, str]]:
    """The columns of the matrix on the page: the reference, then each change of one level, as the rows
    have them."""
    columns: dict[tuple[tuple[str, str], ...], None] = {}
    axes: dict[str, None] = {}
    for row in model.matrix:
        axes |= dict.fromkeys(part.partition("=")[0] for part in row.configuration.split(","))
        if len(row.levels) < 2:
            columns.setdefault(tuple(row.levels.items()), None)
    order = list(axes)
    return [
        dict(column)
        for column in sorted(columns, key=lambda column: [order.index(axis) for axis, _ in column])
    ]


def matrix_by_benchmark(model: ModelScore) -> dict[str, dict[str, MatrixRow]]:
    """The rows of the matrix on the page, by benchmark and by what they change."""
    by_name: dict[str, dict[str, MatrixRow]] = {}
    for row in model.matrix:
        by_name.setdefault(row.benchmark, {})[configuration_change(row.levels)] = row
    return by_name


def make_scorecard(findings: Findings) -> Scorecard:
    """The scorecard of a study, complete or not."""
    spec = findings.plan.study.spec
    directions = {benchmark.benchmark: benchmark.direction for benchmark in findings.benchmarks}
    cells = [cell for row in findings.benchmarks for cell in row.cells]
    profiles = sensitivities(cells, directions)
    return Scorecard.of(
        findings,
        format=FORMAT,
        answer=study_answer(findings).headline,
        differences=difference_lines(findings),
        warnings=warning_lines(findings),
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
        earlier=findings.earlier,
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
        without=tuple(map(_without_row, curve.without)),
    )


def _without_row(without: WithoutModel) -> WithoutRow:
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
            if row.benchmark in references
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
        number_needed=change.itt.number_needed(spec.analysis.nnh.rounding if spec.analysis.nnh else "ceil"),
        per_protocol=None if change.pp is None else change.pp.difference,
        per_protocol_interval=None if change.pp is None else change.pp.interval,
        rows=change.rows,
    )


FOLLOWING = ("sensitivity", "hypotheses", "curves", "integrity", "threats", "checklist", "claims")
"""The tables behind the models, in order."""
SHOWN: tuple[Callable[..., Any], ...] = (
    first_columns, matrix_by_benchmark, configuration_change, matrix_table,
)  # fmt: skip
"""What the page's template calls."""


def scorecard_html(card: Scorecard) -> str:
    """The page."""
    shown = {table.id: table for table in scorecard_tables(card)}
    return render_template(
        "scorecard.html.jinja",
        card=card,
        version=__version__,
        held=HELD,
        needed_note=NEEDED_NOTE,
        tables={name: shown[name] for name in FOLLOWING},
        **{function.__name__: function for function in SHOWN},
    )


def scorecard_markdown(card: Scorecard) -> str:
    """The scorecard in Markdown."""
    ran = "" if card.stamp == card.registered else f", as it ran `{card.stamp}`"
    head = [
        f"# Scorecard: {escape_markdown(card.title)}",
        "",
        f"**{escape_markdown(card.answer)}**",
        "",
        *(f"- {escape_markdown(line)}" for line in card.differences),
        *(f"- **Warning.** {escape_markdown(line)}" for line in card.warnings),
        "",
        f"Study {escape_markdown(card.study)}, stamp `{card.registered}`{ran}, results `{card.results}`."
        if card.recorded is None
        else f"Runs {escape_markdown(card.recorded.provenance)}; results `{card.results}`.",
        "",
    ]
    if not card.complete:
        head += ["**The run is incomplete. Every number here is an interim look.**", ""]
    body = [table_markdown(table) for table in scorecard_tables(card)]
    held = [f"- {escape_markdown(dimension)}" for dimension in card.not_varied]
    rest = ["## Not varied", "", *held, ""] if card.recorded is None else []
    return "\n".join([*head, *body, *rest])
