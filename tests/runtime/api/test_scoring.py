"""Candidates ranked by a server that echoes log-probabilities: as the local engine ranks them, or refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import UnavailableError
from gridc.runtime.engines.hf.engine import HfEngine
from gridc.runtime.engines.protocol import Call
from gridc.schema.canonical import digest
from gridc.schema.spec import EngineSettings
from tests.runtime.api.conftest import engine_at, serving
from tools.servers.http import Asked, Reply
from tools.servers.model import MODELS, ModelServer

MODEL = "pocket-qwen2"
QUESTIONS = {
    "Question: who forgot the keys?\nAnswer:": (" The old man", " The young man", " Not known"),
    "Paris is the capital of": (" France", " Spain", " France and of nothing else"),
    "One, two, three, ": ("four", "five", "six, seven"),
}


def ranking_calls(seam: str) -> list[Call]:
    made = []
    for text, continuations in QUESTIONS.items():
        parameters = {"continuations": list(continuations), "seam": seam}
        prompt = Prompt((("user", text),), False)
        made.append(Call(digest([text, seam]), "loglikelihood", prompt, parameters))
    return made


@pytest.fixture(scope="module")
def server() -> ModelServer:
    return ModelServer(MODEL)


@pytest.mark.parametrize("seam", ["shared_prefix", "context_length"])
def test_a_server_ranks_as_the_engine_of_this_machine(server: ModelServer, seam: str) -> None:
    calls = ranking_calls(seam)
    engine = HfEngine(MODEL, MODELS / MODEL, "fp32", EngineSettings())
    expected: dict[str, Any] = {}
    for batch in engine.batches(calls):
        expected |= {each.call: each.content for each in engine.answer(batch, frozenset(batch.calls))[0]}
    engine.close()
    with serving(server) as url, engine_at(url) as asked:
        asked.engine.batches(calls)
        assert asked.engine.effective()["scoring"]
        found = asked.ask(calls)
    assert len(found) == len(calls)
    for call in calls:
        here, there = expected[call.id], found[call.id].content
        assert there["loglikelihoods"] == pytest.approx(here["loglikelihoods"], abs=1e-4)
        assert there["tokens"] == here["tokens"]


Change = Callable[[dict[str, Any]], None]


def no_echo(body: dict[str, Any]) -> None:
    body["choices"][0].pop("logprobs")


def other_text(body: dict[str, Any]) -> None:
    body["choices"][0]["logprobs"]["tokens"][0] = "X"


def constant(body: dict[str, Any]) -> None:
    said = body["choices"][0]["logprobs"]
    said["token_logprobs"] = [None] + [-1.0] * (len(said["tokens"]) - 1)


def by_length(body: dict[str, Any]) -> None:
    said = body["choices"][0]["logprobs"]
    said["token_logprobs"] = [None] + [-0.1 * len(said["tokens"])] * (len(said["tokens"]) - 1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (no_echo, "no log-probabilities of the prompt's tokens"),
        (other_text, "not those of the text that was given"),
        (constant, "no more likely to it than noise"),
        (by_length, "other log-probabilities in another text"),
    ],
)
def test_a_server_that_does_not_score_given_tokens_is_refused(
    server: ModelServer, change: Change, reason: str
) -> None:
    async def handler(asked: Asked) -> Reply:
        reply = await server(asked)
        if asked.path.endswith("/completions") and "chat" not in asked.path and asked.document.get("echo"):
            body = json.loads(reply.body)
            change(body)
            return Reply.json(body, reply.status)
        return reply

    with serving(handler) as url, engine_at(url) as asked:
        asked.engine.batches(ranking_calls("shared_prefix"))
        with pytest.raises(UnavailableError, match=f"GC636.*{reason}"):
            asked.engine.effective()
