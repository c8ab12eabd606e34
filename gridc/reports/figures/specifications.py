"""A specification curve: sorted estimates with intervals, and below them which choices each one makes."""

from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from math import log

from gridc.numbers import odds_ratio, percent
from gridc.reports.figures.drawing import (
    CHARACTER,
    GRID,
    HIGHER,
    INK,
    LOWER,
    MUTED,
    PAPER,
    TIE,
    Canvas,
    Figure,
    Margins,
    Scale,
    figure,
)
from gridc.reports.findings.curves import CurveFinding, SpecificationFinding
from gridc.statistics.clustered_logit import Combination

WIDTH, HEIGHT, ROW, GAP = 560, 190, 13, 7
STEP = 26
"""Most pixels from one specification to the next."""
SIDES = (1.1, 1.25, 1.5, 2, 3, 4, 5, 10, 20, 50, 100)
RATIOS = (*(1 / ratio for ratio in reversed(SIDES)), 1, *SIDES)
"""Odds ratios that the scale may be labelled with."""
LABELS = 7
"""Most labels of the scale."""


def specification_curve(
    curve: CurveFinding, name: str, to: Callable[[int], str] | None = None
) -> Figure | None:
    """The curve of one comparison. Colour and place say the same: below the line of no difference or above
    it; pale is not significant. The grey band is what shuffles of the arms give, rank by rank; the diamond is
    the specification that the study makes itself. `to` says where the column of each rank, from 0, leads.
    None where nothing was fitted."""
    fitted = [(ranked, ranked.fitted) for ranked in curve.ranked if ranked.fitted is not None]
    if not fitted or curve.summary is None:
        return None
    step = min(STEP, WIDTH / len(fitted))
    across = Scale(-0.5, len(fitted) - 0.5, 0, step * len(fitted))
    up, clipped = _scale([estimate for _, estimate in fitted], curve)
    canvas = Canvas()
    _band(canvas, across, up, curve)
    _ratios(canvas, up, across.end)
    for place, (_, combination) in enumerate(fitted):
        _estimate(canvas, across(place), up, combination, combination.p <= curve.alpha, step)
    for place, (specification, combination) in enumerate(fitted):
        if specification is curve.default:
            canvas.diamond(across(place), up(combination.estimate), 4.5, INK)
    height, widest = _decisions(canvas, across, [drawn for drawn, _ in fitted], curve, step)
    if to is not None:
        for place in range(len(fitted)):
            canvas.link(across(place - 0.5), 0, step, height, to(place), f"specification {place + 1}")
    contrast = curve.contrast
    title = f"Curve {curve.curve}: {contrast.level} against {contrast.reference}"
    return figure(
        name,
        canvas,
        (across.end, height),
        (title, f"odds ratio of {contrast.outcome} under each of {len(fitted)} specifications, sorted"),
        _words(curve, len(fitted), clipped),
        Margins(max(widest * CHARACTER + 16, 48), right=12, top=44),
    )


def _scale(combinations: Sequence[Combination], curve: CurveFinding) -> tuple[Scale, bool]:
    """Log odds to pixels, over every estimate and the line of no difference; an interval that would flatten
    the curve is cut at the edge."""
    values = [0.0, *(combination.estimate for combination in combinations)]
    if curve.permutation is not None:
        values += [end for ends in _ranks(curve) for end in ends]
    spread = max(max(values) - min(values), 0.2)
    low = max(min(combination.low for combination in combinations), min(values) - spread)
    high = min(max(combination.high for combination in combinations), max(values) + spread)
    low, high = min(low, min(values)) - 0.04 * spread, max(high, max(values)) + 0.04 * spread
    return Scale(low, high, HEIGHT, 0), any(
        combination.low < low or combination.high > high for combination in combinations
    )


def _ranks(curve: CurveFinding) -> tuple[tuple[float, float], ...]:
    """What shuffles give for each rank of the estimates; nothing where some estimates are not shuffled."""
    permutation = curve.permutation
    return () if permutation is None or permutation.of < len(curve.fitted) else permutation.band


def _band(canvas: Canvas, across: Scale, up: Scale, curve: CurveFinding) -> None:
    if not _ranks(curve):
        return
    half = (across(1) - across(0)) / 2
    corners = [
        [(across(place) + side, up(ends[end])) for place, ends in enumerate(_ranks(curve))
         for side in (-half, half)]
        for end in (0, 1)
    ]  # fmt: skip
    canvas.area([*corners[0], *reversed(corners[1])], TIE)


def _ratios(canvas: Canvas, up: Scale, width: float) -> None:
    inside = [ratio for ratio in RATIOS if up.low <= log(ratio) <= up.high]
    every = 1 + (len(inside) - 1) // LABELS
    at = bisect(inside, 0.999)
    for number, ratio in enumerate(inside):
        if (number - at) % every == 0:
            canvas.line(0, up(log(ratio)), width, up(log(ratio)), INK if ratio == 1 else GRID)
            canvas.text(-6, up(log(ratio)), f"{ratio:.2g}", anchor="end")


def _estimate(canvas: Canvas, x: float, up: Scale, combination: Combination, sure: bool, step: float) -> None:
    pale, strong = LOWER if combination.estimate < 0 else HIGHER
    ends = (up(max(combination.low, up.low)), up(min(combination.high, up.high)))
    canvas.line(x, ends[0], x, ends[1], strong if sure else MUTED, min(1.2, step / 2))
    radius = min(3.0, max(step / 2.2, 0.9))
    canvas.circle(x, up(combination.estimate), radius, strong if sure else MUTED)
    if not sure and radius > 1.5:
        canvas.circle(x, up(combination.estimate), radius - 1, pale)


def _decisions(
    canvas: Canvas, across: Scale, fitted: Sequence[SpecificationFinding], curve: CurveFinding, step: float
) -> tuple[float, int]:
    """One row for each level of each fork that varies, and a mark wherever a specification has it; marks that
    touch are one. The height, and the characters of the widest label."""
    y, widest = HEIGHT + 2 * GAP, 0
    edge = 0.5 if step > 4 else 0.0
    for fork, levels in curve.forks.items():
        if len(levels) < 2:
            continue
        canvas.text(-6, y + ROW / 2, fork, 10, INK, "end", bold=True)
        widest = max(widest, len(fork) + 1)
        y += ROW
        for level in levels:
            canvas.rect(0, y + 1, across.end, ROW - 2, PAPER)
            canvas.text(-6, y + ROW / 2, level, 10, MUTED, "end")
            widest = max(widest, len(level))
            for first, length in _runs(
                [specification.levels[fork] == level for specification in fitted], edge > 0
            ):
                x = across(first - 0.5) + edge
                canvas.rect(x, y + 2, across(first + length - 0.5) - edge - x, ROW - 4, INK)
            y += ROW
        y += GAP
    return y, widest


def _runs(held: Sequence[bool], apart: bool) -> Iterator[tuple[int, int]]:
    """(first place, how many) of each run of places; `apart`: of each place."""
    for yes, places in groupby(range(len(held)), key=lambda place: held[place]):
        run = list(places)
        if yes:
            yield from ((place, 1) for place in run) if apart else [(run[0], len(run))]


def _words(curve: CurveFinding, count: int, clipped: bool) -> str:
    assert curve.summary is not None
    summary, contrast = curve.summary, curve.contrast
    low, median, high = map(odds_ratio, (summary.low, summary.median, summary.high))
    text = (
        f"The odds ratio of {contrast.level} against {contrast.reference} is {median} at the median of "
        f"{count} specifications, quartiles {low} and {high}; {percent(summary.below, 0)} are significantly "
        f"below 1 and {percent(summary.above, 0)} above it, at {curve.alpha:g}. Under it: the forks’ levels."
    )
    if curve.permutation is not None:
        text += f" Grey: the central 95 % of {curve.permutation.draws} shuffles of the arms, rank by rank."
    if curve.failed:
        text += f" {len(curve.failed)} more could not be fitted and are not drawn."
    return text + (" Some intervals are cut at the edge." if clipped else "")
