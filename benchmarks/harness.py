"""Runs inside lm-eval's own environment: evaluate tasks one by one with the model kept loaded.

Usage: harness.py MODEL TASKS_FOLDER OUT BATCH_SIZE TASK[:LIMIT]...
"""

import json
import sys
import time
from pathlib import Path
from typing import Any


def main(model: str, tasks: str, out: str, batch_size: str, *names: str) -> None:
    """Write for each task its seconds and its samples, in the order given."""
    begun = time.perf_counter()
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    loaded = HFLM(pretrained=model, device="cpu", dtype="float32", batch_size=int(batch_size))
    manager = TaskManager(include_path=tasks, include_defaults=False)
    found: dict[str, Any] = {"start_up": time.perf_counter() - begun, "tasks": []}
    for each in names:
        name, _, limit = each.partition(":")
        begun, spent = time.perf_counter(), time.process_time()
        results = simple_evaluate(
            loaded,
            tasks=[name],
            task_manager=manager,
            limit=int(limit) if limit else None,
            log_samples=True,
            bootstrap_iters=0,
            confirm_run_unsafe_code=True,
        )
        took = {"seconds": time.perf_counter() - begun, "cpu": time.process_time() - spent}
        samples = {row["doc_id"]: row["resps"] for row in results["samples"][name]}
        found["tasks"].append({"name": name, **took, "responses": samples})
        Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
