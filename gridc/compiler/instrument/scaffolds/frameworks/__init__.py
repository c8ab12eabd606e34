"""Frameworks that drive themselves. An adapter gives one a model object of its own kind, whose every call is
a call of gridc: stored, budgeted, batched across items and resumed by replay.

A function `(scaffold, task, model) -> answer` is what a user writes. The model is one object for the whole
process, so that a graph can be built once; which item asks is kept in a context variable, which frameworks
carry into their threads and tasks.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from gridc.compiler.instrument.scaffolds.follow import AskModel, Followed, Replay, follow
from gridc.compiler.instrument.scaffolds.turns import Task
from gridc.schema.scaffold import Scaffold

Driven = Callable[[Scaffold, Task, Any], Any]
"""What a user writes: a scaffold, a task and a model of the framework in, the answer out."""

ASKING: ContextVar[Replay] = ContextVar("ASKING")
"""The replay of the item that asks."""

TOOLS = "a call of gridc gives text alone: write the tool into the prompts, as gridc's react does"
SAMPLING = "state it in the spec, where it is stamped and holds for every call"


def driven(function: Driven, model: Callable[[], Any], packages: tuple[str, ...]) -> Followed:
    """The procedure of a function that a framework drives. `model` makes the framework's model, once."""
    made: list[Any] = []

    def run(scaffold: Scaffold, task: Task, ask: AskModel) -> str:
        assert isinstance(ask, Replay)
        made[:] = made or [model()]
        token = ASKING.set(ask)
        try:
            return text_of(function(scaffold, task, made[0]))
        finally:
            ASKING.reset(token)

    return follow(run, packages)


def text_of(answer: Any) -> str:
    """The text of an answer: itself, or the `content` of a message. Raises `TypeError`."""
    text = answer if isinstance(answer, str) else getattr(answer, "content", None)
    if not isinstance(text, str):
        raise TypeError(f"it returns {type(answer).__name__}, and not a text or a message")
    return text
