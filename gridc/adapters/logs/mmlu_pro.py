"""Outputs of MMLU-Pro: `model_outputs_MODEL_5shots.json`, as it is or in a zip, a row for each question with
what was read of the answer in `pred`; or such rows of one category in the folder of a model.

Where nothing was read, MMLU-Pro's own code draws an option at random and counts what it draws. No file has
that draw, so such a score cannot be computed again. `acc` counts these answers as wrong, `acc_guessing` as 1
in the number of options, which is what the draw earns on average.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gridc.compiler.inputs.logs.files import LogFile
from gridc.compiler.inputs.logs.records import LogAnswer, LogRun, log_axis, log_reader
from gridc.compiler.inputs.questions import question
from gridc.schema.comparison import AnswerState

PACKAGE = "MMLU-Pro"
NAMES: tuple[str, ...] = ("model_outputs_*shot*.zip", "model_outputs_*shot*.json")
ROW = frozenset(("question_id", "question", "options", "answer", "answer_index", "pred"))
SHAPES: tuple[frozenset[str], ...] = (ROW,)
log_reader(__name__, 92)
ACC, GUESSING = "acc", "acc_guessing"
OUTPUTS = ("model_outputs", "generated_text")
"""Where the text of an answer stands, by the script that asked."""
NAMED = re.compile(r"model_outputs_(?P<model>.+?)_(?P<shots>\d+)-?shots(?P<rest>.*)")
UNKNOWN = (
    "the options that MMLU-Pro draws where nothing was read: such answers are wrong in `acc`",
    "whether a question was revised: items match by `question_id`",
    "prompts, decoding and versions",
    "requests that failed, except those without a text",
    "cut off answers",
)


def claims(file: LogFile) -> bool:
    return file.suffix == ".json" and file.keys >= ROW and isinstance(file.document, list)


def belongs(file: LogFile) -> bool:
    return False


class _ReadOption(NamedTuple):
    id: str
    category: str
    source: str | None
    question: str
    options: tuple[str, ...]
    answer: str
    read: str | None
    text: str | None
    failed: bool


def runs(file: LogFile) -> Iterator[LogRun]:
    """One run; of rows of one category, a benchmark of its own."""
    rows = list(_rows(file))
    model, axes = _named(file)
    categories = {row.category for row in rows}
    benchmark = f"{PACKAGE} {rows[0].category}" if len(categories) == 1 else PACKAGE
    yield LogRun(
        path=file.path,
        package=PACKAGE,
        version="",
        digest=file.digest,
        model=model,
        benchmark=benchmark,
        axes={"task": log_axis("prompt", benchmark), **axes},
        readings=(ACC, GUESSING),
        samples=partial(_answers, file.path),
        unknown=UNKNOWN,
        remark=_remark(file, rows),
    )


def _named(file: LogFile) -> tuple[str, dict[str, Any]]:
    """The model and the shots, by the name of the file; else the model by that of the folder."""
    found = NAMED.fullmatch(file.stem.removesuffix(".json"))
    if found is None:
        return file.path.resolve().parent.name, {}
    return found["model"], {
        "shots": log_axis("prompt", found["shots"]),
        **({"run": log_axis("request", found["rest"].strip("_-"))} if found["rest"].strip("_-") else {}),
    }


def _rows(file: LogFile) -> Iterator[_ReadOption]:
    """Without the names that stand among the rows where summaries were merged with them."""
    names = {row["category"] for row in file.document if isinstance(row, dict) and "category" in row}
    return file.read_rows(
        PACKAGE, _row, skipped=lambda row: isinstance(row, str) and (row == "total" or row in names)
    )


def _row(row: Mapping[str, Any]) -> _ReadOption:
    given, options = row["pred"], row["options"]
    place, outputs = row["answer_index"], [row[name] for name in OUTPUTS if name in row]
    if not isinstance(given, str | None) or not isinstance(place, int):
        raise TypeError(f"`pred` {str(given)[:20]} or `answer_index` {str(place)[:20]}")
    if not isinstance(options, list) or not 0 <= place < len(options):
        raise ValueError(f"option {place} of {str(options)[:40]}")
    return _ReadOption(
        str(row["question_id"]),
        str(row.get("category", "")),
        row.get("src"),
        str(row["question"]),
        tuple(map(str, options)),
        row["answer"],
        given or None,
        next((text for text in outputs if text is not None), None),
        outputs == [None],
    )


def _answers(path: Path) -> Iterator[LogAnswer]:
    for row in _rows(LogFile(path)):
        right = float(row.read == row.answer)
        guessed = 1 / len(row.options) if row.read is None else right
        state: AnswerState = "failed" if row.failed else "unreadable" if row.read is None else "read"
        yield LogAnswer(
            id=row.id,
            content=None,
            epoch=0,
            scores={ACC: right, GUESSING: guessed},
            state=state,
            prompt=row.question,
            answer=row.text,
            question=partial(_asked, row),
            fields={"category": row.category, "src": row.source},
            category=row.category,
        )


def _asked(row: _ReadOption) -> Any:
    right = row.options[ord(row.answer) - ord("A")] if row.answer.isalpha() and len(row.answer) == 1 else ""
    return question((row.question,), row.options, [right] if right else [])


def _remark(file: LogFile, rows: Sequence[_ReadOption]) -> str | None:
    names = len(file.document) - len(rows)
    return f"{names:,} names of categories stand among its rows, and are not read" if names else None
