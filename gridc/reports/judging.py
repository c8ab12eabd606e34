"""What judges did -> sentences and estimates."""

from collections.abc import Iterator

from gridc.reports.findings.findings import Findings
from gridc.reports.findings.judges import JUDGING, JudgeFinding, JudgingFinding
from gridc.reports.templates import number, percent
from gridc.reports.words import KAPPA_INTERVAL
from gridc.schema.estimates import EstimateRow, estimate_row
from gridc.schema.judging import SECOND
from gridc.statistics.raters import Kappa

METHOD = f"Cohen's kappa; {KAPPA_INTERVAL}"
ASSUMPTION = "units of items are drawn independently"


def judging_sentences(found: JudgingFinding | None) -> Iterator[str]:
    """Who labelled the responses under which rubric, how many have no label, and how far judges agree."""
    if found is None:
        return
    for judge in found.judges:
        if judge.responses:
            yield _judge(judge)
    left = found.responses - found.decided
    if left:
        rule = "" if found.verdict is None else f" (the judges decide by {found.verdict})"
        yield (
            f"{left:,} of {found.responses:,} judged responses have no label that counts{rule}: they stay in "
            "the denominator, with what an unreadable answer earns."
        )
    if len(found.lengths) > 1:
        told = (
            f"{label} {each.mean:,.0f} and {each.median:,.0f} ({each.responses:,})"
            for label, each in found.lengths.items()
        )
        yield f"Length of judged responses in characters, mean and median, by label: {', '.join(told)}."
    for left_judge, right_judge, agreement in found.pairs:
        yield f"{left_judge} and {right_judge}: {_agreement(agreement)}."
    yield from _second(found)
    if not found.blinded:
        yield "The judges are not blinded: they see each response as it was given."


def _judge(judge: JudgeFinding) -> str:
    labels = ", ".join(f"{label} {count:,}" for label, count in judge.labels.items())
    told = (
        f"{judge.name} ({judge.model}, rubric {judge.rubric[:12]}) was asked about {judge.responses:,} "
        f"responses and labelled {judge.labelled:,}: {labels}"
    )
    if judge.again:
        told += f"; {judge.again:,} times it was asked again"
    if judge.failures:
        why = ", ".join(f"{failure} {count:,}" for failure, count in judge.failures.items())
        told += f"; without a label at last: {why}"
    return f"{told}."


def _second(found: JudgingFinding) -> Iterator[str]:
    second = found.second
    if second is None or found.least is None:
        return
    if second.agreement is None:
        yield f"{SECOND} was asked about {second.asked:,} responses, and on none of them both gave a label."
    else:
        asked = f"of {second.asked:,} responses that both were asked about, {_agreement(second.agreement)}"
        outcome = {
            None: "whether that reaches the least kappa that the spec asks for cannot be said",
            True: f"the spec asks for {found.least:g} at least, which is reached, by the lower limit too",
            False: f"the spec asks for {found.least:g} at least, which "
            + ("kappa reaches and its lower limit does not" if second.above else "is not reached"),
        }[second.passes]
        yield f"{SECOND} against the first verdict: {asked}; {outcome}."
    if second.rescored:
        yield f"So {SECOND} labelled every response that it may, and its labels count there."


def _agreement(found: Kappa) -> str:
    same = f"{found.n:,} have a label of both, the same in {percent(found.agreement)} of them"
    if found.kappa is None:
        return f"{same}; both gave one label only, so kappa is not defined"
    if found.low is None:
        return f"{same}; kappa {number(found.kappa)}, without an interval because one gave one label only"
    limits = f"{number(found.low)} to {number(found.high)}"
    return f"{same}; kappa {number(found.kappa)} (95 % interval {limits}, if {ASSUMPTION})"


def judging_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """The agreement of judges two by two, and of the second judge with what counts."""
    found = findings[JUDGING]
    if found is None:
        return
    for left, right, agreement in found.agreements:
        stated = agreement.low is not None and agreement.high is not None
        interval = (agreement.low or 0.0, agreement.high or 0.0) if stated else None
        yield estimate_row(
            id=f"kappa/{left.replace(' ', '_')}/{right}",
            kind="cohen_kappa",
            about=f"agreement of {left} and {right}",
            estimate=agreement.kappa,
            interval=interval,
            level=None if interval is None else 0.95,
            method=METHOD,
            assumption="" if interval is None else ASSUMPTION,
            rows=found.rows,
            n=agreement.n,
            error=None if agreement.kappa is not None else "undefined: both gave one label throughout",
        )
