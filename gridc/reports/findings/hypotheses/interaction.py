"""An axis whose effect depends on the model, the benchmark, or another axis: a joint test of the
interactions."""

from gridc.compiler.hypotheses.interaction import KIND
from gridc.reports.findings.hypotheses.comparison import Comparison
from gridc.reports.findings.hypotheses.contrasts import both_readings, comparison_or_failure, effect_of
from gridc.reports.findings.hypotheses.decision import EffectDecision
from gridc.reports.findings.hypotheses.finding import MeasuredStudy, rate_of
from gridc.reports.findings.hypotheses.regression import (
    covariates,
    design_of,
    failure_of,
    fit_comparison,
    undecided,
)
from gridc.schema.hypotheses import ContrastRow, EffectRow, FailureRow
from gridc.schema.inference import InteractionHypothesis
from gridc.statistics.clustered_logit import NotEstimable


class InteractionDecision(EffectDecision[InteractionHypothesis]):
    kind = KIND

    def decide(self, measured: MeasuredStudy, hypothesis: InteractionHypothesis) -> EffectRow:
        """Whether the effect of the axis differs by `by`, and the effect of each level in each part of it,
        against the first level of the axis. Nothing refutes it: no difference is too small to be one."""
        spec, alpha = measured.spec, rate_of(measured.spec, hypothesis).alpha
        comparison = comparison_or_failure(measured, hypothesis, None)
        if isinstance(comparison, EffectRow):
            return comparison
        test, failure = None, None
        if hypothesis.by not in covariates(comparison) or len(comparison.levels) < 2:
            failure = FailureRow(
                code="rows",
                words=f"what is compared has one level of `{hypothesis.by}` or of `{hypothesis.axis}`",
            )
        else:
            fitted = fit_comparison(
                comparison, spec.analysis.estimator, design_of(comparison, by=hypothesis.by)
            )
            if isinstance(fitted, FailureRow):
                failure = fitted
            else:
                try:
                    test = fitted.joint(fitted.design.places(hypothesis.axis, hypothesis.by))
                except NotEstimable as error:
                    failure = failure_of(error)
                failure = failure or undecided(test, comparison.units, spec.analysis.estimator)
        p = test.p if test is not None and test.decides else 1.0
        contrasts = tuple(_contrast(comparison, hypothesis, level, alpha) for level in comparison.levels[1:])
        return effect_of(comparison, hypothesis, spec, contrasts, test, failure, (p, 1.0))

    def claimed(self, hypothesis: InteractionHypothesis) -> str:
        return ""


DECISION = InteractionDecision()


def _contrast(
    comparison: Comparison, hypothesis: InteractionHypothesis, level: str, alpha: float
) -> ContrastRow:
    """A level against the first one, and in each part of `by`."""
    reference = comparison.levels[0]
    parts = []
    for name in dict.fromkeys(comparison.rows.levels(hypothesis.by)):
        part = comparison.part(comparison.rows.codes(hypothesis.by, [name]) == 0)
        parts.append(part.change(level, reference, None, alpha, name))
    return both_readings(comparison, level, reference, alpha, parts=tuple(parts))
