"""Results of OpenCompass: `results/MODEL/DATASET.json` with its details, and the texts of
`predictions/MODEL/DATASET.json`, a whole file or parts `DATASET_0.json`, `DATASET_1.json`.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gridc.compiler.inputs.logs.files import LogFile, log_error
from gridc.compiler.inputs.logs.records import LogAnswer, LogRun, PrintedScore, log_axis, log_reader

PACKAGE = "OpenCompass"
NAMES: tuple[str, ...] = ()
MARKS = ("cascade_correct", "correct", "is_correct")
"""What evaluators call the score of an answer; the first one that a row has counts."""
ROW = frozenset((*MARKS, "origin_prediction", "example_abbr"))
SHAPES: tuple[frozenset[str], ...] = (
    frozenset(("details", "accuracy", *MARKS)),
    frozenset(("origin_prompt", "prediction")),
)
log_reader(__name__, 70)
ACCURACY = "accuracy"
READING = "correct"
UNKNOWN = (
    "what is asked: items match by their place in the dataset",
    "decoding and template, except in the prompts",
    "failed requests: they are empty answers",
    "unreadable and cut off answers",
    "versions",
)


def claims(file: LogFile) -> bool:
    """Results with details by their rows; those without, which are a score alone, by their folder."""
    if file.suffix != ".json" or not isinstance(file.document, dict):
        return False
    if "details" in file.keys:
        first = next(iter(_rows(file.document["details"])), (None, None))[1]
        return isinstance(first, dict) and bool(ROW & first.keys())
    return (
        _folder(file).parent.name == "results" and bool(_predictions(file)) and bool(_scores(file.document))
    )


def belongs(file: LogFile) -> bool:
    """Predictions are read with their results."""
    if _folder(file).parent.name != "predictions" or file.suffix != ".json":
        return False
    results = _folder(file).parent.parent / "results" / _folder(file).name
    names = {file.stem, file.stem.rpartition("_")[0]}
    return any((results / f"{name}.json").is_file() for name in names)


def _folder(file: LogFile) -> Path:
    return file.path.resolve().parent


def _scores(document: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in document.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _rows(details: Any) -> Iterator[tuple[str, Any]]:
    """By their place; beside them a table may say the `type` of the dataset."""
    if isinstance(details, list):
        yield from ((str(number), row) for number, row in enumerate(details))
    elif isinstance(details, dict):
        yield from ((key, row) for key, row in details.items() if key != "type")


def runs(file: LogFile) -> Iterator[LogRun]:
    """One run; several replicas are repetitions. Where no row has a score, its aggregates."""
    document = file.document
    rows = list(_rows(document.get("details")))
    scored = any(_mark(row) is not None for _, row in rows)
    printed = _scores(document)
    own = {
        READING: PrintedScore(
            printed[ACCURACY] / 100,
            len(rows),
            mean=all(_marks(row)[0] is not None for _, row in rows),
        )
    } if scored and ACCURACY in printed else {}  # fmt: skip
    aggregates = {name: PrintedScore(value, None) for name, value in printed.items()}
    predictions = _predictions(file)
    unknown = UNKNOWN if scored else (*UNKNOWN, "scores of items (run with --dump-eval-details)")
    model, benchmark = _folder(file).name, file.stem
    yield LogRun(
        path=file.path,
        package=PACKAGE,
        version="",
        digest=file.digest,
        model=model,
        benchmark=benchmark,
        axes={"task": log_axis("prompt", benchmark)},
        readings=(READING,) if scored else tuple(aggregates),
        samples=partial(_answers, file, rows, predictions) if scored else None,
        printed=own if scored else aggregates,
        unknown=unknown
        if predictions
        else (*unknown, "prompts and answers (no predictions beside the results)"),
        not_read=() if scored or not rows else ("details, whose rows have no score",),
    )


def _mark(row: Mapping[str, Any]) -> str | None:
    return next((name for name in MARKS if name in row), None)


def _marks(row: Mapping[str, Any]) -> Sequence[Any]:
    """The scores of a row, one for each replica."""
    name = _mark(row)
    value = None if name is None else row[name]
    return value or [None] if isinstance(value, list) else [value]


def _predictions(file: LogFile) -> list[Path]:
    folder = _folder(file).parent.parent / "predictions" / _folder(file).name
    whole = folder / file.name
    if whole.is_file():
        return [whole]
    parts: list[Path] = []
    while (part := folder / f"{file.stem}_{len(parts)}.json").is_file():
        parts.append(part)
    return parts


def _answers(
    file: LogFile, rows: Sequence[tuple[str, Any]], predictions: Sequence[Path]
) -> Iterator[LogAnswer]:
    texts: list[Mapping[str, Any]] = []
    for path in predictions:
        document = LogFile(path).document
        texts += (document[str(number)] for number in range(len(document)))
    for place, (key, row) in enumerate(rows):
        for epoch, value in enumerate(_marks(row)):
            if not isinstance(value, bool | int | float | None):
                message = f"details, {key}: `{_mark(row)}` is {str(value)[:40]}, and no score"
                raise log_error("GC672", message, file.path)
            number = epoch * len(rows) + place
            text = texts[number] if number < len(texts) else {}
            yield LogAnswer(
                id=str(row.get("example_abbr") or key),
                content=None,
                epoch=epoch,
                scores={READING: None if value is None else float(value)},
                state="unscored" if value is None else "read",
                prompt=_text(text.get("origin_prompt")),
                answer=_text(text.get("prediction")),
            )


def _text(value: Any) -> str | None:
    """A prompt may be messages, and a prediction several texts."""
    if isinstance(value, list):
        parts = [one.get("prompt") if isinstance(one, dict) else one for one in value]
        return "\n".join(str(part) for part in parts if part is not None)
    return value if value is None or isinstance(value, str) else str(value)
