"""Translates calls into requests of the OpenAI protocol, and responses into answers or errors. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Any, Literal, NoReturn

from gridc.compiler.inputs.finish_reasons import CALLING, FAILURE, AnswerEnd, reason_in
from gridc.compiler.lowering.calls import Prompt
from gridc.schema.canonical import each_key_once
from gridc.schema.models import Server, switched

Then = Literal["again", "later", "final", "held", "stop"]
"""What follows from a failure: ask again; ask again when the endpoint allows it; the call has failed for
good; the call has failed for good if the endpoint answers others; the run stops."""


@dataclass(frozen=True, slots=True)
class FailureKind:
    """`paid` says whether the provider may count the request, `code` is the diagnostic of one that stops."""

    what: str
    then: Then
    paid: Literal["no", "possibly"]
    code: str | None = None


FAILURES: Mapping[str, FailureKind] = {
    "rate_limit": FailureKind("the endpoint asks to wait", "later", "no"),
    "server_error": FailureKind("the endpoint failed", "again", "possibly"),
    "timeout": FailureKind("no whole answer came in time", "again", "possibly"),
    "cut": FailureKind("the connection broke", "again", "possibly"),
    "unreadable": FailureKind("the response is not what the protocol says", "again", "possibly"),
    "too_large": FailureKind("the response is larger than any answer", "again", "possibly"),
    "too_long": FailureKind(
        "the answer is far longer than `max_tokens` allows", "again", "possibly", "GC647"
    ),
    "elsewhere": FailureKind(
        "a request was not for the host of the model, and did not leave", "stop", "no", "GC645"
    ),
    "long_wait": FailureKind("the endpoint asks to wait too long", "stop", "no", "GC646"),
    "redirect": FailureKind("the endpoint points elsewhere, and is not followed", "again", "no"),
    "content_filter": FailureKind("the provider's filter withheld the answer", "final", "possibly"),
    "unknown_end": FailureKind(
        "the answer ended for no reason that gridc knows, so it may not be whole", "held", "possibly"
    ),
    "context_length": FailureKind("the prompt is longer than the model takes", "final", "no"),
    "missing": FailureKind("the batch ended without a line for the call", "again", "possibly"),
    "expired": FailureKind("the batch ended before the call was asked", "again", "no"),
    "queue_full": FailureKind("the provider takes no further batch now", "later", "no"),
    "not_submitted": FailureKind("the batch did not get to the provider", "again", "no"),
    "batch_failed": FailureKind("the provider did not take the batch", "stop", "no", "GC640"),
    "cancelled": FailureKind("the batch was cancelled at the provider", "stop", "no", "GC640"),
    "bad_request": FailureKind("the endpoint refuses the request", "held", "no"),
    "schema": FailureKind("the endpoint does not take a JSON Schema of the response", "stop", "no", "GC655"),
    "thinking": FailureKind("the endpoint does not take what `thinking` says", "stop", "no", "GC653"),
    "unreachable": FailureKind("the host cannot be reached", "again", "no", "GC633"),
    "tls": FailureKind("the host's certificate is not trusted", "stop", "no", "GC633"),
    "key": FailureKind("the key is refused", "stop", "no", "GC632"),
    "quota": FailureKind("the account has nothing left to spend", "stop", "no", "GC632"),
    "no_model": FailureKind("the endpoint has no such model or path", "stop", "no", "GC634"),
}


class RequestError(Exception):
    """A request that came to no answer. `message` may hold what a server said, without keys."""

    def __init__(
        self, kind: str, message: str, http: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind, self.message, self.http, self.retry_after = kind, message, http, retry_after

    @property
    def rule(self) -> FailureKind:
        return FAILURES[self.kind]


_LONG = re.compile(
    r"context[_ ]length|maximum context|too many (input )?tokens|prompt is too long|input is too long"
    r"|exceeds? the (model'?s )?(context|maximum)|exceed_context",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content[_ ](filter|policy|management)|safety system|responsible ?ai", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"model.{0,80}(not (found|exist|supported)|does not exist)|no such (model|path)", re.IGNORECASE
)
_QUOTA = re.compile(
    r"insufficient_quota|credit balance|billing|payment required|exceeded your current quota", re.I
)


_THINKING = re.compile(
    r"reasoning[_. ]?effort|thinking[_. ]?(token[_. ])?budget|budget_tokens|enable[_-]strict[_-]thinking"
    r"|reasoning\.(effort|max_tokens)|reasoning[_-]config",
    re.IGNORECASE,
)
"""What is named where an effort or a budget of thought is refused (OpenAI, Anthropic, Mistral, vLLM, SGLang,
OpenRouter). It is refused to every call alike, so that a level of it would have no answer at all."""

_SCHEMA = re.compile(r"response[_ ]?format|json[_ ]?schema|structured[_ ]output|guided[_ ]", re.IGNORECASE)
"""What is named where a JSON Schema of the response is refused, to every call alike."""


def failure_of_status(status: int, headers: Mapping[str, str], body: str) -> RequestError:
    """The failure that a status other than 200 stands for. `body` is the beginning of the response."""
    text = _server_message(body)
    if 300 <= status < 400:
        return RequestError("redirect", "the response is a redirect", status)
    if status == 429 and not _QUOTA.search(body):
        return RequestError("rate_limit", text, status, retry_seconds(headers.get("retry-after")))
    kind = _kind(status, body)
    return RequestError(kind, text, status, retry_seconds(headers.get("retry-after")))


def _kind(status: int, body: str) -> str:
    if status in (402, 429):
        return "quota"
    if status in (401, 403):
        return "content_filter" if status == 403 and _FILTERED.search(body) else "key"
    if status == 404 or (status == 400 and _NO_MODEL.search(body)):
        return "no_model"
    if status in (408, 504):
        return "timeout"
    if status >= 500 or status in (409, 425):
        return "server_error"
    if status in (400, 422) and _THINKING.search(body):
        return "thinking"
    if status in (400, 422) and _SCHEMA.search(body):
        return "schema"
    if status == 413 or _LONG.search(body):
        return "context_length"
    return "content_filter" if _FILTERED.search(body) else "bad_request"


def _server_message(body: str) -> str:
    """What the server says, as far as it fits a line."""
    import json

    try:
        document: Any = json.loads(body)
        error = document.get("error", document)
        text = str(error.get("message", error)) if isinstance(error, dict) else str(error)
    except (ValueError, AttributeError, RecursionError):
        text = body
    return " ".join(text.split())[:300]


def retry_seconds(header: str | None) -> float | None:
    """How long Retry-After says to wait: seconds, or a date (RFC 9110, 10.2.3); None where it says nothing
    that can be read. It may be longer than anybody waits (`session.LONGEST_WAIT`)."""
    if header is None:
        return None
    try:
        wait = float(header)
    except ValueError:
        try:
            wait = (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
        except (OverflowError, TypeError, ValueError):
            return None
    return max(wait, 0.0) if wait == wait else None


NEUTRAL: Mapping[str, Any] = {"top_p": 1.0, "n": 1, "presence_penalty": 0.0, "frequency_penalty": 0.0}
"""What is said beside a call's own parameters, because a server may adopt a model's generation config for
what it is not told."""

DIALECTS: Mapping[str, Mapping[str, Any]] = {
    "openai": {},
    "vllm": {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0},
    "sglang": {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0},
    "llama.cpp": {
        "top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0, "typical_p": 1.0, "top_n_sigma": -1.0,
        "xtc_probability": 0.0, "dry_multiplier": 0.0, "dynatemp_range": 0.0, "mirostat": 0,
        "adaptive_target": -1.0,
    },
}  # fmt: skip
"""By the `server` of a model: what else it samples with, at the value that changes nothing. These names are
not OpenAI's own, and a server that does not know them may refuse them."""

MOST_COUNT = 10**9
"""Tokens that no request comes near: sums of fewer stay whole numbers of JSON, below 2^53."""

MOST_CHARACTERS = 256
"""Characters that a token stands for at most: the longest of the published vocabularies have 128, runs of
white space or of dashes."""

MOST_NAME = 256
"""Characters of a name that a response gives: of a model, a fingerprint, a reason to end. More is no name."""

PER_MESSAGE = 16
"""Tokens that a chat template may add to a message: role, separators, a start."""


PER_FUNCTIONS = 1024
"""Tokens by which a chat template says how functions are called, at most."""
INDENTED = 4
"""How much longer a chat template may write functions than they are in a line: it indents them."""


def asked_parameters(
    call: str, prompt: Prompt, parameters: Mapping[str, Any], server: Server | None, source: str = ""
) -> dict[str, Any]:
    """What the study asks of a generation, in OpenAI's names or, of a `server`, its own. The seed of a
    sampled call is hashed from all that makes it this call, because servers number the answers of
    neighbouring seeds on."""
    asked = {name: parameters[name] for name in ("max_tokens", "temperature", "top_p") if name in parameters}
    if "seed" in parameters:
        asked["seed"] = int(call[:8], 16) & 0x7FFFFFFF
    return {**asked, **(switched(prompt.thinking, server, source) or {})}


def messages_of(prompt: Prompt) -> list[dict[str, str]]:
    return [{"role": role, "content": text} for role, text in prompt.messages]


def tools_of(prompt: Prompt) -> dict[str, Any]:
    """The functions that the model may call, in OpenAI's form; nothing where it has none."""
    functions = json.loads(prompt.functions) if prompt.functions else []
    return {"tools": [{"type": "function", "function": each} for each in functions]} if functions else {}


def schema_of(prompt: Prompt) -> dict[str, Any]:
    """The JSON Schema that a response is held to, in OpenAI's form; nothing where there is none."""
    if not prompt.schema:
        return {}
    schema = {"name": "answer", "strict": True, "schema": json.loads(prompt.schema)}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def generation_body(
    model: str,
    prompt: Prompt,
    asked: Mapping[str, Any],
    server: str,
    omits: frozenset[str],
    tokens: Sequence[int] | None = None,
) -> tuple[str, dict[str, Any]]:
    """The path below the base URL and the body of a generation, of a text or of its `tokens`."""
    stated = {**NEUTRAL, **DIALECTS[server], **asked}
    stated = {name: value for name, value in stated.items() if name not in omits}
    if tokens is not None:
        return "/completions", {"model": model, "prompt": list(tokens), **stated}
    if prompt.chat_template:
        messages = {"messages": messages_of(prompt), **tools_of(prompt), **schema_of(prompt)}
        return "/chat/completions", {"model": model, **messages, **stated}
    return "/completions", {"model": model, "prompt": prompt.plain, **stated}


def with_token_digest(body: Mapping[str, Any]) -> dict[str, Any]:
    """A body whose prompt is tokens, as it is stored: how many they are, and their digest as the local engine
    notes it."""
    tokens: Sequence[int] = body["prompt"]
    return {
        **body,
        "prompt": {"tokens": len(tokens), "sha256": sha256(json.dumps(list(tokens)).encode()).hexdigest()},
    }


def most_tokens(prompt: Prompt, max_tokens: int) -> tuple[int, int]:
    """The most tokens that a call can read and write. A token is at least one byte of the prompt, whatever
    the tokenizer, and a template adds less than `PER_MESSAGE` to a message."""
    read = sum(len(text.encode()) + PER_MESSAGE for _, text in prompt.messages) + PER_MESSAGE
    if prompt.functions:
        read += INDENTED * len(prompt.functions.encode()) + PER_FUNCTIONS
    read += INDENTED * len(prompt.schema.encode())  # some servers write it into the prompt
    return read, max_tokens


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What a response says: the text, whether it is complete or cut (None: no reason is given), whether the
    model declined, the name and fingerprint it gives, the tokens it counts, and how many characters of a
    `thought` stand apart from the text. `problems` says what in it cannot be right."""

    text: str
    end: AnswerEnd | None
    refused: bool
    model: str | None
    fingerprint: str | None
    usage: Mapping[str, int]
    problems: tuple[str, ...] = field(default=())
    thought: int = 0


def of_tokens(reply: ParsedReply, sent: int, opened: str) -> ParsedReply:
    """The reply to a prompt of so many tokens that ends with the tag `opened` of a thought, with which the
    text then begins: without it nobody could see that a cut one never came to its answer."""
    read = reply.usage.get("prompt_tokens", sent)
    other = () if read == sent else (f"{read} tokens of the prompt were counted, {sent} were sent",)
    return replace(reply, text=opened + reply.text, problems=(*reply.problems, *other))


def parse_object(data: bytes) -> dict[str, Any]:
    """The JSON object of a response. Raises `RequestError` (unreadable)."""
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise RequestError("unreadable", f"the response is not JSON ({type(error).__name__})", 200) from None
    if not isinstance(document, dict):
        raise RequestError("unreadable", "the response is not a JSON object", 200)
    return document


def valid_unicode(text: str) -> str:
    """The text with U+FFFD for half a surrogate pair, which has no UTF-8: an emoji that `max_tokens` cut."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def checked_name(value: Any) -> str | None:
    """A name that a response gives, if it is a text. Raises `RequestError` (unreadable)."""
    if not isinstance(value, str):
        return None
    if len(value) > MOST_NAME:
        raise RequestError("unreadable", f"{len(value):,} characters came for a name", 200)
    return valid_unicode(value)


def require_answer(document: Mapping[str, Any]) -> tuple[AnswerEnd | None, str]:
    """How the answer in a response ended, complete or cut, and for which reason; None where it gives none.
    Raises `RequestError` for every other end (content_filter, server_error, unknown_end), and for an error
    that stands beside an answer (server_error)."""
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    for part in (document, first):
        error = part.get("error") if isinstance(part, Mapping) else None
        if any(error.values()) if isinstance(error, Mapping) else error:
            message = error.get("message") or error if isinstance(error, Mapping) else error
            raise RequestError("server_error", " ".join(str(message).split())[:300], 200)
    end, reason = reason_in(document)
    reason = checked_name(reason) or ""
    if end is not None and end in FAILURE:
        raise RequestError(FAILURE[end], _SAID[end].format(reason), 200)
    return end, reason


_SAID: Mapping[AnswerEnd, str] = {
    "refused": "the provider withheld the rest of the answer ({})",
    "failed": "the answer broke off ({})",
    "unknown": "`{}` is in no list of reasons for the end of an answer",
}


def read_completion(
    document: Mapping[str, Any],
    chat: bool,
    calls: bool = False,
    original: Mapping[str, Any] | None = None,
) -> ParsedReply:
    """What a response of /chat/completions or /completions says. Where the model may make `calls` of
    functions the text is JSON, of its content and its calls, whether it makes any or not. `original` is the
    response that a library made the document of. Raises `RequestError` (unreadable, and as
    `require_answer`) where it holds no answer."""
    end, reason = require_answer(document if original is None else original)
    try:
        choices = document["choices"]
        choice = choices[0]
        said = choice["message"] if chat else choice
        content, declined = said.get("content" if chat else "text"), said.get("refusal") if chat else None
        calling = said.get("tool_calls") or said.get("function_call") or reason.casefold() in CALLING
    except (LookupError, TypeError, AttributeError):
        raise RequestError("unreadable", "the response holds no choice", 200) from None
    if calling and not calls:
        raise RequestError("unreadable", "the response calls a function, and none was offered", 200)
    if isinstance(content, list):  # parts, as some servers give them
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    if content is None and isinstance(declined, str):
        content = declined
    called = _calls_of(said.get("tool_calls")) if calls else []
    thought = next((len(text) for name in THOUGHT if isinstance(text := said.get(name), str) and text), 0)
    if content is None and (end == "cut" or called or thought):
        content = ""  # a model that reasons may come to its limit, or end, before it says anything
    if not isinstance(content, str):
        raise RequestError("unreadable", "the choice holds no text", 200)
    if calls:
        content = json.dumps({"content": content, "calls": called}, ensure_ascii=False)
    usage, problems = counted_tokens(document.get("usage"))
    # litellm counts the thought that Anthropic shows, which is a summary, where Anthropic counts none. Some
    # servers, as SGLang 0.5.9, have a zero for what they do not count.
    made_up = original is not None and not _counts_thought(original)
    if made_up or (thought and usage.get("reasoning_tokens") == 0):
        usage.pop("reasoning_tokens", None)
    if len(choices) != 1:
        problems = (*problems, f"{len(choices)} answers came for one that was asked")
    return ParsedReply(
        valid_unicode(content),
        end,
        isinstance(declined, str) and bool(declined),
        checked_name(document.get("model")),
        checked_name(document.get("system_fingerprint")),
        usage,
        problems,
        thought,
    )


def _counts_thought(part: Any) -> bool:
    """Whether a response says of its usage how many tokens are of a thought: `reasoning_tokens`,
    `thinking_tokens` or `thoughtsTokenCount`."""
    if not isinstance(part, Mapping):
        return False
    named = any(type(value) is int and _THOUGHT_TOKENS.fullmatch(key) for key, value in part.items())
    return named or any(
        _counts_thought(value) for key, value in part.items() if key not in ("choices", "content")
    )


_THOUGHT_TOKENS = re.compile(r"(reasoning|thinking|thoughts)_?token(s|count)", re.IGNORECASE)

THOUGHT = ("reasoning_content", "reasoning")
"""Where a message has the thought that its server keeps apart from the answer: DeepSeek, SGLang, llama.cpp
and litellm; the later vLLM, OpenRouter and Groq."""


def _calls_of(listed: Any) -> list[dict[str, Any]]:
    """The calls of a message, each with its name and its arguments: an object, or as text what is none.
    Raises `RequestError` (unreadable)."""
    try:
        functions = [call["function"] for call in listed or ()]
        return [
            {"name": str(function["name"]), "arguments": _arguments(function.get("arguments"))}
            for function in functions
        ]
    except (LookupError, TypeError, AttributeError):
        raise RequestError("unreadable", "the response holds a call without a function", 200) from None


def _arguments(stated: Any) -> Any:
    if not isinstance(stated, str):
        return stated
    try:
        read = json.loads(stated, object_pairs_hook=each_key_once, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return stated
    return read if isinstance(read, dict) else stated


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


_COUNTS = {
    "prompt_tokens": ("prompt_tokens",),
    "completion_tokens": ("completion_tokens",),
    "cached_tokens": ("prompt_tokens_details", "cached_tokens"),
    "reasoning_tokens": ("completion_tokens_details", "reasoning_tokens"),
}
BESIDE = {"reasoning_tokens"}
"""What SGLang has in the usage block itself."""


def counted_tokens(usage: Any) -> tuple[dict[str, int], tuple[str, ...]]:
    """The tokens of a usage block by our names, and what in it cannot be right."""
    if not isinstance(usage, Mapping):
        return {}, ("the response counts no tokens",)
    counts: dict[str, int] = {}
    problems = []
    for name, path in _COUNTS.items():
        value: Any = usage
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is None and name in BESIDE:
            value = usage.get(name)
        if type(value) is int and 0 <= value <= MOST_COUNT:
            counts[name] = value
        elif value is not None:
            problems.append(f"{name} is {str(value)[:20]!r}")
        elif len(path) == 1:
            problems.append(f"{name} is missing")
    total = usage.get("total_tokens")
    both = [counts.get(name) for name in ("prompt_tokens", "completion_tokens")]
    if type(total) is int and None not in both and total < sum(value or 0 for value in both):
        problems.append("total_tokens is less than its parts")
    return counts, tuple(problems)
