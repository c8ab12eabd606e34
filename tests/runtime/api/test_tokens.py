"""Servers whose weights are known are asked by tokens: they answer and rank as the engine of this machine."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from gridc.compiler.inputs.models import ModelIdentity, hash_files
from gridc.compiler.lowering.calls import Prompt
from gridc.runtime.budget import Meter
from gridc.runtime.engines import open_api
from gridc.runtime.engines.api.engine import ApiEngine
from gridc.runtime.engines.api.records import Terms
from gridc.runtime.engines.hf.engine import HfEngine
from gridc.runtime.engines.protocol import Call
from gridc.schema.canonical import digest
from gridc.schema.provider import Server
from gridc.schema.spec import Budget, EngineSettings
from tests.runtime.api.conftest import Asked, Noted, serving
from tests.runtime.api.test_scoring import MODEL, ranking_calls
from tools.servers.model import MODELS
from tools.servers.tokens import TokenServer

DIALECTS: tuple[Server, ...] = ("vllm", "sglang", "llama.cpp")
SHARED = "The following are questions. Answer each with one word.\n\n"


def generating_calls(number: int, chat: bool = True, **parameters: Any) -> list[Call]:
    made = []
    for which in range(number):
        prompt = Prompt((("user", f"{SHARED}Question {which}: who forgot the keys?"),), chat)
        asked = {"max_tokens": 8, "temperature": 0.0, **parameters}
        made.append(Call(digest([which, chat, asked]), "generate", prompt, asked))
    return made


@contextmanager
def engine_of(url: str, server: Server, **settings: Any) -> Iterator[Asked]:
    files = ModelIdentity("builtin", MODELS / MODEL, hash_files(MODELS / MODEL))
    identity = ModelIdentity("pocket", unpinned="a server's", base_url=url, server=server, weights=files)
    engine = open_api("model", identity, "as served", EngineSettings(**settings), frozenset())
    assert isinstance(engine, ApiEngine)
    journal, meter = Noted(), Meter(Budget())
    engine.connect(journal, meter, None, Terms("in a test"))
    try:
        yield Asked(engine, journal, meter)
    finally:
        engine.close()


def local(calls: Sequence[Call]) -> dict[str, Any]:
    """What the engine of this machine answers."""
    engine = HfEngine(MODEL, MODELS / MODEL, "fp32", EngineSettings())
    found: dict[str, Any] = {}
    for batch in engine.batches(calls):
        found |= {each.call: each for each in engine.answer(batch, frozenset(batch.calls))[0]}
    engine.close()
    return found


def require_same(url: str, server: Server, near: float = 1e-4) -> None:
    """Greedy answers, of chats and of plain texts, and rankings are those of the engine of this machine."""
    calls = [*generating_calls(3), *generating_calls(3, chat=False)]
    calls += [*ranking_calls("shared_prefix"), *ranking_calls("context_length")]
    expected = local(calls)
    with engine_of(url, server) as asked:
        asked.engine.batches(calls)
        effective = asked.engine.effective()
        found = asked.ask(calls)
    assert effective["prompts"] == "tokens"
    assert effective["scoring"]["own_text"] > effective["scoring"]["noise"]
    assert len(found) == len(calls)
    for call in calls:
        here, there = expected[call.id].content, found[call.id].content
        if not call.ranks:
            assert (there["text"], there["finish"]) == (here["text"], here["finish"])
            sent = found[call.id].sent["body"]["prompt"]
            assert sent["sha256"] == expected[call.id].sent["prompt_token_digest"]
            assert "usage_problems" not in found[call.id].sent
            continue
        assert there["loglikelihoods"] == pytest.approx(here["loglikelihoods"], abs=near)
        assert there["tokens"] == here["tokens"]
        assert there["greedy"] == here["greedy"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_server_answers_as_the_engine_of_this_machine(dialect: Server) -> None:
    server = TokenServer(dialect)
    with serving(server) as url:
        require_same(url, dialect)
