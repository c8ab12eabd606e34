"""What can go wrong with a request, and what follows from it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

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
    "context_length": FailureKind("the prompt is longer than the model takes", "final", "no"),
    "missing": FailureKind("the batch ended without a line for the call", "again", "possibly"),
    "expired": FailureKind("the batch ended before the call was asked", "again", "no"),
    "queue_full": FailureKind("the provider takes no further batch now", "later", "no"),
    "not_submitted": FailureKind("the batch did not get to the provider", "again", "no"),
    "batch_failed": FailureKind("the provider did not take the batch", "stop", "no", "GC640"),
    "cancelled": FailureKind("the batch was cancelled at the provider", "stop", "no", "GC640"),
    "bad_request": FailureKind("the endpoint refuses the request", "held", "no"),
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


def of_status(status: int, headers: Mapping[str, str], body: str) -> RequestError:
    """The failure that a status other than 200 stands for. `body` is the beginning of the response."""
    text = _said(body)
    if 300 <= status < 400:
        return RequestError("redirect", "the response is a redirect", status)
    if status == 429 and not _QUOTA.search(body):
        return RequestError("rate_limit", text, status, seconds(headers.get("retry-after")))
    kind = _kind(status, body)
    return RequestError(kind, text, status, seconds(headers.get("retry-after")))


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
    if status == 413 or _LONG.search(body):
        return "context_length"
    return "content_filter" if _FILTERED.search(body) else "bad_request"


def _said(body: str) -> str:
    """What the server says, as far as it fits a line."""
    import json

    try:
        document: Any = json.loads(body)
        error = document.get("error", document)
        text = str(error.get("message", error)) if isinstance(error, dict) else str(error)
    except (ValueError, AttributeError, RecursionError):
        text = body
    return " ".join(text.split())[:300]


def seconds(header: str | None) -> float | None:
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
