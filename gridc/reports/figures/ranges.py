"""How far each model's score moves over the scopes of an envelope (SafetyRepro, fig. 1)."""

from collections import Counter

from gridc.numbers import hundredths
from gridc.reports.figures.drawing import (
    CHARACTER,
    GRID,
    HIGHER,
    INK,
    LOWER,
    Canvas,
    Figure,
    Margins,
    Scale,
    distinct,
    figure,
)
from gridc.reports.findings.findings import BenchmarkFinding, ModelFinding, Scope

ROW, WIDTH = 23, 228


def score_ranges(benchmark: BenchmarkFinding) -> Figure:
    """Each model's scores in every scope: least, mean, greatest and the single configurations, under
    the anchor's score with its standard error."""
    scopes = distinct(benchmark.scopes)
    canvas, across = Canvas(), Scale(0, 100, 0, WIDTH)
    height = (len(scopes) + 2.4) * ROW * len(benchmark.models)
    for value in (0, 25, 50, 75, 100):
        canvas.line(across(value), 0, across(value), height, GRID)
        canvas.text(across(value), -8, str(value), anchor="middle")
    canvas.text(WIDTH / 2, -22, "score, %", anchor="middle")
    widest, y = 0, ROW * 0.5
    for model in benchmark.models:
        canvas.text(-8, y, model.model, 11, INK, "end", bold=True)
        canvas.text(-8, y + ROW, "anchor ± SE", fill=INK, anchor="end")
        _anchor(canvas, across, model, y + ROW)
        widest = max(widest, len(model.model), 11)
        for place, scope in enumerate(scopes):
            at = y + (place + 2) * ROW
            label = f"{scope.scope.name} ({len(scope.scope.configurations)})"
            widest = max(widest, len(label))
            canvas.text(-8, at, label, fill=INK, anchor="end")
            dispersion = dict(model.dispersion_by_scope).get(scope.scope)
            if dispersion is None:
                continue
            _dots(canvas, across, benchmark, model.model, scope.scope, at)
            line = at + 0.24 * ROW
            least, mean, most = (
                across(100 * float(v)) for v in (dispersion.least, dispersion.mean, dispersion.greatest)
            )
            canvas.line(least, line, most, line, INK)
            for x, thick, tall in ((least, 1.0, 3.0), (mean, 2.5, 5.5), (most, 1.0, 3.0)):
                canvas.line(x, line - tall, x, line + tall, INK, thick)
        y += (len(scopes) + 2.4) * ROW
    return figure(
        f"{benchmark.benchmark}-ranges",
        canvas,
        (WIDTH, height),
        (f"Scores on {benchmark.benchmark}", "by model and scope"),
        " ".join(_range_words(model) for model in benchmark.models),
        Margins(widest * CHARACTER + 12, right=10, top=68),
    )


def _anchor(canvas: Canvas, across: Scale, model: ModelFinding, y: float) -> None:
    if model.anchor.score is None:
        return
    score, error = 100 * float(model.anchor.score), 100 * (model.anchor.standard_error or 0.0)
    canvas.line(across(max(score - error, 0.0)), y, across(min(score + error, 100.0)), y, HIGHER[1], 2)
    canvas.diamond(across(score), y, 4.5, HIGHER[1])


def _dots(
    canvas: Canvas, across: Scale, benchmark: BenchmarkFinding, model: str, scope: Scope, y: float
) -> None:
    """A dot for each configuration, above the row's range; equal scores are stacked, as far as there is
    room."""
    chosen = set(scope.configurations)
    counted = Counter(
        cell.score
        for cell in benchmark.cells
        if cell.cell.model == model and cell.cell.configuration in chosen and cell.score is not None
    )
    for score, n in counted.items():
        for number in range(n):
            lift = 0.02 + number * min(0.17, 0.6 / n)
            canvas.circle(across(100 * float(score)), y - lift * ROW, 1.9, LOWER[1])


def _range_words(model: ModelFinding) -> str:
    dispersion = model.dispersion
    if dispersion is None:
        return f"{model.model}: not measured."
    least, mean, most = (
        hundredths(share) for share in (dispersion.least, dispersion.mean, dispersion.greatest)
    )
    over = "configuration" if dispersion.n == 1 else "configurations"
    return f"{model.model}: {least} to {most} %, mean {mean} %, over {dispersion.n} {over}."
