"""How long the whole report of a 612-cell store takes, stage by stage, and beside it a plain loop over rows.

    python -m benchmarks.synthetic FOLDER && python -m benchmarks.report FOLDER

CPU seconds of one process, because a busy machine stretches the clock; the ratio is of one run.
"""

import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.reports import files as documents
from gridc.reports.findings.findings import find
from gridc.runtime.store.store import Store

T = TypeVar("T")


def timed(name: str, work: Callable[[], T]) -> tuple[T, float]:
    start = time.process_time()
    found = work()
    seconds = time.process_time() - start
    print(f"{name:<44} {seconds:6.2f} s")
    return found, seconds


def plain(store: Store, stamp: str) -> dict[str, Fraction]:
    """Every cell's score by a loop over its samples."""
    scores: dict[str, list[int]] = {}
    for sample in store.samples(stamp):
        scores.setdefault(sample.cell, []).append(sample.score or 0)
    return {cell: Fraction(sum(each), len(each)) for cell, each in scores.items()}


def main(folder: Path) -> None:
    spec = folder / "gridcard.toml"
    compiled, one = timed("compile", lambda: compile_spec(spec, None))
    assert compiled.lock is not None
    lock, stamp = compiled.lock, Plan(compiled.study).study_digest
    with Store.open(folder / "results" / "synthetic" / "store.sqlite") as store:
        _, read = timed("  of which: item outcomes", lambda: store.outcomes(stamp))
        timed("  of which: results digest", lambda: store.results_digest(stamp))
        found, two = timed("findings (reads, counts, tests)", lambda: find(compiled, lock, store))
        _, three = timed("documents (certificate, cards, page)", lambda: documents.texts(found))
        _, loop = timed("beside it: cell scores by a loop over rows", lambda: plain(store, stamp))
    print(f"{'the whole report':<44} {one + two + three:6.2f} s; item outcomes {loop / read:.0f}x the loop")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
