"""What a scaffold is made of: the task that it is given, and the turns that it asks.

A procedure is a generator. It yields turns that can be asked side by side, receives their texts, and
returns the step whose text is the answer. It keeps nothing but what it was sent, so running it again on
stored answers gives the same turns: that is how a run resumes and how a store is verified.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace
from typing import Literal

Messages = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ScriptedTool:
    """A tool of one item: what it says of itself, and its results by input; that of `*` is for any other."""

    name: str
    description: str
    results: tuple[tuple[str, str], ...]

    def use(self, given: str) -> str:
        """Its result for an input, whose white space does not matter."""
        results = {" ".join(known.split()): result for known, result in self.results}
        return results.get(
            " ".join(given.split()), results.get(ANY_INPUT, "error: it has no result for this")
        )


ANY_INPUT = "*"


@dataclass(frozen=True, slots=True)
class Task:
    """What a procedure is given of an item: the text that asks it, its options as they are shown (may be
    empty), and the study's system prompt (None where there is none) with the turn that it stands in. What was
    said `before` the question, the user's `turns` after it, and the item's own `tools`."""

    benchmark: str
    question: str
    options: str = ""
    system: str | None = None
    system_turn: Literal["system", "user"] = "system"
    before: Messages = ()
    turns: tuple[str, ...] = ()
    tools: tuple[ScriptedTool, ...] = ()

    @property
    def whole(self) -> str:
        """The question with all that was said before it, for who is not in the conversation."""
        return transcript((*self.before, ("user", self.question))) if self.before else self.question

    def asking(self, question: str) -> "Task":
        """The same task with another text."""
        return replace(self, question=question)

    def alone(self, question: str) -> "Task":
        """Another text, with nothing said before it."""
        return replace(self, question=question, before=())

    def opening(self, instruction: str = "") -> Messages:
        """The first messages of a conversation under the study's system prompt, with the item's own and the
        scaffold's instruction in the system turn."""
        inside = self.system if self.system_turn == "system" else None
        ahead = self.system if self.system_turn == "user" else None
        own = [text for role, text in self.before if role == "system"]
        said = tuple(message for message in self.before if message[0] != "system")
        system = "\n\n".join(text for text in (inside, *own, instruction) if text)
        user = "\n\n".join(text for text in (ahead, self.question) if text)
        return (*((("system", system),) if system else ()), *said, ("user", user))


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


def transcript(messages: Iterable[tuple[str, str]]) -> str:
    """A conversation as one text."""
    return "\n\n".join(f"{role.capitalize()}: {text}" for role, text in messages)


def conversation(first: Messages, last: Messages, reply: str) -> Messages:
    """What was said from the first reply on, where the first call sent `first` and the last one `last`."""
    return (*last[len(first) :], ("assistant", reply))
