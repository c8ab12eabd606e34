"""What a scaffold is made of: its task and its turns, and functions of other frameworks followed as turns.

A procedure is a generator. It yields turns that can be asked side by side, receives their texts, and returns
the step whose text is the answer. It keeps nothing but what it was sent, so running it again on stored
answers gives the same turns: that is how a run resumes and how a store is verified.
"""

import inspect
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, NoReturn, Protocol

from gridc.compiler.instrument.forms import AskedForm
from gridc.schema.effects import Scaffold

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
    said `before` the question, the user's `turns` after it, the item's own `tools`, and the `form` that the
    question asks for."""

    benchmark: str
    question: str
    options: str = ""
    system: str | None = None
    system_turn: Literal["system", "user"] = "system"
    before: Messages = ()
    turns: tuple[str, ...] = ()
    tools: tuple[ScriptedTool, ...] = ()
    form: AskedForm | None = None

    @property
    def with_history(self) -> str:
        """The question with all that was said before it, for who is not in the conversation."""
        return transcript((*self.before, ("user", self.question))) if self.before else self.question

    def asking(self, question: str) -> "Task":
        """The same task with another text."""
        return replace(self, question=question)

    def without_history(self, question: str) -> "Task":
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


MOST = 100
"""Calls of one item, where the scaffold states no `rounds`."""
REMEMBERED = 2**14
"""Runs of a function whose outcome is kept, so that a wave does not repeat those of the waves before it."""


class AskModel(Protocol):
    """What a function asks by: messages as (role, text) in, the model's text out. Calls of the same `step`
    are counted together, and numbered."""

    def __call__(self, messages: Messages, step: str = "call") -> str: ...


Function = Callable[[Scaffold, Task, AskModel], str]


class FunctionExit(BaseException):
    """Ends a function: its next answer is not there yet, or never will be. Not an `Exception`, so that what
    catches those lets it pass."""


class ScaffoldError(Exception):
    """A function asks for what no call gives (GC343), or does not ask the same again (GC344)."""

    def __init__(self, code: str, problem: str, help: str) -> None:
        self.code, self.problem, self.help = code, problem, help
        super().__init__(problem)


@dataclass(frozen=True, eq=False)
class FunctionProcedure:
    """A function as a procedure, which can be an entry point of `gridc.scaffolds`. The stamp holds the
    versions of `packages`, the frameworks that decide what the function asks. A reply whose last line is
    `longest` leads to the most calls."""

    function: Function
    packages: tuple[str, ...] = ()
    longest: str = ""
    _next_turn: Callable[..., "Turn | str"] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_next_turn", lru_cache(REMEMBERED)(self._run))

    def __call__(self, scaffold: Scaffold, task: Task) -> Steps:
        """Its turns, one at a time. Raises `ScaffoldError`, and `ValueError` where it returns a text that no
        call gave."""
        turns: tuple[Turn, ...] = ()
        texts: tuple[str, ...] = ()
        given = scaffold.model_dump_json()
        while True:
            turn = self._next_turn(given, task, turns, texts)
            if isinstance(turn, str):
                return turn
            (text,) = yield (turn,)
            turns, texts = (*turns, turn), (*texts, text)

    def _run(self, given: str, task: Task, turns: tuple[Turn, ...], texts: tuple[str, ...]) -> Turn | str:
        """Run the function on the answers that are there: its next turn, or the step whose text it returns.
        What it asked before it must ask again."""
        scaffold = Scaffold.model_validate_json(given)
        replay = Replay(turns, texts)
        answer = ""
        try:
            answer = self.function(scaffold, task, replay)
        except FunctionExit:
            pass
        except Exception:
            if not replay.ended:  # else it failed for lack of the answer that it waits for
                raise
        if replay.failure is not None:
            raise replay.failure
        if replay.waiting is None and replay.asked < len(turns):
            raise _replay_error(f"it ends after {replay.asked} calls where it made {len(turns)} before")
        if replay.waiting is None:
            return _step_of(answer, turns, texts)
        if len(texts) < (scaffold.rounds or MOST):
            return replay.waiting
        if scaffold.rounds is None:
            problem = f"it asks more than {MOST} calls of one item"
            raise ScaffoldError("GC343", problem, "state `rounds`: at so many calls the last reply decides")
        return turns[-1].step


def follow(function: Function, packages: tuple[str, ...] = (), longest: str = "") -> FunctionProcedure:
    """A procedure from a function `(scaffold, task, ask) -> answer` that calls `ask` whenever it needs the
    model, and returns one of the texts that it was given.

    The function is run from its start for every answer, with those that are there: it must ask the same
    whenever it is told the same, one thing at a time, and have no clock, chance or memory of its own. Its
    steps are `call_0`, `call_1`, ..., or what it names them. At `rounds` of the scaffold, if stated, the last
    reply is the answer. Where it goes on only after certain replies, such as the call of a tool, `longest` is
    the line that such a reply ends with: `gridc plan` bounds the calls by it.
    """
    if inspect.iscoroutinefunction(function):
        raise TypeError("a coroutine cannot be followed: give a function that runs it")
    return FunctionProcedure(function, packages, longest)


class Replay:
    """Gives the texts that are there, one after another, and keeps what is asked beyond them."""

    def __init__(self, turns: tuple[Turn, ...], texts: tuple[str, ...]) -> None:
        self._turns, self._texts = turns, texts
        self._names: dict[str, int] = {}
        self.asked = 0
        self.waiting: Turn | None = None
        self.failure: ScaffoldError | None = None

    @property
    def ended(self) -> bool:
        """Whether the function cannot go on."""
        return self.waiting is not None or self.failure is not None

    def __call__(self, messages: Messages, step: str = "call") -> str:
        if self.ended:
            raise FunctionExit
        number = self._names.get(step, 0)
        self._names[step] = number + 1
        turn = Turn(f"{step}_{number}", tuple((role, text) for role, text in messages))
        if self.asked == len(self._texts):
            self.waiting = turn
            raise FunctionExit
        before, text = self._turns[self.asked], self._texts[self.asked]
        if turn != before:
            self._fail(_replay_error(_difference(self.asked, before, turn)))
        self.asked += 1
        return text

    def refuse(self, problem: str, help: str) -> NoReturn:
        """Ends the function: it asks for what no call gives."""
        self._fail(ScaffoldError("GC343", problem, help))

    def _fail(self, failure: ScaffoldError) -> NoReturn:
        self.failure = self.failure or failure
        raise FunctionExit


def _replay_error(problem: str) -> ScaffoldError:
    help = "it must use no clock, no randomness and no memory of its own, and ask one thing at a time"
    return ScaffoldError("GC344", problem, help)


def _difference(number: int, before: Turn, now: Turn) -> str:
    where = f"its call {number + 1}"
    if before.messages == now.messages:
        return f"{where} is the step `{now.step}` where it was `{before.step}` before"
    return f"{where} (`{now.step}`) has a different text from before, on the same answers"


def _step_of(answer: str, turns: tuple[Turn, ...], texts: tuple[str, ...]) -> str:
    same = [number for number, text in enumerate(texts) if text.strip() == answer.strip()]
    if not same:
        raise ValueError("it answers with a text that none of its calls gave")
    return turns[same[-1]].step
