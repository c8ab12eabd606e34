"""Small logs in the forms of lm-evaluation-harness and of Inspect, with invented answers."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple


class Doc(NamedTuple):
    """A document of a task with its score and all texts that were generated for it."""

    question: str
    score: float
    texts: Sequence[str] = ("x",)


def harness(
    folder: Path,
    model: str,
    tasks: Mapping[str, Sequence[Doc]],
    groups: Mapping[str, tuple[Sequence[str], float | None]] | None = None,
    config: Mapping[str, Any] | None = None,
    printed: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """A run of lm-evaluation-harness. `groups` are tasks, or groups, by name, with the score that is printed;
    `config` is what every task states beside; `printed` is put into the results of a task."""
    folder.mkdir(parents=True)
    results: dict[str, dict[str, Any]] = {}
    for task, docs in tasks.items():
        rows = [
            {
                "doc_id": number,
                "doc": {"question": doc.question},
                "target": "x",
                "arguments": {"gen_args_0": {"arg_0": doc.question, "arg_1": {}}},
                "resps": [list(doc.texts)],
                "filtered_resps": [doc.texts[0]],
                "filter": "none",
                "metrics": ["exact_match"],
                "exact_match": doc.score,
            }
            for number, doc in enumerate(docs)
        ]
        (folder / f"samples_{task}_t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        scores = [doc.score for doc in docs]
        error = stdev(scores) / len(scores) ** 0.5 if len(scores) > 1 else "N/A"
        results[task] = {"alias": task, "exact_match,none": fmean(scores), "exact_match_stderr,none": error}
        results[task] |= (printed or {}).get(task, {})
    own = {name: _group(name, score) for name, (_, score) in (groups or {}).items()}
    stated = {"output_type": "generate_until", "metric_list": [{"metric": "exact_match"}], **(config or {})}
    document = {
        "results": {**results, **own},
        "groups": own,
        "group_subtasks": {name: list(tasks) for name, (tasks, _) in (groups or {}).items()},
        "configs": {task: {"task": task, **stated} for task in tasks},
        "n-shot": dict.fromkeys(tasks, 0),
        "n-samples": {task: {"original": len(docs), "effective": len(docs)} for task, docs in tasks.items()},
        "config": {"model_args": {"pretrained": model}},
        "model_name": model,
        "lm_eval_version": "0.4.13",
    }
    (folder / "results_t.json").write_text(json.dumps(document))
    return folder


def _group(name: str, score: float | None) -> dict[str, Any]:
    return {"alias": name, **({} if score is None else {"exact_match,none": score})}


def sample(id: int, value: str | float | None, epoch: int = 1, **more: Any) -> dict[str, Any]:
    """A sample of Inspect that a model graded; `explanation` is the judge's, `error` and all else its own."""
    judged = {"value": value, "answer": "x", "explanation": more.pop("explanation", "GRADE: C")}
    return {
        "id": id,
        "epoch": epoch,
        "input": f"question {id}",
        "target": "a",
        "scores": {} if value is None else {"graded": judged},
        "output": {"choices": [{"stop_reason": "stop"}], "completion": more.pop("text", f"answer {id}")},
        **more,
    }


def inspect(
    path: Path,
    samples: Iterable[Mapping[str, Any]],
    metrics: Mapping[str, Any],
    model: str = "m",
    task: str = "quiz",
    reducer: str | None = None,
    config: Mapping[str, Any] | None = None,
    scorer: Mapping[str, Any] | None = None,
) -> Path:
    """A log of Inspect as `.json` with one scorer, which prints `metrics`."""
    several = list(samples)
    shown = {name: {"name": name, "value": value, "params": {}} for name, value in metrics.items()}
    score = {"name": "graded", "scorer": "graded", "scored_samples": len(several), "metrics": shown}
    log = {
        "version": 2,
        "status": "success",
        "plan": {"steps": [], "config": {}},
        "eval": {
            "model": model,
            "task": task,
            "created": "2026-01-01",
            "scorers": [{"name": "graded", **(scorer or {})}],
            "config": {"epochs": 1, **(config or {})},
            "packages": {"inspect_ai": "0.3.285"},
        },
        "results": {
            "total_samples": len(several),
            "scores": [{**score, **({} if reducer is None else {"reducer": reducer})}],
        },
        "samples": several,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(log))
    return path
