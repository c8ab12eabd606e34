"""Seeded draws that do not depend on a library's random generator.

Things are ranked by the SHA-256 of seed, purpose and name, and the first n are taken. So a draw is
the same everywhere and for ever, a draw of 50 is part of the draw of 100, and adding an item to a
file moves no other item's rank.
"""

import hashlib
import heapq
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


class DrawError(ValueError):
    """The items cannot give what the spec asks for; `help` is the way out, where it is known here."""

    def __init__(self, problem: str, help: str | None = None) -> None:
        self.help = help
        super().__init__(problem)


def ranked(things: Iterable[T], seed: int, purpose: str, name: Callable[[T], str]) -> list[T]:
    """The things in the order of their draw."""
    return sorted(things, key=lambda thing: _rank(seed, purpose, name(thing)))


def first(n: int, things: Iterable[T], seed: int, purpose: str, name: Callable[[T], str]) -> list[T]:
    """The first n of `ranked`, in the memory of n."""
    return heapq.nsmallest(n, things, key=lambda thing: _rank(seed, purpose, name(thing)))


def _rank(seed: int, purpose: str, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{purpose}\0{name}".encode()).digest()
