"""The only connection from gridc to models behind an address: every request and response goes through here.

A client asks one host and sends one key, whatever variables or files a library in between reads, and no
header but those that are named here. Redirects are not followed, because a key would go with them; a body is
read up to a bound; one attempt sends one request, whatever that library would like to try again. What comes
back is rid of the study's keys before anything else sees it.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO

import httpx

from gridc import __version__
from gridc.compiler.inputs.addresses import origin_of, proxy_of, without_password
from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.diagnostics.secrets import KeyScrubber
from gridc.runtime.engines.api.wire import RequestError, failure_of_status


def key_of(variable: str | None) -> str | None:
    """What the variable holds, without the white space that copying adds; None where it holds nothing."""
    return (os.environ.get(variable) or "").strip() or None if variable else None


MOST_BODY = 8 * 2**20
"""Bytes of a response: far more than any answer, far less than a memory."""

MOST_SAID = 2**13
"""Bytes that are read of what a server says beside a status other than 200: libraries look through all of it
with many patterns."""

GATHERED_BYTES = 2**20
"""Bytes of a body that are looked through together on their way into a file."""

CONNECT_SECONDS = 20.0

KEYED = ("authorization", "x-api-key", "x-goog-api-key")
"""Headers that leave only with the key in them: a library may know another one."""

LET_OUT = frozenset(
    {
        *KEYED, "accept", "accept-encoding", "anthropic-beta", "anthropic-version", "connection",
        "content-length", "content-type", "host", "openai-organization", "openai-project",
        "transfer-encoding", "user-agent",
    }
)  # fmt: skip
"""The headers that leave. A library adds others, some from variables (OPENAI_CUSTOM_HEADERS)."""


@dataclass(slots=True)
class Exchange:
    """What one attempt really sent and got."""

    requests: int = 0
    url: str = ""
    sent: bytes = b""
    status: int | None = None
    received: bytes = field(default=b"", repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)


_EXCHANGE: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


_CANNED: ContextVar[bytes | None] = ContextVar("canned", default=None)


@contextmanager
def canned(body: bytes) -> Iterator[None]:
    """Nothing leaves: whatever is asked inside is answered by this body."""
    token = _CANNED.set(body)
    try:
        yield
    finally:
        _CANNED.reset(token)


@dataclass(frozen=True, slots=True)
class ResponseSink:
    """Where the body of a response is written, and the most bytes that it may have."""

    file: BinaryIO
    most: int


@contextmanager
def recording() -> Iterator[Exchange]:
    """Note what the attempt inside sends."""
    exchange = Exchange()
    token = _EXCHANGE.set(exchange)
    try:
        yield exchange
    finally:
        _EXCHANGE.reset(token)


class HostTransport(httpx.AsyncBaseTransport):
    """A transport to one host with one key (None: without a key) that reads bodies up to a bound, and sends
    one request for each attempt.

    Every request that is open at once has a transport of its own (`lane` makes one) with one connection,
    which the next request takes over. In one pool httpcore looks through all connections several times for
    each request, which at 64 takes more of the processor than everything else together.
    """

    def __init__(
        self,
        lane: Callable[[], httpx.AsyncBaseTransport],
        origin: str,
        key: str | None,
        scrubber: KeyScrubber,
    ) -> None:
        self._lane, self._origin, self._key, self._scrubber = lane, origin, key, scrubber
        self._lanes: list[httpx.AsyncBaseTransport] = []
        self._free: list[httpx.AsyncBaseTransport] = []

    @contextmanager
    def _taken(self) -> Iterator[httpx.AsyncBaseTransport]:
        if not self._free:
            self._free.append(self._lane())
            self._lanes += self._free
        lane = self._free.pop()
        try:
            yield lane
        finally:
            self._free.append(lane)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request = self._hold_back(request)
        exchange = _EXCHANGE.get()
        if exchange is not None:
            if exchange.requests:
                raise RequestError("unreadable", "a library tried to send a second request")
            exchange.requests, exchange.url = 1, str(request.url.copy_with(query=None))
            exchange.sent, exchange.headers = await request.aread(), dict(request.headers)
        body = _CANNED.get()
        if body is not None:
            if exchange is not None:
                exchange.status, exchange.received = 200, body
            return httpx.Response(200, headers={"content-type": "application/json"}, content=body)
        with self._taken() as lane:
            response = await lane.handle_async_request(request)
            try:
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise RequestError("unreadable", "the response is compressed, which was not asked")
                assert isinstance(response.stream, httpx.AsyncByteStream)
                into = request.extensions.get("into") if response.status_code == 200 else None
                data = await _bounded(response.stream.__aiter__(), into, self._scrubber)
            finally:
                await response.aclose()
        if exchange is not None:
            exchange.status, exchange.received = response.status_code, data
        content = data if response.status_code == 200 else data[:MOST_SAID]
        headers = _handed_on(response.headers, self._scrubber)
        return httpx.Response(response.status_code, headers=headers, content=content)

    def _hold_back(self, request: httpx.Request) -> httpx.Request:
        """The part of a request that may leave. The request itself stays as it is, because a library finds
        its own notes in it again. Raises `RequestError` for one to another scheme, host or port."""
        origin = origin_of(str(request.url))
        if origin != self._origin:
            raise RequestError("elsewhere", f"it was for {origin}, and {self._origin} is what is asked")
        headers = [
            (name, value)
            for name, value in request.headers.multi_items()
            if name in LET_OUT and (name not in KEYED or (self._key is not None and self._key in value))
        ]
        return httpx.Request(
            request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
        )

    async def aclose(self) -> None:
        for lane in self._lanes:
            await lane.aclose()


def _handed_on(headers: httpx.Headers, scrubber: KeyScrubber) -> dict[str, str]:
    """The headers of a response that libraries need. A `charset` is none of them: it chooses a decoder, and
    that of punycode takes the square of the time."""
    kept = {name: headers[name] for name in ("content-type", "retry-after") if name in headers}
    return {name: scrubber.of_text(value.partition(";")[0]) for name, value in kept.items()}


async def _bounded(chunks: AsyncIterator[bytes], into: ResponseSink | None, scrubber: KeyScrubber) -> bytes:
    """The body without keys, of which nothing is left that was written `into` a file."""
    data, written, most = bytearray(), 0, MOST_BODY if into is None else into.most
    async for chunk in chunks:
        written += len(chunk)
        if written > most:
            raise RequestError("too_large", f"the response has more than {most:,} bytes")
        data += chunk
        if into is not None and len(data) > GATHERED_BYTES:
            whole, rest = scrubber.of_chunks(bytes(data))
            into.file.write(whole)
            data = bytearray(rest)
    clean = scrubber.of_bytes(bytes(data))
    if into is None:
        return clean
    into.file.write(clean)
    return b""


def make_client(url: str, key: str | None = None, scrubber: KeyScrubber | None = None) -> httpx.AsyncClient:
    """A client of the host of an address, for one key; responses are rid of the keys that the `scrubber`
    knows (None: of that one). Of the environment it takes the proxy (`proxy_of`) and SSL_CERT_FILE and
    SSL_CERT_DIR, and nothing from .netrc. Raises `UnavailableError` (GC648)."""
    scrubber = scrubber or KeyScrubber([key] if key else [])
    proxy = proxy_of(url)
    try:
        trusted = httpx.create_ssl_context()
    except OSError as error:
        raise _unusable(f"the certificates cannot be read ({error.strerror or error})") from None
    one = httpx.Limits(max_connections=1, max_keepalive_connections=1)
    lane = partial(httpx.AsyncHTTPTransport, verify=trusted, limits=one, retries=0, proxy=proxy)
    try:
        lane()
    except (ValueError, ImportError):
        raise _unusable(f"there is no way through {without_password(proxy or '')}") from None
    return httpx.AsyncClient(
        transport=HostTransport(lane, origin_of(url), key, scrubber),
        follow_redirects=False,
        trust_env=False,
        timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
        headers={"accept-encoding": "identity", "user-agent": f"gridc/{__version__}"},
    )


def _unusable(problem: str) -> UnavailableError:
    help = "HTTPS_PROXY is http://HOST:PORT, SSL_CERT_FILE a file of certificates; or leave them out"
    return UnavailableError([Diagnostic("GC648", problem, help=help)])


async def post(client: httpx.AsyncClient, url: str, body: bytes, headers: dict[str, str]) -> bytes:
    """The body of a response with status 200. Raises `RequestError`."""
    return await response_body(client, client.build_request("POST", url, content=body, headers=headers))


async def response_body(client: httpx.AsyncClient, request: httpx.Request) -> bytes:
    """The body of the response to a request, with status 200. Raises `RequestError`."""
    try:
        response = await client.send(request)
    except httpx.HTTPError as error:
        raise of_error(error) from None
    if response.status_code != 200:
        text = response.content.decode("utf-8", "replace")
        raise failure_of_status(response.status_code, response.headers, text)
    return response.content


def of_error(error: BaseException) -> RequestError:
    """The failure that an exception of httpx, or one it causes, stands for."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, RequestError):
            return cause
        if isinstance(cause, ssl.SSLError) or "CERTIFICATE_VERIFY_FAILED" in str(cause):
            return RequestError("tls", " ".join(str(cause).split())[:200])
        if isinstance(cause, httpx.ConnectTimeout | httpx.ConnectError):
            return RequestError("unreachable", str(cause) or type(cause).__name__)
        if isinstance(cause, httpx.TimeoutException | asyncio.TimeoutError):
            return RequestError("timeout", "no answer in time")
        if isinstance(cause, httpx.TransportError):
            return RequestError("cut", str(cause) or type(cause).__name__)
        cause = cause.__cause__ or cause.__context__
    problem, _, _ = str(error).partition("Traceback (most recent call last)")  # litellm puts one into words
    return RequestError("unreadable", " ".join(f"{type(error).__name__}: {problem}".split())[:300])
