"""Words and numbers that every document says in the same way."""

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from pydantic import BaseModel

from gridc.numbers import stated
from gridc.schema.items import UnitLevel
from gridc.schema.models import SERVED
from gridc.schema.selector import Not, Selector
from gridc.schema.spec import Level

LIMITS = (
    "Counts over configurations say which orders of two models exist in this envelope. They rank neither "
    "models nor envelopes: rho_flip is no total order, it allows ties, and an envelope in which every order "
    "is reached shows that each exists, not how often."
)
"""What SafetyRepro's Prop. 1 does not say."""
KINDS = "ten or more of each kind"
"""Units that tests and intervals of means assume: of a kind that is rarer none may have been drawn."""
ASSUMED = f"many units, {KINDS}, or models whose answers could be swapped"
"""What joint sign flips assume beside independent units."""

PLURAL: Mapping[UnitLevel, str] = {
    "item": "items",
    "family": "families",
    "template": "item templates",
    "category": "categories",
}
"""Groups of items. Those that one pattern was filled into are not the prompt templates of an axis."""


def model_at(model: str, precision: str) -> str:
    """`phi3 at nf4`, `opus as served`."""
    return f"{model} {precision}" if precision == SERVED else f"{model} at {precision}"


def better(lower: bool, target: float | Fraction | None = None) -> str:
    """Which score of a benchmark is the better one, where it is not the higher: `lower is better`, `nearest
    to 0.5 is better`."""
    if target is not None:
        return f"nearest to {stated(target)} is better"
    return "lower is better" if lower else ""


def units_words(unit: UnitLevel, units: int) -> str:
    """`80 items`, `20 families`, `1 item template`."""
    one = "item template" if unit == "template" else unit
    return f"{units:,} {one if units == 1 else PLURAL[unit]}"


def term_name(term: Sequence[str]) -> str:
    """A term of a model of variance, its factors multiplied."""
    return " × ".join(term)


def fixed_words(facets: Sequence[str]) -> str:
    """Which facets of a generalizability study are fixed: `items and shots`, `neither`."""
    return " and ".join(facets) if facets else "neither"


def selected(selector: Selector) -> str:
    """A selector in a line: `scoring is logprob; decoding is not greedy`."""
    return "; ".join(_choices(selector)) or "everywhere"


def _choices(selector: Selector) -> Iterator[str]:
    for dimension, choice in selector.root.items():
        names, verb = (choice.not_, "is not") if isinstance(choice, Not) else (choice, "is")
        yield f"{dimension} {verb} {names if isinstance(names, str) else ' or '.join(names)}"


def effects(level: Level) -> str:
    """What a level does to a call, as a spec has it: `temperature = 0.3, scaffold = { kind = "vote" }`. A
    text that is a value by itself has no quotes."""
    return ", ".join(
        f"{key} = {value if isinstance(value, str) else as_written(value)}"
        for key, value in level.stated().items()
    )


def as_written(value: object) -> str:
    """A value as TOML has it, without the keys that are at their defaults."""
    if isinstance(value, BaseModel):
        return as_written(value.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key} = {as_written(inner)}" for key, inner in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(as_written, value))}]"
    return json.dumps(value, ensure_ascii=False)
