"""Procedures from other frameworks: a function that asks for each answer where it needs it."""

from collections.abc import Callable

from gridc.compiler.instrument.scaffolds.turns import Messages, Steps, Task, Turn
from gridc.schema.scaffold import Scaffold

Ask = Callable[[Messages], str]
"""What a function asks by: messages as (role, text) in, the model's text out."""

Function = Callable[[Scaffold, Task, Ask], str]


class Pending(BaseException):
    """Ends a function whose next answer is not there yet. Not an `Exception`, so that what catches those
    lets it pass."""


def follow(function: Function) -> Callable[[Scaffold, Task], Steps]:
    """A procedure from a function `(scaffold, task, ask) -> answer` that calls `ask` whenever it needs the
    model, and returns one of the texts that it was given.

    The function is run from its start for every answer, with those that are there: it must ask the same
    whenever it is told the same, and have no clock, chance or memory of its own. Its steps are `call_0`,
    `call_1`, ... Raises `ValueError` where it returns a text that no call gave.
    """

    def run(scaffold: Scaffold, task: Task) -> Steps:
        texts: list[str] = []
        while True:
            asker = _Asker(texts)
            answer = ""
            try:
                answer = function(scaffold, task, asker.ask)
            except Pending:
                pass
            except Exception:
                if asker.waiting is None:  # else it failed for want of the answer that it waits for
                    raise
            if asker.waiting is None:
                return _step_of(answer, texts)
            (text,) = yield (Turn(f"call_{len(texts)}", asker.waiting),)
            texts.append(text)

    return run


class _Asker:
    """Gives the texts that are there, one after another, and keeps what is asked beyond them."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = iter(tuple(texts))
        self.waiting: Messages | None = None

    def ask(self, messages: Messages) -> str:
        text = next(self._texts, None)
        if text is None:
            self.waiting = self.waiting or tuple((role, said) for role, said in messages)
            raise Pending
        return text


def _step_of(answer: str, texts: list[str]) -> str:
    same = [number for number, text in enumerate(texts) if text.strip() == answer.strip()]
    if not same:
        raise ValueError("it answers with a text that none of its calls gave")
    return f"call_{same[-1]}"
