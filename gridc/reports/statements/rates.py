"""Sentences about the rates that a score hides, how answers are read and what they earn."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from gridc.compiler.grid.cells import ONLY
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.score import RAW_BITS
from gridc.compiler.instrument.setting import Setting
from gridc.numbers import (
    as_typed,
    bracketed,
    counted,
    hundredths,
    interval_words,
    number,
    percent,
    stated_percent,
)
from gridc.reports.findings.answers import TEXT_LIKELIHOODS
from gridc.reports.findings.findings import BenchmarkFinding, Findings, ModelFinding
from gridc.reports.findings.rates import RateFinding, not_given
from gridc.reports.findings.scores import CellScore, counts_against
from gridc.reports.findings.summaries import SUMMARIES, StatedStatistic
from gridc.reports.statements.statement import Statement, of_benchmark, of_study
from gridc.reports.words import open_words
from gridc.schema.comparison import UNREADABLE
from gridc.schema.effects import Aggregate, Attempts
from gridc.schema.scores import ByExpected, EvenScores, Scores


@of_study("bits_per_byte", "rates", 20)
def of_models(findings: Findings) -> Iterator[Statement]:
    """Bits per byte of all models, in each configuration."""
    every = {row.benchmark: row.items for row in findings.benchmarks}
    sizes = {
        (row.benchmark, score.cell.configuration): len(findings.plan.items(score.cell))
        for row in findings.benchmarks
        for score in row.cells
    }
    for found in findings[TEXT_LIKELIHOODS]:
        size = sizes.get((found.benchmark, found.configuration), every[found.benchmark])
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
"""The rates that the report puts into sentences, besides a study's own outcomes; its tables have all
rates."""


@of_study("rate", "rates", 10)
def of_anchor(findings: Findings) -> Iterator[Statement]:
    """Each rate for every model, under the anchor configuration and over the envelope."""
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


@of_study("statistic", "rates", 5)
def of_spec(findings: Findings) -> Iterator[Statement]:
    """What the spec's own statistics come to, under the anchor configuration and over the envelope. A reason
    for which none of several models has an interval is said once."""
    for summary in findings[SUMMARIES]:
        here = [values[summary.anchor] for values in summary.values.values() if summary.anchor in values]
        reasons = {value.note for value in here if value.interval is None and value.value is not None}
        once = reasons.pop() if len(reasons) == 1 and len(here) > 1 else ""
        shown = "; ".join(_summary_words(summary, model, once) for model in summary.values)
        under = "" if summary.anchor in ("", ONLY) else f", under {summary.anchor}"
        where = f"on {', '.join(summary.benchmarks)} ({summary.what}){under}"
        spans = ", with its 95 % interval" if any(value.interval for value in here) else ""
        reason = f" No interval: {once}." if once else ""
        yield Statement(f"{summary.id} {where}{spans}: {shown}.{reason}", about=(summary.id,))


def _summary_words(summary: StatedStatistic, model: str, once: str) -> str:
    form = summary.shown
    values = summary.values[model]
    here = values.get(summary.anchor)
    if here is None or here.value is None:
        return f"{model} none ({here.note if here else 'not asked'})"
    span = "" if here.interval is None else f" {bracketed(here.interval, form)}"
    note = "" if here.interval is None and here.note == once else here.note
    aside = ", ".join(filter(None, (here.of_answers, note)))
    known = [value.value for value in values.values() if value.value is not None]
    over = ""
    if len(known) > 1:
        over = f", {interval_words((min(known), max(known)), form)} over {len(known)} configurations"
    return f"{model} {form(here.value)}{span}{f' ({aside})' if aside else ''}{over}"


def _rate_words(rate: RateFinding, model: ModelFinding) -> str | None:
    here = rate.values.get((model.model, model.anchor.cell.configuration))
    ends = rate.range_of(model.model)
    if here is None or ends is None:
        return None
    defined = (name for (name, _), cell in rate.values.items() if cell.value is not None)
    count = sum(name == model.model for name in defined)
    over = f", {interval_words(ends, hundredths)} over {count} configurations" if count > 1 else ""
    if here.value is None:
        return f"{model.model} not defined{over}"
    span = "" if here.interval is None else f" {bracketed(here.interval, hundredths)}"
    return f"{model.model} {percent(here.value)}{span}{over}"


@of_benchmark("beyond_raw", "limits", 145)
def beyond_raw(findings: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Where texts take more bits than they have, so that scores of 0 tell no two models apart."""
    found = [each for each in findings[TEXT_LIKELIHOODS] if each.benchmark == benchmark.benchmark]
    beyond = {
        model.model: model.value.value
        for likelihood in found
        for model in likelihood.models
        if (model.value.value or 0) > RAW_BITS
    }
    if beyond:
        listed = ", ".join(f"{model} {number(bits, 2)}" for model, bits in beyond.items())
        yield Statement(
            f"On {benchmark.benchmark} texts take more than the {RAW_BITS} bits per byte that they have "
            f"({listed}): such a text scores 0, however far beyond it is. Bits per byte tell models apart.",
            "limit",
            (benchmark.benchmark,),
        )


@of_benchmark("unreadable", "limits", 80)
def unreadable(findings: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Scores that are low because many answers could not be read."""
    least, low = findings.plan.study.spec.analysis.parse_clean, unclean(findings, benchmark)
    if low:
        worst = min(low, key=lambda score: score.parse_rate or 0)
        models = ", ".join(dict.fromkeys(score.cell.model for score in low))
        places = len({score.cell.configuration for score in low})
        size = len(benchmark.full.scope.configurations)
        most = f"{'up to ' if len(low) > 1 else ''}{percent(1 - (worst.parse_rate or 0))}"
        silent = dict.fromkeys(score.cell.model for score in low if score.nothing_read)
        untested = (
            f" Where {' or '.join(silent)} gave no readable answer at all, the score says nothing of the "
            "model: no test and no gap takes it."
            if silent
            else ""
        )
        judged = all(METHODS[score.cell.setting.method].judged for score in low)
        target = benchmark.direction.target
        helps = ""
        if not any(score.credit for score in low):
            if benchmark.direction.lower or target == 0:
                helps = ", which is the better end there"
            elif target is not None:
                helps = f", which can bring a score nearer to {as_typed(target)}, the best one there"
        too_many = [score for score in low if counts_against(score.unread, score.trials)]
        against = (
            f" Where more than {stated_percent(UNREADABLE)} are, each counts against whatever is claimed."
            if target is None
            and benchmark.audit is None
            and any(not score.nothing_read for score in too_many)
            else ""
        )
        yield Statement(
            f"On {benchmark.benchmark}, in {places} of {size} configurations fewer than "
            f"{stated_percent(least)} of a "
            f"model's answers {'got a label' if judged else 'could be read'} ({models}; at worst "
            f"{percent(worst.parse_rate)}). {'One without' if judged else 'An unreadable answer'} "
            f"{unreadable_words(low)}{helps}.{untested}{against}",
            "limit",
            (benchmark.benchmark,),
            short=f"On {benchmark.benchmark}, in {places} of {size} configurations {most} of a model's "
            f"answers {'got no label from a judge' if judged else 'could not be read'}; each "
            f"{unreadable_words(low)}{helps}.{untested}{against}",
        )


def unclean(findings: Findings, benchmark: BenchmarkFinding) -> list[CellScore]:
    """The cells of the envelope of which too few answers could be read to call them parse-clean."""
    least = Fraction(str(findings.plan.study.spec.analysis.parse_clean))
    return [
        score
        for score in benchmark.cells
        if score.cell.shared and score.parse_rate is not None and score.parse_rate < least
    ]


@of_study("open_pairs", "limits", 125)
def open_pairs(findings: Findings) -> Iterator[Statement]:
    """Of which pairs unread answers alone could decide who is ahead."""
    pairs = [
        (where.benchmark, pair.counts.a, pair.counts.b, pair.unread)
        for where in findings.benchmarks
        for pair in where.full.pairs
        if where.direction.target is None and where.audit is None
    ]
    yield from (Statement(text, "limit") for text in open_words(pairs))


def unreadable_words(cells: Sequence[CellScore]) -> str:
    """What an unreadable answer scores in some cells."""
    credited = {score.credit > 0 for score in cells if not score.cell.setting.ranks}
    if credited == {True}:
        return "scores 1, the worst there"
    return "scores 0, or 1 where the spec gives it the worst score" if True in credited else "scores 0"


def estimand(benchmark: BenchmarkFinding) -> str:
    """What the scores of a benchmark are means of, with what an unread answer is in them."""
    read = [score for score in benchmark.cells if score.cell.setting.reads_text]
    if not read:
        recorded = any(score.cell.setting.recorded for score in benchmark.cells)
        unread = "an answer without a score counts as wrong" if recorded else "none is read from text"
        return f"the mean score of all answers; {unread}"
    judged = all(METHODS[score.cell.setting.method].judged for score in read)
    what = "a response without a label" if judged else "an unreadable answer"
    worst, lower = {score.credit > 0 for score in read}, benchmark.direction.lower
    if worst == {True} or (worst == {False} and not lower and benchmark.direction.target is None):
        earns = "counts as wrong"
    elif worst == {False}:
        earns = "earns 0, the better end" if lower else "earns 0"
    else:
        earns = "counts as wrong where the spec says so, and else earns 0, the better end"
    return f"the mean score of all answers, in which {what} {earns}"


@of_benchmark("scoring", "limits", 140)
def scoring(findings: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """What labels and unreadable answers earn, where the score is not simply 1 for a right answer and 0 for
    any other."""
    settings = [score.cell.setting for score in benchmark.cells]
    about = (benchmark.benchmark,)
    for scores in dict.fromkeys(setting.scores for setting in settings if setting.scores is not None):
        everywhere = all(setting.scores == scores for setting in settings)
        yield Statement(
            f"On {benchmark.benchmark}{'' if everywhere else ', in some configurations,'} the spec says "
            f"what a response earns: {_labels(scores)}.",
            "limit",
            about,
        )
    several = [setting for setting in settings if setting.aggregate != "mean"]
    for aggregate, answers in dict.fromkeys((setting.aggregate, setting.replicates) for setting in several):
        where = "" if len(several) == len(settings) else ", in some configurations,"
        yield Statement(
            f"On {benchmark.benchmark}{where} {answers:,} answers to an item become one score: "
            f"{_aggregate_words(aggregate)}. Unreadable is an item none of whose answers can be read."
            + _beside(
                benchmark, [setting for setting in several if setting.aggregate == aggregate], aggregate
            ),
            "limit",
            about,
        )
    stated = [one for one in findings.plan.study.spec.outcomes if benchmark.benchmark in one.benchmarks]
    for level in dict.fromkeys(setting.all_of for setting in settings if setting.all_of is not None):
        where = "" if all(setting.all_of == level for setting in settings) else ", in some configurations,"
        yield Statement(
            f"On {benchmark.benchmark}{where} items of one {level} earn together: each has the least that "
            "one of them earns, and none is readable where one is not."
            + (" So it is with the outcomes of the spec." if stated else ""),
            "limit",
            about,
        )
    lacking = [name for score in benchmark.cells for name in not_given(findings.plan, score.cell)]
    if lacking:
        names = ", ".join(dict.fromkeys(lacking))
        yield Statement(
            f"On {benchmark.benchmark} no {names} is given where several answers or items make one score: "
            "such a rate is of single ones.",
            "limit",
            about,
        )
    credited = [setting.credit > 0 for setting in settings]
    if any(credited):
        where = "" if all(credited) else ", in some configurations,"
        yield Statement(
            f"On {benchmark.benchmark}{where} an unreadable answer earns the worst score, 1, as the spec "
            "says: there a lower score is the better one.",
            "limit",
            about,
        )


def _aggregate_words(aggregate: Aggregate) -> str:
    if not isinstance(aggregate, Attempts):
        return "that of the answer that was given most often"
    passes = "one is right or more" if aggregate.pass_at else "every one is right"
    return f"the share of draws of {aggregate.draws:,} of them in which {passes}"


def _beside(benchmark: BenchmarkFinding, settings: Sequence[Setting], aggregate: Aggregate) -> str:
    """What a rate is there, where there is any."""
    cells = {
        (score.cell.model, score.cell.configuration)
        for score in benchmark.cells
        if score.cell.setting in settings
    }
    if not any(cells & rate.values.keys() for rate in benchmark.rates):
        return ""
    if not isinstance(aggregate, Attempts):
        return " A rate beside the score is of that answer."
    some = "one answer or more counts" if aggregate.pass_at else "every answer counts"
    return f" A rate beside the score is the share of draws in which {some}."


def _labels(scores: Scores) -> str:
    """`right 1, unknown 0.5, other 0`; by what the prompt expects where that decides; of ratings by rule."""
    if isinstance(scores, EvenScores):
        least, most = scores.ends
        return (
            f"where its rating lies between {least} (0 %) and {most} (100 %), so that one number is "
            f"{100 / scores.scale:.4g} pp"
        )
    labels = []
    for label, value in scores.root.items():
        if isinstance(value, ByExpected):
            by_expected = f"{value.comply:g} on prompts to comply with and {value.refuse:g} to refuse"
            labels.append(f"{label} {by_expected}")
        else:
            labels.append(f"{label} {value:g}")
    return ", ".join(labels)
