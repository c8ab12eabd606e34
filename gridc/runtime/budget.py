"""The caps on one run: it stops before it passes one, and what was answered stays answered."""

import time

from gridc.schema.budget import Budget


class Meter:
    """Counts what a run spends. Time counts from when the meter is made."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._calls = self._tokens = 0
        self._begun = time.monotonic()

    def passed_by(self, calls: int, tokens: int) -> str | None:
        """The cap that so many more calls and tokens would pass, as it is told; None where there is none.

        Tokens are counted as a batch's bound on forward tokens, which is never less than what it takes. A
        batch that has begun is finished, so time may be passed by one batch.
        """
        cap = self._budget
        if cap.calls is not None and self._calls + calls > cap.calls:
            return f"calls = {cap.calls:,}"
        if cap.tokens is not None and self._tokens + tokens > cap.tokens:
            return f"tokens = {cap.tokens:,}"
        if cap.wall_s is not None and time.monotonic() - self._begun >= cap.wall_s:
            return f"wall_s = {cap.wall_s:g}"
        return None

    def spend(self, calls: int, tokens: int) -> None:
        """Note what a batch took."""
        self._calls += calls
        self._tokens += tokens
