"""Memory and time of loading a model: `python -m benchmarks.loading [--layers 22] [--scratch FOLDER]`.

Writes a model of 1.1B shape with random weights (2 GiB in bf16, 4 in fp32) and loads it in fresh processes,
by transformers' `from_pretrained` and as the local engine does, which also hashes every byte. Prints for each
way the most memory that was resident until every parameter was read once, in MiB, and the CPU seconds of
loading, both with those of importing the libraries; then how many times as much memory gridc took, and
whether both came to the same parameters.
"""

import argparse
import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import study

ONE_B = study.Shape(2048, 5632, 22, 32, 4, vocabulary=32_000)
TYPES = {"bf16": "bfloat16", "fp32": "float32"}
CASES = {
    "bf16 at bf16": ("bf16", "bf16", False),
    "bf16 in parts at bf16": ("bf16", "bf16", True),
    "bf16 at fp32": ("bf16", "fp32", False),
    "bf16 in parts at fp32": ("bf16", "fp32", True),
    "fp32 at fp32": ("fp32", "fp32", False),
    "fp32 at bf16": ("fp32", "bf16", False),
}
"""By name: the format of the files, the precision, and whether there are several files."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=ONE_B.layers)
    parser.add_argument("--scratch", type=Path, help="Folder with room for the weights.")
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.scratch) as scratch:
        for form in TYPES:
            wanted = [case for case in asked.cases if CASES[case][0] == form]
            if not wanted:
                continue
            whole, parts = Path(scratch) / "whole", Path(scratch) / "parts"
            study.make_model(whole, 1.0, replace(ONE_B, layers=asked.layers), TYPES[form])
            for case in wanted:
                _, precision, divided = CASES[case]
                if divided and not parts.exists():
                    divide(whole, parts)
                compare(case, parts if divided else whole, precision)
            shutil.rmtree(whole)
            shutil.rmtree(parts, ignore_errors=True)


def divide(whole: Path, parts: Path) -> None:
    """The same model in files of 500 MB at most."""
    from transformers import AutoModelForCausalLM

    shutil.copytree(whole, parts, ignore=shutil.ignore_patterns("*.safetensors"))
    made: Any = AutoModelForCausalLM.from_pretrained
    made(whole).save_pretrained(parts, max_shard_size="500MB")


def compare(case: str, folder: Path, precision: str) -> None:
    took = {way: measured(way, folder, precision) for way in ("transformers", "gridc")}
    for way, numbers in took.items():
        print(f"{case}, {way}: {numbers['mib']:,.0f} MiB, {numbers['cpu']:.1f} CPU s", flush=True)
    ratio = took["gridc"]["mib"] / took["transformers"]["mib"]
    same = took["gridc"]["parameters"] == took["transformers"]["parameters"]
    print(f"{case}: {ratio:.2f} of transformers, {'the same' if same else 'OTHER'} parameters", flush=True)


def measured(way: str, folder: Path, precision: str) -> dict[str, Any]:
    """What a way takes in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.loading", way, str(folder), precision]
    environment = study.environment(1) | {
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TRANSFORMERS_VERBOSITY": "error",
    }
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def load(way: str, folder: Path, precision: str) -> None:
    """Load the model in this process, and print what that took."""
    import torch

    if way == "gridc":
        from gridc.runtime.engines.hf import loading

        with loading.Checkpoint(folder, {}) as checkpoint:
            config = loading.read_config(checkpoint.small, precision, "cpu")
            weights = checkpoint.weights(mapped=False)
            model, _ = loading.load(config, weights, None, precision, torch.device("cpu"))
    else:
        from transformers import AutoModelForCausalLM
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        made: Any = AutoModelForCausalLM.from_pretrained
        model = made(folder, dtype=getattr(torch, TYPES[precision]))
    used = resource.getrusage(resource.RUSAGE_SELF)
    sha256 = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        sha256.update(name.encode())
        # This also brings what is mapped into memory, as the first prompt does.
        sha256.update(parameter.detach().reshape(-1).view(torch.uint8).numpy())
    # Not `ru_maxrss`: a process inherits that from the one that started it.
    status = Path("/proc/self/status").read_text("utf-8")
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    spent = used.ru_utime + used.ru_stime
    print(json.dumps({"mib": peak / 1024, "cpu": spent, "parameters": sha256.hexdigest()}))


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in ("transformers", "gridc"):
        load(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
    else:
        main()
