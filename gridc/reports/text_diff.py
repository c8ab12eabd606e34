"""How two texts differ, line by line and within changed lines word by word. Pure."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

MOST_WORDS = 2_000
"""Words of a changed passage that are compared one by one; a longer one is replaced as a whole."""


class Piece(NamedTuple):
    """A stretch of text: in both, in the first alone, or in the second alone."""

    side: Literal["both", "a", "b"]
    text: str


def text_diff(a: str, b: str) -> list[Piece]:
    """The pieces of two texts. Those of `both` and `a` make the first text, those of `both` and `b` the
    second."""
    return list(_merged(_lines(a, b)))


def _lines(a: str, b: str) -> Iterator[Piece]:
    first, second = a.splitlines(keepends=True), b.splitlines(keepends=True)
    for mine, yours in _blocks(first, second):
        if mine == yours:
            yield Piece("both", mine)
        else:
            yield from _words(mine, yours)


def _words(a: str, b: str) -> Iterator[Piece]:
    first, second = (re.findall(r"\w+|\s+|[^\w\s]", text) for text in (a, b))
    if max(len(first), len(second)) > MOST_WORDS:
        yield from (Piece("a", a), Piece("b", b))
        return
    for mine, yours in _blocks(first, second):
        if mine == yours:
            yield Piece("both", mine)
        else:
            yield from (Piece("a", mine), Piece("b", yours))


def _blocks(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What stands for what, in order."""
    for _, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        yield "".join(a[i:j]), "".join(b[k:m])


def _merged(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Without empty pieces, and neighbours of one side as one."""
    held: Piece | None = None
    for piece in pieces:
        if not piece.text:
            continue
        if held is not None and held.side == piece.side:
            held = Piece(held.side, held.text + piece.text)
            continue
        if held is not None:
            yield held
        held = piece
    if held is not None:
        yield held
