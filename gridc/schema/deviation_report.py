"""The deviation log as a report: what was stamped, what was run, why, and what the run itself observed."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from gridc.schema.base import Id
from gridc.schema.rows import Digest, Part

FORMAT: Literal["gridc-deviations/1"] = "gridc-deviations/1"


class ChangedPath(Part):
    """One path of the spec or its inputs."""

    path: str
    registered: Annotated[
        Any, Field(description="What was stamped; absent where the stamp has no such path.")
    ] = None
    implemented: Annotated[Any, Field(description="What was run; absent where it has no such path.")] = None
    absent: Annotated[
        tuple[Literal["registered", "implemented"], ...], Field(description="Which side has no such path.")
    ]


class DeviationEntry(Part):
    """One deviation, with its reason. Values are computed; everything else is its author's."""

    id: str
    element: str
    changes: tuple[ChangedPath, ...]
    reason: str
    phase: str | None
    date: str | None
    impact: str | None
    resolved: Annotated[bool, Field(description="It was undone: nothing departs any more.")]

    @classmethod
    def of_manifest(cls, entry: Mapping[str, Any]) -> Self:
        """An entry of the log as events hold it: of a path that one side does not have, it has no value."""
        sides = ("registered", "implemented")
        changes = (
            {**change, "absent": [side for side in sides if side not in change]}
            for change in entry["changes"]
        )
        return cls.model_validate({**entry, "changes": tuple(changes)})

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that it explains."""
        return tuple(change.path for change in self.changes)


class DeviationReport(Part):
    """Every departure from the stamp, explained once, and what the run observed."""

    format: Literal["gridc-deviations/1"]
    study: Id
    title: str
    registered: Annotated[Digest, Field(description="The lock's stamp.")]
    stamp: Annotated[Digest, Field(description="Of the study as it ran.")]
    created: Annotated[str, Field(description="The lock's date.")]
    deviations: tuple[DeviationEntry, ...]
    observed: Annotated[tuple[str, ...], Field(description="What the run saw that departs from its plan.")]
