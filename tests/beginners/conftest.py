"""A beginner works in an empty folder, and has no folders of data or models."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("GRIDC_DATA", "GRIDC_MODELS"):
        monkeypatch.delenv(name, raising=False)
