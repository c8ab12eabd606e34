"""Prompts as tokens: where a server's weights are known, the very tokens that the local engine would ask.

OpenAI's `/completions` takes a prompt as token ids. How likely given tokens are each server says in its own
way, which is a row of `SCORERS`; the endpoint is tried before it is believed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import inf, isfinite
from statistics import fmean
from typing import TYPE_CHECKING, Any

from gridc.compiler.lowering.calls import Prompt
from gridc.runtime.engines.api import wire
from gridc.runtime.engines.api.failures import RequestError
from gridc.runtime.engines.api.probe import (
    TRIAL,
    AskedAs,
    PostJson,
    ScoreAnswer,
    TokenSteps,
    steps_of,
    with_logprobs,
)
from gridc.runtime.engines.api.scoring import (
    MOST_NATS,
    NOISE,
    TOLERANCE,
    WRITTEN,
    NotProvedError,
    require_place,
)
from gridc.runtime.engines.hf.trie import common_prefix
from gridc.runtime.engines.protocol import Call
from gridc.schema.provider import Server

if TYPE_CHECKING:  # the libraries of local models load when the first prompt is divided
    from gridc.runtime.engines.hf.prompts import Form, Prompts
    from gridc.runtime.engines.hf.sequences import Member

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


def candidates(prompts: "Prompts", call: Call) -> "list[Member]":
    """What a ranking asks, by candidate: its tokens and those that it stands behind. Raises `HazardError`."""
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


def ranked(scores: Sequence[Sequence[Score]]) -> dict[str, Any]:
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
        return wire.body_of(model, Prompt((), False), asked, server, omits, _ids(prompts, text))

    return body


def given_again(ask: PostJson, prompts: "Prompts", model: str, server: Server) -> ScoreAnswer:
    """What asks how likely the tokens of an answer to `TRIAL` are when they are given. llama.cpp is not
    asked: it says so of generated tokens before anything was done to the logits."""

    async def scored(reply: wire.ParsedReply) -> TokenSteps | None:
        begun, whole = _ids(prompts, TRIAL), _ids(prompts, TRIAL + reply.text)
        start, written = len(begun), reply.usage.get("completion_tokens", 0)
        # Divided anew, a text may have other tokens than the model wrote, but hardly as many (and an end).
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


async def prove(
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
        own = _ids(prompts, TRIAL + (wire.whole(written) or NOISE))
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
