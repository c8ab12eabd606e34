"""The scheduler of judges: when every response of the study is there, these are judged, wave by wave.

The map from identifiers to samples is sealed before the first call. A wave holds what is known by now of what
judges have to be asked; replies that cannot be read lead to the next. The labels are locked when nothing is
left to ask, and only then is the map opened.
"""

from collections.abc import Callable, Generator, Iterator

from gridc.compiler.lowering.judging import Judged, judged_by
from gridc.compiler.lowering.plan import Plan
from gridc.runtime import sealing
from gridc.runtime.engines.protocol import Engine
from gridc.runtime.judgements import hides, responses
from gridc.runtime.stages import WHOLE, Open, Stage, lay_out_tasks
from gridc.runtime.store.write import Writer


def waves(plan: Plan, store: Writer) -> Iterator[Judged]:
    """What is known of judging, once for each wave. Every call that it asks is in the store; the next wave is
    asked for when those of this one have been answered. The last one is complete, or waits for a call that
    was not answered here. There is none while responses are missing."""
    given = responses(plan, store)
    if given is None:
        return
    if hides(plan):
        places = sealing.begin(plan, store)
        by_key = {response.key: response for response in given}
        given = [by_key[places.places[response.uuid]] for response in places.responses]
    before = -1
    while True:
        state = judged_by(plan.study, given, store.answer_to)
        store.extend_judgements(plan.study_digest, state.asks)
        yield state
        replies = sum(ask.verdict is not None for ask in state.asks)
        if state.complete or replies == before:
            return
        before = replies


def stages(plan: Plan, store: Writer, open_engine: Open) -> Generator[list[Stage], None, None]:
    """The stages of each wave, one for each model that judges in it, with what it has to do, while there is
    something. Ask for the next wave when one is done."""
    engines: dict[tuple[str, str], Engine] = {}
    try:
        for state in waves(plan, store):
            wanted: dict[tuple[str, str], dict[str, str]] = {}
            for ask in state.asks:
                if ask.verdict is None:
                    key = ask.request.model, ask.request.precision
                    wanted.setdefault(key, {}).setdefault(ask.request.id, ask.assessor)
            wave = []
            for number, ((identity, precision), calls) in enumerate(wanted.items()):
                name = next(iter(calls.values()))
                if (identity, precision) not in engines:
                    opened = open_engine(name, plan.study.judges[name], precision, plan.study.spec)
                    engines[identity, precision] = opened
                engine = engines[identity, precision]
                about = plan.study_digest, identity, precision
                total, _ = store.lay_out(number, *about, calls, ordered=True)
                costs, left, _ = lay_out_tasks(store, number, total, engine, WHOLE, may_fail=True)
                wave.append(
                    Stage(number, name, identity, precision, engine, total, len(costs), sum(costs), left)
                )
            if wave:
                yield wave
    finally:
        for engine in engines.values():
            engine.close()


def close(plan: Plan, store: Writer, state: Judged, score: Callable[[], None]) -> None:
    """Lock the labels, open the map, and score: in this order, so that no label can follow a score, and what
    is scored is known by its condition only then."""
    if hides(plan):
        stamp = plan.study_digest
        sealing.lock(store, stamp, store.judgements_digest(stamp), len(state.rulings))
        sealing.unblind(store, sealing.begin(plan, store), stamp)
    score()
