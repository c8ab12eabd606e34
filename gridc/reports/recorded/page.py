"""What logs certify, as one self-contained HTML page."""

from dataclasses import dataclass

from gridc.reports.figures.drawing import Figure
from gridc.reports.figures.order import order_of_models
from gridc.reports.recorded import words
from gridc.reports.templates import render
from gridc.schema.recorded import LogBenchmarkRow, LogCertificate, LogPairRow

SHOWN = 12
"""Rows of a table that are not folded away."""


@dataclass(frozen=True, slots=True)
class LogSection:
    """One benchmark as the page lays it out."""

    row: LogBenchmarkRow
    figure: Figure | None
    head: tuple[str, ...]
    order: tuple[str, ...]

    @property
    def several(self) -> list[LogPairRow]:
        """The pairs that more than one configuration compares: those whose order depends on it first, then
        those of which something is certified."""
        several = [pair for pair in self.row.pairs if pair.configurations > 1]
        return sorted(several, key=lambda pair: (not (pair.a_better and pair.b_better), not pair.certified))


def page(document: LogCertificate) -> str:
    """The page. Nothing outside it is loaded, and no script runs."""
    sections = [
        LogSection(
            row,
            order_of_models(row, number) if row.order else None,
            tuple(words.head(row)),
            tuple(words.order(row, document.alpha)),
        )
        for number, row in enumerate(document.benchmarks, start=1)
    ]
    provenance, *rest = words.provenance(document)
    return render(
        "logs.html.jinja",
        document=document,
        sections=sections,
        provenance=provenance,
        rests_on=rest,
        words=words,
        shown=SHOWN,
    )
