"""The statistics that a spec states: of each model under each configuration, with intervals over units.

What is read is in `summary_rows`, and how each kind is computed of it in `summary_kinds`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridc.compiler.grid.cells import ONLY, Cell, anchored
from gridc.compiler.instrument.aggregates import conflict_of_statistic
from gridc.numbers import in_unit
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.summary_kinds import (
    KINDS,
    formula_words,
    gap_over_levels,
    rows_of_statistic,
    statistic_unit,
    what_is,
)
from gridc.reports.findings.summary_rows import StatisticScope, StatisticSource
from gridc.schema.canonical import digest
from gridc.schema.statistics import Statistic, StatisticKind, gap_statistic
from gridc.statistics.envelope import LEVEL
from gridc.statistics.strata import UNDETERMINED
from gridc.statistics.unit_intervals import Ends, UnitEstimate


@dataclass(frozen=True, slots=True)
class SummaryValue:
    """A statistic of one model under one configuration, over `responses` of those that were `asked`. `note`
    says why it has no value or no interval, or that few units have one; `rows` is the digest of what was
    read. Where a criterion bounds it, `limits` are its one-sided ones at an error of `ERROR`, and `together`
    those at `ERROR` over the number of its values."""

    value: float | None
    interval: Ends | None
    method: str
    responses: int
    asked: int
    rows: str
    note: str
    limits: Ends | None = None
    together: Ends | None = None

    @classmethod
    def of(cls, found: UnitEstimate, responses: int, asked: int, rows: str) -> "SummaryValue":
        note = found.no_interval
        if found.value is None and note == UNDETERMINED.no_interval:
            note = "these responses do not determine it"
        if found.interval is not None and found.few:
            note = FEW
        return cls(found.value, found.interval, found.method, responses, asked, rows, note)

    @classmethod
    def missing(cls, why: str) -> "SummaryValue":
        """Of what was not asked, or is not all answered."""
        return cls(None, None, "", 0, 0, digest([]), why)

    @property
    def of_answers(self) -> str:
        """`of 180 of 200 answers`; empty where all that were asked are in."""
        return "" if self.responses >= self.asked else f"of {self.responses:,} of {self.asked:,} answers"


FEW = "few units"


@dataclass(frozen=True, slots=True)
class StatedStatistic:
    """A statistic that the spec states, by model and configuration; of axes whose levels are taken together a
    configuration names the others. `anchor` is the one that the study's anchor selects, `by` what a mean of
    means is over, and `unit` what values are counted in: `%` for shares, empty for plain numbers."""

    id: str
    kind: StatisticKind
    what: str
    benchmarks: tuple[str, ...]
    anchor: str
    values: Mapping[str, Mapping[str, SummaryValue]]
    by: str | None = None
    unit: str = ""
    k: int | None = None

    @property
    def formula(self) -> str:
        """How it is computed, in words."""
        return formula_words(self.kind, self.by, self.k)

    def shown(self, value: float | None) -> str:
        """A value as documents print it, with its unit."""
        return in_unit(value, self.unit)


def summaries(record: RunRecord) -> tuple[StatedStatistic, ...]:
    """Every statistic that the spec states."""
    spec = record.plan.study.spec
    bounded = {test.criterion.statistic for test in spec.falsification if test.criterion is not None}
    found = ((stated, _summary(record, stated)) for stated in spec.statistics)
    return tuple(
        _with_limits(record, stated, summary) if stated.id in bounded else summary
        for stated, summary in found
    )


ERROR = 0.05
"""The error of a criterion that is called met, and of one that is called failed."""


def _with_limits(record: RunRecord, statistic: Statistic, summary: StatedStatistic) -> StatedStatistic:
    known = [value for own in summary.values.values() for value in own.values() if value.value is not None]
    alone, together = (
        _summary(record, statistic, 1 - 2 * error).values for error in (ERROR, ERROR / max(len(known), 1))
    )
    values = {
        model: {
            name: replace(value, limits=alone[model][name].interval, together=together[model][name].interval)
            for name, value in own.items()
        }
        for model, own in summary.values.items()
    }
    return replace(summary, values=values)


def _summary(record: RunRecord, statistic: Statistic, level: float = LEVEL) -> StatedStatistic:
    spec = record.plan.study.spec
    measured = gap_statistic(statistic, spec.statistics)
    named = measured.benchmarks
    benchmarks = tuple(each for each in spec.benchmark if named is None or each.id in named)
    lacking: dict[str, list[str]] = {}
    for place in map(record.plan.envelope, [each.id for each in benchmarks]):
        for model in place.not_asked:
            lacking.setdefault(model, []).append(place.benchmark)
    some = [model.id for model in spec.model if len(lacking.get(model.id, ())) < len(benchmarks)]
    models = tuple(model for model in some if model not in lacking)
    axes = statistic.over or () if statistic.compares_levels else ()
    against = [judge.compares.against for judge in spec.declared_judges if judge.compares is not None]
    players = tuple(dict.fromkeys((*models, *against)))
    scope = StatisticScope(
        measured, models, benchmarks, players, level, axes=axes, units=spec.units_of_numbers
    )
    by_configuration = _configurations(record, scope, statistic.over or ())
    values: dict[str, dict[str, SummaryValue]] = {
        model: {
            name: SummaryValue.missing(f"it was not asked {', '.join(lacking[model])}")
            for name in by_configuration
        }
        if model in lacking
        else {}
        for model in some
    }
    for name, cells in by_configuration.items():
        for model, value in _under(record, statistic.kind, scope, cells):
            values[model][name] = value
    what = statistic.what or what_is(statistic)
    chosen = (name for name, cells in by_configuration.items() if any(anchored(spec, cell) for cell in cells))
    names = tuple(each.id for each in benchmarks)
    anchor = next(chosen, "")
    unit = statistic_unit(spec, statistic)
    return StatedStatistic(
        statistic.id, statistic.kind, what, names, anchor, values, statistic.by, unit, statistic.k
    )


def _configurations(record: RunRecord, scope: StatisticScope, over: Sequence[str]) -> dict[str, list[Cell]]:
    """The cells of the envelope by configuration, without the axes that are taken together or compared."""
    names = [benchmark.id for benchmark in scope.benchmarks]
    cells: dict[str, list[Cell]] = {}
    for cell in record.plan.cells():
        if cell.shared and cell.benchmark in names and cell.model in scope.models:
            rest = (f"{axis}={level}" for axis, level in cell.levels.items() if axis not in over)
            cells.setdefault(",".join(rest) or ONLY, []).append(cell)
    return cells


def _under(
    record: RunRecord, stated: StatisticKind, scope: StatisticScope, cells: Sequence[Cell]
) -> Iterator[tuple[str, SummaryValue]]:
    """The values of every model under one configuration, whose cells these are."""
    kind, here = KINDS[scope.statistic.kind], {cell.benchmark for cell in cells}
    outcomes = record.plan.study.spec.outcomes
    joined = (conflict_of_statistic(cell.setting, scope.statistic, outcomes) for cell in cells)
    conflict = next((each for each in joined if each is not None), None)
    if conflict is not None:
        yield from ((model, SummaryValue.missing(conflict[0])) for model in scope.models)
        return
    lacking = [benchmark.id for benchmark in scope.benchmarks if benchmark.id not in here]
    done = {cell.key for cell in record.samples.cells}
    waiting = {cell.model for cell in cells if cell.key not in done}
    if waiting and kind.of_models is not None:
        waiting = set(scope.models)
    reason = f"nothing is asked of {', '.join(lacking)}" if lacking else "not every answer is there"
    gone = [benchmark.id for benchmark in scope.benchmarks if benchmark.id in record.plan.study.absent]
    if gone:
        lacking, reason = gone, f"the items of {', '.join(gone)} are not here"
    left = [] if lacking else [model for model in scope.models if model not in waiting]
    yield from ((model, SummaryValue.missing(reason)) for model in scope.models if model not in left)
    if not left:
        return
    some = [cell for cell in cells if cell.model in left]
    source = StatisticSource(record.plan, record.samples, record.store)
    scope, rows, digests = rows_of_statistic(source, scope, some)
    asked = _asked(record, scope, some)
    together = None if kind.of_models is None else kind.of_models(scope, rows)
    for place, model in enumerate(scope.models):
        if model not in left:
            continue
        mine = rows.of(rows.model == place)
        if together is not None:
            found = together[place]
        else:
            found = gap_over_levels(kind, scope, mine) if stated == "gap" else kind.of(scope, mine)
        yield model, SummaryValue.of(found, int(mine.counted.sum()), asked[place], digests[model])


def _asked(record: RunRecord, scope: StatisticScope, cells: Sequence[Cell]) -> list[int]:
    """Of each model how many answers have a score."""
    scored = record.samples.of("score", cells)
    models = np.array([scope.models.index(cell.model) for cell in scored.cells], np.int64)
    return [int(scored.counted[models[scored.cell] == place].sum()) for place in range(len(scope.models))]


SUMMARIES: Finding[tuple[StatedStatistic, ...]] = Finding(
    "summaries", summaries, (), tuple[StatedStatistic, ...], about="The statistics that the spec states."
)
