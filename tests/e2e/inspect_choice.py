"""Run in Inspect's own environment: its multiple choice with its choice scorer, on samples and answers that
a file gives. It imports nothing of gridc.

    python inspect_choice.py asked.json answered.json
"""

# mypy: ignore-errors

import json
import sys
from pathlib import Path

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice


def main(asked: Path, answered: Path) -> None:
    """What was asked, which letter was read ("" for none), and the value of each sample."""
    rows = json.loads(asked.read_text("utf-8"))
    samples = [
        Sample(id=number, input=row["input"], choices=row["choices"], target=row["target"])
        for number, row in enumerate(rows)
    ]
    outputs = [ModelOutput.from_content("mockllm/model", row["answer"]) for row in rows]
    for output in outputs:
        output.usage = ModelUsage()  # without one it fetches a tokenizer to count
    (log,) = inspect_ai.eval(
        inspect_ai.Task(dataset=samples, solver=[multiple_choice()], scorer=choice()),
        model=get_model("mockllm/model", custom_outputs=outputs),
        max_samples=1,
        max_connections=1,
        display="none",
        log_dir=str(answered.parent / "logs"),
    )
    assert log.status == "success", str(log.error)[:300]
    found = {}
    for sample in log.samples or ():
        score = (sample.scores or {})["choice"]
        prompt = next(message.text for message in sample.messages if message.role == "user")
        found[sample.id] = {"prompt": prompt, "read": score.answer, "value": score.value}
    answered.write_text(json.dumps([found[number] for number in range(len(rows))], indent=1), "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
