"""Free text against an item's right answers: which part of a response is its answer, and whether it is right.

The right answers are the item's `references`; of an item with options they are the texts of the right ones.
Pure, so that the run, `verify`, the oracles and the check before a stamp read alike.

Responses can be degenerate, so no pattern may backtrack over a run of characters: unbounded repetitions are
possessive. How numbers are read is in `written_numbers`.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise

from gridc.compiler.instrument.extract import Confidence, Extraction
from gridc.compiler.instrument.filters import filtered_text, read_filtered
from gridc.compiler.instrument.item import LETTERS, Item
from gridc.compiler.instrument.own_part import own_part
from gridc.compiler.instrument.plain_text import closing_brace, fold
from gridc.compiler.instrument.refusals import refusal_phrase
from gridc.compiler.instrument.written_numbers import (
    WrittenNumber,
    decimal_comma,
    first_number,
    given_number,
    numbers,
)
from gridc.schema.effects import Match, MatchKind, MultiChoiceRegexFilter
from gridc.schema.scores import MATCHES

RIGHT, WRONG = (MATCHES.index(name) for name in ("right", "wrong"))

TextSpan = tuple[int, int]

WORKING_ENDS = "####"
"""What stands between the working and the answer in GSM8K's right answers (Cobbe et al. 2021)."""


class Unmatchable(ValueError):
    """An item has no right answer, or one that no response could match. `help` says what to do."""

    def __init__(self, problem: str, help: str) -> None:
        self.help = help
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class AnswerReading:
    """What a kind of comparison makes of the place where an answer stands: the span of it, the form in which
    it is compared, and whether it is right. `right` is None where there is no answer, and `rule` says why;
    `form` where answers that are not right are not told apart."""

    right: bool | None
    rule: str
    span: TextSpan = (0, 0)
    form: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerComparison:
    """A way to compare answers. `reads` reads a text, or the words behind `after`, against the right answers,
    and is told whether the item's language writes a decimal comma;
    `problem` says why a right answer could never be matched; `errs` gives an answer that is none of them;
    `in_text` says whether an answer is found in a longer text, and `tells_apart` whether wrong ones differ.
    `reads` is None where another package's rules read the whole response, with none of gridc's before."""

    reads: Callable[[Match, str, tuple[str, ...], bool], AnswerReading] | None
    problem: Callable[[str], str | None]
    errs: Callable[[Match, tuple[str, ...]], str]
    in_text: bool
    tells_apart: bool = True

    @property
    def as_it_is(self) -> bool:
        """Whether the whole response is read, whatever it says besides and wherever it ends."""
        return self.reads is None


def right_answers(match: Match, item: Item) -> tuple[str, ...]:
    """The texts that a response is compared with. Raises `Unmatchable` where there is none, or one that
    nothing could match."""
    stated = item.references or tuple(item.options[option] for option in sorted(item.right))
    if not stated:
        raise Unmatchable(
            f"item {item.id} has no right answer in free text",
            '`loading.malformed` = "leave_out" leaves such rows out and counts them; or `fields.references` '
            "of `rows` names the columns of right answers; or state another `method`",
        )
    if COMPARISONS[match.kind].as_it_is:
        choices_of(match, item)
        return stated
    answers = tuple(_compared(match, item, text) for text in stated)
    for answer in answers:
        problem = COMPARISONS[match.kind].problem(answer)
        if match.after is not None and "\n" in answer and match.kind != "number":
            problem = "has several lines, and only one is read after the words"
        if problem is not None:
            help = _ways_out(match, stated)
            raise Unmatchable(f"item {item.id}: the right answer {_short(answer)} {problem}", help)
    return answers


def compare_answer(match: Match, item: Item, answer: str) -> AnswerReading:
    """What is compared of a text that is all answer, such as the one in a form that was asked for. A wrong
    one that is a phrase of refusal is unreadable."""
    compare = COMPARISONS[match.kind].reads
    assert compare is not None, "a spec that asks for a form and filters the response is refused"
    comma = match.kind == "number" and decimal_comma(item.stem[:_SHOWS], answer[:_SHOWS])
    reading = compare(match, answer, right_answers(match, item), comma)
    return AnswerReading(None, "a refusal") if not reading.right and refusal_phrase(answer) else reading


def read_answer(match: Match, item: Item, response: str) -> Extraction:
    """Whether a response gives one of an item's right answers: the choice is one of `MATCHES`, None where
    nothing could be read. What matches nothing and begins with a phrase of refusal is unreadable."""
    compare = COMPARISONS[match.kind].reads
    if compare is None:
        return _behind_filters(match, item, response)
    part = own_part(response, item.stem)
    if part is None:
        return Extraction(None, "the reasoning never ended")
    begin, response = part[0], response[: part[1]]
    if not response[begin:].strip():
        return Extraction(None, "empty")
    places = _places(match, response, begin)
    if not places:
        return Extraction(None, f"no `{match.after}`")
    comma = match.kind == "number" and decimal_comma(item.stem[:_SHOWS], response[begin : begin + _SHOWS])
    answers = right_answers(match, item)
    read = ((start, compare(match, response[start:end], answers, comma)) for start, end in reversed(places))
    start, reading = next((one for one in read if one[1].rule != EMPTY), (begin, AnswerReading(None, EMPTY)))
    if not reading.right and refusal_phrase(response[begin:]):
        return Extraction(None, "a refusal")
    if reading.right is None:
        return Extraction(None, reading.rule)
    choice = RIGHT if reading.right else WRONG
    first, last = (start + place for place in reading.span)
    confidence: Confidence = "inferred" if match.after is None else "stated"
    return Extraction(choice, reading.rule, confidence, first, last, reading.form)


def contained(match: Match, item: Item, response: str) -> tuple[int, int]:
    """How many of an item's right answers a response contains in its own part, of how many."""
    part = own_part(response, item.stem)
    answers = right_answers(match, item)
    text = "" if part is None else response[slice(*part)]
    return sum(_answer_span(text, (answer,)) is not None for answer in answers), len(answers)


_SHOWS = 2000
"""How many of its first characters tell the language of a text."""
EMPTY = "no answer"
"""Why nothing was read where nothing stands that could be an answer."""


def _places(match: Match, response: str, begin: int) -> list[TextSpan]:
    """The parts of a response to search: all of it, or with `after` the first line with text after each
    occurrence of these words, up to the next occurrence."""
    if match.after is None:
        return [(begin, len(response))]
    plain = caseless(response)
    spans = [plain.original(*found.span()) for found in _words(match.after).finditer(plain.text)]
    places: list[TextSpan] = []
    for (first, last), (following, _) in pairwise([*spans, (len(response), 0)]):
        line = _LINE.match(response, last, following) if begin <= first and last <= following else None
        if line is not None:
            places.append(line.span(1))
    return places


@lru_cache(maxsize=256)
def _words(words: str) -> re.Pattern[str]:
    return re.compile(r"\s++".join(map(re.escape, caseless(words).text.split())))


_LINE = re.compile(r"[*_`]*+[\s:=]*+([^\n]*+)")
"""Behind the words: what emphasis closes, a colon, and a line."""


def _compared(match: Match, item: Item, text: str) -> str:
    """What of a right answer is compared: all of it, or what follows the last `gold_after`."""
    if match.gold_after is None:
        return text.strip()
    answer = behind_working(text, match.gold_after)
    if not answer:
        raise Unmatchable(
            f"item {item.id}: nothing follows {match.gold_after!r} in the right answer {_short(text)}",
            "`gold_after` is what stands before the part that is compared, in every right answer",
        )
    return answer


def behind_working(text: str, mark: str) -> str:
    """The answer behind the last mark in a text that shows its working, with any brace that the mark opens
    closed; empty without the mark."""
    answer = text.rpartition(mark)[2] if mark in text else ""
    return (answer[: closing_brace(answer, 0)] if mark.endswith("{") else answer).strip()


def _ways_out(match: Match, stated: Sequence[str]) -> str:
    if match.gold_after is None and all(WORKING_ENDS in text for text in stated):
        return f'match = {{ gold_after = "{WORKING_ENDS}", ... }} compares what follows it'
    if match.kind == "number":
        return 'write it as one number, as in 1,234.5; or match = { as = "text", ... }'
    return 'match = { as = "exact", ... } compares every character'


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:18]}...{text[-18:]}")


MOST_STORED = 200
"""Characters of the longest form of an answer that is stored; of a longer one its digest is."""


def _brief(form: str) -> str:
    return form if len(form) <= MOST_STORED else f"sha256:{sha256(form.encode()).hexdigest()}"


# Numbers


def _reads_number(match: Match, text: str, answers: tuple[str, ...], comma: bool) -> AnswerReading:
    """Behind words the first number of their sentence counts; in a whole response the one that it gives."""
    if match.after is None:
        given = given_number(text, comma)
        one, rule = given.number, given.rule
    else:
        one, rule = first_number(text, comma, match.after), "number behind the words"
    if one is None:
        return AnswerReading(None, EMPTY if match.after is not None else rule)
    if one.value is None:
        return AnswerReading(None, "several numbers as one answer")
    within = Fraction(str(match.within or 0))
    right = any(one.equals(number, within) for answer in answers for number in _gold_numbers(answer, comma))
    form = f"{one.value}%" if one.percent else str(one.value)
    return AnswerReading(right, rule, (one.start, one.end), _brief(form))


def _gold_numbers(answer: str, comma: bool) -> tuple[WrittenNumber, ...]:
    """The number of a right answer as data have it, and where the language writes a decimal comma also as a
    person writes it: 1.250 is one and a quarter in the one and a thousand and more in the other."""
    return (_number(answer), *(numbers(answer, True)[:1] if comma else ()))


@lru_cache(maxsize=2**12)
def _number(answer: str) -> WrittenNumber:
    """The number of a right answer, of which `_number_problem` says that it has one."""
    return _numbers_of(answer)[0]


def _numbers_of(answer: str) -> list[WrittenNumber]:
    """The numbers of a right answer: 3,75 is one with a decimal comma, and none without."""
    every = numbers(answer)
    return numbers(answer, True) if any(number.value is None for number in every) else every


def _number_problem(answer: str) -> str | None:
    every = _numbers_of(answer)
    if len(every) != 1:
        return f"has {len(every)} numbers" if every else "has no number"
    return None if every[0].value is not None else "is not one number"


def _other_number(match: Match, answers: tuple[str, ...]) -> str:
    """The next whole number that is none of the right ones."""
    right = [_number(answer) for answer in answers]
    within = Fraction(str(match.within or 0))
    value = int(right[0].value or 0) + int(within) + 1
    while any(WrittenNumber(Fraction(value), 0, 0).equals(one, within) for one in right):
        value += int(within) + 1
    return str(value)


# Texts


def _reads_text(match: Match, text: str, answers: tuple[str, ...], comma: bool) -> AnswerReading:
    return _reads_whole(text, answers, normalised)


def _reads_exact(match: Match, text: str, answers: tuple[str, ...], comma: bool) -> AnswerReading:
    return _reads_whole(text, answers, str.strip)


def _reads_whole(text: str, answers: tuple[str, ...], form: Callable[[str], str]) -> AnswerReading:
    answer = text.strip()
    if not form(answer):
        return AnswerReading(None, EMPTY)
    start = text.index(answer)
    right = form(answer) in map(form, answers)
    return AnswerReading(right, "the whole answer", (start, start + len(answer)), _brief(form(answer)))


@lru_cache(maxsize=2**12)
def normalised(text: str) -> str:
    """A text without case, punctuation, articles of English and white space between words, as SQuAD compares
    answers (Rajpurkar et al. 2016, section 6.1): there ASCII punctuation goes, here that of every script."""
    folded = fold(text)
    # Most texts are ASCII, and looking at each character of those costs more than all else.
    words = (folded.lower() if folded.isascii() else caseless(folded).text).translate(_ASCII_MARKS)
    if not words.isascii():
        words = _NO_WORD.sub(lambda match: "" if _is_mark(match[0]) else match[0], words)
    return " ".join(_ARTICLES.sub(" ", words).split())


@dataclass(frozen=True, slots=True)
class CaselessText:
    """A text without case and forms of characters, and the span of the original that each character of it was
    made of: `ß` is two, and a letter with its accents may be one."""

    text: str
    spans: Sequence[TextSpan]

    def original(self, start: int, end: int) -> TextSpan:
        """The span of the original for one of the text that is not empty."""
        return self.spans[start][0], self.spans[end - 1][1]


def caseless(text: str) -> CaselessText:
    """A text in the form in which texts are compared, but for punctuation, articles and white space."""
    made, spans, place = list[str](), list[TextSpan](), 0
    while place < len(text):
        run = _SIMPLE.match(text, place)
        if run is not None:
            made.append(run[0].lower())
            spans += zip(range(place, run.end()), range(place + 1, run.end() + 1), strict=True)
            place = run.end()
            continue
        start, place = place, place + 1
        while place < len(text) and _goes_with_last(text[place]):
            place += 1
        plain = unicodedata.normalize("NFKC", text[start:place]).casefold()
        made.append(plain)
        spans += [(start, place)] * len(plain)
    return CaselessText("".join(made), spans)


_ALONE = r"\x00-\x7f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3"
_SIMPLE = re.compile(rf"[{_ALONE}]+(?![^{_ALONE}])")
"""Characters of which nothing changes but the case, before another one such: most of any text."""
_A_WORD = re.compile(r"[^\W_]{4}")
"""A word that is no article. Only where there is none a text may be nothing but articles and marks."""
_NO_WORD = re.compile(r"[^\w\s]|_")


def _goes_with_last(character: str) -> bool:
    """Whether a character may become one with those before it: accents and vowel signs, the later letters of
    a Korean syllable, and half-width Japanese voicing marks."""
    code = ord(character)
    return unicodedata.category(character)[0] == "M" or 0x1160 <= code <= 0x11FF or code in (0xFF9E, 0xFF9F)


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


_ASCII_MARKS = {code: None for code in range(128) if _is_mark(chr(code))}
_ARTICLES = re.compile(r"(?<!\S)(?:a|an|the)(?!\S)")


def _text_problem(answer: str) -> str | None:
    return None if normalised(answer) else "is empty once punctuation and articles are removed"


def _other_text(match: Match, answers: tuple[str, ...]) -> str:
    """A word that is none of the right answers and in none of them."""
    known = normalised(" ".join(answers))
    return next(
        word for word in _NO_WORDS if normalised(word) not in known and not _answer_span(word, answers)
    )


_NO_WORDS = ("qqxv", "vvzk", "jjwq")


# Texts within texts


def _reads_within(match: Match, text: str, answers: tuple[str, ...], comma: bool) -> AnswerReading:
    span = _answer_span(text, answers)
    if span is None and not _A_WORD.search(fold(text)) and not normalised(text):
        return AnswerReading(None, EMPTY)
    return (
        AnswerReading(False, "no right answer in it")
        if span is None
        else AnswerReading(True, "a right answer in it", span)
    )


def _answer_span(text: str, answers: Sequence[str]) -> TextSpan | None:
    """The first place of an answer in a text, as words of it: whatever its case, punctuation and articles."""
    plain = caseless(fold(text))
    folded = plain.text
    for answer in filter(normalised, answers):  # one of nothing but articles would fit between any characters
        for found in _answer_pattern(answer).finditer(folded):
            start, end = found.span()
            begun = _go_on(folded[start - 1 : start], folded[start])
            if not begun and not _go_on(folded[end - 1], folded[end : end + 1]):
                return plain.original(start, end)
    return None


@lru_cache(maxsize=2**12)
def _answer_pattern(answer: str) -> re.Pattern[str]:
    words = (r"(?:[^\w\s]|_)*?".join(map(re.escape, word)) for word in normalised(answer).split())
    return re.compile(r"(?:\W|_)+?(?:(?:a|an|the)(?:\W|_)+?)*".join(words))


def _go_on(left: str, right: str) -> bool:
    """Whether two characters are of one word. Words of scripts that write none apart begin anywhere."""
    return _in_word(left) and _in_word(right) and not (_unspaced(left) or _unspaced(right))


def _in_word(character: str) -> bool:
    return bool(character) and unicodedata.category(character)[0] in "LMN"


def _unspaced(character: str) -> bool:
    """Whether it is of a script without spaces: Thai to Myanmar, Khmer, Chinese and Japanese."""
    code = ord(character)
    return any(first <= code <= last for first, last in _UNSPACED)


_UNSPACED = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2E80, 0x9FFF), (0x20000, 0x3FFFF))

# Responses behind filters


def _behind_filters(match: Match, item: Item, response: str) -> Extraction:
    given = read_filtered(*_tables(match), response, right_answers(match, item), choices_of(match, item))
    if given.failed is not None:
        return Extraction(None, given.failed)
    if not given.right and not given.found:
        return Extraction(None, NO_MATCH)
    choice = RIGHT if given.right else WRONG
    return Extraction(choice, "behind the filters", "inferred", 0, len(response), _brief(given.text))


NO_MATCH = "no match of the filter"
"""Why nothing was read of a response in which a filter's regular expression matches nothing."""


@lru_cache(maxsize=256)
def _tables(match: Match) -> tuple[str, str]:
    """Its filters and what it ignores, as `read_filtered` takes them."""
    stated = match.model_dump(mode="json", include={"filters", "ignore"}, exclude_none=True)
    return filtered_text(stated.get("filters", [])), filtered_text(stated.get("ignore", {}))


def choices_of(match: Match, item: Item) -> tuple[str, ...]:
    """The choices that A, B, C ... stand for, if a filter reads letters; else empty. Raises `Unmatchable` for
    an item without choices."""
    if not any(isinstance(one, MultiChoiceRegexFilter) for one in match.filters or ()):
        return ()
    column = item.extra.get("choices")
    listed = isinstance(column, list) and all(isinstance(text, str) for text in column)
    choices: tuple[str, ...] = tuple(column) if listed and column else item.options
    if not 0 < len(choices) <= len(LETTERS):
        raise Unmatchable(
            f"item {item.id} has {len(choices)} choices, and a letter stands for one of 1 to {len(LETTERS)}",
            'extra = ["choices"] in `loading.fields` keeps a column with a list of them; or kind = "regex"',
        )
    return choices


def _other_filtered(match: Match, answers: tuple[str, ...]) -> str:
    """A word that is read as none of the right answers, where there is one."""
    ignore = _tables(match)[1]
    return next(
        (word for word in _NO_WORDS if not read_filtered("[]", ignore, word, answers, ()).right), _NO_WORDS[0]
    )


COMPARISONS: Mapping[MatchKind, AnswerComparison] = {
    "number": AnswerComparison(_reads_number, _number_problem, _other_number, in_text=True),
    "text": AnswerComparison(_reads_text, _text_problem, _other_text, in_text=False),
    "exact": AnswerComparison(_reads_exact, lambda answer: None, _other_text, in_text=False),
    "contains": AnswerComparison(_reads_within, _text_problem, _other_text, in_text=True, tells_apart=False),
    "filtered": AnswerComparison(None, lambda answer: None, _other_filtered, in_text=False),
}
"""By the `as` of `match` in the language."""
VERSIONS = {
    "match:number": 4,
    "match:text": 4,
    "match:exact": 4,
    "match:contains": 4,
    "match:filtered": 1,
}
"""The version of each part here, which stamps hold (`instrument.versions`)."""
