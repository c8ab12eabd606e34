"""The figure of the models in order, with what can be told apart."""

from collections.abc import Mapping, Sequence

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
from gridc.schema.rows import StandingsRow

ROW, WIDTH, GROUP = 22, 300, 14
MOST = 40
"""Models that are drawn; the table has all."""


def order_of_models(name: str, row: StandingsRow, scores: Mapping[str, Sequence[float]]) -> Figure:
    """A row for each model: its score with the interval, a dot for each of its `scores` where several
    configurations are averaged, and a bar beside the models of each tie group."""
    shown, dots = row.order[:MOST], scores if len(row.over) > 1 else {}
    ends = [value for each in shown for value in (each.score, *(each.interval or ()))]
    ends += [value for each in shown for value in dots.get(each.model, ())]
    low, high = _rounded(min(ends), max(ends))
    canvas, across = Canvas(), Scale(100 * low, 100 * high, 0, WIDTH)
    height = len(shown) * ROW
    for step in range(5):
        value = 100 * (low + step * (high - low) / 4)
        canvas.line(across(value), 0, across(value), height, GRID)
        canvas.text(across(value), -8, stated(value), anchor="middle")
    canvas.text(WIDTH / 2, -22, "score, %", anchor="middle")
    for place, each in enumerate(shown):
        y = (place + 0.5) * ROW
        canvas.text(-8, y, each.model, fill=INK, anchor="end")
        if each.interval is not None:
            canvas.line(across(100 * each.interval[0]), y, across(100 * each.interval[1]), y, INK, 1.5)
        for value in dots.get(each.model, ()):
            canvas.circle(across(100 * value), y, 1.9, LOWER[1])
        canvas.diamond(across(100 * each.score), y, 4.5, HIGHER[1])
    groups = _bars(canvas, row.tie_groups, [each.model for each in shown])
    widest, over = max(len(each.model) for each in shown), len(row.over)
    return figure(
        f"{name}-standings",
        canvas,
        (WIDTH + groups * GROUP, height),
        (f"Order on {name}", f"mean of {over:,} configurations" if over > 1 else "scores"),
        _words(row),
        Margins(widest * CHARACTER + 12, right=12, top=68),
    )


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


def _words(row: StandingsRow) -> str:
    order = " ".join(f"{each.place}. {each.model}: {percent(each.score)}." for each in row.order[:MOST])
    more = len(row.order) - MOST
    ties = " ".join(f"Tied: {', '.join(group)}." for group in row.tie_groups)
    return f"{order}{f' {more:,} more models.' if more > 0 else ''} {ties}".strip()
