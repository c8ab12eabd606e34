"""Divides what is left of a plan into stages: one for each model and precision, with the calls that its
engine has to make.

Calls are laid out a stretch at a time, so that a plan of any size takes the memory of one stretch. Batches
are a function of the plan, and a batch is stored whole: a run that was killed and resumed does the very
batches that were missing.

All items take a step of a scaffold together, wave by wave. A wave holds the calls that became known by the
answers of the waves before it, over all items and scaffolds of a model, so an engine batches them as it
batches plain calls. Each is written with the sample that it belongs to before it is asked. Procedures are run
again on the stored answers, so a run that was killed resumes where it was, with the same waves.
"""

import json
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import accumulate, chain, count, islice, pairwise

from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.lowering.calls import PlannedSample, Request
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.engines.protocol import Call, Engine, PendingBatch
from gridc.runtime.store.store import Store
from gridc.runtime.store.write import Writer
from gridc.schema.spec import Spec

Scaffolds = Iterable[tuple[Cell, PlannedSample]]


def call_of(request: Request) -> Call:
    """A request as an engine takes it."""
    return Call(request.id, request.kind, request.prompt, request.as_json())


def scaffolded(
    plan: Plan, model: str | None = None, precision: str | None = None
) -> Iterator[tuple[Cell, PlannedSample]]:
    """The samples that a scaffold answers; of one model (its identity) at one precision, or all."""
    for cell in plan.cells():
        mine = model in (None, plan.study.models[cell.model].digest)
        if mine and precision in (None, cell.setting.precision) and cell.setting.scaffolding is not None:
            yield from ((cell, sample) for sample in plan.samples(cell))


def first_calls(store: Store, stamp: str, samples: Scaffolds) -> set[str]:
    """The calls that are known before any answer."""
    return store.plain_calls(stamp) | {request.id for _, sample in samples for request in sample.requests}


def later_waves(store: Writer, stamp: str, samples: Scaffolds) -> Iterator[dict[str, Call]]:
    """The calls of each wave after the first, by id, whether or not they have their answer; a call of an
    earlier wave is not in a later one. They may fail, because how long their prompts are is known only now.
    The next wave is asked for when those of this one have been answered. There is none after every sample
    has its answer, or waits for a call that was not answered here."""
    left = list(samples)
    known = {request.id for _, sample in left for request in sample.requests}
    for number in count(2):
        answer = cache(store.answer_to)
        traces = [(cell, sample, sample.trace(answer, number)) for cell, sample in left]
        store.extend(stamp, traces)
        left = [
            (cell, sample)
            for cell, sample, trace in traces
            if trace.decides is None and trace.waves == number
        ]
        if not left:
            return
        requests = (request for _, _, trace in traces for _, request in trace.calls)
        wave = {request.id: replace(call_of(request), may_fail=True) for request in requests}
        yield {name: call for name, call in wave.items() if name not in known}
        known |= wave.keys()


STRETCH = 2**15
"""Calls that are laid out at a time."""

Say = Callable[[str, str], None]
"""Is told a model, and what it waits for or what is to be known of it."""

Open = Callable[[str, ModelIdentity, str, Spec], Engine]
"""Opens the engine of a model (its name in the study, its identity) at a precision."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The part of the batches of each model that a run executes: `number` of `of`, from 1."""

    number: int = 1
    of: int = 1

    def share(self, costs: Iterable[int]) -> range:
        """The numbers of its batches, of all that cost so much: those whose middle lies in its part of the
        whole cost. Neighbours stay together, because they share prefixes."""
        ends = list(accumulate(costs, initial=0))
        middles = ((before + after) * self.of // max(2 * ends[-1], 1) for before, after in pairwise(ends))
        parts = [min(middle, self.of - 1) for middle in middles]  # what costs nothing may be the end
        return range(*(bisect_left(parts, part) for part in (self.number - 1, self.number)))

    def holds(self, share: range, batches: int) -> str:
        """What it holds, in a sentence."""
        text = f"part {self.number} of {self.of} holds {len(share):,} of {batches:,} batches"
        if batches < self.of:
            text += ", which are not parted; [engine] `batch_prompts` makes smaller ones"
        return text


WHOLE = Shard()


@dataclass(frozen=True, slots=True)
class Stage:
    """One model at one precision: `calls` calls of the study, and what is left of them to do.

    `left` gives the tasks, stretch by stretch; there are `tasks` of them, which take `cost` tokens at most.
    What `scaffolds` ask after their first calls comes in waves (`wave_stages`).
    """

    number: int
    name: str
    identity: str
    precision: str
    engine: Engine
    calls: int
    tasks: int
    cost: int
    left: Callable[[], Iterator[Sequence[PendingBatch]]]
    scaffolds: Sequence[tuple[Cell, PlannedSample]] = ()

    def least(self, store: Writer) -> dict[str, float]:
        """The least work that could have given all the answers, to which a failure adds nothing. Where it
        takes several stretches, what two of them share counts in both."""
        total: dict[str, float] = {}
        for start in range(0, self.calls, STRETCH):
            calls = [call for call, _ in store.stretch(self.number, start, STRETCH)]
            contents = store.answers_of(call.id for call in calls)
            answered = ((call, json.loads(contents[call.id])) for call in calls)
            work = self.engine.least(answer for answer in answered if "error" not in answer[1])
            total = {name: total.get(name, 0) + value for name, value in work.items()}
        return total


def open_stages(
    plan: Plan, store: Writer, shard: Shard, open_engine: Open, say: Say = lambda *_: None
) -> list[Stage]:
    """The stages that have something left to do; `say` is told what a shard holds. Every prompt is tokenized
    here, so that one that does not fit is found before anything is spent; no model is loaded yet.

    Raises `HazardError` and `UnavailableError` as engines do.
    """
    spec = plan.study.spec
    measured = {(noise.identity, noise.precision) for noise in store.noise()}
    stages = []
    names = dict.fromkeys((cell.model, cell.setting.precision) for cell in plan.cells())
    # Models of one digest share their calls: under its first name each is asked once.
    named = {(plan.study.models[name].digest, precision): name for name, precision in reversed(names)}
    for number, (name, precision) in enumerate(names):
        identity = plan.study.models[name]
        if named[identity.digest, precision] != name:
            continue
        following = list(scaffolded(plan, identity.digest, precision))
        first = first_calls(store, plan.study_digest, following) if following else None
        calls, missing = store.lay_out(number, plan.study_digest, identity.digest, precision, first)
        unmeasured = spec.engine.noise_sample != 0 and (identity.digest, precision) not in measured
        unfinished = bool(following) and store.unfinished(plan.study_digest, identity.digest, precision)
        if not missing and not unmeasured and not unfinished:
            continue
        engine = open_engine(name, identity, precision, spec)
        costs, left, holds = lay_out_tasks(store, number, calls, engine, shard)
        if shard.of > 1:
            say(name, holds)
        if costs or unfinished or not missing:
            about = number, name, identity.digest, precision, engine
            stages.append(Stage(*about, calls, len(costs), sum(costs), left, following))
    return stages


def wave_stages(stage: Stage, stamp: str, store: Writer) -> Iterator[Stage]:
    """The same stage with the calls of each later wave of its scaffolds, then with all its calls. Ask for the
    next when the tasks of one are done: its calls follow from their answers."""
    where = stage.number, stamp, stage.identity, stage.precision
    for wave in later_waves(store, stamp, stage.scaffolds):
        calls, _ = store.lay_out(*where, wave)
        costs, left, _ = lay_out_tasks(store, stage.number, calls, stage.engine, WHOLE, may_fail=True)
        yield replace(stage, calls=calls, tasks=len(costs), cost=sum(costs), left=left)
    if stage.scaffolds:
        calls, _ = store.lay_out(*where)
        yield replace(stage, calls=calls, tasks=0, cost=0, left=lambda: iter(()))


def lay_out_tasks(
    store: Writer, number: int, calls: int, engine: Engine, shard: Shard, may_fail: bool = False
) -> tuple[Sequence[int], Callable[[], Iterator[Sequence[PendingBatch]]], str]:
    """What each task that is left of a stage costs, how to come by them, and what the shard holds of it.
    `may_fail`: see `Call`."""

    @lru_cache(maxsize=1)
    def tasks(start: int) -> list[PendingBatch]:
        stretch = store.stretch(number, start, STRETCH)
        missing = frozenset(call.id for call, answered in stretch if not answered)
        batches = engine.batches([replace(call, may_fail=may_fail) for call, _ in stretch])
        return [PendingBatch(batch, missing.intersection(batch.calls)) for batch in batches]

    # The last stretch comes first: the one that is asked for next, the first, is then still there.
    starts = range(0, calls, STRETCH)
    # Of a batch whose calls all have answers the complement of its cost, which is negative.
    costs = [
        array("q", (task.batch.cost if task.unanswered else ~task.batch.cost for task in tasks(start)))
        for start in reversed(starts)
    ][::-1]
    *before, total = accumulate(map(len, costs), initial=0)
    share = shard.share(max(cost, ~cost) for cost in chain.from_iterable(costs))

    def left() -> Iterator[Sequence[PendingBatch]]:
        for start, first, known in zip(starts, before, costs, strict=True):
            mine = slice(max(share.start - first, 0), max(share.stop - first, 0))
            if any(cost >= 0 for cost in known[mine]):
                yield [task for task in tasks(start)[mine] if task.unanswered]

    shared = islice(chain.from_iterable(costs), share.start, share.stop)
    return array("q", (cost for cost in shared if cost >= 0)), left, shard.holds(share, total)
