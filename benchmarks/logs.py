"""What certifying logs costs on the command line: CPU seconds, seconds by the clock, and the most memory.

    python -m benchmarks.logs FOLDER [SAMPLES ...]     # or: make bench-logs

FOLDER is filled with logs as lm-evaluation-harness writes them: models of 10,000 items each in two framings,
a sample of about 1 kB. One line `name: value` a figure; MB are 1,000,000 bytes.
"""

import json
import random
import sys
from pathlib import Path

from benchmarks.report import cost_of

ITEMS = 10_000
SIZES = (10_000, 100_000, 1_000_000)
MOST_SECONDS, MOST_MB = 60, 1_000
"""Of a million samples."""


def write(folder: Path, samples: int) -> None:
    """Logs with so many samples."""
    rng = random.Random(samples)
    items = min(ITEMS, samples // 4)
    for model in range(samples // items // 2):
        for framing in ("a", "b"):
            run = folder / f"model-{model}-{framing}"
            run.mkdir(parents=True)
            rate = 0.5 + 0.01 * model
            right = [rng.random() < rate for _ in range(items)]
            with (run / f"samples_task_{framing}_t.jsonl").open("w") as file:
                for number, one in enumerate(right):
                    file.write(json.dumps(_sample(framing, number, one)) + "\n")
            document = _results(f"model-{model}", f"task_{framing}", items, sum(right) / items)
            (run / "results_t.json").write_text(json.dumps(document))


def _sample(framing: str, number: int, right: bool) -> dict[str, object]:
    question = f"Question {number}: " + "some words that a question has " * 8
    prompt = f"{framing}: {question}"
    return {
        "doc_id": number,
        "doc": {"question": question, "choices": ["one", "two", "three", "four"], "answer": number % 4},
        "target": str(number % 4),
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["\n"], "max_gen_toks": 32}}},
        "resps": [[f"The answer is {number % 7}."]],
        "filtered_resps": [str(number % 7)],
        "filter": "none",
        "metrics": ["exact_match"],
        "doc_hash": f"{number:064x}",
        "exact_match": float(right),
    }


def _results(model: str, task: str, items: int, score: float) -> dict[str, object]:
    return {
        "results": {task: {"alias": task, "exact_match,none": score}},
        "configs": {task: {"output_type": "generate_until", "doc_to_text": task}},
        "n-shot": {task: 0},
        "n-samples": {task: {"original": items, "effective": items}},
        "config": {"model_args": {"pretrained": model}, "random_seed": 0},
        "model_name": model,
        "lm_eval_version": "0.4.13",
    }


def main(folder: Path, sizes: tuple[int, ...]) -> int:
    late = False
    for samples in sizes:
        place = folder / f"{samples}"
        if not place.exists():
            write(place, samples)
        merged = ("--benchmark", "task=task_a,task_b")
        cost = cost_of(["gridc", "certify", "--from", str(place.resolve()), *merged], folder)
        print(
            f"{samples:,} samples: {cost.cpu:.1f} s CPU, {cost.clock:.1f} s, {cost.memory:,.0f} MB",
            flush=True,
        )
        late = late or cost.clock > MOST_SECONDS or cost.memory > MOST_MB
    return int(late)


if __name__ == "__main__":
    chosen = tuple(int(text) for text in sys.argv[2:]) or SIZES
    sys.exit(main(Path(sys.argv[1]), chosen))
