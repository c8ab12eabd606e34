"""What every row of a report's documents is made of."""

from fractions import Fraction
from math import isfinite
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gridc.statistics.digits import digits


def _ratio(value: object) -> object:
    return value.as_integer_ratio() if isinstance(value, Fraction) else value


def _digits(value: object) -> object:
    return digits(float(value)) if isinstance(value, float | Fraction) else value


def _rounded(value: object) -> object:
    return round(float(value), 10) + 0.0 if isinstance(value, float | Fraction) else value


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256, hexadecimal.")]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_digits)]
"""Ten digits, as of a p-value: no last bits of a machine, so that a report is the same file everywhere."""
Ratio = Annotated[tuple[int, int], BeforeValidator(_ratio)]
"""An exact score as [numerator, denominator]."""
Rounded = Annotated[float, BeforeValidator(_rounded)]
"""Ten decimals, for the same reason."""


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not isfinite(value) else _rounded(value)


Finite = Annotated[float | None, BeforeValidator(_finite)]
"""Ten decimals; null where it is infinite or not a number: the field says which."""


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
