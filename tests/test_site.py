"""The site of the documentation: every page, no warning, and nothing that is fetched from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FETCHED = re.compile(r"<(?:script|img|iframe)[^>]*\ssrc=\"https?:|<link[^>]*stylesheet[^>]*https?:")
"""What a browser would fetch from another host to show the page."""


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_shown_without_a_network(tmp_path: Path) -> None:
    pytest.importorskip("furo", reason="pip install -e '.[docs]'")
    pytest.importorskip("myst_parser", reason="pip install -e '.[docs]'")
    options = ["-q", "-W", "--keep-going", "-c", "tools/site", "docs", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    for page in (ROOT / "docs").glob("*.md"):
        shown = (tmp_path / f"{page.stem}.html").read_text("utf-8")
        assert "</html>" in shown
        assert "<!-- test:" not in shown
    first = (tmp_path / "index.html").read_text("utf-8")
    assert 'src="_images/surface.svg"' in first
    for way in ("tutorial", "sharing", "logs", "gate"):
        assert f'href="{way}.html"' in first
    for page in tmp_path.rglob("*.html"):
        assert not FETCHED.search(page.read_text("utf-8")), page.name
    for style in tmp_path.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import )[\"']?https?:", style.read_text("utf-8")), style.name
