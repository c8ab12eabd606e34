"""What is said of how likely texts are."""

from collections.abc import Iterator

from gridc.numbers import bracketed, counted, number
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.text_likelihood import TEXT_LIKELIHOODS
from gridc.reports.statements.statement import Statement, of_study


@of_study("bits_per_byte", "rates", 20)
def of_models(findings: Findings) -> Iterator[Statement]:
    """Bits per byte of all models, in each configuration."""
    sizes = {row.benchmark: row.items for row in findings.benchmarks}
    for found in findings[TEXT_LIKELIHOODS]:
        size = sizes[found.benchmark]
        listed = "; ".join(
            f"{model.model} {number(model.value.value, 4)}"
            + (f" {bracketed(model.value.interval, number, 4)}" if model.value.interval else "")
            + (f" (on {model.texts:,} of {counted(size, 'text')})" if model.texts < size else "")
            for model in found.models
        )
        yield Statement(
            f"Bits per byte on {found.benchmark}, under {found.configuration}, fewer are better: {listed}.",
            about=(found.benchmark,),
        )
