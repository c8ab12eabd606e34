"""How much a plan asks, in calls, and what it will cost in tokens, money and time.

One walk over the plan, in bounded memory, counts every call, every distinct call once, and what each model is
sent.

Each number says what it rests on. Tokens are characters divided by characters per token: the model's own
tokenizer says how many those are on a seeded sample of the study's prompts, and where it is not here, four is
taken. Money is a range, from answers of one token and eight characters in a token, to every answer at its
limit and a token for each character; between them, every answer at its limit. Time is what the calls of the
same model took in the store. What cannot be estimated is null.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from itertools import islice
from typing import Any

from gridc.compiler.grid.cells import Cell, DistinctCounter
from gridc.compiler.inputs.children import TokenCounter
from gridc.compiler.inputs.models import ModelIdentity, ships_with_gridc
from gridc.compiler.inputs.prices import TokenPrice, paid_prices
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.lowering.calls import CallKind, Extent, PlannedSample, Size
from gridc.compiler.lowering.requests import USUAL
from gridc.confined import ChildEndedError, Confined
from gridc.statistics.reproducibility import ranked

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
class _RequestTotals:
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
    """What is said of answers that serve several configurations, by the axes in which these differ. One draw
    that serves four is the answer of another configuration three times."""
    return [
        f"{'1 answer of a configuration is' if number == 1 else f'{number:,} answers of configurations are'} "
        f"taken from another one, which sends the same words and differs in {axes} alone: the two share one "
        "draw"
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
    sent = {digest: _RequestTotals() for digest in names}
    totals = {"cells": 0, "runs": 0, "samples": 0, "calls": 0}
    extents: dict[tuple[str, bytes], Extent] = {}  # of cells that differ in their model alone
    drawing: list[Cell] = []
    with (
        DistinctCounter() as calls,
        DistinctCounter() as prompts,
        DistinctCounter() as stored,
        DistinctCounter() as drawn,
    ):
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


def _note(sent: _RequestTotals, characters: int, parameters: Mapping[str, object]) -> None:
    sent.calls += 1
    continuations = parameters.get("continuations")
    if isinstance(continuations, list):
        characters += sum(len(continuation) for continuation in continuations)
    sent.characters += characters
    longest = parameters.get("max_tokens", 0)
    sent.most += longest if isinstance(longest, int) else 0


def _model_counts(sent: _RequestTotals, calls: int, prompts: int, stored: int | None) -> ModelCounts:
    share = calls / sent.calls if sent.calls else 0.0
    characters, generated = round(sent.characters * share), round(sent.most * share)
    later = None if sent.later is None else sent.later.rounded()
    return ModelCounts(calls, prompts, stored, characters, generated, later)


SPARSE = 8.0
"""Characters per token that no text of a study comes to."""

PER_CALL = 48
"""Tokens that a chat template adds to a call, at most."""

LOOKED_AT = 2_000
MEASURED = 100


@dataclass(frozen=True, slots=True)
class Estimate:
    """One model's share. Money in US dollars (as estimated, at least, at most) and time in seconds are of the
    calls that have no answer yet; `basis` says how tokens were counted, `price` where prices are from."""

    prompt_tokens: int
    generated_tokens: int
    basis: str
    usd: float | None
    usd_least: float | None
    usd_most: float | None
    price: str | None
    seconds: float | None
    later: "LaterCalls | None" = None


@dataclass(frozen=True, slots=True)
class Amount:
    """So many calls, their tokens, and US dollars; None where no price is known."""

    calls: int
    prompt_tokens: int
    generated_tokens: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class LaterCalls:
    """What scaffolds ask beyond the first calls, which the other numbers are of: at least, about, at most."""

    least: Amount
    expected: Amount
    most: Amount


def estimate(
    study: Study,
    counts: CallCounts,
    prompts: Iterable[str],
    speeds: Mapping[str, float],
    prices: Mapping[str, TokenPrice] | None = None,
) -> dict[str, Estimate]:
    """Per model name. `prompts` are texts of the plan, of which a seeded sample is tokenized; `speeds` gives
    seconds per call by model digest, `prices` what tokens cost by model, as they are listed now by
    default."""
    prices = paid_prices(study.spec) if prices is None else prices
    texts = ranked(set(islice(prompts, LOOKED_AT)), 0, "estimate", str)[:MEASURED]
    estimates = {}
    for model in study.spec.asked_models:
        if model.id not in counts.models:
            continue
        model_counts = counts.models[model.id]
        ratio, basis = _characters_per_token(study.asked_models[model.id], texts)
        read, price = round(model_counts.prompt_characters / ratio), prices.get(model.id)
        left = model_counts.calls - (model_counts.stored or 0)
        share = left / model_counts.calls if model_counts.calls else 0.0
        speed = speeds.get(study.asked_models[model.id].digest)
        estimates[model.id] = Estimate(
            prompt_tokens=read,
            generated_tokens=model_counts.generated_tokens,
            basis=basis,
            **_money(
                price,
                read * share,
                model_counts.prompt_characters * share,
                model_counts.generated_tokens * share,
                left,
            ),
            seconds=None if speed is None else speed * left,
            later=None if model_counts.later is None else _later_calls(model_counts.later, price, ratio),
        )
    return estimates


def _later_calls(later: Extent, price: TokenPrice | None, ratio: float) -> LaterCalls:
    """Prompt tokens as money counts them: eight characters in one, as estimated, one for each character."""

    def amount(
        size: Size, read: float, usd: Callable[[TokenPrice], Callable[[float, float], float]]
    ) -> Amount:
        money = None if price is None else usd(price)(read, size.generated_tokens)
        return Amount(round(size.calls), round(read), round(size.generated_tokens), money)

    least, expected, most = later.least, later.expected, later.most
    return LaterCalls(
        amount(least, least.prompt_characters / SPARSE, lambda price: price.usd),
        amount(expected, expected.prompt_characters / ratio, lambda price: price.usd),
        amount(most, most.prompt_characters + PER_CALL * most.calls, lambda price: price.most),
    )


def _money(
    price: TokenPrice | None, read: float, characters: float, written: float, calls: float
) -> dict[str, Any]:
    """The money of some calls: as estimated, at least, at most, and where the price is from."""
    if price is None:
        return dict.fromkeys(("usd", "usd_least", "usd_most", "price"))
    return {
        "usd": price.usd(read, written),
        "usd_least": price.usd(characters / SPARSE, calls),
        "usd_most": price.most(characters + PER_CALL * calls, written),
        "price": f"{price.source}, {price.as_of}",
    }


def _characters_per_token(identity: ModelIdentity, texts: list[str]) -> tuple[float, str]:
    usual = f"{USUAL:g} characters per token"
    files = identity.weights or identity
    if files.folder is None or not any(texts) or find_spec("tokenizers") is None:
        return USUAL, usual
    path = str((files.folder / "tokenizer.json").absolute())
    try:
        if ships_with_gridc(dict(files.files)):
            tokens = TokenCounter().tokens(path, texts)
        else:
            with closing(Confined(f"{TokenCounter.__module__}:TokenCounter")) as counter:
                tokens = counter.ask("tokens", path, texts)
    except (ChildEndedError, ValueError) as error:  # a run will say it with a code
        why = f"it {error}" if isinstance(error, ChildEndedError) else error
        return USUAL, f"{usual} (its tokenizer cannot be read: {why})"
    return sum(map(len, texts)) / max(tokens, 1), f"its tokenizer on {len(texts)} prompts"
