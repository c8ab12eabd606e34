"""How a batch gets to a provider, once.

Before anything leaves, a batch and its requests are on the disk; before the request that may be paid leaves,
so is that it is about to; and as soon as the provider has named the batch, its name. A process that is killed
at any instant leaves one of three things: a batch that was never submitted, one whose results come later,
or one that has to be found at the provider, which is told our own name of it. What cannot be found may have
been paid, and is not asked again unasked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.runtime.engines.api.batch_protocols import BatchProtocol
from gridc.runtime.engines.api.failures import RequestError
from gridc.runtime.engines.api.flights import Flight
from gridc.runtime.engines.api.records import Attempt, Submission
from gridc.runtime.engines.api.session import Session


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
