"""Every number of scorecard.json is recounted from exported tables by a program that imports nothing of
gridc."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import compile_spec
from gridc.reports.certificate import certificate_of
from gridc.reports.exchange.table_files import write_table
from gridc.reports.findings.findings import all_findings
from gridc.reports.scorecard.document import make_scorecard
from gridc.runtime.store.store import Store
from gridc.study import OpenStudy
from tests.recount.exported import Export
from tests.recount.scorecard import differences, recount, unfounded
from tests.recount.studies import corners, graded

Made = tuple[Any, Any]
"""A scorecard, and its recount."""


def counted(folder: Path, store: Path) -> Made:
    """The scorecard of a store in `folder`, and its recount from tables that are exported here."""
    out = folder / "exported"
    out.mkdir(exist_ok=True)
    place = folder / "results"
    place.mkdir(exist_ok=True)
    with sqlite3.connect(store) as source, sqlite3.connect(place / "store.sqlite") as copy:
        source.backup(copy)
    study = OpenStudy(folder / "gridcard.toml", None, place)
    for name in ("samples", "scores"):
        write_table(study.batches(name), out / f"{name}.csv")
    compiled = compile_spec(folder / "gridcard.toml", None)
    assert compiled.lock is not None
    with Store.open(store) as opened:
        findings = all_findings(compiled, compiled.lock, opened)
    card = json.loads(make_scorecard(findings).model_dump_json())
    certificate = json.loads(certificate_of(findings).model_dump_json())
    assert list(unfounded(card, certificate)) == []
    export = Export(out, folder / "gridcard.lock", store, card["stamp"])
    return card, json.loads(json.dumps(recount(export, certificate), default=float))


@pytest.fixture(scope="module")
def corner(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Made]:
    folder = tmp_path_factory.mktemp("corners")
    store = corners(folder)
    return folder, store, counted(folder, store)


def test_units_replicates_two_readers_and_lower_is_better(corner: tuple[Path, Path, Made]) -> None:
    card, again = corner[2]
    assert any(row["left"] == "reading = last" for row in card["integrity"])
    kinds = {
        row["change"]["number_needed"]["kind"]
        for model in card["models"]
        for row in model["matrix"]
        if row["change"]
    }
    assert kinds == {"harm", "benefit", "none"}
    assert all(model["sensitivity"]["share"] for model in card["models"])
    assert list(differences(card, again)) == []


def test_parts_of_points_and_unreadable_answers(tmp_path: Path) -> None:
    card, again = counted(tmp_path, graded(tmp_path))
    assert card["models"][0]["sensitivity"]["share"] is None
    assert next(row for row in card["methodology"] if row["id"] == "both_readings")["counts"]["diverge"]
    assert list(differences(card, again)) == []


def test_a_run_that_is_not_finished(corner: tuple[Path, Path, Made]) -> None:
    folder, store, _ = corner
    part = folder / "part.sqlite"
    shutil.copy(store, part)
    with sqlite3.connect(part) as db:
        cells = "SELECT id FROM cell WHERE model = 'llama' AND configuration LIKE '%template=T4%'"
        db.execute(f"UPDATE sample SET score = NULL, choice = NULL, evidence = NULL WHERE cell IN ({cells})")
    card, again = counted(folder, part)
    assert not card["complete"]
    assert list(differences(card, again)) == []


def test_a_wrong_figure_in_a_sentence_is_found(tmp_path: Path) -> None:
    row = {"a": "one", "b": "two", "value_a": 0.5, "value_b": 0.25, "gap": 0.25, "interval": [0.1, 0.4]}
    certificate = {"verdicts": {"rows": [{**row, "on_units": None, "unread_low": None, "unread_high": 0.3}]}}
    line = "one and two, facts: differ; one 50.0 %, two 25.0 %: 25.0 points apart (10.0 to 40.0)"
    assert list(unfounded({"differences": [line]}, certificate)) == []
    for figure in ("50.0", "25.0 %", "40.0"):
        wrong = {"differences": [line.replace(figure, "61.2")]}
        assert len(list(unfounded(wrong, certificate))) == 1


BREAK: dict[str, Callable[[Any], None]] = {
    "a rate": lambda c: c["models"][0]["matrix"][3].update(rate=0.123),
    "an end of an interval": lambda c: c["models"][1]["matrix"][2].update(interval=[0.1, 0.2]),
    "a number needed": lambda c: c["models"][0]["matrix"][1]["change"]["number_needed"].update(displayed=3),
    "a share": lambda c: c["models"][2]["sensitivity"].update(share=0.5),
    "an answer of the stamp": lambda c: c["methodology"][2].update(holds="yes"),
    "a count of the stamp": lambda c: c["methodology"][0]["counts"].update(calls=1),
    "a new number": lambda c: c["models"][0].update(index=0.9),
    "a missing row": lambda c: c["integrity"].pop(),
    "a claim": lambda c: c["claims"][0].update(cases=1000),
}


@pytest.mark.parametrize("name", BREAK)
def test_a_wrong_or_a_new_number_is_found(name: str, corner: tuple[Path, Path, Made]) -> None:
    card, again = deepcopy(corner[2])
    BREAK[name](card)
    assert list(differences(card, again))
