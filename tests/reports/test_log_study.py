"""Logs as a study: the same verdicts as of the logs, and no sentence that states what no log recorded."""

import csv
import html
import json
import random
import re
import sqlite3
import tarfile
from pathlib import Path
from typing import Any

import pytest

from gridc import study as studies
from gridc.compiler.inputs.models import ModelIdentity
from gridc.diagnostics.errors import SpecError, UnavailableError
from gridc.runtime.engines import opener
from gridc.schema.spec import EngineSettings


def table(
    path: Path,
    rng: random.Random,
    *,
    models: int = 3,
    framings: int = 2,
    items: int = 40,
    repeats: int = 1,
    parts: int = 1,
    lost: float = 0.0,
    units: int | None = None,
) -> Path:
    """A table of scores, of models that differ."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "benchmark", "item", "framing", "replicate", "family", "score"])
        for model in range(models):
            for framing in range(framings):
                for item in range(items):
                    for repeat in range(repeats):
                        rate = 0.35 + 0.2 * model + 0.05 * framing
                        score: Any = sum(rng.random() < rate for _ in range(parts)) / parts
                        if rng.random() < lost:
                            if rng.random() < 0.5:
                                continue
                            score = ""
                        unit = item if units is None else item % units
                        rows.writerow(
                            [f"org/m{model}", "quiz", f"q{item}", f"f{framing}", repeat, unit, score]
                        )
    return path


CASES: dict[str, dict[str, Any]] = {
    "single answers": {},
    "parts of a point": {"parts": 4},
    "repeated": {"repeats": 3},
    "one configuration": {"framings": 1},
    "five models": {"models": 5, "items": 25},
    "grouped": {"units": 9},
    "answers missing": {"lost": 0.06},
    "parts missing": {"parts": 4, "lost": 0.06},
    "repetitions missing": {"repeats": 3, "lost": 0.05},
    "grouped and missing": {"units": 9, "lost": 0.06},
}


def certified(folder: Path, log: Path, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the logs and what the study of them say."""
    report = studies.certify([log], axes=["framing"], unit="family", **options)
    report.write(folder)
    assert report.no_grid == ()
    return tuple(json.loads((folder / name).read_text()) for name in ("logs.json", "certificate.json"))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_a_study_of_logs_has_their_verdicts(case: str, seed: int, tmp_path: Path) -> None:
    log = table(tmp_path / "scores.csv", random.Random(f"{case}{seed}"), **CASES[case])
    logs, certificate = certified(tmp_path / "out", log)
    (theirs,), (ours,) = logs["benchmarks"], certificate["benchmarks"]
    assert len(theirs["pairs"]) == len(ours["scopes"][0]["pairs"]) > 0
    for pair, row in zip(theirs["pairs"], ours["scopes"][0]["pairs"], strict=True):
        strength = row["evidence"]["certified"]
        assert (pair["a_better"], pair["b_better"], pair["equal"]) == (row["plus"], row["minus"], row["ties"])
        assert (pair["order_p"], pair["reversal_p"]) == pytest.approx(
            (strength["order"]["adjusted"], strength["reversal"]["adjusted"]), rel=1e-9
        )
        assert pair["certified"] == strength["claim"]
    scores = {(score["model"], score["configuration"]): score for score in theirs["scores"]}
    cards = json.loads((tmp_path / "out" / "gridcard.json").read_text())["cards"]
    for card in cards:
        (level,) = card["axis_receipt"]["configuration"].values() or ("the only one",)
        model = card["model_note"] or card["model"]
        score = scores[model, level.replace("framing-", "framing=")]
        assert card["point_score"]["score"] == pytest.approx(score["score"], abs=1e-9)
        assert card["point_score"]["interval"] == pytest.approx(score["interval"], abs=1e-9)


def random_table(path: Path, rng: random.Random) -> dict[str, Any]:
    """A table of any kind, and the options that it is read by: few items, answers that were cut or refused
    and yet earned something, items that some model lacks."""
    models, framings, items = rng.choice([1, 2, 4]), rng.choice([1, 1, 3]), rng.choice([1, 2, 5, 12])
    repeats, parts, lost = rng.choice([1, 1, 3]), rng.choice([1, 1, 4]), rng.choice([0, 0, 0.1, 0.5, 0.95])
    gone = rng.choice([0, 0, 0.3])
    sampled = rng.choice([False, False, True])
    rows = [["model", "benchmark", "item", "framing", "replicate", "family", "state", "score"]]
    for benchmark in range(rng.choice([1, 1, 2])):
        for model in range(models):
            for framing in range(framings):
                rate = rng.choice([0, 0.3, 0.6, 1])
                for item in range(items):
                    if rng.random() < gone:
                        continue
                    for repeat in range(1 if sampled and not framing else repeats):
                        score: Any = sum(rng.random() < rate for _ in range(parts)) / parts
                        state = rng.choice(["read"] * 7 + ["unreadable", "cut", "refused"])
                        if rng.random() < lost:
                            score, state = "", "failed"
                        place = [f"m/{model}\u00e9", f"b {benchmark}", f"q{item}", f"f{framing}"]
                        rows.append([*map(str, (*place, repeat, item // 2, state, score))])
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    options: dict[str, Any] = dict(rng.choice([{"unit": "family"}, {"ignore": ["family"]}]))
    options |= rng.choice([{}, {}, {"common_only": True}, {"total": items + 3}])
    return options


@pytest.mark.parametrize("seed", range(24))
def test_logs_of_any_kind_are_a_study_or_say_why_not(seed: int, tmp_path: Path) -> None:
    options = random_table(tmp_path / "scores.csv", random.Random(seed))
    report = studies.certify([tmp_path / "scores.csv"], axes=["framing"], **options)
    report.write(tmp_path / "out")
    assert (tmp_path / "out" / "report.html").exists() is not bool(report.no_grid)
    if report.no_grid:
        return
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    names = {model: note or model for model, note in certificate["models"].items()}
    for theirs, ours in zip(report.certificate.benchmarks, certificate["benchmarks"], strict=True):
        rows = {(names[row["a"]], names[row["b"]]): row for row in ours["scopes"][0]["pairs"]}
        for pair in theirs.pairs:
            row = rows[pair.a, pair.b]
            assert (pair.a_better, pair.b_better, pair.equal) == (row["plus"], row["minus"], row["ties"])
            strength = row["evidence"]["certified"]
            if (pair.test, strength["test"]) == ("mcnemar", "betting"):
                continue  # other models of the benchmark earn parts of a point: a study has one test of all
            # Parts of a point are exact in a study, and millionths in the certificate of logs.
            assert (pair.order_p, pair.reversal_p) == pytest.approx(
                (strength["order"]["adjusted"], strength["reversal"]["adjusted"]), rel=1e-5
            )
            assert pair.certified == strength["claim"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is written of a log with missing answers."""
    folder = tmp_path_factory.mktemp("logs")
    log = table(folder / "scores.csv", random.Random(1), items=30, lost=0.05)
    certified(folder / "out", log)
    return folder / "out"


STATED_OF_STUDIES = (
    r"\b[Aa]nchor\b",
    r"gold answer",
    r"of\s+stamp",
    r"\bprompt = ",
    r"max_tokens",
    r"temperature",
    r"as served",
    r"as the provider",
    r"\bcore\b",
    r"stress",
    r"run by gridc",
    r"gridc 0\.\d+\.\d+ alone",
    r"the model is asked directly",
    r"no answer is sampled",
    r"[Nn]oise floor",
    r"What was run is what was stamped",
    r"calls are answered",
    r"stored with every call",
    r"last_answer|shared_prefix|against_gold",
    r"deviations\.html",
)
"""What a report says of studies that gridc asked, and nobody recorded of these runs."""


@pytest.mark.parametrize(
    "name", ["report.html", "gridcard.md", "scorecard.html", "scorecard.md", "tables.tex"]
)
def test_nothing_is_stated_that_no_log_recorded(name: str, written: Path) -> None:
    text = (written / name).read_text("utf-8")
    visible = re.sub(r"<(style|script)\b.*?</\1>", "", text, flags=re.DOTALL)
    visible = (
        html.unescape(re.sub(r"<[^>]+>", " ", visible)).replace('"anchor"', "").replace("unanchored", "")
    )
    for pattern in STATED_OF_STUDIES:
        found = re.search(pattern, visible)
        assert found is None, visible[max(0, found.start() - 200) : found.end() + 100]
    assert "not pre-registered" in visible or name == "tables.tex"


def test_the_documents_say_whose_runs_they_are(written: Path) -> None:
    for name in ("certificate.json", "gridcard.json", "scorecard.json"):
        recorded = json.loads((written / name).read_text())["recorded"]
        assert recorded["packages"] == ["table of scores"]
        assert [Path(file["path"]).name for file in recorded["files"]] == ["scores.csv"]
    card = json.loads((written / "gridcard.json").read_text())["cards"][0]
    assert card["axis_receipt"]["setting"] == {}
    assert card["axis_receipt"]["measurands"] == []
    held = {row["what"]: row["at"] for row in card["scope_statement"]["held"]}
    assert held["what the logs do not record"]
    assert not (written / "deviations.json").exists()


SPEC = """
gridcard = 1
[study]
id = "asks"
title = "It asks"
purpose = "descriptive"
[[model]]
id = "one"
engine = "another_package"
source = "openai/gpt-4o"
[[benchmark]]
id = "pocket"
loader = "bbq"
source = "builtin:pocket_bbq.jsonl"
direction = "higher_is_better"
[harness]
prompt = "builtin:T1"
method = "METHOD"
"""


@pytest.mark.parametrize(
    ("engine", "method"),
    [("another_package", "extract"), ("api", "as_logged"), ("api", "number_as_logged")],
)
def test_no_spec_that_asks_states_what_a_log_has(engine: str, method: str, tmp_path: Path) -> None:
    path = tmp_path / "gridcard.toml"
    path.write_text(SPEC.replace("another_package", engine).replace("METHOD", method))
    with pytest.raises(SpecError) as caught:
        studies.open(path).validate()
    assert {each.code for each in caught.value.diagnostics} == {"GC613"}


def test_nothing_opens_what_another_package_asked() -> None:
    with pytest.raises(UnavailableError, match="GC613"):
        opener("another_package")("one", ModelIdentity("gpt-4o"), "as served", EngineSettings(), frozenset())


def test_a_study_written_as_a_table_has_its_verdicts(tmp_path: Path) -> None:
    """The answers of a study that gridc ran, as another package might have kept them."""
    packed = Path(__file__).parents[1] / "golden" / "before" / "0.4.3-a189f27a.tar.xz"
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    (bundle,) = tmp_path.iterdir()
    rows = sqlite3.connect(bundle / "results" / "store.sqlite").execute(
        "SELECT model, cell.benchmark, configuration, item, replicate, score FROM sample "
        "JOIN cell ON cell.id = cell"
    )
    with (tmp_path / "scores.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["model", "benchmark", "item", "framing", "replicate", "score"]])
        csv.writer(file).writerows([[m, b, i, c, r, s] for m, b, c, i, r, s in rows])
    studies.certify([tmp_path / "scores.csv"], axes=["framing"]).write(tmp_path / "out")
    theirs, ours = (
        {
            (row["benchmark"], *sorted((pair["a"], pair["b"]))): (pair, pair["a"] < pair["b"])
            for row in json.loads((folder / "certificate.json").read_text())["benchmarks"]
            for pair in row["scopes"][0]["pairs"]
        }
        for folder in (bundle / "results", tmp_path / "out")
    )
    assert theirs.keys() == ours.keys()
    for key, (pair, forward) in theirs.items():
        row, ordered = ours[key]
        signs = (row["plus"], row["minus"]) if ordered is forward else (row["minus"], row["plus"])
        assert (pair["plus"], pair["minus"], pair["ties"]) == (*signs, row["ties"])
        for strength in ("certified", "supported"):
            said, again = pair["evidence"][strength], row["evidence"][strength]
            assert said["claim"] == again["claim"]
            assert said["order"]["adjusted"] == pytest.approx(again["order"]["adjusted"], abs=0.01)
