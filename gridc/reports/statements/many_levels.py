"""What is said of an axis that has many levels."""

from collections.abc import Iterator

from gridc.numbers import hundredths, percent, told_p
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.many_levels import MANY_LEVELS
from gridc.reports.statements.statement import Statement, of_study


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
