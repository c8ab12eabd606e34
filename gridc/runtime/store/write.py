"""The write side of a store: one process at a time, every answer durable before it is counted."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from gridc.compiler.instrument.score import Outcome
from gridc.compiler.lowering.calls import CallKind, Prompt
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.runtime.engines.protocol import Answer, Call, Spending
from gridc.runtime.store.attempts import AttemptWriter
from gridc.runtime.store.events import Sealed
from gridc.runtime.store.planned import PlanWriter
from gridc.runtime.store.store import Store
from gridc.runtime.store.writable import now, text_of
from gridc.schema.canonical import digest, digest_bytes

_LAYOUT = """
CREATE TEMP TABLE IF NOT EXISTS layout (
    stage INTEGER NOT NULL,
    number INTEGER NOT NULL,
    call TEXT NOT NULL,
    PRIMARY KEY (stage, number)
) STRICT, WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS wave (place INTEGER PRIMARY KEY, call TEXT NOT NULL UNIQUE) STRICT;
CREATE TEMP TABLE IF NOT EXISTS ordered (place INTEGER PRIMARY KEY, prompt TEXT NOT NULL UNIQUE) STRICT
"""
"""The calls of each stage of a run in their order, those of one wave, and the prompts of one in theirs."""


class Writer(PlanWriter, AttemptWriter):
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

    def lay_out(
        self,
        stage: int,
        stamp: str,
        model: str,
        precision: str,
        among: Collection[str] | None = None,
        ordered: bool = False,
    ) -> tuple[int, int]:
        """Number the calls of the study's samples on one model, or those `among` some, for `stretch`: those
        on one prompt together, and prompts by their text, so that neighbours begin alike; `ordered`: some
        calls, in the order in which they are given. How many there are, and how many have no answer."""
        with self._db.atomic():
            for statement in _LAYOUT.split(";"):
                self._db.execute(statement)
            self._db.execute("DELETE FROM temp.layout WHERE stage = ?", [stage])
            self._db.execute("DELETE FROM temp.ordered")
            self._db.execute("DELETE FROM temp.wave")
            where, values = self._calls_of(stamp)
            judges = "SELECT call FROM judgement WHERE call NOT IN (SELECT call FROM trace)"
            mine = f"model = ? AND precision = ? AND {where} AND call.id NOT IN ({judges})"
            if among is not None:
                self._insert("INSERT INTO temp.wave VALUES (?, ?)", list(enumerate(among)))
                mine += " AND call.id IN (SELECT call FROM temp.wave)"
            if ordered:
                place = "row_number() OVER (ORDER BY place) - 1"
                self._db.execute(f"INSERT INTO temp.layout SELECT ?, {place}, call FROM temp.wave", [stage])
                return len(among or ()), self.unanswered(stage)
            self._db.execute(
                f"""INSERT INTO temp.ordered (prompt) SELECT id FROM prompt
                    WHERE id IN (SELECT prompt FROM call WHERE {mine}) ORDER BY content""",
                [model, precision, *values],
            )
            self._db.execute(
                f"""INSERT INTO temp.layout SELECT ?, row_number() OVER (ORDER BY place, id) - 1, id
                    FROM call JOIN temp.ordered USING (prompt) WHERE {mine}""",
                [stage, model, precision, *values],
            )
        (calls,) = self._db.execute("SELECT count(*) FROM temp.layout WHERE stage = ?", [stage]).fetchone()
        return calls, self.unanswered(stage)

    def unanswered(self, stage: int) -> int:
        """How many calls of a stage that was laid out have no answer."""
        (missing,) = self._db.execute(
            "SELECT count(*) - count(answer) FROM temp.layout JOIN call ON id = call WHERE stage = ?", [stage]
        ).fetchone()
        return int(missing)

    def stretch(self, stage: int, start: int, length: int) -> list[tuple[Call, bool]]:
        """The calls of a stage that was laid out from number `start` on, and whether each has its answer."""
        rows = self._db.execute(
            """SELECT call.id, kind, request, prompt.content, answer IS NOT NULL,
                      EXISTS (SELECT 1 FROM trace WHERE trace.call = call.id AND name IS NOT NULL)
               FROM temp.layout JOIN call ON call.id = layout.call JOIN prompt ON prompt.id = call.prompt
               WHERE stage = ? AND number >= ? AND number < ? ORDER BY number""",
            [stage, start, start + length],
        )
        prompts = lru_cache(maxsize=1)(_prompt)  # calls on one prompt follow each other
        return [
            (_call(identifier, kind, request, prompts(content), bool(continued)), bool(answered))
            for identifier, kind, request, content, answered, continued in rows
        ]

    def call(self, identifier: str) -> Call:
        """One call."""
        kind, request, content = self._db.execute(
            "SELECT kind, request, content FROM call JOIN prompt ON prompt.id = prompt WHERE call.id = ?",
            [identifier],
        ).fetchone()
        return _call(identifier, kind, request, _prompt(content))


def _call(identifier: str, kind: CallKind, request: str, prompt: Prompt, continued: bool = False) -> Call:
    """A call as it was planned. Raises `StoreError` (GC605) for any other: a changed question is not asked
    under the name of the planned one."""
    parameters, named = json.loads(request), digest_bytes(request.encode())
    if named != identifier or (parameters["prompt"], parameters["kind"]) != (prompt.id, kind):
        message = f"the request of call {identifier[:12]} or its prompt is not the planned one"
        raise StoreError(
            [Diagnostic("GC605", message, help="`gridc verify` says what else is wrong with it")]
        )
    return Call(identifier, kind, prompt, parameters, continued)


def _prompt(content: str) -> Prompt:
    document = json.loads(content)
    messages = tuple((role, text) for role, text in document["messages"])
    shorter, thinking = tuple(document.get("shorter", ())), document.get("thinking")
    return Prompt(messages, document["chat_template"], shorter, thinking)
