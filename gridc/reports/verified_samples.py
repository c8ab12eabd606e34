"""Samples and outcomes of a store against the plan and the answers, and blinding against its seals.

Blinding keeps three rules: the seal is before the first label, the map opens it, and no label is after the
lock.

Each check yields its findings. They rest on the event chain and on the dates of calls, so they name whoever
breaks the rules and leaves the record as it is. Whoever makes a new chain with new dates passes these checks;
only ties to a time stop that (docs/threat-model.md).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.scorers import scorer_failure
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.points import ScorerError
from gridc.compiler.lowering.calls import PlannedSample
from gridc.compiler.lowering.judging import JudgingState, is_judged
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic
from gridc.runtime.blinding import (
    JUDGING,
    BlindedResponses,
    SampleKey,
    SheetDesign,
    blind,
    blinded_name,
    draw_sheet,
    drawn_places,
    is_blinded,
    judged,
    order_seed,
    places_of,
    seen_as_answered,
)
from gridc.runtime.store.digests import CellResults
from gridc.runtime.store.events import Event, Locked, Merged, Sealed, Unblinded
from gridc.runtime.store.reader import CheckedSample, count_labels
from gridc.runtime.store.store import Store
from gridc.schema.canonical import canonical


def of_samples(
    plan: Plan, store: Store, concluded: bool, judgements: JudgingState | None, outcomes: CellResults
) -> Iterator[Diagnostic]:
    """The samples against the plan's, and each outcome against what its answers score to. A run that is under
    way, or was stopped, has answers that nobody has scored or judged yet. What is stored is added to
    `outcomes`, so that it is read once."""
    rulings = judgements.rulings if judgements is not None and judgements.complete else None
    for cell in sorted(plan.cells(), key=attrgetter("key")):
        key, last, scored = cell.key, "", dict[tuple[str, ...], _Outcome]()
        refused = METHODS[cell.setting.method].scored and plan.study.scorers.refused(cell.setting.scorer)
        for where, sample, stored in _side_by_side(
            plan.samples(cell, by_id=True), store.samples_of(plan.study_digest, key)
        ):
            if stored is None:
                message = f"{_name(cell, *where)}: the plan has this sample, and the store does not"
                yield Diagnostic("GC704", message)
                continue
            if stored.calls:
                outcomes.add(key, *where, stored.result, stored.score)
            if sample is None:
                yield Diagnostic(
                    "GC704", f"{_name(cell, *where)}: the store has this sample, and the plan does not"
                )
                continue
            if not _asked(sample, stored, store, concluded):
                message = f"{_name(cell, *where)}: the stored calls are not those of the plan"
                yield Diagnostic("GC704", message)
                continue
            if stored.item != last:
                last, scored = stored.item, {}  # replicates often answer alike
            outcome, expected = stored[2:5], _UNSCORED
            if refused and outcome != _UNSCORED:
                continue  # the person did not let the function run here, and `unscored_here` says so
            answers = tuple([answer for answer in stored.answers if answer is not None])
            whole = len(answers) == len(stored.answers) and not (is_judged(cell) and rulings is None)
            if whole and (concluded or outcome != _UNSCORED):
                ruling = None if rulings is None else rulings.get((key, *where))
                given = answers if ruling is None else (*answers, repr(ruling))
                if given not in scored:
                    documents = [json.loads(answer) for answer in answers]
                    try:
                        again = plan.score(cell, sample.item, documents, ruling)
                    except ScorerError as error:
                        yield scorer_failure(error)
                        continue
                    scored[given] = (again.choice, again.score, canonical(again.evidence).decode())
                expected = scored[given]
            if outcome != expected:
                message = f"{_name(cell, *where)}: the stored outcome is not what the answer scores to"
                yield Diagnostic("GC705", message)
        outcomes.end(key)


def unscored_here(plan: Plan) -> list[str]:
    """The scores that were not made again, a sentence each: nobody here let the function run."""
    kept: dict[str, list[str]] = {}
    for cell in plan.cells():
        refused = METHODS[cell.setting.method].scored and plan.study.scorers.refused(cell.setting.scorer)
        if refused:
            kept.setdefault(f"{refused.name} ({refused.pair})", []).append(cell.benchmark)
    return [
        f"NOT made again: the scores of {', '.join(dict.fromkeys(names))}, because nobody here consented to "
        f"run {file}; all else is recomputed from them"
        for file, names in kept.items()
    ]


def _side_by_side(
    planned: Iterator[PlannedSample], stored: Iterator[CheckedSample]
) -> Iterator[tuple[tuple[str, int], PlannedSample | None, CheckedSample | None]]:
    """(item, replicate) in order with the sample of the plan and that of the store, and None for one that a
    side lacks. Both come in this order."""
    row = next(stored, None)
    for sample in planned:
        where = sample.item.id, sample.replicate
        while row is not None and row[:2] < where:
            yield row[:2], None, row
            row = next(stored, None)
        if row is None or row[:2] > where:
            yield where, sample, None
        else:
            yield where, sample, row
            row = next(stored, None)
    while row is not None:
        yield row[:2], None, row
        row = next(stored, None)


_Outcome = tuple[int | None, int | None, str | None]
_UNSCORED: _Outcome = (None, None, None)


def _name(cell: Cell, item: str, replicate: int) -> str:
    return f"{cell.key}, item {item}, replicate {replicate}"


def _asked(sample: PlannedSample, stored: CheckedSample, store: Store, concluded: bool) -> bool:
    """Whether the stored calls are those that the plan asks, each under its step: of a scaffold, those that
    follow from the stored answers. While a run is under way the last ones may not be written yet."""
    if sample.scaffolded is None:
        planned = tuple([request.id for request in sample.requests])
        return stored.calls == planned and stored.steps == (None,) * len(planned)
    rows = sample.trace(store.answer_to).rows
    expected = [(request.id, name) for name, request in rows]
    stored_calls = list(zip(stored.calls, stored.steps, strict=True))
    if concluded:
        return stored_calls == expected
    return len(stored_calls) >= len(sample.requests) and stored_calls == expected[: len(stored_calls)]


def of_blinding(
    plan: Plan, store: Store, events: Sequence[Event], without_items: bool = False
) -> Iterator[Diagnostic]:
    """Everything that differs, of the judging and of every sheet for people. `without_items`, as in a bundle,
    the texts in a sealed map are known only where judges see responses as they were answered."""
    chain = [event for event in events if event.body.stamp == plan.study_digest]
    yield from of_dates(plan, store, chain)
    yield from of_maps(plan, store, chain, without_items)
    yield from of_labels(plan, store, chain)
    yield from event_order_faults(plan, store, chain)


def of_dates(plan: Plan, store: Store, chain: Sequence[Event]) -> Iterator[Diagnostic]:
    """Replies of judges are dated between seal and lock, those that a merge took behind the seal of the other
    store. A clock that was set back can do the same."""
    first, last = store.judged_between(plan.study_digest)
    if not is_blinded(plan) or first is None or last is None:
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


def of_maps(
    plan: Plan, store: Store, chain: Sequence[Event], without_items: bool = False
) -> Iterator[Diagnostic]:
    """Every sealed map, made again from its secret: UUIDs, places, order and texts are those of the seal.
    Where that takes items that are not here, the number of places is, labels are of places, and what was
    opened is what the store and the seal say."""
    stamp = plan.study_digest
    for event in chain:
        if not isinstance(event.body, Sealed):
            continue
        about, nonce = event.body.about, store.nonce(stamp, event.body.about)
        if nonce is None:
            yield Diagnostic("GC711", f"{about}: the secret of the sealed map is not in the store")
            continue
        if without_items and takes_items(plan, about):
            seal, uuids = event.body.seal, _uuids(plan, store, event.body, nonce)
        else:
            made, allowed = _made(plan, store, event.body, nonce)
            seal, uuids = made.seal, set(made.places)
            said = store.labels(stamp, about) if about != JUDGING else {}
            if any(not set(labels.values()) <= allowed.get(uuid, set()) for uuid, labels in said.items()):
                yield Diagnostic("GC712", f"{about}: there are labels that the sheet does not offer")
        if about != JUDGING and store.labels(stamp, about).keys() - uuids:
            yield Diagnostic("GC712", f"{about}: there are labels of responses that are not on the sheet")
        opening = [record.body for record in chain if isinstance(record.body, Unblinded)]
        stated = {(opened.nonce, opened.seal) for opened in opening if opened.about == about}
        if len(uuids) != event.body.responses:
            yield Diagnostic(
                "GC711", f"{about}: the sealed map and the seal have different numbers of responses"
            )
        if seal != event.body.seal or stated - {(nonce, seal)}:
            yield Diagnostic("GC711", f"{about}: the map that the store opens is not the one that was sealed")


def takes_items(plan: Plan, about: str) -> bool:
    """Whether the texts of a sealed map take the items: what is on a sheet is sanitised, and so is what
    judges see where the study says so; a conversation is told by its prompts."""
    return about != JUDGING or not all(
        seen_as_answered(plan, cell) for cell in plan.cells() if is_judged(cell)
    )


def _made(
    plan: Plan, store: Store, sealed: Sealed, nonce: str
) -> tuple[BlindedResponses, dict[str, set[str]]]:
    """A map, and of a sheet for people the labels that it offers for each response."""
    if sealed.about != JUDGING:
        sheet = draw_sheet(plan, store, sealed.about, nonce, SheetDesign.of(sealed))
        return sheet.blind, {row.uuid: set(row.labels) for row in sheet.rows}
    return blind(plan.study_digest, JUDGING, order_seed(plan), nonce, list(judged(plan, store))), {}


def _uuids(plan: Plan, store: Store, sealed: Sealed, nonce: str) -> set[str]:
    """The UUIDs of a map, which no text enters."""
    places: Iterable[SampleKey]
    if sealed.about != JUDGING:
        places = drawn_places(plan, store, sealed.about, nonce, SheetDesign.of(sealed))
    else:
        cells = (cell for cell in plan.cells() if is_judged(cell))
        places = (place for cell in cells for place in places_of(plan, store, cell))
    return {blinded_name(nonce, plan.study_digest, sealed.about, place) for place in places}


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
            there = store.judged_responses(stamp) if judging else count_labels(store.labels(stamp, about))
            if there != event.body.count:
                message = (
                    f"{about}: the lock counts {event.body.count} labelled responses, and there are {there}"
                )
                yield Diagnostic("GC712", message)


def event_order_faults(plan: Plan, store: Store, chain: Sequence[Event]) -> Iterator[Diagnostic]:
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
    locked, opened = (
        {event.body.about for event in chain if isinstance(event.body, kind)} for kind in (Locked, Unblinded)
    )
    for about in abouts:
        if about != JUDGING and store.labels(plan.study_digest, about):
            if about not in locked:
                yield Diagnostic("GC713", f"{about}: there are labels, but no event locks them")
            elif about not in opened:
                yield Diagnostic("GC713", f"{about}: labels are locked, but no event opens the map")
    if is_blinded(plan) and store.judged_scores(plan.study_digest) and not _opened(chain):
        yield Diagnostic(
            "GC713", "responses are scored by their labels, but no event records that the map was opened"
        )


def _opened(chain: Sequence[Event]) -> bool:
    return any(isinstance(event.body, Unblinded) and event.body.about == JUDGING for event in chain)
