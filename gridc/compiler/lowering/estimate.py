"""What a plan will cost: tokens, money and time, each with what the estimate rests on.

Tokens are characters divided by characters per token: the model's own tokenizer says how many those are on
a seeded sample of the study's prompts, and where it is not here, four is taken. Money is litellm's price
table. Time is what the calls of the same model took in the store. What cannot be estimated is null.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from gridc.compiler.inputs.resolve import Study
from gridc.compiler.lowering.call_counts import Counts
from gridc.compiler.lowering.traces import USUAL
from gridc.schema.engines import engine_kind
from gridc.schema.spec import Model
from gridc.statistics.seeded import ranked

LOOKED_AT = 2_000
MEASURED = 100


@dataclass(frozen=True, slots=True)
class Estimate:
    """One model's share. Money in US dollars and time in seconds are of the calls that have no answer yet;
    `basis` says how tokens were counted."""

    prompt_tokens: int
    generated_tokens: int
    basis: str
    usd: float | None
    seconds: float | None


def estimate(
    study: Study, counts: Counts, prompts: Iterable[str], speeds: Mapping[str, float]
) -> dict[str, Estimate]:
    """Per model name. `prompts` are texts of the plan, of which a seeded sample is tokenized; `speeds` gives
    seconds per call by model digest."""
    texts = ranked(set(islice(prompts, LOOKED_AT)), 0, "estimate", str)[:MEASURED]
    prices = _prices() if any(engine_kind(model.engine).provider for model in study.spec.model) else {}
    found = {}
    for model in study.spec.model:
        if model.id not in counts.models:
            continue
        asked = counts.models[model.id]
        ratio, basis = _characters_per_token(study.models[model.id].folder, texts)
        read = round(asked.prompt_characters / ratio)
        left = asked.calls - (asked.stored or 0)
        share = left / asked.calls if asked.calls else 0.0
        speed = speeds.get(study.models[model.id].digest)
        found[model.id] = Estimate(
            prompt_tokens=read,
            generated_tokens=asked.generated_tokens,
            basis=basis,
            usd=_money(model, prices, read * share, asked.generated_tokens * share),
            seconds=None if speed is None else speed * left,
        )
    return found


def _characters_per_token(folder: Path | None, texts: list[str]) -> tuple[float, str]:
    if folder is None or not texts or find_spec("tokenizers") is None:
        return USUAL, f"{USUAL:g} characters per token"
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # tokenizers raises nothing narrower; a run will say it with a code
        return USUAL, f"{USUAL:g} characters per token (its tokenizer cannot be read: {error})"
    tokens = sum(len(each.ids) for each in tokenizer.encode_batch(texts, add_special_tokens=False))
    return sum(map(len, texts)) / max(tokens, 1), f"its tokenizer on {len(texts)} prompts"


def _prices() -> Mapping[str, Any]:
    """litellm's table, read as a file: importing litellm takes seconds and may ask the network."""
    found = find_spec("litellm")
    if found is None or found.origin is None:
        return {}
    table = Path(found.origin).with_name("model_prices_and_context_window_backup.json")
    prices: Mapping[str, Any] = json.loads(table.read_text("utf-8")) if table.is_file() else {}
    return prices


def _money(model: Model, prices: Mapping[str, Any], read: float, written: float) -> float | None:
    if not engine_kind(model.engine).provider:
        return None
    row = prices.get(model.source) or prices.get(model.source.partition("/")[2])
    if not row or "input_cost_per_token" not in row or "output_cost_per_token" not in row:
        return None
    cost: float = read * row["input_cost_per_token"] + written * row["output_cost_per_token"]
    return cost
