"""Counts and shares as bars: reachable orders, variance shares, parse rates."""

from collections.abc import Sequence

from gridc.numbers import hundredths, percent
from gridc.reports.figures.drawing import (
    CHARACTER,
    HIGHER,
    INK,
    LOWER,
    MUTED,
    ON_PALE,
    PAPER,
    TIE,
    Canvas,
    Figure,
    Margins,
    Scale,
    axis,
    figure,
)
from gridc.reports.findings.analysis import VarianceShares
from gridc.reports.findings.findings import BenchmarkFinding, ParseRate
from gridc.statistics.orderings import Order

ROW, WIDTH = 19, 210
SHARES = (("model", LOWER[1]), ("axes", HIGHER[1]), ("interactions", TIE), ("residual", PAPER))


def order_counts(
    benchmark: str, size: int, orders: Sequence[tuple[Order, int]], certified: set[str]
) -> Figure:
    """In how many configurations of the full envelope each order of the models is seen; a filled mark where
    some configuration is certified to show it (`certified` holds those orders as `a > b > c`)."""
    canvas, across = Canvas(), Scale(0, max(size, 1), 0, WIDTH)
    bottom = max(len(orders), 1) * ROW
    ticks = sorted({0, size // 2, size})
    axis(
        canvas, across, [(t, str(t)) for t in ticks], 0, bottom, "configurations; ◆ certified to be reachable"
    )
    words, widest = [], 10
    for row, (order, count) in enumerate(orders):
        name = order_name(order)
        y = row * ROW + 4
        canvas.rect(0, y, across(count), 11, MUTED if any(len(group) > 1 for group in order) else INK)
        canvas.text(across(count) + 6, y + 5.5, str(count), fill=INK)
        if name in certified:
            canvas.diamond(across(count) + 26, y + 5.5, 4, HIGHER[1])
        canvas.text(-6, y + 5.5, name, fill=INK, anchor="end")
        widest = max(widest, len(name))
        words.append(f"{name}: {count} of {size}{', certified' if name in certified else ''}")
    return figure(
        f"{benchmark}-orders",
        canvas,
        (WIDTH, bottom),
        (f"Orders of the models on {benchmark}", "full envelope, best first; grey: with a tie"),
        ("; ".join(words) or "No configuration is measured for every model") + ".",
        Margins(widest * CHARACTER + 12, right=44, bottom=36),
    )


def order_name(order: Order) -> str:
    """`a > b = c`: best first, ties joined."""
    return " > ".join(" = ".join(group) for group in order)


def variance_shares(benchmark: str, shares: Sequence[VarianceShares]) -> Figure:
    """eta^2 of the model, of the axes' main effects, of the two-way terms, and the rest (Type II)."""
    canvas, across = Canvas(), Scale(0, 1, 0, WIDTH)
    bottom = len(shares) * (ROW + 6)
    axis(canvas, across, [(t / 4, f"{25 * t}") for t in range(5)], 0, bottom, "share of variance (η²), %")
    words, widest = [], 10
    for row, share in enumerate(shares):
        decomposition, y, start = share.second, row * (ROW + 6) + 4, 0.0
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
        (WIDTH, bottom),
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
    canvas, across = Canvas(), Scale(0, 1, 0, WIDTH)
    bottom = max(len(rows), 1) * ROW
    axis(canvas, across, [(t / 4, f"{25 * t}") for t in range(5)], 0, bottom, "readable answers, %")
    canvas.path([(across(clean), 0), (across(clean), bottom)], MUTED, "3 3", 1)
    widest = 10
    for row, parse_rate in enumerate(rows):
        y = row * ROW + ROW / 2
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
        (WIDTH, bottom),
        (f"Readable answers on {benchmark.benchmark}", "dot: mean over cells, line: down to the least"),
        "; ".join(_rate_words(rate) for rate in rows) + ".",
        Margins(widest * CHARACTER + 12, right=16, bottom=36),
    )


def _rate_words(rate: ParseRate) -> str:
    mean, least = map(percent, (rate.mean, rate.least))
    return f"{rate.axis} {rate.level}: {mean}, least {least}"
