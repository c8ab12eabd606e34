"""A model's chat template, rendered as transformers renders it, within bounds.

A template comes with a model's files, so from strangers, and it is a program. It gets what transformers gives
it (`render_jinja_template`: the sandbox, `tojson`, `raise_exception`, `namespace`, loop controls) under the
meters of the study's own templates (`template_limits`): characters, turns of loops, calls of macros. What is
random, reads the clock or prints an address is refused, because the same study would ask something else
tomorrow.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

import jinja2
from jinja2 import meta, nodes, pass_context
from jinja2.ext import Extension
from jinja2.runtime import Context, LoopContext, Macro, Undefined
from jinja2.utils import Cycler, Joiner, Namespace

from gridc.compiler.instrument.template_limits import (
    METHODS,
    USED,
    Limit,
    MeteredEnvironment,
    MeterTransformer,
    metered,
    render_within_limits,
    replaced,
)

MAX_POWER = 64
MAX_INDENT = 16

_RANDOM = ("random", "pprint", "urlize", "xmlattr", "striptags", "wordwrap")
"""Filters that draw lots, print addresses, or take time that nobody can bound."""

_METHODS: dict[type, frozenset[str]] = {
    str: METHODS | {"casefold", "format", "isalnum", "isdecimal", "isnumeric", "join", "replace"},
    dict: frozenset({"copy", "get", "items", "keys", "values"}),
    list: frozenset({"copy", "count", "index"}),
    tuple: frozenset({"count", "index"}),
    LoopContext: frozenset({"changed", "cycle"}),
    Cycler: frozenset({"next", "reset"}),
}
_WIDE = re.compile(r"\d{4,}|\*|\{[^{}]*\{")
"""In a format: a width of four digits, or one that is an argument."""


class AsksForDateError(ValueError):
    """A chat template asked what day it is."""


class CompiledTemplate:
    """A chat template that is compiled, and the `names` that it reads. Raises `Limit`, or whatever Jinja
    finds wrong with the source."""

    def __init__(self, source: str) -> None:
        self._environment = _Environment()
        tree = self._environment.tree(source)
        self.names = frozenset(meta.find_undeclared_variables(tree))
        self._template = self._environment.compiled(tree, _MeteredChat())

    def render(
        self, messages: Sequence[Mapping[str, str]], names: Mapping[str, Any], dated: bool = False
    ) -> str:
        """The text of a chat up to the answer, with the special tokens and arguments in `names`.

        Raises `AsksForDateError` where it wants the date, unless it is `dated`; `Limit`; or whatever the
        template fails with.
        """
        self._environment.globals["strftime_now"] = _today if dated else _no_date
        values = {"tools": None, "documents": None, **names}
        return render_within_limits(
            self._template, values | {"messages": messages, "add_generation_prompt": True}
        )


class _Environment(MeteredEnvironment):
    """Jinja as chat templates have it."""

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_Generation, "jinja2.ext.loopcontrols"],
            finalize=_printable,
            optimized=False,
        )
        own = {"center": _centered, "indent": _indented, "format": _formatted, "join": _joined}
        own |= {"replace": _replaced, "string": _text, "sum": _summed, "tojson": _json, "_concat": _concat}
        kept = {name: filter for name, filter in self.filters.items() if name not in _RANDOM}
        own |= {name: _sized(kept[name]) for name in ("batch", "round", "slice")}
        self.filters = metered(kept | own)
        del self.globals["lipsum"]
        self.globals |= {"dict": dict, "namespace": _Names, "raise_exception": _refuse}

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """The same; `%` formats."""
        if operator == "**" and abs(left) > 1 and abs(right) > MAX_POWER:
            raise Limit(f"it raises a number to the power of {right}")
        if operator == "%" and isinstance(left, str):
            return _formatted(left, right)
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """The result of a macro, of a function that templates are given, or of a method of a text."""
        USED.get().turn()
        if isinstance(__obj, Undefined):
            return super().call(__context, __obj, *args, **kwargs)
        name = getattr(__obj, "__name__", type(__obj).__name__)
        if not __self._given(__obj):
            raise Limit(f"it calls `{name}`, which no chat needs")
        own = getattr(getattr(__obj, "__wrapped__", __obj), "__self__", None)
        if isinstance(own, str) and name in ("format", "join", "replace"):
            if name == "join":
                return _join_method(own, *args)
            if name == "replace":
                return _replaced(own, *args)
            _bounded(own, args, kwargs)
        USED.get().read([own, *args])
        result = super().call(__context, __obj, *args, **kwargs)
        USED.get().work(result)
        return result

    def _given(self, called: Any) -> bool:
        if isinstance(called, Macro | LoopContext | Joiner) or called in self.globals.values():
            return True
        method = getattr(called, "__wrapped__", called)
        own = type(getattr(method, "__self__", None))
        return getattr(method, "__name__", "") in _METHODS.get(own, ())


class _MeteredChat(MeterTransformer):
    """Every text of the template is charged too: a macro prints its own as often as it is called."""

    joining = "_concat"

    def visit_TemplateData(self, node: nodes.TemplateData) -> nodes.Const:  # noqa: N802
        return nodes.Const(node.data, lineno=node.lineno)


class _Generation(Extension):
    """`{% generation %}`, which marks an answer for training, and prints what stands in it."""

    tags = {"generation"}  # noqa: RUF012 (what Jinja reads)

    def parse(self, parser: Any) -> nodes.Node:
        """The block."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


class _Names(Namespace):
    """`namespace(...)`, which holds no name of Python's own."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        own, *rest = args
        values = dict(*rest, **kwargs)
        for name in values:
            _public(name)
        Namespace.__init__(own, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _public(name)
        super().__setitem__(name, value)


def _public(name: Any) -> None:
    if str(name).startswith("_"):
        raise Limit(f"it keeps a value under `{name}`")


@pass_context  # so that Jinja does not call it while it compiles
def _printable(context: Context, value: Any) -> Any:
    """What is printed, charged before it is made a text."""
    _charge(value)
    return value


def _charge(value: Any) -> None:
    """Charge what a value takes as text. Only values that read the same everywhere have a text."""
    if isinstance(value, str):
        USED.get().work(value)
    elif isinstance(value, dict):
        for pair in value.items():
            _charge(pair)
    elif isinstance(value, list | tuple):
        USED.get().work(value)
        for part in value:
            _charge(part)
    elif value is None or isinstance(value, int | float | range | Undefined):
        USED.get().spend(1)
    else:
        raise Limit(f"it prints a {type(value).__name__}, which is neither text nor data")


def _text(value: Any) -> str:
    _charge(value)
    return str(value)


def _concat(parts: list[Any]) -> str:
    return "".join([_text(part) for part in parts])


def _joined(parts: Any, separator: str = "", attribute: str | int | None = None) -> str:
    if attribute is not None:
        parts = [
            part[attribute] if isinstance(part, dict) else getattr(part, str(attribute)) for part in parts
        ]
    return _join_method(_text(separator), [_text(part) for part in parts])


def _join_method(separator: str, parts: Any) -> str:
    texts = list(parts)
    USED.get().spend(len(separator) * len(texts))
    for text in texts:
        USED.get().work(text)
    return separator.join(texts)


def _replaced(text: Any, old: str, new: str, count: int | None = -1) -> str:
    return replaced(_text(text), old, new, -1 if count is None else count)


def _summed(values: Any, attribute: str | None = None, start: float = 0) -> float:
    numbers = [value[attribute] if attribute is not None else value for value in values]
    if not all(isinstance(number, int | float) for number in (*numbers, start)):
        raise Limit("it sums what are no numbers")
    return sum(numbers, start)


def _sized(filter: Callable[..., Any]) -> Callable[..., Any]:
    """A filter whose first argument says how much it makes."""

    def sized(value: Any, size: int = 0, *others: Any, **named: Any) -> Any:
        USED.get().spend(size)
        return filter(value, size, *others, **named)

    return sized


def _centered(text: Any, width: int = 80) -> str:
    USED.get().spend(width)
    return _text(text).center(width)


def _indented(text: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    whole = _text(text)
    USED.get().spend((len(width) if isinstance(width, str) else width) * (1 + whole.count("\n")))
    return jinja2.filters.do_indent(whole, width, first, blank)


def _formatted(text: Any, *values: Any, **named: Any) -> str:
    """`text % values`, as the operator and as the filter."""
    _bounded(_text(text), values, named)
    given = values[0] if len(values) == 1 and isinstance(values[0], tuple | dict) else values
    result: str = str(text) % (named or given)
    return result


def _bounded(text: str, values: Any, named: Any) -> None:
    if _WIDE.search(text):
        raise Limit(f"it formats {text[:40]!r}, which may be of any width")
    for _ in range(text.count("%") + text.count("{")):
        _charge([*values, named])


def _json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> str:
    if (len(indent) if isinstance(indent, str) else indent or 0) > MAX_INDENT:
        raise Limit(f"it indents by more than {MAX_INDENT}")
    _charge(value)
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(_text(message))


def _no_date(_: str) -> NoReturn:
    raise AsksForDateError("it asks for the date")


def _today(form: str) -> str:
    return datetime.now().strftime(form)
