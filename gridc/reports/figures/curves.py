"""Compliance flip rate against the pass mark (SafetyRepro, app. L): every mark at once."""

from fractions import Fraction

from gridc.reports.figures.drawing import (
    DASHES,
    GRID,
    INK,
    LINES,
    MUTED,
    Canvas,
    Figure,
    Margins,
    Scale,
    axis,
    figure,
)
from gridc.reports.findings.findings import BenchmarkFinding
from gridc.reports.words import percent
from gridc.statistics.dispersion import FlipRate

WIDTH, HEIGHT = 250, 120


def flip_curves(benchmark: BenchmarkFinding, marks: list[float]) -> Figure:
    """The flip rate of each model at every pass mark from 0 to 1, over the measured configurations of the
    full envelope; the dotted line is the ceiling, thin verticals are the marks that the spec states."""
    canvas = Canvas()
    across, up = Scale(0, 1, 0, WIDTH), Scale(0, 0.6, HEIGHT, 0)
    axis(canvas, across, [(t / 4, f"{25 * t}") for t in range(5)], 0, HEIGHT, "pass mark, % of gold answers")
    for value in (0.0, 0.2, 0.4, 0.6):
        canvas.line(0, up(value), WIDTH, up(value), GRID)
        canvas.text(-6, up(value), f"{100 * value:.0f}", anchor="end")
    for mark in marks:
        canvas.line(across(mark), 0, across(mark), HEIGHT, MUTED, 0.75)
    words = []
    for number, model in enumerate(finding.model for finding in benchmark.models):
        scores = sorted(
            score.score
            for score in benchmark.cells
            if score.cell.model == model and score.cell.shared and score.score is not None
        )
        colour, dash = LINES[number % len(LINES)], DASHES[number % len(DASHES)]
        canvas.line(WIDTH + 10, 8 + 16 * number, WIDTH + 28, 8 + 16 * number, colour, 2)
        canvas.path([(WIDTH + 10, 8 + 16 * number), (WIDTH + 28, 8 + 16 * number)], colour, dash)
        canvas.text(WIDTH + 33, 8 + 16 * number, model, fill=INK)
        if len(scores) < 2:
            continue
        curve, highest = _steps(scores)
        canvas.path([(across(x), up(y)) for x, y in curve], colour, dash)
        ceiling = float(FlipRate(Fraction(0), len(scores), 0).ceiling or 0)
        canvas.path([(0, up(ceiling)), (WIDTH, up(ceiling))], MUTED, "1 3", 1)
        words.append(f"{model}: at most {percent(highest)}, ceiling {percent(ceiling)}")
    widest = max((len(finding.model) for finding in benchmark.models), default=0)
    return figure(
        f"{benchmark.benchmark}-flip-curves",
        canvas,
        (WIDTH, HEIGHT),
        (f"CFR on {benchmark.benchmark}", "% of pairs of configurations that disagree on passing"),
        "; ".join(words) + ".",
        Margins(30, right=widest * 6.0 + 44, bottom=36),
    )


def _steps(scores: list[Fraction]) -> tuple[list[tuple[float, float]], float]:
    """The curve's corners: it changes only just above a score."""
    n, points, highest, left = len(scores), [], 0.0, 0.0
    failing = 0
    for score in [*dict.fromkeys(scores), Fraction(1)]:
        rate = float(FlipRate(Fraction(0), n, n - failing).rate or 0)
        highest = max(highest, rate)
        points += [(left, rate), (float(score), rate)]
        left = float(score)
        failing = sum(lower <= score for lower in scores)
    return points, highest
