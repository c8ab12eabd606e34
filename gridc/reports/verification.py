"""Computes again everything that a store and its reports claim, and names what differs (`gridc verify`).

Each check yields its own findings and stops no other check, so one run shows everything that is wrong.
"""

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from functools import reduce
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from gridc.compiler.compile import Compiled
from gridc.compiler.inputs.prices import TokenPrice, prices_of
from gridc.compiler.instrument.judging import read_reply
from gridc.compiler.lock.attestation import SUFFIXES, Attestation
from gridc.compiler.lock.deviations import (
    behaviour_differences,
    json_differences,
    log_path,
    reconcile,
    shortened_json,
)
from gridc.compiler.lock.lock import Lock, holds_fingerprints
from gridc.compiler.lock.trust import NOBODY, Trust
from gridc.compiler.lowering.judging import JudgingState, benches, is_judged
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, GridcError, VerificationError
from gridc.reports import evidence
from gridc.reports.differing_answers import most_stated
from gridc.reports.evidence import ComparedEvidence
from gridc.reports.files import FIGURES, NAMES, WITH_ANSWERS, drawings, file_texts, page_with_answers
from gridc.reports.findings.components import ATTRIBUTION, Attribution
from gridc.reports.findings.findings import all_findings, noted_of_items
from gridc.reports.findings.labels import AUDITS, GUESSES, JUDGING, SANITISED
from gridc.reports.findings.run_record import Finding
from gridc.reports.findings.scaffolds import PROPAGATION
from gridc.reports.rendering import report_code_digest
from gridc.reports.ties import FINISH, check_ties, claimed_of_lock, claimed_of_results
from gridc.reports.verified_samples import of_blinding, of_samples, unscored_here
from gridc.runtime.adaptive_race import document, from_store, race_study
from gridc.runtime.blinding import judging_state, places_of
from gridc.runtime.store import digests
from gridc.runtime.store.digests import CallRecords, CellResults
from gridc.runtime.store.events import (
    Event,
    InterimLook,
    Merged,
    Reported,
    RunFinished,
    RunStarted,
    Stamped,
    Witnessed,
    bodies_of,
    first_break,
    to_the_second,
)
from gridc.runtime.store.items import PLANNED, named_digest
from gridc.runtime.store.opening import BESIDE
from gridc.runtime.store.reader import CheckedCall, PricedRequest, Progress
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest_bytes, has_one_reading

MOST_JSON = 2**26
"""The most bytes of a stranger's document that are read."""


@dataclass(frozen=True, slots=True)
class VerifiedStudy:
    """A study in which nothing differs: `checked` says what was looked at, a line each. Of a run that is not
    `complete` only what is there so far was. The ties are those of the lock and of the results, as checked
    here. `not_compared` has what this version writes in place of each report that other code wrote."""

    checked: tuple[str, ...]
    complete: bool
    lock_ties: tuple[Attestation, ...]
    results_ties: tuple[Attestation, ...]
    not_compared: Mapping[str, str]


def verify_study(
    compiled: Compiled, lock: Lock, store: Store, folder: Path, trust: Trust = NOBODY
) -> VerifiedStudy:
    """Look at everything. `trust` names whom the verifier believes.

    Raises `VerificationError` with all that differs, and `StoreError` when the store holds no run of the
    study or cannot be read.
    """
    with looked_at(store) as sound:
        events = store.events()
        stamp = _as_run(lock, store, events)
        progress, conclusion = store.progress(stamp), store.conclusion(stamp)
        inputs = list(unreadable_as_finding("the study", _inputs(compiled, lock, store, stamp, events)))
        diagnostics = [*inputs, *of_history(lock, store, events, stamp)]
        diagnostics += of_events(events)
        records, outcomes = CallRecords(columns_of_calls(store, conclusion)), CellResults()
        diagnostics += of_calls(store, stamp, records)
        shown = check_ties(compiled.lock_path, compiled.source.path, folder, events, stamp, trust)
        diagnostics += shown.findings
        plan = Plan(compiled.study)
        if not inputs:
            diagnostics += unreadable_as_finding("the plan", of_plan(plan, store, conclusion))
            diagnostics += unreadable_as_finding("the costs", of_costs(plan, lock, store))
            if conclusion is not None and conclusion.named not in (None, named_digest(plan)):
                message = (
                    "the tags, labels and numbers of rows that the run recorded are not those of the items"
                )
                diagnostics.append(Diagnostic("GC706", message))
            judgements = judging_state(plan, store)
            if judgements is not None:
                diagnostics += unreadable_as_finding(
                    "the judgements", judgement_faults(plan, store, judgements)
                )
            diagnostics += unreadable_as_finding("the blinding", of_blinding(plan, store, events))
            samples = of_samples(plan, store, conclusion is not None, judgements, outcomes)
            diagnostics += _read_by(lock, list(unreadable_as_finding("the samples", samples)))
        results = store.results_digest(stamp, outcomes)
        if conclusion is None:
            diagnostics += of_no_conclusion(events, stamp)
        else:
            ends = of_digests(store, conclusion, progress.complete, results, records)
            diagnostics += unreadable_as_finding("the digests", ends)
        del records  # 160 MB of five million calls
        diagnostics = [*sound(), *diagnostics]
    seen = SeenReports()
    if not diagnostics:
        reports = of_reports(compiled, lock, store, folder, events, results, seen)
        diagnostics += unreadable_as_finding("the reports", reports)
        diagnostics += unreadable_as_finding("the race", of_witness(plan, store, folder, events))
    if diagnostics:
        raise VerificationError(diagnostics)
    unscored = unscored_here(plan)
    models = ", ".join(name for name, identity in compiled.study.models.items() if identity.files)
    return VerifiedStudy(
        (
            f"the spec, the templates and every item are the ones that {stamped_words(lock, stamp)}",
            f"model files hashed: {models or 'none are here'}",
            f"{len(events)} events follow from one another",
            f"{progress.answered:,} of {progress.total:,} calls have an answer; requests and answers hash "
            "right",
            "the items with their groups and right options, and the samples, are those of the plan; scoring "
            f"the {'other ' if unscored else ''}answers again gives the same outcomes",
            *unscored,
            recorded_at_the_end(store, progress, conclusion),
            *seen.lines(),
            same_behaviour(lock, compiled.study.stamped()),
            *other_studies(store, events, stamp),
            *unchecked_files(folder, seen.checked),
            *shown.lines,
            *of_clock(store, events, stamp),
        ),
        progress.complete and conclusion is not None,
        shown.of_lock,
        shown.of_results,
        seen.made,
    )


def of_clock(store: Store, events: Sequence[Event], stamp: str) -> Iterator[str]:
    """Where the clock was set back between two events, as the dates of calls show it: in a store that nothing
    was merged into, batches are dated in the order in which they were written, and no call after the end of
    the run that it belongs to."""
    if any(isinstance(event.body, Merged) for event in events):
        return
    batch, last = store.batch_dated_back(), store.last_answer(stamp)
    if batch is not None:
        yield f"the clock was set back before batch {batch} of calls: dates in this store show no order"
    if last is None or store.conclusion(stamp) is None:
        return
    end = [event for event in events if isinstance(event.body, RunFinished) and event.body.stamp == stamp][-1]
    if to_the_second(last.isoformat()) > to_the_second(end.at):
        yield (
            f"the clock was set back before event {end.seq}: calls are dated after the end of their run, and "
            "dates in this store show no order"
        )


def _read_by(lock: Lock, found: list[Diagnostic]) -> list[Diagnostic]:
    """Differing outcomes, where the stamp does not say which version read them; the last adds the version."""
    last = max((number for number, one in enumerate(found) if one.code == "GC705"), default=None)
    if last is not None and not lock.covers_behaviour:
        help = (
            f"the lock was made by gridc {lock.gridc} and says of no part which version read the answers: "
            "this gridc may read them otherwise; that one verifies its own outcomes"
        )
        found[last] = replace(found[last], help=help)
    return found


def stamped_words(lock: Lock, ran: str) -> str:
    """Whether the study that ran is the stamped one, behind `what is here are the ones that ...`."""
    if ran == lock.stamp:
        return f"were stamped on {lock.created[:10]} at {lock.created[11:16]} UTC by the author's clock"
    return "were run, and depart from the stamp as the deviation log says"


def same_behaviour(lock: Lock, ran: Mapping[str, Any]) -> str:
    """Whether gridc's own code is what it was when the study ran, as far as the stamp covers that."""
    from gridc.compiler.instrument.versions import PARTS

    uncovered, then = lock.uncovered(), ran.get("behaviour")
    if uncovered is not None or then is None:
        return f"not covered: {uncovered}"
    if holds_fingerprints(ran):
        return (
            "not compared: the stamp holds fingerprints of gridc's own code, of before gridc numbered the "
            "versions of its parts"
        )
    now = {part: PARTS[part] for part in then if part in PARTS}
    changed = [path for path, *_ in behaviour_differences(then, now)]
    if changed:
        return f"gridc behaves otherwise here than when the study ran: {', '.join(changed)}"
    return f"the {len(now)} parts of gridc that ask, read and score have the versions that the study ran with"


def recorded_at_the_end(store: Store, progress: Progress, conclusion: RunFinished | None) -> str:
    """What the digests of the last `finish` event cover and what they do not, in words."""
    if not progress.complete or conclusion is None:
        state = f"{progress.answered:,} of {progress.total:,} calls answered"
        unscored = f", {progress.unscored:,} samples not scored" if progress.unscored else ""
        return f"the run is incomplete ({state}{unscored}), so its results are not final"
    if conclusion.tables is None and conclusion.records is None:
        return "the results digest is the recorded one; the store is too old to hold one of its other columns"
    left_out: Sequence[str]
    if conclusion.tables is None:
        left_out, others = digests.LEFT_OUT, "all other rows"
    else:
        left_out = store.uncovered({name: table.columns for name, table in conclusion.tables.items()})
        others = "every table and column"
    text = f"the results digest is the recorded one, and so are those of {others}"
    return f"{text} but what the run recorded none of: {', '.join(left_out)}" if left_out else text


def unreadable_as_finding(what: str, check: Iterator[Diagnostic]) -> Iterator[Diagnostic]:
    """The findings of a check. A stored value in a form that gridc never writes is a finding too."""
    try:
        yield from check
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        message = f"{what} cannot be read from the store ({type(error).__name__}: {str(error)[:100]})"
        yield Diagnostic("GC703", message)


@contextmanager
def looked_at(store: Store) -> Iterator[Callable[[], list[Diagnostic]]]:
    """Look at the file of a store while its rows are read: what is yielded waits for the findings.

    Its pages come first, for reading what is built of pages that name each other has no end. Whether its
    indexes say what its tables do, and each row names one that is there, SQLite finds out by itself, in a
    thread. Raises `VerificationError` where the file is damaged: every further finding would be an echo.
    """
    _require_undamaged(store.damage(thorough=False))
    if not store.path.exists():  # a copy, which only this connection has
        diagnostics = _sound(store)
        yield lambda: diagnostics
        return
    with Store.open(store.path, look=False) as same, ThreadPoolExecutor(1) as thread:
        sound = thread.submit(_sound, same)
        try:
            yield sound.result
        except GridcError:
            raise
        except Exception:
            sound.result()
            raise
        finally:
            if not sound.done():
                same.interrupt()  # nobody waits for it any more


def _require_undamaged(damage: Sequence[str]) -> None:
    if damage:
        raise VerificationError([Diagnostic("GC605", problem) for problem in damage])


def _sound(store: Store) -> list[Diagnostic]:
    _require_undamaged(store.damage())
    found = [Diagnostic("GC605", problem) for problem in store.misshapen()]
    if found:
        return found
    events = store.events()
    whole = not bodies_of(events, Merged) and len({run.stamp for run in bodies_of(events, Stamped)}) < 2
    return [Diagnostic("GC704", problem) for problem in (*store.lost_rows(), *store.contradictions(whole))]


def _as_run(lock: Lock, store: Store, events: Sequence[Event]) -> str:
    """The digest of the study that was last run under the lock: its stamp, unless it departs from it."""
    runs = [start.stamp for start in bodies_of(events, Stamped) if start.registered == lock.stamp]
    stamp = runs[-1] if runs else lock.stamp
    store.require(stamp)
    return stamp


def _inputs(
    compiled: Compiled, lock: Lock, store: Store, stamp: str, events: Sequence[Event]
) -> Iterator[Diagnostic]:
    where = str(compiled.lock_path)
    yield from of_lock(lock, store, stamp, events, where)
    content = store.study(stamp)
    for path, ran, current in json_differences(content, compiled.study.stamped()):
        message = (
            f"`{path}` is not what was run ({shortened_json(ran, 24)}, now {shortened_json(current, 24)})"
        )
        yield Diagnostic("GC701", message, where)
    yield from reconcile(lock, compiled.study, log_path(compiled.source.path)).findings


def of_lock(
    lock: Lock, store: Store, stamp: str, events: Sequence[Event], where: str
) -> Iterator[Diagnostic]:
    """The lock against the one that the study was written into the store under."""
    begun = [(start.lock, start.registered, start.created) for start in bodies_of(events, Stamped, stamp)]
    if begun != [(digest_bytes(lock.text().encode()), lock.stamp, lock.created)]:
        yield Diagnostic("GC701", "the lock is not the one that the run started under", where)
    (row,) = store.rows_of("study", stamp)
    if row["created"] != lock.created:
        message = f"the store says that the study was stamped on {row['created']}, the lock {lock.created}"
        yield Diagnostic("GC704", message, where)


def of_history(
    lock: Lock, store: Store, events: Sequence[Event], stamp: str, alone: bool = False
) -> Iterator[Diagnostic]:
    """Every study in the store is one that was stamped or run under this lock or one that it replaced (of a
    bundle, `alone`, this one), and its stamp is the digest of what was stamped; no event is about another."""
    known = {stamp, *(earlier.stamp for earlier in lock.chain)}
    known |= {started.stamp for started in bodies_of(events, Stamped) if started.registered in known}
    for other in store.stamps():
        if other not in ({stamp} if alone else known):
            message = f"the store holds another study (stamp {other[:12]}), of which nothing here is a check"
            yield Diagnostic("GC701", message, str(store.path), help=OTHER_STUDY)
        elif not store.is_stamped(other):
            message = f"the study {other[:12]} in the store does not hash to its stamp"
            yield Diagnostic("GC701", message, str(store.path))
    for event in events:
        if event.body.stamp not in known:
            name = f"a study (stamp {event.body.stamp[:12]})"
            message = f"event {event.seq} is about {name} that is not of the lock's history"
            yield Diagnostic("GC701", message, str(store.path))


OTHER_STUDY = "a store has the studies of one lock, a bundle has one: verify the other where its lock is"


def other_studies(store: Store, events: Sequence[Event], stamp: str) -> Iterator[str]:
    """In lines, what studies of the lock's history the store holds beside the one that was checked, and which
    ones the chain records that it does not hold, as that of a bundle."""
    here = store.stamps()
    others = ", ".join(other[:12] for other in here if other != stamp)
    if others:
        text = "and shown only where they are named by their stamps"
        yield f"not checked, {text}: earlier studies in the store ({others})"
    ran = dict.fromkeys(begun.stamp for begun in bodies_of(events, Stamped))
    gone = ", ".join(other[:12] for other in ran if other not in here)
    if gone:
        yield f"not here: studies that the chain records and that the store does not have ({gone})"


def earlier_studies(lock: Lock, events: Sequence[Event], stamp: str) -> Iterator[str]:
    """In a line, the stamps that the lock's replaced, and what the chain tells of their runs: a bundle has no
    row of theirs."""
    if not lock.supersedes:
        return
    ran: dict[str, str] = {}
    for event in events:
        if isinstance(event.body, RunFinished) and event.body.stamp != stamp:
            ran[event.body.stamp] = f"{event.body.answered or 0:,} calls answered by event {event.seq}"
        elif isinstance(event.body, Stamped) and event.body.stamp != stamp:
            ran.setdefault(event.body.stamp, f"in the store since event {event.seq}")
    under = {start.stamp: start.registered for start in bodies_of(events, Stamped)}
    parts = [
        f"{earlier.stamp[:12]} of {earlier.created[:10]} ("
        + (
            "; ".join(told for name, told in ran.items() if earlier.stamp in (name, under.get(name)))
            or "not in this store"
        )
        + ")"
        for earlier in lock.supersedes
    ]
    yield f"not here: the studies of the stamps that this one replaced: {', '.join(parts)}"


def of_events(events: Sequence[Event]) -> Iterator[Diagnostic]:
    broken = first_break(events)
    if broken is not None:
        yield Diagnostic("GC702", f"event {broken} does not follow from the one before it")


def of_calls(store: Store, stamp: str, records: CallRecords) -> Iterator[Diagnostic]:
    """Prompts, requests and answers against their digests, and columns against the request. What was written
    is canonical, so its bytes hash to its name. The calls are added to `records`, so that they are read
    once."""
    for identifier, content in store.prompts():
        if digest_bytes(content.encode()) != identifier:
            yield Diagnostic("GC703", f"prompt {identifier[:12]} has been changed")
    for call in store.calls_to_check(stamp, records):
        for part in _changed_parts(call):
            where = store.whereabouts(stamp, call.id)
            yield Diagnostic("GC703", f"the {part} of call {call.id[:12]} ({where}) has been changed")


def _changed_parts(call: CheckedCall) -> Iterator[str]:
    if digest_bytes(call.request.encode()) != call.id:
        yield "request"
    else:
        request = from_json(call.request)
        for column in ("model", "precision", "kind", "prompt"):
            if request.get(column) != getattr(call, column):
                yield column
    how = (call.sent, call.usage, call.seconds, call.finished)
    if call.answer is None:
        if how != (None, None, None, None):
            yield "record"  # of how it was answered, which it was not
    elif digest_bytes(call.answer.encode()) != call.answer_digest or not has_one_reading(call.answer):
        yield "answer"
    elif None in how or not has_one_reading(call.sent or ""):
        yield "record"


def of_plan(
    plan: Plan, store: Store, conclusion: RunFinished | None, without_items: bool = False
) -> Iterator[Diagnostic]:
    """Every column of the tables of which the plan says each row, against it. Only a store whose run recorded
    no digest of a table, as an older gridc ended it, may have no row there, and nothing in later columns; and
    `question` stays empty where a gridc of `WITHOUT_QUESTIONS` began the run, whoever ended it.
    `without_items`, as in a bundle, nothing is said of `shown`, and of `question` only which rows it has."""
    digested = {} if conclusion is None or conclusion.tables is None else conclusion.tables
    for table in PLANNED:
        if without_items and table == "shown":
            continue
        columns = digested[table].columns if table in digested else ()
        key = store.key_of(table)
        stored = {tuple(row[name] for name in key): row for row in store.rows_of(table, plan.study_digest)}
        if not stored and (
            _recorded_version(store, plan.study_digest).startswith(WITHOUT_QUESTIONS)
            if table == "question"
            else not columns
        ):
            continue
        for row in PLANNED[table](plan):
            expected = row._asdict()
            place = tuple(expected[name] for name in key)
            where = ", ".join(str(part) for part in place if part != plan.study_digest)
            found = stored.pop(place, None)
            if found is None:
                yield Diagnostic("GC704", f"{where}: not in the table `{table}` of the store")
                continue
            if without_items and table == "question":
                continue  # its digests are of the texts
            for column in found.keys() - {"id"}:  # the number of a cell, by which other tables name it
                said = found[column]
                if said != expected.get(column) and (said is not None or column in columns):
                    is_now, stated = shortened_json(said, 24), shortened_json(expected.get(column), 24)
                    message = (
                        f"{where}: `{column}` is {is_now} in the table `{table}`, and {stated} by the study"
                    )
                    yield Diagnostic("GC704", message)
        for place in stored:
            where = ", ".join(str(part) for part in place if part != plan.study_digest)
            yield Diagnostic("GC704", f"{where}: in the table `{table}`, and not in the study")


WITHOUT_QUESTIONS = "0.1."
"""How the versions begin of which some wrote no row into `question`."""


def _recorded_version(store: Store, stamp: str) -> str:
    """The version that the first event which names one says; empty where none does."""
    events = (event.body for event in store.events() if event.body.stamp == stamp)
    return next((body.gridc for body in events if isinstance(body, RunStarted | InterimLook)), "")


def of_costs(plan: Plan, lock: Lock, store: Store) -> Iterator[Diagnostic]:
    """What requests cost against the prices of the lock or the spec: what the counted tokens come to, or at
    most what the tokens that were asked for can. The counts themselves are the provider's word; a call counts
    what the request that answered it does, and no more than it could write."""
    stated = {model.id for model in plan.study.spec.asked_models if model.price is not None}
    prices = {
        plan.study.asked_models[name].digest: price
        for name, price in prices_of(plan.study.spec, lock.prices).items()
        if name in {*stated, *lock.prices} and name in plan.study.asked_models
    }
    longest = store.longest_prompt()
    for request in store.costs():
        if request.model in prices and not _is_price(prices[request.model], request, longest):
            message = (
                f"request {request.id[:12]} is said to have cost ${request.usd:,.6g}, which it cannot have"
            )
            yield Diagnostic("GC704", message)


def _is_price(price: TokenPrice, request: PricedRequest, longest: int) -> bool:
    """Whether a request can have cost the amount that is stored for it."""
    usage, asked = json.loads(request.usage), json.loads(request.request or "{}")
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    each = price.in_batches if request.batched else price
    counted = None not in (read, written) and request.problems is None
    if request.status == "answered" and request.generated and counted:
        stated = json.loads(request.of_call) if request.of_call is not None else {**usage, "usd": request.usd}
        stated.pop("requests", None)
        limit = asked.get("max_tokens") or written
        return bool(
            request.usd == each.usd(read, written, usage.get("cached_tokens", 0))
            and written <= limit + usage.get("reasoning_tokens", 0)
            and stated == {**usage, "usd": request.usd}
        )
    most = (longest if request.prompt is None else request.prompt) + len(request.request or "") + MOST_BESIDE
    limit = asked.get("max_tokens") or MOST_BESIDE
    return bool(
        0
        <= request.usd
        <= max(one.most(max(read or 0, most), max(written or 0, limit)) for one in (price, each))
    )


MOST_BESIDE = 10_000
"""Tokens that a request may have beside its prompt, or write where it states no limit, when it is asked what
it can have cost."""


def of_no_conclusion(events: Sequence[Event], stamp: str) -> Iterator[Diagnostic]:
    """What cannot be where no event says what the run came to."""
    if _reported(events, stamp):
        yield Diagnostic("GC706", "a report of the whole run was made, and no event records the results")


def of_digests(
    store: Store, conclusion: RunFinished, complete: bool, results: str, records: CallRecords
) -> Iterator[Diagnostic]:
    """The digests that the run recorded at its end. `results` is that of the results as they are, and
    `records` holds every call."""
    if not complete and conclusion.answered is None:
        return  # an older gridc recorded no count, so what was answered since cannot be told from it
    for departure in store.departures(conclusion, results, records):
        yield Diagnostic("GC706", departure)


def columns_of_calls(store: Store, conclusion: RunFinished | None) -> Sequence[str]:
    """The columns of calls that the run recorded a digest of."""
    if conclusion is None or conclusion.tables is None:
        return digests.CALL
    there = store.covered()["call"]
    recorded = conclusion.tables.get("call")
    return there if recorded is None or not set(recorded.columns) <= set(there) else recorded.columns


def _reported(events: Sequence[Event], stamp: str) -> bool:
    """Whether a report of the complete run is the last thing that happened to a study's results."""
    kinds = [
        type(event.body)
        for event in events
        if event.body.stamp == stamp and isinstance(event.body, (Reported, RunStarted, Merged, RunFinished))
    ]
    return kinds[-1:] == [Reported]


def judgement_faults(plan: Plan, store: Store, judgements: JudgingState) -> Iterator[Diagnostic]:
    """What judges were asked against what the stored responses and replies have them asked, and what each
    reply was read to. While a run is under way the last ones may not be written yet."""
    expected = {(*ask.key, ask.judge, ask.attempt): ask for ask in judgements.asks}
    for row in store.judgements(plan.study_digest):
        ask = expected.pop(row[:5], None)
        where = f"{row.cell}, item {row.item}, replicate {row.replicate}, {row.judge}"
        if ask is None or ask.request.id != row.call:
            yield Diagnostic("GC704", f"{where}: the judge is asked what the study does not ask")
        elif ask.verdict is not None and row[6:] not in (astuple(ask.verdict), _UNREAD):
            yield Diagnostic("GC705", f"{where}: the stored label is not what the judge replied")
        elif ask.verdict is not None and judgements.complete and row[6:] == _UNREAD:
            yield Diagnostic("GC705", f"{where}: the judge's reply was not read")
    if judgements.complete:
        for cell, item, replicate, judge, _ in expected:
            message = f"{cell}, item {item}, replicate {replicate}: the store lacks a call of {judge}"
            yield Diagnostic("GC704", message)


def of_replies(plan: Plan, store: Store, complete: bool) -> Iterator[Diagnostic]:
    """What each reply of a judge was read to, against the reply: all that can be said of judging where the
    items, and with them the prompts of judges, are not here. A run that is not `complete` has replies that
    nobody has read yet."""
    cells = {cell.key: cell for cell in plan.cells() if is_judged(cell)}
    answered = [cell for cell in cells.values() if places_of(plan, store, cell)]
    rubrics = {
        key: rubric for bench in benches(plan.study) for key, rubric in bench.readings(answered).items()
    }
    last: tuple[tuple[Any, ...], int, bool] | None = None
    for row in store.judgements(plan.study_digest):
        where = f"{row.cell}, item {row.item}, replicate {row.replicate}, {row.judge}"
        if row.attempt and last != (row[:4], row.attempt - 1, True):
            yield Diagnostic("GC704", f"{where}: the judge is asked again, and its reply before was read")
        last = row[:4], row.attempt, row.failure is not None
        cell = cells.get(row.cell)
        rubric = None if cell is None else rubrics.get((row.judge, cell.benchmark))
        if rubric is None:
            yield Diagnostic("GC704", f"{where}: the judge is asked what the study does not ask")
            continue
        answer = store.answer_to(row.call)
        read = _UNREAD if answer is None else astuple(read_reply(rubric, answer))
        if row[6:] != read and (complete or row[6:] != _UNREAD):
            yield Diagnostic("GC705", f"{where}: the stored label is not what the judge replied")


_UNREAD = (None, None, None)


REPORT_AGAIN = "if the study is yours, `gridc report` writes it again from the store; else ask its author"
ASK_AUTHOR = "the store and this file disagree, and whoever sent them can say why: ask for the folder again"


@dataclass
class SeenReports:
    """What the look at the reports came to, beside its findings: `passed` is what cannot be made again and
    was passed over, `checked` every file that was looked at, `left` a line for each that was not compared, or
    not in all of it, `made` this version's text of each of those, by name, and `missing` what was
    written and is not here."""

    passed: list[str] = field(default_factory=list)
    checked: set[str] = field(default_factory=set)
    left: list[str] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """What was shown of the reports."""
        but = f", but for what was not made again: {', '.join(self.passed)}" if self.passed else ""
        if self.left:
            yield f"the evidence in the reports that are here is what the store says, as far as compared{but}"
        else:
            yield f"the reports that are here say what the store says{but}"
        yield from self.left
        if self.missing:
            yield f"written and not here: {', '.join(self.missing)}"


def of_reports(
    compiled: Compiled,
    lock: Lock,
    store: Store,
    folder: Path,
    events: Sequence[Event],
    results: str,
    seen: SeenReports,
    without_items: bool = False,
) -> Iterator[Diagnostic]:
    """The reports and figures that are there against what the store says now. `results` is the digest of its
    results. Texts that this very code wrote are compared to the byte; of what another wrote, the evidence in
    the JSON is. `without_items`, as in a bundle, what reached the steps of scaffolds and what they came to is
    taken as it was recorded."""
    here = [folder / name for name in NAMES if name != "store.sqlite" and os.path.lexists(folder / name)]
    figures = figures_in(folder)
    if not here and not figures:
        return
    plan, way_out = Plan(compiled.study), ASK_AUTHOR if without_items else REPORT_AGAIN
    looks = [
        event.body
        for event in events
        if isinstance(event.body, InterimLook) and event.body.stamp == plan.study_digest
    ]
    known: dict[Finding[Any], Any] = {}
    if looks and looks[-1].attribution:
        # As recorded: a surrogate's trees need lightgbm, and need not be the same on another machine.
        known[ATTRIBUTION] = tuple(Attribution(**row) for row in looks[-1].attribution)
        seen.passed.append("the attribution")
    complete = store.progress(plan.study_digest).complete
    if not looks or (complete and not any(isinstance(look, Reported) for look in looks)):
        message = (
            "the reports were made before the run was complete"
            if looks
            else "there is a report, and no event records that it was made"
        )
        yield Diagnostic("GC707", message, str([*here, *figures][0]), help=way_out)
        return
    earlier = {digest for look in looks for digest in look.files.values()}
    tied = claimed_of_lock(events, plan.study_digest)
    results_tied = claimed_of_results(events, plan.study_digest)
    if without_items:
        known |= noted_of_items(looks[-1])
        if known[PROPAGATION]:
            seen.passed.append("what reached the steps of scaffolds, and what they came to")
        if any(known[finding] for finding in (AUDITS, GUESSES, JUDGING, SANITISED)):
            seen.passed.append("what judges and people said of responses")
    findings = all_findings(compiled, lock, store, tied, results, results_tied, known=known)
    expected = file_texts(findings)
    if folder / WITH_ANSWERS in here:
        expected[WITH_ANSWERS] = page_with_answers(findings, store, most_stated(folder / WITH_ANSWERS))
    same_code = looks[-1].code == report_code_digest()
    own_certificate = expected["certificate.json"].encode()
    certificate = _bytes(folder / "certificate.json", len(own_certificate) + MOST_JSON)
    unread: list[str] = []
    for path in here:
        name = path.name
        seen.checked.add(name)
        data = _bytes(path, len(expected[name].encode()) + MOST_JSON)
        # The cards name the certificate that lies beside them, which other code may have worded otherwise.
        names_other = name == "gridcard.json" and certificate not in (None, own_certificate)
        if data == expected[name].encode() and not names_other:
            continue
        recorded = data is not None and (digest_bytes(data) in earlier or not looks[-1].files)
        if not complete and recorded:
            seen.passed.append(name)  # of an earlier state of a run that is going on
            continue
        compared = ComparedEvidence()
        if data is not None and path.suffix == ".json":
            compared = evidence.compare_document(name, data, expected[name], certificate)
        if same_code or not recorded or compared.differs:
            places = compared.differs
            if same_code and data is not None and path.suffix == ".json":  # each sentence counts too
                places = tuple(where for where, *_ in _json_differences(data, expected[name])) or places
            changed = f": {', '.join(places[:5])}{' and more' if len(places) > 5 else ''}" if places else ""
            if data is not None and (places or path.suffix != ".json"):
                changed += _first_difference(places[0] if places else "", data, expected[name])
            message = f"{name} is not what the store says{changed}"
            yield Diagnostic("GC707", message, str(path), help=way_out)
        elif path.suffix != ".json":
            unread.append(name)
            seen.made[name] = expected[name]
        elif compared.left is not None:
            seen.left.append(f"not compared in {name}{compared.left}")
            seen.made[name] = expected[name]

    drawn = drawings(findings) if figures else {}
    for path in figures:
        if path.name not in drawn:
            continue  # no figure of the study
        name = f"{FIGURES}/{path.name}"
        seen.checked.add(name)
        data = _bytes(path, MOST_JSON)
        if data == drawn[path.name].encode():
            continue
        if not complete:
            seen.passed.append(name)
        elif same_code or data is None:
            message = f"{path.name} is not what the store says"
            help = "`gridc report --figures` draws it again from the store"
            yield Diagnostic("GC714", message, str(path), help=help)
        else:
            unread.append(name)
            seen.made[name] = drawn[path.name]
    if unread:
        seen.left.append(f"not compared, as other code than this gridc's wrote it: {', '.join(unread)}")
    missing = [name for name in looks[-1].files if not os.path.lexists(folder / name)]
    if complete and missing:
        seen.missing = sorted(missing)


def figures_in(folder: Path) -> list[Path]:
    """The files in the folder of figures that are named like a figure."""
    return [] if (folder / FIGURES).is_symlink() else sorted((folder / FIGURES).glob("*.svg"))


def unchecked_files(folder: Path, checked: Collection[str]) -> list[str]:
    """In a line, what else lies in a results folder than the store, what was `checked`, and the record of
    the results with what ties it; none where there is nothing."""
    own = {"store.lock", "witness.json", FINISH, *(f"{FINISH}{suffix}" for suffix in SUFFIXES)}
    own |= {f"store.sqlite{suffix}" for suffix in ("", *BESIDE)}
    names = sorted(set(files_below(folder)) - own - set(checked))
    names.sort(key=_is_shown, reverse=True)
    shown = ", ".join(name.encode("utf-8", "backslashreplace").decode() for name in names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return [f"not checked, as nothing in the study says what it is: {shown}{more}"] if names else []


_MOST_NAMES = 100
"""How many files a line names."""


def _is_shown(name: str) -> bool:
    """Whether a file may pass for a report or a figure: such are named first."""
    return name.lower().startswith(f"{FIGURES}/") or name.lower().endswith(_LOOKED_AT)


_LOOKED_AT = (".html", ".htm", ".md", ".pdf", ".svg", ".png", ".jpg", ".json", ".csv", ".tex", ".txt")


def files_below(folder: Path) -> Iterator[str]:
    """Everything but folders, whatever it is; links are not followed."""
    for parent, folders, names in os.walk(folder):
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        for name in (*names, *links):
            yield (Path(parent) / name).relative_to(folder).as_posix()


def of_witness(plan: Plan, store: Store, folder: Path, events: Sequence[Event]) -> Iterator[Diagnostic]:
    """The race of `certify --until-decided`: what its file says is what was recorded, and running it again
    on the stored answers comes to the same."""
    path = folder / "witness.json"
    noted = [record.as_json() for record in bodies_of(events, Witnessed, plan.study_digest)]
    if os.path.lexists(path):
        data = _bytes(path, MOST_JSON)
        if not noted or data is None or _json_differences(data, json.dumps(noted[-1])):
            yield Diagnostic("GC707", "witness.json is not what the event chain recorded", str(path))
    if noted and not store.progress(plan.study_digest).unscored:
        again = document(plan, race_study(plan, from_store(store.outcomes(plan.study_digest))))
        if again["benchmarks"] != noted[-1]["benchmarks"]:
            yield Diagnostic("GC705", "the race on the stored answers comes to another certificate")


def _bytes(path: Path, most: int) -> bytes | None:
    """The content of a file; None where it is no regular file or is larger than the limit."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > most:
        return None
    return path.read_bytes()


def _first_difference(place: str, data: bytes, expected: str) -> str:
    """What a file says where it first departs, and what the store says there: at a `place` of JSON such as
    `rows.0.score`, else on a line."""
    if place:
        try:
            here, there = (reduce(_entry, place.split("."), json.loads(text)) for text in (data, expected))
        except (LookupError, TypeError, ValueError, RecursionError):  # a key may have a dot
            return ""
        where, here, there = _innermost(place, here, there)
        at = "" if where == place else f"{where}: "
        return f" ({at}{shortened_json(here)}, by the store {shortened_json(there)})"
    lines = data.decode("utf-8", "replace").splitlines(), expected.splitlines()
    for number, (here, there) in enumerate(zip_longest(*lines, fillvalue=""), 1):
        if here != there:
            same = next((at for at, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), 0)
            said, says = (shortened_json(line[max(same - 20, 0) : same + 40], 90) for line in (here, there))
            return f": line {number} has {said}, by the store {says}"
    return ""


def _innermost(place: str, here: Any, there: Any) -> tuple[str, Any, Any]:
    """The first value that differs within two values at a place, and where it is."""
    while True:
        if isinstance(here, dict) and isinstance(there, dict) and here.keys() == there.keys():
            keys: Iterable[Any] = here
        elif isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
            keys = range(len(here))
        else:
            return place, here, there
        key = next((key for key in keys if here[key] != there[key]), None)
        if key is None:
            return place, here, there
        place, here, there = f"{place}.{key}", here[key], there[key]


def _entry(value: Any, key: str) -> Any:
    return value[int(key)] if isinstance(value, list) else value[key]


def _json_differences(data: bytes, text: str) -> list[tuple[str, Any, Any]]:
    try:
        return json_differences(json.loads(data), json.loads(text))
    except (ValueError, RecursionError):
        return [("not JSON", None, None)]
