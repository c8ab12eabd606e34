"""A study that was exported as logs, certified from these alone: what the run itself says, byte for byte."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import gridc
from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.inputs.draw import one_group
from gridc.diagnostics.errors import FileError
from gridc.reports.exchange.recorded_study import read_described
from gridc.runtime.store.store import Store
from gridc.study import OpenStudy
from tests.e2e import test_aggregates as aggregates
from tests.e2e.conftest import command, make_study
from tests.e2e.judged import serving
from tests.roundtrip import DOCUMENTS


def certified(study: OpenStudy, folder: Path) -> dict[str, bytes]:
    """The documents that are made of the logs of a study alone."""
    made = study.export("every-eval-ever", folder / "eee")
    gridc.certify([made]).write(folder / "out")
    return {name: (folder / "out" / name).read_bytes() for name in DOCUMENTS}


def reported(results: Path) -> dict[str, bytes]:
    return {name: (results / name).read_bytes() for name in DOCUMENTS}


def test_logs_of_a_study_say_what_the_study_says(study: Path, tmp_path: Path) -> None:
    assert certified(gridc.open(study / "gridcard.toml"), tmp_path) == reported(study / "results" / "small")
    done = command("certify", "--from", str(tmp_path / "eee"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "hash to the results that the run recorded at its end" in " ".join(done.stdout.split())
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text("utf-8"))
    assert "gridc asked nothing" not in done.stdout
    listed = json.loads(command("certify", "--from", "eee", "--json", cwd=tmp_path).stdout)
    assert listed["stamp"] == certificate["stamp"]
    assert listed["study"] == certificate
    said = " ".join(done.stdout.split())
    assert all(" ".join(sentence.split()) in said for sentence in certificate["statements"])


def test_what_is_made_of_several_answers_is_made_again(tmp_path: Path) -> None:
    done = aggregates.carried_out(tmp_path / "several")
    assert certified(done.study, tmp_path) == reported(done.results)


def test_a_bundle_tells_items_of_two_benchmarks_apart(tmp_path: Path) -> None:
    """Items whose texts are not in a bundle are no more one item than those that are asked."""
    spec = make_study(tmp_path, items=8)
    text = spec.read_text("utf-8")
    start, end = text.index("[[benchmark]]"), text.index("[harness]")
    other = text[start:end].replace('"bbq"', '"other"', 1).replace("n = 8", "n = 12")
    spec.write_text(text.replace("[harness]", f"{other}[harness]"), "utf-8")
    study = gridc.open(spec)
    study.run()
    study.report()
    bundle = study.export("bundle", tmp_path / "bundle")
    with Store.open(bundle / "results" / "store.sqlite") as store:
        recorded, _ = read_described(bundle, store.shown, store.questions)

    def groups(compiled: Compiled) -> dict[tuple[str, str], tuple[str, str]]:
        items = compiled.study.items
        return one_group({name: each.sampled for name, each in items.items()}, dict.fromkeys(items, "item"))

    asked = groups(compile_spec(spec))
    assert groups(recorded) == asked and 12 <= len(set(asked.values())) < 20, "some items are drawn twice"
    done = command("verify", "bundle", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert certified(study, tmp_path) == reported(tmp_path / "results" / "small")


def test_changed_answers_are_told(study: Path, tmp_path: Path) -> None:
    made = gridc.open(study / "gridcard.toml").export("every-eval-ever", tmp_path / "eee")
    path = min(made.rglob("*_samples.jsonl"))
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    score = rows[0]["evaluation"]["score"]
    rows[0]["evaluation"] = {"score": 1 - score, "is_correct": not score}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    aggregate = path.with_name(path.name.replace("_samples.jsonl", ".json"))
    document = json.loads(aggregate.read_text("utf-8"))
    count = len(rows)
    document["evaluation_results"][0]["score_details"]["score"] += (1 - 2 * score) / count
    aggregate.write_text(json.dumps(document), "utf-8")
    found = gridc.certify([made])
    assert "do NOT hash to the results" in found.certificate.provenance
    rows[0]["metadata"]["gridc_cell"] = "nobody/nothing/the only one"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(FileError, match="GC674"):
        gridc.certify([made])


@pytest.mark.parametrize(
    ("name", "code"),
    [("gridcard.toml", "GC"), ("manifests/study.json", "GC"), ("manifests/shown.json", "GC70"),
     ("manifests/run.json", "GC701"), ("manifests/events.json", "GC")],
)  # fmt: skip
def test_a_damaged_description_is_refused(study: Path, tmp_path: Path, name: str, code: str) -> None:
    made = gridc.open(study / "gridcard.toml").export("every-eval-ever", tmp_path / "eee")
    path = made / "gridc" / name
    text = path.read_text("utf-8")
    for changed in (
        text.replace('title = "', 'title = "Not ').replace("sha256", "sha255", 1)[: len(text) - 40],
        "[]",
        "{}",
        "",
    ):
        path.write_text(changed, "utf-8")
        with pytest.raises(gridc.GridcError, match=code):
            gridc.certify([made])


@pytest.mark.parametrize(
    "changed",
    [
        {"near_ties": "many"}, {"first_call": "yesterday"}, {"before_stamp": -1}, {"answered": None},
        {"observed": "nothing"}, {"shared_calls": [[["a"], "b"]]}, {"more": 1},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_said_of_calls_has_its_form(study: Path, tmp_path: Path, changed: dict[str, object]) -> None:
    made = gridc.open(study / "gridcard.toml").export("every-eval-ever", tmp_path / "eee")
    path = made / "gridc" / "manifests" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changed), "utf-8")
    with pytest.raises(gridc.GridcError, match="GC701"):
        gridc.certify([made])


@pytest.mark.parametrize(
    ("name", "value"),
    [("gridc_evidence", "{"), ("gridc_choice", "first"), ("gridc_choice", "9" * 30), ("gridc_item", "none")],
)
def test_an_answer_that_no_run_writes_is_refused(study: Path, tmp_path: Path, name: str, value: str) -> None:
    made = gridc.open(study / "gridcard.toml").export("every-eval-ever", tmp_path / "eee")
    path = min(made.rglob("*_samples.jsonl"))
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows[0]["metadata"][name] = value
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(gridc.GridcError, match=r"GC67|GC701|GC605"):
        gridc.certify([made])


def test_logs_in_a_folder_of_that_name_are_read_and_a_study_that_is_not_is_told(
    study: Path, tmp_path: Path
) -> None:
    made = gridc.open(study / "gridcard.toml").export("every-eval-ever", tmp_path / "eee")
    for found in (gridc.certify([tmp_path]), gridc.certify([made], reading="score")):
        assert found.study is None
        (note,) = (note for note in found.certificate.notes if "is not read: name" in note)
        assert str(made) in note
    before = gridc.certify([made]).certificate
    (tmp_path / "logs").mkdir()
    (made / "data").rename(tmp_path / "logs" / "gridc")
    after = gridc.certify([tmp_path / "logs"]).certificate
    assert len(after.files) == len(before.files) == 24


def test_a_merged_study_is_not_said_to_be_changed(study: Path, tmp_path: Path) -> None:
    """The parts noted their results, and what they came to together has a digest of its own or none."""
    part = shutil.copytree(study, tmp_path / "part")
    whole = gridc.open(study / "gridcard.toml")
    shutil.rmtree(study / "results")
    whole.merge([part / "results" / "small" / "store.sqlite"])
    found = gridc.certify([whole.export("every-eval-ever", tmp_path / "eee")])
    assert found.study is not None and found.study.complete
    assert "NOT" not in found.certificate.provenance


def test_a_study_with_judges_is_certified_as_logs(tmp_path: Path) -> None:
    with serving(tmp_path / "judged") as judging:
        study = judging.write()
        study.run()
        study.report()
    found = gridc.certify([study.export("every-eval-ever", tmp_path / "eee")])
    assert found.study is None
    assert any("judges" in note for note in found.certificate.notes)
    study.export("bundle", tmp_path / "bundle")
    done = command("verify", "bundle", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "what judges and people said of responses" in " ".join(done.stdout.split())


def test_levels_that_are_stated_in_short_are_read_back(tmp_path: Path) -> None:
    spec = make_study(tmp_path, items=8)
    text = spec.read_text("utf-8")
    start, end = text.index('[[axis]]\nid = "few_shot"'), text.index('[[axis]]\nid = "scoring"')
    short = '[[axis]]\nid = "few_shot"\nvalues = { shots = [0, 3] }\ntier = "core"\nprovenance = "a test"\n\n'
    spec.write_text(text[:start] + short + text[end:], "utf-8")
    study = gridc.open(spec)
    study.run()
    study.report()
    study.export("bundle", tmp_path / "bundle")
    done = command("verify", "bundle", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert certified(study, tmp_path) == reported(tmp_path / "results" / "small")


LACKING = {
    "test_answer_shifts.py": {"estimates.json", "report.html"},
    "test_scaffolds.py": {"report.html"},
    "test_turns.py": {"report.html"},
}
"""What logs cannot say, by tests whose studies say it: how far log-probabilities move; and of a conversation,
which is one text of a log, what was asked last, which the page shows."""


@pytest.mark.slow
def test_every_study_of_these_tests_is_read_back(tmp_path: Path) -> None:
    """Bundles verify, and logs say what the study says: of judges, scaffolds, turns, functions, sheets,
    several answers, likelihoods, levels of every form."""
    names = (
        "aggregates answer_shifts audit blinding further_designs gallery judging many_levels match pairs "
        "scaffolds scorers several_judges smallest target text_likelihood thinking turns"
    )
    lines = tmp_path / "lines.jsonl"
    files = [str(Path(__file__).with_name(f"test_{name}.py")) for name in names.split()]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.roundtrip", "-p", "no:cacheprovider", *files],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "ROUNDTRIP": str(lines)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    found = [json.loads(line) for line in lines.read_text("utf-8").splitlines()]
    assert len(found) > 30
    assert [line for line in found if line["bundle"]] == []
    other = [
        line
        for line in found
        if not set(line["logs"])
        <= LACKING.get(Path(line["test"].partition("::")[0]).name, set()) | {"judges"}
    ]
    assert other == []


def test_an_unfinished_run_is_said_to_be_one(study: Path, tmp_path: Path) -> None:
    with sqlite3.connect(study / "results" / "small" / "store.sqlite") as db:
        db.execute("UPDATE sample SET score = NULL, choice = NULL WHERE cell = 1 AND replicate = 0")
    found = gridc.certify([gridc.open(study / "gridcard.toml").export("every-eval-ever", tmp_path / "eee")])
    assert found.study is not None and not found.study.complete
