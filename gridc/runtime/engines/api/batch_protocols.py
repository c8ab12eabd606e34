"""A batch at a provider: how OpenAI and Anthropic take one, how it gets there, and its results.

OpenAI takes a batch as an uploaded file, Anthropic in one request; both answer in JSON lines that name their
request by a custom id.

Before anything leaves, a batch and its requests are on the disk. Before the request that may be paid leaves,
it is on the disk that it is about to; and the batch's name is there as soon as the provider has given one. A
process that is killed at any instant leaves one of three things: a batch that was never submitted, one whose
results come later, or one that has to be found at the provider by the name that gridc gave it. What cannot be
found may have been paid, and is asked again only where the study says so. Results are fetched whole before
the first is taken.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Literal, Protocol
from urllib.parse import quote

import httpx

from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.runtime.engines.api import wire
from gridc.runtime.engines.api.attempts import Attempt, CallCost, Submission
from gridc.runtime.engines.api.client import MOST_BODY, ResponseSink, response_body
from gridc.runtime.engines.api.routes import PreparedRequest
from gridc.runtime.engines.api.session import Session
from gridc.runtime.engines.api.wire import RequestError, failure_of_status

PAGES = 100
"""Pages of a list of batches that are read at most: some thousand batches."""

Ending = Literal["completed", "expired", "cancelled", "failed"]
Careful = Callable[[], None]
"""Called just before the request leaves that may be paid."""


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """How far a batch is: None while it waits, else how it ended; where its results are (paths below the
    base); what the provider says went wrong, with its code."""

    ending: Ending | None
    outputs: tuple[str, ...] = ()
    detail: str = ""
    code: str | None = None


@dataclass(frozen=True, slots=True)
class ResultLine:
    """One result: the request's name, and the body of its response or why there is none."""

    name: str
    body: Mapping[str, Any] | None
    error: RequestError | None


class BatchProtocol(Protocol):
    """A batch endpoint at `base`, with the headers that hold the key."""

    most_requests: int
    most_bytes: int

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:
        """A request of a batch as it is submitted."""

    async def submit(self, submission: str, path: str, lines: Sequence[bytes], careful: Careful) -> str:
        """Submit a batch; what the provider calls it. Raises `RequestError`."""

    async def find(self, submission: str) -> str | None:
        """What the provider calls a batch that was submitted under our name; None where it lists none, or
        cannot say."""

    async def look(self, remote: str) -> BatchStatus:
        """How far a batch is. Raises `RequestError`."""

    def get(self, path: str, into: ResponseSink) -> httpx.Request:
        """What asks for a file of results."""

    def read(self, row: Mapping[str, Any]) -> ResultLine:
        """A line of the results. One that is none raises `LookupError`, `TypeError`, `AttributeError` or
        `ValueError`."""


class _Endpoint:
    def __init__(self, client: httpx.AsyncClient, base: str, headers: Mapping[str, str]) -> None:
        self._client, self._base, self._headers = client, base, dict(headers)
        self._headers.pop("content-type", None)

    async def _ask(self, method: str, path: str, **content: Any) -> dict[str, Any]:
        request = self._client.build_request(method, self._base + path, headers=self._headers, **content)
        return wire.parse_object(await response_body(self._client, request))

    def get(self, path: str, into: ResponseSink) -> httpx.Request:
        return self._client.build_request(
            "GET", self._base + path, headers=self._headers, extensions={"into": into}
        )


class OpenAIBatches(_Endpoint):
    """https://platform.openai.com/docs/api-reference/batch: limits, states and lines as of November 2026."""

    most_requests, most_bytes = 50_000, 200 * 10**6

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:
        row = {"custom_id": name, "method": "POST", "url": f"/v1{path}", "body": body}
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"

    async def submit(self, submission: str, path: str, lines: Sequence[bytes], careful: Careful) -> str:
        file = (f"{submission}.jsonl", b"".join(lines), "application/jsonl")
        uploaded = await self._ask("POST", "/files", files={"file": file}, data={"purpose": "batch"})
        content = {
            "input_file_id": _name(uploaded),
            "endpoint": f"/v1{path}",
            "completion_window": "24h",
            "metadata": {"gridc": submission},
        }
        careful()
        return _name(await self._ask("POST", "/batches", json=content))

    async def find(self, submission: str) -> str | None:
        after: dict[str, str] = {}
        for _ in range(PAGES):
            page = await self._ask("GET", "/batches", params={"limit": 100, **after})
            rows = _objects(page.get("data"))
            for row in rows:
                metadata = row.get("metadata")
                if isinstance(metadata, Mapping) and metadata.get("gridc") == submission:
                    return _name(row)
            if not page.get("has_more") or not rows:
                return None
            after = {"after": _name(rows[-1])}
        return None

    async def look(self, remote: str) -> BatchStatus:
        status = await self._ask("GET", f"/batches/{quote(remote, safe='')}")
        state = status.get("status")
        if state not in ("completed", "expired", "cancelled", "failed"):
            return BatchStatus(None)
        files = [status.get(key) for key in ("output_file_id", "error_file_id")]
        outputs = tuple(f"/files/{quote(file, safe='')}/content" for file in files if isinstance(file, str))
        errors = status.get("errors")
        first = next(iter(_objects(errors.get("data") if isinstance(errors, Mapping) else None)), {})
        return BatchStatus(state, outputs, str(first.get("message") or "")[:300], first.get("code"))

    def read(self, row: Mapping[str, Any]) -> ResultLine:
        name, error = _text(row["custom_id"]), row.get("error")
        if error is not None:
            kinds = {"batch_expired": "expired", "batch_cancelled": "cancelled"}
            kind = kinds.get(error.get("code"), "server_error")
            return ResultLine(name, None, RequestError(kind, str(error.get("message"))[:300]))
        status, body = int(row["response"]["status_code"]), row["response"]["body"]
        if status != 200:
            return ResultLine(name, None, failure_of_status(status, {}, json.dumps(body)[:4000]))
        return ResultLine(name, _document(body), None)


class AnthropicBatches(_Endpoint):
    """https://docs.anthropic.com/en/api/creating-message-batches. A batch has no name of ours there, so one
    that was lost between submitting and its id cannot be found."""

    most_requests, most_bytes = 100_000, 256 * 10**6
    _STATES: Mapping[str, str] = {"expired": "expired", "canceled": "cancelled"}

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:
        return json.dumps({"custom_id": name, "params": body}, ensure_ascii=False).encode()

    async def submit(self, submission: str, path: str, lines: Sequence[bytes], careful: Careful) -> str:
        careful()
        content = b'{"requests":[' + b",".join(lines) + b"]}"
        request = self._client.build_request(
            "POST", f"{self._base}/messages/batches", content=content,
            headers={**self._headers, "content-type": "application/json"},
        )  # fmt: skip
        return _name(wire.parse_object(await response_body(self._client, request)))

    async def find(self, submission: str) -> str | None:
        return None

    async def look(self, remote: str) -> BatchStatus:
        place = f"/messages/batches/{quote(remote, safe='')}"
        status = await self._ask("GET", place)
        if status.get("processing_status") != "ended":
            return BatchStatus(None)
        return BatchStatus("completed", (f"{place}/results",))

    def read(self, row: Mapping[str, Any]) -> ResultLine:
        name, result = _text(row["custom_id"]), row["result"]
        kind = result["type"]
        if kind == "succeeded":
            return ResultLine(name, _document(result["message"]), None)
        if kind in self._STATES:
            return ResultLine(name, None, RequestError(self._STATES[kind], f"the request is {kind}"))
        error = result["error"].get("error", result["error"])
        status = _STATUS.get(error.get("type"), 500)
        return ResultLine(name, None, failure_of_status(status, {}, json.dumps({"error": error})))


_STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "timeout_error": 504,
    "api_error": 500, "overloaded_error": 529,
}  # fmt: skip
"""https://docs.anthropic.com/en/api/errors: the status that a single request would have had."""

PROTOCOLS: Mapping[str, type[OpenAIBatches] | type[AnthropicBatches]] = {
    "openai": OpenAIBatches,
    "anthropic": AnthropicBatches,
}
"""By provider; those that `gridc validate` lets through."""


def rows(file: Iterator[bytes]) -> Iterator[dict[str, Any] | None]:
    """The JSON objects of a file of results, line by line; None for a line that is none."""
    for line in file:
        if line.strip():
            try:
                yield wire.parse_object(line)
            except RequestError:
                yield None


def _objects(listed: Any) -> list[Mapping[str, Any]]:
    """The objects of what should be a list of them."""
    return [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError("the name of a request is not a text")
    return name


def _document(body: Any) -> Mapping[str, Any]:
    if not isinstance(body, Mapping):
        raise TypeError("the body is not a JSON object")
    return body


def _name(document: Mapping[str, Any]) -> str:
    """The id of what a provider made. Raises `RequestError` (unreadable)."""
    name = document.get("id")
    if not isinstance(name, str) or not name:
        raise RequestError("unreadable", "the response holds no id", 200)
    return name


FIRST_LOOK = 0.5
"""Seconds before the second look at a batch."""


@dataclass(slots=True)
class CallInFlight:
    """A call on its way: how its request is made, first as it is and then with less and less context (`form`
    says with which), what it may cost at most, and what happened so far."""

    call: str
    forms: Sequence[Callable[[], Awaitable[PreparedRequest]]]
    most: CallCost
    form: int = 0
    made: dict[int, PreparedRequest] = field(default_factory=dict)
    tries: int = 0
    number: int = 0

    async def prepared(self) -> PreparedRequest:
        """Its request."""
        if self.form not in self.made:
            self.made[self.form] = await self.forms[self.form]()
        return self.made[self.form]


@dataclass(slots=True)
class Flight:
    """A batch at the provider. `asked` are its attempts that have not ended, by call, and `pending` those of
    their calls that are asked for now; `names` has every call that was ever in it, by what the name of its
    request begins with. `earlier` says that another run submitted it."""

    submission: Submission
    asked: Mapping[str, Attempt]
    pending: Mapping[str, CallInFlight]
    names: Mapping[str, str]
    earlier: bool
    protocol: BatchProtocol
    begun: float = field(default_factory=time.monotonic)
    look_at: float = 0.0
    pause: float = field(default_factory=lambda: FIRST_LOOK)
    failures: int = 0

    @property
    def remote(self) -> str:
        """What the provider calls it."""
        assert self.submission.remote is not None
        return self.submission.remote

    @property
    def share(self) -> float:
        """A request's share of the time since it was submitted or taken up, in seconds."""
        return (time.monotonic() - self.begun) / len(self.asked)


def request_prefix(submission: str, call: str) -> str:
    """What the name of a request in a batch begins with."""
    return f"{submission[:16]}-{call[:40]}"


def custom_id(submission: str, request: CallInFlight) -> str:
    """The name of a request in a batch: at most 64 letters, digits and hyphens. The number of its form is at
    its end."""
    return f"{request_prefix(submission, request.call)}-{request.form}"


async def send_flight(session: Session, flight: Flight, path: str, lines: Sequence[bytes]) -> None:
    """Submit a batch of requests to `path`. Where that broke off it is found at the provider, or raises
    `UnavailableError` (GC638). Raises `RequestError` where the provider did not get it or refused it."""
    journal, prepared = session.journal, flight.submission
    journal.prepared(prepared, list(flight.asked.values()))

    def move(submission: Submission) -> None:
        flight.submission = submission
        journal.moved(submission)

    def risky() -> bool:
        return flight.submission.state == "submitting"

    async def submit() -> str:
        if risky():  # it was refused, and is about to be uploaded once more
            move(prepared)
        return await flight.protocol.submit(
            prepared.id, path, lines, lambda: move(replace(prepared, state="submitting"))
        )

    try:
        remote = await session.repeat(submit, risky)
    except RequestError as error:
        if not risky() or error.rule.paid == "no":
            raise
        flight.submission = await find_flight(session, flight.protocol, flight.submission)
    else:
        move(replace(prepared, state="submitted", remote=remote))


async def find_flight(session: Session, protocol: BatchProtocol, submission: Submission) -> Submission:
    """A batch whose submitting broke off, as the provider lists it. Raises `UnavailableError` (GC638) where
    it does not."""
    try:
        remote = await session.repeat(lambda: protocol.find(submission.id))
    except RequestError as error:
        if error.kind != "no_model":  # there is not a list
            raise
        remote = None
    if remote is None:
        raise lost_batch(session, submission, "does not list it")
    submission = replace(submission, state="submitted", remote=remote)
    session.journal.moved(submission)
    return submission


def lost_batch(session: Session, submission: Submission, how: str) -> UnavailableError:
    """What stops a run that does not find a batch."""
    name = submission.remote or f"named {submission.id} by gridc"
    message = (
        f"a batch of {submission.requests:,} requests to `{session.name}` may have been paid, and "
        f"the provider {how} (of {submission.created}, {name})"
    )
    help = "`gridc run --acknowledge lost-batches` asks its calls again; look at the provider's page first"
    return UnavailableError([Diagnostic("GC638", message, help=help)])


def give_up_batch(session: Session, submission: Submission, attempts: Iterable[Attempt]) -> None:
    """Note that nothing will come of a batch any more, and that it may have been paid."""
    for attempt in attempts:
        session.journal.closed(replace(attempt, status="lost", paid="possibly"))
    session.journal.moved(replace(submission, state="lost"))


MOST_LINE = 2**18
"""Bytes of a result on average: far more than any answer."""

_FORM = re.compile("[0-9]{1,4}")


async def fetch(
    session: Session, client: httpx.AsyncClient, flight: Flight, look: BatchStatus, files: ExitStack
) -> list[BinaryIO]:
    """Every file of results, which `files` closes. Raises `RequestError`."""
    most = MOST_BODY + len(flight.names) * MOST_LINE

    async def get(path: str, file: BinaryIO) -> None:
        file.seek(0)
        file.truncate()
        await response_body(client, flight.protocol.get(path, into=ResponseSink(file, most)))

    opened: list[BinaryIO] = []
    for path in look.outputs:
        file: BinaryIO = files.enter_context(TemporaryFile())  # noqa: SIM115  # `files` closes it
        await session.repeat(partial(get, path, file))
        opened.append(file)
    return opened


def result_lines(
    flight: Flight, files: Sequence[BinaryIO], odd: Counter[str]
) -> Iterator[tuple[str, int, ResultLine]]:
    """(call, form, line) of every call that has a result, its first. What else the files hold is counted in
    `odd`, by what is wrong with it."""
    seen: set[str] = set()
    for file in files:
        file.seek(0)
        for line in _read(file, flight.protocol):
            name, _, form = ("", "", "") if line is None else line.name.rpartition("-")
            call = flight.names.get(name)
            if line is None:
                odd["unreadable"] += 1
            elif call is None or not _FORM.fullmatch(form):
                odd["of no call in it"] += 1
            elif call in seen:
                odd["twice"] += 1
            else:
                seen.add(call)
                yield call, int(form), line


def _read(file: BinaryIO, protocol: BatchProtocol) -> Iterator[ResultLine | None]:
    """The results in a file; None for a line that cannot be read."""
    for row in rows(iter(partial(file.readline, MOST_BODY), b"")):
        try:
            yield None if row is None else protocol.read(row)
        except (LookupError, TypeError, AttributeError, ValueError):
            yield None
