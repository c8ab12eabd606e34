"""Repeat a sample of a study's calls and compare with what is stored: the answers are this model's.

Hashes show that a store was not edited; that somebody's model gave these answers is shown by asking it again.
The sample is drawn by lot from the stamp, so that who made the store could not choose it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from gridc.compiler.compile import Compiled
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.engines.protocol import Call
from gridc.runtime.noise import moves
from gridc.runtime.run import open_engine
from gridc.runtime.store.store import Store
from gridc.schema.spec import EXACT
from gridc.statistics.seeded import ranked

TOLERANCE = 1e-3
"""How far a log-likelihood (nats) may move in fp32 from one machine to another."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """What repeating the calls of a model at a precision came to.

    Of `texts` generated ones `changed` differ, `ties` of them where a token choice depended on less than
    1e-4;
    `max_moved` is the largest move of a log-likelihood, in nats. `differing` are the calls whose answers are
    not this model's: in fp32 those that changed without such a choice, or moved by more than `TOLERANCE`. In
    reduced precision the shape of a batch moves answers too, so that there a change shows nothing.
    """

    model: str
    precision: str
    calls: int
    of: int
    texts: int
    changed: int
    ties: int
    max_moved: float | None
    differing: tuple[str, ...]


def rerun(compiled: Compiled, store: Store, share: float) -> Iterator[Repeated]:
    """Repeat a share (0 to 1) of the answered calls of every local model and precision, at least one call of
    each. Raises `UnavailableError` where an engine or a model cannot be used."""
    plan = Plan(compiled.study)
    store.require(plan.study_digest)
    for name, precision in dict.fromkeys((cell.model, cell.setting.precision) for cell in plan.cells()):
        identity = plan.study.models[name]
        stored = dict(store.answers_from(plan.study_digest, identity.digest, precision))
        drawn = ranked(stored, plan.study.spec.sampling.seed, f"rerun {plan.study_digest}", str)
        chosen = drawn[: ceil(share * len(stored))]
        if not chosen:
            continue
        engine = open_engine(name, identity, precision, plan.study.spec)
        again: dict[str, Any] = {}
        for batch in engine.batches(list(_calls(plan, name, precision, frozenset(chosen)))):
            answers, _ = engine.answer(batch, frozenset(batch.calls))
            again |= {each.call: each.content for each in answers}
        engine.close()
        yield _compare(name, precision, len(stored), {call: (stored[call], again[call]) for call in chosen})


def _calls(plan: Plan, model: str, precision: str, chosen: frozenset[str]) -> Iterator[Call]:
    left = set(chosen)
    for cell in plan.cells():
        if cell.model != model or cell.setting.precision != precision:
            continue
        for sample in plan.samples(cell):
            for each in sample.requests:
                if each.id in left:
                    left.remove(each.id)
                    yield Call(each.id, each.kind, each.prompt, each.parameters)


def _compare(model: str, precision: str, total: int, pairs: Mapping[str, tuple[Any, Any]]) -> Repeated:
    texts = changed = ties = 0
    moved: list[float] = []
    differing = []
    for call, (before, after) in pairs.items():
        if "text" in before:
            texts += 1
            differs = before["text"] != after["text"]
            tied = differs and (before["near_ties"] or after["near_ties"]) > 0
            changed, ties = changed + differs, ties + tied
            wrong = differs and not tied
        else:
            own = moves(before["loglikelihoods"], after["loglikelihoods"])
            moved += own
            wrong = max(own, default=0.0) > TOLERANCE
        if wrong and precision == EXACT:
            differing.append(call)
    most = max(moved, default=None)
    return Repeated(model, precision, len(pairs), total, texts, changed, ties, most, tuple(differing))
