"""The human audit: a stratified sample of responses for people to label, who see what a judge sees.

A sheet has a map of its own from UUIDs to cells, sealed when it is drawn and opened when its labels are taken
back. Which responses are drawn follows from the secret, so that nobody can foresee it, and once the map is
open everybody can draw them again.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from gridc.compiler.grid.cell import Cell
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.render import render_prompt
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.runtime.blinding import Blind, BlindedResponse, SampleKey, blind, name_of, responses_of
from gridc.runtime.store.events import Sealed
from gridc.runtime.store.store import Store
from gridc.schema.spec import Spec

UNREADABLE = "unreadable"
"""The label of a response that says none of the others."""


class AuditRow(NamedTuple):
    """A response on a sheet: what was asked, what was answered, and the labels to choose from."""

    uuid: str
    question: str
    response: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The blinded responses of one audit in their order, and the map behind them."""

    about: str
    rows: tuple[AuditRow, ...]
    blind: Blind


def about_sheet(number: int) -> str:
    """What the events of a sheet are about: `audit-1` is the study's first."""
    return f"audit-{number}"


def labels_of(spec: Spec, cell: Cell, item: Item) -> tuple[str, ...]:
    """The labels that a response can get, by the number of the choice that each stands for."""
    names = METHODS[cell.setting.method].names(spec.verdicts(cell.setting.judge), cell.setting.scores)
    return (cell.setting.labels(len(item.options)) or item.options) if names is None else tuple(names)


def auditable(plan: Plan) -> Iterator[Cell]:
    """The cells whose answers are texts that are read to something: people give labels, and no numbers."""
    return (cell for cell in plan.cells() if not (cell.setting.ranks or cell.setting.gives_numbers))


def draw_sheet(plan: Plan, store: Store, about: str, nonce: str, most: int) -> Sheet:
    """The sheet of a secret: `most` responses, as many of each cell as of any other, give or take one."""
    stamp = plan.study_digest
    places = {
        cell.key: [
            (cell.key, item, replicate)
            for item, replicate, answers in store.answers(stamp, cell.key)
            if not any("error" in answer for answer in answers)
        ]
        for cell in auditable(plan)
    }
    chosen = _stratified(list(places.values()), most, lambda place: name_of(nonce, stamp, about, place))
    responses: list[BlindedResponse] = []
    shown: dict[SampleKey, tuple[str, tuple[str, ...]]] = {}
    for cell in auditable(plan):
        mine = chosen.intersection(places[cell.key])
        if not mine:
            continue
        items = {item.id: item for item in plan.items(cell)}
        for response, clean in responses_of(plan, store, cell, mine):
            item = items[response.place[1]]
            responses.append(BlindedResponse(response.place, response.benchmark, clean.text, clean.removed))
            question = render_prompt("{{ question }}", item, (), cell.setting.options, cell.setting.look)
            labels = labels_of(plan.study.spec, cell, item)
            shown[response.place] = (question, tuple(dict.fromkeys((*labels, UNREADABLE))))
    made = blind(stamp, about, plan.study.spec.sampling.seed, nonce, responses)
    placed = ((blinded, shown[made.places[blinded.uuid]]) for blinded in made.responses)
    rows = (AuditRow(blinded.uuid, asks, blinded.text, allowed) for blinded, (asks, allowed) in placed)
    return Sheet(about, tuple(rows), made)


def _stratified(
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
    """Every sheet that was drawn, again. Raises `StoreError` (GC614) where one is not the sealed one."""
    for sealed in store.recorded(Sealed, plan.study_digest):
        if re.fullmatch(r"audit-\d{1,6}", sealed.about):
            nonce = store.nonce(plan.study_digest, sealed.about) or ""
            sheet = draw_sheet(plan, store, sealed.about, nonce, sealed.responses)
            if sheet.blind.seal != sealed.seal:
                message = f"the sheet {sealed.about} is not the one that was sealed"
                raise StoreError([Diagnostic("GC614", message)])
            yield sheet
