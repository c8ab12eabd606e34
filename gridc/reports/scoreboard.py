"""What each model scores under the anchor: the table that a run ends with and a report begins with."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from gridc.compiler.grid.cells import anchored
from gridc.compiler.instrument.score import chance, policies
from gridc.compiler.lowering.plan import Plan
from gridc.numbers import asked_items, count
from gridc.reports.findings.rates import RateFinding, RateValue, find_rates
from gridc.reports.findings.run_record import RunRecord
from gridc.reports.findings.scores import (
    CellScore,
    UnitIntervals,
    cells_by_benchmark,
    gather_outcomes,
    unit_intervals,
)
from gridc.schema.inference import rate_kind
from gridc.schema.items import UnitLevel
from gridc.schema.spec import Spec
from gridc.statistics.envelope import Direction
from gridc.statistics.unit_intervals import Ends

if TYPE_CHECKING:
    from gridc.reports.findings.findings import Findings


@dataclass(frozen=True, slots=True)
class ScoreboardRow:
    """One model under the anchor of a benchmark. `score` is None while a sample is missing, `interval` (95 %,
    over units) too, and `on_units` is that of these very units where they are few. `unreadable` of `samples`
    answers could not be read; None where there is nothing to read. `least` and `greatest` are over the
    `measured` configurations of the envelope; `rates` are those that a score hides and the spec's outcomes,
    by name."""

    model: str
    score: Fraction | None
    interval: Ends | None
    on_units: Ends | None
    unreadable: int | None
    samples: int
    least: Fraction | None
    greatest: Fraction | None
    measured: int
    rates: Mapping[str, RateValue]


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """One benchmark, asked `items` of the `held` ones that its files hold, `anchor_items` of them under the
    anchor; where some of them ask the same, they are `distinct` questions. `levels` is the anchor's
    configuration, `configurations` how many the envelope has, and `chance` the score of one who picks options
    at random there (None where answers are no options). `policies` are the scores of models that always
    `comply` and always `refuse`, where that is what is read."""

    benchmark: str
    levels: Mapping[str, str]
    items: int
    anchor_items: int
    held: int
    distinct: int
    unit: UnitLevel
    units: int
    direction: Direction
    configurations: int
    chance: Fraction | None
    policies: Mapping[str, Fraction]
    models: tuple[ScoreboardRow, ...]

    @property
    def few(self) -> bool:
        """Whether some interval is of few units, beside one of these very units."""
        return any(row.on_units or any(rate.on_units for rate in row.rates.values()) for row in self.models)

    @property
    def asked(self) -> str:
        """`42 of 60 items, 6 of them under the anchor`."""
        own = f", {count(self.anchor_items)} of them under the anchor" * (self.anchor_items < self.items)
        return f"{asked_items(self.items, self.held, self.distinct)}{own}"


def ranked_models(board: Scoreboard) -> list[ScoreboardRow]:
    """The models of a benchmark, those without a score last."""

    def place(row: ScoreboardRow) -> tuple[bool, Fraction]:
        return row.score is None, -board.direction.good(row.score or Fraction(0))

    return sorted(board.models, key=place)


def of_findings(findings: "Findings") -> tuple[Scoreboard, ...]:
    """The scoreboards of a report."""
    return tuple(
        _scoreboard(
            findings.plan,
            benchmark.benchmark,
            [score for score in benchmark.cells if score.cell.shared],
            benchmark.intervals,
            benchmark.rates,
        )
        for benchmark in findings.benchmarks
    )


def of_record(record: RunRecord) -> tuple[Scoreboard, ...]:
    """The same without a report: only the cells of the anchors have intervals, and are read for the rates
    that are shown."""
    study, spec = record.plan.study, record.plan.study.spec
    shown = partial(_is_beside_score, [outcome.id for outcome in spec.outcomes])
    boards = []
    for benchmark, cells in cells_by_benchmark(spec, record.scores).items():
        scores, items = [score for score in cells if score.cell.shared], study.items[benchmark]
        anchors = _anchors(spec, scores)
        outcomes = gather_outcomes([score.cell for score in anchors], record.samples.stored, items)
        intervals = unit_intervals(spec, items, outcomes)
        rates = find_rates(record.plan, record.store, anchors, shown)[benchmark]
        boards.append(_scoreboard(record.plan, benchmark, scores, intervals, rates))
    return tuple(boards)


def _anchors(spec: Spec, scores: Sequence[CellScore]) -> list[CellScore]:
    """The score of each model under the anchor: the first configuration that the spec selects."""
    first = next(score.cell.configuration for score in scores if anchored(spec, score.cell))
    return [score for score in scores if score.cell.configuration == first]


def _scoreboard(
    plan: Plan,
    benchmark: str,
    scores: Sequence[CellScore],
    intervals: UnitIntervals,
    rates: Sequence[RateFinding],
) -> Scoreboard:
    study, spec, items = plan.study, plan.study.spec, plan.study.items[benchmark]
    asked = plan.asked(benchmark)
    anchors = _anchors(spec, scores)
    stated = next(row for row in spec.benchmark if row.id == benchmark)
    cell, outcomes = anchors[0].cell, [outcome.id for outcome in spec.outcomes]
    return Scoreboard(
        benchmark,
        cell.levels,
        len(asked.items),
        len(plan.items(cell)),
        items.held,
        asked.distinct,
        items.unit,
        asked.units,
        Direction.of(stated.direction),
        len({score.cell.configuration for score in scores}),
        None if benchmark in study.absent else chance(cell.setting, plan.items(cell)),
        {} if benchmark in study.absent else policies(cell.setting, plan.items(cell)),
        tuple(_model(score, scores, intervals, rates, outcomes) for score in anchors),
    )


def _model(
    anchor: CellScore,
    scores: Sequence[CellScore],
    intervals: UnitIntervals,
    rates: Sequence[RateFinding],
    stated: Collection[str],
) -> ScoreboardRow:
    place = anchor.cell.model, anchor.cell.configuration
    own = [score.score for score in scores if score.cell.model == anchor.cell.model]
    measured = [value for value in own if value is not None]
    return ScoreboardRow(
        anchor.cell.model,
        anchor.score,
        intervals.scores.get(place),
        intervals.on_units.get(place),
        None if anchor.parse_rate is None else anchor.trials - anchor.parsed,
        anchor.trials,
        min(measured, default=None),
        max(measured, default=None),
        len(measured),
        dict(_beside_score(rates, place, stated)),
    )


def _beside_score(
    rates: Sequence[RateFinding], place: tuple[str, str], stated: Collection[str]
) -> Iterator[tuple[str, RateValue]]:
    for rate in rates:
        if _is_beside_score(stated, rate.name) and place in rate.values:
            yield rate.name, rate.values[place]


def _is_beside_score(stated: Collection[str], rate: str) -> bool:
    """Of the errors that cancel in a score, and of the outcomes that the spec states."""
    return rate_kind(rate).beside_score or rate in stated
