"""Logs -> what they certify, as a document: which models can be told apart, and which order survives.

The tests are those that certify a study (`statistics.exact_tests`, `margins`). An item counts where some
model was asked it in the configuration: what another one lacks, or has no score of, is wrong in its score,
and earns in a test what speaks against the claim. Scores lie between 0 and 1.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Literal

import numpy as np

from gridc import __version__
from gridc.compiler.inputs.logs import ReadLogs
from gridc.compiler.inputs.logs.records import writable
from gridc.reports.recorded.cells import RecordedBenchmark, RecordedCell, recorded_runs
from gridc.schema.base import ALPHA
from gridc.schema.recorded import (
    FORMAT,
    LogBenchmarkRow,
    LogCertificate,
    LogNeighbourRow,
    LogPairRow,
    LogRankRow,
    LogReadingRow,
    LogScoreRow,
)
from gridc.statistics import exact_tests, margins
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.case_totals import CaseTable
from gridc.statistics.envelope import PairCounts, count
from gridc.statistics.exact_tests import holm
from gridc.statistics.reproducibility import decimals, digits
from gridc.statistics.unbounded_means import difference
from gridc.statistics.unit_intervals import Ends, share, unit_totals

PARTS = 10**6
"""A score is taken to so many parts of a point, so that sums are exact whatever their order."""


def score_limits(scores: Floats, units: Whole) -> Ends | None:
    """The interval of the mean of `scores`, (items,), NaN where there is none; `units` numbers the unit of
    every item. None where there is no score, or where too few units tell how scores beyond 0 and 1 vary."""
    held = ~np.isnan(scores)
    units, scores, ones = units[held], scores[held], np.ones(held.sum())
    if (scores < 0).any() or (scores > 1).any():
        return difference(units, ones, scores).interval
    return share(unit_totals(units, np.column_stack([ones, scores])).round(12)).interval


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
        return exact_tests.betting_tests(summed, PARTS * int(sizes.max()), float(sizes.mean()))


def _mean(values: Floats) -> Fraction | None:
    """Exact to the parts of a point. The sum is rounded, and not each: two thirds and a third are one."""
    return (
        Fraction(int(np.round(values.sum() * PARTS * 1000)), PARTS * 1000 * len(values))
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


WeighedPair = tuple[str, str, EnvelopePair]


def certificate(
    logs: ReadLogs,
    benchmarks: Iterable[RecordedBenchmark],
    alpha: float = ALPHA,
    common_only: bool = False,
    exported: tuple[str, str] | None = None,
) -> LogCertificate:
    """All benchmarks of some logs; `exported` has the stamp of the study that gridc exported as these, and
    where it comes from, in words. The claims of all pairs of all benchmarks share `alpha`: one family of
    reversals and one of orders, as in a study's certificate."""
    parts = [_UncorrectedBenchmark(benchmark, alpha) for benchmark in benchmarks]
    weighed = [pair for part in parts for _, _, pair in part.pairs]
    reversals = iter(holm([pair.reversal for pair in weighed]))
    orders = iter(holm([pair.order for pair in weighed], 2 * len(weighed)))
    rows = tuple(part.row(reversals, orders, alpha) for part in parts)
    runs = recorded_runs(logs)
    return LogCertificate.of(
        runs,
        format=FORMAT,
        gridc=__version__,
        provenance=f"{runs.provenance}; prompts as the log has them" if exported is None else exported[1],
        stamp=None if exported is None else exported[0],
        alpha=alpha,
        common_only=common_only,
        benchmarks=rows,
    ).as_written()


class _UncorrectedBenchmark:
    """One benchmark before the families are corrected."""

    def __init__(self, benchmark: RecordedBenchmark, alpha: float) -> None:
        self._benchmark = benchmark
        self._paired = PairedScores(benchmark)
        self._reasons: list[str] = []
        able = [model for model in benchmark.models if self._can_be_tested(model)]
        names, holding = shared(benchmark, able)
        inside = [model for model in holding if self._has_an_item_in_all(model, names)]
        self._ranked: RankedModels | None = None
        if len(inside) > 1:
            self._ranked = ranked(self._paired, inside, names, alpha)
        self.pairs: list[WeighedPair] = []
        for a, b, pair in envelopes(benchmark, self._paired, able):
            if pair is not None:
                self.pairs.append((a, b, pair))
                continue
            common = set(benchmark.held(a)) & set(benchmark.held(b))
            why = (
                "they share no item of which both have a score"
                if common
                else "no configuration that both have; two that differ are non-equivalent"
            )
            self._reasons.append(f"{a} and {b}: {why}")

    def _can_be_tested(self, model: str) -> bool:
        names = self._benchmark.held(model)
        if not names:
            self._reasons.append(f"{model}: no items, so that its score is described and not tested")
        elif all(np.isnan(self._paired.good(model, name)).all() for name in names):
            self._reasons.append(f"{model}: the log has no score of an item")
        elif not self._paired.bounded(model, names):
            self._reasons.append(f"{model}: scores outside of 0 to 1 are described and not tested")
        else:
            return True
        return False

    def _has_an_item_in_all(self, model: str, names: Sequence[str]) -> bool:
        scores = np.mean([self._paired.good(model, name) for name in names], axis=0)
        if np.isnan(scores).all():
            self._reasons.append(f"{model}: no item has a score in every configuration, so it has no place")
            return False
        if np.isnan(self._paired.mean_ends(model, names)[0]).all():
            self._reasons.append(f"{model}: no item of it is common to all models, so it has no place")
            return False
        return True

    def row(self, reversals: Iterator[float], orders: Iterator[float], alpha: float) -> LogBenchmarkRow:
        benchmark = self._benchmark
        cells = benchmark.cells.values()
        of_cells, of_models = self._intervals()
        return LogBenchmarkRow(
            benchmark=benchmark.name,
            items=benchmark.count,
            units=len(set(benchmark.units)),
            left_out=benchmark.left_out,
            lower_is_better=benchmark.lower,
            itemised=any(cell.itemised for cell in cells),
            configurations=benchmark.configurations,
            scores=tuple(_score(cell, ends) for cell, ends in zip(cells, of_cells, strict=True)),
            readings=tuple(reading for cell in cells for reading in _others(cell)),
            ordered_over=() if self._ranked is None else self._ranked.configurations,
            order=tuple(self._places(of_models)),
            neighbours=tuple(self._neighbours(alpha)),
            tie_groups=() if self._ranked is None else self._ranked.tie_groups,
            pairs=tuple(_pair(a, b, pair, next(reversals), next(orders), alpha) for a, b, pair in self.pairs),
            not_compared=tuple(self._reasons),
            between_models=benchmark.between,
            warnings=tuple(map(writable, benchmark.warnings)),
            matching=benchmark.items.matching,
        )

    def _intervals(self) -> tuple[list[Ends | None], list[Ends | None]]:
        """Of every cell's score, and of every ranked model's."""
        cells = self._benchmark.cells
        rows = [cell.worst if cell.bounded else cell.scores for cell in cells.values()]
        if self._ranked is not None:
            rows += [
                np.mean([cells[model, name].worst for name in self._ranked.configurations], axis=0)
                for model in self._ranked.order
            ]
        ends = [score_limits(row, self._paired.units) for row in rows]
        return ends[: len(cells)], ends[len(cells) :]

    def _places(self, intervals: Sequence[Ends | None]) -> Iterator[LogRankRow]:
        if self._ranked is None:
            return
        for number, (model, interval) in enumerate(zip(self._ranked.order, intervals, strict=True)):
            best, worst = self._ranked.places(model)
            score = self._ranked.scores[model]
            score = 1 - score if self._benchmark.lower else score
            yield LogRankRow(
                model=model, place=number + 1, best=best, worst=worst, score=score, interval=interval
            )

    def _neighbours(self, alpha: float) -> Iterator[LogNeighbourRow]:
        for test, adjusted in () if self._ranked is None else self._ranked.neighbours:
            yield LogNeighbourRow(
                a=test.a,
                b=test.b,
                items=test.items,
                units=test.units,
                gap=test.gap,
                a_ahead=test.ahead,
                b_ahead=test.behind,
                p=test.p,
                p_holm=adjusted,
                apart=adjusted <= alpha,
                test=test.test,
            )


def _score(cell: RecordedCell, interval: Ends | None) -> LogScoreRow:
    run = cell.runs[0]
    every = cell.worst if cell.bounded else cell.scores
    scores = every[~np.isnan(every)]
    printed = run.gathered.run.printed.get(run.reading) if len(cell.runs) == 1 else None
    value = float(scores.mean()) if len(scores) else None
    if not cell.itemised and printed is not None:
        value = printed.value
    counted = printed.items if printed is not None and not cell.itemised else None
    return LogScoreRow(
        model=cell.model,
        configuration=cell.configuration,
        reading=run.reading,
        score=value,
        interval=interval,
        bounds=_bounds(cell),
        items=len(scores) if cell.itemised else counted or 0,
        asked=cell.asked,
        repetitions=cell.repetitions,
        printed=None if printed is None else printed.value,
        states=cell.states,
    )


def _bounds(cell: RecordedCell) -> tuple[float, float] | None:
    """Of the score, where answers are missing: all of them wrong, and all of them right. None where no item
    counts."""
    if not cell.bounded or not cell.states.missing or np.isnan(cell.worst).all():
        return None
    least, most = sorted(float(np.nanmean(side)) for side in (cell.worst, cell.best))
    return least, most


def _others(cell: RecordedCell) -> Iterator[LogReadingRow]:
    """The readings beside the one that counts: what else the log has of the same answers, or prints."""
    for run in cell.runs[:1]:
        gathered = run.gathered
        for name in dict.fromkeys([*gathered.columns, *gathered.run.printed]):
            if name == run.reading:
                continue
            column, printed = gathered.columns.get(name), gathered.run.printed.get(name)
            held = np.array([]) if column is None else column.score[~np.isnan(column.score)]
            value = float(held.mean()) if len(held) else None if printed is None else printed.value
            items = len(held) or (0 if printed is None else printed.items or 0)
            yield LogReadingRow(
                model=cell.model,
                configuration=cell.configuration,
                reading=name,
                score=value,
                items=items,
            )


def _pair(a: str, b: str, pair: EnvelopePair, reversal: float, order: float, alpha: float) -> LogPairRow:
    counts = pair.counts
    certified = None
    if min(reversal, order) <= alpha:
        certified = "reversal" if reversal <= order else "order"
    ahead = a if pair.plus_everywhere <= pair.minus_everywhere else b
    return LogPairRow(
        a=a,
        b=b,
        configurations=counts.size,
        a_better=counts.plus,
        b_better=counts.minus,
        equal=counts.ties,
        verdict=counts.words,
        items=pair.items,
        test=pair.kind,
        order_p=order,
        reversal_p=reversal,
        certified="reversal" if certified == "reversal" else "order" if certified else None,
        first=ahead if certified == "order" else None,
        witness_a=None if counts.witness_plus is None else counts.witness_plus.configuration,
        witness_b=None if counts.witness_minus is None else counts.witness_minus.configuration,
    )
