"""Finds where a response mentions options, and the phrases around them. `extract` decides what they mean.

The phrases say that an option is the answer, that it is not, or neither.
Responses can be degenerate ("Answer: " a thousand times), so no pattern may backtrack over a run of
characters: the unbounded repetitions are possessive.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

from gridc.compiler.instrument.options import are_letters
from gridc.compiler.instrument.plain_text import fold, lowered

_SPACELESS = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
GLUED = rf"[^\W_{_SPACELESS}]"
"""A character that forms a word with the letter next to it. Chinese, Japanese and Korean need no space."""

GOES_ON = re.compile(
    r"\s*+(?:because|since|as|for|due|given|which|that|is|was|are|so|but|and|or|not|in|on|based|per|though|"
    r"over|rather|to|although|while|would|seems|appears|by|from|with|here|if|it|it's|he|she|they|we|there)\b",
    re.IGNORECASE,
)
"""A word that may follow an answer in the same sentence. It is no noun, so an A before it is no article."""


class Mention(NamedTuple):
    """An option's letter or text, with its span in the folded response. With `ordinal` it is words that stand
    for the letter, such as "the second one"."""

    option: int
    start: int
    end: int
    letter: bool
    ordinal: bool = False


def mentions(text: str, options: Sequence[str], labels: Sequence[str]) -> list[Mention]:
    """Every mention, in order. A text takes precedence over a letter in it and over a shorter text.

    Lists that only repeat the options are left out. `labels` are the labels that the options are shown under,
    none where only texts count.
    """
    return _Finder.of(tuple(options), tuple(labels)).find(text)


class _Finder:
    """Finds one list of options in responses. The options' texts are folded as responses are."""

    def __init__(self, options: tuple[str, ...], labels: tuple[str, ...]) -> None:
        self._places = {label.upper(): place for place, label in enumerate(labels)}
        self._letters = are_letters(labels)
        texts = [" ".join(fold(option).split()).strip(" .$") for option in options]
        longest = sorted(range(len(texts)), key=lambda option: -len(texts[option]))
        self._texts = [
            (option, tuple(lowered(texts[option]).split()))
            for option in longest
            if texts[option]
            and texts[option].upper() not in self._places  # a text "B" is taken for the letter
        ]
        self._label, self._small = _labelled(labels)

    @staticmethod
    @lru_cache(maxsize=4096)  # the items of a benchmark are read in turn, in one cell after another
    def of(options: tuple[str, ...], labels: tuple[str, ...]) -> "_Finder":
        return _Finder(options, labels)

    def find(self, text: str) -> list[Mention]:
        low = lowered(text)
        named = list(self._named(low))
        lettered = [*self._lettered(text, named), *self._counted(text, low, named)] if self._places else []
        if self._letters:
            lettered += _lettered_in_cyrillic(text, named)
        mentions = sorted([*named, *lettered], key=lambda mention: mention.start)
        echoed = set(_echoed(text, mentions))
        return [mention for number, mention in enumerate(mentions) if number not in echoed]

    def _named(self, low: str) -> Iterator[Mention]:
        """Mentions by text. Where two texts begin at one place the longer one counts, and none inside it."""
        places = sorted(
            (start, rank, end, option)
            for rank, (option, words) in enumerate(self._texts)
            if all(word in low for word in words)
            for start, end in _occurrences(low, words)
        )
        reach = 0
        for start, _, end, option in places:
            if start >= reach:
                reach = end
                yield Mention(option, start, end, False)

    def _lettered(self, text: str, named: Sequence[Mention]) -> Iterator[Mention]:
        """Mentions by label, outside of texts, without the pronoun I and the article A."""
        covered, reach = iter(named), -1
        current = next(covered, None)
        for start, end in self._labelled(text):
            while current is not None and current.start <= start:
                reach, current = current.end, next(covered, None)
            if start < reach:
                continue
            label = text[start:end]
            is_word = self._letters and (label == "I" or (label == "A" and not GOES_ON.match(text, end)))
            if not is_word or _WORD_FOLLOWS.match(text, end) is None:
                yield Mention(self._places[label.upper()], start, end, True)

    def _labelled(self, text: str) -> list[tuple[int, int]]:
        """Where labels stand. Small letters are looked for behind a space or a mark, which is faster."""
        places = [match.span() for match in self._label.finditer(text)]
        if self._small is not None:
            behind = self._small.finditer("\n" + text)
            places = sorted([*places, *((match.start(), match.start() + 1) for match in behind)])
        return places

    def _counted(self, text: str, low: str, named: Sequence[Mention]) -> Iterator[Mention]:
        """Options by their place in the list: "the second one", "the last option", "option two"."""
        if not _may_count(low):
            return
        taken = {place for mention in named for place in range(mention.start, mention.end)}
        for match in _ORDINAL.finditer(text):
            if match["number"] is not None and not self._letters:
                continue
            word = lowered(next(word for word in match.groups()[::-1] if word is not None))
            if word in _OF_TWO and len(self._places) != 2:
                continue
            option = len(self._places) - 1 if word in _LAST else _COUNTS[word]
            if option < len(self._places) and taken.isdisjoint(range(*match.span())):
                yield Mention(option, *match.span(), letter=True, ordinal=True)


def _lettered_in_cyrillic(text: str, named: Sequence[Mention]) -> Iterator[Mention]:
    """Letters in the order of the Cyrillic alphabet, each before the text of its option: without it nothing
    tells the third of them from a Latin "B"."""
    if text.isascii():
        return
    for mention in named:
        label = _CYRILLIC.search(text, max(0, mention.start - 5), mention.start)
        if label is not None and "АБВГДЕЖЗ".index(label[1]) == mention.option:
            yield Mention(mention.option, *label.span(1), letter=True)


_CYRILLIC = re.compile(r"(?<!\w)([А-ЕЖЗ])[.):][\s*_]{1,3}\Z")
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
_COUNTING = re.compile(
    r"\s++(?:listed|option|alternative|one|of\s++the|möglichkeit|antwort|réponse|proposition|opción|respuesta|opção"
    r"|opzione|risposta)|[.!,\n]|\s*+\Z"
)
_COUNTED_BY = re.compile(r"\s++(?:number\b|#|one\b|two\b|three\b|four\b|five\b|[1-5])")
_ORDINAL_WORDS = {word: _COUNTING for word in (*_COUNTS, *_LAST) if word not in _NUMBERS} | {
    "option": _COUNTED_BY,
    "第": re.compile(r"[一二三四五]"),
}


def _may_count(low: str) -> bool:
    """Whether any word stands in a text that an option's place is told by: few texts have one, and the
    pattern is slow."""
    return any(
        behind.match(low, place + len(word)) is not None
        for word, behind in _ORDINAL_WORDS.items()
        if word in low
        for place in _places_of(low, word)
    )


def _places_of(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


_MARKED = r"(?=[)\]*_`\"}]|'(?!\w)|[.:]?\s*+(?:\n|$))"
"""What follows a label that is also a word: it is closed, or ends its line."""


@lru_cache(maxsize=256)
def _labelled(labels: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    """A pattern for labels, and one for small letters. Letters and Roman numbers of one letter are words too,
    and count in small print only where they are marked; numbers count where they are not part of another
    number."""
    if not labels:
        return re.compile(r"(?!)"), None
    if are_letters(labels):
        large = "".join(labels).upper()
        # What is before a letter is looked at behind it, so that the search may skip to the letters.
        capital = rf"[{large}](?<!{GLUED}[{large}])(?!{GLUED}|'\w|_[\w{{]|\.[^\W_]\b|[*_)\]}}]*+-\w)"
        return re.compile(capital), re.compile(rf"[\W_{_SPACELESS}][{large.lower()}]{_MARKED}")
    long = sorted((label for label in labels if len(label) > 1 or label.isdigit()), key=len, reverse=True)
    short = "|".join(label for label in labels if len(label) == 1 and not label.isdigit())
    whole = rf"(?i:{'|'.join(long) or '(?!)'})(?!{GLUED}|'\w|[.,]\d|\s?%|[*_)\]}}]*+-\w)"
    return re.compile(rf"(?<!{GLUED})(?<!\d[.,])(?:{whole}|(?i:{short or '(?!)'}){_MARKED})"), None


_WORD_FOLLOWS = re.compile(r"[ \t]++(?=[a-z'])")
_SCRIPT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_DENYING = frozenset("不没沒未非無无")


def _occurrences(low: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where words stand one after another that are no part of a longer word, whatever the white space between
    them. Chinese and Japanese write no space between words: there they may follow any but one that denies."""
    unspaced, open_ended = _SCRIPT.match(words[0]), _SCRIPT.match(words[-1][-1])
    for start in _places_of(low, words[0]):
        end: int | None = start + len(words[0])
        for word in words[1:]:
            end = _next_word(low, end, word)
            if end is None:
                break
        if end is not None:
            before, behind = low[max(start - 2, 0) : start], low[end : end + 3]
            begun = before[-1:] in _DENYING if unspaced else _goes_on_before(before)
            if words[-1][-1].isdecimal() and _IN_FORMULA.match(low, end):
                continue
            if not begun and (open_ended or not _goes_on_behind(behind)):
                yield start, end


_IN_FORMULA = re.compile(r"\s?\\(?:sqrt|frac|cdot|times|pi)\b|\^")
"""What a number has behind it that is only part of one."""


def _next_word(low: str, place: int | None, word: str) -> int | None:
    """Where a word ends that follows a place behind white space."""
    if place is None or not low[place : place + 1].isspace():
        return None
    while low[place : place + 1].isspace():
        place += 1
    return place + len(word) if low.startswith(word, place) else None


def _goes_on_before(before: str) -> bool:
    return before[-1:].isalnum() or (before[-1:] in (".", ",") and before[0].isdecimal())


def _goes_on_behind(behind: str) -> bool:
    if behind[:1].isalnum():
        return True
    second = behind[1:2]
    if behind[:1] == "'":
        return second == "s" and not (behind[2:].isalnum() or behind[2:] == "_")
    return behind[:1] in (".", ",") and second.isdecimal()


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


_DRESS = r"(?:[\s*_`~\"'(\[{}$<>:,#=✓✔✅☑]|\\[A-Za-z]++|\\[\[(])*+"
CLOSE = (
    r"[\s*_`~\"')\]}$>\u2600-\u270b\u270d-\u2716\u2728-\u274b\ufe0f"
    r"\U0001f000-\U0001f6aa\U0001f6ac-\U0001faff]*+"
)
"""What may follow an option: marks, and signs such as a tick, but no cross."""
_NOUN = (
    r"(?:answers?|ans\b\.?|(?:right|correct|best|true)\s++one|choice|option|selection|verdict|conclusion|classification|"
    r"label|judge?ment|prediction|pick|recommendation|solution|selected|chosen|winner|rating|grade|decision|category|tl;?dr|(?:only|last|the)\s++one\s++(?:that(?:'s|\s++is)\s++)?(?:left|remaining)(?:\s++standing)?|respuesta|opción|elección|réponse|choix|antwort|richtig|wahl|lösung|resposta|"
    r"alternativa|escolha|opção|opzione|scelta|risposta|antwoord|odpowiedź|odpověď|вариант|svaret|cevap|đáp\s+án(?:\s+đúng)?|ответ|답|정답|옳은\s?것|맞는\s?것|คำตอบ(?:ที่ถูกต้อง|ที่ถูก)?|答案|答え|正解|正しいの|选择|選擇|"
    r"正[确確]的(?:选项|選項|答案)?|उत्तर|الإجابة|الجواب|إجابة|الخيار)"
)
_ASIDE = (
    r"(?:_\w{1,12}|,?\s{1,3}(?:letter|choice|option|here|then|therefore|overall|correcta?|correcte|"
    r"corretta|giusta|esatta|final|exacta|exata|exacte|juste|correta|certa|الصحيحة?|to\s{1,3}(?:this|the)(?:\s{1,3}question)?|for\s{1,3}(?:this|the)\s{1,3}question|"
    r"in\s{1,3}my\s{1,3}(?:view|opinion)|would|(?:i|we)\s{1,3}(?:would\s{1,3})?(?:choose|pick|select|give|assign|chose|reach|arrive\s{1,3}at)),?)"
)
_IS = (
    r"(?:'s\b|(?:is|är|là|be|would\s++be|should\s++be|must\s++be|has\s++to\s++be|seems\s++to\s++be|"
    r"appears\s++to\s++be|remains|es|est|ist|è|é|(?<=odpowiedź\s)(?:to|jest)|(?<=odpověď\s)je|sería|fällt\s++auf)(?![^\W_])|应该是|应为|應該是|只有|是|为|為|は|은|는|คือ|هي|هو|है|[:=]|-*+>|-(?=\s))"
)
FILLER = re.compile(
    r"(?:(?:therefore|thus|clearly|definitely|probably|likely|most|simply|just|actually|indeed|still|now|hence|"
    r"then|either|both|option|choice|letter|number|opción|opção|opzione|alternativa|respuesta|resposta|risposta|réponse|antwort|a(?=\s++(?:(?:letra|alternativa|opção|opción|opzione)\b|[*_\"'(]{0,3}(?-i:[B-Z])(?!\w)))|donc|finalement|buchstabe|letra|"
    r"lettre|the|la|le|el|die|der|das|(?:first|second|third|fourth|fifth|last|former|latter)(?:\s++one)?)\b"
    r"[\s*_`\"'(\[{$<>:,#~=]*+|(?:选项|選項|選択肢|선택지|ข้อ|ตัวเลือก)\s*+|الخيار\s++|[а-я]\)\s)",
    re.IGNORECASE,
)
_CHOOSE = (
    r"(?:choos(?:e|ing)|pick(?:ing)?|select(?:ing)?|say|vote\s++for|opt(?:ing)?\s++for|answer(?:\s++with)?|conclude|prefer|"
    r"(?:go|going|stay|staying|stick|sticking|side|siding)(?:\s++(?:with|for|back\s++to))?|settl(?:e|ing)\s++(?:on|for)|"
    r"decid(?:e|ing)\s++(?:on|for)|lock(?:ing)?\s++in|bet(?:ting)?\s++on|(?:lean(?:ing)?|inclined|tend)(?:\s++(?:to|towards?))?|"
    r"(?:chang|switch|updat|revis)(?:e|ing|ed)?+\s++(?:(?:my|the)\s++\w++\s++)?(?:back\s++)?to|err(?:ing)?\s++on\s++the\s++side\s++of|"
    r"(?:call|label|rate|mark|grade|classify|consider|flag)\s++(?:it|this|that|them|the\s++\w++)(?:\s++as)?)\b"
)
_SAID = (
    r"\b(?:i|we)(?:'d|'ll|\s++would|\s++will|\s++am|'m|\s++must)?\s++(?:have\s++to\s++|going\s++to\s++)?"
    rf"(?:(?:now|still|then|therefore|also|instead|\w{{2,15}}?ly)\s++){{0,2}}{_CHOOSE}|"
    r"\bich\s++(?:wähle|nehme|entscheide\s++mich\s++für|tendiere\s++zu)\b|\bje\s++(?:choisis|prends|dirais)\b|"
    r"\b(?:elijo|escojo|me\s++quedo\s++con|escolho|scelgo|direi|ik\s++kies|wybieram|jag\s++(?:väljer|lutar\s++åt))\b|"
    r"\b(?:confident\s++in|my\s++money\s++is\s++on)\b|(?:أختار|اخترت)|[选選][择擇]?"
)
_ITS = (
    r"(?:(?:(?:it|that|this|which)(?:'?s|\s++(?:is|was|must\s++be|must\s++have\s++been|should\s++be|has\s++to\s++be))|c'est|(?<=que\s)(?:es|é|est)|"
    r"(?:es|das)\s++ist|es\s++(?:la|el)|è\s++la|é\s++a)\b)"
)

_MARKER = re.compile(
    rf"(?:(?:(?<!{GLUED})|(?<=[فوبل])){_NOUN}{_ASIDE}{{0,3}}[\"'*_`\])}}]*+(?:\s\([^()\n]{{1,40}}\))?\s*+{_IS}|<(?:final_?)?answer>|\\boxed\b|{_SAID}|"
    rf"सही\s++(?:उत्तर|विकल्प)\s++){_DRESS}",
    re.IGNORECASE,
)
_HEADING = re.compile(rf"{_NOUN}[*_ ]*+\n{_DRESS}", re.IGNORECASE)
_BEFORE_HEADING = re.compile(r"(?:^|\n)[#*_ ]*+(?:final\s++|my\s++)?\Z", re.IGNORECASE)
_SO = (
    r"(?:\b(?:therefore|thus|hence|so|actually|no(?=\s?[,.:;!-])|nope|wait|oops|i\s++mean|i\s++meant|make\s++(?:that|it)|instead|on\s++(?:reflection|second\s++thoughts?)|"
    r"i\.e\.|must\s++be|can\s++only\s++be|(?:(?:has|got)\s++to|gotta)\s++be|corresponds\s++to|correction|correct\s++myself|(?:leaves|leaving|(?:we|i)(?:'re|'m|\s++are|\s++am)\s++left\s++with)(?:\s++(?:us|me))?(?:\s++(?:only|with))?|what(?:'s|\s++is)\s++left\s++is|"
    r"finally|donc|(?<![a-z]\s)also|somit|daher|folglich|portanto|logo|luego|por\s++(?:lo\s++)?tanto|así\s++que|quindi|"
    r"(?:rimane|resta|queda|reste|bleibt)\s++(?:solo|nur|que|só)?)(?![^\W_])|因此|所以|故|よって|したがって|따라서|그러므로|لذلك|إذن|(?:では|じゃ)なく|아니라|而是)"
)
_CHOOSING = re.compile(
    rf"(?:(?=\w{{2,9}}ing\b|choose|pick|select|go\b){_CHOOSE}|back\s++to\b){_DRESS}", re.IGNORECASE
)
_BEFORE_CHOOSING = re.compile(r"(?:^|[.,:;!?\n-])\s{0,3}(?:(?:\w{2,15}?ly|so)\s++)?\Z", re.IGNORECASE)
_CONCLUDING = re.compile(rf"{_SO}[\s,:;.!-]*+{_ITS}?{_DRESS}", re.IGNORECASE)
_IT_IS = re.compile(rf"{_ITS}{_DRESS}", re.IGNORECASE)
_BEFORE_IT_IS = re.compile(
    r"(?:(?:^|[.,;:!?\n(-]|(?<=[\"']))[\s*_]*+(?:(?:by|given)\s++(?:\w++\s++){1,3})?|\b(?:and|but|then|so|likely|probably|clearly|think|believe|suspect|guess|"
    r"reckon|suppose|say|sure|certain|confident|means|conclude|acho|creo|pense|glaube|denke|diría|diria|dirais)\s++(?:that\s++|que\s++)?)\Z",
    re.IGNORECASE,
)
"""Before "it is": it concludes where a clause begins, or the speaker's thought, not in "they say it is"."""
TELLS = re.compile(
    r"[\s*_`\"')]*+(?:is|are|was|were|has|have|can|does|did|may|might|of|and)\b", re.IGNORECASE
)
PLAN = re.compile(
    r"\b(?:might|may|could|next|(?<!i\s)(?<!we\s)consider(?:ing)?|let(?:'s|\s++(?:us|me))|look(?:ing|s|ed)?\s++at|see|compar\w++|suppose|need\s++to|check\w*+|such\s++as|example|"
    r"examin\w++|turn(?:ing)?\s++to|start(?:ing)?\s++with|as\s++for|regarding|described?|depends?)\b",
    re.IGNORECASE,
)
"""What only turns to an option."""
NO_CHOICE = re.compile(rf"[?\"]|{PLAN.pattern}", re.IGNORECASE)
"""What a response of a few words says that chooses nothing."""
BREAKS_OFF = re.compile(rf"{CLOSE},?\s*+(?:or|and|oder|und|ou|et)[^\w]*+\Z", re.IGNORECASE)
UNFINISHED = re.compile(r",[\s*_]*+\Z")
FORMULA = re.compile(r"[=^\\]|\d\s*+[-+*/×÷]\s*+[\d(]|\d\s++[x×]\s++\d|[-+*/×÷]\s*+\Z")
DANGLES = re.compile(
    r"\b(?:times|plus|minus|by|the|an?|of|and|or|to|equals|is|are|with|we|get|then|that|which|for|in|divided|multiplied)"
    r"\s*+\Z",
    re.IGNORECASE,
)
"""What a sentence of a derivation has in it, and what none ends with."""
FROM = re.compile(
    rf"\b(?:chang|switch|revis|updat|mov)\w*+\s++(?:my|the)\s++(?:\w++\s++)??(?:answer|choice|vote|pick|mind|guess|verdict|response|selection)\s++from\b{_DRESS}",
    re.IGNORECASE,
)
TO = re.compile(rf"{CLOSE}to\s++(?:option\s++)?{_DRESS}", re.IGNORECASE)
OVER = re.compile(rf"{CLOSE}over\s++(?:option\s++)?{_DRESS}", re.IGNORECASE)
INSTEAD = re.compile(
    rf"{CLOSE}(?:[,-]+\s++|\s?\()?(?:and\s++|but\s++)?(?:over|not|rather\s++than|instead\s++of|nicht|pas|et\s++non|non|no|não)\b",
    re.IGNORECASE,
)
BEFORE = re.compile(rf"\s*+(?:(?:the|la|le|il|die|der|das|a|o|option)\s++)?{_DRESS}", re.IGNORECASE)
NO_REASON = re.compile(
    r"\b(?:no|little|without|any|hardly)\s++(?:\w++\s++)?(?:reasons?|evidence|basis|proof|grounds|indication|hint|sign)\b",
    re.IGNORECASE,
)
KEYED = re.compile(
    r"[{,]\s*+(?P<quote>[\"'])(?P<key>[\w -]{1,40})(?P=quote)\s*+:\s*+"
    r"(?P<value>[\"'][^\"'\n]*+[\"'])(?=\s*+[,}])|"
    r"\A[\s*_#>]*+(?P<words>\w++(?:[ -]\w++){0,4})[*_]*+:[ *_`]*+(?P<line>[^\n:]++)(?=\n|\Z)"
)
"""What is given a name: a value in JSON, or the first line's."""
NO_ANSWER = re.compile(
    r"(?:id|name|title|task|key\w*|can|could|enough|sufficient|information|answerable|received|understood|ready|"
    r"available|found|complete\w*|known|topic|subject|question|query|prompt|premise|hypothesis|input|text|example|section|page|part|step|"
    r"speaker|person|author|source|role|status|note|hint|warning|error|context|reason\w*|evidence|quote|format|"
    r"prev\w*|old|earlier|first|initial|second|runner|alternative|other|next|user|their|reject\w*|wrong|incorrect|worst|"
    r"excluded?|eliminated?|ruled|distractor|against|not|without|un\w+|if|needs?|requires?|missing|clarif\w*|refus\w*|"
    r"abstain\w*|counter\w*|opposite|default|possible|candidates?|options|choices|least|less|neg|claim\w*|pros?|cons?)",
    re.IGNORECASE,
)
"""A word in a name, of which the value is no answer."""
COMMA = re.compile(rf"{CLOSE},")
TICKED = re.compile(r"←|<-|[✓✔✅☑]\ufe0f?[\s*_]*+(?:(?<=\n)|\Z)")
TICK = re.compile(r"[✓✔✅☑]|\[x\]", re.IGNORECASE)
FITS = re.compile(
    r"[\s*_`~\"')\]}$>]*+(?:best\s++|alone\s++|clearly\s++)?(?:fits|matches|follows|holds|(?:remains|survives|stands)(?=[.,:;!\n]|\s++(?:as|standing)\b|\s*+\Z)|"
    r"(?:is|seems)\s++(?:\w++\s++)?(?:left|supported|confirmed))\b",
    re.IGNORECASE,
)
SUBJECT = re.compile(
    r"(?:\W|\b(?:and|so|then|thus|hence|therefore|only|option|statement|choice|the)\b)*+", re.IGNORECASE
)
"""What stands before an option that is said to fit."""
_PEOPLE = (
    r"(?:some(?:one|body)?|many|most|others?|another|people|person|critics?|supporters?|s[kc]eptics?|students?|they|he|she|"
    r"any(?:one|body)|one|friends?|teachers?|textbooks?|colleagues?|boss|ministers?|spokes\w++|neighbou?rs?|doctors?|lawyers?|"
    r"users?|clients?|customers?|reviewers?|experts?|economists?|scientists?|parents?|mother|father|brother|sister|wife|"
    r"husband|majority|public|opponents?|authors?|readers?|group|camp|forums?|voters?|households?|analysts?|officials?|customers?|keys?|quiz|nobody|nothing)"
)
_HOLD = (
    r"(?:says?|said|thinks?|thought|claim(?:s|ed)?|argue[sd]?|believe[sd]?|answer(?:s|ed)?|pick(?:s|ed)?|chooses?|chose|"
    r"prefer(?:s|red)?|suggest(?:s|ed)?|favou?r(?:s|ed)?|guess(?:es|ed)?|votes?\s++for|insists?\s++on|hint(?:s|ed)?\s++at|swears?\s++by|goes?\s++for|went\s++(?:for|with)|"
    r"(?:call|label|rate|consider|describe)(?:s|d|ed|led)?\s++(?:it|this|that|them)(?:\s++as)?)"
)
_WHOSE = re.compile(
    r"(?:\b(?!(?:it|that|this|here|there|what|let|who|how|today|question|problem|puzzle|riddle|text|passage|exercise|"
    r"story|test|task|section)'s)\w++(?:'s|(?<=s)')|\b(?:your|his|her|their))\s++(?:\w++\s++)?\Z",
    re.IGNORECASE,
)
_SECOND = re.compile(
    r"(?:(?:^|[\n.,;:(])[\s#*_-]*+(?:and\s++)?|\b(?:my|an?|mi|una?|meine?|mon|ma|minha|uma|mia)\s++|"
    r"(?:the|la|die|a)\s++(?=\w++[- ]best))(?:second|2nd|third|3rd|next|backup|fallback|alternat(?:iv)?e|"
    r"runner-up|zweite|deuxième|segunda|seconda|второй)(?:[- ](?:best|most\s++likely|beste))?\s++\Z|"
    r"(?:^|[\n.,;:(])[\s#*_-]*+(?:第二|备选|備選)\Z",
    re.IGNORECASE,
)
"""Before an answer that stands behind another one: "Second choice: B", "my next best answer is B"."""
_ANSWER_OF = re.compile(rf"{_NOUN}{_ASIDE}{{0,3}}\s*+(?:{_IS}|(?:was|were|lautet)\b)?{_DRESS}", re.IGNORECASE)
"""An answer, and before it the one that gave it: "the student's answer is"."""
_SECOND_IS = re.compile(
    rf"{_ANSWER_OF.pattern}(?!\w++[)\]*_]*+\s++(?:is|was)\s++(?:the\s++)?(?:correct|right|true|best|answer)\b)",
    re.IGNORECASE,
)
"""The same, unless it is called right: "Second option: B is correct"."""
ATTRIBUTION = re.compile(
    rf"(?:有人|有些人|有的人|很多人|多数人|大家|人们|他们?|她们?)(?:都|会|可能)?(?:[选選][择擇]?|说|認為|认为|觉得|支持)(?:是)?{_DRESS}|"
    rf"\b{_PEOPLE}\b,?(?:\s++(?!(?:but|so|i|we|should|must|{_HOLD})\b)[\w',]++){{0,9}}\s++{_HOLD}\b"
    rf"(?:\s++(?:that|to)\b)?\s*+(?:(?:the\s++)?(?:{_NOUN}|statement|claim){_ASIDE}{{0,3}}\s*+{_IS}|{_ITS}|(?:of|about)\b)?{_DRESS}",
    re.IGNORECASE,
)
_WOULD = re.compile(
    r"(?:would|might|could|may|will)\s++(?:\w{2,15}?ly\s++)?"
    r"(?:say|think|conclude|argue|answer|choose|pick|claim|prefer|believe|call|vote)\b",
    re.IGNORECASE,
)
_WHO_WOULD = re.compile(r"\b(?!(?:i|we|you|it|that|this|which|to|\w{2,15}ly)\b)\w++\s++\Z", re.IGNORECASE)
_CONVINCED = re.compile(r"(?:convinced|sure|certain|adamant)\b", re.IGNORECASE)
_WHO_IS = re.compile(r"(?<!\bwe\s)\b(?:is|are|was|were)\s++\Z", re.IGNORECASE)
OTHERS = re.compile(
    r"\b(?:algunos|muchos|otros|certains|beaucoup|manche|viele|alcuni|molti|alguns|muitos|некоторые|многие)\b|(?<![我以])(?:说|认为|認為|觉得)|"
    r"\baccording\s++to\s++(?!(?:the|this|my)\s++(?:\w++\s++)?(?:text|passage|story|article|report|note|context|table|rules?)\b)",
    re.IGNORECASE,
)
"""Whose choice the rest of a sentence tells, where it is not the speaker's."""
SELF = re.compile(
    r";|\b(?:but|yet|however|so|therefore|i(?:'d|'m|'ll)?|my|aber|mais|pero)\b|我", re.IGNORECASE
)
"""Behind these the speaker has the word again."""
ATTRIBUTED = re.compile(
    rf"{CLOSE}(?:is\s++what\s++(?:\w++\s++){{1,3}}(?:put|{_HOLD})\b|を選(?:ぶ|んだ)(?:人|方))", re.IGNORECASE
)
SENTENCES = re.compile(
    r"[.!?\n](?:(?<=\n)\n*+|(?<!\n)(?<!\b[DMS][rst].)(?<!\bMrs.)(?<!\bvs.)(?<!\be\.g.)(?<!\bi\.e.)['\")\]*_]*+\s++"
    r"|(?<!\n)(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]))"
)
CONTRAST = re.compile(r"\b(?:but|yet|however|though|nevertheless|still)\b,?", re.IGNORECASE)
IF = re.compile(
    r"\b(?:if(?!\s++(?:(?:i|we)\s++(?:had\s++to|have\s++to|must|were\s++(?:you|in|to|forced|asked|pressed|pushed)|"
    r"read|remember|understand|recall)\b|i'm\s|forced|pressed|pushed|asked|anything|any\b|so\b|not\b))|"
    r"unless|whether|provided(?=\s++(?:that|the|he|she|it|no)\b)|as\s++long\s++as|otherwise|(?<![\w,]\s)should(?=\s++\w++\s)|(?<!at's\s)(?<!is\sis\s)(?<!at\sis\s)why|(?<!i\s)suppose|assum(?:e|ing)|imagine|in\s++case|"
    r"wenn(?!\s++ich\s)|falls|si(?!\s++(?:je|j'|tuviera|yo)\b)|se(?!\s++(?:eu|io|tivesse|dovessi)\b)|ob)\b|如果",
    re.IGNORECASE,
)
"""A condition, but for that of having to choose: "if I had to pick"."""
IF_BEHIND = re.compile(
    rf"{CLOSE}(?:is\s++(?:right|correct|true|best)\s++)?(?:only\s++)?(?:when|(?={IF.pattern}))\b",
    re.IGNORECASE,
)
BREAKS = re.compile(r"\"|;|\b(?:but|yet|however|either\s++way|regardless)\b", re.IGNORECASE)
"""Behind these a condition is over."""
CLOSES = re.compile(
    r"\b(?:presumably|so(?!\s++(?:do|does|did|is|are|was|has|have|much|many|far)\b)|thus|therefore|hence|overall|ultimately|finally|on\s++balance|in\s++the\s++end|all\s++in\s++all|"
    r"(?:i|we)(?:'d|\s++(?:would|have\s++to|must|think|believe|suspect|suppose|guess|reckon|consider))|to\s++me|my\s++(?:\w++\s++)?(?:answer|pick|choice|guess|"
    r"view|vote|verdict|opinion|judge?ment|assessment|call)|"
    r""
    r"also|somit|daher|demnach|folglich|donc|ainsi|portanto|logo|entonces|por\s++tanto|así\s++que|quindi|dunque|perciò|"
    r"значит|поэтому|следовательно|итак)\b|因此|所以|よって|したがって|ゆえに|따라서|그러므로|لذلك|इसलिए|अतः",
    re.IGNORECASE,
)
MAY = re.compile(rf"{CLOSE}(?:can|could|might|may|would|does|do)(?:n't|not)?\b", re.IGNORECASE)
AFTERWARDS = re.compile(
    rf"(?:{CLOSE}|[\s,*_]*+)(?:then|after\s++all|it\s++is|i\s++(?:guess|suppose|think)|i'd\s++say|for\s++me|to\s++me)?[^\w]*+\Z",
    re.IGNORECASE,
)
PREDICATE = re.compile(
    r"(?:(?::|=|->|>)|\b(?:makes\s++(?:this|it|that)|(?:this|that)\s++is|(?:points?|leans?)\s++(?:\w++\s++){0,2}(?:to|towards?)|supports|matches|"
    rf"(?:sounds|seems|is)\s++most\s++like|should\s++be\s++\w++\s++as|counts\s++as)(?:\s++(?:an?|the))?){_DRESS}(?:(?:option|choice|letter|answer)\b{_DRESS})?\Z",
    re.IGNORECASE,
)
ANSWERED = re.compile(
    rf"(?:\W|\b(?:i|it|its|that|you|we|\w{{2,15}}ly|think|guess|believe|suppose|suspect|say|said|would|be|there|maybe|perhaps|leaning|going|"
    rf"option|choice|letter|number|answer|the|an?|ok|okay|well|so|then|hm+|'?s|'?d|overall|is|was|acho|que|é|a)\b)*+|"
    rf"\W*+(?:the|it|this|her|his|our)\b(?:\s++(?!that\b)\w++){{0,4}}?\s++(?:is|was|means|measures|equals){_DRESS}(?:(?:the|an?|to)\s++)*+{_DRESS}",
    re.IGNORECASE,
)
"""What stands before the option in a response of a few words."""
RETRACTS = re.compile(
    r"(?<=[.!?]\s)no,|\b(?:hang\s++on|scratch\s++that|(?:oh,?\s++)?wait[,.!:]|hmm+|on\s++second\s++thoughts?|on\s++reflection|correct\s++myself|"
    r"let\s++me\s++(?:correct|reconsider|switch(?!\s++to\s++(?:that|it)\b)|revise|re-?check)|i\s++(?:misread|miscounted|misremembered|overlooked|"
    r"stand\s++corrected|got\s++(?:that|it)\s++wrong|take\s++(?:that|it)\s++back|was\s++wrong|changed?\s++my)|(?:updating|changing|revising)\s++(?:my|the)|"
    r"come\s++round|except\s++that)\b|(?:^|\n)\s*+(?:edit|correction|update)\b",
    re.IGNORECASE,
)
ASKS_FOR_MORE = re.compile(
    r"\b(?:please|(?:could|can|would)\s++you(?:\s++please)?)\s++(?:paste|provide|send|share|upload|include|tell\s++me|give\s++me|clarify)\b",
    re.IGNORECASE,
)
OPEN = re.compile(rf"\b(?:between|if|whether|unless)\b{_DRESS}", re.IGNORECASE)
ABSTAINS = re.compile(
    r"\b(?:(?:rather\s++not|won't|will\s++not|can't|cannot|unable\s++to|refuse\s++to|declines?\s++to|not\s++going\s++to|do\s++not|"
    r"and\s++not|don't|hard\s++to|impossible\s++to|difficult\s++to)\s++(?:\w++\s++)?(?:say|choose|pick|decide|tell|determine|answer|select|judge|take\s++a\s++side)|"
    r"(?:no|without\s++a)\s++(?:preference|opinion|view|stance|clear\s++(?:answer|winner|choice))|depends|up\s++to\s++you|"
    r"your\s++(?:call|choice|decision)|either\s++(?:one\s++|of\s++them\s++)?(?:could|would|may|might|works|is)|"
    r"(?:do\s++not|don't)\s++know\s++(?:which|what|who|about|the)|both\s++(?:are|have|seem|could|may|options)|you\s++(?:decide|choose))\b",
    re.IGNORECASE,
)
_WRONG = (
    r"wrong|incorrect|false|worst|least\s++likely|falsche|verkehrte|mauvaise|fausse|incorrecta|equivocada|errada|incorreta|"
    r"sbagliata|errata|foute|verkeerde|неправильный|неверный"
)
_THINKS = r"(?:think|believe|agree|suppose|feel|expect|guess|say|pick|choose|select|answer)"
DENIAL = re.compile(
    rf"(?:(?:\b(?:{_WRONG})\s++(?:{_NOUN}|ones?){_ASIDE}{{0,3}}\s*+(?:{_IS}|was\b|lautet\b))|"
    rf"(?:(?:\bnot|n't|\bnever|\bcannot)\s++{_THINKS}|\bdoubt|\bunlikely|\b(?:wrong|tempt(?:ing|ed)|(?:error|mistake))"
    rf"\s++to\s++{_THINKS})(?:\s++that\b)?\s*+(?:(?:the\s++)?{_NOUN}{_ASIDE}{{0,3}}\s*+{_IS}|{_ITS})?){_DRESS}|"
    r"(?:\bnot|n't|\bneither|\bnor|\bnever|\bif|\bwhether|\bunless|\bexcept(?:\s++for)?|\b(?:any|every)thing\s++but|\ball\s++but|\bthan|\bbetween|\brules?\s++out|"
    r"\b(?:choose|pick|prefer|select|take)\b[^.!?\n]{1,12}\bover|\bruled\s++out|\brejects?|\beliminates?|\bexcludes?|\binstead\s++of|\brather\s++than|"
    r"不是|并非|並非|\b(?:non|nicht|pas|não)(?=\s)|\bno(?=\s++(?:el|la)\b))\b"
    rf"(?:\s++(?:be|just|only|answer|pick|choose|select|say|go\s++with|get|deserve|(?-i:an?))\b)*+{_DRESS}",
    re.IGNORECASE,
)
RIGHT = re.compile(
    rf"{CLOSE}(?:(?::|-++>?|=)\s*+(?:correct|right|true)\b|(?:is|must\s++be|has\s++to\s++be|seems(?:\s++to\s++be)?)"
    r"(?:\s++(?:clearly|definitely|likely|probably|most|the|only|single))*+\s++"
    r"(?:(?:correct|right|true|best|likeliest|strongest)\b|answer|my\s++(?:\w++\s++)?(?:answer|choice|pick|guess)|pick\b|(?:best\s++|better\s++)?choice|"
    r"(?<=most\s)(?:likely|plausible|probable|fitting|suitable|accurate|appropriate|reasonable|convincing)|"
    r"\w++\s++(?:one|answer|choice|option|response)(?=\s*+(?:here|out)?[.!\n]))\b|"
    r"(?:as\s++)?the\s++(?:best|right|correct)\s++(?:choice|answer|option|one)\b|"
    r"(?:fits\s++best|wins|is\s++(?:the\s++)?(?:better|likelier))(?=[\s*_]*+(?:[.,;!\n]|\Z|because\b|than\b))|"
    r"it\s++(?:is|was|must\s++be)\b|is\s++what\s++i(?:'d|\s++(?:would|choose|pick|go))\b|"
    r"(?:ist|est|es|é|è|está)\s++(?:(?:die|la|le|el|a|o)\s++)?(?:richtig|korrekt|corre[ct]|certa|juste|exacte|bonne)\w*+|"
    r"(?:项|選項|选项)?(?:是|为|為)?(?:正[确確]|[对對]的)|が(?:正解|正しい|答え|最も適切|適切)|"
    r"(?:가|이)\s?(?:정답|맞|옳|답)|(?:를|을)\s?선택|を選|(?:सही|बेहतर)\s)",
    re.IGNORECASE,
)
WRONG = re.compile(
    rf"{CLOSE}(?:,|:|-++>?|=)?\s*+(?:"
    r"(?:is|are|was|were|can|could|seems?|looks?|does|would)(?:\s++be)?(?:n't|\s++not|\s++never)\b|cannot\b|"
    r"(?:(?:is|are|was|were|seems?|looks?|would|can|be|as|being|both|all|also|a|an|the|clearly|simply|just|likely|"
    r"probably|therefore|thus)\s++){0,5}+(?:wrong|incorrect|false|implausible|impossible|unlikely|excluded|eliminated|"
    r"ruled\s++out|out\b|mistaken?|inaccurate|trap|misconception|distractor|myth)\b|"
    r"(?:ist|est|es|é|è)\s++(?:nicht|falsch|fausse|faux|falsa|falso|incorrect|incorret|errad)|n'est\s++pas|no\s++es\b|não\s++é\b|"
    r"(?:项|选项|選項)?(?:是)?(?:不正?[确確对對]|(?<!,)不是|[错錯])|(?:は|も)?(?:間違|誤|正しくな|不適切|違)|(?:では|じゃ)(?:ありません|ない|なく|なかった)|でない|"
    r"(?:는|은|가|이|도)?\s?(?:틀|오답|아니|아닙|맞지\s?않|옳지\s?않))",
    re.IGNORECASE,
)
SINGULAR = re.compile(r"\b(?:is|was|isn't|seems|looks|does)\b", re.IGNORECASE)
NONE = re.compile(
    rf"(?:^|[.!?:;,\n]|\b(?:so|hence|thus|therefore|but|is|it's)\b|{_NOUN}\s*+{_IS})[\s*_`\"'(\[{{$]*+"
    r"(?:neither|none|both|all)(?:\s++of\s++(?:them|these|those|(?:the\s++)?(?:above|two|options|answers|choices)))?"
    r"(?:\s++(?:is|are)\s++(?:right|correct|true|wrong|incorrect|false))?[\s*_`\"')\]}$.!]*+\Z",
    re.IGNORECASE,
)
OPENING = re.compile(
    r"(?:\[[x ]\]|[\s*_`~\"'(\[$<>:,#=|✓✔✅☑]|-\s)*+"
    r"(?:(?:option|choice|letter|alternativa|opción|opção|réponse|antwort)\b[\s*_`~\"'(\[]*+)?",
    re.IGNORECASE,
)
BEGINS = re.compile(
    rf"\A\s*+(?:hmm+[\s.,]*+)?(?:(?:probably|most\s++likely|likely|perhaps|maybe|looks\s++like|"
    rf"i(?:'d)?\s++(?:think|guess|suspect|believe|say)(?:\s++that)?)[\s,:]*+{_ITS}?|{_ITS}){_DRESS}",
    re.IGNORECASE,
)
STOPS = re.compile(
    rf"[ \t*_`~\"')\]}}$>]*+\n|{CLOSE}(?:है|हैं|です|だ|的|입니다|이다)?(?:[.,;:!?\n\\|(]|-\s|--|$)|\n|"
    rf"{CLOSE}as\s++(?:the|my|our)\s++(?:\w++\s++)?(?:right|correct|best|only|answer|choice|response|option)\b"
)
ASKED = re.compile(rf"{CLOSE}\?")
REASON = re.compile(
    rf"{CLOSE},?\s*+(?:because|since|as|for|given|due|who|to\s++(?:say|tell|me)|from\s++(?:the|what))\b",
    re.IGNORECASE,
)
NEXT_LINE = re.compile(r"\n\s*+(?=\S)")
HEAD = re.compile(
    r"(?:\W|\b(?:ok|okay|alright|all\s++right|right|well|so|then|hm+|yes|yeah|no|fine|finally|thus|hence|therefore|"
    r"option|choice|letter|answer|final|verdict|the)\b)*+",
    re.IGNORECASE,
)
ALONE = re.compile(r"[\s*_`~\"')\]}$>.:]{0,8}?(?:\n|\Z)")
ENDS = re.compile(rf"(?:{CLOSE}[.,:;!|\\-])*+{CLOSE}\Z")
ALTERNATIVE = re.compile(
    r"[\s,*_`\"'(){}\[\]$]*+(?:and/or|or|oder|ou|或|还是|/|\|)\s*+(?:maybe|possibly|perhaps|even|else|option|the)?"
    r"[\s*_`\"'({\[$]*+",
    re.IGNORECASE,
)
ADDITION = re.compile(
    r"[*_`\"')}\]$]*+[ \t]*+(?:,?\s*+(?:and|und|et|y|和|以及|&|\+)|[,;])?[ \t]*+(?:option\b)?"
    r"[ \t*_`\"'({\[$]*+",
    re.IGNORECASE,
)
BEFORE_HEAD = re.compile(
    r"([.,;!?\n)-])\s*+(?:(?:option|choice|letter|answer)\s++)?[\s*_`\"'(\[{]*+\Z", re.IGNORECASE
)


ARTICLE = re.compile(
    r"[\s*_\"'#>-]*+(?:(?:so|thus|hence|therefore),?\s++)?(?:(?:the|an?)\s++)?[*_\"']*+", re.IGNORECASE
)
"""What stands before an option that is the subject of its sentence."""
CLASSIFIES = re.compile(
    r"\W*+(?:overall,\s++)?(?:the|this|its)\s++(?:(?:overall|general)\s++)?(?:review|sentiment|tweet|comment|"
    r"statement|sentence|message|post|claim|label|class|email|relation(?:ship)?)(?:\s++of\s++(?:the|this)\s++\w++)?\s++"
    rf"(?:is|seems|appears)(?:\s++(?:to\s++be|clearly|overall|an?|mostly|generally))*+{_DRESS}",
    re.IGNORECASE,
)
"""Before what the text of an item is said to be."""
CONCEDES = re.compile(
    r"\b(?:although|though|while|despite|in\s++spite\s++of|even\s++(?:if|though))\b[^,.;:!?\n]*+\Z",
    re.IGNORECASE,
)
DOUBTED = re.compile(
    r"\b(?:wrong|incorrect|mistaken?|wait|untrue|false|myth|misconception|not\s++(?:true|right|correct))\b",
    re.IGNORECASE,
)
TURNS = re.compile(
    r"\b(?:but|yet|however|nevertheless|nonetheless|still|actually|on\s++the\s++other\s++hand|sarcas\w*|iron(?:y|ic\w*))\b|"
    rf"(?:^|[.!?]\s)(?:overall|so|therefore|thus|hence)\b|{DOUBTED.pattern}",
    re.IGNORECASE | re.MULTILINE,
)
"""What may turn from what was said first."""
_ASKS_WHICH = re.compile(r"\b(?:who|which|what)\b", re.IGNORECASE)
_WORDS = re.compile(r"[^\W_]+")
_LEADS_ON = re.compile(
    r"(?:of|in|on|at|by|to|from|for|with|the|an?|and|or|that|which|who|than|as)\Z", re.IGNORECASE
)
_BEHIND_RESTATED = re.compile(
    r"[\"'*_)]*+(?:\s*+(?:[.;!\n(-]|\Z)|,\s++(?:at|with|as|because|since|followed)\b|"
    r"\s++(?:in|because|since|as|when|while|with|at|by)\b)",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def question_focus(question: str) -> tuple[str, ...]:
    """The words behind the "who" or "which" of the last question in a text, none where it asks otherwise:
    "of these lies furthest north"."""
    end = question.rfind("?")
    asked = fold(question[max(question.rfind(mark, 0, max(end, 0)) for mark in ".!?:\n") + 1 : end + 1])
    which = _ASKS_WHICH.search(asked)
    return tuple(_WORDS.findall(lowered(asked[which.end() :]))) if which is not None else ()


def puts_for(asked: Sequence[str], text: str, place: int) -> bool:
    """Whether a sentence goes on from an option as the question does from what it asks for, to its end."""
    first = _WORDS.search(text, place, place + _REPEATED)
    if first is None or text[place : first.start()].strip(" *_\"')"):
        return False
    if _LEADS_ON.match(first[0]) or lowered(first[0]) not in asked:
        return False
    words = list(islice(_WORDS.finditer(text, place, place + _REPEATED), len(asked)))
    said = [lowered(word[0]) for word in words]
    return any(
        said[:length] == list(asked[-length:])
        and _BEHIND_RESTATED.match(text, words[length - 1].end()) is not None
        for length in range(3, len(said) + 1)
    )


_REPEATED = 300
"""Characters of the longest question that is repeated."""


def names_no_answer(name: str) -> bool:
    """Whether the name of a value says that it is no answer: `previous_label`, "Title"."""
    return any(map(NO_ANSWER.fullmatch, re.split(r"[\W_]+", name)))


def named_no_answer(before: str) -> bool:
    """Whether what stands before an option is such a name, with its colon."""
    words = before.rstrip(" *_`\"'").removesuffix(":").split()
    return ":" in before and len(words) <= 5 and names_no_answer(" ".join(words))


# Where phrases may stand


@dataclass(frozen=True, slots=True)
class Cue:
    """A phrase, the words that it may begin with, and what must stand right before these. A head that is only
    the beginning of a word ends with `*`."""

    phrase: re.Pattern[str]
    heads: frozenset[str]
    before: re.Pattern[str] | None = None

    def begins(self, word: str) -> bool:
        """Whether the phrase may begin with a word that was found as a head."""
        return word in self.heads or any(
            head.endswith("*") and word.startswith(head[:-1]) for head in self.heads
        )

    def match(self, text: str, place: int) -> tuple[int, int] | None:
        """The span of the phrase whose head stands at a place."""
        found = self.phrase.match(text, place)
        if found is None or self.before is None:
            return None if found is None else found.span()
        before = self.before.search(text, max(0, place - _BEFORE), place)
        return None if before is None else (before.start(), found.end())


_BEFORE = 64
"""Characters that are looked at before a head."""


def _cue(phrase: re.Pattern[str], heads: str, before: re.Pattern[str] | None = None) -> Cue:
    return Cue(phrase, frozenset(heads.split()), before)


_NOUN_HEADS = (
    "answer* ans* right correct best true choice* option* selection* verdict* conclusion* "
    "classification* label* judgment* judgement* prediction* pick* recommendation* solution* "
    "selected* chosen* winner* rating* grade* decision* category* tl;dr* tldr* only last the "
    "respuesta opción elección réponse choix antwort richtig wahl lösung resposta alternativa "
    "escolha opção opzione scelta "
    "risposta antwoord odpowiedź odpověď вариант svaret cevap đáp ответ "
    "คำตอบ 답 정답 옳은 맞는 答案 答え 正解 正しいの 选择 選擇 正确 正確 उत्तर الإجابة الجواب إجابة الخيار"
)
CUES: dict[str, tuple[Cue, ...]] = {
    "marker": (
        _cue(
            _MARKER,
            f"{_NOUN_HEADS} i we <answer> <finalanswer> <final_answer> \\boxed ich je elijo "
            "escojo me escolho scelgo direi ik wybieram jag confident my أختار اخترت 选 選 सही",
        ),
        _cue(_HEADING, _NOUN_HEADS, _BEFORE_HEADING),
    ),
    "conclusion": (
        _cue(
            _CHOOSING,
            "choos* pick* select* say* vot* opt* answer* go going stay* stick* sid* settl* "
            "decid* lock* bet* lean* tend* chang* switch* updat* revis* err* back",
            _BEFORE_CHOOSING,
        ),
        _cue(
            _CONCLUDING,
            "therefore thus hence so actually no nope wait oops i make instead on i.e. must "
            "can has got gotta corresponds correction correct leaves leaving we what finally "
            "donc also somit daher folglich portanto logo luego por así quindi rimane resta "
            "queda reste bleibt 因此 所以 故 よって したがって 따라서 그러므로 لذلك إذن "
            "ではなく じゃなく 아니라 而是",
        ),
        _cue(_IT_IS, "it its that thats this which c'est es est é das è", _BEFORE_IT_IS),
    ),
    "attribution": (
        _cue(_ANSWER_OF, _NOUN_HEADS, _WHOSE),
        _cue(_SECOND_IS, _NOUN_HEADS, _SECOND),
        _cue(
            ATTRIBUTION,
            "some* many most other* another people person critic* "
            "supporter* skeptic* sceptic* student* they he she any* one friend* teacher* "
            "textbook* colleague* boss minister* spokes* neighbo* doctor* lawyer* user* "
            "client* customer* reviewer* expert* economist* scientist* parent* mother father "
            "brother sister wife husband majority public opponent* author* reader* group camp "
            "forum* voter* household* analyst* official* key* quiz nobody nothing 有人 有些人 有的人 "
            "很多人 多数人 大家 人们 他 她",
        ),
    ),
    "others": (
        _cue(_WOULD, "would might could may will", _WHO_WOULD),
        _cue(_CONVINCED, "convinced sure certain adamant", _WHO_IS),
        _cue(
            OTHERS,
            "algunos muchos otros certains beaucoup manche viele alcuni molti alguns muitos "
            "некоторые многие 说 认为 認為 觉得 according",
        ),
    ),
    "denial": (
        _cue(
            DENIAL,
            "wrong incorrect false worst least falsche verkehrte mauvaise fausse incorrecta equivocada "
            "errada incorreta sbagliata errata foute verkeerde неправильный неверный anything everything all "
            "not n't never cannot doubt unlikely tempt* "
            "error mistake neither nor if whether unless except than between rule rules ruled "
            "reject* eliminate* exclude* instead rather choose pick prefer select take non "
            "nicht pas não no 不是 并非 並非",
        ),
    ),
    "self": (_cue(SELF, "; but yet however so therefore i my aber mais pero 我"),),
    "no reason": (_cue(NO_REASON, "no little without any hardly"),),
    "from": (_cue(FROM, "chang* switch* revis* updat* mov*"),),
    "if": (
        _cue(
            IF,
            "if unless whether provided as otherwise should why suppose assum* imagine in "
            "wenn falls si se ob 如果",
        ),
    ),
    "breaks": (_cue(BREAKS, '" ; but yet however either regardless'),),
    "open": (_cue(OPEN, "between if whether unless"),),
}
"""The phrases that are looked for in a whole text, by what they say. They are slow, and few words begin one:
so these are found first, all in one search, and a phrase is tried only where one of its heads stands."""


ABSTENTION = {
    "abstains": (
        _cue(
            ABSTAINS,
            "rather won't will can't cannot unable refuse decline declines not do and don't hard impossible "
            "difficult no without depends up your either both you",
        ),
    )
}
"""The same for what a whole text says that chooses none."""


def _heads(cues: Mapping[str, Sequence[Cue]]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What finds the heads that a space or a mark precedes, and the others."""
    heads = {head for same in cues.values() for cue in same for head in cue.heads}
    apart = {head for head in heads if re.match(r"[a-zà-ÿđа-я]", head) and head != "n't"}
    by_letter = {
        letter: "|".join(
            re.escape(head[1:].rstrip("*")) + (r"\b" if head[-1].isalpha() else "")
            for head in sorted(apart, key=len, reverse=True)
            if head[0] == letter
        )
        for letter in sorted({head[0] for head in apart})
    }
    branches = "|".join(f"{letter}(?:{rest})" for letter, rest in by_letter.items())
    others = "|".join(map(re.escape, sorted(heads - apart, key=len, reverse=True)))
    # The search skips to a space or a mark faster than it finds the beginning of a word.
    return re.compile(rf"[\W_](?:{branches})"), re.compile(others or "(?!)")


class PhraseBook:
    """Phrases by what they say, found by their heads."""

    def __init__(self, cues: Mapping[str, Sequence[Cue]]) -> None:
        self.cues = cues
        self._apart, self._anywhere = _heads(cues)
        self._begun: dict[str, list[tuple[str, Cue]]] = {}

    def _begun_by(self, word: str) -> list[tuple[str, Cue]]:
        """The phrases that a head may begin, each with what it says."""
        if word not in self._begun:
            self._begun[word] = [
                (name, cue) for name, same in self.cues.items() for cue in same if cue.begins(word)
            ]
        return self._begun[word]

    def read(self, text: str, spans: Iterable[tuple[int, int]]) -> dict[str, list[tuple[int, int]]]:
        """Where what is said begins and ends, of what begins in these spans of a text, in order."""
        low = "\n" + lowered(text)
        found: list[tuple[int, str]] = []
        for begin, end in spans:
            found += [(match.start(), match[0][1:]) for match in self._apart.finditer(low, begin, end + 1)]
            found += [
                (match.start() - 1, match[0]) for match in self._anywhere.finditer(low, begin + 1, end + 1)
            ]
        said: dict[str, list[tuple[int, int]]] = {name: [] for name in self.cues}
        for place, word in sorted(found):
            for name, cue in self._begun_by(word):
                known = said[name]
                span = None if known and place < known[-1][1] else cue.match(text, place)
                if span is not None:
                    known.append(span)
        return said


PHRASES = PhraseBook(CUES)
ABSTENTIONS = PhraseBook(ABSTENTION)
