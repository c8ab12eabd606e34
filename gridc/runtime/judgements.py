"""What the judges of a study come to, read from its store: which responses they label, and their rulings."""

from collections.abc import Mapping
from dataclasses import replace

from gridc.compiler.lowering.judging import Judged, Key, Response, is_judged, judged_by
from gridc.compiler.lowering.plan import Plan
from gridc.runtime import blinding
from gridc.runtime.store.store import Store
from gridc.schema.judging import REFERENCE
from gridc.schema.spec import Spec


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
    texts = {response.place: response.text for response in blinding.judged(plan, store)}
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


def judged(plan: Plan, store: Store) -> Judged | None:
    """What the judges come to by the replies that are stored; None while responses are missing."""
    given = responses(plan, store)
    return None if given is None else judged_by(plan.study, given, store.answer_to)


def hides(plan: Plan) -> bool:
    """Whether the study blinds its judges."""
    return any(judge.blinding is not None for judge in plan.study.spec.declared_judges)
