"""Writes a store: every answer is durable before it is counted, and every request is recorded."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from gridc.compiler.instrument.score import Outcome
from gridc.compiler.lowering.calls import CallKind, Prompt
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.runtime.engines.api.attempts import Attempt, Submission
from gridc.runtime.engines.protocol import Answer, Call, Spending
from gridc.runtime.store.events import Sealed
from gridc.runtime.store.reader import Labels
from gridc.runtime.store.store import Store
from gridc.runtime.store.writable import PlanWriter, WritableStore, now, stored_json
from gridc.schema.canonical import digest, digest_bytes

_ATTEMPT = (
    "id", "model", "purpose", "call", "number", "started", "seconds", "status", "failure", "http", "paid",
    "usd", "answered_by", "fingerprint", "usage", "detail", "submission",
)  # fmt: skip
"""The columns of an attempt: first those that it has when it is opened."""


_SUBMISSION = tuple(field.name for field in fields(Submission))


class AttemptWriter(WritableStore):
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
    return tuple(
        stored_json(attempt.usage) if name == "usage" else getattr(attempt, name) for name in _ATTEMPT
    )


def _copying(table: str, columns: Sequence[str]) -> str:
    """Inserts rows of another store. One that is here is written over where the condition that follows holds
    of it."""
    named, values = ", ".join(columns), ", ".join("?" * len(columns))
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns)
    return f"INSERT INTO {table} ({named}) VALUES ({values}) ON CONFLICT (id) DO UPDATE SET {changes}"


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
                (stored_json(answer.sent), stored_json(answer.content), digest(answer.content),
                 stored_json(answer.usage), answer.seconds, finished, batch, answer.call)
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
        took = {
            "seconds": spending.seconds,
            "work": stored_json(spending.work),
            "most": stored_json(spending.most),
        }
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
            (outcome.choice, outcome.score, stored_json(outcome.evidence), number[0], item, replicate)
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

    def label(self, stamp: str, about: str, labels: Labels) -> None:
        """Store what people said of the responses on a sheet."""
        self._insert(
            "INSERT INTO label VALUES (?, ?, ?, ?, ?)",
            [
                (stamp, about, uuid, annotator, label)
                for uuid, given in labels.items()
                for annotator, label in given.items()
            ],
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
    beside = (document.get(key, "") for key in ("functions", "schema"))
    return Prompt(messages, document["chat_template"], shorter, thinking, *beside)
