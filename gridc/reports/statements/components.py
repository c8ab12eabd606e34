"""What is said of variance: what moves the outcomes, how far models' means generalise, and what an
axis of many levels does."""

from collections.abc import Iterator

from gridc.numbers import between, hundredths, number, percent, told_p
from gridc.reports.findings.components import FACTORIAL, GENERALIZABILITY
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.many_levels import MANY_LEVELS
from gridc.reports.statements.statement import Statement, of_study
from gridc.reports.words import fixed_words, term_name
from gridc.statistics.digits import decimals


@of_study("many_levels", "variance", 30)
def ranges(findings: Findings) -> Iterator[Statement]:
    """How far each model's score goes over the levels, beside what levels that do nothing would show."""
    for finding in findings[MANY_LEVELS]:
        over = f"over the {finding.levels} levels of {finding.axis}"
        for model in finding.models:
            chance, mean = model.range_by_chance, percent(model.mean)
            worst, best = (f"{percent(at.score)} ({at.level})" for at in (model.worst, model.best))
            moved = (
                f"on average, from {worst} to {best}: {hundredths(model.range)} points, where levels "
                f"that do nothing would show {hundredths(chance.mean)} by chance ({told_p(chance.p)})"
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
    """What moves single outcomes the most."""
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
        ends = between(study.interval, number)
        resampled = f" (95 % of resamples of the models: {ends}, which is too short of few models)"
    yield Statement(
        f"The models' generalizability coefficient is {_shown(study.coefficient)} with {study.convention}"
        f"{resampled}. The convention decides it: {by_convention}."
    )


def _shown(value: float | None) -> str:
    return "undefined" if value is None else number(value)
