"""How much a plan asks: every call, every distinct call once, and what each model is sent.

One walk over the plan in bounded memory, whatever its size.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

from gridc.compiler.grid.cell import Cell
from gridc.compiler.grid.distinct_digests import Distinct
from gridc.compiler.lowering.calls import CallKind, Extent, PlannedSample

KINDS: tuple[CallKind, ...] = ("generate", "loglikelihood")


@dataclass(frozen=True, slots=True)
class ModelCounts:
    """What one model is asked, each distinct call once.

    `stored` counts the calls whose answer a store already has, null when none was looked at.
    `prompt_characters` and `generated_tokens` are of the distinct calls: characters that are sent, and the
    most tokens that may come back. They are the means over all calls times the number of distinct ones.

    Calls that follow from answers, of scaffolds and all those of judges, are not among them: `later` says how
    many these are, null where there is none. Those that cells share are asked once, which can only lower it.
    """

    calls: int
    prompts: int
    stored: int | None
    prompt_characters: int
    generated_tokens: int
    later: Extent | None = None


@dataclass(frozen=True, slots=True)
class CallCounts:
    """How much is asked. `calls` counts every sample's calls, `unique` each distinct call once. Of a scaffold
    these are the first calls, which are known before the run.

    `shared_draws` says how often a configuration gets an answer that was drawn for another one, because both
    send the same words, by the axes in which the two differ (`differ`).

    A run is one pass over a benchmark's items: a cell times its replicates. Two names of the same model
    files are one model to the calls; they are counted under the name that comes first.
    """

    cells: int
    runs: int
    samples: int
    calls: int
    unique: int
    prompts: int
    by_kind: Mapping[str, int]
    models: Mapping[str, ModelCounts]
    shared_draws: Mapping[str, int]


@dataclass(slots=True)
class _SentSums:
    """What is sent to one model, over all calls: sums, to be scaled to the distinct ones."""

    calls: int = 0
    characters: int = 0
    most: int = 0
    later: Extent | None = None


def differ(first: Cell, other: Cell) -> str:
    """The axes in which two cells differ, `model` where they are of two names of one."""
    axes = [axis for axis, level in first.levels.items() if other.levels[axis] != level]
    axes += ["benchmark"] if first.benchmark != other.benchmark else []
    return ", ".join(axes + (["model"] if first.model != other.model else []))


def shared_words(shared_draws: Mapping[str, int]) -> list[str]:
    """What is said of answers that serve several configurations, by the axes in which these differ."""
    return [
        f"{number:,} drawn {'answer serves' if number == 1 else 'answers serve'} a second configuration too, "
        f"which sends the same words and differs in {axes} alone: there the two share one draw"
        for axes, number in shared_draws.items()
    ]


def count(
    cells: Iterable[tuple[Cell, Iterator[PlannedSample]]],
    models: Mapping[str, str],
    draws: Callable[[Cell], bool],
    answered: Iterable[bytes] | None = None,
) -> CallCounts:
    """Walk a plan once. `models` gives each name's digest; `draws` says whether a cell's answers could come
    out otherwise; `answered` has the digests of the calls that a store has answers to."""
    names = {digest: name for name, digest in reversed(list(models.items()))}
    order = list(names)
    sent = {digest: _SentSums() for digest in names}
    totals = {"cells": 0, "runs": 0, "samples": 0, "calls": 0}
    extents: dict[tuple[str, bytes], Extent] = {}  # of cells that differ in their model alone
    drawing: list[Cell] = []
    with Distinct() as calls, Distinct() as prompts, Distinct() as stored, Distinct() as drawn:
        for cell, samples in cells:
            here: set[str] = set()
            totals["cells"] += 1
            totals["runs"] += cell.setting.replicates
            scaffolded, extent = cell.setting.scaffolding is not None, Extent()
            alike = (cell.benchmark, cell.setting.key) if scaffolded else None
            for sample in samples:
                totals["samples"] += 1
                if sample.scaffolded is not None and alike not in extents:
                    extent += sample.scaffolded.extent()
                for request in sample.requests:
                    totals["calls"] += 1
                    place = order.index(request.model)
                    calls.add(bytes.fromhex(request.id), place * len(KINDS) + KINDS.index(request.kind))
                    text = f"{request.model}{request.precision}{request.prompt.id}"
                    prompts.add(sha256(text.encode()).digest(), place)
                    _note(sent[request.model], request.prompt.characters, request.parameters)
                    here.add(request.id)
            if draws(cell):
                for identifier in here:
                    drawn.add(bytes.fromhex(identifier), len(drawing))
                drawing.append(cell)
            if alike is not None:
                model = sent[models[cell.model]]
                model.later = (model.later or Extent()) + extents.setdefault(alike, extent)
        for digest in answered or ():
            stored.add(digest)
        distinct, shown = calls.counts(), prompts.counts()
        known = calls.shared(stored) if answered is not None else None
        twice = Counter(differ(drawing[first], drawing[later]) for first, later in drawn.twins())
    of_model = {
        names[digest]: _model_counts(
            sent[digest],
            sum(distinct[place * len(KINDS) + kind] for kind in range(len(KINDS))),
            shown[place],
            None if known is None else sum(known[place * len(KINDS) + kind] for kind in range(len(KINDS))),
        )
        for place, digest in enumerate(order)
    }
    by_kind: dict[str, int] = {
        kind: number
        for rank, kind in enumerate(KINDS)
        if (number := sum(distinct[place * len(KINDS) + rank] for place in range(len(order))))
    }
    return CallCounts(
        **totals,
        unique=distinct.total(),
        prompts=shown.total(),
        by_kind=by_kind,
        models={name: of_model[name] for name in models if name in of_model},
        shared_draws=dict(twice.most_common()),
    )


def _note(sent: _SentSums, characters: int, parameters: Mapping[str, object]) -> None:
    sent.calls += 1
    continuations = parameters.get("continuations")
    if isinstance(continuations, list):
        characters += sum(len(continuation) for continuation in continuations)
    sent.characters += characters
    longest = parameters.get("max_tokens", 0)
    sent.most += longest if isinstance(longest, int) else 0


def _model_counts(sent: _SentSums, calls: int, prompts: int, stored: int | None) -> ModelCounts:
    share = calls / sent.calls if sent.calls else 0.0
    characters, generated = round(sent.characters * share), round(sent.most * share)
    later = None if sent.later is None else sent.later.rounded()
    return ModelCounts(calls, prompts, stored, characters, generated, later)
