"""Mutants drawn at random from some folders, and which of them no test notices.

    python -m tools.drawn_mutants --seed 1 --number 30 gridc/reports/quantities gridc/reports/statements

Each mutant is one small change of one file in a copy of the repository: a comparison turned, a number or a
word changed, a condition denied, a returned value taken away. The tests nearest to the file are run until one
fails (`tools.touched` orders them), for as many seconds as `--seconds` gives, and then mypy, as `make test`
does. Who survives is printed as a change of a line: a person decides whether it changes anything.
"""

import ast
import json
import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tools.touched import ROOT, SECONDS, chosen, distances, importers

TURNED: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in", ast.And: "or", ast.Or: "and", ast.Add: "-",
    ast.Sub: "+", ast.Mult: "+", ast.Div: "*",
}  # fmt: skip
"""By the operator: what stands there instead."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of `path`: the text from `start` to `stop` is `new`."""

    path: str
    line: int
    start: int
    stop: int
    new: str

    def apply(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.stop :]


def mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of a file. Docstrings and annotations decide nothing and stay."""
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    silent = {id(inner) for node in ast.walk(tree) for part in _silent(node) for inner in ast.walk(part)}

    def place(line: int, column: int) -> int:
        row = text.splitlines()[line - 1]
        return starts[line - 1] + len(row.encode()[:column].decode())

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)

    def between(left: ast.expr, right: ast.expr, operator: ast.AST) -> Iterator[tuple[int, int, str]]:
        if type(operator) in TURNED:
            yield span(left)[1], span(right)[0], f" {TURNED[type(operator)]} "

    def changes(node: ast.AST) -> Iterator[tuple[int, int, str]]:
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                yield from between(left, right, operator)
            case ast.BoolOp(op=operator, values=[left, right, *_]):
                yield from between(left, right, operator)
            case ast.BinOp(left=left, op=operator, right=right):
                yield from between(left, right, operator)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield (*span(node), ast.unparse(operand))
            case ast.If(test=test) | ast.IfExp(test=test):
                yield (*span(test), f"not ({ast.unparse(test)})")
            case ast.Constant(value=bool(value)):
                yield (*span(node), str(not value))
            case ast.Constant(value=int(value) | float(value)):
                yield (*span(node), str(value + 1))
            case ast.Constant(value=str(value)) if value.strip():
                yield (*span(node), repr(f"{value}~"))
            case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
                yield (*span(value), "None")

    for node in ast.walk(tree):
        if id(node) not in silent and hasattr(node, "lineno"):
            for start, stop, new in changes(node):
                mutant = Mutant(path.relative_to(ROOT).as_posix(), node.lineno, start, stop, new)
                with suppress(SyntaxError):  # between brackets: what is no program is no mutant
                    ast.parse(mutant.apply(text))
                    yield mutant


def _silent(node: ast.AST) -> Iterator[ast.AST]:
    """What of a node decides nothing: docstrings, annotations, slots, and the pieces of an f-string."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node
    if isinstance(node, ast.JoinedStr):
        yield from (part for part in node.values if isinstance(part, ast.Constant))
        yield from (
            part.format_spec
            for part in node.values
            if isinstance(part, ast.FormattedValue) and part.format_spec
        )
    if isinstance(node, ast.keyword) and node.arg == "slots":
        yield node.value
    for name in ("annotation", "returns"):
        part = getattr(node, name, None)
        if part is not None:
            yield part


def survives(mutant: Mutant, copy: Path, tests: Sequence[str], seconds: float) -> bool:
    """Whether no test fails, nor the check of types. A mutant that does not come to an end is dead."""
    path = copy / mutant.path
    text = path.read_text("utf-8")
    try:
        path.write_text(mutant.apply(text), "utf-8")
        return (not tests or passes(copy, tests, seconds)) and well_typed(copy)
    finally:
        path.write_text(text, "utf-8")


def well_typed(copy: Path) -> bool:
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=copy, capture_output=True, check=False)
    return done.returncode == 0


def passes(copy: Path, tests: Sequence[str], seconds: float) -> bool:
    """Whether the tests pass there. Raises `CalledProcessError` where pytest itself fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "2", *tests]
    env = {**os.environ, "PYTHONPATH": str(copy)}
    try:
        done = subprocess.run(command, cwd=copy, env=env, capture_output=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode in (0, 5):  # 5: none of them is for this machine
        return True
    if done.returncode in (1, 2):
        return False
    raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=90, help="how long the tests of one may take")
    asked = parser.parse_args(arguments)
    files = sorted(path for folder in asked.folders for path in (ROOT / folder).rglob("*.py"))
    every = [mutant for path in files for mutant in mutants(path)]
    if not every:
        parser.error("there is nothing to change in these folders")
    drawn = Random(asked.seed).sample(every, min(asked.number, len(every)))
    print(f"{len(drawn)} of {len(every):,} mutants of {len(files)} files, seed {asked.seed}", flush=True)
    seconds = json.loads(SECONDS.read_text("utf-8")) if SECONDS.is_file() else {}
    read_by, alive = importers(), 0
    sound: set[tuple[str, ...]] = set()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        subprocess.run(["git", "clone", "--quiet", ROOT, copy], check=True)
        for mutant in drawn:
            tests, left = chosen(distances([mutant.path], read_by), seconds, asked.seconds)
            limit = 600 + 10 * asked.seconds
            if tests and tuple(tests) not in sound and not passes(copy, tests, limit):
                print(f"{mutant.path}: the tests nearest to it fail without a mutant", flush=True)
                sys.exit(2)
            sound.add(tuple(tests))
            lives = survives(mutant, copy, tests, limit)
            alive += lives
            word = f"SURVIVES {len(tests)} test files ({len(left)} left)" if lives else "dies"
            old = (ROOT / mutant.path).read_text("utf-8")[mutant.start : mutant.stop]
            print(
                f"{mutant.path}:{mutant.line}: {' '.join(old.split())!r} -> {mutant.new!r}: {word}",
                flush=True,
            )
    print(f"{alive} of {len(drawn)} survive")
    sys.exit(alive > 0)


if __name__ == "__main__":
    main()
