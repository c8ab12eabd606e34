"""What the first screen of a report draws: a chart of each benchmark's scores or error rates, and for each
verdict a square for every configuration in the colour of the model that is ahead there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.findings.moves import values_of
from gridc.reports.findings.rates import RateFinding
from gridc.reports.findings.verdicts import SCORE
from gridc.reports.scoreboard import Scoreboard, ranked_models
from gridc.reports.statements.differences import DOING
from gridc.reports.words import FAULTS, better_score_words, units_words
from gridc.schema.verdicts import VerdictRow
from gridc.statistics.unit_intervals import Ends

HUES = 8
"""Models with a colour of their own; the rest share one."""

MOST_SQUARES = 240
"""Configurations that are drawn as squares; of more a bar shows the shares."""

PALEST = 0.3
"""How opaque the square of the smallest lead is."""


@dataclass(frozen=True, slots=True)
class ChartRow:
    """A model: its value under the reference configuration with the 95 % interval, and the lowest and highest
    value over all configurations; None where nothing is measured."""

    model: str
    value: Fraction | None
    interval: Ends | None
    span: tuple[Fraction, Fraction] | None
    unreadable: int
    samples: int


@dataclass(frozen=True, slots=True)
class ScoreChart:
    """The models of one benchmark by one quantity, the best first. `better` says which end is better where it
    is not the higher one; `scope` what the intervals are about."""

    benchmark: str
    title: str
    note: str
    better: str
    scope: str
    chance: Fraction | None
    rows: tuple[ChartRow, ...]
    configurations: int
    anchor: str


@dataclass(frozen=True, slots=True)
class ConfigurationSquare:
    """A configuration: which model is ahead there (None: both are equal), and how opaque it is drawn."""

    configuration: str
    ahead: str | None
    opacity: float


def hues(models: Sequence[str]) -> dict[str, str]:
    """The class of each model's colour."""
    return {model: f"m{min(place, HUES)}" for place, model in enumerate(models)}


def charts(findings: Findings, boards: Sequence[Scoreboard]) -> Iterator[ScoreChart]:
    """Of each benchmark its error rates, the worse kind first, or else its score."""
    by_name = {benchmark.benchmark: benchmark for benchmark in findings.benchmarks}
    for board in boards:
        benchmark = by_name[board.benchmark]
        faults = [rate for name in FAULTS for rate in benchmark.rates if rate.name == name]
        if faults:
            yield from (_of_rate(findings, board, benchmark, rate) for rate in faults)
        else:
            yield _of_score(findings, board, benchmark)


def _of_score(findings: Findings, board: Scoreboard, benchmark: BenchmarkFinding) -> ScoreChart:
    few = any(row.on_units for row in board.models)
    rows = tuple(
        ChartRow(
            row.model,
            row.score,
            row.on_units or row.interval,
            None if row.least is None or row.greatest is None else (row.least, row.greatest),
            row.unreadable or 0,
            row.samples,
        )
        for row in ranked_models(board)
    )
    better = better_score_words(board.direction.lower, board.direction.target)
    return _chart(findings, board, benchmark, board.benchmark, better, few, board.chance, rows)


def _of_rate(
    findings: Findings, board: Scoreboard, benchmark: BenchmarkFinding, rate: RateFinding
) -> ScoreChart:
    where = benchmark.models[0].anchor.cell.configuration
    rows = []
    for row in board.models:
        here = rate.values.get((row.model, where))
        rows.append(
            ChartRow(
                row.model,
                None if here is None else here.value,
                None if here is None else here.on_units or here.interval,
                rate.range_of(row.model),
                row.unreadable or 0,
                row.samples,
            )
        )
    few = any(value.on_units for value in rate.values.values())
    did, kind = FAULTS[rate.name]
    title = f"{DOING[did].capitalize()} {kind} prompts"
    ordered = tuple(sorted(rows, key=lambda row: (row.value is None, row.value or 0)))
    return _chart(findings, board, benchmark, title, "lower is better", few, None, ordered)


def _chart(
    findings: Findings,
    board: Scoreboard,
    benchmark: BenchmarkFinding,
    title: str,
    better: str,
    few: bool,
    chance: Fraction | None,
    rows: tuple[ChartRow, ...],
) -> ScoreChart:
    note = next(row.note for row in findings.plan.study.spec.benchmark if row.id == board.benchmark) or ""
    units = units_words(benchmark.unit, benchmark.units)
    scope = f"new items of these {units}" if few else "new items"
    if not few and benchmark.grouped:
        scope = f"new items ({units})"
    anchor = benchmark.models[0].anchor.cell.configuration
    return ScoreChart(board.benchmark, title, note, better, scope, chance, rows, board.configurations, anchor)


def squares(findings: Findings, rows: Sequence[VerdictRow]) -> list[tuple[ConfigurationSquare, ...]]:
    """Of each verdict a square for every configuration: leads of the first model, ties, leads of the second,
    all on one scale."""
    leads = [_leads(findings, row) for row in rows]
    most = max((abs(lead) for own in leads for lead in own.values()), default=Fraction(0)) or Fraction(1)
    return [
        tuple(
            ConfigurationSquare(
                where,
                None if not lead else row.a if lead > 0 else row.b,
                1.0 if not lead else round(PALEST + (1 - PALEST) * float(abs(lead) / most), 2),
            )
            for where, lead in sorted(own.items(), key=lambda each: -each[1])
        )
        for row, own in zip(rows, leads, strict=True)
    ]


def _leads(findings: Findings, row: VerdictRow) -> dict[str, Fraction]:
    """By configuration how much better the first model is."""
    benchmark = next(each for each in findings.benchmarks if each.benchmark == row.benchmark)
    values = values_of(benchmark, row.what)
    good = benchmark.direction.good if row.what == SCORE else _lower
    return {
        where: good(value) - good(values[row.b, where])
        for (model, where), value in values.items()
        if model == row.a and (row.b, where) in values
    }


def _lower(value: Fraction) -> Fraction:
    return -value
