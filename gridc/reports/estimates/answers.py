"""How many answers change between a level and its reference, and bits per byte, as rows of the document of
estimates."""

from collections.abc import Iterator

from gridc.reports.estimates import ESTIMATES
from gridc.reports.estimates.scaffolds import of_units
from gridc.reports.findings.answer_shifts import ANSWER_SHIFTS
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


@ESTIMATES.add("answers", 40)
def answer_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Every number about answers of two levels."""
    for shift in findings[ANSWER_SHIFTS]:
        name = f"hypothesis/{shift.hypothesis}/{shift.level}"
        where = f"{shift.level} against {shift.reference}, {shift.hypothesis}"
        for kind, about, value, n, method in (
            ("answer_changes", "answers that change", shift.changed, shift.compared,
             "share of the items with a readable answer under both"),
            ("likelihood_shift", "distance of log-likelihoods", shift.shift, shift.ranked,
             "mean over candidates and items"),
            ("answer_divergence", "divergence of the candidates' shares", shift.divergence, shift.ranked,
             "mean over items of D(reference || level)"),
        ):  # fmt: skip
            if value is not None:
                yield of_units(kind, value, n, id=f"{name}/{kind}", about=f"{about}, {where}",
                               method=method, rows=shift.rows)  # fmt: skip
