"""Every Eval Ever 0.3: an aggregate `.json`, and one row an item in a `_samples.jsonl` beside it."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from gridc.compiler.inputs.logs.bounded import LogFile, log_error
from gridc.compiler.inputs.logs.records import LogAnswer, LogRun, PrintedScore, axis, content_digest
from gridc.compiler.inputs.questions import QuestionDigests, question, right_texts

PACKAGE = "Every Eval Ever"
READING = "score"
UNKNOWN = (
    "failed, cut off and unreadable answers: the format has no place for them",
    "replicates",
    "shots, chat template and precision",
)


def claims(file: LogFile) -> bool:
    if file.suffix == ".json":
        return {"schema_version", "evaluation_id", "evaluation_results"} <= file.keys
    wanted = {"evaluation_id", "sample_id", "evaluation"}
    return (
        file.suffix == ".jsonl" and wanted <= file.keys and bool(file.keys & {"model_id", "evaluation_name"})
    )


def belongs(file: LogFile) -> bool:
    return False


class _Evaluation(NamedTuple):
    evaluation: str
    model: str
    name: str


def runs(file: LogFile) -> Iterator[LogRun]:
    """A run for each evaluation and model of the rows; of an aggregate whose rows are not beside it its
    scores alone."""
    yield from _of_aggregate(file) if file.suffix == ".json" else _of_samples(file)


def _of_aggregate(file: LogFile) -> Iterator[LogRun]:
    document = file.document
    detailed = (document.get("detailed_evaluation_results") or {}).get("file_path") or ""
    beside = {detailed.rpartition("/")[2], f"{file.path.stem}_samples.jsonl"} - {""}
    if any(file.path.with_name(name).is_file() for name in beside):
        return
    for result in document["evaluation_results"]:
        details = result["score_details"]
        count = (details.get("uncertainty") or {}).get("num_samples")
        lower = bool(result["metric_config"].get("lower_is_better"))
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
            lower=frozenset({READING}) if lower else frozenset(),
            printed={READING: PrintedScore(_number(details["score"]), count)},
            unknown=(*UNKNOWN, "items (no rows beside the aggregate)"),
        )


def _axes(document: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    library = document.get("eval_library") or {}
    generation = (result.get("generation_config") or {}).get("generation_args") or {}
    return {
        "decoding": axis("request", generation or "unknown"),
        "package": axis("code", f"{library.get('name', 'unknown')} {library.get('version', '')}".strip()),
    }


def _of_samples(file: LogFile) -> Iterator[LogRun]:
    counts: Counter[_Evaluation] = Counter(_rows_of(row) for _, row in file.lines())
    aggregate = LogFile(file.path.with_name(file.name.replace("_samples.jsonl", ".json")))
    document = aggregate.document if aggregate.path.is_file() else {}
    for key, count in counts.items():
        results = document.get("evaluation_results") or []
        result = next((one for one in results if one.get("evaluation_name") == key.name), None)
        printed = _number(result["score_details"]["score"]) if result else None
        lower = bool(result and result["metric_config"].get("lower_is_better"))
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
            lower=frozenset({READING}) if lower else frozenset(),
            printed={READING: PrintedScore(printed, count)},
            expected=count,
            unknown=UNKNOWN,
        )


def _rows_of(row: Mapping[str, Any]) -> _Evaluation:
    return _Evaluation(str(row["evaluation_id"]), str(row.get("model_id")), str(row.get("evaluation_name")))


def _answers(file: LogFile, wanted: _Evaluation) -> Iterator[LogAnswer]:
    for line, row in file.lines():
        if _rows_of(row) != wanted:
            continue
        try:
            yield _answer(row)
        except (AttributeError, KeyError, TypeError) as error:
            message = f"not a row of {PACKAGE}: {type(error).__name__} {error}"
            raise log_error("GC672", message, file.path, line) from None


def _answer(row: Mapping[str, Any]) -> LogAnswer:
    asked, judged = row.get("input") or {}, row["evaluation"]
    score = _number(judged.get("score"))
    output = row.get("output") or {}
    raw = output.get("raw") if isinstance(output, dict) else output
    return LogAnswer(
        id=str(row["sample_id"]),
        content=content_digest([asked.get("raw"), asked.get("reference"), asked.get("choices")])
        if asked
        else None,
        epoch=0,
        scores={} if row.get("error") else {READING: score},
        state="failed" if row.get("error") else "unscored" if score is None else "read",
        prompt=asked.get("formatted") or asked.get("raw"),
        answer=None if raw is None else str(raw),
        question=partial(_question, asked),
    )


def _question(asked: Mapping[str, Any]) -> QuestionDigests:
    raw, choices = asked.get("raw"), [one for one in asked.get("choices") or [] if isinstance(one, str)]
    return question(
        [raw] if isinstance(raw, str) else [], choices, right_texts(asked.get("reference"), choices)
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
