"""What tokens cost: stated in the spec, or read from litellm's table as a file, with the day of both.

The table of the day on which a study is stamped is kept in its lock, beside what the stamp covers: a price
moves no answer, but a budget and a report must not change with a package.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gridc.schema.models import Model, engine_kind
from gridc.schema.spec import Spec

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """US dollars for a million tokens read, written, and read from a cache; where it was read (`source`) and
    on which day (`as_of`)."""

    input: float
    output: float
    cached: float
    source: str
    as_of: str
    batch: Mapping[str, float] | None = None
    """The first three in a batch; None where nobody states them."""

    @property
    def in_batches(self) -> "TokenPrice":
        """What a batch costs: where no price of its own is known, as much as single calls."""
        if self.batch is None:
            return replace(self, source=f"{self.source} (none for batches: that of single calls)")
        read, written, cached = (self.batch[key] for key in ("input", "output", "cached"))
        return TokenPrice(read, written, cached, f"{self.source} for batches", self.as_of)

    def usd(self, read: float, written: float, cached: float = 0) -> float:
        """What so many tokens cost; `cached` of those that are read came from a cache."""
        cached = min(cached, read)
        return ((read - cached) * self.input + cached * self.cached + written * self.output) / MILLION

    def most(self, read: float, written: float) -> float:
        """The most that so many tokens can cost: writing to a cache is charged above reading, by up to a
        quarter (Anthropic)."""
        return self.usd(read, written) + 0.25 * read * self.input / MILLION


def paid_prices(spec: Spec, frozen: Mapping[str, Any] | None = None) -> dict[str, TokenPrice]:
    """What the calls of each model cost as the spec asks them: one by one, or in batches."""
    batched = {model.id for model in spec.asked_models if model.batch}
    prices = prices_of(spec, frozen)
    return {name: price.in_batches if name in batched else price for name, price in prices.items()}


def prices_of(spec: Spec, frozen: Mapping[str, Any] | None = None) -> dict[str, TokenPrice]:
    """The price of every provider's model that has one, by model id. `frozen` are those of a lock."""
    prices = {}
    for model in spec.asked_models:
        if not engine_kind(model.engine).provider:
            continue
        kept = (frozen or {}).get(model.id)
        price = _stated(model) or (TokenPrice(**kept) if kept is not None else _listed(model))
        if price is not None:
            prices[model.id] = price
    return prices


def _stated(model: Model) -> TokenPrice | None:
    price = model.price
    if price is None:
        return None
    cached = price.input if price.cached is None else price.cached
    batch = None
    if price.batch_input is not None and price.batch_output is not None:
        batch = _rates(price.batch_input, price.batch_output, price.batch_input)
    return TokenPrice(price.input, price.output, cached, "the spec", price.as_of, batch)


def _listed(model: Model) -> TokenPrice | None:
    """What litellm's table says of a provider's model. A server of one's own is not in it."""
    if model.base_url is not None:
        return None
    table = _table()
    row = table.get(model.source) or table.get(model.source.partition("/")[2])
    if not row or "input_cost_per_token" not in row or "output_cost_per_token" not in row:
        return None
    read, written = row["input_cost_per_token"] * MILLION, row["output_cost_per_token"] * MILLION
    cached = (row.get("cache_read_input_token_cost") or row["input_cost_per_token"]) * MILLION
    today = datetime.now(UTC).date().isoformat()
    return TokenPrice(round(read, 9), round(written, 9), round(cached, 9), _litellm(), today, _batch(row))


def _batch(row: Mapping[str, Any]) -> dict[str, float] | None:
    """What litellm's table says of batches."""
    read, written = (row.get(f"{name}_cost_per_token_batches") for name in ("input", "output"))
    if read is None or written is None:
        return None
    cached = row.get("cache_read_input_token_cost_batches") or read
    return _rates(*(round(price * MILLION, 9) for price in (read, written, cached)))


def _rates(read: float, written: float, cached: float) -> dict[str, float]:
    return {"input": read, "output": written, "cached": cached}


def _litellm() -> str:
    try:
        return f"litellm {version('litellm')}"
    except PackageNotFoundError:
        return "litellm"


@cache
def _table() -> Mapping[str, Any]:
    """litellm's table, read as a file: importing litellm takes seconds and may ask the network."""
    module = find_spec("litellm")
    if module is None or module.origin is None:
        return {}
    table = Path(module.origin).with_name("model_prices_and_context_window_backup.json")
    prices: Mapping[str, Any] = json.loads(table.read_text("utf-8")) if table.is_file() else {}
    return prices


def price_manifest(prices: Mapping[str, TokenPrice]) -> dict[str, Any]:
    """As it stands in a lock."""
    rows = {name: asdict(price) for name, price in sorted(prices.items())}
    for row in rows.values():
        if row["batch"] is None:
            del row["batch"]
    return rows
