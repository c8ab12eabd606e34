"""How far the runs of a study are, what they took, and what happened in them."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from gridc.runtime.store.digests import attempts_made
from gridc.runtime.store.events import (
    Merged,
    ModelLoaded,
    NoiseMeasured,
    Observed,
    ReferenceCompared,
    RunFinished,
    RunStarted,
    Worked,
)
from gridc.runtime.store.provider_observations import provider_observations
from gridc.runtime.store.reader import Reader
from gridc.runtime.store.rows import ModelPace, Progress, Spent


class ProgressReader(Reader):
    """What `status` and a run ask."""

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
                           WHERE status = 'sent'
                           AND submission IN (SELECT id FROM submission WHERE state = 'submitted')))
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

    def finished(self, stamp: str) -> Iterator[tuple[str, int]]:
        """When calls of the study were finished (UTC, ISO 8601) and how many at that time, earliest first."""
        where, values = self._calls_of(stamp)
        yield from self._db.execute(
            f"""SELECT finished, count(*) FROM call WHERE finished IS NOT NULL AND {where}
                GROUP BY finished ORDER BY finished""",
            values,
        )

    def speeds(self) -> dict[str, float]:
        """Mean seconds per answered call, by model digest."""
        rows = self._db.execute(
            "SELECT model, avg(seconds) FROM call WHERE answer IS NOT NULL GROUP BY model"
        )
        return {model: seconds for model, seconds in rows if seconds is not None}

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

    def conclusion(self, stamp: str) -> RunFinished | None:
        """What the last run of the study came to; None while one is under way, or was stopped before its end.
        A run that another study's has since answered calls or asked its models for is not at its end
        either."""
        last: RunFinished | None = None
        others = False
        for event in self.events():
            if event.body.stamp != stamp:
                others = True
            elif isinstance(event.body, (RunStarted, Merged)):
                last = None
            elif isinstance(event.body, RunFinished):
                last, others = event.body, False
        if last is None or last.answered not in (None, self.progress(stamp).answered):
            return None
        if others and last.attempts not in (None, self.attempts_made(stamp)):
            return None
        return last

    def attempts_made(self, stamp: str) -> int:
        """How many requests were made of the study's models, for its calls or for none."""
        return attempts_made(self._db, *self._calls_of(stamp))

    def observed(self, stamp: str) -> list[str]:
        """What happened in the run and departs from the plan: a sentence each, the same on every reading."""
        where, values = self._calls_of(stamp)
        recorded = [event.detail for event in self.recorded(Observed, stamp)]
        return recorded + provider_observations(self._db, where, values, self.recorded(ModelLoaded, stamp))

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

    def noise(self) -> list[NoiseMeasured]:
        """The noise floors that were measured, in order. Like calls they belong to a model, and not to one
        study."""
        return self.recorded(NoiseMeasured)

    def references(self) -> list[ReferenceCompared]:
        """What came of repeating calls in fp32, in order. Like noise floors they belong to a model."""
        return self.recorded(ReferenceCompared)

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
        by_model: dict[tuple[str, str], dict[str, float]] = {}
        for model, precision, name, value in rows:
            by_model.setdefault((model, precision), {})[name] = value
        return by_model

    def paid_usd(self) -> float:
        """What every request in this store cost or may have cost, in US dollars, as far as prices are
        known."""
        (usd,) = self._db.execute("SELECT coalesce(sum(usd), 0.0) FROM attempt WHERE paid <> 'no'").fetchone()
        return float(usd)
