"""How providers take a batch: OpenAI by an uploaded file, Anthropic in one request; both answer in JSON lines
that name their request by a custom id."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from urllib.parse import quote

import httpx

from gridc.runtime.engines.api import wire
from gridc.runtime.engines.api.client import Into, body_of
from gridc.runtime.engines.api.failures import RequestError, of_status

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

    def get(self, path: str, into: Into) -> httpx.Request:
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
        return wire.parse(await body_of(self._client, request))

    def get(self, path: str, into: Into) -> httpx.Request:
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
            return ResultLine(name, None, of_status(status, {}, json.dumps(body)[:4000]))
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
        return _name(wire.parse(await body_of(self._client, request)))

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
        return ResultLine(name, None, of_status(status, {}, json.dumps({"error": error})))


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
                yield wire.parse(line)
            except RequestError:
                yield None


def _objects(listed: Any) -> list[Mapping[str, Any]]:
    """The objects of what should be a list of them."""
    return [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError("the name of a request is no text")
    return name


def _document(body: Any) -> Mapping[str, Any]:
    if not isinstance(body, Mapping):
        raise TypeError("the body is no JSON object")
    return body


def _name(document: Mapping[str, Any]) -> str:
    """The id of what a provider made. Raises `RequestError` (unreadable)."""
    name = document.get("id")
    if not isinstance(name, str) or not name:
        raise RequestError("unreadable", "the response holds no id", 200)
    return name
