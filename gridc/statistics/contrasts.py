"""Paired differences between two versions of the same cells: two levels of an axis, or two stores.

One mechanism serves the scoring-path gap, the precision report, the comparison of two models (a scale probe)
and `gridc diff`: cells that agree in everything else are paired, and their scores are subtracted exactly.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import median

import numpy as np

from gridc.statistics.arrays import Whole
from gridc.statistics.case_totals import CaseTable
from gridc.statistics.exact_tests import mcnemar_two_sided
from gridc.statistics.margins import beyond

GridPoint = Mapping[str, str]
"""Where a cell lies: model, benchmark, and the level of every axis."""

Scored = tuple[GridPoint, Fraction]


@dataclass(frozen=True, slots=True)
class Delta:
    """One pair of cells: what they share, the score of each, and after - before."""

    place: GridPoint
    before: Fraction
    after: Fraction

    @property
    def delta(self) -> Fraction:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Summary:
    """Differences over n pairs, as shares. `sd` is the sample standard deviation (n - 1), None for n = 1;
    `over_5` and `over_10` count the pairs that differ by more than 5 and 10 points."""

    n: int
    mean: float
    sd: float | None
    mean_absolute: float
    median_absolute: float
    max_absolute: float
    over_5: int
    over_10: int


@dataclass(frozen=True, slots=True)
class LevelSummary:
    """The differences of the cells at one level of one axis."""

    axis: str
    level: str
    summary: Summary


@dataclass(frozen=True, slots=True)
class Pairing:
    """The pairs, and the places that only one side has."""

    deltas: tuple[Delta, ...]
    only_before: tuple[GridPoint, ...]
    only_after: tuple[GridPoint, ...]


def pair_levels(cells: Iterable[Scored], axis: str, before: str, after: str) -> Pairing:
    """Pair the cells at two levels of an axis that agree in everything else (the axis may be `model`)."""
    sides: dict[str, dict[tuple[tuple[str, str], ...], Fraction]] = {before: {}, after: {}}
    for place, score in cells:
        if place[axis] in sides:
            rest = tuple((key, name) for key, name in place.items() if key != axis)
            sides[place[axis]][rest] = score
    return _match(sides[before], sides[after])


def pair_stores(before: Iterable[Scored], after: Iterable[Scored]) -> Pairing:
    """Pair the cells of two studies by place: model, benchmark and configuration."""
    return _match(
        {tuple(sorted(place.items())): score for place, score in before},
        {tuple(sorted(place.items())): score for place, score in after},
    )


def summarise(deltas: Sequence[Fraction]) -> Summary:
    """Mean, spread and size of at least one difference. Raises `ValueError` when there is none."""
    if not deltas:
        raise ValueError("no differences")
    n = len(deltas)
    mean = sum(deltas, Fraction(0)) / n
    spread = sum(((delta - mean) ** 2 for delta in deltas), Fraction(0))
    sizes = [abs(delta) for delta in deltas]
    return Summary(
        n,
        float(mean),
        sqrt(spread / (n - 1)) if n > 1 else None,
        float(sum(sizes, Fraction(0)) / n),
        float(median(sizes)),
        float(max(sizes)),
        sum(size > Fraction(5, 100) for size in sizes),
        sum(size > Fraction(10, 100) for size in sizes),
    )


def by_level(deltas: Sequence[Delta]) -> list[LevelSummary]:
    """SafetyRepro app. N's table: the differences by level of every axis, model and benchmark that occurs
    with more than one level, in the order of the cells; axes with one level say nothing apart."""
    axes: dict[str, dict[str, list[Fraction]]] = {}
    for delta in deltas:
        for axis, level in delta.place.items():
            axes.setdefault(axis, {}).setdefault(level, []).append(delta.delta)
    return [
        LevelSummary(axis, level, summarise(changes))
        for axis, levels in axes.items()
        if len(levels) > 1
        for level, changes in levels.items()
    ]


def unit_test(before: Whole, after: Whole, units: Whole) -> float:
    """Two-sided p of any change in one cell's items, (n,), each 0 or 1 on both sides, which belong to these
    independent `units`, (n,): exact McNemar where every item is one, else Gaffke's test in both directions.
    1 where nothing changed."""
    gained, lost = int((after > before).sum()), int((after < before).sum())
    if not gained and not lost:
        return 1.0
    _, of_item, sizes = np.unique(units, return_inverse=True, return_counts=True)
    if sizes.max() == 1:
        return mcnemar_two_sided(gained, lost)
    points = (side.astype(np.float64) for side in (before, after))
    sums = np.column_stack([np.bincount(of_item, side, len(sizes)).astype(np.float64) for side in points])
    rows = np.column_stack([sizes, sizes]).astype(np.float64)
    table = CaseTable(rows, sums, np.ones(len(sizes), np.int64))
    return beyond(table, 1, 0, 0.0)


def _match(
    before: Mapping[tuple[tuple[str, str], ...], Fraction],
    after: Mapping[tuple[tuple[str, str], ...], Fraction],
) -> Pairing:
    return Pairing(
        tuple(Delta(dict(key), score, after[key]) for key, score in before.items() if key in after),
        tuple(dict(key) for key in before if key not in after),
        tuple(dict(key) for key in after if key not in before),
    )
