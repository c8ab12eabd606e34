"""What a function that scores is given, and what is made of what it gives. Pure: the function itself runs
elsewhere (`inputs.scorers`), and is handed in."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gridc.compiler.instrument.item import Item
from gridc.schema.canonical import digest_bytes
from gridc.schema.effects import Scorer
from gridc.schema.scores import OTHER, UNIT, Scores

Replies = tuple[str, ...]
"""All that a model said of an item, call by call."""

ScorerCall = Callable[[Scorer, Item, str, Replies], Any]
"""What a function gives for a response to an item and the replies that led to it, as plain JSON. Raises
`ScorerError`."""

ScorerNumbers = dict[str, int]
"""What a function gives, by name, in units of 1 / UNIT; a single number is called `SINGLE`."""

SINGLE = "score"


@dataclass(frozen=True, slots=True)
class ScorerFile:
    """A file with functions that score."""

    name: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of its bytes."""
        return digest_bytes(self.text.encode())

    @property
    def pair(self) -> str:
        """What consent to it names."""
        return f"sha256:{self.digest}"

    @property
    def needs_consent(self) -> bool:
        """Always: whoever wrote the spec wrote it."""
        return True

    def __str__(self) -> str:
        return f"{self.name} ({self.pair}) runs on this machine as you, in a process of its own with limits"


class ScorerError(Exception):
    """A function that scores fails on an item, or gives what is no score. `item` is empty where it fails
    before it has one; `way_out` says what would be right."""

    def __init__(
        self, scorer: Scorer, item: str, problem: str, way_out: str = "correct the function"
    ) -> None:
        self.scorer, self.item, self.problem, self.way_out = scorer, item, problem, way_out
        about = f" on item {item}" if item else ""
        super().__init__(f"`{scorer.function}` {problem}{about}")


def nobody(scorer: Scorer, item: Item, response: str, replies: Replies) -> Any:
    """No function can be called here."""
    raise ScorerError(scorer, item.id, "cannot be called here")


def as_given(item: Item) -> dict[str, Any]:
    """An item as functions get it: plain JSON, with the same keys for every item but for those of
    conversations and tools, which others lack."""
    said = {"messages": [{"role": role, "content": text} for role, text in item.messages]}
    talk = {**said, "turns": list(item.turns), "tools": [dict(tool) for tool in item.tools]}
    return {
        **{name: value for name, value in talk.items() if value},
        "id": item.id,
        "query": item.query,
        "context": item.context,
        "options": list(item.options),
        "gold": item.gold,
        "matching": item.matching,
        "unknown": item.unknown,
        "expected": item.expected,
        "references": list(item.references),
        "tags": dict(item.tags),
        "category": item.category,
        "extra": dict(item.extra),
    }


def reading(scorer: Scorer, scores: Scores | None, item: str, given: Any) -> str | ScorerNumbers | None:
    """What a function gives for a response: a label that has a score, numbers, or None where no answer can be
    read. Where `scores` are stated it gives labels, else numbers. Raises `ScorerError`."""
    if given is None:
        return None
    if scores is not None:
        if isinstance(given, str) and given in scores.labels:
            return given
        if isinstance(given, str) and OTHER in scores.labels:
            return OTHER
        known = ", ".join(f"`{label}`" for label in scores.labels)
        problem = f"gives {given!r}, and `scores` has the labels {known}"
        raise ScorerError(scorer, item, problem, f"one of these, or {given} = ... in `scores`")
    if isinstance(given, str):
        problem = f"gives the label {given!r}, and no `scores` say what labels earn"
        raise ScorerError(scorer, item, problem, f"scores = {{ {given} = ..., other = ... }} beside `method`")
    named = isinstance(given, Mapping)
    if named and (scorer.score is None or scorer.score not in given):
        names = ", ".join(f"`{name}`" for name in given) or "none"
        which = (
            "`scorer.score` does not say which" if scorer.score is None else f"`{scorer.score}` is missing"
        )
        way_out = f"score = {json.dumps(next(iter(given), '...'))} in `scorer`, or another of its names"
        raise ScorerError(scorer, item, f"gives numbers by name ({names}), and {which}", way_out)
    if not named and scorer.score is not None:
        problem = f"gives {given!r} and no number called `{scorer.score}`"
        way_out = f'leave `scorer.score` out, or return {{"{scorer.score}": ...}}'
        raise ScorerError(scorer, item, problem, way_out)
    return {
        name: _unit(scorer, item, name, value)
        for name, value in (given if named else {SINGLE: given}).items()
    }


def _unit(scorer: Scorer, item: str, name: str, value: Any) -> int:
    if not isinstance(value, int | float) or not 0 <= value <= 1:  # a Boolean is 0 or 1
        problem = f"gives {value!r} as `{name}`, which is no number from 0 to 1"
        way_out = "a share of 1: divide by the most that it can be, and subtract from 1 where less is better"
        raise ScorerError(scorer, item, problem, way_out)
    units: int = round(value * UNIT)
    return units


def score_of(scorer: Scorer, numbers: ScorerNumbers) -> int:
    """The number that is the score."""
    return numbers[scorer.score or SINGLE]
