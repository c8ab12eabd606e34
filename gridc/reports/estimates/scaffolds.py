"""What scaffolds estimate, as rows of the document."""

from collections.abc import Iterator
from typing import Any

from gridc.reports.findings.findings import Findings
from gridc.reports.findings.steps import STEPS, StepFindings
from gridc.reports.quantities import INDEPENDENT, estimate
from gridc.schema.estimates import EstimateRow
from gridc.statistics.jackknife import FLOOR
from gridc.statistics.resample import LEVEL
from gridc.statistics.unit_jackknife import UnitEstimate

JACKKNIFE = "each unit left out once"


def scaffold_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Every number of the tables about scaffolds."""
    if (steps := findings[STEPS]) is not None:
        yield from _step_rows(steps)


def _of(kind: str, value: UnitEstimate, n: int, **stated: Any) -> EstimateRow:
    """A row of a value over units: without an interval it says why."""
    why = "" if value.interval else f": {no_interval(value)}"
    method = f"{stated.pop('method')}; {JACKKNIFE}" + why
    assumption = stated.pop("assumption", INDEPENDENT if value.interval else "")
    error = None if value.value is not None else "undefined: these rows do not determine it"
    return estimate(
        kind, estimate=value.value, interval=value.interval, level=LEVEL if value.interval else None,
        method=method, assumption=assumption, error=error, n=n, **stated,
    )  # fmt: skip


def no_interval(value: UnitEstimate) -> str:
    """Why a value over units has no interval."""
    if value.value is None:
        return "not determined"
    if value.effective < FLOOR:
        return f"{value.effective:.1f} units of one size would tell as much, and an interval needs {FLOOR:g}"
    return "nothing varies between units, or without one of them it is not determined"


def _step_rows(steps: StepFindings) -> Iterator[EstimateRow]:
    for outcome in steps.outcomes:
        name = f"step/{outcome.model}/{outcome.benchmark}/{outcome.scaffold}/{outcome.step}".replace(" ", "_")
        about = f"replies to {outcome.step} of {outcome.scaffold} on {outcome.benchmark}, {outcome.model}"
        for kind, value in (
            ("step_readable", outcome.readable), ("step_score", outcome.score),
            ("step_refusals", outcome.refusals),
        ):  # fmt: skip
            if value is not None:
                yield _of(kind, value, outcome.replies, id=f"{name}/{kind.removeprefix('step_')}",
                          about=about, method="share of the replies", rows=outcome.rows)  # fmt: skip
    for change in steps.changes:
        name = f"change/{change.model}/{change.benchmark}/{change.scaffold}/{change.before}/{change.after}"
        about = (
            f"{change.after} less {change.before}, {change.scaffold} on {change.benchmark}, {change.model}"
        )
        yield _of("answer_change", change.net, change.samples, id=name.replace(" ", "_"), about=about,
                  method="mean difference of scores", rows=change.rows)  # fmt: skip
    for row in steps.refusals:
        name = f"refusals/{row.model}/{row.benchmark}/{row.scaffold}/ratio".replace(" ", "_")
        yield estimate(
            "refusal_ratio",
            id=name,
            about=f"refusals of sub-calls over answers', {row.scaffold} on {row.benchmark}, {row.model}",
            estimate=row.ratio,
            interval=row.interval,
            level=None if row.interval is None else LEVEL,
            method=f"ratio of two shares, its interval on the log scale; {JACKKNIFE}",
            assumption=INDEPENDENT if row.interval else "",
            error=None if row.ratio is not None else "undefined: no answer refuses",
            rows=row.rows,
            n=row.subcalls + row.answers,
        )
