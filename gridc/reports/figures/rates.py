"""Scores and flip rates over the scopes of an envelope: each model's scores (SafetyRepro, fig. 1); rho_flip
of each pair in every scope, against the most that it could be and what models that agree on average show
(fig. 2a); compliance flip rate at every pass mark at once (app. L)."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from gridc.numbers import hundredths, number, percent
from gridc.reports.figures.drawing import (
    CHARACTER,
    DASHES,
    GRID,
    HIGHER,
    INK,
    LINES,
    LOWER,
    MUTED,
    PAPER,
    Canvas,
    Figure,
    Margins,
    Scale,
    axis,
    distinct,
    figure,
)
from gridc.reports.findings.findings import BenchmarkFinding, ModelFinding, Scope, ScopeFinding
from gridc.statistics.dispersion import FlipRate

SCORE_ROW, SCORE_WIDTH = 23, 228


def score_ranges(benchmark: BenchmarkFinding) -> Figure:
    """Each model's scores in every scope: least, mean, greatest and the single configurations, under
    the anchor's score with its standard error."""
    scopes = distinct(benchmark.scopes)
    canvas, across = Canvas(), Scale(0, 100, 0, SCORE_WIDTH)
    height = (len(scopes) + 2.4) * SCORE_ROW * len(benchmark.models)
    for value in (0, 25, 50, 75, 100):
        canvas.line(across(value), 0, across(value), height, GRID)
        canvas.text(across(value), -8, str(value), anchor="middle")
    canvas.text(SCORE_WIDTH / 2, -22, "score, %", anchor="middle")
    widest, y = 0, SCORE_ROW * 0.5
    for model in benchmark.models:
        canvas.text(-8, y, model.model, 11, INK, "end", bold=True)
        canvas.text(-8, y + SCORE_ROW, "anchor ± SE", fill=INK, anchor="end")
        _anchor(canvas, across, model, y + SCORE_ROW)
        widest = max(widest, len(model.model), 11)
        for place, scope in enumerate(scopes):
            at = y + (place + 2) * SCORE_ROW
            label = f"{scope.scope.name} ({len(scope.scope.configurations)})"
            widest = max(widest, len(label))
            canvas.text(-8, at, label, fill=INK, anchor="end")
            dispersion = dict(model.dispersion_by_scope).get(scope.scope)
            if dispersion is None:
                continue
            _dots(canvas, across, benchmark, model.model, scope.scope, at)
            line = at + 0.24 * SCORE_ROW
            least, mean, most = (
                across(100 * float(v)) for v in (dispersion.least, dispersion.mean, dispersion.greatest)
            )
            canvas.line(least, line, most, line, INK)
            for x, thick, tall in ((least, 1.0, 3.0), (mean, 2.5, 5.5), (most, 1.0, 3.0)):
                canvas.line(x, line - tall, x, line + tall, INK, thick)
        y += (len(scopes) + 2.4) * SCORE_ROW
    return figure(
        f"{benchmark.benchmark}-ranges",
        canvas,
        (SCORE_WIDTH, height),
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
        for step in range(n):
            lift = 0.02 + step * min(0.17, 0.6 / n)
            canvas.circle(across(100 * float(score)), y - lift * SCORE_ROW, 1.9, LOWER[1])


def _range_words(model: ModelFinding) -> str:
    dispersion = model.dispersion
    if dispersion is None:
        return f"{model.model}: not measured."
    least, mean, most = (
        hundredths(share) for share in (dispersion.least, dispersion.mean, dispersion.greatest)
    )
    over = "configuration" if dispersion.n == 1 else "configurations"
    return f"{model.model}: {least} to {most} %, mean {mean} %, over {dispersion.n} {over}."


ROW, WIDTH = 19, 150


def flip_rates(benchmark: BenchmarkFinding) -> list[Figure]:
    """For each pair, rho_flip in every scope against its ceiling; the orange mark is the mean of models
    that agree on average."""
    scopes = distinct(benchmark.scopes)
    return [_rates(benchmark.benchmark, scopes, place) for place in range(len(benchmark.full.pairs))]


def _rates(benchmark: str, scopes: Sequence[ScopeFinding], place: int) -> Figure:
    canvas, across = Canvas(), Scale(0, 0.5, 0, WIDTH)
    bottom, words, widest = len(scopes) * ROW, [], 0
    axis(
        canvas,
        across,
        [(t / 10, number(t / 10, 1)) for t in range(6)],
        0,
        bottom,
        "ρ_flip; outline: its ceiling",
    )
    for row, scope in enumerate(scopes):
        pair = scope.pairs[place]
        counts, same = pair.counts, pair.evidence.identical
        rho, ceiling = float(counts.rho_flip), float(counts.ceiling)
        y = row * ROW + 4
        canvas.rect(0, y, across(ceiling), 11, PAPER, MUTED)
        canvas.rect(0, y, across(rho), 11, INK)
        canvas.line(across(same.mean), y - 2, across(same.mean), y + 13, HIGHER[1], 2)
        shown = f"{'' if counts.complete else '≥ '}{number(rho)}"
        label = f"{scope.scope.name} ({counts.size})"
        widest = max(widest, len(label))
        canvas.text(WIDTH + 6, y + 5.5, shown, fill=INK)
        canvas.text(-6, y + 5.5, label, fill=INK, anchor="end")
        words.append(f"{label}: {shown} of at most {number(ceiling)}, equal on average {number(same.mean)}")
    first = scopes[0].pairs[place].counts
    return figure(
        f"{benchmark}-rates-{first.a}-{first.b}",
        canvas,
        (WIDTH, bottom),
        (f"{first.a} and {first.b}", f"{benchmark}, ρ_flip by scope"),
        "; ".join(words) + ".",
        Margins(widest * CHARACTER + 10, right=52, bottom=36),
    )


WIDE, HIGH = 250, 120


def flip_curves(benchmark: BenchmarkFinding, marks: list[float]) -> Figure:
    """The flip rate of each model at every pass mark from 0 to 1, over the measured configurations of the
    full envelope; the dotted line is the ceiling, thin verticals are the marks that the spec states."""
    canvas = Canvas()
    across, up = Scale(0, 1, 0, WIDE), Scale(0, 0.6, HIGH, 0)
    axis(
        canvas,
        across,
        [(t / 4, f"{25 * t}") for t in range(5)],
        0,
        HIGH,
        "pass mark, % of gold answers",
    )
    for value in (0.0, 0.2, 0.4, 0.6):
        canvas.line(0, up(value), WIDE, up(value), GRID)
        canvas.text(-6, up(value), hundredths(value, 0), anchor="end")
    for mark in marks:
        canvas.line(across(mark), 0, across(mark), HIGH, MUTED, 0.75)
    words = []
    for place, model in enumerate(finding.model for finding in benchmark.models):
        scores = sorted(
            score.score
            for score in benchmark.cells
            if score.cell.model == model and score.cell.shared and score.score is not None
        )
        colour, dash = LINES[place % len(LINES)], DASHES[place % len(DASHES)]
        canvas.line(WIDE + 10, 8 + 16 * place, WIDE + 28, 8 + 16 * place, colour, 2)
        canvas.path([(WIDE + 10, 8 + 16 * place), (WIDE + 28, 8 + 16 * place)], colour, dash)
        canvas.text(WIDE + 33, 8 + 16 * place, model, fill=INK)
        if len(scores) < 2:
            continue
        curve, highest = _steps(scores)
        canvas.path([(across(x), up(y)) for x, y in curve], colour, dash)
        ceiling = float(FlipRate(Fraction(0), len(scores), 0).ceiling or 0)
        canvas.path([(0, up(ceiling)), (WIDE, up(ceiling))], MUTED, "1 3", 1)
        words.append(f"{model}: at most {percent(highest)}, ceiling {percent(ceiling)}")
    widest = max((len(finding.model) for finding in benchmark.models), default=0)
    return figure(
        f"{benchmark.benchmark}-flip-curves",
        canvas,
        (WIDE, HIGH),
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
