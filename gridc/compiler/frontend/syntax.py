"""Diagnostics for a text that is not valid TOML: where the mistake is, and a line to write instead.

Every line that is offered has been read by `tomllib` first, so writing it does remove the mistake.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridc.compiler.frontend.source import key_parts, lines_of, syntax_tree
from gridc.diagnostics.errors import Diagnostic, Span

if TYPE_CHECKING:
    from tree_sitter import Node


def syntax_error(message: str, text: str, path: Path) -> Diagnostic:
    """The diagnostic (GC001) for a text that `tomllib` refused with `message`."""
    place = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    if place:
        message, span = message[: place.start()], Span(int(place[1]), int(place[2]))
    else:
        message = message.removesuffix(" (at end of document)")
        span = _open_quote(message, text) or _end(text)
    for pattern, replacement in _WORDS:
        message = re.sub(pattern, replacement, message)
    message = message[:1].lower() + message[1:]
    lines = lines_of(text)
    if message.startswith(_STATED_AGAIN):
        twice = _stated_twice(text, span)
        if twice is not None:
            return Diagnostic("GC001", twice.problem, str(path), twice.span, twice.help,
                              lines[twice.span.line - 1])  # fmt: skip
    help = _help(message, text, span)
    return Diagnostic("GC001", message, str(path), span, help, lines[span.line - 1])


def _end(text: str) -> Span:
    """The end of a document, before its last line breaks."""
    lines = lines_of(text.rstrip("\r\n"))
    return Span(len(lines), len(lines[-1]) + 1)


def _open_quote(message: str, text: str) -> Span | None:
    """The opening quote that is never closed. It is the last of its kind: any earlier one was closed by
    it."""
    wanted = re.fullmatch(r"Expected (['\"])(['\"]+)\1", message)
    at = text.rfind(wanted[2]) if wanted else -1
    return Span(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)) if at >= 0 else None


_NOT_CLOSED = "the text is not closed before its line ends"
_TWICE = "this key is written twice in its table"
_DECLARED = "the table "
_STATED = "its value is stated already: "
_STATED_AGAIN = (_TWICE, _DECLARED, _STATED)

_WORDS = (
    (r"^Cannot overwrite a value$", _TWICE),
    (r"^Duplicate inline table key '(.*)'$", r"`\1` is written twice in its table"),
    (r"^Cannot declare \('(.*?)',?\) twice$", rf"{_DECLARED}`\1` is declared twice"),
    (r"^Cannot (?:redefine|mutate immutable) namespace \('(.*?)',?\)$", rf"{_STATED}`\1`"),
    (r"^Illegal character '\\n'$", _NOT_CLOSED),
    (r"', '", "."),
)
"""Replacements in tomllib's messages, which speak of Python or of parsing."""


# keys and tables that are written twice


@dataclass(frozen=True, slots=True)
class _Statement:
    """A header (`brackets` is 1 or 2) or a key with its value (0). `below` is the index of the header that a
    key stands below, None at the top."""

    brackets: int
    parts: tuple[str, ...]
    below: int | None
    span: Span
    last: int
    """The line on which it ends."""

    @property
    def line(self) -> int:
        return self.span.line

    def __str__(self) -> str:
        name = ".".join(self.parts)
        return f"{'[' * self.brackets}{name}{']' * self.brackets}"


@dataclass(frozen=True, slots=True)
class _Twice:
    problem: str
    span: Span
    help: str


def _statements(text: str) -> list[_Statement]:
    statements: list[_Statement] = []

    def add(brackets: int, node: "Node", below: int | None, last: int) -> None:
        row, column = node.start_point
        length = max(node.end_point[1] - column, 1)
        span = Span(row + 1, column + 1, length)
        with suppress(ValueError):  # in a text that is not TOML, tree-sitter may cut a key into pieces
            statements.append(_Statement(brackets, tuple(key_parts(node)), below, span, last))

    for node in syntax_tree(text).named_children:
        if node.type == "pair":
            add(0, node.named_children[0], None, node.end_point[0] + 1)
        elif node.type in ("table", "table_array_element"):
            header, *pairs = node.named_children
            below = len(statements)
            add(1 if node.type == "table" else 2, header, None, header.start_point[0] + 1)
            for pair in pairs:
                if pair.type == "pair":
                    add(0, pair.named_children[0], below, pair.end_point[0] + 1)
    return statements


def _stated_twice(text: str, span: Span) -> _Twice | None:
    """The repeated key or table, compared with its first occurrence; None where the tree does not show it."""
    statements = _statements(text)
    current = next(
        (statement for statement in reversed(statements) if statement.line <= span.line <= statement.last),
        None,
    )
    if current is None:
        return None
    before = statements[: statements.index(current)]
    if not current.brackets:
        return _key_twice(current, before)
    return _table_twice(current, before)


def _key_twice(current: _Statement, before: Sequence[_Statement]) -> _Twice | None:
    same_table = [key for key in before if not key.brackets and key.below == current.below]
    for key in same_table:
        shared = min(len(key.parts), len(current.parts))
        if key.parts[:shared] == current.parts[:shared]:
            problem = f"`{key}` is written in this table already, on line {key.line}"
            if key.parts == current.parts:
                return _Twice(problem, current.span, f"leave out this line, or line {key.line}")
            return _Twice(problem, current.span, f"write `{current}` into the braces of line {key.line}")
    return None


def _table_twice(current: _Statement, before: Sequence[_Statement]) -> _Twice | None:
    headers = [statement for statement in before if statement.brackets]
    listed = _is_list(current.parts)
    name = ".".join(current.parts)
    for earlier in headers:
        if earlier.parts != current.parts:
            continue
        if earlier.brackets == current.brackets == 1 and not listed:
            problem = f"the table `{current}` is declared twice, first on line {earlier.line}"
            help = f"move its keys up, below line {earlier.line}, and leave this header out"
            return _Twice(problem, current.span, help)
        if current.brackets == 2 and listed is False:
            problem = f"the table `{earlier}` stands on line {earlier.line}, and there is one"
            help = f"move the keys up, below line {earlier.line}, and leave this header out"
            return _Twice(problem, current.span, help)
        single = earlier if earlier.brackets == 1 else current
        problem = f"`{single}` is one table, and there are several of `{name}`"
        also = f", and on line {current.line}" if single is earlier and current.brackets == 1 else ""
        return _Twice(problem, single.span, f"write `[[{name}]]` here{also}")
    if current.brackets == 2:
        # `[[axis.level]]` has made a table of `axis`: the `[[axis]]` that it belongs to is missing, or
        # stands there under another name.
        inner = next(
            (header for header in headers if header.parts[: len(current.parts)] == current.parts), None
        )
        if inner is not None:
            above = [
                header
                for header in headers
                if header.line < inner.line and header.parts[-1] == current.parts[-1]
            ]
            if above:
                problem = f"`{above[-1]}` is no `{current}`, to which `{inner}` on line {inner.line} belongs"
                return _Twice(problem, above[-1].span, f"write `{current}` here")
            problem = f"no `{current}` stands above `{inner}`, which is part of one"
            return _Twice(problem, inner.span, f"write `{current}` with its keys above this line")
    for earlier in before:
        full = (*(before[earlier.below].parts if earlier.below is not None else ()), *earlier.parts)
        if not earlier.brackets and full == current.parts[: len(full)]:
            problem = f"`{'.'.join(full)}` has its value already, on line {earlier.line}"
            help = f"write these keys into the braces of line {earlier.line}, and leave this header out"
            return _Twice(problem, current.span, help)
        if not earlier.brackets and full[: len(current.parts)] == current.parts:
            problem = f"`{name}` has a key already, on line {earlier.line}"
            as_there = ".".join((*earlier.parts[:-1], "KEY"))
            help = f"write these keys there, each as `{as_there}`, and leave this header out"
            return _Twice(problem, current.span, help)
    return None


def _is_list(parts: Sequence[str]) -> bool | None:
    """Whether a spec has several tables of this name; None for a name that the language does not have."""
    schema = _schema()
    node: Any = schema
    listed = None
    for part in parts:
        node = node.get("properties", {}).get(part)
        if node is None:
            return None
        listed = "items" in node
        node = node.get("items", node)
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    return listed


@cache
def _schema() -> Any:
    from gridc.schema import jsonschema as published

    return published.model_schema("gridcard")


# what to write instead


def _help(message: str, text: str, span: Span) -> str | None:
    """The way out of a mistake that people make who know Python, JSON or YAML, or use a word processor."""
    line = lines_of(text)[span.line - 1]
    rest = line[span.column - 1 :]
    if message == "invalid value":
        if word := re.match(r"(true|false)\b", rest, re.IGNORECASE):
            return f"write it in lower case: {word[0].lower()}"
        if re.match(r"(none|null|nil|[-+]?(nan|inf(inity)?))\b", rest, re.IGNORECASE):
            return "leave the key out, and it has its default"
        if number := re.match(r"([-+]?)(\.\d+)", rest):
            return f"write the number as {number[1]}0{number[2]}"
    if message == _NOT_CLOSED:
        return 'close the text with the quote that opens it; one of several lines stands between """ and """'
    for candidate in () if _is_toml(line) else _rewritten(line):
        if _is_toml(candidate):
            return f"write `{candidate.strip()}` here"
    straight = line.translate(_STRAIGHT)
    if straight != line:
        return f"write `{straight.strip()}` here: quotes are straight in TOML"
    if message == "invalid value" and (bare := re.match(r"[A-Za-z_][^\s,#\]}\"']*", rest)):
        return f'write a text between quotes: "{bare[0]}"'
    if (comment := re.match(r"\s*//(.*)", line)) is not None:
        return f"write `#{comment[1]}` here"
    if message in ("unclosed inline table", "invalid initial character for a key part"):
        joined = _on_one_line(lines_of(text), span.line - 1)
        if joined is not None:
            return f"a table in braces stands on one line: write `{joined}`"
    if (several := _one_by_one(line)) is not None:
        return (
            f"write each key on a line of its own: {' and '.join(f'`{statement}`' for statement in several)}"
        )
    if line.lstrip().startswith("{") and span.line == 1:
        return "this is JSON, and a spec is TOML: `gridc init` writes a first one"
    return next((help for beginning, help in _WAYS if message.startswith(beginning)), None)


_WAYS = (
    ("unclosed array", "close the list with `]`, with a comma between two values"),
    ("unclosed inline table", "close the table with `}` on the same line, with a comma between two keys"),
    ("invalid value", "write a value behind `=`, a text between quotes; or leave the key out"),
    (_TWICE, "leave one of the two out"),
    ("expected newline", "a line has one key and its value; `#` begins a comment"),
    ("unterminated string", "close the text with the quotes that open it"),
    ("invalid statement", 'a line is `key = value`, a header like `[harness]`, or begins with "#"'),
    ("expected '='", 'a line is `key = value`, a header like `[harness]`, or begins with "#"'),
)
"""The way out by the beginning of the message. Used where no line can be offered."""

_STRAIGHT = str.maketrans({**dict.fromkeys("“”„‟«»″", '"'), **dict.fromkeys("‘’‚‛′", "'")})
"""Quotes of a word processor, and those of TOML."""

_KEY = r"(\s*(?:[\w\-]+\s*\.\s*)*[\w\-]+\s*)"
_COMMENT = r"(\s*(?:#.*)?)"


def _rewritten(line: str) -> Iterator[str]:
    """Lines that may be meant, the likeliest first. The caller takes the first that is TOML."""
    straight = line.translate(_STRAIGHT)
    # Where curly quotes are the mistake, the caller offers the line with straight ones.
    if straight == line:
        for pattern, replacement in _REWRITTEN:
            if (match := re.fullmatch(pattern, line)) is not None:
                yield match.expand(replacement)
    if (percent := re.fullmatch(rf"{_KEY}=\s*(\d+(?:\.\d+)?)\s*%{_COMMENT}", line)) is not None:
        yield f"{percent[1]}= {json.dumps(float(percent[2]) / 100)}{percent[3]}"
    if (number := re.fullmatch(rf"{_KEY}=\s*0+([1-9]\d*){_COMMENT}", line)) is not None:
        yield f"{number[1]}= {number[2]}{number[3]}"
    if (quoted := re.fullmatch(rf"{_KEY}=\s*(['\"])(.*)\2{_COMMENT}", line)) is not None:
        text = quoted[3]
        # In double quotes TOML reads the backslashes of a Windows path as escapes.
        if quoted[2] == '"' and "\\" in text and re.match(r"(path|data|models|[A-Za-z]):", text):
            slashes = re.sub(r"\\+", "/", text)
            yield f'{quoted[1]}= "{slashes}"{quoted[4]}'
        if "'" not in text:
            yield f"{quoted[1]}= '{text}'{quoted[4]}"
        yield f"{quoted[1]}= {json.dumps(text, ensure_ascii=False)}{quoted[4]}"
    yield re.sub(r",(\s*\})", r"\1", line)
    yield re.sub(r"([{,]\s*)[\"']?([\w\-]+)[\"']?\s*:\s*", r"\1\2 = ", line)
    yield re.sub(r"(\"[^\"]*\")\s+(?=\")", r"\1, ", line)


_REWRITTEN = (
    (rf"{_KEY}:\s+(.+)", r"\1 = \2"),  # YAML
    (r"(\w+):\s*", r"[\1]"),
    (rf"{_KEY}(?:[+:]=|==)(.+)", r"\1=\2"),
    (r"(\s*\w+) (\w+)(\s*=.+)", r"\1_\2\3"),  # spaces in a key
    (r"(\s*\w+) (\w+) (\w+)(\s*=.+)", r"\1_\2_\3\4"),
    (r"\s*([\w.\-]+)\s+([\d\"'\[{].*)", r"\1 = \2"),
    (rf"{_KEY}=\s*(\d+),(\d{{3}}){_COMMENT}", r"\1= \2\3\4"),  # 1,000
    (rf"{_KEY}=\s*(\d+),(\d+){_COMMENT}", r"\1= \2.\3\4"),  # 0,3
    (rf"{_KEY}=\s*(\d+) (\d{{3}}){_COMMENT}", r"\1= \2\3\4"),
    (rf"{_KEY}=\s*([\d.]+) ?(?:s|seconds|tokens|items|usd|USD){_COMMENT}", r"\1= \2\3"),
    (rf"{_KEY}=\s*[fFrRbBuU]{{1,2}}(['\"].*)", r"\1= \2"),
    (rf"{_KEY}=\s*(\d+)\.{_COMMENT}", r"\1= \2.0\3"),
    (rf"{_KEY}=\s*\((.*)\){_COMMENT}", r"\1= [\2]\3"),
    (rf"{_KEY}=\s*(\d+-\d+-\d+){_COMMENT}", r'\1= "\2"\3'),
    (rf"(.*\S)\s*[;,]{_COMMENT}", r"\1\2"),
    (rf"\s*\[([\w.\-]+){_COMMENT}", r"[\1]\2"),
    (rf"\s*\[+([\w.\-]+)\]*{_COMMENT}", r"[[\1]]\2"),
    (r"\s*//(.*)", r"#\1"),
)  # fmt: skip
"""Patterns of a whole line in another notation, and its form in TOML."""


def _is_toml(line: str) -> bool:
    try:
        return bool(tomllib.loads(line)) or line.lstrip().startswith("#")
    except (ValueError, RecursionError):
        return False


def _on_one_line(lines: Sequence[str], at: int) -> str | None:
    """The statement that holds a line, joined into one line; None where that is not TOML either."""
    first = next((row for row in range(at, -1, -1) if re.match(rf"{_KEY}=", lines[row])), None)
    if first is None:
        return None
    parts: list[str] = []
    for row in range(first, min(first + 60, len(lines))):  # each row parses all so far: 60 keep that quick
        parts.append(lines[row].strip())
        joined = re.sub(r",\s*\}", " }", " ".join(parts))
        if _is_toml(joined):
            return joined
    return None


def _one_by_one(line: str) -> list[str] | None:
    """The statements of a line that holds several; None where it holds one."""
    pieces = re.split(r"[,;]?\s+(?=[\w\-]+\s*=\s)", line.strip())
    several = [piece.rstrip(",;") for piece in pieces]
    return several if len(several) > 1 and all(map(_is_toml, several)) else None
