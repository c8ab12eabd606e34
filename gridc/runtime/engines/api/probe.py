"""What an endpoint honours of what it is asked, found by asking it in the way in which the study will.

A server may take a parameter and do nothing with it, or sample with one that nobody stated, and it may do so
on one endpoint only: `transformers serve` takes a temperature without an error, and answers greedily once. No
documentation says so, and a study would report replicates that are one answer. Six short requests to each
endpoint that the study asks for texts show it before the first call; seven where logprobs are refused, or
where given tokens are scored besides.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from gridc.runtime.engines.api import wire
from gridc.runtime.engines.api.failures import RequestError

TRIAL = "The quick brown fox jumps over the lazy dog, and"
"""What is continued greedily: a text in which models come back to words that stand there already."""
OPEN = "Write one line about anything."
"""What is answered at a high temperature."""

FEW, MANY = 2, 24
"""Tokens of the two greedy answers. A penalty shows where a model would repeat a token, so one has some."""

HOT = {"max_tokens": 12, "temperature": 1.5, "top_p": 1.0}
SEEDS = (11, 7_919, 104_729)

TIE, CLOSE = 1e-2, 0.25
"""Nats by which a log-probability may differ from another that should be the same: of one response, where
only rounding parts them, and of two, computed in batches of other shapes and perhaps in half precision."""

PostJson = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Sends a body to a path below the base URL."""

AskedAs = Callable[[str, Mapping[str, Any]], tuple[str, dict[str, Any]]]
"""The path and the body of a generation from a text, as the calls of the study are asked."""

Honours = dict[str, str]
"""By parameter: `honoured`, `ignored`, `refused` or `not shown`. `seed` is `repeated` where every seed draws
the same, other than a greedy answer, and `greedy` is `ignored` where a text at temperature 0 is not of the
likeliest tokens."""


ScoreAnswer = Callable[[wire.ParsedReply], Awaitable["TokenSteps | None"]]
"""How likely the tokens of an answer are behind `TRIAL` where they are given, not generated; None where that
cannot be known."""


async def probe(ask: PostJson, body: AskedAs, scored: ScoreAnswer | None = None) -> Honours:
    """What an endpoint does with each parameter. Where it does not answer at all the first request raises
    `RequestError`; later ones find out what they can."""
    long, steps = await _greedy(ask, body)
    short = await _ask(ask, *body(TRIAL, {"max_tokens": FEW, "temperature": 0.0}))
    apart = None if steps is None else _apart(steps) > TIE
    if not apart and scored is not None and (given := await scored(long)):
        apart = _apart(given) > CLOSE  # some say how likely a token is after they have changed the logits
    greedy = "not shown" if apart is None else "ignored" if apart else "honoured"
    return {"max_tokens": _within(short, FEW), "greedy": greedy, **await _draws(ask, body)}


async def _greedy(ask: PostJson, body: AskedAs) -> "tuple[wire.ParsedReply, TokenSteps | None]":
    """A greedy answer, and how likely its tokens are where the endpoint says so."""
    path, asked = body(TRIAL, {"max_tokens": MANY, "temperature": 0.0})
    try:
        document = await ask(path, asked | with_logprobs(path))
    except RequestError as error:
        if error.kind != "bad_request":
            raise
        document = await ask(path, asked)
    return wire.read(document, _is_chat(path)), steps_of(document)


async def _draws(ask: PostJson, body: AskedAs) -> Honours:
    """What becomes of temperature and seed."""
    drawn = [await _text(ask, *body(OPEN, {**HOT, "seed": seed})) for seed in SEEDS]
    if None in drawn:
        return {"temperature": "refused", "seed": "refused"}
    if not any(drawn):  # a thought that the server keeps to itself is all that comes of so few tokens
        return {"temperature": "not shown", "seed": "not shown"}
    if len(set(drawn)) > 1:
        again = await _text(ask, *body(OPEN, {**HOT, "seed": SEEDS[0]}))
        return {"temperature": "honoured", "seed": "honoured" if drawn[0] == again else "ignored"}
    greedy = await _text(ask, *body(OPEN, {**HOT, "temperature": 0.0}))
    if drawn[0] == greedy:
        return {"temperature": "ignored", "seed": "not shown"}
    return {"temperature": "honoured", "seed": "repeated"}


def refusals(honours: Mapping[str, str], samples: bool, omits: Collection[str]) -> list[str]:
    """What of it gives a study other answers than it asks for. `samples`: at a temperature above 0; `omits`:
    parameters that it leaves to the server."""
    found = []
    if "temperature" not in omits:
        if samples and honours["temperature"] in ("ignored", "refused"):
            found.append(f"a temperature is {honours['temperature']}")
        if honours["greedy"] == "ignored":
            found.append(
                "a text at temperature 0 is not made of the likeliest tokens, so that it is drawn, or "
                "something is added to the logits, such as a repetition penalty"
            )
    if samples and honours["seed"] == "repeated":
        found.append("every seed draws the same answer")
    if honours["max_tokens"] == "ignored" and "max_tokens" not in omits:
        found.append("max_tokens is ignored")
    return found


TokenSteps = list[tuple[float, float]]
"""For each token that was generated its log-probability and that of the likeliest token there (nats)."""


def with_logprobs(path: str) -> dict[str, Any]:
    """What a generation is asked besides, so that its tokens have log-probabilities."""
    return {"logprobs": True, "top_logprobs": 1} if _is_chat(path) else {"logprobs": 1}


def steps_of(document: Mapping[str, Any]) -> TokenSteps | None:
    """How likely the tokens are that a response generated, in either of the protocol's forms; None where it
    does not say."""
    try:
        said = document["choices"][0]["logprobs"]
        if "content" in said:
            rows = [
                (row["logprob"], [top["logprob"] for top in row["top_logprobs"]]) for row in said["content"]
            ]
        else:
            tops = said["top_logprobs"]
            rows = [
                (value, list(top.values())) for value, top in zip(said["token_logprobs"], tops, strict=True)
            ]
        return [(float(value), float(max(top))) for value, top in rows] or None
    except (LookupError, TypeError, AttributeError, ValueError):
        return None


def _apart(steps: TokenSteps) -> float:
    """How much less likely than the likeliest one a token is at most (nats)."""
    return max(best - value for value, best in steps)


def _is_chat(path: str) -> bool:
    return path.startswith("/chat")


async def _ask(ask: PostJson, path: str, body: dict[str, Any]) -> wire.ParsedReply:
    return wire.read(await ask(path, body), _is_chat(path))


async def _text(ask: PostJson, path: str, body: dict[str, Any]) -> str | None:
    try:
        return (await _ask(ask, path, body)).text
    except RequestError as error:
        if error.kind != "bad_request":
            raise
        return None


def _within(reply: wire.ParsedReply, most: int) -> str:
    written = reply.usage.get("completion_tokens")
    if written is None:
        return "not shown"
    return "honoured" if written <= most + reply.usage.get("reasoning_tokens", 0) else "ignored"
