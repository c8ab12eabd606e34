"""The caps on one run: it stops before it passes one, and what was answered stays answered."""

import time
from collections.abc import Mapping
from functools import partial

from gridc.compiler.grid.configurations import has_judged
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.inputs.prices import TokenPrice, prices_of
from gridc.compiler.inputs.reach import reach_of
from gridc.compiler.lock.lock import Lock
from gridc.compiler.preflight.consent import Consents
from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.runtime.engines.api.records import CallCost, Paying, Terms
from gridc.runtime.engines.protocol import Engine, PendingBatch
from gridc.runtime.stages import Open, Say
from gridc.runtime.store.write import Writer
from gridc.schema.engines import engine_kind
from gridc.schema.spec import Budget, Spec


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


def connecting(
    open_engine: Open,
    lock: Lock,
    store: Writer,
    meter: Meter,
    spec: Spec,
    consents: Consents,
    say: Say,
    repeat_lost: bool = False,
) -> Open:
    """Opens engines as `open_engine` does, and connects those that pay for requests. `consents` says to what
    the person consented, `say` is told by which model something is waited for; `repeat_lost`: calls of a
    batch that may have been paid and cannot be found are asked again.

    Raises `UnavailableError` (GC637) where money is limited and a model has no price.
    """
    prices = prices_of(spec, lock.prices)
    require_prices(spec, prices)

    def open_connected(name: str, identity: ModelIdentity, precision: str, spec: Spec) -> Engine:
        engine = open_engine(name, identity, precision, spec)
        if isinstance(engine, Paying):
            reach = reach_of(identity)
            consent = None if reach is None else consents.get(reach.pair)
            terms = Terms(consent, repeat_lost, partial(say, name))
            engine.connect(store, meter, prices.get(name), terms)
        return engine

    return open_connected


def require_prices(spec: Spec, prices: Mapping[str, TokenPrice]) -> None:
    """Raise `UnavailableError` (GC637) where money is limited and a model that is asked has no price."""
    unpriced = [
        model.id
        for model in (spec.asked_models if has_judged(spec) else spec.model)
        if engine_kind(model.engine).provider and model.id not in prices
    ]
    if spec.budget.usd is not None and unpriced:
        message = f"[budget] usd = {spec.budget.usd:g}, and no price is known of {', '.join(unpriced)}"
        help_line = 'price = { input = 0, output = 0, as_of = "2026-01-31" } for a server that costs nothing'
        raise UnavailableError([Diagnostic("GC637", message, help=help_line)])
