"""What the local models of a study need of this machine's memory, and which settings would need less."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from gridc.compiler.instrument.item import Item
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.lowering.requests import USUAL
from gridc.runtime.engines.hf import memory
from gridc.runtime.engines.hf.memory import AS_SHIPPED, GIB, MIB, MemoryNeed, size
from gridc.schema.effects import EXACT
from gridc.schema.models import engine_kind

LARGE = GIB
"""Bytes of weights in fp32 from which on a person is told what their files hold."""

LOOKED_AT = 2_000
"""Cells of a model at a precision in which the largest call is looked for."""


@dataclass(frozen=True, slots=True)
class ModelMemory:
    """What a model at a precision needs on a `device` (cpu, cuda), in bytes: its `weights`, the keys and
    values of its largest `call`, about (None: not known), and of a batch at most (`kv`), and about the `peak`
    with what it works with; and what is `free` (None: the system does not say). `shipped` is what its weights
    would take as their files hold them. `lacks` says why it will not run, with the ways out; None where it
    may. `own_server`: vLLM runs it."""

    model: str
    precision: str
    device: str
    weights: int
    shipped: int | None
    call: int | None
    kv: int
    peak: int
    free: int | None
    lacks: str | None
    own_server: bool

    @property
    def words(self) -> str:
        """What it needs, in a sentence."""
        largest = "" if self.call is None else f", {size(self.call)} of them for its largest call"
        parts = f"{size(self.weights)} of weights, up to {size(self.kv)} of keys and values{largest}"
        return f"{self.model} at {self.precision} on {self.device}: about {size(self.peak)} at most, {parts}"

    def as_json(self) -> dict[str, Any]:
        """As `gridc plan --json` prints it."""
        left = None if self.free is None else size(self.free)
        return asdict(self) | {"words": self.words, "left": left}


def memory_of(plan: Plan, calls: bool = True) -> list[ModelMemory]:
    """What each local model needs at each precision, where its files are here; with `calls` also that of its
    largest call. Nothing is loaded, and torch is imported only where there is a GPU."""
    kinds = {model.id: engine_kind(model.engine) for model in plan.study.spec.model}
    folders = {
        name: folder
        for name, kind in kinds.items()
        if kind.shows_tokens and (folder := plan.study.models[name].folder) is not None
    }
    if not folders:
        return []
    settings = plan.study.spec.engine
    device = memory.device_kind(settings.device)
    free = memory.free_memory(device)
    found = []
    for (name, precision), positions in _largest_calls(plan, folders, calls).items():
        folder = folders[name]
        first = _need(folder, precision, device, 0, None)
        if first is None:
            continue  # loading it will say what is wrong with its files
        kv = settings.kv_mib or memory.usual_kv_mib(device, first.weights)
        need = _need(folder, precision, device, kv * MIB, positions) or first
        shipped = _need(folder, AS_SHIPPED, device, 0, None)
        lacking = memory.lacking(name, precision, need, free)
        found.append(
            ModelMemory(
                name,
                precision,
                device,
                need.weights,
                None if shipped is None else shipped.weights,
                need.call,
                need.kv,
                need.peak,
                None if free is None else free.bytes,
                None if lacking is None else f"{lacking.message}: {lacking.help}",
                kinds[name].server is not None,
            )
        )
    return found


def advice(rows: Iterable[ModelMemory]) -> Iterator[str]:
    """What a person may want to write for models like these, a sentence each."""
    on_gpu = False
    for row in rows:
        on_gpu |= row.device == "cuda" and not row.own_server
        large = row.weights > LARGE or row.device == "cuda"
        if row.precision == EXACT and large and row.shipped is not None and row.shipped < row.weights:
            yield (
                f"{row.model} is computed in {EXACT}, in which its weights take {size(row.weights)}: "
                f'`precision = "{AS_SHIPPED}"` takes {size(row.shipped)}, as the files hold them, and is '
                "another measurement"
            )
    if on_gpu:
        yield (
            'this machine has a GPU: with `engine = "vllm"` a vLLM server answers, which batches across '
            "requests and is faster there (`gridc docs engine`)"
        )


def _need(folder: Path, precision: str, device: str, kv: int, positions: int | None) -> MemoryNeed | None:
    """What a model needs; None where its files do not say."""
    call = None
    if positions is not None:
        try:
            each = memory.position_bytes(memory.stated_config(folder), precision, device)
        except (OSError, ValueError):
            return None
        call = None if each is None else positions * each
    return memory.need_of_files(folder, precision, device, kv, call)


def _largest_calls(plan: Plan, wanted: Collection[str], calls: bool) -> dict[tuple[str, str], int | None]:
    """Each of these models with each of its precisions and, with `calls`, about how many tokens its largest
    call has, prompt and answer: that on each benchmark's longest item, in the first cells. None where no item
    is here."""
    items = {name: here.sampled for name, here in plan.study.items.items() if here.sampled and calls}
    longest = {name: max(sampled, key=_length) for name, sampled in items.items()}
    found: dict[tuple[str, str], int | None] = {}
    looked: Counter[tuple[str, str]] = Counter()
    for cell in plan.cells():
        key = cell.model, cell.setting.precision
        if cell.model not in wanted:
            continue
        found.setdefault(key, None)
        if cell.benchmark not in longest or looked[key] == LOOKED_AT:
            continue
        looked[key] += 1
        for sample in islice(plan.samples_of(cell, longest[cell.benchmark]), 1):
            for request in sample.requests:
                limit = request.parameters.get("max_tokens", 0)
                candidates = request.parameters.get("continuations") or [""]
                characters = request.prompt.characters + max(map(len, candidates))
                tokens = round(characters / USUAL) + (limit if isinstance(limit, int) else 0)
                found[key] = max(found[key] or 0, tokens)
    return found


def _length(item: Item) -> int:
    texts = (item.query, item.context, item.preamble, *item.options, *(text for _, text in item.messages))
    return sum(map(len, texts))
