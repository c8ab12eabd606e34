"""Calls in batches: each is answered once or has failed for good, whatever the provider does with a batch."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from gridc.compiler.inputs.prices import TokenPrice
from gridc.diagnostics.errors import UnavailableError
from gridc.runtime.engines.api import batch_protocols, batches
from gridc.runtime.engines.api.attempts import Terms
from gridc.runtime.run import Meter
from gridc.schema.spec import Budget
from tests.runtime.api.conftest import Asked, engine_at, make_calls, serving
from tools.servers.batches import FAULTS, BatchServer
from tools.servers.faults import FaultServer, answer_to
from tools.servers.http import Reply

PRICE = TokenPrice(
    1_000.0, 2_000.0, 1_000.0, "a test", "2026-01-01", {"input": 500, "output": 1_000, "cached": 500}
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests look as often as they can."""
    monkeypatch.setattr(batch_protocols, "FIRST_LOOK", 0.01)
    monkeypatch.setattr(batches, "LONGEST_LOOK", 0.05)
    monkeypatch.setattr(batches, "FULL_PAUSE", 0.05)


@contextmanager
def batching(
    faults: list[str] | None = None, budget: Mapping[str, Any] | None = None, **how: Any
) -> Iterator[tuple[BatchServer, Asked]]:
    """An engine that asks in batches, and the provider that it asks."""
    stated = {key: how.pop(key) for key in ("attempts", "batch_wait_s", "source") if key in how}
    server = BatchServer(FaultServer(delay=0), list(faults or ()), **{"delay": 0.02, **how})
    with serving(server) as url, engine_at(url, budget, PRICE, batch=True, **stated) as asked:
        yield server, asked


def sound(call: Any) -> str:
    body = {"messages": [{"role": role, "content": text} for role, text in call.prompt.messages]}
    return str(answer_to({**body, "seed": None})["choices"][0]["message"]["content"])


def test_results_are_those_of_single_calls_at_the_price_of_a_batch() -> None:
    calls = make_calls(40)
    with batching() as (server, asked):
        together = asked.ask(calls)
    assert server.sizes == [40]
    with serving(FaultServer(delay=0)) as url, engine_at(url, price=PRICE) as single:
        alone = single.ask(calls)
    assert {name: each.content for name, each in together.items()} == {
        name: each.content for name, each in alone.items()
    }
    for name, each in together.items():
        batch = each.sent.pop("batch")
        assert batch == "batch_0"
        assert {**each.sent, "endpoint": ""} == {**alone[name].sent, "endpoint": ""}
        assert each.usage["usd"] == pytest.approx(alone[name].usage["usd"] / 2)
    attempts = asked.journal.of(status="answered", paid="yes", fingerprint="fault-server")
    assert len(attempts) == len(asked.journal.attempts) == 40
    assert asked.meter._usd == pytest.approx(sum(each.usd or 0 for each in attempts))


LATER = {"missing": 1, "malformed": 1, "half_failed": 20, "expired": 20}
"""By what happened to a batch of 40: how many of its calls a second batch has to hold."""
STOPS = ("cancelled", "failed", "create_500", "list_500")


@pytest.mark.parametrize("fault", [each for each in FAULTS if each not in STOPS])
def test_what_goes_wrong_with_a_batch_costs_no_answer(fault: str) -> None:
    calls = make_calls(40)
    with batching([fault]) as (server, asked):
        answers = asked.ask(calls)
    assert server.met[fault] == 1
    assert {name: each.content["text"] for name, each in answers.items()} == {
        call.id: sound(call) for call in calls
    }
    twice = [body for body, times in server.accepted.items() if times > 1]
    assert len(twice) == LATER.get(fault, 0), "what was answered is not asked again"
    assert not asked.journal.of(status="sent")
    failed = asked.journal.of(status="failed")
    if fault in LATER:
        assert len(failed) == LATER[fault]
        kind = {"expired": "expired", "half_failed": "server_error"}.get(fault, "missing")
        assert {(each.failure, each.paid) for each in failed} == {
            (kind, "no" if fault == "expired" else "possibly")
        }
    elif fault == "full":
        assert {each.failure for each in failed} == {"queue_full"}
        assert max(server.sizes) <= 20
    else:
        assert not failed
    states = [each.state for each in asked.journal.submissions.values()]
    assert set(states) == {"ended"}
    details = " ".join(each.detail or "" for each in asked.journal.submissions.values())
    said = {"twice": "1 lines twice", "unknown": "1 lines of no call", "malformed": "1 lines unreadable",
            "expired": "the batch is expired"}  # fmt: skip
    assert said.get(fault, "") in details


@pytest.mark.parametrize(("fault", "code"), [("cancelled", "GC640"), ("failed", "GC640")])
def test_a_batch_that_was_not_carried_out_stops_the_run_and_keeps_what_it_answered(
    fault: str, code: str
) -> None:
    calls = make_calls(40)
    got: list[str] = []
    with batching([fault]) as (server, asked):
        with pytest.raises(UnavailableError, match=code):
            for answers in asked.engine._answered(calls):
                got += [each.call for each in answers]
        assert len(got) == (20 if fault == "cancelled" else 0)
        failed = asked.journal.of(status="failed")
        assert len(failed) == 40 - len(got)
        assert {(each.failure, each.paid) for each in failed} == {
            ("cancelled" if fault == "cancelled" else "batch_failed", "no")
        }
        left = asked.ask([call for call in calls if call.id not in got])
        assert len(left) == 40 - len(got)
        assert max(server.accepted.values()) <= 2


@pytest.mark.parametrize("unlisted", [False, True])
def test_a_batch_that_may_have_been_paid_and_cannot_be_found_is_not_asked_again_unasked(
    unlisted: bool,
) -> None:
    fault = "create_cut" if unlisted else "create_500"
    with batching([fault], unlisted=unlisted) as (server, asked):
        with pytest.raises(UnavailableError, match="GC638"):
            asked.ask(make_calls(5))
        with pytest.raises(UnavailableError, match="GC638"):
            asked.ask(make_calls(5))
        assert sum(server.accepted.values()) == (5 if unlisted else 0)
        asked.engine._terms = Terms("in a test", repeat_lost=True)
        assert len(asked.ask(make_calls(5))) == 5
        lost = asked.journal.of(status="lost", paid="possibly")
        assert len(lost) == 5
        assert all(each.usd for each in lost)
        assert {each.state for each in asked.journal.submissions.values()} == {"lost", "ended"}


def test_a_run_that_ends_while_it_waits_takes_the_results_later_and_asks_nothing_again() -> None:
    calls = make_calls(30)
    with batching(delay=0.6, batch_wait_s=0.1) as (server, asked):
        with pytest.raises(
            UnavailableError, match=r"GC639 30 calls of `model` wait at the provider, in batch_0"
        ):
            asked.ask(calls)
        asked.engine._settings = asked.engine._settings.model_copy(update={"batch_wait_s": None})
        answers = asked.ask(calls[:20])
        assert {call.id: sound(call) for call in calls[:20]} == {
            name: each.content["text"] for name, each in answers.items()
        }
        assert len(asked.journal.of(status="sent")) == 10, "those of nobody who asks now stay for later"
        asked.engine._identity = replace(asked.engine._identity, batch=False)
        assert len(asked.ask(calls)) == 30, "single calls take what waits first"
    assert max(server.accepted.values()) == 1
    assert sum(server.accepted.values()) == 30
    assert server.seen["POST chat"] == 20, "only what no batch held was asked by itself"


def test_what_waits_counts_at_its_most_until_its_results_are_there() -> None:
    calls = make_calls(10)
    with batching(delay=0.2, batch_wait_s=0.0) as (_, asked):
        with pytest.raises(UnavailableError, match="GC639"):
            asked.ask(calls)
        most = sum(each.usd or 0 for each in asked.journal.attempts.values())
        later = Meter(Budget(usd=most), most)
        asked.engine._limits = later
        asked.engine._settings = asked.engine._settings.model_copy(update={"batch_wait_s": None})
        assert len(asked.ask(calls)) == 10
        took = sum(each.usd or 0 for each in asked.journal.attempts.values())
    assert 0 < took < most
    assert later._usd == pytest.approx(took)


def test_limits_of_requests_and_bytes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = make_calls(50)
    monkeypatch.setattr(batch_protocols.OpenAIBatches, "most_requests", 20)
    with batching(most_requests=20) as (server, asked):
        assert len(asked.ask(calls)) == 50
    assert server.sizes == [20, 20, 10]
    monkeypatch.setattr(batch_protocols.OpenAIBatches, "most_bytes", 4_000)
    with batching(most_requests=20) as (server, asked):
        assert len(asked.ask(calls)) == 50
    files = [data for name, data in server.files.items() if data and b'"method"' in data]
    assert len(files) > 3
    assert max(map(len, files)) <= 4_000


@pytest.mark.parametrize(
    ("budget", "cap"),
    [({"calls": 17}, "calls = 17"), ({"tokens": 900}, "tokens = 900"), ({"usd": 0.5}, "usd = 0.5")],
)
def test_a_budget_stops_before_a_batch_passes_it(budget: dict[str, float], cap: str) -> None:
    with batching(budget=budget) as (server, asked):
        answers = asked.ask(make_calls(200))
    assert asked.meter.reached == cap
    assert 0 < len(answers) < 200
    assert sum(server.accepted.values()) == len(answers), "every answer that was paid is kept"
    assert len(answers) <= budget.get("calls", 10**9)
    assert sum(each.usd or 0 for each in asked.journal.attempts.values()) <= budget.get("usd", 10**9)
    tokens = sum(sum(each.usage.values()) for each in asked.journal.attempts.values())
    assert tokens <= budget.get("tokens", 10**9)


@pytest.mark.parametrize("fault", ["failed", "half_failed", "upload_500", "look_500", "create_cut list_500"])
def test_a_key_reaches_no_record(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", "sk-canary-9999")
    server, told = BatchServer(FaultServer(delay=0), fault.split(), delay=0), ""
    with serving(server) as url, engine_at(url, batch=True, key_env="CANARY_KEY", attempts=1) as asked:
        try:
            asked.ask(make_calls(3))
        except UnavailableError as error:
            told = str(error)
        recorded = told + str(asked.journal.attempts) + str(asked.journal.submissions)
        assert "Bearer [key]" in recorded, "the provider repeats the key"
        assert "canary" not in recorded


def test_a_batch_is_found_on_a_later_page_of_the_list() -> None:
    calls = make_calls(5)
    with batching(["create_cut"], unlisted=True) as (server, asked):
        with pytest.raises(UnavailableError, match="GC638"):
            asked.ask(calls)
        server.batches |= {f"other_{number}": {"id": f"other_{number}"} for number in range(5)}
        server.unlisted = False
        assert len(asked.ask(calls)) == 5
    assert sum(server.accepted.values()) == 5


def test_a_queue_that_holds_less_than_a_wave_takes_it_batch_by_batch() -> None:
    """What fills it is our own: more is submitted when that is done, however long it takes."""
    calls = make_calls(40)
    with batching(room=10, delay=0.6) as (server, asked):
        assert len(asked.ask(calls)) == 40
    assert max(server.accepted.values()) == 1
    assert max(server.sizes) == 10
    assert not asked.journal.of(status="sent")


def test_an_upload_that_breaks_off_after_a_refusal_is_no_lost_batch() -> None:
    with batching(["create_429", "upload_500"]) as (server, asked):
        assert len(asked.ask(make_calls(5))) == 5
    assert server.met == {"create_429": 1, "upload_500": 1}
    assert max(server.accepted.values()) == 1


def test_what_was_never_submitted_is_not_paid() -> None:
    with batching(["upload_500"], attempts=1) as (_, asked):
        with pytest.raises(UnavailableError, match="GC635"):
            asked.ask(make_calls(5))
        assert len(asked.journal.of(status="failed", paid="no", failure="not_submitted")) == 5
        assert asked.meter._usd == 0.0


@pytest.mark.parametrize("gone", ["batches", "files"])
def test_results_that_the_provider_no_longer_has_are_asked_again_only_when_told(gone: str) -> None:
    with batching(delay=0.1, batch_wait_s=0) as (server, asked):
        with pytest.raises(UnavailableError, match="GC639"):
            asked.ask(make_calls(5))
        while server.batches["batch_0"]["status"] != "completed":
            time.sleep(0.01)
        getattr(server, gone).clear()
        asked.engine._settings = asked.engine._settings.model_copy(update={"batch_wait_s": None})
        for _ in range(2):
            with pytest.raises(UnavailableError, match="GC638"):
                asked.ask(make_calls(5))
        server.batches["other"] = {"status": "completed"}  # so that the next has another name
        asked.engine._terms = Terms("in a test", repeat_lost=True)
        assert len(asked.ask(make_calls(5))) == 5
        assert len(asked.journal.of(status="lost", paid="possibly")) == 5


def test_lines_that_were_taken_before_are_not_odd() -> None:
    calls = make_calls(30)
    with batching(["twice"]) as (_, asked):
        asked.ask(calls[:1])
        (first,) = asked.journal.submissions.values()
        assert first.detail == "1 lines twice"
    with batching(delay=0.1, batch_wait_s=0) as (_, asked):
        with pytest.raises(UnavailableError, match="GC639"):
            asked.ask(calls)
        asked.engine._settings = asked.engine._settings.model_copy(update={"batch_wait_s": None})
        assert len(asked.ask(calls[:20])) == 20
        assert len(asked.ask(calls[20:])) == 10
        (submission,) = asked.journal.submissions.values()
        assert (submission.state, submission.detail) == ("ended", None)


ODD_NAMES: Mapping[str, Callable[[str], Any]] = {
    "none": lambda _: None,
    "a number": lambda _: 7,
    "a list": lambda _: [],
    "a number with more digits than Python reads": lambda name: f"{name[:-1]}{'1' * 5_000}",
}


@pytest.mark.parametrize("odd", ODD_NAMES)
def test_a_line_with_no_name_of_ours_is_odd(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its call is asked again."""
    keep = BatchServer._keep
    named: list[str] = []

    def renamed(server: BatchServer, data: bytes) -> str:
        rows = [json.loads(line) for line in data.splitlines()]
        if "response" in rows[0] and not named:
            named.append(rows[0]["custom_id"])
            rows[0]["custom_id"] = ODD_NAMES[odd](named[0])
        return keep(server, b"".join(json.dumps(row).encode() + b"\n" for row in rows))

    monkeypatch.setattr(BatchServer, "_keep", renamed)
    with batching() as (server, asked):
        assert len(asked.ask(make_calls(3))) == 3
    assert named
    assert sum(server.accepted.values()) == 4
    (detail,) = [each.detail for each in asked.journal.submissions.values() if each.detail]
    assert detail.startswith("1 lines ")


@pytest.mark.parametrize("listed", ['{"data": 7}', '{"data": [{"metadata": "x"}, 3]}', '{"data": {}}'])
def test_a_list_of_batches_that_is_none_finds_nothing(listed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchServer, "_list", lambda *_: Reply(200, listed.encode()))
    with batching(["create_500"]) as (_, asked), pytest.raises(UnavailableError, match="GC638"):
        asked.ask(make_calls(2))
