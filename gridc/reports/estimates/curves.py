"""Specification curves, as rows of the document of estimates."""

from collections.abc import Iterator

from gridc.reports.estimates import ESTIMATES
from gridc.reports.findings.curves import CURVES, CurveFinding, SpecificationFinding, WithoutModel
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.hypotheses.regression import ESTIMATORS
from gridc.reports.quantities import estimate
from gridc.reports.statements.curves import curve_about
from gridc.schema.estimates import EstimateRow

ASSUMED = "units are independent, many and of about one size; log odds add up over the fixed effects"
EXCHANGED = "under no effect, the labels of both arms could be exchanged within each unit"


@ESTIMATES.add("curves", 100)
def curve_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Every number of every curve."""
    for curve in findings[CURVES]:
        yield from _whole(curve)
        for number, specification in enumerate(curve.specifications):
            yield _specification(curve, specification, specification_name(curve, number))
        for without in curve.without:
            if without.default is not None:
                name = f"curve/{curve.name}/without/{without.model}"
                yield _specification(curve, without.default, name, without.model)
            yield from _without(curve, without)


def _without(curve: CurveFinding, without: WithoutModel) -> Iterator[EstimateRow]:
    summary = without.summary
    if summary is None:
        return
    values = {
        "log_odds_median": summary.median,
        "share_significant_below": summary.below,
        "share_significant_above": summary.above,
    }
    for kind, value in values.items():
        yield estimate(
            kind,
            id=f"curve/{curve.name}/without/{without.model}/{kind}",
            about=f"{kind.replace('_', ' ')} over specifications without {without.model}. "
            f"{curve_about(curve)}",
            estimate=value,
            method=f"over the specifications that were fitted, of {curve.ran.stated:,} stated",
            rows=without.rows,
            n=without.samples,
        )


def _whole(curve: CurveFinding) -> Iterator[EstimateRow]:
    summary, permutation = curve.summary, curve.permutation
    if summary is None:
        return
    count = len(curve.fitted)
    tested = (
        ""
        if permutation is None
        else f"; p by {permutation.draws} exchanges of the arms, seed {permutation.seed}"
        + ("" if permutation.of == count else f", of {permutation.of} specifications")
    )
    values = {
        "log_odds_median": (summary.median, None if permutation is None else permutation.p_median),
        "log_odds_first_quartile": (summary.low, None),
        "log_odds_third_quartile": (summary.high, None),
        "share_significant_below": (summary.below, None),
        "share_significant_above": (summary.above, None),
        "share_significant": (summary.share, None if permutation is None else permutation.p_share),
        "share_same_sign": (curve.same_sign, None),
    }
    for kind, (value, p) in values.items():
        yield estimate(
            kind,
            id=f"curve/{curve.name}/{kind}",
            about=f"{kind.replace('_', ' ')} over {count} specifications. {curve_about(curve)}",
            estimate=value,
            p=p,
            method=f"over the {count} specifications that were fitted, of {curve.ran.stated:,} stated"
            + (tested if p is not None else ""),
            assumption=EXCHANGED if p is not None else "",
            rows=curve.rows,
            n=max(specification.samples for specification in curve.fitted),
        )


def specification_name(curve: CurveFinding, number: int) -> str:
    """The id of a specification's estimate in the document of estimates, by its place in the curve."""
    return f"curve/{curve.name}/specification/{number}"


def _specification(
    curve: CurveFinding, specification: SpecificationFinding, name: str, without: str | None = None
) -> EstimateRow:
    fitted = specification.fitted
    levels = ", ".join(f"{fork} = {level}" for fork, level in specification.levels.items())
    kept = "" if without is None else f" without {without}"
    terms = (
        f", fixed effects of {', '.join(specification.terms)}"
        if specification.terms
        else ", no fixed effects"
    )
    return estimate(
        "log_odds",
        id=name,
        about=f"log odds of {curve.contrast.level} against {curve.contrast.reference}{kept}, under {levels}",
        estimate=None if fitted is None else fitted.estimate,
        interval=None if fitted is None else (fitted.low, fitted.high),
        p=None if fitted is None else fitted.p,
        method=f"logit of {specification.outcome} ({specification.reading}){terms}; "
        f"errors {ESTIMATORS[specification.estimator].curve_errors}",
        assumption=ASSUMED,
        rows=specification.rows,
        n=specification.samples,
        error=None if specification.failure is None else ": ".join(specification.failure),
    )
