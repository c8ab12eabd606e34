"""Repeat a sample of a study's calls and compare with what is stored: the answers are this model's.

Hashes show that a store was not edited by someone who could not make it fit again; that a model gave these
answers is shown by asking it again. Which calls are asked is drawn when the verifier asks, so that nobody who
made the store could know them; what is a tie is judged by the answers of now alone, so that nothing in the
store can excuse a difference.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any

from gridc.compiler.compile import Compiled
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.engines import open_engine
from gridc.runtime.engines.protocol import Answer, Call, Engine, Task, answered
from gridc.runtime.judgements import judged
from gridc.runtime.scaffolds import call_of
from gridc.runtime.store.store import Store
from gridc.schema.effects import EXACT
from gridc.schema.engines import engine_kind
from gridc.statistics.detection import detection, exceeds, least_detected, least_exceeding
from gridc.statistics.seeded import first

TOLERANCE = 1e-3
"""How far a log-likelihood (nats) may move in fp32 from one machine to another."""

SHARES = (0.001, 0.01, 0.05, 0.1)
"""Shares of changed answers for which the probability of finding one is told."""

FLOOR_ALPHA = 0.001
"""In reduced precision: how unlikely it must be that batch shape alone changed so many answers."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Which calls are repeated: a share (0 to 1) of those of every model and precision, by this seed (hex).
    Only a seed that was made after the store is `fresh`; a given one could have been known to its maker."""

    share: float
    seed: str
    fresh: bool

    @classmethod
    def of(cls, share: float, seed: str | None = None) -> "Draw":
        return cls(share, seed or secrets.token_hex(16), seed is None)


@dataclass(frozen=True, slots=True)
class Repeated:
    """What repeating the calls of a model at a precision came to.

    Of `calls` of all `of`, `texts` were generated; `changed` answers differ, `ties` of them in fp32 where the
    present answer depended on less than 1e-4 at some token, which cannot be judged; `unjudged` is how many of
    the drawn calls come to such a token. `max_moved` is the most move of a log-likelihood, in nats.
    `differing` are the calls whose answers are not this model's: in fp32 those that changed otherwise, or
    moved by more than `TOLERANCE`.

    In reduced precision the shape of a batch moves answers too. There the calls are made twice, together and
    each alone; `floor` of them differ between the two, and all that changed are `differing` if they are more
    than that explains (Fisher's exact test at `FLOOR_ALPHA`). What was sent to the model must be the same.
    """

    model: str
    precision: str
    calls: int
    of: int
    texts: int
    changed: int
    ties: int
    unjudged: int
    floor: int | None
    max_moved: float | None
    differing: tuple[str, ...]

    @property
    def needed(self) -> int:
        """So many changed answers in the draw show that they are not this model's."""
        return 1 if self.floor is None else least_exceeding(self.floor, self.calls, FLOOR_ALPHA)

    @property
    def found(self) -> dict[str, float]:
        """The probability that this draw would have held so many of the changed answers, by the share
        changed."""
        return {
            f"{share:g}": detection(self.of, ceil(share * self.of), self.calls, self.needed)
            for share in SHARES
        }

    @property
    def found_95(self) -> int:
        """So many changed answers would have been found 95 times in 100."""
        return least_detected(self.of, self.calls, self.needed)

    def as_json(self) -> dict[str, Any]:
        shown = {"needed": self.needed, "found": self.found, "found_95": self.found_95}
        return {**asdict(self), **shown}


def rerun(compiled: Compiled, store: Store, draw: Draw) -> Iterator[Repeated]:
    """Repeat the drawn calls of every local model and precision, at least one call of each. Raises
    `UnavailableError` where an engine or a model cannot be used."""
    plan = Plan(compiled.study)
    store.require(plan.study_digest)
    left_out = set(of_providers(compiled))
    compared = [(cell.model, cell.setting.precision) for cell in plan.cells()]
    judging = [(model.id, model.own_precision) for model in plan.study.spec.judges]
    for name, precision in dict.fromkeys([*compared, *judging]):
        if name in left_out:
            continue
        identity = plan.study.asked_models[name]
        held = plan.study_digest, identity.digest, precision
        total = sum(1 for _ in store.answered_calls(*held))
        seed, purpose = int(draw.seed, 16), f"rerun {plan.study_digest}"
        chosen = frozenset(first(ceil(draw.share * total), store.answered_calls(*held), seed, purpose, str))
        if not chosen:
            continue
        with closing(open_engine(name, identity, precision, plan.study.spec)) as engine:
            calls = list(_calls(plan, store, name, precision, chosen))
            together = _ask(engine, calls)
            alone = _ask(engine, *([call] for call in calls)) if precision != EXACT else None
        before = {call: store.answered_with(call) for call in chosen}
        yield _compare(name, precision, total, before, together, alone)


def of_providers(compiled: Compiled) -> list[str]:
    """The models that no rerun asks, judges among them: their answers change from call to call, and cost
    money."""
    asked = compiled.study.spec.asked_models
    return list(dict.fromkeys(model.id for model in asked if engine_kind(model.engine).provider))


def _calls(plan: Plan, store: Store, model: str, precision: str, chosen: frozenset[str]) -> Iterator[Call]:
    left = set(chosen)
    for cell in plan.cells():
        if cell.model != model or cell.setting.precision != precision:
            continue
        for sample in plan.samples(cell):
            for _, request in sample.trace(store.answer_to).calls:
                if request.id in left:
                    left.remove(request.id)
                    yield replace(call_of(request), may_fail=True)
    judgements = judged(plan, store) if left else None
    for ask in () if judgements is None else judgements.asks:
        if ask.request.id in left:
            left.remove(ask.request.id)
            yield replace(call_of(ask.request), may_fail=True)


def _ask(engine: Engine, *groups: Sequence[Call]) -> dict[str, Answer]:
    answers: dict[str, Answer] = {}
    for group in groups:
        tasks = [Task(batch, frozenset(batch.calls)) for batch in engine.batches(group)]
        for done in answered(engine, tasks):
            answers |= {answer.call: answer for answer in done.answers}
    return answers


def _compare(
    model: str,
    precision: str,
    total: int,
    stored: Mapping[str, tuple[Any, Any]],
    together: Mapping[str, Answer],
    alone: Mapping[str, Answer] | None,
) -> Repeated:
    changed, ties, moved, misfits = [], 0, [0.0], []
    for call, (sent, content) in sorted(stored.items()):
        now = together[call]
        moves = _moves(content, now.content)
        if moves is None or ("error" not in content and not _same_prompt(sent, now.sent)):
            misfits.append(call)
            continue
        moved += moves
        if _answer(content) != _answer(now.content):
            changed.append(call)
            tied = now.content.get("near_ties", 0) > 0
            ties += tied
            if precision == EXACT and not tied and "text" in now.content:
                misfits.append(call)
        if precision == EXACT and max(moves, default=0.0) > TOLERANCE:
            misfits.append(call)
    floor = None
    if alone is not None:
        floor = sum(_answer(alone[call].content) != _answer(together[call].content) for call in stored)
        if exceeds(len(changed), floor, len(stored)) < FLOOR_ALPHA:
            misfits += changed
    texts = sum("text" in answer.content for answer in together.values())
    unjudged = sum(
        precision == EXACT and "text" in answer.content and answer.content.get("near_ties", 0) > 0
        for answer in together.values()
    )
    ranked = any("loglikelihoods" in answer.content for answer in together.values())
    most = max(moved) if ranked else None
    return Repeated(
        model, precision, len(stored), total, texts, len(changed), ties, unjudged, floor, most,
        tuple(dict.fromkeys(misfits)),
    )  # fmt: skip


def _answer(content: Mapping[str, Any]) -> Any:
    """What of an answer a score can depend on, likelihoods by their order alone."""
    if "error" in content:
        return _failure(content)
    if "text" in content:
        return [content.get(key) for key in ("text", "tokens", "finish")]
    values = content["loglikelihoods"]
    return [values.index(max(values, key=lambda value: (value is not None, value)))] if values else []


def _failure(content: Mapping[str, Any]) -> Any:
    """The kind of the failure that an answer is; None where it is none."""
    error = content.get("error")
    return error.get("kind") if isinstance(error, dict) else error


def _moves(before: Any, after: Mapping[str, Any]) -> list[float] | None:
    """How far each log-likelihood moved; None where the stored answer is of another kind, has another number
    of candidates or tokens, or a likelihood where there is none, or none where there is one."""
    if not isinstance(before, dict) or ("text" in before) != ("text" in after):
        return None
    if "error" in before or "error" in after:
        return [] if _failure(before) == _failure(after) else None
    if "text" in after:
        return []
    was, now = before.get("loglikelihoods"), after["loglikelihoods"]
    if not isinstance(was, list) or len(was) != len(now) or before.get("tokens") != after["tokens"]:
        return None
    if [type(value) in (int, float) for value in was] != [value is not None for value in now]:
        return None
    return [abs(left - right) for left, right in zip(was, now, strict=True) if right is not None]


def _same_prompt(stored: Any, now: Mapping[str, Any]) -> bool:
    """Whether the model was sent the same tokens, with as many exemplars left out. Versions may differ in
    what else they note."""
    if not isinstance(stored, dict) or "prompt_token_digest" not in stored:
        return False
    noted = (stored.keys() & now.keys()) | {"prompt_token_digest"}
    dropped = "exemplars_dropped"
    return all(stored[key] == now[key] for key in noted) and stored.get(dropped, 0) == now.get(dropped, 0)
