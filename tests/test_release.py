"""`make release`: what its notes say, what it refuses, and the whole of it."""

import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from gridc import __version__
from tools.release import ROOT, ReleaseRefused, notes, tried, unchanged

TODAY = date(2026, 11, 28)
CHANGELOG = """# Changelog

## Unreleased

### Changed
- One.

## [0.9.0] 2026-01-01
- Two.
"""


def test_the_notes_are_the_section_unreleased_and_no_more() -> None:
    assert notes(CHANGELOG, "0.10.0", ["v0.9.0", "nightly"], TODAY) == (
        "# gridc 0.10.0 (2026-11-28)\n\n### Changed\n- One.\n"
    )


@pytest.mark.parametrize(
    ("text", "version", "tags", "why"),
    [
        (CHANGELOG.replace("- One.", ""), "1.0.0", [], "no entry under"),
        ("# Changelog\n\n## [0.9.0]\n- Two.\n", "1.0.0", [], "no entry under"),
        (CHANGELOG, "1.0.0", ["v1.0.0"], "v1.0.0 is tagged already"),
        (CHANGELOG, "0.9.0", [], "0.9.0 is not above 0.9.0"),
        (CHANGELOG, "0.9.1", ["v0.9.0", "v0.10.0"], "0.9.1 is not above 0.10.0"),
        (CHANGELOG, "1.0.0rc1", ["v1.0.0"], "1.0.0rc1 is not above 1.0.0"),
    ],
)
def test_what_cannot_be_a_release_is_refused(text: str, version: str, tags: list[str], why: str) -> None:
    with pytest.raises(ReleaseRefused, match=re.escape(why)):
        notes(text, version, tags, TODAY)


def test_this_version_has_notes() -> None:
    """Raised, but with nothing to say, or already named in the changelog, it could not be released."""
    assert notes((ROOT / "CHANGELOG.md").read_text("utf-8"), __version__, [], TODAY).count("\n- ") > 0


def test_a_tree_with_changes_or_with_files_that_git_does_not_know_is_refused(tmp_path: Path) -> None:
    for command in (
        ("init", "-q"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a", "--allow-empty"),
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    unchanged(tmp_path)
    (tmp_path / "new.txt").write_text("new", "utf-8")
    with pytest.raises(ReleaseRefused, match=r"not clean.*\n.*new\.txt"):
        unchanged(tmp_path)


def test_an_archive_that_cannot_be_installed_is_refused_with_what_pip_says(tmp_path: Path) -> None:
    (tmp_path / "gridc-0.0.1-py3-none-any.whl").write_bytes(b"no archive")
    with pytest.raises(ReleaseRefused, match=r"pip install.* ended with 1:\n(.*\n)*.*[Ii]nvalid"):
        tried(Path(sys.executable), tmp_path / "gridc-0.0.1-py3-none-any.whl", ())


@pytest.mark.slow
def test_the_whole_release(tmp_path: Path) -> None:
    """Of the last commit: somebody may be working in the tree. Needs an index of packages."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    command = [sys.executable, "-m", "tools.release"]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (clone / "dist").iterdir()}
    assert names == {f"gridc-{__version__}-py3-none-any.whl", f"gridc-{__version__}.tar.gz", "NOTES.md"}
    assert len(re.findall(r"Python 3\.11: \S+ passed", done.stdout)) == 2
    assert re.search(r"Python 3\.1[2-9]: (?:\S+ passed|skipped\. .*`uv python install)", done.stdout)
