"""What is said of the rates that a score hides, and of how likely texts are."""

from collections.abc import Iterator

from gridc.numbers import between, bracketed, counted, hundredths, number, percent
from gridc.reports.findings.findings import Findings, ModelFinding
from gridc.reports.findings.rates import RateFinding
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


LED_BY_RATES = ("over_refusal", "unsafe_compliance", "bias_ambiguous", "bias_disambiguated", "bias_magnitude")
"""The rates that are said in sentences, beside a study's own outcomes; the tables have all."""


@of_study("rate", "rates", 10)
def of_anchor(findings: Findings) -> Iterator[Statement]:
    """Each for every model under the anchor configuration, and over the envelope."""
    stated = [outcome.id for outcome in findings.plan.study.spec.outcomes]
    for benchmark in findings.benchmarks:
        anchor = benchmark.models[0].anchor.cell.configuration
        for rate in benchmark.rates:
            if rate.name not in (*LED_BY_RATES, *stated):
                continue
            of_models = [_rate_words(rate, model) for model in benchmark.models]
            shown = "; ".join(words for words in of_models if words)
            if shown:
                name = rate.name.replace("_", " ")
                yield Statement(
                    f"{name[0].upper()}{name[1:]} on {benchmark.benchmark} ({rate.what}), under the anchor "
                    f"configuration ({anchor}) with its 95 % interval: {shown}.",
                    about=(benchmark.benchmark, rate.name),
                    short=f"{name[0].upper()}{name[1:]} on {benchmark.benchmark} ({rate.what}), under the "
                    f"anchor, with 95 % intervals: {shown}.",
                )


def _rate_words(rate: RateFinding, model: ModelFinding) -> str | None:
    here = rate.values.get((model.model, model.anchor.cell.configuration))
    ends = rate.over(model.model)
    if here is None or ends is None:
        return None
    defined = (name for (name, _), cell in rate.values.items() if cell.value is not None)
    count = sum(name == model.model for name in defined)
    over = f", {between(ends, hundredths)} over {count} configurations" if count > 1 else ""
    if here.value is None:
        return f"{model.model} not defined{over}"
    span = "" if here.interval is None else f" {bracketed(here.interval, hundredths)}"
    return f"{model.model} {percent(here.value)}{span}{over}"
