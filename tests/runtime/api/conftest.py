"""Engines against a server of our own, with what a run would give them."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from gridc.compiler.inputs import addresses
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.inputs.prices import TokenPrice
from gridc.compiler.lowering.calls import Prompt
from gridc.runtime.engines.api import session
from gridc.runtime.engines.api.attempts import Attempt, Submission, Terms
from gridc.runtime.engines.api.engine import ApiEngine
from gridc.runtime.engines.protocol import Answer, Call, PendingBatch
from gridc.runtime.run import Meter
from gridc.schema.canonical import digest
from gridc.schema.spec import Budget, EngineSettings
from tools.servers.faults import FaultServer
from tools.servers.http import Handler, Server

PRICE = TokenPrice(1_000.0, 2_000.0, 1_000.0, "a test", "2026-01-01")
"""A dollar for a thousand tokens read, two for a thousand written."""


@dataclass
class Noted:
    """A journal in memory: the last state of every attempt, and in which order they were opened."""

    attempts: dict[str, Attempt] = field(default_factory=dict)
    submissions: dict[str, Submission] = field(default_factory=dict)

    def prepared(self, submission: Submission, attempts: Sequence[Attempt]) -> None:
        assert submission.id not in self.submissions
        self.submissions[submission.id] = submission
        self.opened(attempts)

    def moved(self, submission: Submission) -> None:
        self.submissions[submission.id] = submission

    def waiting(self, model: str) -> list[tuple[Submission, list[Attempt]]]:
        known = [each for each in self.submissions.values() if each.state in ("submitting", "submitted")]
        open_ones = [each for each in known if self.of(submission=each.id, status="sent")]
        return [(each, self.of(submission=each.id)) for each in open_ones]

    def opened(self, attempts: Sequence[Attempt]) -> None:
        for attempt in attempts:
            assert attempt.status == "sent"
            assert attempt.id not in self.attempts
            self.attempts[attempt.id] = attempt

    def closed(self, attempt: Attempt) -> None:
        assert self.attempts[attempt.id].status == "sent", "an attempt ends once"
        self.attempts[attempt.id] = attempt

    def of(self, **wanted: Any) -> list[Attempt]:
        return [a for a in self.attempts.values() if all(getattr(a, k) == v for k, v in wanted.items())]


def make_calls(number: int, **parameters: Any) -> list[Call]:
    """Different calls, as a study makes them."""
    found = []
    for which in range(number):
        prompt = Prompt((("user", f"Question {which}: A. yes B. no"),), True)
        asked = {"max_tokens": 8, "temperature": 0.0, **parameters}
        found.append(Call(digest([which, asked]), "generate", prompt, asked))
    return found


@dataclass
class Asked:
    """An engine with its journal and its meter."""

    engine: ApiEngine
    journal: Noted
    meter: Meter

    def ask(self, calls: Sequence[Call], missing: Container[str] | None = None) -> dict[str, Answer]:
        """Every answer by call, of all or of those that are missing; one that comes twice fails the test."""
        answers: dict[str, Answer] = {}
        batches = self.engine.batches(calls)
        tasks = [
            PendingBatch(batch, frozenset(batch.calls))
            for batch in batches
            if missing is None or batch.calls[0] in missing
        ]
        for done in self.engine.answers(tasks, lambda task: True):
            for answer in done.answers:
                assert answer.call not in answers
                answers[answer.call] = answer
        return answers


@contextmanager
def engine_at(
    url: str | None, budget: Mapping[str, Any] | None = None, price: TokenPrice | None = PRICE, **stated: Any
) -> Iterator[Asked]:
    keys = ("concurrency", "attempts", "timeout_s", "batch_wait_s")
    settings = {key: stated.pop(key) for key in keys if key in stated}
    waived = stated.pop("waived", frozenset())
    stated.setdefault("source", "some-model")
    identity = ModelIdentity(unpinned="a provider's", base_url=url, **stated)
    engine = ApiEngine("model", identity, EngineSettings(**settings), waived)
    journal, meter = Noted(), Meter(Budget(**(budget or {})))
    engine.connect(journal, meter, price, Terms("in a test"))
    try:
        yield Asked(engine, journal, meter)
    finally:
        engine.close()


def at_home(monkeypatch: pytest.MonkeyPatch, provider: str, base: str) -> None:
    """Put a server of ours in the place of a provider's own address."""
    own = addresses.PROVIDERS[provider]
    monkeypatch.setitem(addresses.PROVIDERS, provider, replace(own, base=base))


@contextmanager
def serving(handler: Handler) -> Iterator[str]:
    with Server(handler) as server:
        yield server.url


@contextmanager
def faulty(shares: Mapping[str, float], **how: Any) -> Iterator[tuple[FaultServer, str]]:
    faults = FaultServer(shares, **{"delay": 0.005, "retry_after": "0.02", **how})
    with Server(faults) as server:
        yield faults, server.url


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests wait a hundredth of the time between attempts."""
    monkeypatch.setattr(session, "FIRST_PAUSE", 0.005)
    monkeypatch.setattr(session, "LONGEST_PAUSE", 0.05)
