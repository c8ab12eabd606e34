"""A spec in one format: its content, its comments and the author's line breaks stay.

A space on both sides of `=`, none inside the brackets of arrays and headers; lines of an open bracket are two
spaces further in; a blank line before each table that is no part of another, and never two; arrays that do
not fit are broken, tables and arrays in them one in a line. Strings are left as they are written.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from gridc.compiler.frontend.source import syntax_tree

if TYPE_CHECKING:
    from tree_sitter import Node

WIDTH = 120
"""Characters of a line from which on its array is broken."""
WITHIN = {"document", "pair", "dotted_key", "inline_table", "array", "table", "table_array_element"}
OPENS, CLOSES = {"[", "{"}, {"]", "}"}


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a document that has no white space of its own to change. `header` says that it belongs to
    the header of a table, and `top` that this table is no part of another."""

    text: str
    row: int
    last_row: int
    column: int
    header: bool = False
    top: bool = False

    @property
    def comment(self) -> bool:
        return self.text.startswith("#")

    @property
    def opens(self) -> bool:
        return self.text in OPENS and not self.header

    @property
    def closes(self) -> bool:
        return self.text in CLOSES and not self.header


def formatted(text: str) -> str:
    """The text of a document that `tomllib` reads, in one way of writing it: formatted again it stays. Raises
    `ValueError` should the two not say the same."""
    text = text.replace("\r\n", "\n")
    tokens = list(_tokens(syntax_tree(text), text))
    lines = list(_lines(list(_commas(tokens))))
    written = "".join(f"{line}\n" for line in lines)
    comments = [token.text for token in tokens if token.comment]
    kept = [token.text for token in _tokens(syntax_tree(written), written) if token.comment]
    if repr(tomllib.loads(text)) != repr(tomllib.loads(written)) or comments != kept:
        raise ValueError("the formatted document does not say what the document says")
    return written


def _tokens(root: "Node", text: str) -> Iterator[Token]:
    lines = text.encode().split(b"\n")
    waiting: list[tuple[Node, bool, bool]] = [(root, False, False)]
    while waiting:
        node, header, top = waiting.pop()
        if node.type not in WITHIN:
            (row, start), (end_row, _) = node.start_point, node.end_point
            column = len(lines[row][:start].decode("utf-8"))
            held = (node.text or b"").decode()
            yield Token(held.rstrip() if held.startswith("#") else held, row, end_row, column, header, top)
            continue
        table = node.type in ("table", "table_array_element")
        children = []
        for child in node.children:
            of_header = header or (table and child.type not in ("pair", "comment"))
            whole = top or (table and all(other.type != "dotted_key" for other in node.children))
            children.append((child, of_header, whole))
        waiting += reversed(children)


def _commas(tokens: Sequence[Token]) -> Iterator[Token]:
    """Without a comma before a bracket of an array that closes in the same line; with one after the last
    element where the bracket stands in a line of its own."""
    solid = [place for place, token in enumerate(tokens) if not token.comment]
    following = {place: tokens[after] for place, after in pairwise(solid)}
    for place, token in enumerate(tokens):
        after = following.get(place)
        ends = after is not None and after.closes and after.text == "]"
        alone = ends and after is not None and after.row > token.last_row
        if token.text != "," or not ends or alone:
            yield token
        if alone and token.text not in (",", "["):
            yield Token(",", token.last_row, token.last_row, token.column)


def _lines(tokens: Sequence[Token]) -> Iterator[str]:
    """The lines of a document, without their ends."""
    groups: list[list[Token]] = []
    for token in tokens:
        if groups and token.row == groups[-1][-1].last_row:
            groups[-1].append(token)
        else:
            groups.append([token])
    blanks = _blanks(groups)
    opened: list[int] = []
    for number, group in enumerate(groups):
        if number in blanks:
            yield ""
        closing = next((at for at, token in enumerate(group) if not token.closes), len(group))
        for _ in range(closing):
            opened.pop()
        yield from _line(group, "  " * len(set(opened)))
        for token in group[closing:]:
            if token.opens:
                opened.append(number)
            elif token.closes:
                opened.pop()


def _blanks(groups: Sequence[Sequence[Token]]) -> set[int]:
    """The numbers of the lines before which a blank one stands: where the author has one, and before the
    header of a table that is no part of another, or the comment above it."""
    blanks = {
        number
        for number in range(1, len(groups))
        if groups[number][0].row > groups[number - 1][-1].last_row + 1
        and not (groups[number - 1][-1].opens or groups[number][0].closes)
    }
    for number, group in enumerate(groups):
        if group[0].header and group[0].top:
            while number and groups[number - 1][0].comment and number not in blanks:
                number -= 1
            blanks.add(number)
    return blanks - {0}


def _line(group: Sequence[Token], indent: str) -> list[str]:
    """A line of the author's, or several where an array in it is broken."""
    body, comment = (group[:-1], group[-1]) if group[-1].comment else (group, None)
    if comment is not None and not body:
        return [indent + comment.text]
    lines = _broken(body, indent)
    if comment is not None:
        column = len(lines[-1]) + 2
        column = column if len(lines) > 1 or "\n" in lines[-1] else max(column, comment.column)
        lines[-1] = lines[-1].ljust(column) + comment.text
    return lines


def _broken(tokens: Sequence[Token], indent: str) -> list[str]:
    line = indent + _joined(tokens)
    span = _array(tokens)
    if len(line) <= WIDTH or span is None or "\n" in line:
        return [line]
    start, end = span
    lines = [indent + _joined(tokens[: start + 1])]
    inside = _elements(tokens[start + 1 : end])
    plain = all(len(element) == 1 for element in inside)
    for element in inside:
        written = _broken([*element, Token(",", 0, 0, 0)], f"{indent}  ")
        filled = f"{lines[-1]} {written[0].strip()}"
        if plain and len(lines) > 1 and len(filled) <= WIDTH:
            lines[-1] = filled
        else:
            lines += written
    return [*lines, indent + _joined(tokens[end:])]


def _array(tokens: Sequence[Token]) -> tuple[int, int] | None:
    """Where the array opens and closes that is the value of a line and has several elements. One within an
    inline table is left: the table cannot be broken."""
    start = next((place for place, token in enumerate(tokens) if token.opens), None)
    if start is None or tokens[start].text != "[":
        return None
    depth = 0
    for end in range(start, len(tokens)):
        depth += tokens[end].opens - tokens[end].closes
        if depth == 0:
            return (start, end) if len(_elements(tokens[start + 1 : end])) > 1 else None
    return None


def _elements(tokens: Sequence[Token]) -> list[list[Token]]:
    elements: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += token.opens - token.closes
        if token.text == "," and depth == 0:
            elements.append([])
        else:
            elements[-1].append(token)
    return [element for element in elements if element]


def _joined(tokens: Sequence[Token]) -> str:
    """The tokens of a line with the white space that belongs between them."""
    text = "".join(one.text + (" " if _apart(one, other) else "") for one, other in pairwise(tokens))
    return text + tokens[-1].text if tokens else ""


def _apart(one: Token, other: Token) -> bool:
    if one.header or "." in (one.text, other.text):
        return False
    if "=" in (one.text, other.text):
        return True
    if other.text == "," or (one.text, other.text) == ("{", "}"):
        return False
    return one.text in (",", "{") or other.text == "}"
