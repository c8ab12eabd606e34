"""The documents that this gridc makes of kept bundles."""

import re
import tarfile
from pathlib import Path

import pytest

from gridc import __version__
from gridc.reports import verification
from gridc.reports.files import file_texts
from gridc.study import open as open_study
from tests.e2e.printed import repeated

BEFORE = Path(__file__).with_name("before")


@pytest.mark.parametrize("packed", sorted(BEFORE.glob("*.tar.xz")), ids=lambda path: path.name)
def test_no_list_says_a_thing_twice(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, str] = {}

    def noted(findings: object) -> dict[str, str]:
        made.update(file_texts(findings))  # type: ignore[arg-type]
        return made

    monkeypatch.setattr(verification, "file_texts", noted)
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    open_study(tmp_path / packed.name.removesuffix(".tar.xz")).verify()
    assert made
    assert {name: said for name, text in made.items() if (said := repeated(name, text))} == {}


def test_the_version_is_said_the_same_everywhere() -> None:
    root = Path(__file__).parents[2]
    assert f"\nversion: {__version__}\n" in (root / "CITATION.cff").read_text("utf-8")
    actions = [
        used
        for page in (root / "docs").glob("*.md")
        for used in re.findall(r"uses: gridc/gridc@(\S+)", page.read_text("utf-8"))
    ]
    assert set(actions) == {f"v{__version__}"}, "a release has this tag and no other"
