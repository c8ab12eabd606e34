"""A store that is open for writing, by one process, and what a plan asks, as its rows."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from gridc.compiler.grid.cells import Cell
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.calls import PlannedSample, Request, SampleCalls, unanswered
from gridc.compiler.lowering.judging import JudgeCall
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, StoreError, UnavailableError
from gridc.files import require_unlinked
from gridc.runtime.store import opening
from gridc.runtime.store.events import Body, Event, Stamped
from gridc.runtime.store.items import benchmark_rows, cell_rows, item_rows, question_rows, shown_rows
from gridc.runtime.store.opening import open_to_write
from gridc.runtime.store.store import Store
from gridc.schema.canonical import canonical, digest_bytes


class WritableStore(Store):
    """A store that is open for writing, by this process alone. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        lock = path.with_suffix(".lock")
        require_unlinked(path)
        require_unlinked(lock)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path
        self._lock = FileLock(lock)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            message = "another gridc process is writing to this store"
            help = (
                "wait until it ends (`gridc status` says how far it is), or stop it: finished calls are kept"
            )
            raise StoreError([Diagnostic("GC601", message, str(path), help=help)]) from None
        try:
            db = open_to_write(path)
            try:
                opening.look_through(db, path)
                opening.note_known(path, writing=True)
            except BaseException:
                db.close()
                raise
            super().__init__(db)
        except BaseException:
            self._lock.release()
            raise

    @property
    def folder(self) -> Path:
        """Where it lies, with what a run writes beside it."""
        return self._file.parent

    @classmethod
    def existing(cls, path: Path) -> Self:
        """A store that is there already. Raises `StoreError` when there is none or it is damaged."""
        with Store.open(path):
            return cls(path)

    def __exit__(self, *raised: Any) -> None:
        try:
            super().__exit__(*raised)
            opening.note_known(self._file)
        finally:
            self._lock.release()

    def all_or_nothing(self) -> AbstractContextManager[object]:
        """What is written in the context is on the disk when it ends, or none of it."""
        return self._db.atomic()

    def record(self, body: Body) -> None:
        """Append an event to the chain."""
        with self._db.atomic():
            rows = list(self._db.query("SELECT * FROM event ORDER BY seq DESC LIMIT 1"))
            last = Event.from_row(rows[0]) if rows else None
            self._db.table("event").insert(Event.after(last, now(), body).row())

    def _insert(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self._db.conn.executemany(statement, rows)


def stored_json(value: Any) -> str:
    """The canonical JSON of a document, as a store holds it."""
    return canonical(value).decode()


def now() -> str:
    """This moment (UTC, ISO 8601), as a store holds it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


_ROWS = 10_000
"""Samples that are written at a time."""


class PlanWriter(WritableStore):
    """Writes what is to be asked."""

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
            for cell, row in zip(plan.cells(), cell_rows(plan), strict=True):
                number = self._db.table("cell").insert(row._asdict()).last_pk
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

    def _ingest_samples(self, cell: Any, samples: Sequence[PlannedSample]) -> None:
        self._insert(
            "INSERT INTO sample (cell, item, replicate) VALUES (?, ?, ?)",
            [(cell, sample.item.id, sample.replicate) for sample in samples],
        )
        self._insert_calls((cell, sample, sample.trace(unanswered)) for sample in samples)

    def _ingest_items(self, plan: Plan) -> None:
        self._insert("INSERT INTO benchmark VALUES (?, ?, ?, ?)", list(benchmark_rows(plan)))
        self._insert("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?)", list(item_rows(plan)))
        self._insert("INSERT OR REPLACE INTO question VALUES (?, ?, ?, ?, ?, ?)", list(question_rows(plan)))
        self._insert("INSERT INTO shown VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", list(shown_rows(plan)))
        self._insert(
            "UPDATE cell SET method = ?, option_order = ?, replicates = ? WHERE stamp = ? AND key = ?",
            [(row.method, row.option_order, row.replicates, row.stamp, row.key) for row in cell_rows(plan)],
        )

    def extend(self, stamp: str, traces: Iterable[tuple[Cell, PlannedSample, SampleCalls]]) -> None:
        """Write the calls of samples as far as they are known by now, all or nothing. What is there stays.

        Raises `UnavailableError` (GC344) where a scaffold asks something else than it did."""
        cells = dict(self._db.execute("SELECT key, id FROM cell WHERE stamp = ?", [stamp]).fetchall())
        with self._db.atomic():
            self._insert_calls((cells[cell.key], sample, trace) for cell, sample, trace in traces)

    def extend_judgements(self, stamp: str, asks: Iterable[JudgeCall]) -> None:
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

    def _insert_calls(self, traces: Iterable[tuple[Any, PlannedSample, SampleCalls]]) -> None:
        """Calls with their prompts, and the rows of `trace` that name them. What is there stays, and is the
        same: a call that is not is set to null, which no row of `trace` takes."""
        planned = [
            (cell, sample.item.id, sample.replicate, step, name, request)
            for cell, sample, trace in traces
            for step, (name, request) in enumerate(trace.rows)
        ]
        self._insert_requests(request for *_, request in planned)
        rows = [(*row, request.id) for *row, request in planned]
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

    def _insert_requests(self, to_insert: Iterable[Request]) -> None:
        """Calls with their prompts. What is there stays."""
        requests = {request.id: request for request in to_insert}
        prompts = {request.prompt.id: request.prompt for request in requests.values()}
        self._insert(
            "INSERT OR IGNORE INTO prompt VALUES (?, ?)",
            [(identifier, stored_json(prompt.as_json())) for identifier, prompt in prompts.items()],
        )
        self._insert(
            """INSERT OR IGNORE INTO call (id, model, precision, kind, prompt, request)
               VALUES (?, ?, ?, ?, ?, ?)""",
            [
                (
                    request.id,
                    request.model,
                    request.precision,
                    request.kind,
                    request.prompt.id,
                    request.canonical.decode(),
                )
                for request in requests.values()
            ],
        )


def _judgement(ask: JudgeCall) -> tuple[Any, ...]:
    verdict = ask.verdict
    given = (None,) * 3 if verdict is None else (verdict.label, verdict.confidence, verdict.failure)
    return ask.judge, ask.attempt, ask.request.id, *given
