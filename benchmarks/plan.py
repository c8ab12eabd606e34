"""How a plan grows: seconds and peak memory of compiling and counting 1,000 to 1,000,000 cells.

    python -m benchmarks.plan                  # 1,000, 10,000, 100,000 and 1,000,000 cells
    python -m benchmarks.plan --cells 10000

Each size is a process of its own. Every cell asks one item once and no two cells share a call, so there are
as many distinct calls as cells. Linear time shows as microseconds per cell that do not grow, and flat memory
as a peak that does not: `peak_over_first` is the peak over that of the smallest size.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (1_000, 10_000, 100_000, 1_000_000)
ITEM = [{"question": "Which one?", "mc1_targets": {"This.": 1, "That.": 0}}]
HEAD = """\
gridcard = 1

[study]
id = "growth"
title = "A plan of {cells} cells"
purpose = "descriptive"

[[model]]
id = "pocket"
engine = "hf"
source = "builtin:pocket-llama"

[[benchmark]]
id = "one"
loader = "truthfulqa_mc1"
source = "path:one.json"
direction = "higher_is_better"

[harness]
prompt = "builtin:T1"
method = "extract"
option_order = "file"
"""


def write_study(folder: Path, cells: int) -> Path:
    """A spec of that many cells: token limits x temperatures x nucleus masses."""
    limits = 100 if cells >= 10_000 else 10
    masses = 100 if cells >= 1_000_000 else 10
    temperatures = cells // limits // masses
    axes = {
        "limit": [f"max_tokens = {16 + number}" for number in range(limits)],
        "heat": [f"temperature = {(number + 1) / temperatures:.6f}" for number in range(temperatures)],
        "mass": [f"top_p = {(number + 1) / masses:.6f}" for number in range(masses)],
    }
    text = [HEAD.format(cells=cells)]
    for axis, levels in axes.items():
        text.append(f'\n[[axis]]\nid = "{axis}"\n')
        for number, effect in enumerate(levels):
            level = f'\n[[axis.level]]\nid = "l{number}"\ntier = "core"\n{effect}\nprovenance = "made"\n'
            text.append(level)
    (folder / "one.json").write_text(json.dumps(ITEM))
    path = folder / "gridcard.toml"
    path.write_text("".join(text))
    return path


def measure(spec: Path) -> dict[str, float]:
    """Compile and count in this process."""
    from gridc.compiler.compile import compile_spec
    from gridc.compiler.lowering.plan import Plan

    start = time.perf_counter()
    study = compile_spec(spec).study
    compiled = time.perf_counter()
    counts = Plan(study).counts()
    counted = time.perf_counter()
    assert counts.cells == counts.unique, "no two cells share a call"
    return {
        "cells": counts.cells,
        "compile_s": compiled - start,
        "count_s": counted - compiled,
        "microseconds_per_cell": 1e6 * (counted - start) / counts.cells,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cells", type=int, nargs="*", default=SIZES)
    parser.add_argument("--spec", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.spec:
        print(json.dumps(measure(given.spec)))
        return
    first = None
    for cells in given.cells:
        with tempfile.TemporaryDirectory() as folder:
            spec = write_study(Path(folder), cells)
            command = [sys.executable, "-m", "benchmarks.plan", "--spec", str(spec)]
            allowed = os.environ | {"GRIDC_MAX_CELLS": str(cells)}
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=allowed)
        found = json.loads(done.stdout)
        first = first or found["peak_mib"]
        for name, value in found.items():
            if name != "cells":
                print(f"plan_{cells}_{name}: {value:.1f}", flush=True)
        print(f"plan_{cells}_peak_over_first: {found['peak_mib'] / first:.2f}", flush=True)


if __name__ == "__main__":
    main()
