"""The read side of a store: what reports, `status` and `verify` see. It changes nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from gridc.compiler.lowering.calls import ANSWER
from gridc.runtime.store import digests
from gridc.runtime.store.checks import CheckReader
from gridc.runtime.store.events import RunFinished
from gridc.runtime.store.outcomes import OutcomeReader
from gridc.runtime.store.progress import ProgressReader
from gridc.runtime.store.reader import document_of, object_of
from gridc.runtime.store.rows import CallRow, JudgementRow
from gridc.schema.canonical import digest


class Store(ProgressReader, OutcomeReader, CheckReader):
    """A store that is open for reading. Use as a context manager."""

    def answers_digest(self, stamp: str) -> str:
        """SHA-256 over every call of the study with its answer's digest, by call id."""
        return digests.of_answers(self._db, *self._calls_of(stamp))

    def records_digest(self, stamp: str, calls: digests.CallRecords | None = None) -> str:
        """What runs recorded of all rows before there was a digest for each table. Calls, where they are
        given, are not read again."""
        return digests.of_records(self._db, stamp, *self._calls_of(stamp), calls)

    def covered(self) -> dict[str, list[str]]:
        """The tables and columns that `table_digests` are of at the end of a run."""
        return digests.covered(self._db)

    def uncovered(self, recorded: Mapping[str, Sequence[str]]) -> list[str]:
        """What is `covered` now and was not when a run recorded these columns, by table."""
        return digests.uncovered(self._db, recorded)

    def table_digests(
        self,
        stamp: str,
        columns: Mapping[str, Sequence[str]] | None = None,
        calls: digests.CallRecords | None = None,
    ) -> dict[str, str | None]:
        """SHA-256 over these columns (or those that are `covered`) of each table's rows that belong to the
        study; None where there is no such column. Calls, where they are given, are not read again."""
        return digests.of_tables(
            self._db, stamp, *self._calls_of(stamp), self.covered() if columns is None else columns, calls
        )

    def results_digest(self, stamp: str, read: digests.CellResults | None = None) -> str:
        """SHA-256 over the sorted (cell, item, replicate, text or chosen option, score). If every
        cell of the study was `read`, none is read again."""
        return digests.of_results(self._db, stamp, read)

    def departures(
        self, finish: RunFinished, results: str, calls: digests.CallRecords | None = None
    ) -> Iterator[str]:
        """What is not as a run recorded it at its end, a sentence each. `results` is the results digest as it
        is now. Calls, where they are given, are not read again."""
        actual: dict[str, tuple[str | None, str]] = {"results": (results, finish.results)}
        if finish.answers is not None:
            actual["answers"] = self.answers_digest(finish.stamp), finish.answers
        if finish.records is not None:
            actual["records"] = self.records_digest(finish.stamp, calls), finish.records
        tables = finish.tables or {}
        columns = {name: digest.columns for name, digest in tables.items()}
        for name, value in self.table_digests(finish.stamp, columns, calls).items():
            actual[f"rows of `{name}`"] = value, tables[name].sha256
        for what, (value, noted) in actual.items():
            if value is None:
                yield f"the run recorded a digest of {what} with a column that is not there"
            elif value != noted:
                yield f"the {what} hash to {value[:12]}, recorded is {noted[:12]}"

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

    def known(self, calls: Iterable[str]) -> list[str]:
        """Those of these calls that are in the store, answered or not, sorted."""
        find = "SELECT 1 FROM call WHERE id = ?"
        return [call for call in sorted(calls) if self._db.execute(find, [call]).fetchone()]

    def answered(self) -> Iterator[bytes]:
        """The digest of every call that has its answer, whatever study asked it."""
        for (identifier,) in self._db.execute("SELECT id FROM call WHERE answer IS NOT NULL"):
            yield bytes.fromhex(identifier)

    def answered_calls(self, stamp: str, model: str, precision: str) -> Iterator[str]:
        """Every answered call of the study on one model."""
        where, values = self._calls_of(stamp)
        rows = self._db.execute(
            f"SELECT id FROM call WHERE model = ? AND precision = ? AND answer IS NOT NULL AND {where}",
            [model, precision, *values],
        )
        yield from (identifier for (identifier,) in rows)

    def shared_calls(self, stamp: str) -> Iterator[tuple[list[str], int]]:
        """(keys of cells, how many calls are in a trace of each of them) for calls of several cells."""
        rows = self._db.execute(
            """SELECT cells, count(*) FROM (
                   SELECT group_concat(cell) AS cells FROM (
                       SELECT DISTINCT call, cell FROM trace JOIN cell ON cell.id = cell WHERE stamp = ?
                       ORDER BY call, cell)
                   GROUP BY call HAVING count(*) > 1)
               GROUP BY cells""",
            [stamp],
        )
        keys = dict(self._db.execute("SELECT id, key FROM cell WHERE stamp = ?", [stamp]))
        for cells, calls in rows.fetchall():
            yield [keys[int(cell)] for cell in cells.split(",")], calls

    def plain_calls(self, stamp: str) -> set[str]:
        """The calls of a study that are asked outside of scaffolds."""
        rows = self._db.execute(
            """SELECT DISTINCT call FROM trace JOIN cell ON cell.id = trace.cell
               WHERE stamp = ? AND name IS NULL""",
            [stamp],
        )
        return {call for (call,) in rows}

    def digests(self, stamp: str) -> Iterator[tuple[str, str]]:
        """(call, digest of its answer) of every answered call of the study."""
        where, values = self._calls_of(stamp)
        yield from self._db.execute(
            f"SELECT id, answer_digest FROM call WHERE answer IS NOT NULL AND {where}", values
        )

    def answer_to(self, call: str) -> dict[str, Any] | None:
        """The answer of a call, by its id; None where it has none, or there is no such call."""
        row = self._db.execute("SELECT answer FROM call WHERE id = ?", [call]).fetchone()
        return None if row is None or row[0] is None else object_of(row[0])

    def answered_with(self, call: str) -> tuple[Any, Any]:
        """What a call was sent to the model as, and its answer, which may be any JSON where it was edited."""
        row = self._db.execute("SELECT sent, answer FROM call WHERE id = ?", [call]).fetchone()
        return object_of(row[0]), document_of(row[1])

    def answers_of(self, calls: Iterable[str]) -> dict[str, str]:
        """The answers (JSON) of those of these calls that have one, by call id."""
        answers = {}
        for call in calls:
            row = self._db.execute("SELECT answer FROM call WHERE id = ?", [call]).fetchone()
            if row is not None and row[0] is not None:
                answers[call] = row[0]
        return answers

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
                yield item, replicate, [object_of(answer) for answer in answers]

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

    def attempts(self) -> Iterator[dict[str, Any]]:
        """The requests that were made for calls, as they are stored."""
        yield from self._db.query("SELECT * FROM attempt WHERE call IS NOT NULL ORDER BY id")

    def nonce(self, stamp: str, about: str) -> str | None:
        """The secret of a sealed map; None where none was sealed."""
        row = self._db.execute(
            "SELECT nonce FROM blinding WHERE stamp = ? AND about = ?", [stamp, about]
        ).fetchone()
        return None if row is None else str(row[0])

    def labels(self, stamp: str, about: str) -> dict[str, str]:
        """What people said of the responses on a sheet, by UUID; empty until its labels were taken back."""
        rows = self._db.execute(
            "SELECT uuid, label FROM label WHERE stamp = ? AND about = ? ORDER BY uuid", [stamp, about]
        )
        return dict(rows.fetchall())

    def labels_digest(self, stamp: str, about: str) -> str:
        """SHA-256 of the labels of a sheet as JSON: an object of UUIDs and labels."""
        return digest(self.labels(stamp, about))

    def judgements(self, stamp: str) -> Iterator[JudgementRow]:
        """What judges were asked about the study's responses, and what the replies were read to, sorted."""
        rows = self._db.execute(
            """SELECT key, item, replicate, judge, attempt, call, label, confidence, failure
               FROM judgement JOIN cell ON cell.id = judgement.cell WHERE stamp = ?
               ORDER BY key, item, replicate, judge, attempt""",
            [stamp],
        )
        yield from map(JudgementRow._make, rows)

    def judgements_digest(self, stamp: str) -> str:
        """SHA-256 over every judgement of the study."""
        return digests.of_judgements(self._db, stamp)

    def first_judgement(self, stamp: str) -> str | None:
        """When the first reply of a judge was there (UTC, ISO 8601); None while there is none."""
        row = self._db.execute(
            """SELECT min(finished) FROM call WHERE id IN
               (SELECT call FROM judgement JOIN cell ON cell.id = judgement.cell WHERE stamp = ?)""",
            [stamp],
        ).fetchone()
        return None if row is None else row[0]

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

    def judged_responses(self, stamp: str) -> int:
        """How many responses judges were asked about."""
        (count,) = self._db.execute(
            """SELECT count(*) FROM (SELECT DISTINCT cell, item, replicate FROM judgement
               JOIN cell ON cell.id = judgement.cell WHERE stamp = ?)""",
            [stamp],
        ).fetchone()
        return int(count)

    def judged_scores(self, stamp: str) -> int:
        """How many responses that judges were asked about have an outcome."""
        (count,) = self._db.execute(
            """SELECT count(*) FROM sample JOIN cell ON cell.id = sample.cell WHERE stamp = ?
               AND score IS NOT NULL AND EXISTS (SELECT 1 FROM judgement j WHERE j.cell = sample.cell
                 AND j.item = sample.item AND j.replicate = sample.replicate)""",
            [stamp],
        ).fetchone()
        return int(count)
