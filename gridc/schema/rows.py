"""What every row of a report's documents is made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256, hexadecimal.")]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class Part(BaseModel):
    """A part of a document: closed and frozen. What holds the same names is read as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)
