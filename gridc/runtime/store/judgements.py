"""What judges and people said of responses, and the secrets of blinding."""

from collections.abc import Iterator

from gridc.runtime.store import digests
from gridc.runtime.store.reader import Reader
from gridc.runtime.store.rows import JudgementRow
from gridc.schema.canonical import digest


class JudgementReader(Reader):
    """What is asked of judgements, labels and seals."""

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
