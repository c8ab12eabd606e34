"""Measures how far answers change when calls are repeated in another batch shape, or in fp32 on this machine.

The noise floor is how much answers move when the same calls are made in another batch shape. In reduced
precision the shape of a batch moves logits, so a difference between two scores that is not larger than what
the shape alone does is no difference. A seeded sample of the calls is answered once more, a few at a time and
some alone, and compared with what the run stored. A server that puts requests into batches by itself is asked
twice: each call alone, and all of them among others, as many at once as the run may open, because what moves
its answers may be how many share a batch, or who. The answers of the run are never replaced.

Unless the study says how many calls, this takes at most a tenth of the run's tokens, or of its requests, if
that is enough for a few calls. In fp32 no repetition that was looked at ever changed an outcome, so few are
enough there.

Noise is measured on what must repeat. Where a seed has no effect a sampled call is drawn again, and how many
answers differ then is the spread of draws: a property of the temperature, which is reported apart.

The exact path is a reference: how answers differ from those of the same weights in fp32 on this machine. A
server computes in bf16 or in four bits, in batches of its own; a local model may be quantised. Where the
files of its weights are here, a sample of its calls is answered once more by the local engine in fp32. What
differs is precision, kernels and, of a server, whether it runs these files at all.
"""

import math
import random
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from typing import Any

from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.inputs.scorers import scorer_errors_coded
from gridc.compiler.lowering.judging import is_judged
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.hazards import waived_for
from gridc.diagnostics.errors import Diagnostic, HazardError, UnavailableError
from gridc.runtime.engines import open_hf
from gridc.runtime.engines.api.attempts import PaidEngine
from gridc.runtime.engines.protocol import (
    ALONE,
    Admit,
    Batch,
    Call,
    Engine,
    PendingBatch,
    answered,
    repetitions,
)
from gridc.runtime.stages import Stage
from gridc.runtime.store.events import DrawSpread, NoiseMeasured, ReferenceCompared, ShapeNoise
from gridc.runtime.store.write import Writer
from gridc.schema.effects import EXACT
from gridc.schema.models import engine_kind
from gridc.schema.spec import EngineSettings
from gridc.statistics.reproducibility import first

ASKED_AGAIN, AMONG = "the same call asked again", "among {} at once"
"""In what shape an engine behind an address is asked once more; the second is that of a server's own
batches."""

SHARE, MOST, MOST_EXACT, LEAST = 0.1, 32, 8, 4
"""Where a study does not say how many calls are made once more: the share of its tokens or requests that this
takes, and how many calls at most, at most in fp32, and at least where requests are counted."""

Repetition = Mapping[str, Mapping[str, Any]]
"""Answers (contents) to calls that were made once more."""


def planned(settings: EngineSettings) -> str | None:
    """What a run makes once more for the noise floor, in a sentence; None where that is nothing."""
    if settings.noise_sample == 0:
        return None
    number = settings.noise_sample
    what = "at most about a tenth of the tokens" if number is None else f"{number:,} calls of each model"
    return f"noise floor: some calls are made once more, {what} on top"


def measure(
    plan: Plan, store: Writer, stage: Stage, least: Mapping[str, float], spare: Admit
) -> Generator[None, None, dict[str, Any] | None]:
    """Answer a sample of a stage's calls once more; a turn each time that the engine has to wait. Returns the
    body of a `noise` event: how many generated texts and how many rankings were repeated, how many changed,
    how far log-likelihoods moved (nats), and how many outcomes of samples changed with them. What is left of
    the sample's size goes to calls that are drawn again, if there are any. None where the caps of the study
    leave no room for a single batch.

    Args:
        least: the least work that the run took, by name (`Engine.least`).
        spare: asked before each batch whether the caps have room for it.
    """
    engine, asked = stage.engine, plan.study.spec.engine.noise_sample
    if not isinstance(engine, PaidEngine):
        number = asked if asked is not None else MOST_EXACT if stage.precision == EXACT else MOST
        tokens = math.inf if asked is not None else SHARE * least.get("forward_tokens", math.inf)
        names = drawn_calls(plan, store, stage.identity, stage.precision, number, "noise")
        some = [(store.call(name), store.answered_with(name)[1]) for name in names]
        shape, batches = repetitions(engine, some, tokens) if some else (ALONE, [])
        again, work = yield from _made_again(engine, batches, spare)
        if batches and not again:
            return None
        body = noise_by_shape(plan, store, [name for name in names if name in again], {shape: again})
        return {**body, "work": work}
    number = asked if asked is not None else max(LEAST, min(MOST, int(SHARE * stage.calls)))
    chosen = drawn_calls(plan, store, stage.identity, stage.precision, number, "noise", engine.repeats)
    shapes = yield from _asked_again(plan, store, stage, engine, chosen)
    body = noise_by_shape(plan, store, chosen, shapes)
    redrawn = drawn_calls(
        plan, store, stage.identity, stage.precision, number - len(chosen), "draws",
        lambda call: not engine.repeats(call),
    )  # fmt: skip
    if redrawn:
        again = yield from repeat_groups(stage.engine, store, [redrawn])
        moved = noise_by_shape(plan, store, redrawn, {ASKED_AGAIN: again})
        body["spread"] = DrawSpread(**{name: moved[name] for name in DrawSpread.model_fields})
    return body


def _asked_again(
    plan: Plan, store: Writer, stage: Stage, engine: PaidEngine, chosen: Sequence[str]
) -> Generator[None, None, dict[str, Repetition]]:
    """What an engine behind an address answers to some calls, by the shape in which they are made again."""
    width = engine.batch_width
    if width is None or not chosen:
        again = yield from repeat_groups(stage.engine, store, [chosen])
        return {ASKED_AGAIN: again}
    mates = drawn_calls(plan, store, stage.identity, stage.precision, width, "mates")
    others = [name for name in mates if name not in chosen][: max(width - len(chosen), 0)]
    alone = yield from repeat_groups(stage.engine, store, [[name] for name in chosen])
    engine.use_full_concurrency()
    seed = plan.study.spec.sampling.seed
    together = random.Random(seed).sample([*chosen, *others], len(chosen) + len(others))
    among = yield from repeat_groups(stage.engine, store, [together])
    return {ALONE: alone, AMONG.format(min(width, len(together))): among}


def drawn_calls(
    plan: Plan,
    store: Writer,
    identity: str,
    precision: str,
    number: int,
    purpose: str,
    fits: Callable[[Call], bool] = lambda call: True,
) -> list[str]:
    """So many calls of a model at a precision, of those that were answered and fit."""
    stamp, seed = plan.study_digest, plan.study.spec.sampling.seed
    every = (name for name in store.answered_calls(stamp, identity, precision) if fits(store.call(name)))
    some = first(number, every, seed, f"{purpose} {stamp}", str)
    return [name for name in some if "error" not in store.answered_with(name)[1]]


def repeat_groups(
    engine: Engine, store: Writer, groups: Sequence[Sequence[str]]
) -> Generator[None, None, dict[str, Mapping[str, Any]]]:
    """What an engine answers to calls that are made once more, one group after another; a turn each time that
    it has to wait."""
    again: dict[str, Mapping[str, Any]] = {}
    for group in groups:
        calls = [replace(store.call(name), may_fail=True) for name in group]
        batches = [batch for call in calls for batch in engine.batches([call])]
        more, _ = yield from _made_again(engine, batches, lambda task: True)
        again |= more
    return again


def _made_again(
    engine: Engine, batches: Sequence[Batch], spare: Admit
) -> Generator[None, None, tuple[dict[str, Mapping[str, Any]], dict[str, float]]]:
    """The answers to the calls of some batches, and the work that they took, by name; a turn each time that
    the engine has to wait."""
    again: dict[str, Mapping[str, Any]] = {}
    work: dict[str, float] = {}
    tasks = [PendingBatch(batch, frozenset(batch.calls)) for batch in batches]
    for done in engine.answers(tasks, spare):
        if not done.answers:
            yield
        again |= {answer.call: answer.content for answer in done.answers}
        for name, value in done.spending.work.items():
            work[name] = work.get(name, 0) + value
    return again, work


def noise_by_shape(
    plan: Plan, store: Writer, chosen: Sequence[str], shapes: Mapping[str, Repetition]
) -> dict[str, Any]:
    """How the stored answers to calls differ from those that came in each of some batch shapes."""
    stamp = plan.study_digest
    cells = {cell.key: cell for cell in plan.cells()}
    items = lru_cache(maxsize=8)(lambda key: {item.id: item for item in plan.items(cells[key])})
    moved: dict[str, list[float]] = {shape: [] for shape in shapes}
    texts: list[set[str]] = []  # of each the shapes in which it is another one
    outcomes: list[set[str]] = []
    rankings = 0

    def earned(key: str, item: str, answers: Sequence[Any]) -> tuple[Any, Any]:
        with scorer_errors_coded():
            outcome = plan.score(cells[key], items(key)[item], answers)
        return outcome.choice, outcome.score

    for name in chosen:
        _, before = store.answered_with(name)
        after = {shape: again[name] for shape, again in shapes.items() if name in again}
        if len(after) < len(shapes) or any("error" in content for content in after.values()):
            continue
        if "text" in before:
            texts.append({shape for shape, content in after.items() if content["text"] != before["text"]})
        else:
            rankings += 1
            for shape, content in after.items():
                moved[shape] += likelihood_moves(before["loglikelihoods"], content["loglikelihoods"])
        for key, item, steps in store.samples_with(stamp, name):
            if cells[key].setting.scaffolding is not None and steps[-1] != name:
                continue  # what a scaffold would have asked next is not known
            if is_judged(cells[key]):
                continue  # what a judge would have made of it is not known
            given = [store.answered_with(step)[1] for step in steps]
            was = earned(key, item, given)
            changed = set()
            for shape, content in after.items():
                redrawn = [
                    content if step == name else answer for step, answer in zip(steps, given, strict=True)
                ]
                if earned(key, item, redrawn) != was:
                    changed.add(shape)
            outcomes.append(changed)
    every_move = [move for moves in moved.values() for move in moves]
    body = {
        "shape": ", and ".join(shapes),
        "calls": len(texts) + rankings,
        "texts": len(texts),
        "texts_changed": sum(map(bool, texts)),
        "rankings": rankings,
        "loglikelihoods": len(every_move) // len(shapes),
        "max_moved": max(every_move, default=None),
        "mean_moved": sum(every_move) / len(every_move) if every_move else None,
        "outcomes": len(outcomes),
        "outcomes_changed": sum(map(bool, outcomes)),
    }
    if len(shapes) > 1:
        body["by_shape"] = {
            shape: ShapeNoise(
                texts=sum(shape in changed for changed in texts),
                outcomes=sum(shape in changed for changed in outcomes),
                max_moved=max(moved[shape], default=None),
            )
            for shape in shapes
        }
    return body


def noise_sentences(model: str, noise: NoiseMeasured) -> Iterator[str]:
    """What moved of a server's answers, shape by shape, and how far draws spread."""
    for shape, moved in (noise.by_shape or {}).items():
        parts = [f"{moved.texts:,} of {noise.texts:,} texts are other ones"] * bool(noise.texts)
        if moved.max_moved is not None:
            parts.append(f"likelihoods moved by up to {moved.max_moved:.2g} nats")
        parts.append(f"{moved.outcomes:,} of {noise.outcomes:,} outcomes changed")
        yield f"{model}: asked again, {shape}: {', '.join(parts)}"
    if noise.spread is not None:
        yield f"{model}: {noise.spread.words}"


def likelihood_moves(before: list[float | None], after: list[float | None]) -> list[float]:
    """How far each log-likelihood moved. Impossible candidates have none to move."""
    pairs = zip(before, after, strict=True)
    return [abs(left - right) for left, right in pairs if left is not None and right is not None]


IN_FP32 = "in fp32 on this machine"

USUAL = 8
"""Calls of each model behind a server that are made once more where nobody says how many."""


def reference_files(plan: Plan, name: str, precision: str) -> ModelIdentity | None:
    """The files that a model's answers can be held against in fp32; None where they are fp32 themselves, or
    nobody knows the files."""
    identity = plan.study.models[name]
    if (files := identity.served_files) is not None:
        return files
    engine = next(model.engine for model in plan.study.spec.model if model.id == name)
    known = engine_kind(engine).shows_tokens and identity.unpinned is None
    return identity if known and precision != EXACT else None


def reference_models(plan: Plan, store: Writer, number: int | None) -> list[tuple[str, str, ModelIdentity]]:
    """The models, each with a precision and its files, of which calls are to be made once more: with a number
    every one whose files are known; without one those behind a server that have no reference yet."""
    every = dict.fromkeys((cell.model, cell.setting.precision) for cell in plan.cells())
    found = [(name, precision, reference_files(plan, name, precision)) for name, precision in every]
    known = {(noted.identity, noted.precision) for noted in store.references()}
    models = plan.study.models
    return [
        (name, precision, files)
        for name, precision, files in found
        if files is not None
        and (
            number is not None
            or (models[name].served_files is not None and (models[name].digest, precision) not in known)
        )
    ]


def compare_with_reference(
    plan: Plan, store: Writer, number: int | None, models: Sequence[tuple[str, str, ModelIdentity]]
) -> Iterator[str]:
    """Repeat so many calls of each of some models (None: `USUAL`, if this machine can), and say in a sentence
    each what came of it, which is recorded. Raises `UnavailableError` where the local engine or the files
    cannot be used, `HazardError` for a prompt; without a number that is said instead."""
    for name, precision, files in models:
        try:
            noted = _compared(plan, store, number, name, precision, files)
        except (UnavailableError, HazardError) as error:
            if number is not None:
                raise
            why = error.diagnostics[0].message
            yield f"{name}: not compared with fp32 on this machine: {why} (`--reference 0` leaves it out)"
            continue
        store.record(noted)
        yield f"{name}: beside fp32 on this machine: {noted.words}"


def _compared(
    plan: Plan, store: Writer, number: int | None, name: str, precision: str, files: ModelIdentity
) -> ReferenceCompared:
    spec, identity = plan.study.spec, plan.study.models[name].digest
    count = USUAL if number is None else number
    chosen = drawn_calls(plan, store, identity, precision, count, "reference", _is_determined)
    settings = spec.engine
    if number is None:  # whoever asks for it by a number knows the machine; a GPU may be the server's
        settings = settings.model_copy(update={"device": "cpu"})
    with closing(open_hf(name, files, EXACT, settings, waived_for(spec, name))) as engine:
        if number is None and chosen:
            _require_memory(name, files)
        batches = engine.batches([replace(store.call(call), may_fail=True) for call in chosen])
        tasks = [PendingBatch(batch, frozenset(batch.calls)) for batch in batches]
        again = {answer.call: answer.content for done in answered(engine, tasks) for answer in done.answers}
    body = noise_by_shape(plan, store, chosen, {IN_FP32: again})
    del body["shape"]
    return ReferenceCompared(stamp=plan.study_digest, identity=identity, precision=precision, **body)


def _require_memory(name: str, files: ModelIdentity) -> None:
    """Raise `UnavailableError` (GC608) where the weights in fp32, and what is needed to work with them, are
    more than what is free: nobody asked for this, and the machine may be in use."""
    from gridc.runtime.engines.hf.loading import folder_of
    from gridc.runtime.engines.hf.memory import MIB, USUAL_KV_MIB, free_memory, need_of_files, size

    need = need_of_files(folder_of(name, files), EXACT, "cpu", USUAL_KV_MIB * MIB, None)
    free = free_memory("cpu")
    if need is not None and free is not None and need.peak > free.bytes:
        message = f"it takes about {size(need.peak)} of memory, and {free.words}"
        help = f"`--reference {USUAL}` tries it all the same"
        raise UnavailableError([Diagnostic("GC608", message, help=help)])


def _is_determined(call: Call) -> bool:
    """Whether no random number is in the answer: another engine draws others."""
    return not call.parameters.get("temperature")
