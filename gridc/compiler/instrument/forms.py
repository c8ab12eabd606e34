"""Asks for an answer in a form, and reads exactly that form.

A form has three parts that belong together: the sentence that asks for it, how an answer is written in it
(for exemplars and oracles), and where the answer stands in a response that keeps it. A response that does not
keep it gives no answer here, whatever a reader of phrases would make of it.

Emphasis, brackets and a full stop around an answer do not matter. Pure: the same response is always read
alike.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gridc.compiler.instrument.extract import Extraction
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.matching import TextSpan
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.options import spoken_options
from gridc.compiler.instrument.own_part import own_part
from gridc.compiler.instrument.plain_text import closing_brace, fold
from gridc.compiler.instrument.setting import Setting
from gridc.schema.effects import AnswerFormName

OUT_OF_FORM = "not in the form"
"""Why nothing is read of a response that does not keep the form."""
NOT_AN_OPTION = "not one of the answers"
"""Why nothing is read where the form holds something else than an option."""


@dataclass(frozen=True, slots=True)
class RequestedForm:
    """`request` asks for the form: {word} stands for the answer in it, and {wanted} says what that is.
    `line` is an answer in the form, in place of {}. `find` gives the span of the answer in a text that keeps
    the form, None in any other. `behind_text`: it may stand at the end of a longer text. `closes`: nothing
    that follows could change an answer that was found."""

    request: str
    line: str
    find: Callable[[str], TextSpan | None]
    behind_text: bool = False
    closes: bool = True

    def write(self, answer: str) -> str:
        """An answer in the form."""
        quoted = self.line.replace('"{}"', json.dumps(answer, ensure_ascii=False))
        return self.line.replace("{}", answer) if quoted == self.line else quoted


def _find_line(text: str) -> TextSpan | None:
    """Behind the last `Answer:` that opens a line, to the end of the line, without emphasis at its ends."""
    lines = list(_LINE.finditer(text))
    if not lines:
        return None
    start, end = lines[-1].span(1)
    bare = text[start:end].rstrip(" *_`")
    return (start, start + len(bare)) if bare else None


def _find_whole(text: str) -> TextSpan | None:
    """The whole text, if it is one line."""
    stripped = text.strip()
    start = text.find(stripped)
    return (start, start + len(stripped)) if stripped and "\n" not in stripped else None


def _find_boxed(text: str) -> TextSpan | None:
    """Inside the last `\\boxed{...}` whose braces close, and of `\\text{...}` alone in it inside that."""
    for opening in reversed(list(_BOXED.finditer(text))):
        end = closing_brace(text, opening.end())
        if end is None:
            continue
        start = opening.end()
        inner = _TEXT.match(text, start, end)
        if inner is not None and closing_brace(text, inner.end()) == end - 1:
            return inner.end(), end - 1
        return start, end
    return None


def _find_json(text: str) -> TextSpan | None:
    """The value of the key `answer` where the text is one JSON object, which may be in a code block."""
    block = _BLOCK.fullmatch(text)
    start, end = (0, len(text)) if block is None else block.span(1)
    try:
        document = json.loads(text[start:end])
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not isinstance(document.get("answer"), str | int | float):
        return None
    # JSON readers take the last of several equal keys, and so does this search.
    keys = list(_ANSWER_KEY.finditer(text, start, end))
    return keys[-1].span(2 if keys[-1][2] is not None else 1) if keys else None


_LINE = re.compile(r"^[^\w\n]*answer[ *_`]*[:：][ \t*_`]*([^\n]*\S)", re.IGNORECASE | re.MULTILINE)
_BOXED = re.compile(r"\\boxed\s?\{")
_TEXT = re.compile(r"\s*\\(?:text|mathrm|textbf)\s?\{")
_BLOCK = re.compile(r"\s*```(?:json)?\s*(\{.*\})\s*```\s*", re.DOTALL | re.IGNORECASE)
_ANSWER_KEY = re.compile(r'"answer"\s*:\s*("((?:[^"\\]|\\.)*)"|-?[\d.eE+-]+|true|false)')

_OBJECT = 'Respond with the JSON object {{"answer": "{word}"}} and nothing else, where {word} is {wanted}.'
ANSWER_FORMS: Mapping[AnswerFormName, RequestedForm] = {
    "line": RequestedForm(
        'End your response with a line of the form "Answer: {word}", where {word} is {wanted}.',
        "Answer: {}",
        _find_line,
        behind_text=True,
        closes=False,
    ),
    "letter": RequestedForm("Respond with {wanted} and nothing else.", "{}", _find_whole),
    "boxed": RequestedForm(
        "End your response with \\boxed{{{word}}}, where {word} is {wanted}.",
        "\\boxed{{}}",
        _find_boxed,
        behind_text=True,
    ),
    "json": RequestedForm(_OBJECT, '{"answer": "{}"}', _find_json),
    "json_schema": RequestedForm(_OBJECT, '{"answer": "{}"}', _find_json),
}
VERSIONS = {f"answer:{name}": 1 for name in ANSWER_FORMS}
"""The version of each part here, which stamps hold (`instrument.versions`)."""


def read_by(form: AnswerFormName) -> str:
    """The rule that samples record whose answer stands in this form; behind a colon follows why it could not
    be compared, where it could not."""
    return f"form {form}"


@dataclass(frozen=True, slots=True)
class FormReading:
    """What stands in the form in a response: the `answer` and its span in characters. Without one `rule` says
    why, and else in which form it stands."""

    rule: str
    answer: str | None = None
    span: TextSpan = (0, 0)


@dataclass(frozen=True, slots=True)
class AskedForm:
    """The form that is asked of one item. `labels` are those of its options, empty where options have none;
    `options` are their texts, empty where an answer in words is wanted, and `shown` says whether the prompt
    lists them."""

    name: AnswerFormName
    labels: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    question: str = ""
    shown: bool = True

    @property
    def request(self) -> str:
        """The sentence that asks for it."""
        return ANSWER_FORMS[self.name].request.format(word=self._word, wanted=self._wanted)

    @property
    def _word(self) -> str:
        if not self.labels:
            return "TEXT"
        return "NUMBER" if self.labels[0].isdigit() else "LETTER"

    @property
    def _wanted(self) -> str:
        if self.labels:
            *most, last = self.labels
            return f"{', '.join(most)} or {last}" if most else last
        listed = self.options and self.shown
        return "one of the options, word for word" if listed else "your final answer alone"

    @property
    def example(self) -> str:
        """An answer in the form."""
        return ANSWER_FORMS[self.name].write((*self.labels, *self.options, "1")[0])

    @property
    def schema(self) -> str:
        """The JSON Schema of a response, as JSON text."""
        allowed = self.labels or self.options
        answer = {"type": "string", **({"enum": list(allowed)} if allowed else {})}
        document = {
            "type": "object",
            "properties": {"answer": answer},
            "required": ["answer"],
            "additionalProperties": False,
        }
        return json.dumps(document, ensure_ascii=False)

    def read(self, response: str) -> FormReading:
        """What a response has in the form."""
        part = own_part(response, self.question, self.options)
        if part is None:
            return FormReading("the reasoning never ended")
        begin, end = part
        if not response[begin:end].strip():
            return FormReading("empty")
        span = ANSWER_FORMS[self.name].find(response[begin:end])
        if span is None:
            return FormReading(OUT_OF_FORM)
        start, end = begin + span[0], begin + span[1]
        answer = response[start:end]
        if self.name in ("json", "json_schema"):
            answer = _decoded(answer)
        if self.name == "letter" and self._labelled(_bare(answer)) is None:
            return FormReading(OUT_OF_FORM)
        return FormReading(read_by(self.name), answer, (start, end))

    def keeps(self, response: str) -> bool:
        """Whether a response keeps the form, with one of the options in it where there are any."""
        answer = self.read(response).answer
        return answer is not None and (not self.options or self.choice(answer) is not None)

    def read_option(self, response: str) -> Extraction:
        """The option that a response chooses in the form."""
        reading = self.read(response)
        if reading.answer is None:
            return Extraction(None, reading.rule)
        choice = self.choice(reading.answer)
        if choice is None:
            return Extraction(None, NOT_AN_OPTION)
        return Extraction(choice, reading.rule, "stated", *reading.span)

    def choice(self, answer: str) -> int | None:
        """The option that an answer names: by its label, by its text, or by both; None where it names none,
        or several."""
        labelled = self._labelled(_bare(answer))
        if labelled is not None:
            return labelled
        text = self._texted(answer)
        led = _LED.fullmatch(_bare(answer))
        if text is not None or led is None:
            return text
        labelled = self._labelled(led[1])
        # The label decides only where its own text follows: "A. Oslo" is no answer where Oslo is B.
        return labelled if labelled is not None and labelled == self._texted(led[2]) else None

    def _labelled(self, label: str) -> int | None:
        named = [place for place, known in enumerate(self.labels) if known.casefold() == label.casefold()]
        return named[0] if len(named) == 1 else None

    def _texted(self, answer: str) -> int | None:
        for plain in (str.strip, _plain):
            texts = [place for place, option in enumerate(self.options) if plain(option) == plain(answer)]
            if len(texts) == 1 and plain(answer):
                return texts[0]
        return None


def _bare(answer: str) -> str:
    """An answer without the marks around it."""
    return answer.strip(" \t*_`\"'“”‘’$<>()[]{}.,")


def _plain(text: str) -> str:
    # Articles stay, unlike in `matching.normalised`: in "A. Bergen" the A is a label.
    return " ".join(_bare(fold(text)).casefold().split())


def _decoded(text: str) -> str:
    """The text of a JSON string whose quotes are gone."""
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


_LED = re.compile(r"(\w{1,5})\s*[.):,\-–—\]]\s*(.+)", re.DOTALL)


def form_of(setting: Setting, item: Item) -> AskedForm | None:
    """The form that a setting asks of an item; None where it asks for none."""
    if setting.form is None:
        return None
    if METHODS[setting.method].reads_answer:
        return AskedForm(setting.form, question=item.stem)
    shown = setting.options != "none"
    return AskedForm(setting.form, setting.labels_of(item), spoken_options(item), item.stem, shown)
