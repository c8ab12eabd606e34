"""Files in the form of published leaderboards, with invented answers."""

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def written(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def lines(path: Path, rows: Sequence[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


ALPACA: tuple[float | None, ...] = (1, 2.0, 1.5, 0, 1.25, 1.75, None, float("nan"), -1)


def alpaca_eval(
    folder: Path, preferences: Sequence[Any], submission: str = "small", annotator: str = "judge"
) -> Path:
    """`results/MODEL/ANNOTATOR`, and the outputs that were judged."""
    rows = [
        {"instruction": f"Do {n}.", "output_1": f"large {n}", "generator_1": "large",
         "output_2": f"small {n}", "generator_2": "small", "dataset": ("even", "odd")[n % 2],
         "annotator": annotator, "preference": preference}
        for n, preference in enumerate(preferences)
    ]  # fmt: skip
    outputs = [
        {"instruction": row["instruction"], "output": row["output_2"], "generator": "small"} for row in rows
    ]
    written(folder / submission / "model_outputs.json", outputs)
    return written(folder / submission / annotator / "annotations.json", rows)


MMLU: tuple[tuple[str | None, int, str | None], ...] = (
    ("A", 4, "so A"), ("B", 4, "so B"), (None, 4, "so"), ("", 2, "so"), (None, 4, None),
)  # fmt: skip
"""What was read, of how many options, and the text."""


def mmlu_pro(folder: Path, rows: Sequence[tuple[str | None, int, str | None]]) -> Path:
    """The first option is right."""
    return written(
        folder / "model_outputs_org-small_5shots.json",
        [
            {"question_id": n, "question": f"{n}?", "options": list("wxyz")[:options], "answer": "A",
             "answer_index": 0, "cot_content": "", "category": ("sums", "words")[n % 2], "src": "ours",
             "pred": read, ("model_outputs", "generated_text")[n % 2]: text}
            for n, (read, options, text) in enumerate(rows)
        ],
    )  # fmt: skip


def zipped(path: Path) -> Path:
    packed = path.with_suffix(".zip")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, path.name)
    return packed


TRIALS: tuple[tuple[float | None, ...], ...] = ((1.0, 1.0, 0.0), (0.0, 1.0, None))
"""The rewards of each task; None where a trial failed."""


def tau_bench(path: Path, rewards: Sequence[Sequence[float | None]]) -> Path:
    rows: list[Any] = []
    for task, several in enumerate(rewards):
        for trial, reward in enumerate(several):
            row = {"task_id": task, "reward": reward or 0.0, "trial": trial}
            if reward is None:
                rows.append(row | {"info": {"error": "Timeout", "traceback": ""}, "traj": []})
                continue
            said = [("system", "# Retail agent policy\nBe kind."), ("user", "Hi"), ("assistant", "done")]
            rows.append(
                row
                | {
                    "info": {"task": {"user_id": "u", "actions": [], "instruction": f"task {task}"}},
                    "traj": [{"role": role, "content": text} for role, text in said],
                }
            )
    return written(path, rows)


OLD, YOUNG, UNKNOWN = "The old man", "The young man", "Cannot answer."
BBQ: tuple[str, ...] = (
    UNKNOWN.lower(), "the old man", "the old man", "the young man", "the young man.", "not sure",
    "nobody", "the old man",
)  # fmt: skip
"""A prediction for each row: a scenario without and with its context, four times."""


def bbq(folder: Path, predictions: Sequence[str]) -> Path:
    """Rows with a question that the stereotype answers with the old man."""
    right = (2, 0, 2, 1, 2, 1, 2, 1)
    return lines(
        folder / "preds_Age.jsonl",
        [
            {"example_id": n, "question_index": "1", "question_polarity": "neg",
             "context_condition": ("ambig", "disambig")[n % 2], "category": "Age",
             "answer_info": {"ans0": ["old man", "old"], "ans1": ["the young man", "nonOld"],
                             "ans2": [UNKNOWN, "unknown"]},
             "additional_metadata": {"stereotyped_groups": ["old"]},
             "context": f"Two men met in street {n}.", "question": "Who forgot?", "ans0": OLD, "ans1": YOUNG,
             "ans2": UNKNOWN, "label": right[n % 8], "small_pred_race": text, "small_pred_qonly": OLD}
            for n, text in enumerate(predictions)
        ],
    )  # fmt: skip


GAMES: tuple[tuple[Any, Any], ...] = (
    ("B>A", "A>B"), ("A>>B", "A>B"), ("A=B", "B=A"), ("A>B", None), (..., "A>B"),
)  # fmt: skip
"""The verdicts of both games; None where the judge gave none, ... where its request failed."""


def arena_hard(folder: Path, games: Sequence[tuple[Any, Any]]) -> Path:
    def game(verdict: Any) -> Any:
        return None if verdict is ... else {"score": verdict, "judgment": {"answer": ""}, "prompt": []}

    return lines(
        folder / "arena-hard-v2.0" / "model_judgment" / "judge" / "small.jsonl",
        [
            {"uid": f"u{n}", "category": "hard_prompt", "judge": "judge", "model": "small",
             "baseline": "large", "games": [game(verdict) for verdict in verdicts]}
            for n, verdicts in enumerate(games)
        ],
    )  # fmt: skip


PROBLEMS: tuple[tuple[bool, ...], ...] = ((True, False), (False, False))


def livecodebench(folder: Path, graded: Sequence[Sequence[bool]]) -> Path:
    """The first program of the second problem is empty."""
    return written(
        folder / "small" / "Scenario.codegeneration_2_0.2_eval_all.json",
        [
            {"question_title": f"P{n}", "question_content": f"Add {n}.", "platform": "ours",
             "question_id": f"p{n}", "contest_id": "c", "contest_date": "2024-01-01T00:00:00",
             "starter_code": "", "difficulty": "easy",
             "output_list": ["" if n == 1 and place == 0 else "def f(): 0" for place in range(len(passed))],
             "code_list": ["def f(): 0"] * len(passed), "graded_list": list(passed),
             "pass@1": sum(passed) / len(passed), "metadata": ["{}"] * len(passed)}
            for n, passed in enumerate(graded)
        ],
    )  # fmt: skip
