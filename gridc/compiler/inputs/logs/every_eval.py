"""Every Eval Ever 0.3: an aggregate `.json`, and one row an item in a `_samples.jsonl` beside it."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from gridc.compiler.inputs.logs.bounded import LogFile, log_error
from gridc.compiler.inputs.logs.records import (
    LOG_STATES,
    LogAnswer,
    LogAxis,
    LogRun,
    PrintedScore,
    axis,
    content_digest,
)
from gridc.compiler.inputs.questions import QuestionDigests, question, right_texts

PACKAGE = "Every Eval Ever"
READING = "score"
OWN = "gridc_"
"""What the names begin with that gridc's export has among the free details of the format."""
AXIS = f"{OWN}axis_"
KNOWN = {state: state for state in LOG_STATES}
UNKNOWN = (
    "failed, cut off and unreadable answers: the format has no place for them",
    "replicates",
    "shots, chat template and precision",
)


def claims(file: LogFile) -> bool:
    if file.suffix == ".json":
        return {"schema_version", "evaluation_id", "evaluation_results"} <= file.keys
    return _has_rows(file) and not _aggregate(file).path.is_file()


def belongs(file: LogFile) -> bool:
    """Rows are read with their aggregate."""
    return _has_rows(file)


def _has_rows(file: LogFile) -> bool:
    wanted = {"evaluation_id", "sample_id", "evaluation"}
    return (
        file.suffix == ".jsonl" and wanted <= file.keys and bool(file.keys & {"model_id", "evaluation_name"})
    )


def _aggregate(file: LogFile) -> LogFile:
    return LogFile(file.path.with_name(file.name.replace("_samples.jsonl", ".json")))


class _Evaluation(NamedTuple):
    evaluation: str
    model: str
    name: str


def runs(file: LogFile) -> Iterator[LogRun]:
    """A run for each evaluation and model of the rows; of an aggregate whose rows are not beside it its
    scores alone."""
    if file.suffix != ".json":
        yield from _of_samples(file, {})
        return
    document = file.document
    detailed = (document.get("detailed_evaluation_results") or {}).get("file_path") or ""
    for name in (detailed.rpartition("/")[2], f"{file.path.stem}_samples.jsonl"):
        if name and file.path.with_name(name).is_file():
            yield from _of_samples(LogFile(file.path.with_name(name)), document)
            return
    yield from _of_aggregate(file, document)


def _of_aggregate(file: LogFile, document: Mapping[str, Any]) -> Iterator[LogRun]:
    for result in document["evaluation_results"]:
        details = result["score_details"]
        count = (details.get("uncertainty") or {}).get("num_samples")
        yield LogRun(
            path=file.path,
            package=PACKAGE,
            version=str(document["schema_version"]),
            digest=file.digest,
            model=document["model_info"]["id"],
            benchmark=result["evaluation_name"],
            axes=_axes(document, result),
            readings=(READING,),
            samples=None,
            id=str(document["evaluation_id"]),
            lower=_lower(result),
            printed={READING: PrintedScore(_number(details["score"]), count)},
            unknown=(*UNKNOWN, "items (no rows beside the aggregate)"),
        )


def _axes(document: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, LogAxis]:
    library = document.get("eval_library") or {}
    config = result.get("generation_config") or {}
    axes = {
        name.removeprefix(AXIS): axis("request", level)
        for name, level in (config.get("additional_details") or {}).items()
        if name.startswith(AXIS)
    }
    axes.setdefault("decoding", axis("request", config.get("generation_args") or "unknown"))
    axes["package"] = axis("code", f"{library.get('name', 'unknown')} {library.get('version', '')}".strip())
    return axes


def _lower(result: Mapping[str, Any]) -> frozenset[str]:
    return frozenset({READING} if result["metric_config"].get("lower_is_better") else ())


def _of_samples(file: LogFile, document: Mapping[str, Any]) -> Iterator[LogRun]:
    counts: Counter[_Evaluation] = Counter(_rows_of(row) for _, row in file.lines())
    results = document.get("evaluation_results") or []
    own = (document.get("eval_library") or {}).get("name") == "gridc"
    for key, count in counts.items():
        result = next((one for one in results if one.get("evaluation_name") == key.name), None)
        printed = _number(result["score_details"]["score"]) if result else None
        yield LogRun(
            path=file.path,
            package=PACKAGE,
            version=str(document.get("schema_version", "unknown")),
            digest=file.digest,
            model=key.model,
            benchmark=key.name,
            axes=_axes(document, result or {}),
            readings=(READING,),
            samples=partial(_answers, file, key),
            id=key.evaluation,
            lower=_lower(result) if result else frozenset(),
            printed={READING: PrintedScore(printed, count)},
            expected=count,
            unknown=() if own else UNKNOWN,
        )


def _rows_of(row: Mapping[str, Any]) -> _Evaluation:
    return _Evaluation(str(row["evaluation_id"]), str(row.get("model_id")), str(row.get("evaluation_name")))


def _answers(file: LogFile, wanted: _Evaluation) -> Iterator[LogAnswer]:
    for line, row in file.lines():
        if _rows_of(row) != wanted:
            continue
        try:
            yield _answer(row)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            message = f"not a row of {PACKAGE}: {type(error).__name__} {error}"
            raise log_error("GC672", message, file.path, line) from None


def _answer(row: Mapping[str, Any]) -> LogAnswer:
    asked, judged, details = row.get("input") or {}, row["evaluation"], row.get("metadata") or {}
    score = _number(judged.get("score"))
    output = row.get("output") or {}
    raw = output.get("raw") if isinstance(output, dict) else output
    ended = KNOWN[details.get(f"{OWN}state", "read")]
    return LogAnswer(
        id=str(details.get(f"{OWN}item", row["sample_id"])),
        content=content_digest([asked.get("raw"), asked.get("reference"), asked.get("choices")])
        if asked
        else None,
        epoch=int(details.get(f"{OWN}replicate", 0)),
        scores={} if row.get("error") else {READING: score},
        state="failed" if row.get("error") else "unscored" if score is None else ended,
        prompt=asked.get("formatted"),
        answer=None if raw is None else "\n".join(map(str, raw)) if isinstance(raw, list) else str(raw),
        unit=str(details[f"{OWN}unit"]) if f"{OWN}unit" in details else None,
        question=partial(_question, asked),
    )


def _question(asked: Mapping[str, Any]) -> QuestionDigests:
    raw, choices = asked.get("raw"), [one for one in asked.get("choices") or [] if isinstance(one, str)]
    return question(
        [raw] if isinstance(raw, str) else [], choices, right_texts(asked.get("reference"), choices)
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
