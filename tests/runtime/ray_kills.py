"""Run a study in one process, on two workers, and on four that are killed eight times; print what came of it.

`python tests/runtime/ray_kills.py SPEC`
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from gridc.compiler.compile import compile_spec
from gridc.compiler.lock.deviations import log_path, require_reconciled
from gridc.compiler.lock.lock import make_lock
from gridc.runtime.engines import open_engine
from gridc.runtime.engines.ray import cluster
from gridc.runtime.run import RunStep, run_study
from gridc.runtime.stages import Open

KILLS = 8


def main(spec: Path) -> None:
    compiled = compile_spec(spec, None)
    lock = make_lock(compiled.study, spec)
    departures = require_reconciled(lock, compiled.study, log_path(spec))
    runs: list[dict[str, Any]] = []
    killed: list[int] = []

    def note(name: str, opened: Open, watch: Any = lambda step: None) -> None:
        done = run_study(
            compiled, lock, departures, spec.parent / name / "store.sqlite", watch, open_engine=opened
        )
        tokens = sum(spent.work["forward_tokens"] for spent in done.spent)
        runs.append(
            {"run": name, "results": done.results, "executed": done.executed, "forward_tokens": tokens}
        )

    note("one process", open_engine)
    with cluster(None, 2, 1, acknowledged=False) as two:
        note("two workers", two.open)
    with cluster(None, 4, 1, acknowledged=False) as four:
        import ray

        def kill(step: RunStep) -> None:
            """The workers in turn, at even distances."""
            if len(killed) < KILLS and step.done > step.total * (len(killed) + 1) / (KILLS + 2):
                actor = four._actors[len(killed) % 4]
                killed.append(ray.get(actor.__ray_call__.remote(lambda worker: os.getpid())))
                os.kill(killed[-1], signal.SIGKILL)

        note("four workers, eight kills", four.open, kill)
    print(json.dumps({"kills": len(killed), "runs": runs}, indent=2))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
