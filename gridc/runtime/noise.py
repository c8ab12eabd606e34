"""The noise floor: how much answers move when the same calls are made in another batch shape.

In reduced precision the shape of a batch moves logits, so a difference between two scores that is not
larger than what the shape alone does is no difference. A seeded sample of the calls is answered once more,
each call alone, and compared with what the run stored. The answers of the run are never replaced.
"""

from collections.abc import Generator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from gridc.compiler.inputs.scorers import functions_scoring
from gridc.compiler.lowering.judging import is_judged
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.engines.api.records import Paying
from gridc.runtime.engines.protocol import PendingBatch
from gridc.runtime.stages import Stage
from gridc.runtime.store.write import Writer
from gridc.statistics.seeded import first

ALONE, ASKED_AGAIN = "each call alone", "the same call asked again"
"""In what shape calls are made once more: by a local engine, and by one behind an address."""


def measure(plan: Plan, store: Writer, stage: Stage) -> Generator[None, None, dict[str, Any]]:
    """Answer a sample of a stage's calls once more; a turn each time that the engine has to wait. Returns the
    body of a `noise` event: how many generated texts and how many rankings were repeated, how many changed,
    how far log-likelihoods moved (nats), and how many outcomes of samples changed with them."""
    spec, stamp = plan.study.spec, plan.study_digest
    every = store.answered_calls(stamp, stage.identity, stage.precision)
    chosen = first(spec.engine.noise_sample, every, spec.sampling.seed, f"noise {stamp}", str)
    cells = {cell.key: cell for cell in plan.cells()}
    items = lru_cache(maxsize=8)(lambda key: {item.id: item for item in plan.items(cells[key])})
    texts = texts_changed = outcomes = outcomes_changed = 0
    moved: list[float] = []
    rankings = 0
    answerable = [name for name in chosen if "error" not in store.answered_with(name)[1]]
    alone = [(name, stage.engine.batches([replace(store.call(name), may_fail=True)])) for name in answerable]
    tasks = [PendingBatch(batch, frozenset([name])) for name, batches in alone for batch in batches]
    again: dict[str, dict[str, Any]] = {}
    for done in stage.engine.answers(tasks, lambda task: True):
        if not done.answers:
            yield
        again |= {answer.call: answer.content for answer in done.answers}
    for name in (name for name in chosen if name in again):
        _, before = store.answered_with(name)
        after = again[name]
        if "error" in after:
            continue
        if "text" in after:
            texts += 1
            texts_changed += before["text"] != after["text"]
        else:
            rankings += 1
            moved += moves(before["loglikelihoods"], after["loglikelihoods"])
        for key, item, steps in store.samples_with(stamp, name):
            if cells[key].setting.scaffolding is not None and steps[-1] != name:
                continue  # what a scaffold would have asked next is not known
            if is_judged(cells[key]):
                continue  # what a judge would have made of it is not known
            given = [store.answered_with(step)[1] for step in steps]
            anew = [after if step == name else answer for step, answer in zip(steps, given, strict=True)]
            with functions_scoring():
                before, now = (plan.score(cells[key], items(key)[item], content) for content in (given, anew))
            outcomes += 1
            outcomes_changed += (before.choice, before.score) != (now.choice, now.score)
    return {
        "shape": ASKED_AGAIN if isinstance(stage.engine, Paying) else ALONE,
        "calls": texts + rankings,
        "texts": texts,
        "texts_changed": texts_changed,
        "rankings": rankings,
        "loglikelihoods": len(moved),
        "max_moved": max(moved, default=None),
        "mean_moved": sum(moved) / len(moved) if moved else None,
        "outcomes": outcomes,
        "outcomes_changed": outcomes_changed,
    }


def moves(before: list[float | None], after: list[float | None]) -> list[float]:
    """How far each log-likelihood moved. Impossible candidates have none to move."""
    pairs = zip(before, after, strict=True)
    return [abs(left - right) for left, right in pairs if left is not None and right is not None]
