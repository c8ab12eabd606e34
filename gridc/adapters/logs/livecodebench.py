"""Results of LiveCodeBench: `output/MODEL/Scenario.codegeneration_10_0.2_eval_all.json`, an array of problems
with the programs of each and whether they pass its tests.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gridc.compiler.inputs.logs.files import LogFile
from gridc.compiler.inputs.logs.records import (
    LogAnswer,
    LogAxis,
    LogRun,
    PrintedScore,
    content_digest,
    log_axis,
    log_reader,
)
from gridc.compiler.inputs.questions import question

PACKAGE = "LiveCodeBench"
NAMES: tuple[str, ...] = ("*_eval_all.json",)
ROW = frozenset(("question_id", "output_list", "graded_list"))
SHAPES: tuple[frozenset[str], ...] = (ROW,)
log_reader(__name__, 96)
PASS = "pass@1"
SHARES = (PASS, "pass1")
"""The share of a problem's programs that pass, now and in older results."""
NAMED = re.compile(
    r"(?:Scenario\.)?(?P<scenario>[a-z]+)(?:_\d+(?:_\d+)?_(?P<temperature>[\d.]+))?(?P<cot>_cot)?_eval_all(?P<rest>.*)"
)
ASKED = ("question_content", "starter_code", "code", "function_name", "input")
"""What a problem asks, by the scenario."""
FIELDS = ("difficulty", "platform", "contest_id", "contest_date", "question_title")
UNKNOWN = (
    "prompts",
    "decoding, except in the name of the file",
    "requests that failed: they are empty texts",
    "cut off answers",
    "the release of the problems, and versions",
)


def claims(file: LogFile) -> bool:
    return file.suffix == ".json" and file.keys >= ROW and isinstance(file.document, list)


def belongs(file: LogFile) -> bool:
    """Outputs and metrics beside the results, which have these too."""
    stem = file.stem.removesuffix("_eval")
    return file.suffix == ".json" and file.sibling(f"{stem}_eval_all.json") is not None


class _Problem(NamedTuple):
    id: str
    content: bytes
    asked: str | None
    graded: tuple[bool, ...]
    outputs: tuple[Any, ...]
    share: float | None
    fields: Mapping[str, Any]


def runs(file: LogFile) -> Iterator[LogRun]:
    """One run; several programs for a problem are repetitions."""
    problems = list(file.read_rows(PACKAGE, _problem))
    scenario, axes = _named(file)
    benchmark = f"{PACKAGE} {scenario}".rstrip()
    shares = [one.share for one in problems if one.share is not None]
    yield LogRun(
        path=file.path,
        package=PACKAGE,
        version="",
        digest=file.digest,
        model=file.path.resolve().parent.name,
        benchmark=benchmark,
        axes={"task": log_axis("prompt", benchmark), **axes},
        readings=(PASS,),
        samples=partial(_answers, file.path),
        printed={PASS: PrintedScore(sum(shares) / len(shares), len(shares), True)} if shares else {},
        unknown=UNKNOWN,
    )


def _named(file: LogFile) -> tuple[str, dict[str, LogAxis]]:
    found = NAMED.fullmatch(file.stem)
    if found is None:
        return "", {}
    return found["scenario"], {
        "temperature": log_axis("request", found["temperature"] or "unknown"),
        "cot": log_axis("prompt", "yes" if found["cot"] else "no"),
        **({"run": log_axis("request", found["rest"].strip("_"))} if found["rest"].strip("_") else {}),
    }


def _problem(row: Mapping[str, Any]) -> _Problem:
    graded, outputs = row["graded_list"], row["output_list"]
    share = next((row[name] for name in SHARES if name in row), None)
    if not isinstance(graded, list) or not graded or not all(isinstance(one, bool) for one in graded):
        raise TypeError(f"`graded_list` is {str(graded)[:40]}")
    if not isinstance(outputs, list) or len(outputs) != len(graded):
        raise ValueError(f"{len(graded):,} programs are graded, and `output_list` is {str(outputs)[:40]}")
    parts = [row["question_id"], *(row[name] for name in ("test_id", "id") if name in row)]
    asked = [row[name] for name in ASKED if isinstance(row.get(name), str)]
    if not isinstance(row.get("difficulty"), str | None):
        raise TypeError(f"`difficulty` is {str(row['difficulty'])[:40]}")
    return _Problem(
        " ".join(map(str, parts)),
        content_digest([parts, asked]),
        "\n".join(filter(None, asked)) or None,
        tuple(graded),
        tuple(outputs),
        None if share is None else float(share),
        {name: row[name] for name in FIELDS if name in row},
    )


def _answers(path: Path) -> Iterator[LogAnswer]:
    for one in LogFile(path).read_rows(PACKAGE, _problem):
        for number, (passed, text) in enumerate(zip(one.graded, one.outputs, strict=True)):
            yield LogAnswer(
                id=one.id,
                content=one.content,
                epoch=number,
                scores={PASS: float(passed)},
                state="read" if passed or not isinstance(text, str) or text.strip() else "unreadable",
                prompt=one.asked,
                answer=text if isinstance(text, str) else None,
                question=partial(question, (one.asked or "",)),
                fields=one.fields,
                category=one.fields.get("difficulty"),
            )
