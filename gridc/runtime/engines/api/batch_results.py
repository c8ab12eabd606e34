"""The results of a batch: fetched whole before the first is taken, and read line by line."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from tempfile import TemporaryFile
from typing import BinaryIO

import httpx

from gridc.runtime.engines.api.batch_protocols import BatchProtocol, BatchStatus, ResultLine, rows
from gridc.runtime.engines.api.client import MOST_BODY, Into, body_of
from gridc.runtime.engines.api.flights import Flight
from gridc.runtime.engines.api.session import Session

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
