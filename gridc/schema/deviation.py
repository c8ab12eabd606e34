"""The deviation log: why the study that is run is not, word for word, the one that was stamped."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator

from gridc.numbers import counted
from gridc.schema.base import Id, Table, Text
from gridc.schema.rows import Count, Digest, Part, Sentence


class Change(Table):
    """One path of the spec or its inputs that differs. `gridc deviations --write` fills in both values;
    a value that one side does not have is left out."""

    path: Annotated[Text, Field(description="As `gridc deviations` prints it; covers all paths below it.")]
    registered: Annotated[Any, Field(description="What was stamped.")] = None
    implemented: Annotated[Any, Field(description="What is run.")] = None


class Deviation(Table):
    """One departure from what was stamped, with its reason."""

    id: Annotated[Id, Field(description="How the report calls it.", examples=["D-001"])]
    element: Annotated[Text, Field(description="What departs, in a few words.")]
    change: Annotated[tuple[Change, ...], Field(min_length=1, description="The paths that it explains.")]
    reason: Annotated[str, Field(description="Why. A person says so; an empty reason stops the run.")]
    phase: Annotated[
        Text | None, Field(description="When it was decided: design, data collection, analysis, ...")
    ] = None
    date: Annotated[
        str | None,
        Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="The day it was decided.", examples=["2026-02-28"]),
    ] = None
    impact: Annotated[Text | None, Field(description="What it may do to the results.")] = None
    resolved: Annotated[
        bool, Field(description="It was undone: its paths are as they were stamped again.")
    ] = False


class DeviationLog(Table):
    """The file `deviations.toml`."""

    deviations: Annotated[int, Field(ge=1, le=1, description="Version of the format.")]
    deviation: Annotated[tuple[Deviation, ...], Field(description="In the order of the report.")] = ()


FORMAT: Literal["gridc-deviations/2"] = "gridc-deviations/2"


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


class DeviationReason(Part):
    """What departs from the stamp, and why, in its author's words: the same in every document."""

    id: str
    element: str
    reason: str
    impact: str | None
    resolved: Annotated[bool, Field(description="It was undone: nothing departs any more.")]


class DeviationPaths(DeviationReason):
    """A deviation with the paths of the spec that it explains."""

    paths: Annotated[tuple[str, ...], Field(description="Paths of the spec that it explains.")]


class DeviationEntry(DeviationReason):
    """A deviation with what was stamped and what is run, which are computed."""

    changes: tuple[ChangedPath, ...]
    phase: str | None
    date: str | None

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


class EarlierAnswersRow(Part):
    """Answers of the study's models to its items, under another stamp, before its own first call."""

    stamp: Annotated[Digest, Field(description="Under which they were gathered.")]
    created: Annotated[str, Field(description="When that stamp was made, as its study says.")]
    superseded: Annotated[bool, Field(description="Whether the lock's stamp replaced it.")]
    before_stamp: Annotated[Count, Field(description="Calls that were answered before the lock was made.")]
    after_stamp: Annotated[Count, Field(description="Calls that were answered after it.")]
    items: Annotated[Count, Field(description="How many of the study's items were answered before it.")]
    first: Annotated[str, Field(description="When the first of all these calls ended.")]
    last: Annotated[str, Field(description="When the last of all these calls ended.")]

    @field_validator("first", "last")
    @classmethod
    def _is_date(cls, text: str) -> str:
        if datetime.fromisoformat(text).tzinfo is None:
            raise ValueError("a date without its zone")
        return text

    @property
    def under(self) -> str:
        """The stamp in words, behind `under`."""
        name = f"{self.stamp[:12]} of {self.created[:10]}"
        return f"the stamp {name}, which this one replaced" if self.superseded else f"another stamp, {name}"

    @property
    def words(self) -> str:
        """What is older than the stamp, in a sentence without its full stop."""
        answers = f"{counted(self.before_stamp, 'answer')} of its models to its items"
        were = "was" if self.before_stamp == 1 else "were"
        return f"{answers} {were} there before this stamp was made, under {self.under}"


class DeviationReport(Part):
    """Every departure from the stamp, explained once, and what the run observed."""

    format: Literal["gridc-deviations/2"]
    study: Id
    title: str
    registered: Annotated[Digest, Field(description="The lock's stamp.")]
    stamp: Annotated[Digest, Field(description="Of the study as it ran.")]
    created: Annotated[str, Field(description="The lock's date.")]
    deviations: tuple[DeviationEntry, ...]
    earlier: Annotated[
        tuple[EarlierAnswersRow, ...],
        Field(
            description="Data that came before the study's own, under stamps that were replaced and others."
        ),
    ] = ()
    observed: Annotated[
        tuple[Sentence, ...], Field(description="What the run saw that departs from its plan.")
    ]
