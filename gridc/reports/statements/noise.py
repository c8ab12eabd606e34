"""What is said of noise: verdicts that the shape of a batch could undo, and how much moved."""

from collections.abc import Iterator, Mapping

from gridc.reports.findings.findings import Findings
from gridc.reports.findings.references import REFERENCES
from gridc.reports.statements.statement import Statement, of_study
from gridc.reports.templates import floor
from gridc.reports.words import model_at
from gridc.schema.effects import EXACT
from gridc.schema.models import SERVED

QUIET: Mapping[str, str] = {EXACT: "in another batch shape", SERVED: "asked again"}
"""By the precisions in which answers are expected to stay: how calls were answered once more."""
REPEATED: Mapping[str, str] = {
    EXACT: "Repeating {:,} calls in other batches",
    SERVED: "Asking {:,} calls again",
}


@of_study("within_noise", "limits", 20, urgent=True)
def within(findings: Findings) -> Iterator[Statement]:
    """Which verdicts the shape of a batch alone could undo."""
    inside = [
        f"{pair.counts.a} and {pair.counts.b} on {benchmark.benchmark}"
        for benchmark in findings.benchmarks
        for pair in benchmark.full.pairs
        if pair.noise.standing == "within"
    ]
    inside += [finding.hypothesis.id for finding in findings.hypotheses if finding.noise == "within"]
    if inside:
        yield Statement(
            f"WITHIN NOISE: the shape of a batch alone could undo {len(inside)} "
            f"{'verdict' if len(inside) == 1 else 'verdicts'}: {'; '.join(inside)}.",
            "limit",
        )


@of_study("reference", "limits", 190)
def references(findings: Findings) -> Iterator[Statement]:
    """How answers differ from those of the same weights in fp32."""
    for reference in findings[REFERENCES]:
        named = model_at(reference.model, reference.precision)
        words = reference.compared.words
        text = f"Reference of {named}, its weights in fp32 on the machine of the run: {words}."
        yield Statement(text, "limit", (reference.model,))


@of_study("spread_of_draws", "limits", 180)
def spreads(findings: Findings) -> Iterator[Statement]:
    """What a second draw changes where no seed repeats one."""
    for model in findings.noise:
        if model.spread is not None:
            text = f"Draws of {model_at(model.model, model.precision)}: {model.spread.words}."
            yield Statement(text, "limit", (model.model,))


@of_study("noise_floor", "limits", 170)
def floors(findings: Findings) -> Iterator[Statement]:
    """One sentence for each model and precision; those in which nothing changed, and nothing was to be
    expected, share one."""
    for model in findings.noise:
        if model.floor is not None and not (model.floor.still and model.precision in QUIET):
            named = model_at(model.model, model.precision)
            how = QUIET.get(model.precision, QUIET[EXACT])
            text = f"Noise floor of {named}: {how} {floor(model.floor)}."
            yield Statement(text, "limit", (model.model,))
    for precision, how in QUIET.items():
        still = [
            (model, model.floor)
            for model in findings.noise
            if model.precision == precision and model.floor and model.floor.still
        ]
        if still:
            names = ", ".join(model_at(model.model, model.precision) for model, _ in still)
            outcomes, calls = (sum(getattr(row, key) for _, row in still) for key in ("outcomes", "calls"))
            text = f"Noise floor of {names}: {how} none of {outcomes} outcomes of {calls} calls changed."
            short = f"{REPEATED[precision].format(calls)} changed no outcome ({names})."
            yield Statement(text, "limit", tuple(model.model for model, _ in still), short)
    unknown = [model_at(model.model, model.precision) for model in findings.noise if model.floor is None]
    if unknown:
        compared = findings.hypotheses or any(benchmark.full.pairs for benchmark in findings.benchmarks)
        verdicts = " Whether a verdict on them lies within it is not known." if compared else ""
        yield Statement(f"Noise floor not measured: {', '.join(unknown)}.{verdicts}", "limit")
