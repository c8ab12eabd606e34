"""Prompts that wait at once go to vLLM in one request, and each is answered as if it went alone."""

import asyncio
import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from gridc.compiler.lowering.calls import Prompt
from gridc.runtime.engines.api.session import Pace, Pursuit
from gridc.runtime.engines.protocol import Answer, Call, PendingBatch
from gridc.runtime.engines.vllm.grouping import GroupingRoute
from gridc.schema.canonical import digest
from tests.runtime.api.conftest import Asked, serving
from tests.runtime.api.test_scoring import QUESTIONS, ranking_calls
from tests.runtime.api.test_tokens import engine_of, generating_calls
from tools.servers.http import Asked as HttpRequest
from tools.servers.http import Handler, Reply
from tools.servers.tokens import TokenServer


@contextmanager
def grouping(url: str) -> Iterator[Asked]:
    with engine_of(url, "vllm", concurrency=64) as asked:
        asked.engine.direct = GroupingRoute
        asked.engine.pace = Pace(64, 64)
        yield asked


@pytest.fixture
def server() -> TokenServer:
    return TokenServer("vllm")


def sizes(server: TokenServer) -> list[int]:
    """How many prompts each request had."""
    return [len(body["prompt"]) if isinstance(body["prompt"][0], list) else 1 for body in server.bodies]


def various_calls() -> list[Call]:
    """Four calls with different answers."""
    texts = (*QUESTIONS, "Which letter? (A) or (B)\n\n")
    asked = {"max_tokens": 8, "temperature": 0.0}
    return [Call(digest(text), "generate", Prompt((("user", text),), False), asked) for text in texts]


def require_same(found: dict[str, Answer], expected: dict[str, Answer]) -> None:
    """All that is stored of the answers is the same; log-likelihoods but for rounding."""
    assert found.keys() == expected.keys()
    for call, answer in found.items():
        other = expected[call]
        numbers = [each.content.get("loglikelihoods", []) for each in (answer, other)]
        assert numbers[0] == pytest.approx(numbers[1], abs=1e-5)
        assert {**answer.content, "loglikelihoods": []} == {**other.content, "loglikelihoods": []}
        assert (answer.sent, answer.usage) == (other.sent, other.usage)


def test_answers_are_those_of_prompts_that_go_alone(server: TokenServer) -> None:
    calls = [*generating_calls(20), *ranking_calls("shared_prefix"), *ranking_calls("context_length")]
    with serving(server) as url:
        with engine_of(url, "vllm") as asked:
            expected = asked.ask(calls)
        assert sizes(server) == [1] * 38
        server.bodies.clear()
        with grouping(url) as asked:
            found = asked.ask(calls)
            attempts = asked.journal.of(status="answered")
    assert sorted(sizes(server)) == [2, 4, 8, 8, 8, 8]
    require_same(found, expected)
    assert len(attempts) == 38, "every prompt is an attempt of its own, whatever goes in one request"


@pytest.mark.parametrize(
    ("asked_for", "expected"),
    [
        ({"max_tokens": 1}, [2, 8]),
        ({"max_tokens": 65}, [1, 3, 3, 3]),
        ({"max_tokens": 129}, [1] * 10),
        ({"temperature": 0.7, "top_p": 1.0, "seed": 1}, [1] * 10),
    ],
)
def test_only_prompts_of_short_answers_that_are_asked_alike_go_together(
    server: TokenServer, asked_for: dict[str, Any], expected: list[int]
) -> None:
    with serving(server) as url, grouping(url) as asked:
        assert len(asked.ask(generating_calls(10, **asked_for))) == 10
    assert sorted(sizes(server)) == expected


def test_long_prompts_go_alone(server: TokenServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridc.runtime.engines.vllm.grouping.MOST_READ", 200)
    with serving(server) as url, grouping(url) as asked:
        asked.ask(generating_calls(10))
    read = [sum(map(len, body["prompt"])) for body in server.bodies if isinstance(body["prompt"][0], list)]
    assert max(read) <= 200


def reordered(choices: list[dict[str, Any]]) -> None:
    choices.reverse()


def missing(choices: list[dict[str, Any]]) -> None:
    del choices[1]


def doubled(choices: list[dict[str, Any]]) -> None:
    choices[1]["index"] = 0


def once_more(choices: list[dict[str, Any]]) -> None:
    choices.append(choices[0])


def exchanged(choices: list[dict[str, Any]]) -> None:
    choices[0]["index"], choices[1]["index"] = 1, 0


def unnumbered(choices: list[dict[str, Any]]) -> None:
    del choices[0]["index"]


def without_tokens(choices: list[dict[str, Any]]) -> None:
    del choices[0]["token_ids"]


def changed(server: TokenServer, change: Callable[[list[dict[str, Any]]], None]) -> Handler:
    async def handler(asked: HttpRequest) -> Reply:
        reply = await server(asked)
        if asked.document.get("return_token_ids"):
            body = json.loads(reply.body)
            change(body["choices"])
            return Reply.json(body)
        return reply

    return handler


def texts(answers: dict[str, Answer]) -> dict[str, Any]:
    return {call: answer.content for call, answer in answers.items()}


def ask_both(
    server: TokenServer, handler: Handler, calls: Sequence[Call]
) -> tuple[dict[str, Any], dict[str, Any], list[Any]]:
    """What calls answer that go alone and that go together, and the failures of the latter."""
    with serving(server) as url, engine_of(url, "vllm") as asked:
        expected = texts(asked.ask(calls))
    server.bodies.clear()
    with serving(handler) as url, grouping(url) as asked:
        return expected, texts(asked.ask(calls)), [a.failure for a in asked.journal.of(status="failed")]


def test_choices_are_read_by_their_index(server: TokenServer) -> None:
    expected, found, failures = ask_both(server, changed(server, reordered), various_calls())
    assert (found, failures) == (expected, [])
    assert len({content["text"] for content in found.values()}) == 4


@pytest.mark.parametrize("change", [missing, doubled, once_more, exchanged, unnumbered, without_tokens])
def test_a_response_without_one_choice_for_each_is_unreadable_and_each_is_asked_alone(
    server: TokenServer, change: Callable[[list[dict[str, Any]]], None]
) -> None:
    expected, found, failures = ask_both(server, changed(server, change), various_calls())
    assert found == expected
    assert failures == ["unreadable"] * 4
    assert sizes(server) == [4, 1, 1, 1, 1]


def test_a_prompt_that_is_refused_fails_alone(server: TokenServer) -> None:
    calls = generating_calls(4)

    async def handler(asked: HttpRequest) -> Reply:
        if json.dumps(refused)[1:-1].encode() in asked.body:
            about = {"message": "Token id 99 is out of vocabulary", "code": 400}
            return Reply.json({"error": about}, 400)
        return await server(asked)

    with serving(handler) as url, grouping(url) as asked:
        assert asked.engine._prompts is not None
        refused = list(asked.engine._prompts.form(calls[2].prompt, 0).ids)
        found = texts(asked.ask(calls))
        asked.ask(generating_calls(4, chat=False))
    failed = {call: content["error"]["kind"] for call, content in found.items() if "error" in content}
    assert failed == {calls[2].id: "bad_request"}
    assert sizes(server) == [1, 1, 1, 4], "what is refused is no reason to ask everything alone"


def test_a_request_is_given_up_when_nobody_waits_for_it(server: TokenServer) -> None:
    calls = generating_calls(12)
    with serving(server) as url, grouping(url) as asked:
        tasks = [PendingBatch(batch, frozenset(batch.calls)) for batch in asked.engine.batches(calls)]
        running = asked.engine.answers(tasks, lambda task: True)
        assert isinstance(running, Generator)
        assert len(next(running).answers) < 12
        running.close()
        loop = asked.engine._running()
        loop.run_until_complete(asyncio.sleep(0))
        assert not asyncio.all_tasks(loop)


def test_prompts_become_tokens_when_they_are_sent(
    server: TokenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the first request would wait for the tokens of the last."""
    calls, divided = generating_calls(30), list[int]()
    with serving(server) as url, engine_of(url, "vllm", concurrency=4) as asked:
        engine = asked.engine
        tasks = [PendingBatch(batch, frozenset(batch.calls)) for batch in engine.batches(calls)]
        in_tokens = engine._of_tokens

        def noted(*about: Any) -> Iterator[Pursuit]:
            divided.append(len(server.bodies))
            return in_tokens(*about)

        monkeypatch.setattr(engine, "_of_tokens", noted)
        found = [answer.call for done in engine.answers(tasks, lambda task: True) for answer in done.answers]
    assert sorted(found) == sorted(call.id for call in calls)
    assert divided[:5] == [0] * 5
    assert all(sent >= place - 9 for place, sent in enumerate(divided))
