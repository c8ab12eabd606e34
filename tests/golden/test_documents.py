"""The version is raised with every change of a document: two of one version would look like a forgery."""

import json
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest

from gridc import __version__
from gridc.reports import verification
from gridc.reports.files import file_texts as write
from gridc.study import open as open_study
from tests.e2e.printed import repeated

BEFORE = Path(__file__).with_name("before")
RECORD = Path(__file__).with_name("documents.json")


def documents(folder: Path, patch: pytest.MonkeyPatch) -> dict[str, dict[str, str]]:
    """The SHA-256 of each document that this gridc makes of the kept bundles."""
    made: dict[str, dict[str, str]] = {}
    for packed in sorted(BEFORE.glob("*.tar.xz")):
        name = packed.name.removesuffix(".tar.xz")
        with tarfile.open(packed) as archive:
            archive.extractall(folder, filter="data")

        def noted(findings: object, name: str = name) -> dict[str, str]:
            texts = write(findings)  # type: ignore[arg-type]
            twice = {file: said for file, text in texts.items() if (said := repeated(file, text))}
            assert not twice, f"a list says a thing twice: {twice}"
            made[name] = {file: sha256(text.encode()).hexdigest() for file, text in sorted(texts.items())}
            return texts

        patch.setattr(verification, "file_texts", noted)
        open_study(folder / name).verify()
    return made


def test_a_changed_document_has_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    record = json.loads(RECORD.read_text("utf-8"))
    made = documents(tmp_path, monkeypatch)
    if made == record["documents"]:
        return
    changed = sorted(
        {
            name
            for bundle, files in made.items()
            for name in files
            if files[name] != record["documents"].get(bundle, {}).get(name)
        }
    )
    assert __version__ != record["gridc"], (
        f"{', '.join(changed)} changed, and gridc {__version__} wrote them otherwise: raise `__version__` in "
        "gridc/__init__.py and CITATION.cff, then run pytest tests/golden --update-golden"
    )
    assert request.config.getoption("--update-golden"), "pytest tests/golden --update-golden records them"
    RECORD.write_text(json.dumps({"gridc": __version__, "documents": made}, indent=1) + "\n", "utf-8")


def test_the_version_is_said_the_same_everywhere() -> None:
    citation = Path(__file__).parents[2] / "CITATION.cff"
    assert f"\nversion: {__version__}\n" in citation.read_text("utf-8")
