"""The flip surface: under every configuration, which of two models scores higher and by how much."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import groupby

from gridc.reports.figures.drawing import (
    CHARACTER,
    HIGHER,
    INK,
    LOWER,
    MUTED,
    ON_PALE,
    RULE,
    TIE,
    Canvas,
    Figure,
    Margins,
    figure,
    mixed,
)
from gridc.reports.findings.findings import BenchmarkFinding
from gridc.reports.told import told
from gridc.schema.spec import Axis, Spec
from gridc.statistics.envelope import PairCounts

CELL = 30
FULL = 50
"""Percentage points from which a cell has the full colour, on every page, so that pages can be compared."""
Gaps = Mapping[str, Fraction | None]
"""Score of a minus score of b in percentage points, by configuration; None where not measured."""


def flip_surfaces(spec: Spec, findings: Sequence[BenchmarkFinding]) -> dict[str, list[Figure]]:
    """For each benchmark and pair that is told, every configuration of the full envelope with the gap in
    percentage points. One colour scale serves all pages, so that they can be compared."""
    return {
        benchmark.benchmark: [
            _surface(spec, benchmark, pair.counts, _gaps(benchmark, pair.counts))
            for pair in (benchmark.full.pairs[place] for place in told(benchmark))
        ]
        for benchmark in findings
    }


def signed_gap(points: float) -> str:
    """A gap as a cell shows it: a sign, and a decimal where it is no whole number of points."""
    sign, size = "+" if points > 0 else "−", f"{abs(points):.1f}"
    return f"{sign}<0.1" if size == "0.0" else f"{sign}{size.removesuffix('.0')}"


def _gaps(benchmark: BenchmarkFinding, counts: PairCounts) -> Gaps:
    scores = {(score.cell.model, score.cell.configuration): score.score for score in benchmark.cells}
    gaps: dict[str, Fraction | None] = {}
    for configuration in benchmark.full.scope.configurations:
        a, b = scores[counts.a, configuration], scores[counts.b, configuration]
        gaps[configuration] = None if a is None or b is None else 100 * (a - b)
    return gaps


def _surface(spec: Spec, benchmark: BenchmarkFinding, counts: PairCounts, gaps: Gaps) -> Figure:
    """The first axis that varies goes down, the combinations of the others go across."""
    levels_by_configuration = {score.cell.configuration: score.cell.levels for score in benchmark.cells}
    levels = {configuration: levels_by_configuration[configuration] for configuration in gaps}
    varied = [axis for axis in spec.axis if len({own[axis.id] for own in levels.values()}) > 1]
    down, across = (varied[:1], varied[1:]) if len(varied) > 1 else ([], varied)
    place = {
        configuration: (tuple(own[a.id] for a in down), tuple(own[a.id] for a in across))
        for configuration, own in levels.items()
    }
    rows = list(dict.fromkeys(row for row, _ in place.values()))
    columns = list(dict.fromkeys(column for _, column in place.values()))
    canvas = Canvas()
    top, left = _heads(canvas, across, columns, spec.tiers[-1])
    for number, names in enumerate(rows if down else []):
        canvas.text(
            -6, top + (number + 0.5) * CELL, _starred(down[0], names[0], spec.tiers[-1]), anchor="end"
        )
    if down:
        wide = max(len(_starred(down[0], names[0], spec.tiers[-1])) for names in rows) * CHARACTER + 16
        canvas.text(-wide, top + len(rows) * CELL / 2, down[0].id, anchor="middle", upright=True)
        left = max(left, wide + 6)
    rest = {"tie": counts.ties, "not measured": counts.size - counts.measured}
    others = [f"{count} {what}" for what, count in rest.items() if count]
    chosen = {witness.configuration for witness in (counts.witness_plus, counts.witness_minus) if witness}
    for configuration, (row, column) in sorted(place.items(), key=lambda entry: entry[0] in chosen):
        x, y = columns.index(column) * CELL, top + rows.index(row) * CELL
        _cell(canvas, (x, y), gaps[configuration], configuration in chosen)
    return figure(
        f"{benchmark.benchmark}-surface-{counts.a}-{counts.b}",
        canvas,
        (len(columns) * CELL, top + len(rows) * CELL),
        (f"{counts.a} − {counts.b}", f"{benchmark.benchmark}, percentage points"),
        f"{counts.a} scores higher in {counts.plus} of {counts.size} configurations, {counts.b} in "
        f"{counts.minus}{', '.join(['', *others])}.",
        Margins(left + 10),
    )


def _cell(canvas: Canvas, at: tuple[float, float], gap: Fraction | None, witness: bool) -> None:
    """One configuration: coloured by the gap and the root of its size, so that small ones differ too; struck
    through where it is not measured."""
    x, y, size = at[0] + 1, at[1] + 1, CELL - 2
    if gap is None:
        canvas.rect(x, y, size, size, "", RULE)
        canvas.line(x, y, x + size, y + size, MUTED)
        return
    points = float(gap)
    strength = min(abs(points) / FULL, 1.0) ** 0.5
    colour = mixed(*(HIGHER if points > 0 else LOWER), strength) if gap else TIE
    canvas.rect(x, y, size, size, colour, INK if witness else "", 2)
    ink = "#ffffff" if strength > 0.62 else ON_PALE
    canvas.text(x + size / 2, y + size / 2, signed_gap(points) if gap else "=", 9, ink, "middle")


def _heads(
    canvas: Canvas, axes: Sequence[Axis], columns: Sequence[tuple[str, ...]], edge: str
) -> tuple[float, float]:
    """Draw the column labels, one track for each axis and one label for each run of equal levels; their
    height, and the room that the axis names take on the left. Where a label is wider than its run, the
    track's labels stand upright."""
    top = left = 0.0
    for depth, axis in enumerate(axes):
        prefixes = [names[: depth + 1] for names in columns]
        runs = [(_starred(axis, key[depth], edge), len(list(run)) * CELL) for key, run in groupby(prefixes)]
        upright = any(len(name) * CHARACTER > size - 4 for name, size in runs)
        height = max(len(name) for name, _ in runs) * CHARACTER + 8 if upright else 16.0
        canvas.text(-6, top + height / 2, axis.id, anchor="end")
        left = max(left, len(axis.id) * CHARACTER)
        start = 0
        for name, size in runs:
            if upright:
                canvas.text(start + size / 2, top + height - 3, name, upright=True)
            else:
                canvas.text(start + size / 2, top + height / 2, name, anchor="middle")
            if size > CELL:
                canvas.line(start + 2, top + height - 1, start + size - 2, top + height - 1)
            start += size
        top += height + 2
    return top, left


def _starred(axis: Axis, level: str, edge: str) -> str:
    """A level with a mark where it is of the last tier."""
    tier = next(declared.tier for declared in axis.level if declared.id == level)
    return f"{level}*" if tier == edge else level
