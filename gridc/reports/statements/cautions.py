"""Reasons to doubt the numbers of a study, always at the same places: noise, repeated questions, unread
answers, items that differ between levels, too few groups, and who checked how answers were read.

Each line is there whether or not something was found, so that a missing warning is not a missing check.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gridc.compiler.lowering.asked import differing_words
from gridc.numbers import count, counted, interval_words, number, percent
from gridc.reports.findings.breakdowns import BREAKDOWNS, repeats_itself
from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.findings.judges import JUDGE_BIASES, JudgeBias
from gridc.reports.findings.labels import ALL, AUDITS, JUDGING
from gridc.reports.statements.corrected import at_anchor, unchecked, value_words
from gridc.reports.statements.differences import unread_words
from gridc.reports.statements.rates import unclean, unreadable_words
from gridc.reports.words import joined_names, model_at, units_words
from gridc.statistics.clustered_logit import FLOOR, enough_cases

FEW = 3
"""Benchmarks, models or judges that are named one by one."""

INTERVAL = "95 % interval"


@dataclass(frozen=True, slots=True)
class Caution:
    """One check: what it is called, what it found, whether that speaks against the numbers, and whether
    anybody looked."""

    name: str
    text: str
    bad: bool
    known: bool = True


def cautions(findings: Findings) -> tuple[Caution, ...]:
    """All checks, those that found something first, what weighs most before what weighs less."""
    made = [_unread(findings), _repeated(findings), _same_items(findings), _noise(findings)]
    made += [*_one_answer(findings), *_few_groups(findings), _reading(findings)]
    return tuple(sorted(made, key=lambda each: not each.bad))


def _one_answer(findings: Findings) -> Iterator[Caution]:
    """Models that give one long answer again and again: their scores are of no answer to a question."""
    for row in findings[BREAKDOWNS]:
        same = [
            f"{model.model} in {model.commonest:,} of {model.items:,} items"
            for model in row.models
            if repeats_itself(model)
        ]
        if same:
            more = f" and {len(same) - FEW:,} more" if len(same) > FEW else ""
            models = f"{joined_names(same[:FEW])}{more}"
            text = f"On {row.benchmark} word for word the same, whatever is asked: {models}."
            yield Caution("One answer to everything", text, True)


def _noise(findings: Findings) -> Caution:
    if findings.recorded is not None:
        return Caution("Noise", "Unknown: the logs have each call once.", False, False)
    moved = [model for model in findings.noise if model.floor is not None and model.floor.changed]
    unknown = [model for model in findings.noise if model.floor is None]
    parts = [
        f"{model.floor.changed} of {counted(model.floor.outcomes, 'answer')} of "
        f"{model_at(model.model, model.precision)} came out differently when asked again"
        for model in moved
        if model.floor is not None
    ]
    if unknown:
        names = joined_names([model_at(each.model, each.precision) for each in unknown])
        parts.append(f"{'n' if parts else 'N'}ot measured for {names}")
    if parts:
        return Caution("Noise", f"{'; '.join(parts)}.", bool(moved), not unknown)
    outcomes = sum(model.floor.outcomes for model in findings.noise if model.floor is not None)
    if not outcomes:
        return Caution("Noise", "Nothing was asked again.", False, False)
    again, most = counted(outcomes, "answer"), percent(1 - 0.05 ** (1 / outcomes))
    text = f"{again} were asked for again and none changed, so at most {most} would (95 %)."
    return Caution("Noise", text, False)


def _repeated(findings: Findings) -> Caution:
    copied = [row for row in findings.benchmarks if row.distinct and row.distinct < row.items]
    if not copied:
        return Caution("Repeated questions", "No question appears twice.", False)
    parts = [
        f"The {count(row.items)} items of {row.benchmark} ask {counted(row.distinct, 'question')}"
        for row in copied
    ]
    return Caution("Repeated questions", f"{'; '.join(parts)}. Copies are no new evidence.", True)


def _unread(findings: Findings) -> Caution:
    """Where answers could not be read, and for how many pairs these alone could decide who is ahead."""
    said = [text for row in findings.benchmarks if (text := _unread_on(findings, row))]
    pairs = [
        (where.direction.target is None and where.audit is None, pair.unread)
        for where in findings.benchmarks
        for pair in where.full.pairs
    ]
    decided = sum(counts and not (row.agrees and row.claim is not False) for counts, row in pairs)
    if decided:
        whom = "the two models" if len(pairs) == 1 else f"{decided} of {len(pairs)} pairs"
        said.append(f"Over all configurations they could decide who is ahead for {whom}.")
    said += [text] if (text := unread_words(findings)) else []
    if said:
        return Caution("Unreadable answers", " ".join(said), True)
    read = [score for row in findings.benchmarks for score in row.cells if score.parse_rate is not None]
    if not read:
        return Caution("Unreadable answers", "Nothing is read from text.", False)
    lost, trials = sum(score.trials - score.parsed for score in read), sum(score.trials for score in read)
    return Caution("Unreadable answers", f"{count(lost)} of {counted(trials, 'answer')}.", False)


def _unread_on(findings: Findings, benchmark: BenchmarkFinding) -> str:
    """`On facts some answers could not be read in 26 of 48 configurations, at worst 49.6 % of a model's; each
    scores 0.`"""
    low = unclean(findings, benchmark)
    if not low:
        return ""
    worst = min(low, key=lambda score: score.parse_rate or 0)
    places, size = len({score.cell.configuration for score in low}), len(benchmark.full.scope.configurations)
    where = f" in {places} of {size} configurations" if size > 1 else ""
    at = f" under {worst.cell.configuration}" if size > 1 else ""
    most = f"{percent(1 - (worst.parse_rate or 0))} of {worst.cell.model}'s{at}"
    some = f"On {benchmark.benchmark} some answers could not be read{where}, at worst {most}"
    return f"{some}; each {unreadable_words(low)}."


def _same_items(findings: Findings) -> Caution:
    differing = [row for row in findings.benchmarks if row.differing]
    if not differing:
        return Caution("Same items everywhere", "Every configuration asks the same items.", False)
    words = "; ".join(differing_words(row.benchmark, row.differing) for row in differing)
    return Caution("Same items everywhere", f"No: {words}.", True)


def _few_groups(findings: Findings) -> Iterator[Caution]:
    """Groups of items that are taken as independent: how many there are, and where that is too few."""
    grouped = [row for row in findings.benchmarks if row.grouped]
    few = [row for row in grouped if not enough_cases(row.effective)]
    enough = [f"{units_words(row.unit, row.units)} on {row.benchmark}" for row in grouped if row not in few]
    # Unequal groups are worth fewer than their number: 22 of them may be too few where 20 are needed.
    parts = [
        f"{units_words(row.unit, row.units)} on {row.benchmark}, "
        f"worth only {number(row.effective, 1)} of equal size where {FLOOR:g} are needed"
        for row in few
    ]
    parts += [f"{joined_names(enough)}{', enough' if few else ''}"] if enough else []
    if parts:
        yield Caution("Independent groups", f"{'; '.join(parts)}.", bool(few))


READING = "How answers were read"


def _reading(findings: Findings) -> Caution:
    """Who checked how answers were read, and what speaks against judges."""
    said, bad = [], False
    audits = findings[AUDITS]
    for judging in findings[JUDGING][:FEW]:
        models = {judge.name: judge.model for judge in judging.judges if judge.responses}
        first = joined_names([model for name, model in models.items() if name != judging.second_name])
        if not first:
            continue
        text = f"Where scoring needs a judge, it is {first}"
        if judging.agreements:
            _, other, found = judging.agreements[0]
            share = f"{percent(found.agreement)} of {counted(found.n, 'answer')}"
            text += f"; {models.get(other, other)} gives {share} the same label"
        said.append(f"{text}.")
    for bias in findings[JUDGE_BIASES]:
        found_bias = list(_bias(bias))
        said += found_bias
        bad = bad or bool(found_bias)
    for audit in [each for each in audits if each.benchmark == ALL][:FEW]:
        agreement = audit.agreement
        said.append(
            f"People agree with {percent(agreement.agreement)} of {agreement.n:,} labels ({audit.sheet})."
        )
    for benchmark in findings.benchmarks[:FEW]:
        told = [value_words(value) for value in at_anchor(benchmark)]
        if told:
            more = f"; and {len(told) - FEW:,} more in the table" if len(told) > FEW else ""
            said.append(f"By people's labels on {benchmark.benchmark}, {'; '.join(told[:FEW])}{more}.")
    nobody = list(unchecked(findings))
    said += nobody
    if not said and findings.recorded is not None:
        return Caution(READING, "The scores are those of the logs; gridc read no answer.", False, False)
    if not said:
        return Caution(READING, "By fixed rules; no person checked a sample.", False, False)
    return Caution(READING, " ".join(said), bad or bool(nobody))


def _bias(bias: JudgeBias) -> Iterator[str]:
    """What speaks against the labels of a judge, a sentence each."""
    judge, longer = f"the judge {bias.model}", bias.longer
    if bias.goes_by_length and longer is not None:
        what = (
            f"{judge[0].upper()}{judge[1:]} prefers the longer of two responses"
            if bias.compares
            else f"Where two models' responses to an item get different labels from {judge}, the longer one "
            "gets the one that earns more"
        )
        share = f"{percent(longer.share)} of {counted(longer.n, 'preference' if bias.compares else 'case')}"
        yield f"{what} in {share} ({INTERVAL} {interval_words((longer.low, longer.high), percent)})."
    for asked in bias.injected:
        end = "response ends" if asked.responses == 1 else "responses end"
        yield (
            f"{asked.responses:,} {end} as a reply of {judge} does, asking for `{asked.label}`; it gave that "
            f"label to {asked.given:,}."
        )
    if bias.never_gives:
        labels = joined_names([f"`{label}`" for label in bias.never_gives])
        yield f"In {counted(bias.labelled, 'label')} {judge} never gave {labels}."
