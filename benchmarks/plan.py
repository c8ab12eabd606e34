"""How a plan grows: seconds and peak memory of compiling and counting 1,000 to 1,000,000 cells.

    python -m benchmarks.plan                  # 1,000, 10,000, 100,000 and 1,000,000 cells
    python -m benchmarks.plan --cells 10000
    python -m benchmarks.plan --calls          # whole plans of 100,000 to 100,000,000 calls

Each size is a process of its own. Every cell asks one item once and no two cells share a call, so there are
as many distinct calls as cells. Linear time shows as microseconds per cell that do not grow, and flat memory
as a peak that does not: `peak_over_first` is the peak over that of the smallest size.

`--calls` makes all that `gridc plan` shows, in two shapes: 1,000 cells x items x 100 replicates, and 50,000
cells x items, asked once. Seconds are of CPU, user and system.
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


SHAPES = {"repeated": (10, 10, 10, 100), "wide": (5, 100, 100, 1)}
"""Templates, temperatures, token limits and replicates."""
CALLS = (10**5, 10**6, 10**7, 10**8)


def write_calls(folder: Path, shape: str, calls: int) -> Path:
    """A spec of about so many calls, all distinct; each item is asked in every cell."""
    templates, temperatures, limits, replicates = SHAPES[shape]
    items = max(1, calls // (templates * temperatures * limits * replicates))
    axes = {
        "template": [
            f'prompt = "Task {n}. {{{{ question }}}}\\n{{{{ options }}}}\\nAnswer:{{{{ answer }}}}"'
            for n in range(templates)
        ],
        "heat": [f"temperature = {(n + 1) / temperatures:.4f}" for n in range(temperatures)],
        "limit": [f"max_tokens = {16 + n}" for n in range(limits)],
    }
    head = HEAD.format(cells=templates * temperatures * limits).replace('prompt = "builtin:T1"\n', "")
    text = [head, f"replicates = {replicates}\n"]
    for axis, levels in axes.items():
        text.append(f'\n[[axis]]\nid = "{axis}"\n')
        for n, effect in enumerate(levels):
            text.append(f'\n[[axis.level]]\nid = "l{n}"\ntier = "core"\n{effect}\nprovenance = "made"\n')
    rows = [
        {"question": f"Which is {n}?", "mc1_targets": {f"This {n}.": 1, f"That {n}.": 0}}
        for n in range(items)
    ]
    (folder / "one.json").write_text(json.dumps(rows))
    path = folder / "gridcard.toml"
    path.write_text("".join(text))
    return path


def measure_calls(spec: Path) -> dict[str, float]:
    """All that `gridc plan` shows, in this process."""
    import gridc

    counts = gridc.open(spec).plan().as_json()["counts"]
    assert counts["calls"] == counts["unique"], "no two cells share a call"
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "calls": counts["calls"],
        "prompts": counts["prompts"],
        "cpu_s": used.ru_utime + used.ru_stime,
        "peak_mib": used.ru_maxrss / 1024,
    }


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
    parser.add_argument("--calls", type=int, nargs="*", help="plans of so many calls")
    parser.add_argument("--spec", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.spec:
        print(json.dumps((measure if given.calls is None else measure_calls)(given.spec)))
        return
    if given.calls is not None:
        for shape, calls in ((shape, calls) for shape in SHAPES for calls in given.calls or CALLS):
            with tempfile.TemporaryDirectory() as folder:
                spec = write_calls(Path(folder), shape, calls)
                command = [sys.executable, "-m", "benchmarks.plan", "--calls", "--spec", str(spec)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
            print(shape, json.loads(done.stdout), flush=True)
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
