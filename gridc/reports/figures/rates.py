"""rho_flip of each pair in every scope, against the most that it could be and what models that agree on
average show (SafetyRepro, fig. 2a)."""

from collections.abc import Sequence

from gridc.reports.figures.drawing import (
    CHARACTER,
    HIGHER,
    INK,
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

ROW, WIDTH = 19, 150


def flip_rates(benchmark: BenchmarkFinding) -> list[Figure]:
    """For each pair, rho_flip in every scope against its ceiling; the orange mark is the mean of models
    that agree on average."""
    scopes = distinct(benchmark.scopes)
    return [_rates(benchmark.benchmark, scopes, number) for number in range(len(benchmark.full.pairs))]


def _rates(benchmark: str, scopes: Sequence[ScopeFinding], number: int) -> Figure:
    canvas, across = Canvas(), Scale(0, 0.5, 0, WIDTH)
    bottom, words, widest = len(scopes) * ROW, [], 0
    axis(
        canvas,
        across,
        [(t / 10, f"{t / 10:.1f}") for t in range(6)],
        0,
        bottom,
        "ρ_flip; outline: its ceiling",
    )
    for row, scope in enumerate(scopes):
        pair = scope.pairs[number]
        counts, same = pair.counts, pair.evidence.identical
        rho, ceiling = float(counts.rho_flip), float(counts.ceiling)
        y = row * ROW + 4
        canvas.rect(0, y, across(ceiling), 11, PAPER, MUTED)
        canvas.rect(0, y, across(rho), 11, INK)
        canvas.line(across(same.mean), y - 2, across(same.mean), y + 13, HIGHER[1], 2)
        shown = f"{'' if counts.complete else '≥ '}{rho:.3f}"
        label = f"{scope.scope.name} ({counts.size})"
        widest = max(widest, len(label))
        canvas.text(WIDTH + 6, y + 5.5, shown, fill=INK)
        canvas.text(-6, y + 5.5, label, fill=INK, anchor="end")
        words.append(f"{label}: {shown} of at most {ceiling:.3f}, equal on average {same.mean:.3f}")
    first = scopes[0].pairs[number].counts
    return figure(
        f"{benchmark}-rates-{first.a}-{first.b}",
        canvas,
        (WIDTH, bottom),
        (f"{first.a} and {first.b}", f"{benchmark}, ρ_flip by scope"),
        "; ".join(words) + ".",
        Margins(widest * CHARACTER + 10, right=52, bottom=36),
    )
