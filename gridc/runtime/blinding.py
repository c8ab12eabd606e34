"""Blinding: the identifiers, made with a secret, under which a judge sees responses, so that nothing names a
cell (DESIGN 6.4); sheets for people; and what the judges come to.

Every response gets a UUID under a secret number. The map from UUIDs to cells is sealed in the event chain
before the first judgement, and opened only after the judgements are locked:

    begin    draw the secret, seal the map; on resume the same again    event `seal`
    lock     no judgement is added or changed any more                  event `lock`
    unblind  the secret is told, so that everybody can make the map     event `unblind`

`runtime.judging` writes these events. Here is what they are about, which reports and `verify` compute again.

A UUID is an HMAC of the response's place under the secret. So the secret, 64 characters, stands for the whole
map; a resumed run makes the same one; and nobody can choose a UUID that says something.

The UUID is for rows, sheets and people. It is not in what a model is asked: it would change the answer, and
with it the results, from one run of a study to the next.

A human audit is a random sample of responses for people to label, who see what a judge sees. Its sheet
has a map of its own, sealed when it is drawn and opened when its labels are taken back. Which responses are
drawn follows from the secret, so that nobody can foresee it, and once the map is open everybody can draw them
again.
"""

import hmac
import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product
from typing import Any, NamedTuple
from uuid import UUID

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.render import render_prompt
from gridc.compiler.instrument.sanitise import (
    ResponseContext,
    Sanitised,
    known_of,
    response_reading,
    sanitise,
)
from gridc.compiler.instrument.scaffolds.turns import Messages, conversation, transcript
from gridc.compiler.instrument.score import before_stop
from gridc.compiler.lowering.judging import JudgingState, Key, Response, is_judged, judged_by
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.runtime.store.events import Sealed, Unblinded
from gridc.runtime.store.store import Store
from gridc.schema.canonical import canonical, digest, digest_bytes
from gridc.schema.judging import REFERENCE
from gridc.schema.spec import Spec
from gridc.statistics.reproducibility import in_drawn_order

JUDGING = "judging"
"""What the map of the judges' responses is for; a sheet for people has a map of its own."""

SampleKey = tuple[str, str, int]
"""Cell key, item, replicate: what a judge may not know."""


@dataclass(frozen=True, slots=True)
class BlindedResponse:
    """A response to be judged, where it stands, and its text as a judge may see it. `removed` counts what was
    taken out, by class, and `kept` what stayed because the response would have read otherwise."""

    place: SampleKey
    benchmark: str
    text: str
    removed: Mapping[str, int]
    kept: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Blinded:
    """A response as a judge sees it: nothing here says which configuration or model it came from. `order` is
    its number in the judging, from 0."""

    uuid: str
    benchmark: str
    item: str
    text: str
    order: int


@dataclass(frozen=True, slots=True)
class BlindedResponses:
    """The blinded responses in judging order, the places behind their UUIDs, and the secret."""

    about: str
    nonce: str
    responses: tuple[Blinded, ...]
    places: Mapping[str, SampleKey]
    document: Mapping[str, Any]

    @property
    def seal(self) -> str:
        """SHA-256 of the map with its secret, order and texts: it tells nothing and leaves no choice."""
        return digest(self.document)


def blinded_name(nonce: str, stamp: str, about: str, place: SampleKey) -> str:
    """The UUID of a response: 122 bits of HMAC-SHA256, in the form of a random UUID (RFC 9562, version 4)."""
    message = canonical([stamp, about, *place])
    return str(UUID(bytes=hmac.digest(bytes.fromhex(nonce), message, "sha256")[:16], version=4))


def blind(
    stamp: str, about: str, seed: int, nonce: str, responses: Sequence[BlindedResponse]
) -> BlindedResponses:
    """Blind responses. Their order is drawn from the UUIDs by the seed, so it cannot be foreseen, and once
    the map is open everybody can make it again."""
    named = {blinded_name(nonce, stamp, about, response.place): response for response in responses}
    if len(named) < len(responses):
        raise ValueError("a response was given twice")
    order = in_drawn_order(named, seed, about, str)
    blinded = tuple(
        Blinded(uuid, named[uuid].benchmark, named[uuid].place[1], named[uuid].text, number)
        for number, uuid in enumerate(order)
    )
    rows = [[uuid, *named[uuid].place, digest_bytes(named[uuid].text.encode())] for uuid in order]
    document = {"format": "gridc-blinding/1", "stamp": stamp, "about": about, "seed": seed, "nonce": nonce,
                "map": rows}  # fmt: skip
    return BlindedResponses(about, nonce, blinded, {uuid: named[uuid].place for uuid in order}, document)


def judged(plan: Plan, store: Store) -> Iterator[BlindedResponse]:
    """Every answered response of the study that a judge has to label, in the plan's order. A call that failed
    for good is no response."""
    for cell in plan.cells():
        if not is_judged(cell):
            continue
        if seen_as_answered(plan, cell):
            yield from _as_answered(plan, store, cell)
            continue
        hidden = _is_sanitised(plan, cell)
        for response, clean in responses_of(plan, store, cell):
            yield (
                response
                if not hidden
                else replace(response, text=clean.text, removed=clean.removed, kept=clean.kept)
            )


def seen_as_answered(plan: Plan, cell: Cell) -> bool:
    """Whether a judge sees a cell's responses as they were answered. Then their texts are in the store, and
    nothing of the items is needed to tell them."""
    return cell.setting.scaffolding is None and not _is_sanitised(plan, cell)


def _is_sanitised(plan: Plan, cell: Cell) -> bool:
    judge = plan.study.spec.judge_called(cell.setting.judge)
    return judge is not None and judge.blinding is not None and judge.blinding.sanitise


def _as_answered(plan: Plan, store: Store, cell: Cell) -> Iterator[BlindedResponse]:
    answered = {row[:2]: row[2] for row in store.answers(plan.study_digest, cell.key)}
    for item, replicate in product(plan.items(cell), range(cell.setting.replicates)):
        answers = answered.get((item.id, replicate))
        if answers is not None and _are_sound(answers):
            text = before_stop(answers[-1]["text"], cell.setting.held("stop"))
            yield BlindedResponse((cell.key, item.id, replicate), cell.benchmark, text, {})


def _are_sound(answers: Sequence[Any]) -> bool:
    """Whether no call of a sample failed for good."""
    return not any("error" in answer for answer in answers)


def places_of(plan: Plan, store: Store, cell: Cell) -> list[SampleKey]:
    """Where the answered responses of a cell stand, in the order of the store."""
    return [
        (cell.key, item, replicate)
        for item, replicate, answers in store.answers(plan.study_digest, cell.key)
        if _are_sound(answers)
    ]


def responses_of(
    plan: Plan, store: Store, cell: Cell, only: Container[SampleKey] | None = None
) -> Iterator[tuple[BlindedResponse, Sanitised]]:
    """Every answered response of a cell, or those at some places, as it is and sanitised."""
    answered = {row[:2]: row[2] for row in store.answers(plan.study_digest, cell.key)}
    names = _names(plan.study.spec)
    for sample in plan.samples(cell):
        answers = answered.get((sample.item.id, sample.replicate))
        place = (cell.key, sample.item.id, sample.replicate)
        wanted = only is None or place in only
        if not wanted or answers is None or not _are_sound(answers):
            continue
        text = before_stop(answers[-1]["text"], cell.setting.held("stop"))
        requests = [request for _, request in sample.trace(store.answer_to).calls]
        shown = dict.fromkeys(
            content
            for request in requests
            for role, content in request.prompt.messages
            if role != "assistant"
        )
        known = known_of(cell.setting, sample.item, tuple(shown), names)
        read = partial(response_reading, cell.setting, sample.item)
        if sample.scaffolded is None or not sample.scaffolded.converses or not text.strip():
            yield BlindedResponse(place, cell.benchmark, text, {}), sanitise(text, read, known)
            continue
        said = conversation(requests[0].prompt.messages, requests[-1].prompt.messages, text)
        yield BlindedResponse(place, cell.benchmark, transcript(said), {}), _clean(said, read, known)


def _clean(said: Messages, read: Callable[[str], tuple[object, ...]], known: ResponseContext) -> Sanitised:
    """A conversation with every reply sanitised; what the user says is the same for all."""
    parts = [
        (role, sanitise(text, read, known) if role == "assistant" else Sanitised(text, len(text)))
        for role, text in said
    ]
    removed, kept = Counter[str](), Counter[str]()
    for _, part in parts:
        removed.update(part.removed)
        kept.update(part.kept)
    whole = transcript((role, part.text) for role, part in parts)
    return Sanitised(whole, sum(part.before for _, part in parts), dict(removed), dict(kept))


def _names(spec: Spec) -> tuple[str, ...]:
    """What the study calls its models, and what their sources do."""
    named = (name for model in spec.model for name in (model.id, re.split(r"[/:]", model.source)[-1]))
    return tuple(dict.fromkeys(named))


def order_seed(plan: Plan) -> int:
    """What draws the judging order: the blinding's own seed, which all judges share, else the study's."""
    spec = plan.study.spec
    seeds = (judge.blinding.seed for judge in spec.declared_judges if judge.blinding is not None)
    return next(seeds, spec.sampling.seed)


def opened(store: Store, stamp: str, about: str = JUDGING) -> bool:
    """Whether the map has been opened: nothing that knows the conditions may read judgements before."""
    return any(opening.about == about for opening in store.bodies_of(Unblinded, stamp))


UNREADABLE = "unreadable"
"""The label of a response that says none of the others."""


class AuditRow(NamedTuple):
    """A response on a sheet: what was asked, what was answered, and the labels to choose from."""

    uuid: str
    question: str
    response: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SheetDesign:
    """How a sheet is drawn: `rows` of each benchmark in each of these `configurations`, the same of all
    models, each with the same chance. Of a sheet of an older gridc, which had no `configurations`, `rows`
    responses in all, as many of each cell as of any other, give or take one. Nothing is drawn of a sheet that
    is `given`: people labelled these responses outside of gridc."""

    rows: int
    configurations: tuple[str, ...] = ()
    given: bool = False

    @classmethod
    def of(cls, sealed: Sealed) -> "SheetDesign":
        """That of a sealed sheet."""
        rows = sealed.responses if sealed.rows is None else sealed.rows
        return cls(rows, tuple(sealed.configurations or ()), is_given(sealed.about))


@dataclass(frozen=True, slots=True)
class Sheet:
    """The blinded responses of one audit in their order, the map behind them, and how they were drawn."""

    about: str
    rows: tuple[AuditRow, ...]
    blind: BlindedResponses
    design: SheetDesign


def about_sheet(number: int) -> str:
    """What the events of a sheet are about: `audit-1` is the study's first."""
    return f"audit-{number}"


def about_votes(number: int) -> str:
    """The same of a sheet that was given: its name is under the seal, so that nobody can pass off what was
    given as drawn."""
    return f"votes-{number}"


def is_given(about: str) -> bool:
    """Whether the events are about labels that people gave outside of gridc."""
    return about.startswith("votes-")


def labels_of(spec: Spec, cell: Cell, item: Item) -> tuple[str, ...]:
    """The labels that a response can get, by the number of the choice that each stands for."""
    names = METHODS[cell.setting.method].names(spec.verdicts(cell.setting.judge), cell.setting.scores)
    return (cell.setting.labels_of(item) or item.options) if names is None else tuple(names)


def allowed_labels(spec: Spec, cell: Cell, item: Item) -> tuple[str, ...]:
    """The labels that people can give a response: those that it can get, and that it says none of them."""
    return tuple(dict.fromkeys((*labels_of(spec, cell, item), UNREADABLE)))


def auditable(plan: Plan) -> Iterator[Cell]:
    """The cells whose answers are texts that are read to something: people give labels, and no numbers."""
    return (cell for cell in plan.cells() if not (cell.setting.ranks or cell.setting.gives_numbers))


def drawn_places(plan: Plan, store: Store, about: str, nonce: str, design: SheetDesign) -> set[SampleKey]:
    """The places of the responses on the sheet of a secret; of a given one those with a label. What the
    machine said of a response plays no part, so that whoever reads them again draws the same."""

    def name(place: SampleKey) -> str:
        return blinded_name(nonce, plan.study_digest, about, place)

    if design.given:
        labels = store.labels(plan.study_digest, about)
        places = chain.from_iterable(places_of(plan, store, cell) for cell in auditable(plan))
        return {place for place in places if name(place) in labels}
    if not design.configurations:
        return _as_many_of_each([places_of(plan, store, cell) for cell in auditable(plan)], design.rows, name)
    drawn: set[SampleKey] = set()
    for cell in auditable(plan):
        if cell.configuration in design.configurations:
            rows = drawn_rows(plan, store, about, nonce, design, cell)
            drawn |= {(cell.key, *row) for row in rows}.intersection(places_of(plan, store, cell))
    return drawn


def drawn_rows(
    plan: Plan, store: Store, about: str, nonce: str, design: SheetDesign, cell: Cell
) -> set[tuple[str, int]]:
    """The items and replicates of a cell that a sheet of configurations has: the same of all models, whether
    or not a response came of the call."""
    asked = [row[:2] for row in store.answers(plan.study_digest, cell.key)]
    named = {row: blinded_name(nonce, plan.study_digest, about, (cell.benchmark, *row)) for row in asked}
    return set(sorted(asked, key=lambda row: named[row])[: design.rows])


def draw_sheet(plan: Plan, store: Store, about: str, nonce: str, design: SheetDesign) -> Sheet:
    """The sheet of a secret, of its `drawn_places`."""
    return sheet_at(plan, store, about, nonce, design, drawn_places(plan, store, about, nonce, design))


def sheet_at(
    plan: Plan, store: Store, about: str, nonce: str, design: SheetDesign, chosen: Collection[SampleKey]
) -> Sheet:
    """The sheet of a secret with the responses at these places."""
    stamp = plan.study_digest
    responses: list[BlindedResponse] = []
    shown: dict[SampleKey, tuple[str, tuple[str, ...]]] = {}
    for cell in auditable(plan):
        mine = {place for place in chosen if place[0] == cell.key}
        if not mine:
            continue
        items = {item.id: item for item in plan.items(cell)}
        for response, clean in responses_of(plan, store, cell, mine):
            item = items[response.place[1]]
            responses.append(BlindedResponse(response.place, response.benchmark, clean.text, clean.removed))
            question = render_prompt("{{ question }}", item, (), cell.setting.options, cell.setting.look)
            shown[response.place] = (question, allowed_labels(plan.study.spec, cell, item))
    made = blind(stamp, about, plan.study.spec.sampling.seed, nonce, responses)
    placed = ((blinded, shown[made.places[blinded.uuid]]) for blinded in made.responses)
    rows = (AuditRow(blinded.uuid, asks, blinded.text, allowed) for blinded, (asks, allowed) in placed)
    return Sheet(about, tuple(rows), made, design)


def _as_many_of_each(
    strata: Sequence[Sequence[SampleKey]], most: int, name: Callable[[SampleKey], str]
) -> set[SampleKey]:
    """The first of every stratum by their names, then the second, until there are enough."""
    ranks = [sorted(stratum, key=name) for stratum in strata]
    rounds = [
        sorted((rank[number] for rank in ranks if number < len(rank)), key=name)
        for number in range(max(map(len, ranks), default=0))
    ]
    return set(list(chain.from_iterable(rounds))[:most])


def sheets(plan: Plan, store: Store) -> Iterator[Sheet]:
    """Every sheet, again. Raises `StoreError` (GC614) where one is not the sealed one."""
    for sealed in store.bodies_of(Sealed, plan.study_digest):
        if re.fullmatch(r"(audit|votes)-\d{1,6}", sealed.about):
            nonce = store.nonce(plan.study_digest, sealed.about) or ""
            sheet = draw_sheet(plan, store, sealed.about, nonce, SheetDesign.of(sealed))
            if sheet.blind.seal != sealed.seal:
                message = f"the sheet {sealed.about} is not the one that was sealed"
                raise StoreError([Diagnostic("GC614", message)])
            yield sheet


def responses(plan: Plan, store: Store) -> list[Response] | None:
    """The responses that judges label, as they see them, in the order of the plan; None while a sample that
    is judged lacks its answer, and where none is judged."""
    cells = {cell.key: cell for cell in plan.cells() if is_judged(cell)}
    if not cells:
        return None
    for key, cell in cells.items():
        planned = len(plan.items(cell)) * cell.setting.replicates
        if sum(1 for _ in store.answers(plan.study_digest, key)) < planned:
            return None
    items = {key: {item.id: item for item in plan.items(cell)} for key, cell in cells.items()}
    texts = {response.place: response.text for response in judged(plan, store)}
    given = []
    for (key, item, replicate), text in texts.items():
        alone = Response(cells[key], items[key][item], replicate, text)
        given.append(replace(alone, other=_compared(plan.study.spec, alone, texts)))
    return given


def _compared(spec: Spec, response: Response, texts: Mapping[Key, str]) -> str | None:
    """The text that a response is compared with: the item's own, or what another model said in the same
    configuration; None where nothing is compared, or there is none."""
    judge = spec.judge_called(response.cell.setting.judge)
    if judge is None or judge.compares is None:
        return None
    if judge.compares.against == REFERENCE:
        return response.item.best
    there = replace(response.cell, model=judge.compares.against)
    return texts.get((there.key, response.item.id, response.replicate))


def judging_state(plan: Plan, store: Store) -> JudgingState | None:
    """What the judges come to by the replies that are stored; None while responses are missing."""
    given = responses(plan, store)
    return None if given is None else judged_by(plan.study, given, store.answer_to)


def is_blinded(plan: Plan) -> bool:
    """Whether the study blinds its judges."""
    return any(judge.blinding is not None for judge in plan.study.spec.declared_judges)
