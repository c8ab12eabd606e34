"""Findings -> Estimates: every number that is estimated, each with its uncertainty, method and rows.

A source is a function of the findings; what a report estimates is added as a row of `SOURCES`.
"""

from collections.abc import Callable, Iterable

from gridc.reports.estimates.answers import answer_estimates
from gridc.reports.estimates.components import component_estimates
from gridc.reports.estimates.curves import curve_estimates
from gridc.reports.estimates.effects import effect_estimates
from gridc.reports.estimates.labels import audit_estimates, guess_estimates, judging_estimates
from gridc.reports.estimates.many_levels import level_estimates
from gridc.reports.estimates.scaffolds import scaffold_estimates
from gridc.reports.estimates.scores import change_estimates, score_estimates, sensitivity_estimates
from gridc.reports.estimates.text_likelihood import text_estimates
from gridc.reports.findings.findings import Findings
from gridc.schema.estimates import FORMAT, EstimateRow, Estimates


def estimate_document(findings: Findings) -> Estimates:
    """The document of a study, complete or not. ValueError where two estimates have one id."""
    rows = tuple(row for source in SOURCES for row in source(findings))
    names = [row.id for row in rows]
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise ValueError(f"two estimates are called {twice}")
    return Estimates(
        format=FORMAT,
        study=findings.plan.study.spec.study.id,
        stamp=findings.plan.study_digest,
        results=findings.results,
        complete=findings.complete,
        estimates=rows,
    ).as_written()


SOURCES: tuple[Callable[[Findings], Iterable[EstimateRow]], ...] = (
    score_estimates,
    change_estimates,
    effect_estimates,
    answer_estimates,
    sensitivity_estimates,
    judging_estimates,
    component_estimates,
    level_estimates,
    text_estimates,
    curve_estimates,
    audit_estimates,
    guess_estimates,
    scaffold_estimates,
)
