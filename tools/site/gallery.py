"""Real reports with their studies: `python -m tools.site.gallery SPEC...` (`make gallery`) completes each
study and lays its spec, its lock and what was reported into results/gallery, for `make docs`."""

import shutil
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment

import gridc

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "results/gallery"
INDEX = "gallery/index.html"
"""The address of the page that leads to all, in the site."""
SHOWN = (
    "report.html",
    "scorecard.html",
    "deviations.html",
    "gridcard.md",
    "certificate.json",
    "estimates.json",
)
PAGE = ROOT / "tools/site/gallery.html.jinja"


def build(specs: Sequence[Path], results: Path, gallery: Path) -> Path:
    """The page that leads to all. What a study in `results` has answered is not asked again."""
    index = gallery / INDEX
    studies = [_study(spec, results, index.parent) for spec in specs]
    index.write_text(
        Environment(autoescape=True).from_string(PAGE.read_text("utf-8")).render(studies=studies), "utf-8"
    )
    return index


def _study(spec: Path, results: Path, gallery: Path) -> dict[str, object]:
    name = tomllib.loads(spec.read_text("utf-8"))["study"]["id"]
    study = gridc.open(spec, out=results / name)
    study.run()
    written = study.report()
    place = gallery / name
    place.mkdir(parents=True, exist_ok=True)
    shown = (spec, spec.with_suffix(".lock"), *(path for path in written.files if path.name in SHOWN))
    for path in shown:
        shutil.copy(path, place)
    return {
        "folder": place.name,
        "title": written.report.certificate.title,
        "leading": written.report.headline,
        "files": [path.name for path in shown],
    }


if __name__ == "__main__":
    print(build([Path(argument) for argument in sys.argv[1:]], ROOT / "results", GALLERY))
