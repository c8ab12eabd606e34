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


def test_the_gallery_has_the_reports_of_leaderboards_and_not_their_answers(tmp_path: Path) -> None:
    rows = [f"m{model},i{item},{int(item % 5 >= model)}" for model in range(3) for item in range(20)]
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "quiz.csv").write_text("\n".join(["model,item,score", *rows]) + "\n")
    index = build([], tmp_path / "results", tmp_path, {"board": logs})
    text = index.read_text("utf-8")
    assert "On quiz, m0 or m1 is first: with all 3 pairs tested, these items do not show which." in text
    linked = re.findall(r'href="([^"]+)"', text)
    assert {Path(address).name for address in linked} >= {"report.html", "certificate.json"}
    held = {path.name for path in (index.parent / "board").iterdir()}
    assert all((index.parent / address).is_file() for address in linked)
    assert not held & {"store.sqlite", "logs.json", "baseline.gridc"}
