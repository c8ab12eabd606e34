"""What a hostile or broken server may answer: stored as what it is, or refused with a code."""

import json

import pytest

from gridc.diagnostics.errors import GridcError, UnavailableError
from gridc.schema.canonical import canonical
from tests.runtime.api.conftest import engine_at, make_calls, serving
from tools.servers.faults import answer_to
from tools.servers.http import Asked, Reply

HALF, HUGE = r'"\ud83d"', "1" + "0" * 400
ANSWERS = {
    "half an emoji": ('"The answer is', r'"\ud83d The answer is'),
    "half an emoji as a model": ('"model": "some-model"', f'"model": {HALF}'),
    "half an emoji as a fingerprint": ('"fault-server"', HALF),
    "a dictionary as a model": ('"model": "some-model"', '"model": {}'),
    "ten to the 400 tokens": ('"completion_tokens": 5', f'"completion_tokens": {HUGE}'),
    "ten to the 400 tokens in all": ('"total_tokens": ', f'"total_tokens": {HUGE}'),
    "tokens that are no number": ('"completion_tokens": 5', '"completion_tokens": NaN'),
    "fewer tokens than none": ('"completion_tokens": 5', '"completion_tokens": -5'),
    "deep tokens": ('"completion_tokens": 5', f'"completion_tokens": {"[" * 900}{"]" * 900}'),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_whatever_an_answer_holds_can_be_stored(answer: str) -> None:
    async def handler(asked: Asked) -> Reply:
        text = json.dumps(answer_to(asked.document))
        assert ANSWERS[answer][0] in text
        return Reply(200, text.replace(*ANSWERS[answer]).encode())

    (call,) = make_calls(1)
    with serving(handler) as url, engine_at(url, attempts=1) as asked:
        stored = asked.ask([call])[call.id]
    assert "The answer is" in stored.content["text"]
    canonical([stored.content, stored.sent, stored.usage])
    (attempt,) = asked.journal.attempts.values()
    canonical([attempt.answered_by, attempt.fingerprint, attempt.usage, attempt.usd])
    assert attempt.usd is not None
    assert attempt.usd >= 0.0
    if "tokens" in answer and "in all" not in answer:
        assert stored.sent["usage_problems"]


@pytest.mark.parametrize("message", [HALF, "[" * 900 + "]" * 900, '"\\u001b[31m"', "null"])
@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_whatever_a_failure_says_can_be_stored(message: str, status: int) -> None:
    async def handler(asked: Asked) -> Reply:
        return Reply(status, f'{{"error": {{"message": {message}}}}}'.encode())

    with serving(handler) as url, engine_at(url, attempts=1) as asked:
        with pytest.raises(GridcError) as caught:
            asked.ask(make_calls(1))
        str(caught.value).encode()
        assert all((each.detail or "").encode() is not None for each in asked.journal.attempts.values())


def test_json_that_is_too_deep_is_no_answer() -> None:
    async def handler(asked: Asked) -> Reply:
        return Reply(200, b"[" * 100_000 + b"]" * 100_000)

    with serving(handler) as url, engine_at(url, attempts=1) as asked, pytest.raises(UnavailableError):
        asked.ask(make_calls(1))
