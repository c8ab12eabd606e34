"""Reads the answer out of a response in free text: which option it chooses, and where it says so.

The functions are pure, and the rules are the same for every benchmark. The *last* valid answer marker counts,
and only the item's own letters are answers. A last line with nothing but an option counts as marked. A model
that says "the answer is (A). On reflection, Answer: C" has answered C; "the answer is clear" has not answered
C, and "I cannot say" has not answered I.

These are no answers: two options given as one answer ("Answer: A or B"), an answer that is taken back ("it is
not (C)", "Answer: C ... but (C) is wrong"), options that are only repeated or discussed in turn, a last word
of "neither", and reasoning that never reached an answer.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from gridc.compiler.instrument import phrases
from gridc.compiler.instrument.item import LETTERS
from gridc.compiler.instrument.options import are_letters
from gridc.compiler.instrument.own_part import own_part
from gridc.compiler.instrument.phrases import Mention, mentions
from gridc.compiler.instrument.plain_text import fold

Confidence = Literal["stated", "inferred", "none"]


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was read out of a response.

    `option` is the option's index, or None. `rule` names the rule that read it, or says why nothing
    could be read. `start` and `end` are the span of its letter or text in the response, in characters.
    `confidence` is `stated` where the response says that this is its answer, and `inferred` where it is
    only what the response implies. `answer` is an answer in free text, in the form in which answers are
    compared; None where the answer is an option or a label.
    """

    option: int | None
    rule: str
    confidence: Confidence = "none"
    start: int = 0
    end: int = 0
    answer: str | None = None


def extract(
    response: str,
    options: Sequence[str],
    *,
    lettered: bool = True,
    labels: Sequence[str] | None = None,
    question: str = "",
) -> Extraction:
    """The option that a response chooses, read from the part that answers this `question` (`own_part`).

    The rules are tried in this order: the last option that the response commits to, behind a marker or a
    conclusion; a response that opens with its answer; a last sentence that concludes; a response of a few
    words that gives one option; and the only option that is not called wrong. A mention alone is no choice.
    In JSON only marked answers are read. Without lettered options only texts count. `labels` are the labels
    that the options are shown under, letters by default.

    A number is also the number of a paragraph and a count, so it is an answer only behind a marker or a
    conclusion, alone on its line, or with its option's text.
    """
    if labels is None:
        labels = LETTERS[: len(options)] if lettered else ()
    part = own_part(response, question, options)
    if part is None:
        return Extraction(None, "the reasoning never ended")
    begin, end = part
    text = fold(response[begin:end])
    if not text.strip():
        return Extraction(None, "empty")
    given = _exactly(text, options, labels)
    if given is not None:
        option, place = given
        return Extraction(option, "stated letter", "stated", begin + place, begin + place + 1)
    tail = _tail(text)
    if tail is not None:
        extraction = _by_rules(text[tail:], options, labels, begin + tail, question, whole=False)
        if extraction.option is not None and extraction.start >= begin + tail + _CONTEXT:
            return extraction
    return _by_rules(text, options, labels, begin, question, whole=True)


def _by_rules(
    text: str, options: Sequence[str], labels: Sequence[str], begin: int, question: str, whole: bool
) -> Extraction:
    """The answer by the first rule that finds one. Without `whole` the text is only the end of a response,
    and only the first two rules are tried."""
    every = mentions(text, options, labels)
    if not every:
        return Extraction(None, "no answer")
    reading = _ReadResponse(text, every, are_letters(labels), len(options), question, whole)
    data = text.lstrip().startswith(_DATA)
    unread = "several answers" if reading.several() else "no answer"
    for name, confidence, rule in _RULES if whole else _RULES[:2]:
        answer = rule(reading) if confidence == "stated" or not data else None
        if answer is None or (confidence == "inferred" and reading.broken_off(answer)):
            continue
        if reading.contradicted(answer):
            return Extraction(None, "several answers")
        if name == "left" or not reading.taken_back(answer):
            kind = f"{name} {'letter' if answer.letter else 'text'}"
            return Extraction(answer.option, kind, confidence, begin + answer.start, begin + answer.end)
        unread = "taken back"
    return Extraction(None, unread)


_DATA = ("{", "[", "```json")
_TAIL, _CONTEXT = 500, 200
"""Characters of a long response's end that are read first, and how many of them must precede an answer."""
_OF_THE_WHOLE = ("←", "<-", "✓", "✔", "✅", "☑", "[x]", "[X]", '":', "':", '" :', "' :")
"""Ticks in a list of options and keys of data: they may mark an answer far from the end."""


def _tail(text: str) -> int | None:
    """Where the last lines of a long response begin. They are read first, because the last commitment counts
    and only the sentences around it decide. None where the whole text has to be read."""
    if len(text) < 2 * _TAIL or text.lstrip().startswith(_DATA) or any(map(text.__contains__, _OF_THE_WHOLE)):
        return None
    line = text.rfind("\n", len(text) - 2 * _TAIL, len(text) - _TAIL)
    if line >= 0:
        return line
    sentence = text.rfind(". ", len(text) - 2 * _TAIL, len(text) - _TAIL)
    # Only a whole line shows which words are in quotes.
    return None if sentence < 0 or '"' in text[text.rfind("\n", 0, sentence) + 1 :] else sentence


def _exactly(text: str, options: Sequence[str], labels: Sequence[str]) -> tuple[int, int] | None:
    """The option that a response ends with in one of a few exact forms, such as "The answer is (C).", and its
    place; None for any other response."""
    # A short cut: no phrase could change such an answer, and finding phrases takes most of the time.
    match = _EXACT.search(text, max(0, len(text) - 200))
    if match is None or not are_letters(labels) or text.lstrip()[:1] in ("{", "[", "`"):
        return None
    option = LETTERS.index(match["letter"])
    if option >= len(labels) or any("answer" in text.lower() for text in options):
        return None
    if text.count('"', text.rfind("\n", 0, match.start("letter")) + 1) % 2:
        return None
    return option, match.start("letter")


_EXACT = re.compile(
    r"(?:\A\s*|[.!?][)*_]*\s+|[.!?:*)\]}$\d]\s*\n\s*|\n\s*\n\s*)[*_#]*\s?(?:(?:so|therefore|thus|hence),?\s)?(?:the\s|my\s)?"
    r"(?:(?:final|correct|best|right)\s)?answer[*_]*\s?(?:is|:)[\s*_:$(\[{]*(?:option\s?)?(?:\\boxed\{(?:\\text\{)?)?[\s*_$(\[{]*"
    r"(?-i:(?P<letter>[A-Z]))[)\]}*_$.\s]*\Z",
    re.IGNORECASE,
)


class _ReadResponse:
    """A folded response with its mentions, and what is said before each."""

    def __init__(
        self,
        text: str,
        every: Sequence[Mention],
        letters: bool,
        options: int,
        question: str,
        whole: bool,
    ) -> None:
        self.text = text
        self.question = question
        self.whole = whole
        self.options = options
        self.letters = letters
        self.every = every
        self._said = phrases.PHRASES.read(text, self._near(every))
        denied = self._denied(every)
        aside = denied | self._attributed(every)
        self.standing = [
            mention
            for number, mention in enumerate(every)
            if number not in aside and not phrases.BREAKS_OFF.match(text, mention.end)
        ]
        self.denied = [every[number] for number in sorted(denied)]

    def _near(self, every: Sequence[Mention]) -> list[tuple[int, int]]:
        """The only spans that are searched for phrases, since no phrase elsewhere could lead to a mention.
        Each begins with the sentence that stands `_PHRASE` characters before the mention."""
        spans: list[tuple[int, int]] = []
        for mention in every:
            begin = self._sentence(max(0, mention.start - _PHRASE))
            if spans and begin <= spans[-1][1]:
                begin = spans.pop()[0]
            spans.append((begin, mention.start))
        return spans

    def _denied(self, every: Sequence[Mention]) -> set[int]:
        """The numbers of the mentions that are denied: "not A", "between A and B", "B and C are wrong"."""
        denials, denied = self._ends("denial"), set()
        for number, mention in enumerate(every):
            if (
                mention.start in denials
                or self._under(self._doubts, mention)
                or (number - 1 in denied and self._enumerated(every[number - 1], mention))
                or (number and self._between(phrases.OVER, every[number - 1], mention))
            ):
                denied.add(number)
        for number, (first, second) in enumerate(pairwise(every)):
            if first.start in self._changes and self._between(phrases.TO, first, second):
                denied.add(number)
        for number in reversed(range(len(every))):
            wrong = self._wrong(every, number)
            while wrong is not None:
                denied.add(number)
                listed = number and not phrases.SINGULAR.search(wrong)
                number -= 1
                if not listed or not self._enumerated(every[number], every[number + 1]):
                    break
        return denied

    def _between(self, pattern: re.Pattern[str], first: Mention, second: Mention) -> bool:
        """Whether nothing else stands between two options."""
        return (
            first.option != second.option
            and pattern.fullmatch(self.text, first.end, second.start) is not None
        )

    def _attributed(self, every: Sequence[Mention]) -> set[int]:
        """The numbers of the mentions that others are said to choose: "critics say A", "another (B)"."""
        attributed = self._ends("attribution")
        attributions, over = self._starts("others"), self._starts("self")
        return {
            number
            for number, mention in enumerate(every)
            if mention.start in attributed
            or phrases.ATTRIBUTED.match(self.text, mention.end)
            or self._governed(attributions, over, mention)
        }

    @cached_property
    def surveyed(self) -> set[int]:
        """The places of the options that head a survey: lines at the response's start that discuss the
        options in turn. Such a head is not an answer. It is no survey where the first line says nothing
        about its option or why it is the answer, or where the same option heads the next line again."""
        standing = {mention.start: mention for mention in self.standing}
        heads: list[Mention] = []
        for line in (0, *(match.end() for match in phrases.NEXT_LINE.finditer(self.text))):
            head = standing.get(self._leads(line) or line)
            if head is not None and head.option == len(heads):
                heads.append(head)
            elif not heads or (head is not None and (head.letter or head.option != heads[-1].option)):
                break
        if len(heads) < 2 or not self._says_something(*heads[:2]):
            return set()
        reasoned = phrases.REASON.match(self.text, heads[0].end)
        return set() if reasoned else {head.start for head in heads}

    def _says_something(self, head: Mention, following: Mention) -> bool:
        """Whether anything but the option's own text stands between two heads."""
        named = next((mention for mention in self.standing if self._explained(head, mention)), head)
        return any(character.isalnum() for character in self.text[named.end : following.start])

    def _wrong(self, every: Sequence[Mention], number: int) -> str | None:
        """The words that call a mention wrong, such as " is wrong"; None where there are none. In "B: false"
        the word does not count if it is an option's text."""
        match = phrases.WRONG.match(self.text, every[number].end)
        if match is None:
            return None
        after = every[number + 1] if number + 1 < len(every) else None
        return None if after is not None and after.start < match.end() else match[0]

    def _enumerated(self, first: Mention, second: Mention) -> bool:
        gap = self.text[first.end : second.start]
        return bool(phrases.ALTERNATIVE.fullmatch(gap) or phrases.ADDITION.fullmatch(gap))

    def stated(self) -> Mention | None:
        """The last mention that a marker or a choice leads to, that is called right, that is all of the last
        line or of a value, or that is ticked. None where a conclusion follows it."""
        return self._decided if self._decided in self._marked else None

    def concluded(self) -> Mention | None:
        """A mention behind a conclusion or a correction ("so it is B"), or alone in the last sentence, where
        nothing is stated after it."""
        return None if self._decided in self._marked else self._decided

    @cached_property
    def _decided(self) -> Mention | None:
        """The last mention that is marked or concluded."""
        concluded = self._ends("conclusion")
        last_sentence = None if self.ticked else self._alone_at_the_end()
        return self._last(
            lambda mention: (
                mention in self._marked
                or mention == last_sentence
                or (mention.start in concluded and self._stops(mention) and self._earnest(mention))
            )
        )

    @cached_property
    def _marked(self) -> frozenset[Mention]:
        """The mentions that are given as the answer in so many words."""
        led, changed = self._ends("marker"), self._changed()
        keyed, named = self._keyed()
        whole = self.ticked or self._last_line(), keyed
        return frozenset(
            mention
            for mention in self.standing
            if mention in whole
            or (
                (
                    mention.start in changed
                    or (mention.start in led and mention not in named and self._answers(mention))
                    or self._called_right(mention)
                )
                and self._earnest(mention)
            )
        )

    def _earnest(self, mention: Mention) -> bool:
        """Whether a mention is neither asked nor conditional."""
        return not self._asked(mention) and not self._conditional(mention)

    def _called_right(self, mention: Mention) -> bool:
        return phrases.RIGHT.match(self.text, mention.end) is not None and not self._in_quotation(mention)

    def _answers(self, mention: Mention) -> bool:
        """Whether a marker leads to the option and not to a sentence on it: "Answer: Mercury is hot"."""
        return mention.letter or phrases.TELLS.match(self.text, mention.end) is None

    def _changed(self) -> set[int]:
        """The places of new answers, such as D in "I'm changing my answer from B to D"."""
        return {
            second.start
            for first, second in pairwise(self.every)
            if first.start in self._changes and self._between(phrases.TO, first, second)
        }

    @cached_property
    def ticked(self) -> Mention | None:
        """The only option at the head of a line that is ticked, where another one's line is not."""
        lines = [0, *(match.end() for match in phrases.NEXT_LINE.finditer(self.text))]
        every = {mention.start: mention for mention in self.every}
        standing = {mention.start for mention in self.standing}
        heads = [
            (
                head,
                phrases.TICK.search(self.text, begin, head.start)
                or phrases.TICKED.search(self.text, head.end, end),
            )
            for begin, end in pairwise([*lines, len(self.text)])
            if (head := every.get(self._leads(begin) or begin)) is not None
        ]
        ticked = [head for head, tick in heads if tick and head.start in standing]
        bare = {head.option for head, tick in heads if not tick}
        if len({head.option for head in ticked}) != 1 or not bare - {ticked[0].option}:
            return None
        return ticked[-1]

    def _keyed(self) -> tuple[Mention | None, list[Mention]]:
        """The only option whose text is a whole value, as in `{"sentiment": "positive"}`, and the mentions in
        values whose key shows that they are no answer."""
        if not self.whole:  # a value is read in a whole text, and so is its first line
            return None, []
        values = {mention.end: mention for mention in self.standing}
        answers, no_answers = list[Mention](), list[Mention]()
        for match in phrases.KEYED.finditer(self.text):
            key, group = (match["key"], "value") if match["key"] else (match["words"], "line")
            mention = values.get(match.start(group) + len(match[group].rstrip(_BLANK)))
            if mention is None or self.text[match.start(group) : mention.start].strip(_OPENS):
                continue
            if phrases.names_no_answer(key):
                no_answers.append(mention)
            elif not mention.letter:
                answers.append(mention)
        return answers[-1] if len({mention.option for mention in answers}) == 1 else None, no_answers

    def _last_line(self) -> Mention | None:
        """The option that is all there is on the last of several lines: "B", "- **(B)**", "B. the miller"."""
        begin = self.text.rstrip(_BLANK).rfind("\n") + 1
        named = [mention for mention in self.standing if mention.start >= begin]
        if not begin or not named or self._leads(begin) != named[0].start:
            return None
        if not all(self._explained(*two) or self._enumerated(*two) for two in pairwise(named)):
            return None
        return named[0] if phrases.ENDS.match(self.text, named[-1].end) else None

    def _leads(self, begin: int) -> int | None:
        opening = phrases.OPENING.match(self.text, begin)
        return None if opening is None else opening.end()

    def _explained(self, letter: Mention, text: Mention) -> bool:
        """Whether an option's text follows its letter: "B. the miller", "(B) the miller"."""
        between = self.text[letter.end : text.start]
        return (
            letter.letter and not text.letter and letter.option == text.option and not between.strip(_LABEL)
        )

    def opening(self) -> Mention | None:
        """A mention that opens the response, on its own or before its reason: "B", "(B)", "B. the baker".
        Not where the response goes on to conclude otherwise."""
        first, end = self._opens(), self.closing()
        return end if first is not None and end is not None and end.option != first.option else first

    def _opens(self) -> Mention | None:
        first = self.standing[0] if self.standing else None
        leads = {self._leads(0), *self._begins()}
        if first is None or first.start not in leads or first.start in self.surveyed:
            return None
        follows = self.standing[1] if len(self.standing) > 1 else None
        if follows is not None and (self._asked(first) or self._in_turn(first)):
            return None
        if not first.letter and (phrases.ASKS_FOR_MORE.search(self.text) or self._ends_in_a_question):
            return None
        if self._in_quotation(first) or (first.ordinal and not self._stops(first)):
            return None
        if self._conditional(first):
            return None
        if phrases.MAY.match(self.text, first.end) or (not first.letter and self._in_a_list(first)):
            return None
        named = follows is not None and follows.option == first.option and not follows.letter
        explained = (
            named and follows is not None and not any(map(str.isalnum, self.text[first.end : follows.start]))
        )
        ends_line = phrases.ALONE.match(self.text, first.end)
        tells = follows is not None and phrases.TELLS.match(self.text, follows.end) is not None
        if explained and tells and (ends_line is None or ":" in ends_line[0]):
            return None
        if first.letter and not self.letters:
            return first if explained or ends_line else None
        if self._stops(first) or explained:
            return first
        return first if first.letter and phrases.REASON.match(self.text, first.end) else None

    def _in_turn(self, first: Mention) -> bool:
        """Whether the next option is taken up as the first is: "**A** - cheap, **B** - durable", "A has … B
        has …". Not where the first stands alone on its line, with or without its text, or with its reason."""
        named = next((mention for mention in self.standing[1:2] if self._explained(first, mention)), first)
        if phrases.ALONE.match(self.text, named.end) or phrases.REASON.match(self.text, first.end):
            return False
        follows = next(
            (
                mention
                for mention in self.every
                if mention.start > first.end and mention.option != first.option
            ),
            None,
        )
        if follows is None or (self._stops(first) and (first.option, follows.option) != (0, 1)):
            return False
        between = self.text[first.end : follows.start]
        sentence = phrases.BEFORE_HEAD.search(between)
        return sentence is not None and (sentence[1] in ".!?\n" or self._form(first) == self._form(follows))

    def _in_a_list(self, first: Mention) -> bool:
        """Whether a text is the first of several in its sentence: "iron, lead and copper are solid"."""
        end = phrases.SENTENCES.search(self.text, first.end)
        reach = end.start() if end is not None else len(self.text)
        return (
            any(mention.option != first.option and mention.start < reach for mention in self.standing)
            and phrases.COMMA.match(self.text, first.end) is not None
            and phrases.REASON.match(self.text, first.end) is None
        )

    def _form(self, mention: Mention) -> tuple[str, str]:
        """The characters around a mention that are neither letters nor digits."""
        before = self.text[: mention.start]
        behind = self.text[mention.end : mention.end + 8]
        marks = next((at for at, character in enumerate(behind) if character.isalnum()), len(behind))
        return before[len(before.rstrip(_OPENS)) :].strip(), behind[:marks]

    def closing(self) -> Mention | None:
        """The only option of the last sentence that names one, or of its part behind a "but", if the sentence
        concludes: "On balance B fits", "Hence the thief is the miller"."""
        begin, named = self._last_sentence
        if named is None or self._questioned(named) or self._conditional(named) or self._abstains():
            return None
        if (named.letter and not self.letters) or phrases.UNFINISHED.search(self.text):
            return None
        if self._ends_in_a_question:
            return None
        first = next(mention for mention in self.standing if mention.start >= begin)
        before = self.text[begin : first.start]
        last = self._sentence(len(self.text.rstrip(_BLANK))) <= named.start
        if phrases.PLAN.search(before) or phrases.MAY.match(self.text, named.end):
            return None
        if before.endswith(".") or phrases.named_no_answer(before) or self._in_quotation(named):
            return None
        concludes = (
            self._preferred(named)
            or phrases.CLOSES.search(before)
            or (phrases.SUBJECT.fullmatch(before) and phrases.FITS.match(self.text, named.end))
            or (last and self._stops(named) and phrases.PREDICATE.search(before))
        )
        return named if concludes else None

    def _preferred(self, mention: Mention) -> bool:
        """Whether this option is preferred to another one: "A, not B", "C over B"."""
        instead = phrases.INSTEAD.match(self.text, mention.end)
        if instead is None:
            return False
        number = bisect_left(self.denied, instead.end(), key=lambda denied: denied.start)
        other = self.denied[number] if number < len(self.denied) else None
        if other is None or other.option == mention.option:
            return False
        return phrases.BEFORE.fullmatch(self.text, instead.end(), other.start) is not None

    def _sentence(self, place: int) -> int:
        """Where the sentence that contains a place begins."""
        return self._sentences[bisect_right(self._sentences, place) - 1]

    @cached_property
    def _sentences(self) -> list[int]:
        """Where sentences begin. Found once: a response may be thousands of them."""
        return [0, *(match.end() for match in phrases.SENTENCES.finditer(self.text))]

    @cached_property
    def _last_sentence(self) -> tuple[int, Mention | None]:
        """Where the last sentence that names an option begins, or its last part behind a "but", and the last
        mention of the only option in it."""
        last = self.standing[-1].start if self.standing else 0
        begin = self._sentence(last)
        begin = max([begin, *(match.end() for match in phrases.CONTRAST.finditer(self.text, begin, last))])
        named = [mention for mention in self.standing if mention.start >= begin]
        return begin, named[-1] if len({mention.option for mention in named}) == 1 else None

    def _alone_at_the_end(self) -> Mention | None:
        """The option that is the last sentence, where the one before is not another option."""
        begin, named = self._last_sentence
        if not begin or named is None or self._asked(named) or self._listed(named, begin):
            return None
        if phrases.UNFINISHED.search(self.text):
            return None
        first = next(mention for mention in self.standing if mention.start >= begin)
        if phrases.HEAD.fullmatch(self.text, begin, first.start) is None:
            return None
        if first.ordinal and first is not named:
            return None
        return named if phrases.AFTERWARDS.match(self.text, named.end) or self._preferred(named) else None

    def _listed(self, mention: Mention, begin: int) -> bool:
        """Whether another option stands alone in the sentence before."""
        earlier = [mention for mention in self.standing if mention.start < begin]
        if not earlier or earlier[-1].option == mention.option:
            return False
        start = self._sentence(earlier[-1].start)
        rest = self.text[start : earlier[-1].start] + self.text[earlier[-1].end : begin]
        return not any(map(str.isalnum, rest))

    def left(self) -> Mention | None:
        """The only one of three or more options that is not called wrong, where no option is named in another
        way. Its place is that of the last wrong one."""
        wrong = {mention.option for mention in self.denied}
        if self.options < 3 or len(wrong) != self.options - 1 or self._abstains():
            return None
        if any(mention.option not in wrong for mention in self.standing):
            return None
        if not self._ends("open").isdisjoint(mention.start for mention in self.denied):
            return None
        (option,) = set(range(self.options)) - wrong
        return self.denied[-1]._replace(option=option)

    def restated(self) -> Mention | None:
        """The only option's text that a sentence puts for the "who" or "which" of the question: "Oslo lies
        furthest north"."""
        asked = phrases.question_focus(self.question)
        if len(asked) < _FEWEST:
            return None
        answers = [
            mention
            for mention in self.standing
            if not mention.letter
            and phrases.puts_for(asked, self.text, mention.end)
            and phrases.ARTICLE.fullmatch(self.text, self._before(mention), mention.start)
            and not self._conditional(mention)
            and not self._questioned(mention)
        ]
        if len({mention.option for mention in answers}) != 1 or self._abstains():
            return None
        return None if phrases.DOUBTED.search(self.text, answers[-1].end) else answers[-1]

    def _before(self, mention: Mention) -> int:
        """Where a mention's sentence begins, or in a long one `_PHRASE` characters before the mention."""
        return max(self._sentence(mention.start), mention.start - _PHRASE)

    def classified(self) -> Mention | None:
        """The option's text that the first sentence says the text of the item is, where others are only
        conceded: "The review is positive. Although the beginning sounds negative, ..."."""
        first = self.standing[0] if self.standing else None
        if first is None or first.letter or not self._stops(first) or self._conditional(first):
            return None
        if phrases.CLASSIFIES.fullmatch(self.text, 0, first.start) is None or self._abstains():
            return None
        other_options = [mention for mention in self.every if mention.option != first.option]
        conceded = all(
            phrases.CONCEDES.search(self.text, self._before(mention), mention.start)
            for mention in other_options
        )
        return first if conceded and phrases.TURNS.search(self.text, first.end) is None else None

    def short(self) -> Mention | None:
        """The only option that a response of a few words names and does not ask about, or plan to look at."""
        named = self.standing[0] if self.standing else None
        if named is None or len({mention.option for mention in self.every}) > 1:
            return None
        around = self.text[: named.start], self.text[named.end :]
        if len(self.text.split()) > _FEW or any(map(phrases.NO_CHOICE.search, around)):
            return None
        if self._conditional(named) or phrases.ANSWERED.fullmatch(around[0]) is None:
            return None
        if self._abstains() or (named.letter and not self.letters):
            return None
        return named if self._stops(named) or phrases.REASON.match(around[1]) else None

    def broken_off(self, answer: Mention) -> bool:
        """Whether the response stops in the middle of a derivation after this mention, so that its result is
        not known."""
        end = len(self.text.rstrip())
        if self.text[end - 1] in _ENDINGS or phrases.ENDS.match(self.text, answer.end):
            return False
        last = self.text[self._sentence(end - 1) : end]
        number = self.text[answer.end - 1].isdecimal()
        return phrases.FORMULA.search(last) is not None or (
            number and phrases.DANGLES.search(last) is not None
        )

    def several(self) -> bool:
        """Whether several options are named."""
        return len({mention.option for mention in self.standing}) > 1

    def contradicted(self, answer: Mention) -> bool:
        """Whether another option is given as the answer in the same breath: "A or B", "B. the text of A"."""
        if answer == self.ticked:
            return False
        for first, second in pairwise(self.standing):
            if answer in (first, second) and first.option != second.option and self._joined(first, second):
                return True
        return False

    def taken_back(self, answer: Mention) -> bool:
        """Whether the response goes on to call the option wrong, ends in "neither" or "both", or takes
        something back and does not name this option again alone."""
        retracts = max(phrases.RETRACTS.finditer(self.text, answer.end), key=re.Match.start, default=None)
        if retracts is not None and {
            mention.option for mention in self.standing if mention.start >= retracts.end()
        } != {answer.option}:
            return True
        back = [
            mention
            for mention in self.denied
            if mention.start > answer.start and mention.letter == answer.letter
        ]
        none = phrases.NONE.search(self.text, max(answer.end, len(self.text.rstrip(_BLANK)) - _PHRASE))
        named = none is not None and any(mention.end > none.end() - 1 for mention in self.standing)
        return any(mention.option == answer.option for mention in back) or (none is not None and not named)

    def _joined(self, first: Mention, second: Mention) -> bool:
        between = self.text[first.end : second.start]
        if phrases.ALTERNATIVE.fullmatch(between):
            return True
        if "\n" in between and not between.strip(_LABEL + "\n("):
            line = self.text.rfind("\n", 0, first.start) + 1
            return self._leads(line) == first.start
        if first.letter and not second.letter and not between.strip(_LABEL):
            return self._stops(second)
        if not phrases.ADDITION.fullmatch(between):
            return False
        return (
            self._stops(second)
            or re.compile(rf"{phrases.CLOSE}(?:and|or|are)\b").match(self.text, second.end) is not None
        )

    def _last(self, chosen: Callable[[Mention], bool]) -> Mention | None:
        return next((mention for mention in reversed(self.standing) if chosen(mention)), None)

    def _conditional(self, mention: Mention) -> bool:
        """Whether an "if" follows a mention directly, or stands before it in its sentence and the condition
        does not end in between."""
        if phrases.IF_BEHIND.match(self.text, mention.end):
            return True
        return self._governed(self._conditions, self._breaks, mention)

    def _governed(self, places: Sequence[int], over: Sequence[int], mention: Mention) -> bool:
        """Whether one of `places` stands before a mention in its sentence, with none of `over` in between."""
        ended, place = bisect_left(over, mention.start), bisect_left(places, mention.start)
        return self._under(places, mention) and (not ended or over[ended - 1] < places[place - 1])

    @cached_property
    def _breaks(self) -> list[int]:
        """Where a condition is over."""
        return self._starts("breaks")

    def _under(self, places: Sequence[int], mention: Mention) -> bool:
        """Whether one of these stands before a mention in its sentence."""
        before = bisect_left(places, mention.start)
        return before > 0 and places[before - 1] >= self._sentence(mention.start)

    @cached_property
    def _conditions(self) -> list[int]:
        """Where an "if" stands."""
        return self._starts("if")

    @cached_property
    def _doubts(self) -> list[int]:
        """Where there is "no reason" to say what follows."""
        return self._starts("no reason")

    @cached_property
    def _changes(self) -> set[int]:
        """Where phrases like "changing my answer from" end."""
        return self._ends("from")

    def _abstains(self) -> bool:
        """Whether the response says that it chooses none, or asks for the text. An option's own text is no
        such sentence."""
        if phrases.ASKS_FOR_MORE.search(self.text):
            return True
        starts = [mention.start for mention in self.standing]
        for begin, end in phrases.ABSTENTIONS.read(self.text, [(0, len(self.text))])["abstains"]:
            before = bisect_left(starts, end)  # no two mentions overlap
            if not before or self.standing[before - 1].end <= begin:
                return True
        return False

    @cached_property
    def _ends_in_a_question(self) -> bool:
        return self.text.rstrip(_BLANK).endswith("?")

    def _stops(self, mention: Mention) -> bool:
        return phrases.STOPS.match(self.text, mention.end) is not None or self._preferred(mention)

    def _asked(self, mention: Mention) -> bool:
        return phrases.ASKED.match(self.text, mention.end) is not None

    def _questioned(self, mention: Mention) -> bool:
        """Whether a mention's sentence is a question."""
        place = bisect_right(self._sentences, mention.start)
        end = self._sentences[place] if place < len(self._sentences) else len(self.text)
        return self.text[max(mention.end, end - 8) : end].rstrip(" \t\n*_`\"')]}").endswith("?")

    def _in_quotation(self, mention: Mention) -> bool:
        """Whether an option stands in double quotes with more than itself."""
        before = self.text[max(mention.start - 2, 0) : mention.start]
        behind = self.text[mention.end : mention.end + 2]
        return self._in_quotes(mention.start) and not ('"' in before and '"' in behind)

    def _starts(self, name: str) -> list[int]:
        """Where something of this name is said."""
        return [start for start, _ in self._said[name]]

    def _ends(self, name: str) -> set[int]:
        """Where phrases of this name end, and where each filler word between them and an answer ends.
        Quotations do not count."""
        ends = set[int]()
        for span in self._said[name]:
            ends |= self._led(*span, ends)
        return ends

    def _begins(self) -> set[int]:
        """The same for the words that a response begins with, before its answer."""
        begun = phrases.BEGINS.match(self.text)
        return set() if begun is None else self._led(*begun.span(), set())

    def _led(self, start: int, end: int, places: set[int]) -> set[int]:
        """The places that a phrase leads to, up to the first one that is in `places` already."""
        ends = set[int]()
        place: int | None = None if self._quoted(start, end) else end
        while place is not None and place not in places and place not in ends:
            ends.add(place)
            filler = phrases.FILLER.match(self.text, place)
            place = filler.end() if filler is not None else None
        return ends

    def _quoted(self, start: int, end: int) -> bool:
        """Whether words stand in double quotes that begin on their line and do not end in them."""
        return self._in_quotes(start) and '"' not in self.text[start:end]

    def _in_quotes(self, place: int) -> bool:
        """Whether an odd number of double quotes stands before a place on its line."""
        line = self._lines[bisect_right(self._lines, place) - 1]
        return (bisect_left(self._quotes, place) - bisect_left(self._quotes, line)) % 2 == 1

    @cached_property
    def _lines(self) -> list[int]:
        """Where lines begin."""
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    @cached_property
    def _quotes(self) -> list[int]:
        """Where double quotes stand."""
        return [match.start() for match in re.finditer('"', self.text)]


_ENDINGS = ".!?)]}*\"'$`|>;"
"""Characters at the end of a response that was not broken off."""
_PHRASE = 150
"""Characters of the longest phrase that leads to an answer."""
_FEWEST = 3
"""Words of the question that a sentence repeats behind its answer."""
_FEW = 10
"""Words of a response that says no more than its choice."""
_LABEL = " \t.:)]*_-"
_BLANK = " \t\n*_`~\"')]}$>.,:;!|\\-"
_BRACKETS = (("(", ")"), ("[", "]"), ("*", "*"), ("{", "}"))
_OPENS = " \t\n*_`\"'([{"
_RULES: tuple[tuple[str, Confidence, Callable[[_ReadResponse], Mention | None]], ...] = (
    ("stated", "stated", _ReadResponse.stated),
    ("concluded", "inferred", _ReadResponse.concluded),
    ("opening", "stated", _ReadResponse.opening),
    ("closing", "inferred", _ReadResponse.closing),
    ("short", "inferred", _ReadResponse.short),
    ("restated", "inferred", _ReadResponse.restated),
    ("classified", "inferred", _ReadResponse.classified),
    ("left", "inferred", _ReadResponse.left),
)
