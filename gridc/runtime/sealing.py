"""The steps of blinding, as they are written to a store: seal, lock, unblind. `blinding` says what of."""

import itertools
import secrets
from collections.abc import Mapping

from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, IncompleteError, StoreError
from gridc.runtime.blinding import JUDGING, Blind, Sheet, about_sheet, blind, draw_sheet, judged, order_seed
from gridc.runtime.store.events import Locked, Sealed, Unblinded
from gridc.runtime.store.write import Writer


def fresh() -> str:
    """A new secret: 32 bytes from the operating system, in hexadecimal."""
    return secrets.token_hex(32)


def begin(plan: Plan, store: Writer) -> Blind:
    """The study's responses for its judges, sealed in the event chain when this returns. Ask for it when
    every call of the candidates has its answer: the map holds all responses or none.

    Raises `StoreError` (GC614) where a map was sealed before that no longer fits the responses.
    """
    stamp, responses = plan.study_digest, list(judged(plan, store))
    nonce = store.nonce(stamp, JUDGING)
    if nonce is None:
        blinded = blind(stamp, JUDGING, order_seed(plan), fresh(), responses)
        store.seal(
            blinded.nonce, Sealed(stamp=stamp, about=JUDGING, seal=blinded.seal, responses=len(responses))
        )
        return blinded
    blinded = blind(stamp, JUDGING, order_seed(plan), nonce, responses)
    (sealed,) = [record for record in store.recorded(Sealed, stamp) if record.about == JUDGING]
    if sealed.seal != blinded.seal:
        message = "the map that was sealed before the first judgement is not that of the responses now"
        raise StoreError([Diagnostic("GC614", message)])
    return blinded


def lock(store: Writer, stamp: str, judgements: str, count: int, about: str = JUDGING) -> None:
    """Say in the chain which judgements are the final ones: their digest (`Store.judgements_digest`) and
    number. Doing it again changes nothing."""
    body = Locked(stamp=stamp, about=about, judgements=judgements, count=count)
    if body not in store.recorded(Locked, stamp):
        store.record(body)


def unblind(store: Writer, blinded: Blind, stamp: str) -> None:
    """Tell the secret in the chain, once the judgements are locked. Doing it again changes nothing."""
    if not any(record.about == blinded.about for record in store.recorded(Locked, stamp)):
        raise RuntimeError("the judgements are not locked")
    body = Unblinded(stamp=stamp, about=blinded.about, seal=blinded.seal, nonce=blinded.nonce)
    if body not in store.recorded(Unblinded, stamp):
        store.record(body)


def begin_sheet(plan: Plan, store: Writer, most: int) -> Sheet:
    """Draw the next sheet of the study for people, sealed in the event chain when this returns.

    Raises `IncompleteError` (GC660) where the run is incomplete, or no answer of it is a text.
    """
    stamp = plan.study_digest
    if not store.progress(stamp).complete:
        message = "the run is incomplete, so not every response can be drawn"
        raise IncompleteError([Diagnostic("GC660", message, help="`gridc run` resumes it")])
    drawn = {record.about for record in store.recorded(Sealed, stamp)}
    about = next(name for name in map(about_sheet, itertools.count(1)) if name not in drawn)
    sheet = draw_sheet(plan, store, about, fresh(), most)
    if not sheet.rows:
        raise IncompleteError(
            [Diagnostic("GC660", "no answer of this study is a text that people could label")]
        )
    body = Sealed(stamp=stamp, about=about, seal=sheet.blind.seal, responses=len(sheet.rows))
    store.seal(sheet.blind.nonce, body)
    return sheet


def take_labels(plan: Plan, store: Writer, sheet: Sheet, labels: Mapping[str, str]) -> None:
    """Store the labels of a whole sheet by UUID, lock them and open its map, all or nothing."""
    stamp = plan.study_digest
    with store.all_or_nothing():
        store.label(stamp, sheet.about, labels)
        lock(store, stamp, store.labels_digest(stamp, sheet.about), len(labels), sheet.about)
        unblind(store, sheet.blind, stamp)
