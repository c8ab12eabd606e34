"""Batches of OpenAI and Anthropic models: litellm writes the requests and reads the answers, and asks nobody
itself."""

import json
from collections import Counter
from importlib.util import find_spec
from typing import Any

import pytest

from gridc.diagnostics.errors import UnavailableError
from gridc.runtime.engines.api import batch_protocols
from tests.runtime.api.conftest import at_home, engine_at, make_calls, serving
from tools.servers.batches import BatchServer
from tools.servers.faults import FaultServer
from tools.servers.http import Asked, Reply

KEY = "sk-canary-through-litellm"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed"),
]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_protocols, "FIRST_LOOK", 0.02)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)


def test_the_requests_of_a_batch_are_those_of_single_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = make_calls(8)
    inside = FaultServer(delay=0)
    server = BatchServer(inside, ["half_failed"])
    with serving(server) as url:
        at_home(monkeypatch, "openai", url)
        with engine_at(None, source="openai/gpt-4o-2024-08-06", batch=True) as asked:
            answers = asked.ask(calls)
        assert not server.seen["POST chat"], "a batch asks nothing by itself"
        together = list(inside.bodies)
        inside.bodies.clear()
        with engine_at(None, source="openai/gpt-4o-2024-08-06") as single:
            alone = single.ask(calls)
        written = Counter(map(json.dumps, inside.bodies))
        assert Counter(set(map(json.dumps, together))) == written
    assert {name: each.content for name, each in answers.items()} == {
        name: each.content for name, each in alone.items()
    }
    for name, each in answers.items():
        assert each.sent["body"] == alone[name].sent["body"]
        assert each.sent["fingerprint"] == "fault-server"
        assert each.usage["prompt_tokens"] == alone[name].usage["prompt_tokens"]
    assert KEY not in str(list(asked.journal.attempts.values())) + str(list(answers.values()))


class Anthropic:
    """Message batches as Anthropic has them: results of four kinds, in another order."""

    def __init__(self, *kinds: str) -> None:
        self.kinds, self.made, self.keys = kinds, [], set[str]()  # type: ignore[var-annotated]
        self.looks = 0
        self.breaks = False

    async def __call__(self, asked: Asked) -> Reply:
        self.keys.add(asked.headers.get("x-api-key", ""))
        match asked.method, asked.path.strip("/").split("/"):
            case "POST", ["v1", "messages", "batches"]:
                self.made.append(asked.document["requests"])
                name = json.dumps(
                    {"id": f"msgbatch_{len(self.made) - 1}", "processing_status": "in_progress"}
                )
                return Reply(200, name.encode(), cut=5 if self.breaks else None)
            case "GET", ["v1", "messages", "batches", name]:
                self.looks += 1
                state = "ended" if self.looks % 2 == 0 else "in_progress"
                counts = {"succeeded": len(self.made[-1])}
                return Reply.json({"id": name, "processing_status": state, "request_counts": counts})
            case "GET", ["v1", "messages", "batches", name, "results"]:
                requests = self.made[int(name.removeprefix("msgbatch_"))]
                kinds = self.kinds if name == "msgbatch_0" else ()
                rows = [self._row(each, kinds[at] if at < len(kinds) else "succeeded")
                        for at, each in enumerate(requests)]  # fmt: skip
                return Reply(200, b"".join(json.dumps(row).encode() + b"\n" for row in rows[::-1]))
        return Reply.json({"type": "error", "error": {"type": "not_found_error", "message": asked.path}}, 404)

    def _row(self, request: Any, kind: str) -> dict[str, Any]:
        result: dict[str, Any] = {"type": kind}
        if kind == "succeeded":
            text = request["params"]["messages"][0]["content"][0]["text"]
            result["message"] = {
                "id": "msg", "type": "message", "role": "assistant", "model": request["params"]["model"],
                "content": [{"type": "text", "text": f"to {text}"}], "stop_reason": "end_turn",
                "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 3},
            }  # fmt: skip
        if kind == "errored":
            said = {"type": "overloaded_error", "message": "busy"}
            result["error"] = {"type": "error", "error": said}
        return {"custom_id": request["custom_id"], "result": result}


def test_message_batches_of_anthropic(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = make_calls(6)
    server = Anthropic("succeeded", "errored", "expired")
    with serving(server) as url:
        at_home(monkeypatch, "anthropic", url.removesuffix("/v1"))
        with engine_at(None, source="anthropic/claude-opus-4-6", batch=True, omits=("seed",)) as asked:
            answers = asked.ask(calls)
    assert {name: each.content["text"] for name, each in answers.items()} == {
        call.id: f"to {call.prompt.messages[0][1]}" for call in calls
    }
    assert [len(each) for each in server.made] == [6, 2]
    failed = {(each.failure, each.paid) for each in asked.journal.of(status="failed")}
    assert failed == {("server_error", "possibly"), ("expired", "no")}
    assert server.keys == {KEY}
    assert {each.usage["completion_tokens"] for each in answers.values()} == {3}
    assert KEY not in str(list(asked.journal.attempts.values())) + str(list(answers.values()))


def test_a_batch_that_anthropic_may_have_taken_is_not_asked_again_unasked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Anthropic()
    server.breaks = True
    with serving(server) as url:
        at_home(monkeypatch, "anthropic", url.removesuffix("/v1"))
        with engine_at(None, source="anthropic/claude-opus-4-6", batch=True, omits=("seed",)) as asked:
            for _ in range(2):
                with pytest.raises(UnavailableError, match="GC638"):
                    asked.ask(make_calls(3))
    assert len(server.made) == 1
