"""Levels of an axis against a reference: the effect of each, its odds, its risk ratio (none where a rate is
0), its number needed, and the verdict."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import inf, log
from typing import Any

import numpy as np

from gridc.compiler.hypotheses import kind_of
from gridc.compiler.hypotheses.contrast import ContrastKind, assumption_words
from gridc.compiler.hypotheses.tested import BOTH_VERDICTS
from gridc.numbers import number, p_in_text
from gridc.reports.findings.changes import ScoreDifference
from gridc.reports.findings.hypotheses.comparison import AboutAnEffect, Comparison, comparison_rows
from gridc.reports.findings.hypotheses.decision import EffectDecision
from gridc.reports.findings.hypotheses.finding import INDEPENDENT, HypothesisFinding, MeasuredStudy, rate_of
from gridc.reports.findings.hypotheses.regression import (
    ClusteredLogit,
    Fit,
    covariates,
    design_of,
    failure_of,
    fit_comparison,
    undecided,
)
from gridc.reports.findings.observations import NotMeanError, Reading
from gridc.schema.base import ALPHA
from gridc.schema.canonical import digest
from gridc.schema.hypotheses import (
    ContrastRow,
    EffectRow,
    FailureRow,
    NumberNeededRow,
    OddsRow,
    RateChangeRow,
    RecoveryRow,
    TestRow,
    TrendRow,
)
from gridc.schema.inference import ContrastHypothesis, rate_kind
from gridc.schema.spec import Spec
from gridc.statistics import verdicts
from gridc.statistics.bounded_means import agreed, jointly, of_direction
from gridc.statistics.clustered_logit import FLOOR, NotEstimable, effective_number, enough_cases
from gridc.statistics.envelope import LEVEL, Direction
from gridc.statistics.reproducibility import digits, every_digits
from gridc.statistics.risk import FittedOdds, Interval, recovery
from gridc.statistics.unit_intervals import Ends
from gridc.statistics.verdicts import Evidence


class ContrastDecision(EffectDecision[ContrastHypothesis]):
    """A verdict on levels of an axis against a reference, by the rule of its kind: what the compiler knows of
    it, and what it calls its claim."""

    def __init__(self, kind: ContrastKind) -> None:
        self._kind = kind

    @property
    def kind(self) -> ContrastKind:
        return self._kind

    def claimed(self, hypothesis: ContrastHypothesis) -> str:
        return self.kind.claimed(hypothesis)

    def further(self, finding: HypothesisFinding, effect: EffectRow) -> Iterator[str]:
        """An effect that is found and lies within the margin is said to be both."""
        inside = [
            contrast.change
            for contrast in effect.contrasts
            if contrast.change.margins and contrast.change.margins[0].holds
        ]
        if inside and self.kind.finds_effects and finding.verdict == "supported":
            names, first = ", ".join(change.level for change in inside), inside[0]
            p = p_in_text(max(change.margins[0].p for change in inside))
            yield (
                f"It is found and smaller than the margin: {names} and {first.reference} are equivalent "
                f"within {first.margins[0].pp:g} pp ({p}, uncorrected)."
            )

    def decide(self, measured: MeasuredStudy, hypothesis: ContrastHypothesis) -> EffectRow:
        return _decide(measured, hypothesis, self.kind)

    def assumes(self, finding: HypothesisFinding) -> tuple[str, str]:
        stated = self._of_kind(finding)
        words = assumption_words(stated)
        aside = "" if words and words in self.claimed(stated) else words
        return aside, OF_ITEMS if _on_these_units(stated) else INDEPENDENT

    def reach(self, finding: HypothesisFinding) -> str:
        if (
            not self.kind.at_margin
            or finding.verdict == "open"
            or not _on_these_units(self._of_kind(finding))
        ):
            return super().reach(finding)
        return (
            f"New items of these units, at level {finding.alpha:g}, if items are independent given their "
            "unit; it says nothing of other units. These models and configurations only."
        )

    def _of_kind(self, finding: HypothesisFinding) -> ContrastHypothesis:
        stated: Any = finding.hypothesis  # one of this kind
        found: ContrastHypothesis = stated
        return found


OF_ITEMS = "which assumes that items are independent given their unit"


def _on_these_units(stated: ContrastHypothesis) -> bool:
    return stated.margin is not None and stated.margin.about == "these_units"


def _decide(measured: MeasuredStudy, hypothesis: ContrastHypothesis, kind: ContrastKind) -> EffectRow:
    """The effect of each level, and the p-values of the claim of its kind and of what refutes it."""
    spec, alpha = measured.spec, rate_of(measured.spec, hypothesis).alpha
    comparison = comparison_or_failure(measured, hypothesis, hypothesis.every_level)
    if isinstance(comparison, EffectRow):
        return comparison
    fitted = fit_comparison(comparison, spec.analysis.estimator, design_of(comparison))
    failure = fitted if isinstance(fitted, FailureRow) else None
    odds: list[OddsRow | None] = [None] * len(hypothesis.levels)
    test = None
    if not isinstance(fitted, FailureRow):
        try:
            columns = [
                fitted.design.columns.index(((hypothesis.axis, level),)) for level in hypothesis.levels
            ]
            known = [
                _where_seen(comparison, fitted, level, fitted.odds(column))
                for level, column in zip(hypothesis.levels, columns, strict=True)
            ]
            test, odds = _test(fitted, columns, known), list(known)
        except NotEstimable as error:
            failure = failure_of(error)
    contrasts = tuple(
        contrast(
            comparison, spec, hypothesis, level, alpha, known, tested_odds(comparison, fitted, level, known)
        )
        for level, known in zip(hypothesis.levels, odds, strict=True)
    )
    failure = failure or undecided(test, comparison.units, spec.analysis.estimator)
    rule = kind.rule(hypothesis, ALPHA)  # whose level is not read
    support, refute = rule.p_values(_evidence(comparison, hypothesis, odds, test))
    if kind.at_margin:
        untested = [one.change.untested for one in contrasts if one.change.untested]
        failure = comparison.unanswered or (
            FailureRow(code="largest_change", words=untested[0])
            if untested
            else None
            if failure and failure.code in ("estimator", "few_units")
            else failure
        )
    return effect_of(comparison, hypothesis, spec, contrasts, test, failure, (support, refute))


def comparison_or_failure(
    measured: MeasuredStudy, hypothesis: AboutAnEffect, levels: Sequence[str] | None, only: bool = False
) -> Comparison | EffectRow:
    """What is compared, or the answer where there is nothing to compare."""
    reading, outcome = measured.spec.analysis.outcome, hypothesis.outcome
    why = FailureRow(
        code="rows",
        words="no complete cell asks an item under every level that is compared, all else the same, with a "
        "readable answer under each",
    )
    try:
        comparison = comparison_rows(measured, hypothesis, levels, reading, only)
    except NotMeanError as error:
        comparison, why = None, FailureRow(code="not_a_mean", words=str(error))
    if comparison is not None:
        return comparison
    return EffectRow(
        outcome=outcome,
        reading=reading,
        estimator=measured.spec.analysis.estimator,
        adjusted_for=(),
        samples=0,
        units=0,
        left_out=0,
        contrasts=(),
        test=None,
        trend=None,
        failure=why,
        rows=digest([outcome]),
    )


def effect_of(
    comparison: Comparison,
    hypothesis: AboutAnEffect,
    spec: Spec,
    contrasts: tuple[ContrastRow, ...],
    test: TestRow | None,
    failure: FailureRow | None,
    p: tuple[float, float],
    trend: TrendRow | None = None,
) -> EffectRow:
    """What was compared, with what came of it; `p` of the claim and of what refutes it, where a test decides
    that verdict."""
    untested = kind_of(hypothesis).unreachable_verdicts(hypothesis, spec)
    if comparison.copied:
        failure = FailureRow(
            code="copies",
            words=f"{', '.join(comparison.copied)} has items that ask the same, and the spec takes each as "
            "independent",
        )
        p = 1.0, 1.0
    support, refute = (
        1.0 if verdict in untested else digits(each) for verdict, each in zip(BOTH_VERDICTS, p, strict=True)
    )
    return EffectRow(
        outcome=hypothesis.outcome,
        reading=comparison.reading,
        estimator=spec.analysis.estimator,
        adjusted_for=covariates(comparison),
        samples=sum(map(comparison.samples, comparison.levels)),
        units=comparison.units,
        left_out=comparison.left_out,
        contrasts=contrasts,
        test=test,
        trend=trend,
        failure=failure,
        support=support,
        refute=refute,
        rows=comparison.rows.rows,
    )


def tested_odds(
    comparison: Comparison, fitted: Fit | FailureRow, level: str, odds: OddsRow | None
) -> FittedOdds | None:
    """What the clustered logit says of a level's rate; None where it says nothing, or of too few units."""
    if not isinstance(fitted, ClusteredLogit) or odds is None:
        return None
    if odds.spread is None or not odds.spread.enough:
        return None
    predictor = fitted.design.matrix @ fitted.errors.coefficients
    of_reference, of_level = map(comparison.samples_of_cells, (comparison.levels[0], level))
    low, high = odds.interval
    return FittedOdds(predictor, of_reference, of_level, (_log(low), _log(high)))


def _log(ratio: float) -> float:
    return log(ratio) if ratio else -inf


def _where_seen(comparison: Comparison, fitted: Fit, level: str, odds: OddsRow) -> OddsRow:
    """The odds of a level with the check of `statistics.bounded_means`, where they decide."""
    tested = tested_odds(comparison, fitted, level, odds)
    if tested is None:
        return odds
    reference = comparison.levels[0]
    agrees = of_direction(comparison.unseen(level, reference), odds.z)
    seen = comparison.joined(level, reference, tested)
    low, high = (float(end) for end in np.exp(comparison.odds_ends(level, reference, odds.log_odds, seen)))
    update = {"p": agreed(odds.p, agrees), "interval": (low, high), "agrees": agrees}
    return every_digits(odds.model_copy(update=update))


def _test(fitted: Fit, columns: list[int], odds: Sequence[OddsRow]) -> TestRow:
    if len(columns) == 1:
        return wald(odds[0])
    joint = fitted.joint(columns)
    p = jointly(joint.p, [one.p for one in odds], [one.agrees for one in odds])
    return joint.model_copy(update={"p": p})


def wald(odds: OddsRow) -> TestRow:
    """The test of one coefficient."""
    return TestRow(name="wald_z", statistic=odds.z, df=1, p=odds.p, freedom=odds.freedom, spread=odds.spread)


def _evidence(
    comparison: Comparison,
    hypothesis: ContrastHypothesis,
    odds: Sequence[OddsRow | None],
    test: TestRow | None,
) -> Evidence:
    return Evidence(
        comparison.at_margin(hypothesis.margin),
        [comparison.levels.index(level) for level in hypothesis.levels],
        comparison.levels.index(hypothesis.reference),
        test.p if test is not None and test.decides else 1.0,
        [odds_tails(level) for level in odds],
    )


def odds_tails(odds: OddsRow | None) -> tuple[float, float]:
    """p of: the odds rise, and of: they fall; 1 where they are not known, or the units too few to decide."""
    if odds is None:
        return 1.0, 1.0
    return verdicts.estimate_tails(odds.z, odds.p, odds.spread is None or odds.spread.enough)


def contrast(
    comparison: Comparison,
    spec: Spec,
    hypothesis: ContrastHypothesis,
    level: str,
    alpha: float,
    odds: OddsRow | None,
    tested: FittedOdds | None,
) -> ContrastRow:
    """One level against the reference: both readings, every ratio, and each benchmark. The intervals of the
    difference and of the ratio agree with what is `tested`."""
    reference, margin = hypothesis.reference, hypothesis.margin
    if spec.analysis.equivalence == "nonsignificant" and odds is not None and odds.p <= alpha:
        margin = None
    change = comparison.change(level, reference, margin, alpha, tested=tested)
    other, divergence = _other_reading(comparison, level, reference, alpha, change)
    benchmarks = list(dict.fromkeys(comparison.rows.levels("benchmark")))
    parts = []
    for name in benchmarks if len(benchmarks) > 1 else []:
        part = comparison.part(comparison.rows.codes("benchmark", [name]) == 0)
        parts.append(part.change(level, reference, margin, alpha, name))
    ratio, ends = _risk_ratio(comparison, level, reference, tested)
    return ContrastRow(
        change=change,
        other=other,
        divergence=divergence,
        odds=odds,
        risk_ratio=ratio,
        risk_ratio_interval=ends,
        number_needed=_needed(spec, hypothesis.outcome, benchmarks, change),
        flips=comparison.flips(level, reference),
        parts=tuple(parts),
        recovery=None
        if hypothesis.control is None
        else _recovery(comparison, spec, hypothesis, hypothesis.control, change, benchmarks),
    )


def both_readings(
    comparison: Comparison,
    level: str,
    reference: str,
    alpha: float,
    odds: OddsRow | None = None,
    parts: tuple[RateChangeRow, ...] = (),
) -> ContrastRow:
    """One level against the reference, without a margin and without ratios of the rates."""
    change = comparison.change(level, reference, None, alpha)
    other, divergence = _other_reading(comparison, level, reference, alpha, change)
    return ContrastRow(
        change=change,
        other=other,
        divergence=divergence,
        odds=odds,
        risk_ratio=None,
        risk_ratio_interval=None,
        number_needed=None,
        flips=comparison.flips(level, reference),
        parts=parts,
        recovery=None,
    )


def _recovery(
    comparison: Comparison,
    spec: Spec,
    hypothesis: ContrastHypothesis,
    control: str,
    gain: RateChangeRow,
    benchmarks: Sequence[str],
) -> RecoveryRow:
    """What a level takes back of a loss. No share where the loss may be none: every value would fit."""
    level, reference = gain.level, gain.reference
    loss = comparison.change(control, reference, None, ALPHA)
    left = comparison.change(level, control, None, ALPHA)
    needed = _needed(spec, hypothesis.outcome, benchmarks, left)
    share, ends, fieller, no_interval = None, None, None, ""
    sums = comparison.sums
    arms = [comparison.levels.index(name) for name in (control, reference, level)]
    effective = effective_number(np.repeat(sums.rows[:, arms].sum(axis=1), sums.cases))
    if loss.interval is not None and not Interval(*loss.interval).holds_zero:
        share = (gain.difference or 0) / (loss.difference or 1)
    if share is not None and not enough_cases(effective):
        told = f"{number(effective, 1)} units of one size would tell as much"
        no_interval = f"{told}, and that of a recovery needs {FLOOR:g}"
    elif share is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn = comparison.differences(level, reference) / comparison.differences(control, reference)
        if not np.isfinite(drawn).all():
            no_interval = "some resamples have no loss"
        elif (ends := comparison.interval(drawn)) is None:
            no_interval = "the resamples give one share, or are too few"
        if len(np.unique(sums.rows[:, arms])) == 1:
            sign = 1 if (loss.difference or 0) > 0 else -1
            means = sign * np.repeat(sums.sums[:, arms], sums.cases, axis=0) / sums.rows[0, arms[0]]
            kept, lost, mended = means.T
            interval = recovery(kept, lost, mended, LEVEL).interval
            fieller = None if interval is None else (interval.low, interval.high)
    return RecoveryRow(
        control=control,
        loss=loss,
        left=left,
        share=share,
        interval=ends,
        fieller=fieller,
        no_interval=no_interval,
        number_needed=needed,
    )


def _other_reading(
    comparison: Comparison, level: str, reference: str, alpha: float, change: RateChangeRow
) -> tuple[RateChangeRow | None, float | None]:
    """The change by the other reading of unreadable answers, and the divergence of both: ITT less PP. None
    where no answer is readable under one of the levels."""
    reading: Reading = "pp" if comparison.reading == "itt" else "itt"
    other = comparison.read(reading).change(level, reference, None, alpha)
    if other.difference is None or change.difference is None:
        return None, None
    divergence = change.difference - other.difference
    return other, divergence if reading == "pp" else -divergence


def _risk_ratio(
    comparison: Comparison, level: str, reference: str, tested: FittedOdds | None
) -> tuple[float | None, Ends | None]:
    """The ratio of both rates, with its interval; None where a rate is 0 or undefined."""
    rate, of_reference = comparison.rate(level), comparison.rate(reference)
    if not rate or not of_reference:
        return None, None
    ends = comparison.ratio(level, reference, tested)
    return rate / of_reference, ends and every_digits(ends)


def _needed(
    spec: Spec, outcome: str, benchmarks: Sequence[str], change: RateChangeRow
) -> NumberNeededRow | None:
    """The number needed to harm or to benefit, where the spec asks for it and the outcome has a good side."""
    signs = {
        Direction.of(benchmark.direction).sign for benchmark in spec.benchmark if benchmark.id in benchmarks
    }
    rate = rate_kind(outcome)
    good = next(iter(signs)) if rate.of_score and len(signs) == 1 else rate.better
    stated = spec.analysis.nnh
    if stated is None or not good or change.difference is None:
        return None
    ends = change.interval
    if ends is not None and good < 0:
        ends = -ends[1], -ends[0]
    return ScoreDifference(Fraction(good * change.difference), ends).number_needed(stated.rounding)
