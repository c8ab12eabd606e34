"""The engine that asks one model behind an address over HTTP, within limits of rate and money."""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.metadata import version
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import httpx

from gridc.compiler.inputs.addresses import ServerAccess, reach_of
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.inputs.prices import TokenPrice
from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import Diagnostic, HazardError, UnavailableError
from gridc.diagnostics.secrets import KeyScrubber
from gridc.runtime.engines.api import scoring, wire
from gridc.runtime.engines.api.attempts import (
    NO_TERMS,
    CallCost,
    Journal,
    Limits,
    NoJournal,
    NoLimits,
    Purpose,
    Terms,
)
from gridc.runtime.engines.api.batch_protocols import CallInFlight
from gridc.runtime.engines.api.batches import Batches
from gridc.runtime.engines.api.client import key_of, make_client
from gridc.runtime.engines.api.routes import DirectRoute, PreparedRequest, Provider
from gridc.runtime.engines.api.scoring import (
    AskedAs,
    Honours,
    PostJson,
    Score,
    ScoreRequest,
    asked_as,
    asked_forms,
    given_again,
    probe,
    prove_tokens,
    ranking_answer,
    ranking_members,
    refusals,
    score_requests,
)
from gridc.runtime.engines.api.session import EndedRequest, Pace, Pursuit, RequestResult, Session
from gridc.runtime.engines.api.wire import RequestError
from gridc.runtime.engines.protocol import Admit, Answer, AnsweredBatch, Batch, Call, PendingBatch, Spending
from gridc.schema.models import SERVED, TAKE_TOKENS, Server
from gridc.schema.spec import EngineSettings

if TYPE_CHECKING:
    from gridc.runtime.engines.hf.engine import HfEngine
    from gridc.runtime.engines.hf.prompts import Prompts


@dataclass(slots=True)
class _Parts:
    """The requests of one call that have ended, by part, of so many."""

    of: int
    ended: dict[int, EndedRequest] = field(default_factory=dict)


class ApiEngine:
    """Answers the calls of one model, each by one request, a ranking by one for each candidate."""

    replicable = False
    direct: type[DirectRoute] = DirectRoute
    """The way to a server at an address."""

    def __init__(
        self,
        name: str,
        identity: ModelIdentity,
        settings: EngineSettings,
        waived: frozenset[str],
        local: "Callable[[], HfEngine] | None" = None,
    ) -> None:
        """`local` opens the weights that the server runs on this machine, for their tokens."""
        self._local = local
        self._name, self._identity, self._settings, self._waived = name, identity, settings, waived
        self._connected = False
        self._journal: Journal = NoJournal()
        self._limits: Limits = NoLimits()
        self._price: TokenPrice | None = None
        self._terms = NO_TERMS
        self.pace = Pace(settings.concurrency)
        self._worked = False
        self._calls: Sequence[Call] = ()
        self._earlier: list[Call] = []
        self._ranks = False
        self._samples: dict[str, bool] = {}  # by path where texts are asked for
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: httpx.AsyncClient | None = None
        self._route: DirectRoute | Provider | None = None
        self._keys, self._secrets = KeyScrubber(()), KeyScrubber(())
        self._honours: dict[str, Honours] | None = None  # by path, once it is asked for

    def connect(
        self, journal: Journal, limits: Limits, price: TokenPrice | None, terms: Terms = NO_TERMS
    ) -> None:
        """Write attempts into the journal, stay within the limits, count money by the price."""
        self._journal, self._limits, self._price = journal, limits, price
        self._connected, self._route, self._terms = True, None, terms

    def effective(self) -> dict[str, Any]:
        """What is really asked. Probes a server of base_url."""
        route, reach = self._open(), self._reach()
        facts: dict[str, Any] = {
            "model": self._name,
            "precision": SERVED,
            "endpoint": route.endpoint,
            "address": f"{reach.provider}'s own" if reach.provider else "stated by the spec",
            "leaves": f"prompts and {reach.variable or 'no key'}, to {reach.origin}",
            "consent": self._terms.consent or "none needed",
            "asked_for": self._identity.source,
            "omits": list(self._identity.omits),
            "versions": {"httpx": version("httpx")},
        }
        if isinstance(route, Provider):
            facts["versions"]["litellm"] = version("litellm")
        else:
            facts["server"] = self._server
            facts["prompts"] = "texts" if self._prompts is None else "tokens"
            facts["honours"] = self._probed(route)
            if self._ranks:
                facts["scoring"] = self._proved(route)
        return facts

    @property
    def batch_width(self) -> int | None:
        return self._settings.concurrency if self._server in TAKE_TOKENS else None

    def use_full_concurrency(self) -> None:
        self.pace.as_many_as_possible()

    @cached_property
    def _prompts(self) -> "Prompts | None":
        """What divides prompts into tokens, where it is known which weights the server runs."""
        return None if self._local is None else self._local().prompts

    def batches(self, calls: Sequence[Call]) -> list[Batch]:
        """Each call by itself, those that begin alike side by side: servers keep what prompts share. Raises
        `UnavailableError` for a ranking that the endpoint cannot make, and `HazardError` as the local engine
        does for tokens."""
        self._earlier, self._calls = [*_three_calls(self._calls), *self._earlier][:30], calls
        for call in calls:
            if not call.ranks:
                path, sampled = self._path(call), bool(call.parameters.get("temperature"))
                self._samples[path] = sampled or self._samples.get(path, False)
            self._ranks = self._ranks or call.ranks
            as_text = self._prompts is None
            if as_text and call.ranks and (self._identity.base_url is None or call.prompt.chat_template):
                message = f"`{self._name}` cannot rank given candidates"
                help_line = "set base_url to a server that scores given tokens, and chat_template = false"
                raise UnavailableError([Diagnostic("GC636", message, help=help_line)])
        neighbours = sorted(calls, key=lambda call: (call.prompt.chat_template, call.prompt.messages))
        return [Batch((call.id,), self._bound(call), call) for call in neighbours]

    def answers(self, tasks: Sequence[PendingBatch], admit: Admit) -> Iterator[AnsweredBatch]:
        """All tasks at once, as many requests open as the endpoint bears. Where it is connected, every
        request is admitted by its limits, at what it really costs."""
        by_call = {call: task for task in tasks for call in task.unanswered}
        admitted = tasks if self._connected else takewhile(admit, tasks)
        open_work = [task.batch.work for task in admitted if task.unanswered]
        for answers in self._answered(open_work):
            if not answers:
                yield AnsweredBatch(PendingBatch(Batch((), 0, None), frozenset()), (), Spending(0.0))
                continue
            done = [by_call[answer.call] for answer in answers]
            together = Batch(tuple(call for task in done for call in task.batch.calls),
                             sum(task.batch.cost for task in done), None)  # fmt: skip
            yield AnsweredBatch(
                PendingBatch(together, frozenset(answer.call for answer in answers)), answers, _spent(answers)
            )

    def least(self, answered: Iterable[tuple[Call, dict[str, Any]]]) -> Mapping[str, float]:
        """Nobody knows what an endpoint has to do."""
        return {}

    def rest(self) -> None:
        """Do nothing: a remote model takes no memory that another model may need."""

    def close(self) -> None:
        """Close every connection."""
        if self._loop is not None:
            left = asyncio.all_tasks(self._loop)  # what was interrupted, and what litellm does beside
            for task in left:
                task.cancel()
            if left:
                self._loop.run_until_complete(asyncio.wait(left))
            if self._client is not None:
                self._loop.run_until_complete(self._client.aclose())
            self._loop.close()
        self._loop = self._client = self._route = None

    def _open(self) -> DirectRoute | Provider:
        if self._route is None:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._loop.set_exception_handler(_complain)
            reach = self._reach()
            if reach.needs_consent and self._terms.consent is None:
                help_line = f"--allow {reach.pair}"
                message = f"`{self._name}` would send its prompts to {reach.pair}"
                raise UnavailableError([Diagnostic("GC643", message, help=help_line)])
            key = key_of(reach.variable)
            if reach.variable is not None and key is None:
                message = f"`{self._name}` needs a key, and {reach.variable} is not set"
                help_line = f"set {reach.variable} in the environment"
                raise UnavailableError([Diagnostic("GC631", message, help=help_line)])
            known = [key, *map(key_of, self._terms.keys)]
            self._keys = KeyScrubber(each for each in known if each)
            self._client = self._client or make_client(reach.base, key, self._keys)
            way = self.direct if reach.provider is None else Provider
            self._route = way(self._identity, reach.base, key, self._client, self._price)
            self._secrets = KeyScrubber([*(each for each in known if each), *self._route.secrets])
        return self._route

    def _reach(self) -> ServerAccess:
        reach = reach_of(self._identity)
        if reach is None:
            message = f"gridc does not know where `{self._identity.source}` is reached"
            raise UnavailableError([Diagnostic("GC354", message, help="state `base_url` and `key_env`")])
        return reach

    def _answered(self, calls: Sequence[Call]) -> Iterator[list[Answer]]:
        """The answers to calls in groups, as they come: from batches at the provider, and one by one. An
        empty group says that nothing can be done for a while."""
        batched = self._identity.batch or bool(self._journal.waiting(self._identity.digest))
        left = [call for call in calls if call.ranks] if batched else list(calls)
        if batched:
            route = self._open()
            texts = {call.id: call for call in calls if not call.ranks}
            batches = self._batches(route)
            in_flight = [self._in_flight(route, call) for call in texts.values()]
            for group in batches.run(in_flight, self._running(), self._identity.batch):
                self._worked = batches.session.worked
                yield [self._answer(texts[request.call], route, _Parts(1, {0: request})) for request in group]
            left += () if self._identity.batch else [texts[call] for call in batches.left]
        yield from self._answered_singly(left)

    def _batches(self, route: DirectRoute | Provider) -> Batches:
        assert self._client is not None
        price = None if self._price is None else self._price.in_batches

        async def read(prepared: PreparedRequest, body: Mapping[str, Any]) -> RequestResult:
            return await route.read(prepared, body, price)

        return Batches(
            self._session("call"), self._client, route.provider, read, self._settings.batch_wait_s,
            self._terms.repeat_lost,
        )  # fmt: skip

    def _in_flight(self, route: DirectRoute | Provider, call: Call) -> CallInFlight:
        forms = [partial(route.prepare, call.id, form, call.parameters) for form in call.prompt.forms()]
        price = None if self._price is None else self._price.in_batches
        read, written = wire.most_tokens(call.prompt, call.parameters["max_tokens"])
        usd = None if price is None else price.most(read, written)
        return CallInFlight(call.id, forms, CallCost(read + written, usd))

    def _answered_singly(self, calls: Sequence[Call]) -> Iterator[list[Answer]]:
        if not calls:
            return
        route = self._open()
        if self._honours is not None and isinstance(route, DirectRoute):
            self._probed(route)  # a later wave may be the first that samples, or the first of its path
        open_calls: dict[str, _Parts] = {}

        def pursuits() -> Iterator[Pursuit]:
            for call in calls:
                parts = list(self._pursuits(route, call))
                open_calls[call.id] = _Parts(len(parts))
                yield from parts

        known = {call.id: call for call in calls}
        session = self._session("call")
        session.witnesses = lambda: self._witnesses(route, known)
        for group in session.run(pursuits(), self._running()):
            answers = []
            for ended in group:
                parts = open_calls[ended.call]
                parts.ended[ended.part] = ended
                if len(parts.ended) == parts.of:
                    answers.append(self._answer(known[ended.call], route, open_calls.pop(ended.call)))
            self._worked = session.worked
            if answers or not group:
                yield answers

    def _pursuits(self, route: DirectRoute | Provider, call: Call) -> Iterator[Pursuit]:
        if self._prompts is not None:
            assert isinstance(route, DirectRoute)
            yield from self._of_tokens(self._prompts, route, call)
            return
        if not call.ranks:
            first, *shorter = (
                partial(_with_less, dropped, partial(route.generate, call.id, form, call.parameters))
                for dropped, form in enumerate(call.prompt.forms())
            )
            most = self._cost(*wire.most_tokens(call.prompt, call.parameters["max_tokens"]))
            yield Pursuit(call.id, first, most, shorter=deque(shorter))
            return
        assert isinstance(route, DirectRoute)
        text = call.prompt.plain
        for part, given in enumerate(
            (text, *(text + continuation for continuation in call.parameters["continuations"]))
        ):
            most = self._cost(*wire.most_tokens(Prompt((("user", given),), False), 1))
            yield Pursuit(call.id, partial(self._score, route, given), most, part)

    def _of_tokens(self, prompts: "Prompts", route: DirectRoute, call: Call) -> Iterator[Pursuit]:
        if call.ranks:
            for part, (number, request) in enumerate(self._scoring(prompts, call)):
                most = self._cost(len(request[0]["prompt"]), 1)
                yield Pursuit(call.id, partial(route.scored, request, number), most, part)
            return
        forms = asked_forms(prompts, call)
        first, *shorter = (
            partial(
                _with_less,
                form.dropped,
                partial(route.continued, call.id, form.ids, prompts.opened(form.ids), call.parameters),
            )
            for form in forms
        )
        most = self._cost(len(forms[0].ids), call.parameters["max_tokens"])
        yield Pursuit(call.id, first, most, shorter=deque(shorter))

    def _scoring(self, prompts: "Prompts", call: Call) -> Iterator[tuple[int, ScoreRequest]]:
        """The requests of a ranking, each with the number of its candidate."""
        for number, member in enumerate(ranking_members(prompts, call)):
            given = member.given or ()
            for request in score_requests(self._server, self._identity.source, member.prompt, given):
                yield number, request

    @property
    def _server(self) -> Server:
        return self._identity.server or "openai"

    def _witnesses(self, route: DirectRoute | Provider, left_out: Container[str]) -> Iterator[Pursuit]:
        """Three calls of the study that are not among these, as probes: most of them have an answer."""
        beside = _three_calls([call for call in self._calls if call.id not in left_out])
        others = [*beside, *(call for call in self._earlier if call.id not in left_out)]
        for call in others[:3]:
            yield replace(next(iter(self._pursuits(route, call))), call="")

    async def _score(self, route: DirectRoute, text: str) -> RequestResult:
        document = await route.post("/completions", scoring.scoring_body(route.source, text))
        try:
            scored = scoring.read_logprobs(document, text)
        except scoring.NotProvedError as error:
            raise RequestError("unreadable", str(error), 200) from None
        counts, _ = wire.counted_tokens(document.get("usage"))
        read, written = len(scored.tokens), 1
        usd = None if self._price is None else self._price.usd(read, written)
        body = scoring.scoring_body(route.source, text)
        sent = {"endpoint": f"{route.base}/completions", "body": body, "dropped": []}
        name, fingerprint = (
            wire.checked_name(document.get("model")),
            wire.checked_name(document.get("system_fingerprint")),
        )
        return RequestResult(
            {"scored": scored}, sent, counts, CallCost(read + written, usd), name, fingerprint, 200
        )

    def _answer(self, call: Call, route: DirectRoute | Provider, parts: _Parts) -> Answer:
        ended = [parts.ended[part] for part in range(parts.of)]
        failure = next((request.failure for request in ended if request.failure is not None), None)
        results = [request.result for request in ended if request.result is not None]
        usage: dict[str, Any] = {"requests": sum(request.attempts for request in ended)}
        for name in {name for reply in results for name in reply.usage}:
            usage[name] = sum(reply.usage.get(name, 0) for reply in results)
        if self._price is not None:
            usage["usd"] = sum(reply.cost.usd or 0.0 for reply in results)
        seconds = max(request.seconds for request in ended)
        if failure is not None:
            content: dict[str, Any] = {
                "error": {"kind": failure.kind, "http": failure.http, "message": failure.message}
            }
            return Answer(call.id, content, {"endpoint": route.endpoint, "dropped": []}, usage, seconds)
        if not call.ranks:
            sent = {**results[0].sent, "model": results[0].model, "fingerprint": results[0].fingerprint}
            content = results[0].content
            content["text"] = self._keys.of_text(content["text"])  # it may have come in several parts
            return Answer(call.id, content, sent, usage, seconds)
        if self._prompts is not None:
            scores: list[list[Score]] = [[] for _ in call.parameters["continuations"]]
            for reply in results:
                scores[reply.content["candidate"]] += reply.content["scores"]
            sent = {**results[0].sent, "candidates": len(scores), "model": results[0].model}
            return Answer(call.id, ranking_answer(scores), sent, usage, seconds)
        text, by_length = call.prompt.plain, call.parameters.get("seam") == "context_length"
        prompt, *candidates = (reply.content["scored"] for reply in results)
        sent = {**results[0].sent, "candidates": len(candidates), "model": results[0].model}
        return Answer(call.id, scoring.rank(prompt, candidates, text, by_length), sent, usage, seconds)

    def _session(self, purpose: Purpose) -> Session:
        self._open()

        def clean(text: str) -> str:
            return wire.valid_unicode(self._secrets.of_message(text))

        return Session(
            self._name, self._identity.digest, self.pace, self._limits, self._journal,
            self._settings.attempts, self._settings.timeout_s, clean, purpose, self._worked,
            say=self._terms.say, base=self._identity.base_url,
        )  # fmt: skip

    def _running(self) -> asyncio.AbstractEventLoop:
        self._open()
        assert self._loop is not None
        return self._loop

    def _cost(self, read: int, written: int) -> CallCost:
        return CallCost(read + written, None if self._price is None else self._price.most(read, written))

    def _bound(self, call: Call) -> int:
        """The most tokens that a call can take."""
        if self._prompts is not None and call.ranks:
            return sum(len(body["prompt"]) + 1 for _, (body, _) in self._scoring(self._prompts, call))
        if self._prompts is not None:
            return len(asked_forms(self._prompts, call)[0].ids) + int(call.parameters["max_tokens"])
        if not call.ranks:
            return sum(wire.most_tokens(call.prompt, call.parameters["max_tokens"]))
        read, _ = wire.most_tokens(call.prompt, 0)
        texts = call.parameters["continuations"]
        return (read + 1) * (len(texts) + 1) + sum(len(text.encode()) for text in texts)

    def _path(self, call: Call) -> str:
        """The path at which a text is requested."""
        return "/chat/completions" if self._prompts is None and call.prompt.chat_template else "/completions"

    def repeats(self, call: Call) -> bool:
        """Whether the same call must have the same answer: no number is drawn, or a probe found that a seed
        draws the same ones again."""
        if call.ranks or not call.parameters.get("temperature"):
            return True
        return (self._honours or {}).get(self._path(call), {}).get("seed") == "honoured"

    def _probed(self, route: DirectRoute) -> Mapping[str, Honours]:
        """What the server honours on each path on which the study asks for texts. Raises `HazardError` where
        it would answer something else than the study asks."""
        honours = dict(self._honours or {})
        for path, samples in self._samples.items():
            if path not in honours:
                honours[path] = self._through(route, partial(self._probe, route, path))
            found = refusals(honours[path], samples, self._identity.omits)
            if found and "GC529" not in self._waived:
                message = f"`{self._name}` at {route.base}{path}: {'; '.join(found)}"
                help_line = (
                    "start the server without a sampling of its own (vLLM: --generation-config vllm), or set "
                    'the sampling where it starts, with omits = ["temperature"]; a server that ignores a '
                    "temperature can be asked greedily"
                )
                raise HazardError([Diagnostic("GC529", message, help=help_line)])
        self._honours = honours
        route.reasonless = frozenset(
            path for path, found in honours.items() if found.get("finish_reason") == scoring.NEVER_GIVEN
        )
        return honours

    async def _probe(self, route: DirectRoute, path: str, ask: PostJson) -> Honours:
        scored = None
        if self._prompts is not None:
            scored = given_again(ask, self._prompts, route.source, self._server)
        return await probe(ask, self._asked_as(route, path), scored)

    def _asked_as(self, route: DirectRoute, path: str) -> AskedAs:
        """How a generation is asked on a path: as the calls of the study are."""
        about = route.source, self._server, frozenset(self._identity.omits)
        if self._prompts is not None:
            return asked_as(self._prompts, *about)
        return partial(_text_body, path == "/chat/completions", *about)

    def _proved(self, route: DirectRoute) -> dict[str, Any]:
        """That the server scores given tokens. Raises `UnavailableError` where it does not."""
        about: dict[str, Any] = {"body": self._asked_as(route, "/completions"), "model": route.source}
        prove = partial(scoring.prove_endpoint, **about)
        if self._prompts is not None:
            prove = partial(prove_tokens, **about, server=self._server, prompts=self._prompts)
        try:
            proof: dict[str, Any] = self._through(route, prove)
        except scoring.NotProvedError as error:
            message = f"`{self._name}` at {route.base} is asked for likelihoods, and {error}"
            raise UnavailableError([Diagnostic("GC636", message)]) from None
        return proof

    def _through(self, route: DirectRoute, work: Callable[[PostJson], Awaitable[Any]]) -> Any:
        """Do something that asks the server, every request recorded as a probe."""
        try:
            return self._running().run_until_complete(work(partial(self._probe_ask, route)))
        except RequestError as error:
            raise self._session("probe").stopped(error) from None

    async def _probe_ask(self, route: DirectRoute, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        async def ask() -> RequestResult:
            document = await route.post(path, body)
            counts, _ = wire.counted_tokens(document.get("usage"))
            took = counts.get("prompt_tokens", 0), counts.get("completion_tokens", 0)
            usd = None if self._price is None else self._price.usd(*took)
            name = wire.checked_name(document.get("model"))
            return RequestResult(
                {"document": document}, {}, counts, CallCost(sum(took), usd), name, None, 200
            )

        read, written = len(json.dumps(body)), int(body.get("max_tokens", 16)) * int(body.get("n", 1))
        pursuit = Pursuit("", ask, self._cost(read, written))
        result = await self._session("probe").insist(pursuit)
        document: dict[str, Any] = result.content["document"]
        return document


def _complain(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What asyncio says of a task that nobody waits for; one that Ctrl-C broke off has nothing to say."""
    if not isinstance(context.get("exception"), KeyboardInterrupt):
        loop.default_exception_handler(context)


def _three_calls(calls: Sequence[Call]) -> Sequence[Call]:
    """Three of these calls, far apart in their order."""
    return calls[:: max(1, len(calls) // 3)][:3]


def _text_body(
    chat: bool, model: str, server: str, omits: frozenset[str], text: str, asked: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    return wire.generation_body(model, Prompt((("user", text),), chat), asked, server, omits)


async def _with_less(dropped: int, ask: Callable[[], Awaitable[RequestResult]]) -> RequestResult:
    """Ask with this many exemplars fewer."""
    result = await ask()
    if dropped:
        result.sent["exemplars_dropped"] = dropped
    return result


def _spent(answers: Sequence[Answer]) -> Spending:
    """What a group of answers took."""
    names = ("requests", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "usd")
    work = {name: sum(answer.usage.get(name, 0) for answer in answers) for name in names}
    return Spending(
        sum(answer.seconds for answer in answers), {name: took for name, took in work.items() if took}
    )
