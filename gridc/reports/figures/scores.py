"""Draws the figures of a benchmark: scores and flip rates by scope, orders, variance shares and parse rates.

Scores and flip rates over the scopes of an envelope: each model's scores (SafetyRepro, fig. 1); rho_flip
of each pair in every scope, against the most that it could be and what models that agree on average show
(fig. 2a); compliance flip rate at every pass mark at once (app. L).
"""

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
    ON_PALE,
    PAPER,
    TIE,
    Canvas,
    Figure,
    Margins,
    Scale,
    distinct_scopes,
    draw_axis,
    figure,
)
from gridc.reports.findings.analysis import VarianceShares
from gridc.reports.findings.findings import BenchmarkFinding, ModelFinding, ParseRate, Scope, ScopeFinding
from gridc.reports.told import told
from gridc.statistics.envelope import FlipRate, Order

SCORE_ROW, SCORE_WIDTH = 23, 228


def score_ranges(benchmark: BenchmarkFinding, reference: str = "anchor") -> Figure:
    """Each model's scores in every scope: least, mean, greatest and the single configurations, under
    the anchor's score with its standard error. `reference` is what the anchor is called."""
    scopes = distinct_scopes(benchmark.scopes)
    canvas, across = Canvas(), Scale(0, 100, 0, SCORE_WIDTH)
    height = (len(scopes) + 2.4) * SCORE_ROW * len(benchmark.models)
    for value in (0, 25, 50, 75, 100):
        canvas.line(across(value), 0, across(value), height, GRID)
        canvas.text(across(value), -8, str(value), anchor="middle")
    canvas.text(SCORE_WIDTH / 2, -22, "score, %", anchor="middle")
    widest, y = 0, SCORE_ROW * 0.5
    for model in benchmark.models:
        canvas.text(-8, y, model.model, 11, INK, "end", bold=True)
        canvas.text(-8, y + SCORE_ROW, f"{reference} ± SE", fill=INK, anchor="end")
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
    """For each pair that is told, rho_flip in every scope against its ceiling; the orange mark is the mean of
    models that agree on average."""
    scopes = distinct_scopes(benchmark.scopes)
    return [_rates(benchmark.benchmark, scopes, place) for place in told(benchmark)]


def _rates(benchmark: str, scopes: Sequence[ScopeFinding], place: int) -> Figure:
    canvas, across = Canvas(), Scale(0, 0.5, 0, WIDTH)
    bottom, words, widest = len(scopes) * ROW, [], 0
    draw_axis(
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
    draw_axis(
        canvas,
        across,
        [(t / 4, f"{25 * t}") for t in range(5)],
        0,
        HIGH,
        "pass mark, score in %",
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


BAR_ROW, BAR_WIDTH = 19, 210
SHARES = (("model", LOWER[1]), ("axes", HIGHER[1]), ("interactions", TIE), ("residual", PAPER))


MOST_ORDERS = 40
"""Orders that the figure draws; the table beside it has all."""
LONGEST_ORDER = 120
"""Characters of an order that stands beside its bar; a longer one stands in the table alone."""


def order_counts(
    benchmark: str, size: int, orders: Sequence[tuple[Order, int]], certified: set[str]
) -> Figure:
    """In how many configurations of the full envelope each order of the models is seen; a filled mark where
    some configuration is certified to show it (`certified` holds those orders as `a > b > c`). Of more than
    `MOST_ORDERS` the most frequent, and orders of many models by their number."""
    shown, left_out = orders[:MOST_ORDERS], len(orders) - MOST_ORDERS
    canvas, across = Canvas(), Scale(0, max(size, 1), 0, BAR_WIDTH)
    bottom = max(len(shown), 1) * BAR_ROW
    ticks = sorted({0, size // 2, size})
    draw_axis(
        canvas, across, [(t, str(t)) for t in ticks], 0, bottom, "configurations; ◆ established for new items"
    )
    words, widest = [], 10
    for row, (order, count) in enumerate(shown):
        name = order_name(order)
        label = name if len(name) <= LONGEST_ORDER else f"order {row + 1}"
        y = row * BAR_ROW + 4
        canvas.rect(0, y, across(count), 11, MUTED if any(len(group) > 1 for group in order) else INK)
        canvas.text(across(count) + 6, y + 5.5, str(count), fill=INK)
        if name in certified:
            canvas.diamond(across(count) + 26, y + 5.5, 4, HIGHER[1])
        canvas.text(-6, y + 5.5, label, fill=INK, anchor="end")
        widest = max(widest, len(label))
        words.append(f"{label}: {count} of {size}{', established' if name in certified else ''}")
    if left_out > 0:
        words.append(f"{left_out:,} further orders are not drawn")
    return figure(
        f"{benchmark}-orders",
        canvas,
        (BAR_WIDTH, bottom),
        (f"Orders of the models on {benchmark}", "full envelope, best first; grey: with a tie"),
        ("; ".join(words) or "No configuration is measured for every model") + ".",
        Margins(widest * CHARACTER + 12, right=44, bottom=36),
    )


def order_name(order: Order) -> str:
    """`a > b = c`: best first, ties joined."""
    return " > ".join(" = ".join(group) for group in order)


def variance_shares(benchmark: str, shares: Sequence[VarianceShares]) -> Figure:
    """eta^2 of the model, of the axes' main effects, of the two-way terms, and the rest (Type II)."""
    canvas, across = Canvas(), Scale(0, 1, 0, BAR_WIDTH)
    bottom = len(shares) * (BAR_ROW + 6)
    draw_axis(
        canvas, across, [(t / 4, f"{25 * t}") for t in range(5)], 0, bottom, "share of variance (η²), %"
    )
    words, widest = [], 10
    for row, share in enumerate(shares):
        decomposition, y, start = share.second, row * (BAR_ROW + 6) + 4, 0.0
        values = (
            decomposition.model,
            decomposition.implementation,
            decomposition.interaction,
            decomposition.unexplained,
        )
        for (name, colour), value in zip(SHARES, values, strict=True):
            canvas.rect(across(start), y, across(value), 15, colour, MUTED, 0.5)
            if value >= 0.1:
                ink = "#ffffff" if name in ("model", "axes") else ON_PALE if name == "interactions" else INK
                canvas.text(across(start + value / 2), y + 7.5, hundredths(value, 0), 9.5, ink, "middle")
            start += value
        label = variance_name(share)
        widest = max(widest, len(label))
        canvas.text(-6, y + 7.5, label, fill=INK, anchor="end")
        parts = ", ".join(f"{name} {percent(value)}" for (name, _), value in zip(SHARES, values, strict=True))
        words.append(f"{label}: {parts}")
    return figure(
        f"{benchmark}-variance",
        canvas,
        (BAR_WIDTH, bottom),
        (f"What moves the scores on {benchmark}", "from the left: model, axes, interactions, residual"),
        "; ".join(words) + ".",
        Margins(widest * CHARACTER + 12, right=16, bottom=36),
    )


def variance_name(shares: VarianceShares) -> str:
    """The measurand of a decomposition, and whether only its parse-clean cells are in."""
    return f"{shares.measurand}{', parse-clean' if shares.clean else ''}"


def parse_rates(benchmark: BenchmarkFinding, clean: float) -> Figure:
    """Readable answers by level of each axis: the mean, and a line down to the least cell; the dashed line
    is the bound of a parse-clean configuration."""
    rows = benchmark.parse_rates
    canvas, across = Canvas(), Scale(0, 1, 0, BAR_WIDTH)
    bottom = max(len(rows), 1) * BAR_ROW
    draw_axis(canvas, across, [(t / 4, f"{25 * t}") for t in range(5)], 0, bottom, "readable answers, %")
    canvas.path([(across(clean), 0), (across(clean), bottom)], MUTED, "3 3", 1)
    widest = 10
    for row, parse_rate in enumerate(rows):
        y = row * BAR_ROW + BAR_ROW / 2
        least, mean = (float(value) for value in (parse_rate.least, parse_rate.mean))
        canvas.line(across(least), y, across(mean), y, INK)
        canvas.line(across(least), y - 3, across(least), y + 3, INK)
        canvas.circle(across(mean), y, 3.5, LOWER[1])
        label = f"{parse_rate.axis} {parse_rate.level}"
        widest = max(widest, len(label))
        canvas.text(-6, y, label, fill=INK, anchor="end")
    return figure(
        f"{benchmark.benchmark}-parse-rates",
        canvas,
        (BAR_WIDTH, bottom),
        (f"Readable answers on {benchmark.benchmark}", "dot: mean over cells, line: down to the least"),
        "; ".join(_rate_words(rate) for rate in rows) + ".",
        Margins(widest * CHARACTER + 12, right=16, bottom=36),
    )


def _rate_words(rate: ParseRate) -> str:
    mean, least = map(percent, (rate.mean, rate.least))
    return f"{rate.axis} {rate.level}: {mean}, least {least}"
