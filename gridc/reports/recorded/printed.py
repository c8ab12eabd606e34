"""Compares the scores that packages print in their own logs with those that the items give, and says why they
differ.

A package may count what failed, leave out what has no score, put epochs together otherwise, or print no
mean. An answer without a score is wrong in gridc's score. A printed standard error is compared with that of
the mean of independent items.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import isnan, sqrt

import numpy as np

from gridc.compiler.inputs.logs.gathering import STATE_CODES, LogColumn, item_means
from gridc.compiler.inputs.logs.records import PrintedScore
from gridc.numbers import counted
from gridc.reports.recorded.cells import RecordedAnswers, RecordedBenchmark, RecordedCell
from gridc.reports.recorded.groups import AGREE
from gridc.schema.recorded import LogGroupRow, LogPrinted, LogPrintedRow
from gridc.statistics.arrays import Floats

FAILED = STATE_CODES["failed"]
NEAR = 0.01
"""The part of a standard error by which a printed one may differ."""
Compared = LogPrintedRow | bool
"""A difference, or whether a number was compared with items, which it agrees with."""


def printed(benchmarks: Sequence[RecordedBenchmark], groups: Sequence[LogGroupRow]) -> LogPrinted:
    """Of every run that ended, and of the groups."""
    found = list(
        chain(
            (
                one
                for benchmark in benchmarks
                for cell in benchmark.cells.values()
                for run in cell.runs
                if run.gathered.run.finished is not False
                for one in _of_run(benchmark, cell, run)
            ),
            (_of_group(row, benchmarks) for row in groups if row.printed is not None),
        )
    )
    differences = tuple(one for one in found if isinstance(one, LogPrintedRow))
    agree = sum(one is True for one in found)
    return LogPrinted(
        compared=len(differences) + agree,
        agree=agree,
        without_items=sum(one is False for one in found),
        differences=differences,
    )


def _of_run(benchmark: RecordedBenchmark, cell: RecordedCell, run: RecordedAnswers) -> Iterator[Compared]:
    """Of the reading that counts, under each reducer that it is printed under where none is the mean."""
    of_log = run.gathered.run.printed
    names = [run.reading] if run.reading in of_log else [
        name for name in of_log if name.startswith(f"{run.reading}, ")
    ]  # fmt: skip
    for name in names:
        stated = of_log[name]
        row = LogPrintedRow(
            benchmark=benchmark.name,
            model=cell.model,
            configuration=cell.configuration,
            reading=name,
            what="score",
            package=run.gathered.run.package,
            printed=0.0,
            items=None,
            cause=None,
        )
        if stated.value is not None:
            yield _score(row, cell, run, stated)
        if stated.error is not None and not stated.how:
            yield _error(row, benchmark, run.column, stated)


def _score(row: LogPrintedRow, cell: RecordedCell, run: RecordedAnswers, stated: PrintedScore) -> Compared:
    column, value = run.column, float(stated.value or 0.0)
    if column is None:
        return False
    own = cell if len(cell.runs) == 1 else replace(cell, runs=(run,))
    every = own.worst if own.bounded else own.scores
    mean = None if np.isnan(every).all() else float(np.nanmean(every))
    if mean is not None and (abs(mean - value) <= AGREE or abs(100 * mean - value) <= 100 * AGREE):
        return True
    how = f"it prints {stated.how}, which is no mean of the answers' scores" if stated.how else None
    cause = how or _cause(own, column, stated)
    return row.model_copy(update={"printed": value, "items": mean, "cause": cause})


def _cause(cell: RecordedCell, column: LogColumn, stated: PrintedScore) -> str | None:
    """Why a printed mean is not the mean over items in which what is missing is wrong."""
    value = float(stated.value or 0.0)
    of_failed = int((np.isnan(column.score) & ~np.isnan(column.logged)).sum())
    for scores, counts_failed in ((column.logged, True), (column.score, False)):
        of_items, of_answers = item_means(column.item, scores), scores[~np.isnan(scores)]
        alike = len(of_items) and abs(float(of_items.mean()) - value) <= AGREE
        if not alike and not (len(of_answers) and abs(float(of_answers.mean()) - value) <= AGREE):
            continue
        causes = [] if alike else ["there each answer counts alike, and some items have more of them"]
        if of_failed and counts_failed:
            why = f" ({stated.failed_by})" if stated.failed_by else ""
            causes.append(
                f"{counted(of_failed, 'sample')} that failed {_was(of_failed)} scored there{why} and "
                f"{_are(of_failed)} wrong here"
            )
        for what, failed in (("that failed", True), ("without a score", False)):
            left = int((np.isnan(scores) & ((column.state == FAILED) == failed)).sum())
            if left and cell.bounded:
                causes.append(f"{counted(left, 'answer')} {what} {_are(left)} left out there and wrong here")
        absent = cell.states.absent
        if absent and cell.bounded:
            causes.append(f"{counted(absent, 'answer')} that this log lacks {_are(absent)} wrong here")
        out = int((cell.held & ~cell.counts).sum())
        if out:
            causes.append(f"{counted(out, 'item')} that some model lacks {_are(out)} left out here")
        return "; ".join(causes) or None
    return None


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _error(
    row: LogPrintedRow, benchmark: RecordedBenchmark, column: LogColumn | None, stated: PrintedScore
) -> Compared:
    if column is None:
        return False
    value = float(stated.error or 0.0)
    sides = [(column.logged, item_means(column.item, column.logged))]
    sides.append((column.score, item_means(column.item, column.score)))
    plain = [sample_standard_error(of_items) for _, of_items in sides]
    if any(_is_near(one, value) for one in plain):
        return True
    scores, of_items = sides[0]
    cause = stated.error_how or _cause_of_error(benchmark, column, scores, of_items, value)
    items = None if isnan(plain[0]) else plain[0]
    return row.model_copy(
        update={"what": "standard error", "printed": value, "items": items, "cause": cause or None}
    )


def sample_standard_error(scores: Floats) -> float:
    """Of the mean of independent scores, NaN of fewer than two."""
    return float(scores.std(ddof=1)) / sqrt(len(scores)) if len(scores) > 1 else float("nan")


def _is_near(error: float, stated: float) -> bool:
    return abs(error - stated) <= max(AGREE, NEAR * stated)


def _cause_of_error(
    benchmark: RecordedBenchmark, column: LogColumn, scores: Floats, of_items: Floats, value: float
) -> str | None:
    """What makes a standard error that is none of independent items."""
    items = len(of_items)
    if items < 2:
        return None
    if _is_near(float(of_items.std()) / sqrt(items), value):
        return "it divides by the number of items, and not by one less"
    answers = scores[~np.isnan(scores)]
    if len(answers) > items and _is_near(sample_standard_error(answers), value):
        return f"it takes {len(answers):,} answers to {items:,} items as independent"
    units = benchmark.unit_numbers[column.item[~np.isnan(scores)]]
    parted = np.bincount(units, answers - answers.mean())[np.bincount(units) > 0]
    groups = len(parted)
    if 1 < groups < items:
        clustered = sqrt(float((parted**2).sum()) * groups / (groups - 1)) / len(answers)
        if _is_near(clustered, value):
            return f"its {items:,} items are clusters of {groups:,} units there"
    spread = float(of_items.std(ddof=1))
    fits = (spread / value) ** 2 if value > 0 else 0.0
    return f"it would fit {fits:,.0f} items of these scores, and there are {items:,}" if fits >= 1 else None


def _of_group(row: LogGroupRow, benchmarks: Sequence[RecordedBenchmark]) -> Compared:
    if row.micro is None or row.printed is None:
        return False
    if row.printed_is is not None:
        return True
    member = next(one for one in benchmarks if one.name in row.benchmarks)
    package = next(iter(member.cells.values())).runs[0].gathered.run.package
    missing = len(row.missing)
    lacks = f"{counted(missing, 'task')} of the group {_are(missing)} not in it here" if missing else None
    return LogPrintedRow(
        benchmark=row.group,
        model=row.model,
        configuration=row.configuration,
        reading=row.reading,
        what="mean of a group",
        package=package,
        printed=row.printed,
        items=row.micro,
        cause=lacks,
    )
