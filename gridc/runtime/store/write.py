"""The write side of a store: one process at a time, every answer durable before it is counted."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from gridc.compiler.grid.cell import Cell
from gridc.compiler.instrument.score import Outcome
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.calls import Prompt, Request, Sample, Trace, unanswered
from gridc.compiler.lowering.judging import Ask
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, StoreError, UnavailableError
from gridc.runtime.engines.api.records import Attempt, Submission
from gridc.runtime.engines.protocol import Answer, Call, Spending
from gridc.runtime.store.events import Body, Event, Sealed, Stamped
from gridc.runtime.store.items import benchmark_rows, item_rows, order_of, shown_rows
from gridc.runtime.store.opening import open_to_write
from gridc.runtime.store.store import Store
from gridc.schema.canonical import canonical, digest, digest_bytes

_ROWS = 10_000
"""Samples that are written at a time."""

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


class Writer(Store):
    """A store that is open for writing, by this process alone. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(path.with_suffix(".lock"))
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            message = "another gridc process is writing to this store"
            help = (
                "wait until it ends (`gridc status` says how far it is), or stop it: finished calls are kept"
            )
            raise StoreError([Diagnostic("GC601", message, str(path), help=help)]) from None
        self._closed: list[Attempt] = []
        try:
            super().__init__(open_to_write(path))
        except BaseException:
            self._lock.release()
            raise

    @classmethod
    def existing(cls, path: Path) -> Self:
        """A store that is there already. Raises `StoreError` when there is none or it is damaged."""
        with Store.open(path):
            return cls(path)

    def __exit__(self, *_: object) -> None:
        try:
            if self._closed:
                self.flush()
        finally:
            super().__exit__()
            self._lock.release()

    def record(self, body: Body) -> None:
        """Append an event to the chain."""
        with self._db.atomic():
            rows = list(self._db.query("SELECT * FROM event ORDER BY seq DESC LIMIT 1"))
            last = Event.from_row(rows[0]) if rows else None
            self._db.table("event").insert(Event.after(last, _now(), body).row())

    def seal(self, nonce: str, body: Sealed) -> None:
        """Keep the secret of a map and record its seal, both or neither."""
        with self._db.atomic():
            self._insert("INSERT INTO blinding VALUES (?, ?, ?)", [(body.stamp, body.about, nonce)])
            self.record(body)

    def label(self, stamp: str, about: str, labels: Mapping[str, str]) -> None:
        """Store what people said of the responses on a sheet, by UUID."""
        self._insert(
            "INSERT INTO label VALUES (?, ?, ?, ?)", [(stamp, about, *each) for each in labels.items()]
        )

    def ingest(self, plan: Plan, lock: Lock) -> None:
        """Write the plan's items, cells, samples and calls, all or nothing. A plan that is here is left
        alone, but for the items that an earlier version of the tables had no place for."""
        if plan.study_digest in self.stamps():
            if not self.groups(plan.study_digest):
                with self._db.atomic():
                    self._ingest_items(plan)
            return
        with self._db.atomic():
            content = json.dumps(plan.study.stamped(), sort_keys=True, ensure_ascii=False)
            self._db.table("study").insert(
                {"stamp": plan.study_digest, "created": lock.created, "content": content}
            )
            for cell in plan.cells():
                number = (
                    self._db.table("cell")
                    .insert(
                        {
                            "stamp": plan.study_digest,
                            "key": cell.key,
                            "model": cell.model,
                            "benchmark": cell.benchmark,
                            "configuration": cell.configuration,
                            "tier": cell.tier,
                            "shared": int(cell.shared),
                        }
                    )
                    .last_pk
                )
                samples = plan.samples(cell)
                while some := list(islice(samples, _ROWS)):
                    self._ingest_samples(number, some)
            self._ingest_items(plan)
            lock_digest = digest_bytes(lock.text().encode())
            self.record(
                Stamped(
                    stamp=plan.study_digest, registered=lock.stamp, created=lock.created, lock=lock_digest
                )
            )

    def _ingest_samples(self, cell: Any, samples: Sequence[Sample]) -> None:
        self._insert(
            "INSERT INTO sample (cell, item, replicate) VALUES (?, ?, ?)",
            [(cell, sample.item.id, sample.replicate) for sample in samples],
        )
        self._insert_calls((cell, sample, sample.trace(unanswered)) for sample in samples)

    def extend(self, stamp: str, traces: Iterable[tuple[Cell, Sample, Trace]]) -> None:
        """Write the calls of samples as far as they are known by now, all or nothing. What is there stays.

        Raises `UnavailableError` (GC344) where a scaffold asks something else than it did."""
        cells = dict(self._db.execute("SELECT key, id FROM cell WHERE stamp = ?", [stamp]).fetchall())
        with self._db.atomic():
            self._insert_calls((cells[cell.key], sample, trace) for cell, sample, trace in traces)

    def _insert_calls(self, traces: Iterable[tuple[Any, Sample, Trace]]) -> None:
        """Calls with their prompts, and the rows of `trace` that name them. What is there stays, and is the
        same: a call that is not is set to null, which no row of `trace` takes."""
        asked = [
            (cell, sample.item.id, sample.replicate, step, name, request)
            for cell, sample, trace in traces
            for step, (name, request) in enumerate(trace.rows)
        ]
        self._insert_requests(request for *_, request in asked)
        rows = [(*row, request.id) for *row, request in asked]
        try:
            self._insert(
                """INSERT INTO trace (cell, item, replicate, step, name, call) VALUES (?, ?, ?, ?, ?, ?)
                   ON CONFLICT DO UPDATE SET call = NULL
                   WHERE call != excluded.call OR name IS NOT excluded.name""",
                rows,
            )
        except sqlite3.IntegrityError as error:
            if "trace.call" not in str(error):
                raise
            raise self._asked_otherwise(rows) from None

    def _asked_otherwise(self, rows: Iterable[tuple[Any, ...]]) -> UnavailableError:
        """What is raised where a row of `trace` is not the one that is there."""
        for cell, item, replicate, step, name, call in rows:
            there = self._db.execute(
                "SELECT name, call FROM trace WHERE (cell, item, replicate, step) = (?, ?, ?, ?)",
                [cell, item, replicate, step],
            ).fetchone()
            if there not in (None, (name, call)):
                ((key,),) = self._db.execute("SELECT key FROM cell WHERE id = ?", [cell]).fetchall()
                message = (
                    f"{key}: on item {item} (replicate {replicate}) call {step + 1} of the scaffold "
                    f"(`{name}`) is not the one that the store holds (`{there[0]}`), on the same answers"
                )
                help = "it must have no clock, no chance and no memory of its own"
                return UnavailableError([Diagnostic("GC344", message, help=help)])
        raise AssertionError("no row of `trace` is another one")

    def extend_judgements(self, stamp: str, asks: Iterable[Ask]) -> None:
        """Write what judges are asked as far as it is known by now, and what the replies that are there were
        read to, all or nothing."""
        cells = dict(self._db.execute("SELECT key, id FROM cell WHERE stamp = ?", [stamp]).fetchall())
        known = list(asks)
        with self._db.atomic():
            self._insert_requests(ask.request for ask in known)
            self._insert(
                """INSERT INTO judgement (cell, item, replicate, judge, attempt, call, label, confidence,
                   failure) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                   label = excluded.label, confidence = excluded.confidence, failure = excluded.failure""",
                [(cells[ask.key[0]], *ask.key[1:], *_judgement(ask)) for ask in known],
            )

    def _insert_requests(self, asked: Iterable[Request]) -> None:
        """Calls with their prompts. What is there stays."""
        requests = {request.id: request for request in asked}
        prompts = {request.prompt.id: request.prompt for request in requests.values()}
        self._insert(
            "INSERT OR IGNORE INTO prompt VALUES (?, ?)",
            [(identifier, _text(prompt.as_json())) for identifier, prompt in prompts.items()],
        )
        self._insert(
            """INSERT OR IGNORE INTO call (id, model, precision, kind, prompt, request)
               VALUES (?, ?, ?, ?, ?, ?)""",
            [
                (each.id, each.model, each.precision, each.kind, each.prompt.id, each.canonical.decode())
                for each in requests.values()
            ],
        )

    def _ingest_items(self, plan: Plan) -> None:
        self._insert("INSERT INTO benchmark VALUES (?, ?, ?, ?)", list(benchmark_rows(plan)))
        self._insert("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?)", list(item_rows(plan)))
        self._insert("INSERT INTO shown VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", list(shown_rows(plan)))
        self._insert(
            "UPDATE cell SET method = ?, option_order = ?, replicates = ? WHERE stamp = ? AND key = ?",
            [
                (each.setting.method, order_of(each), each.setting.replicates, plan.study_digest, each.key)
                for each in plan.cells()
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
        """Number the calls of the study on one model, or those `among` some, for `stretch`: those on one
        prompt together, and prompts by their text, so that neighbours begin alike; `ordered`: in the order in
        which they are given. How many there are, and how many have no answer."""
        with self._db.atomic():
            for statement in _LAYOUT.split(";"):
                self._db.execute(statement)
            self._db.execute("DELETE FROM temp.layout WHERE stage = ?", [stage])
            self._db.execute("DELETE FROM temp.ordered")
            self._db.execute("DELETE FROM temp.wave")
            where, values = self._calls_of(stamp)
            mine = f"model = ? AND precision = ? AND {where}"
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
            (Call(identifier, kind, prompts(content), json.loads(request), bool(continued)), bool(answered))
            for identifier, kind, request, content, answered, continued in rows
        ]

    def call(self, identifier: str) -> Call:
        """One call."""
        kind, request, content = self._db.execute(
            "SELECT kind, request, content FROM call JOIN prompt ON prompt.id = prompt WHERE call.id = ?",
            [identifier],
        ).fetchone()
        return Call(identifier, kind, _prompt(content), json.loads(request))

    def answer(self, answers: Sequence[Answer], spending: Spending | None = None) -> None:
        """Store the answers of a batch and what it took, all or nothing. When this returns they are on
        the disk.

        Raises `RuntimeError` when one of the calls has an answer already: a finished call is never
        executed again, and a scheduler that did so must not go unnoticed.
        """
        finished = _now()
        with self._db.atomic():
            batch = self._batch(answers[0].call, len(answers), spending, finished) if spending else None
            rows = [
                (_text(each.sent), _text(each.content), digest(each.content), _text(each.usage),
                 each.seconds, finished, batch, each.call)
                for each in answers
            ]  # fmt: skip
            done = self._db.conn.executemany(
                """UPDATE call SET sent = ?, answer = ?, answer_digest = ?, usage = ?, seconds = ?,
                   finished = ?, batch = ? WHERE id = ? AND answer IS NULL""",
                rows,
            )
            if done.rowcount != len(rows):
                raise RuntimeError(f"{len(rows) - done.rowcount} of {len(rows)} calls were answered before")
            self._write_closed()

    def opened(self, attempts: Sequence[Attempt]) -> None:
        """Store requests that are about to be sent. When this returns they are on the disk."""
        with self._db.atomic():
            self._write_closed()
            self._insert_attempts(attempts)

    def _insert_attempts(self, attempts: Sequence[Attempt]) -> None:
        self._insert(
            f"INSERT INTO attempt ({', '.join(_ATTEMPT)}) VALUES ({', '.join('?' * len(_ATTEMPT))})",
            [_attempt(each) for each in attempts],
        )
        self._insert(
            """UPDATE attempt SET purpose = 'repeat' WHERE id = ? AND purpose = 'call'
               AND call IN (SELECT id FROM call WHERE answer IS NOT NULL)""",
            [(each.id,) for each in attempts],
        )

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
        """The batches of a model that may be at its provider, with their requests that have not ended."""
        known = self._db.query(
            """SELECT * FROM submission WHERE model = ? AND state IN ('submitting', 'submitted')
               AND id IN (SELECT submission FROM attempt WHERE status = 'sent') ORDER BY created, id""",
            [model],
        )
        requests = "SELECT * FROM attempt WHERE submission = ? AND status = 'sent' ORDER BY id"
        return [
            (
                Submission(**row),
                [
                    Attempt(**{**each, "usage": json.loads(each["usage"])})
                    for each in self._db.query(requests, [row["id"]])
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

    def _write_closed(self) -> None:
        # The result of a batch stays at the provider, and is taken again where its answer was not stored.
        columns = _ATTEMPT[_ATTEMPT.index("seconds") :]
        self._insert(
            f"""UPDATE attempt SET {", ".join(f"{name} = ?" for name in columns)} WHERE id = ?
                AND NOT (? = 'answered' AND submission IS NOT NULL AND purpose = 'call'
                         AND EXISTS (SELECT 1 FROM call WHERE id = attempt.call AND answer IS NULL))""",
            [(*_attempt(each)[-len(columns) :], each.id, each.status) for each in self._closed],
        )
        self._closed.clear()

    def _batch(self, call: str, calls: int, spending: Spending, finished: str) -> Any:
        """The number of a new row for calls of one model."""
        model, precision = self._db.execute(
            "SELECT model, precision FROM call WHERE id = ?", [call]
        ).fetchone()
        took = {"seconds": spending.seconds, "work": _text(spending.work), "most": _text(spending.most)}
        row = {"model": model, "precision": precision, "calls": calls, "finished": finished, **took}
        return self._db.table("batch").insert(row).last_pk

    def all_or_nothing(self) -> AbstractContextManager[object]:
        """What is written in the context is on the disk when it ends, or none of it."""
        return self._db.atomic()

    def copy_answers(self, path: Path, calls: Sequence[str]) -> None:
        """Take the answers to these calls, which have none here, from another store, with the batches
        that they came from; all or nothing.

        Raises `StoreError` when an answer does not hash to its digest.
        """
        with Store.open(path) as other:
            found = [other.row("call", call) for call in calls]
            batches = {row["batch"]: other.row("batch", row["batch"]) for row in found if row["batch"]}
            attempts = [row for call in calls for row in other.attempts_on(call)]
            named = dict.fromkeys(row["submission"] for row in attempts if row["submission"])
            submissions = [other.row("submission", name) for name in named]
        for row in found:
            if digest(json.loads(row["answer"])) != row["answer_digest"]:
                message = f"the answer of call {row['id'][:12]} has been changed"
                raise StoreError([Diagnostic("GC605", message, str(path))])
        with self._db.atomic():
            table = self._db.table("batch")
            numbers = {
                old: table.insert({name: value for name, value in row.items() if name != "id"}).last_pk
                for old, row in batches.items()
            }
            for row in found:
                taken = ("sent", "answer", "answer_digest", "usage", "seconds", "finished")
                changes = {name: row[name] for name in taken} | {"batch": numbers.get(row["batch"])}
                self._db.table("call").update(row["id"], changes)
            self._db.table("submission").insert_all(submissions, ignore=True)
            self._db.table("attempt").insert_all(attempts, ignore=True)

    def score(self, cell: str, stamp: str, outcomes: Iterable[tuple[str, int, Outcome]]) -> None:
        """Store the outcomes (item, replicate, outcome) of one cell's samples."""
        number = self._db.execute("SELECT id FROM cell WHERE stamp = ? AND key = ?", [stamp, cell]).fetchone()
        rows = (
            (each.choice, each.score, _text(each.evidence), number[0], item, replicate)
            for item, replicate, each in outcomes
        )
        with self._db.atomic():
            self._insert(
                """UPDATE sample SET choice = ?, score = ?, evidence = ?
                   WHERE cell = ? AND item = ? AND replicate = ?""",
                rows,
            )

    def _insert(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self._db.conn.executemany(statement, rows)


_ATTEMPT = (
    "id", "model", "purpose", "call", "number", "started", "seconds", "status", "failure", "http", "paid",
    "usd", "answered_by", "fingerprint", "usage", "detail", "submission",
)  # fmt: skip


def _attempt(attempt: Attempt) -> tuple[Any, ...]:
    return tuple(_text(attempt.usage) if name == "usage" else getattr(attempt, name) for name in _ATTEMPT)


def _judgement(ask: Ask) -> tuple[Any, ...]:
    verdict = ask.verdict
    found = (None,) * 3 if verdict is None else (verdict.label, verdict.confidence, verdict.failure)
    return ask.judge, ask.attempt, ask.request.id, *found


def _prompt(content: str) -> Prompt:
    document = json.loads(content)
    messages = tuple((role, text) for role, text in document["messages"])
    return Prompt(messages, document["chat_template"], tuple(document.get("shorter", ())))


def _text(value: Any) -> str:
    return canonical(value).decode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
