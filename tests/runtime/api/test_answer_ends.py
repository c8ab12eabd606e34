"""How an answer ended, as servers say it and as they lie about it: only what is whole is kept."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.inputs.finish_reasons import PUBLISHED, end_of_reason, logged_end, reason_in
from gridc.compiler.lowering.calls import Prompt
from gridc.runtime.engines.api.wire import RequestError, require_answer
from gridc.runtime.engines.protocol import Answer, Call
from gridc.schema.canonical import digest
from tests.runtime.api import conftest
from tests.runtime.api.conftest import at_home, engine_at, serving
from tools.servers.http import Asked, Reply

CASES = Path(__file__).parents[2] / "cases" / "endings" / "endings.jsonl"
MAX_TOKENS = 8
WHOLE, CUT = "whole", "cut"
REFUSED, FAILED, UNKNOWN, UNREADABLE = "content_filter", "server_error", "unknown_end", "unreadable"


@dataclass(frozen=True)
class Mode:
    """What a server answers, and what comes of it: whole, cut, or the kind of the failure."""

    outcome: str
    reply: Reply
    text: str = "(A)"


def chat(outcome: str, reason: Any = "stop", content: Any = "(A)", written: int = 3, **more: Any) -> Mode:
    """A mode of /chat/completions; `choice`, `message` and whatever else is put over a sound answer."""
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": reason, **more.pop("choice", {})}
    usage = {"prompt_tokens": 4, "completion_tokens": written, "total_tokens": 4 + written}
    document = {"id": "x", "object": "chat.completion", "created": 0, "model": "some-model"}
    document |= {"choices": [choice], "usage": usage, **more}
    return Mode(outcome, Reply.json({name: part for name, part in document.items() if part is not ...}))


REASONS: Mapping[str, str] = {
    WHOLE: "stop eos eos_token stop_sequence end_turn COMPLETE STOP endoftext",
    CUT: "length max_tokens MAX_TOKENS model_length token_limit ERROR_LIMIT maximum_tokens "
    "model_context_window_exceeded",
    REFUSED: "content_filter content_filtered guardrail_intervened refusal sensitive SAFETY RECITATION "
    "BLOCKLIST PROHIBITED_CONTENT SPII ERROR_TOXIC",
    FAILED: "error abort insufficient_system_resource ERROR TIMEOUT cancelled network_error load "
    "MALFORMED_FUNCTION_CALL malformed_model_output",
    UNKNOWN: "something_new OTHER FINISH_REASON_UNSPECIFIED not_finished null",
}
"""What providers publish, and what none of them does."""

CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
SECOND = {"index": 1, "message": {"role": "assistant", "content": "(B)"}, "finish_reason": "stop"}
SOUND = chat(WHOLE).reply.body

MODES: Mapping[str, Mode] = {
    **{
        f"the reason {reason}": chat(outcome, reason)
        for outcome, reasons in REASONS.items()
        for reason in reasons.split()
    },
    "a reason in a table": chat(WHOLE, {"type": "stop", "matched": 2}),
    "an abort in a table": chat(FAILED, {"type": "abort", "message": "out of memory"}),
    "a number as a reason": chat(UNKNOWN, 1),
    "half an emoji as a reason": chat(UNKNOWN, "\ud83d"),
    "a page as a reason": chat(UNREADABLE, "stop " * 500),
    "no reason": chat(UNKNOWN, None),
    "no reason, all tokens used": chat(UNKNOWN, None, written=MAX_TOKENS),
    "an empty reason": chat(UNKNOWN, ""),
    "no field for a reason": chat(UNKNOWN, None, choice={"finish_reason": None, "stop_reason": 151645}),
    "the token that ended it beside": chat(WHOLE, choice={"stop_reason": 151645}),
    "another reason of the model's own": chat(CUT, choice={"native_finish_reason": "MAX_TOKENS"}),
    "a failure of the model's own": chat(FAILED, choice={"native_finish_reason": "abort"}),
    "a word of the model's own": chat(WHOLE, choice={"native_finish_reason": "FINISHED_WELL"}),
    "an error beside the choices": chat(FAILED, error={"message": "upstream timed out"}),
    "an error that is a text": chat(FAILED, error="upstream timed out"),
    "an error without a message": chat(FAILED, error={"code": 502}),
    "an error in the choice": chat(FAILED, choice={"error": {"code": 502, "message": "Bad Gateway"}}),
    "an error of nothing": chat(WHOLE, error=None),
    "an empty table of errors": chat(WHOLE, error={"message": None, "code": None}),
    "an error instead of choices": chat(FAILED, choices=..., error={"message": "overloaded"}),
    "no choices": chat(UNREADABLE, choices=[]),
    "no field for choices": chat(UNREADABLE, choices=...),
    "a text as choices": chat(UNREADABLE, choices="(A)"),
    "a choice without a message": chat(UNREADABLE, choices=[{"finish_reason": "stop"}]),
    "two choices": chat(WHOLE, choices=[json.loads(SOUND)["choices"][0], SECOND]),
    "an empty answer": Mode(WHOLE, chat(WHOLE, content="").reply, ""),
    "nothing as an answer": chat(UNREADABLE, content=None),
    "nothing, for it was cut": Mode(CUT, chat(CUT, "length", content=None).reply, ""),
    "a number as an answer": chat(UNREADABLE, content=7),
    "parts as an answer": chat(
        WHOLE, content=[{"type": "text", "text": "(A"}, {"type": "text", "text": ")"}]
    ),
    "a call that nobody asked for": chat(
        UNREADABLE, "tool_calls", content=None, message={"tool_calls": [CALL]}
    ),
    "a call beside an answer": chat(UNREADABLE, message={"tool_calls": [CALL]}),
    "an old call beside an answer": chat(UNREADABLE, message={"function_call": CALL["function"]}),
    "the reason of a call without one": chat(UNREADABLE, "tool_calls"),
    "an empty list of calls": chat(WHOLE, message={"tool_calls": []}),
    "more tokens than were asked": chat(WHOLE, written=900),
    "no counts": chat(WHOLE, usage=...),
    "another protocol's reason": chat(FAILED, None, choices=..., stop_reason="pause_turn"),
    "a prompt that was blocked": chat(REFUSED, choices=..., promptFeedback={"blockReason": "SAFETY"}),
    "half a body": Mode("cut off on the way", Reply(200, SOUND, cut=40)),
    "a body without its end": Mode(UNREADABLE, Reply(200, SOUND[:-20])),
    "a page of HTML": Mode(UNREADABLE, Reply(200, b"<html>(A)</html>", {"content-type": "text/html"})),
    "JSON as plain text": Mode(WHOLE, Reply(200, SOUND, {"content-type": "text/plain"})),
    "a stream of events": Mode(
        UNREADABLE, Reply(200, b"data: " + SOUND, {"content-type": "text/event-stream"})
    ),
    "a list": Mode(UNREADABLE, Reply(200, b"[" + SOUND + b"]")),
    "no body": Mode(UNREADABLE, Reply(200, b"")),
    "a compressed body": Mode(UNREADABLE, Reply(200, SOUND, {"content-encoding": "gzip"})),
    "a redirect": Mode("redirect", Reply(302, b"", {"location": "http://127.0.0.2:9/"})),
    "a failed gateway": Mode(FAILED, Reply(502, b"<html>Bad Gateway</html>")),
    "a filter's refusal": Mode(
        REFUSED, Reply.json({"error": {"code": "content_filter", "message": "x"}}, 400)
    ),
}


def calls_of(names: Mapping[str, Any], kind: str = "mode") -> dict[str, Call]:
    """A call for each mode, whose prompt names it."""
    asked = {"max_tokens": MAX_TOKENS, "temperature": 0.0}
    return {
        name: Call(digest([kind, name]), "generate", Prompt((("user", f"{kind}: {name}"),), True), asked)
        for name in names
    }


@dataclass
class Liar:
    """Answers each prompt as its mode says, and any other soundly."""

    modes: Mapping[str, Reply]
    seen: list[str] = field(default_factory=list)

    async def __call__(self, asked: Asked) -> Reply:
        _, _, name = asked.document["messages"][-1]["content"].partition("mode: ")
        self.seen.append(name)
        return self.modes.get(name, Reply(200, SOUND))


def outcome(answer: Answer) -> str:
    """What became of a call, in the words of the table."""
    if "error" in answer.content:
        kind: str = answer.content["error"]["kind"]
        return {"cut": "cut off on the way"}.get(kind, kind)
    return {"stop": WHOLE, "length": CUT}[answer.content["finish"]]


def ask_all(modes: Mapping[str, Reply]) -> dict[str, Answer]:
    """The answer to each mode, beside some calls that are answered soundly."""
    liar = Liar(modes)
    with serving(liar) as url, engine_at(url, attempts=2) as asked:
        given = asked_modes(asked, modes)
    assert set(liar.seen) >= set(modes)
    return given


def asked_modes(asked: conftest.Asked, modes: Mapping[str, Any]) -> dict[str, Answer]:
    """The answer to each mode; a study has other calls too, which show that the endpoint is not down."""
    calls, sound = calls_of(modes), calls_of(dict.fromkeys("abc"), "sound")
    given = asked.ask([*calls.values(), *sound.values()], {call.id for call in calls.values()})
    return {name: given[call.id] for name, call in calls.items()}


def require_outcomes(given: Mapping[str, Answer], modes: Mapping[str, Mode]) -> None:
    came = {name: outcome(answer) for name, answer in given.items()}
    assert came == {name: mode.outcome for name, mode in modes.items()}


def test_every_lie_of_a_server_has_its_outcome() -> None:
    assert len(MODES) >= 56
    given = ask_all({name: mode.reply for name, mode in MODES.items()})
    require_outcomes(given, MODES)
    for name, mode in MODES.items():
        if mode.outcome in (WHOLE, CUT):
            assert given[name].content["text"] == mode.text, name
    assert "upstream timed out" in given["an error beside the choices"].content["error"]["message"]
    assert "`something_new`" in given["the reason something_new"].content["error"]["message"]


def test_the_ten_endings_of_the_issue() -> None:
    """Each line of the file, as a response and as the table has it."""
    states = {WHOLE: "complete", CUT: "cut", REFUSED: "refused", FAILED: "failed"}
    rows = [json.loads(line) for line in CASES.read_text().splitlines()]
    modes = {
        str(place): chat("", row["finish_reason"], row["content"], error=row["error"]).reply
        for place, row in enumerate(rows)
    }
    given = ask_all(modes)
    for place, row in enumerate(rows):
        came = outcome(given[str(place)])
        assert states.get(came, "unknown, never right") == row["state"], row
        if row["error"] is None:
            assert end_of_reason(row["finish_reason"]) == row["state"].partition(",")[0]


def test_providers_agree_on_what_a_reason_says_and_each_has_a_source() -> None:
    ends: dict[str, set[str]] = {}
    for published in PUBLISHED:
        assert published.source.startswith("https://")
        for reason, end in published.by_end().items():
            ends.setdefault(reason, set()).add(end)
    assert len(PUBLISHED) >= 10
    assert not {reason: several for reason, several in ends.items() if len(several) > 1}


NATIVE: Mapping[str, tuple[dict[str, Any], str | None]] = {
    "Anthropic, whole": ({"stop_reason": "end_turn"}, "complete"),
    "Anthropic, cut": ({"stop_reason": "max_tokens"}, "cut"),
    "Anthropic, declined": ({"stop_reason": "refusal"}, "refused"),
    "Gemini, whole": ({"candidates": [{"finishReason": "STOP"}]}, "complete"),
    "Gemini, cut": ({"candidates": [{"finishReason": "MAX_TOKENS"}]}, "cut"),
    "Gemini, copied": ({"candidates": [{"finishReason": "RECITATION"}]}, "refused"),
    "Gemini, a broken call": ({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}, "failed"),
    "Gemini, anything else": ({"candidates": [{"finishReason": "OTHER"}]}, "unknown"),
    "Gemini, not asked": ({"promptFeedback": {"blockReason": "OTHER"}}, "refused"),
    "nothing": ({}, None),
}


@pytest.mark.parametrize("case", NATIVE)
def test_each_protocol_says_it_in_its_own_place(case: str) -> None:
    document, expected = NATIVE[case]
    assert reason_in(document)[0] == expected
    if expected in ("refused", "failed", "unknown"):
        with pytest.raises(RequestError):
            require_answer(document)


@pytest.mark.parametrize("counted", [True, False])
def test_where_a_server_never_gives_a_reason_its_length_says_how_an_answer_ended(counted: bool) -> None:
    """The first calls show that it gives none; a reason that comes later counts all the same."""
    usage: dict[str, Any] = {} if counted else {"usage": ...}
    modes = {
        "short": chat(WHOLE, None, **usage),
        "all its tokens": chat(CUT, None, "(A), of course.", written=MAX_TOKENS, **usage),
        "a reason after all": chat(FAILED, "abort", **usage),
    }
    never = Liar({name: mode.reply for name, mode in modes.items()})

    async def handler(asked: Asked) -> Reply:
        reply = await never(asked)
        document = json.loads(reply.body)
        if document["choices"][0]["finish_reason"] == "stop":
            del document["choices"][0]["finish_reason"]
            document["usage"]["completion_tokens"] = 1
        return Reply.json(document)

    with serving(handler) as url, engine_at(url, attempts=2) as asked:
        asked.engine.batches(list(calls_of(modes).values()))
        facts = asked.engine.effective()
        given = asked_modes(asked, modes)
    assert facts["honours"]["/chat/completions"]["finish_reason"] == "never given"
    require_outcomes(given, modes)


@pytest.mark.parametrize(
    ("reason", "state"),
    [
        (None, "read"), ("", "read"), (" \n", "read"), ("\u202e", "read"), ("\u202estop", "read"),
        ("unknown", "read"), ("STOP", "read"), ("max_tokens", "cut"), ("gave up", "failed"),
    ],
)  # fmt: skip
def test_characters_that_nobody_sees_are_no_reason(reason: str | None, state: str) -> None:
    assert logged_end(reason) == state


@pytest.mark.slow
@pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed")
def test_litellm_hides_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes `stop` of every reason that it does not know, and of none."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-through-litellm-7777")
    beside = ("no reason", "a failure of the model's own", "an error beside the choices", "an empty answer")
    chosen = {name: mode for name, mode in MODES.items() if name.startswith("the reason ") or name in beside}
    liar = Liar({name: mode.reply for name, mode in chosen.items()})
    with serving(liar) as url:
        at_home(monkeypatch, "deepseek", url)
        with engine_at(None, source="deepseek/deepseek-chat", attempts=2) as asked:
            given = asked_modes(asked, chosen)
    require_outcomes(given, chosen)
