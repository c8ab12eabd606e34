"""Readers: the ways in which an answer is read out of a text.

The key `reader` of a spec names one. `last_answer` is gridc's own. The others do what evaluation packages do,
mistakes included, so that a study can compare them. Each takes a response, the item's options, the labels
under which they were shown (none where the answer is a text) and the question, and returns what it read.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gridc.compiler.instrument.extract import Extraction, extract
from gridc.registry import Registry
from gridc.schema.effects import ReaderName


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What a reader wants of an answer. `write` gives an answer that stands alone, `mark` one behind a text.
    `labels_alone`: no option's text is read. `behind_text`: the answer may stand at the end of a longer text.
    `understands`: words about the options are read too."""

    write: Callable[[str], str] = str
    mark: Callable[[str], str] = "Answer: {}".format
    labels_alone: bool = False
    behind_text: bool = True
    understands: bool = False


ResponseReader = Callable[[str, Sequence[str], Sequence[str], str], Extraction]
READERS: Registry[ResponseReader] = Registry()
FORMS: dict[str, AnswerForm] = {}
VERSIONS: dict[str, int] = {}
"""The version of each part here, which stamps hold (`instrument.versions`)."""


def register_reader(
    name: ReaderName, version: int, form: AnswerForm
) -> Callable[[ResponseReader], ResponseReader]:
    """Registers a way of reading, its version and the form of its answers."""
    FORMS[name], VERSIONS[f"reader:{name}"] = form, version
    return READERS.add(name)


@register_reader("last_answer", 4, AnswerForm(understands=True))
def last_answer(
    response: str, options: Sequence[str], labels: Sequence[str], question: str = ""
) -> Extraction:
    """The answer after the last valid marker; without a marker, the rules of `extract`."""
    return extract(response, options, labels=labels, question=question)


@register_reader("whole_response", 1, AnswerForm(behind_text=False))
def whole_response(
    response: str, options: Sequence[str], labels: Sequence[str], question: str = ""
) -> Extraction:
    """The response, stripped, is the answer: equal to a letter, or to an option's text where no letters
    were shown. HELM's exact match after one generated token."""
    answer = response.strip()
    if not answer:
        return Extraction(None, "empty")
    known = list(labels) or [option.strip() for option in options]
    if answer not in known:
        return Extraction(None, "not one of the answers")
    start = response.index(answer)
    return Extraction(known.index(answer), "whole response", "stated", start, start + len(answer))


@register_reader("answer_line", 1, AnswerForm("ANSWER: {}".format, "ANSWER: {}".format, labels_alone=True))
def answer_line(
    response: str, options: Sequence[str], labels: Sequence[str], question: str = ""
) -> Extraction:
    """The last `ANSWER: X`, on a line of its own where there is one, X being one of the item's labels.

    Inspect's multiple choice (`inspect_ai.solver._multiple_choice.parse_answers`, 0.3.285): bold, dollar
    signs and brackets around the letter do not count, and neither do a full stop or a comma behind it. What
    Inspect reads of 3,300 answers is read here too (`tests/e2e/test_inspect.py`).
    """
    known = [label.upper() for label in labels]
    if "ANSWER" not in response.upper():
        return Extraction(None, "no answer line" if response.strip() else "empty")
    text, places = _unwrapped(response)
    lines = list(_ANSWER_LINE.finditer(text)) or list(_ANSWER_ANYWHERE.finditer(text))
    if not lines:
        return Extraction(None, "no answer line" if response.strip() else "empty")
    last = lines[-1]
    tokens = [token for token in last[1].strip().upper().split(",") if token]
    if len(tokens) != 1 or tokens[0] not in known:
        return Extraction(None, "not one of the answers")
    start = places[last.start(1) + last[1].upper().index(tokens[0])]
    return Extraction(known.index(tokens[0]), "answer line", "stated", start, start + len(tokens[0]))


def _unwrapped(response: str) -> tuple[str, Sequence[int]]:
    """The response without what is wrapped around letters, and where each character of it stands there."""
    places: Sequence[int] = range(len(response))
    text = response
    for mark, pattern in _WRAPPED:
        if mark not in text:
            continue
        spans, behind = list[tuple[int, int]](), 0
        for match in pattern.finditer(text):
            spans += [(behind, match.end(1)), match.span(2)]
            behind = match.end()
        spans.append((behind, len(text)))
        text = "".join(text[start:end] for start, end in spans)
        places = [place for start, end in spans for place in places[start:end]]
    return text, places


_LETTERS = r"([A-Z\d][A-Z\d ,]{0,40}?)"
_WRAPPED = tuple(
    (mark, re.compile(pattern, re.IGNORECASE))
    for mark, pattern in (
        ("$", rf"()\$\s{{0,4}}{_LETTERS}\s{{0,4}}\$"),
        ("**", rf"()\*\*\s{{0,4}}{_LETTERS}\s{{0,4}}\*\*"),
        ("(", r"((?:^|[:,])\s{0,4})\(([A-Z\d])\)(?=\s{0,4}(?:,|\.|\n|\Z))"),
    )
)
_ANSWER_LINE = re.compile(
    r"^ANSWER\s{0,4}:\s{0,4}([A-Z\d ,]{1,60})\s{0,4}(?:$|\n|\.)", re.IGNORECASE | re.MULTILINE
)
_ANSWER_ANYWHERE = re.compile(r"ANSWER\s{0,4}:\s{0,4}([A-Z\d ,]{1,60})(?:[^\w]|$)", re.IGNORECASE)
