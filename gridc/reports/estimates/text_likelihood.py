"""Bits per byte, as rows of the document of estimates."""

from collections.abc import Iterator

from gridc.reports.estimates import ESTIMATES
from gridc.reports.estimates.scaffolds import of_units
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.text_likelihood import TEXT_LIKELIHOODS
from gridc.schema.estimates import EstimateRow


@ESTIMATES.add("text_likelihoods", 90)
def text_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Of every model and configuration, and of every pair of models."""
    for found in findings[TEXT_LIKELIHOODS]:
        where = f"on {found.benchmark} under {found.configuration}"
        for model in found.models:
            name = f"bits_per_byte/{model.model}/{found.benchmark}/{found.configuration}"
            yield of_units("bits_per_byte", model.value, model.texts, id=name, rows=found.rows,
                           about=f"bits per byte of {model.model} {where}",
                           method="bits of all texts over their bytes in UTF-8")  # fmt: skip
        for gap in found.gaps:
            name = f"bits_per_byte_gap/{gap.a}/{gap.b}/{found.benchmark}/{found.configuration}"
            yield of_units("bits_per_byte_gap", gap.value, gap.texts, id=name, rows=found.rows,
                           about=f"bits per byte of {gap.a} less those of {gap.b} {where}",
                           method="the same texts, bits of one less those of the other")  # fmt: skip
