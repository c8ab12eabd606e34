"""The test files that a change can touch, nearest first: what `make quick` runs.

A change is what differs from where this branch left main, uncommitted and untracked files included. It
touches what imports a changed module, or names it in a string (commands are loaded by name), however far
away, and of a changed file that is no module what names that file or all of its kind (`docs/*.md`). A
conftest.py counts as imported by the tests beside and below it. Files are printed in the order of their
distance in imports, as many as fit into the seconds that they took in the last `make test`
(`tests/conftest.py` keeps them); a changed test file always. What is left out is counted on standard error:
`make test` runs it.
"""

import json
import re
import subprocess
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from sys import stderr

import grimp

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("gridc", "tests", "tools", "benchmarks")
SECONDS = ROOT / ".pytest_cache" / "v" / "gridc" / "seconds"
UNKNOWN = 3.0
"""How many seconds a file is taken to need that was never run here."""
LOADS_ALL = "of_kind(__name__"
"""A package that reads every module beside it."""
NAMED = re.compile(rf"""["']((?:{"|".join(PACKAGES)})(?:\.\w+)+\.?)""")
"""A module in a string, or the package before the name that an f-string puts in."""


def changed(base: str) -> list[str]:
    """The paths that differ from where this branch left `base`, relative to the repository."""

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    (left,) = git("merge-base", base, "HEAD")
    return sorted({*git("diff", "--name-only", left), *git("ls-files", "--others", "--exclude-standard")})


def importers() -> dict[str, set[str]]:
    """Which files of Python read each file of the repository: paths to paths."""
    graph = grimp.build_graph(*PACKAGES)
    files = {name: path for name in graph.modules if (path := _file(name)) is not None}
    found: dict[str, set[str]] = {path: set() for path in files.values()}
    for name, path in files.items():
        found[path] |= {files[one] for one in graph.find_modules_that_directly_import(name) if one in files}
    for path in files.values():
        if LOADS_ALL in (ROOT / path).read_text("utf-8"):
            for beside in (ROOT / path).parent.glob("*.py"):
                found[beside.relative_to(ROOT).as_posix()].add(path)
        for named in NAMED.findall((ROOT / path).read_text("utf-8")):
            loaded = [one for one in files if one == named or (named[-1] == "." and one.startswith(named))]
            for module in loaded:
                found[files[module]].add(path)
        if path.endswith("/conftest.py"):
            found[path] |= {one for one in files.values() if one.startswith(path.removesuffix("conftest.py"))}
    return found


def distances(paths: Iterable[str], read_by: Mapping[str, set[str]]) -> dict[str, int]:
    """How many imports away each file is that a change of `paths` can touch."""
    found = {path: 0 for path in paths if path in read_by}
    for path in paths:
        if path not in read_by:
            names = (Path(path).name, f"{Path(path).parent}/*{Path(path).suffix}")
            texts = {one: (ROOT / one).read_text("utf-8") for one in read_by}
            named = [one for one, text in texts.items() if any(name in text for name in names)]
            found |= {one: 1 for one in named if one not in found}
    reached = list(found)
    for path in reached:  # grows while it is walked
        for one in sorted(read_by[path] - found.keys()):
            found[one] = found[path] + 1
            reached.append(one)
    return found


def chosen(away: Mapping[str, int], seconds: Mapping[str, float], most: float) -> tuple[list[str], list[str]]:
    """The test files to run, nearest and fastest first, and those for which `most` seconds leave no room."""
    tests = [path for path in away if Path(path).name.startswith("test_")]
    run: list[str] = []
    left: list[str] = []
    for path in sorted(tests, key=lambda path: (away[path], seconds.get(path, UNKNOWN), path)):
        needed = seconds.get(path, UNKNOWN)
        if away[path] == 0 or needed <= most:
            most -= needed
            run.append(path)
        else:
            left.append(path)
    return run, left


def _file(module: str) -> str | None:
    path = Path(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file.as_posix() for file in files if (ROOT / file).is_file()), None)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", default="main", help="the branch that this one left")
    parser.add_argument("--seconds", type=float, default=60, help="how long the tests may take together")
    asked = parser.parse_args(arguments)
    seconds = json.loads(SECONDS.read_text("utf-8")) if SECONDS.is_file() else {}
    paths = changed(asked.base)
    run, left = chosen(distances(paths, importers()), seconds, asked.seconds)
    print(f"{len(paths)} changed files, {len(run)} test files", file=stderr)
    if left:
        print(f"{len(left)} more can be touched and are left to `make test`", file=stderr)
    print("\n".join(run))


if __name__ == "__main__":
    main()
