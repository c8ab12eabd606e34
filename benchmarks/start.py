"""How long commands take to start: `python -m benchmarks.start [RUNS]`. Median seconds, beside Python's own
start. `validate` keeps what it found of a spec that did not change; an empty GRIDC_CACHE keeps nothing.

`python -m benchmarks.start --studies [RUNS] [CHECKOUT...]`: the CPU seconds of a whole `gridc run` of four
small studies, with one thread, of this package and in turn of those in other checkouts (such as a worktree of
an earlier commit), and the digest of the results. *Cold* proves the models, otherwise the proofs are kept.
The model of the study `own` does not ship with gridc, so its tokenizer and configuration are read in a child.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks import study

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


POCKET = ("pocket-qwen2", "pocket-mistral", "pocket-llama")
HERE = Path(__file__).parents[1]


OWN = study.Shape(64, 128, 2, 4)


def specs(folder: Path) -> dict[str, Path]:
    """The folders of four studies. Three are of the pocket models: one item under 48 configurations, what
    `gridc init` writes in an empty folder, and eight requests that call for an answer or a refusal. The last
    asks a model of one's own one item under 48 configurations."""
    (folder / "none").mkdir()
    spec = study.write(folder / "48", study.Size(items=1, threads=1, replicates=1), folder / "none")
    head = '[[model]]\nid = "random"\nengine = "hf"\nsource = "path:model"\n'
    models = "".join(head.replace("random", name).replace("path:model", f"builtin:{name}") for name in POCKET)
    spec.write_text(spec.read_text().replace(head, models))
    begun = (*PYTHON, "-m", "gridc", "init", "--yes")
    for name in ("init", "refusals"):
        (folder / name).mkdir()
    words = (HERE / "docs" / "refusals.md").read_text("utf-8")
    (folder / "refusals" / "requests.csv").write_text(words.split("```csv\n")[1].split("```")[0])
    subprocess.run(begun, cwd=folder / "init", capture_output=True, check=True)
    refusals = (*begun, "--benchmark", "requests.csv")
    subprocess.run(refusals, cwd=folder / "refusals", capture_output=True, check=True)
    model = study.make_model(folder / "model", 1.0, OWN)
    study.write(folder / "own", study.Size(items=1, threads=1, replicates=1, tokens=8), model)
    return {name: folder / name for name in ("48", "init", "refusals", "own")}


def studies(runs: int, checkouts: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, spec in specs(folder).items():
            for kind in ("cold", "kept"):
                spent: dict[Path, list[float]] = {checkout: [] for checkout in checkouts}
                digests = set()
                for number in range(runs + 1):  # the first one compiles what Python keeps, and proves
                    for checkout in checkouts:
                        kept = folder / "cache" / f"{name}-{kind}-{checkouts.index(checkout)}"
                        if kind == "cold":
                            shutil.rmtree(kept, ignore_errors=True)
                        seconds, digest = whole_run(spec, checkout, kept)
                        digests.add(digest)
                        if number:
                            spent[checkout].append(seconds)
                for checkout, took in spent.items():
                    print(f"{name:<10} {kind:<6} {median(took):6.2f} s  {checkout}", flush=True)
                print(f"{name:<10} results {' '.join(sorted(digests))}", flush=True)


def whole_run(spec: Path, checkout: Path, kept: Path) -> tuple[float, str]:
    """The CPU seconds of `gridc run` with its children, and the digest of its results."""
    shutil.rmtree(spec / "results", ignore_errors=True)
    (spec / "gridcard.lock").unlink(missing_ok=True)
    environment = study.environment(1) | {"PYTHONPATH": str(checkout), "GRIDC_CACHE": str(kept)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    gridc = (*PYTHON, "-m", "gridc")
    stamped = environment | {"GRIDC_CACHE": ""}
    subprocess.run((*gridc, "stamp"), cwd=spec, env=stamped, capture_output=True, check=True)
    before = study.cpu_of_children()
    done = subprocess.run(
        (*gridc, "run"), cwd=spec, env=environment, capture_output=True, text=True, check=True
    )
    found = re.search(r"^results (\w+)", done.stdout, re.MULTILINE)
    return study.cpu_of_children() - before, found[1] if found else "none"


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["--studies"]:
        others = [Path(each).resolve() for each in given[2:]]
        studies(int(given[1]) if len(given) > 1 else 5, [*others, HERE])
    else:
        main(int(given[0]) if given else 7)
