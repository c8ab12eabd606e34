"""What a provider or a server did otherwise than it was asked: a sentence each."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlite_utils import Database

from gridc.compiler.inputs.reach import PROVIDERS, origin_of
from gridc.runtime.store.events import ModelLoaded

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
    yield from _elsewhere(groups, loads)
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


def _elsewhere(groups: Sequence[AnswerGroup], loads: Sequence[ModelLoaded]) -> Iterator[str]:
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


_DID = {
    "ignored": "takes and ignores",
    "refused": "refuses",
    "repeated": "draws the same whatever the",
}
_NAMED = {"greedy": "temperature = 0"}
"""What was probed that is no parameter of its own."""


def _name(names: Mapping[str, str], model: str) -> str:
    return names.get(model, model[:12])
