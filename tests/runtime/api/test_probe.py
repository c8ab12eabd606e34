"""Servers that misbehave on one endpoint are refused to a study that asks there, and sound ones are not."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Literal

import pytest

from gridc.diagnostics.errors import HazardError, UnavailableError
from gridc.runtime.engines.api.scoring import NotProvedError, TokenSteps, require_place
from gridc.runtime.engines.protocol import Call
from gridc.runtime.store.progress import not_honoured
from gridc.schema.models import Server
from tests.runtime.api.conftest import Asked, engine_at, serving
from tests.runtime.api.test_scoring import ranking_calls
from tests.runtime.api.test_tokens import engine_of, generating_calls
from tools.servers.http import Asked as HttpRequest
from tools.servers.http import Reply
from tools.servers.tokens import CHAT, Fault, TokenServer

TEXT = "/completions"
Way = Literal["vllm", "sglang", "llama.cpp", "chat", "plain"]
"""How a study asks: by tokens in a dialect, or by texts."""

WAYS: tuple[Way, ...] = ("vllm", "sglang", "llama.cpp", "chat", "plain")
TOKENS: tuple[Server, ...] = ("vllm", "sglang", "llama.cpp")
WARM = {"temperature": 0.7, "top_p": 1.0, "seed": 1}
PATHS = {CHAT, TEXT}


def path_of(way: Way) -> str:
    return CHAT if way == "chat" else TEXT


def texts(way: Way, **parameters: Any) -> list[Call]:
    return generating_calls(3, way != "plain", **parameters)


@contextmanager
def asking(way: Way, server: TokenServer, calls: Sequence[Call]) -> Iterator[Asked]:
    """The engine of a study with these calls, before it is asked anything."""
    with (
        serving(server) as url,
        engine_of(url, way) if way in TOKENS else engine_at(url, price=None) as asked,
    ):
        asked.engine.batches(calls)
        yield asked


def server_of(way: Way, **how: Any) -> TokenServer:
    return TokenServer(way if way in TOKENS else "openai", **how)


FAULTS: dict[Fault, tuple[dict[str, Any], str]] = {
    "temperature": (WARM, "a temperature is ignored"),
    "seed": (WARM, "every seed draws the same answer"),
    "penalty": ({}, "at temperature 0 is not made of the likeliest"),
    "max_tokens": ({}, "max_tokens is ignored"),
}
"""What gives texts that nobody asked for: the parameters of a study that it touches, and how it is named."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_misbehaves_where_the_study_asks_is_refused(way: Way, fault: Fault) -> None:
    parameters, named = FAULTS[fault]
    server = server_of(way, faults={path_of(way): fault})
    with asking(way, server, texts(way, **parameters)) as asked:
        with pytest.raises(HazardError, match=rf"GC529.*/v1{path_of(way)}: .*{named}"):
            asked.engine.effective()
        assert set(server.paths) == {path_of(way)}, "nothing else is asked"


@pytest.mark.parametrize("way", ["chat", "plain", "vllm"])
@pytest.mark.parametrize("fault", FAULTS)
def test_one_that_misbehaves_elsewhere_is_not_refused(way: Way, fault: Fault) -> None:
    (elsewhere,) = PATHS - {path_of(way)}
    server = server_of(way, faults={elsewhere: fault})
    with asking(way, server, texts(way, **FAULTS[fault][0])) as asked:
        asked.engine.effective()


@pytest.mark.parametrize("way", ["vllm", "sglang"])
def test_a_penalty_that_the_log_probabilities_of_generated_tokens_hide_is_found(way: Way) -> None:
    """Given tokens are scored without it."""
    server = server_of(way, faults={TEXT: "penalty"}, processed=True)
    with (
        asking(way, server, texts(way)) as asked,
        pytest.raises(HazardError, match=r"GC529.*not made of the likeliest"),
    ):
        asked.engine.effective()


MOVED: list[tuple[Way, Fault]] = [
    *((way, fault) for way in ("vllm", "sglang", "plain") for fault in ("late", "early")),
    ("llama.cpp", "late"),
]


@pytest.mark.parametrize(("way", "fault"), MOVED)
def test_likelihoods_that_are_moved_by_a_token_are_refused(way: Way, fault: Fault) -> None:
    server = server_of(way, faults={TEXT: fault})
    found = "by a place|where it is generated|same beginning|no more likely to it than noise"
    with (
        asking(way, server, ranking_calls("shared_prefix")) as asked,
        pytest.raises(UnavailableError, match=f"GC636.*({found})"),
    ):
        asked.engine.effective()


@pytest.mark.parametrize(
    ("own", "other", "steps", "said"),
    [
        ([-2.0, -1.0], [-2.0, -9.0], None, "as if moved by a place"),
        ([-2.0, -1.0], [-11.0, -9.0], [(-0.3, -0.3), (-1.0, -1.0)], "where it is generated"),
        ([-2.0, -1.0], [-11.0, -9.0], [(-0.3, -0.3)] * 5, None),  # it was divided into other tokens
        ([-0.4, -1.0], [-11.0, -9.0], [(-0.3, -0.3), (-1.0, -1.0)], None),
        ([-0.4, -1.0], [-11.0, -9.0], None, None),
    ],
)
def test_where_a_log_probability_belongs_shows_in_either_way(
    own: list[float], other: list[float], steps: TokenSteps | None, said: str | None
) -> None:
    with nullcontext() if said is None else pytest.raises(NotProvedError, match=said):
        require_place(own, other, steps)


@pytest.mark.parametrize("bits", [0.0, 1e-3])
@pytest.mark.parametrize("way", WAYS)
def test_a_sound_server_is_believed(way: Way, bits: float) -> None:
    """Also one whose last bits move from batch to batch."""
    calls = [*texts(way), *texts(way, **WARM), *([] if way == "chat" else ranking_calls("shared_prefix"))]
    server = server_of(way, bits=bits)
    with asking(way, server, calls) as asked:
        effective = asked.engine.effective()
        assert all(map(asked.engine.repeats, calls))
    wanted = {"temperature": "honoured", "seed": "honoured", "max_tokens": "honoured", "greedy": "honoured"}
    assert effective["honours"] == {path_of(way): wanted}
    proof = {"chat": 0, "llama.cpp": 21}.get(way, 3)
    assert len(server.paths) == proof + (7 if way in ("vllm", "sglang") else 6)


def test_each_path_that_is_asked_is_probed_with_six_requests() -> None:
    server = server_of("chat")
    with asking("chat", server, [*texts("chat"), *texts("plain")]) as asked:
        asked.engine.effective()
    assert Counter(server.paths) == {CHAT: 6, TEXT: 6}


def test_a_seed_without_effect_is_found_and_draws_need_not_repeat() -> None:
    server = server_of("vllm", faults={TEXT: "seedless"})
    greedy, warm = texts("vllm"), texts("vllm", **WARM)
    with asking("vllm", server, [*greedy, *warm]) as asked:
        effective = asked.engine.effective()
        assert effective["honours"][TEXT]["seed"] == "ignored"
        assert [asked.engine.repeats(call) for call in (*greedy, *warm)] == [True] * 3 + [False] * 3


def test_what_a_study_leaves_to_the_server_is_not_held_against_it() -> None:
    with (
        serving(server_of("plain", faults={TEXT: "temperature"})) as url,
        engine_at(url, price=None, omits=("temperature",)) as asked,
    ):
        asked.engine.batches(texts("plain", **WARM))
        asked.engine.effective()


def test_a_model_that_only_thinks_in_so_few_tokens_is_not_said_to_ignore_a_temperature() -> None:
    """Behind a reasoning parser its text is empty until the thought ends."""
    inside = server_of("chat")

    async def handler(asked: HttpRequest) -> Reply:
        reply = await inside(asked)
        body = json.loads(reply.body)
        body["choices"][0] |= {"message": {"content": None}, "finish_reason": "length"}
        return Reply.json(body)

    with serving(handler) as url, engine_at(url, price=None) as asked:
        asked.engine.batches(texts("chat", **WARM))
        honours = asked.engine.effective()["honours"][CHAT]
    assert (honours["temperature"], honours["seed"], honours["greedy"]) == (
        "not shown",
        "not shown",
        "honoured",
    )


def test_a_later_wave_is_probed_before_it_is_asked() -> None:
    server = server_of("plain", faults={TEXT: "temperature"})
    with asking("plain", server, texts("plain")) as asked:
        asked.engine.effective()
        with pytest.raises(HazardError, match="GC529"):
            asked.ask(texts("plain", **WARM))


def test_what_is_not_honoured_is_said_also_of_a_store_that_names_no_path() -> None:
    found = {"temperature": "honoured", "seed": "ignored", "greedy": "ignored"}
    said = "m: the server takes and ignores seed, temperature = 0"
    assert list(not_honoured("m", found)) == [f"{said}, found by a probe"]
    assert list(not_honoured("m", {TEXT: found})) == [f"{said} at {TEXT}, found by a probe"]
    (repeated,) = not_honoured("m", {CHAT: {"seed": "repeated"}})
    assert repeated == f"m: the server draws the same whatever the seed at {CHAT}, found by a probe"
