"""What a user installs: the archives that this checkout builds, tried without the checkout."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from gridc import __version__
from tools.release import build, environment

# A minute or more of every run: one of the eight parts of `.ci/run` has it.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SENTENCE = re.compile(r"gridc docs ([a-z-]+)")


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build(sys.executable, ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(archives: list[Path]) -> Path:
    return next(path for path in archives if path.suffix == ".whl")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that has the wheel's files alone. Other packages come from this environment, in which a
    `.pth` file leads to the checkout: folders of PYTHONPATH have none that is read."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def gridc(installed: Path, where: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *sorted(packages)])}
    python = getattr(sys, "_base_executable", sys.executable)
    command = [python, "-s", "-m", "gridc", *arguments]
    return subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, check=False)


def test_a_study_begins_and_is_reported_from_the_wheel_alone(installed: Path, tmp_path: Path) -> None:
    where = "import gridc; print(gridc.__file__)"
    env = {**os.environ, "PYTHONPATH": str(installed)}
    python = getattr(sys, "_base_executable", sys.executable)
    shown = subprocess.run([python, "-c", where], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert Path(shown.stdout.strip()).is_relative_to(installed), shown.stderr
    for command in ("init", "--yes"), ("run",), ("report",):
        done = gridc(installed, tmp_path, *command)
        assert done.returncode == 0, (command, done.stderr)
    (page,) = tmp_path.glob("results/**/report.html")
    assert "</html>" in page.read_text("utf-8")


def test_the_readme_of_a_package_index_leads_into_the_repository(wheel: Path) -> None:
    """An index has neither docs/ nor the picture: each link names its file at the tag of this version."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    text, own = metadata.get_payload(), (ROOT / "README.md").read_text("utf-8")
    repository = metadata["Project-URL"].removeprefix("Repository, ")
    shown, relative = MarkdownIt("commonmark").enable("table").parse(str(text)), []
    for token in (child for block in shown for child in block.children or []):
        address = str(token.attrs.get("href") or token.attrs.get("src") or "")
        if address:
            kind = "raw" if token.type == "image" else "blob"
            head, _, file = address.partition(f"/{kind}/v{metadata['Version']}/")
            assert head == repository, address
            assert (ROOT / file.partition("#")[0]).is_file(), address
            relative.append(file)
    assert "docs/surface.svg" in relative
    assert len(relative) == len(re.findall(r"\]\(", own)) == len(re.findall(r"\]\((?!https?:)", own))
    assert metadata["Description-Content-Type"] == "text/markdown"


def test_every_page_of_the_documentation_is_in_the_wheel(installed: Path, tmp_path: Path) -> None:
    listed = gridc(installed, tmp_path, "docs")
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert names == sorted(path.stem for path in (ROOT / "docs").glob("*.md"))
    shown = gridc(installed, tmp_path, "docs", "language")
    assert shown.stdout.startswith("# The language\n")
    assert "<!-- test:" not in shown.stdout
    found = gridc(installed, tmp_path, "docs", "--find", "RHO_FLIP")
    assert any(line.startswith("certificates:") for line in found.stdout.splitlines())
    wrong = gridc(installed, tmp_path, "docs", "langage")
    assert wrong.returncode == 2
    assert "did you mean `gridc docs language`?" in wrong.stderr


def test_every_page_that_a_message_names_is_there() -> None:
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    named = {
        name
        for path in (*(ROOT / "gridc").rglob("*.py"), *(ROOT / "gridc").rglob("*.toml"))
        for name in SENTENCE.findall(path.read_text("utf-8"))
    }
    assert named >= {"language", "tables"}
    assert named <= pages


def test_the_source_archive_builds_the_same_wheel(archives: list[Path], wheel: Path, tmp_path: Path) -> None:
    (source,) = (path for path in archives if path != wheel)
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (root,) = tmp_path.iterdir()
    (again,) = (path for path in build(sys.executable, root, tmp_path / "dist") if path.suffix == ".whl")
    assert again.read_bytes() == wheel.read_bytes()


def test_a_fresh_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    """Installed by pip with what it needs and no more: everything but asking a model works, and what is
    missing is named with the command that installs it. Needs an index of packages."""
    python = environment(sys.executable, tmp_path / "venv", str(wheel))
    study = tmp_path / "study"
    study.mkdir()

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [str(python.with_name("gridc")), *arguments]
        return subprocess.run(command, cwd=study, capture_output=True, text=True, check=False)

    assert run("--version").stdout == f"gridc, version {__version__}\n"
    begun = run("init", "--yes")
    assert begun.returncode == 0, begun.stderr
    assert "pip install 'gridc[local]': before models can be asked, for torch" in begun.stdout
    for command in ("validate",), ("plan",), ("show",), ("docs", "tutorial"):
        done = run(*command)
        assert done.returncode == 0, (command, done.stderr)
    refused = run("run")
    assert refused.returncode != 0
    assert "GC604" in refused.stderr
    assert "pip install 'gridc[local]'" in refused.stderr
    assert "Traceback" not in refused.stderr
