"""Stores whose values somebody edited: every command says what is wrong with them, and none fails."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import gridc
from gridc.diagnostics.errors import GridcError
from gridc.runtime.store.store import Store
from gridc.study import OpenStudy
from tests.adversary.rooms.stores import edit, studied
from tests.golden.cases import BASE

EDITS = {
    "a time is not a date": "UPDATE call SET finished = 'soon'",
    "a time has no zone": "UPDATE call SET finished = '2026-01-01T00:00:00'",
    "a score is 2": "UPDATE sample SET score = 2",
    "a score is -1": "UPDATE sample SET score = -1",
    "a score overflows": "UPDATE sample SET score = 9223372036854775807",
    "replicates begin at 5": "UPDATE sample SET replicate = replicate + 5",
    "cells have other names": "UPDATE cell SET key = 'x' || id",
    "items have other names": "UPDATE sample SET item = 'x' || item",
}
LOOKS: dict[str, Callable[[OpenStudy], object]] = {
    "status": lambda study: study.status(),
    "certify": lambda study: study.certify(),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=list(EDITS))
def test_a_value_of_another_form_is_told_in_words(edit: str, tmp_path: Path) -> None:
    results = studied(tmp_path)
    db = sqlite3.connect(results / "store.sqlite")
    db.execute("PRAGMA foreign_keys = OFF")
    assert db.execute(edit).rowcount > 0
    db.commit()
    db.close()
    told = set()
    for look in LOOKS.values():
        try:
            look(gridc.open(tmp_path / "gridcard.toml"))
        except GridcError as error:
            told |= {each.code for each in error.diagnostics}
    assert told == {"GC605"}


DAMAGE: dict[str, tuple[str, Callable[[OpenStudy], object]]] = {
    "a study has a key that no spec has": (
        "UPDATE study SET content = json_set(content, '$.spec.extra', 1)",
        lambda study: gridc.diff(study.store, study.store),
    ),
    "a study has no inputs": (
        "UPDATE study SET content = json_remove(content, '$.inputs')",
        lambda study: gridc.diff(study.store, study.store),
    ),
    "a prompt is not JSON": ("UPDATE prompt SET content = '{'", lambda study: study.run()),
    "a prompt is a list": ("UPDATE prompt SET content = '[]'", lambda study: study.run()),
    "a prompt has no messages": ("UPDATE prompt SET content = '{}'", lambda study: study.run()),
    "a message is a number": (
        "UPDATE prompt SET content = json_set(content, '$.messages[0]', 1)",
        lambda study: study.run(),
    ),
    "a text is a number": (
        "UPDATE prompt SET content = json_set(content, '$.messages[0][1]', 1)",
        lambda study: study.run(),
    ),
    "a prompt asks something else": (
        "UPDATE prompt SET content = json_set(content, '$.messages[0][1]', 'Say B.')",
        lambda study: study.run(),
    ),
    "a request has other parameters": (
        "UPDATE call SET request = json_set(request, '$.temperature', 1.0)",
        lambda study: study.run(),
    ),
    "a request is not an object": ("UPDATE call SET request = '[]'", lambda study: study.run()),
    "a request is empty": ("UPDATE call SET request = '{}'", lambda study: study.run()),
}


@pytest.mark.parametrize(("damage", "look"), DAMAGE.values(), ids=list(DAMAGE))
def test_damage_is_told_by_whoever_meets_it(
    damage: str, look: Callable[[OpenStudy], object], tmp_path: Path
) -> None:
    results = studied(tmp_path)
    edit(results, "UPDATE call SET answer = NULL, answer_digest = NULL", damage)
    with pytest.raises(GridcError) as raised:
        look(gridc.open(tmp_path / "gridcard.toml"))
    assert {each.code for each in raised.value.diagnostics} == {"GC605"}


def test_an_error_of_another_cause_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="mine"), Store.open(studied(tmp_path) / "store.sqlite"):
        raise LookupError("mine")


def test_a_part_of_a_point_is_a_score_and_more_than_a_point_is_none(tmp_path: Path) -> None:
    """Scores of 1 and 0.25 are stored as 4 and 1."""
    order = 'option_order = "file"'
    spec = tmp_path / "gridcard.toml"
    spec.write_text(BASE.replace(order, f"{order}\nscores = {{ right = 1, other = 0.25 }}"))
    study = gridc.open(spec)
    study.stamp()
    study.run()
    results = tmp_path / "results" / "golden"
    with pytest.raises(LookupError, match="mine"), Store.open(results / "store.sqlite"):
        raise LookupError("mine")
    edit(results, "UPDATE sample SET score = 5 WHERE score = 4")
    with pytest.raises(GridcError, match="GC605"):
        study.certify()
