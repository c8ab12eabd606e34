"""The scheduler of judges: seal the map, judge wave by wave, lock the labels, open the map.

Judging begins when every response of the study is there. The map from identifiers to samples is sealed before
the first call. A wave holds what is known by now of what judges have to be asked; replies that cannot be read
lead to the next. The labels are locked when nothing is left to ask, and only then is the map opened.
"""

import itertools
import secrets
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping

from gridc.compiler.lowering.judging import Bench, JudgeCall, JudgingState, Response, benches, judged_by
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, IncompleteError, StoreError
from gridc.runtime.blinding import (
    JUDGING,
    BlindedResponses,
    SampleKey,
    Sheet,
    SheetDesign,
    about_sheet,
    about_votes,
    blind,
    blinded_name,
    draw_sheet,
    is_blinded,
    judged,
    order_seed,
    responses,
    sheet_at,
)
from gridc.runtime.engines.protocol import Engine
from gridc.runtime.stages import WHOLE, Open, Stage, lay_out_tasks
from gridc.runtime.store.events import Locked, Sealed, Unblinded
from gridc.runtime.store.reader import Labels, count_labels
from gridc.runtime.store.store import Store
from gridc.runtime.store.write import Writer

NO_TEXT = "no answer of this study is a text that people could label"


def fresh_secret() -> str:
    """A new secret: 32 bytes from the operating system, in hexadecimal."""
    return secrets.token_hex(32)


def begin_blinding(plan: Plan, store: Writer) -> BlindedResponses:
    """The study's responses for its judges, sealed in the event chain when this returns. Ask for it when
    every call of the candidates has its answer: the map holds all responses or none.

    Raises `StoreError` (GC614) where a map was sealed before that no longer fits the responses.
    """
    stamp, responses = plan.study_digest, list(judged(plan, store))
    nonce = store.nonce(stamp, JUDGING)
    if nonce is None:
        blinded = blind(stamp, JUDGING, order_seed(plan), fresh_secret(), responses)
        store.seal(
            blinded.nonce, Sealed(stamp=stamp, about=JUDGING, seal=blinded.seal, responses=len(responses))
        )
        return blinded
    blinded = blind(stamp, JUDGING, order_seed(plan), nonce, responses)
    (sealed,) = [record for record in store.bodies_of(Sealed, stamp) if record.about == JUDGING]
    if sealed.seal != blinded.seal:
        message = "the map that was sealed before the first judgement is not that of the responses now"
        raise StoreError([Diagnostic("GC614", message)])
    return blinded


def lock_labels(store: Writer, stamp: str, judgements: str, count: int, about: str = JUDGING) -> None:
    """Say in the chain which judgements are the final ones: their digest (`Store.judgements_digest`) and
    number. Doing it again changes nothing."""
    body = Locked(stamp=stamp, about=about, judgements=judgements, count=count)
    if body not in store.bodies_of(Locked, stamp):
        store.record(body)


def unblind(store: Writer, blinded: BlindedResponses, stamp: str) -> None:
    """Tell the secret in the chain, once the judgements are locked. Doing it again changes nothing."""
    if not any(record.about == blinded.about for record in store.bodies_of(Locked, stamp)):
        raise RuntimeError("the judgements are not locked")
    body = Unblinded(stamp=stamp, about=blinded.about, seal=blinded.seal, nonce=blinded.nonce)
    if body not in store.bodies_of(Unblinded, stamp):
        store.record(body)


def begin_sheet(plan: Plan, store: Writer, design: SheetDesign) -> Sheet:
    """Draw the next sheet of the study for people, sealed in the event chain when this returns.

    Raises `IncompleteError` (GC660) where the run is incomplete, or no answer of it is a text.
    """
    stamp, about = plan.study_digest, _next_sheet(plan, store, about_sheet)
    sheet = draw_sheet(plan, store, about, fresh_secret(), design)
    if not sheet.rows:
        raise IncompleteError([Diagnostic("GC660", NO_TEXT)])
    body = Sealed(
        stamp=stamp,
        about=about,
        seal=sheet.blind.seal,
        responses=len(sheet.rows),
        rows=design.rows,
        configurations=list(design.configurations),
    )
    store.seal(sheet.blind.nonce, body)
    return sheet


def require_finished(plan: Plan, store: Store) -> None:
    """Raises `IncompleteError` (GC660) where the run is incomplete."""
    if not store.progress(plan.study_digest).complete:
        message = "the run is incomplete, and people label the responses of a finished one"
        raise IncompleteError([Diagnostic("GC660", message, help="`gridc run` resumes it")])


def _next_sheet(plan: Plan, store: Store, name: Callable[[int], str]) -> str:
    """What the next sheet is called. Raises as `require_finished` does."""
    require_finished(plan, store)
    before = {record.about for record in store.bodies_of(Sealed, plan.study_digest)}
    return next(about for about in map(name, itertools.count(1)) if about not in before)


def take_votes(plan: Plan, store: Writer, votes: Mapping[SampleKey, Mapping[str, str]]) -> Sheet:
    """Store labels that people gave outside of gridc, by place and annotator, as a sheet of these responses:
    sealed, labelled, locked and opened, all or nothing.

    Raises `IncompleteError` (GC660) where the run is incomplete.
    """
    stamp, about, nonce = plan.study_digest, _next_sheet(plan, store, about_votes), fresh_secret()
    sheet = sheet_at(plan, store, about, nonce, SheetDesign(len(votes), given=True), votes)
    body = Sealed(stamp=stamp, about=about, seal=sheet.blind.seal, responses=len(sheet.rows))
    labels = {blinded_name(nonce, stamp, about, place): dict(given) for place, given in votes.items()}
    with store.all_or_nothing():
        store.seal(nonce, body)
        take_labels(plan, store, sheet, labels)
    return sheet


def take_labels(plan: Plan, store: Writer, sheet: Sheet, labels: Labels) -> None:
    """Store the labels of a whole sheet, lock them and open its map, all or nothing."""
    stamp = plan.study_digest
    with store.all_or_nothing():
        store.label(stamp, sheet.about, labels)
        lock_labels(store, stamp, store.labels_digest(stamp, sheet.about), count_labels(labels), sheet.about)
        unblind(store, sheet.blind, stamp)


def judging_waves(plan: Plan, store: Writer) -> Iterator[JudgingState]:
    """What is known of judging, once for each wave. Every call that it asks is in the store; the next wave is
    asked for when those of this one have been answered. The last one is complete, or waits for a call that
    was not answered here. There is none while responses are missing."""
    given = _in_order(plan, store)
    if given is None:
        return
    before = -1
    while True:
        state = judged_by(plan.study, given, store.answer_to)
        store.extend_judgements(plan.study_digest, state.asks)
        yield state
        replies = sum(ask.verdict is not None for ask in state.asks)
        if state.complete or replies == before:
            return
        before = replies


def _in_order(plan: Plan, store: Writer) -> list[Response] | None:
    """The responses in the order in which they are judged; None while some are missing."""
    given = responses(plan, store)
    if given is None or not is_blinded(plan):
        return given
    places = begin_blinding(plan, store)
    by_key = {response.key: response for response in given}
    return [by_key[places.places[response.uuid]] for response in places.responses]


def calls_so_far(plan: Plan, store: Writer) -> tuple[JudgeCall, ...]:
    """What judges were asked, with what each reply was read to."""
    given = _in_order(plan, store)
    return () if given is None else judged_by(plan.study, given, store.answer_to).asks


def stages(plan: Plan, store: Writer, open_engine: Open) -> Generator[list[Stage], None, None]:
    """The stages of each wave, one for each model that judges in it, with what it has to do, while there is
    something. Ask for the next wave when one is done."""
    engines: dict[tuple[str, str], Engine] = {}
    try:
        for state in judging_waves(plan, store):
            wanted: dict[tuple[str, str], dict[str, str]] = {}
            for ask in state.asks:
                if ask.verdict is None:
                    key = ask.request.model, ask.request.precision
                    wanted.setdefault(key, {}).setdefault(ask.request.id, ask.assessor)
            wave = []
            for number, ((identity, precision), calls) in enumerate(wanted.items()):
                name = next(iter(calls.values()))
                if (identity, precision) not in engines:
                    opened = open_engine(name, plan.study.judges[name], precision, plan.study.spec)
                    engines[identity, precision] = opened
                engine = engines[identity, precision]
                about = plan.study_digest, identity, precision
                total, _ = store.lay_out(number, *about, calls, ordered=True)
                costs, left, _ = lay_out_tasks(store, number, total, engine, WHOLE, may_fail=True)
                wave.append(
                    Stage(number, name, identity, precision, engine, total, len(costs), sum(costs), left)
                )
            if wave:
                yield wave
    finally:
        for engine in engines.values():
            engine.close()


def close(plan: Plan, store: Writer, state: JudgingState, score: Callable[[], None]) -> None:
    """Lock the labels, open the map, and score: in this order, so that no label can follow a score, and what
    is scored is known by its condition only then."""
    if is_blinded(plan):
        stamp = plan.study_digest
        lock_labels(store, stamp, store.judgements_digest(stamp), len(state.rulings))
        unblind(store, begin_blinding(plan, store), stamp)
    score()


NO_REPLY = ("no answer", "no response", "no other response")
"""Failures of a judge that said nothing: its call failed for good, or there was nothing to judge."""


def require_read(plan: Plan, state: JudgingState) -> None:
    """Raises `IncompleteError` (GC622) where a judge replied and gave no label at all."""
    problems = [_unread(bench, state) for bench in benches(plan.study)]
    if any(problems):
        raise IncompleteError([problem for problem in problems if problem is not None])


def _unread(bench: Bench, state: JudgingState) -> Diagnostic | None:
    """What to say of a judge, and of those who judge in its stead or beside it, none of whom gave a label."""
    mine = [ask for ask in state.asks if ask.assessor in bench.assessors and ask.judge != bench.guesser]
    read = [ask.verdict for ask in mine if ask.verdict is not None and ask.verdict.failure not in NO_REPLY]
    if not read or any(verdict.label is not None for verdict in read):
        return None
    (why, count), *_ = Counter(verdict.failure for verdict in read).most_common(1)
    message = f"none of the {len(read):,} replies of `{bench.name}` has a label: {count:,} are `{why}`"
    ways = {
        "prose": 'say where its label stands: reply = "brackets", "verdict" or "last_line"',
        "cut off": "raise `max_tokens` of the judge, which thinks or explains before its label",
        "other label": "have the rubric name the labels as the spec does",
    }
    help = ways.get(str(why), "docs/judging.md says what a reply is")
    return Diagnostic("GC622", message, help=f"{help}; `gridc show` prints what the judge is asked")
