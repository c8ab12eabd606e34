"""The task file: a task of another package as that package renders it, with the settings by which it scores.

A task loader writes it once. From then on it is data: it is stamped by content, and neither a run nor a
verification needs the package.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from gridc.schema.base import Table, Text
from gridc.schema.effects import BenchmarkEffects
from gridc.schema.rows import Digest

Shots = Annotated[str, Field(pattern=r"^\d+$")]
"""A number of exemplars, as the key of a table."""
PromptForm = Annotated[str, Field(pattern=r"^\d+(:chat|:turns)?$")]
"""A number of exemplars, and how they are sent: in plain text, in a turn of a chat, or in their own turns."""


class TaskData(Table):
    """The rows of a split as they were used."""

    rows: int
    sha256: Digest


class TaskMember(Table):
    """A task of a group; of a task that is no group, the task itself."""

    name: Text
    items: int


class TaskExemplar(Table):
    """An answered question that prompts may show: the user's text and the answer, as the package writes
    them."""

    id: Text
    member: Text
    split: Text
    query: Text
    answer: Text
    extra: dict[str, Any] = Field(default_factory=dict)


class TaskItem(Table):
    """A question. `gold` has the indexes of its right options, `references` its right answers in free text.
    `contexts` is one text for each option where the options stand in the question. `preamble` stands before
    everything else. `draws` has the exemplars that each number of shots shows, as indexes into those of the
    file, and `prompts` the digest of what the package itself would send in each form."""

    id: Text
    member: Text
    query: Text
    options: tuple[str, ...] = ()
    gold: tuple[int, ...] = ()
    references: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    preamble: str = ""
    extra: dict[str, Any] = Field(default_factory=dict)
    draws: dict[Shots, tuple[int, ...]] = Field(default_factory=dict)
    prompts: dict[PromptForm, Digest] = Field(default_factory=dict)


class TaskFile(Table):
    """A task with its items, its exemplars, and the effects that its package measures it by.

    `settings` are effects of a benchmark. `choices` are sets of effects that the package reports side by
    side, by name (`metric`, `filter`); the first of each is the one in `settings`. `left_out` says what of
    the task is not here. `files` and `data` have the digests of what was read. What a file says of its
    package is its author's word: rendering the task again checks it.
    """

    format: Literal["gridc-task/1"]
    package: Text
    version: Text
    task: Text
    title: Text
    seed: int
    shots: tuple[int, ...]
    direction: Literal["higher_is_better", "lower_is_better"]
    settings: BenchmarkEffects
    choices: dict[str, dict[str, BenchmarkEffects]] = Field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    files: dict[str, Digest] = Field(default_factory=dict)
    data: dict[str, TaskData] = Field(default_factory=dict)
    members: tuple[TaskMember, ...]
    exemplars: tuple[TaskExemplar, ...] = ()
    items: Annotated[tuple[TaskItem, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for problem in self._problems():
            raise ValueError(problem)
        return self

    def _problems(self) -> Iterator[str]:
        """What the parts of the file say of each other that cannot be."""
        if any(each.measurand is not None for each in (self.settings, *self._choices())):
            yield "effects of a task are written out, and name no measurand"
        for what, listed in (("items", self.items), ("exemplars", self.exemplars)):
            if len({each.id for each in listed}) < len(listed):
                yield f"two of the {what} have one id"
        counts = {member.name: 0 for member in self.members}
        for item in self.items:
            if item.member not in counts:
                yield f"item {item.id} is of `{item.member}`, which is no member"
                return
            counts[item.member] += 1
            if not all(0 <= place < len(item.options) for place in item.gold):
                yield f"item {item.id} has a right option that is not one of its {len(item.options)}"
            if item.contexts and not item.references:
                yield f"item {item.id} has contexts and no text that follows them"
            for shots in filter(None, self.shots):
                drawn = item.draws.get(str(shots), ())
                if len(drawn) != shots or not all(0 <= place < len(self.exemplars) for place in drawn):
                    yield f"item {item.id} does not show {shots} of the {len(self.exemplars)} exemplars"
        if counts != {member.name: member.items for member in self.members}:
            yield "the members do not have as many items as they say"

    def _choices(self) -> Iterator[BenchmarkEffects]:
        for named in self.choices.values():
            yield from named.values()

    @property
    def origin(self) -> Mapping[str, Any]:
        """Where it comes from, as the lock holds it."""
        return {
            "task": self.task,
            "package": f"{self.package} {self.version}",
            "files": dict(self.files),
            "data": {split: data.sha256 for split, data in self.data.items()},
        }
