"""Score against what answers take: a point for each model and configuration, with both intervals."""

from math import floor, log10

from gridc.numbers import in_unit, percent
from gridc.reports.figures.drawing import (
    CHARACTER,
    GRID,
    INK,
    LINES,
    Canvas,
    Figure,
    Margins,
    Scale,
    draw_axis,
    figure,
)
from gridc.reports.findings.findings import BenchmarkFinding
from gridc.reports.findings.summaries import StatedStatistic

WIDTH, HEIGHT, LEGEND_ROW = 300, 190, 14
MOST_SPANS = 40
"""Of more points the intervals would hide each other, and stand in the tables alone."""


def score_against(summary: StatedStatistic, benchmark: BenchmarkFinding) -> Figure | None:
    """Of a mean that has a unit of its own, on this benchmark alone; None of another statistic, and where
    fewer than two points are known."""
    if summary.kind != "mean" or summary.unit == "%" or summary.benchmarks != (benchmark.benchmark,):
        return None
    points = [
        (cell.cell.model, cell.cell.configuration, cell.score, found)
        for cell in benchmark.cells
        if cell.score is not None
        and (found := summary.values.get(cell.cell.model, {}).get(cell.cell.configuration)) is not None
        and found.value is not None
    ]
    if len(points) < 2:
        return None
    spans = len(points) <= MOST_SPANS
    models = list(dict.fromkeys(model for model, *_ in points))
    ends = [found.interval[1] if spans and found.interval else found.value or 0.0 for *_, found in points]
    most = max(*ends, 1e-12)
    canvas, across, up = Canvas(), Scale(0, most, 0, WIDTH), Scale(0, 100, HEIGHT, 0)
    step = _step(most)
    ticks = [step * place for place in range(int(most / step) + 1)]
    draw_axis(
        canvas, across, [(tick, f"{tick:g}") for tick in ticks], 0, HEIGHT, f"{summary.id}, {summary.unit}"
    )
    for share in (0, 25, 50, 75, 100):
        canvas.line(0, up(share), WIDTH, up(share), GRID)
        canvas.text(-6, up(share), str(share), anchor="end")
    canvas.text(-32, HEIGHT / 2, "score, %", anchor="middle", upright=True)
    for model, configuration, score, found in points:
        colour = LINES[models.index(model) % len(LINES)]
        x, y = across(found.value or 0.0), up(100 * float(score or 0))
        if spans and found.interval is not None:
            canvas.line(across(found.interval[0]), y, across(found.interval[1]), y, colour)
        limits = benchmark.intervals.scores.get((model, configuration))
        if spans and limits is not None:
            canvas.line(x, up(100 * limits[0]), x, up(100 * limits[1]), colour)
        _mark(canvas, models.index(model), x, y, colour)
    for place, model in enumerate(models):
        at = 8 + place * LEGEND_ROW
        _mark(canvas, place, WIDTH + 16, at, LINES[place % len(LINES)])
        canvas.text(WIDTH + 26, at, model, fill=INK)
    return figure(
        f"{benchmark.benchmark}-score-against-{summary.id}",
        canvas,
        (WIDTH, max(HEIGHT + 30, len(models) * LEGEND_ROW)),
        (f"Score on {benchmark.benchmark} against {summary.id}", "by model and configuration"),
        "; ".join(
            f"{model} under {configuration}: {percent(score)} at {in_unit(found.value, summary.unit)}"
            for model, configuration, score, found in points
        )
        + ".",
        Margins(left=46, right=34 + max(map(len, models)) * CHARACTER, top=44, bottom=10),
    )


def _mark(canvas: Canvas, model: int, x: float, y: float, colour: str) -> None:
    """A shape for each model, so that nothing is told by colour alone."""
    if model % 3 == 0:
        canvas.circle(x, y, 3, colour)
    elif model % 3 == 1:
        canvas.diamond(x, y, 4.2, colour)
    else:
        canvas.rect(x - 2.7, y - 2.7, 5.4, 5.4, colour)


def _step(most: float) -> float:
    """1, 2 or 5 times a power of ten, so that three to seven ticks fit."""
    size = 10.0 ** floor(log10(most))
    return next(part * size for part in (0.2, 0.5, 1, 2) if most / (part * size) <= 6)
