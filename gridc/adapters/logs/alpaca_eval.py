"""Annotations of AlpacaEval: `results/MODEL/ANNOTATOR/annotations.json`, for each instruction a preference
between the model's answer and the baseline's.

A preference is 1 where the baseline wins, 2 where the model does, and between the two where the annotator is
weighted; 1.5 is a draw, and so is 0 of older annotators. The model's score is the preference less 1.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gridc.compiler.inputs.logs.files import LogFile, log_error
from gridc.compiler.inputs.logs.records import (
    LogAnswer,
    LogRun,
    PrintedScore,
    content_digest,
    log_axis,
    log_reader,
)
from gridc.compiler.inputs.questions import question

PACKAGE = "AlpacaEval"
ANNOTATIONS, LEADERBOARD = "annotations.json", "leaderboard.csv"
NAMES: tuple[str, ...] = (ANNOTATIONS,)
ROW = frozenset(("instruction", "generator_1", "generator_2", "preference"))
OUTPUTS = frozenset(("instruction", "output", "generator"))
SHAPES: tuple[frozenset[str], ...] = (ROW,)
log_reader(__name__, 91)
WIN_RATE, DISCRETE = "win_rate", "discrete_win_rate"
LENGTH_CONTROLLED = "length_controlled_winrate"
DRAW = (0, 1.5)
UNKNOWN = (
    "the annotator's model and prompt, except for its name",
    "decoding, prompts and versions of the models",
    "the length-controlled win rate, which is a regression over all models",
)


def claims(file: LogFile) -> bool:
    return file.suffix == ".json" and file.keys >= ROW and isinstance(file.document, list)


def belongs(file: LogFile) -> bool:
    """The outputs of a model, which its annotations have too, and the leaderboard beside these."""
    if file.name == LEADERBOARD:
        return file.sibling(ANNOTATIONS) is not None
    if file.suffix != ".json" or not file.keys >= OUTPUTS:
        return False
    folder = file.path.resolve().parent
    return any(folder.glob(f"*/{ANNOTATIONS}")) or file.sibling(ANNOTATIONS) is not None


class _JudgedAnswer(NamedTuple):
    """A row, seen from its model."""

    model: str
    baseline: str
    annotator: str
    instruction: str
    dataset: str | None
    answer: str | None
    preference: float | None


def runs(file: LogFile) -> Iterator[LogRun]:
    """A run for each model, baseline and annotator of the file; mostly one."""
    rows: defaultdict[tuple[str, str, str], list[_JudgedAnswer]] = defaultdict(list)
    for row in _rows(file):
        rows[row.model, row.baseline, row.annotator].append(row)
    for (model, baseline, annotator), own in rows.items():
        yield LogRun(
            path=file.path,
            package=PACKAGE,
            version="",
            digest=file.digest,
            model=_submitted(file.path, model, annotator),
            benchmark=PACKAGE,
            axes={
                "task": log_axis("prompt", PACKAGE),
                "annotator": log_axis("score", annotator),
                "baseline": log_axis("score", baseline),
            },
            readings=(WIN_RATE, DISCRETE),
            samples=partial(_answers, file.path, (model, baseline, annotator)),
            printed=_counted(own) | dict(_printed(file, model)),
            unknown=UNKNOWN,
            remark=_remark(file.path, own),
        )


def _submitted(path: Path, model: str, annotator: str) -> str:
    """The name of the submission's folder, as on AlpacaEval's leaderboard; several submissions may state one
    generator."""
    folder = path.resolve().parent
    if folder.name != annotator:
        return model
    while folder.name == annotator:  # AlpacaEval's own results have such a folder within itself
        folder = folder.parent
    return folder.name


def _rows(file: LogFile) -> Iterator[_JudgedAnswer]:
    """Of a pair that was judged in both orders, the row that has the model first is read from its side."""
    orders: set[tuple[str, str]] = set()
    for row in file.read_rows(PACKAGE, _judged):
        if row[0].model != row[0].baseline and (row[0].baseline, row[0].model) in orders:
            yield row[1]
        else:
            orders.add((row[0].model, row[0].baseline))
            yield row[0]


def _judged(row: Mapping[str, Any]) -> tuple[_JudgedAnswer, _JudgedAnswer]:
    """A row as it is, and with the two generators exchanged."""
    first, second = _text(row["generator_1"]), _text(row["generator_2"])
    annotator, dataset = row.get("annotator"), row.get("dataset")
    same = (
        "unknown" if annotator is None else _text(annotator),
        _text(row["instruction"]),
        None if dataset is None else _text(dataset),
    )
    given = row["preference"]
    if isinstance(given, bool) or not isinstance(given, int | float | None):
        raise TypeError(f"a preference of {str(given)[:40]}")
    # A parser that reads nothing leaves none or NaN; AlpacaEval counts no other number either.
    known = 1.5 if given in DRAW else given if given is not None and 1 <= given <= 2 else None
    return (
        _JudgedAnswer(second, first, *same, row.get("output_2"), known),
        _JudgedAnswer(first, second, *same, row.get("output_1"), None if known is None else 3 - known),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"`{str(value)[:40]}` is not a text")
    return value


def _answers(path: Path, which: tuple[str, str, str]) -> Iterator[LogAnswer]:
    """Of an instruction that was judged several times the mean of its preferences counts."""
    judged: dict[str, list[_JudgedAnswer]] = {}
    for row in _rows(LogFile(path)):
        if (row.model, row.baseline, row.annotator) == which:
            judged.setdefault(row.instruction, []).append(row)
    for instruction, rows in judged.items():
        first, content = rows[0], content_digest(instruction)
        wins, discrete = _points(rows)
        yield LogAnswer(
            id=f"{first.dataset or 'instruction'} {content.hex()[:10]}",
            content=content,
            epoch=0,
            scores={WIN_RATE: _mean(wins), DISCRETE: _mean(discrete)},
            state="read" if wins else "unscored",
            prompt=instruction,
            answer=first.answer,
            question=partial(question, (instruction,)),
            fields={"dataset": first.dataset},
            category=first.dataset,
        )


def _points(rows: Sequence[_JudgedAnswer]) -> tuple[list[float], list[float]]:
    """What each preference earns under either reading."""
    known = [row.preference for row in rows if row.preference is not None]
    return [one - 1 for one in known], [(one > 1.5) + (one == 1.5) / 2 for one in known]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _counted(rows: Sequence[_JudgedAnswer]) -> dict[str, PrintedScore]:
    """The rates as AlpacaEval counts them: over rows, without those that have no preference."""
    rates = zip((WIN_RATE, DISCRETE), _points(rows), strict=True)
    return {name: PrintedScore(_mean(points), len(points)) for name, points in rates}


def _printed(file: LogFile, model: str) -> Iterator[tuple[str, PrintedScore]]:
    """The row of the leaderboard that AlpacaEval writes beside its annotations."""
    board = file.sibling(LEADERBOARD)
    for line, row in board.table() if board is not None else ():
        if next(iter(row.values())) != model:
            continue
        for name in (WIN_RATE, DISCRETE, LENGTH_CONTROLLED):
            if row.get(name):
                try:
                    value, items = float(row[name]) / 100, int(float(row["n_total"]))
                except (KeyError, ValueError, OverflowError) as error:
                    message = f"not a row of a leaderboard: {str(error)[:100]}"
                    raise log_error("GC672", message, board.path if board else file.path, line) from None
                yield name, PrintedScore(value, items, mean=name != LENGTH_CONTROLLED)


def _remark(path: Path, rows: Sequence[_JudgedAnswer]) -> str | None:
    several = len(rows) - len({row.instruction for row in rows})
    named = _submitted(path, rows[0].model, rows[0].annotator)
    if rows[0].model == rows[0].baseline:
        return "the model is the baseline itself, so that every answer is a draw with itself"
    if not several:
        return None if named == rows[0].model else f"its answers are of the generator `{rows[0].model}`"
    return (
        f"{several:,} rows judge an instruction again, some perhaps in the other order: the mean of an "
        "instruction's preferences counts, where AlpacaEval counts every row"
    )
