"""How long commands take to start: `python -m benchmarks.start [RUNS]`. Median seconds, beside Python's own
start. `validate` keeps what it found of a spec that did not change; an empty GRIDC_CACHE keeps nothing."""

import os
import subprocess
import sys
import tempfile
from statistics import median
from time import perf_counter

PYTHON = (sys.executable,)
COMMANDS = {
    "python": (*PYTHON, "-c", "pass"),
    "import pydantic": (*PYTHON, "-c", "import pydantic; pydantic.BaseModel"),
    "gridc --help": (*PYTHON, "-m", "gridc", "--help"),
    "gridc validate": (*PYTHON, "-m", "gridc", "validate"),
}


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        begun = (*PYTHON, "-m", "gridc", "init", "--yes")
        subprocess.run(begun, cwd=folder, capture_output=True, check=True)
        for name, command in COMMANDS.items():
            for kept, environment in (
                ("", dict(os.environ)),
                (", nothing kept", {**os.environ, "GRIDC_CACHE": ""}),
            ):
                if not kept or name == "gridc validate":
                    took = median(seconds(command, folder, environment) for _ in range(runs))
                    print(f"{name + kept:<28} {took:.2f} s")


def seconds(command: tuple[str, ...], folder: str, environment: dict[str, str]) -> float:
    before = perf_counter()
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    return perf_counter() - before


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
