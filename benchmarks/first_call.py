"""What passes before the first call: `python -m benchmarks.first_call [gridc run's arguments]`.

Executes `gridc run` in a process of its own until a local model is asked for the first time, and prints its
CPU seconds, the wall clock, the most memory by then, and the CPU seconds that proving how models are computed
took. It does so twice: where nothing is kept of an earlier run, and where proofs are. The stores are thrown
away. The study needs a lock.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NoReturn


def main() -> None:
    import gridc.__main__  # noqa: F401 (as `python -m gridc` begins)
    from gridc.cli import main as command
    from gridc.runtime import engines

    begun, opens, proved = time.perf_counter(), engines.open_hf, [0.0]

    def stop(*_: object) -> NoReturn:
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(f"cpu_s: {used.ru_utime + used.ru_stime:.1f}")
        print(f"wall_s: {time.perf_counter() - begun:.1f}")
        print(f"most_mib: {used.ru_maxrss / 1024:.0f}")
        print(f"proofs_cpu_s: {proved[0]:.2f}", flush=True)
        os._exit(0)

    def stopping(*asked: object) -> object:
        engine: Any = opens(*asked)  # type: ignore[arg-type]
        kind = type(engine)
        if kind.answer is not stop:
            kind.answer, kind._prove = stop, timed(kind._prove, proved)
        return engine

    engines.OPENERS["hf"] = stopping  # type: ignore[index]
    command()


def timed(made: Callable[..., None], total: list[float]) -> Callable[..., None]:
    """What adds its CPU seconds to the total."""

    def measured(*values: object) -> None:
        begun = time.process_time()
        made(*values)
        total[0] += time.process_time() - begun

    return measured


if __name__ == "__main__":
    if os.environ.get("GRIDC_BENCHMARK") == "inside":
        main()
    else:
        with tempfile.TemporaryDirectory() as kept:
            about = {"GRIDC_BENCHMARK": "inside", "GRIDC_CACHE": f"{kept}/cache", "XDG_CONFIG_HOME": kept}
            for start in ("proved now", "proved before"):
                print(f"start: {start}", flush=True)
                out = f"{kept}/{start}"
                command = [sys.executable, "-m", "benchmarks.first_call", "run", *sys.argv[1:], "--out", out]
                code = subprocess.call(command, env={**os.environ, **about}, stderr=subprocess.DEVNULL)
                if code:
                    sys.exit(code)
