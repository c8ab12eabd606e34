"""What the judges of a study come to, read from its store: which responses they label, and their rulings."""

from gridc.compiler.lowering.judging import Judged, Response, is_judged, judged_by
from gridc.compiler.lowering.plan import Plan
from gridc.runtime import blinding
from gridc.runtime.store.store import Store


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
    return [
        Response(cells[key], items[key][item], replicate, response.text)
        for response in blinding.judged(plan, store)
        for key, item, replicate in [response.place]
    ]


def judged(plan: Plan, store: Store) -> Judged | None:
    """What the judges come to by the replies that are stored; None while responses are missing."""
    given = responses(plan, store)
    return None if given is None else judged_by(plan.study, given, store.answer_to)


def hides(plan: Plan) -> bool:
    """Whether the study blinds its judges."""
    return any(judge.blinding is not None for judge in plan.study.spec.declared_judges)
