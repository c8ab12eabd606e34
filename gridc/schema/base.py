"""What tables of the language are made of: names, texts, and the selector of a part of the grid.

A selector is the one way to name a part of the grid. It is a table from a dimension (an axis id, `model`,
`benchmark` or `tier`) to what it may be: one name, a list of names, or `{ not = ... }`. A place of the grid
matches when every dimension does; the empty selector matches everything.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints, WithJsonSchema

ID = r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$"
Id = Annotated[str, Field(pattern=ID, max_length=80)]
Text = Annotated[str, Field(min_length=1)]
Declared = Literal["ex_ante", "post_hoc"]
Strength = Literal["unanchored", "git", "signed", "timestamped", "registered"]
"""How strongly a lock is tied to a time or a person, the weakest first."""

PLUGIN = "plugin:"
"""What comes before the name of a plug-in, so that none can take the name of what gridc has."""

ALPHA = 0.05
"""The level of a certificate and of a family that states none."""


def _only_one(schema: dict[str, Any]) -> None:
    for key in ("minimum", "maximum", "type"):
        del schema[key]
    schema["const"] = 1


One = Annotated[int, Field(ge=1, le=1, json_schema_extra=_only_one)]
"""The number 1, as versions are written. Unlike a literal it takes neither `true` nor `1.0`."""


def known_or_plugin(known: Iterable[str]) -> tuple[StringConstraints, WithJsonSchema]:
    """What makes a text one of the known names, or the name of a plug-in."""
    names, plugin = list(known), rf"^{PLUGIN}[A-Za-z0-9][A-Za-z0-9_.\-]*$"
    pattern = rf"^(?:{'|'.join(re.escape(name) for name in names)})$|{plugin}"
    schema = {"anyOf": [{"enum": names, "type": "string"}, {"pattern": plugin, "type": "string"}]}
    return StringConstraints(pattern=pattern), WithJsonSchema(schema)


class Contradiction(ValueError):
    """What a table's keys say together and cannot; `help` is the way out."""

    def __init__(self, problem: str, help: str) -> None:
        self.help = help
        super().__init__(problem)


class Table(BaseModel):
    """A TOML table: unknown keys are refused, and nothing changes after it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)


RESERVED_DIMENSIONS = ("model", "benchmark", "tier")

Name = Annotated[str, Field(min_length=1)]
Names = Name | Annotated[tuple[Name, ...], Field(min_length=1)]


class Not(BaseModel):
    """Everything but these."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    not_: Annotated[Names, Field(alias="not", description="The names to leave out.")]


class Selector(RootModel[dict[str, Names | Not]]):
    """Which part of the grid is meant."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    def matches(self, place: Mapping[str, str]) -> bool:
        """Whether a place (dimension -> name) lies in the part that is meant.

        A dimension that the place does not have never matches.
        """
        for dimension, names, excluded in self._conditions:
            name = place.get(dimension)
            if name is None or (name in names) is excluded:
                return False
        return True

    @cached_property
    def _conditions(self) -> tuple[tuple[str, frozenset[str], bool], ...]:
        """(dimension, names, whether these are left out): what `matches` asks of every place of a grid."""
        return tuple(
            (name, frozenset(_listed(choice.not_ if isinstance(choice, Not) else choice)),
             isinstance(choice, Not))
            for name, choice in self.root.items()
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash(self.model_dump_json(by_alias=True))

    def restricted(self, dimensions: Container[str]) -> "Selector":
        """The selector's conditions on these dimensions alone."""
        return Selector({name: choice for name, choice in self.root.items() if name in dimensions})

    def mentions(self) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
        """Every name that is mentioned, as (its place in the table, dimension, name)."""
        for dimension, choice in self.root.items():
            place: tuple[str | int, ...] = (dimension,)
            if isinstance(choice, Not):
                choice, place = choice.not_, (dimension, "not")
            if isinstance(choice, str):
                yield place, dimension, choice
            else:
                yield from (((*place, rank), dimension, name) for rank, name in enumerate(choice))


def selector_of(texts: Iterable[str]) -> Selector:
    """The selector that a command line writes as `axis=level`, `axis=level,level` and `axis!=level`, several
    with commas between them, as configurations are printed. Raises `ValueError` with what is wrong."""
    values_by_dimension: dict[str, tuple[list[str], bool]] = {}
    for text in texts:
        dimension = ""
        for part in text.split(","):
            name, equals, value = part.partition("=")
            if equals:
                dimension, excluded = name.removesuffix("!").strip(), name.endswith("!")
                if dimension in values_by_dimension:
                    raise ValueError(f"`{dimension}` is named twice: {dimension}=a,b names two of it")
                values_by_dimension[dimension] = ([], excluded)
            elif dimension == "":
                raise ValueError(f"`{text}` is not axis=level")
            else:
                value = part
            if not value.strip() or not dimension:
                raise ValueError(f"`{text}` is not axis=level")
            values_by_dimension[dimension][0].append(value.strip())
    return Selector.model_validate(
        {
            name: {"not": values} if excluded else values
            for name, (values, excluded) in values_by_dimension.items()
        }
    )


EVERYWHERE = Selector.model_construct({})
"""The selector that matches every place."""


def _listed(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names
