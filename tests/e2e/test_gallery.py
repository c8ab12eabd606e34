"""The gallery of the site: reports of studies that have run, each beside its spec and lock."""

import re
from pathlib import Path

from tools.site.gallery import build


def test_the_gallery_leads_to_each_report_and_its_study(study: Path, tmp_path: Path) -> None:
    index = build([study / "gridcard.toml"], study / "results", tmp_path)
    linked = re.findall(r'href="([^"]+)"', index.read_text("utf-8"))
    assert {Path(address).name for address in linked} >= {"gridcard.toml", "gridcard.lock", "report.html"}
    for address in linked:
        assert (index.parent / address).is_file(), address
    for name in ("gridcard.toml", "gridcard.lock"):
        assert (index.parent / "small" / name).read_bytes() == (study / name).read_bytes()
