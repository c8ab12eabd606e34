"""Findings -> Estimates: every number that is estimated, each with its uncertainty, method and rows.

A source is a function of the findings; what a report estimates is added as a row of `SOURCES`.
"""

from collections.abc import Callable, Iterable, Iterator

from gridc.reports.caveats import AT_BOUND, INTERVAL_METHOD, interval_assumption
from gridc.reports.components import component_estimates
from gridc.reports.curves import curve_estimates
from gridc.reports.effect_estimates import effect_estimates
from gridc.reports.findings.findings import Findings
from gridc.reports.judging import judging_estimates
from gridc.reports.raters import audit_estimates, guess_estimates
from gridc.reports.scorecard.estimates import change_estimates, sensitivity_estimates
from gridc.schema.estimates import FORMAT, EstimateRow, Estimates, estimate_row

SCORE = "mean over items and replicates, an unreadable answer with its credit (intention to treat)"


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
    )


def _scores(findings: Findings) -> Iterator[EstimateRow]:
    """The score of every complete cell of a benchmark's envelope."""
    for benchmark in findings.benchmarks:
        intervals = benchmark.intervals
        for score in benchmark.cells:
            cell = score.cell
            if not cell.shared or score.score is None:
                continue
            interval = intervals.scores.get((cell.model, cell.configuration))
            made = AT_BOUND if score.score in (0, 1) else INTERVAL_METHOD
            yield estimate_row(
                id=f"score/{cell.key}",
                kind="score",
                about=f"score of {cell.model} on {cell.benchmark} under {cell.configuration}",
                estimate=float(score.score),
                interval=interval,
                level=None if interval is None else intervals.level,
                method=SCORE if interval is None else f"{SCORE}; {made}",
                assumption="" if interval is None else interval_assumption(intervals.unit),
                rows=score.rows,
                n=score.scored,
            )


SOURCES: tuple[Callable[[Findings], Iterable[EstimateRow]], ...] = (
    _scores,
    change_estimates,
    effect_estimates,
    sensitivity_estimates,
    judging_estimates,
    component_estimates,
    curve_estimates,
    audit_estimates,
    guess_estimates,
)
