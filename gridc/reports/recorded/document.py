"""Logs -> what they have and what it certifies, as a document: the scores of all, the order and the claims of
those that are compared.

The tests are those of a study, of the same outcomes. An item counts where some model was asked it in the
configuration: what another one lacks, or has no score of, is wrong in its score, and earns in a test what
speaks against the claim. Scores that are compared lie between 0 and 1.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from gridc import __version__
from gridc.compiler.inputs.logs import ReadLogs
from gridc.compiler.inputs.logs.records import writable
from gridc.reports.findings.certification import exact_claims
from gridc.reports.findings.standings import standings
from gridc.reports.recorded.cells import RecordedCell, recorded_runs, score_limits
from gridc.reports.recorded.compared import ComparedCells
from gridc.reports.recorded.groups import group_rows, score_groups
from gridc.reports.recorded.printed import printed
from gridc.schema.base import ALPHA
from gridc.schema.recorded import (
    FORMAT,
    LogBenchmarkRow,
    LogCertificate,
    LogPairRow,
    LogReadingRow,
    LogScoreRow,
    LogStopRow,
)
from gridc.schema.rows import StrengthRow
from gridc.statistics.arrays import Whole
from gridc.statistics.envelope import Direction, count_orders


def certificate(
    logs: ReadLogs,
    parts: Sequence[ComparedCells],
    alpha: float = ALPHA,
    common_only: bool = False,
    exported: tuple[str, str] | None = None,
) -> LogCertificate:
    """All benchmarks of some logs; `exported` has the stamp of the study that gridc exported as these, and
    where it comes from, in words. The claims of all pairs of all benchmarks share `alpha`, as in a study's
    certificate."""
    claims = exact_claims({part.name: part.outcomes for part in parts if len(part.models) > 1}, alpha)
    runs = recorded_runs(logs)
    benchmarks = list(dict.fromkeys(part.benchmark for part in parts))
    groups = tuple(group_rows(score_groups(benchmarks)))
    return LogCertificate.of(
        runs,
        format=FORMAT,
        gridc=__version__,
        provenance=f"{runs.provenance}; prompts as the log has them" if exported is None else exported[1],
        stamp=None if exported is None else exported[0],
        alpha=alpha,
        common_only=common_only,
        groups=groups,
        printed=printed(benchmarks, groups),
        benchmarks=tuple(_benchmark(part, claims, alpha) for part in parts),
    ).as_written()


def _benchmark(
    part: ComparedCells, claims: Mapping[tuple[str, str, str], StrengthRow], alpha: float
) -> LogBenchmarkRow:
    benchmark, direction = (
        part.benchmark,
        Direction.of("lower_is_better" if part.benchmark.lower else "higher_is_better"),
    )
    cells, units = part.reported_cells, benchmark.unit_numbers
    compared = len(part.models) > 1
    return LogBenchmarkRow(
        benchmark=part.name,
        items=int(part.reported_items.sum()),
        units=len(np.unique(units[part.reported_items])),
        left_out=part.uncounted_items,
        lower_is_better=benchmark.lower,
        itemised=any(cell.itemised for cell in cells),
        configurations=tuple(dict.fromkeys(cell.configuration for cell in cells)),
        scores=tuple(_score(cell, units) for cell in cells),
        readings=tuple(reading for cell in cells for reading in _others(cell)),
        standings=standings(part.outcomes, direction, alpha) if compared else None,
        pairs=tuple(_pair(part, a, b, claims[part.name, a, b]) for a, b in combinations(part.models, 2)),
        not_compared=(
            *(f"{model}: {why}" for model, why in part.incomparable.items()),
            *([f"with {part.why_separate}"] if part.why_separate else []),
        ),
        between_models=benchmark.between if part.is_main else (),
        warnings=tuple(map(writable, benchmark.warnings)) if part.is_main else (),
        matching=benchmark.items.matching if part.is_main else None,
    )


def _score(cell: RecordedCell, units: Whole) -> LogScoreRow:
    run = cell.runs[0]
    every = cell.worst if cell.bounded else cell.scores
    scores = every[~np.isnan(every)]
    stated = run.gathered.run.printed.get(run.reading) if len(cell.runs) == 1 else None
    value = float(scores.mean()) if len(scores) else None
    if not cell.itemised and stated is not None:
        value = stated.value
    counted = stated.items if stated is not None and not cell.itemised else None
    return LogScoreRow(
        model=cell.model,
        configuration=cell.configuration,
        reading=run.reading,
        score=value,
        interval=score_limits(every, units),
        bounds=_bounds(cell),
        items=len(scores) if cell.itemised else counted or 0,
        asked=cell.asked,
        repetitions=cell.repetitions,
        printed=None if stated is None else stated.value,
        states=cell.states,
        stops=tuple(_stops(cell, units)),
    )


def _stops(cell: RecordedCell, units: Whole) -> Iterator[LogStopRow]:
    """What ended answers; of those that the logs have, the most frequent first."""
    asked = np.zeros(cell.count, np.int64)
    ended: dict[str, Whole] = {}
    for column in (run.column for run in cell.runs if run.column is not None):
        asked += np.bincount(column.item, minlength=cell.count)
        for what, rows in column.stopped.items():
            ended.setdefault(what, np.zeros_like(asked))
            ended[what] += np.bincount(column.item[rows], minlength=cell.count)
    for what, counts in sorted(ended.items(), key=lambda each: (-each[1].sum(), each[0])):
        shares = np.divide(counts, asked, out=np.full(cell.count, np.nan), where=asked > 0)
        yield LogStopRow(
            what=writable(what),
            answers=int(counts.sum()),
            share=float(np.nanmean(shares)),
            interval=score_limits(shares, units),
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
            column, stated = gathered.columns.get(name), gathered.run.printed.get(name)
            held = np.array([]) if column is None else column.score[~np.isnan(column.score)]
            value = float(held.mean()) if len(held) else None if stated is None else stated.value
            items = len(held) or (0 if stated is None else stated.items or 0)
            yield LogReadingRow(
                model=cell.model,
                configuration=cell.configuration,
                reading=name,
                score=value,
                items=items,
            )


def _pair(part: ComparedCells, a: str, b: str, claimed: StrengthRow) -> LogPairRow:
    """Their scores by configuration, and what is certified. The better one scores lower where that is
    better."""
    scores: dict[str, dict[str, Fraction | None]] = {
        model: {name: part.mean(model, name) for name in part.configurations} for model in (a, b)
    }
    counts = count_orders(a, b, scores[a], scores[b])
    ahead = (counts.plus, counts.witness_plus), (counts.minus, counts.witness_minus)
    (a_better, witness_a), (b_better, witness_b) = ahead[::-1] if part.benchmark.lower else ahead
    higher = claimed.first
    first = higher if not part.benchmark.lower or higher is None else b if higher == a else a
    return LogPairRow(
        a=a,
        b=b,
        configurations=counts.size,
        a_better=a_better,
        b_better=b_better,
        equal=counts.ties,
        verdict=counts.words,
        items=int(part.counted_items.sum(axis=1).min()),
        test=claimed.test,
        order_p=claimed.order.adjusted,
        reversal_p=claimed.reversal.adjusted,
        certified=claimed.claim,
        first=first,
        witness_a=None if witness_a is None else witness_a.configuration,
        witness_b=None if witness_b is None else witness_b.configuration,
    )
