"""Sentences about labels: what judges did and how far they agree, what they guessed, and how people
labelled."""

from collections.abc import Iterator

from gridc.numbers import hundredths, in_points, interval_words, number, p_in_text, percent
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.labels import (
    ALL,
    AUDITS,
    GUESSES,
    JUDGING,
    AuditFinding,
    GuessFinding,
    JudgeFinding,
    JudgingFinding,
)
from gridc.reports.statements.statement import Statement, of_study
from gridc.schema.judging import JUDGE, REFERENCE
from gridc.statistics.raters import Kappa

INDEPENDENT = "units of items are drawn independently"
"""What the interval of the agreement of two judges assumes."""


@of_study("judging", "limits", 150)
def judging(findings: Findings) -> Iterator[Statement]:
    """Who labelled the responses under which rubric, how many have no label, and how far judges agree."""
    for finding in findings[JUDGING]:
        yield from _of_judge(finding, len(findings[JUDGING]) > 1)


def _of_judge(finding: JudgingFinding, several: bool) -> Iterator[Statement]:
    of = f"{finding.name}: " if several else ""
    for judge in finding.judges:
        if judge.responses:
            yield Statement(_judge(judge), "limit", (judge.name,))
    left = finding.responses - finding.decided
    if left:
        rule = "" if finding.verdict is None else f" (the judges decide by {finding.verdict})"
        yield Statement(
            f"{of}{left:,} of {finding.responses:,} judged responses have no label that counts{rule}: they "
            "stay in the denominator, with what an unreadable answer earns.",
            "limit",
        )
    if len(finding.lengths) > 1:
        by_label = ", ".join(
            f"{label} {length.mean:,.0f} and {length.median:,.0f} ({length.responses:,})"
            for label, length in finding.lengths.items()
        )
        text = f"{of}Length of judged responses in characters, mean and median, by label: {by_label}."
        yield Statement(text, "limit")
    for left_judge, right_judge, agreement in finding.pairs:
        text = f"{left_judge} and {right_judge}: {_agreement(agreement)}."
        yield Statement(text, "limit", (left_judge, right_judge))
    yield from _of_pairs(finding, of)
    if finding.rates and finding.agreements:
        text = f"{of}For kappa each rating is a label: neighbouring ratings disagree as much as distant ones."
        yield Statement(text, "limit")
    for text in _second(finding):
        yield Statement(text, "limit", (finding.second_name,))
    if not finding.blinded:
        yield Statement(f"{of}The judges are not blinded: they see each response as it was given.", "limit")


def _of_pairs(finding: JudgingFinding, of: str) -> Iterator[Statement]:
    if finding.other is None:
        return
    same = "The same text" if finding.against == REFERENCE else "The same text, such as its own,"
    text = f"{of}Responses are compared with {finding.other}. {same} is a tie about which nobody is asked."
    if not finding.swaps:
        text += " The response is always shown first, so the effect of its position is not measured."
    yield Statement(text, "limit")
    for pairs in finding.compared:
        for share, what, counted in (
            (pairs.inconsistent, "had another preference once the two changed places, so a tie, in", "pairs"),
            (pairs.first, "preferred the one that stands first in", "replies that prefer one"),
        ):
            if share is not None:
                yield Statement(
                    f"{pairs.name} {what} {percent(share.share)} of {share.n:,} {counted} (95 % interval "
                    f"{interval_words((share.low, share.high), percent)}, if {INDEPENDENT}).",
                    "limit",
                    (pairs.name,),
                )


def _judge(judge: JudgeFinding) -> str:
    did = f"was asked about {judge.responses:,} responses and labelled {judge.labelled:,}"
    if judge.owed > judge.responses:
        did = (
            f"compared {judge.responses:,} responses with another one in both orders, and gave "
            f"{judge.labelled:,} of {judge.owed:,} labels"
        )
    text = f"{judge.name} ({judge.model}, rubric {judge.rubric[:12]}) {did}: {judge.label_counts}"
    if judge.again:
        text += f"; {judge.again:,} times it was asked again"
    if judge.failures:
        why = ", ".join(f"{failure} {count:,}" for failure, count in judge.failures.items())
        text += f"; without a label at last: {why}"
    return f"{text}."


def _second(found: JudgingFinding) -> Iterator[str]:
    second = found.second
    if second is None or found.least is None:
        return
    if second.agreement is None:
        asked = f"{found.second_name} was asked about {second.asked:,} responses"
        yield f"{asked}, and there is none to which both gave a label."
    else:
        text = f"of {second.asked:,} responses that both were asked about, {_agreement(second.agreement)}"
        outcome = {
            None: "whether that reaches the least kappa that the spec asks for cannot be said",
            True: f"the spec asks for {found.least:g} at least, which is reached, by the lower limit too",
            False: f"the spec asks for {found.least:g} at least, which "
            + ("kappa reaches and its lower limit does not" if second.above else "is not reached"),
        }[second.passes]
        yield f"{found.second_name} against {found.first_verdict}: {text}; {outcome}."
    if second.rescored:
        yield f"So {found.second_name} labelled every response that it may, and its labels count there."


def _agreement(found: Kappa) -> str:
    same = f"{found.n:,} have a label from both, the same in {percent(found.agreement)} of them"
    if found.kappa is None:
        return f"{same}; both gave one label only, so kappa is not defined"
    if found.low is None:
        return f"{same}; kappa {number(found.kappa)}, without an interval because one gave one label only"
    limits = interval_words((found.low, found.high), number)
    return f"{same}; kappa {number(found.kappa)} (95 % interval {limits}, if {INDEPENDENT})"


@of_study("guesses", "labels", 10)
def guesses(findings: Findings) -> Iterator[Statement]:
    """Whether the judge could tell the configuration from what it was shown."""
    for finding in findings[GUESSES]:
        yield Statement(guess_sentence(finding), about=(finding.benchmark,), short=_guess_briefly(finding))


def guess_sentence(finding: GuessFinding) -> str:
    """The same on one benchmark."""
    limits = f"95 % interval {interval_words((finding.low, finding.high), percent)}"
    who = "the judge" if finding.judge == JUDGE else finding.judge
    named = (
        f"On {finding.benchmark} {who} was asked which of {len(finding.arms)} configurations made each "
        f"of {finding.n} responses, and named the right one in {percent(finding.right / finding.n)} of cases "
        f"({limits}; chance {percent(finding.chance)})"
    )
    test = finding.test
    if test.chi2 is None:
        return f"{named}; all guesses or all responses are of one configuration, so nothing can be tested."
    rough = ", roughly, because expected counts are below 5" if (test.least or 0) < 5 else ""
    shown = f"chi-squared {number(test.chi2, 1)} with {test.df} df, {p_in_text(test.p)}{rough}"
    if finding.found:
        depend = "at the 5 % level its guesses depend on the configuration"
        return f"{named}: {depend} ({shown}), so it was not blind."
    shows = "its guesses show no dependence on the configuration"
    return f"{named}: {shows} ({shown}), which does not prove that it was blind."


def _guess_briefly(finding: GuessFinding) -> str:
    """The same without the test."""
    right = f"{percent(finding.right / finding.n)} of {finding.n} guesses are right"
    limits = f"{interval_words((finding.low, finding.high), percent)}; chance {percent(finding.chance)}"
    if finding.test.chi2 is None:
        found = "whether the judge was blind cannot be tested"
    elif finding.found:
        found = "the judge was not blind: its guesses depend on the configuration"
    else:
        found = "the judge's guesses show no dependence on the configuration, which does not prove it blind"
    return f"On {finding.benchmark} {found} ({right}, {limits})."


@of_study("people", "labels", 20)
def people(findings: Findings) -> Iterator[Statement]:
    """How far people's labels agree with those that count."""
    for audit in findings[AUDITS]:
        for text in audit_sentences(audit):
            yield Statement(text, about=(audit.sheet, audit.benchmark))


def audit_sentences(audit: AuditFinding) -> Iterator[str]:
    """How far people agree with the study on one sheet, and who gives more."""
    where = audit.sheet if audit.benchmark == ALL else f"{audit.sheet} on {audit.benchmark}"
    agreement, lenient = audit.agreement, audit.leniency
    kappa = _kappa_words(agreement)
    same = f"give {agreement.n} responses the same label in {percent(agreement.agreement)} of cases"
    yield f"{where}: people and the study {same}; {kappa}."
    if lenient is None:
        yield (
            f"{where}: who is more lenient is not said, because a benchmark's best score there is a target."
        )
        return
    more = "more" if lenient.mean > 0 else "less"
    apart = f"{hundredths(abs(lenient.mean))} pp {more} lenient than people"
    apart = apart if lenient.mean else "as lenient as people on average"
    limits = f"95 % interval {interval_words((lenient.low, lenient.high), in_points)} pp"
    yield (
        f"{where}: the study is {apart} ({limits}), kinder to {lenient.higher:,} and harsher to "
        f"{lenient.lower:,} responses; the interval takes responses as drawn independently."
    )


def _kappa_words(agreement: Kappa) -> str:
    """Cohen's kappa with its interval, or why there is none."""
    if agreement.kappa is None:
        return "both give every response one label, so kappa is not defined"
    shown = f"kappa is {number(agreement.kappa, 2)}"
    if agreement.interval is None:
        return f"{shown}, without an interval, because one of them gives one label only"
    return f"{shown} (95 % interval {interval_words(agreement.interval, number, 2)})"
