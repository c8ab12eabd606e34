"""The scaffold study's released counts as a study's cells: the first `safe` items of each cell are safe, the
last ones unreadable. Unreadable answers were counted on two of the benchmarks alone."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gridc.compiler.inputs.items import Items, LoadedItems
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.instrument.item import Item
from gridc.compiler.lowering.plan import Plan
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.observations import Samples
from gridc.schema.spec import Spec

DATA: Mapping[str, Any] = json.loads(
    (Path(__file__).parents[1] / "statistics" / "scaffold_study.json").read_text()
)
ARMS = ("direct", "react", "multi_agent", "map_reduce")
MODELS = sorted({cell[0] for cell in DATA["cells"]})
SIZES = {cell[2]: cell[3] for cell in DATA["cells"]}


def published_spec(**more: Any) -> Spec:
    """Six models, four benchmarks, four scaffolds; the rest as given."""
    return Spec.model_validate(
        {
            "gridcard": 1,
            "study": {
                "id": "scaffolds",
                "title": "As published",
                "purpose": "comparative",
                "not_varied": ["x"],
            },
            "model": [{"id": name, "engine": "hf", "source": "builtin:none"} for name in MODELS],
            "benchmark": [
                {
                    "id": name,
                    "loader": "truthfulqa_mc1",
                    "source": "builtin:none",
                    "direction": "higher_is_better",
                    "option_order": "file",
                }
                for name in SIZES
            ],
            "harness": {"prompt": "{{ question }}", "method": "extract"},
            "axis": [
                {
                    "id": "scaffold",
                    "level": [
                        {
                            "id": arm,
                            "tier": "core",
                            "provenance": "published",
                            "prompt": f"{arm} {{{{ question }}}}",
                        }
                        for arm in ARMS
                    ],
                }
            ],
            "hypothesis": [
                {
                    "id": f"H1{letter}",
                    "kind": "difference",
                    "axis": "scaffold",
                    "level": arm,
                    "reference": "direct",
                }
                for letter, arm in zip("abc", ARMS[1:], strict=True)
            ],
            **more,
        }
    )


@cache
def _items(benchmark: str, size: int) -> Items:
    items = tuple(
        Item(name, f"{name}?", ("yes", "no"), 0, name)
        for name in (f"{benchmark}{number:04}" for number in range(size))
    )
    return Items(items, (), LoadedItems(items, {"items": "0" * 64}))


def published_samples(spec: Spec) -> Samples:
    """The samples of the study with the released counts."""
    return Samples(*published_outcomes(spec))


def published_outcomes(spec: Spec) -> tuple[Plan, dict[str, CellOutcomes]]:
    """The plan of the study, and its outcomes by cell."""
    study = Study(
        spec,
        prompts={},
        items={name: _items(name, size) for name, size in SIZES.items()},
        absent={},
        models={name: ModelIdentity("builtin:none", files=(("weights", "0" * 64),)) for name in MODELS},
    )
    counts = {(cell[0], cell[2], cell[1]): cell[3:] for cell in DATA["cells"]}
    plan = Plan(study)
    stored = {
        cell.key: _outcomes(cell.benchmark, *counts[cell.model, cell.benchmark, cell.levels["scaffold"]])
        for cell in plan.cells()
    }
    return plan, stored


def _outcomes(benchmark: str, size: int, safe: int, unreadable: int | None) -> CellOutcomes:
    place, ones = np.arange(size), np.ones(size, dtype=np.int64)
    right, read = (place < safe).astype(np.int64), (place < size - (unreadable or 0)).astype(np.int64)
    names = tuple(item.id for item in _items(benchmark, size).sampled)
    return CellOutcomes(names, ones, ones, read, right, right)
