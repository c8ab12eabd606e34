"""The read side of a store: what reports, `status` and `verify` see. It changes nothing."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from sqlite_utils import Database

from gridc.compiler.lowering.calls import ANSWER
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.runtime.store import digests
from gridc.runtime.store.events import (
    Body,
    Event,
    Merged,
    ModelLoaded,
    NoiseMeasured,
    Observed,
    RunFinished,
    RunStarted,
    Worked,
)
from gridc.runtime.store.opening import open_to_read
from gridc.runtime.store.provider_observations import provider_observations
from gridc.runtime.store.rows import (
    CallRow,
    CellOutcomes,
    CheckedCall,
    CheckedSample,
    JudgementRow,
    ModelPace,
    Progress,
    SampleRow,
    Spent,
    StoredCall,
    StoredSample,
)
from gridc.schema.canonical import digest

B = TypeVar("B", bound=Body)


def recorded(events: Iterable[Event], kind: type[B], stamp: str | None = None) -> list[B]:
    """What the events of a kind say, in order; of one study, or of all. Those that a merge took count."""
    bodies = (body for event in events for body in ([event.body] if kind is Merged else _bodies(event.body)))
    return [
        body
        for body in bodies
        if isinstance(body, kind) and body.kind == kind.kind and stamp in (None, body.stamp)
    ]


def _bodies(body: Body) -> list[Body]:
    return body.taken if isinstance(body, Merged) else [body]


_USED = {
    "call": "id NOT IN (SELECT call FROM trace) AND id NOT IN (SELECT call FROM judgement)",
    "prompt": "id NOT IN (SELECT prompt FROM call)",
    "batch": "id NOT IN (SELECT batch FROM call WHERE batch IS NOT NULL)",
    "attempt": "call IS NOT NULL AND call NOT IN (SELECT id FROM call)",
    "cell": "id NOT IN (SELECT cell FROM sample)",
    "sample": """NOT EXISTS (SELECT 1 FROM trace t
        WHERE (t.cell, t.item, t.replicate) = (sample.cell, sample.item, sample.replicate))""",
}
"""Rows that gridc never writes, by table."""


CACHE_KIB = 128 * 1024
"""Memory for pages. Calls are looked up by digest, which is at random all over the file."""


class Store:
    """A store that is open for reading. Use as a context manager."""

    def __init__(self, db: Database, close: Callable[[], None] | None = None) -> None:
        self._db = db
        self._close = close or db.close
        self._db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the store at `path` as it is at this moment: what a run adds meanwhile is not seen.

        Raises `StoreError` when there is none, it is damaged (GC605) or a newer gridc made it (GC612).
        """
        db, close = open_to_read(path)
        db.execute("BEGIN")  # one snapshot for all that is read
        return cls(db, close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def copy_to(self, path: Path) -> None:
        """A copy of the whole store as one file, consistent even while another process writes."""
        copy = sqlite3.connect(path)
        try:
            self._db.conn.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
        finally:
            copy.close()

    def stamps(self) -> list[str]:
        """The studies in the store, oldest first."""
        return [row[0] for row in self._db.execute("SELECT stamp FROM study ORDER BY rowid")]

    def events(self) -> list[Event]:
        """The event chain. Raises `StoreError` (GC605) for an event that gridc does not write."""
        return [Event.from_row(row) for row in self._db.query("SELECT * FROM event ORDER BY seq")]

    def recorded(self, kind: type[B], stamp: str | None = None) -> list[B]:
        """What the events of a kind say, in order; of one study, or of all."""
        return recorded(self.events(), kind, stamp)

    def study(self, stamp: str) -> Any:
        """The document that a study's digest is the digest of."""
        row = self._db.execute("SELECT content FROM study WHERE stamp = ?", [stamp]).fetchone()
        return _json(row[0])

    def require(self, stamp: str) -> None:
        """Raise `StoreError` when the store holds no run of the study with this stamp."""
        if stamp not in self.stamps():
            message = f"the store holds no run of this study (stamp {stamp[:12]})"
            raise StoreError([Diagnostic("GC603", message, help="`gridc run` creates it")])

    def nonce(self, stamp: str, about: str) -> str | None:
        """The secret of a sealed map; None where none was sealed."""
        row = self._db.execute(
            "SELECT nonce FROM blinding WHERE stamp = ? AND about = ?", [stamp, about]
        ).fetchone()
        return None if row is None else str(row[0])

    def judged_between(self, stamp: str) -> tuple[str | None, str | None]:
        """When the first and the last reply of a judge was stored (UTC, ISO 8601), of those that no other
        study in this store asked for too; None where there is none."""
        row = self._db.execute(
            """SELECT min(finished), max(finished) FROM call WHERE id IN (
                 SELECT call FROM judgement JOIN cell ON cell.id = cell WHERE stamp = ?1
                 EXCEPT SELECT call FROM judgement JOIN cell ON cell.id = cell WHERE stamp <> ?1
                 EXCEPT SELECT call FROM trace)""",
            [stamp],
        ).fetchone()
        return row[0], row[1]

    def judged_scores(self, stamp: str) -> int:
        """How many responses that judges were asked about have an outcome."""
        (count,) = self._db.execute(
            """SELECT count(*) FROM sample JOIN cell ON cell.id = sample.cell WHERE stamp = ?
               AND score IS NOT NULL AND EXISTS (SELECT 1 FROM judgement j WHERE j.cell = sample.cell
                 AND j.item = sample.item AND j.replicate = sample.replicate)""",
            [stamp],
        ).fetchone()
        return int(count)

    def labels(self, stamp: str, about: str) -> dict[str, str]:
        """What people said of the responses on a sheet, by UUID; empty until its labels were taken back."""
        rows = self._db.execute(
            "SELECT uuid, label FROM label WHERE stamp = ? AND about = ? ORDER BY uuid", [stamp, about]
        )
        return dict(rows.fetchall())

    def labels_digest(self, stamp: str, about: str) -> str:
        """SHA-256 of the labels of a sheet as JSON: an object of UUIDs and labels."""
        return digest(self.labels(stamp, about))

    def groups(self, stamp: str) -> list[tuple[Any, ...]]:
        """Every item of a study with its unit, family, template and category, by benchmark and item; empty in
        a store that an older gridc filled."""
        rows = self._db.execute(
            """SELECT benchmark, item, unit, family, template, category FROM item WHERE stamp = ?
               ORDER BY benchmark, item""",
            [stamp],
        )
        return rows.fetchall()

    def shown(self, stamp: str) -> list[tuple[Any, ...]]:
        """Every item of a study in every order of its options: benchmark, item, order, and what the table
        `shown` has of it."""
        rows = self._db.execute(
            """SELECT benchmark, item, option_order, digest, options, points, gold, matching, unknown,
                      expected FROM shown WHERE stamp = ?""",
            [stamp],
        )
        return rows.fetchall()

    def progress(self, stamp: str) -> Progress:
        where, values = self._calls_of(stamp)
        answered, total = self._db.execute(
            f"SELECT count(answer), count(*) FROM call WHERE {where}", values
        ).fetchone()
        (unscored,) = self._db.execute(
            """SELECT count(*) FROM sample JOIN cell ON cell.id = sample.cell
               WHERE stamp = ? AND score IS NULL""",
            [stamp],
        ).fetchone()
        return Progress(answered, total, unscored)

    def pace(self, stamp: str, remote: Collection[str]) -> list[ModelPace]:
        """How far each model of a study is, and how fast. A local call takes its share of its batch's time;
        a `remote` model (identities) is asked many times at once, so it is the time between answers."""
        where, values = self._calls_of(stamp)
        failures: dict[tuple[str, str], dict[str, int]] = {}
        for model, precision, kind, count in self._db.execute(
            f"""SELECT model, precision, json_extract(answer, '$.error.kind') AS failure, count(*) FROM call
                WHERE answer IS NOT NULL AND failure IS NOT NULL AND {where}
                GROUP BY model, precision, failure ORDER BY failure""",
            values,
        ):
            failures.setdefault((model, precision), {})[str(kind)] = count
        rows = self._db.execute(
            f"""SELECT model, precision, count(*), count(answer), avg(seconds),
                       sum(answer IS NULL AND id IN (SELECT call FROM attempt
                           WHERE status = 'sent' AND submission IS NOT NULL))
                FROM call WHERE {where} GROUP BY model, precision ORDER BY model, precision""",
            values,
        ).fetchall()
        return [
            ModelPace(
                model,
                precision,
                calls,
                answered,
                failures.get((model, precision), {}),
                self._between_answers(model, precision) if model in remote else seconds,
                waiting,
            )
            for model, precision, calls, answered, seconds, waiting in rows
        ]

    def _between_answers(self, model: str, precision: str) -> float | None:
        """The mean time between the last answers of a model, in seconds."""
        rows = self._db.execute(
            """SELECT finished FROM call WHERE model = ? AND precision = ? AND finished IS NOT NULL
               ORDER BY finished DESC LIMIT 200""",
            [model, precision],
        ).fetchall()
        if len(rows) < 2:
            return None
        last, first = (datetime.fromisoformat(rows[at][0]) for at in (0, -1))
        return (last - first).total_seconds() / (len(rows) - 1)

    def last_answer(self, stamp: str) -> datetime | None:
        """When the last answer of a study was stored (UTC)."""
        where, values = self._calls_of(stamp)
        (last,) = self._db.execute(f"SELECT max(finished) FROM call WHERE {where}", values).fetchone()
        return None if last is None else datetime.fromisoformat(last)

    def observed(self, stamp: str) -> list[str]:
        """What happened in the run and departs from the plan: a sentence each, the same on every reading."""
        where, values = self._calls_of(stamp)
        (capped, generated, shortened) = self._db.execute(
            f"""SELECT coalesce(sum(json_extract(answer, '$.finish') = 'length'), 0),
                       coalesce(sum(kind = 'generate'), 0),
                       coalesce(sum(json_extract(sent, '$.exemplars_dropped') > 0), 0)
                FROM call WHERE answer IS NOT NULL AND {where}""",
            values,
        ).fetchone()
        told = [event.detail for event in self.recorded(Observed, stamp)]
        told += provider_observations(self._db, where, values, self.recorded(ModelLoaded, stamp))
        if capped:
            told.append(f"{capped:,} of {generated:,} generated answers reached their token limit")
        if shortened:
            told.append(f"{shortened:,} prompts were asked with fewer exemplars, to fit the model's context")
        return told

    def spent(self, stamp: str) -> list[Spent]:
        """What the study's batches took, by model and precision. A batch that answered calls of several
        studies counts whole in each."""
        least = {(work.identity, work.precision): work.least_work for work in self.recorded(Worked, stamp)}
        paths = {(load.identity, load.precision): load.computed for load in self.recorded(ModelLoaded, stamp)}
        where, values = self._calls_of(stamp)
        used = f"batch.id IN (SELECT batch FROM call WHERE {where})"
        work, most = (self._batch_numbers(*how, used, values) for how in (("work", "sum"), ("most", "max")))
        rows = self._db.execute(
            f"""SELECT model, precision, count(*), sum(calls), sum(seconds) FROM batch WHERE {used}
                GROUP BY model, precision ORDER BY model, precision""",
            values,
        )
        return [
            Spent(
                model,
                precision,
                batches,
                calls,
                seconds,
                work.get((model, precision), {}),
                least.get((model, precision), {}),
                most.get((model, precision), {}),
                paths.get((model, precision), ()),
            )
            for model, precision, batches, calls, seconds in rows
        ]

    def _batch_numbers(
        self, column: str, together: str, used: str, values: Sequence[str]
    ) -> dict[tuple[str, str], dict[str, float]]:
        """What batches took by its names, brought together over those of a model at a precision."""
        rows = self._db.execute(
            f"""SELECT model, precision, key, {together}(value) FROM batch, json_each({column})
                WHERE {used} GROUP BY model, precision, key ORDER BY model, precision, key""",
            values,
        )
        found: dict[tuple[str, str], dict[str, float]] = {}
        for model, precision, name, value in rows:
            found.setdefault((model, precision), {})[name] = value
        return found

    def noise(self) -> list[NoiseMeasured]:
        """The noise floors that were measured, in order. Like calls they belong to a model, and not to one
        study."""
        return self.recorded(NoiseMeasured)

    def answered_calls(self, stamp: str, model: str, precision: str) -> Iterator[str]:
        """Every answered call of the study on one model."""
        where, values = self._calls_of(stamp)
        rows = self._db.execute(
            f"SELECT id FROM call WHERE model = ? AND precision = ? AND answer IS NOT NULL AND {where}",
            [model, precision, *values],
        )
        yield from (identifier for (identifier,) in rows)

    def plain_calls(self, stamp: str) -> set[str]:
        """The calls of a study that are asked outside of scaffolds."""
        rows = self._db.execute(
            """SELECT DISTINCT call FROM trace JOIN cell ON cell.id = trace.cell
               WHERE stamp = ? AND name IS NULL""",
            [stamp],
        )
        return {call for (call,) in rows}

    def unfinished(self, stamp: str, model: str, precision: str) -> bool:
        """Whether a scaffold on a model has not come to its answer."""
        row = self._db.execute(
            """SELECT 1 FROM trace JOIN cell ON cell.id = trace.cell JOIN call ON call.id = trace.call
               WHERE stamp = ? AND call.model = ? AND precision = ?
               GROUP BY cell, item, replicate
               HAVING count(name) > 0 AND sum(name = 'answer') = 0 LIMIT 1""",
            [stamp, model, precision],
        ).fetchone()
        return row is not None

    def known(self, calls: Iterable[str]) -> list[str]:
        """Those of these calls that are in the store, answered or not, sorted."""
        find = "SELECT 1 FROM call WHERE id = ?"
        return [call for call in sorted(calls) if self._db.execute(find, [call]).fetchone()]

    def answer_to(self, call: str) -> dict[str, Any] | None:
        """The answer of a call, by its id; None where it has none, or there is no such call."""
        row = self._db.execute("SELECT answer FROM call WHERE id = ?", [call]).fetchone()
        return None if row is None or row[0] is None else _json(row[0])

    def answered_with(self, call: str) -> tuple[Any, Any]:
        """What a call was sent to the model as, and its answer."""
        row = self._db.execute("SELECT sent, answer FROM call WHERE id = ?", [call]).fetchone()
        return _json(row[0]), _json(row[1])

    def digests(self, stamp: str) -> Iterator[tuple[str, str]]:
        """(call, digest of its answer) of every answered call of the study."""
        where, values = self._calls_of(stamp)
        yield from self._db.execute(
            f"SELECT id, answer_digest FROM call WHERE answer IS NOT NULL AND {where}", values
        )

    def samples_with(self, stamp: str, call: str) -> list[tuple[str, str, tuple[str, ...]]]:
        """(cell key, item, the calls of the sample in order) of every sample that a call belongs to."""
        rows = self._db.execute(
            """SELECT key, t.item,
                      (SELECT group_concat(call, ' ') FROM
                         (SELECT call FROM trace u WHERE u.cell = t.cell AND u.item = t.item
                          AND u.replicate = t.replicate ORDER BY step))
               FROM trace t JOIN cell ON cell.id = t.cell WHERE stamp = ? AND call = ?
               GROUP BY t.cell, t.item, t.replicate ORDER BY key, t.item, t.replicate""",
            [stamp, call],
        )
        return [(key, item, tuple(calls.split())) for key, item, calls in rows]

    def finished(self, stamp: str) -> Iterator[tuple[str, int]]:
        """When calls of the study were finished (UTC, ISO 8601) and how many at that time, earliest first."""
        where, values = self._calls_of(stamp)
        yield from self._db.execute(
            f"""SELECT finished, count(*) FROM call WHERE finished IS NOT NULL AND {where}
                GROUP BY finished ORDER BY finished""",
            values,
        )

    def awaits_scoring(self, stamp: str) -> bool:
        """Whether a sample that has all its answers has no outcome yet, as after an interrupted run."""
        row = self._db.execute(
            """SELECT 1 FROM sample s JOIN cell ON cell.id = s.cell WHERE stamp = ? AND score IS NULL
               AND NOT EXISTS (SELECT 1 FROM trace t JOIN call ON call.id = t.call
                               WHERE t.cell = s.cell AND t.item = s.item AND t.replicate = s.replicate
                               AND answer IS NULL)
               AND (SELECT coalesce(name, 'answer') FROM trace t
                    WHERE t.cell = s.cell AND t.item = s.item AND t.replicate = s.replicate
                    ORDER BY step DESC LIMIT 1) = 'answer' LIMIT 1""",
            [stamp],
        ).fetchone()
        return row is not None

    def _calls_of(self, stamp: str) -> tuple[str, list[str]]:
        """A condition on `call` for the calls of a study. Where it is the only one all calls are its own."""
        if self.stamps() == [stamp]:
            return "TRUE", []
        asked = "SELECT call FROM {0} JOIN cell ON cell.id = {0}.cell WHERE stamp = ?"
        mine = " UNION ALL ".join(asked.format(table) for table in ("trace", "judgement"))
        return f"call.id IN ({mine})", [stamp, stamp]

    def answered(self) -> Iterator[bytes]:
        """The digest of every call that has its answer, whatever study asked it."""
        for (identifier,) in self._db.execute("SELECT id FROM call WHERE answer IS NOT NULL"):
            yield bytes.fromhex(identifier)

    def speeds(self) -> dict[str, float]:
        """Mean seconds per answered call, by model digest."""
        rows = self._db.execute(
            "SELECT model, avg(seconds) FROM call WHERE answer IS NOT NULL GROUP BY model"
        )
        return {model: seconds for model, seconds in rows if seconds is not None}

    def outcomes(self, stamp: str) -> dict[str, CellOutcomes]:
        """The outcomes of every cell of a study, by cell key."""
        rows = self._db.execute(
            """SELECT key, item, count(*), count(score), count(choice), coalesce(sum(score), 0),
                      coalesce(max(CASE replicate WHEN 0 THEN score END), -1)
               FROM cell CROSS JOIN sample ON sample.cell = cell.id
               WHERE stamp = ? GROUP BY cell.id, item""",
            [stamp],
        )
        found, same = {}, dict[tuple[str, ...], tuple[str, ...]]()
        for key, cell in groupby(rows, itemgetter(0)):
            _, items, *counts = zip(*cell, strict=True)
            trials, scored, parsed, correct, first = (np.array(each, dtype=np.int64) for each in counts)
            items = same.setdefault(items, items)  # the cells of a benchmark share one tuple of names
            found[key] = CellOutcomes(items, trials, scored, parsed, correct, first)
        return found

    def choices(self, stamp: str) -> Iterator[tuple[str, str, int | None, int]]:
        """(cell key, item, choice, how many samples): what each item's answers were read to, of the samples
        that have an outcome."""
        for key in self._cell_keys(stamp):
            for row in self.choices_of(stamp, key):
                yield (key, *row)

    def choices_of(self, stamp: str, cell: str) -> Iterator[tuple[str, int | None, int]]:
        """(item, choice, how many samples): the same of one cell."""
        yield from self._db.execute(
            """SELECT item, choice, count(*) FROM sample
               WHERE cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?) AND score IS NOT NULL
               GROUP BY item, choice""",
            [stamp, cell],
        )

    def _cell_keys(self, stamp: str) -> list[str]:
        """The cells of a study in the order of the plan. A question that sorts is put to one at a time: a
        study has too many samples to sort them all in memory."""
        return [
            row[0] for row in self._db.execute("SELECT key FROM cell WHERE stamp = ? ORDER BY id", [stamp])
        ]

    def endings(self, stamp: str) -> Iterator[tuple[str, str, str, int]]:
        """(model, benchmark, how it ended, how many samples): `read`, `waiting`, `failed KIND` where a call
        failed for good, or without an answer that can be read `refused` by the provider, `cut` at
        `max_tokens` or `unread`."""
        cells = "SELECT id, model, benchmark FROM cell WHERE stamp = ?"
        found: Counter[tuple[str, str, str]] = Counter()
        for cell, model, benchmark in self._db.execute(cells, [stamp]).fetchall():
            rows = self._db.execute(
                """SELECT CASE WHEN score IS NULL THEN 'waiting'
                               WHEN choice IS NOT NULL THEN 'read'
                               WHEN evidence LIKE '%"no answer: %'
                               THEN 'failed ' || substr(json_extract(evidence, '$.unread'), 12)
                               ELSE (SELECT CASE WHEN json_extract(answer, '$.refused') THEN 'refused'
                                                 WHEN json_extract(answer, '$.finish') = 'length' THEN 'cut'
                                                 ELSE 'unread' END
                                     FROM trace t JOIN call ON call.id = t.call
                                     WHERE t.cell = s.cell AND t.item = s.item AND t.replicate = s.replicate
                                     ORDER BY step DESC LIMIT 1)
                          END AS ended, count(*)
                   FROM sample s WHERE s.cell = ? GROUP BY ended""",
                [cell],
            )
            for ended, number in rows:
                found[model, benchmark, ended] += number
        yield from ((*place, found[place]) for place in sorted(found))

    def samples(self, stamp: str) -> Iterator[StoredSample]:
        """Every sample of a study, sorted by cell key, item and replicate."""
        rows = self._db.execute(
            """SELECT key, s.item, s.replicate, choice, score, evidence,
                      (SELECT group_concat(call, ' ') FROM
                         (SELECT call FROM trace t WHERE t.cell = s.cell AND t.item = s.item
                          AND t.replicate = s.replicate ORDER BY step))
               FROM sample s JOIN cell ON cell.id = s.cell WHERE stamp = ?
               ORDER BY key, s.item, s.replicate""",
            [stamp],
        )
        for key, item, replicate, choice, score, evidence, calls in rows:
            yield StoredSample(key, item, replicate, choice, score, evidence, tuple((calls or "").split()))

    def sample_rows(self, stamp: str, cell: str) -> Iterator[SampleRow]:
        """(item, replicate, choice, score, evidence, calls, text) of every sample of one cell, sorted.
        `calls` are its calls in order, and `text` is what the last of them generated, if anything."""
        yield from self._db.execute(
            """SELECT s.item, s.replicate, choice, score, evidence,
                      (SELECT group_concat(call, ' ') FROM
                         (SELECT call FROM trace t WHERE t.cell = s.cell AND t.item = s.item
                          AND t.replicate = s.replicate ORDER BY step)),
                      (SELECT json_extract(answer, '$.text') FROM trace t JOIN call ON call.id = t.call
                       WHERE t.cell = s.cell AND t.item = s.item AND t.replicate = s.replicate
                       ORDER BY step DESC LIMIT 1)
               FROM sample s WHERE s.cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?)
               ORDER BY s.item, s.replicate""",
            [stamp, cell],
        )

    def call_rows(self, stamp: str) -> Iterator[CallRow]:
        """(id, model, precision, kind, prompt, its content, request, sent, answer, answer_digest, usage,
        seconds, finished) of every distinct call of the study, by id. What is JSON is text."""
        where, values = self._calls_of(stamp)
        yield from self._db.execute(
            f"""SELECT call.id, model, precision, kind, prompt, prompt.content, request, sent, answer,
                       answer_digest, usage, seconds, finished
                FROM call JOIN prompt ON prompt.id = call.prompt WHERE {where} ORDER BY call.id""",
            values,
        )

    def calls(self, stamp: str) -> Iterator[StoredCall]:
        """Every distinct call of a study, by id."""
        where, values = self._calls_of(stamp)
        rows = self._db.execute(
            f"SELECT id, prompt, request, answer, answer_digest FROM call WHERE {where} ORDER BY id", values
        )
        for row in rows:
            yield StoredCall(*row)

    def attempts_on(self, call: str) -> list[dict[str, Any]]:
        """The requests that were made for a call, as they are stored."""
        return list(self._db.query("SELECT * FROM attempt WHERE call = ? ORDER BY id", [call]))

    def paid_usd(self) -> float:
        """What every request in this store cost or may have cost, in US dollars, as far as prices are
        known."""
        (usd,) = self._db.execute("SELECT coalesce(sum(usd), 0.0) FROM attempt WHERE paid <> 'no'").fetchone()
        return float(usd)

    def row(self, table: str, identifier: str | int) -> dict[str, Any]:
        """One row as it is stored."""
        found: dict[str, Any] = self._db.table(table).get(identifier)
        return found

    def damage(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        rows = self._db.execute("PRAGMA integrity_check(20)")
        return [f"SQLite says: {problem}" for (problem,) in rows if problem != "ok"]

    def lost_rows(self) -> Iterator[str]:
        """Rows that name what is not there, and rows that belong to nothing."""
        lost = [row[0] for row in self._db.execute("PRAGMA foreign_key_check").fetchmany(20)]
        yield from (f"a row of `{table}` names one that is not there" for table in lost)
        for table, used in _USED.items():
            (count,) = self._db.execute(f"SELECT count(*) FROM {table} WHERE {used}").fetchone()
            if count:
                yield f"{count} rows of `{table}` belong to no sample"

    def calls_to_check(self, stamp: str) -> Iterator[CheckedCall]:
        """Every distinct call of a study with what is stored of it, in no order."""
        where, values = self._calls_of(stamp)
        rows = self._db.execute(
            f"""SELECT id, model, precision, kind, prompt, request, answer, answer_digest,
                       (sent IS NULL) + (usage IS NULL) + (seconds IS NULL) + (finished IS NULL)
                FROM call WHERE {where}""",
            values,
        )
        yield from map(CheckedCall._make, rows)

    def cell_rows(self, stamp: str) -> dict[str, tuple[str, str, str, str, bool]]:
        """Model, benchmark, configuration, tier and whether it is shared, by cell key."""
        rows = self._db.execute(
            "SELECT key, model, benchmark, configuration, tier, shared FROM cell WHERE stamp = ?", [stamp]
        )
        return {key: (*rest, bool(shared)) for key, *rest, shared in rows}

    def samples_of(self, stamp: str, cell: str) -> Iterator[CheckedSample]:
        """The samples of one cell with their calls and the answers (JSON) to these, by item and replicate."""
        rows = self._db.execute(
            """SELECT s.item, s.replicate, choice, score, evidence, call, answer, name
               FROM sample s LEFT JOIN trace t USING (cell, item, replicate) LEFT JOIN call ON call.id = call
               WHERE s.cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?)
               ORDER BY s.item, s.replicate, step""",
            [stamp, cell],
        )
        for (item, replicate), found in groupby(rows, itemgetter(0, 1)):
            first, *more = found
            if more:
                steps = [step for step in (first, *more) if step[5] is not None]
                calls, names = tuple([step[5] for step in steps]), tuple([step[7] for step in steps])
            else:
                calls, names = ((), ()) if first[5] is None else (first[5:6], first[7:8])
            answers = [first[6], *(step[6] for step in more)]
            choice, outcome, evidence = first[2:5]
            yield CheckedSample(item, replicate, choice, outcome, evidence, calls, names, answers)

    def whereabouts(self, stamp: str, call: str) -> str:
        """A sample that the call belongs to, in words."""
        row = self._db.execute(
            """SELECT key, item, replicate FROM trace JOIN cell ON cell.id = trace.cell
               WHERE stamp = ?1 AND call = ?2
               UNION ALL
               SELECT key, item, replicate FROM judgement JOIN cell ON cell.id = judgement.cell
               WHERE stamp = ?1 AND call = ?2 LIMIT 1""",
            [stamp, call],
        ).fetchone()
        return "{}, item {}, replicate {}".format(*row) if row else "no sample"

    def prompts(self) -> Iterator[tuple[str, str]]:
        """(id, content) of every prompt."""
        yield from self._db.execute("SELECT id, content FROM prompt ORDER BY id")

    def answers(self, stamp: str, cell: str) -> Iterator[tuple[str, int, list[Any]]]:
        """(item, replicate, answers of its calls in order) for the samples of one cell that have been
        answered in full: a scaffold's to its end."""
        rows = self._db.execute(
            """SELECT item, replicate, answer, name FROM trace JOIN call ON call.id = trace.call
               WHERE cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?)
               ORDER BY item, replicate, step""",
            [stamp, cell],
        )
        for (item, replicate), sample in groupby(rows, itemgetter(0, 1)):
            *_, answers, names = zip(*sample, strict=True)
            if None not in answers and names[-1] in (None, ANSWER):
                yield item, replicate, [_json(each) for each in answers]

    def judgements(self, stamp: str) -> Iterator[JudgementRow]:
        """What judges were asked about the study's responses, and what the replies were read to, sorted."""
        rows = self._db.execute(
            """SELECT key, item, replicate, judge, attempt, call, label, confidence, failure
               FROM judgement JOIN cell ON cell.id = judgement.cell WHERE stamp = ?
               ORDER BY key, item, replicate, judge, attempt""",
            [stamp],
        )
        yield from map(JudgementRow._make, rows)

    def first_judgement(self, stamp: str) -> str | None:
        """When the first reply of a judge was there (UTC, ISO 8601); None while there is none."""
        row = self._db.execute(
            """SELECT min(finished) FROM call WHERE id IN
               (SELECT call FROM judgement JOIN cell ON cell.id = judgement.cell WHERE stamp = ?)""",
            [stamp],
        ).fetchone()
        return None if row is None else row[0]

    def judgements_digest(self, stamp: str) -> str:
        """SHA-256 over every judgement of the study."""
        return digests.of_judgements(self._db, stamp)

    def answers_of(self, calls: Iterable[str]) -> dict[str, str]:
        """The answers (JSON) of those of these calls that have one, by call id."""
        found = {}
        for call in calls:
            row = self._db.execute("SELECT answer FROM call WHERE id = ?", [call]).fetchone()
            if row is not None and row[0] is not None:
                found[call] = row[0]
        return found

    def near_ties(self, stamp: str) -> int:
        """Choices of a token or of a candidate that a change of a logit by 1e-4 would alter."""
        where, values = self._calls_of(stamp)
        tokens = self._db.execute(
            f"SELECT coalesce(sum(json_extract(answer, '$.near_ties')), 0) FROM call WHERE {where}", values
        ).fetchone()
        candidates = self._db.execute(
            """SELECT count(*) FROM sample JOIN cell ON cell.id = sample.cell
               WHERE stamp = ? AND json_extract(evidence, '$.margin') < 1e-4""",
            [stamp],
        ).fetchone()
        return int(tokens[0]) + int(candidates[0])

    def conclusion(self, stamp: str) -> RunFinished | None:
        """What the last run of the study came to; None while one is under way, or was stopped before its end.
        A run that another study's has since answered calls for is not at its end either."""
        last: RunFinished | None = None
        for event in self.events():
            if event.body.stamp == stamp and isinstance(event.body, (RunStarted, Merged)):
                last = None
            elif event.body.stamp == stamp and isinstance(event.body, RunFinished):
                last = event.body
        if last is None or last.answered in (None, self.progress(stamp).answered):
            return last
        return None

    def answers_digest(self, stamp: str) -> str:
        """SHA-256 over every call of the study with its answer's digest, by call id."""
        return digests.of_answers(self._db, *self._calls_of(stamp))

    def records_digest(self, stamp: str) -> str:
        """SHA-256 over every row that the study rests on, with all its columns."""
        return digests.of_records(self._db, stamp, *self._calls_of(stamp))

    def results_digest(self, stamp: str) -> str:
        """SHA-256 over the sorted (cell, item, replicate, text or chosen option, score)."""
        return digests.of_results(self._db, stamp)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError([Diagnostic("GC605", f"a stored document cannot be read: {error}")]) from None
