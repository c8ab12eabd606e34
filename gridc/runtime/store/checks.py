"""Reads every row of a study as it is stored, so that `verify` can check each of them."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, get_args

from sqlite_utils import Database

from gridc.runtime.engines.api.attempts import BatchState, Paid, Purpose, Status
from gridc.runtime.store.digests import CallRecords
from gridc.runtime.store.reader import CheckedCall, CheckedSample, PricedRequest, Reader, misshapen
from gridc.runtime.store.tables import TABLES


def _listed(words: Any) -> str:
    """The words of a literal type, for a statement."""
    return ", ".join(f"'{word}'" for word in get_args(words))


_UNREFERENCED = {
    "call": "id NOT IN (SELECT call FROM trace) AND id NOT IN (SELECT call FROM judgement)",
    "prompt": "id NOT IN (SELECT prompt FROM call)",
    "batch": "id NOT IN (SELECT batch FROM call WHERE batch IS NOT NULL)",
    "blinding": """NOT EXISTS (SELECT 1 FROM event WHERE kind = 'seal' AND (stamp, about)
        = (json_extract(body, '$.stamp'), json_extract(body, '$.about')))""",
    "cell": "id NOT IN (SELECT cell FROM sample)",
    "attempt": "call IS NULL AND model NOT IN (SELECT model FROM call)",
    "submission": "model NOT IN (SELECT model FROM call)",
    "sample": """NOT EXISTS (SELECT 1 FROM trace t
        WHERE (t.cell, t.item, t.replicate) = (sample.cell, sample.item, sample.replicate))""",
}
"""Rows that gridc never writes, by table."""

_SAYS_OTHERWISE = {
    "is of another model, precision or time than the calls that it answered": (
        "batch",
        """id IN (SELECT batch.id FROM call JOIN batch ON batch.id = call.batch
                  WHERE (call.model, call.precision, call.finished)
                  IS NOT (batch.model, batch.precision, batch.finished))""",
    ),
    "answered fewer calls than name it": (
        "batch",
        """id IN (SELECT id FROM batch JOIN (SELECT batch, count(*) AS there FROM call GROUP BY 1)
                  ON batch = id WHERE calls < there)""",
    ),
    "went to a model that is not its call's": (
        "attempt",
        "EXISTS (SELECT 1 FROM call WHERE call.id = attempt.call AND call.model <> attempt.model)",
    ),
    "repeated a call that no request had asked": (
        "attempt",
        """purpose = 'repeat' AND NOT EXISTS (SELECT 1 FROM attempt first WHERE first.call = attempt.call
                                            AND first.purpose = 'call')""",
    ),
    "ended as no request ends": (
        "attempt",
        f"""status NOT IN ({_listed(Status)}) OR paid NOT IN ({_listed(Paid)})
            OR purpose NOT IN ({_listed(Purpose)}) OR number < 1 OR seconds < 0
            OR (purpose = 'probe') <> (call IS NULL)
            OR status = 'answered' AND (paid <> 'yes' OR failure IS NOT NULL OR http IS NULL)
            OR status IN ('failed', 'lost') AND (paid = 'yes' OR status = 'failed' AND failure IS NULL)""",
    ),
    "went to another model, or holds fewer requests, than its requests say": (
        "submission",
        f"""state NOT IN ({_listed(BatchState)})
            OR EXISTS (SELECT 1 FROM attempt WHERE submission = submission.id AND model <> submission.model)
            OR requests < (SELECT count(*) FROM attempt WHERE submission = submission.id)""",
    ),
}
"""By what is wrong with it, the rows of a table that say otherwise than those that they are about."""

_LACKS_ROWS = {
    "answered more calls than name it": (
        "batch",
        """id NOT IN (SELECT id FROM batch JOIN (SELECT batch, count(*) AS there FROM call GROUP BY 1)
                      ON batch = id WHERE calls = there)""",
    ),
    "holds more requests than name it": (
        "submission",
        "requests <> (SELECT count(*) FROM attempt WHERE submission = submission.id)",
    ),
    "was answered, and no request asked it": (
        "call",
        """answer IS NOT NULL AND model IN (SELECT model FROM attempt WHERE call IS NOT NULL)
           AND NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.call = call.id AND purpose = 'call')""",
    ),
}
"""Further checks, which hold only for a complete store: one that took in no answers from another store and is
no bundle of a store with more studies."""


class CheckReader(Reader):
    """What is asked of a store that nobody is believed about."""

    def damage(self, thorough: bool = True) -> list[str]:
        """What SQLite itself finds wrong with the file: in its pages, and if `thorough` whether its indexes
        say what its tables do."""
        check = "integrity_check" if thorough else "quick_check"
        rows = self._db.execute(f"PRAGMA {check}(20)")
        return [f"SQLite says: {problem}" for (problem,) in rows if problem != "ok"]

    def misshapen(self) -> Iterator[str]:
        """Each table and column with values that gridc does not write (`reader.misshapen`)."""
        return misshapen(self._db)

    def lost_rows(self) -> Iterator[str]:
        """Rows that name what is not there, and rows that belong to nothing."""
        for table in TABLES:
            keys = sorted(self._db.execute(f"PRAGMA foreign_key_list({table})"))
            for _, parts in groupby(keys, itemgetter(0)):
                parents, ours, theirs = zip(*(part[2:5] for part in parts), strict=True)
                if lost := self._lost(table, ours, parents[0], theirs):
                    yield f"{lost} rows of `{table}` name a `{parents[0]}` that is not there"
        for table, used in _UNREFERENCED.items():
            (count,) = self._db.execute(f"SELECT count(*) FROM {table} WHERE {used}").fetchone()
            if count:
                yield f"{count} rows of `{table}` belong to no study"

    def _lost(self, table: str, ours: Sequence[str], parent: str, theirs: Sequence[str]) -> int:
        """How many rows of a table name one of a parent that is not there. SQLite's `foreign_key_check` asks
        the same, row by row in the order of the table; both in the order of the key is many times as fast."""
        named, same = (f"({', '.join(f'{alias}.{column}' for column in columns)})"
                       for alias, columns in (("ours", ours), ("theirs", theirs)))  # fmt: skip
        whole = " AND ".join(f"ours.{column} IS NOT NULL" for column in ours)
        (count,) = self._db.execute(
            f"""SELECT count(*) FROM {table} AS ours {self._sorted(table, ours)} WHERE {whole}
                AND NOT EXISTS (SELECT 1 FROM {parent} AS theirs WHERE {same} = {named})"""
        ).fetchone()
        return int(count)

    def _sorted(self, table: str, columns: Sequence[str]) -> str:
        """How SQLite is told to read a table in the order of these columns, if it has an index that begins
        with them."""
        for _, index, *_ in self._db.execute(f"PRAGMA index_list({table})").fetchall():
            indexed = [row[2] for row in self._db.execute(f"PRAGMA index_info({index})")]
            if indexed[: len(columns)] == list(columns):
                return f"INDEXED BY {index}"
        return ""

    def key_of(self, table: str) -> list[str]:
        """What names a row of a table: its primary key, or in place of a number what is unique beside it."""
        rows = self._db.execute(f"PRAGMA table_info({table})").fetchall()
        key = [name for _, name, *_, place in sorted(rows, key=itemgetter(5)) if place]
        return ["stamp", "key"] if key == ["id"] else key

    def rows_of(self, table: str, stamp: str) -> Iterator[dict[str, Any]]:
        """The rows of a table that belong to a study, with every column that the table has."""
        return self._db.query(f"SELECT * FROM {table} WHERE stamp = ?", [stamp])

    def contradictions(self, whole: bool) -> Iterator[str]:
        """Rows of batches and requests that say otherwise than those that they are about. `whole`: all that
        was ever asked for the store is in it."""
        wrong = _SAYS_OTHERWISE | (_LACKS_ROWS if whole else {})
        for what, (table, where) in wrong.items():
            (count,) = self._db.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()
            if count:
                yield f"{count} rows of `{table}`: each {what}"

    def costs(self) -> Iterator[PricedRequest]:
        """Every request that a price was put on."""
        yield from map(
            PricedRequest._make,
            self._db.execute(
                """SELECT attempt.model, attempt.id, status, submission IS NOT NULL, kind = 'generate', usd,
                          attempt.usage, request, length(CAST(content AS BLOB)),
                          json_extract(sent, '$.usage_problems'),
                          CASE WHEN purpose = 'call' AND 1 = (SELECT count(*) FROM attempt AS other WHERE
                               (other.call, other.purpose, other.status) = (call.id, 'call', 'answered'))
                          THEN call.usage END
                   FROM attempt LEFT JOIN call ON call.id = attempt.call
                   LEFT JOIN prompt ON prompt.id = call.prompt WHERE usd IS NOT NULL"""
            ),
        )

    def batch_dated_back(self) -> int | None:
        """The number of the first batch that is dated, to the second, before one that was written earlier."""
        row = self._db.execute(
            """SELECT id FROM (SELECT id, substr(finished, 1, 19) AS second,
                   max(substr(finished, 1, 19)) OVER (ORDER BY id) AS last FROM batch)
               WHERE second < last ORDER BY id LIMIT 1"""
        ).fetchone()
        return None if row is None else int(row[0])

    def longest_prompt(self) -> int:
        """The bytes of the longest prompt in the store, 0 without any."""
        (most,) = self._db.execute("SELECT max(length(CAST(content AS BLOB))) FROM prompt").fetchone()
        return int(most or 0)

    def calls_to_check(self, stamp: str, records: CallRecords) -> Iterator[CheckedCall]:
        """Every distinct call of a study with what is stored of it, in no order. The columns of `records`,
        which the table has, are added to them as they are read."""
        where, values = self._calls_of(stamp)
        recorded = len(records.columns)
        read = [*records.columns, *(name for name in CheckedCall._fields if name not in records.columns)]
        fields = itemgetter(*map(read.index, CheckedCall._fields))
        columns = ", ".join(f'"{name}"' for name in read)
        for row in self._db.execute(f"SELECT {columns} FROM call WHERE {where}", values):
            records.add(row[:recorded])
            yield CheckedCall._make(fields(row))

    def samples_of(self, stamp: str, cell: str) -> Iterator[CheckedSample]:
        """The samples of one cell with their calls and the answers (JSON) to these, by item and replicate."""
        named = "SELECT id FROM cell WHERE stamp = ? AND key = ?"
        for (number,) in self._db.execute(named, [stamp, cell]).fetchall():
            answers = _Answers(self._db, number)
            rows = self._db.execute(
                """SELECT s.item, s.replicate, choice, score, evidence, call, name, step
                   FROM sample s LEFT JOIN trace t USING (cell, item, replicate)
                   WHERE s.cell = ? ORDER BY s.item, s.replicate""",
                [number],
            )
            for (item, replicate), call_rows in groupby(rows, itemgetter(0, 1)):
                steps = sorted(
                    call_rows, key=itemgetter(7)
                )  # a few, faster than SQLite does it for each sample
                choice, outcome, evidence = steps[0][2:5]
                calls = tuple([step[5] for step in steps if step[5] is not None])
                names = tuple([step[6] for step in steps if step[5] is not None])
                answered = [answers.to(call) for call in calls] or [_NO_CALL]
                _, kind, text = answered[-1]
                result = text if kind == "generate" else choice
                texts = [answer for answer, _, _ in answered]
                yield CheckedSample(item, replicate, choice, outcome, evidence, calls, names, texts, result)

    def prompts(self) -> Iterator[tuple[str, str]]:
        """(id, content) of every prompt."""
        yield from self._db.execute("SELECT id, content FROM prompt ORDER BY id")

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


_Answer = tuple[str | None, str | None, str | None]
"""An answer (JSON), the kind of its call, and the text that was generated."""

_NO_CALL: _Answer = (None, None, None)
_ANSWERED = "answer, kind, CASE kind WHEN 'generate' THEN json_extract(answer, '$.text') END"
_MOST_AT_ONCE = 2**15
"""The most calls of a cell whose answers are held in memory."""


class _Answers:
    """The answers to the calls of a cell. A run writes these one behind the other, so they are read in one
    sweep. To look up the digest of each, at random in an index of all calls, makes a sample half as slow
    again at five million."""

    def __init__(self, db: Database, cell: int) -> None:
        self._db = db
        ends = "SELECT call FROM (SELECT call FROM trace WHERE cell = ?1 ORDER BY item {} LIMIT 16)"
        (calls,) = db.execute("SELECT count(*) FROM trace WHERE cell = ?", [cell]).fetchone()
        first, last = db.execute(
            f"""SELECT min(rowid), max(rowid) FROM call
                WHERE id IN ({ends.format("")} UNION {ends.format("DESC")})""",
            [cell],
        ).fetchone()
        self._swept: dict[str, _Answer] = {}
        if first is not None and last - first < calls <= _MOST_AT_ONCE:
            swept = db.execute(
                f"SELECT id, {_ANSWERED} FROM call WHERE rowid BETWEEN ? AND ?",
                [last - calls + 1, first + calls - 1],
            )
            self._swept = {row[0]: row[1:] for row in swept}

    def to(self, call: str) -> _Answer:
        """The answer to a call, empty where there is no such call."""
        swept = self._swept.get(call)
        if swept is not None:
            return swept
        answer: _Answer | None = self._db.execute(
            f"SELECT {_ANSWERED} FROM call WHERE id = ?", [call]
        ).fetchone()
        return answer or _NO_CALL
