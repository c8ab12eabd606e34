"""What tokens cost: stated in the spec, or read from litellm's table as a file, with the day of both.

The table of the day on which a study is stamped is kept in its lock, beside what the stamp covers: a price
moves no answer, but a budget and a report must not change with a package.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gridc.schema.engines import engine_kind
from gridc.schema.models import Model
from gridc.schema.spec import Spec

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens read, written, and read from a cache; where it was read (`source`) and
    on which day (`as_of`)."""

    input: float
    output: float
    cached: float
    source: str
    as_of: str

    def usd(self, read: float, written: float, cached: float = 0) -> float:
        """What so many tokens cost; `cached` of those that are read came from a cache."""
        cached = min(cached, read)
        return ((read - cached) * self.input + cached * self.cached + written * self.output) / MILLION

    def most(self, read: float, written: float) -> float:
        """The most that so many tokens can cost: writing to a cache is charged above reading, by up to a
        quarter (Anthropic)."""
        return self.usd(read, written) + 0.25 * read * self.input / MILLION


def prices_of(spec: Spec, frozen: Mapping[str, Any] | None = None) -> dict[str, Price]:
    """The price of every provider's model that has one, by model id. `frozen` are those of a lock."""
    found = {}
    for model in spec.asked_models:
        if not engine_kind(model.engine).provider:
            continue
        kept = (frozen or {}).get(model.id)
        price = _stated(model) or (Price(**kept) if kept is not None else _listed(model))
        if price is not None:
            found[model.id] = price
    return found


def manifest(prices: Mapping[str, Price]) -> dict[str, Any]:
    """As it stands in a lock."""
    return {name: asdict(price) for name, price in sorted(prices.items())}


def _stated(model: Model) -> Price | None:
    price = model.price
    if price is None:
        return None
    cached = price.input if price.cached is None else price.cached
    return Price(price.input, price.output, cached, "the spec", price.as_of)


def _listed(model: Model) -> Price | None:
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
    return Price(round(read, 9), round(written, 9), round(cached, 9), _litellm(), today)


def _litellm() -> str:
    try:
        return f"litellm {version('litellm')}"
    except PackageNotFoundError:
        return "litellm"


@cache
def _table() -> Mapping[str, Any]:
    """litellm's table, read as a file: importing litellm takes seconds and may ask the network."""
    found = find_spec("litellm")
    if found is None or found.origin is None:
        return {}
    table = Path(found.origin).with_name("model_prices_and_context_window_backup.json")
    prices: Mapping[str, Any] = json.loads(table.read_text("utf-8")) if table.is_file() else {}
    return prices
