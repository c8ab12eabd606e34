"""Every row of a study as it is stored, for a check of each: what `verify` reads."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from gridc.runtime.store.reader import Reader
from gridc.runtime.store.rows import CheckedCall, CheckedSample

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


class CheckReader(Reader):
    """What is asked of a store that nobody is believed about."""

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

    def cell_rows(self, stamp: str) -> dict[str, tuple[str, str, str, str, bool]]:
        """Model, benchmark, configuration, tier and whether it is shared, by cell key."""
        rows = self._db.execute(
            "SELECT key, model, benchmark, configuration, tier, shared FROM cell WHERE stamp = ?", [stamp]
        )
        return {key: (*rest, bool(shared)) for key, *rest, shared in rows}

    def calls_to_check(self, stamp: str) -> Iterator[CheckedCall]:
        """Every distinct call of a study with what is stored of it, in no order."""
        where, values = self._calls_of(stamp)
        rows = self._db.execute(
            f"""SELECT id, model, precision, kind, prompt, request, sent, answer, answer_digest,
                       (sent IS NULL) + (usage IS NULL) + (seconds IS NULL) + (finished IS NULL)
                FROM call WHERE {where}""",
            values,
        )
        yield from map(CheckedCall._make, rows)

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
