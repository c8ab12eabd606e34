"""One sample with everything that is known about it: what was shown, what came back, what was read, every
call."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from gridc.compiler.instrument.thoughts import ResponseEnd, response_end
from gridc.compiler.lowering.calls import ANSWER, PLAIN_JOIN, WORDS
from gridc.runtime.store.reader import RECORDED
from gridc.viewer.lists import loaded, state
from gridc.viewer.store import Moment, StoredCell, absent

_COLUMNS = "kind, content, request, sent, answer, usage, seconds, finished, prompt"

MOST_TEXT = 100_000
"""Characters of one text that a page shows. The page says where it stops, and links to the whole text."""


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt; `role` is empty where all of the prompt is one text."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class PromptView:
    """A prompt as the model saw it: turns where they go through its chat template, otherwise one text.
    `dropped` is how many exemplars were left out so that it fitted, `thinking` what it was told about
    thinking first, `functions` what it may call, each by its name and as JSON."""

    messages: tuple[PromptMessage, ...]
    chat_template: bool = False
    dropped: int = 0
    thinking: str | None = None
    functions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CandidateLikelihood:
    """A text whose likelihood was asked for. `loglikelihood` is in nats; None where the model gave no number.
    `chosen` where the sample's choice is this one."""

    text: str
    loglikelihood: float | None
    tokens: int | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class CallView:
    """A call of a sample. `steps` are the names under which a scaffold made it; `decides` says that the
    outcome is read from it. `text` is what was generated, `error` why it has no answer for good, `settings`
    how the answer was drawn, by the keys of the request. Documents are JSON as it is stored."""

    id: str
    steps: tuple[str, ...]
    decides: bool
    kind: str
    shown: PromptView
    settings: tuple[tuple[str, str], ...]
    answered: bool
    text: str | None
    ended: ResponseEnd | None
    error: str | None
    candidates: tuple[CandidateLikelihood, ...]
    prompt: str
    request: str
    sent: str | None
    answer: str | None
    usage: str | None
    seconds: float | None
    finished: str | None
    attempts: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge was asked about a response, and what its reply was read to: a label, or a failure."""

    judge: str
    attempt: int
    label: str | None
    confidence: int | None
    failure: str | None
    call: CallView


@dataclass(frozen=True, slots=True)
class SampleView:
    """A sample. `span` is the part of the deciding call's text that the answer was read from, by characters.
    `points` are the options that earn the point, `options` how many there are; None where the store does not
    say it."""

    cell: StoredCell
    item: str
    replicate: int
    choice: int | None
    score: int | None
    evidence: Mapping[str, Any]
    options: int | None
    points: tuple[int, ...] | None
    unknown: int | None
    matching: int | None
    expected: str | None
    calls: tuple[CallView, ...]
    judgements: tuple[Judgement, ...]

    @property
    def state(self) -> str:
        return state(self.choice, self.score)

    @property
    def deciding(self) -> CallView | None:
        """The call that the outcome is read from, or would be: the last one."""
        return next((call for call in self.calls if call.decides), self.calls[-1] if self.calls else None)

    @property
    def span(self) -> tuple[int, int] | None:
        start, end = self.evidence.get("start"), self.evidence.get("end")
        text = self.deciding.text if self.deciding else None
        if type(start) is not int or type(end) is not int or text is None:
            return None
        return (start, end) if 0 <= start < end <= len(text) else None


def sample_view(moment: Moment, cell: StoredCell, item: str, replicate: int) -> SampleView:
    """Raises `StoreError` (GC615) where the cell has no such sample."""
    row = moment.row(
        "SELECT choice, score, evidence FROM sample WHERE cell = ? AND item = ? AND replicate = ?",
        [cell.id, item, replicate],
    )
    if row is None:
        raise absent(f"the cell `{cell.key}` has no sample of item `{item}`, replicate {replicate}")
    choice, score, evidence = row
    document = loaded(evidence) if evidence is not None else None
    details: Mapping[str, Any] = document if isinstance(document, dict) else {}
    shown = moment.row(
        """SELECT options, points, unknown, matching, expected FROM shown
           JOIN cell USING (stamp, benchmark, option_order) WHERE cell.id = ? AND item = ?""",
        [cell.id, item],
    )
    options, points, unknown, matching, expected = shown or (None, None, None, None, None)
    right = loaded(points) if points is not None else None
    return SampleView(
        cell, item, replicate, choice, score, details, options,
        tuple(right) if isinstance(right, list) and all(type(option) is int for option in right) else None,
        unknown, matching, expected, tuple(_calls(moment, cell, item, replicate, choice, details)),
        tuple(_judgements(moment, cell, item, replicate)),
    )  # fmt: skip


def _calls(
    moment: Moment,
    cell: StoredCell,
    item: str,
    replicate: int,
    choice: int | None,
    evidence: Mapping[str, Any],
) -> Iterator[CallView]:
    """The distinct calls of a sample in the order in which they were first made."""
    rows = moment.rows(
        f"""SELECT call.id, trace.name, {_COLUMNS}
           FROM trace JOIN call ON call.id = trace.call JOIN prompt ON prompt.id = call.prompt
           WHERE cell = ? AND item = ? AND replicate = ? ORDER BY step""",
        [cell.id, item, replicate],
    ).fetchall()
    steps: dict[str, list[str]] = {}
    for call, name, *_ in rows:
        steps.setdefault(call, []).extend([name] if name is not None else [])
    ended = [call for call, name, *_ in rows if name == ANSWER]
    plain = [call for call, name, *_ in rows if name is None]
    deciding = ended[-1] if ended else (plain[0] if plain else None)
    first = {call: rest for call, *rest in reversed(rows)}
    for call in steps:
        _, *columns = first[call]
        names = tuple(name for name in steps[call] if name != ANSWER)
        yield _view(moment, call, names, call == deciding, columns, choice, evidence)


def _view(
    moment: Moment,
    call: str,
    steps: tuple[str, ...],
    decides: bool,
    columns: Sequence[Any],
    choice: int | None = None,
    evidence: Mapping[str, Any] = MappingProxyType({}),
) -> CallView:
    """A call from its `_COLUMNS`, and what was chosen where it is the one that decides."""
    kind, content, request, sent, answer, usage, seconds, finished, prompt = columns
    document = loaded(answer) if answer is not None else None
    given: Mapping[str, Any] = document if isinstance(document, dict) else {}
    failed, text = given.get("error"), _text(given.get("text"))
    counts = loaded(usage) if usage is not None else None
    return CallView(
        id=call,
        steps=steps,
        decides=decides,
        kind=kind,
        shown=_prompt(kind, content, sent),
        settings=tuple(_settings(request)),
        answered=answer is not None,
        text=text,
        ended=None if text is None else response_end(given, counts if isinstance(counts, dict) else {}),
        error=None if failed is None else json.dumps(failed, ensure_ascii=False),
        candidates=tuple(_candidates(request, given, choice, evidence, decides)),
        prompt=prompt,
        request=pretty(request) or "",
        sent=pretty(sent),
        answer=pretty(answer),
        usage=pretty(usage),
        seconds=seconds,
        finished=finished,
        attempts=tuple(_attempts(moment, call)),
    )


def _judgements(moment: Moment, cell: StoredCell, item: str, replicate: int) -> Iterator[Judgement]:
    rows = moment.rows(
        f"""SELECT judge, attempt, label, confidence, failure, call.id, {_COLUMNS}
            FROM judgement JOIN call ON call.id = judgement.call JOIN prompt ON prompt.id = call.prompt
            WHERE cell = ? AND item = ? AND replicate = ? ORDER BY judge, attempt""",
        [cell.id, item, replicate],
    ).fetchall()
    for judge, attempt, label, confidence, failure, call, *columns in rows:
        shown = _view(moment, call, (judge,), False, columns)
        yield Judgement(judge, attempt, label, confidence, failure, shown)


def _prompt(kind: str, content: str, sent: str | None) -> PromptView:
    """The prompt as it was sent: with fewer exemplars where the whole did not fit. A document that gridc does
    not write is shown as text."""
    document, sending = loaded(content), loaded(sent) if sent is not None else None
    try:
        shown = [PromptMessage(str(role), str(text)) for role, text in document["messages"]]
        dropped = sending.get("exemplars_dropped", 0) if isinstance(sending, dict) else 0
        if dropped:
            shown[-1] = PromptMessage(shown[-1].role, str(document["shorter"][dropped - 1]))
        chat_template = document.get("chat_template") is True
        if not chat_template and kind != RECORDED:
            shown = [PromptMessage("", PLAIN_JOIN.join(each.text for each in shown))]
        thinking = document.get("thinking")
        functions = tuple(_functions(document.get("functions")))
        told = None if thinking is None else str(thinking)
        return PromptView(tuple(shown), chat_template, int(dropped), told, functions)
    except (LookupError, TypeError, ValueError, AttributeError):
        return PromptView((PromptMessage("stored as", content),))


def _functions(stored: Any) -> Iterator[tuple[str, str]]:
    listed = loaded(stored) if isinstance(stored, str) and stored else []
    for each in listed if isinstance(listed, list) else [listed]:
        name = each.get("name") if isinstance(each, dict) else None
        yield str(name or "a function"), json.dumps(each, indent=1, ensure_ascii=False)


_NOT_SETTINGS = {*WORDS, "kind", "model", "item", "replicate"}


def _settings(request: str) -> Iterator[tuple[str, str]]:
    """How an answer is drawn, from a stored request: its members that say nothing to the model."""
    parameters = loaded(request)
    for name, value in parameters.items() if isinstance(parameters, dict) else ():
        if name not in _NOT_SETTINGS:
            yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _candidates(
    request: str, answer: Mapping[str, Any], choice: int | None, evidence: Mapping[str, Any], decides: bool
) -> Iterator[CandidateLikelihood]:
    parameters = loaded(request)
    texts = parameters.get("continuations") if isinstance(parameters, dict) else None
    if not isinstance(texts, list):
        return
    likely, tokens = (_list(answer.get(name), len(texts)) for name in ("loglikelihoods", "tokens"))
    chosen = evidence.get("candidate", choice)
    for place, text in enumerate(texts):
        value, length = likely[place], tokens[place]
        yield CandidateLikelihood(
            str(text),
            float(value) if isinstance(value, (int, float)) else None,
            length if isinstance(length, int) else None,
            decides and choice is not None and place == chosen,
        )


def _list(value: Any, length: int) -> list[Any]:
    return value if isinstance(value, list) and len(value) == length else [None] * length


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _attempts(moment: Moment, call: str) -> Iterator[Mapping[str, Any]]:
    """The requests that were made for a call to a model behind an address."""
    cursor = moment.rows(
        """SELECT purpose, number, started, seconds, status, failure, http, paid, usd, answered_by,
                  fingerprint, usage, detail FROM attempt WHERE call = ? ORDER BY started, number""",
        [call],
    )
    names = [column[0] for column in cursor.description]
    yield from (dict(zip(names, row, strict=True)) for row in cursor)


def pretty(text: str | None) -> str | None:
    """A stored document over several lines; as it is where it is not JSON."""
    if text is None:
        return None
    document = loaded(text)
    return text if document is None else json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True)


def neighbours(moment: Moment, cell: StoredCell, item: str, replicate: int) -> tuple[Any, Any]:
    """(item, replicate) of the samples before and behind this one in its cell; None at an end."""
    before, after = (
        moment.row(
            f"""SELECT item, replicate FROM sample WHERE cell = ? AND (item, replicate) {sign} (?, ?)
                ORDER BY item {order}, replicate {order} LIMIT 1""",
            [cell.id, item, replicate],
        )
        for sign, order in (("<", "DESC"), (">", "ASC"))
    )
    return before, after
