"""Several studies in one report: two precisions of one design, and a second phase on items of its own."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.schema.scorecard import StudiesTogether
from tests import studies
from tests.e2e.conftest import command

SPEC = (
    studies.head("one", studies.pocket(qwen2="qwen2", llama="llama"), "confirmatory")
    + """
[harness]
prompt = "builtin:T4"

[[benchmark]]
id = "tqa"
loader = "truthfulqa_mc1"
source = "builtin:pocket_truthfulqa.json"
direction = "higher_is_better"
sample = { n = 80, seed = 1 }
option_order = "shuffled:42"

AXIS
[[family]]
id = "primary"
correction = "holm"
alpha = 0.1

[[hypothesis]]
id = "H1"
family = "primary"
kind = "difference"
axis = "scoring"
level = "first_token"
reference = "loglikelihood"
side = "two-sided"
margin = { pp = 42 }

[[hypothesis]]
id = "H2"
family = "primary"
kind = "equivalence"
axis = "scoring"
level = "first_token"
reference = "loglikelihood"
margin = { pp = 42 }

[analysis]
estimator = "cluster_logit"
""".replace("AXIS", studies.axis("scoring", {m: f'method = "{m}"' for m in ("loglikelihood", "first_token")}))
)


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three studies, reported together."""
    folder = tmp_path_factory.mktemp("together")
    two = SPEC.replace('"one"', '"two"').replace("pocket-qwen2", 'pocket-qwen2", precision = "bf16')
    three = SPEC.replace('"one"', '"three"')
    three = three.replace("seed = 1 }", 'seed = 1, disjoint_from = ["path:one.lock"] }')
    for name, text in (("one", SPEC), ("two", two), ("three", three)):
        (folder / f"{name}.toml").write_text(text)
        assert command("run", f"{name}.toml", cwd=folder).returncode == 0
    done = command("report", "one.toml", "two.toml", "three.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "one and two both ran 4 cells, 4 on the same items" in done.stdout
    return folder


@pytest.fixture(scope="module")
def document(together: Path) -> dict[str, Any]:
    text = (together / "results/studies.json").read_text("utf-8")
    assert StudiesTogether.model_validate_json(text).format == "gridc-studies/1"
    read: dict[str, Any] = json.loads(text)
    return read


def asked(folder: Path, study: str) -> set[bytes]:
    """What the items of a study ask, as its store has it."""
    with sqlite3.connect(folder / "results" / study / "store.sqlite") as db:
        return {row[0] for row in db.execute("SELECT text FROM question")}


def test_samples_are_those_of_the_stores(together: Path, document: dict[str, Any]) -> None:
    for row in document["samples"]:
        with sqlite3.connect(together / "results" / row["study"] / "store.sqlite") as db:
            (answers,) = db.execute("SELECT count(*) FROM sample").fetchone()
        assert (row["items"], row["answers"], row["claims"]) == (80, answers, ["H1", "H2"])
    claims = {(row["study"], row["id"]): row for row in document["claims"]}
    own = json.loads((together / "results/two/scorecard.json").read_text("utf-8"))["claims"]
    assert [claims["two", row["id"]] for row in own] == [{**row, "study": "two"} for row in own]


def test_shared_items_are_counted_by_what_is_asked(together: Path, document: dict[str, Any]) -> None:
    counted = {(row["a"][0], row["b"][0]): row["shared"] for row in document["shared"]}
    questions = {name: asked(together, name) for name in ("one", "two", "three")}
    assert counted == {
        pair: len(questions[pair[0]] & questions[pair[1]])
        for pair in (("one", "two"), ("one", "three"), ("two", "three"))
    }
    assert counted["one", "two"] == 80
    assert counted["one", "three"] == 0, "the second phase has items of its own"


def test_two_precisions_are_paired_as_a_diff_of_their_stores(
    together: Path, document: dict[str, Any]
) -> None:
    by_studies = {(row["a"], row["b"]): row for row in document["pairs"]}
    pair = by_studies["one", "two"]
    assert pair["differs"] == ["model[qwen2].precision"]
    told = json.loads(command("diff", "results/one", "results/two", "--json", cwd=together).stdout)
    assert pair["paired"] == {**told["paired"], "left": "one", "right": "two"}
    assert by_studies["one", "three"]["same_items"] == 0, "cells of other items are not subtracted"
    assert by_studies["one", "three"]["paired"] is None


def holm_of_three(p: dict[tuple[str, str], tuple[float, float]]) -> dict[tuple[str, str], float]:
    """Holm's method with Shaffer's bound where each hypothesis claims one thing or its opposite: never both
    at once, so that as many claims can be false as hypotheses have one left."""
    claims = sorted((value, name, side) for name, values in p.items() for side, value in enumerate(values))
    left = dict.fromkeys(p, 2)
    running, adjusted = 0.0, {}
    for value, name, side in claims:
        running = max(running, min(1.0, sum(1 for count in left.values() if count) * value))
        adjusted[name, side] = running
        left[name] -= 1
    return {name: adjusted[name, 1] for name in p}


def test_one_level_holds_all_claims(together: Path, document: dict[str, Any]) -> None:
    """By Holm's method, written a second time, over p-values that no family has corrected: each study alone
    corrects for two hypotheses, of which the smaller p is doubled."""
    assert document["declared"] == pytest.approx(0.3)
    assert document["alpha"] == 0.1
    assert [line["claims"] for line in document["budget"]] == [2, 2, 2]
    rows = {(row["study"], row["id"]): row for row in document["corrected"]}
    raw = {
        name: tuple(row[side] if row[side] == 1 else row[side] / 2 for side in ("support", "refute"))
        for name, row in rows.items()
    }
    expected = holm_of_three(raw)
    for study in ("one", "two", "three"):
        row = rows[study, "H2"]
        assert (row["verdict"], row["refute"] < row["refute_over_all"]) == ("refuted", True)
        assert row["refute_over_all"] == pytest.approx(expected[study, "H2"], rel=1e-6)
        assert row["verdict_over_all"] == "open", "no verdict of this size stands among six"


def test_the_report_is_made_again_byte_for_byte(together: Path, tmp_path: Path) -> None:
    again = gridc.report_all([together / f"{name}.toml" for name in ("one", "two", "three")], tmp_path)
    assert [file.name for file in again.files] == ["studies.html", "studies.md", "studies.json"]
    for file in again.files:
        assert file.read_bytes() == (together / "results" / file.name).read_bytes()
    page = (tmp_path / "studies.html").read_text("utf-8")
    assert "<script" not in page
    assert page.count("<h2>") == 7


def test_an_exploratory_study_has_no_part_in_the_budget(together: Path, tmp_path: Path) -> None:
    for name in ("one", "three"):
        shutil.copy(together / f"{name}.toml", tmp_path)
        shutil.copy(together / f"{name}.lock", tmp_path)
        shutil.copytree(together / "results" / name, tmp_path / "results" / name)
    spec = tmp_path / "three.toml"
    spec.write_text(spec.read_text().replace('"confirmatory"', '"exploratory"'))
    assert command("stamp", "--supersede", "three.toml", cwd=tmp_path).returncode == 0
    assert command("run", "three.toml", cwd=tmp_path).returncode == 0
    done = command("report", "one.toml", "three.toml", "--json", "--out", "over", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert {line["study"] for line in told["budget"]} == {"one"}
    assert {row["study"] for row in told["corrected"]} == {"one"}
    assert (tmp_path / "over/studies.html").is_file()


def test_a_study_stands_once(together: Path) -> None:
    done = command("report", "one.toml", "./one.toml", cwd=together)
    assert done.returncode == 2
    assert "one study is named twice" in done.stderr


def test_two_studies_do_not_write_into_one_folder(tmp_path: Path) -> None:
    for name, text in (("one", SPEC), ("again", SPEC.replace("A study", "Another"))):
        (tmp_path / f"{name}.toml").write_text(text)
    done = command("report", "one.toml", "again.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "its reports would overwrite those of one.toml" in done.stderr
