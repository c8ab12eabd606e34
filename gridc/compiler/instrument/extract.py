"""Read the answer out of free text. Pure: text and options in, an option and the place it was read out.

The rule is one for every benchmark: the *last* valid answer marker counts, and only the item's own
letters are answers. A model that says "the answer is (A). On reflection, Answer: C" has answered C; "the
answer is clear" has not answered C, and "I cannot say" has not answered I. Two different answers given as
one ("Answer: A or B") are none, and so are an answer that is taken back ("it is not (C)"), options that
are only repeated, and reasoning that never reached an answer.

Responses can be degenerate ("Answer: " a thousand times), so no pattern may backtrack over a run of
characters: the unbounded repetitions are possessive.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from gridc.compiler.instrument.mentions import GOES_ON, Mention, mentions
from gridc.compiler.instrument.plain_text import answer_begins, fold

Confidence = Literal["stated", "inferred", "none"]


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was read out of a response.

    `option` is the option's index, or None. `rule` names the rule that read it, or says why nothing
    could be read. `start` and `end` are the span of its letter or text in the response, in characters.
    `confidence` is `stated` where the response says that this is its answer, and `inferred` where it is
    only what the response leaves standing.
    """

    option: int | None
    rule: str
    confidence: Confidence = "none"
    start: int = 0
    end: int = 0


def extract(response: str, options: Sequence[str], *, lettered: bool = True) -> Extraction:
    """What a response answers.

    The rules are tried in this order: the last answer marker before a letter or an option's text, a
    response that opens with its answer, the last conclusion ("so it is C"), the last letter in brackets
    or bold, a response that names exactly one option's text. Without lettered options only texts count.
    """
    begin = answer_begins(response)
    if begin is None:
        return Extraction(None, "the reasoning never ended")
    text = fold(response[begin:])
    if not text.strip():
        return Extraction(None, "empty")
    found = _Read(text, mentions(text, options, lettered))
    for name, confidence, rule in _RULES:
        answer = rule(found)
        if answer is not None:
            kind = f"{name} {'letter' if answer.letter else 'text'}"
            if found.contradicted(answer):
                return Extraction(None, "several answers")
            return Extraction(answer.option, kind, confidence, begin + answer.start, begin + answer.end)
    several = len({each.option for each in found.standing if not each.letter}) > 1
    return Extraction(None, "several answers" if several else "no answer")


_DRESS = r"(?:[\s*_`~\"'(\[{$<>:,#=]|\\[A-Za-z]++|\\[\[(])*+"
_CLOSE = r"[\s*_`~\"')\]}$>]*+"
_NOUN = (
    r"(?:answers?|choice|option|selection|verdict|conclusion|classification|label|judge?ment|respuesta|"
    r"réponse|antwort|resposta|risposta|ответ|답|정답|答案|答え|正解|选择|選擇|उत्तर|الإجابة|الجواب|إجابة)"
)
_ASIDE = (
    r"(?:_\w{1,12}|,?\s{1,3}(?:letter|choice|option|here|then|therefore|overall|correcta?|correcte|final|"
    r"correta|to\s{1,3}(?:this|the)(?:\s{1,3}question)?|for\s{1,3}(?:this|the)\s{1,3}question|"
    r"in\s{1,3}my\s{1,3}(?:view|opinion)|would|i\s{1,3}(?:would\s{1,3})?(?:choose|pick|select|give)),?)"
)
_IS = (
    r"(?:'s\b|(?:is|was|be|would\s++be|should\s++be|must\s++be|has\s++to\s++be|seems\s++to\s++be|"
    r"appears\s++to\s++be|remains|es|est|ist|è|é|sería)(?![^\W_])|是|为|為|は|은|는|هي|هو|है|[:=]|-*+>|-(?=\s))"
)
_FILLER = re.compile(
    r"(?:(?:therefore|thus|clearly|definitely|probably|likely|most|simply|just|actually|indeed|still|now|hence|"
    r"then|either|both|(?:(?:the|la|die|el)\s++)?(?:option|choice|letter|number|opción|buchstabe))\b"
    r"[\s*_`\"'(\[{$<>:,#~=]*+)*+",
    re.IGNORECASE,
)
_SAID = (
    r"\bi(?:'d|'ll|\s++would|\s++will|\s++am|'m)?\s++(?:have\s++to\s++|going\s++to\s++)?"
    r"(?:choose|pick|select|say|vote\s++for|opt\s++for|go\s++with|go\s++for|going\s++with)\b"
)
_ITS = r"(?:(?:it|that|this|which)(?:'s|\s++(?:is|was|must\s++be|should\s++be|has\s++to\s++be))\b)"

_MARKER = re.compile(
    rf"(?:(?<![^\W_]){_NOUN}{_ASIDE}{{0,3}}[\"'*_`\])}}]*+\s*+{_IS}|<(?:final_?)?answer>|\\boxed\b|{_SAID})"
    rf"{_DRESS}",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:actually|correction|on\s++second\s++thoughts?|on\s++reflection|rather|no|nope|wait|sorry|oops|"
    r"i\s++mean|i\s++meant|make\s++(?:that|it)|instead|but)\b[\s,:.;!-]*+"
    rf"(?:(?:{_ITS}|i\s++mean|make\s++that)[\s,:]*+)?{_DRESS}",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    rf"(?:\b(?:therefore|thus|hence|so|leaves|leaving|left\s++with|finally|option|choice|letter|answer)\b[\s,:]*+"
    rf"{_ITS}?|\b{_ITS}){_DRESS}",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"(?:\bnot|n't|\bneither|\bnor|\bnever|\bif|\bwhether|\bunless|\bexcept|\bthan|\bbetween|\brules?\s++out|"
    r"\bruled\s++out|\brejects?|\beliminates?|\bexcludes?|\binstead\s++of|\brather\s++than)\b"
    rf"(?:\s++(?:be|just|only|answer|pick|choose|select|say|go\s++with)\b)*+{_DRESS}",
    re.IGNORECASE,
)
_RIGHT = re.compile(
    rf"{_CLOSE}is(?:\s++(?:clearly|definitely|likely|probably|most|the))*+\s++"
    r"(?:(?:only|most|single|likely)\s++)*+(?:correct|right|true|best|likeliest|answer|my\s++answer)\b",
    re.IGNORECASE,
)
_WRONG = re.compile(
    rf"{_CLOSE},?\s*+(?:(?:is|are|was|were|can|could|seems?|looks?|does|would)(?:\s++be)?(?:n't|\s++not|\s++never)\b|"
    r"cannot\b|(?:(?:is|are|was|were|seems?|looks?|would|be|as|being|both|also)\s++)*+"
    r"(?:wrong|incorrect|false|implausible|impossible|unlikely|excluded|eliminated|ruled\s++out|out\b|"
    r"a\s++(?:trap|misconception|distractor|myth)))",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"[\s*_`~\"'(\[$<>:,#=]*+(?:(?:option|choice|letter)\b[\s*_`~\"'(\[]*+)?", re.IGNORECASE
)
_STOPS = re.compile(rf"{_CLOSE}(?:[.,;:!?\n\\|]|-\s|--|$)|\n")
_ALTERNATIVE = re.compile(
    r"[\s,*_`\"'(){}\[\]$]*+(?:and/or|or|oder|ou|或|还是|/|\|)\s*+(?:maybe|possibly|perhaps|even|else|option|the)?"
    r"[\s*_`\"'({\[$]*+",
    re.IGNORECASE,
)
_ADDITION = re.compile(
    r"[*_`\"')}\]$]*+[ \t]*+(?:,?\s*+(?:and|und|et|y|和|以及|&|\+)|[,;])?[ \t]*+(?:option\b)?"
    r"[ \t*_`\"'({\[$]*+",
    re.IGNORECASE,
)


class _Read:
    """A folded response with its mentions, and what is said before each."""

    def __init__(self, text: str, every: Sequence[Mention]) -> None:
        self.text = text
        self.standing = list(self._not_denied(every))

    def _not_denied(self, every: Sequence[Mention]) -> Iterator[Mention]:
        """The mentions that are not taken back: "not A", "between A and B", "B is wrong"."""
        denied, spurned, end = self._ends(_DENIAL), False, 0
        for each in every:
            gap = self.text[end : each.start]
            beside = spurned and bool(_ALTERNATIVE.fullmatch(gap) or _ADDITION.fullmatch(gap))
            spurned, end = each.start in denied or beside, each.end
            if not spurned and not _WRONG.match(self.text, each.end):
                yield each

    def stated(self) -> Mention | None:
        """The last mention behind an answer marker or a correction, or that is called right."""
        marked, corrected = self._ends(_MARKER), self._ends(_CORRECTION)
        return self._last(
            lambda each: (
                each.start in marked
                or (each.start in corrected and self._stops(each))
                or (each.letter and _RIGHT.match(self.text, each.end) is not None)
            )
        )

    def opening(self) -> Mention | None:
        """A mention that opens the response, on its own or before its reason: "B", "(B)", "B. the baker"."""
        opening = _OPENING.match(self.text)
        first = self.standing[0] if self.standing else None
        if first is None or opening is None or opening.end() != first.start:
            return None
        follows = self.standing[1] if len(self.standing) > 1 else None
        named = follows is not None and follows.option == first.option and not follows.letter
        explained = named and follows is not None and not self.text[first.end : follows.start].strip(" )]*_-")
        goes_on = first.letter and GOES_ON.match(self.text, first.end) is not None
        return first if self._stops(first) or explained or goes_on else None

    def concluded(self) -> Mention | None:
        """The last mention that a conclusion leads to: "so it is C"."""
        concluded = self._ends(_CONCLUSION)
        return self._last(lambda each: each.start in concluded and self._stops(each))

    def bracketed(self) -> Mention | None:
        """The last letter in brackets or in bold: "... hence (C)"."""
        return self._last(lambda each: each.letter and self._around(each) in _BRACKETS)

    def named(self) -> Mention | None:
        """The last text, where only one option's is named. A word as short as "no" must stand alone."""
        texts = [
            each
            for each in self.standing
            if not each.letter and (each.end - each.start > 3 or self._stops(each))
        ]
        return texts[-1] if len({each.option for each in texts}) == 1 else None

    def contradicted(self, answer: Mention) -> bool:
        """Whether another option is given as the answer in the same breath: "A or B", "B. the text of A"."""
        for first, second in pairwise(self.standing):
            if answer in (first, second) and first.option != second.option and self._joined(first, second):
                return True
        return False

    def _joined(self, first: Mention, second: Mention) -> bool:
        between = self.text[first.end : second.start]
        if _ALTERNATIVE.fullmatch(between):
            return True
        if first.letter and not second.letter and not between.strip(" \t.:)]*_-"):
            return self._stops(second)
        if not _ADDITION.fullmatch(between):
            return False
        return (
            self._stops(second)
            or re.compile(r"\s*+(?:and|or|are)\b").match(self.text, second.end) is not None
        )

    def _last(self, chosen: Callable[[Mention], bool]) -> Mention | None:
        return next((each for each in reversed(self.standing) if chosen(each)), None)

    def _stops(self, mention: Mention) -> bool:
        return _STOPS.match(self.text, mention.end) is not None

    def _around(self, mention: Mention) -> tuple[str, str]:
        return self.text[mention.start - 1 : mention.start], self.text[mention.end : mention.end + 1]

    def _ends(self, pattern: re.Pattern[str]) -> set[int]:
        """Where the pattern ends, and where the words end that may stand between it and an answer."""
        ends = [match.end() for match in pattern.finditer(self.text)]
        return {*ends, *(filler.end() for end in ends if (filler := _FILLER.match(self.text, end)))}


_BRACKETS = (("(", ")"), ("[", "]"), ("*", "*"), ("{", "}"))
_RULES: tuple[tuple[str, Confidence, Callable[[_Read], Mention | None]], ...] = (
    ("stated", "stated", _Read.stated),
    ("opening", "stated", _Read.opening),
    ("concluded", "inferred", _Read.concluded),
    ("bracketed", "inferred", _Read.bracketed),
    ("named", "inferred", _Read.named),
)
