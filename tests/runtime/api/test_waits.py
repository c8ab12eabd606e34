"""A server that asks to wait, or answers at any length: said, bounded, and no answer."""

import time

import pytest

from gridc.diagnostics.errors import BudgetError, UnavailableError
from gridc.runtime.engines.api import session, wire
from gridc.runtime.engines.api.attempts import Terms
from gridc.runtime.engines.api.wire import RequestError, failure_of_status
from tests.runtime.api.conftest import engine_at, faulty, make_calls, serving
from tools.servers.faults import answer_to
from tools.servers.http import Asked, Reply


def test_a_wait_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences: list[str] = []
    monkeypatch.setattr(session, "TELLING", 0.01)
    with faulty({"429": 0.5}, retry_after="0.05") as (_, url), engine_at(url) as asked:
        asked.engine.connect(asked.journal, asked.meter, None, Terms("in a test", say=sentences.append))
        assert len(asked.ask(make_calls(12))) == 12
    assert sentences
    assert all("as its endpoint asks (Retry-After: " in sentence for sentence in sentences)


@pytest.mark.parametrize("waits", ["0.1", "99999999", "inf", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_waits_without_an_answer_have_an_end(waits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is endless, and many short ones."""
    monkeypatch.setattr(session, "LONGEST_WAIT", 0.3)
    with faulty({"429": 1.0}, retry_after=waits) as (_, url), engine_at(url) as asked:
        with pytest.raises(UnavailableError) as caught:
            asked.ask(make_calls(3))
        assert not asked.journal.of(status="answered")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "GC646"
    assert "Retry-After" in diagnostic.message


def test_the_cap_on_time_ends_a_wait_first() -> None:
    with (
        faulty({"429": 1.0}, retry_after="99999999") as (_, url),
        engine_at(url, budget={"wall_s": 1}) as asked,
    ):
        asked.engine.batches(make_calls(1))
        with pytest.raises(BudgetError):
            asked.engine.effective()
        assert not asked.ask(make_calls(3))
        assert asked.meter.reached == "wall_s = 1"


def test_an_outage_that_says_how_long_it_takes() -> None:
    error = failure_of_status(503, {"retry-after": "7200"}, "")
    assert (error.kind, error.retry_after) == ("server_error", 7200.0)


def test_one_endless_answer_fails_for_good_and_the_others_stand() -> None:
    longest = 8 * wire.MOST_CHARACTERS

    async def reply(asked: Asked) -> Reply:
        answer = answer_to(asked.document)
        if "Question 2:" in str(asked.document):
            answer["choices"][0]["message"]["content"] = "A" * (longest + 1)
        if "Question 3:" in str(asked.document):
            answer["choices"][0]["message"]["content"] = "A" * longest
        return Reply.json(answer)

    calls = make_calls(5)
    with serving(reply) as url, engine_at(url, attempts=3, concurrency=1) as asked:
        answers = asked.ask(calls)
    failures = {
        name: answer.content["error"]["kind"] for name, answer in answers.items() if "error" in answer.content
    }
    assert failures == {calls[2].id: "too_long"}
    assert len(answers[calls[3].id].content["text"]) == longest


def test_where_no_limit_is_sent_an_answer_may_be_long() -> None:
    async def reply(asked: Asked) -> Reply:
        answer = answer_to(asked.document)
        answer["choices"][0]["message"]["content"] = "A" * 100_000
        return Reply.json(answer)

    with serving(reply) as url, engine_at(url, omits=("max_tokens",)) as asked:
        (answer,) = asked.ask(make_calls(1)).values()
    assert len(answer.content["text"]) == 100_000


def test_what_a_batch_took_is_no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its results are asked for long after the session began, and the provider asks to wait a little."""
    monkeypatch.setattr(session, "LONGEST_WAIT", 0.2)
    replies = iter([RequestError("rate_limit", "slowly", 429, 0.01)])

    async def ask() -> str:
        for error in replies:
            raise error
        return "the results"

    with engine_at("http://127.0.0.1:9") as asked:
        asking = asked.engine._session("call")
        time.sleep(0.3)
        assert asked.engine._running().run_until_complete(asking.repeat(ask)) == "the results"
