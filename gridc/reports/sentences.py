"""Findings -> sentences: what a reader must know, each with its strength.

Counts are facts about the items that were asked. Only what is certified says more, and says so in other
words, so that nobody can take one for the other.
"""

from collections.abc import Iterator

from gridc.reports.caveats import caveats
from gridc.reports.components import component_sentences
from gridc.reports.curves import curve_sentences
from gridc.reports.findings.audit import AUDITS
from gridc.reports.findings.blinding import GUESSES
from gridc.reports.findings.falsification import FALSIFICATIONS
from gridc.reports.findings.findings import Findings, ModelFinding
from gridc.reports.findings.hypotheses import sentence, verdict_lines
from gridc.reports.findings.rates import RateFinding
from gridc.reports.pair_sentences import (
    WITHIN,
    claims_sentences,
    ordering_sentence,
    pair_sentence,
    parted,
    strength_of,
)
from gridc.reports.raters import audit_sentences, guess_sentences
from gridc.reports.templates import percent


def statements(findings: Findings) -> Iterator[str]:
    """What a reader must know, the most important first, and what limits it."""
    yield from leading(findings)
    yield from rate_sentences(findings)
    yield from falsification_sentences(findings)
    yield from component_sentences(findings)
    yield from curve_sentences(findings)
    yield from guess_sentences(findings[GUESSES])
    yield from audit_sentences(findings[AUDITS])
    yield from caveats(findings)


def leading(findings: Findings) -> Iterator[str]:
    """What the scores say, the most important first."""
    if not findings.complete:
        done, total = findings.progress.answered, findings.progress.total
        yield f"The run is incomplete: {done:,} of {total:,} calls have an answer; this is an interim look."
    if findings.before_stamp:
        yield (
            f"By the store's own clock {findings.before_stamp:,} of {findings.progress.total:,} calls were "
            "answered before the study was stamped: their data predate the stamp."
        )
    full = [(each, pair) for each in findings.benchmarks for pair in each.full.pairs]
    strongest = max(full, key=lambda each: strength_of(each[1]), default=None)
    if strongest is not None:
        yield pair_sentence(*strongest)
        yield from parted(full)
        yield from claims_sentences(findings, full)
    for stated in findings.hypotheses:
        told = sentence(stated, findings.complete)
        yield f"{told} {WITHIN}" if stated.noise == "within" else told
    widest = max(findings.benchmarks, key=lambda each: len(each.full.orderings.strict), default=None)
    if widest is not None and full:
        if widest.full.orderings.measured:
            yield ordering_sentence(widest, findings.plan.study.spec.tiers[0], findings.complete)
    elif widest is not None:
        yield "One model was asked, so no order of models is compared."
    for benchmark, pair in full:
        if (benchmark, pair) != strongest:
            yield pair_sentence(benchmark, pair)


def hypothesis_lines(findings: Findings) -> Iterator[str]:
    """The verdicts on all hypotheses, in a few lines; `leading` says each in full."""
    yield from verdict_lines(findings.hypotheses, findings.complete)


def falsification_sentences(findings: Findings) -> Iterator[str]:
    """What became of the tests that could have broken the findings, the worst first."""
    results = {"fail": "failed", "partial": "passed in part", "open": "undecided", "pass": "passed"}
    told = []
    for result, words in results.items():
        names = [each.id for each in findings[FALSIFICATIONS] if each.result == result]
        if names:
            told.append(f"{len(names)} {words} ({', '.join(names)})")
    if told:
        count = len(findings[FALSIFICATIONS])
        tests = "falsification test that is" if count == 1 else "falsification tests that are"
        yield f"Of {count} {tests} computed, {', '.join(told)}."


LED_BY_RATES = ("over_refusal", "unsafe_compliance", "bias_ambiguous", "bias_disambiguated", "bias_magnitude")
"""The rates that are said in sentences, beside a study's own outcomes; the tables have all."""


def rate_sentences(findings: Findings) -> Iterator[str]:
    """The rates that a score hides, for each model under the anchor configuration, and over the envelope."""
    stated = [outcome.id for outcome in findings.plan.study.spec.outcomes]
    for benchmark in findings.benchmarks:
        anchor = benchmark.models[0].anchor.cell.configuration
        for rate in benchmark.rates:
            if rate.name not in (*LED_BY_RATES, *stated):
                continue
            told = [_rate_words(rate, model) for model in benchmark.models]
            shown = "; ".join(each for each in told if each)
            if shown:
                name = rate.name.replace("_", " ")
                yield (
                    f"{name[0].upper()}{name[1:]} on {benchmark.benchmark} ({rate.what}), under the anchor "
                    f"configuration ({anchor}) with its 95 % interval: {shown}."
                )


def _rate_words(rate: RateFinding, model: ModelFinding) -> str | None:
    here = rate.values.get((model.model, model.anchor.cell.configuration))
    ends = rate.over(model.model)
    if here is None or ends is None:
        return None
    low, high = (f"{100 * float(end):.1f}" for end in ends)
    defined = (name for (name, _), each in rate.values.items() if each.value is not None)
    count = sum(name == model.model for name in defined)
    over = f", {low} to {high} over {count} configurations" if count > 1 else ""
    if here.value is None:
        return f"{model.model} not defined{over}"
    span = "" if here.interval is None else f" [{', '.join(f'{100 * end:.1f}' for end in here.interval)}]"
    return f"{model.model} {percent(here.value)}{span}{over}"
