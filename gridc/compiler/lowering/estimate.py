"""What a plan will cost in tokens, money and time.

Each number says what it rests on. Tokens are characters divided by characters per token: the model's own
tokenizer says how many those are on a seeded sample of the study's prompts, and where it is not here, four is
taken. Money is a range, from answers of one token and eight characters in a token, to every answer at its
limit and a token for each character; between them, every answer at its limit. Time is what the calls of the
same model took in the store. What cannot be estimated is null.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from typing import Any

from gridc.compiler.inputs.children import TokenCounter
from gridc.compiler.inputs.models import ModelIdentity, ships_with_gridc
from gridc.compiler.inputs.prices import TokenPrice, paid_prices
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.lowering.calls import Extent, Size
from gridc.compiler.lowering.counting import CallCounts
from gridc.compiler.lowering.requests import USUAL
from gridc.confined import ChildEndedError, Confined
from gridc.statistics.reproducibility import in_drawn_order

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


def estimate_cost(
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
    texts = in_drawn_order(set(islice(prompts, LOOKED_AT)), 0, "estimate", str)[:MEASURED]
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
