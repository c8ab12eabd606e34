"""The lines of the stamp about judges, against plain SQL on the store of a judged study."""

import json
import sqlite3
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.judged import serving


def stamp_of(study: Any) -> dict[str, Any]:
    files = study.report().files
    path = next(path for path in files if path.name == "scorecard.json")
    document = json.loads(path.read_text("utf-8"))
    return {row["id"]: row for row in document["methodology"]} | {"integrity": document["integrity"]}


def test_sealed_first_and_two_judges(tmp_path: Path) -> None:
    more = "validation = { SECOND, share = 0.5, kappa = 0.6 }\nblinding = { sanitise = true, seed = 3 }"
    with serving(tmp_path / "s", shares={"other": 0.3}) as made:
        study = made.write(more)
        study.run()
        stamp = stamp_of(study)
        rows = made.rows(
            """SELECT cell, item, replicate, judge, attempt, label FROM judgement
               WHERE label IS NOT NULL ORDER BY attempt"""
        )
        labels: dict[Any, dict[str, str]] = defaultdict(dict)
        for cell, item, replicate, judge, _, label in rows:
            labels[cell, item, replicate][judge] = label
        both = [each for each in labels.values() if {"judge", "judge.validation"} <= each.keys()]
        pairs = [(each["judge"], each["judge.validation"]) for each in both]
        first, second = (Counter(side) for side in zip(*pairs, strict=True))
        agree = sum(one == other for one, other in pairs) / len(pairs)
        chance = sum(first[label] * second[label] for label in first) / len(pairs) ** 2
        kappa = (agree - chance) / (1 - chance)
        assert stamp["agreed"]["counts"]["both"] == len(both) > 3
        assert stamp["agreed"]["counts"]["kappa"] == pytest.approx(kappa, abs=1e-9)
        assert stamp["sealed"]["holds"] == "yes"
        assert stamp["guessed"]["holds"] == "not_measured"
        assert any("judge" in row["left"] or "judge" in row["right"] for row in stamp["integrity"])
        study.verify()
        # A judgement that is older than the seal: nobody could have sealed before it.
        with sqlite3.connect(made.folder / "results" / "judged" / "store.sqlite") as db:
            old = "finished = '2020-01-01T00:00:00+00:00'"
            db.execute(f"UPDATE call SET {old} WHERE id IN (SELECT call FROM judgement)")
        assert stamp_of(study)["sealed"]["holds"] == "no"


def test_judges_who_are_not_blinded(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as made:
        study = made.write()
        study.run()
        stamp = stamp_of(study)
    assert stamp["sealed"]["holds"] == "no"
    assert stamp["agreed"]["holds"] == "no"
