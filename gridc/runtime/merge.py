"""Stores of one study that were filled separately: merge their answers into one."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.runtime import judging
from gridc.runtime.blinding import JUDGING
from gridc.runtime.engines.protocol import differing_environments, environments_refusal, environments_words
from gridc.runtime.run import RunResult, conclude
from gridc.runtime.stages import later_waves, scaffolded
from gridc.runtime.store.earlier import earlier_answers
from gridc.runtime.store.events import (
    TAKEN,
    Merged,
    ModelLoaded,
    Observed,
    Sealed,
    bodies_of,
    first_break,
)
from gridc.runtime.store.reader import FAILURES
from gridc.runtime.store.store import Store
from gridc.runtime.store.write import Writer


def merge_stores(
    plan: Plan,
    lock: Lock,
    path: Path,
    others: list[Path],
    acknowledged: bool = False,
    notify: Callable[[str], None] = lambda _: None,
) -> RunResult:
    """Take into the store at `path` what other stores of the same study have answered and what they asked of
    providers, all or nothing, and score it. `notify` is told which store's run had not recorded its end, and
    the study's report too.

    Raises `StoreError` when a store cannot be used, has values that gridc does not write or is of another
    study, when its event chain is broken or its rows are not those that its run recorded at its end (nobody
    could tell behind the merge), when two stores have different answers to one call (which of them is right
    nobody can tell from here), and when they were computed in environments that differ, unless that is
    `acknowledged`.
    """
    with Writer(path) as store, store.all_or_nothing():
        store.ingest(plan, lock)
        reused = store.progress(plan.study_digest).answered
        _compare_environments(plan, store, others, acknowledged)
        for other in others:
            _take(plan, lock, store, other, notify)
        try:
            return conclude(plan, store, reused)
        except FAILURES:
            store.require_shape()  # while what was taken is still here
            raise


def _compare_environments(plan: Plan, store: Writer, others: list[Path], acknowledged: bool) -> None:
    """Record on what they differ, once."""
    loads = store.bodies_of(ModelLoaded, plan.study_digest)
    for path in others:
        with Store.open(path) as other:
            loads += other.bodies_of(ModelLoaded, plan.study_digest)
    noted = {event.detail for event in store.bodies_of(Observed, plan.study_digest)}
    for name, identity in plan.study.asked_models.items():
        for precision in sorted({load.precision for load in loads if load.identity == identity.digest}):
            key = identity.digest, precision
            unlike = differing_environments(
                load.ran for load in loads if (load.identity, load.precision) == key
            )
            sentence = environments_words(name, unlike)
            if unlike and not acknowledged:
                raise StoreError([environments_refusal(sentence)])
            if unlike and sentence not in noted:
                store.record(Observed(stamp=plan.study_digest, what="environments", detail=sentence))


def _copy(store: Writer, path: Path, theirs: Collection[str], mine: Collection[str]) -> int:
    """Take the answers that are there and not here to calls that are known here; how many."""
    new = [call for call in store.known(theirs) if call not in mine]
    if new:
        store.copy_answers(path, new)
    return len(new)


def _take(plan: Plan, lock: Lock, store: Writer, path: Path, notify: Callable[[str], None]) -> None:
    stamp = plan.study_digest
    with Store.open(path) as other:
        other.require(stamp)
        other.require_shape()
        events = other.events()
        broken = first_break(events)
        if broken is not None:
            message = f"event {broken} does not follow from the one before it"
            raise StoreError([Diagnostic("GC605", message, str(path))])
        earlier = earlier_answers(other, plan, lock)
        mine = dict(store.digests(stamp))
        theirs = dict(other.digests(stamp))
        both = sorted(call for call in mine.keys() & theirs.keys() if mine[call] != theirs[call])
        if both:
            where = store.whereabouts(stamp, both[0])
            message = (
                f"{len(both)} calls have an answer that differs from the one in the store, the first: {where}"
            )
            raise StoreError([Diagnostic("GC618", message, str(path))])
        finish = other.conclusion(stamp)
        known = finish is not None and finish.answered is not None  # else it cannot be told what came since
        if finish is not None and known:
            changed = list(other.departures(finish, other.results_digest(stamp)))
            if changed:
                raise StoreError([Diagnostic("GC706", problem, str(path)) for problem in changed])
    taken = _copy(store, path, theirs, mine)
    for wave in later_waves(
        store, stamp, scaffolded(plan)
    ):  # calls that follow from the answers that were taken
        taken += _copy(
            store, path, {call: theirs[call] for call in wave if call in theirs}, store.answers_of(wave)
        )
    for state in judging.judging_waves(plan, store):
        judge_calls = {ask.request.id for ask in state.asks}
        new = {call: theirs[call] for call in judge_calls if call in theirs}
        taken += _copy(store, path, new, store.answers_of(judge_calls))
    store.copy_attempts(path)
    if not taken:
        return
    kept = [{"kind": body.kind, **body.as_json()} for kind in TAKEN for body in bodies_of(events, kind)]
    sealed = [
        event.at
        for event in events
        if isinstance(event.body, Sealed) and (event.body.stamp, event.body.about) == (stamp, JUDGING)
    ]
    about: dict[str, Any] = {"sealed": sealed[0]} if sealed else {}
    about |= {"earlier": list(earlier)} if earlier else {}
    store.record(Merged(stamp=stamp, calls=taken, last_event=events[-1].digest, events=kept, **about))
    if not known:
        notify(f"{path}: {_tell_unfinished(store, stamp, taken, events[-1].digest)}")


def _tell_unfinished(store: Writer, stamp: str, calls: int, last_event: str) -> str:
    """Record what a part was taken on, which the study's report then says."""
    detail = (
        f"{calls:,} calls were merged from a store whose run had not recorded its end (its last event is "
        f"{last_event[:12]}): no digest shows that its rows are as they were answered"
    )
    store.record(Observed(stamp=stamp, what="merge", detail=detail))
    return detail
