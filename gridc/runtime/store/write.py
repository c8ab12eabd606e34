"""The write side of a store: one process at a time, every answer durable before it is counted."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gridc.compiler.instrument.score import Outcome
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.runtime.engines.protocol import Answer, Spending
from gridc.runtime.store.attempts import AttemptWriter
from gridc.runtime.store.events import Sealed
from gridc.runtime.store.layout import LayoutWriter
from gridc.runtime.store.planned import PlanWriter
from gridc.runtime.store.store import Store
from gridc.runtime.store.writable import now, text_of
from gridc.schema.canonical import digest


class Writer(PlanWriter, LayoutWriter, AttemptWriter):
    """A store that is open for writing, by this process alone. Use as a context manager."""

    def answer(self, answers: Sequence[Answer], spending: Spending | None = None) -> None:
        """Store the answers of a batch and what it took, all or nothing. When this returns they are on
        the disk.

        Raises `RuntimeError` when one of the calls has an answer already: a finished call is never
        executed again, and a scheduler that did so must not go unnoticed.
        """
        finished = now()
        with self._db.atomic():
            batch = self._batch(answers[0].call, len(answers), spending, finished) if spending else None
            rows = [
                (text_of(answer.sent), text_of(answer.content), digest(answer.content), text_of(answer.usage),
                 answer.seconds, finished, batch, answer.call)
                for answer in answers
            ]  # fmt: skip
            done = self._db.conn.executemany(
                """UPDATE call SET sent = ?, answer = ?, answer_digest = ?, usage = ?, seconds = ?,
                   finished = ?, batch = ? WHERE id = ? AND answer IS NULL""",
                rows,
            )
            if done.rowcount != len(rows):
                raise RuntimeError(f"{len(rows) - done.rowcount} of {len(rows)} calls were answered before")
            self._write_closed()

    def _batch(self, call: str, calls: int, spending: Spending, finished: str) -> Any:
        """The number of a new row for calls of one model."""
        model, precision = self._db.execute(
            "SELECT model, precision FROM call WHERE id = ?", [call]
        ).fetchone()
        took = {"seconds": spending.seconds, "work": text_of(spending.work), "most": text_of(spending.most)}
        row = {"model": model, "precision": precision, "calls": calls, "finished": finished, **took}
        return self._db.table("batch").insert(row).last_pk

    def copy_answers(self, path: Path, calls: Sequence[str]) -> None:
        """Take the answers to these calls, which have none here, from another store, with the batches
        that they came from; all or nothing.

        Raises `StoreError` when an answer does not hash to its digest.
        """
        with Store.open(path) as other:
            rows = [other.row("call", call) for call in calls]
            batches = {row["batch"]: other.row("batch", row["batch"]) for row in rows if row["batch"]}
        for row in rows:
            if digest(json.loads(row["answer"])) != row["answer_digest"]:
                message = f"the answer of call {row['id'][:12]} has been changed"
                raise StoreError([Diagnostic("GC605", message, str(path))])
        with self._db.atomic():
            table = self._db.table("batch")
            numbers = {
                old: table.insert({name: value for name, value in row.items() if name != "id"}).last_pk
                for old, row in batches.items()
            }
            for row in rows:
                taken = ("sent", "answer", "answer_digest", "usage", "seconds", "finished")
                changes = {name: row[name] for name in taken} | {"batch": numbers.get(row["batch"])}
                self._db.table("call").update(row["id"], changes)

    def score(self, cell: str, stamp: str, outcomes: Iterable[tuple[str, int, Outcome]]) -> None:
        """Store the outcomes (item, replicate, outcome) of one cell's samples."""
        number = self._db.execute("SELECT id FROM cell WHERE stamp = ? AND key = ?", [stamp, cell]).fetchone()
        rows = (
            (outcome.choice, outcome.score, text_of(outcome.evidence), number[0], item, replicate)
            for item, replicate, outcome in outcomes
        )
        with self._db.atomic():
            self._insert(
                """UPDATE sample SET choice = ?, score = ?, evidence = ?
                   WHERE cell = ? AND item = ? AND replicate = ?""",
                rows,
            )

    def seal(self, nonce: str, body: Sealed) -> None:
        """Keep the secret of a map and record its seal, both or neither."""
        with self._db.atomic():
            self._insert("INSERT INTO blinding VALUES (?, ?, ?)", [(body.stamp, body.about, nonce)])
            self.record(body)

    def label(self, stamp: str, about: str, labels: Mapping[str, str]) -> None:
        """Store what people said of the responses on a sheet, by UUID."""
        self._insert(
            "INSERT INTO label VALUES (?, ?, ?, ?)", [(stamp, about, *item) for item in labels.items()]
        )
