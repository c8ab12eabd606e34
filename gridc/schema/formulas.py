"""Formulas of totals, as a spec writes them: arithmetic and a few functions, and nothing that could run."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from gridc.schema.base import Contradiction

ANSWERS = "answers"
"""In a formula, how many answers the totals are of."""
FUNCTIONS: Mapping[str, int | None] = {"sqrt": 1, "log": 1, "exp": 1, "min": None, "max": None}
"""What a formula can call, with how many numbers; None: two or more."""
_TWO: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_ONE: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
LONGEST = 500
DEEPEST = 50
"""Brackets and signs within each other: a longer chain would exhaust Python's stack."""


class Formula:
    """A formula of totals by name. Raises `Contradiction` where it is none."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise Contradiction(f"the formula has {len(text):,} characters", f"at most {LONGEST}")
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            problem = getattr(error, "msg", None) or "it is too deep"
            raise Contradiction(
                f"`{text}` is not a formula: {problem}", 'such as "score / answers"'
            ) from None
        names: dict[str, None] = {}
        _check(tree, names, 0)
        self._tree, self.names = tree, tuple(name for name in names if name != ANSWERS)
        if not self.names:
            raise Contradiction(f"`{text}` reads no outcome", 'name one, such as "score / answers"')

    def value(self, totals: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
        """The formula of totals, numbers or arrays, with what `FUNCTIONS` are called for such."""
        return _value(self._tree, totals, functions)


def _check(node: ast.expr, names: dict[str, None], depth: int) -> None:
    """Raise `Contradiction` for anything but arithmetic, and gather names in their order."""
    if depth > DEEPEST:
        raise Contradiction("the formula has too many brackets within each other", f"at most {DEEPEST}")
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float()):
            return
        case ast.Name(id=name):
            names[name] = None
            return
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _TWO:
            _check(left, names, depth + 1)
            _check(right, names, depth + 1)
            return
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _ONE:
            _check(operand, names, depth + 1)
            return
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            wanted = FUNCTIONS[name]
            if len(args) != wanted if wanted is not None else len(args) < 2:
                how_many = "one number" if wanted == 1 else "two numbers or more"
                raise Contradiction(f"`{name}` takes {how_many}, and gets {len(args)}", f"`{name}(...)`")
            for each in args:
                _check(each, names, depth + 1)
            return
    raise Contradiction(
        f"`{ast.unparse(node)[:80]}` is more than arithmetic",
        f"numbers, names of outcomes, + - * / **, brackets, and {', '.join(FUNCTIONS)}",
    )


def _value(node: ast.expr, totals: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
    match node:
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return totals[name]
        case ast.BinOp(left=left, op=sign, right=right):
            return _TWO[type(sign)](_value(left, totals, functions), _value(right, totals, functions))
        case ast.UnaryOp(op=one, operand=operand):
            return _ONE[type(one)](_value(operand, totals, functions))
        case ast.Call(func=ast.Name(id=name), args=args):
            return functions[name](*(_value(each, totals, functions) for each in args))
    raise AssertionError(ast.dump(node))
