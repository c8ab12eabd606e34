"""Variance, many levels and specification curves, as rows of the document of estimates."""

from collections.abc import Iterator
from typing import Any

from gridc.numbers import number
from gridc.reports.estimates import ESTIMATES
from gridc.reports.findings.components import (
    FACTORIAL,
    GENERALIZABILITY,
    MANY_LEVELS,
    Factorial,
    GeneralizabilityFinding,
    ManyLevels,
    ModelOverLevels,
)
from gridc.reports.findings.curves import CURVES, CurveFinding, SpecificationFinding, WithoutModel
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.hypotheses.regression import ESTIMATORS
from gridc.reports.quantities import INDEPENDENT, estimate_row
from gridc.reports.statements.components import curve_about
from gridc.reports.words import fixed_words, term_name
from gridc.schema.estimates import EstimateRow

CHOSEN = (
    "none: of several levels the one that came out so; with as many more items it lies nearer to the mean"
)
DESCRIBES_LEVELS = "none: it describes the levels that were run"
SHARED_ITEMS = "none: it describes the levels that were run, which share their items"


@ESTIMATES.add("many_levels", 80)
def level_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Every number about axes of many levels."""
    for finding in findings[MANY_LEVELS]:
        name = f"levels/{finding.benchmark}/{finding.axis}"
        for model in finding.models:
            yield from _of_model(finding, model, name)
        if finding.agreement is not None:
            yield estimate_row(
                "kendall_w",
                id=f"{name}/kendall_w",
                about=f"how far the {finding.levels} levels of {finding.axis} put the models in one "
                f"order, on {finding.benchmark}",
                estimate=finding.agreement.w,
                method="Kendall's W of the models' ranks under each level, ties corrected",
                assumption=SHARED_ITEMS,
                rows=finding.rows,
                n=finding.levels,
            )


def _of_model(finding: ManyLevels, model: ModelOverLevels, name: str) -> Iterator[EstimateRow]:
    where = f"over the {finding.levels} levels of {finding.axis}, {model.model} on {finding.benchmark}"
    chance, test = model.range_by_chance, model.test
    shared: dict[str, Any] = {"rows": finding.rows, "n": finding.units}
    yield estimate_row(
        "levels_mean", id=f"{name}/{model.model}/mean", about=f"mean score {where}",
        estimate=float(model.mean), interval=model.interval,
        method="mean of the levels", assumption=INDEPENDENT, **shared,
    )  # fmt: skip
    for kind, level in (("worst", model.worst), ("best", model.best)):
        yield estimate_row(
            f"levels_{kind}", id=f"{name}/{model.model}/{kind}", about=f"{kind} score {where}: {level.level}",
            estimate=float(level.score), method=f"the {kind} of the levels", assumption=CHOSEN, **shared,
        )  # fmt: skip
    yield estimate_row(
        "levels_range", id=f"{name}/{model.model}/range", about=f"highest less lowest score {where}",
        estimate=float(model.range), p=chance.p,
        method=f"beside it, levels that change places within each unit, {chance.draws} times: mean "
        f"{number(chance.mean, 4)}, 95 % below {number(chance.upper, 4)}",
        assumption=INDEPENDENT, **shared,
    )  # fmt: skip
    yield estimate_row(
        "levels_saturation", id=f"{name}/{model.model}/saturation", about=f"saturation {where}",
        estimate=float(model.saturation), method="1 - (best - mean) (Mizrahi et al. 2024)",
        assumption=DESCRIBES_LEVELS, **shared,
    )  # fmt: skip
    yield estimate_row(
        "friedman_chi2", id=f"{name}/{model.model}/friedman", about=f"Friedman's chi-squared {where}",
        estimate=None if test is None else test.chi2, p=None if test is None else test.p,
        method=f"ranks of levels within each unit, ties corrected, {finding.levels - 1} degrees of freedom",
        assumption=f"{INDEPENDENT}, and many", error="undefined: no unit tells two levels apart",
        **shared,
    )  # fmt: skip


SHARES = "Type II sums of squares of single outcomes, main effects and pairs of factors"
DESCRIBES = "none: it describes the cells that were run"
MODELS = "the models are independent draws from those that it is meant for"
MANY = "many of them: 95 % of resamples of 5 models hold the coefficient in .55 to .8 of studies, of 20 in .9"
"""How short the interval of few models is, by simulation (docs/sizes.md)."""


@ESTIMATES.add("components", 70)
def component_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Every share, component and coefficient."""
    factorial, generalizability = findings[FACTORIAL], findings[GENERALIZABILITY]
    if factorial is not None:
        yield from _share_rows(factorial)
    if isinstance(generalizability, GeneralizabilityFinding):
        yield from _generalizability_rows(generalizability)


def _share_rows(factorial: Factorial) -> Iterator[EstimateRow]:
    for term in factorial.shares.terms:
        for kind, value in (("eta2", term.eta2), ("omega2", term.omega2)):
            yield estimate_row(
                kind,
                id=f"variance/{'*'.join(term.term)}/{kind}",
                about=f"share of the variance of single outcomes that is of {term_name(term.term)}",
                estimate=value,
                method=SHARES,
                assumption=DESCRIBES,
                rows=factorial.rows,
                n=factorial.shares.n,
            )


def _generalizability_rows(finding: GeneralizabilityFinding) -> Iterator[EstimateRow]:
    n = finding.components.levels[0] * finding.components.levels[1] * finding.components.levels[2]

    def row(name: str, kind: str, about: str, value: float | None, method: str, **more: Any) -> EstimateRow:
        stated: dict[str, Any] = {"assumption": MODELS, "rows": finding.rows, "n": n, **more}
        name = f"generalizability/{name}"
        return estimate_row(kind, id=name, about=about, estimate=value, method=method, **stated)

    first, second = finding.facets
    resamples = f"percentiles of {finding.resamples} resamples of the models, seed {finding.seed}"
    method = f"mean squares of the table of models, {first.name} and {second.name}; {finding.convention}"
    yield row(
        "coefficient", "generalizability", f"how far models' means generalise, {finding.convention}",
        finding.coefficient, f"{method}; {resamples}", interval=finding.interval,
        assumption=MODELS if finding.interval is None else f"{MODELS}, and {MANY}",
    )  # fmt: skip
    if finding.at_zero is not None:
        about = "share of resamples of the models whose coefficient is 0"
        yield row("at_zero", "share", about, finding.at_zero, f"{method}; {resamples}")
    of = finding.components
    for name, value in (
        ("models", of.models),
        (f"models*{first.name}", of.with_first),
        (f"models*{second.name}", of.with_second),
        ("rest", of.rest),
    ):
        about = f"variance component of {name.replace('*', ' × ')}, as it is where negative"
        yield row(f"component/{name}", "variance_component", about, value, method)
    for fixed, coefficient in finding.by_convention:
        about = f"the coefficient with {fixed_words(fixed)} fixed"
        name = f"convention/{'+'.join(fixed) or 'none'}"
        yield row(
            name, "generalizability", about, coefficient, f"the same mean squares; {fixed_words(fixed)} fixed"
        )
    for i, j, coefficient in finding.future:
        about = f"the coefficient of a study with {i} of {first.name} and {j} of {second.name}"
        yield row(f"future/{i}x{j}", "generalizability", about, coefficient, f"{method}; D-study")


ASSUMED = "units are independent, many and of about one size; log odds add up over the fixed effects"
EXCHANGED = "under no effect, the labels of both arms could be exchanged within each unit"


@ESTIMATES.add("curves", 100)
def curve_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Every number of every curve."""
    for curve in findings[CURVES]:
        yield from _of_curve(curve)
        for place, specification in enumerate(curve.specifications):
            yield _specification(curve, specification, specification_name(curve, place))
        for without in curve.without:
            if without.default is not None:
                name = f"curve/{curve.name}/without/{without.model}"
                yield _specification(curve, without.default, name, without.model)
            yield from _without_models(curve, without)


def _without_models(curve: CurveFinding, without: WithoutModel) -> Iterator[EstimateRow]:
    summary = without.summary
    if summary is None:
        return
    values = {
        "log_odds_median": summary.median,
        "share_significant_below": summary.below,
        "share_significant_above": summary.above,
    }
    for kind, value in values.items():
        yield estimate_row(
            kind,
            id=f"curve/{curve.name}/without/{without.model}/{kind}",
            about=f"{kind.replace('_', ' ')} over specifications without {without.model}. "
            f"{curve_about(curve)}",
            estimate=value,
            method=f"over the specifications that were fitted, of {curve.ran.stated:,} stated",
            rows=without.rows,
            n=without.samples,
        )


def _of_curve(curve: CurveFinding) -> Iterator[EstimateRow]:
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
        yield estimate_row(
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
    constant = f", without {', '.join(specification.constant)}" if specification.constant else ""
    return estimate_row(
        "log_odds",
        id=name,
        about=f"log odds of {curve.contrast.level} against {curve.contrast.reference}{kept}, under {levels}",
        estimate=None if fitted is None else fitted.estimate,
        interval=None if fitted is None else (fitted.low, fitted.high),
        p=None if fitted is None else fitted.p,
        method=f"logit of {specification.outcome} ({specification.reading}){terms}{constant}; "
        f"errors {ESTIMATORS[specification.estimator].curve_errors}",
        assumption=ASSUMED,
        rows=specification.rows,
        n=specification.samples,
        error=None if specification.failure is None else ": ".join(specification.failure),
    )
