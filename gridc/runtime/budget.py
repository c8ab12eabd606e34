"""The caps on one run: it stops before it passes one, and what was answered stays answered."""

import time

from gridc.runtime.engines.api.records import CallCost
from gridc.runtime.engines.protocol import PendingBatch
from gridc.schema.spec import Budget


class Meter:
    """Counts what a run spends. Time counts from when the meter is made.

    `reached` is the cap that the next task or request would have passed, as it is told; None while there is
    none. Calls, tokens and time are those of this run; `spent_usd` is what earlier runs into the same store
    have spent or may have spent, because money is gone whichever run it was.
    """

    def __init__(self, budget: Budget, spent_usd: float = 0.0) -> None:
        self.reached: str | None = None
        self._budget = budget
        self._calls = self._tokens = 0
        self._held_tokens, self._held_usd, self._usd = 0, 0.0, spent_usd
        self._begun = time.monotonic()

    def admit(self, task: PendingBatch) -> bool:
        """Whether a task may begin, which then counts as spent. After one that may not, none may.

        Tokens are counted as a batch's bound on them, which is never less than what it takes. What has begun
        is finished, so time may be passed by the tasks that are answered at once.
        """
        self.reached = self.reached or self._passed_by(len(task.wanted), self._tokens + task.batch.cost, 0.0)
        if self.reached is None:
            self._calls += len(task.wanted)
            self._tokens += task.batch.cost
        return self.reached is None

    def hold(self, most: CallCost) -> bool:
        """Whether a request that may cost so much can be sent. If so it counts at that, until it is settled:
        so no cap is passed whatever the requests that are open turn out to cost."""
        usd = most.usd or 0.0
        spent = self._tokens + most.tokens, self._usd + usd
        if self._passed_by(1, spent[0] + self._held_tokens, spent[1] + self._held_usd):
            self.reached = self.reached or self._passed_by(
                1, *spent
            )  # else what is open may come back as less
            return False
        self._calls += 1
        self._held_tokens += most.tokens
        self._held_usd += usd
        return True

    def settle(self, most: CallCost, took: CallCost) -> None:
        """A request that counted at `most` is over and took that."""
        self._held_tokens -= most.tokens
        self._held_usd = max(0.0, self._held_usd - (most.usd or 0.0)) if self._held_tokens else 0.0
        self._tokens += took.tokens
        self._usd += took.usd or 0.0

    def returned(self, most: CallCost, took: CallCost) -> None:
        """A request of an earlier run, whose `most` is in the money that was spent, is over and took that."""
        self._usd = max(0.0, self._usd - (most.usd or 0.0) + (took.usd or 0.0))

    def time_left(self) -> float | None:
        """Seconds until `wall_s` is reached; None where there is no such cap."""
        cap = self._budget.wall_s
        return None if cap is None else self._begun + cap - time.monotonic()

    def _passed_by(self, calls: int, tokens: int, usd: float) -> str | None:
        """The cap that so many more calls, or so many tokens and dollars in all, would pass."""
        cap, left = self._budget, self.time_left()
        if cap.calls is not None and self._calls + calls > cap.calls:
            return f"calls = {cap.calls:,}"
        if cap.tokens is not None and tokens > cap.tokens:
            return f"tokens = {cap.tokens:,}"
        if cap.usd is not None and usd > cap.usd:
            return f"usd = {cap.usd:g}"
        if left is not None and left <= 0:
            return f"wall_s = {cap.wall_s:g}"
        return None
