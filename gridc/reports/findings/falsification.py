"""Falsification tests that compute: does a finding keep its verdict on a part of the grid, or under another
analytic choice, and does a statistic stay where it must?

A test answers `pass`, `partial` or `fail` of what was measured, and `open` where it cannot be decided: a run
that is not finished, a verdict that was open from the start, a statistic whose limits lie on both sides of
its bound or that is not defined somewhere, an audit whose labels are not back. What else people must do stays
prose and is listed as not computed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import inf
from operator import itemgetter
from typing import Any

import numpy as np

from gridc.compiler.frontend.unsupported import why_undecidable
from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cells import ONLY
from gridc.compiler.hypotheses import kind_of
from gridc.compiler.instrument.aggregates import OF_ITEMS
from gridc.reports.findings.certification import claim_evidence
from gridc.reports.findings.findings import HYPOTHESES, MEASURED, RATES
from gridc.reports.findings.hypotheses import decisions, regions_of
from gridc.reports.findings.hypotheses.finding import HypothesisFinding, MeasuredStudy
from gridc.reports.findings.labels import AUDITS, AuditFinding
from gridc.reports.findings.rates import CountedRate, RateFinding, counted_rates
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.scores import CellScore, gather_outcomes, unit_number_of_items
from gridc.reports.findings.summaries import ERROR, SUMMARIES, StatedStatistic, SummaryValue
from gridc.schema.base import ALPHA
from gridc.schema.canonical import digest
from gridc.schema.certificate import FalsificationResult, FalsificationRow, KeptRow
from gridc.schema.inference import AUDITED, Criterion, CriterionRule, Falsification, rate_kind
from gridc.schema.spec import Spec
from gridc.statistics.envelope import count_orders, disperse, flip_rate
from gridc.statistics.reproducibility import Verdict
from gridc.statistics.unit_intervals import Ends, share_limits, unit_totals

EndsAt = Callable[[float], Ends | None]
"""Both one-sided limits of a value at an error, each; None where it has none."""


@dataclass(frozen=True, slots=True)
class BoundedValue:
    """A value that a criterion bounds, None where it is not determined, where it is, and its limits."""

    value: Fraction | None
    at: str
    limits: EndsAt = lambda _: None


class StoredRates:
    """The rates of a store by unit, each counted once it is asked for."""

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self._counted: dict[str, Mapping[str, CountedRate]] = {}

    def limits(self, name: str, cell: str, error: float) -> Ends | None:
        """Of a rate or an outcome of the spec in a cell, by its key."""
        if name not in self._counted:
            record = self._record
            self._counted[name] = counted_rates(record.plan, record.store, name, record.samples.cells)
        found = self._counted[name].get(cell)
        return None if found is None else found.limits(1 - 2 * error)


def falsify(
    measured: MeasuredStudy,
    rates: Mapping[str, Sequence[RateFinding]],
    summaries: Sequence[StatedStatistic],
    hypotheses: Sequence[HypothesisFinding],
    audits: Sequence[AuditFinding] = (),
    stored: StoredRates | None = None,
) -> tuple[FalsificationRow, ...]:
    """The result of every test that states a criterion which this version can decide, in order. Without what
    is `stored`, rates have no limits."""
    spec = measured.spec
    falsifications = []
    for test in spec.falsification:
        if test.criterion is None or why_undecidable(spec, test) is not None:
            continue
        inside = [
            score for score in measured.scores if score.cell.shared and _inside(spec, test.criterion, score)
        ]
        if test.criterion.keeps:
            falsifications.append(_kept_verdicts(measured, test, test.criterion, inside, hypotheses))
            continue
        if test.criterion.statistic in AUDITED:
            values, rows = _audited(test.criterion, audits), digest([audit.rows for audit in audits])
        else:
            name = test.criterion.statistic or ""
            values = _values(measured, name, inside, rates, summaries, stored)
            rows = digest([score.rows for score in inside])
        rule = measured.samples.plan.study.decides_by
        falsifications.append(_stays(test, test.criterion, list(values), rows, measured.final, rule))
    return tuple(falsifications)


def _inside(spec: Spec, criterion: Criterion, score: CellScore) -> bool:
    place = grid.place_values(spec, score.cell.levels, score.cell.benchmark, score.cell.model)
    where = [criterion.where, *(part.where for part in spec.slice if part.id == criterion.slice)]
    return all(selector.matches(place) for selector in where) and spec.analysis.primary.matches(place)


def _kept_verdicts(
    measured: MeasuredStudy,
    test: Falsification,
    criterion: Criterion,
    inside: Sequence[CellScore],
    hypotheses: Sequence[HypothesisFinding],
) -> FalsificationRow:
    before = {hypothesis.id: hypothesis for hypothesis in hypotheses}
    kept = []
    for name in criterion.keeps:
        stated = before[name]
        again = _decide(measured, stated, inside, criterion)
        kept.append(
            KeptRow(
                hypothesis=name,
                before=_verdict(stated, criterion),
                after="open" if again is None else _verdict(again, criterion),
            )
        )
    holding = sum(pair.holds for pair in kept)
    result: FalsificationResult = "pass" if holding == len(kept) else "partial" if holding else "fail"
    if not measured.final or any(pair.before == "open" for pair in kept):
        result = "open"
    rows = digest([score.rows for score in inside])
    return _row(test, criterion, result, rows, kept=tuple(kept))


def _row(
    test: Falsification, criterion: Criterion, result: FalsificationResult, rows: str, **stated: Any
) -> FalsificationRow:
    """What became of a test, with what is `stated` of the verdicts or of the statistic that it asks about."""
    absent = dict.fromkeys(("statistic", "value", "at", "by", "limit", "limit_at"))
    return FalsificationRow.of(
        test, criterion=str(criterion), result=result, rows=rows, **{"kept": ()} | absent | stated
    )


def _verdict(finding: HypothesisFinding, criterion: Criterion) -> Verdict:
    """The verdict that is compared: of a ranking under a fork the one on these items, since beyond them only
    scores by intention to treat are weighed."""
    return (
        finding.ranking.observed
        if finding.ranking is not None and criterion.fork is not None
        else finding.verdict
    )


def _decide(
    measured: MeasuredStudy, stated: HypothesisFinding, inside: Sequence[CellScore], criterion: Criterion
) -> HypothesisFinding | None:
    """The verdict that a hypothesis would have had on these cells alone, beside the study's other ones.
    Models without a cell leave an order. None where that leaves no two of them."""
    spec, plan = measured.spec, measured.samples.plan
    models = {score.cell.model for score in inside}
    hypothesis = kind_of(stated.hypothesis).restricted_to(stated.hypothesis, models)
    if hypothesis is None:
        return None
    others = tuple(hypothesis if declared.id == stated.id else declared for declared in spec.hypothesis)
    alone = spec.model_copy(update={"hypothesis": others})
    if criterion.fork is not None:
        analysis = spec.analysis.model_copy(update={"outcome": criterion.level})
        alone = alone.model_copy(update={"analysis": analysis})
        inside = [_readable(score) for score in inside] if criterion.level == "pp" else inside
    cells = [score.cell for score in inside]
    outcomes = {
        benchmark.id: gather_outcomes(
            [cell for cell in cells if cell.benchmark == benchmark.id],
            measured.samples.stored,
            plan.study.items[benchmark.id],
        )
        for benchmark in spec.benchmark
        if any(cell.benchmark == benchmark.id for cell in cells)
    }
    weighed = claim_evidence(
        [],
        outcomes,
        spec.analysis.alpha or ALPHA,
        spec.sampling.seed,
        measured.final,
        hypothesis_regions=regions_of(alone, cells, [stated.id]),
    )
    keys = frozenset(cell.key for cell in cells)
    part = replace(measured, spec=alone, scores=inside, weighed=weighed, inside=keys)
    (finding,) = decisions(part, [stated.id])
    return finding


def _readable(score: CellScore) -> CellScore:
    """The cell per protocol: as if only what could be read had been asked."""
    if score.cell.setting.ranks:
        return score
    points = score.correct - score.credit * (score.scored - score.parsed)
    trials = score.parsed or 1  # nothing readable: nothing is measured
    return replace(score, trials=trials, scored=score.parsed, correct=points)


ValuesOfCells = Callable[[Spec, Sequence[CellScore]], Iterator[tuple[Fraction, str]]]
"""Every value in some cells of a statistic that has no limits, each with its place."""


def _by_model(inside: Sequence[CellScore]) -> Iterator[tuple[str, str, list[Fraction]]]:
    groups: dict[tuple[str, str], list[Fraction]] = {}
    for score in inside:
        if score.score is not None:
            groups.setdefault((score.cell.benchmark, score.cell.model), []).append(score.score)
    yield from ((benchmark, model, values) for (benchmark, model), values in groups.items())


def _rho(spec: Spec, inside: Sequence[CellScore]) -> Iterator[tuple[Fraction, str]]:
    rows: dict[str, dict[str, dict[str, Fraction | None]]] = {}
    for score in inside:
        own = rows.setdefault(score.cell.benchmark, {}).setdefault(score.cell.model, {})
        own[score.cell.configuration] = score.score
    for benchmark, models in rows.items():
        for a, b in combinations(models, 2):
            yield count_orders(a, b, models[a], models[b]).rho_flip, f"{a} and {b} on {benchmark}"


def _sdi(spec: Spec, inside: Sequence[CellScore]) -> Iterator[tuple[Fraction, str]]:
    for benchmark, model, values in _by_model(inside):
        if (value := disperse(values).sdi) is not None:
            yield value, f"{model} on {benchmark}"


def _range(spec: Spec, inside: Sequence[CellScore]) -> Iterator[tuple[Fraction, str]]:
    for benchmark, model, values in _by_model(inside):
        yield max(values) - min(values), f"{model} on {benchmark}"


def _flips(spec: Spec, inside: Sequence[CellScore]) -> Iterator[tuple[Fraction, str]]:
    lower = {declared.id for declared in spec.benchmark if declared.lower_is_better}
    for benchmark, model, values in _by_model(inside):
        for mark in spec.analysis.marks(benchmark):
            if (rate := flip_rate(values, mark.at, benchmark in lower).rate) is not None:
                yield rate, f"{model} on {benchmark} at {mark.at:g}"


STATISTICS: Mapping[str, ValuesOfCells] = {
    "rho_flip": _rho,
    "sdi": _sdi,
    "range": _range,
    "flip_rate": _flips,
}
"""By the `statistic` of a criterion; any other is a score, a rate, or an outcome or statistic of the spec."""


def _values(
    measured: MeasuredStudy,
    name: str,
    inside: Sequence[CellScore],
    rates: Mapping[str, Sequence[RateFinding]],
    summaries: Sequence[StatedStatistic],
    stored: StoredRates | None,
) -> Iterator[BoundedValue]:
    """What a criterion bounds. A rate that a cell does not have is none of its values."""
    if name in STATISTICS:
        return (BoundedValue(*found) for found in STATISTICS[name](measured.spec, inside))
    if name in OF_ITEMS:
        return _scores(measured, name, inside)
    stated = next((summary for summary in summaries if summary.id == name), None)
    if stated is None:
        return _rates(name, inside, rates, stored)
    return _summary_values(stated, inside)


def _scores(measured: MeasuredStudy, name: str, inside: Sequence[CellScore]) -> Iterator[BoundedValue]:
    for score in inside:
        value = score.score if name == "score" else score.parse_rate
        if value is not None:
            yield BoundedValue(value, score.cell.key, partial(_limits_of_cell, measured, name, score))


def _limits_of_cell(measured: MeasuredStudy, name: str, score: CellScore, error: float) -> Ends | None:
    outcomes = measured.samples.stored[score.cell.key]
    units = unit_number_of_items(
        outcomes.items, measured.samples.plan.study.items[score.cell.benchmark].units
    )
    points = outcomes.correct / score.scale if name == "score" else outcomes.parsed
    totals = unit_totals(units, np.column_stack([outcomes.trials, points]))
    return share_limits(totals[:, 0], totals[:, 1], 1 - 2 * error)


def _rates(
    name: str,
    inside: Sequence[CellScore],
    rates: Mapping[str, Sequence[RateFinding]],
    stored: StoredRates | None,
) -> Iterator[BoundedValue]:
    wanted = rate_kind(name).counted_as or name
    for score in inside:
        for rate in rates.get(score.cell.benchmark, ()):
            here = rate.values.get((score.cell.model, score.cell.configuration))
            if rate.name == wanted and here is not None:
                found = BoundedValue(here.value, score.cell.key)
                if stored is not None:
                    found = replace(found, limits=partial(stored.limits, wanted, score.cell.key))
                yield found


def _summary_values(summary: StatedStatistic, inside: Sequence[CellScore]) -> Iterator[BoundedValue]:
    """A statistic of the spec, of the models and configurations inside that are asked all it is of."""
    places = [
        (score.cell.model, {f"{axis}={level}" for axis, level in score.cell.levels.items()})
        for score in inside
    ]
    for model, values in summary.values.items():
        for name, found in values.items():
            levels = set() if name == ONLY else set(name.split(","))
            if not found.responses or not any(of == model and levels <= place for of, place in places):
                continue
            value = None if found.value is None else Fraction(found.value).limit_denominator(10**9)
            yield BoundedValue(value, f"{summary.id} of {model}, {name}", partial(_kept, found))


def _kept(found: SummaryValue, error: float) -> Ends | None:
    """At less than `ERROR` those for all values of the statistic together, some of which may be bounded."""
    return found.limits if error >= ERROR else found.together


def _audited(criterion: Criterion, audits: Sequence[AuditFinding]) -> Iterator[BoundedValue]:
    """What people say, on every sheet and benchmark. Their limits are those that the report prints, of an
    error of .025 to each side: nothing is known at a smaller one."""
    for audit in audits:
        kappas = criterion.statistic == "audit_kappa"
        value = audit.agreement.kappa if kappas else audit.gained
        ends = audit.agreement.interval
        if not kappas:
            ends = None if audit.leniency is None else (audit.leniency.low, audit.leniency.high)
        exact = None if value is None else _exact(value, audit.agreement.n)
        yield BoundedValue(exact, f"{audit.sheet}, {audit.benchmark}", partial(_printed, ends))


def _printed(ends: Ends | None, error: float) -> Ends | None:
    return ends if ends is None or error >= 0.025 else (-inf, inf)


def _exact(value: float, n: int) -> Fraction:
    """The fraction of counts that a number is: both are counts over n or n squared, or over a few times n."""
    return Fraction(value).limit_denominator(max(n * n, 1000 * n))


def _stays(
    test: Falsification,
    criterion: Criterion,
    values: Sequence[BoundedValue],
    rows: str,
    complete: bool,
    rule: CriterionRule,
) -> FalsificationRow:
    """Whether the statistic stays within its bound everywhere; its worst value is told."""
    name, high = criterion.statistic or "", criterion.at_most is not None
    known = [(each.value, each) for each in values if each.value is not None]
    if not known:
        return _row(test, criterion, "open", rows, statistic=name)
    worst = (max if high else min)(known, key=lambda pair: pair[0])
    found = {"statistic": name, "value": worst[0], "at": worst[1].at}
    if not complete:
        return _row(test, criterion, "open", rows, **found)
    if rule == "limits":
        result, decided = _by_limits(criterion, values)
        return _row(test, criterion, result, rows, **found, **decided)
    # Until there were limits, a rate or statistic that is not determined in one place was passed over.
    lost = criterion.statistic in AUDITED and len(known) < len(values)
    result = "open" if lost else _result(criterion, partial(_holds, criterion, worst[0]))
    return _row(test, criterion, result, rows, by=None if lost else "values", **found)


def _by_limits(
    criterion: Criterion, values: Sequence[BoundedValue]
) -> tuple[FalsificationResult, dict[str, Any]]:
    """The result of a bound that holds of every value, what decides it, and the limit that does.

    It is met where each value's own limit is within the bound: that one is beyond it and all limits are
    within has a chance of `ERROR` or less, however many there are (Berger 1982). It is failed where one of m
    values is beyond it at `ERROR` / m. A value without limits decides as it is, and one that is not
    determined leaves open what no other one fails."""
    worst, best = (1, 0) if criterion.at_most is not None else (0, 1)
    known = [each for each in values if each.value is not None]

    def ends(each: BoundedValue, end: int, error: float) -> tuple[Fraction | float, bool, str]:
        """One end, whether it is a limit, and where it is."""
        found = each.limits(error)
        return (each.value or Fraction(0), False, each.at) if found is None else (found[end], True, each.at)

    furthest = max if criterion.at_most is not None else min
    reach = [ends(each, worst, ERROR) for each in known]
    short = [ends(each, best, ERROR / len(known)) for each in known]
    near, beyond = (furthest(some, key=itemgetter(0)) for some in (reach, short))

    def stays(bound: float | None) -> bool | None:
        if not _holds(criterion, beyond[0], bound):
            return False
        return True if len(known) == len(values) and _holds(criterion, near[0], bound) else None

    result = _result(criterion, stays)
    if result == "open" and len(known) < len(values):
        return result, {}
    limit, is_limit, at = beyond if result == "fail" else near
    limits = is_limit if result == "fail" else all(each for _, each, _ in reach)
    told = {"limit": float(limit), "limit_at": at} if is_limit else {}
    return result, {"by": "limits" if limits else "values", **told}


def _result(criterion: Criterion, stays: Callable[[float | None], bool | None]) -> FalsificationResult:
    """Of a bound and, where there is one, the looser bound within which a test passes in part."""
    bound = criterion.at_least if criterion.at_most is None else criterion.at_most
    whole = stays(bound)
    if whole:
        return "pass"
    part = whole if criterion.partial is None else stays(criterion.partial)
    if part is False:
        return "fail"
    return "partial" if part and whole is False else "open"


def _holds(criterion: Criterion, value: Fraction | float, bound: float | None) -> bool:
    """Exact: a bound is taken at its decimal value, and what equals it is within."""
    exact = Fraction(str(bound))
    return value <= exact if criterion.at_most is not None else value >= exact


def _falsifications(record: RunRecord) -> tuple[FalsificationRow, ...]:
    stated = record[RATES], record[SUMMARIES], record[HYPOTHESES], record[AUDITS]
    return falsify(record[MEASURED], *stated, StoredRates(record))


FALSIFICATIONS: Finding[tuple[FalsificationRow, ...]] = Finding("falsifications", _falsifications, ())
