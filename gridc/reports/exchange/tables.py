"""Gives a study as tables for pandas, polars and DuckDB: its scores, samples, calls, pairs and hypotheses.

`COLUMNS` is the data dictionary of the first three; docs/python.md lists its names. Pairs and hypotheses
are flattened rows of the certificate: their columns, and what each means, follow from its schema. Rows are
read from the store in batches, so that a table need not fit the memory twice, and a reader not at all.
"""

import json
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gridc import __version__
from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.items import item_digest
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, UnavailableError, UsageError
from gridc.reports.findings.scores import cell_scores, item_outcomes
from gridc.runtime.store.reader import Progress
from gridc.runtime.store.store import Store
from gridc.schema.certificate import Certificate, PairRow, StatisticCell
from gridc.schema.hypotheses import HypothesisRow
from gridc.schema.items import Sample

if TYPE_CHECKING:
    import pyarrow

TableName = Literal["scores", "samples", "calls"]
BATCH = 65_536
"""Rows of a batch."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its Arrow type as text (`name` is a string that repeats, so a dictionary), and what
    it holds."""

    name: str
    type: str
    description: str


AXES = Column("axis_ID", "name", "The level of axis ID; one column for each axis of the study.")

_CELL = (
    Column("cell", "name", "The cell's key: model/benchmark/configuration."),
    Column("model", "name", "The model, by its id in the spec."),
    Column("benchmark", "name", "The benchmark, by its id in the spec."),
    Column("configuration", "name", "The levels of all axes: axis=level,..."),
    Column("tier", "name", "core or stress."),
    AXES,
)

COLUMNS: Mapping[TableName, tuple[Column, ...]] = {
    "scores": (
        *_CELL,
        Column(
            "shared",
            "bool",
            "Whether every model of the benchmark runs the configuration, so that the envelope has it.",
        ),
        Column("method", "name", "How an answer becomes a score."),
        Column("trials", "int64", "Outcomes: items x replicates, or one of each item by `aggregate`."),
        Column(
            "scored", "int64", "Of these, with an outcome. Fewer than trials while the run is incomplete."
        ),
        Column("parsed", "int64", "Of these, with a readable answer."),
        Column("correct", "int64", "Sum of the scores, in units of 1 / scale."),
        Column("scale", "int64", "1 where an answer earns a point or none."),
        Column(
            "score",
            "float64",
            "Mean score of all samples: intention-to-treat, an unreadable answer scores 0, or what the spec "
            "gives it. Null while one sample is missing.",
        ),
        Column("parse_rate", "float64", "parsed / trials. Null where nothing is read from text."),
        Column(
            "per_protocol",
            "float64",
            "Mean score of the readable answers. Null where nothing is read or readable.",
        ),
        Column(
            "standard_error",
            "float64",
            "Of the score, over items, robust to the dependence of items of one unit. Null where it is not "
            "defined: see docs/statistics.md.",
        ),
        Column("rows", "string", "SHA-256 of the item outcomes behind the counts, as in the certificate."),
    ),
    "samples": (
        *_CELL,
        Column("item", "string", "The item, by its id in the benchmark."),
        Column("family", "string", "The family of items that it belongs to. Null where items are not here."),
        Column("unit", "string", "The group of items that is independent of all others."),
        Column(
            "template", "string", "The pattern that its family was filled into. Null where there is none."
        ),
        Column("category", "string", "Its topic. Null where the data do not say."),
        Column("tags", "string", "JSON: the further fields of the item, by name."),
        Column(
            "item_digest", "string", "SHA-256 of the item as it is shown, with its options in this order."
        ),
        Column("gold", "int32", "The right option, from 0, in the order in which options are shown."),
        Column(
            "right", "list<int32>", "All options that earn the point: those that do not match a behaviour."
        ),
        Column("expected", "name", "comply or refuse, of a prompt without options."),
        Column("replicate", "int32", "From 0."),
        Column("parsed", "bool", "Whether an answer could be read. Null while it has no outcome."),
        Column(
            "choice",
            "int32",
            "The option that was read or ranked first, the judge's label, or 0 right and 1 wrong by `match`, "
            "from 0. Null if unreadable.",
        ),
        Column("score", "int64", "What it earned, in units of 1 / scale. Null while it has no outcome."),
        Column("scale", "int64", "1 where an answer earns a point or none."),
        Column("rule", "name", "The rule that read the answer, or why none could be read."),
        Column("span_start", "int64", "Where in `text` the answer was read, in characters. Null if nowhere."),
        Column("span_end", "int64", "Where it ends."),
        Column("margin", "float64", "Of a ranking: how far the first candidate is ahead, in nats."),
        Column("text", "string", "What its last call generated. Null where nothing is generated."),
        Column("evidence", "string", "JSON: what the outcome rests on (rule and span, or margin)."),
        Column("calls", "list<string>", "Its calls in order, as in the table of calls."),
    ),
    "calls": (
        Column("call", "string", "SHA-256 of everything that determines its answer."),
        Column("model", "name", "The model, by its id in the spec; its digest if the spec has none of it."),
        Column("precision", "name", "Of the weights."),
        Column("kind", "name", "generate or loglikelihood."),
        Column("prompt", "string", "SHA-256 of the prompt."),
        Column("messages", "string", "JSON: the prompt's messages, each as [role, text]."),
        Column("request", "string", "JSON: what was asked, with every parameter."),
        Column("temperature", "float64", "Of a generated answer."),
        Column("max_tokens", "int64", "The token limit of a generated answer."),
        Column("sent", "string", "JSON: what was sent to the model. Null before it is answered."),
        Column("text", "string", "What was generated. Null where candidates are ranked."),
        Column("finish", "name", "Why generation ended: stop or length."),
        Column("continuations", "list<string>", "The candidates that were ranked."),
        Column("loglikelihoods", "list<float64>", "Their log-likelihoods, in nats."),
        Column("answer", "string", "JSON: the whole answer."),
        Column("answer_digest", "string", "SHA-256 of the answer."),
        Column("prompt_tokens", "int64", "Tokens of the prompt."),
        Column("completion_tokens", "int64", "Tokens generated, or of all candidates."),
        Column("seconds", "float64", "Its share of its batch's time in the model."),
        Column("finished", "timestamp[ms, tz=UTC]", "When its batch was stored."),
    ),
}

_SCOPE = (
    Column("benchmark", "string", "The benchmark, by its id in the spec."),
    Column("scope_kind", "string", "full, tier, slice, measurand or parse_clean."),
    Column("scope_name", "string", "The part of the envelope that the pair is compared on."),
    Column("scope_declared", "string", "ex_ante or post_hoc."),
)
_STATISTIC = (
    Column("id", "string", "The statistic, by its id in the spec."),
    Column("kind", "string", "How it is computed: docs/statistics.md."),
    Column("what", "string", "What it says, in a phrase."),
    Column("benchmarks", "list<string>", "The benchmarks that it takes together."),
    Column("model", "string", "The model, by its id in the spec."),
    Column("configuration", "string", "The levels of all axes but those that it takes together."),
)


def dictionary() -> dict[str, list[Column]]:
    """Every column of every table, by the name under which the table is exported."""
    return {
        "cells": list(COLUMNS["scores"]),
        "samples": list(COLUMNS["samples"]),
        "calls": list(COLUMNS["calls"]),
        "pairs": [*_SCOPE, *flat_columns(PairRow)],
        "hypotheses": flat_columns(HypothesisRow),
        "statistics": [*_STATISTIC, *flat_columns(StatisticCell)],
    }


def require_pyarrow() -> None:
    """Raise `UnavailableError` (GC604) where pyarrow is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        message = "tables need pyarrow, which is not installed"
        raise UnavailableError([Diagnostic("GC604", message, help="pip install 'gridc[tables]'")]) from None


def columns_of(table: TableName, plan: Plan, chosen: Sequence[str] | None = None) -> tuple[Column, ...]:
    """The columns of a study's table: all, or those that are chosen, in that order. Raises `UsageError` for
    one that the table does not have."""
    axes = [
        Column(f"axis_{axis.id}", "name", f"The level of axis {axis.id}.") for axis in plan.study.spec.axis
    ]
    here = {
        column.name: column for stated in COLUMNS[table] for column in (axes if stated is AXES else [stated])
    }
    if chosen is None:
        return tuple(here.values())
    unknown = [name for name in chosen if name not in here]
    if unknown:
        message = f"the table `{table}` has no column `{unknown[0]}`"
        raise UsageError([Diagnostic("GC000", message, help=", ".join(here))])
    return tuple(here[name] for name in chosen)


def schema_of(columns: Iterable[Column], about: Mapping[str, str]) -> "pyarrow.Schema":
    """The Arrow schema, each field with its description; `about` is said of the table as a whole."""
    import pyarrow as pa

    fields = [
        pa.field(column.name, _arrow(column.type), metadata={"description": column.description})
        for column in columns
    ]
    return pa.schema(fields, metadata={f"gridc.{key}": value for key, value in about.items()})


def table_description(table: str, plan: Plan, progress: Progress) -> dict[str, str]:
    """What a table says of itself: the study, its digest, and how far its run is."""
    return {
        "table": table,
        "version": __version__,
        "study": plan.study.spec.study.id,
        "stamp": plan.study_digest,
        "calls_answered": f"{progress.answered} of {progress.total}",
        "complete": "yes" if progress.complete else "no",
    }


def batches(
    table: TableName,
    plan: Plan,
    store: Store,
    schema: "pyarrow.Schema",
    size: int = BATCH,
) -> "Iterator[pyarrow.RecordBatch]":
    """The rows of a table in batches, as the store has them. `schema` chooses the columns."""
    import pyarrow as pa

    rows = {"scores": _scores, "samples": _samples, "calls": _calls}[table](plan, store)
    while some := list(islice(rows, size)):
        arrays = [pa.array([row[field.name] for row in some], field.type) for field in schema]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def pair_table(certificate: Certificate, about: Mapping[str, str]) -> "pyarrow.Table":
    """One row for each pair of models in each scope of each benchmark: the certificate's `PairRow`."""
    columns = [*_SCOPE, *flat_columns(PairRow)]
    rows = [
        {
            "benchmark": benchmark.benchmark,
            "scope_kind": part.kind,
            "scope_name": part.name,
            "scope_declared": part.declared,
            **flat_row(pair),
        }
        for benchmark in certificate.benchmarks
        for part in benchmark.scopes
        for pair in part.pairs
    ]
    return _table(columns, rows, about)


def hypotheses(certificate: Certificate, about: Mapping[str, str]) -> "pyarrow.Table":
    """One row for each hypothesis: the certificate's `HypothesisRow`."""
    return _table(flat_columns(HypothesisRow), [flat_row(row) for row in certificate.hypotheses], about)


def statistics(certificate: Certificate, about: Mapping[str, str]) -> "pyarrow.Table":
    """One row for each [[statistic]] of each model under each configuration."""
    columns = [*_STATISTIC, *flat_columns(StatisticCell)]
    rows = [
        {
            "id": stated.id,
            "kind": stated.kind,
            "what": stated.what,
            "benchmarks": list(stated.benchmarks),
            "model": model,
            "configuration": configuration,
            **flat_row(cell),
        }
        for stated in certificate.statistics
        for model, cells in stated.models.items()
        for configuration, cell in cells.items()
    ]
    return _table(columns, rows, about)


def flat_columns(model: type[BaseModel]) -> list[Column]:
    """A row type of the certificate as columns: the fields of a part stand under its name, `part_field`, and
    what is neither a value nor a list of texts is JSON."""
    columns = []
    for name, info in _written(model):
        part = _part(info.annotation)
        if part is not None:
            columns += [_prefixed(name, column) for column in flat_columns(part)]
        else:
            columns.append(Column(name, _column_type(info.annotation), info.description or ""))
    return columns


def _written(model: type[BaseModel]) -> list[tuple[str, FieldInfo]]:
    """The fields of a row that stand in files."""
    return [(name, info) for name, info in model.model_fields.items() if not info.exclude]


def flat_row(row: BaseModel) -> dict[str, Any]:
    """A row of the certificate under the names of `flat_columns`."""
    values: dict[str, Any] = {}
    for name, info in _written(type(row)):
        value, part = getattr(row, name), _part(info.annotation)
        if part is None:
            if _column_type(info.annotation) == "string" and not isinstance(value, str | None):
                value = json.dumps(row.model_dump(mode="json")[name], ensure_ascii=False)
            values[name] = list(value) if isinstance(value, tuple) else value
        else:
            inner = {column.name: None for column in flat_columns(part)} if value is None else flat_row(value)
            values |= {f"{name}_{key}": held for key, held in inner.items()}
    return values


def _scores(plan: Plan, store: Store) -> Iterator[dict[str, Any]]:
    for row in cell_scores(plan, item_outcomes(plan.cells(), store, plan.study_digest)):
        yield {
            **_of_cell(row.cell),
            "shared": row.cell.shared,
            "method": row.cell.setting.method,
            "trials": row.trials,
            "scored": row.scored,
            "parsed": row.parsed,
            "correct": row.correct,
            "scale": row.scale,
            "score": _real(row.score),
            "parse_rate": _real(row.parse_rate),
            "per_protocol": _real(row.per_protocol),
            "standard_error": row.standard_error,
            "rows": row.rows,
        }


def _samples(plan: Plan, store: Store) -> Iterator[dict[str, Any]]:
    shown = lru_cache(maxsize=8)(partial(_items, plan))
    for cell in plan.cells():
        place, setting = _of_cell(cell), cell.setting
        known = shown(cell.benchmark, setting.option_order, setting.items, setting.variant)
        for item, replicate, choice, score, evidence, calls, text in store.sample_rows(
            plan.study_digest, cell.key
        ):
            yield {
                **place,
                "item": item,
                **known.get(item, NOTHING),
                "replicate": replicate,
                "parsed": None if score is None else choice is not None,
                "choice": choice,
                "score": score,
                "scale": setting.scale,
                **_read(evidence),
                "text": text,
                "evidence": evidence,
                "calls": (calls or "").split(),
            }


NOTHING: Mapping[str, Any] = dict.fromkeys(
    ("family", "unit", "template", "category", "tags", "item_digest", "gold", "right", "expected")
)
"""What is known of an item that is not here."""


def _items(
    plan: Plan, benchmark: str, order: str | None, items: Sample | None, variant: str | None
) -> dict[str, dict[str, Any]]:
    """What the table of samples says of each item of a benchmark as it is shown, by its id."""
    here = plan.study.items.get(benchmark)
    if here is None:
        return {}
    units = here.units
    return {
        item.id: {
            "family": item.family,
            "unit": units[item.id],
            "template": item.template or None,
            "category": item.category or None,
            "tags": json.dumps(dict(item.tags), ensure_ascii=False),
            "item_digest": item_digest(item),
            "gold": item.gold,
            "right": sorted(item.right),
            "expected": item.expected,
        }
        for item in here.asked(order, items, variant)
    }


def _read(evidence: str | None) -> dict[str, Any]:
    """What an outcome rests on, in columns."""
    rests_on = json.loads(evidence) if evidence is not None else {}
    start, end = rests_on.get("start"), rests_on.get("end")
    span = (start, end) if start is not None and end is not None and end > start else (None, None)
    return {
        "rule": rests_on.get("rule") or rests_on.get("unread"),
        "span_start": span[0],
        "span_end": span[1],
        "margin": _real(rests_on.get("margin")),
    }


def _calls(plan: Plan, store: Store) -> Iterator[dict[str, Any]]:
    names = {identity.digest: name for name, identity in plan.study.models.items()}
    for (
        identifier, model, precision, kind, prompt, content, request, sent, answer, answer_digest, usage,
        seconds, finished,
    ) in store.call_rows(plan.study_digest):  # fmt: skip
        parameters = json.loads(request)
        given = json.loads(answer) if answer is not None else {}
        used = json.loads(usage) if usage is not None else {}
        yield {
            "call": identifier,
            "model": names.get(model, model),
            "precision": precision,
            "kind": kind,
            "prompt": prompt,
            "messages": json.dumps(json.loads(content)["messages"], ensure_ascii=False),
            "request": request,
            "temperature": parameters.get("temperature"),
            "max_tokens": parameters.get("max_tokens"),
            "sent": sent,
            "text": given.get("text"),
            "finish": given.get("finish"),
            "continuations": parameters.get("continuations"),
            "loglikelihoods": given.get("loglikelihoods"),
            "answer": answer,
            "answer_digest": answer_digest,
            "prompt_tokens": used.get("prompt_tokens"),
            "completion_tokens": used.get("completion_tokens"),
            "seconds": seconds,
            "finished": None if finished is None else datetime.fromisoformat(finished),
        }


def _of_cell(cell: Cell) -> dict[str, Any]:
    levels = {f"axis_{axis}": level for axis, level in cell.levels.items()}
    return {
        "cell": cell.key,
        "model": cell.model,
        "benchmark": cell.benchmark,
        "configuration": cell.configuration,
        "tier": cell.tier,
        **levels,
    }


def _table(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], about: Mapping[str, str]) -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist([dict(row) for row in rows], schema=schema_of(columns, about))


def _prefixed(prefix: str, column: Column) -> Column:
    return Column(f"{prefix}_{column.name}", column.type, column.description)


def _part(annotation: Any) -> type[BaseModel] | None:
    """The row type that a field holds, if it holds one."""
    held = [kind for kind in _alternatives(annotation) if kind is not type(None)]
    if len(held) == 1 and isinstance(held[0], type) and issubclass(held[0], BaseModel):
        return held[0]
    return None


def _column_type(annotation: Any) -> str:
    held = [kind for kind in _alternatives(annotation) if kind is not type(None)]
    if all(get_origin(kind) is Literal or kind is str for kind in held):
        return "string"
    if held == [tuple[str, ...]]:
        return "list<string>"
    if held == [tuple[int, int]]:
        return "list<int64>"
    simple = {bool: "bool", int: "int64", float: "float64"}
    return simple.get(held[0], "string") if len(held) == 1 else "string"


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """The types of a union, without what is annotated to them."""
    if hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(kind for member in get_args(annotation) for kind in _alternatives(member))
    return (annotation,)


def _arrow(name: str) -> Any:
    import pyarrow as pa

    if name == "name":
        return pa.dictionary(pa.int32(), pa.string())
    if name.startswith("list<"):
        return pa.list_(_arrow(name[5:-1]))
    if name.startswith("timestamp"):
        return pa.timestamp("ms", tz="UTC")
    return {
        "string": pa.string(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        "bool": pa.bool_(),
    }[name]


def _real(value: Any) -> float | None:
    return None if value is None else float(value)
