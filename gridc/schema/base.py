"""What every table of the language is made of."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema

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


def named(known: Iterable[str]) -> tuple[StringConstraints, WithJsonSchema]:
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
