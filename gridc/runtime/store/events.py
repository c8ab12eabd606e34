"""The event chain: what happened to a store, each event sealed by the digest of the one before."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gridc.schema.canonical import digest

GENESIS = "0" * 64


@dataclass(frozen=True, slots=True)
class Event:
    """`seq` counts from 1, `at` is UTC in ISO 8601, `body` is JSON, `previous` the last event's digest."""

    seq: int
    at: str
    kind: str
    body: dict[str, Any]
    previous: str
    digest: str

    @classmethod
    def after(cls, last: "Event | None", at: str, kind: str, body: dict[str, Any]) -> "Event":
        """The event that follows `last`."""
        seq, previous = (last.seq + 1, last.digest) if last else (1, GENESIS)
        return cls(seq, at, kind, body, previous, _seal(seq, at, kind, body, previous))

    def row(self) -> dict[str, Any]:
        """As the store holds it."""
        return {
            "seq": self.seq,
            "at": self.at,
            "kind": self.kind,
            "body": json.dumps(self.body, sort_keys=True),
            "previous": self.previous,
            "digest": self.digest,
        }

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> "Event":
        return cls(**{**row, "body": json.loads(row["body"])})


def first_break(events: Iterable[Event]) -> int | None:
    """The number of the first event that does not follow from the one before it, or None."""
    last: Event | None = None
    for event in events:
        try:
            follows = event == Event.after(last, event.at, event.kind, event.body)
        except (ValueError, TypeError):  # a body that has no canonical form was never written by gridc
            follows = False
        if not follows:
            return event.seq
        last = event
    return None


def _seal(seq: int, at: str, kind: str, body: dict[str, Any], previous: str) -> str:
    return digest({"seq": seq, "at": at, "kind": kind, "body": body, "previous": previous})
