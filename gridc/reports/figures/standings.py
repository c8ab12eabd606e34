"""The figures of the models in order: each with its score and its places, and which two are told apart."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from gridc.numbers import as_typed, percent
from gridc.reports.figures.drawing import (
    CHARACTER,
    GRID,
    HIGHER,
    INK,
    LOWER,
    RULE,
    Canvas,
    Figure,
    Margins,
    Scale,
    figure,
)
from gridc.schema.rows import StandingsRow

ROW, WIDTH, PLACES, GAP = 18, 260, 200, 26
SMALLEST, LARGEST, SIDE = 3, 11, 560
"""The side of a cell of the matrix, and of the matrix where the cells are between the two."""
LABELLED = 60
"""Models up to which each row of the matrix has its name; of more it has its place, every tenth."""


def standings_figure(name: str, row: StandingsRow, scores: Mapping[str, Sequence[float]]) -> Figure:
    """A row for each model: its score with the interval, a dot for each of its `scores` where several
    configurations are averaged, and a bar over the places that it can have."""
    shown, dots = row.order, scores if len(row.over) > 1 else {}
    ends = [value for each in shown for value in (each.score, *(each.interval or ()))]
    ends += [value for each in shown for value in dots.get(each.model, ())]
    low, high = _rounded(min(ends), max(ends))
    count = len(shown)
    canvas, across = Canvas(), Scale(100 * low, 100 * high, 0, WIDTH)
    along = Scale(0.5, count + 0.5, WIDTH + GAP, WIDTH + GAP + PLACES)
    height = count * ROW
    for step in range(5):
        value = 100 * (low + step * (high - low) / 4)
        canvas.line(across(value), 0, across(value), height, GRID)
        canvas.text(across(value), -8, as_typed(value), anchor="middle")
    for place in _ticks(count):
        canvas.line(along(place), 0, along(place), height, GRID)
        canvas.text(along(place), -8, str(place), anchor="middle")
    canvas.text(WIDTH / 2, -22, "score, %", anchor="middle")
    canvas.text(WIDTH + GAP + PLACES / 2, -22, "places", anchor="middle")
    for number, each in enumerate(shown):
        y = (number + 0.5) * ROW
        canvas.text(-8, y, each.model, fill=INK, anchor="end")
        if each.interval is not None:
            canvas.line(across(100 * each.interval[0]), y, across(100 * each.interval[1]), y, INK, 1.5)
        for value in dots.get(each.model, ()):
            canvas.circle(across(100 * value), y, 1.9, LOWER[1])
        canvas.diamond(across(100 * each.score), y, 4.5, HIGHER[1])
        canvas.line(along(each.best - 0.4), y, along(each.worst + 0.4), y, LOWER[1], 5)
        canvas.circle(along(each.place), y, 2.4, INK)
    widest, over = max(len(each.model) for each in shown), len(row.over)
    return figure(
        f"{name}-standings",
        canvas,
        (WIDTH + GAP + PLACES, height),
        (f"Order on {name}", f"mean of {over:,} configurations" if over > 1 else "scores and places"),
        _words(row),
        Margins(widest * CHARACTER + 12, right=12, top=68),
    )


def pairs_told_apart(name: str, row: StandingsRow) -> Figure:
    """A square for every two models: told apart with the model of the row ahead or behind, or blank."""
    order = [each.model for each in row.order]
    count = len(order)
    side = min(max(SIDE / count, SMALLEST), LARGEST)
    whole = count * side
    together = [set[str]() for _ in order]
    for group in row.tie_groups:
        for place, model in enumerate(order):
            if model in group:
                together[place] |= set(group)
    canvas = Canvas()
    canvas.rect(0, 0, whole, whole, "none", GRID)
    for place, own in enumerate(together):
        start = 0
        colours = [
            "" if at == place or other in own else (LOWER[1] if at > place else RULE)
            for at, other in enumerate(order)
        ]
        for colour, same in groupby(colours):
            length = len(list(same))
            if colour:
                canvas.rect(start * side, place * side, length * side, side, colour)
            start += length
    for place in range(count):
        middle = (place + 0.5) * side
        if count <= LABELLED:
            label = f"{order[place]} {place + 1}"
            canvas.text(-6, middle, label, size=min(9, side), fill=INK, anchor="end")
        elif place + 1 in _ticks(count):
            canvas.text(-6, middle, str(place + 1), size=9, anchor="end")
        if place + 1 in _ticks(count):
            canvas.text(middle, -7, str(place + 1), size=9, anchor="middle")
    widest = (max(map(len, order)) + 3) * CHARACTER if count <= LABELLED else 30
    apart = sum(count - 1 - len(own - {model}) for own, model in zip(together, order, strict=True)) // 2
    return figure(
        f"{name}-pairs",
        canvas,
        (whole, whole),
        (
            f"Pairs on {name}",
            "blue: the model of the row is better; grey: worse; blank: cannot be told apart",
        ),
        f"{apart:,} of {count * (count - 1) // 2:,} pairs are told apart.",
        Margins(widest + 12, right=12, top=56),
    )


def _ticks(count: int) -> list[int]:
    """The first place, the last one and round ones between."""
    step = 1 if count <= 8 else 5 if count <= 40 else 10 if count <= 100 else 20
    round_ones = [place for place in range(step, count, step) if 1 < place <= count - max(step // 2, 1)]
    return [1, *round_ones, count] if count > 1 else [1]


def _rounded(least: float, most: float) -> tuple[float, float]:
    """The scale's ends, whole steps of a fifth or of a twentieth of it."""
    step = 0.2 if most - least > 0.3 else 0.04
    low = max(0.0, step * int(least / step + 1e-9))
    high = min(1.0, step * -int(-(most / step) + 1e-9)) if most < 1 else 1.0
    while high < most - 1e-9 or high <= low:
        high = round(high + step, 10)
    return round(low, 10), round(min(high, 1.0), 10)


def _words(row: StandingsRow) -> str:
    return " ".join(
        f"{each.place}. {each.model}: {percent(each.score)}, place {each.can_be}." for each in row.order
    )
