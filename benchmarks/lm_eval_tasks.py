"""The same calls as lm-eval tasks: one YAML file and one data file for each configuration."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridc.compiler.grid.cells import Cell
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.engines.hf.engine import HfEngine


@dataclass(frozen=True)
class Task:
    """A configuration as lm-eval knows it."""

    name: str
    cell: Cell
    kind: str

    @property
    def shots(self) -> int:
        return self.cell.setting.shots


def write(plan: Plan, engine: HfEngine, folder: Path) -> list[Task]:
    """Write every cell of a plan as a task. Prompts are written as the model sees them, so that lm-eval
    adds nothing to them."""
    folder.mkdir(parents=True, exist_ok=True)
    tasks = []
    for number, cell in enumerate(plan.cells()):
        name = f"cell_{number:02}"
        rows = list(_rows(plan, engine, cell))
        data = folder / f"{name}.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / f"{name}.yaml").write_text(json.dumps(_config(name, data, cell)))  # JSON is YAML
        setting = cell.setting
        kind = "logprob" if setting.method == "loglikelihood" else f"T={setting.temperature}"
        tasks.append(Task(name, cell, kind))
    return tasks


def _rows(plan: Plan, engine: HfEngine, cell: Cell) -> Iterator[dict[str, Any]]:
    for sample in plan.samples(cell):
        if sample.replicate == 0:
            item = sample.item
            yield {
                "id": item.id,
                "prompt": engine.prompts.as_text(sample.requests[-1].prompt),
                "choices": list(sample.requests[-1].parameters.get("continuations", item.options)),
                "gold": item.gold,
            }


def _config(name: str, data: Path, cell: Cell) -> dict[str, Any]:
    setting = cell.setting
    common = {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "doc_to_text": "{{prompt}}",
        "target_delimiter": "",
    }
    if setting.method == "loglikelihood":
        return {
            **common,
            "output_type": "multiple_choice",
            "doc_to_choice": "{{choices}}",
            "doc_to_target": "{{gold}}",
            "metric_list": [{"metric": "acc"}],
        }
    sampling = {"do_sample": True, "temperature": setting.temperature, "top_p": setting.top_p}
    return {
        **common,
        "output_type": "generate_until",
        "doc_to_target": "{{choices[gold]}}",
        "generation_kwargs": {
            "until": [],
            "max_gen_toks": setting.max_tokens,
            **({"do_sample": False} if setting.temperature == 0 else sampling),
        },
        "repeats": setting.replicates if setting.temperature else 1,
        "metric_list": [{"metric": "exact_match"}],
    }
