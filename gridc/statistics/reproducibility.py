"""Results that are the same on every machine: rounded numbers, seeded draws, verdicts. No numpy.

Processors add up in different orders and round differently, so the last digits of a computed number are
theirs. What is printed, sorted, chosen or compared is a number that has lost them: the same everywhere.
Schemas round by these, so nothing here imports numpy.

Seeded draws do not depend on a library's random generator: things are ranked by the SHA-256 of seed, purpose
and name, and the first n are taken. So a draw is the same everywhere and for ever, a draw of 50 is part of
the draw of 100, and adding an item to a file moves no other item's rank.
"""

import hashlib
import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

Verdict = Literal["supported", "refuted", "open"]
"""Of a hypothesis. A module of its own, because schemas state it and import no numbers."""


DECIMALS = 9
"""To which shares, differences and log odds are equal, or 0."""

Found = TypeVar("Found")


def digits(value: float) -> float:
    """Ten significant digits, of a p-value or of any other size; no negative zero."""
    return float(f"{value:.10g}") + 0.0


def decimals(value: float) -> float:
    """Nine decimals, of a share, a difference or log odds: what is 0 but for rounding is 0."""
    return round(value, DECIMALS) + 0.0


def every_digits(found: Found) -> Found:
    """The same with `digits` of every float in it: through tuples, mappings, dataclasses and models, each of
    which stays where nothing in it changes. So does what is in an array."""
    made: Any = found
    if isinstance(found, float):
        settled = digits(found)
        made = found if repr(settled) == repr(found) else settled
    elif isinstance(found, tuple):
        parts = [every_digits(part) for part in found]
        if any(new is not old for new, old in zip(parts, found, strict=True)):
            made = type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
    elif isinstance(found, Mapping):
        values = [every_digits(part) for part in found.values()]
        if any(new is not old for new, old in zip(values, found.values(), strict=True)):
            made = dict(zip(found, values, strict=True))
    elif is_dataclass(found) and not isinstance(found, type):
        changed = _changed((field.name, getattr(found, field.name)) for field in fields(found))
        made = replace(found, **changed) if changed else found
    elif isinstance(found, BaseModel):
        changed = _changed(found)
        made = found.model_copy(update=changed) if changed else found
    return made  # type: ignore[no-any-return]


def _changed(parts: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {name: new for name, old in parts if (new := every_digits(old)) is not old}


T = TypeVar("T")


class DrawError(ValueError):
    """The items cannot give what the spec asks for; `help` is the way out, where it is known here."""

    def __init__(self, problem: str, help: str | None = None) -> None:
        self.help = help
        super().__init__(problem)


def in_drawn_order(things: Iterable[T], seed: int, purpose: str, name: Callable[[T], str]) -> list[T]:
    """The things in the order of their draw."""
    return sorted(things, key=lambda thing: _rank(seed, purpose, name(thing)))


def first(n: int, things: Iterable[T], seed: int, purpose: str, name: Callable[[T], str]) -> list[T]:
    """The first n of `ranked`, in the memory of n."""
    return heapq.nsmallest(n, things, key=lambda thing: _rank(seed, purpose, name(thing)))


def _rank(seed: int, purpose: str, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{purpose}\0{name}".encode()).digest()
