"""The local engine on a model of 7B shape with random weights: `python -m benchmarks.large`.

No weights are needed, only the disk and the memory for 14 GB of them. Prints one line `name: value` per
figure, for each precision: tokens per second, forward tokens over the trie minimum, and memory.
"""

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks import study
from benchmarks.engine import report_run, say
from gridc.runtime.engines.hf import loading


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--precisions", nargs="+", default=["bf16", "nf4"])
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--templates", type=int, default=4)
    parser.add_argument("--kv-mib", type=int, default=16384)
    parser.add_argument("--layers", type=int, default=study.SEVEN_B.layers)
    parser.add_argument("--scratch", type=Path, help="Folder with room for the weights.")
    asked = parser.parse_args()
    shape = replace(study.SEVEN_B, layers=asked.layers)
    with tempfile.TemporaryDirectory(dir=asked.scratch) as scratch:
        model = study.make_model(Path(scratch) / "model", 1.0, shape, "bfloat16")
        for name, value in loading.machine(loading.device_of(asked.device)).items():
            say(name, json.dumps(value))
        for precision in asked.precisions:
            size = study.Size(
                items=asked.items,
                tokens=asked.tokens,
                templates=asked.templates,
                kv_mib=asked.kv_mib,
                precision=precision,
                device=asked.device,
            )
            done = study.run(study.write(Path(scratch) / "study", size, model), size.threads)
            report_run(f"{precision}_{asked.layers}_layers", done)


if __name__ == "__main__":
    main()
