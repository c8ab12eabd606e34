"""Pairs of models on the items that both have: which can be told apart, and which order survives.

The tests are those that certify a study (`statistics.exact_tests`, `margins`). An item counts where
some model was asked it in the configuration: what another one lacks, or has no score of, is wrong in its
score, and earns in a test what speaks against the claim. Scores lie between 0 and 1."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Literal

import numpy as np

from gridc.reports.recorded.cells import RecordedBenchmark
from gridc.reports.recorded.intervals import PARTS
from gridc.statistics import exact_tests, margins
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.case_totals import CaseTable
from gridc.statistics.digits import decimals, digits
from gridc.statistics.exact_tests import holm
from gridc.statistics.pairs import PairCounts, count


@dataclass(frozen=True, slots=True)
class GapTest:
    """One pair (a, b) on the mean over some configurations: `above` and `below` are one-sided p of a better
    and of b better."""

    a: str
    b: str
    items: int
    units: int
    gap: float | None
    ahead: int
    behind: int
    above: float
    below: float
    test: Literal["mcnemar", "gaffke"]

    @property
    def p(self) -> float:
        return min(1.0, 2 * min(self.above, self.below))


@dataclass(frozen=True, slots=True)
class EnvelopePair:
    """One pair over the configurations that both have: signs on these items, and p of an order throughout and
    of a reversal, before any family."""

    counts: PairCounts
    items: int
    kind: exact_tests.PairTest
    plus_everywhere: float
    minus_everywhere: float
    reversal: float

    @property
    def order(self) -> float:
        return min(self.plus_everywhere, self.minus_everywhere)


class PairedScores:
    """The scores of one benchmark by model and configuration, higher being better, (items,) each."""

    def __init__(self, benchmark: RecordedBenchmark) -> None:
        self._lower = benchmark.lower
        self._cells = benchmark.cells
        names = {name: number for number, name in enumerate(dict.fromkeys(benchmark.units))}
        self.units = np.array([names[unit] for unit in benchmark.units], np.int64)

    def good(self, model: str, configuration: str) -> Floats:
        """The scores that are there; NaN where there is none."""
        scores = self._cells[model, configuration].scores
        return 1 - scores if self._lower else scores

    def ends(self, model: str, configuration: str, first: bool = False) -> tuple[Floats, Floats]:
        """The least and the most that every item can have earned, (items,) each, what is missing being wrong
        and right; NaN where the item does not count. Of its first repetition, or of all."""
        cell = self._cells[model, configuration]
        least, most = cell.first_ends() if first else (cell.worst, cell.best)
        return (1 - least, 1 - most) if self._lower else (least, most)

    def mean_ends(self, model: str, configurations: Sequence[str]) -> tuple[Floats, Floats]:
        """The same of an item's mean over some configurations; NaN where it does not count in each."""
        sides = zip(*(self.ends(model, name) for name in configurations), strict=True)
        least, most = (np.mean(side, axis=0) for side in sides)
        return least, most

    def bounded(self, model: str, configurations: Sequence[str]) -> bool:
        """Whether every score lies between 0 and 1, and there is one."""
        values = np.concatenate([self.good(model, name) for name in configurations])
        held = values[~np.isnan(values)]
        return bool(len(held)) and bool((held >= 0).all() and (held <= 1).all())

    def common(self, a: str, b: str, configuration: str) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Which items have a score of both, (items,)."""
        both: np.ndarray[tuple[int], np.dtype[np.bool_]] = ~(
            np.isnan(self.good(a, configuration)) | np.isnan(self.good(b, configuration))
        )
        return both

    def gap(self, a: str, b: str, configurations: Sequence[str]) -> GapTest:
        """The pair on an item's mean over the configurations in which it counts. What is missing is wrong in
        the gap, and each claim is tested with the least that its winner and the most that the other can have
        earned there."""
        least, most = (
            [ends[side] for ends in (self.mean_ends(model, configurations) for model in (a, b))]
            for side in (0, 1)
        )
        counts = ~np.isnan(least[0]) & ~np.isnan(least[1])
        if not any(self.common(a, b, name).any() for name in configurations):
            return GapTest(a, b, 0, 0, None, 0, 0, 1.0, 1.0, "mcnemar")
        units = self.units[counts]
        numbers, of_unit = np.unique(units, return_inverse=True)
        sizes = np.bincount(of_unit)
        sides = [(least[0][counts], most[1][counts]), (least[1][counts], most[0][counts])]
        whole = len(numbers) == len(units) and np.isin(np.array(sides), (0.0, 1.0)).all()

        def sums(first: Floats, second: Floats) -> Floats:
            return np.column_stack([np.bincount(of_unit, side, len(numbers)) for side in (first, second)])

        def shown(first: Floats, second: Floats) -> float:
            """p of the first being no better."""
            both = sums(first, second)
            moved = np.round(both[:, 0] - both[:, 1], 9)
            ahead, behind = int((moved > 0).sum()), int((moved < 0).sum())
            if whole:
                return float(exact_tests.upper_tails(ahead + behind)[ahead])
            rows = np.column_stack([sizes, sizes]).astype(np.float64)
            table = CaseTable(rows, np.round(both, 9), np.ones(len(numbers), np.int64))
            return float(margins.above(table, 0, 1, 0.0))

        above, below = (digits(min(1.0, shown(*side))) for side in sides)
        moved = np.round(np.bincount(of_unit, (least[0] - least[1])[counts], len(numbers)), 9)
        ahead, behind = int((moved > 0).sum()), int((moved < 0).sum())
        sign = -1 if self._lower else 1
        gap = decimals(sign * (least[0][counts].mean() - least[1][counts].mean()))
        test: Literal["mcnemar", "gaffke"] = "mcnemar" if whole else "gaffke"
        return GapTest(a, b, len(units), len(numbers), gap, ahead, behind, above, below, test)

    def envelope(self, a: str, b: str, configurations: Sequence[str]) -> EnvelopePair:
        """The pair, configuration by configuration."""
        scores: dict[str, dict[str, Fraction | None]] = {a: {}, b: {}}
        whole, fewest = True, len(self.units)
        # Of each claim (a is better, b is better) the differences a - b: of all repetitions, of the first.
        means: tuple[list[Floats], list[Floats]] = ([], [])
        firsts: tuple[list[Floats], list[Floats]] = ([], [])
        for name in configurations:
            ends = self.ends(a, name), self.ends(b, name)
            counts = ~np.isnan(ends[0][0]) & ~np.isnan(ends[1][0])
            fewest = min(fewest, int(self.common(a, b, name).sum()))
            for model, side in zip((a, b), ends, strict=True):
                scores[model][name] = _mean(side[0][counts])
            first = self.ends(a, name, first=True), self.ends(b, name, first=True)
            whole = whole and all(np.isin(end[counts], (0.0, 1.0)).all() for side in first for end in side)
            for rows, (of_a, of_b) in ((means, ends), (firsts, first)):
                rows[0].append(np.where(counts, of_a[0] - of_b[1], 0.0))
                rows[1].append(np.where(counts, of_a[1] - of_b[0], 0.0))
        alone = len(np.unique(self.units)) == len(self.units)
        if whole and alone:
            plus, minus = (exact_tests.mcnemar(np.array(rows).round().astype(np.int64)) for rows in firsts)
        else:
            plus, minus = (self._bets(np.array(rows)) for rows in means)
        size = len(configurations)
        return EnvelopePair(
            count(a, b, scores[a], scores[b]),
            fewest,
            plus.kind,
            exact_tests.everywhere(plus.plus),
            exact_tests.everywhere(minus.minus),
            max(
                exact_tests.somewhere(plus.plus, plus.kind, size),
                exact_tests.somewhere(minus.minus, minus.kind, size),
            ),
        )

    def _bets(self, differences: Floats) -> exact_tests.PairTests:
        """Of differences (configurations, items) by unit."""
        _, of_unit = np.unique(self.units, return_inverse=True)
        sizes = np.bincount(of_unit)
        parts: Whole = np.round(differences * PARTS).astype(np.int64)
        summed = np.zeros((len(parts), len(sizes)), np.int64)
        for row, values in enumerate(parts):
            np.add.at(summed[row], of_unit, values)
        return exact_tests.bets(summed, PARTS * int(sizes.max()), float(sizes.mean()))


def _mean(values: Floats) -> Fraction | None:
    """Exact to the parts of a point."""
    return (
        Fraction(int(np.round(values * PARTS * 1000).sum()), PARTS * 1000 * len(values))
        if len(values)
        else None
    )


@dataclass(frozen=True, slots=True)
class RankedModels:
    """Models in the order of their scores over `configurations`, the neighbours' and all pairs' tests, and
    which pairs are apart (a better than b) when all pairs are corrected together. Of `strangers` nothing is
    known, because they share no item."""

    configurations: tuple[str, ...]
    order: tuple[str, ...]
    scores: Mapping[str, float]
    neighbours: tuple[tuple[GapTest, float], ...]
    apart: frozenset[tuple[str, str]]
    strangers: frozenset[tuple[str, str]]

    def places(self, model: str) -> tuple[int, int]:
        """The best and the worst place that the tests leave a model."""
        better = sum(b == model for _, b in self.apart)
        worse = sum(a == model for a, _ in self.apart)
        return better + 1, len(self.order) - worse

    @property
    def tie_groups(self) -> tuple[tuple[str, ...], ...]:
        """The longest runs of the order of which every two share items and are not apart; models that stand
        alone are no group."""
        groups: list[tuple[int, int]] = []
        for start in range(len(self.order)):
            end = start
            while end + 1 < len(self.order) and all(
                self._are_tied(self.order[inside], self.order[end + 1]) for inside in range(start, end + 1)
            ):
                end += 1
            if end > start and (not groups or end > groups[-1][1]):
                groups.append((start, end))
        return tuple(self.order[start : end + 1] for start, end in groups)

    def _are_tied(self, one: str, other: str) -> bool:
        pairs = (one, other), (other, one)
        return not any(pair in self.apart or pair in self.strangers for pair in pairs)


def shared(benchmark: RecordedBenchmark, models: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The configurations that most models have, and the models that have all of these."""
    held = {model: set(benchmark.held(model)) for model in models}
    counts = {name: sum(name in some for some in held.values()) for name in benchmark.configurations}
    most = max(counts.values(), default=0)
    if not most:
        return (), ()
    lead = next(name for name, number in counts.items() if number == most)
    inside = tuple(model for model in models if lead in held[model])
    names = tuple(name for name in counts if all(name in held[model] for model in inside))
    return names, inside


def ranked(
    paired: PairedScores, models: Sequence[str], configurations: tuple[str, ...], alpha: float
) -> RankedModels:
    """The models in order, with every pair tested. Every model has an item with a score in each of the
    configurations."""
    scores = {
        model: decimals(float(np.nanmean(paired.mean_ends(model, configurations)[0]))) for model in models
    }
    order = tuple(sorted(models, key=lambda model: (-scores[model], model)))
    tests = {pair: paired.gap(*pair, configurations) for pair in combinations(order, 2)}
    adjusted = holm([min(test.above, test.below) for test in tests.values()], 2 * len(tests))
    apart = frozenset(
        (test.a, test.b) if test.above <= test.below else (test.b, test.a)
        for test, p in zip(tests.values(), adjusted, strict=True)
        if p <= alpha
    )
    beside = [tests[pair] for pair in pairwise(order)]
    neighbours = tuple(zip(beside, holm([test.p for test in beside]), strict=True))
    strangers = frozenset(pair for pair, test in tests.items() if not test.items)
    return RankedModels(configurations, order, scores, neighbours, apart, strangers)


def envelopes(
    benchmark: RecordedBenchmark, paired: PairedScores, models: Sequence[str]
) -> Iterator[tuple[str, str, EnvelopePair | None]]:
    """Every pair over what both have; None where that is nothing."""
    for a, b in combinations(models, 2):
        both = [name for name in benchmark.held(a) if name in benchmark.held(b)]
        some = any(paired.common(a, b, name).any() for name in both)
        yield a, b, paired.envelope(a, b, both) if some else None
