"""What every row of a report's documents is made of.

A number is exact in a row that is passed on, and loses its last digits when the row is written: what is
computed of it is computed of the number itself, and a report is the same file everywhere.
"""

from fractions import Fraction
from math import inf, isfinite
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from gridc.statistics.digits import digits


def _ratio(value: object) -> object:
    return value.as_integer_ratio() if isinstance(value, Fraction) else value


def _number(value: object) -> object:
    return float(value) if isinstance(value, Fraction) else value


def _number_or_infinite(value: object) -> object:
    return inf if value is None else _number(value)


def _ten_decimals(value: float) -> float:
    """A whole number, where a field may hold one, stays whole."""
    return round(value, 10) + 0.0 if isinstance(value, float) else value


def _finite(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else _ten_decimals(value)


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256, hexadecimal.")]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_number), PlainSerializer(digits)]
"""Ten digits when it is written, as of a p-value."""
Ratio = Annotated[tuple[int, int], BeforeValidator(_ratio)]
"""An exact score as [numerator, denominator]."""
Rounded = Annotated[float, BeforeValidator(_number), PlainSerializer(_ten_decimals)]
"""Ten decimals when it is written."""
Finite = Annotated[float | None, BeforeValidator(_number), PlainSerializer(_finite)]
"""The same; null where it is infinite or not a number: the field says which."""
Unbounded = Annotated[
    float,
    BeforeValidator(_number_or_infinite),
    PlainSerializer(_finite),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "null"}]}),
]
"""The same of what is always there; null where it is infinite."""
T = TypeVar("T")
Unwritten = Annotated[T, SkipJsonSchema(), Field(exclude=True)]
"""What is said of a finding and stands in no file."""


class Part(BaseModel):
    """A part of a document: closed and frozen. What holds the same names is read as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)

    @classmethod
    def of(cls, *sources: object, **named: Any) -> Self:
        """This row of a finding: each field from `named`, else from the first source that has an attribute of
        that name."""
        for name in cls.model_fields:
            source = next((candidate for candidate in sources if hasattr(candidate, name)), None)
            if name not in named and source is not None:
                named[name] = getattr(source, name)
        return cls.model_validate(named)

    def as_written(self) -> Self:
        """The same as its file says it: what is printed of a document is what is written."""
        return self.model_validate(self.model_dump())
