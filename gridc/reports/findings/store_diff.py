"""Two stores -> what differs: settings, cells, the score of each cell that both have, and by axis level.

What a bug fix, another version of a library or another precision did to a grid is read off the cells that
both stores hold (SafetyRepro, app. N and O), paired as `comparison.pairing` says. Each cell is also tested on
replicate 0 of its units (Holm over the cells), because a score moves a little by chance wherever answers are
sampled: single items by exact McNemar, units of several items by Gaffke's test of a mean above 0 in both
directions (`margins.outside` at 0).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from gridc.compiler.grid.cells import cells_of
from gridc.compiler.lock.deviations import PathDifference, json_differences
from gridc.outcomes import CellOutcomes
from gridc.reports.comparison.pairing import AskedRun, RunPairing, pair_runs
from gridc.reports.comparison.run import stored_asked
from gridc.reports.findings import paired
from gridc.reports.findings.scores import item_outcomes
from gridc.runtime.store.store import Store
from gridc.schema.certificate import PairedRow
from gridc.schema.spec import Spec
from gridc.statistics.arrays import Whole
from gridc.statistics.envelope import Direction
from gridc.statistics.exact_tests import holm
from gridc.statistics.paired_runs import LevelSummary, Scored, by_level, pair_stores, unit_test


@dataclass(frozen=True, slots=True)
class ComparedStudy:
    """A study in a store: the only one, or the one that was asked for."""

    path: str
    stamp: str
    results: str


@dataclass(frozen=True, slots=True)
class CellDifference:
    """A cell that both runs have, by its key in a; `cell_b` is its key in b where that is another one. Scores
    are [points, points that could be earned], null while a sample has no outcome.

    `difference` is b - a. `standard_error` is of that difference, paired by item and summed by unit; null
    where the two did not ask the same items, there are fewer than two units, or all differ alike (a spread of
    zero in the sample is no evidence of none). `up` and `down` count the items with more and with fewer
    points in b. `units` is how many units the items are of, null where neither store says so: then items are
    taken as independent. `p` tests replicate 0, `adjusted` is Holm's over all cells; null where items are not
    the same, or where an answer can earn a part of a point.
    """

    cell: str
    a: tuple[int, int] | None
    b: tuple[int, int] | None
    items: int
    up: int
    down: int
    difference: float | None
    standard_error: float | None
    p: float | None = None
    adjusted: float | None = None
    units: int | None = None
    cell_b: str | None = None


@dataclass(frozen=True, slots=True)
class StoreDiff:
    """Two runs, compared. `cells` holds every cell that both have, whether or not it differs; `levels` and
    `paired` summarise those that are measured in both. `pairing` says how it was paired where names differ,
    and `why_a` and `why_b` for which reasons a cell stands in one run alone."""

    a: ComparedStudy
    b: ComparedStudy
    settings: tuple[PathDifference, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    cells: tuple[CellDifference, ...]
    levels: tuple[LevelSummary, ...]
    paired: PairedRow
    pairing: tuple[str, ...] = ()
    why_a: tuple[str, ...] = ()
    why_b: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Same settings, same cells, same answers and scores."""
        return not self.settings and self.a.results == self.b.results


def diff_stores(a: Path, b: Path, stamps: tuple[str | None, str | None] = (None, None)) -> StoreDiff:
    """Compare a study of each store: the only one, or the one whose stamp begins as given.

    Raises `StoreError` when a store cannot be read, or holds no such study or several.
    """
    with Store.open(a) as left, Store.open(b) as right:
        one, other = left.which(stamps[0]), right.which(stamps[1])
        contents = [store.study(stamp) for store, stamp in ((left, one), (right, other))]
        settings = [
            (f"{part}.{path}", *sides)
            for part in ("spec", "inputs")
            for path, *sides in json_differences(*(content[part] for content in contents))
        ]
        runs = [stored_asked(store, stamp) for store, stamp in ((left, one), (right, other))]
        pairing = pair_runs(runs[:1], runs[1])
        cells, others = (_outcomes(*side) for side in ((left, one), (right, other)))
        pairs = list(_paired_cells(pairing, cells, others))
        names = {pair.names[1]: pair.names[0] for pair in pairs}
        scores = pair_stores(_scored(cells), _scored(others, names))
        return StoreDiff(
            ComparedStudy(str(a), one, left.results_digest(one)),
            ComparedStudy(str(b), other, right.results_digest(other)),
            tuple(PathDifference(*setting) for setting in settings),
            tuple(sorted(cells.keys() - set(names.values()))),
            tuple(sorted(others.keys() - names.keys())),
            cell_differences(pairs, _units(runs, pairing)),
            tuple(by_level(scores.deltas)),
            paired.paired_row(scores, "a", "b", directions=_directions(contents[0])),
            tuple(pairing.said()),
            pairing.why(0),
            pairing.why(1),
        )


@dataclass(frozen=True, slots=True)
class PairedCells:
    """A cell of both runs: its key in each, its outcomes, and the ids in b of the items by those in a."""

    names: tuple[str, str]
    a: CellOutcomes
    b: CellOutcomes
    partners: Mapping[str, str]


def _paired_cells(
    pairing: RunPairing, cells: Mapping[str, CellOutcomes], others: Mapping[str, CellOutcomes]
) -> Iterator[PairedCells]:
    """The cells that both have, in the order of a."""
    found = {}
    for place in pairing.places:
        for a, b in place.configurations:
            one, other = "/".join((*place.names[0], a)), "/".join((*place.names[1], b))
            if one in cells and other in others:
                found[one] = PairedCells((one, other), cells[one], others[other], place.items.partners)
    yield from (found[key] for key in cells if key in found)


def _outcomes(store: Store, stamp: str) -> dict[str, CellOutcomes]:
    """The outcomes of a study by cell, with the scale of each cell's scores."""
    spec = Spec.model_validate(store.study(stamp)["spec"])
    cells = tuple(cells_of(spec)) if spec.graded or spec.aggregated else ()
    scales = {cell.key: cell.setting.item_scale for cell in cells}
    return {
        key: replace(outcomes, scale=scales.get(key, 1))
        for key, outcomes in item_outcomes(cells, store, stamp).items()
    }


def _directions(content: Mapping[str, Any]) -> dict[str, Direction]:
    """Which score is the better one, by benchmark of a stored study."""
    return {
        benchmark["id"]: Direction.of(benchmark["direction"]) for benchmark in content["spec"]["benchmark"]
    }


Units = Mapping[tuple[str, str], str]
"""By (benchmark, item) the unit that it belongs to."""


def _units(runs: Sequence[AskedRun], pairing: RunPairing) -> Units:
    """By the names of a; where it does not say the units, those of b. Empty of stores that an older gridc
    filled."""
    known = {}
    for place in pairing.places:
        items = (run.benchmarks[name].items for run, name in zip(runs, place.names, strict=True))
        own, there = (dict(zip(one.ids, one.units, strict=True)) for one in items)
        for item, other in place.items.partners.items():
            known[place.names[0][1], item] = own[item] or there[other]
    return {item: unit for item, unit in known.items() if unit}


def cell_differences(pairs: Sequence[PairedCells], units: Units | None = None) -> tuple[CellDifference, ...]:
    """Every cell that both have, tested with Holm's correction over all."""
    rows = [cell_difference(pair.names[0], pair.a, pair.b, units, pair.partners) for pair in pairs]
    adjusted = iter(holm([difference.p for difference in rows if difference.p is not None]))
    return tuple(
        replace(
            difference,
            adjusted=None if difference.p is None else next(adjusted),
            cell_b=None if pair.names[0] == pair.names[1] else pair.names[1],
        )
        for pair, difference in zip(pairs, rows, strict=True)
    )


def cell_difference(
    cell: str,
    a: CellOutcomes,
    b: CellOutcomes,
    units: Units | None = None,
    partners: Mapping[str, str] | None = None,
) -> CellDifference:
    """One cell in both runs, from its outcomes by item. `partners` are the ids in b by those in a, None where
    they are the same."""
    where = {name: place for place, name in enumerate(b.items)}
    names_b = a.items if partners is None else [partners.get(name, "") for name in a.items]
    pairs = [(place, where[name]) for place, name in enumerate(names_b) if name in where]
    every = 0 < len(pairs) == len(a.items) == len(b.items)
    moves = [
        Fraction(int(b.correct[there]), int(b.trials[there]) * b.scale)
        - Fraction(int(a.correct[here]), int(a.trials[here]) * a.scale)
        for here, there in pairs
    ]
    benchmark = place_of_key(cell)["benchmark"]
    names = [(units or {}).get((benchmark, a.items[here])) for here, _ in pairs]
    known = bool(names) and None not in names
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    groups = np.array([numbers[name] for name in names]) if known else np.arange(len(pairs))
    left, right = _score(a), _score(b)
    difference = error = p = None
    if left is not None and right is not None:
        difference = float(Fraction(*right) - Fraction(*left))
        error = _standard_error(moves, groups) if every else None
        whole = a.scale == b.scale == 1
        if whole and every and all(np.abs(side.first).max(initial=0) <= 1 for side in (a, b)):
            here, there = np.array(pairs).T
            p = unit_test(a.first[here], b.first[there], groups)
    up, down = sum(move > 0 for move in moves), sum(move < 0 for move in moves)
    counted = len(numbers) if known else None
    return CellDifference(cell, left, right, len(pairs), up, down, difference, error, p, units=counted)


def place_of_key(key: str) -> dict[str, str]:
    """A cell's place from its key, `model/benchmark/axis=level,...`."""
    model, benchmark, configuration = key.split("/", 2)
    levels = dict(pair.split("=", 1) for pair in configuration.split(",") if "=" in pair)
    return {"model": model, "benchmark": benchmark, **levels}


def _scored(cells: Mapping[str, CellOutcomes], names: Mapping[str, str] = {}) -> list[Scored]:
    """The scores of what is measured, by the place in the grid of each key or of what it stands for."""
    measured = ((place_of_key(names.get(key, key)), _score(cell)) for key, cell in cells.items())
    return [(place, Fraction(*score)) for place, score in measured if score is not None]


def _score(outcomes: CellOutcomes) -> tuple[int, int] | None:
    if (outcomes.scored < outcomes.trials).any():
        return None
    return int(outcomes.correct.sum()), int(outcomes.trials.sum()) * outcomes.scale


def _standard_error(moves: Sequence[Fraction], groups: Whole) -> float | None:
    """Of the mean of paired differences in independent groups, (items,): the sums of what they differ from
    the mean, sqrt(G / (G - 1) x sum of squares) / n; for single items s / sqrt(n)."""
    if len(set(moves)) < 2 or len(set(groups.tolist())) < 2:
        return None
    mean = sum(moves, Fraction(0)) / len(moves)
    sums: dict[int, Fraction] = {}
    for group, move in zip(groups.tolist(), moves, strict=True):
        sums[group] = sums.get(group, Fraction(0)) + move - mean
    count = len(sums)
    squares = sum((one**2 for one in sums.values()), Fraction(0))
    return sqrt(squares * count / (count - 1)) / len(moves) if squares else None
