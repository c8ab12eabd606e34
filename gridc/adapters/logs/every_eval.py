"""Every Eval Ever 0.3: an aggregate `.json`, and one row an item in a `_samples.jsonl` beside it."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from gridc.compiler.inputs.logs.files import LogFile, log_error
from gridc.compiler.inputs.logs.records import (
    AXIS,
    OWN,
    LogAnswer,
    LogAxis,
    LogRun,
    PrintedScore,
    content_digest,
    log_axis,
    log_reader,
)
from gridc.compiler.inputs.questions import Question, question, right_texts
from gridc.outcomes import STATES

PACKAGE = "Every Eval Ever"
NAMES: tuple[str, ...] = ("*_samples.jsonl",)
AGGREGATE = frozenset(("schema_version", "evaluation_id", "evaluation_results"))
ROWS = frozenset(("evaluation_id", "sample_id", "evaluation"))
SHAPES: tuple[frozenset[str], ...] = (AGGREGATE, ROWS)
log_reader(__name__, 40)
PLAIN = "analytic"
"""The method of a standard error of independent samples."""
READING = "score"
KNOWN = {state: state for state in STATES}
UNKNOWN = (
    "failed, cut off and unreadable answers: the format has no place for them",
    "replicates",
    "shots, chat template and precision",
)


def claims(file: LogFile) -> bool:
    if file.suffix == ".json":
        return file.keys >= AGGREGATE
    return _has_rows(file) and _aggregate(file) is None


def belongs(file: LogFile) -> bool:
    """Rows are read with their aggregate."""
    return _has_rows(file)


def _has_rows(file: LogFile) -> bool:
    own = bool(file.keys & {"model_id", "evaluation_name"})
    return file.suffix == ".jsonl" and file.keys >= ROWS and own


def _aggregate(file: LogFile) -> LogFile | None:
    return file.sibling(file.name.removesuffix(".gz").replace("_samples.jsonl", ".json"))


class _Evaluation(NamedTuple):
    """What tells the rows of a file apart. `result` names the metric's result that a row belongs to."""

    evaluation: str
    model: str
    name: str
    result: str


def runs(file: LogFile) -> Iterator[LogRun]:
    """A run for each evaluation and model of the rows; of an aggregate whose rows are not beside it its
    scores alone. Several metrics of one evaluation are readings of the same answers."""
    if file.suffix != ".json":
        yield from _of_samples(file, {})
        return
    document = file.document
    detailed = (document.get("detailed_evaluation_results") or {}).get("file_path") or ""
    for name in (detailed.rpartition("/")[2], f"{file.stem}_samples.jsonl"):
        rows = file.sibling(name) if name else None
        if rows is not None:
            yield from _of_samples(rows, document)
            return
    yield from _of_aggregate(file, document)


def _of_aggregate(file: LogFile, document: Mapping[str, Any]) -> Iterator[LogRun]:
    groups: defaultdict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for result in document["evaluation_results"]:
        groups[result["evaluation_name"], _configuration(result)].append(result)
    for (name, _), results in groups.items():
        readings = _readings([(result.get("evaluation_result_id"), result) for result in results])
        yield LogRun(
            path=file.path,
            package=PACKAGE,
            version=str(document["schema_version"]),
            digest=file.digest,
            model=document["model_info"]["id"],
            benchmark=name,
            axes=_axes(document, results[0]),
            readings=tuple(readings),
            samples=None,
            id=str(document["evaluation_id"]),
            lower=_lower(readings, results),
            printed=dict(zip(readings, map(_printed, results), strict=True)),
            unknown=(*UNKNOWN, "items (no rows beside the aggregate)"),
        )


def _configuration(result: Mapping[str, Any]) -> str:
    return json.dumps(result.get("generation_config"), sort_keys=True)


def _readings(results: Sequence[tuple[Any, Mapping[str, Any]]]) -> list[str]:
    """A name for each result: its metric's, or its own where two metrics have one name."""
    named = [(result.get("metric_config") or {}).get("metric_name") for _, result in results]
    if None in named or len(set(named)) < len(named):
        return [id or READING for id, _ in results] if len(named) > 1 else [READING]
    return list(filter(None, named))


def _printed(result: Mapping[str, Any]) -> PrintedScore:
    details = result.get("score_details") or {}
    spread = details.get("uncertainty") or {}
    stated = spread.get("standard_error") or {}
    method = stated.get("method") or PLAIN
    return PrintedScore(
        _number(details.get("score")),
        spread.get("num_samples"),
        error=_number(stated.get("value")),
        error_how="" if method == PLAIN else f"its method is `{method}`",
    )


def _lower(readings: Sequence[str], results: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(
        reading
        for reading, result in zip(readings, results, strict=True)
        if (result.get("metric_config") or {}).get("lower_is_better")
    )


def _axes(document: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, LogAxis]:
    library = document.get("eval_library") or {}
    config = result.get("generation_config") or {}
    axes = {
        name.removeprefix(AXIS): log_axis("request", level)
        for name, level in (config.get("additional_details") or {}).items()
        if name.startswith(AXIS)
    }
    axes.setdefault("decoding", log_axis("request", config.get("generation_args") or "unknown"))
    axes["package"] = log_axis(
        "code", f"{library.get('name', 'unknown')} {library.get('version', '')}".strip()
    )
    return axes


def _of_samples(file: LogFile, document: Mapping[str, Any]) -> Iterator[LogRun]:
    counts: Counter[_Evaluation] = Counter(_rows_of(row) for _, row in file.lines())
    results = document.get("evaluation_results") or []
    own = (document.get("eval_library") or {}).get("name") == "gridc"
    groups: defaultdict[tuple[str, ...], dict[_Evaluation, Mapping[str, Any]]] = defaultdict(dict)
    for key in counts:
        named = [result for result in results if result.get("evaluation_name") == key.name]
        by_id = [result for result in named if str(result.get("evaluation_result_id")) == key.result]
        result: Mapping[str, Any] = next(iter(by_id or named), {})
        groups[*key[:3], _configuration(result)][key] = result
    for (evaluation, model, name, _), rows in groups.items():
        readings = _readings([(key.result, result) for key, result in rows.items()])
        sizes = {counts[key] for key in rows}
        yield LogRun(
            path=file.path,
            package=PACKAGE,
            version=str(document.get("schema_version", "unknown")),
            digest=file.digest,
            model=model,
            benchmark=name,
            axes=_axes(document, next(iter(rows.values()))),
            readings=tuple(readings),
            samples=partial(_answers, file, dict(zip(rows, readings, strict=True))),
            id=evaluation,
            lower=_lower(readings, list(rows.values())),
            printed=dict(zip(readings, map(_printed, rows.values()), strict=True)),
            expected=sizes.pop() if len(sizes) == 1 else None,
            unknown=() if own else UNKNOWN,
        )


def _rows_of(row: Mapping[str, Any]) -> _Evaluation:
    about = (str(row.get(name)) for name in ("model_id", "evaluation_name", "evaluation_result_id"))
    return _Evaluation(str(row["evaluation_id"]), *about)


def _answers(file: LogFile, readings: Mapping[_Evaluation, str]) -> Iterator[LogAnswer]:
    for line, row in file.lines():
        reading = readings.get(_rows_of(row))
        if reading is None:
            continue
        try:
            yield _answer(row, reading)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            message = f"not a row of {PACKAGE}: {type(error).__name__} {error}"
            raise log_error("GC672", message, file.path, line) from None


def _answer(row: Mapping[str, Any], reading: str) -> LogAnswer:
    asked, judged, details = row.get("input") or {}, row["evaluation"], row.get("metadata") or {}
    score = None if row.get("error") else _number(judged.get("score"))
    output = row.get("output") or {}
    raw = output.get("raw") if isinstance(output, dict) else output
    ended = KNOWN[details.get(f"{OWN}state", "read")]
    return LogAnswer(
        id=str(details.get(f"{OWN}item", row["sample_id"])),
        content=content_digest([asked.get("raw"), asked.get("reference"), asked.get("choices")])
        if asked
        else None,
        epoch=int(details.get(f"{OWN}replicate", 0)),
        scores={reading: score},
        state="failed" if row.get("error") else "unscored" if score is None else ended,
        prompt=asked.get("formatted"),
        answer=None if raw is None else "\n".join(map(str, raw)) if isinstance(raw, list) else str(raw),
        unit=str(details[f"{OWN}unit"]) if f"{OWN}unit" in details else None,
        question=partial(_question, asked),
        fields=details,
    )


def _question(asked: Mapping[str, Any]) -> Question:
    raw, choices = asked.get("raw"), [one for one in asked.get("choices") or [] if isinstance(one, str)]
    return question(
        [raw] if isinstance(raw, str) else [], choices, right_texts(asked.get("reference"), choices)
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
