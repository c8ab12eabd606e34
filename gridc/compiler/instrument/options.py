"""Options: their order, how they are marked, and what a ranking of them compares.

Options are marked as `A.`, `(b)`, `1)`, `iv.` or `-`. Letters, numbers and Roman numerals can be given as the
answer. Bullets label nothing, so that an answer can only name an option's text.

Files bring labels of their own too: in the texts of options (`A) iron`), or in place of them, where a
question lists the options itself and these are `A`, `B`, `C`. Such letters already stand for something. So
they keep their order, and are shown under no others.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Literal

from gridc.compiler.instrument.item import LETTERS, Item
from gridc.compiler.instrument.methods import WHOLE_TEXT
from gridc.schema.effects import Candidates
from gridc.statistics.reproducibility import DrawError, in_drawn_order


def arranged(item: Item, order: str | None) -> Item:
    """The item with its options in an order of the language (`option_order`).

    `file`, `reversed`, `shuffled:SEED` (drawn item by item), `rotated:K` (the first K options go last, as
    often as there are options), `gold_at:LETTER` (the right option there, the others in file order). Letters
    that stand for what the question lists are in file order whatever is asked. Raises `DrawError` where the
    item has no such order.
    """
    kind, _, value = (order or "file").partition(":")
    if kind == "file" or (kind != "gold_at" and own_letters(item) is not None):
        return item
    places = list(range(len(item.options)))
    match kind:
        case "reversed":
            places.reverse()
        case "shuffled":
            places = in_drawn_order(places, int(value), f"options\0{item.id}", str)
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
        golds=tuple(order.index(place) for place in item.golds),
        unknown=moved(item.unknown),
        matching=moved(item.matching),
        contexts=tuple(item.contexts[place] for place in order) if item.contexts else (),
    )


def _gold_at(item: Item, letter: str) -> list[int]:
    if item.gold is None:
        raise DrawError(f"item `{item.id}` has no right option to put at {letter}")
    if letter not in item.letters:
        raise DrawError(f"item `{item.id}` has {len(item.options)} options and no {letter}")
    if own_letters(item) is not None:
        shown = ", ".join(item.options)
        problem = f"the options of item `{item.id}` are labels ({shown}), which keep their order"
        raise DrawError(problem, 'option_order = "file" is their order')
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
def bare_labels(enumerator: str, count: int) -> tuple[str, ...]:
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


def label_marks(enumerator: str, count: int) -> tuple[str, ...]:
    """The same with what surrounds them, as they are shown; so many times the bullet."""
    token = _TOKEN.search(enumerator)
    if token is None:
        return (enumerator,) * count
    before, after = enumerator[: token.start()], enumerator[token.end() :]
    return tuple(f"{before}{label}{after}" for label in bare_labels(enumerator, count))


def are_letters(names: Sequence[str]) -> bool:
    """Whether labels are letters of the alphabet in order, in either case."""
    return [name.upper() for name in names] == list(LETTERS[: len(names)])


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        while number >= value:
            text, number = text + letters, number - value
    return text


_LABEL = r"(?:[A-Za-zА-Яа-я]|\d{1,2}|[ivxIVX]{1,5})"
_CARRIED = re.compile(
    rf"\s*(?P<opens>[(\[（【]?)(?P<label>{_LABEL})(?:"
    r"(?P<closes>[)\]）】][.:]?|[.:](?=\s)|[．：、])\s*(?P<text>\S.*?)|(?P<behind>[)\]）】.:．：、]*))\s*",
    re.DOTALL,
)
"""A label, and the text of an option behind it, or nothing."""


@dataclass(frozen=True, slots=True)
class CarriedLabels:
    """The labels that options have in their own texts: of `c) nickel`, `a) gold`, `b) iron` the labels c, a,
    b. `texts` are the options without them, empty where an option is nothing else, and `places` the place of
    each label in the series: 2, 0, 1."""

    labels: tuple[str, ...]
    texts: tuple[str, ...]
    places: tuple[int, ...]

    @property
    def alone(self) -> bool:
        """Whether the options are nothing but labels."""
        return not any(self.texts)


@lru_cache(maxsize=4096)  # the items of a benchmark are asked in turn, in one cell after another
def carried_labels(options: tuple[str, ...]) -> CarriedLabels | None:
    """The labels that options carry, where every one has its own, in one form, and they are a whole series
    (A, B, C; 1, 2, 3; i, ii, iii) in whatever order. "I. Newton" beside "A. Einstein" are no series."""
    matches: list[re.Match[str]] = []
    for match in map(_CARRIED.fullmatch, options):
        if match is None:
            return None
        matches.append(match)
    forms = {(match["opens"], match["closes"], match["behind"]) for match in matches}
    if len(options) < 2 or len(forms) > 1:
        return None
    names = tuple(match["label"] for match in matches)
    for series in _series(len(names)):
        if set(names) == set(series):
            texts = tuple(match["text"] or "" for match in matches)
            return CarriedLabels(names, texts, tuple(map(series.index, names)))
    return None


_CYRILLIC = ("АБВГДЕЖЗИК", "АБВГҐДЕЄЖЗ")
"""The letters that lists in Russian and Bulgarian, and in Ukrainian, are numbered with."""


def _series(count: int) -> Iterator[tuple[str, ...]]:
    """What so many options may be numbered with in a file."""
    yield from (bare_labels(token, count) for token in "AaiI1")
    for letters in _CYRILLIC:
        yield from (tuple(letters[:count]), tuple(letters[:count].lower()))


@dataclass(frozen=True, slots=True)
class OwnLetters:
    """The letters, or numbers, that an item's options are and nothing else. `texts` are what the question
    shows under each, and `listing` the lines in which it does; both are empty where it shows no list. Where
    they are `named`, it uses every one, in a list or not ("Is answer A or answer B better?")."""

    labels: tuple[str, ...]
    texts: tuple[str, ...]
    listing: str
    named: bool


def own_letters(item: Item) -> OwnLetters | None:
    """What an item's options are where they are nothing but A, B, C in order; None of any other options.

    Numbers are also what many questions ask for, so that 1, 2, 3 are labels only where the question lists
    something under them.
    """
    carried = carried_labels(item.options)
    if carried is None or not carried.alone or list(carried.places) != sorted(carried.places):
        return None
    return _own_letters(carried.labels, item.stem)


@lru_cache(maxsize=4096)
def _own_letters(names: tuple[str, ...], stem: str) -> OwnLetters | None:
    found = _listed(stem, names)
    if found is not None:
        return OwnLetters(names, *found, named=True)
    lettered = are_letters(names) or "А" <= names[0].upper() <= "Я"
    return OwnLetters(names, (), "", names_each(stem, names)) if lettered else None


def spoken_options(item: Item) -> tuple[str, ...]:
    """The options as a response may say them: their texts, or of letters what the question shows under
    each."""
    own = own_letters(item)
    return item.options if own is None else own.texts or own.labels


def names_each(text: str, names: Sequence[str]) -> bool:
    """Whether a text has each of these labels as a word of its own, all in one case or all in the other."""
    either = names, [name.swapcase() for name in names]
    word = r"(?<![^\W_]){}(?![^\W_]|'\w)"
    return any(all(re.search(word.format(name), text) for name in form) for form in either)


_IN_LINES = re.compile(rf"^[ \t>*_-]*[(\[]?({_LABEL})[.):\]][*_]*[ \t]*(?=\S)", re.MULTILINE)
_IN_A_LINE = re.compile(rf"(?<![^\s,;])[(\[]?({_LABEL})[)\]][ \t]+(?=\S)")


def _listed(text: str, names: tuple[str, ...]) -> tuple[tuple[str, ...], str] | None:
    """What a text shows last under each of these labels, a line each or within a line, and where it does."""
    either = names, tuple(name.swapcase() for name in names)
    for pattern, wanted in product((_IN_LINES, _IN_A_LINE), either):
        run = last_run(list(pattern.finditer(text)), wanted)
        if run:
            end = text.find("\n", run[-1].end())
            ends = [*(match.start() for match in run[1:]), len(text) if end < 0 else end]
            texts = [text[match.end() : last].strip(" \t\n,;") for match, last in zip(run, ends, strict=True)]
            if all(texts):
                return tuple(texts), text[run[0].start() : ends[-1]].strip()
    return None


def last_run(found: Sequence[re.Match[str]], names: Sequence[str]) -> list[re.Match[str]]:
    """The last places that bear these names one after the other; none where they do not."""
    run: list[re.Match[str]] = []
    rest = list(names)
    for one in reversed(found):
        if rest and one[1] == rest[-1]:
            run.append(one)
            rest.pop()
    return [] if rest else run[::-1]


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
    "candidates:letter": 2,
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


def item_candidates(
    kind: Candidates | Literal["whole_text"], item: Item, enumerator: str = DEFAULT
) -> Sequence[Candidate]:
    """The candidates of an item, in the order that a tie rule counts them in.

    `unknown_expanded` puts the ten phrasings of unknown in the place of the item's own, behind the other
    options, as lm-evaluation-harness and HELM do. Letters are the labels of the enumerator, or those that
    the options are. `whole_text` is the first right answer in free text, or without one what is asked.
    Raises `NoCandidates`.
    """
    if kind == WHOLE_TEXT:
        return [Candidate(item.references[0] if item.references else item.query, 0)]
    if not item.options:
        raise NoCandidates(f"item {item.id} has no options to rank")
    if kind == "sentence_pair" and (len(item.options) != 2 or item.stem):
        raise NoCandidates(f"item {item.id} is not a pair of sentences")
    if kind == "letter":
        own = own_letters(item)
        names = bare_labels(enumerator, len(item.options)) if own is None else own.labels
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
