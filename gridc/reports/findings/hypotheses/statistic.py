"""Decides hypotheses about statistics: the value under a level less that under a reference, over the answers
to what was asked under both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from gridc.compiler.grid.cells import Cell
from gridc.numbers import in_unit, p_in_text, p_value, span_in_unit
from gridc.reports.findings.certification import Region
from gridc.reports.findings.hypotheses.decision import Decision, reach_words
from gridc.reports.findings.hypotheses.finding import HypothesisFinding, MeasuredStudy, correction_words
from gridc.reports.findings.summary_kinds import KINDS, rows_of_statistic, statistic_unit, what_is
from gridc.reports.findings.summary_rows import StatisticScope, StatisticSource
from gridc.reports.words import BY_APPROXIMATION
from gridc.schema.base import EVERYWHERE
from gridc.schema.canonical import digest
from gridc.schema.hypotheses import StatisticContrastRow
from gridc.schema.inference import MODELS, StatisticHypothesis
from gridc.schema.spec import Spec
from gridc.schema.statistics import called
from gridc.statistics.unit_intervals import Ends, UnitEstimate, p_at

NOTHING = "nothing was asked under both"
FEW = "few units"


class StatisticDecision(Decision[StatisticHypothesis]):
    def decide(self, measured: MeasuredStudy, hypothesis: StatisticHypothesis) -> StatisticContrastRow:
        """Over all cells that it is about, as one: the same of every other axis, model and benchmark."""
        spec = measured.spec
        statistic = called(hypothesis.statistic, spec.statistics)
        unit = statistic_unit(spec, statistic)
        margin = hypothesis.margin
        if margin is not None and unit in ("%", "pp"):
            margin /= 100
        what = what_is(statistic)
        stated: Mapping[str, object] = {
            "statistic": statistic.id, "what": what, "unit": unit,
            "level": hypothesis.level, "reference": hypothesis.reference, "predicts": hypothesis.predicts,
            "margin": margin,
        }  # fmt: skip
        cells = _compared(measured, hypothesis, statistic.benchmarks)
        if not cells or measured.store is None:
            return _row(stated, UnitEstimate(None, None, 0, 0.0, NOTHING), (None, None), 0, digest([]), 1, 1)
        names = {cell.benchmark for cell in cells}
        models = tuple(dict.fromkeys(cell.model for cell in cells))
        scope = StatisticScope(
            statistic, models, tuple(each for each in spec.benchmark if each.id in names), models,
            axes=(hypothesis.axis,), levels=(hypothesis.level, hypothesis.reference),
            units=spec.units_of_numbers, tags=hypothesis.items or EVERYWHERE,
        )  # fmt: skip
        kind, source = (
            KINDS[statistic.kind],
            StatisticSource(measured.samples.plan, measured.samples, measured.store),
        )
        scope, rows, digests = rows_of_statistic(source, scope, cells)
        one, other = (rows.level == place for place in (0, 1))
        found = kind.difference(scope, rows, one, other)
        values = tuple(kind.of(scope, rows.only(side)).value for side in (one, other))

        def limits(confidence: float) -> Ends | None:
            return kind.difference(replace(scope, confidence=confidence), rows, one, other).interval

        support, refute = 1.0, 1.0
        if found.value is not None and found.interval is not None:
            above = {at: _above(limits, found.value, at) for at in {0.0, margin or 0.0, -(margin or 0.0)}}
            support, refute = _p_values(hypothesis.predicts, above, margin or 0.0)
        read = digest([digests[model] for model in models])
        return _row(stated, found, values, int(rows.counted.sum()), read, support, refute)

    def regions(self, spec: Spec, hypothesis: StatisticHypothesis, cells: Sequence[Cell]) -> Sequence[Region]:
        return ()

    def sentence(self, finding: HypothesisFinding, complete: bool) -> str:
        row = _contrast_of(finding)
        name = f"{finding.id} ({row.statistic}: {_predicted(row)})"
        if not complete or finding.support is None or finding.refute is None:
            return f"{name} is open while the run is incomplete. {values_words(row)}."
        by = BY_APPROXIMATION if self.approximate(finding) else ""
        return (
            f"{name} is {finding.verdict}{by} (p of support {p_value(finding.support)}, p of refutation "
            f"{p_value(finding.refute)}, {correction_words(finding)} at level {finding.alpha:g}). "
            f"{values_words(row)}."
        )

    def line(self, finding: HypothesisFinding, complete: bool) -> str:
        row = _contrast_of(finding)
        words = f"{finding.id} {finding.verdict}, {values_words(row)}"
        if not complete or finding.support is None or finding.refute is None:
            return words
        side, p = ("refutation ", finding.refute) if finding.verdict == "refuted" else ("", finding.support)
        return f"{words}, {side}{p_in_text(p)} ({correction_words(finding)})"

    def approximate(self, finding: HypothesisFinding) -> bool:
        return finding.verdict != "open"

    def reach(self, finding: HypothesisFinding) -> str:
        return reach_words(finding, self.approximate(finding))


def _compared(
    measured: MeasuredStudy, hypothesis: StatisticHypothesis, benchmarks: Sequence[str] | None
) -> list[Cell]:
    """The cells under both levels that are the same in all else, in the order of the plan."""
    spec, axis = measured.spec, hypothesis.axis
    wanted = (hypothesis.level, hypothesis.reference)
    cells = [
        cell
        for cell in measured.samples.about(hypothesis.where, spec.analysis.primary)
        if (measured.inside is None or cell.key in measured.inside)
        and (benchmarks is None or cell.benchmark in benchmarks)
        and (cell.model if axis == MODELS else cell.levels.get(axis)) in wanted
    ]

    def rest(cell: Cell) -> tuple[str, ...]:
        others = (f"{name}={level}" for name, level in cell.levels.items() if name != axis)
        return (cell.benchmark, "" if axis == MODELS else cell.model, *others)

    groups = [list(group) for _, group in groupby(sorted(cells, key=rest), rest)]
    both = {cell.key for group in groups if len(group) == len(wanted) for cell in group}
    return [cell for cell in cells if cell.key in both]


def _above(limits: Callable[[float], Ends | None], value: float, at: float) -> tuple[float, float]:
    """One-sided p that the difference is above `at`, and that it is below."""
    p = p_at(limits, at) / 2
    return (p, 1.0) if value > at else (1.0, p) if value < at else (1.0, 1.0)


def _p_values(predicts: str, p: dict[float, tuple[float, float]], margin: float) -> tuple[float, float]:
    """Of what is predicted and of what refutes it."""
    (up, down), (over, not_over), (not_under, under) = p[0.0], p[margin], p[-margin]
    return {
        "different": (min(1.0, 2 * min(up, down)), 1.0),
        "higher": (up, down),
        "lower": (down, up),
        "not_higher": (not_over, over),
        "not_lower": (not_under, under),
        "within": (max(not_over, not_under), min(1.0, 2 * min(over, under))),
    }[predicts]


def _row(
    stated: Mapping[str, object], found: UnitEstimate, values: tuple[float | None, ...], samples: int,
    rows: str, support: float, refute: float,
) -> StatisticContrastRow:  # fmt: skip
    note = found.no_interval if found.interval is None else FEW if found.few else ""
    own: Mapping[str, object] = {
        "value": values[0], "reference_value": values[1], "difference": found.value,
        "interval": found.interval, "method": found.method, "note": note, "samples": samples, "rows": rows,
        "support": support, "refute": refute,
    }  # fmt: skip
    return StatisticContrastRow.model_validate({**stated, **own})


def _contrast_of(finding: HypothesisFinding) -> StatisticContrastRow:
    if finding.statistic is None:
        raise ValueError(f"{finding.id} is not about a statistic")
    return finding.statistic


PREDICTED = {
    "different": "differs", "higher": "is higher", "lower": "is lower", "not_higher": "is not higher",
    "not_lower": "is not lower",
}  # fmt: skip


def _predicted(row: StatisticContrastRow) -> str:
    """`low is not higher than high by 0.01 US dollars per score`."""
    than = "from" if row.predicts == "different" else "than"
    shown = in_unit(row.margin, difference_unit(row.unit))
    if row.predicts == "within":
        return f"{row.level} differs from {row.reference} by less than {shown}"
    words = f"{row.level} {PREDICTED[row.predicts]} {than} {row.reference}"
    if row.margin is None:
        return words
    return f"{words} by {shown}"


def difference_unit(unit: str) -> str:
    """What differences of values are counted in."""
    return "pp" if unit == "%" else unit


def values_words(row: StatisticContrastRow) -> str:
    """`low 0.0123 US dollars per score, high 0.0450, difference -0.0327 [-0.0402, -0.0251]`."""
    values = ", ".join(
        f"{name} {in_unit(value, row.unit)}"
        for name, value in ((row.level, row.value), (row.reference, row.reference_value))
    )
    if row.difference is None:
        return f"{values}; no difference: {row.note or 'not determined'}"
    unit = difference_unit(row.unit)
    span = f"no interval: {row.note}"
    if row.interval is not None:
        span = f"95 % {span_in_unit(row.interval, unit)}{f', {row.note}' if row.note else ''}"
    return f"{values}, difference {in_unit(row.difference, unit)} ({span})"


DECISION = StatisticDecision()
