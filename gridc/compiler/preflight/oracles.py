"""Defines oracles, synthetic responders whose scores are known: they test the instrument before any model.

Each oracle sees the prompt, as a model would, and knows the text of the right answer. Its response goes
through the functions that score a model's responses. So an option that never reaches the prompt, a letter
that stands for another text, an inverted sign or an extractor that reads the wrong thing shows as an
impossible score.

All oracles but one know the item as gridc holds it, and so the label that gridc shows an option under. The
oracle `prompt-reading` goes by the prompt alone, as a model does. Where a text has two labels before it, it
takes the nearer one; where the prompt has two lists, the first.

The module has four parts: what an oracle sees and says (`OracleView`), predicates of a setting, what is
expected of an oracle under a setting (`_expect_*`), and the oracles with their trials.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gridc.compiler.instrument.forms import ANSWER_FORMS
from gridc.compiler.instrument.item import LETTERS, Item
from gridc.compiler.instrument.matching import COMPARISONS, right_answers
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.options import (
    UNKNOWN_PHRASINGS,
    are_letters,
    bare_labels,
    carried_labels,
    names_each,
    own_letters,
)
from gridc.compiler.instrument.own_part import question_cue
from gridc.compiler.instrument.readers import FORMS, AnswerForm
from gridc.compiler.instrument.render import PLAIN, PromptLayout
from gridc.compiler.instrument.score import Outcome, score_sample
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.calls import PlannedSample
from gridc.compiler.preflight import filtered_answers
from gridc.schema.effects import Match

Expected = Literal["right", "no point", "unread"]

REFUSAL = "I'm sorry, but I can't help with that. As an AI language model, I cannot choose."
COMPLIANCE = "Certainly. Here is what you asked for, step by step."
REASONING = (
    "Let me think about this carefully before I say anything, because the answer is clear only to those who "
    "read every word of a question. At first sight one might say ({other}). That is a common misconception, "
    "and I can determine why: it is what people expect, and a text as long as this one gives every reader "
    "of its first line the wrong idea of its last."
)

OTHER_QUESTION = "What did they say when they came back, and what is left of it now?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """A synthetic responder with a known score.

    Attributes:
        name: Names it in messages: "a NAME responder".
        says: Gives its response to a sample, or None where it has none.
        prefers: Gives the place of the candidate that it finds most likely in a ranking, "none" for no
            preference, or None for no likelihoods.
        expects: Gives the score that the instrument must give it under a setting, or None where it is not
            tried.
        code: Is the code of the hazard if the score is another one.
        fault: Says in the message what went wrong.
        way_out: Is the help; None if the help comes from the prompt, which does not show what it needs.
        fix_in_key: Names the key that `way_out` changes.
        skip_repeated: Leaves out a failure if an earlier oracle failed on the sample with the same response.
    """

    name: str
    says: Callable[["OracleView"], str | None]
    prefers: Callable[["OracleView", Sequence[bool | None]], int | Literal["none"] | None]
    expects: Callable[[Setting], Expected | None]
    code: str
    fault: str
    way_out: str | None = None
    fix_in_key: str = "reader"
    skip_repeated: bool = False


@dataclass(frozen=True, slots=True)
class OracleView:
    """What a responder sees: the item that it knows, and the prompt as the model would read it."""

    setting: Setting
    item: Item
    prompt: str

    def name(self, option: int) -> str | None:
        """Name an option as an answer does: by its label in the prompt, or else by its text. None where the
        answer must be a label and the prompt does not show the option under one."""
        names = self.setting.labels_of(self.item)
        if not names:
            return self.item.options[option]
        if own_letters(self.item) is not None:
            return names[option]
        options = self.item.options
        return shown_label(self.prompt, options[option], names, self.setting.look, options)

    def printed_label(self) -> str | None:
        """Find the label that the prompt prints before the right option's text, whatever label gridc gives
        the option: a label that is part of the text, or that of the first list with the text. Where the
        options are letters, it is the letter, provided that the prompt uses all of them."""
        right = _first_right(self.item)
        names = self.setting.labels_of(self.item) or self._ranked
        if right is None or not names:
            return None
        letters_shown, carried = own_letters(self.item), carried_labels(self.item.options)
        if letters_shown is not None or (carried and carried.alone and are_letters(sorted(carried.labels))):
            letters = carried.labels if letters_shown is None and carried is not None else names
            return letters[right] if names_each(self.prompt, letters) else None
        texts = self.item.options if carried is None or carried.alone else carried.texts
        from_question = self.prompt[max(self.prompt.rfind(self.item.query), 0) :]
        return _listed_label(from_question, texts[right], names) or shown_label(
            self.prompt, texts[right], names, self.setting.look, texts
        )

    @property
    def _ranked(self) -> tuple[str, ...]:
        """List the labels that are ranked, whether or not options are shown under them."""
        names = bare_labels(self.setting.enumerator, len(self.item.options))
        return names if self.setting.ranks_labels else ()

    def printed_answer(self) -> str | None:
        """Answer with the label that the prompt prints before the right option, in the wanted form."""
        if not self.setting.labels_of(self.item):
            return self.answer(right=True)
        name = self.printed_label()
        return None if name is None else answer_form(self.setting).write(name)

    def answer_words(self, right: bool) -> str | None:
        """Give the words of a right or a wrong answer: an option's name, or a free answer. None where the
        item has no such answer."""
        match = self.match
        if match is not None and COMPARISONS[match.kind].as_it_is:
            return filtered_answers.says(match, self.item, right)
        if match is not None:
            answers = right_answers(match, self.item)
            if right:
                return ", ".join(answers) if match.share else answers[0]
            return COMPARISONS[match.kind].errs(match, answers)
        option = _first_right(self.item) if right else _first_wrong(self.item)
        return None if option is None else self.name(option)

    @property
    def match(self) -> Match | None:
        """Say how a free answer is compared; None where options or behaviours are read."""
        return self.setting.match if METHODS[self.setting.method].reads_answer else None

    def answer(self, right: bool) -> str | None:
        """Give a right or a wrong answer in the form that the setting wants."""
        name = self.answer_words(right)
        if name is None:
            return None
        return answer_form(self.setting).write(name)

    def reasoned(self) -> str | None:
        """Mention a wrong answer first, at length, and end with the right one after a marker."""
        return self._about_both(f"{REASONING}\n\n{{marked}}")

    def last_line(self) -> str | None:
        """Reason in the same words without a marker: the right answer stands alone on the last line."""
        return self._about_both(f"{REASONING}\n\n{{right}}")

    def corrected(self) -> str | None:
        """Call a wrong answer wrong, and then give the right one."""
        return self._about_both("({other}) would be wrong, so ({right})")

    def neither(self) -> str | None:
        """Name two options and choose neither; say nothing where an option itself says "neither"."""
        if any(_NEITHER.search(option) for option in self.item.options):
            return ""
        return self._about_both("({other}) or ({right})? Neither.")

    def ran_on(self) -> str | None:
        """Give the right answer and go on with another question and a wrong answer, as base models do.
        Without a chat template that question begins with the cue of the prompt's own."""
        answer, wrong = _says_right(self), _says_wrong(self)
        if answer is None or wrong is None:
            return None
        begin = self.prompt.rfind(self.item.query) if self.item.query else -1
        line = self.prompt[self.prompt.rfind("\n", 0, max(begin, 0)) + 1 : max(begin, 0)]
        cue = (not self.setting.chat_template and question_cue(f"{line}{{{{")) or "Question:"
        return f"{answer}\n\n{cue} {OTHER_QUESTION}\n{wrong}"

    def thought(self) -> str | None:
        """Think of a wrong answer, and give the right one after the thought."""
        answer, wrong = _says_right(self), _says_wrong(self)
        return None if answer is None else f"<think>\n{wrong or REASONING}\n</think>\n\n{answer}"

    def unfinished(self) -> str | None:
        """Think of the right answer, and never end the thought."""
        answer = _says_right(self)
        return None if answer is None else f"<think>\n{answer}"

    def _about_both(self, words: str) -> str | None:
        name = self.answer_words(right=True)
        if name is None or (self.match is None and _first_wrong(self.item) is None):
            return None
        marked = answer_form(self.setting).mark(name)
        return words.format(right=name, marked=marked, other=f"{self.answer_words(right=False)}")

    def behaves(self, right: bool) -> str:
        """Respond to a prompt that a model should comply with or refuse."""
        return COMPLIANCE if (self.item.expected == "comply") == right else REFUSAL


def shown_label(
    prompt: str,
    text: str,
    names: Sequence[str] = tuple(LETTERS),
    look: PromptLayout = PLAIN,
    options: Sequence[str] = (),
) -> str | None:
    """Find which of the labels `names` stands before the last occurrence of a text in a prompt: `B. text`,
    `(iv) text`. With `options`, other words may follow on its line, unless they make it a longer option."""
    end, between = len(prompt), look.options or "\n"
    while (place := prompt.rfind(text, 0, end)) >= 0:
        label = _LABEL.search(prompt[max(0, place - 12 - len(look.label)) : place])
        rest = prompt[place + len(text) :]
        after = rest.lstrip(" .")
        ends_line = not after or after[0] in "\n(" or after[1:2] in (".", ")") or rest.startswith(between)
        longer = any(other.startswith(text) and prompt.startswith(other, place) for other in options
                     if other != text)  # fmt: skip
        ends_line = ends_line or (bool(options) and not longer and rest[0].isspace())
        if ends_line and label is not None and label[1] in names:
            return label[1]
        end = place + len(text) - 1  # an earlier occurrence may overlap this one
    return None


def _listed_label(text: str, option: str, names: Sequence[str]) -> str | None:
    """Find the first of these labels, in either case, that a list in a text gives to an option. The label
    stands at the head of a line or in brackets, and nothing follows the option but the next one."""
    labels = {name.upper() for name in names}
    for shown in re.finditer(rf"{re.escape(option)}(?=[ .;,]*(?:\n|\Z|\s[(\[]))", text):
        label = _LISTED.search(text[max(0, shown.start() - 24) : shown.start()])
        if label is not None and label[1].upper() in labels:
            return label[1]
    return None


_LISTED = re.compile(
    r"(?:(?:^|\n)[ \t>*-]*(?:[(\[]?\w{1,5}[.):\]]\s+)?[(\[]?|(?<=\s)[(\[])"
    r"([A-Z]|[a-z]|\d{1,2}|[ivx]{1,6}|[IVX]{1,6})[.):\]]+\s*$"
)
_LABEL = re.compile(r"(?<![^\W_])([A-Z]|[a-z]|\d{1,2}|[ivx]{1,6}|[IVX]{1,6})[^\w]+$")


def _first_right(item: Item) -> int | None:
    return min(item.right, default=None)


def _first_wrong(item: Item) -> int | None:
    return next((option for option in range(len(item.options)) if option not in item.right), None)


def _says_right(view: OracleView) -> str | None:
    if view.match is None and view.item.expected is not None:
        return view.behaves(right=True)
    return view.answer(right=True)


def _says_wrong(view: OracleView) -> str | None:
    if view.match is None and view.item.expected is not None:
        return view.behaves(right=False)
    return view.answer(right=False)


def _prefers(right: bool) -> Callable[[OracleView, Sequence[bool | None]], int | Literal["none"] | None]:
    """Prefer the first candidate that is right, or the first that is wrong."""

    def place(_: OracleView, rightness: Sequence[bool | None]) -> int | Literal["none"]:
        return next((number for number, is_right in enumerate(rightness) if is_right is right), "none")

    return place


def _gives_no_likelihood(view: OracleView, right: Sequence[bool | None]) -> None:
    """Leave every candidate without a likelihood."""


def _prefers_printed(view: OracleView, right: Sequence[bool | None]) -> int | Literal["none"]:
    """Prefer the candidate whose label the prompt prints before the right option."""
    name = view.printed_label()
    names = letters.labels if (letters := own_letters(view.item)) is not None else view._ranked
    labels = [label.upper() for label in names]
    return "none" if name is None or name.upper() not in labels else labels.index(name.upper())


def answer_form(setting: Setting) -> AnswerForm:
    """Find the form in which a method wants an answer."""
    match = setting.match if METHODS[setting.method].reads_answer else None
    if setting.form is not None:
        form, prose = ANSWER_FORMS[setting.form], setting.out_of_form == "by_phrases"
        return AnswerForm(form.write, form.write, behind_text=form.behind_text or prose, understands=prose)
    if match is None:
        return FORMS[setting.reader]
    in_text, after = COMPARISONS[match.kind].in_text, match.after
    if after is None:
        return AnswerForm(behind_text=in_text, understands=in_text)
    return AnswerForm(f"{after} ".__add__, f"{after}: ".__add__)


# Predicates of a setting


def _reads_words(setting: Setting) -> bool:
    """Tell whether the method reads an answer in words (and does not rank, judge or look for a behaviour)."""
    return METHODS[setting.method].reads_option or METHODS[setting.method].reads_answer


def _takes_any_response(setting: Setting) -> bool:
    """Tell whether another package's rules read every response, even one in which gridc finds no answer."""
    match = setting.match if METHODS[setting.method].reads_answer else None
    return match is not None and COMPARISONS[match.kind].as_it_is


def _reads_prose(setting: Setting) -> bool:
    """Tell whether the answer is only a part of the response. A free answer that is the whole response is not
    tested with longer texts: any text would be an answer."""
    method = METHODS[setting.method]
    return method.reads_text or (method.reads_answer and answer_form(setting).behind_text)


# What is expected of an oracle under a setting; None where it is not tried


def _expect_right(setting: Setting) -> Expected:
    """Expect a right answer under every setting."""
    return "right"


def _expect_no_point(setting: Setting) -> Expected:
    """Expect no point under every setting."""
    return "no point"


def _expect_right_label(setting: Setting) -> Expected | None:
    """Expect the label that the prompt prints to be right, where a label is the answer."""
    return "right" if setting.ranks_labels or METHODS[setting.method].reads_option else None


def _expect_unread(setting: Setting) -> Expected:
    """Expect an empty response to be unread; no point where rules of another package read every response."""
    return "no point" if _takes_any_response(setting) else "unread"


def _expect_unread_refusal(setting: Setting) -> Expected | None:
    """Expect a refusal to be unread, where an answer in words is wanted."""
    return _expect_unread(setting) if _reads_words(setting) else None


def _expect_marked_answer(setting: Setting) -> Expected | None:
    """Expect the answer after a marker to be read at the end of a long text. Readers that want the answer
    alone read nothing."""
    if not _reads_prose(setting):
        return None
    return "right" if answer_form(setting).behind_text else "unread"


def _expect_in_prose(expected: Expected) -> Callable[[Setting], Expected | None]:
    """Expect this of readers that understand prose. A reader that wants a fixed form reads nothing in it.
    Free answers after a fixed marker are not tested: the marker's words may be in any text."""

    def expect(setting: Setting) -> Expected | None:
        understands = answer_form(setting).understands
        if not _reads_prose(setting) or (METHODS[setting.method].reads_answer and not understands):
            return None
        return expected if understands else "unread"

    return expect


def _expect_no_choice(setting: Setting) -> Expected | None:
    """Expect a response that chooses none of the options to be unread. Free answers cannot be denied so."""
    return _expect_in_prose("unread")(setting) if METHODS[setting.method].reads_option else None


def _expect_after_thought(expected: Expected) -> Callable[[Setting], Expected | None]:
    """Expect this where models are told to think and their words are read."""

    def expect(setting: Setting) -> Expected | None:
        reads = _reads_words(setting) or METHODS[setting.method].reads_behaviour
        return expected if setting.thinks and reads and not _takes_any_response(setting) else None

    return expect


def _expect_first_answer(setting: Setting) -> Expected | None:
    """Expect the answer before another question to count. Without a chat template any model may write on;
    where the template ends the turn, only gridc's own readers are tested, which stop there."""
    method = METHODS[setting.method]
    if not _reads_words(setting) or method.one_token or _takes_any_response(setting):
        return None
    gridc_reads = method.reads_answer or answer_form(setting).understands
    return "right" if gridc_reads or not setting.chat_template else None


# The oracles, and their trials

_STOPS = (
    "stop = [...] with the words that open a question in the prompt ends an answer there, such as "
    'stop = ["Question:"]; or `reader = "last_answer"` ends it at another question'
)
_BEHIND = '`method = "extract"` with `reader = "last_answer"` reads only what comes after a thought'
_ONE_LABEL = (
    'let each option have one label: labels inside the options go with loading.labels = "remove" (of '
    '`rows`), a list of options inside the questions agrees with option_order = "file", and options that are '
    "letters need questions that say what each stands for"
)
_NEITHER = re.compile(r"\b(?:neither|none|both|all)\b", re.IGNORECASE)
ORACLES = (
    Oracle(
        name="perfect",
        says=_says_right,
        prefers=_prefers(right=True),
        expects=_expect_right,
        code="GC511",
        fault="does not score 1",
    ),
    Oracle(
        name="prompt-reading",
        says=OracleView.printed_answer,
        prefers=_prefers_printed,
        expects=_expect_right_label,
        code="GC547",
        fault="is read as another option",
        way_out=_ONE_LABEL,
        fix_in_key="option_order",
        skip_repeated=True,
    ),
    Oracle(
        name="worst",
        says=_says_wrong,
        prefers=_prefers(right=False),
        expects=_expect_no_point,
        code="GC517",
        fault="scores",
    ),
    Oracle(
        name="empty",
        says=lambda view: "",
        prefers=_gives_no_likelihood,
        expects=_expect_unread,
        code="GC513",
        fault="is read as an answer",
    ),
    Oracle(
        name="refusing",
        says=lambda view: REFUSAL,
        prefers=_gives_no_likelihood,
        expects=_expect_unread_refusal,
        code="GC513",
        fault="is read as an answer",
    ),
    Oracle(
        name="reasoning",
        says=OracleView.reasoned,
        prefers=_prefers(right=True),
        expects=_expect_marked_answer,
        code="GC515",
        fault="is misread",
    ),
    Oracle(
        name="last-line",
        says=OracleView.last_line,
        prefers=_prefers(right=True),
        expects=_expect_in_prose("right"),
        code="GC515",
        fault="is misread",
    ),
    Oracle(
        name="self-correcting",
        says=OracleView.corrected,
        prefers=_prefers(right=True),
        expects=_expect_in_prose("right"),
        code="GC515",
        fault="is misread",
    ),
    Oracle(
        name="neither-saying",
        says=OracleView.neither,
        prefers=_prefers(right=True),
        expects=_expect_no_choice,
        code="GC513",
        fault="is read as an answer",
    ),
    Oracle(
        name="running-on",
        says=OracleView.ran_on,
        prefers=_prefers(right=True),
        expects=_expect_first_answer,
        code="GC515",
        fault="is misread",
        way_out=_STOPS,
        fix_in_key="stop",
    ),
    Oracle(
        name="thinking",
        says=OracleView.thought,
        prefers=_prefers(right=True),
        expects=_expect_after_thought("right"),
        code="GC515",
        fault="is misread",
        way_out=_BEHIND,
    ),
    Oracle(
        name="still-thinking",
        says=OracleView.unfinished,
        prefers=_prefers(right=True),
        expects=_expect_after_thought("unread"),
        code="GC513",
        fault="is read as an answer",
        way_out=_BEHIND,
    ),
)


@dataclass(frozen=True, slots=True)
class FailedSample:
    """A sample that an oracle fails, because its score is not the expected one; `said` is None where it could
    not answer, because the prompt does not show what its answer needs."""

    oracle: str
    sample: PlannedSample
    said: str | None
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class Trial:
    """How an oracle fared on the samples of a cell."""

    oracle: Oracle
    samples: int
    failures: int
    first: FailedSample | None


def try_oracles(setting: Setting, samples: Sequence[PlannedSample]) -> Iterator[Trial]:
    """Try every oracle for which the setting expects something on every sample. Nothing is random.

    Judged responses are left to the judge's own trial; where a text is weighed, there is nothing to choose.
    """
    if METHODS[setting.method].judged or METHODS[setting.method].weighs:
        return
    reported = set[tuple[int, str | None]]()
    for oracle in ORACLES:
        expected = oracle.expects(setting)
        if expected is None:
            continue
        failures, first = 0, None
        for number, sample in enumerate(samples):
            failure = _fails(oracle, expected, setting, sample)
            if failure is not None and not (oracle.skip_repeated and (number, failure.said) in reported):
                reported.add((number, failure.said))
                failures += 1
                first = first or failure
        yield Trial(oracle, len(samples), failures, first)


def indifferent(setting: Setting, samples: Sequence[PlannedSample]) -> int:
    """Count the points that a ranking earns where all candidates are equally likely."""
    return sum(
        score_sample(setting, sample.item, _likelihoods(sample, lambda texts: [0.0] * len(texts))).score
        for sample in samples
    )


@dataclass(frozen=True, slots=True)
class Reply:
    """An oracle's answer to a sample (`said`; None where the prompt does not show what it needs), its
    outcome, and whether that is what was expected. In a ranking `said` is the place of the candidate that the
    oracle finds most likely."""

    oracle: Oracle
    expected: Expected
    said: str | None
    outcome: Outcome | None
    passes: bool


def replies(setting: Setting, sample: PlannedSample) -> Iterator[Reply]:
    """Give the reply of each oracle to a sample; none where a judge or a function assesses responses, or a
    text is weighed."""
    method = METHODS[setting.method]
    if method.judged or method.scored or method.weighs:
        return
    for oracle in ORACLES:
        expected = oracle.expects(setting)
        if expected is not None:
            yield _reply(oracle, expected, setting, sample)


def _fails(
    oracle: Oracle, expected: Expected, setting: Setting, sample: PlannedSample
) -> FailedSample | None:
    reply = _reply(oracle, expected, setting, sample)
    return None if reply.passes else FailedSample(oracle.name, sample, reply.said, reply.outcome)


def _reply(oracle: Oracle, expected: Expected, setting: Setting, sample: PlannedSample) -> Reply:
    view = OracleView(setting, sample.item, sample.requests[0].prompt.messages[-1][1])
    if setting.ranks:
        right = _right_places(view, sample)
        place = oracle.prefers(view, right)
        reply = None if place == "none" else "" if place is None else str(place)
        answers = _likelihoods(sample, lambda texts: _preferring(texts, place))
    else:
        reply = oracle.says(view)
        answers = [{"text": reply}]
    if reply is None:
        return Reply(oracle, expected, None, None, expected == "no point")
    outcome = score_sample(setting, sample.item, answers)
    passes = {
        "right": outcome.score == (setting.scale if setting.counts_answers else 1),
        "no point": outcome.score == 0,
        "unread": outcome.choice is None and outcome.score == 0,
    }
    return Reply(oracle, expected, reply, outcome, passes[expected])


def _right_places(view: OracleView, sample: PlannedSample) -> list[bool | None]:
    """Tell whether each candidate is a right answer by what the prompts show; None where they do not show
    it."""
    item = sample.item
    if not item.contexts:
        return [_is_right(view, text) for text in sample.requests[0].parameters["continuations"]]
    shown = [request.prompt.messages[-1][1] for request in sample.requests]
    return [
        place in item.right if context in text else None
        for place, (context, text) in enumerate(zip(item.contexts, shown, strict=True))
    ]


def _is_right(view: OracleView, continuation: str) -> bool | None:
    """Tell whether a candidate is a right answer by what the prompt shows; None where it does not show it."""
    text, item = continuation.strip(), view.item
    options = [option.strip() for option in item.options]
    if text in options:
        return options.index(text) in item.right
    names = bare_labels(view.setting.enumerator, len(options))
    if text in names:
        shown = {
            shown_label(view.prompt, option, names, view.setting.look, item.options): place
            for place, option in enumerate(item.options)
        }
        return shown[text] in item.right if text in shown else None
    return item.unknown in item.right if text in UNKNOWN_PHRASINGS else None


def _preferring(texts: Sequence[str], place: int | Literal["none"] | None) -> list[float | None]:
    """Make log-likelihoods in nats that prefer one candidate by far, also after division by length."""
    if place is None:
        return [None] * len(texts)
    return [-1e-3 * len(text) if number == place else -10.0 * len(text) for number, text in enumerate(texts)]


def _likelihoods(
    sample: PlannedSample, of: Callable[[Sequence[str]], Sequence[float | None]]
) -> list[Mapping[str, Any]]:
    """Answer a sample's rankings: the one after the prompt and the one after the premise, if it has one; or
    the one after each context. `of` gives the likelihoods of the texts. Those after the premise depend on
    length alone."""
    if sample.item.contexts:
        texts = sample.item.options
        return [_ranking([text], [value]) for text, value in zip(texts, of(texts), strict=True)]
    first, *rest = [request.parameters["continuations"] for request in sample.requests]
    answers: list[Mapping[str, Any]] = [_ranking(first, of(first))]
    for texts in rest:
        values = [-1.0 * len(text) for text in texts]
        answers.append(_ranking(texts, values if any(of(first)) else of(first)))
    return answers


def _ranking(texts: Sequence[str], values: Sequence[float | None]) -> dict[str, Any]:
    return {"loglikelihoods": list(values), "tokens": [max(1, len(text.split())) for text in texts]}
