"""What a plan is made of: cells, the samples in them, and the calls that answer a sample."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from gridc.compiler.instrument.item import Item
from gridc.schema.canonical import digest

Kind = Literal["generate", "loglikelihood"]


@dataclass(frozen=True)
class Prompt:
    """What a model is shown: messages as (role, text), through its chat template or as plain text.

    `shorter` is the last message's text with fewer exemplars, one less each. An engine that has no room
    for the whole asks the first that fits; the question itself is never cut.
    """

    messages: tuple[tuple[str, str], ...]
    chat_template: bool
    shorter: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        shown = {"messages": [list(each) for each in self.messages], "chat_template": self.chat_template}
        return {**shown, "shorter": list(self.shorter)} if self.shorter else shown

    def saying(self, text: str) -> "Prompt":
        """The same messages, the last one with another text."""
        *before, (role, _) = self.messages
        return Prompt((*before, (role, text)), self.chat_template)

    def forms(self) -> Iterator["Prompt"]:
        """The prompt itself, and then each shorter one."""
        yield self.saying(self.messages[-1][1])
        yield from (self.saying(text) for text in self.shorter)

    @cached_property
    def id(self) -> str:
        return digest(self.as_json())

    @cached_property
    def characters(self) -> int:
        """How long it is, as text."""
        return sum(len(text) for _, text in self.messages)


@dataclass(frozen=True)
class Request:
    """One call: everything that determines its answer. Equal requests are one call.

    `parameters` holds only what matters to the kind: a greedy call has no seed and no top_p, a
    sampled one has the study's seed, the item and the replicate, a ranking has its continuations.
    """

    kind: Kind
    model: str
    precision: str
    prompt: Prompt
    parameters: Mapping[str, Any] = field(hash=False)

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "model": self.model,
            "precision": self.precision,
            "prompt": self.prompt.id,
            **self.parameters,
        }

    @cached_property
    def id(self) -> str:
        return digest(self.as_json())


@dataclass(frozen=True, slots=True)
class Sample:
    """One item asked once in a cell, and the calls that answer it."""

    item: Item
    replicate: int
    requests: tuple[Request, ...]
