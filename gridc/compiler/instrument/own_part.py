"""The part of a response that is the model's own answer to the question that it was asked.

A base model does not stop when it has answered: it writes the next question of its prompt, or the next turn
of a conversation, and answers that too. Chat models do so where a server misses the end of their turn. What
stands behind the first question or turn that is another one is no answer to this item. A response may also
begin with what was before it: exemplars, its own question, the name of a role. What it answers stands behind
them.

Reasoning is no part of an answer (`instrument.thoughts`), and a question in it ends nothing.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from gridc.compiler.instrument.thoughts import answer_begins, thoughts


def own_part(response: str, question: str = "", options: Sequence[str] = ()) -> tuple[int, int] | None:
    """Where the model's own answer begins and ends in a response; None where its reasoning never ends.

    `question` is what the item asks and `options` are the texts of its options. By these a question in the
    response is told from the item's own. Without them the one at the head of a response is its own.
    """
    begin, end = _CuedResponse(response, question, tuple(options)).span()
    thought = answer_begins(response[:end])
    return None if thought is None else (max(begin, thought), end)


_Kind = Literal["over", "user", "assistant", "question", "listed"]


def question_cue(template: str) -> str | None:
    """What stands before the question in a template of prompts, with its colon, and so before the next one in
    a response that runs on: "Question:" of "Question: {{ question }}". None where nothing does."""
    before, variable, _ = template.partition("{{")
    cue = before.rpartition("\n")[2].strip()
    return cue if variable and _CUE.fullmatch(cue) and not _ANSWER.match(cue) else None


@dataclass(frozen=True, slots=True)
class _Cue:
    """What another question or turn begins with. `user` and `question` open something that is asked, `listed`
    a question that only its list of options shows, `assistant` a reply, and `over` ends one. `doubtful`:
    answers have such words too."""

    kind: _Kind
    start: int
    end: int
    number: str | None = None
    doubtful: bool = False


class _CuedResponse:
    """A response with its cues, and the words of the question that it answers."""

    def __init__(self, response: str, question: str, options: tuple[str, ...]) -> None:
        self.text = response
        self.asked = _words(question)
        self.number = _NUMBERED.match(question)
        self.options = tuple(filter(None, map(_words, options)))
        self.cues = self._cues()

    def span(self) -> tuple[int, int]:
        """Where the own part begins, or the reasoning before it, and where it ends."""
        begin, spoken, others, counted = 0, 0, False, False
        for place, cue in enumerate(self.cues):
            if cue.start < spoken or (counted and cue.number):
                continue
            following = self.cues[place + 1].start if place + 1 < len(self.cues) else len(self.text)
            spoken = self._next(max(spoken, self._thought_before(cue.start)))
            said = self.text[spoken : min(cue.start, spoken + _LEAD)].strip()
            answered = _SAID.search(said) is not None
            leads_in = cue.start - spoken <= _LEAD and self._leads_in(said)
            if answered and not others and not leads_in:
                if self._ends(cue, following, spoken):
                    return begin, self._before_passage(spoken, cue.start)
            elif cue.kind in _ASKS:
                asks, before = self._asks(cue, following), others
                others = self._asks_for_other(cue, asks, place) and (others or not answered)
                if before and not others:
                    begin = cue.start
                spoken, counted = cue.end + len(asks), cue.number == "1"
            elif cue.kind != "listed" and not others and _SAID.search(self.text, cue.end):
                begin = spoken = cue.end
        return len(self.text) if others else begin, len(self.text)

    @cached_property
    def thoughts(self) -> list[tuple[int, int]]:
        """The spans of the reasoning."""
        return thoughts(self.text)

    @cached_property
    def answers(self) -> list[int]:
        """Where what opens an answer in a prompt stands."""
        return [match.start() for match in _ANSWER.finditer(self.text)]

    def _cues(self) -> list[_Cue]:
        """Every cue outside of reasoning, in order."""
        found = (*self._at_heads(), *self._within_lines(), *self._next_in_number())
        cues = sorted(found, key=lambda cue: (cue.start, cue.end))
        starts = [cue.start for cue in cues if cue.kind != "listed"]
        return [
            cue
            for cue in cues
            if not self._in_thought(cue.start)
            and (cue.kind != "listed" or bisect_left(starts, cue.start) == bisect_left(starts, cue.end))
        ]

    def _at_heads(self) -> Iterator[_Cue]:
        start = 0
        while start <= len(self.text):
            match = _HEAD.match(self.text, start)
            if match is not None and match.lastgroup != "listed":
                yield _cue(match)
            elif match is not None and (question := self._question_above(start)):
                yield _Cue("listed", question, start)
            start = self.text.find("\n", start) + 1 or len(self.text) + 1

    def _within_lines(self) -> Iterator[_Cue]:
        for pattern, behind in _WITHIN.items():
            for match in pattern.finditer(self.text):
                if behind is None or behind.search(self.text, max(match.start() - 3, 0), match.start()):
                    yield _cue(match)

    def _next_in_number(self) -> Iterator[_Cue]:
        """The question behind an answer that has the next number after the item's: "2. Who?" after "1. Why?",
        or after a question without a number. The steps of an answer are numbered too, but from one, and none
        of them is asked."""
        first, own = (
            _NUMBERED_LINE.search(self.text),
            1 if self.number is None else int(self.number["number"]),
        )
        if first is None or int(first["number"]) != own + 1:
            return
        asks = first["asks"] is not None or _LIST.match(self.text, first.end()) is not None
        named = _words(self.text[: min(first.start(), _LEAD)]) in self.options
        if asks and (named or self._has_answered(self._next(0), first.start())):
            yield _Cue("question", first.start(), first.start("words"), first["number"])

    def _question_above(self, place: int) -> int:
        """Where the question begins that stands above a list: its paragraph, else its line."""
        end = len(self.text[max(place - _LONGEST, 0) : place].rstrip()) + max(place - _LONGEST, 0)
        above = self.text.rfind("\n\n", max(end - _LONGEST, 0), end)
        return (above if above >= 0 else self.text.rfind("\n", max(end - _LONGEST, 0), end)) + 1

    def _next(self, place: int) -> int:
        """Where the next word begins, or its bracket."""
        blank = _BLANK.match(self.text, place)
        return place if blank is None else blank.end()

    def _in_thought(self, place: int) -> bool:
        before = bisect_right(self.thoughts, (place, len(self.text)))
        return before > 0 and place < self.thoughts[before - 1][1]

    def _thought_before(self, place: int) -> int:
        """Where the last block of reasoning before a place ended."""
        before = bisect_right(self.thoughts, (place, len(self.text)))
        return self.thoughts[before - 1][1] if before else 0

    def _leads_in(self, said: str) -> bool:
        """Whether a text says no more than that a question follows."""
        return _words(said) not in self.options and _LEADS_IN.search(said) is not None

    def _ends(self, cue: _Cue, following: int, spoken: int) -> bool:
        """Whether an answer that begins at `spoken` ends at a cue behind it."""
        if cue.kind == "over":
            return True
        asks = self._asks(cue, following)
        if self._is_own(asks.partition("\n")[0] if cue.kind == "assistant" else asks):
            return False
        if cue.kind == "listed":
            ended = self._has_answered(spoken, cue.start) and self._answered_or_cut(cue)
            return ended and not _SURVEYS.search(asks) and not self._shows_options(cue.end)
        if not cue.doubtful or self._counts_on(cue, spoken):
            return True
        return not self._resembles(asks) and self._answered_or_cut(cue)

    def _counts_on(self, cue: _Cue, spoken: int) -> bool:
        """Whether a cue counts on from the item's own problem, which is answered: "Problem 2", and no other
        number before it. The question has no such part."""
        if cue.number != "2" or cue != self._first_numbered:
            return False
        named = _words(self.text[cue.start : cue.end])
        return f" {named} " not in f" {self.asked} " and self._has_answered(spoken, cue.start)

    @cached_property
    def _first_numbered(self) -> _Cue | None:
        return next((cue for cue in self.cues if cue.number), None)

    def _has_answered(self, spoken: int, end: int) -> bool:
        """Whether an answer is a letter or a number, or ends with one that it calls so or puts in a box."""
        said = _ANSWERS.search(self.text, max(spoken, end - _LEAD), end)
        bare = _LETTER.match(self.text, spoken, end) or _BARE_NUMBER.fullmatch(self.text, spoken, end)
        return said is not None or bare is not None

    def _answered_or_cut(self, cue: _Cue) -> bool:
        """Whether an answer is given soon to what a cue asks, or the response breaks off before."""
        place = bisect_left(self.answers, cue.end)
        if place < len(self.answers):
            return self.answers[place] - cue.end < _LONGEST
        return _BREAKS_OFF.search(self.text, max(cue.end, len(self.text) - _LEAD)) is not None

    def _asks(self, cue: _Cue, following: int) -> str:
        """What is asked behind a cue, without options."""
        if cue.kind == "listed":
            return self.text[cue.start : cue.end]
        place = bisect_left(self.answers, cue.end)
        answer = self.answers[place] if place < len(self.answers) else following
        end = min(following, max(answer, cue.end), cue.end + _LONGEST)
        first = _OPTION.search(self.text, cue.end, end)
        return self.text[cue.end : end if first is None else first.start()]

    def _is_own(self, asks: str) -> bool:
        """Whether this is the item's question in its own words, or a part of it."""
        words, known = f" {_words(asks)} ", f" {self.asked} "
        # Much more than the question is another one that has its words: "Who else?" of "Who?".
        return bool(self.asked) and (words in known or (known in words and 4 * len(known) >= 3 * len(words)))

    def _resembles(self, asks: str) -> bool:
        """Whether it may be the item's question in other words: half of its longer words are there, and no
        other number."""
        words, known = set(_words(asks).split()), set(self.asked.split())
        long = {word for word in words if len(word) > 3 or not word.isascii()} or words
        return 2 * len(long & known) >= len(long) and not any(map(str.isdecimal, words - known))

    def _asks_for_other(self, cue: _Cue, asks: str, place: int) -> bool:
        """Whether what stands at the head of a response asks something else than the item does."""
        after = self.cues[place + 1] if place + 1 < len(self.cues) else None
        if cue.doubtful or (cue.kind == "user" and (after is None or after.kind != "assistant")):
            return False
        if self.asked:
            return not self._is_own(asks) and not self._resembles(asks)
        end = len(self.text) if after is None else after.start
        listed = _LIST.search(self.text, cue.end, min(end, cue.end + _LONGEST)) is not None
        return bool(self.options) and listed and not self._shows_options(cue.end)

    def _shows_options(self, place: int) -> bool:
        """Whether most of the item's options stand behind a place."""
        words = f" {_words(self.text[place : place + _LONGEST])} "
        return 2 * sum(f" {option} " in words for option in self.options) > len(self.options)

    def _before_passage(self, begin: int, end: int) -> int:
        """Where the passage begins that a question at `end` is about, where one stands before it."""
        found = list(_PASSAGE.finditer(self.text, max(begin, end - _LONGEST), end))
        if not found or not _SAID.search(self.text, begin, found[-1].start()):
            return end
        start = found[-1].start()
        return start if bisect_left(self.answers, start) == bisect_left(self.answers, end) else end


def _cue(match: re.Match[str]) -> _Cue:
    groups = match.groupdict()
    kind = next(kind for kind in _KINDS if groups.get(kind) is not None)
    return _Cue(kind, *match.span(), groups.get("number"), groups.get("doubtful") is not None)


@lru_cache(maxsize=4096)
def _words(text: str) -> str:
    """A text as words between single spaces, in small letters."""
    return " ".join(_WORD.findall(text.casefold()))


_KINDS: tuple[_Kind, ...] = ("over", "user", "assistant", "question")
_ASKS = ("user", "question")
_LEAD = 300
"""Characters of the longest text that only leads in to a question."""
_LONGEST = 4000
"""Characters of the longest question."""
_WORD = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")
_SAID = re.compile(r"[^\W_]")
_BLANK = re.compile(r"\s*+")
_CLOSES = r"[\])*_ \t]{0,6}"
_COLON = rf"{_CLOSES}[:：][*_]{{0,3}}"
_QUESTIONS = (
    r"question|query|frage|fråga|spørgsmål|spørsmål|vraag|pregunta|pergunta|questão|domanda|întrebare|pytanie|"
    r"otázka|kérdés|kysymys|soru|câu\s?hỏi|pertanyaan|soalan|swali|вопрос|питання|въпрос|питање|ερώτηση|שאלה|"
    r"(?:ال)?سؤال|سوال|प्रश्न|सवाल|প্রশ্ন|கேள்வி|คำถาม|โจทย์|问题|問題|题目|題目|質問|設問|질문|문제|问|問|"
    r"q(?![^\n]{0,80}\n[ \t]{0,4}(?!a\b)[a-z]\w?[ \t]?[:=])"  # not in "Q: heat" above "m: mass"
)
_PROBLEMS = (
    r"(?:math\s)?problem|exercise|task|puzzle|riddle|instruction|input|premise|example(?=\s\d)|problema|problème|"
    r"aufgabe|übung|exercice|ejercicio|exercício|esercizio|задача|упражнение|例题|例題"
)
_TWO_OPTIONS = (
    r"(?:(?-i:A)[.):\]][ \t]*+\S[^\n]*+\n\s{0,4}[(\[]?(?-i:B)|"
    r"(?-i:a)[.):\]][ \t]*+\S[^\n]*+\n\s{0,4}[(\[]?(?-i:b))[.):\]]"
)
_HEAD = re.compile(
    r"[ \t>_(\[-]{0,8}(?P<heading>\#{1,6}[ \t]{0,3}\*{0,3}|\*{1,3})?(?:"
    r"(?P<question>(?:(?:the\s)?(?:next|new|another|second|following|sample|practice|similar)\s)?"
    rf"(?:{_QUESTIONS}|(?P<doubtful>{_PROBLEMS}))"
    r"(?:\s?(?:(?:no\.?|nr\.?|number|\#)\s?)?(?P<number>\d{1,4}))?"
    rf"(?:{_COLON}|(?(number)(?:{_CLOSES}$|[.)](?=\s))|(?(heading){_CLOSES}$|(?!)))))|"
    r"(?P<user>(?:user|human|用户|用戶|ユーザー|사용자)(?:\s?\d{1,2})?"
    rf"(?:{_COLON}|(?(heading){_CLOSES}$|(?!)))|(?-i:user)$|(?(heading)instructions?{_CLOSES}$|(?!)))|"
    r"(?P<assistant>(?:(?:ai\s)?assistant|chatbot|助手|アシスタント|어시스턴트)"
    rf"(?:{_COLON}|(?(heading){_CLOSES}$|(?!)))|(?-i:assistant)$|(?(heading)response:?{_CLOSES}$|(?!)))|"
    rf"(?P<listed>{_TWO_OPTIONS}))",
    re.IGNORECASE | re.MULTILINE,
)
"""At the head of a line: a question's word with a colon, a number or as a heading; the name of a role; and
the first two of a list of options."""
_WITHIN: Mapping[re.Pattern[str], re.Pattern[str] | None] = {
    re.compile(
        r"[<\[](?:(?P<over>(?:/s|eos|end_of_turn|[|｜](?:endoftext|im_end|eot_id|eom_id|end_of_text|end|return|"
        r"EOT|END_OF_TURN_TOKEN|end[▁_]of[▁_]sentence)[|｜])>)|"
        r"(?P<user>(?:(?:\|im_start\||start_of_turn|\|start\|)>\s?user\b|\|start_header_id\|>user<\|end_header_id\|"
        r"|[|｜](?:user|User|human|prompter|USER_TOKEN)[|｜]|user|human)>?|INST\])|"
        r"(?P<assistant>(?:\|im_start\||\|start\|)>\s?assistant\b|\|start_header_id\|>assistant<\|end_header_id\|>|"
        r"start_of_turn>\s?model\b|[|｜](?:assistant|Assistant|bot|CHATBOT_TOKEN)[|｜]>|/INST\])|"
        r"(?P<question>(?:question|problem)>))"
    ): None,
    re.compile(r"(?P<question>Q(?:uestion)?\s?(?P<number>\d{1,4})?:)(?=\s)"): re.compile(
        r"(?:[^\w\s:,;]|(?<!\w)[A-Z])\s\Z"
    ),
    re.compile(r"(?:(?P<assistant>assistant)(?=\n\n)|(?P<user>user)(?=\n))"): re.compile(
        r"(?:[.!?)\]*\d]|(?<!\w)[A-Z])\Z"
    ),
}
"""Within lines, and what has to stand before: the tokens of chat templates; a question behind a sentence or a
letter; and the names that a server which leaves tokens out glues to an answer (Llama 3)."""
_ANSWER = re.compile(
    r"^[ \t>_\#*(\[-]{0,8}(?:(?:the\s|final\s|correct\s|right\s){0,2}answer|a|ans|solution|response|output|"
    r"label|hypothesis|antwort|lösung|svar|antwoord|respuesta|resposta|solución|solução|risposta|réponse|răspuns|"
    r"odpowiedź|odpověď|válasz|vastaus|cevap|jawaban|trả\s?lời|ответ|решение|відповідь|απάντηση|תשובה|"
    rf"(?:ال)?إجابة|(?:ال)?جواب|उत्तर|উত্তর|คำตอบ|答案|答え|回答|解答|答|정답|답변|답){_COLON}|^\#{{1,6}}\s{{0,3}}(?:answer|solution){_CLOSES}$|(?-i:\b(?:Answer|A)):\s",
    re.IGNORECASE | re.MULTILINE,
)
"""What opens an answer in a prompt."""
_OPTION = re.compile(
    rf"^[ \t*_]{{0,4}}(?:[(\[]?[Aa][.):\]]\s*\S|(?:answer\s)?(?:options|choices){_COLON})|(?<=\s)\([Aa]\)\s",
    re.IGNORECASE | re.MULTILINE,
)
"""The first of a question's options."""
_LIST = re.compile(rf"^[ \t]{{0,4}}[(\[]?{_TWO_OPTIONS}", re.IGNORECASE | re.MULTILINE)
_PASSAGE = re.compile(
    rf"\n\s{{0,4}}\n[\#*_ \t]{{0,6}}(?:passage|context|article|paragraph|story|document|scenario|background|"
    rf"dialogue|conversation|excerpt|abstract|title|text|paragraf|texte|texto|testo|текст|文章|本文|지문){_COLON}",
    re.IGNORECASE,
)
_ANSWERS = re.compile(r"\banswer\b|\\boxed\b|答|답", re.IGNORECASE)
_NUMBERED = re.compile(r"\s{0,8}(?P<number>\d{1,3})[.)]\s")
_NUMBERED_LINE = re.compile(
    r"^[ \t]{0,4}(?P<number>\d{1,3})[.)][ \t]{1,4}"
    r"(?P<words>(?P<asks>[^\n?_]*+(?:\?|__))?[^\n]*+\n?)",
    re.MULTILINE,
)
_BARE_NUMBER = re.compile(r"\s*+[$€£]?-?\d[\d.,/]*+\s*+%?\s*+")
_LETTER = re.compile(r"\W{0,4}[A-Za-z](?![\w'])")
_SURVEYS = re.compile(
    r"\A\W*\Z|\A(?=.{0,80}\Z).*\b(?:options?|choices?|each|alternatives?|others|explanation|analysis|why)\b.*[:?]\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
"""What stands above options that are taken up in turn."""
_CUE = re.compile(r"\W{0,4}[^\W\d_][\w -]{0,30}[:：]\W{0,4}")
_BREAKS_OFF = re.compile(r"[^\s.!?。！？)\]}\"'*`|$]\s*+\Z")
_LEADS_IN = re.compile(
    r"[:：]\Z|\A\W*(?:sure|ok(?:ay)?|certainly|of course|alright|well|hmm+|hi|hello|understood|got it|"
    r"great|thank(?:s| you))\b[^\n\d]{0,80}\Z|"
    r"\b(?:let'?s|let us|let me|here(?:'s| is| are)|we need to|i need to|i will|i'll|we will|"
    r"to (?:solve|answer)|break|(?:sub-?)?questions|restate|rephrase)\b"
    r"(?:(?!answer is|therefore|\d)[^\n]){0,200}\Z",
    re.IGNORECASE,
)
"""What is no answer yet, before a question that is taken up."""
