"""Real reports with their studies: `python -m tools.site.gallery SPEC...` (`make gallery`) completes each
study and lays its spec, its lock and what was reported into results/gallery, for `make docs`. NAME=FOLDER
certifies the logs in a folder instead, such as those of a public leaderboard."""

import json
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import Environment

import gridc
from gridc.reports.statements.standings import first_words

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


def build(
    specs: Sequence[Path], results: Path, gallery: Path, boards: Mapping[str, Path] | None = None
) -> Path:
    """The page that leads to all. What a study in `results` has answered is not asked again. `boards` are
    folders of logs, by the name that they get."""
    index = gallery / INDEX
    studies = [_study(spec, results, index.parent) for spec in specs]
    studies += [_board(name, logs, index.parent) for name, logs in (boards or {}).items()]
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


def _board(name: str, logs: Path, gallery: Path) -> dict[str, object]:
    place = gallery / name
    report = gridc.certify(logs)
    written = report.write(place)
    for path in written:
        if path.name not in SHOWN:
            path.unlink()
    certificate = json.loads((place / "certificate.json").read_text("utf-8"))
    return {
        "folder": name,
        "title": certificate["title"],
        "leading": [
            f"On {row.benchmark}, {first_words(row.standings)}."
            for row in report.certificate.benchmarks
            if row.standings is not None
        ],
        "files": [path.name for path in written if path.name in SHOWN],
    }


if __name__ == "__main__":
    named = [argument.partition("=") for argument in sys.argv[1:]]
    print(
        build(
            [Path(spec) for spec, is_board, _ in named if not is_board],
            ROOT / "results",
            GALLERY,
            {name: Path(folder) for name, is_board, folder in named if is_board},
        )
    )
