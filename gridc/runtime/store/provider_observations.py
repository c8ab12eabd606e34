"""What a provider or a server did otherwise than it was asked: a sentence each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlite_utils import Database

from gridc.compiler.inputs.reach import PROVIDERS, host_of
from gridc.runtime.store.events import ModelLoaded


def provider_observations(
    db: Database, where: str, values: Sequence[str], loads: Sequence[ModelLoaded]
) -> list[str]:
    """The observed deviations of the calls that `where` selects; `loads` says what each model was opened
    as."""
    names = {load.identity: load.model for load in loads}
    told = list(_ignored(loads))
    answered = f"answer IS NOT NULL AND {where}"
    for model, asked, by, calls in db.execute(
        f"""SELECT model, json_extract(sent, '$.body.model'), json_extract(sent, '$.model'), count(*)
            FROM call WHERE {answered} AND json_extract(sent, '$.model') IS NOT NULL
            AND json_extract(sent, '$.model') <> json_extract(sent, '$.body.model')
            GROUP BY 1, 2, 3 ORDER BY 1, 2, 3""",
        values,
    ):
        told.append(f"{_name(names, model)}: {calls:,} calls to `{asked}` were answered as `{by}`")
    told += _elsewhere(db, answered, values, loads)
    for model, prints in db.execute(
        f"""SELECT model, count(DISTINCT json_extract(sent, '$.fingerprint')) FROM call WHERE {answered}
            GROUP BY 1 HAVING count(DISTINCT json_extract(sent, '$.fingerprint')) > 1 ORDER BY 1""",
        values,
    ):
        told.append(f"{_name(names, model)}: the answers carry {prints} system fingerprints")
    for model, kind, calls in db.execute(
        f"""SELECT model, json_extract(answer, '$.error.kind'), count(*) FROM call
            WHERE {answered} AND json_extract(answer, '$.error') IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2""",
        values,
    ):
        told.append(
            f"{_name(names, model)}: {calls:,} calls failed for good ({kind}); their items stay counted"
        )
    for model, calls in db.execute(
        f"""SELECT model, count(*) FROM call WHERE {answered}
            AND json_extract(sent, '$.usage_problems') IS NOT NULL GROUP BY 1 ORDER BY 1""",
        values,
    ):
        told.append(
            f"{_name(names, model)}: {calls:,} answers came with counts of tokens that cannot be right"
        )
    for model, requests in db.execute(
        f"""SELECT model, count(*) FROM attempt WHERE paid = 'possibly'
            AND NOT (status = 'sent' AND submission IS NOT NULL)
            AND call IN (SELECT id FROM call WHERE {where}) GROUP BY 1 ORDER BY 1""",
        values,
    ):
        told.append(f"{_name(names, model)}: {requests:,} requests without an answer may have been paid")
    for model, remote, detail in db.execute(
        f"""SELECT model, remote, detail FROM submission WHERE detail IS NOT NULL AND id IN
            (SELECT submission FROM attempt WHERE call IN (SELECT id FROM call WHERE {where}))
            ORDER BY 1, created, id""",
        values,
    ):
        told.append(f"{_name(names, model)}: batch {remote or 'that was not accepted'}: {detail}")
    return told


def _elsewhere(
    db: Database, answered: str, values: Sequence[str], loads: Sequence[ModelLoaded]
) -> Iterator[str]:
    """Answers that came from another host than the provider's own, or the one that the spec states."""
    hosts = {load.identity: host for load in loads if (host := _host(load.ran)) is not None}
    if not hosts:
        return
    names = {load.identity: load.model for load in loads}
    for model, endpoint, calls in db.execute(
        f"""SELECT model, json_extract(sent, '$.endpoint'), count(*) FROM call
            WHERE {answered} AND json_extract(sent, '$.endpoint') IS NOT NULL
            GROUP BY 1, 2 ORDER BY 1, 2""",
        values,
    ):
        if model in hosts and _host({"endpoint": endpoint}) not in (hosts[model], None):
            yield f"{_name(names, model)}: {calls:,} calls were answered at {endpoint}, not by {hosts[model]}"


def _host(ran: Mapping[str, Any]) -> str | None:
    """The host that a model has: of a provider's (`server` is stated of every other) its own."""
    provider = PROVIDERS.get(str(ran.get("asked_for")).partition("/")[0])
    base = str(ran.get("endpoint")) if provider is None or "server" in ran else provider.base
    try:
        return host_of(base) if base.startswith(("http://", "https://")) else None
    except ValueError:
        return base


def _ignored(loads: Sequence[ModelLoaded]) -> list[str]:
    last = {load.identity: load for load in loads}
    return [
        said for load in last.values() for said in not_honoured(load.model, load.as_json().get("honours"))
    ]


def not_honoured(model: str, honours: Any) -> Iterator[str]:
    """What a server does with parameters that it does not honour, as a probe found out."""
    for state in ("ignored", "refused") if isinstance(honours, dict) else ():
        names = sorted(name for name, found in honours.items() if found == state)
        if names:
            yield f"{model}: the server {_did(state)} {', '.join(names)}, found by a probe"


def _did(state: str) -> str:
    return "takes and ignores" if state == "ignored" else "refuses"


def _name(names: dict[str, str], model: str) -> str:
    return names.get(model, model[:12])
