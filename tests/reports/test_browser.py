"""The page in a real browser: it draws, nothing is wider than a phone, it prints, and nothing is fetched."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gridc.reports.files import texts
from tests.reports.builders import findings_of, reversing, spec_of

CHROMIUM = shutil.which("chromium")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.slow,
]

PROBE = """<script>
addEventListener("load", () => {
  const svgs = [...document.querySelectorAll("svg")];
  const wide = [...document.querySelectorAll("main *")].filter(each => {
    const scrolls = each.closest(".scroll, .over, svg, details:not([open])");
    return !scrolls && each.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
  });
  document.title = JSON.stringify({
    svgs: svgs.length,
    drawn: svgs.filter(each => each.getBBox().width > 40 && each.getBoundingClientRect().height > 40).length,
    wide: wide.map(each => each.tagName + "." + each.className).slice(0, 5),
    page: document.documentElement.scrollWidth,
    texts: svgs.flatMap(each => [...each.querySelectorAll("text")].filter(text => {
      const a = text.getBoundingClientRect(), b = each.getBoundingClientRect();
      return a.width && (a.left < b.left - 2 || a.right > b.right + 2);
    }).map(text => text.textContent)),
  });
});
</script>"""


def chromium(*arguments: str) -> "subprocess.CompletedProcess[str]":
    assert CHROMIUM is not None
    base = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    return subprocess.run([*base, *arguments], capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    models = {"ant": "a small one", "a-model-with-a-long-name": None, "cat": None}
    path.write_text(texts(findings_of(spec_of(models), reversing))["report.html"])
    return path


@pytest.mark.parametrize("width", [390, 1280])
def test_it_draws_and_fits(page: Path, width: int) -> None:
    """The page's own policy allows no script; the probe is a copy with the policy taken out, in a frame of
    the width of a phone, because a window cannot be that narrow."""
    text = page.read_text()
    probed = page.with_name("probed.html")
    probed.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', PROBE, text))
    outer = page.with_name(f"outer-{width}.html")
    outer.write_text(
        f'<iframe src="probed.html" style="width:{width}px;height:3000px;border:0" onload="setTimeout(() => '
        '{ document.body.dataset.found = this.contentDocument.title }, 500)"></iframe>'
    )
    done = chromium(
        "--allow-file-access-from-files", "--window-size=1400,3000", "--virtual-time-budget=5000",
        "--dump-dom", outer.as_uri(),
    )  # fmt: skip
    found = re.search(r'data-found="([^"]*)"', done.stdout)
    assert found is not None, done.stderr
    import json
    from html import unescape

    seen = json.loads(unescape(found.group(1)))
    assert seen["svgs"] == seen["drawn"] == text.count("<svg")
    assert seen["page"] <= width
    assert seen["wide"] == []
    assert seen["texts"] == []


def test_it_prints_every_section(page: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.pdf"
    chromium("--no-pdf-header-footer", f"--print-to-pdf={target}", page.as_uri())
    assert target.read_bytes()[:5] == b"%PDF-"
    if shutil.which("pdftotext"):
        shown = subprocess.run(["pdftotext", str(target), "-"], capture_output=True, text=True, check=True)
        for heading in ("Reachable orderings", "What moves the scores", "GRID cards", "Every number"):
            assert heading in shown.stdout


def test_a_screenshot_is_not_blank(page: Path, tmp_path: Path) -> None:
    target = tmp_path / "shot.png"
    chromium("--window-size=1280,2000", f"--screenshot={target}", page.as_uri())
    assert target.stat().st_size > 50_000
