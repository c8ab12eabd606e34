"""Points: what an answer earns once it is read or scored, and what the replicates of an item earn together.
Pure.

A reading is an option of the item, one of the behaviours, or one of a judge's labels; its labels are the
option's text and the roles that the item gives it, or its name. The first rule is that every reading earns
exactly one score: a reading with no label that the scores name, or with two whose scores differ, is an error
before any call (GC334).

A scoring function runs elsewhere (`inputs.scorers`) and is handed in: here is what it is given, and what
is made of what it returns.

The scores of an item's replicates become one score of the item: a whole number of a common unit, so that sums
and tests of it are exact.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, lcm
from typing import Any, NamedTuple

from gridc.compiler.instrument.item import Item
from gridc.schema.canonical import digest_bytes
from gridc.schema.effects import Aggregate, Attempts, Scorer, Ties
from gridc.schema.scores import DIGITS, OTHER, UNIT, Scores

VERSIONS = {
    "scores:stated": 1,
}
"""The version of each part here, which stamps hold (`instrument.versions`)."""


class Unscored(ValueError):
    """A reading that earns no score, or two."""


def labels_of_option(item: Item, choice: int) -> Iterator[str]:
    """The labels of an option of an item: its text and its roles."""
    yield item.options[choice].strip()
    if choice in item.right:
        yield "right"
    if choice == item.unknown:
        yield "unknown"
    if choice == item.matching:
        yield "matching"


def points_earned(scores: Scores, item: Item, choice: int, names: Sequence[str] | None = None) -> int:
    """What a reading earns, in units of 1 / `scores.scale`: an option, or one of the `names` of what is read.
    Raises `Unscored`."""
    own = list(labels_of_option(item, choice)) if names is None else [names[choice]]
    named = [label for label in own if label in scores.root] or [OTHER] * (OTHER in scores.root)
    earned = {label: scores.of(label, item.expected) for label in named}
    shown = f"item {item.id}: {own[0]!r}"
    if not earned:
        raise Unscored(f"{shown} has no score")
    if None in earned.values():
        raise Unscored(f"{shown} has a score by what is expected, and the item does not say what is")
    if len(set(earned.values())) > 1:
        raise Unscored(f"{shown} is {' and '.join(earned)}, whose scores differ")
    return next(value for value in earned.values() if value is not None)


def best_options(scores: Scores, item: Item) -> frozenset[int]:
    """The options that earn most; empty where all earn the same. Raises `Unscored`."""
    earned = [points_earned(scores, item, choice) for choice in range(len(item.options))]
    if len(set(earned)) < 2:
        return frozenset()
    return frozenset(choice for choice, value in enumerate(earned) if value == max(earned))


Replies = tuple[str, ...]
"""All that a model said of an item, call by call."""

ScorerCall = Callable[[Scorer, Item, str, Replies], Any]
"""What a function gives for a response to an item and the replies that led to it, as plain JSON. Raises
`ScorerError`."""

ScorerNumbers = dict[str, int]
"""What a function gives, by name, in units of 1 / UNIT; a single number is called `SINGLE`."""

SINGLE = "score"
MOST = 10**12
"""The largest number in a unit of its own: in units of 1 / UNIT it still fits a whole number of SQLite."""


@dataclass(frozen=True, slots=True)
class ScorerFile:
    """A file with scoring functions."""

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
    """A scoring function fails on an item, or gives what is no score. `item` is empty where it fails
    before it has one; `way_out` says what would be right."""

    def __init__(
        self, scorer: Scorer, item: str, problem: str, way_out: str = "correct the function"
    ) -> None:
        self.scorer, self.item, self.problem, self.way_out = scorer, item, problem, way_out
        about = f" on item {item}" if item else ""
        super().__init__(f"`{scorer.function}` {problem}{about}")


def call_no_scorer(scorer: Scorer, item: Item, response: str, replies: Replies) -> Any:
    """No function can be called here."""
    raise ScorerError(scorer, item.id, "cannot be called here")


def as_given(item: Item) -> dict[str, Any]:
    """An item as functions get it: plain JSON, with the same keys for every item but for those of
    conversations, tools and further right options, which others lack."""
    said = {"messages": [{"role": role, "content": text} for role, text in item.messages]}
    talk = {**said, "turns": list(item.turns), "tools": [dict(tool) for tool in item.tools]}
    talk["functions"] = [dict(function) for function in item.functions]
    rare = {**talk, "golds": list(item.golds)}
    return {
        **{name: value for name, value in rare.items() if value},
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


def given_reading(scorer: Scorer, scores: Scores | None, item: str, given: Any) -> str | ScorerNumbers | None:
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
    measured = name in (scorer.units or {})
    if not isinstance(value, int | float) or not 0 <= value <= (
        MOST if measured else 1
    ):  # a Boolean is 0 or 1
        problem = f"gives {value!r} as `{name}`, which is not a number from 0 to {MOST if measured else 1:,}"
        way_out = "a share of 1: divide by the most that it can be, and subtract from 1 where less is better"
        if measured:
            way_out = "a number from 0 up; None for all of it where the response has none"
        elif name != (scorer.score or SINGLE):
            way_out += f'; or, in a unit of its own, units = {{ {name} = "..." }} in `scorer`'
        raise ScorerError(scorer, item, problem, way_out)
    units: int = round(value * UNIT)
    return units


def score_number(scorer: Scorer, numbers: ScorerNumbers) -> int:
    """The number that is the score."""
    return numbers[scorer.score or SINGLE]


@dataclass(frozen=True, slots=True)
class AttemptScores:
    """What an item earns by how many of its answers are right, `earned` (n + 1,) in units of 1 / `scale`."""

    scale: int
    earned: tuple[int, ...]


@lru_cache(maxsize=256)
def attempt_scores(attempts: Attempts, answers: int) -> AttemptScores:
    """The share of draws of k of an item's answers, without replacement, in which one is right or more
    (`pass_at`: 1 - C(n - c, k) / C(n, k); Chen et al. 2021, eq. 1) or all are (`pass_all`: C(c, k) / C(n, k);
    Yao et al. 2024, sec. 5). Both are unbiased for k new answers.

    Exact where the shares have a common denominator of at most 10,000, as every score has; else each is
    rounded to the nearest ten-thousandth, half to even.
    """
    n, k = answers, attempts.draws
    draws = max(comb(n, k), 1)
    shares = [
        Fraction(draws - comb(n - right, k) if attempts.pass_at else comb(right, k), draws)
        for right in range(n + 1)
    ]
    scale = min(lcm(*(share.denominator for share in shares)), 10**DIGITS)
    return AttemptScores(scale, tuple(round(share * scale) for share in shares))


class Vote(NamedTuple):
    """One of an item's answers and its score: the number of the option or label that was read, of free text
    what it was read to; None where nothing was."""

    answer: int | str | None
    score: int


def item_score(aggregate: Aggregate, votes: Sequence[Vote], ties: Ties, credit: int) -> int:
    """What an item earns by its answers, `votes` in the order of the replicates: their sum under `mean`. Of
    `credit`, what an unreadable answer earned, where a majority has no readable one."""
    if aggregate == "majority":
        chosen = majority(votes, ties)
        return credit if chosen is None else chosen.score
    earned = sum(vote.score for vote in votes)
    return earned if aggregate == "mean" else attempt_scores(aggregate, len(votes)).earned[earned]


def majority(votes: Iterable[Vote], ties: Ties) -> Vote | None:
    """The answer that was read most often, of votes in the order of the replicates. An unreadable answer has
    no vote; None where there is none. Of answers that are equally frequent, with `against_gold` one that
    earns least, else the one that was given `first` or `last`."""
    numbers: dict[Vote, int] = {}
    latest: dict[Vote, int] = {}
    for place, vote in enumerate(vote for vote in votes if vote.answer is not None):
        numbers[vote] = numbers.get(vote, 0) + 1
        latest[vote] = place
    tied = [vote for vote, number in numbers.items() if number == max(numbers.values())]
    if not tied:
        return None
    if ties == "against_gold":
        return min(tied, key=lambda vote: vote.score)
    return tied[0] if ties == "first" else max(tied, key=lambda vote: latest[vote])
