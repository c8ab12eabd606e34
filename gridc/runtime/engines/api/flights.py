"""A batch at a provider, the calls in it, how it gets there, and its results.

Before anything leaves, a batch and its requests are on the disk; before the request that may be paid leaves,
so is that it is about to; and as soon as the provider has named the batch, its name. A process that is killed
at any instant leaves one of three things: a batch that was never submitted, one whose results come later,
or one that has to be found at the provider, which is told our own name of it. What cannot be found may have
been paid, and is not asked again unasked. Results are fetched whole before the first is taken.
"""

import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from tempfile import TemporaryFile
from typing import BinaryIO

import httpx

from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.runtime.engines.api.batch_protocols import BatchProtocol, BatchStatus, ResultLine, rows
from gridc.runtime.engines.api.client import MOST_BODY, Into, body_of
from gridc.runtime.engines.api.failures import RequestError
from gridc.runtime.engines.api.records import Attempt, CallCost, Submission
from gridc.runtime.engines.api.routes import Prepared
from gridc.runtime.engines.api.session import Session

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


async def send(session: Session, flight: Flight, path: str, lines: Sequence[bytes]) -> None:
    """Submit a batch of requests to `path`. Where that broke off it is found at the provider, or raises
    `UnavailableError` (GC638). Raises `RequestError` where the provider did not get it or refused it."""
    journal, prepared = session.journal, flight.submission
    journal.prepared(prepared, list(flight.asked.values()))

    def move(submission: Submission) -> None:
        flight.submission = submission
        journal.moved(submission)

    def risky() -> bool:
        return flight.submission.state == "submitting"

    async def submit() -> str:
        if risky():  # it was refused, and is about to be uploaded once more
            move(prepared)
        return await flight.protocol.submit(
            prepared.id, path, lines, lambda: move(replace(prepared, state="submitting"))
        )

    try:
        remote = await session.repeat(submit, risky)
    except RequestError as error:
        if not risky() or error.rule.paid == "no":
            raise
        flight.submission = await find(session, flight.protocol, flight.submission)
    else:
        move(replace(prepared, state="submitted", remote=remote))


async def find(session: Session, protocol: BatchProtocol, submission: Submission) -> Submission:
    """A batch whose submitting broke off, as the provider lists it. Raises `UnavailableError` (GC638) where
    it does not."""
    try:
        remote = await session.repeat(lambda: protocol.find(submission.id))
    except RequestError as error:
        if error.kind != "no_model":  # there is no list
            raise
        remote = None
    if remote is None:
        raise lost(session, submission, "does not list it")
    submission = replace(submission, state="submitted", remote=remote)
    session.journal.moved(submission)
    return submission


def lost(session: Session, submission: Submission, how: str) -> UnavailableError:
    """What stops a run that does not find a batch."""
    name = submission.remote or f"named {submission.id} by gridc"
    message = (
        f"a batch of {submission.requests:,} requests to `{session.name}` may have been paid, and "
        f"the provider {how} (of {submission.created}, {name})"
    )
    help = "`gridc run --acknowledge lost-batches` asks its calls again; look at the provider's page first"
    return UnavailableError([Diagnostic("GC638", message, help=help)])


def give_up(session: Session, submission: Submission, attempts: Iterable[Attempt]) -> None:
    """Note that nothing will come of a batch any more, and that it may have been paid."""
    for attempt in attempts:
        session.journal.closed(replace(attempt, status="lost", paid="possibly"))
    session.journal.moved(replace(submission, state="lost"))


MOST_LINE = 2**18
"""Bytes of a result on average: far more than any answer."""

_FORM = re.compile("[0-9]{1,4}")


async def fetch(
    session: Session, client: httpx.AsyncClient, flight: Flight, look: BatchStatus, files: ExitStack
) -> list[BinaryIO]:
    """Every file of results, which `files` closes. Raises `RequestError`."""
    most = MOST_BODY + len(flight.names) * MOST_LINE

    async def get(path: str, file: BinaryIO) -> None:
        file.seek(0)
        file.truncate()
        await body_of(client, flight.protocol.get(path, into=Into(file, most)))

    opened: list[BinaryIO] = []
    for path in look.outputs:
        file: BinaryIO = files.enter_context(TemporaryFile())  # noqa: SIM115  # `files` closes it
        await session.repeat(partial(get, path, file))
        opened.append(file)
    return opened


def lines_of(
    flight: Flight, files: Sequence[BinaryIO], odd: Counter[str]
) -> Iterator[tuple[str, int, ResultLine]]:
    """(call, form, line) of every call that has a result, its first. What else the files hold is counted in
    `odd`, by what is wrong with it."""
    seen: set[str] = set()
    for file in files:
        file.seek(0)
        for line in _read(file, flight.protocol):
            name, _, form = ("", "", "") if line is None else line.name.rpartition("-")
            call = flight.names.get(name)
            if line is None:
                odd["unreadable"] += 1
            elif call is None or not _FORM.fullmatch(form):
                odd["of no call in it"] += 1
            elif call in seen:
                odd["twice"] += 1
            else:
                seen.add(call)
                yield call, int(form), line


def _read(file: BinaryIO, protocol: BatchProtocol) -> Iterator[ResultLine | None]:
    """The results in a file; None for a line that cannot be read."""
    for row in rows(iter(partial(file.readline, MOST_BODY), b"")):
        try:
            yield None if row is None else protocol.read(row)
        except (LookupError, TypeError, AttributeError, ValueError):
            yield None
