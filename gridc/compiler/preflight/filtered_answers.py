"""What a responder says so that filters read a right or a wrong answer in it.

Nothing turns a regular expression into a text that it reads, so common phrases are tried, and the words that
the pattern itself begins and ends with.
"""

import re
from collections.abc import Iterator

from gridc.compiler.instrument.item import LETTERS, Item
from gridc.compiler.instrument.matching import (
    COMPARISONS,
    RIGHT,
    WRONG,
    choices_of,
    read_answer,
    right_answers,
)
from gridc.schema.effects import Match, MultiChoiceRegexFilter, RegexFilter

PHRASES = (
    "{}",
    "#### {}",
    "The answer is {}.",
    "The best answer is {}.",
    "So the answer is {}.",
    "answer is {}.",
    "({})",
    "The answer is ({}).",
    "The best answer is ({}).",
    "So the answer is ({}).",
    "Answer: {}",
    "Answer: ({})",
    "ANSWER: {}",
    "The final answer is: ${}$. I hope it is correct.",
    "The final answer is \\boxed{{{}}}.",
    "<answer>{}</answer>",
    "[[{}]]",
)
"""What stands around an answer in the prompts of the package's tasks."""

OTHERS = ("79193", "Z", "no")
"""What is mostly no right answer, where a filter does not read a word."""


def says(match: Match, item: Item, right: bool) -> str | None:
    """A response that is read as a right or a wrong answer; None where none of those tried is right. Where
    none is read as wrong, one in which nothing is read."""
    answers = right_answers(match, item)
    if right:
        texts = list(answers) + [part for text in answers for part in _parts(text)]
        texts += [f"({letter})" for letter in _letters(match, item, answers)]
        return next((said for said in _said(match, texts) if _reads(match, item, said) == RIGHT), None)
    other = COMPARISONS[match.kind].errs(match, answers)
    return next(
        (said for said in _said(match, [other, *OTHERS]) if _reads(match, item, said) == WRONG), other
    )


def _reads(match: Match, item: Item, said: str) -> int | None:
    return read_answer(match, item, said).option


def _said(match: Match, texts: list[str]) -> Iterator[str]:
    patterns = [one.pattern for one in match.filters or ()
                if isinstance(one, RegexFilter | MultiChoiceRegexFilter)]  # fmt: skip
    around = [("", ""), *((_opening(each), end) for each in patterns for end in ("", _closing(each)))]
    said = (phrase.format(text) for text in texts for phrase in PHRASES)
    own = (f"{opening}{text}{closing}" for text in texts for opening, closing in around)
    yield from dict.fromkeys(f"{each}{end}" for each in (*said, *own) for end in ("", ".", "\n"))


def _parts(text: str) -> list[str]:
    """What of a right answer may be the answer alone: behind its working, its last word, without brackets."""
    lines = text.strip().splitlines() or [""]
    words = lines[-1].split() or [""]
    return [text.strip(), text.rpartition("####")[2].strip(), words[-1], words[-1].strip("().")]


def _letters(match: Match, item: Item, answers: tuple[str, ...]) -> list[str]:
    """The letters of choices that are right answers by their text."""
    choices = choices_of(match, item) or item.options
    return [LETTERS[place] for place, choice in enumerate(choices[:26]) if choice.strip() in answers]


def _closing(pattern: str) -> str:
    """The words that a pattern has behind its first group, as far as they are plain."""
    group = re.search(r"(?<!\\)\((?!\?)(?:[^()\\]|\\.)*\)(?P<rest>.*)", pattern, re.DOTALL)
    words = "" if group is None else re.sub(r"\(\?[=:]", "", group["rest"]).partition("|")[0]
    words = re.sub(r"(?:\\.|\[[^\]]*\]|.)[*?]", "", words)
    words = re.sub(r"\\s\+?", " ", words)
    return re.sub(r"\\(.)", r"\1", re.sub(r"(?<!\\)[+()$^]", "", words))


def _opening(pattern: str) -> str:
    """The words that a pattern has before its first group, as far as they are plain."""
    words = re.sub(r"(?:\[[^\]]*\]|\\.)[?*]", "", pattern)
    words = re.sub(r"^\(\?[a-zA-Z]+\)|\(\?(?:<=|:)", "", words)
    words = re.sub(r"(?<!\\)\((?!\?).*|[$^]", "", words, flags=re.DOTALL)
    words = re.sub(r"\\s[*+]?", " ", words)
    words = re.sub(r"\[([^\]])[^\]]*\][*+?]?", r"\1", words)
    return re.sub(r"\\(.)", r"\1", re.sub(r"(?<!\\)[*+?()]", "", words))
