"""Where a response mentions an option, by its letter or by its text. What it says about it is `extract`'s."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from gridc.compiler.instrument.enumerator import are_letters
from gridc.compiler.instrument.plain_text import fold

GLUED = r"[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
"""A character that makes one word with a letter beside it. Chinese, Japanese and Korean need no space."""

GOES_ON = re.compile(
    r"\s*+(?:because|since|as|for|due|given|which|that|is|was|are|so|but|and|or|not|in|on|based|per|though|"
    r"over|rather|to|although|while|would|seems|appears|by|from|with|here|if|it|it's|he|she|they|we|there)\b",
    re.IGNORECASE,
)
"""A word that may follow an answer in the same sentence, and no noun that an article would precede."""


@dataclass(frozen=True, slots=True)
class Mention:
    """An option's letter or text, at its place in the folded response. `ordinal`: it stands for the letter,
    as "the second one" does."""

    option: int
    start: int
    end: int
    letter: bool
    ordinal: bool = False


def mentions(text: str, options: Sequence[str], labels: Sequence[str]) -> list[Mention]:
    """Every mention, in order. A text goes before a letter that it contains and before a shorter text;
    lists of the options that are merely repeated are left out. `labels` are those that the options are shown
    under, none where only texts count."""
    return _Finder.of(tuple(options), tuple(labels)).find(text)


class _Finder:
    """The patterns for one list of options. Their texts are folded as responses are."""

    def __init__(self, options: tuple[str, ...], labels: tuple[str, ...]) -> None:
        self._places = {label.upper(): place for place, label in enumerate(labels)}
        self._letters = are_letters(labels)
        texts = [" ".join(fold(option).split()).strip(" .$") for option in options]
        longest = sorted(range(len(texts)), key=lambda option: -len(texts[option]))
        groups = [
            rf"(?P<o{option}>{_bounded(texts[option])})"
            for option in longest
            if texts[option]
            and texts[option].upper() not in self._places  # a text "B" is taken for the letter
        ]
        self._text = re.compile("|".join(groups) or "(?!)", re.IGNORECASE)
        self._label = re.compile(_labelled(labels))

    @staticmethod
    @lru_cache(maxsize=4096)  # the items of a benchmark are read in turn, in one cell after another
    def of(options: tuple[str, ...], labels: tuple[str, ...]) -> "_Finder":
        return _Finder(options, labels)

    def find(self, text: str) -> list[Mention]:
        named = [
            Mention(int(match.lastgroup[1:]), match.start(), match.end(), False)
            for match in self._text.finditer(text)
            if match.lastgroup is not None
        ]
        lettered = [*self._lettered(text, named), *self._counted(text, named)] if self._places else []
        mentions = sorted([*named, *lettered], key=lambda mention: mention.start)
        echoed = set(_echoed(text, mentions))
        return [mention for number, mention in enumerate(mentions) if number not in echoed]

    def _lettered(self, text: str, named: Sequence[Mention]) -> Iterator[Mention]:
        """Letters outside of texts that are neither the pronoun I nor the article A."""
        covered, reach = iter(named), -1
        current = next(covered, None)
        for match in self._label.finditer(text):
            start, end = match.span()
            while current is not None and current.start <= start:
                reach, current = current.end, next(covered, None)
            if start < reach:
                continue
            follows = re.compile(r"[ \t]++(?=[a-z'])").match(text, end)
            is_word = self._letters and (
                match[0] == "I" or (match[0] == "A" and not GOES_ON.match(text, end))
            )
            if follows is None or not is_word:
                yield Mention(self._places[match[0].upper()], start, end, True)

    def _counted(self, text: str, named: Sequence[Mention]) -> Iterator[Mention]:
        """Options by their place in the list: "the second one", "the last option", "option two"."""
        taken = {place for mention in named for place in range(mention.start, mention.end)}
        for match in _ORDINAL.finditer(text):
            if match["number"] is not None and not self._letters:
                continue
            word = next(word for word in match.groups()[::-1] if word is not None).lower()
            if word in _OF_TWO and len(self._places) != 2:
                continue
            option = len(self._places) - 1 if word in _LAST else _COUNTS[word]
            if option < len(self._places) and taken.isdisjoint(range(*match.span())):
                yield Mention(option, *match.span(), letter=True, ordinal=True)


_COUNTS = {
    word: place
    for place, words in enumerate(
        (
            "one 1 一 first 1st former erste première primera primeira prima",
            "two 2 二 second 2nd zweite deuxième seconde segunda seconda",
            "three 3 三 third 3rd dritte troisième tercera terceira terza",
            "four 4 四 fourth 4th vierte quatrième cuarta quarta",
            "five 5 五 fifth 5th fünfte cinquième quinta",
        )
    )
    for word in words.split()
}
_NUMBERS = ("one", "two", "three", "four", "five", *"12345一二三四五")
_OF_TWO = ("former", "latter")
_LAST = ("last", "final", "latter", "letzte", "dernière", "última", "ultima")
_WHICH = rf"({'|'.join(word for word in (*_COUNTS, *_LAST) if word not in _NUMBERS)})"
_ORDINAL = re.compile(
    rf"(?:\bthe\s++|(?<=[>:=]\s)){_WHICH}\s++(?:(?:listed\s++)?(?:option|alternative|one)\b|of\s++the(?:se)?\s++(?:\w++\s++)?"
    r"(?:options|choices|alternatives)\b)(?!\s++(?:to|of|who|that|which|in|on|at|from)\b)|"
    rf"(?:(?<=\bbe\s)|\A)the\s++{_WHICH}(?=[.!,]|\s*+(?:\n|\Z))|"
    rf"\b(?:die|la|a)\s++{_WHICH}\s++(?:option|möglichkeit|antwort|réponse|proposition|opción|respuesta|opção|"
    r"alternativa|opzione|risposta)\b|"
    r"\b(?P<number>option\s++(?:number\s++|#\s?)?(?P<counted>one|two|three|four|five|[1-5])\b)(?![.,]\d)|"
    r"第(?P<chinese>[一二三四五])(?:[个個項项]|(?=选|選))(?:选项|選項)?",
    re.IGNORECASE,
)
"""An option by its place. Not "the first", "the first choice" or "the second paragraph": these rank and count
other things."""

_MARKED = r"(?=[)\]*_`\"}]|'(?!\w)|[.:]?\s*+(?:\n|$))"
"""What follows a label that is also a word: it is closed, or ends its line."""


def _labelled(labels: Sequence[str]) -> str:
    """A pattern for labels. Letters and Roman numbers of one letter are words too, and count in small print
    only where they are marked; numbers count where they are not part of another number."""
    if not labels:
        return r"(?!)"
    if are_letters(labels):
        capitals = "".join(labels).upper()
        large = rf"[{capitals}](?!{GLUED}|'\w|\.[^\W_]\b|[*_)\]}}]*+-\w)"
        return rf"(?<!{GLUED})(?:{large}|[{capitals.lower()}]{_MARKED})"
    long = sorted((label for label in labels if len(label) > 1 or label.isdigit()), key=len, reverse=True)
    short = "|".join(label for label in labels if len(label) == 1 and not label.isdigit())
    whole = rf"(?i:{'|'.join(long) or '(?!)'})(?!{GLUED}|'\w|[.,]\d|\s?%|[*_)\]}}]*+-\w)"
    return rf"(?<!{GLUED})(?<!\d[.,])(?:{whole}|(?i:{short or '(?!)'}){_MARKED})"


_SCRIPT = r"[\u3040-\u30ff\u3400-\u9fff]"
_NOT = r"(?<![不没沒未非無无])"


def _bounded(text: str) -> str:
    """A pattern for a text that is no part of a longer word, whatever the white space between its words.
    Chinese and Japanese write no space between words: there it may follow any but one that denies it."""
    before = _NOT if re.match(_SCRIPT, text) else r"(?<![^\W_])(?<!\d[.,])"
    after = "" if re.search(rf"{_SCRIPT}\Z", text) else r"(?![^\W_]|[.,]\d|'s\b)"
    return before + r"\s++".join(map(re.escape, text.split())) + after


def _echoed(text: str, named_options: Sequence[Mention]) -> Iterator[int]:
    """The numbers of the mentions that repeat the list of options: "A. its text B. its text"."""
    lines = [
        (number, letter.option)
        for number, (letter, named) in enumerate(pairwise(named_options))
        if letter.letter and not named.letter and letter.option == named.option
        and not text[letter.end : named.start].strip(_BETWEEN)
    ]  # fmt: skip
    for (first, option), (second, following) in pairwise(lines):
        gap = text[named_options[first + 1].end : named_options[second].start] if second == first + 2 else "?"
        if following == option + 1 and "[ ]" not in gap and not gap.strip(_BETWEEN):
            yield from range(first, second + 2)


_BETWEEN = " \t\n.,:;()[]*_-"
