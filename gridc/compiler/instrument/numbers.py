"""Numbers in a text as people and models write them: 1,234.50; -$5; 25 %; 3 million; 1/2; 1.2e3.

Values are exact (`Fraction`), so that equal numbers are equal however they are written. Responses can be
degenerate, so no pattern may backtrack over a run of characters: unbounded repetitions are possessive.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from gridc.compiler.instrument.plain_text import fold

MOST_DIGITS = 400
"""Digits of the longest number that is read."""


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A number, its span in the text, in characters, and whether a percent sign stands behind it. A sum that
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
    return list(_settled(runs))


@dataclass(frozen=True, slots=True)
class _Match:
    found: re.Match[str]
    value: Fraction | None


def _settled(runs: list[list[tuple[str, _Match]]]) -> Iterator[WrittenNumber]:
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
            value = Fraction(_plain(match["above"])) / Fraction(_plain(match["below"]))
            value += Fraction(match["whole"] or 0)
        elif match["fraction"] is not None:
            value = Fraction(_plain(match["fraction"])) / Fraction(_plain(match["of"]))
        else:
            value = Fraction(_plain(match["decimal"]))
    except ZeroDivisionError:
        return None
    value *= Fraction(10) ** int(match["power"] or match["exponent"] or 0)
    value *= _MAGNITUDES[(match["magnitude"] or "").lower()]
    negative = match["sign"] is not None and match["sign"].strip()[0] not in "+"
    return -value if negative else value


def _plain(digits: str) -> str:
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
