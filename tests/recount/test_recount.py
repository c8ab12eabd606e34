"""Every number of certificate.json is recounted by a program that imports nothing of gridc."""

import ast
import json
import os
import random
import shutil
import sqlite3
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.compiler.compile import compile_spec
from gridc.compiler.lock.lock import make_lock, write_lock
from gridc.reports.certificate import certificate_of
from gridc.reports.findings.findings import all_findings
from gridc.runtime.store.store import Store
from tests.e2e.test_corrected import answered, begin
from tests.package_logs import Doc, harness
from tests.recount.recount import differences, leaves, recount
from tests.recount.studies import SHIPPED, corners, graded, refusals
from tests.reports.test_log_study import table
from tools.servers.http import Server

REPOSITORY = Path(__file__).resolve().parents[2]


def certificate(folder: Path, store: Path) -> Any:
    compiled = compile_spec(folder / "gridcard.toml", None)
    assert compiled.lock is not None
    with Store.open(store) as opened:
        return json.loads(certificate_of(all_findings(compiled, compiled.lock, opened)).model_dump_json())


def again(document: Any, store: Path, folder: Path) -> Any:
    """The recount of a certificate, as JSON has it."""
    found = json.loads(json.dumps(recount(store, document, folder), default=float))
    assert leaves(found) > 500
    return found


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("corners")
    return folder, corners(folder)


@pytest.fixture(scope="module")
def counted(study: tuple[Path, Path]) -> tuple[Any, Any]:
    """The certificate of the study, and its recount."""
    folder, store = study
    document = certificate(folder, store)
    return document, again(document, store, folder)


PROGRAM = [
    path.stem
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if not path.stem.startswith(("_", "test_")) and path.stem != "studies"
]
"""The modules that count; `studies` makes what is counted."""


@pytest.mark.parametrize("name", PROGRAM)
def test_the_program_imports_nothing_of_gridc(name: str) -> None:
    tree = ast.parse(Path(__file__).with_name(f"{name}.py").read_text())
    named = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    named |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    foreign = {
        full
        for full in named
        if full.split(".")[0] not in {"numpy", "pandas", "scipy", "statsmodels", *sys.stdlib_module_names}
    }
    assert all(full.startswith("tests.recount.") for full in foreign)


def test_units_replicates_ties_and_lower_is_better(counted: tuple[Any, Any]) -> None:
    document, expected = counted
    pairs = [pair for row in document["benchmarks"] for pair in row["scopes"][0]["pairs"]]
    assert any(pair["ties"] for pair in pairs)
    assert {row["test"] for bench in document["benchmarks"] for row in bench["tests"]} == {
        "mcnemar",
        "betting",
    }
    assert all(row["agreements"] for row in document["benchmarks"])
    assert document["precisions"][0]["reordered"]
    assert list(differences(document, expected)) == []


def test_what_is_certified_and_what_is_an_order(study: tuple[Path, Path], tmp_path: Path) -> None:
    """Scores so far apart that reversals and orders are certified, by both tests and in every family."""
    folder, store = study
    sure = tmp_path / "sure.sqlite"
    shutil.copy(store, sure)
    with sqlite3.connect(sure) as db:
        for model, template, score in (
            ("qwen2", "T1", 1),
            ("qwen2", "T4", 0),
            ("mistral", "T1", 0),
            ("mistral", "T4", 1),
            ("llama", "T1", 0),
        ):
            cells = (
                f"SELECT id FROM cell WHERE model = '{model}' AND configuration LIKE '%template={template}%'"
            )
            db.execute(
                f"UPDATE sample SET score = {score}, choice = coalesce(choice, 0) WHERE cell IN ({cells})"
            )
    document = certificate(folder, sure)
    rows = [
        pair["evidence"]
        for bench in document["benchmarks"]
        for scope in bench["scopes"]
        for pair in scope["pairs"]
    ]
    claims = {(row["family"], row["certified"]["test"], row["certified"]["claim"]) for row in rows}
    assert {("full envelope", test, "reversal") for test in ("mcnemar", "betting")} <= claims
    assert any(claim == "order" for *_, claim in claims)
    assert any(row["rho_low"] > 0 for row in rows)
    assert any(row["certified"]["named_plus"] and row["family"] == "chosen after the data" for row in rows)
    assert list(differences(document, again(document, sure, folder))) == []


@pytest.mark.parametrize("one_in", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_what_nobody_could_read(one_in: int, study: tuple[Path, Path], tmp_path: Path) -> None:
    """Of one model every third answer, above the limit, or every eighth, below it; where all others are told
    apart. Of the sampled ones some replicates alone; some were refused, and of some the call failed."""
    folder, store = study
    part = tmp_path / "part.sqlite"
    shutil.copy(store, part)
    with sqlite3.connect(part) as db:
        for model, score in (("qwen2", 1), ("mistral", 0)):
            cells = f"SELECT id FROM cell WHERE model = '{model}'"
            db.execute(f"UPDATE sample SET score = {score}, choice = 0 WHERE cell IN ({cells})")
        cells = "SELECT id FROM cell WHERE model = 'mistral' AND configuration LIKE '%template=T4%'"
        db.execute(
            f"""UPDATE sample SET score = 0, choice = NULL, evidence = NULL
                WHERE cell IN ({cells}) AND (unicode(substr(item, -1)) + replicate) % {one_in} = 0"""
        )
        calls = f"""SELECT call FROM trace JOIN sample USING (cell, item, replicate)
                    WHERE cell IN ({cells}) AND choice IS NULL AND item LIKE """
        db.execute(
            f"UPDATE call SET answer = json_set(answer, '$.refused', json('true')) WHERE id IN ({calls} '%1')"
        )
        failed = json.dumps({"error": {"kind": "timeout", "message": "late"}})
        db.execute(f"UPDATE call SET answer = ? WHERE id IN ({calls} '%4')", [failed])
        db.execute(
            f"""UPDATE sample SET evidence = '{{"unread": "no answer: timeout"}}'
                WHERE cell IN ({cells}) AND choice IS NULL AND item LIKE '%4'"""
        )
    document = certificate(folder, part)
    pairs = [pair for row in document["benchmarks"] for scope in row["scopes"] for pair in scope["pairs"]]
    ended = [row for bench in document["benchmarks"] for row in bench["endings"] if row["model"] == "mistral"]
    assert one_in == 8 or all(sum(row[kind] for row in ended) for kind in ("refused", "unread"))
    assert one_in == 8 or any(row["failed"] for row in ended)
    rows = [pair["unread"] for pair in pairs if "mistral" in (pair["a"], pair["b"])]
    assert any(row["unread_a"] or row["unread_b"] for row in rows)
    assert any(row["beyond"] for row in rows) == (one_in == 3)
    assert {row["claim"] for row in rows} >= {True}
    assert list(differences(document, again(document, part, folder))) == []


def test_a_model_that_does_not_run_a_benchmark(tmp_path: Path) -> None:
    store = corners(tmp_path, 'model = "mistral", benchmark = "items"')
    document = certificate(tmp_path, store)
    families, items = document["benchmarks"]
    assert [len(row["scopes"][0]["pairs"]) for row in (families, items)] == [3, 1]
    assert list(differences(document, again(document, store, tmp_path))) == []


def test_a_run_that_is_not_finished(study: tuple[Path, Path], tmp_path: Path) -> None:
    folder, store = study
    part = tmp_path / "part.sqlite"
    shutil.copy(store, part)
    with sqlite3.connect(part) as db:
        cells = "SELECT id FROM cell WHERE model = 'llama' AND configuration LIKE '%template=T4%'"
        db.execute(f"UPDATE sample SET score = NULL, choice = NULL, evidence = NULL WHERE cell IN ({cells})")
    document = certificate(folder, part)
    assert not document["complete"]
    pairs = [pair for row in document["benchmarks"] for pair in row["scopes"][0]["pairs"]]
    assert any(pair["measured"] < pair["size"] for pair in pairs)
    assert list(differences(document, again(document, part, folder))) == []


@pytest.fixture(scope="module")
def parts_of_points(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path, Path]:
    folder = tmp_path_factory.mktemp("graded")
    store = graded(folder)
    return certificate(folder, store), store, folder


def test_parts_of_points_and_rates_of_their_own(parts_of_points: tuple[Any, Path, Path]) -> None:
    document, store, folder = parts_of_points
    rows = {row["benchmark"]: row for row in document["benchmarks"]}
    names = {name: [rate["name"] for rate in row["rates"]] for name, row in rows.items()}
    assert names["prompts"] == ["over_refusal", "unsafe_compliance", "refusal_rate", "harm"]
    assert names["opinions"] == ["matching_rate", "bias_magnitude"]
    assert {"bias_ambiguous", "bias_disambiguated", "evades"} <= set(names["families"])
    # McNemar's test is of right and wrong: where a part of a point can be earned, bets take its place.
    assert {name: {row["test"] for row in each["tests"]} for name, each in rows.items()} == {
        "families": {"betting"},
        "single": {"betting"},
        "prompts": {"mcnemar"},
        "opinions": {"mcnemar"},
    }
    assert list(differences(document, again(document, store, folder))) == []


@pytest.mark.parametrize(("decoding", "margin"), [("greedy", 12.5), ("sampled", 45)])
def test_two_kinds_of_errors(decoding: str, margin: float, tmp_path: Path) -> None:
    """Single prompts and few templates, by one answer or by three; a reference that is not the first."""
    store = refusals(tmp_path, decoding, margin)
    document = certificate(tmp_path, store)
    rows = document["verdicts"]["rows"]
    assert document["verdicts"]["members"] == 2 * len(rows) == 30
    assert {(row["benchmark"], row["these_units"]) for row in rows} == {
        ("single", False), ("templates", True), ("sums", True),
    }  # fmt: skip
    assert {row["test"] for row in rows} == {"mcnemar" if decoding == "greedy" else "gaffke"}
    answers = {"differ", "not_told_apart" if decoding == "greedy" else "within_margin"}
    assert {row["answer"] for row in rows} == answers
    assert {row["choices"]["survival"] for row in rows} == {"holds", "depends", "open"}
    assert any(row["unread_low"] < row["unread_high"] for row in rows)
    assert list(differences(document, again(document, store, tmp_path))) == []


def test_too_much_is_unread_under_the_reference(tmp_path: Path) -> None:
    """Of llama more than a fifth: rates are not tested, and of a score each speaks against every claim."""
    store = refusals(tmp_path)
    with sqlite3.connect(store) as db:
        cells = """SELECT id FROM cell WHERE model = 'llama' AND benchmark IN ('single', 'sums')
                   AND configuration = 'template=T4,decoding=greedy'"""
        db.execute(
            f"""UPDATE sample SET score = 0, choice = NULL, evidence = NULL
                WHERE cell IN ({cells}) AND substr(item, -1) IN ('1', '2', '3')"""
        )
    document = certificate(tmp_path, store)
    rows = [row for row in document["verdicts"]["rows"] if row["benchmark"] == "single"]
    assert {(row["b"], row["why"], row["test"]) for row in rows} == {
        ("mistral", "", "mcnemar"), ("llama", "unread", "not_tested"),
    }  # fmt: skip
    scores = [row for row in document["verdicts"]["rows"] if row["what"] == "score"]
    assert [row["answer"] for row in scores] == ["differ", "not_told_apart", "not_told_apart"]
    assert scores[0]["p"] < scores[1]["p"] / 1e5 and scores[2]["p"] == 1
    assert list(differences(document, again(document, store, tmp_path))) == []


def test_a_model_that_says_nothing_under_the_reference(tmp_path: Path) -> None:
    store = refusals(tmp_path)
    with sqlite3.connect(store) as db:
        cells = "SELECT id FROM cell WHERE model = 'llama' AND configuration = 'template=T4,decoding=greedy'"
        db.execute(f"UPDATE sample SET score = 0, choice = NULL, evidence = NULL WHERE cell IN ({cells})")
    document = certificate(tmp_path, store)
    rows = document["verdicts"]["rows"]
    assert {(row["b"], row["why"]) for row in rows} == {("mistral", ""), ("llama", "no_answer")}
    found = list(differences(document, again(document, store, tmp_path)))
    # Elsewhere the recount takes such a model for one that is wrong.
    assert [each for each in found if each.startswith("verdicts")] == []


BREAK: dict[str, Callable[[Any], None]] = {
    "a count": lambda c: c["benchmarks"][0]["scopes"][0]["pairs"][0].update(
        plus=1 + c["benchmarks"][0]["scopes"][0]["pairs"][0]["plus"]
    ),
    "an adjusted p-value": lambda c: c["benchmarks"][1]["tests"][0]["configurations"][0].update(
        adjusted_plus=0.012345
    ),
    "an order": lambda c: c["benchmarks"][0]["scopes"][0]["orderings"]["seen"][0].update(
        order=[["llama", "mistral", "qwen2"]]
    ),
    "a new number": lambda c: c["benchmarks"][0].update(luck=0.5),
    "a new number in a row": lambda c: c["hypotheses"][0].update(luck={"p": 0.5}),
    "a verdict": lambda c: c["verdicts"]["rows"][0].update(answer="within_margin"),
    "a p of one side": lambda c: c["verdicts"]["rows"][0].update(p=c["verdicts"]["rows"][0]["p"] / 2),
    "what survives": lambda c: c["verdicts"]["rows"][0]["choices"].update(survival="holds"),
    "a new number in a verdict": lambda c: c["verdicts"]["rows"][0].update(luck=0.5),
    "a missing verdict": lambda c: c["verdicts"]["rows"].pop(),
    "a missing row": lambda c: c["benchmarks"][0]["between"].pop(),
}


@pytest.mark.parametrize("name", BREAK)
def test_a_wrong_or_a_new_number_is_found(name: str, counted: tuple[Any, Any]) -> None:
    document, expected = deepcopy(counted)
    BREAK[name](document)
    assert list(differences(document, expected))


LOGS: dict[str, dict[str, Any]] = {
    "single answers": {},
    "parts of a point": {"parts": 4},
    "repeated": {"repeats": 3},
    "one configuration": {"framings": 1, "models": 4},
    "grouped": {"units": 9},
    "answers missing": {"lost": 0.06},
    "grouped and missing": {"units": 9, "lost": 0.06},
}


@pytest.mark.parametrize("name", LOGS)
def test_logs_of_another_package(name: str, tmp_path: Path) -> None:
    """Their certificate is that of a study, and so is its recount."""
    log = table(tmp_path / "scores.csv", random.Random(name), **LOGS[name])
    gridc.certify(log, axes=["framing"], unit="family").write(tmp_path / "out")
    document = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert document["benchmarks"][0]["standings"]["order"]
    assert list(differences(document, again(document, tmp_path / "out" / "store.sqlite", tmp_path))) == []


def test_groups_of_logs(tmp_path: Path) -> None:
    """Tasks that number their documents alike, and share none."""
    drawn = random.Random(3)
    for model in ("m", "n", "o"):
        tasks = {
            task: [Doc(f"{task} {number}", float(drawn.random() < 0.6)) for number in range(size)]
            for task, size in (("one", 20), ("two", 35), ("three", 12))
        }
        harness(tmp_path / "logs" / model, model, tasks, {"all": (list(tasks), None)})
    gridc.certify(tmp_path / "logs").write(tmp_path / "out")
    document = json.loads((tmp_path / "out" / "certificate.json").read_text())
    (row,) = document["statistics"]
    assert row["id"] == "all" and row["models"]["m"]["the only one"]["interval"]
    assert list(differences(document, again(document, tmp_path / "out" / "store.sqlite", tmp_path))) == []


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["gridcard.toml", "specs/real_items.toml"])
def test_the_studies_of_the_repository(spec: str, tmp_path: Path) -> None:
    """Real models on shipped items, and on real ones: one and two minutes of a core."""
    data = os.environ.get("GRIDC_DATA")
    shutil.copy(REPOSITORY / spec, tmp_path / "gridcard.toml")
    root = Path(data) if data else None
    compiled = compile_spec(tmp_path / "gridcard.toml", root)
    if compiled.study.absent:
        pytest.skip("GRIDC_DATA names the folder of the items")
    write_lock(make_lock(compiled.study, tmp_path), compiled.lock_path)
    opened = gridc.open(tmp_path / "gridcard.toml", data=root, out=tmp_path / "out")
    opened.run()
    opened.report()
    document = json.loads((tmp_path / "out" / "certificate.json").read_text())
    folder = SHIPPED if spec == "gridcard.toml" else Path(str(data))
    assert list(differences(document, again(document, tmp_path / "out" / "store.sqlite", folder))) == []


@pytest.mark.parametrize("second", ["ornate", "mumbling"])
def test_what_labels_correct(second: str, tmp_path: Path) -> None:
    """Two models that answer alike, one of which is misread or cannot be read at times, labelled by two
    people: every corrected number and every claim, where one configuration was audited, and where both
    were."""
    with Server(answered) as server:
        study = begin(tmp_path, server.url, second, analysis="margin = { pp = 45 }")
    folder, store = study.folder, study.results / "store.sqlite"
    opened = gridc.open(folder / "gridcard.toml")
    opened.audit_sample(4)  # which nobody hands back
    assert certificate(folder, store)["verdicts"]["rows"][0]["p_within_holm"] < 0.05
    for configurations in (("frame=bare",), ("all",)):
        drawn = opened.audit_sample(240, configurations)
        files = [
            study.label(drawn.csv, wrong, f"{name}.csv", seed)
            for name, wrong, seed in (("anna", 0.02, 1), ("ben", 0.05, 2))
        ]
        opened.audit_read(*files)
        document = certificate(folder, store)
        audit = document["benchmarks"][0]["audit"]
        assert audit["unreturned"] == 1 and audit["annotators"] == 2
        assert document["verdicts"]["rows"][0]["p_within_holm"] == 1  # labels say nothing of a margin
        # What cannot be read counts against a claim before anybody labels it.
        assert len(audit["taken_back"]) == (second == "ornate")
        found = list(differences(document, again(document, store, folder)))
        # The recount knows nothing of the noise of what is served.
        assert [each for each in found if "noise" not in each] == []
