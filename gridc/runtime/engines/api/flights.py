"""A batch at a provider, and the calls in it."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gridc.runtime.engines.api.batch_protocols import BatchProtocol
from gridc.runtime.engines.api.costs import CallCost
from gridc.runtime.engines.api.records import Attempt, Submission
from gridc.runtime.engines.api.routes import Prepared

FIRST_LOOK = 0.5
"""Seconds before the second look at a batch."""


@dataclass(slots=True)
class CallInFlight:
    """A call on its way: how its request is made, first as it is and then with less and less context (`form`
    says with which), what it may cost at most, and what happened so far."""

    call: str
    forms: Sequence[Callable[[], Awaitable[Prepared]]]
    most: CallCost
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
    """A batch at the provider. `asked` are its attempts that have not ended, by call, and `wanted` those of
    their calls that are asked for now; `names` has every call that was ever in it, by what the name of its
    request begins with. `earlier` says that another run submitted it."""

    submission: Submission
    asked: Mapping[str, Attempt]
    wanted: Mapping[str, CallInFlight]
    names: Mapping[str, str]
    earlier: bool
    protocol: BatchProtocol
    begun: float = field(default_factory=time.monotonic)
    look_at: float = 0.0
    pause: float = field(default_factory=lambda: FIRST_LOOK)
    failures: int = 0

    @property
    def remote(self) -> str:
        """What the provider calls it."""
        assert self.submission.remote is not None
        return self.submission.remote

    @property
    def share(self) -> float:
        """A request's share of the time since it was submitted or taken up, in seconds."""
        return (time.monotonic() - self.begun) / len(self.asked)


def name_of(submission: str, call: str) -> str:
    """What the name of a request in a batch begins with."""
    return f"{submission[:16]}-{call[:40]}"


def custom_id(submission: str, wanted: CallInFlight) -> str:
    """The name of a request in a batch: at most 64 letters, digits and hyphens. The number of its form is at
    its end."""
    return f"{name_of(submission, wanted.call)}-{wanted.form}"
