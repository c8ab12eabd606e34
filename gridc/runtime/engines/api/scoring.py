"""Likelihoods of given candidates, where an endpoint proves that it scores given tokens.

`/completions` with `echo` and `logprobs` returns the log-probability of every token of a text behind those
before it. Servers differ in whether they do, and some return something else under that name, so the endpoint
is tried first: the numbers must belong to the given text, be the same wherever the same text begins, and add
up to more for what the model itself writes than for noise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gridc.runtime.engines.api import wire
from gridc.runtime.engines.api.failures import RequestError
from gridc.runtime.engines.api.probe import PostJson

TRIAL, NOISE = "The quick brown fox jumps over the lazy dog, and", " %#q zzv ;"
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


async def prove(ask: PostJson, model: str) -> dict[str, Any]:
    """Try the endpoint. Raises `NotProvedError` with what is wrong, and `RequestError`."""
    greedy: dict[str, Any] = {"model": model, "prompt": TRIAL, "max_tokens": 4, "temperature": 0.0}
    try:
        text = (await ask("/completions", greedy))["choices"][0]["text"]
    except (LookupError, TypeError):
        raise NotProvedError("it completes no plain text") from None
    except RequestError as error:
        if error.kind in ("bad_request", "no_model"):
            raise NotProvedError("it completes no plain text") from None
        raise
    if not isinstance(text, str) or len(text) > greedy["max_tokens"] * wire.MOST_CHARACTERS:
        raise NotProvedError("it completes no plain text")
    written = wire.whole(text)
    own, other = TRIAL + written, TRIAL + NOISE
    try:
        scored = [await score(ask, model, text) for text in (own, other, TRIAL)]
    except RequestError as error:
        if error.kind == "bad_request":
            raise NotProvedError(f"it refuses to score a given text: {error.message}") from None
        raise
    shared = min(len(logprobs.tokens) for logprobs in scored) - 2
    for number in range(1, max(shared, 1)):
        values = [logprobs.tokens[number][2] or 0.0 for logprobs in scored]
        if max(values) - min(values) > TOLERANCE:
            raise NotProvedError("the same beginning has other log-probabilities in another text")
    means = [
        total / max(count, 1) for total, count in (logprobs.behind(len(TRIAL)) for logprobs in scored[:2])
    ]
    if written.strip() and not means[0] > means[1]:
        raise NotProvedError("what the model writes itself is no more likely to it than noise")
    return {"scores_given_tokens": True, "own_text": round(means[0], 3), "noise": round(means[1], 3)}


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
