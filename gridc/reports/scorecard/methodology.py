"""The methodology stamp: how a study was carried out, one line for each question of a reader.

A line is derived from evidence (events of the store, its rows, the lock, a checked signature or date) and
never from a setting: what a spec asks for and nobody did is a `no`, and what nothing shows is
`not_measured`. `LINES` has a row for each.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any, NamedTuple

from gridc.compiler.frontend.unsupported import why_undecidable
from gridc.compiler.grid.specifications import planned_curve
from gridc.compiler.lock.attestation import in_words
from gridc.numbers import counted, hundredths, interval_words, number, with_sign
from gridc.reports.findings.conduct import CONDUCT, cut_off_words
from gridc.reports.findings.curves import CURVES
from gridc.reports.findings.falsification import FALSIFICATIONS
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.labels import AUDITS, GUESSES
from gridc.reports.statements.conduct import replaced_words
from gridc.schema.certificate import FalsificationResult
from gridc.schema.inference import DOCUMENTED
from gridc.schema.scorecard import Held, MethodRow, Stated

PARTED = Fraction(2, 100)
"""Intention to treat and per protocol diverge where the difference of a change moves by more than this
(Safety Under Scaffolding, table 13)."""
DECIDED: tuple[FalsificationResult, ...] = ("pass", "partial", "fail")
RESULTS: tuple[FalsificationResult, ...] = (*DECIDED, "open")


class ChecklistAnswer(NamedTuple):
    """What the evidence says to a question: `counts` are the numbers in `said`, `evidence` is where it
    was read, of a line of the stamp."""

    holds: Held
    said: str
    evidence: str = ""
    counts: Mapping[str, int | float | None] = {}


class ChecklistLine(NamedTuple):
    """One line of the stamp, or of the checklist, whose questions are recommendations."""

    id: str
    question: str
    answer: Callable[[Findings], ChecklistAnswer]


def methodology(findings: Findings) -> tuple[MethodRow, ...]:
    """Every line, in order."""
    answers = ((line, _of_logs(line, findings) or line.answer(findings)) for line in LINES)
    return tuple(MethodRow.of(answer, line) for line, answer in answers)


OF_THE_RUN = (
    "observed",
    "one_look",
    "noise",
    "sealed",
    "guessed",
    "agreed",
    "audited",
    "complete",
    "both_readings",
)
"""Lines about what was done when the models were asked."""
NOT_READ = "Another package asked, and this is not assessed here."


def _of_logs(line: ChecklistLine, findings: Findings) -> ChecklistAnswer | None:
    """What is said of runs that another package recorded; None where gridc asked, or the answers show it."""
    if findings.recorded is None or line.id == "results_tied":
        return None
    if line.id in OF_THE_RUN:
        return ChecklistAnswer("not_measured", NOT_READ, "the logs")
    if line.id == "inputs":
        return ChecklistAnswer(
            "no", "The logs name models and items, and their own digests are kept.", "the logs"
        )
    if line.id == "deviations":
        return ChecklistAnswer("not_applicable", "Nothing was stamped to depart from.", "the logs")
    return ChecklistAnswer("no", "Another package asked, and nothing was stamped before.", "the logs")


def stamped_first(findings: Findings) -> ChecklistAnswer:
    """Whether the store shows the stamp before the first call, and before any answer of its models to its
    items under another stamp."""
    conduct, calls = findings[CONDUCT], findings.progress.answered
    counts = {
        "calls_before_stamp": findings.before_stamp,
        "calls": calls,
        "earlier_stamps": len(findings.older),
    }
    if findings.older:
        asked = sum(benchmark.items for benchmark in findings.benchmarks)
        text = f"{'; '.join(row.words for row in findings.older)}: data predate it."
        every = max(row.items for row in findings.older) >= asked or findings.before_stamp >= calls > 0
        where = "the calls of every study in the store, and of those that were merged into it"
        return ChecklistAnswer("no" if every else "partly", text, where, counts)
    if conduct.stamped is None or not calls:
        text = "No call has been answered yet." if not calls else "No event records the stamp."
        return ChecklistAnswer("not_measured", text, "the events and calls of the store", counts)
    where = f"event {conduct.stamped} (stamp), the lock's date, the dates of {counted(calls, 'call')}"
    if findings.steps_back:
        back = findings.steps_back[0]
        text = f"The store's clock was set back at event {back}: its dates show no order."
        return ChecklistAnswer("not_measured", text, where, counts)
    if findings.before_stamp:
        text = (
            f"{findings.before_stamp:,} of {counted(calls, 'call')} are dated before the stamp: data "
            f"predate it."
        )
        return ChecklistAnswer("partly" if findings.before_stamp < calls else "no", text, where, counts)
    if conduct.started is not None and conduct.started < conduct.stamped:
        text = "The chain records a run before the stamp."
        return ChecklistAnswer("no", text, f"events {conduct.started} and {conduct.stamped}", counts)
    late = [row for row in findings.earlier if row.superseded]
    if late:
        text = (
            f"Answers under {late[0].under}, are dated after it was replaced: either that stamp was run "
            "again, or a clock was set back."
        )
        return ChecklistAnswer("not_measured", text, where, counts)
    text = f"No call is dated before the stamp of {findings.lock.created[:10]}, by the store's own clock."
    if findings.lock.supersedes:
        text += f" {replaced_words(findings)}"
    return ChecklistAnswer("yes", text, where, counts)


def _vouched(findings: Findings) -> ChecklistAnswer:
    tie = findings.dated_by
    text = in_words(findings.anchors)
    where = "what signs or dates the lock, checked where the report was made"
    if tie is None:
        return ChecklistAnswer("no", f"The lock is {findings.anchor.strength}: {text}.", where)
    if findings.first_answer is None:
        return ChecklistAnswer("not_measured", f"No call has been answered yet; {text}.", where)
    when = f"{tie.detail}, {tie.time}"
    if findings.vouched is None:
        return ChecklistAnswer("not_measured", f"{when}; the store's dates show no order.", where)
    if findings.older:
        when += f"; {'; '.join(row.words for row in findings.older)}"
    elif findings.first_answer == findings.first_call:
        when += f"; the first call is dated {findings.first_call}"
    else:
        first = min(findings.earlier, key=lambda row: datetime.fromisoformat(row.first))
        when += f"; the first answer of its models to its items is dated {first.first}, under {first.under}"
    return ChecklistAnswer("yes" if findings.vouched else "no", f"{when}.", where)


def _registered(findings: Findings) -> ChecklistAnswer:
    strength = findings.anchor.strength
    where = "the registry's record beside the lock"
    if strength == "registered":
        return ChecklistAnswer("yes", f"Pre-registered: {findings.anchor.detail}.", where)
    given = [anchor for anchor in findings.anchors if anchor.evidence == "registration"]
    if given:
        return ChecklistAnswer("not_measured", f"{given[0].detail}.", where)
    return ChecklistAnswer("no", "No registry's record holds the stamp.", where)


def _results_tied(findings: Findings) -> ChecklistAnswer:
    where = "what signs or dates the results, checked where the report was made"
    if not findings.results_anchors:
        return ChecklistAnswer("no", "Nothing ties the results to a time or a key.", where)
    return ChecklistAnswer("yes", f"{in_words(findings.results_anchors)}.", where)


def _inputs(findings: Findings) -> ChecklistAnswer:
    inputs = findings.lock.content["inputs"]
    kinds = {"model": inputs.get("models", {}), "benchmark": inputs.get("benchmarks", {})}
    loose = [
        f"{kind} {name} ({entry['unpinned']})"
        for kind, entries in kinds.items()
        for name, entry in entries.items()
        if "unpinned" in entry
    ]
    total = sum(map(len, kinds.values()))
    counts = {"pinned": total - len(loose), "inputs": total}
    text = f"{total - len(loose)} of {total} models and benchmarks are fixed by digest or commit"
    text += f"; not {'; '.join(loose)}." if loose else "."
    return ChecklistAnswer(
        "yes" if not loose else "partly" if len(loose) < total else "no", text, "the lock", counts
    )


def _deviations(findings: Findings) -> ChecklistAnswer:
    changed = [deviation for deviation in findings.deviations if not deviation.resolved]
    changes = sum(len(deviation.changes) for deviation in changed)
    late = len(findings.replaced_late)
    counts = {
        "entries": len(findings.deviations),
        "standing": len(changed),
        "paths": changes,
        "superseded": late,
    }
    where = "the lock against the spec that was run, path by path"
    replaced = f"{counted(late, 'stamp')} {'was' if late == 1 else 'were'} replaced when there were data"
    if late and not changed:
        text = f"What was run is what was stamped, and {replaced}."
        return ChecklistAnswer("no", text, f"{where}; the studies of the store", counts)
    if not changed:
        undone = f"; {counted(len(findings.deviations), 'change')} undone" if findings.deviations else ""
        text = f"What was run is what was stamped{undone}."
        return ChecklistAnswer("yes", text, where, counts)
    text = f"{counted(len(changed), 'deviation')} ({counted(changes, 'path')}), each with its reason"
    text += f"; {replaced}." if late else "."
    return ChecklistAnswer("no", text, where, counts)


SHOWN = 3
"""How many observations of a run the stamp quotes."""


def _observed(findings: Findings) -> ChecklistAnswer:
    cut = cut_off_words({benchmark.benchmark: benchmark.endings for benchmark in findings.benchmarks})
    observed = (*cut, *findings[CONDUCT].observed)
    seen = len(observed)
    where = "the calls and the events of the store"
    if not findings.progress.answered:
        return ChecklistAnswer("not_measured", "No call has been answered yet.", where, {"observed": seen})
    if not seen:
        return ChecklistAnswer(
            "yes", "The run saw nothing that departs from its plan.", where, {"observed": 0}
        )
    more = f"; {seen - SHOWN:,} more stand in the deviation log" if seen > SHOWN else ""
    return ChecklistAnswer("no", f"{'; '.join(observed[:SHOWN])}{more}.", where, {"observed": seen})


def _complete(findings: Findings) -> ChecklistAnswer:
    done, total = findings.progress.answered, findings.progress.total
    counts = {"answered": done, "calls": total, "unscored": findings.progress.unscored}
    text = f"{done:,} of {counted(total, 'call')} are answered."
    return ChecklistAnswer("yes" if findings.complete else "no", text, "the calls of the store", counts)


def _one_look(findings: Findings) -> ChecklistAnswer:
    looks = len(findings[CONDUCT].looks)
    counts = {"looks": looks}
    where = f"events {', '.join(map(str, findings[CONDUCT].looks))}" if looks else "the events of the store"
    if not looks and not findings.complete:
        return ChecklistAnswer(
            "not_measured", "The run is incomplete, and this is a look at it.", where, counts
        )
    if not looks:
        text = "No report was made before the run was complete; a look that leaves no event is not seen."
        return ChecklistAnswer("yes", text, where, counts)
    return ChecklistAnswer(
        "no", f"{counted(looks, 'report')} of the unfinished run were made.", where, counts
    )


def _both_readings(findings: Findings) -> ChecklistAnswer:
    changes = [change for row in findings.benchmarks for change in row.changes]
    both = [change for change in changes if change.pp is not None]
    apart = [
        change
        for change in both
        if change.pp is not None and _apart(change.itt.difference, change.pp.difference)
    ]
    counts = {"changes": len(changes), "both": len(both), "diverge": len(apart)}
    where = "the samples of the store"
    if not changes:
        return ChecklistAnswer("not_measured", nothing_compared(findings), where, counts)
    if not both:
        holds: Held = "not_applicable" if no_answer_read(findings) else "not_measured"
        return ChecklistAnswer(holds, one_reading(findings), where, counts)
    text = (
        f"Both are kept for {len(both)} of {counted(len(changes), 'change')} of configuration; in "
        f"{len(apart)} they differ by more than {100 * float(PARTED):g} pp."
    )
    return ChecklistAnswer("yes", text, where, counts)


def nothing_compared(findings: Findings) -> str:
    """Why there is no change from a reference configuration."""
    if findings.benchmarks and all(
        benchmark.direction.target is not None for benchmark in findings.benchmarks
    ):
        return "Every benchmark has a target, under which no change is computed."
    return "No configuration is measured beside its reference."


def no_answer_read(findings: Findings) -> bool:
    """Whether no answer is read from text."""
    return all(cell.cell.setting.ranks for row in findings.benchmarks for cell in row.cells)


def one_reading(findings: Findings) -> str:
    """Why no change has a score of readable answers beside that of all."""
    if no_answer_read(findings):
        return "No answer is read from text, so that both readings are one."
    return "No change is between two configurations that both have answers which could be read from text."


def _apart(one: Fraction, other: Fraction) -> bool:
    return abs(one - other) > PARTED


def _noise(findings: Findings) -> ChecklistAnswer:
    known = [noise for noise in findings.noise if noise.floor is not None]
    counts = {"measured": len(known), "models": len(findings.noise)}
    text = (
        f"Calls of {len(known)} of {counted(len(findings.noise), 'model')} (at a precision) were made twice."
    )
    holds: Held = "not_measured" if not known else "yes" if len(known) == len(findings.noise) else "partly"
    return ChecklistAnswer(holds, text, "the `noise` events of the store", counts)


def _sealed(findings: Findings) -> ChecklistAnswer:
    where = "the `seal`, `lock` and `unblind` events, the dates of the judges' calls"
    unasked, judging = _unjudged(findings), findings[CONDUCT].judging
    if judging is None or unasked is not None:
        return unasked or ChecklistAnswer("not_measured", "Nothing is known of judges.", where)
    counts = {"replies": judging.replies, "failures": judging.failures}
    if judging.sealed is None:
        return ChecklistAnswer("no", "No map was sealed: judges were not blinded by gridc.", where, counts)
    seq, at = judging.sealed
    if findings.steps_back:
        back = findings.steps_back[0]
        text = f"The store's clock was set back at event {back}: its dates show no order."
        return ChecklistAnswer("not_measured", text, where, counts)
    if judging.first is not None and datetime.fromisoformat(judging.first) < datetime.fromisoformat(at):
        return ChecklistAnswer(
            "no", f"The map was sealed (event {seq}) after the first judgement.", where, counts
        )
    order = [judging.locked, judging.unblinded]
    if None in order or [seq, *order] != sorted([seq, *order], key=lambda number: number or 0):
        text = (
            f"It was sealed first (event {seq}); the chain does not show that labels were locked, then "
            f"opened."
        )
        return ChecklistAnswer("partly", text, where, counts)
    text = (
        f"Sealed (event {seq}) before the first of {judging.replies:,} replies, locked (event "
        f"{judging.locked}), "
    )
    return ChecklistAnswer("yes", f"{text}then opened (event {judging.unblinded}).", where, counts)


def _unjudged(findings: Findings) -> ChecklistAnswer | None:
    """Where nobody judged: whether anybody was to."""
    if findings[CONDUCT].judging is not None:
        return None
    if not findings.plan.study.spec.declared_judges:
        return ChecklistAnswer("not_applicable", "There is no judge in this study.", "the lock")
    return ChecklistAnswer("not_measured", "No judge was asked yet.", "the judgements of the store")


def _guessed(findings: Findings) -> ChecklistAnswer:
    where = "the judges' guesses in the store"
    if not findings[GUESSES]:
        text = "No guess of a configuration is in the store: whether blinding held is not known."
        return _unjudged(findings) or ChecklistAnswer("not_measured", text, where)
    right, total = (sum(getattr(guess, name) for guess in findings[GUESSES]) for name in ("right", "n"))
    arms = [arm for guess in findings[GUESSES] for arm in guess.arms]
    unread = sum(guess.unread for guess in findings[GUESSES])
    if not arms:
        return ChecklistAnswer("not_measured", "No guess could be read.", where, {"unread": unread})
    best = max(arms, key=lambda arm: arm.corrected)
    counts = {
        "right": right, "guesses": total, "unread": unread,
        "index": best.index, "chance": best.chance, "corrected": best.corrected,
    }  # fmt: skip
    text = (
        f"{right:,} of {counted(total, 'guess', 'guesses')} named it; the arm that was guessed best has "
        f"Bang's index "
        f"{with_sign(best.index, 2)}, where chance is {with_sign(best.chance, 2)}."
    )
    return ChecklistAnswer("yes", text, where, counts)


def _audited(findings: Findings) -> ChecklistAnswer:
    where = "the sheets of labels by people"
    sheets = {audit.sheet: audit for audit in reversed(findings[AUDITS])}
    counts: dict[str, int | float | None] = {"sheets": len(sheets)}
    if not sheets:
        return ChecklistAnswer("no", "No labels by people are in the store.", where, counts)
    counts["labels"] = sum(audit.agreement.n for audit in sheets.values())
    kappas = [sheet.agreement.kappa for sheet in sheets.values() if sheet.agreement.kappa is not None]
    counts["least_kappa"] = min(kappas, default=None)
    least = f"; kappa with the study's labels is {number(min(kappas), 2)} at least" if kappas else ""
    text = f"People labelled {counts['labels']:,} responses on {counted(len(sheets), 'sheet')}{least}."
    audited = [benchmark.audit for benchmark in findings.benchmarks if benchmark.audit is not None]
    moved = [abs(each.corrected.value - each.machine) for audit in audited for each in audit.scores()]
    if moved:
        counts["largest_correction"] = max(moved)
        text += f" Their labels move a score by up to {hundredths(max(moved))} points."
    return ChecklistAnswer("yes", text, where, counts)


def _agreed(findings: Findings) -> ChecklistAnswer:
    where = "the last labels of the first and the second judge"
    unasked, judging = _unjudged(findings), findings[CONDUCT].judging
    if judging is None or unasked is not None:
        return unasked or ChecklistAnswer("not_measured", "Nothing is known of judges.", where)
    agreement = judging.agreement
    if agreement is None:
        return ChecklistAnswer("no", "No response has the labels of two judges.", where, {"both": 0})
    counts: dict[str, int | float | None] = {
        "both": agreement.n,
        "agreement": agreement.agreement,
        "kappa": agreement.kappa,
    }
    if agreement.kappa is None:
        text = f"Both gave all {agreement.n:,} responses one and the same label: kappa is not defined."
        return ChecklistAnswer("not_measured", text, where, counts)
    several = sum(one.kappa is not None for one in judging.agreements)
    which = "Kappa" if several == 1 else f"The lowest kappa of {several} judges and their second ones"
    ends = f" ({interval_words(agreement.interval, number, 2)})" if agreement.interval else ""
    return ChecklistAnswer(
        "yes", f"{which} is {number(agreement.kappa, 2)}{ends} on {agreement.n:,} responses.", where, counts
    )


def _forks(findings: Findings) -> ChecklistAnswer:
    forks = findings.plan.study.spec.fork
    stamped = {fork["id"]: fork for fork in findings.lock.content["spec"].get("fork", ())}
    before = [fork for fork in forks if fork.id in stamped]
    documented = [fork for fork in forks if fork.binds == DOCUMENTED]
    counts = {"forks": len(forks), "stamped": len(before), "documented": len(documented)}
    if not forks:
        return ChecklistAnswer(
            "no", "The spec declares no analytic choice that was open.", "the lock", counts
        )
    text = (
        f"{counted(len(forks), 'open choice')} declared, {len(before)} of them in the stamp; "
        f"{len(documented)} need data that "
        "were not collected."
    )
    return ChecklistAnswer("yes" if len(before) == len(forks) else "partly", text, "the lock", counts)


def _curve(findings: Findings) -> ChecklistAnswer:
    declared = findings.plan.study.spec.curve
    fitted = {curve.curve for curve in findings[CURVES] if curve.fitted}
    stated = sum(planned_curve(findings.plan.study.spec, curve).declared for curve in declared)
    specifications = sum({curve.curve: len(curve.ran.drawn) for curve in findings[CURVES]}.values())
    failed = sum(len(curve.failed) for curve in findings[CURVES])
    counts = {
        "curves": len(declared), "run": len(fitted), "declared": stated, "specifications": specifications,
        "failed": failed,
    }  # fmt: skip
    if not declared:
        return ChecklistAnswer("no", "The spec declares no specification curve.", "the lock", counts)
    text = f"{len(fitted)} of {counted(len(declared), 'declared curve')} have estimates: "
    text += f"of {counted(stated, 'declared specification')} {specifications:,} were run"
    text += f"; {counted(failed, 'of their fits does', 'of their fits do')} not exist." if failed else "."
    whole = len(fitted) == len(declared) and specifications == stated and not failed
    holds: Held = "yes" if whole else "partly" if fitted else "no"
    return ChecklistAnswer(holds, text, "the curves of this report", counts)


def _falsified(findings: Findings) -> ChecklistAnswer:
    spec = findings.plan.study.spec
    results = [falsification.result for falsification in findings[FALSIFICATIONS]]
    people = sum(why_undecidable(spec, falsification) is not None for falsification in spec.falsification)
    counts = {"tests": len(spec.falsification), "undecided": people}
    counts |= {str(word): results.count(word) for word in RESULTS}
    where = "the samples of the store"
    if not spec.falsification:
        return ChecklistAnswer(
            "no", "The spec states no test that could break its findings.", "the lock", counts
        )
    text = ", ".join(f"{results.count(word)} {word}" for word in RESULTS)
    text = f"Of {counted(len(spec.falsification), 'test')}: {text}; {people} are not decided by gridc."
    decided = sum(result in DECIDED for result in results)
    holds: Held = "yes" if decided == len(spec.falsification) else "partly" if decided else "not_measured"
    return ChecklistAnswer(holds, text, where, counts)


def _hypotheses(findings: Findings) -> ChecklistAnswer:
    current = since_when(findings)
    same = [name for name, stated in current.items() if stated == "before_stamp"]
    left = {statement.id for statement in findings.uncomputed if statement.table == "hypothesis"}
    counts = {"hypotheses": len(current), "stamped": len(same), "unanswered": len(left & current.keys())}
    if not current:
        return ChecklistAnswer("no", "The spec states no hypothesis.", "the lock", counts)
    stands = "stands in the lock as it is now" if len(current) == 1 else "stand in the lock as they are now"
    text = f"{len(same)} of {counted(len(current), 'hypothesis', 'hypotheses')} {stands}"
    text += f"; {len(left & current.keys())} are not answered by this report." if left else "."
    return ChecklistAnswer(
        "yes" if len(same) == len(current) else "partly" if same else "no", text, "the lock", counts
    )


def since_when(findings: Findings) -> dict[str, Stated]:
    """Of each hypothesis, whether it stands in the lock as it is now, with the level that holds it."""
    stamped, current = (_with_levels(spec) for spec in (findings.lock.content["spec"], _spec(findings)))
    return {
        name: "added_after"
        if name not in stamped
        else "before_stamp"
        if stamped[name] == stands
        else "changed_after"
        for name, stands in current.items()
    }


def _spec(findings: Findings) -> Mapping[str, Any]:
    return findings.plan.study.spec.stamped()


def _with_levels(spec: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The hypotheses by id, each with what says its level: its family, and the level of the study."""
    families = {family["id"]: family for family in spec.get("family", ())}
    alpha = spec.get("analysis", {}).get("alpha")
    return {
        stated["id"]: (stated, families.get(stated.get("family")), alpha)
        for stated in spec.get("hypothesis", ())
    }


LINES: tuple[ChecklistLine, ...] = (
    ChecklistLine("stamped_first", "Was the study stamped before its first call?", stamped_first),
    ChecklistLine("vouched", "Does a third party date the stamp before the first call?", _vouched),
    ChecklistLine("registered", "Was it pre-registered?", _registered),
    ChecklistLine("hypotheses", "Were its hypotheses fixed by the stamp?", _hypotheses),
    ChecklistLine("inputs", "Are models and items fixed by digest?", _inputs),
    ChecklistLine("deviations", "Was it run as it was stamped?", _deviations),
    ChecklistLine(
        "observed", "Did the run go as planned, with no answer cut off at its token limit?", _observed
    ),
    ChecklistLine("complete", "Is the run complete?", _complete),
    ChecklistLine("one_look", "Was nothing reported before the run was complete?", _one_look),
    ChecklistLine("both_readings", "Are unreadable answers counted both ways?", _both_readings),
    ChecklistLine("noise", "Is it known what asking again changes?", _noise),
    ChecklistLine("sealed", "Were conditions sealed before the first judgement?", _sealed),
    ChecklistLine("guessed", "Is it known whether judges can guess the condition?", _guessed),
    ChecklistLine("agreed", "Is it known how far two judges agree?", _agreed),
    ChecklistLine("audited", "Did people label some of the responses too?", _audited),
    ChecklistLine("forks", "Were its open choices declared?", _forks),
    ChecklistLine("curve", "Was a specification curve run?", _curve),
    ChecklistLine("falsified", "Were tests done that could have broken its findings?", _falsified),
    ChecklistLine("results_tied", "Are the results tied to a time or a key?", _results_tied),
)
