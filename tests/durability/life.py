"""A tiny study on an engine without weights, and every command of its life.

The engine is a plug-in that answers from the call's digest, so a whole life takes seconds and a thousand of
them can be killed. It notes each call that it answers, which tells what was paid twice.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.plugin import write_plugin

ENGINE = '''
class Engine(ByDigest):
    """Notes each call that it is asked."""
    def answer(self, call):
        with open(os.environ["GRIDC_TEST_NOTES"], "a") as notes:
            notes.write(call + "\\n")
        return super().answer(call)
'''

SPEC = """\
gridcard = 1

[study]
id = "tiny"
title = "A study whose life is short"
purpose = "comparative"
not_varied = ["everything else"]

[[model]]
id = "one"
engine = "plugin:noted"
source = "noted://one"

[[model]]
id = "two"
engine = "plugin:noted"
source = "noted://two"

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
noise_sample = 0  # it asks calls again on purpose, which would hide those that are asked again by mistake

[[axis]]
id = "template"
[[axis.level]]
id = "bare"
tier = "core"
prompt = "{{ question }}\\nAnswer:{{ answer }}"
provenance = "a test"
[[axis.level]]
id = "wordy"
tier = "stress"
prompt = "Please answer.\\n{{ question }}\\nAnswer:{{ answer }}"
provenance = "a test"

[[axis]]
id = "decoding"
[[axis.level]]
id = "greedy"
tier = "core"
temperature = 0
provenance = "a test"
[[axis.level]]
id = "sampled"
tier = "core"
temperature = 0.7
replicates = 2
provenance = "a test"
"""

README = "---\nlicense: mit\n---\n# A model\n\nWhat its author says.\n"
OUT = "results/tiny"
STORE = f"{OUT}/store.sqlite"


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the life: its arguments, how much of all kills it gets, and what it writes that a
    second try must come to again."""

    name: str
    arguments: tuple[str, ...]
    weight: int
    made: tuple[str, ...] = ()


LIFE = (
    Command("init", ("init", "--yes", "--out", "first"), 1, ("first/gridcard.toml",)),
    Command("stamp", ("stamp",), 1),
    Command("shard", ("run", "--shard", "1/2", "--out", "a"), 2),
    Command("run", ("run",), 8),
    Command("report", ("report",), 4, (f"{OUT}/gridcard.md", f"{OUT}/report.html")),
    Command("merge", ("merge", "gridcard.toml", "a/store.sqlite", STORE, "--out", "b"), 3),
    Command("bundle", ("export", "bundle", "--to", "bundle"), 2),
    Command("attach", ("card", "attach", "README.md", "--model", "one"), 2, ("README.md",)),
)
"""In order. Each is tried in a folder in which those before it are done."""


def write_engine(folder: Path) -> None:
    write_plugin(folder, "noted", ENGINE)


def write_study(folder: Path, items: int = 5) -> None:
    folder.mkdir(parents=True)
    (folder / "gridcard.toml").write_text(SPEC)
    rows = ({"q": f"{n} + {n}?", "a": str(2 * n), "b": str(n), "gold": n % 2} for n in range(1, items + 1))
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "README.md").write_text(README)


def environment(engine: Path, notes: Path) -> Mapping[str, str]:
    """What a process of the study needs beside its own environment."""
    return {
        "PYTHONPATH": str(engine),
        "GRIDC_TEST_NOTES": str(notes),
        "GRIDC_CACHE": "",
        "OMP_NUM_THREADS": "1",
    }


def in_memory() -> Path | None:
    """Where trials lie: in memory where that can be, for what is killed is a process, never the machine."""
    shared = Path("/dev/shm")
    return shared if shared.is_dir() else None


def copy(study: Path, folder: Path) -> Path:
    shutil.copytree(study, folder)
    return folder
