"""Variance shares of a study and its generalizability -> sentences and estimates."""

from collections.abc import Iterator

from gridc.reports.findings.components import FACTORIAL, GENERALIZABILITY, Factorial, GeneralizabilityFinding
from gridc.reports.findings.findings import Findings
from gridc.reports.templates import percent
from gridc.schema.estimates import EstimateRow, estimate_row
from gridc.statistics.resample import LEVEL

SHARES = "Type II sums of squares of single outcomes, main effects and pairs of factors"
DESCRIBES = "none: it describes the cells that were run"
MODELS = "the models are independent draws from those that it is meant for"
MANY = "many of them: 95 % of resamples of 5 models hold the coefficient in .55 to .8 of studies, of 20 in .9"
"""How short the interval of few models is, by simulation (docs/sizes.md)."""


def component_sentences(findings: Findings) -> Iterator[str]:
    """What moves the outcomes of the study, and how far models' means generalise, with the convention."""
    factorial = findings[FACTORIAL]
    if factorial is not None:
        yield _shares_words(factorial)
    found = findings[GENERALIZABILITY]
    if isinstance(found, str):
        yield f"The declared generalizability study was not made: {found}."
    elif found is not None:
        yield _generalizability_words(found)


def _shares_words(found: Factorial) -> str:
    terms = sorted(found.shares.terms, key=lambda term: -term.eta2)
    told = ", ".join(f"{term_name(term.term)} {percent(term.eta2)}" for term in terms[:4])
    return (
        f"Of the variance of {found.shares.n:,} single outcomes, the largest shares (η²): {told}; "
        f"{percent(found.shares.unexplained)} lies within cells or in higher interactions."
    )


def _generalizability_words(found: GeneralizabilityFinding) -> str:
    others = ", ".join(f"{_shown(value)} with {_fixed(fixed)} fixed" for fixed, value in found.by_convention)
    told = f"The models' generalizability coefficient is {_shown(found.coefficient)} with {found.convention}"
    if found.interval is not None:
        ends = f"{found.interval[0]:.3f} to {found.interval[1]:.3f}"
        told += f" (95 % of resamples of the models: {ends}, which is too short of few models)"
    return f"{told}. The convention decides it: {others}."


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _fixed(names: tuple[str, ...]) -> str:
    return " and ".join(names) if names else "neither"


def term_name(term: tuple[str, ...]) -> str:
    return " × ".join(term)


def component_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Every share, component and coefficient."""
    factorial, generalizability = findings[FACTORIAL], findings[GENERALIZABILITY]
    if factorial is not None:
        yield from _share_rows(factorial)
    if isinstance(generalizability, GeneralizabilityFinding):
        yield from _generalizability_rows(generalizability)


def _share_rows(found: Factorial) -> Iterator[EstimateRow]:
    for term in found.shares.terms:
        for kind, value in (("eta2", term.eta2), ("omega2", term.omega2)):
            yield estimate_row(
                id=f"variance/{'*'.join(term.term)}/{kind}",
                kind=kind,
                about=f"share of the variance of single outcomes that is of {term_name(term.term)}",
                estimate=value,
                method=SHARES,
                assumption=DESCRIBES,
                rows=found.rows,
                n=found.shares.n,
            )


def _generalizability_rows(found: GeneralizabilityFinding) -> Iterator[EstimateRow]:
    n = found.components.levels[0] * found.components.levels[1] * found.components.levels[2]

    def row(
        name: str, kind: str, about: str, value: float | None, method: str, **more: object
    ) -> EstimateRow:
        stated = {"assumption": MODELS, "rows": found.rows, "n": n, **more}
        name = f"generalizability/{name}"
        return estimate_row(id=name, kind=kind, about=about, estimate=value, method=method, **stated)

    first, second = found.facets
    resamples = f"percentiles of {found.resamples} resamples of the models, seed {found.seed}"
    method = f"mean squares of the table of models, {first.name} and {second.name}; {found.convention}"
    yield row(
        "coefficient", "generalizability", f"how far models' means generalise, {found.convention}",
        found.coefficient, f"{method}; {resamples}", interval=found.interval,
        level=None if found.interval is None else LEVEL,
        assumption=MODELS if found.interval is None else f"{MODELS}, and {MANY}",
    )  # fmt: skip
    if found.at_zero is not None:
        about = "share of resamples of the models whose coefficient is 0"
        yield row("at_zero", "share", about, found.at_zero, f"{method}; {resamples}")
    of = found.components
    for name, value in (
        ("models", of.models),
        (f"models*{first.name}", of.with_first),
        (f"models*{second.name}", of.with_second),
        ("rest", of.rest),
    ):
        about = f"variance component of {name.replace('*', ' × ')}, as it is where negative"
        yield row(f"component/{name}", "variance_component", about, value, method)
    for fixed, coefficient in found.by_convention:
        about = f"the coefficient with {_fixed(fixed)} fixed"
        name = f"convention/{'+'.join(fixed) or 'none'}"
        yield row(
            name, "generalizability", about, coefficient, f"the same mean squares; {_fixed(fixed)} fixed"
        )
    for i, j, coefficient in found.future:
        about = f"the coefficient of a study with {i} of {first.name} and {j} of {second.name}"
        yield row(f"future/{i}x{j}", "generalizability", about, coefficient, f"{method}; D-study")
