"""Sends calls to a provider in batches, which it answers within a day for less money. Decides what to submit
when, and what to do with the results."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, BinaryIO
from uuid import uuid4

import httpx

from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.runtime.engines.api import batch_protocols
from gridc.runtime.engines.api.attempts import Attempt, CallCost, Submission
from gridc.runtime.engines.api.batch_protocols import (
    PROTOCOLS,
    BatchProtocol,
    BatchStatus,
    CallInFlight,
    Ending,
    Flight,
    ResultLine,
    custom_id,
    fetch,
    request_prefix,
    result_lines,
)
from gridc.runtime.engines.api.routes import PreparedRequest
from gridc.runtime.engines.api.session import EndedRequest, RequestResult, Session, pause_after, with_timeout
from gridc.runtime.engines.api.wire import RequestError

LONGEST_LOOK = 60.0
"""Seconds between two looks at a batch at most: each pause is half as long again as the one before."""

FULL_PAUSE, LONGEST_FULL_PAUSE = 60.0, 3600.0
"""Seconds before more is submitted to a provider that takes no further batch, doubling."""

STEP = 0.5
"""Seconds that are slept at most before another model has its turn."""

GATHERED = 256
"""Results that are stored in one commit."""

_WITHOUT_LINE: Mapping[Ending, str] = {
    "completed": "missing", "expired": "expired", "cancelled": "cancelled", "failed": "batch_failed",
}  # fmt: skip
"""By how a batch ended: the failure of a request without a result."""


@dataclass(slots=True)
class Batches:
    """The batches of one model. `session` holds what they share with single requests; `read` makes of the
    body of a response what came of a request; `wait` is how many seconds they are waited for, None for ever;
    `repeat_lost` says that what may have been paid and cannot be found is asked again."""

    session: Session
    client: httpx.AsyncClient
    provider: str
    read: Callable[[PreparedRequest, Mapping[str, Any]], Awaitable[RequestResult]]
    wait: float | None
    repeat_lost: bool
    most_requests: int = 10**9
    _flights: list[Flight] = field(default_factory=list)
    _ready: deque[CallInFlight] = field(default_factory=deque)
    _held: list[tuple[CallInFlight, RequestError]] = field(default_factory=list)
    _not_before: float = 0.0
    _full_pause: float = field(default_factory=lambda: FULL_PAUSE)
    _most_flights: int = 10**9
    _refused_alone: int = 0
    _stop: RequestError | None = None

    def run(
        self, requests: Iterable[CallInFlight], loop: asyncio.AbstractEventLoop, submits: bool
    ) -> Iterator[list[EndedRequest]]:
        """What has ended, as it ends; an empty list while everything waits. First what earlier runs submitted
        is taken up. Without `submits` nothing new is submitted, and `left` are the calls in no batch.

        Raises `UnavailableError`: GC638 for a batch that may have been paid and cannot be found, GC639 where
        it is waited for no longer, GC640 where the provider did not carry one out, and as for a single
        request where the endpoint cannot be used."""
        self._ready.extend(requests)
        try:
            yield from self._pursued(loop, submits)
        except RequestError as error:
            error.message = self.session.clean(error.message)
            raise self.session.stopped(error) from None
        except KeyboardInterrupt:
            if not self._flights:
                raise
            raise self._waiting("yet") from None

    def _pursued(self, loop: asyncio.AbstractEventLoop, submits: bool) -> Iterator[list[EndedRequest]]:
        begun = time.monotonic()
        loop.run_until_complete(self._adopt())
        while True:
            if submits:
                loop.run_until_complete(self._submit())
            if not self._flights and (not submits or self.session.limits.reached or not self._ready):
                break
            for flight in list(self._flights):
                yield from self._advance(flight, loop)
                if self._stop is not None:
                    raise self._stop
            left = self.session.limits.time_left()
            if left is not None and left <= 0 and not self.session.limits.hold(CallCost(0, None)):
                break
            time.sleep(self._pause())
            yield []
            if self._flights and self.wait is not None and time.monotonic() >= begun + self.wait:
                raise self._waiting(f"after {self.wait:g} s")
        if self._held and not self.session.limits.reached:
            raise self._held[0][1]

    @property
    def left(self) -> Sequence[str]:
        """The calls that are in no batch."""
        return [flight.call for flight in self._ready]

    def _pause(self) -> float:
        """Seconds until there is something to do, as far as it is known."""
        times = [flight.look_at for flight in self._flights]
        if self._ready and self._not_before:
            times.append(self._not_before)
        return min(max(min(times, default=0.0) - time.monotonic(), 0.01), STEP)

    def _waiting(self, until: str) -> UnavailableError:
        """What is said when a run ends before its batches do."""
        calls = sum(len(flight.pending) for flight in self._flights)
        names = [flight.remote for flight in self._flights]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        message = (
            f"{calls:,} calls of `{self.session.name}` wait at the provider, in {', '.join(names[:3])}{more},"
            f" and are not answered {until}"
        )
        help = "come back later: the same command takes their results, and asks nothing again"
        return UnavailableError([Diagnostic("GC639", message, help=help)])

    async def _adopt(self) -> None:
        """Take up the batches of earlier runs that hold a call that is asked for."""
        by_call = {request.call: request for request in self._ready}
        for submission, attempts in self.session.journal.waiting(self.session.identity):
            unended = {
                attempt.call: attempt
                for attempt in attempts
                if attempt.call is not None and attempt.status == "sent"
            }
            mine = {call: by_call.pop(call) for call in unended if call in by_call}
            if not mine:
                continue
            for call, request in mine.items():
                request.number = unended[call].number
            names = {
                request_prefix(submission.id, attempt.call): attempt.call
                for attempt in attempts
                if attempt.call
            }
            protocol = await self._protocol(next(iter(mine.values())))
            flight = Flight(submission, unended, mine, names, True, protocol)
            if submission.state == "submitting":
                try:
                    flight.submission = await batch_protocols.find_flight(self.session, protocol, submission)
                except UnavailableError:
                    if not self.repeat_lost:
                        raise
                    by_call |= mine
                    batch_protocols.give_up_batch(self.session, submission, unended.values())
                    continue
            self._flights.append(flight)
        self._ready = deque(by_call.values())

    async def _protocol(self, request: CallInFlight) -> BatchProtocol:
        """The batch endpoint beside the one that a single request goes to."""
        prepared = await request.prepared()
        return PROTOCOLS[self.provider](self.client, prepared.base, prepared.headers)

    async def _submit(self) -> None:
        """Submit what may be, in as many batches as it takes."""
        while (
            self._ready
            and self._stop is None
            and time.monotonic() >= self._not_before
            and len(self._flights) < self._most_flights
        ):
            identifier = uuid4().hex
            protocol = await self._protocol(self._ready[0])
            path, lines = (await self._ready[0].prepared()).path, []
            chosen = []
            async for request, line in self._chosen(protocol, identifier, path):
                chosen.append(request)
                lines.append(line)
            if not chosen:
                break
            await self._send(protocol, identifier, path, chosen, lines)

    async def _chosen(
        self, protocol: BatchProtocol, identifier: str, path: str
    ) -> AsyncIterator[tuple[CallInFlight, bytes]]:
        """Calls to one path with their lines, as many as a batch holds and the limits admit."""
        most, room = min(protocol.most_requests, self.most_requests), protocol.most_bytes
        others: list[CallInFlight] = []
        while self._ready and most:
            request = self._ready[0]
            prepared = await request.prepared()
            if prepared.path != path:
                others.append(self._ready.popleft())
                continue
            line = protocol.line(custom_id(identifier, request), path, prepared.body)
            if (len(line) > room and room < protocol.most_bytes) or not self.session.limits.hold(
                request.most
            ):
                break
            self._ready.popleft()
            most, room = most - 1, room - len(line)
            yield request, line
        self._ready.extendleft(reversed(others))

    async def _send(
        self,
        protocol: BatchProtocol,
        identifier: str,
        path: str,
        chosen: Sequence[CallInFlight],
        lines: Sequence[bytes],
    ) -> None:
        """Submit one batch."""
        for request in chosen:
            request.number += 1
        created = datetime.now(UTC).isoformat(timespec="seconds")
        submission = Submission(identifier, self.session.identity, created, len(chosen))
        attempts = {request.call: self._attempt(request, identifier) for request in chosen}
        names = {request_prefix(identifier, call): call for call in attempts}
        pending = {request.call: request for request in chosen}
        flight = Flight(submission, attempts, pending, names, False, protocol)
        try:
            await batch_protocols.send_flight(self.session, flight, path, lines)
        except RequestError as error:
            arrived = flight.submission.state == "submitting"
            came = error if arrived else RequestError("not_submitted", error.message, error.http)
            for call in flight.pending:
                self._close(flight, call, came)
            self.session.journal.moved(replace(submission, state="dropped", detail=error.message))
            raise
        self._flights.append(flight)

    def _attempt(self, request: CallInFlight, submission: str) -> Attempt:
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        return Attempt(
            uuid4().hex, self.session.identity, "call", request.call, request.number, started,
            usd=request.most.usd, submission=submission,
        )  # fmt: skip

    def _advance(self, flight: Flight, loop: asyncio.AbstractEventLoop) -> Iterator[list[EndedRequest]]:
        """Look at a batch if it is time, and take its results if it has ended."""
        now = time.monotonic()
        if now < flight.look_at:
            return
        try:
            look = loop.run_until_complete(
                with_timeout(flight.protocol.look(flight.remote), self.session.timeout)
            )
        except RequestError as error:
            flight.failures += 1
            if error.kind == "no_model":
                self._lose(flight)
            elif flight.failures >= self.session.attempts or error.rule.then not in ("again", "later"):
                raise
            flight.look_at = now + max(pause_after(flight.failures), self.session.wait_of(error))
            return
        flight.failures = 0
        self.session.heard()
        flight.look_at, flight.pause = now + flight.pause, min(flight.pause * 1.5, LONGEST_LOOK)
        if look.ending is None:
            return
        with ExitStack() as opened:
            try:
                result = fetch(self.session, self.client, flight, look, opened)
                files = loop.run_until_complete(result)
            except RequestError as error:
                if error.kind != "no_model":
                    raise
                self._lose(flight)
                return
            yield from self._results(flight, look, look.ending, files, loop)
        self._flights.remove(flight)

    def _lose(self, flight: Flight) -> None:
        """A batch that was submitted and that the provider does not have any more: its calls are asked again
        where that is acknowledged. Raises `UnavailableError` (GC638)."""
        if not self.repeat_lost:
            raise batch_protocols.lost_batch(self.session, flight.submission, "does not have its results")
        batch_protocols.give_up_batch(self.session, flight.submission, flight.asked.values())
        for request in flight.pending.values():
            if not flight.earlier:
                self.session.limits.charge(request.most, request.most)
            self._ready.append(request)
        self._flights.remove(flight)

    def _results(
        self,
        flight: Flight,
        look: BatchStatus,
        ending: Ending,
        files: Sequence[BinaryIO],
        loop: asyncio.AbstractEventLoop,
    ) -> Iterator[list[EndedRequest]]:
        """Everything that came of a batch, in groups: first by its lines, then of what has none."""
        odd: Counter[str] = Counter()
        missing = dict.fromkeys(flight.pending)
        ended: list[EndedRequest] = []
        for call, form, line in result_lines(flight, files, odd):
            if call in missing:
                del missing[call]
                ended += loop.run_until_complete(self._take(flight, call, form, line))
            if len(ended) >= GATHERED:
                yield ended
                ended = []
        kind = "queue_full" if look.code == "token_limit_exceeded" else _WITHOUT_LINE[ending]
        details = [f"the batch is {ending}"] if ending != "completed" else []
        details += [look.detail] if look.detail else []
        details += [f"{count} lines {what}" for what, count in sorted(odd.items())]
        detail = self.session.clean("; ".join(details)) or None
        for call in missing:
            ended += self._failed(flight, call, RequestError(kind, detail or "it has no line"))
        if kind == "queue_full":
            self._wait_for_room(flight)
        else:
            self._full_pause, self._refused_alone = FULL_PAUSE, 0
        if self._held and self.session.worked:
            ended += [self._given_up(flight, request, error) for request, error in self._held]
            self._held = []
        if ended:
            yield ended
        complete = len(flight.pending) == len(flight.asked)
        self.session.journal.moved(
            replace(flight.submission, state="ended" if complete else "submitted", detail=detail)
        )

    async def _take(self, flight: Flight, call: str, form: int, line: ResultLine) -> list[EndedRequest]:
        """What came of one request, by its line."""
        request = flight.pending[call]
        request.form = min(form, len(request.forms) - 1)
        try:
            if line.error is not None:
                raise line.error
            assert line.body is not None
            result = await self.read(await request.prepared(), line.body)
        except RequestError as error:
            return self._failed(flight, call, error)
        result.sent["batch"] = flight.remote
        if request.form:
            result.sent["exemplars_dropped"] = request.form
        self.session.worked = True
        self._close(flight, call, result)
        return [EndedRequest(call, 0, result, None, flight.share, request.number)]

    def _close(self, flight: Flight, call: str, came: RequestResult | RequestError) -> None:
        """Count what a request took, and note how it ended."""
        attempt, request = flight.asked[call], flight.pending[call]
        most = CallCost(0, attempt.usd) if flight.earlier else request.most
        attempt = replace(attempt, seconds=round(flight.share, 6))
        closed, took = self.session.ended(attempt, came, most)
        (self.session.limits.returned if flight.earlier else self.session.limits.charge)(most, took)
        self.session.journal.closed(closed)

    def _failed(self, flight: Flight, call: str, error: RequestError) -> list[EndedRequest]:
        """What follows from a failure: the call is asked again in a later batch, or has failed for good."""
        request, then = flight.pending[call], error.rule.then
        self._close(flight, call, error)
        if error.kind == "context_length" and request.form + 1 < len(request.forms):
            request.form += 1
            self._ready.append(request)
        elif then == "stop":
            self._stop = self._stop or error
        elif error.kind == "queue_full":
            self._ready.append(request)
        elif then in ("again", "later") and request.tries + 1 < self.session.attempts:
            request.tries += 1
            self._ready.append(request)
        elif then == "final":
            return [self._given_up(flight, request, error)]
        else:
            self._held.append((request, error))
        return []

    def _given_up(self, flight: Flight, request: CallInFlight, error: RequestError) -> EndedRequest:
        return EndedRequest(request.call, 0, None, error, flight.share, request.number)

    def _wait_for_room(self, flight: Flight) -> None:
        """Submit no more until another batch has ended, where one of ours may be what fills the queue; else
        for a while, and then half as much at once."""
        others = len(self._flights) - 1
        if others:
            self._most_flights = others
            return
        self._refused_alone += len(flight.asked) == 1
        if self._refused_alone >= self.session.attempts:
            message = f"it took no batch of one request, {self._refused_alone} times: its queue is full"
            self._stop = RequestError("batch_failed", message)
        self.most_requests = max(1, min(len(flight.asked), self.most_requests) // 2)
        self._not_before = time.monotonic() + self._full_pause
        self._full_pause = min(self._full_pause * 2, LONGEST_FULL_PAUSE)
