"""What a plan is made of: cells, the samples in them, and the calls that answer a sample."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.scaffolds.turns import Task
from gridc.schema.canonical import canonical_members, digest, digest_bytes
from gridc.schema.effects import Thinking

CallKind = Literal["generate", "loglikelihood"]


PLAIN_JOIN = "\n\n"
"""What stands between the texts of a prompt without a chat template."""


@dataclass(frozen=True)
class Prompt:
    """What a model is shown: messages as (role, text), through its chat template or as plain text.

    `shorter` is the last message's text with fewer exemplars, one less each. An engine that has no room
    for the whole asks the first that fits; the question itself is never cut. `thinking` says whether and how
    much the model is to think first; None, what it does by itself. `functions` is the JSON text of the
    functions that it may call, whose keys keep their order, and `schema` that of the JSON Schema which the
    server holds its response to.
    """

    messages: tuple[tuple[str, str], ...]
    chat_template: bool
    shorter: tuple[str, ...] = ()
    thinking: Thinking | None = None
    functions: str = ""
    schema: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "messages": [list(message) for message in self.messages],
            "chat_template": self.chat_template,
            **({"shorter": list(self.shorter)} if self.shorter else {}),
            **({} if self.thinking is None else {"thinking": self.thinking}),
            **({"functions": self.functions} if self.functions else {}),
            **({"schema": self.schema} if self.schema else {}),
        }

    @property
    def plain(self) -> str:
        """As one text, without a chat template: its texts, one after another."""
        return PLAIN_JOIN.join(text for _, text in self.messages)

    def saying(self, text: str) -> "Prompt":
        """The same messages, the last one with another text."""
        *before, (role, _) = self.messages
        return replace(self, messages=(*before, (role, text)), shorter=())

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
        return sum(len(text) for _, text in self.messages) + len(self.functions) + len(self.schema)


@dataclass(frozen=True)
class Request:
    """One call: everything that determines its answer. Equal requests are one call.

    `parameters` holds only what matters to the kind: a greedy call has no seed and no top_p, a
    sampled one has the study's seed, the item and the replicate, a ranking has its continuations.
    """

    kind: CallKind
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

    @property
    def parts(self) -> "CallParts":
        """What it has in common with others."""
        return CallParts.of(self.as_json())

    @cached_property
    def canonical(self) -> bytes:
        """`as_json` in canonical form, as the store holds it."""
        return canonical_members(self.as_json())

    @cached_property
    def id(self) -> str:
        return digest_bytes(self.canonical)


WORDS = ("prompt", "continuations", "seam", "worker")
"""Members of a request that say something to the model, or who of several that ask the same says it."""


class CallParts(NamedTuple):
    """A request in parts: equal ones have equal parts, and no others. `sender` is who is asked and how the
    answer is drawn, `words` what is said, both in canonical form; `item` and `replicate` are None unless the
    answer is drawn for them alone."""

    sender: bytes
    words: bytes
    item: Any
    replicate: Any

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> "CallParts":
        """From `Request.as_json`."""
        sender = {name: value for name, value in request.items() if name not in _OF_CALLS}
        words = {name: request[name] for name in WORDS if name in request}
        members = canonical_members(sender), canonical_members(words)
        return cls(*members, request.get("item"), request.get("replicate"))


_OF_CALLS = frozenset((*WORDS, "item", "replicate"))

ANSWER = "answer"
"""The step that names a finished scaffold's answer: the call that decides, once more."""

AnswerLookup = Callable[[str], Mapping[str, Any] | None]
"""The content of a call's answer by its id; None where there is none yet."""


def unanswered(call: str) -> None:
    """No answer is there yet."""


@dataclass(frozen=True, slots=True)
class SampleCalls:
    """The calls of a sample in order, each with its step under a scaffold, as far as they are known, in so
    many waves. `decides` is the number of the one whose text is the answer: None of a plain sample, and until
    the scaffold has ended."""

    calls: tuple[tuple[str | None, Request], ...]
    waves: int
    decides: int | None

    @property
    def rows(self) -> tuple[tuple[str | None, Request], ...]:
        """As the store holds it: a finished scaffold ends with the call that decides."""
        if self.decides is None:
            return self.calls
        return (*self.calls, (ANSWER, self.calls[self.decides][1]))


@dataclass(frozen=True, slots=True)
class Size:
    """How much is asked: calls, characters that are sent, and tokens that come back."""

    calls: float = 0
    prompt_characters: float = 0
    generated_tokens: float = 0

    def __add__(self, other: "Size") -> "Size":
        return Size(
            self.calls + other.calls,
            self.prompt_characters + other.prompt_characters,
            self.generated_tokens + other.generated_tokens,
        )

    def rounded(self) -> "Size":
        """In whole numbers."""
        return Size(round(self.calls), round(self.prompt_characters), round(self.generated_tokens))


@dataclass(frozen=True, slots=True)
class Extent:
    """How much a scaffold asks of one item: at least, commonly, and at most."""

    least: Size = Size()
    expected: Size = Size()
    most: Size = Size()

    def __add__(self, other: "Extent") -> "Extent":
        return Extent(self.least + other.least, self.expected + other.expected, self.most + other.most)

    def rounded(self) -> "Extent":
        """In whole numbers."""
        return Extent(self.least.rounded(), self.expected.rounded(), self.most.rounded())


class ItemScaffold(Protocol):
    """A scaffold on one item."""

    @property
    def task(self) -> Task:
        """What it is given."""

    @property
    def converses(self) -> bool:
        """Whether a judge sees all that was said after the first question."""

    def extent(self) -> Extent:
        """How much it asks after its first calls."""

    def trace(self, answers: AnswerLookup, waves: int | None = None) -> SampleCalls:
        """Its calls, as far as the answers carry it and no further than so many waves."""

    def steps(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The steps of its calls where it asks least, and where it asks most."""


@dataclass(frozen=True, slots=True)
class PlannedSample:
    """One item asked once in a cell, and the calls that answer it. Under a scaffold these are the first ones
    alone: `scaffolded` says what follows from their answers."""

    item: Item
    replicate: int
    requests: tuple[Request, ...]
    scaffolded: ItemScaffold | None = None

    def trace(self, answers: AnswerLookup, waves: int | None = None) -> SampleCalls:
        """The calls of the sample, as far as the answers that are there carry a scaffold."""
        if self.scaffolded is None:
            return SampleCalls(tuple((None, request) for request in self.requests), 1, None)
        return self.scaffolded.trace(answers, waves)
