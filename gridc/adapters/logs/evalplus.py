"""Results of EvalPlus: `..._eval_results.json`, each program run on the base tests and on the extra ones.

As EvalPlus counts it, a program passes `plus` if it passes the base tests and the extra ones.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gridc.compiler.inputs.logs.files import LogFile, log_error
from gridc.compiler.inputs.logs.records import LogAnswer, LogAxis, LogRun, PrintedScore, log_axis, log_reader

PACKAGE = "EvalPlus"
NAMES: tuple[str, ...] = ("*eval_results.json",)
RESULTS = frozenset(("date", "hash", "eval"))
SHAPES: tuple[frozenset[str], ...] = (RESULTS,)
log_reader(__name__, 80)
ENDED: Mapping[str | None, float | None] = {
    "pass": 1.0, "success": 1.0, "fail": 0.0, "failed": 0.0, "timeout": 0.0, "timed out": 0.0, None: None,
}  # fmt: skip
"""What a status earns, by its names now and before 0.3. A program that runs too long is wrong."""
SAMPLES = re.compile(r"(?P<model>.+)_(?P<backend>[a-z]+)_temp_(?P<temperature>[\d.]+)(?P<rest>.*)")
"""How EvalPlus names the samples of a model; `--` stands for the slash of its name."""
UNKNOWN = (
    "what is asked: items match by id",
    "prompts",
    "decoding, except in the name of the file",
    "requests that failed: they are empty programs",
    "versions",
)


def claims(file: LogFile) -> bool:
    return file.suffix == ".json" and file.keys >= RESULTS


def belongs(file: LogFile) -> bool:
    """Samples, as they are or before they were sanitized, beside their results."""
    stem = file.stem.removesuffix(".raw")
    return file.suffix == ".jsonl" and file.sibling(f"{stem}_eval_results.json") is not None


class _Program(NamedTuple):
    base: float | None
    plus: float | None
    text: str | None


def runs(file: LogFile) -> Iterator[LogRun]:
    """One run of the programs of one benchmark; of several programs for a task the later ones repeat it."""
    document = file.document
    tasks = {task: list(_programs(file, task, found)) for task, found in document["eval"].items()}
    every = [program for programs in tasks.values() for program in programs]
    plus = any(program.plus is not None for program in every)
    prefixes = {task.partition("/")[0].lower() for task in tasks}
    benchmark = prefixes.pop() if len(prefixes) == 1 else _folder(file).name
    model, axes = _named(file)
    yield LogRun(
        path=file.path,
        package=PACKAGE,
        version="",
        digest=file.digest,
        model=model,
        benchmark=benchmark,
        axes={
            "task": log_axis("prompt", benchmark),
            **axes,
            "dataset": log_axis("prompt", str(document["hash"])),
        },
        readings=("base", "plus") if plus else ("base",),
        samples=partial(_answers, tasks, plus),
        printed=dict(_printed(document, len(tasks))),
        unknown=UNKNOWN,
    )


def _programs(file: LogFile, task: str, found: Any) -> Iterator[_Program]:
    """Of a task; before 0.3 a table of lists that have a status and the result of each test."""
    rows: Sequence[tuple[Any, Any, Any]]
    if isinstance(found, dict):
        base, plus = found["base"], found["plus"] or [[None]] * len(found["base"])
        rows = [(a[0], b[0], None) for a, b in zip(base, plus, strict=True)]
    else:
        rows = [(row["base_status"], row["plus_status"], row.get("solution")) for row in found]
    for statuses in rows:
        for status in statuses[:2]:
            if status not in ENDED:
                message = f"{task}: `{str(status)[:40]}` is not a status"
                help = f"known: {', '.join(filter(None, ENDED))}"
                raise log_error("GC672", message, file.path, help=help)
        earned, extra = ENDED[statuses[0]], ENDED[statuses[1]]
        both = None if earned is None or extra is None else min(earned, extra)
        yield _Program(earned, both, statuses[2])


def _answers(tasks: Mapping[str, Sequence[_Program]], plus: bool) -> Iterator[LogAnswer]:
    for task, programs in tasks.items():
        for number, program in enumerate(programs):
            scores = {"base": program.base, "plus": program.plus} if plus else {"base": program.base}
            empty = program.text is not None and not program.text.strip()
            yield LogAnswer(
                id=task,
                content=None,
                epoch=number,
                scores=scores,
                state="unscored" if program.base is None else "unreadable" if empty else "read",
                answer=program.text,
            )


def _printed(document: Mapping[str, Any], items: int) -> Iterator[tuple[str, PrintedScore]]:
    for reading, values in (document.get("pass_at_k") or {}).items():
        yield reading, PrintedScore(values.get("pass@1"), items, mean=True)


def _folder(file: LogFile) -> Path:
    return file.path.resolve().parent


def _named(file: LogFile) -> tuple[str, dict[str, LogAxis]]:
    """The model and what the file's name says of how it was asked; samples that are files have a folder."""
    stem = file.stem.removesuffix("eval_results").rstrip("_") or _folder(file).name
    found = SAMPLES.fullmatch(stem)
    if found is None:
        return stem, {}
    axes = {
        "temperature": log_axis("request", found["temperature"]),
        "backend": log_axis("request", found["backend"], own=True),
        "programs": log_axis("score", found["rest"].strip(".-_") or "sanitized"),
    }
    return found["model"].replace("--", "/"), axes
