"""Every reader of logs is tried on scores that are drawn, written as its package writes them, and read.

What the scores are is drawn here, and not by whoever describes a format: a reader for which every answer is
right, or one that takes another column, fails. A reader without a description fails too.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

from gridc.adapters.logs import (
    evalplus,
    every_eval,
    helm,
    inspect_ai,
    lighteval,
    lm_eval,
    openai_evals,
    opencompass,
    plain,
    promptfoo,
    resolved,
)
from gridc.compiler.inputs.logs import read_logs
from gridc.compiler.inputs.logs.files import LogFile
from gridc.compiler.inputs.logs.records import LOG_READERS, LogReader
from tests.compiler import test_log_formats as logged
from tests.e2e.test_logs import harness_log

Write = Callable[[Path, Sequence[int]], tuple[Path, str]]
"""Writes a log of these scores, 0 or 1 by item; the file, and the reading that has them."""


def of_lm_eval(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    rows: list[dict[str, object]] = [{"question": f"Question {n}?"} for n in range(len(scores))]
    harness_log(folder / "run", rows, list(scores))
    return folder / "run" / "results_t.json", "acc,none"


def of_inspect_ai(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    samples = [
        {"id": n, "epoch": 1, "input": f"{n}?", "target": "x", "scores": {"match": {"value": "IC"[score]}}}
        for n, score in enumerate(scores)
    ]
    return logged.written(folder / "log.json", {
        "version": 2, "status": "success", "plan": {}, "samples": samples,
        "results": {"total_samples": len(scores), "scores": []},
        "eval": {"model": "m", "task": "quiz", "task_version": 0},
    }), "match"  # fmt: skip


def of_promptfoo(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    path = folder / "log.jsonl"
    rows = [
        {"prompt": {"raw": f"{n}?", "label": "q: {{n}}?"}, "promptIdx": 0, "provider": {"label": "m"},
         "response": {"output": "x"}, "score": 0.5, "success": bool(score), "testIdx": n, "vars": {"n": n},
         "namedScores": {}, "failureReason": 1 - score}
        for n, score in enumerate(scores)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path, "success"


def of_every_eval(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    path = folder / "run_samples.jsonl"
    rows = [
        {"schema_version": "0.3.0", "evaluation_id": "e", "model_id": "m", "evaluation_name": "quiz",
         "sample_id": str(n), "input": {"raw": f"{n}?", "reference": ["x"]},
         "evaluation": {"score": float(score), "is_correct": bool(score)}}
        for n, score in enumerate(scores)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path, "score"


def of_helm(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    # A fourth request fails in this log, and what HELM says then is no score: see `test_helm_by_its_folder`.
    return logged.helm(folder, {f"id{n}": float(score) for n, score in enumerate(scores)}), "exact_match"


def of_lighteval(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    mean = sum(scores) / len(scores)
    return logged.lighteval(folder, [{"em": float(score)} for score in scores], mean, docs=len(scores)), "em"


def of_opencompass(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    details = {
        str(n): {"pred": "A", "refr": "B", "is_correct": bool(score)} for n, score in enumerate(scores)
    }
    accuracy = 100 * sum(scores) / len(scores)
    return logged.opencompass(folder, {"type": "GEN", **details}, accuracy), "correct"


def of_evalplus(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    ends = ("fail", "pass")
    rows = {f"HumanEval/{n}": [(ends[score], "fail", "def f(): 0")] for n, score in enumerate(scores)}
    return logged.evalplus(folder / "humaneval" / "m_vllm_temp_0.0_eval_results.json", rows), "base"


def of_openai_evals(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    events = [(f"sums.{n}", "match", {"correct": bool(score)}) for n, score in enumerate(scores)]
    return logged.openai_evals(folder / "log.jsonl", events, {"accuracy": sum(scores) / len(scores)}), "match"


def of_resolved(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    ids = {score: [f"x-{n}" for n, own in enumerate(scores) if own == score] for score in (0, 1)}
    return logged.written(
        folder / "m.run.json", {"resolved_ids": ids[1], "unresolved_ids": ids[0]}
    ), "resolved"


def of_plain(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    path = folder / "scores.csv"
    rows = [f"m,quiz,q{n},{score}" for n, score in enumerate(scores)]
    path.write_text("\n".join(["model,benchmark,item,score", *rows]) + "\n")
    return path, "score"


LOGS: Mapping[str, tuple[LogReader, Write]] = {
    "lm_eval": (lm_eval, of_lm_eval),
    "inspect_ai": (inspect_ai, of_inspect_ai),
    "promptfoo": (promptfoo, of_promptfoo),
    "every_eval": (every_eval, of_every_eval),
    "helm": (helm, of_helm),
    "lighteval": (lighteval, of_lighteval),
    "opencompass": (opencompass, of_opencompass),
    "evalplus": (evalplus, of_evalplus),
    "openai_evals": (openai_evals, of_openai_evals),
    "resolved": (resolved, of_resolved),
    "plain": (plain, of_plain),
}
"""By the name of the reader."""


@pytest.mark.parametrize("name", LOGS)
def test_a_reader_reads_the_scores_that_were_drawn(name: str, tmp_path: Path) -> None:
    reader, write = LOGS[name]
    assert LOG_READERS[name] is reader
    count = 4 if name == "opencompass" else 20  # of which its predictions have texts
    scores = Random(name).sample([0, 1] * count, count)
    assert set(scores) == {0, 1}
    path, reading = write(tmp_path, scores)
    logs = read_logs([path])
    (run,) = logs.runs
    items = logs.items[run.run.benchmark].ids
    column = run.columns[reading]
    read = {
        int("".join(filter(str.isdigit, items[item]))): score
        for item, score in zip(column.item.tolist(), column.score.tolist(), strict=True)
        if score == score
    }
    failed = {3} if name == "helm" else set()
    assert sorted({*read, *failed}) == list(range(len(scores)))
    assert read == {n: score for n, score in enumerate(scores) if n not in failed}
    claiming = [each for each, other in LOG_READERS.items() if other.claims(LogFile(path, None))]
    assert claiming[0] == name, "the first reader that claims a file reads it"
