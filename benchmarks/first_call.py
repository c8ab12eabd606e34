"""What passes before the first call: `python -m benchmarks.first_call [gridc run's arguments]`.

Executes `gridc run` in a process of its own until a local model is asked for the first time, and prints its
CPU seconds, the wall clock and the most memory by then. The store is thrown away. The study needs a lock.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import NoReturn


def main() -> None:
    import gridc.__main__  # noqa: F401 (as `python -m gridc` begins)
    from gridc.cli import main as command
    from gridc.runtime import engines

    begun, opens = time.perf_counter(), engines.open_hf

    def stop(*_: object) -> NoReturn:
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(f"cpu_s: {used.ru_utime + used.ru_stime:.1f}")
        print(f"wall_s: {time.perf_counter() - begun:.1f}")
        print(f"most_mib: {used.ru_maxrss / 1024:.0f}", flush=True)
        os._exit(0)

    def stopping(*asked: object) -> object:
        engine = opens(*asked)  # type: ignore[arg-type]
        type(engine).answer = stop  # type: ignore[attr-defined]
        return engine

    engines.OPENERS["hf"] = stopping  # type: ignore[index]
    command()


if __name__ == "__main__":
    if os.environ.get("GRIDC_BENCHMARK") == "inside":
        main()
    else:
        with tempfile.TemporaryDirectory() as out:
            command = [sys.executable, "-m", "benchmarks.first_call", "run", *sys.argv[1:], "--out", out]
            sys.exit(subprocess.call(command, env={**os.environ, "GRIDC_BENCHMARK": "inside"}))
