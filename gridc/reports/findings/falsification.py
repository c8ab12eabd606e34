"""Falsification tests that compute: does a finding keep its verdict on a part of the grid, or under another
analytic choice, and does a statistic stay where it must?

A test answers `pass`, `partial` or `fail` of what was measured, and `open` where it cannot be decided: a run
that is not finished, a verdict that was open from the start, a statistic that is not defined anywhere, an
audit whose labels are not back. What else people must do stays prose and is listed as not computed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from gridc.compiler.frontend.unsupported import why_undecidable
from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cells import ONLY
from gridc.compiler.hypotheses import kind_of
from gridc.reports.findings.certification import claim_evidence
from gridc.reports.findings.findings import HYPOTHESES, MEASURED, RATES
from gridc.reports.findings.hypotheses import decisions, regions_of
from gridc.reports.findings.hypotheses.finding import HypothesisFinding, MeasuredStudy
from gridc.reports.findings.labels import AUDITS, AuditFinding
from gridc.reports.findings.rates import RateFinding
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.scores import CellScore, gather
from gridc.reports.findings.summaries import SUMMARIES, StatedStatistic
from gridc.schema.base import ALPHA
from gridc.schema.canonical import digest
from gridc.schema.certificate import FalsificationResult, FalsificationRow, KeptRow
from gridc.schema.inference import AUDITED, Criterion, Falsification, rate_kind
from gridc.schema.spec import Spec
from gridc.statistics.envelope import count, disperse, flip_rate
from gridc.statistics.reproducibility import Verdict


def falsify(
    measured: MeasuredStudy,
    rates: Mapping[str, Sequence[RateFinding]],
    summaries: Sequence[StatedStatistic],
    hypotheses: Sequence[HypothesisFinding],
    audits: Sequence[AuditFinding] = (),
) -> tuple[FalsificationRow, ...]:
    """The result of every test that states a criterion which this version can decide, in order."""
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
        elif test.criterion.statistic in AUDITED:
            falsifications.append(_audited(test, test.criterion, audits, measured.final))
        else:
            values = _values(spec, test.criterion.statistic or "", inside, rates, summaries)
            falsifications.append(_stays(test, test.criterion, inside, values, measured.final))
    return tuple(falsifications)


def _inside(spec: Spec, criterion: Criterion, score: CellScore) -> bool:
    place = grid.place(spec, score.cell.levels, score.cell.benchmark, score.cell.model)
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
    absent: dict[str, Any] = {"kept": (), "statistic": None, "value": None, "at": None}
    return FalsificationRow.of(test, criterion=str(criterion), result=result, rows=rows, **absent | stated)


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
        benchmark.id: gather(
            [cell for cell in cells if cell.benchmark == benchmark.id],
            measured.samples.stored,
            plan.study.items[benchmark.id],
            [model.id for model in spec.model if model.id in models],
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
"""Every value of a statistic in some cells, each with its place."""


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
            yield count(a, b, models[a], models[b]).rho_flip, f"{a} and {b} on {benchmark}"


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


def _score(spec: Spec, inside: Sequence[CellScore]) -> Iterator[tuple[Fraction, str]]:
    yield from ((score.score, score.cell.key) for score in inside if score.score is not None)


def _parse(spec: Spec, inside: Sequence[CellScore]) -> Iterator[tuple[Fraction, str]]:
    yield from ((score.parse_rate, score.cell.key) for score in inside if score.parse_rate is not None)


STATISTICS: Mapping[str, ValuesOfCells] = {
    "rho_flip": _rho,
    "sdi": _sdi,
    "range": _range,
    "flip_rate": _flips,
    "score": _score,
    "parse_rate": _parse,
}
"""By the `statistic` of a criterion; any other is a rate or an outcome of the spec."""


def _values(
    spec: Spec,
    name: str,
    inside: Sequence[CellScore],
    rates: Mapping[str, Sequence[RateFinding]],
    summaries: Sequence[StatedStatistic],
) -> Iterator[tuple[Fraction, str]]:
    """The values of what a criterion bounds, and where each is found."""
    if name in STATISTICS:
        return STATISTICS[name](spec, inside)
    stated = next((summary for summary in summaries if summary.id == name), None)
    return _rates(name, inside, rates) if stated is None else _summary_values(stated, inside)


def _stays(
    test: Falsification,
    criterion: Criterion,
    inside: Sequence[CellScore],
    values: Iterator[tuple[Fraction, str]],
    complete: bool,
) -> FalsificationRow:
    """Whether the statistic stays within its bound everywhere: its worst value decides."""
    name, high = criterion.statistic or "", criterion.at_most is not None
    worst = (max if high else min)(values, key=lambda pair: pair[0], default=None)
    rows = digest([score.rows for score in inside])
    if worst is None:
        return _row(test, criterion, "open", rows, statistic=name)
    result = _within_bounds(criterion, worst[0]) if complete else "open"
    return _row(test, criterion, result, rows, statistic=name, value=worst[0], at=worst[1])


def _audited(
    test: Falsification, criterion: Criterion, audits: Sequence[AuditFinding], complete: bool
) -> FalsificationRow:
    """Whether what people say stays within the bound on every sheet and benchmark: the worst value decides.
    Open while no labels are back, and where kappa is not defined, or leniency because of a target."""
    kappas = criterion.statistic == "audit_kappa"
    values = [(audit.agreement.kappa if kappas else audit.gained, audit) for audit in audits]
    stated = [(_exact(value, audit.agreement.n), audit) for value, audit in values if value is not None]
    high = criterion.at_most is not None
    worst = (max if high else min)(stated, key=lambda pair: pair[0], default=None)
    undefined = len(stated) < len(values)
    rows, name = digest([audit.rows for audit in audits]), criterion.statistic
    if worst is None:
        return _row(test, criterion, "open", rows, statistic=name)
    value, audit = worst
    result = _within_bounds(criterion, value) if complete and not undefined else "open"
    return _row(
        test, criterion, result, rows, statistic=name, value=value, at=f"{audit.sheet}, {audit.benchmark}"
    )


def _exact(value: float, n: int) -> Fraction:
    """The fraction of counts that a number is: both are counts over n or n squared, or over a few times n."""
    return Fraction(value).limit_denominator(max(n * n, 1000 * n))


def _rates(
    name: str, inside: Sequence[CellScore], rates: Mapping[str, Sequence[RateFinding]]
) -> Iterator[tuple[Fraction, str]]:
    wanted = rate_kind(name).counted_as or name
    for score in inside:
        for rate in rates.get(score.cell.benchmark, ()):
            here = rate.values.get((score.cell.model, score.cell.configuration))
            if rate.name == wanted and here is not None and here.value is not None:
                yield here.value, score.cell.key


def _summary_values(summary: StatedStatistic, inside: Sequence[CellScore]) -> Iterator[tuple[Fraction, str]]:
    """A statistic of the spec, of the models and configurations inside."""
    places = [
        (score.cell.model, {f"{axis}={level}" for axis, level in score.cell.levels.items()})
        for score in inside
    ]
    for model, values in summary.values.items():
        for name, found in values.items():
            levels = set() if name == ONLY else set(name.split(","))
            here = any(of == model and levels <= place for of, place in places)
            if found.value is not None and here:
                yield Fraction(found.value).limit_denominator(10**9), f"{summary.id} of {model}, {name}"


def _within_bounds(criterion: Criterion, value: Fraction) -> FalsificationResult:
    """Exact: a bound is taken at its decimal value, and what equals it is within."""

    def holds(bound: float | None) -> bool:
        if bound is None:
            return False
        exact = Fraction(str(bound))
        return value <= exact if criterion.at_most is not None else value >= exact

    bound = criterion.at_least if criterion.at_most is None else criterion.at_most
    return "pass" if holds(bound) else "partial" if holds(criterion.partial) else "fail"


def _falsifications(record: RunRecord) -> tuple[FalsificationRow, ...]:
    return falsify(record[MEASURED], record[RATES], record[SUMMARIES], record[HYPOTHESES], record[AUDITS])


FALSIFICATIONS: Finding[tuple[FalsificationRow, ...]] = Finding("falsifications", _falsifications, ())
