"""What is said of specification curves."""

from collections.abc import Iterator

from gridc.numbers import odds_ratio, p_value, percent
from gridc.reports.findings.curves import CURVES, CurveFinding
from gridc.reports.findings.findings import Findings
from gridc.reports.statements.statement import Statement, of_study
from gridc.statistics.digits import decimals


@of_study("curve", "curves", 10)
def results(findings: Findings) -> Iterator[Statement]:
    """What every curve comes to: the share of its specifications that was run, its median, and its tests."""
    for curve in findings[CURVES]:
        yield result(curve)


def result(curve: CurveFinding) -> Statement:
    """The same of one curve."""
    text = f"{curve_about(curve)}: {' '.join([_ran(curve), *_estimated(curve)])}"
    return Statement(text, about=(curve.name,))


def curve_about(curve: CurveFinding) -> str:
    """Which curve it is, in a phrase."""
    contrast = curve.contrast
    declared = "" if curve.declared == "ex_ante" else ", declared after the data"
    return (
        f"Specification curve {curve.curve} of {contrast.hypothesis} ({contrast.level} against "
        f"{contrast.reference}{declared})"
    )


def _ran(curve: CurveFinding) -> str:
    ran = curve.ran
    text = f"{len(ran.drawn):,} of {ran.stated:,} specifications were run"
    if ran.sample is not None:
        text += f", drawn with seed {ran.sample.seed} from {ran.bound:,} that the store can answer"
    elif ran.bound < ran.stated:
        text += " (the others need new data or new scores)"
    if curve.elsewhere:
        text += f"; {curve.elsewhere:,} of these leave out an arm and are not about it"
    return f"{text}."


def _estimated(curve: CurveFinding) -> Iterator[str]:
    if curve.failed:
        kinds = sorted(
            {specification.failure[0] for specification in curve.failed if specification.failure is not None}
        )
        yield f"{len(curve.failed):,} could not be fitted ({', '.join(kinds)})."
    if curve.summary is None or curve.same_sign is None:
        return
    summary = curve.summary
    low, median, high = map(odds_ratio, (summary.low, summary.median, summary.high))
    side = "on its side of 1" if decimals(summary.median) else "at 1 as it does"
    yield (
        f"The median odds ratio is {median} (quartiles {low} and {high}); {percent(curve.same_sign, 0)} lie "
        f"{side}, {percent(summary.below, 0)} are significantly below 1 and "
        f"{percent(summary.above, 0)} above it, each at {curve.alpha:g}."
    )
    if curve.unexchangeable:
        yield (
            "The arms were asked unequally often, so their labels cannot be exchanged: the curve as a whole "
            "is not tested."
        )
    if curve.permutation is not None:
        permutation = curve.permutation
        only = (
            ""
            if permutation.of == len(curve.fitted)
            else f", of the {permutation.of:,} specifications by cluster_logit with arms asked equally often,"
        )
        yield (
            f"Under {permutation.draws:,} exchanges of the arms within units{only} a median as far from 1 "
            f"has p "
            f"{p_value(permutation.p_median)}, as large a share of significant ones p "
            f"{p_value(permutation.p_share)}."
        )
