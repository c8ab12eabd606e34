"""Findings -> Estimates: every number that is estimated, each with its uncertainty, method and rows.

A source is a function of the findings that is registered in `ESTIMATES`; the document has their rows in the
order of their places.
"""

from collections.abc import Callable, Iterable

from gridc.registry import Registry
from gridc.reports.findings.findings import Findings
from gridc.schema.estimates import FORMAT, EstimateRow, Estimates

ESTIMATES: Registry[Callable[[Findings], Iterable[EstimateRow]]] = Registry("gridc.reports.estimates")


def estimate_document(findings: Findings) -> Estimates:
    """The document of a study, complete or not. ValueError where two estimates have one id."""
    rows = tuple(row for source in ESTIMATES.values() for row in source(findings))
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
