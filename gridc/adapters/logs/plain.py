"""A table of scores, as CSV, TSV, lines or an array of JSON, or Parquet: `model`, `score`, and what else its
columns say.

`item` (or `id`) names what was asked and `question` (or `input`) says it; `benchmark`, `category`, `unit`,
`replicate`, `seed`, `state`, `prompt`, `answer`, `reading` and those of `CALL_NUMBERS` are what they are
called. A column is an axis where the author says so, or where it is constant within each model's run of a
benchmark; what comes with an answer, such as `gold` or `latency`, is not read. Without a column of items a
row is a score of a whole benchmark, which `n` may count.
"""

import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from sys import intern
from typing import Any, NamedTuple

from gridc.compiler.inputs.logs.files import (
    CONTENT,
    DATA,
    ITEM,
    NEEDED,
    READ,
    LogFile,
    column_name,
    log_error,
)
from gridc.compiler.inputs.logs.records import (
    WITHOUT_SCORE,
    LogAnswer,
    LogGroup,
    LogRun,
    PrintedScore,
    content_digest,
    log_axis,
    log_reader,
    logged_number,
)
from gridc.compiler.inputs.questions import Question, question
from gridc.diagnostics.errors import FileError
from gridc.outcomes import STATES
from gridc.schema.call_numbers import CALL_NUMBERS
from gridc.schema.comparison import AnswerState

PACKAGE = "table"
NAMES: tuple[str, ...] = ("*.parquet",)
SHAPES: tuple[frozenset[str], ...] = (NEEDED,)
log_reader(__name__, 110)
GROUP = "group"
"""The column of what several benchmarks are put together as."""
UNKNOWN = ("what no column says", "versions")


def claims(file: LogFile) -> bool:
    if set(map(column_name, file.keys)) >= NEEDED:
        return file.suffix != ".json" or isinstance(file.document, list)
    return False


def belongs(file: LogFile) -> bool:
    return False


class _Row(NamedTuple):
    id: str
    reading: str
    content: bytes | None
    epoch: int
    score: float | None
    state: AnswerState
    unit: str | None
    prompt: str | None
    answer: str | None
    of: int | None
    question: Callable[[], Question] | None
    category: str | None
    took: Mapping[str, float]


class _Cell(NamedTuple):
    model: str
    benchmark: str
    levels: tuple[tuple[str, str], ...]
    seed: str


def runs(file: LogFile) -> Iterator[LogRun]:
    """A run for each model, benchmark, seed and combination of levels. Raises `FileError` for a
    column that varies within a model's run of a benchmark and of which nothing says what it is (GC676)."""
    cells: defaultdict[_Cell, list[_Row]] = defaultdict(list)
    constant: dict[tuple[str, str], dict[str, str]] = {}
    varying: dict[str, int] = {}
    not_read: dict[str, None] = {}
    itemised, stated = True, set[str]()
    for line, row in _table(file):
        named, others = {}, {}
        for name in row:
            if name in READ or name in file.columns.of_items or _is_number(file, name):
                continue
            if name in file.columns.axes:
                named[name] = intern(_level(row[name]))
            elif name in DATA or name in file.columns.ignored:
                not_read[name] = None
            elif name not in varying:
                others[name] = _level(row[name])
            file.columns.found.add(name)
        itemised = any(name in row for name in (*ITEM, *CONTENT))
        benchmark = intern(str(row.get("benchmark") or file.stem))
        if row.get("benchmark"):
            stated.add(benchmark)
        cell = _Cell(
            intern(_text(file, row, "model", line)),
            benchmark,
            tuple(named.items()),
            str(row.get("seed") or ""),
        )
        first = constant.setdefault((cell.model, cell.benchmark), others)
        if first != others:
            for name in first.keys() | others.keys():
                if first.get(name, "") != others.get(name, ""):
                    varying.setdefault(name, line)
        cells[cell].append(_row(file, row, line))
    if varying:
        raise _not_known(file, varying, cells)
    groups = _groups(constant) if stated else {}
    # Who counts repetitions from 1 lacks no repetition 0.
    first_epoch = int(min((row.epoch for rows in cells.values() for row in rows), default=0) == 1)
    for cell, rows in cells.items():
        own, group = constant[cell.model, cell.benchmark], groups.get(cell.benchmark)
        levels = (*cell.levels, *((name, level) for name, level in own.items() if name != GROUP or not group))
        rows = [row._replace(epoch=row.epoch - first_epoch) for row in rows] if first_epoch else rows
        run = _run(file, cell._replace(levels=levels), rows, itemised, tuple(not_read))
        yield replace(run, named=cell.benchmark in stated, groups=[group] if group else ())


def _groups(constant: Mapping[tuple[str, str], Mapping[str, str]]) -> dict[str, LogGroup]:
    """The group of each benchmark, as a column says it that has one value for all models; none where some
    benchmark has two."""
    stated: defaultdict[str, set[str]] = defaultdict(set)
    for (_, benchmark), columns in constant.items():
        stated[benchmark].add(columns.get(GROUP, ""))
    if any(len(names) > 1 for names in stated.values()):
        return {}
    tasks: defaultdict[str, list[str]] = defaultdict(list)
    for benchmark, (name,) in stated.items():
        if name:
            tasks[name].append(benchmark)
    groups = {name: LogGroup(name, tuple(several), {}) for name, several in tasks.items() if len(several) > 1}
    return {task: group for group in groups.values() for task in group.tasks}


def _level(value: Any) -> str:
    return "" if value is None else str(value)


def _not_known(file: LogFile, varying: Mapping[str, int], cells: Mapping[_Cell, Sequence[_Row]]) -> FileError:
    """Of columns by the line where each first varies."""
    names = ", ".join(f"`{name}`" for name in sorted(varying))
    message = f"not known whether an axis: {names} (several values within one model's run of a benchmark)"
    options = ("--axis", "--category", "--ignore")
    choices = [[f"`{option} {shlex.quote(name)}`" for option in options] for name in sorted(varying)]
    help = "; ".join(
        f"{axis} (it was asked in another way), {category} (it says what kind of item it is) or {ignore}"
        for axis, category, ignore in choices
    )
    if any(len({(row.id, row.content, row.epoch) for row in rows}) < len(rows) for rows in cells.values()):
        help += "; if all are ignored, an item has two answers that only a column `replicate` can tell apart"
    return _row_error(file, "GC676", message, min(varying.values()), help)


def _run(file: LogFile, cell: _Cell, rows: list[_Row], itemised: bool, not_read: Sequence[str]) -> LogRun:
    readings = tuple(dict.fromkeys(row.reading for row in rows))
    if not itemised and len(rows) > len(readings):
        message = f"{cell.model} has {len(rows):,} scores of {cell.benchmark}"
        help = "a column `item` tells them apart"
        raise log_error("GC675", message, file.path, help=help)
    printed = {} if itemised else {row.reading: PrintedScore(row.score, row.of) for row in rows}
    contents = itemised and all(row.content is not None for row in rows)
    unknown = UNKNOWN if contents else (*UNKNOWN, "what is asked: items match by id")
    return LogRun(
        path=file.path,
        package=PACKAGE,
        version="of scores",
        digest=file.digest,
        model=cell.model,
        benchmark=cell.benchmark,
        axes={name: log_axis("request", level) for name, level in cell.levels},
        readings=readings,
        samples=partial(_answers, rows) if itemised else None,
        seeds={"seed": cell.seed} if cell.seed else {},
        printed=printed,
        unknown=unknown if itemised else (*UNKNOWN, "items (no column `item`)"),
        not_read=not_read,
    )


def _answers(rows: list[_Row]) -> Iterator[LogAnswer]:
    """Rows that differ in their reading alone are readings of one answer."""
    read: defaultdict[object, dict[str, _Row]] = defaultdict(dict)
    times: Counter[object] = Counter()
    for row in rows:
        place = row.content or row.id, row.epoch
        times[place, row.reading] += 1
        read[place, times[place, row.reading]][row.reading] = row
    for several in read.values():
        first, states = next(iter(several.values())), {row.state for row in several.values()}
        yield LogAnswer(
            first.id,
            first.content,
            first.epoch,
            {reading: row.score for reading, row in several.items()},
            first.state if len(states) == 1 else "read",
            first.prompt,
            first.answer,
            first.unit,
            first.question,
            [reading for reading, row in several.items() if row.state == "unreadable"],
            category=first.category,
            took=first.took,
        )


def _row(file: LogFile, row: Mapping[str, Any], line: int) -> _Row:
    score = _score(file, row["score"], line)
    state = str(row.get("state") or ("unscored" if score is None else "read"))
    if state not in STATES:
        message = f"`{state}` is not a state"
        raise _row_error(file, "GC672", message, line, f"known: {', '.join(STATES)}")
    content = next((str(row[name]) for name in CONTENT if row.get(name) not in (None, "")), None)
    id = next((str(row[name]) for name in ITEM if row.get(name) not in (None, "")), content or "")
    return _Row(
        intern(id),
        intern(str(row.get("reading") or "score")),
        None if content is None else content_digest(content),
        _integer(file, row.get("replicate"), line) or 0,
        None if state in WITHOUT_SCORE else score,
        next(known for known in STATES if known == state),
        _unit(file, row),
        row.get("prompt") or content,
        row.get("answer") or None,
        _count(file, row.get("n"), line),
        None if content is None else partial(question, (content,)),
        _category(file, row),
        dict(_took(file, row, line)),
    )


def _is_number(file: LogFile, name: str) -> bool:
    """Whether a column has one of `CALL_NUMBERS`, unless the author says what else it is."""
    return name in CALL_NUMBERS and name not in file.columns.axes and name not in file.columns.ignored


def _took(file: LogFile, row: Mapping[str, Any], line: int) -> Iterator[tuple[str, float]]:
    for name in CALL_NUMBERS:
        if _is_number(file, name) and row.get(name) not in (None, ""):
            try:
                value = logged_number(name, float(_number_text(row[name])))
            except (TypeError, ValueError):
                message = f"`{name}` is not a number from 0 up: {str(row[name])[:40]}"
                help = f"correct it, or leave the column out with --ignore {name}"
                raise _row_error(file, "GC672", message, line, help) from None
            if value is not None:
                yield name, value


def _unit(file: LogFile, row: Mapping[str, Any]) -> str | None:
    """By the column that the author names, and else by `unit`."""
    stated = file.columns.unit_of(row) if file.columns.unit is not None else row.get("unit")
    return None if stated in (None, "") else intern(str(stated))


def _category(file: LogFile, row: Mapping[str, Any]) -> str | None:
    """By the column that the author names, and else by `category`."""
    stated = file.columns.category_of(row) if file.columns.category is not None else row.get("category")
    return None if stated in (None, "") else intern(str(stated))


def _text(file: LogFile, row: Mapping[str, Any], name: str, line: int) -> str:
    if row.get(name) in (None, ""):
        raise _row_error(file, "GC672", f"`{name}` is empty", line)
    return str(row[name])


def _score(file: LogFile, value: Any, line: int) -> float | None:
    if value is None or value == "":
        return None
    try:
        score = {"true": 1.0, "false": 0.0}.get(str(value).lower())
        score = float(_number_text(value)) if score is None else score
    except ValueError:
        raise _row_error(file, "GC672", f"`score` is not a number: {str(value)[:40]}", line) from None
    return score if math.isfinite(score) else None


def _integer(file: LogFile, value: Any, line: int) -> int | None:
    if value is None or value == "":
        return None
    try:
        return int(_number_text(value))
    except ValueError:
        raise _row_error(file, "GC672", f"not a whole number: {str(value)[:40]}", line) from None


def _number_text(value: Any) -> Any:
    """Raises `ValueError` for `1_0`, which is a number to Python alone."""
    if isinstance(value, str) and "_" in value:
        raise ValueError(value)
    return value


def _count(file: LogFile, value: Any, line: int) -> int | None:
    count = _integer(file, value, line)
    if count is not None and count < 0:
        raise _row_error(file, "GC672", f"`n` is not a number of items: {str(value)[:40]}", line)
    return count


def _table(file: LogFile) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Rows by the names of their columns (`column_name`), which differ."""
    names: dict[str, str] = {}
    for line, row in _rows(file):
        for header in row:
            if header not in names:
                names[header] = column_name(header)
        named = {names[header]: value for header, value in row.items()}
        if len(named) < len(row):
            raise _row_error(file, "GC672", "a column is named twice, except for upper and lower case", line)
        yield line, named


def _rows(file: LogFile) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """With the line of each; of a format that has none, its number."""
    if file.suffix == ".parquet":
        yield from enumerate(file.parquet(), start=1)
        return
    if file.suffix not in (".json", ".jsonl"):
        yield from file.table()
        return
    for line, row in file.lines() if file.suffix == ".jsonl" else enumerate(file.document, start=1):
        if not isinstance(row, dict) or not set(map(column_name, row)) >= NEEDED:
            help = 'a row whose answer has no score has `"score": null`'
            raise _row_error(file, "GC672", "a row without `model` and `score`", line, help)
        yield line, row


def _row_error(file: LogFile, code: str, message: str, line: int, help: str | None = None) -> FileError:
    if file.suffix in (".json", ".parquet"):
        return log_error(code, f"row {line:,}: {message}", file.path, help=help)
    return log_error(code, message, file.path, line, help)
