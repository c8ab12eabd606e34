"""What a plan has gained and lost against an earlier stamp: cells, settings and inputs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gridc.compiler.grid import passes
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.lock.deviations import Departure, departures
from gridc.schema.spec import Spec

SHOWN = 20


@dataclass(frozen=True, slots=True)
class Against:
    """Cells that are new, gone, or asked otherwise, by name and at most `SHOWN` of each, with their numbers;
    and every path of spec and inputs that differs."""

    stamp: str
    added: int
    removed: int
    changed: int
    cells: Mapping[str, tuple[str, ...]]
    paths: tuple[Departure, ...]


def against(study: Study, stamp: str, content: Mapping[str, Any]) -> Against:
    """The study against the content of an earlier stamp."""
    spec = Spec.model_validate_json(json.dumps(content["spec"]), strict=True)
    before, after = _settings(spec), _settings(study.spec)
    added = [key for key in after if key not in before]
    removed = [key for key in before if key not in after]
    changed = [key for key in after if key in before and before[key] != after[key]]
    return Against(
        stamp=stamp,
        added=len(added),
        removed=len(removed),
        changed=len(changed),
        cells={
            "added": tuple(added[:SHOWN]),
            "removed": tuple(removed[:SHOWN]),
            "changed": tuple(changed[:SHOWN]),
        },
        paths=tuple(departures(content, study.stamped())),
    )


def _settings(spec: Spec) -> dict[str, bytes]:
    return {cell.key: cell.setting.key for cell in passes.cells(spec)}
