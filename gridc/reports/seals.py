"""Blinding, checked: the seal is before the first label, the map opens it, and no label is after the lock.

Each check yields its findings. They rest on the event chain and on the dates of calls, so they name whoever
breaks the rules and leaves the record as it is; who builds chain and dates anew passes, and is met by ties to
a time alone (docs/threat-model.md).
"""

from collections.abc import Iterator, Sequence

from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic
from gridc.runtime.blinding import JUDGING, blind, draw_sheet, judged, order_seed
from gridc.runtime.judgements import hides
from gridc.runtime.store.events import Event, Locked, Merged, Sealed, Unblinded
from gridc.runtime.store.store import Store


def of_blinding(plan: Plan, store: Store, events: Sequence[Event]) -> Iterator[Diagnostic]:
    """Everything that differs, of the judging and of every sheet for people."""
    chain = [event for event in events if event.body.stamp == plan.study_digest]
    yield from of_dates(plan, store, chain)
    yield from of_maps(plan, store, chain)
    yield from of_labels(plan, store, chain)
    yield from of_order(plan, store, chain)


def of_dates(plan: Plan, store: Store, chain: Sequence[Event]) -> Iterator[Diagnostic]:
    """Replies of judges are dated between seal and lock, those that a merge took behind the seal of the other
    store. A clock that was set back can do the same."""
    first, last = store.judged_between(plan.study_digest)
    if not hides(plan) or first is None or last is None:
        return
    sealed, locked = (_first(chain, kind) for kind in (Sealed, Locked))
    elsewhere = [event.body.sealed for event in chain if isinstance(event.body, Merged) and event.body.sealed]
    if sealed is None:
        yield Diagnostic("GC710", "judges were asked, and no map was sealed before")
    elif first < min([sealed.at, *elsewhere]):
        message = f"a judge's reply is dated {first}, before the map was sealed ({sealed.at})"
        yield Diagnostic("GC710", message)
    if locked is not None and last > locked.at:
        message = f"a judge's reply is dated {last}, after the labels were locked ({locked.at})"
        yield Diagnostic("GC710", message)


def _first(chain: Sequence[Event], kind: type[Sealed] | type[Locked]) -> Event | None:
    """The event of a kind that is about the judging."""
    return next(
        (event for event in chain if isinstance(event.body, kind) and event.body.about == JUDGING), None
    )


def of_maps(plan: Plan, store: Store, chain: Sequence[Event]) -> Iterator[Diagnostic]:
    """Every sealed map, made again from its secret: UUIDs, places, order and texts are those of the seal."""
    stamp = plan.study_digest
    for event in chain:
        if not isinstance(event.body, Sealed):
            continue
        about, nonce = event.body.about, store.nonce(stamp, event.body.about)
        if nonce is None:
            yield Diagnostic("GC711", f"{about}: the secret of the sealed map is not in the store")
            continue
        if about == JUDGING:
            made = blind(stamp, about, order_seed(plan), nonce, list(judged(plan, store)))
        else:
            made = draw_sheet(plan, store, about, nonce, event.body.responses).blind
        if about != JUDGING and store.labels(stamp, about).keys() - {one.uuid for one in made.responses}:
            yield Diagnostic("GC712", f"{about}: there are labels of responses that are not on the sheet")
        opening = [record.body for record in chain if isinstance(record.body, Unblinded)]
        stated = {(opened.nonce, opened.seal) for opened in opening if opened.about == about}
        if len(made.responses) != event.body.responses:
            yield Diagnostic(
                "GC711", f"{about}: the sealed map has another number of responses than the seal"
            )
        if made.seal != event.body.seal or stated - {(nonce, made.seal)}:
            yield Diagnostic("GC711", f"{about}: the map that the store opens is not the one that was sealed")


def of_labels(plan: Plan, store: Store, chain: Sequence[Event]) -> Iterator[Diagnostic]:
    """The labels in the store are those that were locked."""
    stamp = plan.study_digest
    for event in chain:
        if isinstance(event.body, Locked):
            about = event.body.about
            judging = about == JUDGING
            now = store.judgements_digest(stamp) if judging else store.labels_digest(stamp, about)
            if now != event.body.judgements:
                yield Diagnostic("GC712", f"{about}: the labels are not those that were locked")
            there = store.judged_responses(stamp) if judging else len(store.labels(stamp, about))
            if there != event.body.count:
                message = (
                    f"{about}: the lock counts {event.body.count} labelled responses, and there are {there}"
                )
                yield Diagnostic("GC712", message)


def of_order(plan: Plan, store: Store, chain: Sequence[Event]) -> Iterator[Diagnostic]:
    """A map is sealed, labels are locked, the map is opened: each once, in this order, and what people said
    is there only behind a lock."""
    steps: tuple[type[Sealed] | type[Locked] | type[Unblinded], ...] = (Sealed, Locked, Unblinded)
    abouts = dict.fromkeys(event.body.about for event in chain if isinstance(event.body, steps))
    for about in abouts:
        mine = [
            type(event.body) for event in chain if isinstance(event.body, steps) and event.body.about == about
        ]
        if mine != list(steps[: len(mine)]):
            kinds = ", ".join(kind.kind for kind in mine)
            message = f"{about}: the events are {kinds}; their order is seal, lock, unblind, each once"
            yield Diagnostic("GC713", message)
    locked = {event.body.about for event in chain if isinstance(event.body, Locked)}
    for about in abouts:
        if about not in locked and about != JUDGING and store.labels(plan.study_digest, about):
            yield Diagnostic("GC713", f"{about}: there are labels, and no event locks them")
    if hides(plan) and store.judged_scores(plan.study_digest) and not _opened(chain):
        yield Diagnostic("GC713", "responses have the scores of their labels, and no event opens the map")


def _opened(chain: Sequence[Event]) -> bool:
    return any(isinstance(event.body, Unblinded) and event.body.about == JUDGING for event in chain)
