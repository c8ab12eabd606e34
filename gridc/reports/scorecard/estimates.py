"""What a scorecard estimates, as rows of the versioned document of estimates."""

from collections.abc import Iterator

from gridc.reports.caveats import INTERVAL_METHOD, interval_assumption
from gridc.reports.findings.findings import Findings
from gridc.schema.estimates import EstimateRow, estimate_row

CHANGE = "difference of two scores on the same items, positive for the better, as the fraction that it is"


def change_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """The difference of every measured configuration from the reference."""
    for benchmark in findings.benchmarks:
        cells = {(each.cell.model, each.cell.configuration): each for each in benchmark.cells}
        for change in benchmark.changes:
            score, reference = (
                cells[change.model, name] for name in (change.configuration, change.reference)
            )
            interval = change.itt.interval
            yield estimate_row(
                id=f"change/{score.cell.key}",
                kind="risk_difference",
                about=f"score of {change.model} on {benchmark.benchmark} under {change.configuration} less "
                f"that under {change.reference}, in points of the better direction",
                estimate=float(change.itt.difference),
                interval=interval,
                level=None if interval is None else benchmark.intervals.level,
                method=CHANGE if interval is None else f"{CHANGE}; {INTERVAL_METHOD}",
                assumption="" if interval is None else interval_assumption(benchmark.intervals.unit),
                rows=change.rows,
                n=score.scored + reference.scored,
            )
