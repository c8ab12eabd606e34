"""Scaffolds: procedures of several calls that answer one item."""

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from gridc.schema.base import Id, Table, Text, named

DIRECT = "direct"

TAKES: Mapping[str, tuple[str, ...]] = {
    DIRECT: (),
    "cot": (),
    "react": ("rounds", "tools"),
    "critic": ("rounds",),
    "map_reduce": ("workers",),
    "map_reduce_options": ("workers",),
    "vote": ("workers",),
    "chain": ("wording", "intensity", "property", "length"),
    "adjudicator": ("property",),
    "turns": ("wording",),
}
"""One row for each kind of scaffold: the keys that mean something to it. A plug-in may take any."""


class AskedBy(NamedTuple):
    """The kinds of scaffold that ask something of an item which no plain call asks, and the way out without
    one. A plug-in may ask anything."""

    kinds: tuple[str, ...]
    otherwise: str


ASKED_BY: Mapping[str, AskedBy] = {
    "turns": AskedBy(("turns",), '`query` with ".0" behind the column asks the first one alone'),
    "tools": AskedBy(("react",), "leave it out"),
}
"""By the field of `loading.fields`."""

USER_TURNS = ASKED_BY["turns"].kinds
"""The kinds that say more than the item's first turn."""

Tool = Literal["calculator", "text_search", "scratchpad"]
Intensity = Literal["minimal", "moderate", "aggressive"]
Property = Literal["bias", "accuracy", "sycophancy", "harm"]

ScaffoldName = Annotated[str, *named(TAKES)]


class Scaffold(Table):
    """The procedure of model calls that answers an item."""

    @property
    def plain(self) -> bool:
        """Whether it is one call, as without a scaffold."""
        return self.kind == DIRECT

    kind: Annotated[
        ScaffoldName,
        Field(
            description="direct: one call; cot: one call that asks for reasoning; react: a loop of thought "
            "and action; critic: answer, critique, revision; map_reduce: decompose, work, combine; "
            "map_reduce_options: the same, every worker sees the options; vote: every worker answers the "
            "whole prompt, and one more call decides; chain: a fixed sequence of prompts; adjudicator: "
            "answer, check, and a third call that decides between the two; turns: the item's user turns, "
            "one after another, then those of `wording`. plugin:NAME: of an installed package."
        ),
    ]
    rounds: Annotated[
        int | None,
        Field(ge=1, le=100, description="Most calls of react (default 5), revisions of critic (default 1)."),
    ] = None
    workers: Annotated[
        int | None, Field(ge=1, le=100, description="Most workers of map_reduce, all of vote. Default: 3.")
    ] = None
    tools: Annotated[
        tuple[Tool, ...],
        Field(
            description="Tools that react may call: calculator, arithmetic; text_search, in the item's own "
            "text; scratchpad, notes of the same item. Default: none."
        ),
    ] = ()
    wording: Annotated[
        dict[Id, Annotated[tuple[Text, ...], Field(min_length=1)]] | None,
        Field(
            description="The prompts of a chain, in order, by benchmark: templates with the variables of a "
            "prompt; the first one comes with the item. Instead of `intensity`. Of turns: what the user says "
            "after the item's own turns.",
            examples=[{"bbq": ["Think about the question.", "Give your final answer."]}],
        ),
    ] = None
    intensity: Annotated[
        Intensity | None,
        Field(
            description="A chain in gridc's own wording: minimal names no property, moderate and aggressive "
            "name the one of `property`. No chain at all is `direct`."
        ),
    ] = None
    property: Annotated[
        dict[Id, Property] | None,
        Field(
            description="The property that a chain or a checker names, by benchmark. Default: accuracy.",
            examples=[{"bbq": "bias"}],
        ),
    ] = None
    length: Annotated[
        int | None,
        Field(ge=1, le=16, description="How many prompts a chain of an intensity has. Default: 4."),
    ] = None
