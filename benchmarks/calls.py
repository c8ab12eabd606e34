"""What a study of very many calls takes, whatever answers them: `python -m benchmarks.calls --items 1000`.

`gridc run` of a study with 1,000 calls an item, on an engine without weights that answers from the digest of
a call. Prints CPU seconds and the most memory before the first call and in all, and the size of the store.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.plugin import write_plugin

ENGINE = '''
import resource

class Engine(ByDigest):
    """Notes what the process has taken before the first call."""
    replicable = False
    size = 256
    noted = False
    def begin(self, batch):
        if not Engine.noted:
            Engine.noted = True
            used = resource.getrusage(resource.RUSAGE_SELF)
            with open(os.environ["GRIDC_BENCHMARK_NOTE"], "w") as note:
                note.write(f"{used.ru_utime + used.ru_stime} {used.ru_maxrss}")
'''

HEAD = """\
gridcard = 1
[study]
id = "calls"
title = "many calls"
purpose = "comparative"
not_varied = ["everything else"]
[[model]]
id = "digits"
engine = "plugin:digits"
source = "digits://one"
[[benchmark]]
id = "sums"
loader = "rows"
source = "path:items.jsonl"
loading = { gold = "index", fields = { query = "q", options = ["a", "b"], gold = "gold" } }
direction = "higher_is_better"
option_order = "file"
[harness]
method = "extract"
max_tokens = 8
[sampling]
seed = 7
[engine]
noise_sample = 0
[[axis]]
id = "decoding"
[[axis.level]]
id = "greedy"
tier = "core"
temperature = 0
provenance = "a measurement"
[[axis.level]]
id = "sampled"
tier = "core"
temperature = 0.7
replicates = 99
provenance = "a measurement"
[[axis]]
id = "template"
"""

LEVEL = """\
[[axis.level]]
id = "T{number}"
tier = "core"
prompt = "{blanks}{{{{ question }}}}\\nAnswer:{{{{ answer }}}}"
provenance = "a measurement"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write(folder, asked.items)
        note = folder / "note"
        known = {"PYTHONPATH": f"{folder / 'engine'}:{Path.cwd()}", "GRIDC_BENCHMARK_NOTE": str(note)}
        environment = {**os.environ, **known}
        subprocess.run([sys.executable, "-m", "gridc", "run"], cwd=folder, env=environment, check=True)
        cpu, most = note.read_text().split()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        store = folder / "results" / "calls" / "store.sqlite"
        print(f"calls: {1_000 * asked.items}")
        print(f"cpu_s_before_the_first_call: {float(cpu):.0f}")
        print(f"most_mib_before_the_first_call: {int(most) / 1024:.0f}")
        print(f"cpu_s: {used.ru_utime + used.ru_stime:.0f}")
        print(f"most_mib: {used.ru_maxrss / 1024:.0f}")
        print(f"store_mib: {store.stat().st_size / 2**20:.0f}")


def write(folder: Path, items: int) -> None:
    """The plug-in and the study."""
    write_plugin(folder / "engine", "digits", ENGINE)
    levels = (LEVEL.format(number=number, blanks="\\n" * number) for number in range(1, 11))
    (folder / "gridcard.toml").write_text(HEAD + "".join(levels))
    rows = ({"q": f"{n} + {n}?", "a": str(2 * n), "b": str(n), "gold": n % 2} for n in range(1, items + 1))
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
