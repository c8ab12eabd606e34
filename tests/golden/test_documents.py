"""The documents that this gridc makes of kept bundles."""

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
    citation = Path(__file__).parents[2] / "CITATION.cff"
    assert f"\nversion: {__version__}\n" in citation.read_text("utf-8")
