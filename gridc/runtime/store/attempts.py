"""Requests to models behind an address, and batches at providers, as they leave and as they end."""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from gridc.runtime.engines.api.records import Attempt, Submission
from gridc.runtime.store.store import Store
from gridc.runtime.store.writable import Writable, text_of

_ATTEMPT = (
    "id", "model", "purpose", "call", "number", "started", "seconds", "status", "failure", "http", "paid",
    "usd", "answered_by", "fingerprint", "usage", "detail", "submission",
)  # fmt: skip
"""The columns of an attempt: first those that it has when it is opened."""


_SUBMISSION = tuple(field.name for field in fields(Submission))


class AttemptWriter(Writable):
    """The journal of engines whose requests cost money (`records.Journal`)."""

    def __init__(self, path: Path) -> None:
        self._closed: list[Attempt] = []
        super().__init__(path)

    def __exit__(self, *raised: Any) -> None:
        try:
            if self._closed:
                self.flush()
        finally:
            super().__exit__(*raised)

    def opened(self, attempts: Sequence[Attempt]) -> None:
        """Store requests that are about to be sent. When this returns they are on the disk."""
        with self._db.atomic():
            self._write_closed()
            self._insert_attempts(attempts)

    def prepared(self, submission: Submission, attempts: Sequence[Attempt]) -> None:
        """Store a batch that is about to go to a provider, with its requests, all or nothing. When this
        returns they are on the disk."""
        with self._db.atomic():
            self._write_closed()
            self._db.table("submission").insert(asdict(submission))
            self._insert_attempts(attempts)

    def moved(self, submission: Submission) -> None:
        """Store how far a batch is. When this returns it is on the disk."""
        with self._db.atomic():
            self._write_closed()
            self._db.table("submission").update(submission.id, asdict(submission))

    def waiting(self, model: str) -> list[tuple[Submission, list[Attempt]]]:
        """The batches of a model that may be at its provider and hold a request that has not ended, with all
        their requests."""
        known = self._db.query(
            """SELECT * FROM submission WHERE model = ? AND state IN ('submitting', 'submitted')
               AND id IN (SELECT submission FROM attempt WHERE status = 'sent') ORDER BY created, id""",
            [model],
        )
        requests = "SELECT * FROM attempt WHERE submission = ? ORDER BY id"
        return [
            (
                Submission(**row),
                [
                    Attempt(**{**attempt, "usage": json.loads(attempt["usage"])})
                    for attempt in self._db.query(requests, [row["id"]])
                ],
            )
            for row in list(known)
        ]

    def closed(self, attempt: Attempt) -> None:
        """Note how a request ended. It is stored with the answer that came of it, or with the next
        request."""
        self._closed.append(attempt)

    def flush(self) -> None:
        """Store what was noted and not stored yet."""
        with self._db.atomic():
            self._write_closed()

    def note_lost(self) -> None:
        """Mark requests whose process ended before they did: a provider may have counted them. Those of a
        batch that had not been submitted cost nothing, and of one that had wait at the provider."""
        with self._db.atomic():
            self._db.execute(
                """UPDATE attempt SET status = 'failed', failure = 'not_submitted', paid = 'no', usd = NULL
                   WHERE status = 'sent'
                   AND submission IN (SELECT id FROM submission WHERE state = 'prepared')"""
            )
            self._db.execute("UPDATE submission SET state = 'dropped' WHERE state = 'prepared'")
            self._db.execute(
                "UPDATE attempt SET status = 'lost' WHERE status = 'sent' AND submission IS NULL"
            )

    def copy_attempts(self, path: Path) -> None:
        """Take the requests that another store holds for calls that are known here, with their batches, all
        or nothing: what they may have cost counts, and what waits at a provider is taken and not asked again.
        One that is here stays, unless it had not ended."""
        with Store.open(path) as other, self._db.atomic():
            known = set(self.known({row["call"] for row in other.attempts()}))
            named = {row["submission"] for row in other.attempts() if row["call"] in known} - {None}
            self._insert(
                f"{_copying('submission', _SUBMISSION)} WHERE state NOT IN ('ended', 'dropped', 'lost')",
                (
                    tuple(other.row("submission", name)[column] for column in _SUBMISSION)
                    for name in sorted(named)
                ),
            )
            self._insert(
                f"{_copying('attempt', _ATTEMPT)} WHERE status = 'sent'",
                (
                    tuple(row[column] for column in _ATTEMPT)
                    for row in other.attempts()
                    if row["call"] in known
                ),
            )

    def _insert_attempts(self, attempts: Sequence[Attempt]) -> None:
        self._insert(
            f"INSERT INTO attempt ({', '.join(_ATTEMPT)}) VALUES ({', '.join('?' * len(_ATTEMPT))})",
            [_attempt(attempt) for attempt in attempts],
        )
        self._insert(
            """UPDATE attempt SET purpose = 'repeat' WHERE id = ? AND purpose = 'call'
               AND call IN (SELECT id FROM call WHERE answer IS NOT NULL)""",
            [(attempt.id,) for attempt in attempts],
        )

    def _write_closed(self) -> None:
        # The result of a batch stays at the provider, and is taken again where its answer was not stored.
        columns = _ATTEMPT[_ATTEMPT.index("seconds") :]
        self._insert(
            f"""UPDATE attempt SET {", ".join(f"{name} = ?" for name in columns)} WHERE id = ?
                AND NOT (? = 'answered' AND submission IS NOT NULL AND purpose = 'call'
                         AND EXISTS (SELECT 1 FROM call WHERE id = attempt.call AND answer IS NULL))""",
            [(*_attempt(attempt)[-len(columns) :], attempt.id, attempt.status) for attempt in self._closed],
        )
        self._closed.clear()


def _attempt(attempt: Attempt) -> tuple[Any, ...]:
    return tuple(text_of(attempt.usage) if name == "usage" else getattr(attempt, name) for name in _ATTEMPT)


def _copying(table: str, columns: Sequence[str]) -> str:
    """Inserts rows of another store. One that is here is written over where the condition that follows holds
    of it."""
    named, values = ", ".join(columns), ", ".join("?" * len(columns))
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns)
    return f"INSERT INTO {table} ({named}) VALUES ({values}) ON CONFLICT (id) DO UPDATE SET {changes}"
