"""Finds answers to a study's items that are older than its lock: under stamps that the lock replaced, and
under any others in its store.

A question is the same where its text and choices are, in whatever benchmark and by whatever template it is
asked, and whichever answer is said to be right; else where the item is the same to the letter. A model is the
same where its files are, or its commit, or its name at an address, however it is asked.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from gridc.compiler.inputs.models import without_asking
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.runtime.store.events import (
    Event,
    InterimLook,
    Merged,
    RunStarted,
    Stamped,
    before_reports,
    steps_back,
    to_the_second,
)
from gridc.runtime.store.items import question_rows
from gridc.runtime.store.reader import FAILURES, RECORDED
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest
from gridc.schema.deviation import EarlierAnswersRow

PlaceOfItem = tuple[str, str]
"""A benchmark of a study, and the name of an item in it."""


def earlier_answers(store: Store, plan: Plan, lock: Lock) -> tuple[EarlierAnswersRow, ...]:
    """Of each other study in the store, the oldest first, and behind these of those in stores that were
    merged into it, and of those whose rows are not here, as in the store of a bundle, what the last report
    noted. The plan need not be in the store.

    Raises `StoreError` (GC605) where what a study in the store stamped cannot be read."""
    others = [stamp for stamp in store.stamps() if stamp != plan.study_digest]
    rows = {other: row for other in others if (row := _of_study(store, plan, lock, other)) is not None}
    for merged in store.bodies_of(Merged, plan.study_digest):
        for told in merged.earlier:
            here = rows.get(told.stamp)
            if here is None or here.before_stamp < told.before_stamp:
                rows[told.stamp] = told
    for noted in _noted(store, plan.study_digest):
        if noted.stamp not in others:
            rows.setdefault(noted.stamp, noted)
    return tuple(rows.values())


RECORDED_AS = "earlier"
"""The name under which a report notes these rows."""
_ROWS = TypeAdapter(tuple[EarlierAnswersRow, ...])


def _noted(store: Store, stamp: str) -> tuple[EarlierAnswersRow, ...]:
    """What the last report noted. Raises `StoreError` (GC605) for what gridc does not write there."""
    looks = [event.body for event in store.events() if event.body.stamp == stamp]
    last = next((body for body in reversed(looks) if isinstance(body, InterimLook)), None)
    try:
        return () if last is None else _ROWS.validate_json(last.recorded.get(RECORDED_AS) or "[]")
    except ValueError:
        message = "what the last report noted of earlier studies cannot be read"
        raise StoreError([Diagnostic("GC605", message, str(store.path))]) from None


def _of_study(store: Store, plan: Plan, lock: Lock, other: str) -> EarlierAnswersRow | None:
    content = store.document(other)
    if RECORDED in content:
        return None
    try:
        models = _same_models(plan.study.stamped(), content)
        items = _same_items(plan, content, store.questions(other))
    except FAILURES as error:
        message = f"what the study {other[:12]} stamped cannot be read ({type(error).__name__})"
        raise StoreError([Diagnostic("GC605", message, str(store.path))]) from None
    own = next((datetime.fromisoformat(at) for at, _ in store.finished(plan.study_digest)), None)
    events, made = before_reports(store.events()), to_the_second(lock.created)
    ordered = _stands_before(events, other, plan.study_digest) if steps_back(events) else None
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    answered: set[PlaceOfItem] = set()
    for call, finished, benchmark, item, shared in store.answers_to(
        other, models, items.keys(), plan.study_digest
    ):
        moment = datetime.fromisoformat(finished)
        # A lock is dated to the second. What this study asks too came after it in that second, as a run that
        # begins at once; what only the other one asked came before, as nobody stamps and runs both in one.
        older = moment < made if shared else to_the_second(finished) <= made
        if ordered is not None:
            older = ordered and not shared
        if older:
            before[call] = finished
            answered |= items[benchmark, item]
        elif not shared and (own is None or moment < own):
            after[call] = finished
    if not before and not after:
        return None
    (row,) = store.rows_of("study", other)
    stamps = {other, *(start.registered for start in store.bodies_of(Stamped, other))}
    dates = sorted([*before.values(), *after.values()], key=datetime.fromisoformat)
    return EarlierAnswersRow(
        stamp=other,
        created=row["created"],
        superseded=not stamps.isdisjoint(earlier.stamp for earlier in lock.supersedes),
        before_stamp=len(before),
        after_stamp=len(after),
        items=len(answered),
        first=dates[0],
        last=dates[-1],
    )


def _stands_before(events: Sequence[Event], other: str, stamp: str) -> bool:
    """Whether the chain has everything that was done for another study before it has this one: where dates
    show no order, it does."""
    done = [
        event.seq
        for event in events
        if isinstance(event.body, Stamped | RunStarted | Merged) and event.body.stamp == other
    ]
    began = [event.seq for event in events if isinstance(event.body, Stamped) and event.body.stamp == stamp]
    return not began or max(done, default=began[0]) < began[0]


def _same_models(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> set[str]:
    """The identities of the other study's models that are this study's too."""
    known = {digest(without_asking(manifest)) for manifest in mine["inputs"]["models"].values()}
    return {
        digest(manifest)
        for manifest in theirs["inputs"]["models"].values()
        if digest(without_asking(manifest)) in known
    }


def _same_items(
    plan: Plan, theirs: Mapping[str, Any], questions: Iterable[tuple[Any, ...]]
) -> dict[PlaceOfItem, set[PlaceOfItem]]:
    """By place in the other study: the items of this one that are asked there."""
    mine: dict[object, set[PlaceOfItem]] = {}
    for key, place in (*_asking(row[1:] for row in question_rows(plan)), *_literal(plan.study.stamped())):
        mine.setdefault(key, set()).add(place)
    same: dict[PlaceOfItem, set[PlaceOfItem]] = {}
    for key, place in (*_asking(questions), *_literal(theirs)):
        if key in mine:
            same.setdefault(place, set()).update(mine[key])
    return same


def _asking(questions: Iterable[Sequence[Any]]) -> Iterator[tuple[object, PlaceOfItem]]:
    """Items by what they ask, from rows of `question`; none where that is not known."""
    for benchmark, item, text, choices, _ in questions:
        if text or choices:
            yield (text, choices), (benchmark, item)


def _literal(content: Mapping[str, Any]) -> Iterator[tuple[object, PlaceOfItem]]:
    """Items by their digests in a stamp, which has them in every order of their options."""
    for benchmark, manifest in content["inputs"]["benchmarks"].items():
        for order in manifest.get("items", {}).values():
            for item, value in order.items():
                yield value, (benchmark, item)
