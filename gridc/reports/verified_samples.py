"""The samples of a store against those of the plan, and each outcome against what its answers score to."""

import json
from collections.abc import Iterator
from operator import attrgetter

from gridc.compiler.grid.cell import Cell
from gridc.compiler.inputs.scorers import failed
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.scorers import ScorerError
from gridc.compiler.lowering.calls import PlannedSample
from gridc.compiler.lowering.judging import Judged, is_judged
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic
from gridc.runtime.store.digests import CellResults
from gridc.runtime.store.rows import CheckedSample
from gridc.runtime.store.store import Store
from gridc.schema.canonical import canonical


def of_samples(
    plan: Plan, store: Store, concluded: bool, judgements: Judged | None, outcomes: CellResults
) -> Iterator[Diagnostic]:
    """The samples against the plan's, and each outcome against what its answers score to. A run that is under
    way, or was stopped, has answers that nobody has scored or judged yet. What is stored is added to
    `outcomes`, so that it is read once."""
    rulings = judgements.rulings if judgements is not None and judgements.complete else None
    for cell in sorted(plan.cells(), key=attrgetter("key")):
        key, last, scored = cell.key, "", dict[tuple[str, ...], _Outcome]()
        refused = METHODS[cell.setting.method].scored and plan.study.scorers.refused(cell.setting.scorer)
        for where, sample, stored in _abreast(
            plan.samples(cell, by_id=True), store.samples_of(plan.study_digest, key)
        ):
            if stored is None:
                message = f"{_name(cell, *where)}: the store does not have the calls of the plan"
                yield Diagnostic("GC704", message)
                continue
            if stored.calls:
                outcomes.add(key, *where, stored.result, stored.score)
            if sample is None:
                yield Diagnostic("GC704", f"{_name(cell, *where)}: not in the plan")
                continue
            if not _asked(sample, stored, store, concluded):
                message = f"{_name(cell, *where)}: the store does not have the calls of the plan"
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
                        yield failed(error)
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


def _abreast(
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
