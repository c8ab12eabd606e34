"""Scores, and what a scorecard estimates, as rows of the versioned document of estimates."""

from collections.abc import Iterator

from gridc.reports.estimates import ESTIMATES
from gridc.reports.findings.changes import Moved
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.sensitivity import sensitivities
from gridc.reports.quantities import (
    AT_BOUND,
    INDEPENDENT,
    QUANTITIES,
    estimate,
    interval_assumption,
)
from gridc.reports.quantities.number_needed import needed_row
from gridc.reports.scorecard.validity import integrity
from gridc.schema.estimates import EstimateRow

SCORE = "mean over items and replicates, an unreadable answer with its credit (intention to treat)"
CHANGE = "difference of two scores on the same items, positive for the better, as the fraction that it is"


@ESTIMATES.add("scores", 10)
def score_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """The score of every complete cell of a benchmark's envelope."""
    for benchmark in findings.benchmarks:
        intervals = benchmark.intervals
        for score in benchmark.cells:
            cell = score.cell
            if not cell.shared or score.score is None:
                continue
            interval = intervals.scores.get((cell.model, cell.configuration))
            yield estimate(
                "score",
                id=f"score/{cell.key}",
                about=f"score of {cell.model} on {cell.benchmark} under {cell.configuration}",
                estimate=float(score.score),
                interval=interval,
                level=intervals.level,
                method=SCORE,
                made=AT_BOUND if score.score in (0, 1) else None,
                interval_assumes=interval_assumption(intervals.unit),
                rows=score.rows,
                n=score.scored,
            )


@ESTIMATES.add("changes", 20)
def change_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """The difference of every measured configuration from the reference, by every reading, with the number
    needed; and the scores of readable answers alone."""
    for benchmark in findings.benchmarks:
        cells = {(cell.cell.model, cell.cell.configuration): cell for cell in benchmark.cells}
        assumed = interval_assumption(benchmark.intervals.unit)
        for score in benchmark.cells:
            if score.cell.shared and score.per_protocol is not None:
                yield estimate(
                    "score_per_protocol",
                    id=f"per_protocol/{score.cell.key}",
                    about=f"score of {score.cell.model} on {score.cell.benchmark} under "
                    f"{score.cell.configuration}, unreadable answers left out",
                    estimate=float(score.per_protocol),
                    method="mean over readable answers",
                    rows=score.rows,
                    n=score.parsed,
                )
        for change in benchmark.changes:
            score, reference = (
                cells[change.model, name] for name in (change.configuration, change.reference)
            )
            about = (
                f"score of {change.model} on {benchmark.benchmark} under {change.configuration} less that "
                f"under {change.reference}, in points of the better direction"
            )
            name, n = f"change/{score.cell.key}", score.scored + reference.scored
            yield _moved(name, about, change.itt, assumed, change.rows, n)
            yield needed_row(name, f"from the {about}", change.itt.needed(), change.rows, n)
            if change.pp is not None:
                text = f"{about}, unreadable answers left out"
                yield _moved(f"{name}/per_protocol", text, change.pp, assumed, change.rows, n)


def _moved(name: str, about: str, moved: Moved, assumed: str, rows: str, n: int) -> EstimateRow:
    return estimate(
        "risk_difference",
        id=name,
        about=about,
        estimate=float(moved.difference),
        interval=moved.interval,
        method=CHANGE,
        interval_assumes=assumed,
        rows=rows,
        n=n,
    )


SENSITIVITY = ("share", "mean_range", "max_range", "rate")


@ESTIMATES.add("sensitivity", 50)
def sensitivity_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """How sensitive each model is to the configuration, and changes measured in two ways."""
    directions = {benchmark.benchmark: benchmark.direction for benchmark in findings.benchmarks}
    cells = [score for benchmark in findings.benchmarks for score in benchmark.cells]
    for model, sensitivity in sensitivities(cells, directions).items():
        n = sum(score.scored for score in cells if score.cell.shared and score.cell.model == model)
        for key in SENSITIVITY:
            method = QUANTITIES[f"sensitivity_{key}"].what
            value = getattr(sensitivity, key)
            yield estimate(
                f"sensitivity_{key}",
                id=f"sensitivity/{model}/{key}",
                about=f"{method}, of {model}",
                estimate=value,
                method=method,
                rows=sensitivity.rows,
                n=n,
                error="not_defined: its shares or its good end do not exist here",
            )
    for number, row in enumerate(integrity(findings)):
        changed = ",".join(f"{axis}={level}" for axis, level in row.change.items())
        for side, way, value, ends in (
            ("left", row.left, row.by_left, row.left_interval),
            ("right", row.right, row.by_right, row.right_interval),
        ):
            yield estimate(
                "risk_difference",
                id=f"integrity/{row.model}/{row.benchmark}/{number}/{side}",
                about=f"difference of {row.model} on {row.benchmark}, {changed}, measured by {way}",
                estimate=value,
                interval=ends,
                method=CHANGE,
                interval_assumes=INDEPENDENT,
                rows=row.rows,
                n=row.n,
            )
