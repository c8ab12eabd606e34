"""Recompute everything that a store and its reports claim, and name what differs.

Each check yields its findings; none stops the others, so one look shows all that is wrong.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from gridc.compiler.compile import Compiled
from gridc.compiler.instrument.score import score
from gridc.compiler.lock.deviations import log_path, reconcile
from gridc.compiler.lock.diff import brief, differences
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lock.trust import NOBODY, Trust
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, VerificationError
from gridc.reports.claims import check_ties, claimed
from gridc.reports.files import NAMES, texts
from gridc.reports.findings.attribution import Attribution
from gridc.reports.findings.findings import find
from gridc.runtime.adaptive_race import document, from_store, race_study
from gridc.runtime.store.events import Event, InterimLook, RunFinished, Stamped, Witnessed, first_break
from gridc.runtime.store.items import item_rows, shown_rows
from gridc.runtime.store.store import Store, recorded
from gridc.schema.canonical import canonical, digest, digest_bytes


def verify(compiled: Compiled, lock: Lock, store: Store, folder: Path, trust: Trust = NOBODY) -> list[str]:
    """What was checked, a line each. `trust` names whom the verifier believes.

    Raises `VerificationError` with everything that differs, and `StoreError` when the store holds no
    run of the study.
    """
    events = store.events()
    stamp = _as_run(lock, store, events)
    found = list(_inputs(compiled, lock, store, stamp, events))
    inputs_differ = bool(found)
    found += of_events(events)
    found += of_calls(store, stamp)
    found += of_digests(store, stamp, events)
    shown = check_ties(compiled.lock_path, compiled.source.path, folder, events, stamp, trust)
    found += shown.findings
    if not inputs_differ:
        plan = Plan(compiled.study)
        found += of_items(plan, store)
        found += _shown(plan, store)
        found += _samples(plan, store)
        if not found:
            found += of_reports(compiled, lock, store, folder, events)
            found += of_witness(plan, store, folder, events)
    if found:
        raise VerificationError(found)
    progress = store.progress(stamp)
    models = ", ".join(name for name, each in compiled.study.models.items() if each.files)
    finish = "the results digest is the recorded one"
    if not progress.complete:
        finish = (
            f"the run is incomplete: {progress.answered:,} of {progress.total:,} calls, no results digest"
        )
    return [
        "the spec, the templates and every item are the ones that were stamped",
        f"model files hashed: {models or 'none are here'}",
        f"{len(events)} events follow from one another",
        f"{progress.answered:,} of {progress.total:,} calls have an answer; requests and answers hash right",
        "the items with their groups and right options, and the samples, are those of the plan; scoring the "
        "answers again gives the same outcomes",
        finish,
        "the reports that are here say what the store says",
        *shown.lines,
    ]


def _as_run(lock: Lock, store: Store, events: Sequence[Event]) -> str:
    """The digest of the study that was last run under the lock: its stamp, unless it departs from it."""
    runs = [each.stamp for each in recorded(events, Stamped) if each.registered == lock.stamp]
    stamp = runs[-1] if runs else lock.stamp
    store.require(stamp)
    return stamp


def _inputs(
    compiled: Compiled, lock: Lock, store: Store, stamp: str, events: Sequence[Event]
) -> Iterator[Diagnostic]:
    where = str(compiled.lock_path)
    locks = [each.lock for each in recorded(events, Stamped, stamp)]
    if locks != [digest_bytes(lock.text().encode())]:
        yield Diagnostic("GC701", "the lock is not the one that the run started under", where)
    content = store.study(stamp)
    if digest(content) != stamp:
        yield Diagnostic("GC701", "the study in the store does not hash to its stamp", where)
    for path, ran, current in differences(content, compiled.study.stamped()):
        message = f"`{path}` is not what was run ({brief(ran, 24)}, now {brief(current, 24)})"
        yield Diagnostic("GC701", message, where)
    yield from reconcile(lock, compiled.study, log_path(compiled.source.path)).findings


def of_events(events: Sequence[Event]) -> Iterator[Diagnostic]:
    broken = first_break(events)
    if broken is not None:
        yield Diagnostic("GC702", f"event {broken} does not follow from the one before it")


def of_calls(store: Store, stamp: str) -> Iterator[Diagnostic]:
    for identifier, content in store.prompts():
        if _digest_of(content) != identifier:
            yield Diagnostic("GC703", f"prompt {identifier[:12]} has been changed")
    for call in store.calls(stamp):
        wrong = []
        if _digest_of(call.request) != call.id or json.loads(call.request)["prompt"] != call.prompt:
            wrong.append("request")
        if call.answer is not None and _digest_of(call.answer) != call.answer_digest:
            wrong.append("answer")
        for part in wrong:
            where = store.whereabouts(stamp, call.id)
            yield Diagnostic("GC703", f"the {part} of call {call.id[:12]} ({where}) has been changed")


def of_items(plan: Plan, store: Store) -> Iterator[Diagnostic]:
    """The groups of the items in the store against the study's: a recount from the store alone rests on
    them."""
    stored = store.groups(plan.study_digest)
    expected = sorted(row[1:] for row in item_rows(plan))
    if stored and stored != [tuple(row) for row in expected]:
        changed = next(ours for ours, theirs in zip_longest(expected, stored) if ours != theirs)
        name = "an item that is not in the study" if changed is None else f"{changed[0]}, item {changed[1]}"
        yield Diagnostic("GC704", f"{name}: the store does not have the groups of the study's items")


def _shown(plan: Plan, store: Store) -> Iterator[Diagnostic]:
    """Which options earn the point, by item and order, in the store against the study's."""
    stored = {row[:3]: row[3:] for row in store.shown(plan.study_digest)}
    expected = {tuple(row[1:4]): tuple(row[4:]) for row in shown_rows(plan)}
    for where in sorted(stored.keys() | expected.keys()) if stored else ():
        if stored.get(where) != expected.get(where):
            benchmark, item, order = where
            name = f"{benchmark}, item {item}, options {order}"
            yield Diagnostic("GC704", f"{name}: the store does not have the item as the study shows it")


def of_digests(store: Store, stamp: str, events: Sequence[Event]) -> Iterator[Diagnostic]:
    finishes = recorded(events, RunFinished, stamp)
    if not finishes:
        if store.progress(stamp).complete:
            yield Diagnostic("GC706", "every call has its answer, but no event records the results digest")
        return
    for name, actual in (("results", store.results_digest(stamp)), ("answers", store.answers_digest(stamp))):
        noted = getattr(finishes[-1], name)
        if noted != actual:
            message = f"the {name} hash to {actual[:12]}, recorded is {noted[:12]}"
            yield Diagnostic("GC706", message)


def _samples(plan: Plan, store: Store) -> Iterator[Diagnostic]:
    # A run that was stopped has answers that nobody has scored yet.
    progress = store.progress(plan.study_digest)
    finished = progress.answered == progress.total
    stored = {(each.cell, each.item, each.replicate): each for each in store.samples(plan.study_digest)}
    for cell in plan.cells():
        answers = {
            (item, replicate): found for item, replicate, found in store.answers(plan.study_digest, cell.key)
        }
        for sample in plan.samples(cell):
            where = (cell.key, sample.item.id, sample.replicate)
            name = f"{cell.key}, item {sample.item.id}, replicate {sample.replicate}"
            row = stored.pop(where, None)
            if row is None or row.calls != tuple(request.id for request in sample.requests):
                yield Diagnostic("GC704", f"{name}: the store does not have the calls of the plan")
                continue
            given = answers.get((sample.item.id, sample.replicate))
            expected: tuple[Any, ...] = (None, None, None)
            if given is not None and (row.score is not None or finished):
                again = score(cell.setting, sample.item, given)
                expected = (again.choice, again.score, canonical(again.evidence).decode())
            if (row.choice, row.score, row.evidence) != expected:
                yield Diagnostic("GC705", f"{name}: the stored outcome is not what the answer scores to")
    for cell_key, item, replicate in stored:
        yield Diagnostic("GC704", f"{cell_key}, item {item}, replicate {replicate}: not in the plan")


def of_reports(
    compiled: Compiled, lock: Lock, store: Store, folder: Path, events: Sequence[Event]
) -> Iterator[Diagnostic]:
    if not any((folder / name).is_file() for name in NAMES if name != "store.sqlite"):
        return
    plan = Plan(compiled.study)
    looks = [
        event.body
        for event in events
        if isinstance(event.body, InterimLook) and event.body.stamp == plan.study_digest
    ]
    explained: tuple[Attribution, ...] = ()
    if looks:
        # As recorded: a surrogate's trees need lightgbm, and need not be the same on another machine.
        explained = tuple(Attribution(**each) for each in looks[-1].attribution)
    expected = texts(find(compiled, lock, store, claimed(events, plan.study_digest), explained))
    for name, text in expected.items():
        path = folder / name
        if not path.is_file() or path.read_text("utf-8") == text:
            continue
        changed = ""
        if name.endswith(".json"):
            paths = [where for where, _, _ in _json_differences(path, text)]
            changed = f": {', '.join(paths[:5])}{' and more' if len(paths) > 5 else ''}"
        help_line = "`gridc report` writes it again from the store"
        yield Diagnostic("GC707", f"{name} is not what the store says{changed}", str(path), help=help_line)


def of_witness(plan: Plan, store: Store, folder: Path, events: Sequence[Event]) -> Iterator[Diagnostic]:
    """The race of `certify --until-decided`: what its file says is what was recorded, and running it again
    on the stored answers comes to the same."""
    path = folder / "witness.json"
    noted = [each.as_json() for each in recorded(events, Witnessed, plan.study_digest)]
    if path.is_file() and noted and _json_differences(path, json.dumps(noted[-1])):
        yield Diagnostic("GC707", "witness.json is not what the event chain recorded", str(path))
    if noted and not store.progress(plan.study_digest).unscored:
        again = document(plan, race_study(plan, from_store(store.outcomes(plan.study_digest))))
        if again["benchmarks"] != noted[-1]["benchmarks"]:
            yield Diagnostic("GC705", "the race on the stored answers comes to another certificate")


def _json_differences(path: Path, text: str) -> list[tuple[str, Any, Any]]:
    try:
        return differences(json.loads(path.read_text("utf-8")), json.loads(text))
    except ValueError:
        return [("not JSON", None, None)]


def _digest_of(answer: str) -> str | None:
    try:
        return digest(json.loads(answer))
    except ValueError:
        return None
