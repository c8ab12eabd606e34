"""Turn an item and its exemplars into the text of a prompt. Pure: no files, no model, no clock.

A template is Jinja, run in a sandbox with every unknown name an error. It is rendered once for
each exemplar (with `answer` set) and once for the item (with `answer` empty), and the blocks are
joined by a blank line. Because both go through one template, an exemplar cannot be formatted
differently from the question it illustrates.
"""

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from gridc.compiler.instrument.item import Item

if TYPE_CHECKING:
    from jinja2 import Template

    from gridc.compiler.instrument.template_limits import PromptEnvironment

OptionStyle = Literal["lettered", "listed", "none"]

VARIABLES = ("question", "stem", "context", "query", "options", "choices", "answer")
"""What a template may use: the stem with its options, the stem alone, its two parts (the context, which
may be empty, and what is asked about it), the options alone, the options as (letter, text) to print in
another way, and the answer (empty when the item itself is asked)."""

WRAPPER_VARIABLES = ("prompt",)
"""What a wrapper may use: the whole prompt, which it must print."""

PLACEHOLDER = re.compile(
    r"(?<!\{)\{\s?(question|stem|context|query|options|choices|answer|sent|sentence|text|prompt|statement|input)"
    r"\s?\}(?!\})"
)
"""A variable's name, or one that a reader would take for it, in single braces."""


class SandboxError(ValueError):
    """A template did something that no prompt template needs."""


@dataclass(frozen=True, slots=True)
class TemplateProblem:
    """What is wrong with a template, and on which of its lines (1-based)."""

    line: int
    message: str


@lru_cache(maxsize=1)
def _environment() -> "PromptEnvironment":
    from gridc.compiler.instrument.template_limits import PromptEnvironment

    return PromptEnvironment()


@lru_cache(maxsize=256)
def _compile(source: str) -> "Template":
    return _environment().template(source)


@lru_cache(maxsize=256)
def template_variables(source: str) -> frozenset[str]:
    """The names that a template reads. Raises `jinja2.TemplateSyntaxError`."""
    from jinja2.meta import find_undeclared_variables

    return frozenset(find_undeclared_variables(_environment().parse(source)))


def check_template(source: str) -> list[TemplateProblem]:
    """Everything that can be known to be wrong with a template before an item is rendered."""
    missing = "the question never reaches the prompt"
    return _check(source, VARIABLES, _ASKING, missing, lambda: render_prompt(source, _TRIAL, [_TRIAL]))


def check_wrapper(source: str) -> list[TemplateProblem]:
    """The same of a wrapper."""
    missing = "the prompt never reaches the wrapper's text"
    return _check(source, WRAPPER_VARIABLES, {"prompt"}, missing, lambda: wrap(source, "Which is it?"))


def _check(
    source: str, known: Sequence[str], needed: Set[str], missing: str, trial: Callable[[], str]
) -> list[TemplateProblem]:
    from jinja2 import TemplateSyntaxError

    try:
        used = template_variables(source)
    except TemplateSyntaxError as error:
        return [TemplateProblem(error.lineno, error.message or "syntax error")]
    except RecursionError:
        return [TemplateProblem(1, "it is nested too deeply")]
    problems = []
    for name in sorted(used - set(known)):
        line = next((n for n, text in enumerate(source.splitlines(), 1) if name in text), 1)
        problems.append(TemplateProblem(line, f"unknown template variable `{name}`"))
    if not used & needed:
        problems.append(TemplateProblem(1, missing))
    if not problems:
        try:
            trial()
        except SandboxError as error:
            problems.append(TemplateProblem(1, f"it fails when it is rendered: {error}"))
    return problems


def lettered(item: Item) -> str:
    """The options, one a line: `A. first`, `B. second`."""
    return "\n".join(f"{letter}. {text}" for letter, text in zip(item.letters, item.options, strict=True))


def shown_options(item: Item, style: OptionStyle) -> str:
    """The options as `question` shows them; empty where it shows none."""
    if style == "lettered":
        return lettered(item)
    return " or ".join(item.options) if style == "listed" else ""


def reference_answer(item: Item, style: OptionStyle) -> str:
    """What an exemplar shows as its answer: a letter where letters are shown, else the text."""
    if item.gold is None:
        return item.references[0]
    return item.letters[item.gold] if style == "lettered" else item.options[item.gold]


def render_prompt(
    source: str, item: Item, exemplars: Sequence[Item] = (), style: OptionStyle = "lettered"
) -> str:
    """The text that is asked: each exemplar with its answer, then the item without one.

    Raises `SandboxError` when the template tries to reach Python or fails while it runs.
    """
    blocks = [_block(source, each, style, reference_answer(each, style)) for each in exemplars]
    blocks.append(_block(source, item, style, ""))
    return "\n\n".join(blocks)


def wrap(source: str, prompt: str) -> str:
    """The prompt inside a wrapper, such as a long document. Raises `SandboxError`."""
    return _run(source, {"prompt": prompt})


def _block(source: str, item: Item, style: OptionStyle, answer: str) -> str:
    options = shown_options(item, style)
    choices = list(zip(item.letters, item.options, strict=True)) if style != "none" else []
    if style == "none" and item.open is not None:
        item = replace(item, query=item.open)
    question = f"{item.stem}\n{options}" if options else item.stem
    values = {"question": question, "stem": item.stem, "context": item.context, "query": item.query}
    return _run(source, {**values, "options": options, "choices": choices, "answer": answer})


def _run(source: str, values: Mapping[str, object]) -> str:
    from gridc.compiler.instrument.template_limits import Limit, render

    try:
        return render(_compile(source), dict(values))
    except Limit as error:
        raise SandboxError(str(error)) from error
    except Exception as error:  # a template is a program, and may fail as any program may
        raise SandboxError(f"{type(error).__name__}: {error}") from error


_ASKING = frozenset(("question", "stem", "context", "query"))
_TRIAL = Item("trial", "Which is it?", ("this", "that"), gold=0, family="trial")
