"""The tools that react may call. Each is a function of its input and of this one item: no file, no network,
no clock, and no Python that a model could reach."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gridc.compiler.instrument.scaffolds.turns import ScriptedTool

MOST_CHARACTERS = 200
"""Of an expression."""
MOST_BITS = 4096
"""Of a whole number that an expression comes to on its way."""
MOST_PASSAGES = 3

_ALLOWED = re.compile(r"[0-9eE.+\-*/%()\s]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_SIGNS: Mapping[type[ast.unaryop], Callable[[float], float]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


class NotArithmeticError(ValueError):
    """An input that is no arithmetic, or whose value is no number of a sensible size."""


def calculator(expression: str) -> str:
    """The value of + - * / // % ** and parentheses over decimal numbers, as Python has it; `^` is a power and
    1,000 a thousand. What is not that, or too large, gives a line that begins with `error:`."""
    try:
        return str(evaluate(expression))
    except NotArithmeticError as error:
        return f"error: {error}"


def evaluate(expression: str) -> float:
    """The value of an expression. Raises `NotArithmeticError`."""
    text = _THOUSANDS.sub("", expression).replace("^", "**").strip()
    if len(text) > MOST_CHARACTERS:
        raise NotArithmeticError(f"an expression has at most {MOST_CHARACTERS} characters")
    if not _ALLOWED.fullmatch(text):
        raise NotArithmeticError("only numbers, + - * / // % ** and parentheses can be calculated")
    try:
        value = _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, NotArithmeticError):
            raise
        raise NotArithmeticError("this is not an arithmetic expression") from None
    except ZeroDivisionError:
        raise NotArithmeticError("division by zero") from None
    except OverflowError:
        raise NotArithmeticError("the result is too large") from None
    return value


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return _sensible(node.value)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
        return _SIGNS[type(node.op)](_value(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow):
            _require_small_power(left, right)
        return _sensible(_OPERATORS[type(node.op)](left, right))
    raise NotArithmeticError("this is not an arithmetic expression")


def _require_small_power(base: float, exponent: float) -> None:
    """Before it is computed: a tower of powers of whole numbers would take all memory."""
    if not (isinstance(base, int) and isinstance(exponent, int)) or abs(base) <= 1:
        return
    if abs(exponent) * abs(base).bit_length() > MOST_BITS:
        raise NotArithmeticError("the result is too large")


def _sensible(value: float) -> float:
    if isinstance(value, complex):
        raise NotArithmeticError("the result is not a real number")
    if isinstance(value, int):
        if value.bit_length() > MOST_BITS:
            raise NotArithmeticError("the result is too large")
    elif not math.isfinite(value):
        raise NotArithmeticError("the result is too large")
    return value


def text_search(text: str, words: str) -> str:
    """The passages (lines and sentences) of a text that hold the most of the words, at most three, in the
    order of the text."""
    wanted = set(re.findall(r"\w+", words.casefold()))
    passages = [part.strip() for part in re.split(r"\n+|(?<=[.!?])\s+", text) if part.strip()]
    hits = [len(wanted & set(re.findall(r"\w+", passage.casefold()))) for passage in passages]
    most = max(hits, default=0)
    if not most:
        return "nothing found"
    best = [passage for passage, hit in zip(passages, hits, strict=True) if hit == most]
    return "\n".join(best[:MOST_PASSAGES])


@dataclass(slots=True)
class Toolbox:
    """The tools of one item, by name. `text` is what can be searched; notes are kept for as long as the item
    is worked on; `scripted` are the item's own."""

    names: tuple[str, ...]
    text: str
    scripted: tuple[ScriptedTool, ...] = ()
    notes: list[str] = field(default_factory=list)

    def use(self, name: str, given: str) -> str | None:
        """What a tool answers; None where there is no such tool."""
        for tool in self.scripted:
            if tool.name == name:
                return tool.use(given)
        if name not in self.names:
            return None
        if name == "calculator":
            return calculator(given)
        if name == "text_search":
            return text_search(self.text, given)
        self.notes.append(given)
        return "\n".join(self.notes)
