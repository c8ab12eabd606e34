"""Checkouts that the GitHub action and the pre-commit hooks look at, and whose files would be run by them."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import yaml
from _pytest.monkeypatch import MonkeyPatch

from tests.adversary.attack import Patch, attack, instead
from tests.adversary.studies import write_study

ROOT = Path(__file__).parents[3]
REQUESTER = "the author of a pull request"
THIS = sys.modules[__name__]

SHADOWS = ("venv", "pip", "ensurepip", "sitecustomize", "json", "click", "gridc/__init__", "gridc/__main__")
"""Modules that the action's Pythons import, and that a checkout may have too."""


def script() -> str:
    return (ROOT / "tools" / "action.sh").read_text("utf-8")


def hooks() -> str:
    return (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")


def without(read: str, part: str) -> Patch:
    """The text that a function of this room reads, without a part of it."""
    text: str = getattr(THIS, read)()
    assert part in text
    return instead((THIS, read, lambda: text.replace(part, "")))


def checkout(folder: Path) -> tuple[Path, Path]:
    """A folder with modules that leave a mark when they are imported; the folder and the mark."""
    place, mark = folder / "checkout", folder / "mark"
    for name in SHADOWS:
        module = place / f"{name}.py"
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text(f"open({str(mark)!r}, 'a').write({name!r})\n")
    return place, mark


def step(folder: Path, place: Path, name: str, **given: str) -> "subprocess.CompletedProcess[str]":
    """A step of the action in a checkout. What it installs is a package that cannot be built."""
    action, temporary = folder / "action", folder / "temporary"
    (action / "tools").mkdir(parents=True, exist_ok=True)
    temporary.mkdir(exist_ok=True)
    (action / "tools" / "action.sh").write_text(script(), "utf-8")
    (action / "tools" / "action-requirements.txt").write_text("")
    (action / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (action / "backend.py").write_text("def build_wheel(*_): raise SystemExit('far enough')\n")
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(temporary), "GITHUB_ACTION_PATH": str(action),
        "GITHUB_OUTPUT": str(temporary / "output"), **given,
    }  # fmt: skip
    return subprocess.run(
        ["bash", action / "tools" / "action.sh", name],
        cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


ALONE = "the action's Pythons do not look into the current folder (`-I` in action.sh)"
UNLED = "the action's Pythons know no PYTHONPATH (`unset` in action.sh)"


@attack(
    REQUESTER,
    "`venv.py` and `gridc/` lie in the checkout, where the action starts `python -m`",
    ALONE,
    without("script", " -I"),
)
def modules_in_the_checkout(folder: Path, patch: MonkeyPatch) -> set[str]:
    place, mark = checkout(folder)
    step(folder, place, "install")
    step(folder, place, "validate", SPECS="gridcard.toml", GRIDC_PYTHON=sys.executable)
    return set() if mark.exists() else {ALONE}


@attack(
    REQUESTER,
    "the job's PYTHONPATH is the checkout, and pip starts a Python there",
    UNLED,
    without("script", 'unset "${!PYTHON@}"'),
)
def path_into_the_checkout(folder: Path, patch: MonkeyPatch) -> set[str]:
    place, mark = checkout(folder)
    done = step(folder, place, "install", PYTHONPATH=str(place))
    if mark.exists():
        return set()
    assert "far enough" in done.stdout, "pip built the package"
    return {UNLED}


SILENCED = "what the action prints is no command to the runner (`stop-commands` in action.sh)"


@attack(
    REQUESTER,
    "a line of the spec that is shown is a command to the runner, and sets an output of the step",
    SILENCED,
    without("script", 'echo "::stop-commands::$word"\n'),
)
def command_to_the_runner(folder: Path, patch: MonkeyPatch) -> set[str]:
    (folder / "checkout").mkdir()
    spec = write_study(folder / "checkout")
    order = "##[set-output name=sarif;]theirs.sarif"
    spec.write_text(f'surprise = "{order}"\n{spec.read_text("utf-8")}', "utf-8")
    done = step(folder, spec.parent, "validate", SPECS="gridcard.toml", GRIDC_PYTHON=sys.executable)
    assert order in done.stdout
    return set() if order in obeyed(done.stdout.splitlines() + done.stderr.splitlines()) else {SILENCED}


def obeyed(lines: list[str]) -> str:
    """What a runner looks at for commands (actions/runner, ActionCommandManager): everything but what is
    between `stop-commands` and its word."""
    word, kept = "", []
    for line in lines:
        if not word and line.startswith("::stop-commands::"):
            word = line.removeprefix("::stop-commands::")
        elif word and line == f"::{word}::":
            word = ""
        elif not word:
            kept.append(line)
    return "\n".join(kept)


PARTED = "options of a hook end before the names of files (`args` in .pre-commit-hooks.yaml)"


@attack(
    "the author of a commit",
    "a folder called `--data=x` makes an option of the spec in it, which no hook looks at then",
    PARTED,
    without("hooks", 'args: ["--"]'),
)
def folder_called_as_an_option(folder: Path, patch: MonkeyPatch) -> set[str]:
    sound = write_study(folder)
    spec = folder / "--data=x" / sound.name
    spec.parent.mkdir()
    spec.write_text("this is no spec", "utf-8")
    found = next(each for each in yaml.safe_load(hooks()) if each["id"] == "gridc-validate")
    command = [*shlex.split(found["entry"]), *found.get("args", []), str(spec.relative_to(folder))]
    done = subprocess.run(
        [Path(sys.executable).parent / command[0], *command[1:]],
        cwd=folder, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return {PARTED} if done.returncode == 3 else set()
