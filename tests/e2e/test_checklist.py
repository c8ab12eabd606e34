"""`gridc report --checklist`: what a study shows is in its documents, and the rest is left to its author."""

import json
import sqlite3
from pathlib import Path

import gridc
from tests.e2e.conftest import command


def shown(folder: Path) -> dict[str, str | None]:
    return {row.criterion: row.shown for row in gridc.open(folder / "gridcard.toml").checklist().rows}


def test_what_is_shown_is_in_the_documents(study: Path) -> None:
    done = command("report", "--checklist", cwd=study)
    assert done.returncode == 0, done.stderr
    text = (study / "results" / "small" / "checklist.md").read_text("utf-8")
    rows = shown(study)
    left = list(rows.values()).count(None)
    assert f"({len(rows)} criteria, of which the author must write {left})" in done.stdout
    assert text.count("the author must write this") == left == 5
    deck = json.loads((study / "results" / "small" / "gridcard.json").read_text("utf-8"))
    (card, *_) = deck["cards"]
    assert (
        rows["2 (i) number of items"]
        == f"bbq: {card['items']} of {card['held']} items in {card['units']} templates"
    )
    assert f"{len(card['axis_receipt']['setting'])} keys" in str(rows["(i) axis receipt"])
    scorecard = json.loads((study / "results" / "small" / "scorecard.json").read_text("utf-8"))
    for check in scorecard["checklist"]:
        held = f"{check['holds'].replace('_', ' ')}: {check['said']}"
        assert rows[check["recommendation"]] == held
    several = command("report", "gridcard.toml", "gridcard.toml", "--checklist", cwd=study)
    assert several.returncode == 2 and "of one study" in several.stderr


def test_what_is_not_measured_is_not_ticked(study: Path) -> None:
    """One answer of each cell is taken away: no score is measured, and nothing says that one is."""
    with sqlite3.connect(study / "results" / "small" / "store.sqlite") as db:
        one = "item = (SELECT min(item) FROM sample)"
        db.execute(f"UPDATE sample SET score = NULL, choice = NULL WHERE {one}")
    rows = shown(study)
    measured = "gridcard.json, point_score: 0 of 2 scores measured, 0 with an interval"
    assert rows["4 model performance"] == measured
    assert rows["(iii) score neighbourhood"] is None and rows["(iv) verdict stability"] is None
