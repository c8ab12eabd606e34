"""Records every request to a server as an attempt: before it is sent, and again when it is over."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from gridc.compiler.inputs.prices import TokenPrice
from gridc.runtime.engines.protocol import Call


@dataclass(frozen=True, slots=True)
class CallCost:
    """Tokens, read and written, and US dollars (None where no price is known)."""

    tokens: int
    usd: float | None


class Limits(Protocol):
    """The caps of a run, for an engine whose requests cost what they turn out to cost."""

    reached: str | None

    def hold(self, most: CallCost) -> bool:
        """Whether a request that may cost so much can be sent; if so, it counts at that until it is
        settled."""

    def charge(self, most: CallCost, took: CallCost) -> None:
        """A request that counted at `most` is over and took that."""

    def returned(self, most: CallCost, took: CallCost) -> None:
        """A request of an earlier run, which counts at `most` until it is known, is over and took that."""

    def time_left(self) -> float | None:
        """Seconds until no request may be open; None where there is no such cap."""


class NoLimits:
    """No cap at all."""

    reached: str | None = None

    def hold(self, most: CallCost) -> bool:
        return True

    def charge(self, most: CallCost, took: CallCost) -> None:
        pass

    def returned(self, most: CallCost, took: CallCost) -> None:
        pass

    def time_left(self) -> float | None:
        return None


Status = Literal["sent", "answered", "failed", "lost"]
Paid = Literal["no", "possibly", "yes"]
Purpose = Literal["call", "repeat", "probe"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request to a model (its identity). `number` counts the attempts of a call in a run, from 1; `call`
    is None for a probe.

    Stored as `sent` before it leaves, so that one in flight when the process is killed is known: it may have
    been paid. `failure` says in a word what went wrong; `http` is the status; `answered_by` and `fingerprint`
    are what the response says of itself; `usage` its counts of tokens; `usd` what it cost, at most where it
    is only possibly paid; `detail` a message without keys. `submission` is the batch that it went in.
    """

    id: str
    model: str
    purpose: Purpose
    call: str | None
    number: int
    started: str
    status: Status = "sent"
    paid: Paid = "possibly"
    seconds: float | None = None
    failure: str | None = None
    http: int | None = None
    answered_by: str | None = None
    fingerprint: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    usd: float | None = None
    detail: str | None = None
    submission: str | None = None


BatchState = Literal["prepared", "submitting", "submitted", "ended", "dropped", "lost"]


@dataclass(frozen=True, slots=True)
class Submission:
    """Requests that go to a provider's batch endpoint together, under an `id` made up here, which the
    provider is told; `remote` is what the provider calls it.

    It is `prepared` before anything leaves, `submitting` before the request that may cost money leaves, and
    `submitted` as soon as the provider has named it. One that a killed process leaves prepared was not paid,
    and one that it leaves submitting has to be found at the provider. `dropped` was never accepted, `lost`
    was given up by a person. `detail` says what was odd about its results.
    """

    id: str
    model: str
    created: str
    requests: int
    state: BatchState = "prepared"
    remote: str | None = None
    detail: str | None = None


class Journal(Protocol):
    """Where attempts are written down."""

    def opened(self, attempts: Sequence[Attempt]) -> None:
        """Write attempts that are about to be sent. When this returns they are on the disk."""

    def closed(self, attempt: Attempt) -> None:
        """Write how an attempt ended, at the latest together with the answer that came of it."""

    def prepared(self, submission: Submission, attempts: Sequence[Attempt]) -> None:
        """Write a batch with its attempts, all or nothing. When this returns they are on the disk."""

    def moved(self, submission: Submission) -> None:
        """Write the state of a batch. When this returns it is on the disk, with what was closed before."""

    def waiting(self, model: str) -> Sequence[tuple[Submission, Sequence[Attempt]]]:
        """The batches of a model that may be at the provider and hold an attempt that has not ended, with all
        their attempts."""


class NoJournal:
    """Keeps nothing: for attempts outside of a run."""

    def opened(self, attempts: Sequence[Attempt]) -> None:
        pass

    def closed(self, attempt: Attempt) -> None:
        pass

    def prepared(self, submission: Submission, attempts: Sequence[Attempt]) -> None:
        pass

    def moved(self, submission: Submission) -> None:
        pass

    def waiting(self, model: str) -> Sequence[tuple[Submission, Sequence[Attempt]]]:
        return ()


def _ignore(sentence: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms an engine asks: how `consent` was given to what leaves (None: it was not);
    `repeat_lost`: the calls of a batch are asked again that may have been paid and cannot be found; `folder`
    is where a server that is started prints (None: nothing is kept); `say` is told what is waited for; `keys`
    are the variables that hold the keys of the study's models, of which no answer shows one."""

    consent: str | None = None
    repeat_lost: bool = False
    folder: Path | None = None
    say: Callable[[str], None] = _ignore
    keys: tuple[str, ...] = ()


NO_TERMS = Terms()
"""Nothing may leave but to this machine, without a key."""


@runtime_checkable
class PaidEngine(Protocol):
    """An engine whose requests cost money, and are written down one by one."""

    @property
    def batch_width(self) -> int | None:
        """So many requests are open at once, where what is asked at the same time shares a batch and may move
        an answer; None where nobody knows of batches."""

    def connect(
        self, journal: Journal, limits: Limits, price: TokenPrice | None, terms: Terms = NO_TERMS
    ) -> None:
        """Write attempts into the journal, stay within the limits, count money by the price."""

    def repeats(self, call: Call) -> bool:
        """Whether the same call must have the same answer: nothing is drawn, or a seed is known to draw the
        same again."""

    def use_full_concurrency(self) -> None:
        """Open as many requests at once as may be from now on."""

    def close(self) -> None:
        """Close every connection."""
