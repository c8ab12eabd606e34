"""How many requests may be open at once, learnt from what the endpoint says.

Slow start and additive growth as in TCP congestion control (Jacobson 1988), with the pauses that HTTP states
(RFC 9110, Retry-After): a round is as many responses as may be open at once. It starts at `START`, doubles
after every clean round, and after the first refusal grows by 5 % a round. An episode of 429 takes 20 % once,
however many of them it has; while it lasts, nothing is sent. Rounds with a server error do not grow.
"""

from dataclasses import dataclass

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
