"""Calls in batches at a provider, which answers within a day for less money.

Before anything leaves, a batch and its requests are on the disk; before the request that may be paid leaves,
so is that it is about to; and as soon as the provider has named the batch, its name. A process that is killed
at any instant leaves one of three things: a batch that was never submitted, one whose results come later,
or one that has to be found at the provider, which is told our own name of it. What cannot be found may have
been paid, and is not asked again unasked.
"""

import asyncio
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, BinaryIO
from uuid import uuid4

import httpx

from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.runtime.engines.api.batch_protocols import PROTOCOLS, BatchProtocol, Ending, Line, Look, rows
from gridc.runtime.engines.api.client import MOST_BODY, Into, body_of
from gridc.runtime.engines.api.costs import Cost
from gridc.runtime.engines.api.failures import RequestError
from gridc.runtime.engines.api.records import Attempt, Submission
from gridc.runtime.engines.api.routes import Prepared
from gridc.runtime.engines.api.session import Ended, Got, Session, pause_after, within

FIRST_LOOK, LONGEST_LOOK = 0.5, 60.0
"""Seconds between two looks at a batch, growing by half from the first to the longest."""

FULL_PAUSE, LONGEST_FULL_PAUSE = 60.0, 3600.0
"""Seconds before more is submitted to a provider that takes no further batch, doubling."""

STEP = 0.5
"""Seconds that are slept at most before another model has its turn."""

GATHERED = 256
"""Results that are stored in one commit."""

MOST_LINE = 2**18
"""Bytes of a result on average: far more than any answer."""

_WITHOUT_LINE: Mapping[Ending, str] = {
    "completed": "missing", "expired": "expired", "cancelled": "cancelled", "failed": "batch_failed",
}  # fmt: skip
"""By how a batch ended: the failure of a request without a result."""


@dataclass(slots=True)
class Wanted:
    """A call on its way: how its request is made, first as it is and then with less and less context (`form`
    says with which), what it may cost at most, and what happened so far."""

    call: str
    forms: Sequence[Callable[[], Awaitable[Prepared]]]
    most: Cost
    form: int = 0
    made: dict[int, Prepared] = field(default_factory=dict)
    tries: int = 0
    number: int = 0

    async def prepared(self) -> Prepared:
        """Its request."""
        if self.form not in self.made:
            self.made[self.form] = await self.forms[self.form]()
        return self.made[self.form]


@dataclass(slots=True)
class Flight:
    """A batch at the provider. `asked` are its attempts by call, `wanted` those of the calls that are asked
    for now; `earlier` says that another run submitted it."""

    submission: Submission
    asked: dict[str, Attempt]
    wanted: dict[str, Wanted]
    earlier: bool
    protocol: BatchProtocol
    begun: float
    look_at: float = 0.0
    pause: float = field(default_factory=lambda: FIRST_LOOK)
    failures: int = 0

    @property
    def remote(self) -> str:
        """What the provider calls it."""
        assert self.submission.remote is not None
        return self.submission.remote


@dataclass(slots=True)
class Batches:
    """The batches of one model. `session` holds what they share with single requests; `read` makes of the
    body of a response what came of a request; `wait` is how many seconds they are waited for, None for ever;
    `repeat_lost` says that what may have been paid and cannot be found is asked again."""

    session: Session
    client: httpx.AsyncClient
    provider: str
    read: Callable[[Prepared, Mapping[str, Any]], Awaitable[Got]]
    wait: float | None
    repeat_lost: bool
    most_requests: int = 10**9
    _flights: list[Flight] = field(default_factory=list)
    _ready: deque[Wanted] = field(default_factory=deque)
    _held: list[tuple[Wanted, RequestError]] = field(default_factory=list)
    _not_before: float = 0.0
    _full_pause: float = field(default_factory=lambda: FULL_PAUSE)
    _stop: RequestError | None = None

    def run(
        self, wanted: Iterable[Wanted], loop: asyncio.AbstractEventLoop, submits: bool
    ) -> Iterator[list[Ended]]:
        """What has ended, as it ends; an empty list while everything waits. First what earlier runs submitted
        is taken up. Without `submits` nothing new is submitted, and `left` are the calls in no batch.

        Raises `UnavailableError`: GC638 for a batch that may have been paid and cannot be found, GC639 where
        it is waited for no longer, GC640 where the provider did not carry one out."""
        self._ready.extend(wanted)
        begun = time.monotonic()
        try:
            loop.run_until_complete(self._adopt())
            while True:
                if submits:
                    loop.run_until_complete(self._submit())
                if not self._flights and (not submits or self.session.limits.reached or not self._ready):
                    break
                for flight in list(self._flights):
                    yield from self._advance(flight, loop)
                    if self._stop is not None:
                        raise self.session.stopped(self._stop)
                left = self.session.limits.time_left()
                if left is not None and left <= 0 and not self.session.limits.hold(Cost(0, None)):
                    break
                time.sleep(self._pause())
                yield []
                if self._flights and self.wait is not None and time.monotonic() >= begun + self.wait:
                    raise self._waiting(f"after {self.wait:g} s")
            if self._held and not self.session.limits.reached:
                raise self.session.stopped(self._held[0][1])
        except KeyboardInterrupt:
            if not self._flights:
                raise
            raise self._waiting("yet") from None

    @property
    def left(self) -> Sequence[str]:
        """The calls that are in no batch."""
        return [each.call for each in self._ready]

    def _pause(self) -> float:
        """Seconds until there is something to do, as far as it is known."""
        times = [flight.look_at for flight in self._flights]
        if self._ready and self._not_before:
            times.append(self._not_before)
        return min(max(min(times, default=0.0) - time.monotonic(), 0.01), STEP)

    def _waiting(self, until: str) -> UnavailableError:
        """What is said when a run ends before its batches do."""
        calls = sum(len(flight.wanted) for flight in self._flights)
        names = [flight.remote for flight in self._flights]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        message = (
            f"{calls:,} calls of `{self.session.name}` wait at the provider, in {', '.join(names[:3])}{more},"
            f" and are not answered {until}"
        )
        help = "come back later: the same command takes their results, and asks nothing again"
        return UnavailableError([Diagnostic("GC639", message, help=help)])

    async def _adopt(self) -> None:
        """Take up the batches of earlier runs that hold a call which is wanted."""
        by_call = {each.call: each for each in self._ready}
        for submission, attempts in self.session.journal.waiting(self.session.identity):
            asked = {each.call: each for each in attempts if each.call is not None}
            mine = {call: by_call.pop(call) for call in asked if call in by_call}
            if not mine:
                continue
            protocol = await self._protocol(next(iter(mine.values())))
            if submission.state == "submitting":
                submission = await self._find(protocol, submission, attempts, self.repeat_lost)
            if submission.state == "lost":
                by_call |= mine
                continue
            for call, wanted in mine.items():
                wanted.number = asked[call].number
            self._flights.append(Flight(submission, asked, mine, True, protocol, time.monotonic()))
        self._ready = deque(by_call.values())

    async def _find(
        self, protocol: BatchProtocol, submission: Submission, attempts: Sequence[Attempt], repeat: bool
    ) -> Submission:
        """A batch whose submitting broke off, as the provider lists it. One that it does not list is lost if
        its calls are to be asked again (`repeat`), else raises `UnavailableError` (GC638)."""
        journal = self.session.journal
        try:
            remote = await self._insist(lambda: protocol.find(submission.id))
        except RequestError as error:
            if error.kind != "no_model":  # there is no list
                raise self.session.stopped(error) from None
            remote = None
        if remote is not None:
            submission = replace(submission, state="submitted", remote=remote)
        elif repeat:
            submission = replace(submission, state="lost")
            for attempt in attempts:
                journal.closed(replace(attempt, status="lost", paid="possibly"))
        else:
            raise self._lost(submission)
        journal.moved(submission)
        return submission

    def _lost(self, submission: Submission) -> UnavailableError:
        message = (
            f"a batch of {submission.requests:,} requests to `{self.session.name}` may have been paid, and "
            f"the provider does not list it (of {submission.created}, named {submission.id} by gridc)"
        )
        help = (
            "`gridc run --acknowledge lost-batches` asks its calls again; look at the provider's page first"
        )
        return UnavailableError([Diagnostic("GC638", message, help=help)])

    async def _protocol(self, wanted: Wanted) -> BatchProtocol:
        """The batch endpoint beside the one that a single request goes to."""
        prepared = await wanted.prepared()
        return PROTOCOLS[self.provider](self.client, prepared.base, prepared.headers)

    async def _submit(self) -> None:
        """Submit what may be, in as many batches as it takes."""
        while self._ready and self._stop is None and time.monotonic() >= self._not_before:
            identifier = uuid4().hex
            protocol = await self._protocol(self._ready[0])
            path, lines = (await self._ready[0].prepared()).path, []
            chosen = []
            async for wanted, line in self._chosen(protocol, identifier, path):
                chosen.append(wanted)
                lines.append(line)
            if not chosen:
                break
            await self._send(protocol, identifier, path, chosen, lines)

    async def _chosen(
        self, protocol: BatchProtocol, identifier: str, path: str
    ) -> AsyncIterator[tuple[Wanted, bytes]]:
        """Calls to one path with their lines, as many as a batch holds and the limits admit."""
        most, room = min(protocol.most_requests, self.most_requests), protocol.most_bytes
        others: list[Wanted] = []
        while self._ready and most:
            wanted = self._ready[0]
            prepared = await wanted.prepared()
            if prepared.path != path:
                others.append(self._ready.popleft())
                continue
            line = protocol.line(_custom_id(identifier, wanted), path, prepared.body)
            if (len(line) > room and room < protocol.most_bytes) or not self.session.limits.hold(wanted.most):
                break
            self._ready.popleft()
            most, room = most - 1, room - len(line)
            yield wanted, line
        self._ready.extendleft(reversed(others))

    async def _send(
        self,
        protocol: BatchProtocol,
        identifier: str,
        path: str,
        chosen: Sequence[Wanted],
        lines: Sequence[bytes],
    ) -> None:
        """Submit one batch. Where that broke off it is found at the provider, or the run stops."""
        session = self.session
        for wanted in chosen:
            wanted.number += 1
        asked = {wanted.call: self._attempt(wanted, identifier) for wanted in chosen}
        created = datetime.now(UTC).isoformat(timespec="seconds")
        submission = Submission(identifier, session.identity, created, len(chosen))
        session.journal.prepared(submission, list(asked.values()))
        mine = {wanted.call: wanted for wanted in chosen}
        flight = Flight(submission, asked, mine, False, protocol, time.monotonic())

        def careful() -> None:
            flight.submission = replace(submission, state="submitting")
            session.journal.moved(flight.submission)

        def risky() -> bool:
            return flight.submission.state == "submitting"

        try:
            remote = await self._insist(lambda: protocol.submit(identifier, path, lines, careful), risky)
        except RequestError as error:
            if not risky() or error.rule.paid == "no":
                for call in mine:
                    self._close(flight, call, error)
                session.journal.moved(replace(submission, state="dropped", detail=error.message))
                raise session.stopped(error) from None
            flight.submission = await self._find(protocol, flight.submission, list(asked.values()), False)
        else:
            flight.submission = replace(submission, state="submitted", remote=remote)
            session.journal.moved(flight.submission)
        self._flights.append(flight)

    def _attempt(self, wanted: Wanted, submission: str) -> Attempt:
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        return Attempt(
            uuid4().hex, self.session.identity, "call", wanted.call, wanted.number, started,
            usd=wanted.most.usd, submission=submission,
        )  # fmt: skip

    async def _insist(
        self, ask: Callable[[], Awaitable[Any]], risky: Callable[[], bool] = lambda: False
    ) -> Any:
        """One request after another until there is an answer, but none again that may have been paid. Raises
        the last `RequestError`."""
        for tries in range(1, self.session.attempts + 1):
            try:
                return await within(ask(), self.session.timeout)
            except RequestError as error:
                error.message = self.session.clean(error.message)
                paid = risky() and error.rule.paid == "possibly"
                left, pause = (
                    self.session.limits.time_left(),
                    max(pause_after(tries), error.retry_after or 0.0),
                )
                last = tries == self.session.attempts or (left is not None and left < pause)
                if paid or last or error.rule.then not in ("again", "later"):
                    raise
                await asyncio.sleep(pause)
        raise AssertionError("there is at least one attempt")

    def _advance(self, flight: Flight, loop: asyncio.AbstractEventLoop) -> Iterator[list[Ended]]:
        """Look at a batch if it is time, and take its results if it has ended."""
        now = time.monotonic()
        if now < flight.look_at:
            return
        try:
            look = loop.run_until_complete(within(flight.protocol.look(flight.remote), self.session.timeout))
        except RequestError as error:
            error.message = self.session.clean(error.message)
            flight.failures += 1
            if flight.failures >= self.session.attempts or error.rule.then not in ("again", "later"):
                raise self.session.stopped(error) from None
            flight.look_at = now + max(pause_after(flight.failures), error.retry_after or 0.0)
            return
        flight.failures = 0
        flight.look_at, flight.pause = now + flight.pause, min(flight.pause * 1.5, LONGEST_LOOK)
        if look.ending is not None:
            yield from self._results(flight, look, look.ending, loop)
            self._flights.remove(flight)

    def _results(
        self, flight: Flight, look: Look, ending: Ending, loop: asyncio.AbstractEventLoop
    ) -> Iterator[list[Ended]]:
        """Everything that came of a batch, in groups: first by its lines, then of what has none."""
        odd = {"unreadable": 0, "of no call in it": 0, "twice": 0}
        names = {_custom_id(flight.submission.id, call): call for call in flight.asked}
        seen: set[str] = set()
        ended: list[Ended] = []
        with ExitStack() as files:
            for line in self._lines(flight, look, files, loop):
                name, _, form = ("", "", "") if line is None else line.name.rpartition("-")
                call = names.get(name)
                if line is None:
                    odd["unreadable"] += 1
                elif call is None or not form.isdecimal():
                    odd["of no call in it"] += 1
                elif call in seen:
                    odd["twice"] += 1
                else:
                    seen.add(call)
                    if call in flight.wanted:
                        ended += loop.run_until_complete(self._take(flight, call, int(form), line))
                if len(ended) >= GATHERED:
                    yield ended
                    ended = []
        kind = "queue_full" if look.code == "token_limit_exceeded" else _WITHOUT_LINE[ending]
        said = [f"the batch is {ending}"] if ending != "completed" else []
        said += [look.detail] if look.detail else []
        said += [f"{count} lines {what}" for what, count in odd.items() if count]
        detail = self.session.clean("; ".join(said)) or None
        for call in [call for call in flight.wanted if call not in seen]:
            ended += self._failed(flight, call, RequestError(kind, detail or "it has no line"))
        if kind == "queue_full":
            self._wait_for_room(flight)
        if self._held and self.session.worked:
            ended += [self._given_up(flight, wanted, error) for wanted, error in self._held]
            self._held = []
        if ended:
            yield ended
        whole = len(flight.wanted) == len(flight.asked)
        self.session.journal.moved(
            replace(flight.submission, state="ended" if whole else "submitted", detail=detail)
        )

    def _lines(
        self, flight: Flight, look: Look, files: ExitStack, loop: asyncio.AbstractEventLoop
    ) -> Iterator[Line | None]:
        """The results, all fetched before the first is taken; None for a line that cannot be read."""
        opened: list[BinaryIO] = []
        for path in look.outputs:
            file: BinaryIO = files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  # the stack closes it
            loop.run_until_complete(self._insist(partial(self._fetch, flight, path, file)))
            opened.append(file)
        for file in opened:
            file.seek(0)
            for row in rows(iter(partial(file.readline, MOST_BODY), b"")):
                try:
                    yield None if row is None else flight.protocol.read(row)
                except (LookupError, TypeError, AttributeError, ValueError):
                    yield None

    async def _fetch(self, flight: Flight, path: str, file: BinaryIO) -> None:
        file.seek(0)
        file.truncate()
        most = MOST_BODY + len(flight.asked) * MOST_LINE
        await body_of(self.client, flight.protocol.get(path, into=Into(file, most)))

    async def _take(self, flight: Flight, call: str, form: int, line: Line) -> list[Ended]:
        """What came of one request, by its line."""
        wanted = flight.wanted[call]
        wanted.form = min(form, len(wanted.forms) - 1)
        try:
            if line.error is not None:
                raise line.error
            assert line.body is not None
            got = await self.read(await wanted.prepared(), line.body)
        except RequestError as error:
            return self._failed(flight, call, error)
        got.sent["batch"] = flight.remote
        if wanted.form:
            got.sent["exemplars_dropped"] = wanted.form
        self.session.worked = True
        self._close(flight, call, got)
        return [Ended(call, 0, got, None, _share(flight), wanted.number)]

    def _close(self, flight: Flight, call: str, came: Got | RequestError) -> None:
        """Count what a request took, and note how it ended."""
        attempt, wanted = flight.asked[call], flight.wanted[call]
        most = Cost(0, attempt.usd) if flight.earlier else wanted.most
        attempt = replace(attempt, seconds=round(_share(flight), 6))
        if isinstance(came, Got):
            took = came.cost
            attempt = replace(
                attempt, status="answered", paid="yes", http=came.http, answered_by=came.model,
                fingerprint=came.fingerprint, usage=came.usage, usd=took.usd,
            )  # fmt: skip
        else:
            came.message = self.session.clean(came.message)
            free = Cost(0, None if most.usd is None else 0.0)
            took = most if came.rule.paid == "possibly" else free
            attempt = replace(
                attempt, status="failed", paid=came.rule.paid, failure=came.kind, http=came.http,
                usd=took.usd, detail=came.message,
            )  # fmt: skip
        (self.session.limits.returned if flight.earlier else self.session.limits.settle)(most, took)
        self.session.journal.closed(attempt)

    def _failed(self, flight: Flight, call: str, error: RequestError) -> list[Ended]:
        """What follows from a failure: the call is asked again in a later batch, or has failed for good."""
        wanted, then = flight.wanted[call], error.rule.then
        self._close(flight, call, error)
        if error.kind == "context_length" and wanted.form + 1 < len(wanted.forms):
            wanted.form += 1
            self._ready.append(wanted)
        elif then == "stop":
            self._stop = self._stop or error
        elif error.kind == "queue_full":
            self._ready.append(wanted)
        elif then in ("again", "later") and wanted.tries + 1 < self.session.attempts:
            wanted.tries += 1
            self._ready.append(wanted)
        elif then == "final":
            return [self._given_up(flight, wanted, error)]
        else:
            self._held.append((wanted, error))
        return []

    def _given_up(self, flight: Flight, wanted: Wanted, error: RequestError) -> Ended:
        return Ended(wanted.call, 0, None, error, _share(flight), wanted.number)

    def _wait_for_room(self, flight: Flight) -> None:
        """Submit no more for a while, and then half as much at once."""
        if len(flight.asked) == 1:
            self._stop = RequestError("batch_failed", "the provider takes not even a batch of one request")
        self.most_requests = max(1, min(len(flight.asked), self.most_requests) // 2)
        self._not_before = time.monotonic() + self._full_pause
        self._full_pause = min(self._full_pause * 2, LONGEST_FULL_PAUSE)


def _custom_id(submission: str, request: Wanted | str) -> str:
    """The name of a request in a batch: at most 64 letters, digits and hyphens. That of a call alone is what
    it begins with; the number of its form follows."""
    if isinstance(request, str):
        return f"{submission[:16]}-{request[:40]}"
    return f"{_custom_id(submission, request.call)}-{request.form}"


def _share(flight: Flight) -> float:
    """A request's share of the time since its batch was submitted or taken up."""
    return (time.monotonic() - flight.begun) / len(flight.asked)
