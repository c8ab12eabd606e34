"""A run that was stopped, or goes on, is incomplete to `verify` and no false alarm."""

import sqlite3
from pathlib import Path

import pytest

import gridc
from tests.adversary.rooms.stores import codes, studied

UNENDED = "DELETE FROM event WHERE kind IN ('finish', 'report')"
UNSCORED = "UPDATE sample SET choice = NULL, score = NULL, evidence = NULL"
UNANSWERED = """UPDATE call SET sent = NULL, answer = NULL, answer_digest = NULL, usage = NULL,
    seconds = NULL, finished = NULL, batch = NULL"""

STATES = {
    "before the first answer": (UNENDED, UNSCORED, UNANSWERED),
    "answered, not scored": (UNENDED, UNSCORED),
    "some cells scored": (UNENDED, f"{UNSCORED} WHERE cell > 5"),
    "scored, the end not recorded": (UNENDED,),
}


@pytest.mark.parametrize("name", STATES)
def test_a_kill_is_no_false_alarm(name: str, tmp_path: Path) -> None:
    results = studied(tmp_path)
    for path in results.iterdir():
        if path.name != "store.sqlite":
            path.unlink()
    db = sqlite3.connect(results / "store.sqlite")
    for statement in STATES[name]:
        db.execute(statement)
    db.commit()
    db.close()
    assert codes(tmp_path) == {"incomplete"}
    document = gridc.open(tmp_path / "gridcard.toml").verify().as_json()
    assert (document["verified"], document["complete"]) == (False, False)


def test_a_report_that_scores_what_a_stopped_run_left_ends_the_run(tmp_path: Path) -> None:
    results = studied(tmp_path)
    db = sqlite3.connect(results / "store.sqlite")
    db.execute(UNENDED)
    db.execute(UNSCORED)
    db.commit()
    db.close()
    gridc.open(tmp_path / "gridcard.toml").report()
    assert codes(tmp_path) == set()
