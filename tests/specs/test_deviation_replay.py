"""The deviation replay: stamp the scaffold study as registered, apply it as carried out, and the computed log
is the paper's table 3 and what its authors missed."""

import json
import os
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gridc.cli import main
from gridc.compiler.compile import compile_spec
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.lock.deviations import Reconciliation, departures, log_path, reconcile
from gridc.compiler.lock.lock import make_lock, write_lock

SPECS = Path(__file__).resolve().parents[2] / "specs"
IMPLEMENTED = SPECS / "scaffold_safety.toml"
DATA = os.environ.get("GRIDC_DATA")


def study(name: str, data: Path | None = None) -> Study:
    return compile_spec(SPECS / f"{name}.toml", data).study


@pytest.fixture(scope="module")
def replay() -> Reconciliation:
    lock = make_lock(study("scaffold_safety_registered"), SPECS / "scaffold_safety_registered.toml")
    return reconcile(lock, study("scaffold_safety"), log_path(IMPLEMENTED))


def test_the_log_explains_every_difference_once_and_nothing_else(replay: Reconciliation) -> None:
    assert replay.findings == ()
    explained = [each.path for _, found in replay.entries() for each in found]
    assert sorted(explained) == sorted(each.path for each in replay.departures)


def test_the_computed_log(replay: Reconciliation, golden: Any) -> None:
    golden.check(Path(__file__).with_name("deviations.json"), json.dumps(replay.manifest(), indent=1) + "\n")


def test_the_log_lists_the_papers_nine_and_the_five_that_its_authors_missed(replay: Reconciliation) -> None:
    """Table 3 by number; D-002 was undone, so that nothing differs."""
    ids = [entry.id for entry, _ in replay.entries()]
    assert ids == [f"D-{number:03}" for number in range(1, 15)]
    assert [entry.id for entry, found in replay.entries() if not found] == ["D-002"]


def test_the_log_has_the_papers_values(replay: Reconciliation) -> None:
    """What the paper's table 3 and its authors' definitions say was registered and implemented."""
    found = {each.path: (each.registered, each.implemented) for each in replay.departures}
    assert found["harness.system_turn"] == ("system", "user")
    assert found["axis[scaffold].level[multi_agent].scaffold.rounds"] == (1, 2)
    assert found["axis[scaffold].level[react].scaffold.tools"] == (
        ["calculator", "text_search", "scratchpad"],
        [],
    )
    assert len(found["curve[primary].forks"][0]) == 29
    assert len(found["curve[primary].forks"][1]) == 3
    assert found["analysis.estimator"] == ("glmm", "cluster_logit")
    for scaffold in ("react", "multi_agent", "map_reduce"):
        assert found[f"axis[scaffold].level[{scaffold}].max_tokens"] == (2048, 1024)
    assert found["model[mistral]"][1]["source"] == "mistral/mistral-large-latest"
    assert found["analysis.primary.context"][1] == "short"
    assert found["benchmark[sycophancy].sample.seed"] == (42, 43)
    assert found["judge.validation.share"] == (0.2, 0.1)
    assert found["analysis.permutations"] == (500, 200)
    assert found["analysis.equivalence"] == ("nonsignificant", "all")
    assert found["judge.blinding.index"][0] == "bang"


def test_one_command_prints_the_log_against_the_spec_of_the_registration(tmp_path: Path) -> None:
    """Which has no lock here, and is said to have none; with one, the lock counts."""
    registered = SPECS / "scaffold_safety_registered.toml"
    command = ["deviations", str(IMPLEMENTED), "--registered"]
    told = CliRunner().invoke(main, [*command, str(registered)], env={"GRIDC_DATA": None})
    assert told.exit_code == 0, told.output
    assert re.findall(r"^D-\d+", told.output, re.MULTILINE) == [f"D-{number:03}" for number in range(1, 15)]
    assert "has no lock, so nothing shows since when it says this" in " ".join(told.output.split())
    shutil.copytree(SPECS, tmp_path / "specs", ignore=shutil.ignore_patterns("*.lock"))
    own = tmp_path / "specs" / registered.name
    write_lock(make_lock(study("scaffold_safety_registered"), registered), own.with_suffix(".lock"))
    own.write_text(own.read_text("utf-8").replace("seed = 42", "seed = 41"), "utf-8")
    told = CliRunner().invoke(main, [*command, str(own)], env={"GRIDC_DATA": None})
    assert told.exit_code == 0 and "has no lock" not in told.output, told.output


def test_an_entry_that_is_taken_out_leaves_its_differences_open(tmp_path: Path) -> None:
    log = log_path(IMPLEMENTED).read_text("utf-8")
    lock = make_lock(study("scaffold_safety_registered"), SPECS / "scaffold_safety_registered.toml")
    entries = tomllib.loads(log)["deviation"]
    head, *parts = log.split("[[deviation]]")
    for number, entry in enumerate(entries):
        rest = "[[deviation]]".join([head, *parts[:number], *parts[number + 1 :]])
        path = tmp_path / "rest.toml"
        path.write_text(rest, "utf-8")
        found = reconcile(lock, study("scaffold_safety"), path).findings
        paths = [] if entry.get("resolved") else [change["path"] for change in entry["change"]]
        assert {each.code for each in found} == ({"GC401"} if paths else set())
        assert len(found) == len(paths)


@pytest.mark.skipif(DATA is None, reason="GRIDC_DATA does not say where the benchmarks lie")
def test_the_same_departures_are_computed_with_the_items_at_hand(replay: Reconciliation) -> None:
    folder = Path(DATA or "")
    before, after = (
        study(name, folder).stamped() for name in ("scaffold_safety_registered", "scaffold_safety")
    )
    assert departures(before, after) == list(replay.departures)
