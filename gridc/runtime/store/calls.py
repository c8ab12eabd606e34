"""The calls of a study and their answers."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from gridc.compiler.lowering.calls import ANSWER
from gridc.runtime.store.reader import Reader, document_of, object_of
from gridc.runtime.store.rows import CallRow


class CallReader(Reader):
    """What is asked of calls: whether they are known, and what they were answered."""

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
