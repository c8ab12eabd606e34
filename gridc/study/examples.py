"""The example that the pages about logs use: two runs in the form of lm-evaluation-harness' logs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.files import write_atomic

LOGS = "logs"
RUNS = ("base", "candidate")
FRAMINGS = {"sums_plain": "{}", "sums_polite": "Could you please tell me: {}"}
"""Two tasks that ask the same items in other words."""
ITEMS = 24
_TIME = "2026-01-05T10-00-00.000000"


def write_logs(folder: Path) -> list[Path]:
    """Write the logs of each run into `folder/logs`: sums, and invented answers of models that do not exist.
    The runs' folders. Raises `UsageError` (GC000) where one is there already."""
    runs = [folder / LOGS / run for run in RUNS]
    if taken := [run for run in runs if run.exists()]:
        help = "name a folder without `logs`"
        raise UsageError(
            Diagnostic("GC000", "there is a folder here already", str(run), help=help) for run in taken
        )
    for number, run in enumerate(runs):
        run.mkdir(parents=True)
        rows = {task: list(_rows(number, task)) for task in FRAMINGS}
        for task, answers in rows.items():
            text = "".join(json.dumps(row) + "\n" for row in answers)
            write_atomic(run / f"samples_{task}_{_TIME}.jsonl", text)
        write_atomic(run / f"results_{_TIME}.json", json.dumps(_results(run.name, rows), indent=1) + "\n")
    return runs


def _rows(run: int, task: str) -> Iterator[dict[str, Any]]:
    """An answer to each item. Both runs err on every fifth item, the second one on every seventh too, and on
    every eleventh where it is asked politely."""
    errs = [5, *([7] if run else []), *([11] if run and task == "sums_polite" else [])]
    for number in range(1, ITEMS + 1):
        a, b = 3 * number, number + 4
        question, right = f"What is {a} plus {b}?", str(a + b)
        answer = str(a + b + 10) if any(number % each == 0 for each in errs) else right
        yield {
            "doc_id": number - 1,
            "doc": {"question": question, "answer": right},
            "target": right,
            "arguments": {"gen_args_0": {"arg_0": f"{FRAMINGS[task].format(question)}\nAnswer:"}},
            "resps": [[f" {answer}"]],
            "filtered_resps": [answer],
            "filter": "none",
            "metrics": ["exact_match"],
            "exact_match": float(answer == right),
        }


def _results(name: str, rows: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """What stands beside the answers: scores and settings."""
    score = {task: sum(row["exact_match"] for row in answers) / ITEMS for task, answers in rows.items()}
    sampling = {"do_sample": False, "until": ["\n"]}
    return {
        "results": {task: {"alias": task, "exact_match,none": score[task]} for task in rows},
        "configs": {
            task: {
                "task": task,
                "doc_to_text": FRAMINGS[task].format("{{question}}") + "\nAnswer:",
                "doc_to_target": "{{answer}}",
                "output_type": "generate_until",
                "generation_kwargs": sampling,
                "num_fewshot": 0,
                "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
            }
            for task in rows
        },
        "versions": dict.fromkeys(rows, 1.0),
        "n-shot": dict.fromkeys(rows, 0),
        "higher_is_better": {task: {"exact_match": True} for task in rows},
        "n-samples": {task: {"original": ITEMS, "effective": ITEMS} for task in rows},
        "config": {"model": "hf", "model_args": {"pretrained": f"example/{name}", "dtype": "float32"}},
        "lm_eval_version": "0.4",
        "model_source": "hf",
        "model_name": f"example/{name}",
    }
