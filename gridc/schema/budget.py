"""Hard caps on what a run may spend."""

from typing import Annotated

from pydantic import Field

from gridc.schema.base import Table


class Budget(Table):
    """Hard caps on one run. Never part of the stamp; reaching one is an observed deviation."""

    usd: Annotated[
        float | None, Field(gt=0, description="Most that API calls may cost, over all runs into the store.")
    ] = None
    calls: Annotated[int | None, Field(ge=1, description="Most calls that are executed.")] = None
    tokens: Annotated[int | None, Field(ge=1, description="Most tokens, asked and generated.")] = None
    wall_s: Annotated[float | None, Field(gt=0, description="Longest time, in seconds.")] = None
