"""Logs -> what they certify, as a document."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from gridc import __version__
from gridc.compiler.inputs.logs import ReadLogs
from gridc.compiler.inputs.logs.records import writable
from gridc.reports.recorded.cells import RecordedBenchmark, RecordedCell
from gridc.reports.recorded.evidence import (
    EnvelopePair,
    PairedScores,
    RankedModels,
    envelopes,
    ranked,
    shared,
)
from gridc.reports.recorded.intervals import score_intervals
from gridc.schema.base import ALPHA
from gridc.schema.recorded import (
    FORMAT,
    LogBenchmarkRow,
    LogCertificate,
    LogFileRow,
    LogNeighbourRow,
    LogPairRow,
    LogRankRow,
    LogReadingRow,
    LogScoreRow,
)
from gridc.statistics.exact_tests import holm
from gridc.statistics.unit_bootstrap import Ends

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
    packages = ", ".join(dict.fromkeys(file.made_by for file in logs.files))
    imported = f"imported from {packages} logs, not pre-registered; prompts as the log has them"
    return LogCertificate(
        format=FORMAT,
        gridc=__version__,
        provenance=imported if exported is None else exported[1],
        stamp=None if exported is None else exported[0],
        alpha=alpha,
        common_only=common_only,
        files=tuple(
            LogFileRow(path=writable(str(file.path)), sha256=file.digest, made_by=file.made_by)
            for file in logs.files
        ),
        notes=tuple(map(writable, logs.notes)),
        unknown=tuple(
            dict.fromkeys(
                f"{gathered.run.package}: {what}" for gathered in logs.runs for what in gathered.run.unknown
            )
        ),
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
        ends = score_intervals(np.array(rows), self._paired.units)
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
