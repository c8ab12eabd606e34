"""The exact path as a reference: how answers differ from those of the same weights in fp32 on this machine.

A server computes in bf16 or in four bits, in batches of its own; a local model may be quantised. Where the
files of its weights are here, a sample of its calls is answered once more by the local engine in fp32. What
differs is precision, kernels and, of a server, whether it runs these files at all.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.hazards import waived_for
from gridc.runtime.engines import open_hf
from gridc.runtime.engines.protocol import Call, PendingBatch, answered
from gridc.runtime.noise import compared, drawn
from gridc.runtime.store.events import ReferenceCompared
from gridc.runtime.store.write import Writer
from gridc.schema.effects import EXACT
from gridc.schema.engines import engine_kind

IN_FP32 = "in fp32 on this machine"


def files_of(plan: Plan, name: str, precision: str) -> ModelIdentity | None:
    """The files that a model's answers can be held against in fp32; None where they are fp32 themselves, or
    nobody knows the files."""
    identity = plan.study.models[name]
    if identity.weights is not None:
        return replace(identity.weights, template_args=identity.template_args)
    engine = next(model.engine for model in plan.study.spec.model if model.id == name)
    known = engine_kind(engine).shows_tokens and identity.unpinned is None
    return identity if known and precision != EXACT else None


def compare(plan: Plan, store: Writer, number: int) -> Iterator[tuple[str, ReferenceCompared]]:
    """Repeat so many calls of each model that has a reference, and say by model what came of it; each is
    recorded. Raises `UnavailableError` where the local engine or the files cannot be used."""
    spec = plan.study.spec
    for name, precision in dict.fromkeys((cell.model, cell.setting.precision) for cell in plan.cells()):
        files = files_of(plan, name, precision)
        if files is None:
            continue
        identity = plan.study.models[name].digest
        chosen = drawn(plan, store, identity, precision, number, "reference", _is_determined)
        with closing(open_hf(name, files, EXACT, spec.engine, waived_for(spec, name))) as engine:
            batches = engine.batches([replace(store.call(call), may_fail=True) for call in chosen])
            tasks = [PendingBatch(batch, frozenset(batch.calls)) for batch in batches]
            again = {
                answer.call: answer.content for done in answered(engine, tasks) for answer in done.answers
            }
        body = compared(plan, store, chosen, {IN_FP32: again})
        del body["shape"]
        noted = ReferenceCompared(stamp=plan.study_digest, identity=identity, precision=precision, **body)
        store.record(noted)
        yield name, noted


def _is_determined(call: Call) -> bool:
    """Whether no random number is in the answer: another engine draws others."""
    return not call.parameters.get("temperature")
