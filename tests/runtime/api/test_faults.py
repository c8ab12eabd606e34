"""What goes wrong on a network: each call is answered once or has failed for good, and all is written
down."""

import gc
import json
import time
from collections import Counter
from typing import Any

import pytest

from gridc.diagnostics.errors import GridcError, HazardError, UnavailableError
from gridc.runtime.engines.api import client, routes
from tests.runtime.api.conftest import engine_at, faulty, make_calls, serving
from tools.servers.faults import FAULTS, answer_to
from tools.servers.http import Asked, Reply

SOUND = ("empty", "other_model", "wrong_usage")
"""What is an answer all the same."""


def expected(call: Any) -> str:
    body = {
        "messages": [{"role": role, "content": text} for role, text in call.prompt.messages],
        "seed": None,
    }
    return str(answer_to(body)["choices"][0]["message"]["content"])


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_passes_costs_no_answer(fault: str) -> None:
    calls = make_calls(30)
    with (
        faulty({fault: 0.5}, seed=3, slow=4.0, huge=9 * 2**20) as (server, url),
        engine_at(url, attempts=30, timeout_s=0.5 if fault == "slow" else 20, concurrency=8) as asked,
    ):
        answers = asked.ask(calls)
    assert answers.keys() == {call.id for call in calls}
    texts = {call.id: expected(call) for call in calls}
    for name, answer in answers.items():
        assert answer.content["text"] in ((texts[name], "") if fault == "empty" else (texts[name],))
    assert server.met[fault] > 0, "the fault was met"
    journal = asked.journal
    assert len(journal.attempts) == sum(server.seen.values())
    assert len(journal.of(status="answered")) == 30
    assert not journal.of(status="sent")
    if fault not in SOUND:
        failed = Counter(attempt.failure for attempt in journal.of(status="failed"))
        kind = {"429": "rate_limit", "500": "server_error", "slow": "timeout", "cut": "cut", "redirect":
                "redirect", "huge": "too_large"}.get(fault, "unreadable")  # fmt: skip
        assert failed == {kind: server.met[fault]}
    paid = {attempt.paid for attempt in journal.of(status="failed")}
    assert paid <= ({"no"} if fault in ("429", "redirect") else {"possibly"})


def test_more_are_open_at_once_after_every_sound_round() -> None:
    """10, 20, 40, then all that are allowed: nothing is answered before so many are open."""
    with faulty({}, rounds=[10, 20, 40, 64]) as (server, url), engine_at(url, concurrency=64) as asked:
        answers = asked.ask(make_calls(160))
        assert asked.engine.pace.limit == 64
    assert len(answers) == 160
    assert (server.most, server.rounds) == (64, [])


def test_another_models_name_and_a_wrong_count_are_kept_with_the_answer() -> None:
    (call,) = make_calls(1)
    with faulty({"other_model": 1.0}) as (_, url), engine_at(url) as asked:
        answer = asked.ask([call])[call.id]
    assert (answer.sent["body"]["model"], answer.sent["model"]) == ("some-model", "somebody-else")
    with faulty({"wrong_usage": 1.0}) as (_, url), engine_at(url) as asked:
        answer = asked.ask([call])[call.id]
    assert answer.sent["usage_problems"]
    (attempt,) = asked.journal.attempts.values()
    most = 1_000 * 61 / 1e6 * 1.25 + 0.016
    assert attempt.usd is not None
    assert 0 < attempt.usd <= most + 1, "what cannot be counted is counted at its most"


def test_a_call_that_nothing_answers_fails_for_good_and_the_others_are_answered() -> None:
    calls = make_calls(12)

    async def handler(asked: Asked) -> Reply:
        body = asked.document
        if "Question 3:" in body["messages"][0]["content"]:
            return Reply.json({"error": {"message": "broken"}}, 500)
        return Reply.json(answer_to(body))

    with serving(handler) as url, engine_at(url, attempts=4, concurrency=2) as asked:
        answers = asked.ask(calls)
    failed = [answer for answer in answers.values() if "error" in answer.content]
    assert [each.call for each in failed] == [calls[3].id]
    assert failed[0].content == {"error": {"kind": "server_error", "http": 500, "message": "broken"}}
    assert len(asked.journal.of(call=calls[3].id)) == 4
    assert len(answers) == 12


@pytest.mark.parametrize("number", [1, 4, 9])
def test_ctrl_c_inside_a_request_leaves_nothing_behind(
    number: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Python raises it wherever it is, also within a task: while a server is probed, and while it answers."""
    sent = 0

    async def interrupted(*args: Any) -> Any:
        nonlocal sent
        sent += 1
        if sent == number:
            raise KeyboardInterrupt
        return await client.post(*args)

    monkeypatch.setattr(routes, "post", interrupted)
    with faulty({}) as (_, url), pytest.raises(KeyboardInterrupt), engine_at(url, concurrency=2) as asked:
        asked.engine.batches(make_calls(1))
        asked.engine.effective()
        asked.ask(make_calls(5))
    gc.collect()
    assert sent >= number
    assert not caplog.records


def test_an_endpoint_that_is_down_costs_no_call() -> None:
    async def handler(asked: Asked) -> Reply:
        return Reply.json({"error": {"message": "maintenance"}}, 503)

    with serving(handler) as url, engine_at(url, attempts=3) as asked:
        with pytest.raises(UnavailableError, match="GC635") as caught:
            asked.ask(make_calls(5))
        assert "maintenance" in str(caught.value)


@pytest.mark.parametrize("status", [500, 400])
def test_calls_that_nothing_answers_fail_for_good_when_nothing_else_is_left(status: int) -> None:
    """As after a resume: all others have their answers. One of those is asked again, as a probe."""
    calls = make_calls(12)

    async def handler(asked: Asked) -> Reply:
        body = asked.document
        if any(f"Question {which}:" in body["messages"][0]["content"] for which in (0, 3, 5, 7, 9)):
            return Reply.json({"error": {"message": "broken"}}, status)
        return Reply.json(answer_to(body))

    for left in ([3], [3, 5, 7, 9]):
        with serving(handler) as url, engine_at(url, attempts=3, concurrency=2) as asked:
            answers = asked.ask(calls, frozenset(calls[which].id for which in left))
        assert answers.keys() == {calls[which].id for which in left}
        assert {each.content["error"]["http"] for each in answers.values()} == {status}
        probes = asked.journal.of(purpose="probe")
        assert [each.status for each in probes][:2] == ["failed", "answered"], (
            "the first witness fails as well"
        )
        assert {each.call for each in probes} == {None}
        assert not asked.journal.of(status="sent")


def test_an_endpoint_that_is_down_for_what_is_left_costs_no_call() -> None:
    calls = make_calls(12)

    async def handler(asked: Asked) -> Reply:
        return Reply.json({"error": {"message": "maintenance"}}, 503)

    with serving(handler) as url, engine_at(url, attempts=3) as asked:
        with pytest.raises(UnavailableError, match="GC635") as caught:
            asked.ask(calls, frozenset([calls[3].id]))
        assert len(asked.journal.of(purpose="probe")) == 3
    assert "resumes" in str(caught.value.diagnostics[0].help)


@pytest.mark.parametrize(
    ("status", "document", "code"),
    [
        (401, {"error": {"message": "bad key sk-canary-9999 given"}}, "GC632"),
        (402, {"error": {"message": "no money"}}, "GC632"),
        (404, {"error": {"message": "no such model"}}, "GC634"),
        (400, {"error": {"message": "what is top_p?"}}, "GC635"),
    ],
)
def test_what_no_attempt_can_mend_stops_at_once(
    status: int, document: Any, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    async def handler(asked: Asked) -> Reply:
        seen.append(asked.headers.get("authorization"))
        return Reply.json(document, status)

    monkeypatch.setenv("CANARY_KEY", "sk-canary-9999")
    with serving(handler) as url, engine_at(url, concurrency=4, key_env="CANARY_KEY") as asked:
        with pytest.raises(UnavailableError, match=code) as caught:
            asked.ask(make_calls(50))
        help_line = caught.value.diagnostics[0].help or ""
        assert ("omits" in help_line) is (status == 400), "a refused request is not one to wait for"
        assert len(seen) <= 8
        assert set(seen) == {"Bearer sk-canary-9999"}
        told = str(caught.value) + json.dumps([str(each) for each in asked.journal.attempts.values()])
        assert "canary-9999" not in told


def test_a_path_that_is_not_there_is_answered_with_the_address_that_names_a_version() -> None:
    async def handler(asked: Asked) -> Reply:
        return Reply.json({"detail": "Not Found"}, 404)

    with serving(handler) as url:
        bare = url.removesuffix("/v1")
        with engine_at(bare) as asked, pytest.raises(UnavailableError, match="GC634") as caught:
            asked.ask(make_calls(2))
        assert f"asked below {bare}" in str(caught.value)
        assert f'write `base_url = "{bare}/v1"`' in str(caught.value.diagnostics[0].help)
        with engine_at(f"{bare}/v1") as asked, pytest.raises(UnavailableError, match="GC634") as caught:
            asked.ask(make_calls(2))
        assert "GET /models" in str(caught.value.diagnostics[0].help)


def test_a_missing_key_is_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with engine_at("http://127.0.0.1:9/v1", key_env="NO_SUCH_KEY") as asked:
        with pytest.raises(UnavailableError, match=r"GC631.*NO_SUCH_KEY"):
            asked.ask(make_calls(1))
        assert not asked.journal.attempts


def test_a_host_that_is_not_there() -> None:
    with engine_at("http://127.0.0.1:9/v1") as asked, pytest.raises(UnavailableError, match="GC633"):
        asked.engine.batches(make_calls(1))
        asked.engine.effective()


def test_a_certificate_that_nobody_trusts(tmp_path: Any) -> None:
    import ssl
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    from tests.runtime.api.certificate import self_signed

    certificate = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with (
        engine_at(f"https://127.0.0.1:{server.server_port}/v1") as asked,
        pytest.raises(UnavailableError, match=r"GC633.*certificate"),
    ):
        asked.engine.batches(make_calls(1))
        asked.engine.effective()
    server.shutdown()
    server.server_close()


def test_a_filter_and_a_prompt_that_is_too_long_are_final_for_their_call_alone() -> None:
    calls = make_calls(6)

    async def handler(asked: Asked) -> Reply:
        body = asked.document
        text = body["messages"][0]["content"]
        if "Question 1:" in text:
            return Reply.json({"error": {"message": "x", "code": "content_filter"}}, 400)
        if "Question 2:" in text:
            return Reply.json({"error": {"message": "x", "code": "context_length_exceeded"}}, 400)
        return Reply.json(answer_to(body))

    with serving(handler) as url, engine_at(url) as asked:
        answers = asked.ask(calls)
    kinds = {
        name: answer.content["error"]["kind"] for name, answer in answers.items() if "error" in answer.content
    }
    assert kinds == {calls[1].id: "content_filter", calls[2].id: "context_length"}
    assert len(asked.journal.attempts) == 6


@pytest.mark.parametrize(
    ("budget", "cap"),
    [({"calls": 17}, "calls = 17"), ({"tokens": 900}, "tokens = 900"), ({"usd": 0.5}, "usd = 0.5")],
)
def test_a_budget_stops_before_it_is_passed(budget: dict[str, float], cap: str) -> None:
    with faulty({"500": 0.2, "429": 0.1}) as (server, url), engine_at(url, budget, attempts=20) as asked:
        answers = asked.ask(make_calls(200))
    assert asked.meter.reached == cap
    assert 0 < len(answers) < 200
    sent = list(asked.journal.attempts.values())
    assert not asked.journal.of(status="sent"), "what was open is awaited"
    assert len(sent) <= budget.get("calls", 10**9)
    tokens = sum(sum(each.usage.values()) for each in sent)
    assert tokens <= budget.get("tokens", 10**9)
    usd = sum(each.usd or 0.0 for each in sent if each.paid != "no")
    assert usd <= budget.get("usd", 10**9)
    assert sum(server.answered.values()) == len(answers), "every answer that was paid is kept"


def test_time_is_a_budget_too() -> None:
    with faulty({}, delay=0.1) as (_, url), engine_at(url, {"wall_s": 0.5}, concurrency=2) as asked:
        answers = asked.ask(make_calls(100))
    assert asked.meter.reached == "wall_s = 0.5"
    assert 0 < len(answers) < 100


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_pause_that_a_server_asks_for_outlasts_no_cap_on_time(share: float) -> None:
    with faulty({"429": share}, retry_after="30") as (_, url), engine_at(url, {"wall_s": 0.5}) as asked:
        begun = time.monotonic()
        asked.ask(make_calls(30))
    assert asked.meter.reached == "wall_s = 0.5"
    assert time.monotonic() < begun + 10


def test_a_redirect_takes_no_key_to_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Any] = []

    async def elsewhere(asked: Asked) -> Reply:
        taken.append(asked.headers)
        return Reply.json(answer_to(asked.document))

    monkeypatch.setenv("CANARY_KEY", "sk-canary-9999")
    with serving(elsewhere) as other:

        async def handler(asked: Asked) -> Reply:
            return Reply(307, b"", {"location": f"{other}/chat/completions"})

        with (
            serving(handler) as url,
            engine_at(url, attempts=2, key_env="CANARY_KEY") as asked,
            pytest.raises(GridcError, match=r"not followed.*HTTP 307"),
        ):
            asked.ask(make_calls(3))
    assert not taken


def test_a_server_that_ignores_the_temperature_is_found_and_refused_to_a_study_that_samples() -> None:
    async def handler(asked: Asked) -> Reply:
        return Reply.json(answer_to({**asked.document, "seed": None}))

    with serving(handler) as url:
        with engine_at(url) as asked:
            asked.engine.batches(make_calls(1))
            honours = asked.engine.effective()["honours"]
        found = {
            "max_tokens": "honoured",
            "greedy": "not shown",
            "temperature": "ignored",
            "seed": "not shown",
        }
        assert honours == {"/chat/completions": found}
        assert {attempt.purpose for attempt in asked.journal.attempts.values()} == {"probe"}
        with engine_at(url) as asked:
            asked.engine.batches(make_calls(1, temperature=0.7, top_p=1.0, seed=1))
            with pytest.raises(HazardError, match="GC529"):
                asked.engine.effective()
        with engine_at(url, waived=frozenset({"GC529"})) as asked:
            asked.engine.batches(make_calls(1, temperature=0.7, top_p=1.0, seed=1))
            asked.engine.effective()


def test_a_compressed_body_is_not_unpacked() -> None:
    import gzip

    async def handler(asked: Asked) -> Reply:
        data = gzip.compress(json.dumps(answer_to(asked.document)).encode())
        return Reply(200, data, {"content-encoding": "gzip"})

    with (
        serving(handler) as url,
        engine_at(url, attempts=2) as asked,
        pytest.raises(UnavailableError, match="compressed"),
    ):
        asked.ask(make_calls(1))
