"""Stores of one study that were filled apart: take the answers of the others into one."""

from collections.abc import Collection
from pathlib import Path

from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.runtime.run import Finished, conclude
from gridc.runtime.scaffolds import scaffolded, waves
from gridc.runtime.store.events import Merged, ModelLoaded, NoiseMeasured, first_break
from gridc.runtime.store.store import Store
from gridc.runtime.store.write import Writer


def merge(plan: Plan, lock: Lock, path: Path, others: list[Path]) -> Finished:
    """Take into the store at `path` what other stores of the same study have answered.

    Raises `StoreError` when a store cannot be used or is of another study, when its event chain is
    broken, and when two stores have different answers to one call: which of them is right nobody can
    tell from here.
    """
    with Writer(path) as store:
        store.ingest(plan, lock)
        reused = store.progress(plan.study_digest).answered
        for other in others:
            _take(plan, store, other)
        return conclude(plan, store, reused)


def _copy(store: Writer, path: Path, theirs: Collection[str], mine: Collection[str]) -> int:
    """Take the answers that are there and not here to calls that are known here; how many."""
    new = [call for call in store.known(theirs) if call not in mine]
    if new:
        store.copy_answers(path, new)
    return len(new)


def _take(plan: Plan, store: Writer, path: Path) -> None:
    stamp = plan.study_digest
    with Store.open(path) as other:
        other.require(stamp)
        events = other.events()
        broken = first_break(events)
        if broken is not None:
            message = f"event {broken} does not follow from the one before it"
            raise StoreError([Diagnostic("GC605", message, str(path))])
        mine = dict(store.digests(stamp))
        theirs = dict(other.digests(stamp))
        both = sorted(call for call in mine.keys() & theirs.keys() if mine[call] != theirs[call])
        if both:
            where = store.whereabouts(stamp, both[0])
            message = f"{len(both)} calls have another answer than in the store, the first: {where}"
            raise StoreError([Diagnostic("GC618", message, str(path))])
    taken = _copy(store, path, theirs, mine)
    for wave in waves(store, stamp, scaffolded(plan)):  # calls that follow from the answers that were taken
        taken += _copy(
            store, path, {call: theirs[call] for call in wave if call in theirs}, store.answers_of(wave)
        )
    if not taken:
        return
    kept = [
        {"kind": e.kind, **e.body.as_json()}
        for e in events
        if e.kind in (ModelLoaded.kind, NoiseMeasured.kind)
    ]
    store.record(Merged(stamp=stamp, calls=taken, last_event=events[-1].digest, events=kept))
