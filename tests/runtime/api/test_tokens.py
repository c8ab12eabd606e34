"""Servers whose weights are known are asked by tokens: they answer and rank as the engine of this machine."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from gridc.compiler.inputs.models import ModelIdentity, hash_files
from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import HazardError, UnavailableError
from gridc.runtime.engines import open_api
from gridc.runtime.engines.api.attempts import Terms
from gridc.runtime.engines.api.engine import ApiEngine
from gridc.runtime.engines.api.scoring import ranking_answer, score_requests
from gridc.runtime.engines.hf.engine import HfEngine
from gridc.runtime.engines.protocol import Call
from gridc.runtime.run import Meter
from gridc.schema.canonical import digest
from gridc.schema.models import Server
from gridc.schema.spec import Budget, EngineSettings
from tests.runtime.api.conftest import Asked, Noted, serving
from tests.runtime.api.test_scoring import MODEL, ranking_calls
from tools.servers.http import Asked as HttpRequest
from tools.servers.http import Handler, Reply
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


@pytest.fixture(scope="module")
def servers() -> Mapping[str, TokenServer]:
    return {dialect: TokenServer(dialect) for dialect in DIALECTS}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_server_answers_as_the_engine_of_this_machine(
    servers: Mapping[str, TokenServer], dialect: Server
) -> None:
    with serving(servers[dialect]) as url:
        require_same(url, dialect)


Change = Callable[[dict[str, Any]], None]


def silent(choice: dict[str, Any]) -> None:
    choice["logprobs"] = None
    choice.pop("prompt_logprobs", None)


def flat(choice: dict[str, Any]) -> None:
    """The same number for every token."""
    if "prompt_logprobs" in choice:
        for row in choice["prompt_logprobs"][1:]:
            next(iter(row.values()))["logprob"] = -1.0
    elif "token_logprobs" in choice["logprobs"]:
        values = choice["logprobs"]["token_logprobs"]
        values[1:] = [-1.0] * len(values[1:])
    else:
        choice["logprobs"]["content"][0]["logprob"] = -1.0


def no_number(choice: dict[str, Any]) -> None:
    if "prompt_logprobs" in choice:
        next(iter(choice["prompt_logprobs"][-1].values()))["logprob"] = "likely"
    elif "token_logprobs" in choice["logprobs"]:
        choice["logprobs"]["token_logprobs"][-2] = "likely"
    else:
        choice["logprobs"]["content"][0]["logprob"] = "likely"


def other_tokens(choice: dict[str, Any]) -> None:
    if "prompt_logprobs" in choice:
        choice["prompt_logprobs"] = [None, *({"837": row} for row in choice["prompt_logprobs"][1:])]
    elif "token_logprobs" in choice["logprobs"]:
        choice["logprobs"]["token_logprobs"] = [None]
    else:
        choice["logprobs"]["content"][0]["id"] += 1


def changed(server: TokenServer, change: Change) -> Handler:
    """The server, with another answer where it is asked for scores."""

    async def handler(asked: HttpRequest) -> Reply:
        reply = await server(asked)
        wants = {"prompt_logprobs", "echo", "logit_bias"}
        if reply.status == 200 and asked.body and wants & asked.document.keys():
            body = json.loads(reply.body)
            change(body["choices"][0])
            return Reply.json(body)
        return reply

    return handler


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (silent, "it returns no log-probability"),
        (flat, "no more likely to it than noise"),
        (no_number, "a given token has no log-probability"),
        (other_tokens, "not those that were given|that it is told to|no log-probability for each token"),
    ],
)
def test_a_server_that_does_not_score_given_tokens_is_refused(
    servers: Mapping[str, TokenServer], dialect: Server, change: Change, reason: str
) -> None:
    with serving(changed(servers[dialect], change)) as url, engine_of(url, dialect) as asked:
        asked.engine.batches(ranking_calls("shared_prefix"))
        with pytest.raises(UnavailableError, match=f"GC636.*({reason})"):
            asked.engine.effective()


def test_a_server_whose_tokens_stand_for_other_words_is_refused() -> None:
    with serving(TokenServer("vllm", "pocket-mistral")) as url, engine_of(url, "vllm") as asked:
        asked.engine.batches(ranking_calls("shared_prefix"))
        with pytest.raises(UnavailableError, match=r"GC636.*no more likely to it than noise"):
            asked.engine.effective()


def test_what_is_impossible_has_no_likelihood() -> None:
    document = {"choices": [{"prompt_logprobs": [None, {"7": {"logprob": -9999.0, "rank": 800}}]}]}
    ((body, read),) = score_requests("vllm", "m", [5], [7])
    assert body["prompt"] == [5, 7]
    scores = read(document)
    assert scores == [(-math.inf, False)]
    assert ranking_answer([scores, [(-1.0, True), (-0.5, True)]]) == {
        "loglikelihoods": [None, -1.5], "tokens": [1, 2], "greedy": [False, True]
    }  # fmt: skip


def test_llama_cpp_is_asked_one_token_after_another() -> None:
    bodies = [body for body, _ in score_requests("llama.cpp", "m", [5, 6], [7, 8])]
    assert [body["prompt"] for body in bodies] == [[5, 6], [5, 6, 7]]
    assert [body["logit_bias"] for body in bodies] == [[[7, 1e9]], [[8, 1e9]]]


def test_a_prompt_that_the_server_has_no_room_for_is_asked_with_fewer_exemplars() -> None:
    long, short = f"{SHARED * 8}Who forgot the keys?", "Who forgot the keys?"
    prompt = Prompt((("user", long),), True, shorter=(short,))
    call = Call(digest("long"), "generate", prompt, {"max_tokens": 8, "temperature": 0.0})
    with serving(server := TokenServer("vllm", longest=80)) as url, engine_of(url, "vllm") as asked:
        answer = asked.ask([call])[call.id]
    assert answer.sent["exemplars_dropped"] == 1
    assert len(server.bodies) == 1, "the longer one was refused"
    alone = Call(digest("short"), "generate", Prompt((("user", short),), True), call.parameters)
    assert answer.content["text"] == local([alone])[alone.id].content["text"]


def test_a_prompt_that_the_model_has_no_room_for_is_refused_before_anything_is_asked() -> None:
    def call(**how: Any) -> Call:
        prompt = Prompt((("user", "one two three " * 1_500),), True)
        return Call(digest("far too long"), "generate", prompt, {"max_tokens": 8, "temperature": 0.0}, **how)

    with serving(server := TokenServer("vllm")) as url, engine_of(url, "vllm") as asked:
        with pytest.raises(HazardError, match="GC503"):
            asked.engine.batches([call()])
        assert not server.bodies
        answer = asked.ask([call(may_fail=True)])[digest("far too long")]
    assert answer.content["error"]["kind"] == "context_length"


def test_a_server_that_counts_other_tokens_is_noted(servers: Mapping[str, TokenServer]) -> None:
    async def handler(asked: HttpRequest) -> Reply:
        reply = await servers["vllm"](asked)
        body = json.loads(reply.body)
        body["usage"]["prompt_tokens"] += 1
        body["usage"]["total_tokens"] += 1
        return Reply.json(body)

    (call,) = generating_calls(1)
    with serving(handler) as url, engine_of(url, "vllm") as asked:
        (problem,) = asked.ask([call])[call.id].sent["usage_problems"]
    assert re.fullmatch(r"(\d+) tokens of the prompt were counted, (\d+) were sent", problem)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_request_takes_more_tokens_than_its_batch_says(
    servers: Mapping[str, TokenServer], dialect: Server
) -> None:
    calls = [*generating_calls(2), *ranking_calls("context_length")]
    with serving(servers[dialect]) as url, engine_of(url, dialect) as asked:
        most = {batch.calls[0]: batch.cost for batch in asked.engine.batches(calls)}
        for call, answer in asked.ask(calls).items():
            assert answer.usage["prompt_tokens"] + answer.usage["completion_tokens"] <= most[call]
