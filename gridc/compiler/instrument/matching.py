"""Free text against an item's right answers: which part of a response is its answer, and whether it is right.

The right answers are the item's `references`; of an item with options they are the texts of the right ones.
Pure, so that the run, `verify`, the oracles and the check before a stamp read alike.

Numbers are read as people and models write them: 1,234.50; -$5; 25 %; 3 million; 1/2; 1.2e3. Their values are
exact (`Fraction`), so that equal numbers are equal however they are written. Responses can be degenerate, so
no pattern may backtrack over a run of characters: unbounded repetitions are possessive.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise

from gridc.compiler.instrument.extract import Confidence, Extraction
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.plain_text import fold, lowered
from gridc.compiler.instrument.readers import refuses
from gridc.compiler.instrument.thoughts import answer_begins
from gridc.schema.effects import Match, MatchKind
from gridc.schema.scores import MATCHES

MOST_DIGITS = 400
"""Digits of the longest number that is read."""


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A number, its span in the text, in characters, and whether a percent sign follows it. A sum that
    is not worked out, a range and alternatives ("40-45", "42 or 43") are no one number: `value` is None."""

    value: Fraction | None
    start: int
    end: int
    percent: bool = False

    def equals(self, other: "WrittenNumber", within: Fraction = Fraction(0)) -> bool:
        """Whether two numbers are the same, or differ by no more than `within`. Where one alone has a percent
        sign, 25 % is 25 and also 0.25."""
        if self.value is None or other.value is None:
            return False
        ours, theirs = [self.value], [other.value]
        if self.percent is not other.percent:
            (ours if self.percent else theirs).append((self.value if self.percent else other.value) / 100)
        return any(abs(one - another) <= within for one in ours for another in theirs)


def numbers(text: str) -> list[WrittenNumber]:
    """The numbers of a text, in order. Numbers that an expression joins are one, and what it comes to is the
    one behind its last equals sign: "40 + 2 = 42" is 42."""
    plain = fold(_GROUP_SPACE.sub(",", text).translate(_POINTS))
    matches = [_Match(match, _value(match)) for match in _NUMBER.finditer(plain)]
    runs: list[list[tuple[str, _Match]]] = []
    for place, match in enumerate(matches):
        joint = _joint(plain, matches[place - 1], match) if place else None
        if joint is None:
            runs.append([])
        runs[-1].append((joint or "", match))
    return list(_written_numbers(runs))


@dataclass(frozen=True, slots=True)
class _Match:
    found: re.Match[str]
    value: Fraction | None


def _written_numbers(runs: list[list[tuple[str, _Match]]]) -> Iterator[WrittenNumber]:
    for run in runs:
        (joint, last), (_, first) = run[-1], run[0]
        alone = len(run) == 1 or joint == "="
        start = last.found.start() if alone else first.found.start()
        percent = last.found["percent"] is not None
        yield WrittenNumber(last.value if alone else None, start, last.found.end(), percent)


def _joint(text: str, one: _Match, other: _Match) -> str | None:
    """What joins two numbers that follow each other: "=" or anything else; None where nothing does."""
    gap = text[one.found.end() : other.found.start()]
    if _EQUALS.fullmatch(gap):
        return "="
    between = _AND.fullmatch(gap) and _BETWEEN.search(text, max(0, one.found.start() - 16), one.found.start())
    return "joined" if between or _JOINED.fullmatch(gap) else None


def _value(match: re.Match[str]) -> Fraction | None:
    if sum(character.isdecimal() for character in match[0]) > MOST_DIGITS:
        return None
    try:
        if match["below"] is not None:
            value = Fraction(_digits(match["above"])) / Fraction(_digits(match["below"]))
            value += Fraction(match["whole"] or 0)
        elif match["fraction"] is not None:
            value = Fraction(_digits(match["fraction"])) / Fraction(_digits(match["of"]))
        else:
            value = Fraction(_digits(match["decimal"]))
    except ZeroDivisionError:
        return None
    value *= Fraction(10) ** int(match["power"] or match["exponent"] or 0)
    value *= _MAGNITUDES[lowered(match["magnitude"] or "")]
    negative = match["sign"] is not None and match["sign"].strip()[0] not in "+"
    return -value if negative else value


def _digits(digits: str) -> str:
    return re.sub(r"[,'{}\\]", "", digits)


_GROUP_SPACE = re.compile(r"(?<=\d)[\u00a0\u2007\u2009\u202f](?=\d{3}(?!\d))")
"""A narrow space between thousands. An ordinary one stands between two numbers."""
_POINTS = {0x066B: ".", 0x066C: ","}
"""The decimal and thousands marks of Arabic."""
_INTEGER = r"(?:\d{1,3}(?:(?:,|'|\\,|\{,\})\d{3})++(?!\d)|\d++)"
_DECIMAL = rf"(?:{_INTEGER}(?:\.\d++)?|(?<!\d)\.\d++)"
_CURRENCY = r"(?:\\?[$€£¥₹]\s?)"
_NUMBER = re.compile(
    rf"(?P<sign>(?:(?<!\w)(?:minus|negative)\s{_CURRENCY}?|(?<![\w)\]}}])[-+]{_CURRENCY}?))?"
    r"(?<!\w)(?<![^\W\d]-)"
    rf"(?:\\[dt]?frac\s?\{{(?P<fraction>{_DECIMAL})\}}\s?\{{(?P<of>{_DECIMAL})\}}"
    rf"|(?:(?P<whole>\d++)\s(?=\d{{1,9}}/))?(?P<above>{_DECIMAL})/(?P<below>{_DECIMAL})"
    rf"|(?P<decimal>{_DECIMAL}))"
    r"(?:[eE](?P<exponent>[-+]?\d{1,3})(?!\w)"
    r"|\s?(?:[×x*]|\\times|\\cdot)\s?10\s?(?:\^|\*\*)\s?\{?(?P<power>[-+]?\d{1,3})(?!\d)\}?)?"
    r"(?:\s(?P<magnitude>thousand|million|billion|trillion)\b)?"
    r"(?P<percent>\s?\\?%|\sper\s?cent\b)?",
    re.IGNORECASE,
)
_MAGNITUDES = {"": 1, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_DRESS = r"[ \t*_`$€£¥₹(){}\[\]\\]*+"
_EQUALS = re.compile(rf"{_DRESS}[=≈]{_DRESS}")
_JOINED = re.compile(
    r"[,.:'/^]|[ \t]++|[ \t_`$€£¥₹(){}\[\]]*+"
    rf"(?:[-+*/×÷^]|\\times|\\cdot|\\div|(?<=\s)or(?=\s)){_DRESS}",
    re.IGNORECASE,
)
_AND = re.compile(rf"{_DRESS}and\s{_DRESS}", re.IGNORECASE)
_BETWEEN = re.compile(rf"\bbetween\s{_DRESS}\Z", re.IGNORECASE)


RIGHT, WRONG = (MATCHES.index(name) for name in ("right", "wrong"))

TextSpan = tuple[int, int]

WORKING_ENDS = "####"
"""What stands between the working and the answer in GSM8K's right answers (Cobbe et al. 2021)."""


class Unmatchable(ValueError):
    """A right answer that no response could match, or none at all; `help` is the way out."""

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
    """A way to compare answers. `reads` reads a text, or the words behind `after`, against the right answers;
    `problem` says why a right answer could never be matched; `errs` gives an answer that is none of them;
    `in_text` says whether an answer is found in a longer text, `tells_apart` whether wrong ones differ."""

    reads: Callable[[Match, str, tuple[str, ...]], AnswerReading]
    problem: Callable[[str], str | None]
    errs: Callable[[Match, tuple[str, ...]], str]
    in_text: bool
    tells_apart: bool = True


def right_answers(match: Match, item: Item) -> tuple[str, ...]:
    """The texts that a response is compared with. Raises `Unmatchable` where there is none, or one that
    nothing could match."""
    stated = item.references or tuple(item.options[option] for option in sorted(item.right))
    if not stated:
        raise Unmatchable(
            f"item {item.id} has no right answer in free text",
            "`fields.references` of `rows` names the columns of right answers; or state another `method`",
        )
    answers = tuple(_compared(match, item, text) for text in stated)
    for answer in answers:
        problem = COMPARISONS[match.kind].problem(answer)
        if match.after is not None and "\n" in answer and match.kind != "number":
            problem = "has several lines, and only one is read after the words"
        if problem is not None:
            help = _ways_out(match, stated)
            raise Unmatchable(f"item {item.id}: the right answer {_short(answer)} {problem}", help)
    return answers


def read_answer(match: Match, item: Item, response: str) -> Extraction:
    """Whether a response gives one of an item's right answers: the choice is one of `MATCHES`, None where
    nothing could be read. What matches nothing and begins with a phrase of refusal is unreadable."""
    begin = answer_begins(response)
    if begin is None:
        return Extraction(None, "the reasoning never ended")
    if not response[begin:].strip():
        return Extraction(None, "empty")
    places = list(_places(match, response, begin))
    if not places:
        return Extraction(None, f"no `{match.after}`")
    answers, compare = right_answers(match, item), COMPARISONS[match.kind].reads
    read = [(start, compare(match, response[start:end], answers)) for start, end in places]
    start, reading = next((one for one in reversed(read) if one[1].rule != EMPTY), read[-1])
    if not reading.right and refuses(response):
        return Extraction(None, "a refusal")
    if reading.right is None:
        return Extraction(None, reading.rule)
    choice = RIGHT if reading.right else WRONG
    first, last = (start + place for place in reading.span)
    confidence: Confidence = "inferred" if match.after is None else "stated"
    return Extraction(choice, reading.rule, confidence, first, last, reading.form)


def contained(match: Match, item: Item, response: str) -> tuple[int, int]:
    """How many of an item's right answers a response contains behind its reasoning, of how many."""
    begin = answer_begins(response)
    answers = right_answers(match, item)
    text = "" if begin is None else response[begin:]
    return sum(_answer_span(text, (answer,)) is not None for answer in answers), len(answers)


EMPTY = "no answer"
"""Why nothing was read where nothing stands that could be an answer."""


def _places(match: Match, response: str, begin: int) -> Iterator[TextSpan]:
    """Where answers may stand: everywhere; or behind each of the words, in the first line that has any."""
    if match.after is None:
        yield begin, len(response)
        return
    plain = caseless(response)
    for found in _words(match.after).finditer(plain.text):
        first, last = plain.original(*found.span())
        line = _LINE.match(response, last) if first >= begin else None
        if line is not None:
            yield line.span(1)


@lru_cache(maxsize=256)
def _words(words: str) -> re.Pattern[str]:
    return re.compile(r"\s++".join(map(re.escape, caseless(words).text.split())))


_LINE = re.compile(r"[*_`]*+[\s:=]*+([^\n]*+)")
"""Behind the words: what emphasis closes, a colon, and a line."""


def _compared(match: Match, item: Item, text: str) -> str:
    """What of a right answer is compared: all of it, or what follows the last `gold_after`."""
    if match.gold_after is None:
        return text.strip()
    answer = text.rpartition(match.gold_after)[2] if match.gold_after in text else ""
    if not answer.strip():
        raise Unmatchable(
            f"item {item.id}: nothing follows {match.gold_after!r} in the right answer {_short(text)}",
            "`gold_after` is what stands before the part that is compared, in every right answer",
        )
    return answer.strip()


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


def _reads_number(match: Match, text: str, answers: tuple[str, ...]) -> AnswerReading:
    """Behind words the first number of their sentence counts, since others follow it; in a whole response the
    last one."""
    every = numbers(text if match.after is None else _SENTENCE_ENDS.split(text, 1)[0])
    if not every:
        return AnswerReading(None, EMPTY)
    one = every[-1] if match.after is None else every[0]
    if one.value is None:
        return AnswerReading(None, "several numbers as one answer")
    rule = "last number" if match.after is None else "number behind the words"
    within = Fraction(str(match.within or 0))
    right = any(one.equals(_number(answer), within) for answer in answers)
    form = f"{one.value}%" if one.percent else str(one.value)
    return AnswerReading(right, rule, (one.start, one.end), _brief(form))


_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_])")


@lru_cache(maxsize=2**12)
def _number(answer: str) -> WrittenNumber:
    """The number of a right answer, of which `_number_problem` says that it has one."""
    return numbers(answer)[0]


def _number_problem(answer: str) -> str | None:
    count = len(every := numbers(answer))
    if count != 1:
        return "has no number" if count == 0 else f"has {count} numbers"
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


def _reads_text(match: Match, text: str, answers: tuple[str, ...]) -> AnswerReading:
    return _reads_whole(text, answers, normalised)


def _reads_exact(match: Match, text: str, answers: tuple[str, ...]) -> AnswerReading:
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
    words = "".join(character for character in caseless(fold(text)).text if not _is_mark(character))
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
    if text.isascii():
        return CaselessText(text.lower(), [(place, place + 1) for place in range(len(text))])
    starts = [place for place, character in enumerate(text) if not place or not _goes_with_last(character)]
    made, spans = list[str](), list[TextSpan]()
    for start, end in pairwise([*starts, len(text)]):
        plain = unicodedata.normalize("NFKC", text[start:end]).casefold()
        made.append(plain)
        spans += [(start, end)] * len(plain)
    return CaselessText("".join(made), spans)


def _goes_with_last(character: str) -> bool:
    """Whether a character may become one with those before it: accents and vowel signs, the later letters of
    a Korean syllable, and half-width Japanese voicing marks."""
    code = ord(character)
    return unicodedata.category(character)[0] == "M" or 0x1160 <= code <= 0x11FF or code in (0xFF9E, 0xFF9F)


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


_ARTICLES = re.compile(r"(?<!\S)(?:a|an|the)(?!\S)")


def _text_problem(answer: str) -> str | None:
    return None if normalised(answer) else "is nothing but case, punctuation and articles"


def _other_text(match: Match, answers: tuple[str, ...]) -> str:
    """A word that is none of the right answers and in none of them."""
    known = normalised(" ".join(answers))
    return next(
        word for word in _NO_WORDS if normalised(word) not in known and not _answer_span(word, answers)
    )


_NO_WORDS = ("qqxv", "vvzk", "jjwq")


# Texts within texts


def _reads_within(match: Match, text: str, answers: tuple[str, ...]) -> AnswerReading:
    if not normalised(text):
        return AnswerReading(None, EMPTY)
    span = _answer_span(text, answers)
    return (
        AnswerReading(False, "no right answer in it")
        if span is None
        else AnswerReading(True, "a right answer in it", span)
    )


def _answer_span(text: str, answers: Sequence[str]) -> TextSpan | None:
    """The first place of an answer in a text, as words of it: whatever its case, punctuation and articles."""
    plain = caseless(fold(text))
    folded = plain.text
    for answer in answers:
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

COMPARISONS: Mapping[MatchKind, AnswerComparison] = {
    "number": AnswerComparison(_reads_number, _number_problem, _other_number, in_text=True),
    "text": AnswerComparison(_reads_text, _text_problem, _other_text, in_text=False),
    "exact": AnswerComparison(_reads_exact, lambda answer: None, _other_text, in_text=False),
    "contains": AnswerComparison(_reads_within, _text_problem, _other_text, in_text=True, tells_apart=False),
}
"""By the `as` of `match` in the language."""
VERSIONS = {
    "match:number": 3,
    "match:text": 3,
    "match:exact": 3,
    "match:contains": 3,
}
"""The version of each part here, which stamps hold (`instrument.versions`)."""
