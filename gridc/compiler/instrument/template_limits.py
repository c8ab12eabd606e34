"""What a prompt template may do, and how much of it.

A spec can come from a stranger, so a template must end, and end small, whatever it says. Three bounds hold
it: only the parts of Jinja that a prompt needs exist; of filters and methods only those whose result is no
larger than what goes in; and every render has a budget of characters and of loop turns. So no child process
is needed, and a template fails in the same way on every machine; CPU time is only
the backstop.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import wraps
from typing import Any

from jinja2 import StrictUndefined, Template, nodes, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

MAX_SOURCE = 1024 * 1024
"""Characters of a template."""
MAX_EXPRESSIONS = 5_000
MAX_TEXT = 4 * 1024 * 1024
"""Characters of any text that a template builds, and entries of any list."""
MAX_WORK = 4 * MAX_TEXT
"""Characters that one render builds and prints, all together."""
MAX_READ = 64 * 1024 * 1024
"""Characters and entries that one render compares or hands to filters, all together."""
MAX_TURNS = 10_000
"""Turns of all loops of one render together."""
MAX_NUMBER = 2**63
MAX_SECONDS = 5.0

FILTERS = frozenset((
    "abs", "capitalize", "count", "d", "default", "first", "float", "int", "items", "last", "length", "list",
    "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "round", "select", "selectattr", "sort",
    "title", "trim", "unique", "upper", "wordcount",
))  # fmt: skip
METHODS = frozenset((
    "capitalize", "count", "endswith", "find", "index", "isalpha", "isdigit", "islower", "isspace", "isupper",
    "lower", "lstrip", "partition", "removeprefix", "removesuffix", "rfind", "rindex", "rpartition", "rsplit",
    "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper",
))  # fmt: skip
REFUSED = {
    nodes.AssignBlock: "set ... endset",
    nodes.Block: "block",
    nodes.CallBlock: "call",
    nodes.Extends: "extends",
    nodes.FilterBlock: "filter",
    nodes.FromImport: "from",
    nodes.Import: "import",
    nodes.Include: "include",
    nodes.Macro: "macro",
}
"""Parts of Jinja that read other files, or that can repeat what they hold without a loop."""


class Limit(ValueError):
    """A template asked for something that no prompt needs, or for too much."""


class RenderUsage:
    """What one render has used up."""

    def __init__(self) -> None:
        self._turns = self._work = self._read = 0
        self._end = time.thread_time() + MAX_SECONDS

    def turn(self) -> None:
        """One turn of a loop."""
        self._turns += 1
        if self._turns > MAX_TURNS:
            raise Limit(f"its loops take more than {MAX_TURNS:,} turns")
        self._hurry()

    def work(self, value: Any) -> None:
        """A text or a list that was built or printed."""
        self.spend(len(value) if hasattr(value, "__len__") else 1)

    def spend(self, size: int) -> None:
        """Characters that are to be built or printed, or entries of a list."""
        self._work += size
        if size > MAX_TEXT:
            raise Limit(f"it builds a text of {size:,} characters; {MAX_TEXT:,} is the most")
        if self._work > MAX_WORK:
            raise Limit(f"it builds more than {MAX_WORK:,} characters in all")
        self._hurry()

    def read(self, value: Any) -> None:
        """What is compared: a list counts with all that stands in it, as often as it stands there."""
        if isinstance(value, str | list | tuple | dict):
            self._read += 1 + len(value)
            if self._read > MAX_READ:
                raise Limit(f"it compares more than {MAX_READ:,} characters in all")
        if isinstance(value, list | tuple | dict):
            self._hurry()
            for part in value:
                self.read(part)
        if isinstance(value, dict):
            self.read(list(value.values()))

    def _hurry(self) -> None:
        if time.thread_time() > self._end:
            raise Limit(f"it takes more than {MAX_SECONDS:g} seconds of CPU time")


USED: ContextVar[RenderUsage] = ContextVar("used")
"""What the render that is under way has used up."""


class MeteredEnvironment(ImmutableSandboxedEnvironment):
    """Jinja in which every loop, every operator and every joining of texts is metered."""

    intercepted_binops = frozenset(("+", "*", "**", "%", "/", "//", "-"))
    too_large = "it comes to a number larger than 2^63"

    def tree(self, source: str) -> nodes.Template:
        """A template as it is parsed. Raises `Limit`, and `jinja2.TemplateSyntaxError`."""
        if len(source) > MAX_SOURCE:
            raise Limit(f"it has {len(source):,} characters; {MAX_SOURCE:,} is the most")
        tree = self.parse(source)
        if sum(1 for _ in tree.find_all(nodes.Expr)) > MAX_EXPRESSIONS:
            raise Limit(f"it has more than {MAX_EXPRESSIONS:,} expressions")
        return tree

    def compiled(self, tree: nodes.Template, meter: "MeterTransformer") -> Template:
        """The template, metered."""
        return Template.from_code(self, self.compile(meter.visit(tree)), self.globals)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """The result of an operator, or `Limit` where it would be of no sensible size."""
        if operator == "*":
            for text, times in ((left, right), (right, left)):
                if hasattr(text, "__len__") and isinstance(times, int):
                    USED.get().spend(len(text) * max(times, 0))
        result = super().call_binop(context, operator, left, right)
        if not isinstance(result, int | float):
            USED.get().work(result)
        elif abs(result) > MAX_NUMBER:
            raise Limit(self.too_large)
        return result


class PromptEnvironment(MeteredEnvironment):
    """Jinja as prompt templates have it. Nothing in it is random and nothing reads a file: a prompt is a
    function of its template and its item."""

    too_large = "a number of a prompt template is larger than 2^63"

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False, finalize=_printable, optimized=False)
        self.globals.clear()
        self.filters = {name: self.filters[name] for name in FILTERS}
        self.filters |= {"join": _joined, "replace": _replaced, "string": _text, "tojson": _as_json}
        self.filters = metered(self.filters)

    def template(self, source: str, cased: Callable[[str], str] | None = None) -> Template:
        """The template, its own words put into another case. Raises `Limit` where it uses what templates do
        not have, and `jinja2.TemplateSyntaxError`."""
        tree = self.tree(source)
        for kind, name in REFUSED.items():
            part = next(tree.find_all(kind), None)
            if part is not None:
                raise Limit(f"line {part.lineno}: a prompt template has no `{name}`")
        if cased is not None:
            for text in tree.find_all(nodes.TemplateData):
                text.data = cased(text.data)
        return self.compiled(tree, MeterTransformer())

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """The same, of the operators that are left."""
        texts = any(not isinstance(side, int | float) for side in (left, right))
        if operator == "**" or (operator == "%" and texts):
            raise Limit(f"a prompt template has no `{operator}`{' on text' if texts else ''}")
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """The result of a method of a text."""
        if not __self.is_safe_callable(__obj):
            name = getattr(__obj, "__name__", type(__obj).__name__)
            raise Limit(f"a prompt template cannot call `{name}`")
        result = super().call(__context, __obj, *args, **kwargs)
        USED.get().work(result)
        return result

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A column of an item before a method of the table that holds it: `extra.values`."""
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def is_safe_callable(self, obj: Any) -> bool:
        """A method of a text whose result is no larger than what goes in."""
        return isinstance(getattr(obj, "__self__", None), str) and obj.__name__ in METHODS


class MeterTransformer(NodeTransformer):
    """Puts a meter on each loop, slice, comparison and test, and makes `a ~ b` the filter `joining`, which
    knows how long its result is."""

    joining = "join"

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802 (the name that Jinja calls)
        if node.recursive:
            raise Limit(f"line {node.lineno}: a template for prompts has no recursive loops")
        self.generic_visit(node)
        printed = sum(len(text.data) for text in node.find_all(nodes.TemplateData))
        node.iter = _filter(node.iter, "_turns", nodes.Const(printed))
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802
        self.generic_visit(node)
        return _filter(nodes.List(node.nodes, lineno=node.lineno), self.joining)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:  # noqa: N802
        self.generic_visit(node)
        node.expr = _filter(node.expr, "_read")
        for operand in node.ops:
            operand.expr = _filter(operand.expr, "_read")
        return node

    def visit_Test(self, node: nodes.Test) -> nodes.Test:  # noqa: N802
        self.generic_visit(node)
        if node.name not in ("defined", "undefined"):
            node.node = _filter(node.node, "_read")
            node.args = [_filter(argument, "_read") for argument in node.args]
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filter(node, "_slice") if isinstance(node.arg, nodes.Slice) else node


def _filter(node: nodes.Node, name: str, *arguments: nodes.Expr) -> nodes.Filter:
    assert isinstance(node, nodes.Expr)
    return nodes.Filter(node, name, list(arguments), [], None, None, lineno=node.lineno)


def render_within_limits(template: Template, values: dict[str, object]) -> str:
    """The template's text. Raises `Limit`, or whatever the template fails with."""
    token = USED.set(RenderUsage())
    try:
        return template.render(values)
    finally:
        USED.reset(token)


@pass_context  # so that Jinja does not call it while it compiles
def _printable(context: Context, value: object) -> object:
    """Only text and numbers are printed: a method that was not called would print its address."""
    if not isinstance(value, str | int | float):
        raise TypeError(f"{type(value).__name__} is neither text nor a number (`tojson` and `join` print it)")
    USED.get().work(value)
    return value


def metered(filters: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The filters, with those that `MeterTransformer` puts into a template."""
    own: dict[str, Callable[..., Any]] = {"_slice": _metered(_identity), "_read": _read, "_turns": _turns}
    comparing = {name: _listed(filter) for name, filter in filters.items() if name in _COMPARING}
    return {name: _metered(filter) for name, filter in (filters | comparing).items()} | own


_COMPARING = ("groupby", "max", "min", "sort", "unique")
"""Filters that compare the things they are given with each other."""


def _listed(filter: Callable[..., Any]) -> Callable[..., Any]:
    """The filter, given a list that has been charged, and not a promise of one."""

    @wraps(filter)
    def listed(environment: Any, value: Any, *arguments: Any, **named: Any) -> Any:
        things = value if hasattr(value, "__len__") else list(value)
        USED.get().read(things)
        return filter(environment, things, *arguments, **named)

    return listed


def _identity(value: Any) -> Any:
    return value


def _read(value: Any) -> Any:
    USED.get().read(value)
    return value


def _metered(filter: Callable[..., Any]) -> Callable[..., Any]:
    """The filter, what it is given and its result charged to the render. `map` and `select` call filters
    through here too."""

    @wraps(filter)
    def metered(*arguments: Any, **named: Any) -> Any:
        for argument in arguments:
            USED.get().read(argument)
        result = filter(*arguments, **named)
        USED.get().work(result)
        return result

    return metered


def _turns(things: Iterable[Any], printed: int) -> Iterator[Any]:
    """The things that a loop goes through; each turn prints `printed` characters of the template."""
    used = USED.get()
    for thing in things:
        used.turn()
        used.spend(printed)
        yield thing


def _text(value: Any) -> str:
    if not isinstance(value, str | int | float):
        raise TypeError(f"{type(value).__name__} is neither text nor a number")
    return str(value)


def _as_json(value: Any) -> str:
    """As JSON, with the letters of every script as they are. That of Jinja escapes for HTML."""
    return json.dumps(value, ensure_ascii=False)


def _joined(parts: Iterable[Any], separator: str = "") -> str:
    texts = [_text(part) for part in parts]
    USED.get().spend(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _replaced(text: Any, old: str, new: str, count: int = -1) -> str:
    return replaced(_text(text), old, new, count)


def replaced(text: str, old: str, new: str, count: int) -> str:
    """A text with other words in it, charged before it is made."""
    times = text.count(old) if count < 0 else min(count, text.count(old))
    USED.get().spend(len(text) + times * max(len(new) - len(old), 0))
    return text.replace(old, new, count)
