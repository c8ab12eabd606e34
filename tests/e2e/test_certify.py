"""`gridc certify --until-decided` with real models: fewer calls, the same store, the same race again."""

import json
from pathlib import Path

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.adaptive_race import document, from_store, race_study
from gridc.runtime.store.store import Store
from tests.e2e.conftest import command, make_study


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certified")
    make_study(folder, items=40)
    assert command("stamp", cwd=folder).returncode == 0
    return folder


def test_it_asks_less_than_the_grid_and_a_run_goes_on_from_there(folder: Path) -> None:
    done = command("certify", "--until-decided", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    calls = found["calls"]
    assert 0 < calls["executed"] < calls["full_grid"]
    assert json.loads((folder / "results" / "small" / "witness.json").read_text()) == found
    again = json.loads(command("certify", "--until-decided", "--json", cwd=folder).stdout)
    assert again["calls"]["executed"] == 0
    assert again["benchmarks"] == found["benchmarks"]

    ran = json.loads(command("run", "--json", cwd=folder).stdout)
    assert ran["executed"] == calls["full_grid"] - calls["executed"]
    compiled = compile_spec(folder / "gridcard.toml", None)
    plan = Plan(compiled.study)
    with Store.open(folder / "results" / "small" / "store.sqlite") as store:
        replayed = document(plan, race_study(plan, from_store(store.outcomes(plan.study_digest))))
        assert [event.kind for event in store.events()].count("witness") == 2
    assert replayed["benchmarks"] == found["benchmarks"]


def test_certify_alone_says_what_the_store_certifies(folder: Path) -> None:
    assert command("run", cwd=folder).returncode == 0
    done = command("certify", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "qwen2" in done.stdout
    assert "stablished" in done.stdout


def test_a_store_that_lacks_the_answer_cannot_replay(folder: Path) -> None:
    compiled = compile_spec(folder / "gridcard.toml", None)
    with pytest.raises(KeyError):
        race_study(Plan(compiled.study), from_store({}))
