"""Reads how far the runs of a study are, what happened in them, and where providers departed from what was
asked."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlite_utils import Database

from gridc.compiler.inputs.addresses import PROVIDERS, origin_of
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
from gridc.runtime.store.reader import AnswerWork, ModelPace, Progress, Reader

_SENT = ("body.model", "model", "endpoint", "fingerprint", "usage_problems", "exemplars_dropped")
_ANSWER = ("error.kind", "finish")


@dataclass(frozen=True, slots=True)
class AnswerGroup:
    """So many `calls` of a model whose answers came in the same way. `sent` and `answer` hold what their
    records say under the names above, as text where it is not one value; None where they do not say it."""

    model: str
    generated: bool
    failed: bool
    sent: Mapping[str, Any]
    answer: Mapping[str, Any]
    calls: int


def answer_groups(db: Database, where: str, values: Sequence[str]) -> list[AnswerGroup]:
    """The answered calls that `where` selects, grouped in one pass: at millions of calls a pass for each
    question takes longer than all else that a report reads."""
    rows = db.execute(
        f"""SELECT model, kind = 'generate', json_type(answer, '$.error') IS NOT NULL,
                   json_extract(sent, {_paths(_SENT)}), json_extract(answer, {_paths(_ANSWER)}), count(*)
            FROM call WHERE answer IS NOT NULL AND {where} GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5""",
        values,
    )
    return [
        AnswerGroup(model, bool(generated), bool(failed), _named(_SENT, sent), _named(_ANSWER, answer), calls)
        for model, generated, failed, sent, answer, calls in rows
    ]


def _paths(names: Sequence[str]) -> str:
    return ", ".join(f"'$.{name}'" for name in names)


def _named(names: Sequence[str], values: str | None) -> dict[str, Any]:
    extracted = json.loads(values) if values is not None else [None] * len(names)
    return {
        name: json.dumps(value) if isinstance(value, (list, dict)) else value
        for name, value in zip(names, extracted, strict=True)
    }


def provider_observations(
    db: Database, where: str, values: Sequence[str], loads: Sequence[ModelLoaded]
) -> list[str]:
    """The observed deviations of the calls that `where` selects; `loads` says what each model was opened
    as."""
    names = {load.identity: load.model for load in loads}
    groups = answer_groups(db, where, values)
    sentences = [*_ignored(loads), *_of_answers(groups, names, loads)]
    for model, requests in db.execute(
        f"""SELECT model, count(*) FROM attempt WHERE paid = 'possibly'
            AND NOT (status = 'sent' AND submission IS NOT NULL)
            AND call IN (SELECT id FROM call WHERE {where}) GROUP BY 1 ORDER BY 1""",
        values,
    ):
        sentences.append(f"{_name(names, model)}: {requests:,} requests without an answer may have been paid")
    for model, calls in db.execute(
        f"""SELECT model, count(*) FROM call WHERE {where} AND json_extract(usage, '$.reasoning_tokens') >
            (SELECT json_extract(content, '$.thinking') FROM prompt
             WHERE prompt.id = call.prompt AND json_type(content, '$.thinking') = 'integer')
            GROUP BY 1 ORDER BY 1""",
        values,
    ):
        sentences.append(f"{_name(names, model)}: {calls:,} thoughts are longer than their budget")
    for model, remote, detail in db.execute(
        f"""SELECT model, remote, detail FROM submission WHERE detail IS NOT NULL AND id IN
            (SELECT submission FROM attempt WHERE call IN (SELECT id FROM call WHERE {where}))
            ORDER BY 1, created, id""",
        values,
    ):
        sentences.append(f"{_name(names, model)}: batch {remote or 'that was not accepted'}: {detail}")
    return [*sentences, *_shortened(groups)]


def _of_answers(
    groups: Sequence[AnswerGroup], names: Mapping[str, str], loads: Sequence[ModelLoaded]
) -> Iterator[str]:
    others: Counter[tuple[str, str, str]] = Counter()
    for group in groups:
        wanted, by = group.sent["body.model"], group.sent["model"]
        if wanted is not None and by is not None and wanted != by:
            others[group.model, str(wanted), str(by)] += group.calls
    for (model, wanted, by), calls in sorted(others.items()):
        yield f"{_name(names, model)}: {calls:,} calls to `{wanted}` were answered as `{by}`"
    yield from _other_hosts(groups, loads)
    prints = {
        (group.model, str(group.sent["fingerprint"]))
        for group in groups
        if group.sent["fingerprint"] is not None
    }
    for model, different in sorted(Counter(model for model, _ in prints).items()):
        if different > 1:
            yield f"{_name(names, model)}: the answers carry {different} system fingerprints"
    failed: Counter[tuple[str, str]] = Counter()
    uncounted: Counter[str] = Counter()
    for group in groups:
        if group.failed:
            failed[group.model, str(group.answer["error.kind"])] += group.calls
        if group.sent["usage_problems"] is not None:
            uncounted[group.model] += group.calls
    for (model, kind), calls in sorted(failed.items()):
        yield f"{_name(names, model)}: {calls:,} calls failed for good ({kind}); their items stay counted"
    for model, calls in sorted(uncounted.items()):
        yield f"{_name(names, model)}: {calls:,} answers came with counts of tokens that cannot be right"


def _other_hosts(groups: Sequence[AnswerGroup], loads: Sequence[ModelLoaded]) -> Iterator[str]:
    """Answers that came from another host than the provider's own, or the one that the spec states."""
    hosts = {load.identity: host for load in loads if (host := _host(load.ran)) is not None}
    names = {load.identity: load.model for load in loads}
    elsewhere: Counter[tuple[str, str]] = Counter()
    for group in groups:
        endpoint, host = group.sent["endpoint"], hosts.get(group.model)
        if None not in (endpoint, host) and _host({"endpoint": endpoint}) not in (host, None):
            elsewhere[group.model, str(endpoint)] += group.calls
    for (model, endpoint), calls in sorted(elsewhere.items()):
        yield f"{_name(names, model)}: {calls:,} calls were answered at {endpoint}, not by {hosts[model]}"


def _shortened(groups: Sequence[AnswerGroup]) -> Iterator[str]:
    generated = sum(group.calls for group in groups if group.generated)
    capped = sum(group.calls for group in groups if group.answer["finish"] == "length")
    if capped:
        yield f"{capped:,} of {generated:,} generated answers reached their token limit"
    shortened = sum(group.calls for group in groups if group.sent["exemplars_dropped"] not in (None, 0))
    if shortened:
        yield f"{shortened:,} prompts were asked with fewer exemplars, to fit the model's context"


def _host(ran: Mapping[str, Any]) -> str | None:
    """The host that a model has: of a provider's (`server` is stated of every other) its own."""
    provider = PROVIDERS.get(str(ran.get("asked_for")).partition("/")[0])
    base = str(ran.get("endpoint")) if provider is None or "server" in ran else provider.base
    try:
        return origin_of(base) if base.startswith(("http://", "https://")) else None
    except ValueError:
        return base


def _ignored(loads: Sequence[ModelLoaded]) -> list[str]:
    last = {load.identity: load for load in loads}
    return [
        sentence
        for load in last.values()
        for sentence in not_honoured(load.model, load.as_json().get("honours"))
    ]


def not_honoured(model: str, honours: Any) -> Iterator[str]:
    """What a server does with parameters that it does not honour, as a probe found out: by path, and at first
    of one path that was not named."""
    if not isinstance(honours, dict):
        return
    by_path: dict[str, dict[str, str]] = (
        honours if all(isinstance(found, dict) for found in honours.values()) else {"": honours}
    )
    for path, found in by_path.items():
        where = f" at {path}" if path else ""
        for state, did in _DID.items():
            names = sorted(_NAMED.get(name, name) for name, probed in found.items() if probed == state)
            if names:
                yield f"{model}: the server {did} {', '.join(names)}{where}, found by a probe"
        if found.get("finish_reason") == "never given":
            yield (
                f"{model}: the server never says why an answer ends{where}, found by a probe: one of fewer "
                "tokens than `max_tokens` counts as complete, and any other as cut off"
            )


_DID = {
    "ignored": "takes and ignores",
    "refused": "refuses",
    "repeated": "draws the same whatever the",
}
_NAMED = {"greedy": "temperature = 0"}
"""What was probed that is no parameter of its own."""


def _name(names: Mapping[str, str], model: str) -> str:
    return names.get(model, model[:12])


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

    def answers_to(
        self, stamp: str, models: Collection[str], items: Collection[tuple[str, str]], but: str
    ) -> Iterator[tuple[str, str, str, str, bool]]:
        """(call, when it was finished, benchmark, item, whether the study `but` has it too) of every call in
        which one of these models (identities) gave its answer to one of these items, each a benchmark and a
        name in the study. A call that failed for good gave none."""
        yield from self._db.execute(
            """WITH chosen AS (SELECT json_extract(value, '$[0]') AS benchmark,
                                      json_extract(value, '$[1]') AS item FROM json_each(?1))
               SELECT DISTINCT call.id, finished, cell.benchmark, trace.item, EXISTS (
                   SELECT 1 FROM trace t JOIN cell c ON c.id = t.cell
                   WHERE t.call = call.id AND c.stamp = ?2)
               FROM cell JOIN trace ON trace.cell = cell.id
                    JOIN chosen ON chosen.benchmark = cell.benchmark AND chosen.item = trace.item
                    JOIN call ON call.id = trace.call
               WHERE cell.stamp = ?3 AND finished IS NOT NULL AND json_type(answer, '$.error') IS NULL
                     AND call.model IN (SELECT value FROM json_each(?4))""",
            [json.dumps(sorted(items)), but, stamp, json.dumps(sorted(models))],
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
        """What happened in the run and departs from the plan: a sentence each, the same on every reading. A
        cap that several runs reached alike is said once."""
        where, values = self._calls_of(stamp)
        recorded = [event.detail for event in self.bodies_of(Observed, stamp)]
        found = provider_observations(self._db, where, values, self.bodies_of(ModelLoaded, stamp))
        return list(dict.fromkeys((*recorded, *found)))

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
        return self.bodies_of(NoiseMeasured)

    def references(self) -> list[ReferenceCompared]:
        """What came of repeating calls in fp32, in order. Like noise floors they belong to a model."""
        return self.bodies_of(ReferenceCompared)

    def spent(self, stamp: str) -> list[AnswerWork]:
        """What the study's batches took, by model and precision. A batch that answered calls of several
        studies counts whole in each."""
        least = {(work.identity, work.precision): work.least_work for work in self.bodies_of(Worked, stamp)}
        paths = {
            (load.identity, load.precision): load.computed for load in self.bodies_of(ModelLoaded, stamp)
        }
        repeated = {(noise.identity, noise.precision): noise.work for noise in self.noise()}
        where, values = self._calls_of(stamp)
        used = f"batch.id IN (SELECT batch FROM call WHERE {where})"
        work, most = (self._batch_numbers(*how, used, values) for how in (("work", "sum"), ("most", "max")))
        rows = self._db.execute(
            f"""SELECT model, precision, count(*), sum(calls), sum(seconds) FROM batch WHERE {used}
                GROUP BY model, precision ORDER BY model, precision""",
            values,
        )
        return [
            AnswerWork(
                model,
                precision,
                batches,
                calls,
                seconds,
                work.get((model, precision), {}),
                least.get((model, precision), {}),
                most.get((model, precision), {}),
                paths.get((model, precision), ()),
                repeated.get((model, precision), {}),
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
