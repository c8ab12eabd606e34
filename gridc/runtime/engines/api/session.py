"""Sends calls, as many at once as the endpoint allows; repeats each until it is answered or fails for good.

How many requests may be open at once is learnt from what the endpoint says: slow start and additive growth as
in TCP congestion control (Jacobson 1988), with the pauses that HTTP states (RFC 9110, Retry-After). A round
is as many responses as may be open at once. The number starts at `START`, doubles after every clean round,
and after the first refusal grows by 5 % a round. An episode of 429 takes 20 % once, however many of them it
has; while it lasts, nothing is sent. Rounds with a server error do not grow.

A call is asked again after a failure that may pass, with growing pauses, up to a number of attempts. After
the last one it has failed for good if the endpoint answered another call since its first failure. If none was
answered, perhaps because none was left to ask, others of the study are asked again; where none of those is
answered, the endpoint is down, and the run stops with everything that was answered kept. So an outage costs
no item, and an item that nothing can answer costs no run.
"""

import asyncio
import heapq
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from typing import Any, TypeVar
from uuid import uuid4

from gridc.compiler.inputs.addresses import versioned
from gridc.diagnostics.errors import BudgetError, Diagnostic, UnavailableError
from gridc.runtime.engines.api.attempts import Attempt, CallCost, Journal, Limits, Purpose
from gridc.runtime.engines.api.wire import RequestError

START = 10
GROWTH = 1.05
SHRINK = 0.8
USUAL_PAUSE = 1.0
"""Seconds to wait after a 429 that does not say how long."""


@dataclass(slots=True)
class Pace:
    """`most` is the most that may ever be open. Times are seconds of one monotonic clock."""

    most: int
    limit: float = START
    _seen: int = 0
    _clean: bool = True
    _full: bool = False
    _refused: bool = False
    _closed_until: float = 0.0

    def __post_init__(self) -> None:
        self.limit = min(self.limit, self.most)

    def room(self, open_now: int, waiting: int, now: float) -> int:
        """How many of the requests that wait may be sent now. A round in which all places are taken is one
        to grow after."""
        if now < self._closed_until:
            return 0
        free = max(int(self.limit) - open_now, 0)
        self._full = self._full or waiting >= free
        return min(free, waiting)

    def as_many_as_possible(self) -> None:
        """So many at once as may ever be, unless the endpoint has refused some before."""
        if not self._refused:
            self.limit = float(self.most)

    def opens_at(self, now: float) -> float | None:
        """When a pause ends; None while there is none."""
        return self._closed_until if now < self._closed_until else None

    def answered(self) -> None:
        """A response without a fault of the server."""
        self._count()

    def broke(self) -> None:
        """A server error, a time-out or a cut connection: no growth this round."""
        self._clean = False
        self._count()

    def refused(self, sent: float, now: float, retry_after: float | None) -> None:
        """A 429 to a request that was sent at that time. Those that were sent before the last pause began
        belong to its episode."""
        if sent >= self._closed_until:
            self.limit = max(1.0, self.limit * SHRINK)
            self._refused = True
            self._seen, self._clean, self._full = 0, True, False
        pause = USUAL_PAUSE if retry_after is None else retry_after
        self._closed_until = max(self._closed_until, now + pause)

    def _count(self) -> None:
        self._seen += 1
        if self._seen < int(self.limit):
            return
        if self._clean and self._full:
            grown = self.limit * GROWTH if self._refused else self.limit * 2
            self.limit = min(float(self.most), max(grown, self.limit + (1 if self._refused else 0)))
        self._seen, self._clean, self._full = 0, True, False


FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""Seconds before a call is asked again, doubling from the first to the longest, less up to half by chance."""

PATIENCE = 20
"""How many times more often than `attempts` a call may be told to wait."""

LONGEST_WAIT, LONGEST_FIRST_WAIT = 3600.0, 60.0
"""Seconds that a run waits between two answers because an endpoint asks to (Retry-After), and that it waits
for an answer which says what the endpoint can do, before the first call."""

MOST_TOLD = 1e9
"""Seconds: no date is told that lies further ahead."""

TELLING = 5.0
"""Seconds: a longer wait is told."""

GATHER = 0.003
"""Seconds for which finished requests are gathered, so that one commit stores several."""


Came = TypeVar("Came")


@dataclass(frozen=True, slots=True)
class RequestResult:
    """What came of one request: the content of the answer, what was sent, and what the response says."""

    content: dict[str, Any]
    sent: dict[str, Any]
    usage: dict[str, int]
    cost: CallCost
    model: str | None
    fingerprint: str | None
    http: int


@dataclass(slots=True)
class Pursuit:
    """One request of a call (none: a probe) on its way: how it is asked, what it may cost at most, which
    `part` of the call it is, how it is asked with less context where there is no room, and what happened so
    far."""

    call: str
    ask: Callable[[], Awaitable[RequestResult]]
    most: CallCost
    part: int = 0
    shorter: "deque[Callable[[], Awaitable[RequestResult]]]" = field(default_factory=deque)
    tries: int = 0
    waits: int = 0
    number: int = 0
    first_failure: float | None = None
    begun: float = 0.0


@dataclass(frozen=True, slots=True)
class EndedRequest:
    """A request of a call that is answered (`result`) or has failed for good (`failure`)."""

    call: str
    part: int
    result: RequestResult | None
    failure: RequestError | None
    seconds: float
    attempts: int


@dataclass(slots=True)
class Session:
    """Asks through one endpoint. `name` is what the study calls the model, whose digest is `identity`;
    `attempts` the most times that a call is asked, `timeout` the seconds that one request may take.
    `witnesses` are other calls of the study: one that is answered shows that the endpoint is not down."""

    name: str
    identity: str
    pace: Pace
    limits: Limits
    journal: Journal
    attempts: int
    timeout: float
    clean: Callable[[str], str]
    purpose: Purpose = "call"
    worked: bool = False
    witnesses: Callable[[], Iterable[Pursuit]] = tuple
    say: Callable[[str], None] = lambda sentence: None
    base: str | None = None
    """The address that the spec states; None of a provider's own."""
    _told_until: float = 0.0
    _waits_until: float = 0.0
    _waited: float = 0.0
    _last_answer: float = -1.0
    _open: dict[asyncio.Task[RequestResult], tuple[Pursuit, Attempt]] = field(default_factory=dict)
    _ready: deque[Pursuit] = field(default_factory=deque)
    _later: list[tuple[float, int, Pursuit]] = field(default_factory=list)
    _held: list[tuple[Pursuit, RequestError]] = field(default_factory=list)
    _doubted: list[tuple[Pursuit, RequestError]] = field(default_factory=list)
    _order: Iterator[int] = field(default_factory=count)

    def run(
        self, pursuits: Iterable[Pursuit], loop: asyncio.AbstractEventLoop
    ) -> Iterator[list[EndedRequest]]:
        """What has ended, as it ends; an empty list while nothing may be sent. Of `pursuits` hardly more are
        taken than may be open. Stops early where a cap is reached (`limits.reached`); raises
        `UnavailableError` where the endpoint cannot be used."""
        coming = iter(pursuits)
        try:
            while True:
                self._ready.extend(islice(coming, max(self.pace.most + 1 - len(self._ready), 0)))
                ended = loop.run_until_complete(self._advance())
                if ended or not self._open:
                    yield ended
                if not self._open and (self.limits.reached or not (self._ready or self._later)):
                    break
            if self._held:
                self._doubted, self._held = self._held, []
                yield loop.run_until_complete(self._decided())
        finally:
            loop.run_until_complete(self._abandon())

    async def _advance(self) -> list[EndedRequest]:
        """Send what may be sent, wait for something to end, and say what did."""
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            self._ready.append(heapq.heappop(self._later)[2])
        self._send(now)
        if not self._open:
            left = self.limits.time_left()
            if left is not None and left <= 0 and self._waiting():
                self.limits.hold(CallCost(0, None))  # refused: a pause outlasts no cap
            await asyncio.sleep(max(0.0, min(self._wakes(now, 1.0), 1.0)) if self._waiting() else 0)
            return []
        done, _ = await asyncio.wait(
            self._open, timeout=self._wakes(now, 3600.0), return_when=asyncio.FIRST_COMPLETED
        )
        if done and len(self._open) > len(done):
            await asyncio.sleep(GATHER)
            done = {task for task in self._open if task.done()}
        ended: list[EndedRequest] = []
        for task in done:
            pursuit, attempt = self._open.pop(task)
            ended += self._close(pursuit, attempt, task)
        if self._doubted:
            ended += await self._decided()
        return ended

    async def _decided(self) -> list[EndedRequest]:
        """The calls that failed while no other was answered, as failed for good if the endpoint answers a
        witness now. Raises `UnavailableError` where it answers none."""
        for witness in self.witnesses():
            try:
                await self._once(witness)
            except RequestError:
                continue
            self.worked, self._last_answer = True, time.monotonic()
            self.heard()
            doubted, self._doubted = self._doubted, []
            return [self._failed(pursuit, error, self._last_answer) for pursuit, error in doubted]
        raise self.stopped(self._doubted[0][1])

    def _waiting(self) -> bool:
        return bool(self._ready or self._later) and self.limits.reached is None

    def _wakes(self, now: float, latest: float) -> float:
        """Seconds until something may be sent that may not be now."""
        times = [now + latest]
        if self._later:
            times.append(self._later[0][0])
        pause = self.pace.opens_at(now)
        if pause is not None and (self._ready or self._later):
            times.append(pause)
        return max(min(times) - now, 0.0)

    def _send(self, now: float) -> None:
        opened: list[tuple[Pursuit, Attempt]] = []
        room = self.pace.room(len(self._open), len(self._ready), now)
        while room > len(opened) and self._ready and self.limits.reached is None:
            if not self.limits.hold(self._ready[0].most):
                break
            pursuit = self._ready.popleft()
            pursuit.number += 1
            pursuit.begun = pursuit.begun or now
            opened.append((pursuit, self._attempt(pursuit)))
        if not opened:
            return
        self.journal.opened([attempt for _, attempt in opened])
        left = self.limits.time_left()
        most = self.timeout if left is None else max(min(self.timeout, left), 0.001)
        for pursuit, attempt in opened:
            task = asyncio.ensure_future(with_timeout(pursuit.ask(), most))
            self._open[task] = (pursuit, replace(attempt, seconds=time.monotonic()))

    def _attempt(self, pursuit: Pursuit) -> Attempt:
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        purpose: Purpose = self.purpose if pursuit.call else "probe"
        call = pursuit.call if purpose != "probe" else None
        return Attempt(
            uuid4().hex, self.identity, purpose, call, pursuit.number, started, usd=pursuit.most.usd
        )

    async def insist(self, pursuit: Pursuit) -> RequestResult:
        """One request after another until there is an answer. Raises the last `RequestError`."""
        for tries in range(1, self.attempts + 1):
            try:
                return await self._once(pursuit)
            except RequestError as error:
                passes = error.rule.then in ("again", "later") and error.rule.code is None
                if tries == self.attempts or not passes:
                    raise
                left = self.limits.time_left()
                pause = max(pause_after(tries), self.wait_of(error, LONGEST_FIRST_WAIT))
                await asyncio.sleep(pause if left is None else min(pause, max(left, 0.0)))
        raise AssertionError("there is at least one attempt")

    async def repeat(
        self, ask: Callable[[], Awaitable[Came]], risky: Callable[[], bool] = lambda: False
    ) -> Came:
        """One request after another until there is an answer, but none again that may have been paid: `risky`
        says whether one can be. None is an attempt at a call. Raises the last `RequestError`."""
        for tries in range(1, self.attempts + 1):
            try:
                came = await with_timeout(ask(), self.timeout)
                self.heard()
                return came
            except RequestError as error:
                error.message = self.clean(error.message)
                left, pause = self.limits.time_left(), max(pause_after(tries), self.wait_of(error))
                last = tries == self.attempts or (left is not None and left < pause)
                paid = risky() and error.rule.paid == "possibly"
                if last or paid or error.rule.then not in ("again", "later"):
                    raise
                await asyncio.sleep(pause)
        raise AssertionError("there is at least one attempt")

    async def _once(self, pursuit: Pursuit) -> RequestResult:
        if not self.limits.hold(pursuit.most):
            cap = self.limits.reached or "a cap"
            help = "raise the cap, and run `gridc run` to resume"
            text = f"[budget] {cap} was reached by trying the endpoint"
            raise BudgetError([Diagnostic("GC611", text, help=help)])
        pursuit.number += 1
        attempt = replace(self._attempt(pursuit), seconds=time.monotonic())
        self.journal.opened([attempt])
        task = asyncio.ensure_future(with_timeout(pursuit.ask(), self.timeout))
        await asyncio.wait([task])
        self._end_attempt(pursuit, attempt, task)
        return task.result()

    def _close(
        self, pursuit: Pursuit, attempt: Attempt, task: "asyncio.Task[RequestResult]"
    ) -> list[EndedRequest]:
        """Note how an attempt ended; what ended with it."""
        now, sent = time.monotonic(), attempt.seconds or 0.0
        error = self._end_attempt(pursuit, attempt, task)
        if error is None:
            result = task.result()
            self.pace.answered()
            self.worked, self._last_answer = True, now
            self.heard()
            freed = [self._failed(held, failure, now) for held, failure in self._held]
            self._held = []
            return [
                EndedRequest(pursuit.call, pursuit.part, result, None, now - pursuit.begun, pursuit.number),
                *freed,
            ]
        return self._after(pursuit, error, sent, now)

    def _end_attempt(
        self, pursuit: Pursuit, attempt: Attempt, task: "asyncio.Task[RequestResult]"
    ) -> RequestError | None:
        """Count what an attempt took and write down how it ended; the failure, if it is one."""
        attempt = replace(attempt, seconds=round(time.monotonic() - (attempt.seconds or 0.0), 6))
        error = task.exception()
        if error is not None and not isinstance(error, RequestError):
            raise error
        closed, took = self.ended(attempt, error or task.result(), pursuit.most)
        self.limits.charge(pursuit.most, took)
        self.journal.closed(closed)
        return error

    def ended(
        self, attempt: Attempt, came: RequestResult | RequestError, most: CallCost
    ) -> tuple[Attempt, CallCost]:
        """An attempt that could cost `most` with how it ended, and what it took, as far as that is known."""
        if isinstance(came, RequestResult):
            answered = replace(
                attempt, status="answered", paid="yes", http=came.http, answered_by=came.model,
                fingerprint=came.fingerprint, usage=came.usage, usd=came.cost.usd,
            )  # fmt: skip
            return answered, came.cost
        came.message, paid = self.clean(came.message), came.rule.paid
        took = most if paid == "possibly" else CallCost(0, None if most.usd is None else 0.0)
        failed = replace(
            attempt, status="failed", paid=paid, failure=came.kind, http=came.http, usd=took.usd,
            detail=came.message,
        )  # fmt: skip
        return failed, took

    def _after(self, pursuit: Pursuit, error: RequestError, sent: float, now: float) -> list[EndedRequest]:
        then = error.rule.then
        wait = self.wait_of(error)
        if then == "later":
            self.pace.refused(sent, now, error.retry_after)
            pursuit.waits += 1
            if pursuit.waits > self.attempts * PATIENCE and self._last_answer < sent:
                raise self.stopped(error)
            self._ready.appendleft(pursuit)
            return []
        if then in ("final", "held"):
            self.pace.answered()
        else:
            self.pace.broke()
        if then == "stop" or (error.rule.code and not self.worked):
            raise self.stopped(error)
        if error.kind == "context_length" and pursuit.shorter:
            pursuit.ask = pursuit.shorter.popleft()
            self._ready.appendleft(pursuit)
            return []
        if then == "final":
            return [self._failed(pursuit, error, now)]
        if then == "held":
            if self.worked:
                return [self._failed(pursuit, error, now)]
            self._held.append((pursuit, error))
            if len(self._held) >= 3:
                self._doubted, self._held = self._held, []
            return []
        left = self.limits.time_left()
        if left is not None and left <= 0:
            self._ready.appendleft(pursuit)  # cut off by the budget, not by the endpoint
            return []
        pursuit.tries += 1
        pursuit.first_failure = sent if pursuit.first_failure is None else pursuit.first_failure
        if pursuit.tries < self.attempts:
            pause = max(pause_after(pursuit.tries), wait)
            heapq.heappush(self._later, (now + pause, next(self._order), pursuit))
            return []
        if self._last_answer < pursuit.first_failure:
            self._doubted.append((pursuit, error))
            return []
        return [self._failed(pursuit, error, now)]

    def heard(self) -> None:
        """The endpoint answered: what it asked to wait before counts no more."""
        self._waited = 0.0

    def wait_of(self, error: RequestError, longest: float | None = None) -> float:
        """The seconds that an endpoint asks to wait, which are told. Raises `UnavailableError` (GC646) where
        it has asked to wait longer than `longest` (None: `LONGEST_WAIT`) in all since its last answer."""
        wait = error.retry_after or 0.0
        if wait <= 0.0 or error.rule.then not in ("again", "later"):
            return 0.0
        now, left = time.monotonic(), self.limits.time_left()
        most = LONGEST_WAIT if longest is None else longest
        more = max(
            now + wait - max(now, self._waits_until), 0.0
        )  # requests that are open at once wait together
        if self._waited + more > most and (left is None or wait < left):
            problem = f"Retry-After: {wait:,.0f} s, and {most:,.0f} s between two answers are the most"
            raise self.stopped(RequestError("long_wait", problem, error.http))
        self._waited, self._waits_until = self._waited + more, max(self._waits_until, now + wait)
        wait = wait if left is None else min(wait, max(left, 0.0))  # a cap on time ends it
        if wait > TELLING and now + wait > self._told_until + TELLING:
            self._told_until = now + wait
            until = (datetime.now(UTC) + timedelta(seconds=min(wait, MOST_TOLD))).strftime("%H:%M:%S UTC")
            self.say(f"waits until {until}, as its endpoint asks (Retry-After: {wait:,.0f} s)")
        return wait

    def _failed(self, pursuit: Pursuit, error: RequestError, now: float) -> EndedRequest:
        return EndedRequest(pursuit.call, pursuit.part, None, error, now - pursuit.begun, pursuit.number)

    def stopped(self, error: RequestError) -> UnavailableError:
        """What stops the run because of a failure."""
        status = "" if error.http is None else f" (HTTP {error.http})"
        message = f"`{self.name}`: {error.rule.what}{status}: {error.message}"
        help = _WAYS.get(error.kind, None if error.rule.code else _WAIT)
        if error.kind == "no_model" and error.http == 404 and self.base and (base := versioned(self.base)):
            message += f"; it was asked below {self.base}"
            help = f'write `base_url = "{base}"`; if that answers the same, check `source`'
        return UnavailableError([Diagnostic(error.rule.code or "GC635", message, help=help)])

    async def _abandon(self) -> None:
        """Let go of what is open when the run ends early. Its attempts stay `sent`: possibly paid."""
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        self._open.clear()


_WAIT = "`gridc run` resumes when it answers; `attempts` and `timeout_s` in [engine] say how long to wait"
_WAYS = {
    "bad_request": "leave what it does not take out of the study, or name it in the model's `omits`; at a "
    "`base_url`, `server` decides which further parameters are sent",
    "schema": 'answer = "json" asks for the same form and needs nothing of the server',
    "thinking": "state a `thinking` that the message names, exclude this level for the model, or leave it "
    "out where the model is asked: `gridc deviations --write` records the change",
    "key": "check the key in the model's `key_env`, or the provider's usual variable",
    "quota": "the provider's account needs money or a higher limit",
    "no_model": "check `source`: GET /models below `base_url` lists what the server has",
    "unreachable": "check `base_url`, and that the server runs",
    "tls": "SSL_CERT_FILE names the certificates that are trusted",
    "elsewhere": "state the server as `base_url`, if it is the one that you mean",
    "long_wait": "`gridc run` resumes; [budget] wall_s says how long a run may take",
    "too_long": "what answers there does not keep to `max_tokens`: ask another server, or with "
    '`omits = ["max_tokens"]`, which is stamped',
    "redirect": "set `base_url` to the address that the server points to",
    "unknown_end": "ask a server that gives a published `finish_reason`, or tell gridc's makers which one is "
    "missing and where it is published",
}


def pause_after(tries: int) -> float:
    """Seconds before a call is asked again that was asked so often."""
    longest: float = min(FIRST_PAUSE * 2.0 ** (tries - 1), LONGEST_PAUSE)
    return longest * random.uniform(0.5, 1.0)


async def with_timeout(ask: Awaitable[Came], seconds: float) -> Came:
    """What comes of it in that time. Raises `RequestError` (timeout)."""
    try:
        async with asyncio.timeout(seconds):
            return await ask
    except TimeoutError:
        raise RequestError("timeout", f"no whole answer in {seconds:,.1f} s") from None
