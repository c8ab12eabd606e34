"""Logs of promptfoo: `.json` of a whole evaluation, `.jsonl` of its results alone, `.csv` of its table."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from gridc.compiler.inputs.finish_reasons import logged_end
from gridc.compiler.inputs.logs.files import LogFile, log_error
from gridc.compiler.inputs.logs.records import (
    LogAnswer,
    LogAxis,
    LogRun,
    PrintedScore,
    content_digest,
    log_axis,
    log_reader,
)
from gridc.compiler.inputs.questions import of_document
from gridc.schema.comparison import AnswerState

PACKAGE = "promptfoo"
NAMES: tuple[str, ...] = ()
WHOLE = frozenset(("evalId", "results", "config"))
ROW = frozenset(("promptIdx", "testIdx", "provider"))
TABLE = frozenset(("Status", "Score", "Named Scores"))
SHAPES: tuple[frozenset[str], ...] = (WHOLE, ROW, TABLE)
log_reader(__name__, 30)
PASS = "success"
ERROR = 2
"""The reason of a row that has no answer; `error` is also the text of an assertion that failed."""
NO_GRADE = ("Could not extract JSON from", "llm-rubric produced malformed response")
"""How the reason of an assertion begins whose judge replied without a grade; its score is 0."""
UNKNOWN = (
    "which answers were unreadable, except empty ones (they count as wrong)",
    "versions of the models",
    "whether the run was finished",
)
NO_CONFIG = (
    "decoding (only the .json has the providers' settings)",
    "the version of promptfoo",
)
STATUS = "Status"


def claims(file: LogFile) -> bool:
    if file.suffix == ".csv":
        return file.keys >= TABLE
    return file.suffix in (".json", ".jsonl") and file.keys >= (WHOLE if file.suffix == ".json" else ROW)


def belongs(file: LogFile) -> bool:
    return False


class _Column(NamedTuple):
    """One provider under one prompt, by its place in the table: two providers may have one name."""

    place: int
    provider: str
    label: str
    prompt: str

    def among(self, columns: Iterable["_Column"]) -> tuple[int, int]:
        """Which one it is of those that are called alike, and how many these are."""
        alike = sorted(other.place for other in columns if other[1:] == self[1:])
        return alike.index(self.place), len(alike)


def runs(file: LogFile) -> Iterator[LogRun]:
    """A run for each provider and prompt."""
    yield from _of_csv(file) if file.suffix == ".csv" else _of_rows(file)


def _of_rows(file: LogFile) -> Iterator[LogRun]:
    document = file.document if file.suffix == ".json" else {}
    config = document.get("config") or {}
    counts: Counter[_Column] = Counter()
    passed: Counter[_Column] = Counter()
    names: defaultdict[_Column, dict[str, None]] = defaultdict(dict)
    templates = {number: one.get("raw") for number, one in enumerate(_prompts(document))}
    for row in _rows(file):
        column = _column(row, templates)
        counts[column] += 1
        passed[column] += bool(row["success"])
        names[column].update(dict.fromkeys(row.get("namedScores") or {}))
    remark = _check_counts(file, document, sum(counts.values()))
    version = (document.get("metadata") or {}).get("promptfooVersion")
    for column in counts:
        which, of = column.among(counts)
        decoding = _decoding(config, column.provider, which, of)
        seed = None if decoding is None else decoding.pop("seed", None)
        yield LogRun(
            path=file.path,
            package=PACKAGE,
            version=str(version or "unknown"),
            digest=file.digest,
            model=column.provider,
            benchmark=config.get("description") or file.stem,
            named=bool(config.get("description")),
            axes=_axes(column.prompt, column.label, decoding, version, which, of),
            readings=(PASS, "score", *names[column]),
            samples=partial(_answers, file, column, templates),
            id=str(document.get("evalId", "")),
            seeds={} if seed is None else {"seed": seed},
            shared_seed=None if seed is None or not (decoding or {}).get("temperature", 1) else str(seed),
            printed={PASS: PrintedScore(passed[column] / counts[column], counts[column])},
            expected=counts[column],
            finished=None,
            remark=remark,
            unknown=UNKNOWN if document else (*UNKNOWN, *NO_CONFIG),
        )


def _axes(
    prompt: str, label: str, decoding: Mapping[str, Any] | None, version: str | None, which: int, of: int
) -> dict[str, LogAxis]:
    """Columns that are called alike differ in something, even where the file does not say in what."""
    axes = {"prompt": log_axis("prompt", prompt, label)}
    if decoding is not None:
        axes["decoding"] = log_axis("request", decoding, None if decoding else "provider's default", own=True)
    elif of > 1:
        axes["column"] = log_axis("request", f"{which + 1} of {of} called alike")
    if version is not None:
        axes["package"] = log_axis("code", f"{PACKAGE} {version}")
    return axes


def _check_counts(file: LogFile, document: Mapping[str, Any], rows: int) -> str | None:
    """What to know of rows that are not counted: those that were under way when an evaluation was interrupted
    are kept, and not even `promptfoo eval --resume` counts them. Raises `FileError` (GC674) where rows are
    missing."""
    stats = (document.get("results") or {}).get("stats")
    if stats is None:
        return None
    counted = sum(stats.get(name, 0) for name in ("successes", "failures", "errors"))
    said = f"its statistics count {counted:,} results, and the file has {rows:,}"
    if counted > rows:
        help = "export it again (`promptfoo export eval ID`), or leave it out"
        raise log_error("GC674", said, file.path, help=help)
    return f"{said}: it was interrupted, and may not be finished" if counted < rows else None


def _prompts(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return (document.get("results") or {}).get("prompts") or []


def _rows(file: LogFile) -> Iterator[Mapping[str, Any]]:
    if file.suffix == ".json":
        return iter(file.document["results"]["results"])
    return (row for _, row in file.lines())


def _column(row: Mapping[str, Any], templates: Mapping[int, Any]) -> _Column:
    provider, label = row["provider"], row["prompt"].get("label") or ""
    raw = templates.get(row["promptIdx"])
    name = provider.get("label") or provider["id"]
    return _Column(row["promptIdx"], name, label.partition(":")[0][:40], raw or label)


def _decoding(config: Mapping[str, Any], provider: str, which: int, of: int) -> dict[str, Any] | None:
    """The settings of a provider; None where the file does not have them, or not for each of that name."""
    stated = config.get("providers") or []
    listed = stated if isinstance(stated, list) else [stated]
    several = [own for one in listed if (own := _settings(one, provider)) is not None]
    return several[which] if len(several) == of else None


def _settings(stated: Any, provider: str) -> dict[str, Any] | None:
    """What one entry of the providers says of this one: a name, a table, or a table under the name."""
    if stated == provider:
        return {}
    if not isinstance(stated, dict):
        return None
    named = stated
    if "id" not in stated:
        name, inner = next(iter(stated.items()), (None, None))
        named = {"id": name, **(inner if isinstance(inner, dict) else {})}
    if provider not in (named.get("label"), named.get("id")):
        return None
    return {key: value for key, value in (named.get("config") or {}).items() if "key" not in key.lower()}


def _answers(file: LogFile, wanted: _Column, templates: Mapping[int, Any]) -> Iterator[LogAnswer]:
    seen: Counter[bytes] = Counter()
    for row in _rows(file):
        if _column(row, templates) != wanted:
            continue
        values = {name: _text(value) for name, value in (row.get("vars") or {}).items()}
        content = content_digest(values)
        test, response = row.get("testCase") or {}, row.get("response") or {}
        failed, about = row.get("failureReason") == ERROR, test.get("metadata")
        output = response.get("output")
        yield LogAnswer(
            id=str(test.get("description") or _id(values)),
            content=content,
            epoch=seen[content],
            scores={} if failed else _scores(row),
            state=_state(failed, bool(row["success"]), output, response.get("finishReason")),
            prompt=row["prompt"].get("raw"),
            answer=None if failed or output is None else _text(output),
            question=partial(of_document, values),
            fields={**(about if isinstance(about, dict) else {}), **(row.get("vars") or {})},
            ungraded=() if failed else _ungraded(row),
        )
        seen[content] += 1


def _state(failed: bool, passed: bool, output: Any, finish: object = None) -> AnswerState:
    """Nothing was read of an empty answer, unless a test asks for one."""
    if failed:
        return "failed"
    ended = logged_end(finish)
    empty = isinstance(output, str) and not output.strip()
    return "unreadable" if ended == "read" and empty and not passed else ended


def _text(value: Any) -> str:
    """As the table of a `.csv` has it, so that an item is the same one in every form."""
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _id(values: Mapping[str, Any]) -> str:
    """A test has no id of its own: its variables, in short."""
    return ", ".join(f"{name}={value}" for name, value in values.items())[:80]


def _scores(row: Mapping[str, Any]) -> dict[str, float | None]:
    named = {name: _number(value) for name, value in (row.get("namedScores") or {}).items()}
    return {PASS: float(bool(row["success"])), "score": _number(row.get("score")), **named}


def _ungraded(row: Mapping[str, Any]) -> tuple[str, ...]:
    """All readings of an answer of which some judge gave no grade: each is made of every assertion."""
    graded = row.get("gradingResult") or {}
    parts = [graded, *(graded.get("componentResults") or [])]
    lacks = any(str((one or {}).get("reason") or "").startswith(NO_GRADE) for one in parts)
    return (PASS, "score", *(row.get("namedScores") or {})) if lacks else ()


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _of_csv(file: LogFile) -> Iterator[LogRun]:
    _, header = next(file.records())
    starts = [place - 1 for place, name in enumerate(header) if name == STATUS]
    columns = []
    for start in starts:
        provider, _, label = header[start].removeprefix("[").partition("] ")
        columns.append(_Column(start, provider, label.partition(":")[0][:40], label))
    for column in columns:
        yield LogRun(
            path=file.path,
            package=PACKAGE,
            version="unknown",
            digest=file.digest,
            model=column.provider,
            benchmark=file.stem,
            named=False,
            axes=_axes(column.prompt, column.label, None, None, *column.among(columns)),
            readings=(PASS, "score"),
            samples=partial(_of_column, file, header[: starts[0]], column.place),
            finished=None,
            unknown=(*UNKNOWN, *NO_CONFIG, "prompts", "answers that were cut off"),
        )


def _of_column(file: LogFile, names: list[str], start: int) -> Iterator[LogAnswer]:
    seen: Counter[bytes] = Counter()
    records = file.records()
    width = len(next(records)[1])
    for line, record in records:
        if len(record) != width:
            message = f"{len(record)} fields where the header has {width}"
            raise log_error("GC672", message, file.path, line)
        values = dict(zip(names, record, strict=False))
        content, status = content_digest(values), record[start + 1]
        failed = status == "ERROR"
        yield LogAnswer(
            id=_id(values),
            content=content,
            epoch=seen[content],
            scores={} if failed else {PASS: float(status == "PASS"), "score": float(record[start + 2])},
            state=_state(failed, status == "PASS", record[start]),
            answer=None if failed else record[start],
            question=partial(of_document, values),
            fields=values,
        )
        seen[content] += 1
