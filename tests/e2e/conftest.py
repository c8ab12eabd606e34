"""A small real study: two of the shipped models on shipped items, run by the real engine."""

import os
import shutil
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

import gridc
from gridc.cli import main
from tests.studies import axis

PACKAGE = Path(gridc.__file__).parent

AXES = (
    axis("template", {"T1": 'prompt = "path:minimal.jinja"', "T4": 'prompt = "builtin:T4"'}, ["T4"]),
    axis(
        "decoding",
        {"greedy": "temperature = 0", "sampled": "temperature = 0.7\ntop_p = 0.9\nreplicates = 3"},
        ["sampled"],
    ),
    axis("few_shot", {"0": "shots = 0", "3": "shots = 3"}),
    axis("scoring", {"free_form": 'method = "extract"', "logprob": 'method = "loglikelihood"'}),
)
SPEC = """\
gridcard = 1

[study]
id = "small"
title = "A study that is small enough for a test"
purpose = "comparative"
not_varied = ["everything else"]

[[model]]
id = "qwen2"
engine = "hf"
source = "path:models/qwen2"

[[model]]
id = "llama"
engine = "hf"
source = "path:models/llama"

[[benchmark]]
id = "bbq"
loader = "bbq"
source = "path:items.jsonl"
direction = "higher_is_better"
sample = { n = ITEMS, seed = 1, unit = "cluster" }
option_order = "file"
exemplars = { pool = "rest", seed = 1 }

[harness]
max_tokens = 24

AXES
[[exclude]]
when = { scoring = "logprob", decoding = "sampled" }
why = "a ranking is deterministic"

[[statistic]]
id = "mean_score"
kind = "macro_mean"

[[hypothesis]]
id = "H1"
kind = "ranking"
order = ["qwen2", "llama"]

[analysis]
thresholds = [{ at = 0.5, declared = "ex_ante", source = "a test" }]
evidence = "descriptive"

[engine]
kv_mib = 8
threads = 2
noise_sample = 6  # half the time of a run went to the 32 that are usual
""".replace("AXES", "\n".join(AXES))


def make_study(folder: Path, items: int = 8) -> Path:
    """Write the study with everything it names into a folder; the path of its spec."""
    for name in ("qwen2", "llama"):
        shutil.copytree(PACKAGE / "builtin" / "models" / f"pocket-{name}", folder / "models" / name)
    shutil.copy(PACKAGE / "builtin" / "benchmarks" / "pocket_bbq.jsonl", folder / "items.jsonl")
    shutil.copy(PACKAGE / "templates" / "prompts" / "T1.jinja", folder / "minimal.jinja")
    spec = folder / "gridcard.toml"
    spec.write_text(SPEC.replace("ITEMS", str(items)))
    return spec


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended, named as `subprocess` names it."""

    returncode: int
    stdout: str
    stderr: str


def command(*arguments: str, cwd: Path, **environment: str | None) -> Done:
    """Run a command in this process: for tests of what it does, and not of how a process starts and ends."""
    with chdir(cwd):
        done = CliRunner(catch_exceptions=False).invoke(
            main, arguments, env={"NO_COLOR": "1", **environment}, prog_name="gridc"
        )
    return Done(done.exit_code, done.stdout, done.stderr)


def process(*arguments: str, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "gridc", *arguments],
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study that was stamped, run and reported. Copy it before changing anything."""
    folder = tmp_path_factory.mktemp("finished")
    make_study(folder)
    for name in ("stamp", "run", "report"):
        done = command(name, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def study(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished study that a test may change."""
    return Path(shutil.copytree(finished, tmp_path / "study"))
