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
    alpaca_eval,
    arena_hard,
    bbq,
    evalplus,
    every_eval,
    helm,
    inspect_ai,
    lighteval,
    livecodebench,
    lm_eval,
    mmlu_pro,
    openai_evals,
    opencompass,
    plain,
    promptfoo,
    resolved,
    tau_bench,
)
from gridc.compiler.inputs.logs import read_logs
from gridc.compiler.inputs.logs.files import LogFile
from gridc.compiler.inputs.logs.records import LOG_READERS, LogReader, content_digest
from tests.compiler import leaderboards as published
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


def of_alpaca_eval(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    return published.alpaca_eval(folder, [1 + score for score in scores]), "win_rate"


def of_mmlu_pro(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    return published.mmlu_pro(folder, [("BA"[score], 4, "x") for score in scores]), "acc"


def of_tau_bench(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    rewards = [[float(score)] for score in scores]
    return published.tau_bench(folder / "small-airline.json", rewards), "pass^1"


def of_bbq(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    """Of an ambiguous context, so that what is unknown is right, and in one format."""
    said = [(published.OLD, published.UNKNOWN)[score] for score in scores]
    path = published.bbq(folder, [text for one in said for text in (one, "")])
    rows = [json.loads(line) for line in path.read_text().splitlines()[::2]]
    for n, row in enumerate(rows):
        row["example_id"] = n
        del row["small_pred_qonly"]
    return published.lines(path, rows), "accuracy"


def of_arena_hard(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    games = [("A>B", "B>A") if score == 0 else ("B>A", "A>B") for score in scores]
    return published.arena_hard(folder, games), "win_rate"


def of_livecodebench(folder: Path, scores: Sequence[int]) -> tuple[Path, str]:
    return published.livecodebench(folder, [[bool(score)] for score in scores]), "pass@1"


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
    "alpaca_eval": (alpaca_eval, of_alpaca_eval),
    "mmlu_pro": (mmlu_pro, of_mmlu_pro),
    "tau_bench": (tau_bench, of_tau_bench),
    "bbq": (bbq, of_bbq),
    "arena_hard": (arena_hard, of_arena_hard),
    "livecodebench": (livecodebench, of_livecodebench),
}
"""By the name of the reader."""
BY_DIGEST = {content_digest(f"Do {n}.").hex()[:10]: n for n in range(40)}
"""The number of an instruction of AlpacaEval, whose items are named by the digest of theirs."""


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
        BY_DIGEST.get(items[item][-10:], int("0" + "".join(filter(str.isdigit, items[item])))): score
        for item, score in zip(column.item.tolist(), column.score.tolist(), strict=True)
        if score == score
    }
    failed = {3} if name == "helm" else set()
    assert sorted({*read, *failed}) == list(range(len(scores)))
    assert read == {n: score for n, score in enumerate(scores) if n not in failed}
    claiming = [each for each, other in LOG_READERS.items() if other.claims(LogFile(path, None))]
    assert claiming[0] == name, "the first reader that claims a file reads it"
