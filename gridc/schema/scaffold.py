"""Scaffolds: procedures of several calls that answer one item."""

from collections.abc import Mapping
from typing import Annotated

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
    "chain": ("wording",),
}
"""One row for each kind of scaffold: the keys that mean something to it. A plug-in may take any."""

EXECUTED = frozenset((DIRECT,))
"""The kinds that a run executes; any other is refused before it."""

ScaffoldName = Annotated[str, *named(TAKES)]


class Scaffold(Table):
    """The procedure of model calls that answers an item."""

    kind: Annotated[
        ScaffoldName,
        Field(
            description="direct: one call; cot: one call that asks for reasoning; react: a loop of thought "
            "and action; critic: answer, critique, revision; map_reduce: decompose, work, combine; "
            "map_reduce_options: the same, every worker sees the options; vote: every worker answers the "
            "whole prompt, and one more call decides; chain: a fixed sequence of prompts."
        ),
    ]
    rounds: Annotated[
        int | None, Field(ge=1, le=100, description="Most iterations of react, revisions of critic.")
    ] = None
    workers: Annotated[
        int | None, Field(ge=1, le=100, description="Most workers of map_reduce, all of vote.")
    ] = None
    tools: Annotated[tuple[Id, ...], Field(description="Tools that react may call. Default: none.")] = ()
    wording: Annotated[
        dict[Id, Annotated[tuple[Text, ...], Field(min_length=1)]] | None,
        Field(
            description="The prompts of a chain, in order, by benchmark; the first one comes with the item.",
            examples=[{"bbq": ["Think about the question.", "Give your final answer."]}],
        ),
    ] = None
