"""Options: their order, how they are marked, and what a ranking of them compares.

Options are marked as `A.`, `(b)`, `1)`, `iv.` or `-`. Letters, numbers and Roman numerals can be given as the
answer. Bullets label nothing, so that an answer can only name an option's text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from gridc.compiler.instrument.item import LETTERS, Item
from gridc.compiler.instrument.methods import WHOLE_TEXT
from gridc.schema.effects import Candidates
from gridc.statistics.reproducibility import DrawError, ranked


def arranged(item: Item, order: str | None) -> Item:
    """The item with its options in an order of the language (`option_order`).

    `file`, `reversed`, `shuffled:SEED` (drawn item by item), `rotated:K` (the first K options go last, as
    often as there are options), `gold_at:LETTER` (the right option there, the others in file order).
    Raises `DrawError` where the item has no such order.
    """
    kind, _, value = (order or "file").partition(":")
    if kind == "file":
        return item
    places = list(range(len(item.options)))
    match kind:
        case "reversed":
            places.reverse()
        case "shuffled":
            places = ranked(places, int(value), f"options\0{item.id}", str)
        case "rotated" if places:
            start = int(value) % len(places)
            places = places[start:] + places[:start]
        case "gold_at" if places:
            places = _gold_at(item, value)
    return permuted(item, places)


def permuted(item: Item, order: Sequence[int]) -> Item:
    """The item with its options in this order (`order[new] = old`)."""

    def moved(place: int | None) -> int | None:
        return None if place is None else order.index(place)

    return replace(
        item,
        options=tuple(item.options[place] for place in order),
        gold=moved(item.gold),
        unknown=moved(item.unknown),
        matching=moved(item.matching),
    )


def _gold_at(item: Item, letter: str) -> list[int]:
    if item.gold is None:
        raise DrawError(f"item `{item.id}` has no right option to put at {letter}")
    if letter not in item.letters:
        raise DrawError(f"item `{item.id}` has {len(item.options)} options and no {letter}")
    others = [place for place in range(len(item.options)) if place != item.gold]
    target = item.letters.index(letter)
    return [*others[:target], item.gold, *others[target:]]


DEFAULT = "A."
ENUMERATOR_VERSIONS = {
    "enumerator:A": 1,
    "enumerator:a": 1,
    "enumerator:1": 1,
    "enumerator:I": 1,
    "enumerator:i": 1,
    "enumerator:bullet": 1,
}
"""The version of each part here, which stamps hold (`instrument.versions`)."""
_ROMAN = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_TOKEN = re.compile(r"[Aa1Ii]")


@lru_cache(maxsize=256)
def labels(enumerator: str, count: int) -> tuple[str, ...]:
    """The labels of so many options, without what surrounds them; none where bullets mark them."""
    token = _TOKEN.search(enumerator)
    if token is None:
        return ()
    kinds = {
        "A": lambda place: LETTERS[place],
        "a": lambda place: LETTERS[place].lower(),
        "1": lambda place: str(place + 1),
        "I": lambda place: _roman(place + 1).upper(),
        "i": lambda place: _roman(place + 1),
    }
    return tuple(kinds[token[0]](place) for place in range(count))


def marks(enumerator: str, count: int) -> tuple[str, ...]:
    """The same with what surrounds them, as they are shown; so many times the bullet."""
    token = _TOKEN.search(enumerator)
    if token is None:
        return (enumerator,) * count
    before, after = enumerator[: token.start()], enumerator[token.end() :]
    return tuple(f"{before}{label}{after}" for label in labels(enumerator, count))


def are_letters(names: Sequence[str]) -> bool:
    """Whether labels are letters of the alphabet in order, in either case."""
    return [name.upper() for name in names] == list(LETTERS[: len(names)])


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        while number >= value:
            text, number = text + letters, number - value
    return text


UNKNOWN_PHRASINGS = (
    "Unknown",
    "Cannot answer",
    "Can't be determined",
    "Cannot be determined",
    "Can't answer",
    "Not known",
    "Not enough info",
    "Not enough information",
    "Not answerable",
    "Undetermined",
)
"""The ten ways in which BBQ's items say that the answer is unknown (Parrish et al. 2022, app. A)."""
CANDIDATE_VERSIONS = {
    "candidates:option_text": 1,
    "candidates:letter": 1,
    "candidates:unknown_expanded": 1,
    "candidates:sentence_pair": 1,
}
"""The version of each part here, which stamps hold (`instrument.versions`)."""


class NoCandidates(ValueError):
    """The item lacks what the candidates are made of."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that is ranked, and the index of the option that it stands for."""

    text: str
    option: int


def candidates(
    kind: Candidates | Literal["whole_text"], item: Item, enumerator: str = DEFAULT
) -> Sequence[Candidate]:
    """The candidates of an item, in the order that a tie rule counts them in.

    `unknown_expanded` puts the ten phrasings of unknown in the place of the item's own, behind the other
    options, as lm-evaluation-harness and HELM do. Letters are the labels of the enumerator. `whole_text` is
    the first right answer in free text, or without one what is asked. Raises `NoCandidates`.
    """
    if kind == WHOLE_TEXT:
        return [Candidate(item.references[0] if item.references else item.query, 0)]
    if not item.options:
        raise NoCandidates(f"item {item.id} has no options to rank")
    if kind == "sentence_pair" and (len(item.options) != 2 or item.stem):
        raise NoCandidates(f"item {item.id} is not a pair of sentences")
    if kind == "letter":
        names = labels(enumerator, len(item.options))
        if not names:
            raise NoCandidates(f"item {item.id} has its options marked with bullets, and no label to rank")
        return [Candidate(name, option) for option, name in enumerate(names)]
    if kind != "unknown_expanded":
        return [Candidate(text, option) for option, text in enumerate(item.options)]
    if item.unknown is None:
        raise NoCandidates(f"item {item.id} has no option that says the answer is unknown")
    if item.options[item.unknown] not in UNKNOWN_PHRASINGS:
        raise NoCandidates(
            f"item {item.id} calls unknown {item.options[item.unknown]!r}, a phrasing not known"
        )
    others = [Candidate(text, option) for option, text in enumerate(item.options) if option != item.unknown]
    return [*others, *(Candidate(text, item.unknown) for text in UNKNOWN_PHRASINGS)]
