"""What CI and git run: the entries of the pre-commit hooks, and the steps of the GitHub action."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

# A minute or more of every run: one of the eight parts of `.ci/run` has it.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
GOOD = (ROOT / "gridcard.toml").read_text("utf-8")
STALE = GOOD.replace("seed = 42", "seed = 43")
BAD = GOOD.replace('tier = "stress"', 'tier = "strss"')


@pytest.fixture(scope="module")
def stamped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stamped study: making the stamp takes longer than all that is done with it here."""
    place = tmp_path_factory.mktemp("stamped")
    (place / "gridcard.toml").write_text(GOOD, "utf-8")
    subprocess.run([BIN / "gridc", "stamp"], cwd=place, check=True, capture_output=True)
    return place


@pytest.fixture
def folder(stamped: Path, tmp_path: Path) -> Path:
    shutil.copytree(stamped, tmp_path, dirs_exist_ok=True)
    return tmp_path


def hook(name: str, folder: Path) -> int:
    """The exit code of a hook's entry, called as pre-commit calls it."""
    (found,) = (each for each in HOOKS if each["id"] == name)
    files = ["gridcard.toml"] if found.get("pass_filenames", True) else []
    assert not files or re.search(found["files"], files[0])
    entry = shlex.split(found["entry"])
    command = [BIN / entry[0], *entry[1:], *found.get("args", []), *files]
    return subprocess.run(command, cwd=folder, check=False).returncode


@pytest.mark.parametrize(
    ("text", "validate", "stamp"), [(GOOD, 0, 0), (STALE, 0, 4), (BAD, 3, 3)], ids=["good", "stale", "bad"]
)
def test_the_hooks_pass_what_is_right(folder: Path, text: str, validate: int, stamp: int) -> None:
    (folder / "gridcard.toml").write_text(text, "utf-8")
    assert hook("gridc-validate", folder) == validate
    assert hook("gridc-stamp", folder) == stamp


def test_every_hook_says_what_pre_commit_asks_for() -> None:
    assert [each["id"] for each in HOOKS] == ["gridc-validate", "gridc-stamp"]
    for each in HOOKS:
        assert each.keys() >= {"id", "name", "entry", "language"}
        assert each["language"] == "python"


def step(name: str, folder: Path, **given: str) -> tuple[int, str]:
    """Run a step's script as the action's runner would; its exit code and the outputs that it sets."""
    (found,) = (each for each in ACTION["runs"]["steps"] if each.get("name") == name)
    output = folder / "output"
    output.write_text("")
    known = {
        "RUNNER_TEMP": str(folder), "GITHUB_OUTPUT": str(output), "GITHUB_ACTION_PATH": str(ROOT),
        "GRIDC_PYTHON": sys.executable, "PATH": os.environ["PATH"],
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
    }  # fmt: skip
    assert set(given) == set(found["env"])
    command = ["bash", "-euo", "pipefail", "-c", found["run"]]
    done = subprocess.run(command, cwd=folder, env={**known, **given}, check=False, capture_output=True)
    return done.returncode, output.read_text("utf-8")


@pytest.mark.parametrize(("text", "code", "results"), [(GOOD, 0, 0), (BAD, 3, 2)], ids=["good", "bad"])
def test_the_action_validates_and_names_its_sarif_file(
    folder: Path, text: str, code: int, results: int
) -> None:
    (folder / "gridcard.toml").write_text(text, "utf-8")
    status, output = step("Validate", folder, SPECS="gridcard.toml\n", GRIDC_DATA="")
    assert status == code
    sarif = Path(output.strip().removeprefix("sarif="))
    assert sarif.read_text("utf-8").count('"ruleId"') == results


def test_the_action_checks_every_stamp(folder: Path) -> None:
    assert step("Check the stamps", folder, STAMPED="gridcard.toml\n\n", GRIDC_DATA="")[0] == 0
    assert step("Check the stamps", folder, STAMPED="", GRIDC_DATA="")[0] == 0
    (folder / "other.toml").write_text(GOOD, "utf-8")
    assert step("Check the stamps", folder, STAMPED="other.toml\ngridcard.toml", GRIDC_DATA="")[0] == 4


@pytest.mark.parametrize(
    ("margin", "candidate", "code", "verdict"),
    [
        ("99pp", "results/small", 0, "verdict=GO"),
        ("5pp", "results/small", 10, "verdict=INCONCLUSIVE"),
        ("5pp", "results/none", 6, "verdict=NOT COMPARABLE"),
        ("5pp; touch x", "results/small", 2, "verdict=NOT COMPARABLE"),
    ],
)
def test_the_action_compares_two_runs_and_fails_as_the_verdict_says(
    study: Path, margin: str, candidate: str, code: int, verdict: str
) -> None:
    given = {"BASELINE": "results/small\n\n", "CANDIDATE": candidate, "MARGIN": margin, "POLICY": ""}
    status, output = step("Compare two runs", study, **given)
    assert status == code
    assert verdict in output.splitlines()
    summary = study / "summary"
    compared = code in (0, 10)
    assert summary.is_file() == ("comparison=" in output) == compared
    assert not compared or summary.read_text("utf-8").startswith("### gridc compare: ")
    assert not (study / "x").exists()


def test_an_input_of_the_action_is_never_part_of_a_script() -> None:
    """What a pull request can choose must not be run: inputs reach scripts as variables."""
    for each in ACTION["runs"]["steps"]:
        assert "${{" not in each.get("run", "")


@pytest.mark.slow
def test_pre_commit_runs_the_hooks_from_a_repository(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The real pre-commit, in an environment of its own. It builds gridc with pip, so it needs an index."""
    home = tmp_path_factory.mktemp("home")
    subprocess.run([sys.executable, "-m", "venv", home / "venv"], check=True)
    subprocess.run([home / "venv/bin/pip", "install", "-q", "pre-commit"], check=True, capture_output=True)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True)
    done = subprocess.run(
        [home / "venv/bin/pre-commit", "try-repo", ROOT, "--all-files"],
        cwd=folder,
        env={**os.environ, "PRE_COMMIT_HOME": str(home / "cache")},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Passed") == 2


def test_the_action_runs_only_what_is_pinned_by_hash() -> None:
    steps = ACTION["runs"]["steps"]
    others = [each["uses"] for each in steps if "uses" in each]
    assert others
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", each) for each in others)
    script = (ROOT / "tools" / "action.sh").read_text("utf-8")
    (installed,) = re.findall(r'"\$\{pip\[@\]\}" .*--requirement.*', script)
    assert "--require-hashes" in installed
    pinned = (ROOT / "tools" / "action-requirements.txt").read_text("utf-8")
    rows = re.findall(r"^([\w.-]+)==(\S+)(.*(?:\n    --hash=sha256:[0-9a-f]{64}.*)+)", pinned, re.MULTILINE)
    assert len(rows) == len(re.findall(r"^[\w.-]+==", pinned, re.MULTILINE)), "each has its hashes"
    versions = {name.lower().replace("_", "-"): version for name, version, _ in rows}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    assert {re.split(r"[<>=\[]", each)[0] for each in needed} <= versions.keys()
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines():
        name, _, version = line.partition("==")
        assert versions.get(name.lower().replace("_", "-"), version) == version, line
