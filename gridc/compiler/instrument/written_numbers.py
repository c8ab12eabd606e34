"""The numbers of a text, as people and models write them, and the one that it gives as its answer.

1,234.50; -$5; $70k; 25 %; 3 million; 70万; 1/2; 2½; \\frac{-2}{3}; 1.2e3; 10⁶. Values are exact (`Fraction`),
so that equal numbers are equal however they are written. Chinese, Japanese, Korean and Thai need no space
beside a number; a letter of another script makes one word with it. In many languages the decimal mark is a
comma, and `decimal_comma` tells them.

Responses can be degenerate, so no pattern may backtrack over a run of characters: unbounded repetitions are
possessive.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from gridc.compiler.instrument.plain_text import fold, lowered

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


def numbers(text: str, comma: bool = False) -> list[WrittenNumber]:
    """The numbers of a text, in order. Numbers that an expression joins are one, and what it comes to is the
    one behind its last equals sign: "40 + 2 = 42" is 42. `comma`: a comma is the decimal mark."""
    return _numbers(_plain(text), comma)


def _numbers(plain: str, comma: bool) -> list[WrittenNumber]:
    runs: list[list[tuple[str, _Match]]] = []
    for match in _matches(plain, comma):
        joint = _joint(plain, runs[-1][-1][1], match) if runs else None
        if joint is None:
            runs.append([])
        runs[-1].append((joint or "", match))
    return [_joined(run) for run in runs]


@dataclass(frozen=True, slots=True)
class _Match:
    """One number of an expression. `unit` is what a Chinese, Japanese or Korean word multiplies it by."""

    value: Fraction | None
    start: int
    end: int
    percent: bool
    unit: int


def _plain(text: str) -> str:
    """The text in plain characters, of the same length. What stands above the line goes on doing so."""
    if text.isascii():
        return fold(text)
    return fold(_GROUP_SPACE.sub("'", text).translate(_MARKS))


def _matches(plain: str, comma: bool) -> Iterator[_Match]:
    pattern, place = _NUMBERS[comma], 0
    while (found := _START.search(plain, place)) is not None:
        match = pattern.match(plain, found.start())
        if match is None:
            place = found.end()
            continue
        begin, negative = _sign(plain, match, place)
        value = _value(match, comma)
        value = -value if value is not None and negative else value
        unit = _UNITS.get(match["unit"] or "", 1)
        yield _Match(value, begin, match.end(), match["percent"] is not None, unit)
        raised = _RAISED_UNIT.match(plain, match.end())
        place = match.end() if raised is None else raised.end()


def _sign(plain: str, match: re.Match[str], place: int) -> tuple[int, bool]:
    """Where a number begins with its sign, and whether it is negative. Its currency counts only behind it."""
    if match["sign"] is not None:
        return match.start("sign"), match["sign"] == "-"
    begin = match.start()
    before = plain[max(begin - 2, place) : begin]
    if before and (before[-1] in _SIGNS or (before[-1].isspace() and before[0] in _SIGNS)):
        sign = _SIGN.search(plain, max(place, begin - 12), begin)
        if sign is not None:
            return sign.start(), sign[0] != "+"
    return begin if match["currency"] is None else match.end("currency"), False


def _joined(run: list[tuple[str, _Match]]) -> WrittenNumber:
    """What an expression comes to: its part behind the last equals sign, where that is one number."""
    last = run[-1][1]
    begin = max((place for place, (joint, _) in enumerate(run) if joint == "="), default=0)
    parts = [match for _, match in run[begin:]]
    values = [match.value for match in parts if match.value is not None]
    if len(values) < len(parts) or any(joint != "+" for joint, _ in run[begin + 1 :]):
        start = parts[0].start if len(parts) == 1 else run[0][1].start
        return WrittenNumber(None, start, last.end, last.percent)
    value = values[0] if len(values) == 1 else sum(values, Fraction(0))
    return WrittenNumber(value, parts[0].start, last.end, last.percent)


def _joint(text: str, one: _Match, other: _Match) -> str | None:
    """What joins two numbers that follow each other: "=", "+" for those of one number ("1億2000万"), or
    anything else; None where nothing does."""
    if one.end == other.start and one.unit > other.unit:
        return "+"
    if _EQUALS.fullmatch(text, one.end, other.start):
        return "="
    between = _AND.fullmatch(text, one.end, other.start) and _BETWEEN.search(
        text, max(0, one.start - 16), one.start
    )
    return "joined" if between or _JOINED.fullmatch(text, one.end, other.start) else None


def _value(match: re.Match[str], comma: bool) -> Fraction | None:
    if len(match[0]) > MOST_DIGITS and sum(map(str.isdecimal, match[0])) > MOST_DIGITS:
        return None
    try:
        value = _base(match, comma)
    except ZeroDivisionError:
        return None
    if match["raised"] is not None:
        power = _power(match["raised"])
        if abs(power) * len(match[0]) > MOST_DIGITS or (not value and power < 0):
            return None
        value **= power
    tens, magnitude, unit = (
        match["power"] or match["exponent"],
        match["magnitude"] or match["letter"],
        match["unit"],
    )
    if tens is not None:
        value *= Fraction(10) ** _power(tens)
    if magnitude is not None:
        value *= _MAGNITUDES[lowered(magnitude)]
    return value if unit is None else value * _UNITS[unit]


def _power(written: str) -> int:
    return int(re.sub(r"[^-\d]", "", written.translate(_LOWERED_DIGITS)))


def _base(match: re.Match[str], comma: bool) -> Fraction:
    """What stands before powers and words like "million"."""
    if match["decimal"] is not None:
        return _decimal(match["decimal"], comma)
    if match["vulgar"] is not None:
        above, below = unicodedata.normalize("NFKC", match["vulgar"]).split("\u2044")
        return Fraction(match["units"] or 0) + Fraction(int(above), int(below))
    if match["below"] is not None:
        above, below, whole = match["above"], match["below"], match["whole"]
    else:
        above, below, whole = (
            match["fraction"] or match["digit"],
            match["of"] or match["of_digit"],
            match["mixed"],
        )
    quotient = _decimal(above, comma) / _decimal(below, comma)
    return quotient if whole is None else Fraction(whole) + quotient


def _decimal(written: str, comma: bool) -> Fraction:
    """A number with its marks. The last of two kinds of mark is the decimal one; one that is repeated stands
    between thousands, and so does the other one of the language's before three digits."""
    if written.isdecimal():
        return Fraction(int(written))
    digits = re.sub(r"['{}\\!\s]", "", written)
    points, commas = digits.count("."), digits.count(",")
    if points and commas:
        mark = "." if digits.rfind(".") > digits.rfind(",") else ","
    elif points + commas != 1:
        mark = ""
    else:
        mark, other = (",", ".") if comma else (".", ",")
        if other in digits and not _THOUSANDS.fullmatch(digits):
            mark = other
    whole, _, rest = digits.partition(mark) if mark else (digits, "", "")
    whole = re.sub(r"[.,]", "", whole)
    return Fraction(f"{whole or 0}.{rest}" if rest else whole)


_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}[.,]\d{3}")
_GROUP_SPACE = re.compile(r"(?<=\d)[\u00a0\u2007\u2009\u202f](?=\d{3}(?!\d))")
"""A narrow space between thousands. An ordinary one stands between two numbers."""
_ABOVE = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b"
_RAISED = "\ue000-\ue00a"
_MARKS = {0x066B: ".", 0x066C: "'", 0x3001: ";", 0x3002: ";"} | {
    ord(digit): chr(0xE000 + place) for place, digit in enumerate(_ABOVE)
}
"""The decimal and thousands marks of Arabic; the comma and the full stop of Chinese, which stand between two
numbers and in none; and the digits above the line, which plain text would put on it."""
_LOWERED_DIGITS = {0xE000 + place: digit for place, digit in enumerate("0123456789-")}
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = rf"[^\W{_UNSPACED}]"
"""A character that makes one word with a number beside it."""
_INDIAN = r"(?<![\d,])[1-9]\d?(?:,\d\d(?!\d))++,\d{3}(?!,?\d)"
"""1,20,000: above a thousand India groups by two."""
_INTEGER = rf"(?:{_INDIAN}|\d{{1,3}}(?:(?:,\\!|,|'|\\,|\{{,\}})\d{{3}})++(?!\d)|\d++)"
_FORMS = {
    False: rf"(?:\d{{1,3}}(?:\.\d{{3}})++,\d++(?![.,]\d)|{_INTEGER}(?:\.\d++)?|(?<!\d)\.\d++)",
    True: r"(?:\d{1,3}(?:[.']\d{3}|\ \d{3})++(?!\d)(?:,\d++)?|\d{1,3}(?:,\d{3})++(?!\d)\.\d++"
    rf"|{_INDIAN}(?:\.\d++)?|\d{{1,3}}(?:,\d{{3}}){{2,}}+(?!\d)"
    r"|\d++(?:[.,]\d++|\{,\}\d++)?|(?<!\d)[.,]\d++)",
}
_CURRENCIES = "$€£¥₹₩฿￥￦"
_CURRENCY = rf"(?:\\?[{_CURRENCIES}]\s?)"
_SIGNS = "+-sSeE负負ス스"
"""The last characters of a sign."""
_SIGN = re.compile(
    rf"(?:(?<!{_WORD})(?:minus|negative)\s|(?<!{_WORD})(?<![)\]}}])[-+]|[负負]|マイナス|마이너스\s?)\Z",
    re.IGNORECASE,
)
_UNITS = {
    "百": 100, "千": 10**3, "천": 10**3, "พัน": 10**3, "万": 10**4, "萬": 10**4, "만": 10**4,
    "หมื่น": 10**4, "แสน": 10**5, "百万": 10**6, "ล้าน": 10**6, "千万": 10**7, "亿": 10**8, "億": 10**8,
    "억": 10**8, "兆": 10**12, "조": 10**12,
}  # fmt: skip
_MAGNITUDES = {
    "k": 10**3, "thousand": 10**3, "lakh": 10**5, "m": 10**6, "mn": 10**6, "million": 10**6,
    "crore": 10**7, "b": 10**9, "bn": 10**9, "billion": 10**9, "t": 10**12, "tn": 10**12, "trillion": 10**12,
}  # fmt: skip
_VULGAR = "¼-¾⅐-⅞"
_START = re.compile(rf"[\d.\\{_VULGAR}{_CURRENCIES}]")


def _number(form: str) -> re.Pattern[str]:
    """A pattern for a number that begins where it is matched. A letter such as the k of $70k multiplies it
    behind a currency; without one only a small k does, since 300K is a temperature. None does before what
    makes it a variable."""
    signed = rf"[-+]?{form}"
    power = rf"(?:[{_RAISED}]{{1,4}}|\^\{{?-?\d{{1,3}}(?!\d)\}}?)"
    units = "|".join(sorted(_UNITS, key=len, reverse=True))
    return re.compile(
        rf"(?P<currency>{_CURRENCY}(?P<sign>[-+])?)?(?<!{_WORD})(?<![^\W\d_{_UNSPACED}]-)(?:"
        rf"(?P<mixed>\d++)?\s?\\[dt]?frac\s?(?:\{{(?P<fraction>{signed})\}}|(?P<digit>\d))\s?"
        rf"(?:\{{(?P<of>{signed})\}}|(?P<of_digit>\d))"
        rf"|(?:(?P<whole>\d++)\s(?=\d{{1,9}}/))?(?P<above>{form})/(?P<below>{form})"
        rf"|(?:(?P<units>\d++)\s?)?(?P<vulgar>[{_VULGAR}])"
        rf"|(?P<decimal>{form}))"
        rf"(?:[eE](?P<exponent>[-+]?\d{{1,3}})(?!\w)"
        rf"|\s?(?:[×x*]|\\times|\\cdot)\s?10\s?(?P<power>{power}|(?:\^|\*\*)\s?[-+]?\d{{1,3}}(?!\d))"
        rf"|(?P<raised>{power}))?"
        rf"(?:\s(?P<magnitude>thousand|million|billion|trillion|lakh|crore)\b"
        rf"|(?P<letter>(?(currency)(?:k|mn?|bn?|tn?)|(?-i:k))(?!{_WORD}|\s?[-+*/^=$_({{\\]))"
        rf"|\s?(?P<unit>{units})(?![米克瓦卡分ธ]))?"
        r"(?P<percent>\s?\\?%|\sper\s?cent\b|\s?(?:パーセント|퍼센트|เปอร์เซ็นต์))?",
        re.IGNORECASE,
    )


_NUMBERS = {comma: _number(form) for comma, form in _FORMS.items()}
_MEASURE = r"(?:\\(?:text|mathrm|mbox|rm)\s?\{[^{}\d\n]{1,24}\}?|[kcdmµμ]?[mg]|ft|in|yd|mi|s|[a-z]{4,12})"
_RAISED_UNIT = re.compile(
    rf"(?:\\[,;:! ]|[\s~]){{0,3}}{_MEASURE}(?:\s?(?:[/*]|\\cdot)\s?{_MEASURE})?\^(?:\{{-?\d\}}|-?\d(?!\d))",
    re.IGNORECASE,
)
"""A unit with its exponent, whose digit counts nothing: 36\\text{ cm}^2, 9.8 m/s^2."""
_DRESS = r"[ \t*_`$€£¥₹(){}\[\]\\]*+"
_EQUALS = re.compile(rf"{_DRESS}[=≈]{_DRESS}")
_JOINED = re.compile(
    r"[,.:'/^]|[ \t]++|[ \t_`$€£¥₹(){}\[\]]*+"
    rf"(?:[-+*/×÷^]|\\times|\\cdot|\\div|(?<=\s)or(?=\s)){_DRESS}",
    re.IGNORECASE,
)
_AND = re.compile(rf"{_DRESS}and\s{_DRESS}", re.IGNORECASE)
_BETWEEN = re.compile(rf"\bbetween\s{_DRESS}\Z", re.IGNORECASE)


def decimal_comma(*texts: str) -> bool:
    """Whether numbers have a decimal comma in the language of the first of these texts that shows one."""
    return next((known for known in map(_has_decimal_comma, texts) if known is not None), False)


@lru_cache(maxsize=4096)  # the items of a benchmark are asked in turn, in one cell after another
def _has_decimal_comma(text: str) -> bool | None:
    """By the words of a text; None where they show nothing."""
    words = re.findall(r"[^\W\d_]+", lowered(text))
    points, commas = (sum(word in known for word in words) for known in (_POINT_WORDS, _COMMA_WORDS))
    commas += sum("\u0370" <= word[0] <= "\u04ff" for word in words)
    return None if points == commas else commas > points


_POINT_WORDS, _COMMA_WORDS = (
    frozenset(re.findall(r"\w+", words))
    for words in (
        "the of and is are how many much what does there each to in has have it that",
        """
        der die das und ist sind wie viele viel ein eine einen mit für von den dem auf kostet lautet beträgt
        antwort le la les des du est sont une un combien pour dans que qui et au aux avec réponse el los las
        es son cuántos cuántas cuánto cuesta cada para por con una respuesta en de il gli di che quanti quante
        quanto per sono uno risposta os quantos quantas custa não com um uma resposta het een hoeveel zijn
        antwoord hur många är och kostar svaret hvor mange er og koster ile jest są się kosztuje kolik je
        kaç ve bir cevap berapa adalah yang bao nhiêu là paljonko
        """,
    )
)
"""Words that are frequent in English, and in languages that write a decimal comma."""


# The number that is given as the answer


@dataclass(frozen=True, slots=True)
class GivenNumber:
    """The number that a text gives, None where it gives none or several as one; and the rule that says so."""

    number: WrittenNumber | None
    rule: str


NO_NUMBER = GivenNumber(None, "no answer")


def given_number(text: str, comma: bool = False) -> GivenNumber:
    """The number that a response gives as its answer: what is boxed; else what stands behind `####`; else
    behind words such as "the answer is"; else the only bold one; else its last number."""
    plain = _plain(text)
    told = _without_asides(_unchecked(plain, comma))
    for rule, part in (
        (_boxed, plain),
        (_behind_hashes, plain),
        (_behind_words, told),
        (_bold, told),
        (_last_number, told),
        (_last_number, plain),
    ):
        given = rule(part, comma)
        if given is not None:
            return given
    return NO_NUMBER


def first_number(text: str, comma: bool = False, marker: str = "") -> WrittenNumber | None:
    """The first number of a text's first sentence, since others follow it: "42 apples in 3 baskets". Behind a
    marker it may be a word."""
    plain = _plain(text)
    plain = plain[: _sentence_end(plain, 0)]
    worded = _in_words(lowered(plain), marker) if marker else None
    return worded or next(iter(_earnest(plain, _numbers(plain, comma))), None)


def _unchecked(plain: str, comma: bool) -> str:
    """The text before a check of its answer, where nothing but the check follows it."""
    check = _CHECK.search(plain)
    if check is None or _UNDONE.search(plain, check.end()):
        return plain
    end = len(plain.rstrip())
    if check["alone"] is None and (paragraph := plain.find("\n\n", check.end(), end)) >= 0:
        if _HAS_NUMBER.search(plain, paragraph):
            return plain
        end = paragraph
    last = plain[max(plain.rfind("\n", check.end(), end), check.end(), end - _LONGEST) : end]
    if (check["says"] or _CONCLUDES.search(last)) and not _HOLDS.search(last):
        return plain
    given = _last_number(plain[: check.start()], comma)
    value = None if given is None or given.number is None else given.number.value
    checked = plain[check.end() : min(end, check.end() + _LONGEST)]
    again = value is not None and any(match.value == value for match in _matches(checked, comma))
    return plain[: check.start()] if again else plain


def _without_asides(plain: str) -> str:
    """The text with spaces for remarks in brackets at the end of a sentence that has its number before them,
    and for those that are a line of their own: "x = 5 (and y = 3)"."""
    return _ASIDE.sub(lambda aside: " " * len(aside[0]) if _is_aside(aside) else aside[0], plain)


def _is_aside(aside: re.Match[str]) -> bool:
    plain, start = aside.string, aside.start()
    begin = max(plain.rfind("\n", 0, start) + 1, start - _LONGEST) if start else 0
    before = plain[begin:start]
    sentence = SENTENCE_ENDS.split(before)[-1]
    return _HAS_NUMBER.search(sentence) is not None or not before.strip(" \t*_>")


def _boxed(plain: str, comma: bool) -> GivenNumber | None:
    box = next(reversed(list(_BOX.finditer(plain))), None) if "box" in plain else None
    if box is None:
        return None
    end, depth = plain.find("\n", box.end()), 1
    end = len(plain) if end < 0 else end
    for brace in _BRACE.finditer(plain, box.end()):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            end = brace.start()
            break
    inside = _numbers(plain[box.end() : end], comma)
    if len(inside) != 1:
        return GivenNumber(None, _SEVERAL if inside else "no number in the box")
    (number,) = inside
    percent = number.percent or _PERCENT.match(plain, end + 1) is not None
    return GivenNumber(replace(_moved(number, box.end()), percent=percent), "boxed number")


def _behind_hashes(plain: str, comma: bool) -> GivenNumber | None:
    """What the last line with `####` is. A heading has it too, with words or as a number of its own."""
    if "####" not in plain:
        return None
    for line in reversed(list(_HASHES.finditer(plain))):
        number = first_number(line[1], comma)
        if number is None or any(map(str.isalpha, line[1][: number.start])):
            continue
        behind = line[1][number.end :]
        if len(behind.split()) <= 3 and not _HEADED.match(behind):
            return GivenNumber(_moved(number, line.start(1)), "number behind ####")
    return None


def _behind_words(plain: str, comma: bool) -> GivenNumber | None:
    """What follows the last "the answer is" that a number follows, where it is the only one of its sentence,
    or stands right behind the words and nothing is worked out from it."""
    low = lowered(plain)
    if not any(word in low for word in _ANSWER_WORDS):
        return None
    for found in reversed(list(_ANSWER_IS.finditer(low))):
        begin = found.end()
        end = _sentence_end(plain[begin : begin + _LONGEST], 0) + begin
        every = _earnest(plain[begin:end], _numbers(plain[begin:end], comma))
        worded = _in_words(low[begin:end], found[0])
        if worded is not None:
            # Behind a colon a sentence may begin that is no answer: "Answer: Two trains leave the station."
            behind = low[begin + worded.end : end].split() if ":" in found[0] else []
            heads = len(behind) > _FEW_WORDS or (behind and _WORKED_OUT.search(low, end))
            if heads or (every and _WORKED_OUT.search(low, begin + worded.end, end)):
                return None
            every = [worded]
        if not every:
            continue
        if every[0].value is None:
            return None
        direct = _DIRECT.fullmatch(low, begin, begin + every[0].start) is not None
        if len(every) > 1 and (not direct or _WORKED_OUT.search(low, begin + every[0].end, end)):
            return None
        taken_back = _TAKEN_BACK.search(low, end)
        return None if taken_back else GivenNumber(_moved(every[0], begin), "number behind a marker")
    return None


def _bold(plain: str, comma: bool) -> GivenNumber | None:
    """The only number that is bold, where nothing is worked out behind it."""
    if "**" not in plain:
        return None
    spans = [found for found in _BOLD.finditer(plain) if _HAS_NUMBER.search(found[1])]
    if len(spans) != 1 or _STEP.match(spans[0][1]):
        return None
    (span,) = spans
    start = max(span.start() - _BEFORE_BOLD, 0)
    piece = plain[start : span.end()]
    inside = [
        number for number in _earnest(piece, _numbers(piece, comma)) if number.start >= span.start(1) - start
    ]
    worked_out = _TOTALS if _STATES.search(span[1]) else _WORKED_OUT
    if len(inside) != 1 or inside[0].value is None or worked_out.search(lowered(plain), span.end()):
        return None
    return GivenNumber(_moved(inside[0], start), "bold number")


def _in_words(low: str, marker: str) -> WrittenNumber | None:
    """The number that a text in small letters begins with, as a word of the marker's language."""
    language = next((language for language, words in _MARKERS.items() if words.search(marker.lower())), "en")
    dress = _DIRECT.match(low)
    found = _WORDED[language].match(low, 0 if dress is None else dress.end())
    if found is None:
        return None
    words = _NUMBER_WORDS[language]
    value = words[found["word"]] + words.get(found["ones"] or "", 0)
    return WrittenNumber(Fraction(value), *found.span(), percent=found["percent"] is not None)


def _last_number(plain: str, comma: bool) -> GivenNumber | None:
    """Line by line from the end and sentence by sentence, since no number goes on in another one."""
    end = len(plain)
    while end >= 0:
        begin = plain.rfind("\n", 0, end) + 1 if end else 0
        if _HAS_NUMBER.search(plain, begin, end):
            starts = [begin, *(found.end() for found in SENTENCE_ENDS.finditer(plain, begin, end)), end]
            for start, stop in reversed(list(pairwise(starts))):
                sentence = plain[start:stop]
                every = _earnest(sentence, _numbers(sentence, comma)) if _HAS_NUMBER.search(sentence) else []
                if every:
                    return GivenNumber(_moved(every[-1], start), "last number")
        end = begin - 1
    return None


def _earnest(line: str, every: list[WrittenNumber]) -> list[WrittenNumber]:
    """The numbers that are given: not those that are denied ("not 14"), nor a source ("[2]") behind another
    number, nor how sure somebody is, nor how long something took that the sentence only adds."""
    standing = [
        number
        for number in every
        if not _DENIED.search(line, max(0, number.start - 28), number.start)
        and not (number.percent and _SURE.match(line, number.end))
        and not _DENIED_BEHIND.match(line, number.end)
    ]
    while len(standing) > 1 and _ADDED.search(line, standing[-2].end, standing[-1].end + 1):
        standing.pop()
    return standing


def _moved(number: WrittenNumber, by: int) -> WrittenNumber:
    return replace(number, start=number.start + by, end=number.end + by)


def _sentence_end(plain: str, begin: int) -> int:
    found = SENTENCE_ENDS.search(plain, begin)
    return len(plain) if found is None else found.start()


_SEVERAL = "several numbers as one answer"
_FEW_WORDS = 3
_LONGEST = 1000
"""Characters of a sentence that are looked at behind a marker."""
SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_])|\n|;")
_BEFORE_BOLD = 28
_BOLD = re.compile(r"(?<![A-Za-z0-9*])\*\*(?=[^\s*])([^*\n]{1,200}+)\*\*(?![*A-Za-z0-9]|\s?:)")
_STEP = re.compile(
    r"[^\n]{0,200}:\Z|(?:step|part|question|problem|exercise|example|case|section|note|method|option|schritt|étape"
    r"|paso)\b",
    re.IGNORECASE,
)
"""A bold heading."""
_STATES = re.compile(r"=|[.!]\s?\Z|\b(?:is|are|was|has|have|costs?|ist|sind|est|es)\b", re.IGNORECASE)
_TOTALS = re.compile(
    r"\b(?:so|thus|therefore|hence|total|altogether|makes|leaves|leaving|finally|now|then|next|wait|actually"
    r"|also|daher|donc)\b"
)
"""What goes on behind a bold statement, which may have an equation behind it that only explains it."""
_CHECK = re.compile(
    r"(?:^|(?<=[.!?;)*])[ \t]++|(?<=;))[ \t>#*_✓✔(]{0,8}"
    r"(?:(?P<says>(?:let'?s|let me|let us|to|we can|you can) (?:double-?)?(?:check|verify)(?: \w+){0,2}"
    r"|vérifions|comprobamos|verifichiamo)"
    r"|(?:(?:quick|final|double|sanity)[ -])?(?:check|verification|proof)|checking|verify(?:ing)?"
    r"|(?:kurze |zur )?(?:probe|kontrolle|überprüfung)|vérification|comprobación|verificación|verificação"
    r"|verifica|controle|kontroll|sprawdzenie|проверка|检验|檢驗|验证|驗證|验算|驗算|检查|検算|確認|検証|검산|확인|검증|ตรวจสอบ)"
    r"(?: of[^\n:]{1,40})?[ \t*_)]{0,4}(?:[:：][ \t*_)]{0,4}|(?=\n))(?P<alone>\s*?\n)?",
    re.IGNORECASE | re.MULTILINE,
)
"""What opens a check of an answer: a word with a colon, or alone in its line."""
_UNDONE = re.compile(
    r"(?:\b(?:wait|actually|oops|mistake|wrong|incorrect|not?|falsch|nicht|faux|pas|incorrecto)\b|n't|\\neq"
    r"|[≠✗✘❌错錯不違誤틀])",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"(?:\b(?:so|thus|therefore|hence|answer|final\w*|total|also?|donc|por lo tanto|portanto|quindi)\b"
    r"|所以|因此|[故答]|したがって|따라서)",
    re.IGNORECASE,
)
_HOLDS = re.compile(
    r"(?:[✓✔✅☑正合맞]|\b(?:correct\w*|right|true|match\w*|works?|verified|confirm\w*|checks|holds"
    r"|as (?:given|required|expected|stated)"
    r"|stimmt|richtig|korrekt|passt|juste|exact|correto|corretto|верно)\b|成立|ถูก)",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    rf"(?<!{_WORD})(?<![)\]}}\\^])\((?=[^\W\d_])"
    r"(?!(?:or|i\.?\s?e|that is|that's|viz|namely|about|around|approx\w*|roughly|nearly|round\w*|exactly"
    r"|equal\w*|(?:which|that) (?:is|equals|makes|gives)|making|giving|in total|answer|total|sum"
    r"|final\w*|result|so|thus|hence|therefore|oder|rund|etwa|ou|environ|soit|o|entspricht|aproximadamente|unos)\b"
    r"|约|即|也就是|或|共|約|つまり|すなわち|약|즉)"
    r"[^()\n]{1,300}+\)(?=[*_.!;]*+(?:\s|\Z))",
    re.IGNORECASE,
)
"""A remark in brackets, which begins with a word: not one that says the number before it again, as in "(or
12.5 %)", nor an argument, as in "f(x)"."""
_BOX = re.compile(r"\\f?box(?:ed)?\s?\{(?!\s*+\})")
_BRACE = re.compile(r"[{}]")
_PERCENT = re.compile(r"\s?\\?%")
_HASHES = re.compile(r"####++[ \t]*+([^\n]++)")
_HEADED = re.compile(r"[.):]\s*+\w")
_HAS_NUMBER = re.compile(rf"[\d{_VULGAR}]")
_ANSWER_WORDS = (
    "answer", "antwort", "ergebnis", "réponse", "respuesta", "resposta", "risposta", "antwoord", "svar",
    "ответ", "答", "답", "คำตอบ",
)  # fmt: skip
_ANSWER_IS = re.compile(
    rf"(?:{'|'.join(_ANSWER_WORDS)})(?:案|え|en|et)?"
    r"(?:\s\([^()\n]{1,40}\))?(?:\s(?:finale?|here|then|overall))?[ \t*_`]*+"
    r"(?:is|was|would be|should be|comes to|lautet|ist|est|es|é|è|är|er|[:=]|->|은|는|は|是|为|為|คือ)"
    r"(?![a-z])"
    r"[\s*_`:]*+"
)
_DIRECT = re.compile(
    r"(?:[\s*_`:~$€£¥₹({\[\\]|about|approximately|roughly|exactly|simply|therefore|just|equal to|then"
    r"|[a-z] ?=)*+"
)
_MARKERS = {
    "de": re.compile(r"antwort|ergebnis"),
    "fr": re.compile(r"réponse"),
    "es": re.compile(r"respuesta"),
}
_NUMBER_WORDS = {
    language: dict(zip(words.split(), [*range(21), *range(30, 100, 10)], strict=False))
    for language, words in {
        "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety",
        "de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
        "fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig "
        "achtzig neunzig",
        "fr": "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
        "dix-sept dix-huit dix-neuf vingt trente quarante cinquante soixante",
        "es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
        "dieciséis diecisiete dieciocho diecinueve veinte treinta cuarenta cincuenta sesenta setenta ochenta "
        "noventa",
    }.items()
}
"""Numbers as words, by the language of what stands before them, since "once" is 11 in Spanish alone."""
_GOES_ON = (
    r"hundred|thousand|[mb]illion|dozen|and|point|half|halves|thirds?|quarters?|fourths?|fifths?|tenths?|of|or|to"
    r"|plus|minus|times|hundert|tausend|und|komma|oder|bis|von|der|des|cents?|mille|et|virgule|ou|à|de|cien\w*"
    r"|mil|y|coma|o"
)
_WORDED = {
    language: re.compile(
        rf"(?P<word>{'|'.join(sorted(words.keys() - {'un'}, key=lambda word: (-len(word), word)))})(?!\w)"
        rf"(?:[-\s](?P<ones>{'|'.join(list(words)[1:10])})(?![\w-]))?"
        r"(?P<percent>\s(?:percent|per\scent|prozent|pour\scent|por\sciento)(?!\w)|\s?%)?"
        rf"(?!-\w|[-\s](?:{_GOES_ON})(?!\w)|\s?[+/×÷=]|\s?[-*]?\s?\d)"
        r"(?!(?<=\bone)\s(?:that|which|who|where|we|you|i|can|could|should|must|may|in|with)\b)"
    )
    for language, words in _NUMBER_WORDS.items()
}
"""A word that is a whole number by itself, unlike those in "one of", "two hundred" and "six-sided"."""
_WORKED_OUT = re.compile(
    r"=|\b(?:so|thus|therefore|hence|leaves|leaving|makes|total|altogether|which)\b|[×÷]"
)
_TAKEN_BACK = re.compile(
    r"\b(?:wait|actually|correction|oops|re-?check|recalculate|mistake|reconsider|no(?=[,.])"
    r"|so|thus|therefore)\b\D*+\d"
)
_DENIED = re.compile(
    r"(?:(?:\b(?:not|never|nicht|pas|non)|n't|不是)\s?[\s*_`$(]*"
    r"|(?:confidence|certainty|zuversicht|confiance|confianza|置信|信心|確信|自信|확신|신뢰|ความมั่นใจ)[^\d\n.]{0,16})\Z",
    re.IGNORECASE,
)
"""What denies a number, or makes it say how sure somebody is."""
_DENIED_BEHIND = re.compile(r"[^\d\s.,]{0,6}?\s?(?:아니|ではな|じゃな)")
_SURE = re.compile(r"[\s*_]*+(?:sure|confiden|certain)", re.IGNORECASE)
_ADDED = re.compile(
    r"\s\[\d{1,3}(?=\])|,\s(?:which|who)\s(?:took|takes|lasted|lasts|lived)\b|\(\s?(?:see|page|p\.|section|step)\b",
    re.IGNORECASE,
)
