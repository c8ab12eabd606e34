"""A table of scores, as CSV or Parquet: `model`, `score`, and what else its columns are named for.

`item` (or `id`) names what was asked and `question` (or `input`) says it; `benchmark`, `unit`, `replicate`,
`seed`, `state`, `prompt`, `answer` and `reading` are what they are called. Every other column is an axis.
Without a column of items a row is a score of a whole benchmark, which `n` may count.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from sys import intern
from typing import Any, NamedTuple

from gridc.compiler.inputs.logs.bounded import LogFile, log_error
from gridc.compiler.inputs.logs.records import (
    LOG_STATES,
    WITHOUT_SCORE,
    LogAnswer,
    LogRun,
    PrintedScore,
    axis,
    content_digest,
)
from gridc.compiler.inputs.questions import QuestionDigests, question
from gridc.schema.comparison import AnswerState

PACKAGE = "table"
ITEM, CONTENT = ("item", "id", "item_id"), ("question", "input")
OTHERS = frozenset(
    ["model", "benchmark", "score", "unit", "replicate", "seed", "state", "prompt", "answer", "reading", "n"]
)
NEEDED = frozenset(("model", "score"))
MOST_LEVELS = 100
"""Of an axis: a column with more values says something else."""
UNKNOWN = ("what no column says", "versions")


def claims(file: LogFile) -> bool:
    if file.suffix == ".parquet":
        return True
    return file.suffix == ".csv" and file.keys >= NEEDED


def belongs(file: LogFile) -> bool:
    return False


class _Row(NamedTuple):
    id: str
    content: bytes | None
    epoch: int
    score: float | None
    state: AnswerState
    unit: str | None
    prompt: str | None
    answer: str | None
    of: int | None
    question: Callable[[], QuestionDigests] | None


class _Cell(NamedTuple):
    model: str
    benchmark: str
    reading: str
    levels: tuple[tuple[str, str], ...]
    seed: str


def runs(file: LogFile) -> Iterator[LogRun]:
    """A run for each model, benchmark, reading, seed and combination of levels."""
    cells: defaultdict[_Cell, list[_Row]] = defaultdict(list)
    levels: defaultdict[str, set[str]] = defaultdict(set)
    itemised = True
    for line, row in _table(file):
        axes = [name for name in row if name not in OTHERS and name not in (*ITEM, *CONTENT)]
        itemised = any(name in row for name in (*ITEM, *CONTENT))
        cell = _Cell(
            intern(_text(file, row, "model", line)),
            intern(str(row.get("benchmark") or file.path.stem)),
            str(row.get("reading") or "score"),
            tuple((name, intern(str(row[name]))) for name in axes),
            str(row.get("seed") or ""),
        )
        for name, level in cell.levels:
            levels[name].add(level)
            if len(levels[name]) > MOST_LEVELS:
                message = f"column `{name}` has more than {MOST_LEVELS} values: it is not an axis"
                help = f"leave it out, or call it one of {', '.join((*ITEM, *CONTENT, *sorted(OTHERS)))}"
                raise log_error("GC676", message, file.path, line, help)
        cells[cell].append(_row(file, row, line))
    for cell, rows in cells.items():
        yield _run(file, cell, rows, itemised)


def _run(file: LogFile, cell: _Cell, rows: list[_Row], itemised: bool) -> LogRun:
    if not itemised and len(rows) > 1:
        message = f"{cell.model} has {len(rows):,} scores of {cell.benchmark}"
        help = "a column `item` tells them apart"
        raise log_error("GC675", message, file.path, help=help)
    printed = {} if itemised else {cell.reading: PrintedScore(rows[0].score, rows[0].of)}
    contents = itemised and all(row.content is not None for row in rows)
    unknown = UNKNOWN if contents else (*UNKNOWN, "what is asked: items match by id")
    return LogRun(
        path=file.path,
        package=PACKAGE,
        version="of scores",
        digest=file.digest,
        model=cell.model,
        benchmark=cell.benchmark,
        axes={name: axis("request", level) for name, level in cell.levels},
        readings=(cell.reading,),
        samples=partial(_answers, cell.reading, rows) if itemised else None,
        seeds={"seed": cell.seed} if cell.seed else {},
        printed=printed,
        unknown=unknown if itemised else (*UNKNOWN, "items (no column `item`)"),
    )


def _answers(reading: str, rows: list[_Row]) -> Iterator[LogAnswer]:
    for row in rows:
        yield LogAnswer(
            row.id,
            row.content,
            row.epoch,
            {reading: row.score},
            row.state,
            row.prompt,
            row.answer,
            row.unit,
            row.question,
        )


def _row(file: LogFile, row: Mapping[str, Any], line: int) -> _Row:
    score = _score(file, row["score"], line)
    state = str(row.get("state") or ("unscored" if score is None else "read"))
    if state not in LOG_STATES:
        message = f"`{state}` is not a state"
        raise log_error("GC672", message, file.path, line, f"known: {', '.join(LOG_STATES)}")
    id = next((str(row[name]) for name in ITEM if row.get(name) not in (None, "")), "")
    content = next((str(row[name]) for name in CONTENT if row.get(name) not in (None, "")), None)
    return _Row(
        intern(id),
        None if content is None else content_digest(content),
        _whole(file, row.get("replicate"), line) or 0,
        None if state in WITHOUT_SCORE else score,
        next(known for known in LOG_STATES if known == state),
        None if row.get("unit") in (None, "") else intern(str(row["unit"])),
        row.get("prompt") or content,
        row.get("answer") or None,
        _whole(file, row.get("n"), line),
        None if content is None else partial(question, (content,)),
    )


def _text(file: LogFile, row: Mapping[str, Any], name: str, line: int) -> str:
    if row.get(name) in (None, ""):
        raise log_error("GC672", f"`{name}` is empty", file.path, line)
    return str(row[name])


def _score(file: LogFile, value: Any, line: int) -> float | None:
    if value is None or value == "":
        return None
    try:
        score = {"true": 1.0, "false": 0.0}.get(str(value).lower())
        score = float(value) if score is None else score
    except ValueError:
        raise log_error("GC672", f"`score` is not a number: {str(value)[:40]}", file.path, line) from None
    return score if math.isfinite(score) else None


def _whole(file: LogFile, value: Any, line: int) -> int | None:
    if value is None or value == "":
        return None
    try:
        return int(value)
    except ValueError:
        raise log_error("GC672", f"not a whole number: {str(value)[:40]}", file.path, line) from None


def _table(file: LogFile) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if file.suffix == ".csv":
        yield from file.table()
        return
    try:
        import pyarrow.lib
        import pyarrow.parquet
    except ImportError:
        help = 'pip install "gridc[tables]", or write the table as CSV'
        raise log_error("GC671", "Parquet needs pyarrow", file.path, help=help) from None
    try:
        with file.open() as opened:
            table = pyarrow.parquet.ParquetFile(opened)
            if not set(table.schema_arrow.names) >= NEEDED:
                raise log_error("GC671", "no columns `model` and `score`", file.path)
            line = 1
            for batch in table.iter_batches(10_000):
                for row in batch.to_pylist():
                    line += 1
                    yield line, row
    except (pyarrow.lib.ArrowException, OSError) as error:
        raise log_error("GC672", f"not Parquet: {error}", file.path) from None
