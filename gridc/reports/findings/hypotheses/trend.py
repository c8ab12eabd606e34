"""An outcome that moves one way along ordered levels: the slope over doses, and tests by rank beside it."""

from collections.abc import Sequence

import numpy as np

from gridc.compiler.hypotheses.trend import KIND, doses_of
from gridc.reports.findings.hypotheses.comparison import Comparison
from gridc.reports.findings.hypotheses.contrasts import (
    both_readings,
    comparison_or_failure,
    effect_of,
    odds_tails,
    wald,
)
from gridc.reports.findings.hypotheses.decision import EffectDecision
from gridc.reports.findings.hypotheses.finding import MeasuredStudy, rate_of
from gridc.reports.findings.hypotheses.regression import (
    DOSE,
    ClusteredLogit,
    design_of,
    failure_of,
    fit_comparison,
    undecided,
)
from gridc.schema.hypotheses import EffectRow, FailureRow, OddsRow, TrendRow
from gridc.schema.inference import TrendHypothesis
from gridc.statistics.arrays import Floats
from gridc.statistics.bounded_means import against_zero, agreed, of_direction, slope
from gridc.statistics.clustered_logit import NotEstimable
from gridc.statistics.envelope import LEVEL
from gridc.statistics.rank_tests import isotonic, jonckheere_terpstra, page_trend
from gridc.statistics.reproducibility import every_digits


class TrendDecision(EffectDecision[TrendHypothesis]):
    kind = KIND

    def decide(self, measured: MeasuredStudy, hypothesis: TrendHypothesis) -> EffectRow:
        """The slope of the log odds over the doses of the levels, one-sided as predicted; refuted where it is
        the other way. The contrast is of the last level against the first."""
        spec, alpha = measured.spec, rate_of(measured.spec, hypothesis).alpha
        comparison = comparison_or_failure(measured, hypothesis, hypothesis.order, only=True)
        if isinstance(comparison, EffectRow):
            return comparison
        doses = doses_of(spec, hypothesis)
        fitted = fit_comparison(comparison, spec.analysis.estimator, design_of(comparison, doses=doses))
        odds: OddsRow | None = None
        failure = None
        if isinstance(fitted, FailureRow):
            failure = fitted
        else:
            try:
                odds = fitted.odds(fitted.design.columns.index(((DOSE, ""),)))
                if isinstance(fitted, ClusteredLogit) and odds.spread is not None and odds.spread.enough:
                    odds = _where_seen(comparison, odds, tuple(doses.values()))
            except NotEstimable as error:
                failure = failure_of(error)
        up, down = odds_tails(odds)
        rising = hypothesis.direction == "increasing"
        last, first = hypothesis.order[-1], hypothesis.order[0]
        ends = both_readings(comparison, last, first, alpha, odds)
        test = None if odds is None else wald(odds)
        failure = failure or undecided(test, comparison.units, spec.analysis.estimator)
        p = (up, down) if rising else (down, up)
        return effect_of(
            comparison, hypothesis, spec, (ends,), test, failure, p, _line(comparison, hypothesis, doses)
        )

    def claimed(self, hypothesis: TrendHypothesis) -> str:
        return ""


DECISION = TrendDecision()


def _where_seen(comparison: Comparison, odds: OddsRow, doses: Sequence[float]) -> OddsRow:
    """The odds with the check of `statistics.bounded_means`; where it does not agree the interval holds 1."""
    agrees = of_direction(against_zero(comparison.by_unit, slope(doses)), odds.z)
    p = agreed(odds.p, agrees)
    low, high = odds.interval
    if p > 1 - LEVEL:
        low, high = min(low, 1.0), max(high, 1.0)
    return every_digits(odds.model_copy(update={"p": p, "interval": (low, high), "agrees": agrees}))


def _line(comparison: Comparison, hypothesis: TrendHypothesis, doses: dict[str, float]) -> TrendRow | None:
    """Rates by level and the tests by rank; None where a unit has no sample under a level."""
    means = unit_means(comparison)
    counts = (comparison.sums.cases @ comparison.sums.rows).astype(float)
    if not counts.all() or np.isnan(means).any():
        return None
    rising = hypothesis.direction == "increasing"
    sign = 1.0 if rising else -1.0
    rates = [comparison.rate(level) or 0.0 for level in hypothesis.order]
    return TrendRow(
        doses=tuple(doses.values()),
        rates=dict(zip(hypothesis.order, rates, strict=True)),
        isotonic=dict(zip(hypothesis.order, isotonic(rates, counts.tolist(), rising), strict=True)),
        page_p=page_trend(sign * means, list(doses.values())).p,
        jonckheere_terpstra_p=jonckheere_terpstra(list((sign * means).T)).p,
    )


def unit_means(comparison: Comparison) -> Floats:
    """The rate of each unit under each level, (units, levels); not a number where it has no sample there.
    Units without a sample that counts have no row."""
    counts, earned = comparison.counted
    some = counts > 0
    _, unit = np.unique(comparison.rows.unit[some], return_inverse=True)
    counts, earned, width = counts[some], earned[some], len(comparison.levels)
    place, size = unit * width + comparison.arms[some], (int(unit.max(initial=-1)) + 1) * width
    rows = np.bincount(place, counts, minlength=size).reshape(-1, width)
    sums = np.bincount(place, earned, minlength=size).reshape(-1, width)
    means: Floats = np.divide(sums, rows, out=np.full(rows.shape, np.nan), where=rows > 0)
    rounded: Floats = np.round(means, 12)  # ties are ties, however they were added up
    return rounded
