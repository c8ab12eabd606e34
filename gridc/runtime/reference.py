"""The exact path as a reference: how answers differ from those of the same weights in fp32 on this machine.

A server computes in bf16 or in four bits, in batches of its own; a local model may be quantised. Where the
files of its weights are here, a sample of its calls is answered once more by the local engine in fp32. What
differs is precision, kernels and, of a server, whether it runs these files at all.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.hazards import waived_for
from gridc.diagnostics.errors import Diagnostic, HazardError, UnavailableError
from gridc.runtime.engines import open_hf
from gridc.runtime.engines.protocol import Call, PendingBatch, answered
from gridc.runtime.noise import compared, drawn
from gridc.runtime.store.events import ReferenceCompared
from gridc.runtime.store.write import Writer
from gridc.schema.effects import EXACT
from gridc.schema.engines import engine_kind

IN_FP32 = "in fp32 on this machine"

USUAL = 8
"""Calls of each model behind a server that are made once more where nobody says how many."""


def files_of(plan: Plan, name: str, precision: str) -> ModelIdentity | None:
    """The files that a model's answers can be held against in fp32; None where they are fp32 themselves, or
    nobody knows the files."""
    identity = plan.study.models[name]
    if identity.weights is not None:
        return replace(identity.weights, template_args=identity.template_args)
    engine = next(model.engine for model in plan.study.spec.model if model.id == name)
    known = engine_kind(engine).shows_tokens and identity.unpinned is None
    return identity if known and precision != EXACT else None


def wanted(plan: Plan, store: Writer, number: int | None) -> list[tuple[str, str, ModelIdentity]]:
    """The models, each with a precision and its files, of which calls are to be made once more: with a number
    every one whose files are known; without one those behind a server that have no reference yet."""
    every = dict.fromkeys((cell.model, cell.setting.precision) for cell in plan.cells())
    found = [(name, precision, files_of(plan, name, precision)) for name, precision in every]
    known = {(noted.identity, noted.precision) for noted in store.references()}
    models = plan.study.models
    return [
        (name, precision, files)
        for name, precision, files in found
        if files is not None
        and (
            number is not None
            or (models[name].weights is not None and (models[name].digest, precision) not in known)
        )
    ]


def compare(
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
    chosen = drawn(plan, store, identity, precision, count, "reference", _is_determined)
    settings = spec.engine
    if number is None:  # whoever asks for it by a number knows the machine; a GPU may be the server's
        settings = settings.model_copy(update={"device": "cpu"})
    with closing(open_hf(name, files, EXACT, settings, waived_for(spec, name))) as engine:
        if number is None and chosen:
            _require_memory(name, files)
        batches = engine.batches([replace(store.call(call), may_fail=True) for call in chosen])
        tasks = [PendingBatch(batch, frozenset(batch.calls)) for batch in batches]
        again = {answer.call: answer.content for done in answered(engine, tasks) for answer in done.answers}
    body = compared(plan, store, chosen, {IN_FP32: again})
    del body["shape"]
    return ReferenceCompared(stamp=plan.study_digest, identity=identity, precision=precision, **body)


def _require_memory(name: str, files: ModelIdentity) -> None:
    """Raise `UnavailableError` (GC606) where the weights in fp32, and half as much to work with, are more
    than what is free."""
    from torch import device

    from gridc.runtime.engines.hf.checkpoint import folder_of
    from gridc.runtime.engines.hf.loading import bytes_in_fp32, memory

    needed, (free, _) = bytes_in_fp32(folder_of(name, files)) * 1.5, memory(device("cpu"))
    if needed > free:
        message = f"it takes about {needed / 2**30:,.1f} GiB of memory, and {free / 2**30:,.1f} GiB are free"
        help = f"`--reference {USUAL}` tries it all the same"
        raise UnavailableError([Diagnostic("GC606", message, help=help)])


def _is_determined(call: Call) -> bool:
    """Whether no random number is in the answer: another engine draws others."""
    return not call.parameters.get("temperature")
