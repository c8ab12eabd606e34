"""What reading a finished store costs: the report, `verify`, the bundle, verifying it, and a plain loop over
the rows, each in a process of its own.

    python -m benchmarks.report FOLDER [ITEMS]     # or: make bench-report

FOLDER is filled by `benchmarks.synthetic` where it holds no study yet, with ITEMS a benchmark. Seconds are
CPU seconds, because a busy machine stretches the clock; ratios are of one run. Memory is the most that the
process held, Python and all its libraries included.
"""

import resource
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import gridc
from benchmarks.synthetic import make
from gridc.runtime.store.store import Store

COMMANDS = ("report", "verify", "bundle", "verify the bundle", "loop")


def loop(path: Path) -> dict[str, Fraction]:
    """Every cell's score by a loop over its samples: what is compared with."""
    scores: dict[str, list[int]] = {}
    with Store.open(path) as store:
        for sample in store.samples(store.stamps()[0]):
            scores.setdefault(sample.cell, []).append(sample.score or 0)
    return {cell: Fraction(sum(each), len(each)) for cell, each in scores.items()}


def work(command: str, folder: Path, bundle: Path) -> None:
    """Do one of `COMMANDS`, and print CPU seconds and most memory (MB)."""
    study = gridc.open(folder / "gridcard.toml")
    match command:
        case "report":
            study.report()
        case "verify":
            assert study.verify().complete
        case "bundle":
            study.bundle(bundle)
        case "verify the bundle":
            assert gridc.open(bundle / "gridcard.toml").verify().complete
        case _:
            loop(folder / "results" / "synthetic" / "store.sqlite")
    print(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main(folder: Path, items: int | None) -> None:
    if not (folder / "gridcard.toml").exists():
        make(folder, items)
    with Store.open(folder / "results" / "synthetic" / "store.sqlite") as store:
        calls = store.progress(store.stamps()[0]).answered
    print(f"{calls:,} calls{'':<24}   CPU s    of the report      MB")
    first = None
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for command in COMMANDS:
            arguments = ["-m", "benchmarks.report", "--one", command, str(folder), f"{scratch}/bundle"]
            done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
            seconds, memory = map(float, done.stdout.split())
            first = first or seconds
            print(f"{command:<34} {seconds:9.1f} {seconds / first:15.2f} x {memory:8.0f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        work(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
