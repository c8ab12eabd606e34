"""Counting distinct digests in bounded memory.

Digests are spread over partitions by their first byte. A partition's records are kept in memory until all
partitions together reach the limit, and then appended to its temporary file. Partitions are disjoint, so
each is counted alone: time is linear, and what is held at once is the limit and the distinct digests of one
partition, about a byte for each digest that there is to count.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import IO, Self

PARTITIONS = 128
DIGEST = 32
RECORD = DIGEST + 8
"""Bytes of a record: a SHA-256 digest, and a number that says what it belongs to."""
CHUNK = 1024 * RECORD
"""Bytes that are read at once. One digest that comes a million times fills one partition."""


class Distinct:
    """Takes (digest, number) in any order. `limit` bounds the bytes of records that are held in memory."""

    def __init__(self, limit: int = 1024 * 1024) -> None:
        self._limit = limit
        self._held = 0
        self._buffers = [bytearray() for _ in range(PARTITIONS)]
        self._files: list[IO[bytes]] = []
        self._open = ExitStack()

    def add(self, digest: bytes, number: int = 0) -> None:
        """Note a 32-byte digest."""
        self._buffers[digest[0] % PARTITIONS] += digest + number.to_bytes(8, "big")
        self._held += RECORD
        if self._held >= self._limit:
            self._spill()

    def counts(self) -> Counter[int]:
        """How many distinct digests there are, by the number that each came with first."""
        total: Counter[int] = Counter()
        for part in range(PARTITIONS):
            total.update(self._first(part).values())
        return total

    def shared(self, other: "Distinct") -> Counter[int]:
        """The same, of the digests that `other` has too."""
        total: Counter[int] = Counter()
        for part in range(PARTITIONS):
            theirs = other._first(part)
            total.update(number for digest, number in self._first(part).items() if digest in theirs)
        return total

    def twins(self) -> Iterator[tuple[int, int]]:
        """(number of the first, number of a later one) for each digest that comes again."""
        for part in range(PARTITIONS):
            first: dict[bytes, int] = {}
            for digest, number in self._records(part):
                earlier = first.setdefault(digest, number)
                if earlier != number:
                    yield earlier, number

    def _first(self, part: int) -> dict[bytes, int]:
        first: dict[bytes, int] = {}
        for digest, number in self._records(part):
            first.setdefault(digest, number)
        return first

    def _records(self, part: int) -> Iterator[tuple[bytes, int]]:
        for chunk in self._chunks(part):
            for start in range(0, len(chunk), RECORD):
                end = start + DIGEST
                yield chunk[start:end], int.from_bytes(chunk[end : start + RECORD], "big")

    def _chunks(self, part: int) -> Iterator[bytes]:
        if self._files:
            self._files[part].seek(0)
            yield from iter(lambda: self._files[part].read(CHUNK), b"")
        for start in range(0, len(self._buffers[part]), CHUNK):
            yield bytes(self._buffers[part][start : start + CHUNK])

    def _spill(self) -> None:
        if not self._files:
            # Whole buffers are written and read, so a file needs hardly one of its own.
            enter, temporary = self._open.enter_context, tempfile.TemporaryFile
            self._files = [enter(temporary(buffering=512)) for _ in self._buffers]
        for buffer, file in zip(self._buffers, self._files, strict=True):
            file.seek(0, 2)
            file.write(buffer)
            buffer.clear()
        self._held = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
