"""Read the answer out of free text. Pure: text and options in, an option and the place it was read out.

The rule is one for every benchmark: the *last* valid answer marker counts, and only the item's own
letters are answers. A last line that holds an option and nothing else is marked. A model that says "the
answer is (A). On reflection, Answer: C" has answered C; "the answer is clear" has not answered C, and "I
cannot say" has not answered I. Two different answers given as one ("Answer: A or B") are none, and so are
an answer that is taken back ("it is not (C)", "Answer: C ... but (C) is wrong"), options that are only
repeated or are taken up in turn with what is said of each, a last word of "neither", and reasoning that never
reached an answer.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

from gridc.compiler.instrument import phrases
from gridc.compiler.instrument.enumerator import are_letters
from gridc.compiler.instrument.item import LETTERS
from gridc.compiler.instrument.mentions import GOES_ON, Mention, mentions
from gridc.compiler.instrument.paraphrase import said
from gridc.compiler.instrument.plain_text import fold
from gridc.compiler.instrument.thoughts import answer_begins

Confidence = Literal["stated", "inferred", "none"]


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was read out of a response.

    `option` is the option's index, or None. `rule` names the rule that read it, or says why nothing
    could be read. `start` and `end` are the span of its letter or text in the response, in characters.
    `confidence` is `stated` where the response says that this is its answer, and `inferred` where it is
    only what the response leaves standing. `answer` is what free text was read to, in the form in which
    answers are compared; None where an option or a label says it.
    """

    option: int | None
    rule: str
    confidence: Confidence = "none"
    start: int = 0
    end: int = 0
    answer: str | None = None


def extract(
    response: str, options: Sequence[str], *, lettered: bool = True, labels: Sequence[str] | None = None
) -> Extraction:
    """What a response answers.

    The rules are tried in this order: the last answer marker before a letter or an option's text, or a
    last line that is one; a sentence that corrects; a response that opens with its answer; a last sentence
    that concludes, or the last conclusion before it ("so it is C"); the only option that is said to fit;
    where no other option stands, a letter in brackets or bold or an option's text that the last sentence
    gives; the only option that is not called wrong; and an option said in other words than its own. What was
    stated may change further on (`turned`), and of JSON only what is stated is read. Without lettered options
    only texts count. `labels` are those that the options are shown under: letters, unless others are given.

    A number is also the number of a paragraph and a count, so it is an answer only behind a marker or a
    conclusion, alone on its line, or with its option's text.
    """
    if labels is None:
        labels = LETTERS[: len(options)] if lettered else ()
    begin = answer_begins(response)
    if begin is None:
        return Extraction(None, "the reasoning never ended")
    text = fold(response[begin:])
    if not text.strip():
        return Extraction(None, "empty")
    reading = _Read(text, mentions(text, options, labels), are_letters(labels), options)
    data = text.lstrip().startswith(("{", "[", "```json"))
    for name, confidence, rule in _RULES:
        answer = rule(reading) if confidence == "stated" or not data else None
        if answer is not None:
            answer = reading.turned(answer, name == "opening") if confidence == "stated" else answer
            if reading.retracted(answer) or (name == "concluded" and reading.ends_otherwise(answer)):
                return Extraction(None, "taken back")
            kind = f"{name} {'letter' if answer.letter else 'text'}"
            if reading.contradicted(answer):
                return Extraction(None, "several answers")
            if name != "left" and reading.taken_back(answer):
                return Extraction(None, "taken back")
            return Extraction(answer.option, kind, confidence, begin + answer.start, begin + answer.end)
    return Extraction(None, "several answers" if reading.several() else "no answer")


class _Read:
    """A folded response with its mentions, and what is said before each."""

    def __init__(self, text: str, every: Sequence[Mention], letters: bool, texts: Sequence[str]) -> None:
        self.text = text
        self.texts = texts
        self.options = len(texts)
        self.letters = letters
        self.every = every
        denied = self._denied(every)
        aside = denied | self._attributed(every)
        self.standing = [mention for number, mention in enumerate(every) if number not in aside]
        self.denied = [every[number] for number in sorted(denied)]
        self.surveyed = self._surveyed()

    def _denied(self, every: Sequence[Mention]) -> set[int]:
        """The numbers of the mentions that are denied: "not A", "between A and B", "B and C are wrong"."""
        denials, denied = self._ends(phrases.DENIAL), set()
        for number, mention in enumerate(every):
            if (
                mention.start in denials
                or self._under(self._doubts, mention)
                or (number - 1 in denied and self._beside(every[number - 1], mention))
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
                if not listed or not self._beside(every[number], every[number + 1]):
                    break
        return denied

    def _between(self, pattern: re.Pattern[str], one: Mention, other: Mention) -> bool:
        """Whether nothing else stands between two options."""
        return one.option != other.option and pattern.fullmatch(self.text, one.end, other.start) is not None

    def _attributed(self, every: Sequence[Mention]) -> set[int]:
        """The numbers of the mentions that others are said to choose: "critics say A", "another (B)"."""
        said = self._ends(phrases.ATTRIBUTION)
        return {
            number
            for number, mention in enumerate(every)
            if mention.start in said or phrases.ATTRIBUTED.match(self.text, mention.end)
        }

    def _surveyed(self) -> set[int]:
        """Where the lines begin that take up the options in turn, from the first one at the response's start,
        with what is said of each. What heads such a line is not given as the answer, unless the first one
        says nothing of its option or why it is the answer, or is said again."""
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
        """What calls a mention wrong: " is wrong". "B: false" does not where B's own text is "false"."""
        match = phrases.WRONG.match(self.text, every[number].end)
        if match is None:
            return None
        after = every[number + 1] if number + 1 < len(every) else None
        return None if after is not None and after.start < match.end() else match[0]

    def _beside(self, one: Mention, other: Mention) -> bool:
        gap = self.text[one.end : other.start]
        return bool(phrases.ALTERNATIVE.fullmatch(gap) or phrases.ADDITION.fullmatch(gap))

    def stated(self) -> Mention | None:
        """The last mention behind an answer marker or a correction, that is called right, or that is the
        last line."""
        marked, corrected = self._ends(phrases.MARKER), self._ends(phrases.CORRECTION)
        last, changed = self.ticked or self._last_line(), self._changed()
        keyed, named = self._keyed()
        return self._last(
            lambda mention: (
                mention in (last, keyed)
                or (mention.start in changed and not self._asked(mention))
                or (mention.start in marked and mention not in named and not self._conditional(mention))
                or (mention.start in corrected and self._stops(mention) and not self._asked(mention))
                or (
                    (phrases.RIGHT if mention.letter else phrases.RIGHT_TEXT).match(self.text, mention.end)
                    is not None
                    and not self._conditional(mention)
                )
            )
        )

    def _changed(self) -> set[int]:
        """Where what an answer is changed to stands: "I'm changing my answer from B to D"."""
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
        """The only option's text that is all of a value: `{"sentiment": "positive"}`. And the mentions in
        values of which the name says that they are no answer."""
        values = {mention.end: mention for mention in self.standing}
        answers, others = list[Mention](), list[Mention]()
        for match in phrases.KEYED.finditer(self.text):
            key, group = (match["key"], "value") if match["key"] else (match["words"], "line")
            mention = values.get(match.start(group) + len(match[group].rstrip(_BLANK)))
            if mention is None or self.text[match.start(group) : mention.start].strip(_OPENS):
                continue
            if phrases.names_no_answer(key):
                others.append(mention)
            elif not mention.letter:
                answers.append(mention)
        return answers[-1] if len({mention.option for mention in answers}) == 1 else None, others

    def _last_line(self) -> Mention | None:
        """The option that the last of several lines names and no more: "B", "- **(B)**", "B. the miller"."""
        begin = self.text.rstrip(_BLANK).rfind("\n") + 1
        named = [mention for mention in self.standing if mention.start >= begin]
        if not begin or not named or self._leads(begin) != named[0].start:
            return None
        if not all(self._explained(*two) or self._beside(*two) for two in pairwise(named)):
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
        """A mention that opens the response, on its own or before its reason: "B", "(B)", "B. the baker"."""
        first = self.standing[0] if self.standing else None
        leads = {self._leads(0), *(end for end in self._ends(phrases.BEGINS))}
        if first is None or first.start not in leads or first.start in self.surveyed:
            return None
        follows = self.standing[1] if len(self.standing) > 1 else None
        if follows is not None and (self._asked(first) or self._in_turn(first)):
            return None
        if not first.letter and phrases.ASKS_FOR_MORE.search(self.text):
            return None
        if self._in_quotation(first) or (first.ordinal and not self._stops(first)):
            return None
        if phrases.MAY.match(self.text, first.end) or (not first.letter and self._in_a_list(first)):
            return None
        named = follows is not None and follows.option == first.option and not follows.letter
        explained = named and follows is not None and not self.text[first.end : follows.start].strip(" )]*_-")
        if first.letter and not self.letters:
            return first if explained or phrases.ALONE.match(self.text, first.end) else None
        if self._stops(first) or explained:
            return first
        goes_on = first.letter and GOES_ON.match(self.text, first.end) is not None
        end = self.concluded() if goes_on else None
        return first if goes_on and (end is None or end.option == first.option) else None

    def _in_turn(self, first: Mention) -> bool:
        """Whether the next option is taken up as the first is: "**A** - cheap, **B** - durable", "A has … B
        has …". Not where the first stands alone on its line or with its reason."""
        if phrases.ALONE.match(self.text, first.end) or phrases.REASON.match(self.text, first.end):
            return False
        follows = next(
            (each for each in self.every if each.start > first.end and each.option != first.option), None
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
        return any(each.option != first.option and each.start < reach for each in self.standing) and (
            phrases.COMMA.match(self.text, first.end) is not None
        )

    def _form(self, mention: Mention) -> tuple[str, str]:
        """The characters around a mention that are neither letters nor digits."""
        before = self.text[: mention.start]
        behind = self.text[mention.end : mention.end + 8]
        marks = next((at for at, each in enumerate(behind) if each.isalnum()), len(behind))
        return before[len(before.rstrip(_OPENS)) :].strip(), behind[:marks]

    def concluded(self) -> Mention | None:
        """The last mention that a conclusion leads to: "so it is C"."""
        ends, named, might = map(self._ends, (phrases.CONCLUSION, phrases.NAMED_AS, phrases.MIGHT))
        alone = len({mention.option for mention in self.standing}) == 1
        return self._last(
            lambda mention: (
                mention.start in ends
                and self._stops(mention)
                and not self._questioned(mention)
                and not self._conditional(mention)
            )
        ) or self._only(
            lambda mention: (
                (mention.start in named or (alone and mention.start in might)) and self._stops(mention)
            )
        )

    def turned(self, answer: Mention, opened: bool) -> Mention:
        """What is said later than a stated answer and changes it: a conclusion ("Wait, … so it is B"), a
        correction ("No, the one near the sea is B"), another option alone at the end ("… Pass."), or, of one
        that only `opened` the response, a last sentence that concludes."""
        ends = self._ends(phrases.CONCLUSION)
        concluded = self._last(
            lambda mention: mention.start in ends and self._stops(mention) and not self._asked(mention)
        )
        last = self.closing() if opened else self._alone_at_the_end() if answer != self.ticked else None
        later = [concluded, self.corrected(), last, self._after_retraction(answer)]
        return max([answer, *filter(None, later)], key=lambda mention: mention.start)

    def _after_retraction(self, answer: Mention) -> Mention | None:
        """The only option that is named after something is taken back, or that the last sentence names."""
        found = max(phrases.RETRACTS.finditer(self.text, answer.end), key=re.Match.start, default=None)
        if found is None:
            return None
        later = [mention for mention in self.standing if mention.start >= found.end()]
        if len({mention.option for mention in later}) == 1:
            return None if self._asked(later[-1]) else later[-1]
        return self._last_sentence[1] if later else None

    def retracted(self, answer: Mention) -> bool:
        """Whether the response goes on to take something back, and its last word is not this option."""
        found = max(phrases.RETRACTS.finditer(self.text, answer.end), key=re.Match.start, default=None)
        if found is None:
            return False
        later = {mention.option for mention in self.standing if mention.start >= found.end()}
        return later != {answer.option}

    def ends_otherwise(self, answer: Mention) -> bool:
        """Whether the last sentence names another option, other than at the head of a line."""
        begin, _ = self._last_sentence
        heads = {
            self._leads(line)
            for line in (0, *(match.end() for match in phrases.NEXT_LINE.finditer(self.text)))
        }
        return any(
            mention.option != answer.option and mention.start not in heads
            for mention in self.standing
            if mention.start >= begin
        )

    def closing(self) -> Mention | None:
        """The only option that the last sentence names, or its part behind a "but": alone ("Pass."), behind a
        colon, or with words of a conclusion ("I'd give it to B")."""
        begin, named = self._last_sentence
        if named is None or self._questioned(named) or phrases.IF_BEHIND.match(self.text, named.end):
            return None
        if named.letter and not self.letters:
            return self._alone_at_the_end()
        first = next(mention for mention in self.standing if mention.start >= begin)
        if named.ordinal and not phrases.COLON.search(
            self.text, first.end if first != named else begin, named.start
        ):
            return self._alone_at_the_end()
        before, behind = self.text[begin : first.start], self.text[named.end :]
        if (
            before.endswith(".")
            or phrases.IF.search(before)
            or phrases.ABSTAINS.search(before)
            or phrases.ABSTAINS.search(behind)
            or phrases.named_no_answer(before)
            or (phrases.MAY_BE.search(before) and len({mention.option for mention in self.standing}) > 1)
        ):
            return None
        ends = phrases.ENDS.match(self.text, named.end) is not None
        concludes: object = self._preferred(named)
        concludes = (
            concludes
            or phrases.CLOSES.search(before)
            or (ends and (phrases.COLON if named.letter else phrases.COLON_OR_MAKES).search(before))
        )
        concludes = concludes or (ends and first.letter and phrases.IS_LAST.search(before))
        cut = (
            named.letter
            and not named.ordinal
            and self.text[named.start].islower()
            and any(map(str.isalnum, before))
        )
        return named if concludes and not cut else self._alone_at_the_end()

    def _preferred(self, mention: Mention) -> bool:
        """Whether another option is put behind this one: "A, not B", "C over B"."""
        instead = phrases.INSTEAD.match(self.text, mention.end)
        if instead is None:
            return False
        number = bisect_left(self.denied, instead.end(), key=lambda each: each.start)
        other = self.denied[number] if number < len(self.denied) else None
        if other is None or other.option == mention.option:
            return False
        return phrases.BEFORE.fullmatch(self.text, instead.end(), other.start) is not None

    def _sentence(self, place: int) -> int:
        """Where the sentence that reaches to a place begins."""
        return self._sentences[bisect_right(self._sentences, place) - 1]

    @cached_property
    def _sentences(self) -> list[int]:
        """Where sentences begin. Found once: a response may be thousands of them."""
        return [0, *(found.end() for found in phrases.SENTENCES.finditer(self.text))]

    @cached_property
    def _last_sentence(self) -> tuple[int, Mention | None]:
        """Where the last sentence begins, or its last part behind a "but" that names an option, and the last
        mention of the only option in it."""
        begin = self._sentence(len(self.text.rstrip(_BLANK)))
        last = self.standing[-1].start if self.standing else -1
        parts = [found.end() for found in phrases.CONTRAST.finditer(self.text, begin) if found.end() <= last]
        begin = max([begin, *parts])
        named = [mention for mention in self.standing if mention.start >= begin]
        return begin, named[-1] if len({mention.option for mention in named}) == 1 else None

    def _alone_at_the_end(self) -> Mention | None:
        """The option that is the last sentence, where the one before is not another option."""
        begin, named = self._last_sentence
        if not begin or named is None or self._asked(named) or self._listed(named, begin):
            return None
        first = next(mention for mention in self.standing if mention.start >= begin)
        if phrases.HEAD.fullmatch(self.text, begin, first.start) is None:
            return None
        if first.ordinal and first is not named:
            return None
        return named if phrases.AFTERWARDS.match(self.text, named.end) or self._preferred(named) else None

    def _listed(self, mention: Mention, begin: int) -> bool:
        """Whether another option stands alone in the sentence before."""
        earlier = [each for each in self.standing if each.start < begin]
        if not earlier or earlier[-1].option == mention.option:
            return False
        start = self._sentence(earlier[-1].start)
        rest = self.text[start : earlier[-1].start] + self.text[earlier[-1].end : begin]
        return not any(map(str.isalnum, rest))

    def corrected(self) -> Mention | None:
        """The only option of the last sentence that begins by taking something back: "No, the one near the
        sea is B"."""
        found = max(phrases.TAKES_BACK.finditer(self.text), key=re.Match.start, default=None)
        if found is None:
            return None
        end = phrases.SENTENCES.search(self.text, found.end())
        named = [
            mention
            for mention in self.standing
            if found.end() <= mention.start < (end.start() if end else len(self.text))
        ]
        later = [mention for mention in self.standing if named and mention.start > named[-1].start]
        if len({mention.option for mention in named}) != 1 or later or self._asked(named[-1]):
            return None
        return named[-1] if self._stops(named[-1]) else None

    def favoured(self) -> Mention | None:
        """The last mention of the only option that is said to fit: "only B follows", "B matches"."""
        favours, about = self._ends(phrases.FAVOURS), self._ends(phrases.ABOUT)
        return self._only(
            lambda mention: (
                (mention.start in favours and self._stops(mention))
                or (mention.start not in about and phrases.FAVOURED.match(self.text, mention.end) is not None)
            )
        )

    def worded(self) -> Mention | None:
        """The only option that the first or the last sentence gives as the answer in other words than its
        own: "It's probably the teacher" of "Her teacher"."""
        if self._abstains():
            return None
        found = [*self._paraphrased(0, behind=True), *self._paraphrased(self._last_sentence[0], behind=False)]
        return found[-1] if len({mention.option for mention in found}) == 1 else None

    def _paraphrased(self, begin: int, *, behind: bool) -> Iterator[Mention]:
        """Clauses of a sentence that say an option in other words: any one of a sentence with words of a
        conclusion, or `behind` a marker."""
        place = bisect_right(self._sentences, begin)
        end = self._sentences[place] if place < len(self._sentences) else len(self.text)
        sentence = self.text[begin:end]
        if len(sentence) > _LONGEST or any(begin <= mention.start < end for mention in self.every):
            return
        if any(other.search(sentence) for other in phrases.NOT_THE_SPEAKERS):
            return
        marks = (phrases.BEGINS, phrases.MARKER) if behind else (phrases.CLOSES,)
        found = (pattern.search(sentence) for pattern in (*marks, phrases.I_WOULD))
        mark = next((match for match in found if match is not None), None)
        if mark is None:
            return
        start = begin + (mark.end() if behind else 0)
        for clause in phrases.CLAUSES.finditer(self.text, start, end):
            option = said(clause[0], self.texts)
            if option is not None:
                yield Mention(option, *clause.span(), letter=False)
            if behind:
                return

    def left(self) -> Mention | None:
        """The only option of three or more that is not called wrong, at the last one that is, where no option
        is named otherwise."""
        wrong = {mention.option for mention in self.denied}
        if self.options < 3 or len(wrong) != self.options - 1 or self._abstains():
            return None
        if any(mention.option not in wrong for mention in self.standing):
            return None
        if not self._ends(phrases.OPEN).isdisjoint(mention.start for mention in self.denied):
            return None
        (option,) = set(range(self.options)) - wrong
        return replace(self.denied[-1], option=option)

    def bracketed(self) -> Mention | None:
        """The last letter in brackets or in bold, where no other option's stands so: "the note fits (C)"."""
        about = self.surveyed | self._ends(phrases.ABOUT)
        chosen = self._only(lambda mention: mention.start not in about and self._in_brackets(mention))
        return chosen if len({mention.option for mention in self.standing}) == 1 else None

    def _in_brackets(self, mention: Mention) -> bool:
        return self.letters and mention.letter and self._around(mention) in _BRACKETS

    def named(self) -> Mention | None:
        """The last text, where only one option's is named. A word as short as "no" must stand alone."""
        begin, _ = self._last_sentence
        rejected = {mention.option for mention in self.denied} - {
            mention.option for mention in self.standing if mention.letter
        }
        about = self._ends(phrases.ABOUT)
        texts = self._only(
            lambda mention: (
                not mention.letter
                and mention.option not in rejected
                and (mention.end - mention.start > 3 or self._stops(mention))
                and not phrases.MAY.match(self.text, mention.end)
            )
        )
        if texts is None or texts.start < begin or texts.start in about:
            return None
        if not self._said_of_the_question(texts, begin):
            return None
        number = self.text[texts.start].isdigit()
        last = {mention.option for mention in self.standing if mention.start >= begin}
        return texts if not number or len(last) == 1 else None

    def _said_of_the_question(self, text: Mention, begin: int) -> bool:
        """Whether a sentence does not only speak of an option: "the driver is Chloe", not "we meet Chloe"."""
        before, named = self.text[begin : text.start], self.text[text.start : text.end]
        stops = (
            self._stops(text)
            or not any(map(str.isalnum, self.text[text.end : text.end + 40]))
            or phrases.GOES_ON.match(self.text, text.end)
        )
        return bool(
            (stops and phrases.PREDICATE.search(before))
            or (stops and (phrases.SUBJECT.fullmatch(before) or phrases.HEAD.fullmatch(before)))
            or phrases.FITTEST.match(self.text, text.end)
            or (phrases.SUBJECT.fullmatch(before) and len(self.text[text.end : text.end + 40].split()) <= 2)
            or len(named.split()) > 3
            or (len(named.split()) == 3 and len(before.split()) <= (7 if stops else 2))
            or any(
                each.letter and each.option == text.option and each.start >= begin for each in self.standing
            )
        )

    def several(self) -> bool:
        """Whether several options are named by their texts, or by letters in brackets or in bold."""
        by_text = {mention.option for mention in self.standing if not mention.letter}
        by_letter = {mention.option for mention in self.standing if self._in_brackets(mention)}
        return max(len(by_text), len(by_letter)) > 1

    def contradicted(self, answer: Mention) -> bool:
        """Whether another option is given as the answer in the same breath: "A or B", "B. the text of A"."""
        if answer == self.ticked:
            return False
        for first, second in pairwise(self.standing):
            if answer in (first, second) and first.option != second.option and self._joined(first, second):
                return True
        return False

    def taken_back(self, answer: Mention) -> bool:
        """Whether the response goes on to call the option wrong, or ends in "neither" or "both"."""
        back = [
            mention
            for mention in self.denied
            if mention.start > answer.start and mention.letter == answer.letter
        ]
        none = phrases.NONE.search(self.text, answer.end)
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

    def _only(self, chosen: Callable[[Mention], bool]) -> Mention | None:
        """The last of those chosen, if they name one option and the response does not decline to choose."""
        every = [
            mention
            for mention in self.standing
            if chosen(mention)
            and not self._conditional(mention)
            and not self._questioned(mention)
            and not self._in_quotation(mention)
        ]
        if len({mention.option for mention in every}) != 1 or self._abstains():
            return None
        return every[-1]

    def _conditional(self, mention: Mention) -> bool:
        """Whether an "if" stands right behind a mention, or before it in its sentence and nothing in between
        ends the condition."""
        if phrases.IF_BEHIND.match(self.text, mention.end):
            return True
        over = bisect_left(self._breaks, mention.start)
        condition = bisect_left(self._conditions, mention.start)
        return self._under(self._conditions, mention) and (
            not over or self._breaks[over - 1] < self._conditions[condition - 1]
        )

    @cached_property
    def _breaks(self) -> list[int]:
        """Where a condition is over."""
        return [found.start() for found in phrases.BREAKS.finditer(self.text)]

    def _under(self, places: Sequence[int], mention: Mention) -> bool:
        """Whether one of these stands before a mention in its sentence."""
        before = bisect_left(places, mention.start)
        return before > 0 and places[before - 1] >= self._sentence(mention.start)

    @cached_property
    def _conditions(self) -> list[int]:
        """Where an "if" stands."""
        return [found.start() for found in phrases.IF.finditer(self.text)]

    @cached_property
    def _doubts(self) -> list[int]:
        """Where there is "no reason" to say what follows."""
        return [found.start() for found in phrases.NO_REASON.finditer(self.text)]

    @cached_property
    def _changes(self) -> set[int]:
        """Where the words end that say from what an answer is changed."""
        return self._ends(phrases.FROM)

    def _abstains(self) -> bool:
        """Whether the response says that it chooses none. An option's own text is no such sentence."""
        starts = [each.start for each in self.standing]
        for found in phrases.ABSTAINS.finditer(self.text):
            before = bisect_left(starts, found.end())  # no two mentions overlap
            if not before or self.standing[before - 1].end <= found.start():
                return True
        return False

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
        return self._in_quotes(mention.start) and '"' not in self.text[mention.end : mention.end + 2]

    def _around(self, mention: Mention) -> tuple[str, str]:
        return self.text[mention.start - 1 : mention.start], self.text[mention.end : mention.end + 1]

    def _ends(self, pattern: re.Pattern[str]) -> set[int]:
        """Where the pattern ends, and where each of the words ends that may stand between it and an answer.
        What is quoted from somebody is not said."""
        ends = set[int]()
        for match in pattern.finditer(self.text):
            end: int | None = None if self._quoted(match) else match.end()
            while end is not None and end not in ends:
                ends.add(end)
                filler = phrases.FILLER.match(self.text, end)
                end = filler.end() if filler is not None else None
        return ends

    def _quoted(self, match: re.Match[str]) -> bool:
        """Whether words stand in double quotes that begin on their line and do not end in them."""
        return self._in_quotes(match.start()) and '"' not in match[0]

    def _in_quotes(self, place: int) -> bool:
        """Whether an odd number of double quotes stands before a place on its line."""
        line = self._lines[bisect_right(self._lines, place) - 1]
        return (bisect_left(self._quotes, place) - bisect_left(self._quotes, line)) % 2 == 1

    @cached_property
    def _lines(self) -> list[int]:
        """Where lines begin."""
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    @cached_property
    def _quotes(self) -> list[int]:
        """Where double quotes stand."""
        return [found.start() for found in re.finditer('"', self.text)]


_LONGEST = 400
"""Characters of a sentence that is read for what it says in other words."""
_LABEL = " \t.:)]*_-"
_BLANK = " \t\n*_`~\"')]}$>.,:;!|\\-"
_BRACKETS = (("(", ")"), ("[", "]"), ("*", "*"), ("{", "}"))
_OPENS = " \t\n*_`\"'([{"
_RULES: tuple[tuple[str, Confidence, Callable[[_Read], Mention | None]], ...] = (
    ("stated", "stated", _Read.stated),
    ("corrected", "stated", _Read.corrected),
    ("opening", "stated", _Read.opening),
    ("closing", "inferred", _Read.closing),
    ("concluded", "inferred", _Read.concluded),
    ("favoured", "inferred", _Read.favoured),
    ("bracketed", "inferred", _Read.bracketed),
    ("named", "inferred", _Read.named),
    ("left", "inferred", _Read.left),
    ("worded", "inferred", _Read.worded),
)
