"""What logs certify, as one self-contained HTML page, with the figure of its models in order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridc.numbers import percent, stated
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
    figure,
)
from gridc.reports.recorded import words
from gridc.reports.rendering import render
from gridc.schema.recorded import LogBenchmarkRow, LogCertificate, LogPairRow

ROW, WIDTH, GROUP = 22, 300, 14
MOST = 40
"""Models that are drawn; the table has all."""


def order_of_models(benchmark: LogBenchmarkRow, number: int) -> Figure:
    """A row for each model: its score with the interval, a dot for each configuration that the order
    averages, and a bar beside the models of each tie group."""
    shown = benchmark.order[:MOST]
    dots = _dots(benchmark)
    ends = [value for row in shown for value in (row.score, *(row.interval or ()))]
    ends += [value for row in shown for value in dots.get(row.model, ())]
    # Scores that are no shares are described and never ordered: the order lies within 0 and 1.
    low, high = _rounded(min(ends), max(ends))
    canvas, across = Canvas(), Scale(100 * low, 100 * high, 0, WIDTH)
    height = len(shown) * ROW
    for step in range(5):
        value = 100 * (low + step * (high - low) / 4)
        canvas.line(across(value), 0, across(value), height, GRID)
        canvas.text(across(value), -8, stated(value), anchor="middle")
    canvas.text(WIDTH / 2, -22, "score, %", anchor="middle")
    for place, row in enumerate(shown):
        y = (place + 0.5) * ROW
        canvas.text(-8, y, row.model, fill=INK, anchor="end")
        if row.interval is not None:
            canvas.line(across(100 * row.interval[0]), y, across(100 * row.interval[1]), y, INK, 1.5)
        for value in dots.get(row.model, ()):
            canvas.circle(across(100 * value), y, 1.9, LOWER[1])
        canvas.diamond(across(100 * row.score), y, 4.5, HIGHER[1])
    groups = _bars(canvas, benchmark.tie_groups, [row.model for row in shown])
    widest = max(len(row.model) for row in shown)
    over = len(benchmark.ordered_over)
    return figure(
        f"order-{number}",
        canvas,
        (WIDTH + groups * GROUP, height),
        (f"Order on {benchmark.benchmark}", f"mean of {over:,} configurations" if over > 1 else "scores"),
        _words(benchmark),
        Margins(widest * CHARACTER + 12, right=12, top=68),
    )


def _dots(benchmark: LogBenchmarkRow) -> Mapping[str, list[float]]:
    over = set(benchmark.ordered_over) if len(benchmark.ordered_over) > 1 else set()
    dots: dict[str, list[float]] = {}
    for row in benchmark.scores:
        if row.configuration in over and row.score is not None:
            dots.setdefault(row.model, []).append(row.score)
    return dots


def _rounded(least: float, most: float) -> tuple[float, float]:
    """The scale's ends, whole steps of a fifth or of a twentieth of it."""
    step = 0.2 if most - least > 0.3 else 0.04
    low = max(0.0, step * int(least / step + 1e-9))
    high = min(1.0, step * -int(-(most / step) + 1e-9)) if most < 1 else 1.0
    while high < most - 1e-9 or high <= low:
        high = round(high + step, 10)
    return round(low, 10), round(min(high, 1.0), 10)


def _bars(canvas: Canvas, groups: Sequence[Sequence[str]], models: Sequence[str]) -> int:
    """A bar beside the models of each group, in as few columns as keep them apart; how many columns."""
    ends: list[int] = []
    for group in groups:
        places = [models.index(model) for model in group if model in models]
        if len(places) < 2:
            continue
        column = next((at for at, end in enumerate(ends) if end < places[0]), len(ends))
        if column == len(ends):
            ends.append(0)
        ends[column] = places[-1]
        x = WIDTH + (column + 1) * GROUP
        canvas.line(x, places[0] * ROW + 4, x, (places[-1] + 1) * ROW - 4, INK, 3)
    return len(ends)


def _words(benchmark: LogBenchmarkRow) -> str:
    order = " ".join(f"{row.place}. {row.model}: {percent(row.score)}." for row in benchmark.order[:MOST])
    more = len(benchmark.order) - MOST
    ties = " ".join(f"Tied: {', '.join(group)}." for group in benchmark.tie_groups)
    return f"{order}{f' {more:,} more models.' if more > 0 else ''} {ties}".strip()


SHOWN = 12
"""Rows of a table that are not folded away."""


@dataclass(frozen=True, slots=True)
class LogSection:
    """One benchmark as the page lays it out."""

    row: LogBenchmarkRow
    figure: Figure | None
    head: tuple[str, ...]
    order: tuple[str, ...]

    @property
    def several(self) -> list[LogPairRow]:
        """The pairs that more than one configuration compares: those whose order depends on it first, then
        those of which something is certified."""
        several = [pair for pair in self.row.pairs if pair.configurations > 1]
        return sorted(several, key=lambda pair: (not (pair.a_better and pair.b_better), not pair.certified))


def page(document: LogCertificate) -> str:
    """The page. Nothing outside it is loaded, and no script runs."""
    sections = [
        LogSection(
            row,
            order_of_models(row, number) if row.order else None,
            tuple(words.benchmark_lines(row)),
            tuple(words.order(row, document.alpha)),
        )
        for number, row in enumerate(document.benchmarks, start=1)
    ]
    provenance, *rest = words.provenance(document)
    return render(
        "logs.html.jinja",
        document=document,
        sections=sections,
        provenance=provenance,
        rests_on=rest,
        words=words,
        shown=SHOWN,
    )
