"""`make release`: both archives of this version, tried as a user would try them, and the release's notes.

The wheel and the source archive are built with the tools that constraints.txt pins. Each is installed into an
empty environment of the oldest Python that gridc supports, and of the newest that its pinned packages have
wheels for; there a first study is made, asked, reported and verified. NOTES.md is written last: `dist/` has
it only where all of that passed. Nothing is tagged, raised or uploaded.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

from packaging.version import Version

import gridc

ROOT = Path(__file__).resolve().parents[1]
OLDEST = 11
NEWEST = 19
"""The minor versions of Python 3 that are considered."""
HEADING = re.compile(r"^## (.+?)[ ]*$", re.MULTILINE)
NUMBER = re.compile(r"\[?v?(\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)\]?(?: .*)?")
COMMANDS = (
    ("--version",),
    ("init", "--yes"),
    ("run",),
    ("report",),
    ("verify",),
    ("docs", "tutorial"),
)
"""What has to work in an empty folder of an empty environment, in this order."""


class ReleaseRefused(Exception):
    """A release that must not be made; the text says why and what to do."""


def notes(changelog: str, version: str, tags: Iterable[str], today: date) -> str:
    """The section "Unreleased" of a changelog under the name of `version`.

    Raises `ReleaseRefused` where it is missing or empty, where the version has a tag, and where another
    version that has a tag or a section is not below it."""
    tagged = [tag.removeprefix("v") for tag in tags if NUMBER.fullmatch(tag)]
    if version in tagged:
        raise ReleaseRefused(f"v{version} is tagged already: raise __version__ in gridc/__init__.py")
    parts = HEADING.split(changelog)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    entries = sections.get("Unreleased", "").strip()
    if not re.search(r"^[-*] ", entries, re.MULTILINE):
        raise ReleaseRefused('CHANGELOG.md has no entry under "Unreleased": there is nothing to release')
    named = [found[1] for heading in sections if (found := NUMBER.fullmatch(heading))]
    last = max((Version(one) for one in (*tagged, *named)), default=None)
    if last is not None and Version(version) <= last:
        raise ReleaseRefused(
            f"{version} is not above {last}, the last version: raise __version__ in gridc/__init__.py"
        )
    return f"# gridc {version} ({today})\n\n{entries}\n"


def unchanged(root: Path) -> None:
    """Raises `ReleaseRefused` where the tree is not the commit that would be released."""
    if left := _git(root, "status", "--porcelain"):
        raise ReleaseRefused(
            "the tree is not clean, so no commit is what would be released:\n" + "\n".join(left)
        )


def build(python: Path | str, root: Path, folder: Path) -> list[Path]:
    """The source archive and the wheel of `root`, made by an interpreter's hatchling: no index is needed."""
    _run(python, "-m", "hatchling", "build", "-d", folder, where=root)
    archives = [*folder.glob("*.tar.gz"), *folder.glob("*.whl")]
    if len(archives) != 2:
        raise ReleaseRefused(
            f"hatchling left {len(archives)} archives in {folder}, not a source archive and a wheel"
        )
    return archives


def environment(python: Path | str, folder: Path, *packages: str) -> Path:
    """The interpreter of a new virtual environment with these packages, as constraints.txt pins them."""
    _run(python, "-m", "venv", folder, where=ROOT)
    made = folder / "bin" / "python"
    install(made, *packages)
    return made


def install(python: Path, *packages: str) -> None:
    """Installs from the index of packages; what building a source archive needs is pinned as well."""
    pinned = {"PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    _run(python, "-m", "pip", "install", "-q", *packages, where=python.parent, env=pinned)


def supported(python: Path, wheel: Path) -> Iterator[int]:
    """The minor versions that have wheels of all pinned packages that asking a model needs, newest first."""
    for minor in range(NEWEST, OLDEST, -1):
        with TemporaryDirectory() as target:
            kinds = ("--only-binary=:all:", f"--python-version=3.{minor}", f"--target={target}")
            command = [str(python), "-m", "pip", "install", "-q", "--dry-run", *kinds, f"{wheel}[local]"]
            pinned = {**os.environ, "PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
            if subprocess.run(command, env=pinned, capture_output=True, check=False).returncode == 0:
                yield minor


def interpreter(minor: int) -> Path | None:
    """A Python 3.`minor` of this machine: one on PATH, or one that pyenv or uv has installed."""
    name = f"python3.{minor}"
    homes = [Path(folder) for folder in os.get_exec_path()]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    homes += sorted(pyenv.glob(f"versions/3.{minor}.*/bin"), reverse=True)
    homes += sorted((Path.home() / ".local/share/uv/python").glob(f"cpython-3.{minor}.*/bin"), reverse=True)
    for path in (home / name for home in homes):
        if (
            path.is_file()
            and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0
        ):
            return path
    return None


def tried(python: Path, archive: Path, commands: Iterable[tuple[str, ...]], extra: str = "") -> None:
    """Installs an archive into an empty environment and runs gridc's commands in an empty folder.

    Raises `ReleaseRefused` with what was printed by the first that fails."""
    with TemporaryDirectory() as folder:
        made = environment(python, Path(folder) / "venv", f"{archive}{extra}")
        study = Path(folder) / "study"
        study.mkdir()
        for command in commands:
            _run(made.with_name("gridc"), *command, where=study)


def release(folder: Path) -> None:
    """Builds and tries everything. Raises `ReleaseRefused`."""
    unchanged(ROOT)
    text = notes((ROOT / "CHANGELOG.md").read_text("utf-8"), gridc.__version__, _git(ROOT, "tag"), _today())
    rmtree(folder, ignore_errors=True)
    with TemporaryDirectory() as scratch:
        builder = environment(sys.executable, Path(scratch) / "venv", "hatchling")
        archives = build(builder, ROOT, folder)
        wheel = archives[-1]
        pythons = [OLDEST]
        for minor in supported(builder, wheel):
            if interpreter(minor) is not None:
                pythons.append(minor)
                break
            print(
                f"Python 3.{minor}: skipped. It has wheels of the pinned packages, but no interpreter is on "
                f"PATH, in pyenv or in uv: `uv python install 3.{minor}` installs one"
            )
    for minor in pythons:
        python = interpreter(minor)
        if python is None:
            raise ReleaseRefused(
                f"there is no Python 3.{minor}, the oldest that gridc supports, to try the archives with"
            )
        for archive in archives:
            tried(python, archive.resolve(), COMMANDS, "[local]")
            print(f"Python 3.{minor}: {archive.name} passed")
    (folder / "NOTES.md").write_text(text, "utf-8")
    print(f"{folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")


def _today() -> date:
    return datetime.now(UTC).date()


def _git(root: Path, *arguments: str) -> list[str]:
    return _run("git", *arguments, where=root).splitlines()


def _run(*command: Path | str, where: Path, env: dict[str, str] | None = None) -> str:
    """What a command prints. Raises `ReleaseRefused` with its last lines where it fails."""
    # A PYTHONPATH leads to the checkout, where the archive alone is to be tried.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=where, env={**inherited, **(env or {})}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        shown = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise ReleaseRefused(f"`{' '.join(map(str, command))}` ended with {done.returncode}:\n{shown}")
    return done.stdout


if __name__ == "__main__":
    try:
        release(ROOT / "dist")
    except ReleaseRefused as why:
        sys.exit(f"not released: {why}")
