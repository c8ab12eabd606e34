"""What an endpoint honours of what it is asked, found by asking it.

A server may take a parameter and do nothing with it: `transformers serve` takes a temperature, n and logprobs
without an error, and answers greedily once. No documentation says so, and a study would report replicates
that are one answer. Seven short requests show it before the first call.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from gridc.compiler.lowering.calls import Prompt
from gridc.runtime.engines.api import wire
from gridc.runtime.engines.api.failures import RequestError

PROMPT = Prompt((("user", "Write one line about anything."),), True)
HOT = {"max_tokens": 12, "temperature": 1.5, "top_p": 1.0}
SEEDS = (11, 7_919, 104_729)

PostJson = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Sends a body to a path below the base URL."""

Honours = dict[str, str]
"""By parameter: `honoured`, `ignored`, `refused` or `not shown`."""


async def probe(
    ask: PostJson, body: Callable[[Prompt, Mapping[str, Any]], tuple[str, dict[str, Any]]]
) -> Honours:
    """What an endpoint does with each parameter. The first request raises `RequestError` where the endpoint
    does not answer at all; later ones find out what they can."""
    greedy = await _ask(ask, *body(PROMPT, {"max_tokens": 2, "temperature": 0.0}))
    found: Honours = {"max_tokens": _within(greedy, 2)}
    drawn = [await _text(ask, *body(PROMPT, {**HOT, "seed": seed})) for seed in SEEDS]
    again = await _text(ask, *body(PROMPT, {**HOT, "seed": SEEDS[0]}))
    if None in (*drawn, again):
        found |= {"temperature": "refused", "seed": "refused"}
    else:
        alike = len(set(drawn)) == 1
        found["temperature"] = "ignored" if alike else "honoured"
        found["seed"] = "not shown" if alike else ("honoured" if drawn[0] == again else "ignored")
    path, twice = body(PROMPT, {**HOT, "seed": SEEDS[0]})
    found["n"] = await _shows(ask, path, {**twice, "n": 2}, lambda said: len(said["choices"]) == 2)
    wanted = {**twice, "logprobs": True}
    found["logprobs"] = await _shows(ask, path, wanted, lambda said: bool(said["choices"][0].get("logprobs")))
    return found


async def _ask(ask: PostJson, path: str, body: dict[str, Any]) -> wire.ParsedReply:
    return wire.read(await ask(path, body), path.startswith("/chat"))


async def _text(ask: PostJson, path: str, body: dict[str, Any]) -> str | None:
    try:
        return (await _ask(ask, path, body)).text
    except RequestError as error:
        if error.kind != "bad_request":
            raise
        return None


async def _shows(
    ask: PostJson, path: str, body: dict[str, Any], shown: Callable[[dict[str, Any]], bool]
) -> str:
    try:
        return "honoured" if shown(await ask(path, body)) else "ignored"
    except RequestError as error:
        if error.kind != "bad_request":
            raise
        return "refused"
    except (LookupError, TypeError, AttributeError):
        return "ignored"


def _within(reply: wire.ParsedReply, most: int) -> str:
    written = reply.usage.get("completion_tokens")
    if written is None:
        return "not shown"
    return "honoured" if written <= most else "ignored"
