"""The scheduler of scaffolds: all items take a step together, wave by wave.

A wave holds the calls that became known by the answers of the waves before it, over all items and scaffolds
of a model, so an engine batches them as it batches plain calls. Each is written with the sample that it
belongs to before it is asked. Procedures are run again on the stored answers, so a run that was killed goes
on where it was, with the same waves.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import count

from gridc.compiler.grid.cell import Cell
from gridc.compiler.lowering.calls import PlannedSample, Request
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.engines.protocol import Call
from gridc.runtime.store.store import Store
from gridc.runtime.store.write import Writer

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


def waves(store: Writer, stamp: str, samples: Scaffolds) -> Iterator[dict[str, Call]]:
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
