"""Variance shares of a study and its generalizability, as rows of the document of estimates."""

from collections.abc import Iterator
from typing import Any

from gridc.reports.estimates import ESTIMATES
from gridc.reports.findings.components import FACTORIAL, GENERALIZABILITY, Factorial, GeneralizabilityFinding
from gridc.reports.findings.findings import Findings
from gridc.reports.quantities import estimate
from gridc.reports.words import fixed_words, term_name
from gridc.schema.estimates import EstimateRow

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
            yield estimate(
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
        return estimate(kind, id=name, about=about, estimate=value, method=method, **stated)

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
