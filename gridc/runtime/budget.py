"""The caps on one run: it stops before it passes one, and what was answered stays answered."""

import time

from gridc.runtime.engines.protocol import Task
from gridc.schema.budget import Budget


class Meter:
    """Counts what a run spends. Time counts from when the meter is made.

    `reached` is the cap that the next task would have passed, as it is told; None while there is none.
    """

    def __init__(self, budget: Budget) -> None:
        self.reached: str | None = None
        self._budget = budget
        self._calls = self._tokens = 0
        self._begun = time.monotonic()

    def admit(self, task: Task) -> bool:
        """Whether a task may begin, which then counts as spent. After one that may not, none may.

        Tokens are counted as a batch's bound on them, which is never less than what it takes. What has begun
        is finished, so time may be passed by the tasks that are answered at once.
        """
        self.reached = self.reached or self._passed_by(len(task.wanted), task.batch.cost)
        if self.reached is None:
            self._calls += len(task.wanted)
            self._tokens += task.batch.cost
        return self.reached is None

    def _passed_by(self, calls: int, tokens: int) -> str | None:
        cap = self._budget
        if cap.calls is not None and self._calls + calls > cap.calls:
            return f"calls = {cap.calls:,}"
        if cap.tokens is not None and self._tokens + tokens > cap.tokens:
            return f"tokens = {cap.tokens:,}"
        if cap.wall_s is not None and time.monotonic() - self._begun >= cap.wall_s:
            return f"wall_s = {cap.wall_s:g}"
        return None
