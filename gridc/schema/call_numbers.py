"""The numbers that every answer has beside its score: what it took to get it, each in a unit of its own."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CallNumber:
    """What a number counts, in which unit. It is of all calls of an answer: of a scaffold's every step."""

    unit: str
    what: str


CALL_NUMBERS: Mapping[str, CallNumber] = {
    "tokens": CallNumber("tokens", "tokens that the model wrote, those of its thought among them"),
    "thought_tokens": CallNumber("tokens", "tokens of thought, where the server counts them apart"),
    "read_tokens": CallNumber("tokens", "tokens of its prompts"),
    "cost": CallNumber("US dollars", "price of all requests, the failed ones that were paid among them"),
    "seconds": CallNumber("seconds", "seconds that its calls took, one after the other"),
    "calls": CallNumber("calls", "how often the model was called, which is the steps of an agent"),
}
"""By name. An answer that two configurations share counts for both with all that it took."""
