"""Likelihoods of given candidates, where an endpoint proves that it scores given tokens.

`/completions` with `echo` and `logprobs` returns the log-probability of every token of a text behind those
before it. Servers differ in whether they do, and some return something else under that name, so the endpoint
is tried first: the numbers must belong to the given text and stand at their own tokens, be the same wherever
the same text begins, and add up to more for what the model itself writes than for noise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any

from gridc.runtime.engines.api import wire
from gridc.runtime.engines.api.failures import RequestError
from gridc.runtime.engines.api.probe import (
    CLOSE,
    TRIAL,
    AskedAs,
    PostJson,
    TokenSteps,
    steps_of,
    with_logprobs,
)

NOISE = " %#q zzv ;"
WRITTEN = 4
"""Tokens that are generated to be scored: fewer than `NOISE` has, so that the two texts differ in length."""

TOLERANCE = 1e-2
"""Nats that a token's log-probability may differ between two requests: batch shapes move it."""

MOST_NATS = 1e6
"""No model finds a token this unlikely: what is below, or infinite, is no log-probability but a mark."""


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """The tokens of a text as (where it begins, where it ends, log-probability); the first has none."""

    tokens: tuple[tuple[int, int, float | None], ...]

    def behind(self, place: int) -> tuple[float, int]:
        """The sum over the tokens that begin at or behind a place (in characters), and how many they are."""
        values = [value for start, _, value in self.tokens if start >= place]
        return sum(value for value in values if value is not None), len(values)


class NotProvedError(Exception):
    """The endpoint does not score given tokens, and this is how it shows."""


def body_of(model: str, text: str) -> dict[str, Any]:
    """One token is generated, because some servers refuse to generate none; it is not looked at."""
    return {"model": model, "prompt": text, "max_tokens": 1, "temperature": 0.0, "echo": True, "logprobs": 1}


async def score(ask: PostJson, model: str, text: str) -> TokenLogprobs:
    """Raises `RequestError`, and `NotProvedError` where the response scores another text."""
    return read(await ask("/completions", body_of(model, text)), text)


def read(document: Mapping[str, Any], text: str) -> TokenLogprobs:
    try:
        said = document["choices"][0]["logprobs"]
        pieces, values, places = said["tokens"], said["token_logprobs"], said["text_offset"]
    except (LookupError, TypeError):
        raise NotProvedError("it returns no log-probabilities of the prompt's tokens") from None
    if not (_all(pieces, str) and _all(places, int) and isinstance(values, list)):
        raise NotProvedError("its tokens are no texts, or their places no whole numbers")
    if not pieces or not len(pieces) == len(values) == len(places):
        raise NotProvedError("its tokens, their places and their log-probabilities differ in number")
    rows = [(place, value) for place, value in zip(places, values, strict=True) if place < len(text)]
    given = "".join(piece for piece, place in zip(pieces, places, strict=True) if place < len(text))
    if given != text:
        raise NotProvedError("the tokens that it scores are not those of the text that was given")
    if not rows or rows[0][0] != 0 or any(a > b for (a, _), (b, _) in pairwise(rows)):
        raise NotProvedError("the places of its tokens are not in the order of the text")
    if rows[0][1] is not None and not _is_log_probability(rows[0][1]):
        raise NotProvedError("the first token has a log-probability that is none")
    if not all(_is_log_probability(value) for _, value in rows[1:]):
        raise NotProvedError("a token of the given text has no log-probability")
    ends = [*(place for place, _ in rows[1:]), len(text)]
    return TokenLogprobs(tuple((start, end, value) for (start, value), end in zip(rows, ends, strict=True)))


def _all(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(type(value) is kind for value in values)


def _is_log_probability(value: Any) -> bool:
    """A finite number, not above zero but for rounding."""
    return type(value) in (int, float) and -MOST_NATS < value <= TOLERANCE


async def prove(ask: PostJson, body: AskedAs, model: str) -> dict[str, Any]:
    """Try the endpoint. Raises `NotProvedError` with what is wrong, and `RequestError`."""
    text, steps = await _written(ask, body)
    if not isinstance(text, str) or len(text) > WRITTEN * wire.MOST_CHARACTERS:
        raise NotProvedError("it completes no plain text")
    written = wire.whole(text)
    texts = TRIAL + written, TRIAL + NOISE
    try:
        own, other = scored = [await score(ask, model, text) for text in texts]
    except RequestError as error:
        if error.kind == "bad_request":
            raise NotProvedError(f"it refuses to score a given text: {error.message}") from None
        raise
    rows = [
        [(start, text[start:end], value) for start, end, value in logprobs.tokens]
        for text, logprobs in zip(texts, scored, strict=True)
    ]
    alike = list(takewhile(lambda pair: pair[0][:2] == pair[1][:2], zip(*rows, strict=False)))
    for (_, _, one), (_, _, again) in alike[1:]:
        if abs((one or 0.0) - (again or 0.0)) > TOLERANCE:
            raise NotProvedError("the same beginning has other log-probabilities in another text")
    means = [total / max(count, 1) for total, count in (own.behind(len(TRIAL)), other.behind(len(TRIAL)))]
    if written.strip() and not means[0] > means[1]:
        raise NotProvedError("what the model writes itself is no more likely to it than noise")
    parted = [[value or 0.0 for _, _, value in row[len(alike) :]] for row in rows]
    if all(parted):
        begun = parted and rows[0][len(alike)][0] == rows[1][len(alike)][0] == len(TRIAL)
        require_place(parted[0], parted[1], steps if begun else None)
    return {"scores_given_tokens": True, "own_text": round(means[0], 3), "noise": round(means[1], 3)}


async def _written(ask: PostJson, body: AskedAs) -> tuple[Any, TokenSteps | None]:
    """What the endpoint writes behind `TRIAL`, and how likely its tokens are where it says so. Raises
    `NotProvedError` and `RequestError`."""
    path, greedy = body(TRIAL, {"max_tokens": WRITTEN, "temperature": 0.0})
    for asked in (greedy | with_logprobs(path), greedy):
        try:
            document = await ask(path, asked)
            return document["choices"][0]["text"], steps_of(document)
        except (LookupError, TypeError):
            break
        except RequestError as error:
            if error.kind not in ("bad_request", "no_model"):
                raise
    raise NotProvedError("it completes no plain text")


def require_place(own: Sequence[float], other: Sequence[float], steps: TokenSteps | None) -> None:
    """Raise `NotProvedError` where log-probabilities do not stand at their own tokens.

    `own` and `other` are those of what the model writes and of noise, from the first token in which the two
    differ; `steps` is what the endpoint said of its own tokens when it generated them, where it did. A number
    that belongs to the token before is the same in both; one that belongs to the token behind has parted them
    too early."""
    if abs(own[0] - other[0]) <= TOLERANCE:
        raise NotProvedError("two tokens behind the same text are equally likely, as if moved by a place")
    if steps and len(steps) - len(own) in (0, 1) and abs(own[0] - steps[0][0]) > CLOSE:
        raise NotProvedError(
            "a token has another log-probability where it is given than where it is generated"
        )


def rank(
    prompt: TokenLogprobs, candidates: Sequence[TokenLogprobs], text: str, context_length: bool
) -> dict[str, Any]:
    """The log-likelihood of each candidate (nats) and its number of tokens.

    They begin behind the tokens that the prompt and all candidates share, or at the prompt's length (without
    its trailing space), as the study's `seam` says.
    """
    if context_length:
        place = len(text.rstrip())
    else:
        spans = [[(start, end) for start, end, _ in logprobs.tokens] for logprobs in (prompt, *candidates)]
        shared = 0
        while all(shared < len(row) and row[shared] == spans[0][shared] for row in spans):
            shared += 1
        place = min(row[shared][0] if shared < len(row) else len(text) for row in spans)
    scored = [candidate.behind(place) for candidate in candidates]
    return {"loglikelihoods": [total for total, _ in scored], "tokens": [count for _, count in scored]}
