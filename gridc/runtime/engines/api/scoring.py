"""Finds which parameters an endpoint honours, and has it score candidates once it proves that it can.

What an endpoint honours is found by asking it in the way in which the study will. A server may take a
parameter and do nothing with it, or sample with one that nobody stated, and it may do so on one endpoint
only: `transformers serve` takes a temperature without an error, and answers greedily once. No documentation
says so, and a study would report replicates that are one answer. Six short requests to each endpoint that the
study asks for texts show it before the first call; seven where logprobs are refused, or where given tokens
are scored besides.

`/completions` with `echo` and `logprobs` returns the log-probability of every token of a text behind those
before it. Servers differ: some do not, and some return something else under that name. So the endpoint
is tried first: the numbers must belong to the given text and stand at their own tokens, be the same wherever
the same text begins, and add up to more for what the model itself writes than for noise.

Where a server's weights are known, prompts are the very tokens that the local engine would ask: OpenAI's
`/completions` takes a prompt as token ids. How likely given tokens are each server says in its own way, which
is a row of `SCORERS`.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, takewhile
from math import inf, isfinite
from statistics import fmean
from typing import TYPE_CHECKING, Any

from gridc.compiler.lowering.calls import Prompt
from gridc.runtime.engines.api import wire
from gridc.runtime.engines.api.wire import RequestError
from gridc.runtime.engines.hf.sequences import common_prefix
from gridc.runtime.engines.protocol import Call
from gridc.schema.models import Server

if TYPE_CHECKING:
    from gridc.runtime.engines.hf.prompts import Form, Prompts
    from gridc.runtime.engines.hf.sequences import Member


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
likeliest tokens. `finish_reason` is there alone where it is never given."""

NEVER_GIVEN = "never given"
"""What is found of `finish_reason` where none of the first answers has one."""


ScoreAnswer = Callable[[wire.ParsedReply], Awaitable["TokenSteps | None"]]
"""How likely the tokens of an answer are behind `TRIAL` where they are given, not generated; None where that
cannot be known."""


async def probe(ask: PostJson, body: AskedAs, scored: ScoreAnswer | None = None) -> Honours:
    """What an endpoint does with each parameter. Where it does not answer at all the first request raises
    `RequestError`; later ones find out what they can."""
    long, steps = await _greedy(ask, body)
    short = await _ask(ask, *body(TRIAL, {"max_tokens": FEW, "temperature": 0.0}))
    apart = None if steps is None else _likelihood_gap(steps) > TIE
    if not apart and scored is not None and (given := await scored(long)):
        apart = (
            _likelihood_gap(given) > CLOSE
        )  # some say how likely a token is after they have changed the logits
    greedy = "not shown" if apart is None else "ignored" if apart else "honoured"
    ends = {} if long.end or short.end else {"finish_reason": NEVER_GIVEN}
    return {"max_tokens": _within(short, FEW), "greedy": greedy, **await _draws(ask, body), **ends}


async def _greedy(ask: PostJson, body: AskedAs) -> "tuple[wire.ParsedReply, TokenSteps | None]":
    """A greedy answer, and how likely its tokens are where the endpoint says so."""
    path, asked = body(TRIAL, {"max_tokens": MANY, "temperature": 0.0})
    try:
        document = await ask(path, asked | with_logprobs(path))
    except RequestError as error:
        if error.kind != "bad_request":
            raise
        document = await ask(path, asked)
    return wire.read_completion(document, _is_chat(path)), steps_of(document)


async def _draws(ask: PostJson, body: AskedAs) -> Honours:
    """Whether the endpoint honours temperature and seed."""
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


def _likelihood_gap(steps: TokenSteps) -> float:
    """How much less likely than the likeliest one a token is at most (nats)."""
    return max(best - value for value, best in steps)


def _is_chat(path: str) -> bool:
    return path.startswith("/chat")


async def _ask(ask: PostJson, path: str, body: dict[str, Any]) -> wire.ParsedReply:
    return wire.read_completion(await ask(path, body), _is_chat(path))


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


NOISE = " %#q zzv ;"
WRITTEN = 4
"""Tokens that are generated to be scored: fewer than `NOISE` has, so that the two texts differ in length."""

TOLERANCE = 1e-2
"""Nats that a token's log-probability may differ between two requests: batch shapes move it."""

MOST_NATS = 1e6
"""No model finds a token this unlikely: what is below, or infinite, is not a log-probability but a mark."""


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


def scoring_body(model: str, text: str) -> dict[str, Any]:
    """One token is generated, because some servers refuse to generate none; it is not looked at."""
    return {"model": model, "prompt": text, "max_tokens": 1, "temperature": 0.0, "echo": True, "logprobs": 1}


async def score_text(ask: PostJson, model: str, text: str) -> TokenLogprobs:
    """Raises `RequestError`, and `NotProvedError` where the response scores another text."""
    return read_logprobs(await ask("/completions", scoring_body(model, text)), text)


def read_logprobs(document: Mapping[str, Any], text: str) -> TokenLogprobs:
    try:
        said = document["choices"][0]["logprobs"]
        pieces, values, places = said["tokens"], said["token_logprobs"], said["text_offset"]
    except (LookupError, TypeError):
        raise NotProvedError("it returns no log-probabilities of the prompt's tokens") from None
    if not (_all_of_kind(pieces, str) and _all_of_kind(places, int) and isinstance(values, list)):
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


def _all_of_kind(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(type(value) is kind for value in values)


def _is_log_probability(value: Any) -> bool:
    """A finite number, not above zero but for rounding."""
    return type(value) in (int, float) and -MOST_NATS < value <= TOLERANCE


async def prove_endpoint(ask: PostJson, body: AskedAs, model: str) -> dict[str, Any]:
    """Try the endpoint. Raises `NotProvedError` with what is wrong, and `RequestError`."""
    text, steps = await _written(ask, body)
    if not isinstance(text, str) or len(text) > WRITTEN * wire.MOST_CHARACTERS:
        raise NotProvedError("it completes no plain text")
    written = wire.valid_unicode(text)
    texts = TRIAL + written, TRIAL + NOISE
    try:
        own, other = scored = [await score_text(ask, model, text) for text in texts]
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

    They begin after the tokens that the prompt and all candidates share, or at the prompt's length (without
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


Ids = Sequence[int]

Score = tuple[float, bool]
"""The log-probability of a given token (nats), and whether it was the most likely one."""

ScoreRequest = tuple[dict[str, Any], Callable[[Mapping[str, Any]], list[Score]]]
"""The body of a request to `/completions`, and what reads the scores of some tokens from its response, which
raises `NotProvedError`."""

FORCED = 1e9
"""Added to a token's logit: the token is chosen, whatever else the model prefers."""

LOWEST = -9_999.0
"""What vLLM says in place of minus infinity, which JSON has not."""


def asked_forms(prompts: "Prompts", call: Call) -> "list[Form]":
    """The prompt of a call as it is asked, and as it is where the server has no room for that: with fewer and
    fewer exemplars. Raises `HazardError` where the model itself has no room, unless the call `may_fail`."""
    from gridc.runtime.engines.hf.prompts import NoRoomError

    forms = [
        prompts.form(form, dropped, not call.may_fail) for dropped, form in enumerate(call.prompt.forms())
    ]
    try:
        return forms[prompts.fitting(call, forms)[0].dropped :]
    except NoRoomError:
        if not call.may_fail:
            raise
        return forms[-1:]


def ranking_members(prompts: "Prompts", call: Call) -> "list[Member]":
    """What a ranking asks, by candidate: its tokens and those that it follows. Raises `HazardError`."""
    forms = [prompts.form(form, dropped) for dropped, form in enumerate(call.prompt.forms())]
    return prompts.fitting(call, forms)


def score_requests(server: Server, model: str, prompt: Ids, given: Ids) -> Iterator[ScoreRequest]:
    """What is asked, one after another, for the scores of the tokens `given` behind a prompt."""
    for body, read in SCORERS[server](prompt, given):
        stated = {**wire.NEUTRAL, **wire.DIALECTS[server], "max_tokens": 1, "temperature": 0.0}
        yield {"model": model, **stated, **body}, read


def _by_prompt_logprobs(prompt: Ids, given: Ids) -> Iterator[ScoreRequest]:
    """vLLM: `prompt_logprobs` has a table for each token of the prompt, by token id."""
    yield {"prompt": [*prompt, *given], "prompt_logprobs": 0}, partial(_of_prompt, len(prompt), given)


def _of_prompt(start: int, given: Ids, document: Mapping[str, Any]) -> list[Score]:
    rows = _choice(document).get("prompt_logprobs")
    if not isinstance(rows, list) or len(rows) != start + len(given):
        raise NotProvedError("it returns no log-probability for each token of the prompt")
    scores = []
    for token, row in zip(given, rows[start:], strict=True):
        entry = row.get(str(token)) if isinstance(row, Mapping) else None
        if not isinstance(entry, Mapping):
            raise NotProvedError("the tokens that it scores are not those that were given")
        scores.append((_log_probability(entry.get("logprob")), entry.get("rank") == 1))
    return scores


def _by_echo(prompt: Ids, given: Ids) -> Iterator[ScoreRequest]:
    """SGLang: `echo` with `logprobs` has a number for each token of the prompt, and the likeliest beside."""
    body = {"prompt": [*prompt, *given], "echo": True, "logprobs": 1}
    yield body, partial(_of_echo, len(prompt), len(given))


def _of_echo(start: int, given: int, document: Mapping[str, Any]) -> list[Score]:
    said = _choice(document).get("logprobs")
    if not isinstance(said, Mapping):
        raise NotProvedError("it returns no log-probability for each token of the prompt")
    values, tops = said.get("token_logprobs"), said.get("top_logprobs")
    if (
        not isinstance(values, list)
        or not isinstance(tops, list)
        or not len(values) == len(tops) > start + given
    ):
        raise NotProvedError("it returns no log-probability for each token of the prompt")
    scores = []
    for value, top in zip(values[start:][:given], tops[start:][:given], strict=True):
        best = max(top.values(), default=inf) if isinstance(top, Mapping) else inf
        scores.append((_log_probability(value), value is not None and value >= best))
    return scores


def _by_forcing(prompt: Ids, given: Ids) -> Iterator[ScoreRequest]:
    """llama.cpp says of a token that it generates how likely it was before anything was done to the logits.
    So each given token is forced behind those before it, one request for each."""
    for number, token in enumerate(given):
        body = {"prompt": [*prompt, *given[:number]], "logprobs": 1, "logit_bias": [[token, FORCED]]}
        yield body, partial(_of_forced, token)


def _of_forced(token: int, document: Mapping[str, Any]) -> list[Score]:
    said = _choice(document).get("logprobs")
    rows = said.get("content") if isinstance(said, Mapping) else None
    row = rows[0] if isinstance(rows, list) and rows else None
    if not isinstance(row, Mapping) or "logprob" not in row:
        raise NotProvedError(
            f"it returns no log-probability of the token {token} that it generates (llama.cpp has none of a "
            "token that is a part of a character)"
        )
    if row.get("id") != token:
        raise NotProvedError("it does not generate the token that it is told to")
    tops = row.get("top_logprobs")
    best = tops[0].get("id") if isinstance(tops, list) and tops and isinstance(tops[0], Mapping) else None
    return [(_log_probability(row["logprob"]), best == token)]


SCORERS: Mapping[Server, Callable[[Ids, Ids], Iterator[ScoreRequest]]] = {
    "vllm": _by_prompt_logprobs,
    "sglang": _by_echo,
    "llama.cpp": _by_forcing,
}
"""By `server`: how the tokens given behind a prompt are scored."""


def _choice(document: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        raise NotProvedError("the response holds no choice")
    return choice


def _log_probability(value: Any) -> float:
    """A log-probability; minus infinity of what is impossible."""
    if type(value) not in (int, float) or not value <= TOLERANCE:
        raise NotProvedError("a given token has no log-probability")
    return -inf if value == LOWEST or value < -MOST_NATS else float(value)


def ranking_answer(scores: Sequence[Sequence[Score]]) -> dict[str, Any]:
    """The answer to a ranking, from the scores of each candidate's tokens."""
    sums = [sum(value for value, _ in candidate) for candidate in scores]
    return {
        "loglikelihoods": [total if isfinite(total) else None for total in sums],
        "tokens": [len(candidate) for candidate in scores],
        "greedy": [all(likeliest for _, likeliest in candidate) for candidate in scores],
    }


def _ids(prompts: "Prompts", text: str) -> tuple[int, ...]:
    return prompts.encode([text], Prompt((("user", text),), False))[0]


def asked_as(prompts: "Prompts", model: str, server: Server, omits: frozenset[str]) -> AskedAs:
    """How a generation from the tokens of a text is asked."""

    def body(text: str, asked: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        return wire.generation_body(model, Prompt((), False), asked, server, omits, _ids(prompts, text))

    return body


def given_again(ask: PostJson, prompts: "Prompts", model: str, server: Server) -> ScoreAnswer:
    """What asks how likely the tokens of an answer to `TRIAL` are when they are given. llama.cpp is not
    asked: it says so of generated tokens before anything was done to the logits."""

    async def scored(reply: wire.ParsedReply) -> TokenSteps | None:
        begun, whole = _ids(prompts, TRIAL), _ids(prompts, TRIAL + reply.text)
        start, written = len(begun), reply.usage.get("completion_tokens", 0)
        # Divided again, a text may have other tokens than the model wrote, but hardly as many (and an end).
        if server not in _LIKELIEST or whole[:start] != begun or written - len(whole) + start not in (0, 1):
            return None
        (body, _), *_ = score_requests(server, model, begun, whole[start:])
        try:
            choice = _choice(
                await ask("/completions", body | {"prompt_logprobs": 1} if server == "vllm" else body)
            )
            return _LIKELIEST[server](choice, whole, start) or None
        except RequestError as error:
            if error.kind != "bad_request":
                raise
            return None
        except (LookupError, TypeError, AttributeError, ValueError, NotProvedError):
            return None

    return scored


def _of_rows(choice: Mapping[str, Any], whole: Ids, start: int) -> TokenSteps:
    rows = zip(whole[start:], choice["prompt_logprobs"][start:], strict=True)
    return [
        (row[str(token)]["logprob"], max(each["logprob"] for each in row.values())) for token, row in rows
    ]


def _of_lists(choice: Mapping[str, Any], whole: Ids, start: int) -> TokenSteps:
    said, part = choice["logprobs"], slice(start, len(whole))
    pairs = zip(said["token_logprobs"][part], said["top_logprobs"][part], strict=True)
    return [(value, max(top.values())) for value, top in pairs]


_LIKELIEST: Mapping[Server, Callable[[Mapping[str, Any], Ids, int], TokenSteps]] = {
    "vllm": _of_rows,
    "sglang": _of_lists,
}


async def prove_tokens(
    ask: PostJson, body: AskedAs, model: str, server: Server, prompts: "Prompts"
) -> dict[str, Any]:
    """Try whether the endpoint takes tokens and scores given ones. Raises `NotProvedError` with what is
    wrong, and `RequestError`."""

    async def score(prompt: Ids, given: Ids) -> list[Score]:
        return [
            score
            for request, read in score_requests(server, model, prompt, given)
            for score in read(await ask("/completions", request))
        ]

    path, greedy = body(TRIAL, {"max_tokens": WRITTEN, "temperature": 0.0})
    try:
        document = await ask(path, greedy | with_logprobs(path))
        written = _choice(document).get("text")
        if not isinstance(written, str) or len(written) > WRITTEN * wire.MOST_CHARACTERS:
            raise NotProvedError("it completes no prompt of tokens")
        own = _ids(prompts, TRIAL + (wire.valid_unicode(written) or NOISE))
        other = _ids(prompts, TRIAL + NOISE)
        shared = common_prefix([own, other])
        start = max(shared - 3, 1)
        scored = [await score(whole[:start], whole[start:]) for whole in (own, other)]
    except RequestError as error:
        if error.kind in ("bad_request", "no_model"):
            raise NotProvedError(f"it refuses a prompt of tokens: {error.message}") from None
        raise
    for (one, _), (again, _) in zip(*(scores[: shared - start] for scores in scored), strict=True):
        if abs(one - again) > TOLERANCE:
            raise NotProvedError("the same beginning has other log-probabilities in another text")
    behind = [[value for value, _ in scores[shared - start :]] for scores in scored]
    means = [fmean(values or [0.0]) for values in behind]
    if own != other and not means[0] > means[1]:
        raise NotProvedError("what the model writes itself is no more likely to it than noise")
    if all(behind) and own != other:
        steps = steps_of(document) if shared == len(_ids(prompts, TRIAL)) else None
        require_place(behind[0], behind[1], steps)
    return {"scores_given_tokens": True, "own_text": round(means[0], 3), "noise": round(means[1], 3)}
