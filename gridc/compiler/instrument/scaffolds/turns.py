"""What a scaffold is made of: the task that it is given, and the turns that it asks.

A procedure is a generator. It yields turns that can be asked side by side, receives their texts, and
returns the step whose text is the answer. It keeps nothing but what it was sent, so running it again on
stored answers gives the same turns: that is how a run resumes and how a store is verified.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Literal

Messages = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Task:
    """What a procedure is given of an item: the text that asks it, its options as they are shown (may be
    empty), and the study's system prompt (None where there is none) with the turn that it stands in."""

    benchmark: str
    question: str
    options: str = ""
    system: str | None = None
    system_turn: Literal["system", "user"] = "system"

    def asking(self, question: str) -> "Task":
        """The same task with another text."""
        return replace(self, question=question)

    def opening(self, instruction: str = "") -> Messages:
        """The first messages of a conversation under the study's system prompt, with the scaffold's own
        instruction in the system turn."""
        inside = self.system if self.system_turn == "system" else None
        ahead = self.system if self.system_turn == "user" else None
        system = "\n\n".join(text for text in (inside, instruction) if text)
        user = "\n\n".join(text for text in (ahead, self.question) if text)
        return (*((("system", system),) if system else ()), ("user", user))


@dataclass(frozen=True, slots=True)
class Turn:
    """One call of a procedure: the name of its step, what is sent, and the number of the worker that sends
    it, which tells apart equal calls that are to be drawn independently."""

    step: str
    messages: Messages
    worker: int = 0


Steps = Generator[tuple[Turn, ...], tuple[str, ...], str]


def replied(messages: Messages, reply: str, user: str) -> Messages:
    """A conversation that goes on: the model's reply and what is said to it."""
    return (*messages, ("assistant", reply), ("user", user))
