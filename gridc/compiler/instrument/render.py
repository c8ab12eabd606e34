"""Turn an item and its exemplars into the text of a prompt. Pure: no files, no model, no clock.

A template is Jinja, run in a sandbox with every unknown name an error. It is rendered once for
each exemplar (with `answer` set) and once for the item (with `answer` empty), and the blocks are
joined by a blank line. Because both go through one template, an exemplar cannot be formatted
differently from the question it illustrates.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal

from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.options import DEFAULT, bare_labels, label_marks, own_letters
from gridc.schema.effects import Candidates, Casing, Var

if TYPE_CHECKING:
    from jinja2 import Template

    from gridc.compiler.instrument.template_limits import PromptEnvironment

OptionStyle = Literal["lettered", "listed", "none"]
BLANK_LINE = "\n\n"


@dataclass(frozen=True, slots=True)
class PromptLayout:
    """How a prompt is laid out: how options are marked, what stands between its parts (`schema.Separators`),
    the case of the template's own words, and the parameters of its templates."""

    enumerator: str = DEFAULT
    casing: Casing = "as_written"
    label: str = " "
    options: str | None = None
    question: str = "\n"
    blocks: str = BLANK_LINE
    vars: tuple[tuple[str, Var], ...] = ()


PLAIN = PromptLayout()
VERSIONS = {
    "options:lettered": 2,
    "options:listed": 2,
    "options:none": 2,
    "casing:upper": 1,
    "casing:lower": 1,
    "casing:title": 1,
    "prompt:wrapper": 1,
    "prompt:parts": 1,
}
"""The version of each part here, which stamps hold (`instrument.versions`)."""

EXTRA = "extra"
"""The variable that holds an item's further columns (`fields.extra`)."""

VARIABLES = ("question", "stem", "context", "query", "options", "choices", "answer", EXTRA)
"""What a template may use: the stem with its options, the stem alone, its two parts (the context, which
may be empty, and what is asked about it), the options alone, the options as (letter, text) to print in
another way, the answer (empty when the item itself is asked), and the item's further columns."""

_TEXTS = frozenset(VARIABLES) - {"choices", EXTRA}

WRAPPER_VARIABLES = ("prompt",)
"""What a wrapper may use: the whole prompt, which it must print."""

PLACEHOLDER = re.compile(
    r"(?<!\{)\{\s?(question|stem|context|query|options|choices|answer|sent|sentence|text|prompt|statement|input)"
    r"\s?\}(?!\})"
)
"""A variable's name, or one that a reader would take for it, in single braces."""


TEMPLATE_MARK = re.compile(r"\{\{|\{%|\{#")
"""Where a text is a template."""


COMPOSITE = "parts:"
"""What comes before the reference of a prompt that is joined from parts."""


def composite(joint: str, parts: Sequence[str]) -> str:
    """The reference of a prompt that joins the templates of these references; of one part, its own."""
    return parts[0] if len(parts) == 1 else COMPOSITE + json.dumps([joint, *parts], ensure_ascii=False)


def joined(reference: str, prompts: Mapping[str, str]) -> str:
    """The template that a composite reference stands for, from the texts of its parts."""
    joint, *parts = json.loads(reference.removeprefix(COMPOSITE))
    return str(joint).join(prompts[part].removesuffix("\n") for part in parts)


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
def _compile(source: str, casing: Casing = "as_written") -> "Template":
    cased = {"upper": str.upper, "lower": str.lower, "title": str.title}.get(casing)
    return _environment().template(source, cased)


@lru_cache(maxsize=256)
def template_variables(source: str) -> frozenset[str]:
    """The names that a template reads. Raises `jinja2.TemplateSyntaxError`."""
    from jinja2.meta import find_undeclared_variables

    return frozenset(find_undeclared_variables(_environment().parse(source)))


def check_template(source: str, vars: Mapping[str, Var] = {}, part: bool = False) -> list[TemplateProblem]:
    """Everything that can be known to be wrong with a template before an item is rendered. `vars` are the
    parameters that a study gives it, with any value of each. A `part` of a prompt need not ask anything."""
    missing = None if part else "the question never reaches the prompt"
    look = PromptLayout(vars=tuple(vars.items()))
    trial = partial(render_prompt, source, _TRIAL, [_TRIAL], look=look)
    return _check(source, (*VARIABLES, *vars), _ASKING, missing, trial)


def check_wrapper(source: str, vars: Mapping[str, Var] = {}) -> list[TemplateProblem]:
    """The same of a wrapper."""
    missing = "the prompt never reaches the wrapper's text"
    trial = partial(wrap, source, "Which is it?", PromptLayout(vars=tuple(vars.items())))
    return _check(source, (*WRAPPER_VARIABLES, *vars), {"prompt"}, missing, trial)


def _check(
    source: str, known: Sequence[str], needed: Set[str], missing: str | None, trial: Callable[[], str]
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
    problems += _loops_over_letters(source)
    if missing is not None and not used & needed and not problems:
        problems.append(TemplateProblem(1, missing))
    if not problems and EXTRA not in used:  # what a row's columns hold is seen with the rows
        try:
            trial()
        except SandboxError as error:
            problems.append(TemplateProblem(1, f"it fails when it is rendered: {error}"))
    return problems


def extra_columns(source: str) -> Iterator[tuple[int, str]]:
    """The further columns of an item that a template names, each with its line. Raises
    `jinja2.TemplateSyntaxError`."""
    from jinja2.nodes import Const, Getattr, Getitem, Name

    tree = _environment().parse(source)
    for named in tree.find_all(Getattr):
        if isinstance(named.node, Name) and named.node.name == EXTRA:
            yield named.lineno, named.attr
    for item in tree.find_all(Getitem):
        of_extra = isinstance(item.node, Name) and item.node.name == EXTRA
        if of_extra and isinstance(item.arg, Const) and isinstance(item.arg.value, str):
            yield item.lineno, item.arg.value


def _loops_over_letters(source: str) -> list[TemplateProblem]:
    """Loops over a variable that is one text: each turn would be one letter of it."""
    from jinja2.nodes import For, Name

    loops = _environment().parse(source).find_all(For)
    over = [(loop.lineno, loop.iter.name) for loop in loops if isinstance(loop.iter, Name)]
    words = (
        "which is one text, so each turn is one letter of it; `choices` holds a pair (letter, text) for each"
    )
    return [
        TemplateProblem(line, f"it loops over `{name}`, {words}") for line, name in over if name in _TEXTS
    ]


def lettered(item: Item, look: PromptLayout = PLAIN) -> str:
    """The options, one a line: `A. first`, `B. second`, or marked and joined in another way. Letters that a
    question uses itself are not shown again, and others under no second ones."""
    between = "\n" if look.options is None else look.options
    own = own_letters(item)
    if own is not None:
        return "" if own.named else between.join(own.labels)
    shown = zip(label_marks(look.enumerator, len(item.options)), item.options, strict=True)
    return between.join(f"{mark}{look.label}{text}" for mark, text in shown)


def rendered_options(item: Item, style: OptionStyle, look: PromptLayout = PLAIN) -> str:
    """The options as `question` shows them; empty where it shows none."""
    if style == "lettered" or (style == "listed" and own_letters(item) is not None):
        return lettered(item, look)
    return (" or " if look.options is None else look.options).join(item.options) if style == "listed" else ""


def options_apart(item: Item, style: OptionStyle, look: PromptLayout = PLAIN) -> str:
    """The options for a call that the question does not reach: as `question` shows them, or as it lists them
    itself."""
    own = own_letters(item)
    return rendered_options(item, style, look) if own is None or not own.listing else own.listing


def reference_answer(
    item: Item, style: OptionStyle, look: PromptLayout = PLAIN, candidates: Candidates | None = None
) -> str:
    """What an exemplar shows as its answer: a label where options are shown under one, else the text. Before
    a ranking it is in the form of the `candidates`."""
    if item.gold is None:
        return item.references[0]
    own = own_letters(item)
    names = bare_labels(look.enumerator, len(item.options)) if own is None else own.labels
    by_label = style == "lettered" or own is not None if candidates is None else candidates == "letter"
    return names[item.gold] if names and by_label else item.options[item.gold]


def render_prompt(
    source: str,
    item: Item,
    exemplars: Sequence[Item] = (),
    style: OptionStyle = "lettered",
    look: PromptLayout = PLAIN,
) -> str:
    """The text that is asked: each exemplar with its answer, then the item without one.

    Raises `SandboxError` when the template tries to reach Python or fails while it runs.
    """
    return render_behind(exemplar_blocks(source, exemplars, style, look), source, item, style, look)


def exemplar_blocks(
    source: str,
    exemplars: Sequence[Item],
    style: OptionStyle = "lettered",
    look: PromptLayout = PLAIN,
    candidates: Candidates | None = None,
    written: Callable[[str], str] = str,
) -> list[str]:
    """Each exemplar with its answer, as every prompt that shows them has it; `written` puts an answer into
    the form that is asked for. Raises `SandboxError`."""
    return [
        _block(source, exemplar, style, written(reference_answer(exemplar, style, look, candidates)), look)
        for exemplar in exemplars
    ]


def render_behind(
    blocks: Sequence[str],
    source: str,
    item: Item,
    style: OptionStyle = "lettered",
    look: PromptLayout = PLAIN,
) -> str:
    """The text that is asked, behind exemplars that are rendered already. Raises `SandboxError`."""
    return look.blocks.join([*blocks, _block(source, item, style, "", look)])


def render_said(source: str, item: Item, style: OptionStyle, look: PromptLayout = PLAIN) -> str:
    """What is said after the prompt, in the case in which it is written. A text without Jinja's marks is as
    it stands. Raises `SandboxError`."""
    if TEMPLATE_MARK.search(source) is None:
        return source
    return _block(source, item, style, "", replace(look, casing="as_written"))


def wrap(source: str, prompt: str, look: PromptLayout = PLAIN) -> str:
    """The prompt inside a wrapper, such as a long document. Raises `SandboxError`."""
    return _run(source, {**dict(look.vars), "prompt": prompt}, "as_written")


RUBRIC_VARIABLES = ("stem", "right", "expected", EXTRA)
"""What a rubric may use: the item's stem, its right answers, what is expected of a response to it (comply
or refuse), each empty where the item does not say, and the item's further columns."""


def render_rubric(source: str, item: Item) -> str:
    """The rubric for one item. Raises `SandboxError`."""
    right = [item.options[option] for option in sorted(item.right)] or list(item.references)
    values: dict[str, object] = {
        "stem": item.stem,
        "right": " or ".join(right),
        "expected": item.expected or "",
    }
    values[EXTRA] = dict(item.extra)
    return _run(source, values, "as_written")


def check_rubric(source: str) -> list[TemplateProblem]:
    """Everything that can be known to be wrong with a rubric."""
    return _check(source, RUBRIC_VARIABLES, set(), None, partial(render_rubric, source, _TRIAL))


def _block(source: str, item: Item, style: OptionStyle, answer: str, look: PromptLayout) -> str:
    options = rendered_options(item, style, look)
    count, own = len(item.options), own_letters(item)
    names = bare_labels(look.enumerator, count) or label_marks(look.enumerator, count)
    choices = list(zip(names if own is None else own.labels, item.options, strict=True))
    choices = [] if style == "none" or (own is not None and own.named) else choices
    if style == "none" and item.open is not None:
        item = replace(item, query=item.open)
    question = f"{item.stem}{look.question}{options}" if options else item.stem
    values: dict[str, object] = {
        "question": question,
        "stem": item.stem,
        "context": item.context,
        "query": item.query,
    }
    values |= {"options": options, "choices": choices, "answer": answer, EXTRA: dict(item.extra)}
    return _run(source, {**dict(look.vars), **values}, look.casing)


def _run(source: str, values: Mapping[str, object], casing: Casing) -> str:
    from gridc.compiler.instrument.template_limits import Limit, render_within_limits

    try:
        return render_within_limits(_compile(source, casing), dict(values))
    except Limit as error:
        raise SandboxError(str(error)) from error
    except Exception as error:  # a template is a program, and may fail as any program may
        raise SandboxError(f"{type(error).__name__}: {error}") from error


_ASKING = frozenset(("question", "stem", "context", "query", EXTRA))
_TRIAL = Item("trial", "Which is it?", ("this", "that"), gold=0, family="trial")
