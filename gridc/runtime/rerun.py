"""Repeats a sample of a study's calls and compares: do the stored answers come from this model?

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
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.options import item_candidates
from gridc.compiler.instrument.score import score_sample
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.blinding import judging_state
from gridc.runtime.engines import open_engine, proving
from gridc.runtime.engines.protocol import NEAR_TIE, Answer, Call, Engine, PendingBatch, answered
from gridc.runtime.stages import call_of
from gridc.runtime.store.store import Store
from gridc.schema.effects import EXACT
from gridc.schema.models import engine_kind
from gridc.statistics.exact_tests import detection, excess_p, least_detected, least_exceeding
from gridc.statistics.reproducibility import first

FACTOR, LEAST = 10, 1e-5
"""In fp32 a log-likelihood may move by so many times what batch shape moves it here, and by so many nats at
least: another machine adds in another order everywhere, batch shape only in places."""

REDUCED_LEAST = 1.0
"""The same in reduced precision, where a sum over many tokens moves as far on other hardware."""

ALONE = 32
"""So many rankings are made once more, each alone, to measure that noise in fp32."""

FIELDS = {
    "text": "same",
    "tokens": "same",
    "finish": "same",
    "end": "same",
    "near_ties": "near ties",
    "loglikelihoods": "within the tolerance",
    "greedy": "near ties",
    "refused": "only a provider's answer has it, and none is made again",
    "thought": "only a provider's answer has it, and none is made again",
}
"""How each field of an answer is compared with that of now."""

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
class RepeatedCalls:
    """What repeating the calls of a model at a precision came to.

    Of `calls` of all `of`, `texts` were generated; `changed` answers differ, `ties` of them in fp32 at a near
    tie of the present answer, where they cannot be judged: a token that depended on less than 1e-4, or a
    choice that likelihoods within the `tolerance` (nats) turn. `unjudged` of the drawn calls come to one.
    `max_moved` is the most move of a log-likelihood, in nats. `differing` are the calls whose answers are not
    this model's: in fp32 those that changed otherwise, or moved by more than the tolerance, which follows
    from how far batch shape moves likelihoods of this model here.

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
    tolerance: float | None
    differing: tuple[str, ...]

    @property
    def needed(self) -> int:
        """So many changed answers in the draw show that they are not this model's."""
        return 1 if self.floor is None else least_exceeding(self.floor, self.calls, FLOOR_ALPHA)

    @property
    def found(self) -> dict[str, float]:
        """The probability that this draw would have held so many of the changed answers, by the share
        changed. Such as are at a near tie, or moved no further than is tolerated, do not count."""
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


def rerun(compiled: Compiled, store: Store, draw: Draw) -> Iterator[RepeatedCalls]:
    """Repeat the drawn calls of every local model and precision, at least one call of each; who doubts
    answers takes no earlier proof of how they are computed. Raises `UnavailableError` where an engine or a
    model cannot be used."""
    plan = Plan(compiled.study)
    spec = proving(plan.study.spec)
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
        with closing(open_engine(name, identity, precision, spec)) as engine:
            uses = list(_rankings(plan, name, precision, chosen))
            beside = {call for use in uses for call in use.calls}
            calls = list(_calls(plan, store, name, precision, chosen | beside))
            together = _ask(engine, calls)
            if precision == EXACT:
                ranked = [call for call in calls if "loglikelihoods" in together[call.id].content]
                alone = _ask(engine, *([call] for call in ranked[:ALONE]))
            else:
                alone = _ask(engine, *([call] for call in calls))
        before, others = (
            {call: store.answered_with(call) for call in part} for part in (chosen, beside - chosen)
        )
        yield _compare(name, precision, total, before, together, alone, uses, others)


def of_providers(compiled: Compiled) -> list[str]:
    """The models that no rerun asks, judges among them: their answers change from call to call, and cost
    money; or a server gave them, which does not say how near a tie they were."""
    kinds = ((model.id, engine_kind(model.engine)) for model in compiled.spec.asked_models)
    return list(dict.fromkeys(name for name, kind in kinds if kind.provider or kind.server is not None))


@dataclass(frozen=True, slots=True)
class RankedSample:
    """A sample that is scored by likelihoods: its setting, its item, and its calls in order."""

    setting: Setting
    item: Item
    calls: tuple[str, ...]

    def is_tie(self, answers: Sequence[Mapping[str, Any]], tolerance: float) -> bool:
        """Whether likelihoods that move by no more than the tolerance (nats) change the choice, or whether it
        is counted as a near tie."""
        outcome = score_sample(self.setting, self.item, answers)
        if outcome.choice is None:
            return False
        ranked = item_candidates(self.setting.held("candidates"), self.item, self.setting.enumerator)
        against = [tolerance if candidate.option != outcome.choice else -tolerance for candidate in ranked]
        moved = []
        for sign, answer in zip((1.01, -1.01), answers, strict=False):  # a prior counts the other way round
            values = zip(answer["loglikelihoods"], against, strict=True)
            likelihoods = [None if value is None else value + sign * step for value, step in values]
            moved.append({**answer, "loglikelihoods": likelihoods})
        margin = outcome.evidence["margin"]
        counted = margin is not None and abs(margin - NEAR_TIE) <= 2 * len(moved) * tolerance
        return counted or score_sample(self.setting, self.item, moved).choice != outcome.choice

    def choice(self, answers: Mapping[str, Any], now: Mapping[str, Answer]) -> int | str | None:
        """The option that these answers (contents) are scored to; in words where one of them cannot be."""
        held: list[Any] = [answers.get(call) for call in self.calls]
        wrong = [
            _moves(content, now[call].content) is None for call, content in zip(self.calls, held, strict=True)
        ]
        return "unreadable" if any(wrong) else score_sample(self.setting, self.item, held).choice


def _rankings(plan: Plan, model: str, precision: str, chosen: frozenset[str]) -> Iterator[RankedSample]:
    """The samples that the chosen calls rank options for."""
    for cell in plan.cells():
        if cell.model != model or cell.setting.precision != precision or cell.setting.scaffolding is not None:
            continue
        for sample in plan.samples(cell) if cell.setting.ranks else ():
            calls = tuple(request.id for request in sample.requests)
            if not chosen.isdisjoint(calls):
                yield RankedSample(cell.setting, sample.item, calls)


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
    judgements = judging_state(plan, store) if left else None
    for ask in () if judgements is None else judgements.asks:
        if ask.request.id in left:
            left.remove(ask.request.id)
            yield replace(call_of(ask.request), may_fail=True)


def _ask(engine: Engine, *groups: Sequence[Call]) -> dict[str, Answer]:
    answers: dict[str, Answer] = {}
    for group in groups:
        tasks = [PendingBatch(batch, frozenset(batch.calls)) for batch in engine.batches(group)]
        for done in answered(engine, tasks):
            answers |= {answer.call: answer for answer in done.answers}
    return answers


def _compare(
    model: str,
    precision: str,
    total: int,
    stored: Mapping[str, tuple[Any, Any]],
    together: Mapping[str, Answer],
    alone: Mapping[str, Answer],
    rankings: Sequence[RankedSample] = (),
    others: Mapping[str, tuple[Any, Any]] | None = None,
) -> RepeatedCalls:
    """`others` are the stored answers that rankings read beside those that were drawn."""
    exact = precision == EXACT
    shaped = [move for call in alone for move in _moves(alone[call].content, together[call].content) or ()]
    furthest = max(LEAST if exact else REDUCED_LEAST, FACTOR * max(shaped, default=0.0))
    tolerance = furthest if exact else None
    tied = _tied(together, rankings, tolerance) if tolerance is not None else set[str]()
    turned, turned_by_shape = set[str](), set[str]()
    if not exact:
        own = {call: answer.content for call, answer in together.items()}
        for choices_that_moved, given in (
            (turned, {call: content for call, (_, content) in (*stored.items(), *(others or {}).items())}),
            (turned_by_shape, {call: answer.content for call, answer in alone.items()}),
        ):
            for ranking in rankings:
                if ranking.choice(given, together) != ranking.choice(own, together):
                    choices_that_moved.update(ranking.calls)
    changed, noted, moved, misfits = [], [], [0.0], []
    for call, (sent, content) in sorted(stored.items()):
        now = together[call]
        moves = _moves(content, now.content)
        if moves is None or not _same_prompt(sent, now.sent, "error" in content):
            misfits.append(call)
            continue
        moved += moves
        if _answer(content) != _answer(now.content) or call in turned:
            changed.append(call)
            if exact and call not in tied:
                misfits.append(call)
        elif not _counts_agree(content, now, exact) or max(moves, default=0.0) > furthest:
            noted.append(call)
        if tolerance is not None and max(moves, default=0.0) > tolerance:
            misfits.append(call)
    floor = None
    if exact:
        misfits += noted
    else:
        floor = sum(
            _answer(alone[call].content) != _answer(together[call].content) or call in turned_by_shape
            for call in stored
        )
        counts = sum(not _counts_agree(alone[call].content, together[call], exact) for call in stored)
        for calls, by_shape in ((changed, floor), (noted, counts)):
            if excess_p(len(calls), by_shape, len(stored)) < FLOOR_ALPHA:
                misfits += calls
    answers = [together[call].content for call in stored]
    most = max(moved) if any("loglikelihoods" in answer for answer in answers) else None
    return RepeatedCalls(
        model,
        precision,
        calls=len(stored),
        of=total,
        texts=sum("text" in answer for answer in answers),
        changed=len(changed),
        ties=len(tied.intersection(changed)),
        unjudged=len(tied.intersection(stored)),
        floor=floor,
        max_moved=most,
        tolerance=None if most is None else tolerance,
        differing=tuple(dict.fromkeys(misfits)),
    )


def _tied(together: Mapping[str, Answer], rankings: Sequence[RankedSample], tolerance: float) -> set[str]:
    """The calls at which something may be changed that is not found, by the answers of now alone."""
    tied = {
        call
        for call, answer in together.items()
        if answer.content.get("near_ties", 0) > 0 or (answer.ties and answer.ties[0] != answer.ties[1])
    }
    for ranking in rankings:
        if ranking.is_tie([together[call].content for call in ranking.calls], tolerance):
            tied.update(ranking.calls)
    return tied


def _counts_agree(before: Mapping[str, Any], now: Answer, exact: bool) -> bool:
    """Whether what an answer notes of its near ties, or of its candidates, fits the answer of now: a choice
    whose margin is between half and twice that of a near tie may count or not."""
    fewest, most = now.ties or (now.content.get("near_ties", 0),) * 2
    if "text" in now.content:
        stored = before.get("near_ties", 0)
        if not exact:
            return bool(stored == now.content.get("near_ties", 0))
        return type(stored) is int and fewest <= stored <= most
    stored, own = before.get("greedy"), now.content.get("greedy", [])
    if not exact or most == 0 or not isinstance(stored, list) or list(map(type, stored)) != [bool] * len(own):
        return bool(stored == now.content.get("greedy"))
    return bool(sum(left != right for left, right in zip(stored, own, strict=True)) <= most)


def _answer(content: Mapping[str, Any]) -> Any:
    """What of an answer a score can depend on, likelihoods by their order alone."""
    if "error" in content:
        return _failure(content)
    if "text" in content:
        return [content.get(key) for key in FIELDS if FIELDS[key] == "same"]
    values = content["loglikelihoods"]
    return [values.index(max(values, key=lambda value: (value is not None, value)))] if values else []


def _failure(content: Mapping[str, Any]) -> Any:
    """The kind of the failure that an answer is; None where it is none."""
    error = content.get("error")
    return error.get("kind") if isinstance(error, dict) else error


def _moves(before: Any, after: Mapping[str, Any]) -> list[float] | None:
    """How far each log-likelihood moved; None where the stored answer is of another kind, has other fields,
    another number of candidates or tokens, or a likelihood where there is none, or none where there is
    one."""
    if not isinstance(before, dict) or (before.keys() != after.keys()):
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


def _same_prompt(stored: Any, now: Mapping[str, Any], failed: bool) -> bool:
    """Whether the model was sent the same tokens, unless it `failed` to take them, with as many exemplars
    left out. Reports read what providers note here, so nothing stands here that is not noted now."""
    dropped = "exemplars_dropped"
    if not isinstance(stored, dict) or stored.keys() - now.keys() - {dropped}:
        return False
    if failed:
        return True
    if "prompt_token_digest" not in stored:
        return False
    noted = (stored.keys() & now.keys()) | {"prompt_token_digest"}
    return all(stored[key] == now[key] for key in noted) and stored.get(dropped, 0) == now.get(dropped, 0)
