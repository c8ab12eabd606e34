"""What reading a finished store costs on the command line: CPU seconds, seconds by the clock, and the most
memory that each command held, Python and all its libraries included.

    python -m benchmarks.report FOLDER [ITEMS] [COMMAND ...]     # or: make bench-report ITEMS=2950

FOLDER is filled by `benchmarks.filler` where it holds no study yet, with ITEMS a benchmark: 295 give 520,380
calls, 2950 ten times as many. One line `name: value` a figure. Verifying uses a second core for what SQLite
checks by itself, so its ratio to the report is printed in CPU seconds and by the clock; a busy machine
stretches the clock. MB are 1,000,000 bytes. `hash_every_row` reads every row of the store once and
hashes it: nothing that checks every byte takes less.
"""

import hashlib
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.filler import fill_at_once
from benchmarks.synthetic import write_spec
from gridc.compiler.compile import compile_spec
from gridc.runtime.store.tables import TABLES

MOST_MB = 1000
"""The most memory that a command may hold, at any number of calls."""

MOST_RATIO = 3
"""Verifying may take so many times the report, in CPU seconds and by the clock."""

STORE = Path("results") / "synthetic" / "store.sqlite"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took: CPU and clock in seconds, memory in MB."""

    cpu: float
    clock: float
    memory: float


def cost_of(arguments: Sequence[str], folder: Path) -> Cost:
    """Run Python with these arguments in a folder. Raises `RuntimeError` where it fails."""
    began = time.monotonic()
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    command = [sys.executable, "-c", _IN_FOLDER, str(folder), *arguments]
    process = os.posix_spawn(sys.executable, command, os.environ, file_actions=quiet)
    _, status, usage = os.wait4(process, 0)
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"{' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}")
    kilobyte = 1 if sys.platform == "darwin" else 1024
    clock = time.monotonic() - began
    return Cost(usage.ru_utime + usage.ru_stime, clock, usage.ru_maxrss * kilobyte / 1e6)


_IN_FOLDER = """
import os, runpy, sys
folder = sys.argv.pop(1)
sys.path.insert(0, os.getcwd())
os.chdir(folder)
sys.argv.pop(0)
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def hash_every_row(path: Path) -> None:
    """SHA-256 over every value of every row, in the order of the file: what is compared with."""
    total = hashlib.sha256()
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        for table in TABLES:
            for row in db.execute(f"SELECT * FROM {table}"):
                total.update(repr(row).encode())


def commands(scratch: Path) -> dict[str, list[str]]:
    """The arguments of each command by its name; `scratch` is for what they write."""
    bundle, readme = scratch / "bundle", scratch / "README.md"
    readme.write_text("# A model\n")
    gridc = ["gridc"]
    return {
        "report": [*gridc, "report"],
        "verify": [*gridc, "verify"],
        "bundle": [*gridc, "export", "bundle", "--to", str(bundle)],
        "verify_bundle": [*gridc, "verify", str(bundle / "gridcard.toml")],
        "status": [*gridc, "status"],
        "show": [*gridc, "show"],
        "samples": [*gridc, "export", "samples", "--to", str(scratch / "samples.parquet")],
        "calls": [*gridc, "export", "calls", "--to", str(scratch / "calls.parquet")],
        "attach": [*gridc, "card", "attach", str(readme), "--model", "qwen"],
        "hash_every_row": ["benchmarks.report", "--hash", str(STORE)],
    }


def main(folder: Path, items: Sequence[int], wanted: Sequence[str]) -> None:
    if not (folder / STORE).exists():
        # Not in this process: the kernel counts what it once held as held by each command that it starts.
        cost_of(["benchmarks.report", "--fill", str(folder.resolve()), *map(str, items or [])], Path.cwd())
    with sqlite3.connect(f"file:{folder / STORE}?mode=ro", uri=True) as db:
        (calls,) = db.execute("SELECT count(*) FROM call").fetchone()
    print(f"calls: {calls}")
    print(f"store_mb: {(folder / STORE).stat().st_size / 1e6:.0f}")
    found: dict[str, Cost] = {}
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for name, arguments in commands(Path(scratch).resolve()).items():
            if wanted and name not in wanted:
                continue
            cost = found[name] = cost_of(arguments, folder.resolve())
            print(f"{name}_cpu_s: {cost.cpu:.1f}")
            print(f"{name}_clock_s: {cost.clock:.1f}")
            print(f"{name}_memory_mb: {cost.memory:.0f}", flush=True)
            if name == "verify_bundle":
                shutil.rmtree(Path(scratch) / "bundle")
    if {"report", "verify"} <= found.keys():
        for kind in ("cpu", "clock"):
            ratio = getattr(found["verify"], kind) / getattr(found["report"], kind)
            print(f"verify_over_report_{kind}: {ratio:.2f}")
            within = "yes" if ratio <= MOST_RATIO else "NO"
            print(f"verify_within_{MOST_RATIO}_times_the_report_{kind}: {within}")
    most = max(cost.memory for cost in found.values())
    print(f"most_memory_mb: {most:.0f}")
    print(f"memory_under_{MOST_MB}_mb: {'yes' if most < MOST_MB else 'NO'}")


if __name__ == "__main__":
    if sys.argv[1] == "--hash":
        hash_every_row(Path(sys.argv[2]))
    elif sys.argv[1] == "--fill":
        filled, size = Path(sys.argv[2]), int(sys.argv[3]) if sys.argv[3:] else None
        fill_at_once(compile_spec(write_spec(filled, size)), filled / STORE)
    else:
        numbers = [int(each) for each in sys.argv[2:] if each.isdigit()]
        names = [each for each in sys.argv[2:] if not each.isdigit()]
        main(Path(sys.argv[1]), numbers, names)
