"""Sentences about variance, axes with many levels, and specification curves."""

from collections.abc import Iterator

from gridc.numbers import hundredths, interval_words, number, odds_ratio, p_in_text, p_value, percent
from gridc.reports.findings.components import FACTORIAL, GENERALIZABILITY, MANY_LEVELS
from gridc.reports.findings.curves import CURVES, CurveFinding
from gridc.reports.findings.findings import Findings
from gridc.reports.statements.statement import Statement, of_study
from gridc.reports.words import fixed_words, term_name
from gridc.statistics.reproducibility import decimals


@of_study("many_levels", "variance", 30)
def ranges(findings: Findings) -> Iterator[Statement]:
    """How far each model's score moves over the levels, compared with levels that have no effect."""
    for finding in findings[MANY_LEVELS]:
        over = f"over the {finding.levels} levels of {finding.axis}"
        for model in finding.models:
            chance, mean = model.range_by_chance, percent(model.mean)
            worst, best = (f"{percent(at.score)} ({at.level})" for at in (model.worst, model.best))
            moved = (
                f"on average, from {worst} to {best}: {hundredths(model.range)} points, where levels "
                f"that do nothing would show {hundredths(chance.mean)} by chance ({p_in_text(chance.p)})"
            )
            yield Statement(
                f"On {finding.benchmark}, {over}, {model.model} scores {mean} "
                f"{moved if model.range else 'under each'}.",
                about=(finding.benchmark,),
            )


SHOWN = 0.005
"""Smaller shares of variance are left out of the short wording."""


@of_study("shares_of_variance", "variance", 10)
def shares(findings: Findings) -> Iterator[Statement]:
    """The factors that move single outcomes the most."""
    factorial = findings[FACTORIAL]
    if factorial is not None:
        decomposition = factorial.shares
        largest = sorted(decomposition.terms, key=lambda each: (-decimals(each.eta2), each.term))[:4]
        listed = ", ".join(f"{term_name(term.term)} {percent(term.eta2)}" for term in largest)
        told = [f"{term_name(term.term)} {percent(term.eta2)}" for term in largest if term.eta2 >= SHOWN]
        left = percent(decomposition.unexplained)
        rest = f"{left} of the variance lies within cells or in higher interactions"
        yield Statement(
            f"Of the variance of {decomposition.n:,} single outcomes, the largest shares (η²): {listed}; "
            f"{left} lies within cells or in higher interactions.",
            short=f"What moves single outcomes most: {', '.join(told)}; {rest}."
            if told
            else f"Neither models nor choices move single outcomes much: {rest}.",
        )


@of_study("generalizability", "variance", 20)
def generalizability(findings: Findings) -> Iterator[Statement]:
    """How far models' means generalise, with the convention, or why that is not known."""
    study = findings[GENERALIZABILITY]
    if study is None:
        return
    if isinstance(study, str):
        yield Statement(f"The declared generalizability study was not made: {study}.", "limit")
        return
    by_convention = ", ".join(
        f"{_shown(value)} with {fixed_words(fixed)} fixed" for fixed, value in study.by_convention
    )
    resampled = ""
    if study.interval is not None:
        ends = interval_words(study.interval, number)
        resampled = f" (95 % of resamples of the models: {ends}, which is too short of few models)"
    yield Statement(
        f"The models' generalizability coefficient is {_shown(study.coefficient)} with {study.convention}"
        f"{resampled}. The convention decides it: {by_convention}."
    )


def _shown(value: float | None) -> str:
    return "undefined" if value is None else number(value)


@of_study("curve", "curves", 10)
def results(findings: Findings) -> Iterator[Statement]:
    """A summary of every curve: the share of its specifications that was run, its median, and its tests."""
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
        text += f"; {curve.elsewhere:,} of these leave out one of the two arms and cannot compare them"
    return f"{text}."


def _estimated(curve: CurveFinding) -> Iterator[str]:
    if curve.failed:
        kinds = sorted(
            {specification.failure[0] for specification in curve.failed if specification.failure is not None}
        )
        yield f"{len(curve.failed):,} could not be fitted ({', '.join(kinds)})."
    silent = [each for each in curve.fitted if each.constant]
    if silent:
        named = ", ".join(dict.fromkeys(level for each in silent for level in each.constant))
        yield (
            f"In {len(silent):,} a level whose answers all earned the same ({named}) is left out: it says "
            "nothing of the comparison."
        )
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
