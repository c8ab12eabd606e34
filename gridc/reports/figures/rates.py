"""Flip rates. rho_flip of each pair in every scope, against the most that it could be and what models that
agree on average show (SafetyRepro, fig. 2a); compliance flip rate at every pass mark at once (app. L)."""

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
from gridc.reports.findings.findings import BenchmarkFinding, ScopeFinding
from gridc.statistics.dispersion import FlipRate

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
