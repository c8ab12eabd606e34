"""Specification curves -> sentences and estimates."""

from collections.abc import Iterator
from math import exp

from gridc.reports.findings.curves import CURVES, ERRORS, CurveFinding, SpecificationFinding, WithoutModel
from gridc.reports.findings.findings import Findings
from gridc.reports.words import p_value
from gridc.schema.estimates import EstimateRow, estimate_row
from gridc.statistics.resample import LEVEL

ASSUMED = "units are independent, many and of about one size; log odds add up over the fixed effects"
EXCHANGED = "under no effect, the labels of both arms could be exchanged within each unit"


def curve_sentences(findings: Findings) -> Iterator[str]:
    """What every curve comes to: the share of its specifications that was run, its median, and its tests."""
    return map(curve_sentence, findings[CURVES])


def curve_sentence(curve: CurveFinding) -> str:
    """The same of one curve."""
    return f"{_about(curve)}: {_result(curve)}"


def _about(curve: CurveFinding) -> str:
    contrast = curve.contrast
    declared = "" if curve.declared == "ex_ante" else ", declared after the data"
    return (
        f"Specification curve {curve.curve} of {contrast.hypothesis} ({contrast.level} against "
        f"{contrast.reference}{declared})"
    )


def _result(curve: CurveFinding) -> str:
    return " ".join([_ran(curve), *_estimated(curve)])


def _ran(curve: CurveFinding) -> str:
    ran = curve.ran
    told = f"{len(ran.drawn):,} of {ran.stated:,} specifications were run"
    if ran.sample is not None:
        told += f", drawn with seed {ran.sample.seed} from {ran.bound:,} that the store can answer"
    elif ran.bound < ran.stated:
        told += " (the others need new data or new scores)"
    if curve.elsewhere:
        told += f"; {curve.elsewhere:,} of these leave out an arm and are not about it"
    return f"{told}."


def _estimated(curve: CurveFinding) -> Iterator[str]:
    if curve.failed:
        kinds = sorted({each.failure[0] for each in curve.failed if each.failure is not None})
        yield f"{len(curve.failed):,} could not be fitted ({', '.join(kinds)})."
    if curve.summary is None or curve.same_sign is None:
        return
    summary = curve.summary
    low, median, high = (f"{exp(each):.3g}" for each in (summary.low, summary.median, summary.high))
    side = "on its side of 1" if round(summary.median, 9) else "at 1 as it does"
    yield (
        f"The median odds ratio is {median} (quartiles {low} and {high}); {100 * curve.same_sign:.0f} % lie "
        f"{side}, {100 * summary.below:.0f} % are significantly below 1 and "
        f"{100 * summary.above:.0f} % above it, each at {curve.alpha:g}."
    )
    if curve.unexchangeable:
        yield (
            "The arms were asked unequally often, so their labels cannot be exchanged: the curve as a whole "
            "is not tested."
        )
    if curve.permutation is not None:
        found = curve.permutation
        yield (
            f"Under {found.draws:,} exchanges of the arms within units a median as far from 1 has p "
            f"{p_value(found.p_median)}, as large a share of significant ones p {p_value(found.p_share)}."
        )


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
        yield estimate_row(
            id=f"curve/{curve.name}/without/{without.model}/{kind}",
            kind=kind,
            about=f"{kind.replace('_', ' ')} over specifications without {without.model}. {_about(curve)}",
            estimate=value,
            method=f"over the specifications that were fitted, of {curve.ran.stated:,} stated",
            assumption="",
            rows=without.rows,
            n=without.samples,
        )


def _whole(curve: CurveFinding) -> Iterator[EstimateRow]:
    summary, found = curve.summary, curve.permutation
    if summary is None:
        return
    count = len(curve.fitted)
    tested = "" if found is None else f"; p by {found.draws} exchanges of the arms, seed {found.seed}"
    values = {
        "log_odds_median": (summary.median, None if found is None else found.p_median),
        "log_odds_first_quartile": (summary.low, None),
        "log_odds_third_quartile": (summary.high, None),
        "share_significant_below": (summary.below, None),
        "share_significant_above": (summary.above, None),
        "share_significant": (summary.share, None if found is None else found.p_share),
        "share_same_sign": (curve.same_sign, None),
    }
    for kind, (value, p) in values.items():
        yield estimate_row(
            id=f"curve/{curve.name}/{kind}",
            kind=kind,
            about=f"{kind.replace('_', ' ')} over {count} specifications. {_about(curve)}",
            estimate=value,
            p=p,
            method=f"over the {count} specifications that were fitted, of {curve.ran.stated:,} stated"
            + (tested if p is not None else ""),
            assumption=EXCHANGED if p is not None else "",
            rows=curve.rows,
            n=max(each.samples for each in curve.fitted),
        )


def specification_name(curve: CurveFinding, number: int) -> str:
    """The id of a specification's estimate in the document of estimates, by its place in the curve."""
    return f"curve/{curve.name}/specification/{number}"


def _specification(
    curve: CurveFinding, found: SpecificationFinding, name: str, without: str | None = None
) -> EstimateRow:
    fitted = found.fitted
    levels = ", ".join(f"{fork} = {level}" for fork, level in found.levels.items())
    kept = "" if without is None else f" without {without}"
    terms = f", fixed effects of {', '.join(found.terms)}" if found.terms else ", no fixed effects"
    return estimate_row(
        id=name,
        kind="log_odds",
        about=f"log odds of {curve.contrast.level} against {curve.contrast.reference}{kept}, under {levels}",
        estimate=None if fitted is None else fitted.estimate,
        interval=None if fitted is None else (fitted.low, fitted.high),
        level=None if fitted is None else LEVEL,
        p=None if fitted is None else fitted.p,
        method=f"logit of {found.outcome} ({found.reading}){terms}; errors {ERRORS}",
        assumption=ASSUMED,
        rows=found.rows,
        n=found.samples,
        error=None if found.failure is None else ": ".join(found.failure),
    )
