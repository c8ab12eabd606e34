"""How a call reaches its model: over httpx to an OpenAI-compatible server, or translated by litellm for a
provider, through the same client. Each sends exactly one request."""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx

from gridc.compiler.inputs.finish_reasons import FINISH, AnswerEnd
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.inputs.prices import TokenPrice
from gridc.compiler.lowering.calls import Prompt
from gridc.compiler.preflight.providers import quiet_litellm
from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.diagnostics.secrets import SHORTEST
from gridc.runtime.engines.api import wire
from gridc.runtime.engines.api.attempts import CallCost
from gridc.runtime.engines.api.client import Exchange, canned, of_error, post, recording
from gridc.runtime.engines.api.scoring import NotProvedError, ScoreRequest
from gridc.runtime.engines.api.session import RequestResult
from gridc.runtime.engines.api.wire import RequestError, failure_of_status
from gridc.schema.models import Server


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request for a text as it goes over the wire: to a `path` below `base`, with the `headers` that hold
    the key. `asked` is what the study asks of it, `dropped` what of that is not sent."""

    base: str
    path: str
    body: Mapping[str, Any]
    prompt: Prompt
    asked: Mapping[str, Any]
    dropped: Sequence[str]
    headers: Mapping[str, str] = field(repr=False)

    @property
    def sent(self) -> dict[str, Any]:
        """As it stands beside the answer."""
        return {"endpoint": self.base + self.path, "body": self.body, "dropped": list(self.dropped)}


SOUND: Mapping[str, Mapping[str, Any]] = {
    "openai": {
        "id": "", "object": "chat.completion", "created": 0, "model": "",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": ""}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    },
    "anthropic": {
        "id": "", "type": "message", "role": "assistant", "model": "",
        "content": [{"type": "text", "text": ""}], "stop_reason": "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    },
}  # fmt: skip
"""A response by provider that litellm can read: what it would send is found out without sending it."""

PATHS = ("/chat/completions", "/messages")
"""Where the requests go that a batch may hold."""

KEPT = ("authorization", "x-api-key", "anthropic-version", "openai-organization", "openai-project")
"""The headers of a request that one to a batch endpoint has too."""


class Route(Protocol):
    """A way to one model."""

    secrets: tuple[str, ...]
    """What a library may know beside the study's keys, and must not appear in anything that is written."""

    endpoint: str
    """Where requests go, without what a key could be in."""

    provider: str
    """Whose protocol of batches it is."""

    async def generate(self, call: str, prompt: Prompt, parameters: Mapping[str, Any]) -> RequestResult:
        """Ask for a text. Raises `RequestError`."""

    async def prepare(self, call: str, prompt: Prompt, parameters: Mapping[str, Any]) -> PreparedRequest:
        """What `generate` would send, which is not sent. Raises `RequestError`."""

    async def read(
        self, prepared: PreparedRequest, body: Mapping[str, Any], price: TokenPrice | None
    ) -> RequestResult:
        """What a response to a prepared request says. Raises `RequestError`."""


class DirectRoute:
    """An OpenAI-compatible server."""

    def __init__(
        self,
        identity: ModelIdentity,
        base: str,
        key: str | None,
        client: httpx.AsyncClient,
        price: TokenPrice | None,
    ) -> None:
        self.base, self.source, self._client, self._price = base, identity.source, client, price
        self.endpoint, self.provider = base, "openai"
        self._server: Server = identity.server or "openai"
        self._omits = frozenset(identity.omits)
        self.reasonless: frozenset[str] = frozenset()
        """The paths on which probes saw that the server never says why an answer ended."""
        self.secrets: tuple[str, ...] = ()
        self._headers = {
            "content-type": "application/json",
            **({"authorization": f"Bearer {key}"} if key else {}),
        }

    async def generate(self, call: str, prompt: Prompt, parameters: Mapping[str, Any]) -> RequestResult:
        prepared = await self.prepare(call, prompt, parameters)
        return await self.read(prepared, await self.post(prepared.path, prepared.body), self._price)

    async def prepare(self, call: str, prompt: Prompt, parameters: Mapping[str, Any]) -> PreparedRequest:
        stated = wire.asked_parameters(call, prompt, parameters, self._server, self.source)
        path, body = wire.generation_body(self.source, prompt, stated, self._server, self._omits)
        dropped = sorted(set(stated) & self._omits)
        return PreparedRequest(self.base, path, body, prompt, stated, dropped, self._headers)

    async def continued(
        self, call: str, tokens: Sequence[int], opened: str, parameters: Mapping[str, Any]
    ) -> RequestResult:
        """Ask for what follows some tokens, which end with the tag `opened` of a thought. Raises
        `RequestError`."""
        prompt = Prompt((), False)  # what it says, the tokens say
        stated = wire.asked_parameters(call, prompt, parameters, self._server, self.source)
        path, body = wire.generation_body(self.source, prompt, stated, self._server, self._omits, tokens)
        reply = wire.of_tokens(wire.read_completion(await self.complete(body), False), len(tokens), opened)
        dropped = sorted(set(stated) & self._omits)
        sent = {"endpoint": self.base + path, "body": wire.with_token_digest(body), "dropped": dropped}
        return result_of(reply, sent, len(tokens), stated, self._price, path in self.reasonless)

    async def scored(self, request: ScoreRequest, number: int) -> RequestResult:
        """Ask for the scores of the tokens of a candidate, of that number. Raises `RequestError`."""
        body, read = request
        document = await self.complete(body)
        try:
            scores = read(document)
        except NotProvedError as error:
            raise RequestError("unreadable", str(error), 200) from None
        counts, _ = wire.counted_tokens(document.get("usage"))
        tokens: Sequence[int] = body["prompt"]
        usd = None if self._price is None else self._price.usd(len(tokens), 1)
        sent = {"endpoint": f"{self.base}/completions", "body": wire.with_token_digest(body), "dropped": []}
        name, fingerprint = (
            wire.checked_name(document.get("model")),
            wire.checked_name(document.get("system_fingerprint")),
        )
        cost = CallCost(len(tokens) + 1, usd)
        return RequestResult(
            {"candidate": number, "scores": scores}, sent, counts, cost, name, fingerprint, 200
        )

    async def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """What answers a prompt of tokens. Raises `RequestError`."""
        return await self.post("/completions", body)

    async def read(
        self, prepared: PreparedRequest, body: Mapping[str, Any], price: TokenPrice | None
    ) -> RequestResult:
        reply = wire.read_completion(body, prepared.prompt.chat_template, bool(prepared.prompt.functions))
        reasonless = prepared.path in self.reasonless
        return result_of(reply, prepared.sent, _most_read(prepared.prompt), prepared.asked, price, reasonless)

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object that answers a request. Raises `RequestError`, and where it says itself that it
        holds no answer."""
        data = json.dumps(body, ensure_ascii=False).encode()
        document = wire.parse_object(await post(self._client, self.base + path, data, self._headers))
        wire.require_answer(document)
        return document


class Provider:
    """A provider, as litellm knows it. Everything that litellm would do beside translating is off: retries,
    dropping of parameters, fetching of prices, callbacks, its own clients, and looking for an address or a
    key in the environment."""

    def __init__(
        self,
        identity: ModelIdentity,
        base: str,
        key: str | None,
        client: httpx.AsyncClient,
        price: TokenPrice | None,
    ) -> None:
        try:
            litellm = quiet_litellm()
            from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
        except ImportError as error:
            message = f"`{identity.source}` is a provider's model and {error.name} is not installed"
            raise UnavailableError([Diagnostic("GC604", message, help="pip install 'gridc[api]'")]) from None
        for logger in ("httpx", "openai"):
            logging.getLogger(logger).setLevel(logging.CRITICAL)
        litellm.disable_aiohttp_transport = True
        litellm.callbacks, litellm.success_callback, litellm.failure_callback = [], [], []
        self._litellm, self._price = litellm, price
        self.provider = litellm.get_llm_provider(identity.source, api_base=base)[1]
        self.endpoint, self.source = base, identity.source
        self._omits, self._key = frozenset(identity.omits), key
        self.secrets = tuple(_secrets())
        handler = AsyncHTTPHandler()
        handler.client = client
        litellm.aclient_session = client
        self._handler = {} if self.provider == "openai" else {"client": handler}

    async def generate(self, call: str, prompt: Prompt, parameters: Mapping[str, Any]) -> RequestResult:
        stated = self._asked(call, prompt, parameters)
        document, exchange = await self._complete(prompt, stated)
        sent = {
            "endpoint": exchange.url,
            "body": json.loads(exchange.sent),
            "dropped": sorted(set(stated) & self._omits),
        }
        return result_of(_read(document, exchange), sent, _most_read(prompt), stated, self._price)

    async def prepare(self, call: str, prompt: Prompt, parameters: Mapping[str, Any]) -> PreparedRequest:
        stated = self._asked(call, prompt, parameters)
        with canned(json.dumps(SOUND[self.provider]).encode()):
            _, exchange = await self._complete(prompt, stated)
        path = next((path for path in PATHS if exchange.url.endswith(path)), None)
        if path is None:
            raise RequestError("bad_request", f"no batch takes requests to {exchange.url}")
        kept = {name: value for name, value in exchange.headers.items() if name in KEPT}
        dropped = sorted(set(stated) & self._omits)
        base = exchange.url.removesuffix(path)
        return PreparedRequest(base, path, json.loads(exchange.sent), prompt, stated, dropped, kept)

    async def read(
        self, prepared: PreparedRequest, body: Mapping[str, Any], price: TokenPrice | None
    ) -> RequestResult:
        with canned(json.dumps(body).encode()):
            reply = _read(*await self._complete(prepared.prompt, prepared.asked))
        return result_of(reply, prepared.sent, _most_read(prepared.prompt), prepared.asked, price)

    def _asked(self, call: str, prompt: Prompt, parameters: Mapping[str, Any]) -> dict[str, Any]:
        stated = wire.asked_parameters(call, prompt, parameters, None, self.source)
        if stated.get("top_p") == 1.0:
            del stated["top_p"]  # what is everything anyway, and some providers refuse beside a temperature
        return stated

    async def _complete(self, prompt: Prompt, stated: Mapping[str, Any]) -> tuple[dict[str, Any], Exchange]:
        """The response as litellm reads it, and what really went over the wire."""
        stated = {name: value for name, value in stated.items() if name not in self._omits}
        with recording() as exchange:
            try:
                response = await self._litellm.acompletion(
                    model=self.source,
                    messages=wire.messages_of(prompt),
                    api_key=self._key,
                    api_base=self.endpoint,
                    num_retries=0,
                    max_retries=0,
                    **wire.schema_of(prompt),
                    **self._handler,
                    **stated,
                )
            except Exception as error:  # litellm has an exception of its own for each of dozens of providers
                if exchange.status == 200:
                    wire.require_answer(wire.parse_object(exchange.received))
                raise self._failure(error, exchange.status) from None
        try:
            document = response.model_dump()
        except Exception as error:
            raise RequestError(
                "unreadable", f"{type(error).__name__}: {error}"[:300], exchange.status
            ) from None
        return document, exchange

    def _failure(self, error: Exception, status: int | None) -> RequestError:
        if status is not None and status != 200:
            response = getattr(error, "response", None)
            headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", {})
            return failure_of_status(status, headers or {}, str(error)[:4000])
        named = {"ContentPolicyViolationError": "content_filter", "AuthenticationError": "key"}
        kind = named.get(type(error).__name__)
        if kind is not None:
            return RequestError(kind, str(error)[:300], status)
        return of_error(error)


def _read(document: Mapping[str, Any], exchange: Exchange) -> wire.ParsedReply:
    """The reply that litellm made a document of. It makes `stop` of every reason that it does not know, so
    how the answer ended is read in what the provider said itself."""
    return wire.read_completion(document, True, original=wire.parse_object(exchange.received))


def result_of(
    reply: wire.ParsedReply,
    sent: dict[str, Any],
    read: int,
    stated: Mapping[str, Any],
    price: TokenPrice | None,
    reasonless: bool = False,
) -> RequestResult:
    """What came of a request, with what it cost: what the response counts, or the most (`read` tokens of the
    prompt) where it counts nothing that can be right. `reasonless`: its server never says why an answer
    ended. Raises `RequestError`."""
    limit = stated.get("max_tokens") if "max_tokens" not in sent["dropped"] else None
    if limit and len(reply.text) > limit * wire.MOST_CHARACTERS:
        problem = f"{len(reply.text):,} characters came for {limit:,} tokens"
        raise RequestError("too_long", problem, 200)
    end = reply.end or (_end_by_length(reply, limit) if reasonless else None)
    if end is None:
        raise RequestError("unknown_end", "the response does not say why the answer ended", 200)
    content: dict[str, Any] = {"text": reply.text, "finish": FINISH[end]}
    if reply.refused:
        content["refused"] = True
    if reply.thought:
        content["thought"] = reply.thought
    written = stated.get("max_tokens", 0)
    problems = list(reply.problems)
    counts = dict(reply.usage)
    if "prompt_tokens" in counts and "completion_tokens" in counts and not problems:
        if stated.get("max_tokens") and counts["completion_tokens"] > stated["max_tokens"] + counts.get(
            "reasoning_tokens", 0
        ):
            problems.append(
                f"{counts['completion_tokens']} tokens were written, {stated['max_tokens']} were asked"
            )
        read, written = counts["prompt_tokens"], counts["completion_tokens"]
    usd = None if price is None else price.usd(read, written, counts.get("cached_tokens", 0))
    if problems:
        sent = {**sent, "usage_problems": problems}
    return RequestResult(
        content, sent, counts, CallCost(read + written, usd), reply.model, reply.fingerprint, 200
    )


def _end_by_length(reply: wire.ParsedReply, limit: int | None) -> AnswerEnd:
    """How an answer ended by its length alone: complete with fewer tokens than it may have. Where nobody
    counted them, a token has a byte at least."""
    written = reply.usage.get("completion_tokens", len(reply.text.encode()))
    return "complete" if limit and written < limit else "cut"


def _most_read(prompt: Prompt) -> int:
    return wire.most_tokens(prompt, 0)[0]


def _secrets() -> list[str]:
    """Whatever in the environment looks like a key: litellm reads it by itself."""
    names = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
    values = [value for name, value in os.environ.items() if any(part in name.upper() for part in names)]
    return [value for value in values if len(value) >= SHORTEST]
