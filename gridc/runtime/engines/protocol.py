"""What the scheduler asks of an engine, and what it gets back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gridc.compiler.lowering.calls import Prompt


@dataclass(frozen=True, slots=True)
class Call:
    """A stored request: its id, its kind, its prompt, and all its parameters."""

    id: str
    kind: str
    prompt: Prompt
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call.

    `content` is the raw answer: `text`, `tokens` (ids), `finish` (stop or length) and `near_ties` of a
    generation; `loglikelihoods` (nats), `tokens` (counts) and `greedy` of a ranking, by candidate.
    `sent` is what the model was given, `usage` what it cost, `seconds` the call's share of its batch.
    """

    call: str
    content: dict[str, Any]
    sent: dict[str, Any]
    usage: dict[str, Any]
    seconds: float


@dataclass(frozen=True, slots=True)
class Spending:
    """What a batch took: forward tokens, seconds, the most bytes of keys and values that were held at
    once, the most rows that one forward pass carried on, and the most memory that the process had had
    by then, in bytes: on the GPU where the model is on one."""

    forward_tokens: int
    seconds: float
    kv_bytes: int
    rows: int
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Calls that are answered together. `cost` is in forward tokens, for progress and time left."""

    calls: tuple[str, ...]
    cost: int
    work: Any = field(repr=False)


class Engine(Protocol):
    """Answers the calls of one model at one precision."""

    def effective(self) -> dict[str, Any]:
        """What is really run: digests, versions, dtype, device. Loads the model."""

    def batches(self, calls: Sequence[Call]) -> list[Batch]:
        """A division of the calls that depends on the calls and the settings alone, so that a run that is
        interrupted and resumed forms the same batches. Raises `HazardError` before any call is
        made, and `UnavailableError` when a call does not fit the memory that is allowed."""

    def answer(self, batch: Batch, wanted: frozenset[str]) -> tuple[list[Answer], Spending]:
        """Answer the wanted calls of a batch."""

    def least(self, answered: Iterable[tuple[Call, dict[str, Any]]]) -> int:
        """The fewest forward tokens that could have given these calls their answers (contents)."""

    def close(self) -> None:
        """Free the model."""
