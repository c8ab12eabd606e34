"""Caps and deviations of a real run: it stops before a cap, goes on when it is raised, and says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import make_study
from tests.e2e.test_cli import edited, gridc

CAPPED = "\n[budget]\ncalls = 100\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_study(tmp_path_factory.mktemp("capped"), items=4).parent


def read(*arguments: str, cwd: Path) -> Any:
    return json.loads(gridc(*arguments, "--json", cwd=cwd).stdout)


def test_a_run_stops_before_its_cap_and_goes_on_when_it_is_raised(folder: Path) -> None:
    spec = folder / "gridcard.toml"
    (folder / "gridcard.lock").unlink(missing_ok=True)
    assert gridc("stamp", cwd=folder).returncode == 0
    stamp = json.loads((folder / "gridcard.lock").read_text())["stamp"]
    spec.write_text(spec.read_text() + CAPPED)
    done = gridc("run", cwd=folder)
    assert done.returncode == 8, done.stderr
    assert "error[GC611]: [budget] calls = 100 was reached after" in done.stderr
    progress = read("status", cwd=folder)
    assert progress["stamp"] == stamp, "a budget is outside the stamp"
    assert progress["answered"] <= 100 < progress["total"]
    observed = read("deviations", cwd=folder)["observed"]
    assert (
        observed[0]
        == f"[budget] calls = 100 was reached after {progress['answered']} of {progress['total']} calls"
    )
    edited(folder, CAPPED, "")
    assert gridc("run", cwd=folder).returncode == 0
    assert read("status", cwd=folder)["complete"]
    assert read("deviations", cwd=folder)["observed"][0] == observed[0], "what happened stays in the store"


def test_a_cap_that_is_reached_again_is_said_once(tmp_path: Path) -> None:
    spec = make_study(tmp_path, items=4)
    spec.write_text(spec.read_text() + "\n[budget]\ncalls = 1\n")
    assert [gridc("run", cwd=tmp_path).returncode for _ in range(2)] == [8, 8]
    observed = read("deviations", cwd=tmp_path)["observed"]
    assert len(observed) == 1
    assert observed[0].startswith("[budget] calls = 1 was reached after 0 of ")


def test_a_departure_that_is_explained_runs_and_is_reported(folder: Path) -> None:
    edited(folder, 'title = "', 'title = "Again: ')
    refused = gridc("run", cwd=folder)
    assert refused.returncode == 4
    assert "error[GC401]: `study.title` was" in refused.stderr
    assert gridc("deviations", "--write", cwd=folder).returncode == 4
    log = folder / "deviations.toml"
    log.write_text(log.read_text().replace('reason = ""', 'reason = "a better title"'))
    assert gridc("run", cwd=folder).returncode == 0
    assert gridc("report", cwd=folder).returncode == 0
    assert gridc("verify", cwd=folder).returncode == 0
    (entry,) = read("deviations", cwd=folder)["deviations"]
    assert (entry["id"], entry["reason"]) == ("D-001", "a better title")
    deck = json.loads(next(folder.glob("results/*/gridcard.json")).read_text())
    (told,) = deck["deviations"]
    assert (told["id"], told["reason"], told["paths"]) == ("D-001", "a better title", ["study.title"])
    lock = json.loads((folder / "gridcard.lock").read_text())
    assert deck["registered"] == lock["stamp"] != deck["stamp"]
    card = next(folder.glob("results/*/gridcard.md")).read_text()
    assert f"stamp `{lock['stamp'][:12]}` (unanchored), from which the study as it ran" in " ".join(
        card.split()
    )
    assert lock["stamp"] in card
    log.write_text(log.read_text().replace("a better title", ""))
    stopped = gridc("verify", cwd=folder)
    assert stopped.returncode == 7
    assert "GC407" in stopped.stderr
