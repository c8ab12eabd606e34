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
from scipy.stats import binomtest

from gridc import study as studies
from gridc.compiler.inputs.models import ModelIdentity
from gridc.diagnostics.errors import SpecError, UnavailableError
from gridc.reports import told
from gridc.reports.recorded import compared
from gridc.runtime.engines import opener
from gridc.schema.canonical import digest_bytes
from gridc.schema.spec import EngineSettings
from tests.e2e.conftest import command


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
    step: float = 0.2,
) -> Path:
    """A table of scores, of models that differ."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "benchmark", "item", "framing", "replicate", "family", "score"])
        for model in range(models):
            for framing in range(framings):
                for item in range(items):
                    for repeat in range(repeats):
                        rate = 0.35 + step * model + 0.05 * framing
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
    assert report.left_out == ()
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


@pytest.mark.parametrize("seed", range(6))
def test_a_missing_answer_speaks_against_the_claim(seed: int, tmp_path: Path) -> None:
    """By scipy, of one configuration: what is missing of the claimed model is wrong, of the other right."""
    rng = random.Random(seed)
    scores = {
        (model, item): None if rng.random() < 0.08 else int(rng.random() < rate)
        for model, rate in (("a", 0.2), ("b", 0.75))
        for item in range(40)
    }
    with (tmp_path / "t.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "benchmark", "item", "score"])
        rows.writerows([m, "quiz", n, "" if score is None else score] for (m, n), score in scores.items())
    studies.certify([tmp_path / "t.csv"]).write(tmp_path / "out")
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    (row,) = certificate["benchmarks"][0]["scopes"][0]["pairs"]
    worst = {"a": 1, "b": 0}
    against = {call: worst[call[0]] if score is None else score for call, score in scores.items()}
    moved = [against["b", item] - against["a", item] for item in range(40)]
    ahead, behind = moved.count(1), moved.count(-1)
    p = binomtest(ahead, ahead + behind, alternative="greater").pvalue
    order = row["evidence"]["certified"]["order"]
    assert order["p"] == pytest.approx(p, rel=1e-9)
    assert order["adjusted"] == pytest.approx(min(1.0, 2 * p), rel=1e-9)
    assert row["evidence"]["supported"]["claim"] is None


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
    made = (tmp_path / "out" / "report.html").exists()
    assert made or report.left_out
    if not made:
        return
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    names = {model: note or model for model, note in certificate["models"].items()}
    logged = {row.benchmark: row for row in report.certificate.benchmarks}
    cards = json.loads((tmp_path / "out" / "gridcard.json").read_text())["cards"]
    called = {card["benchmark"]: card["benchmark_note"] or card["benchmark"] for card in cards}
    for ours in certificate["benchmarks"]:
        theirs = logged[called[ours["benchmark"]]]
        assert (theirs.standings is None) is (ours["standings"] is None)
        if theirs.standings is not None:
            mine, same = theirs.standings.model_dump(mode="json"), ours["standings"]
            assert [row["p_holm"] for row in mine["neighbours"]] == pytest.approx(
                [row["p_holm"] for row in same["neighbours"]]
            )
            for row, other in zip(mine["order"], same["order"], strict=True):
                assert names[other.pop("model")] == row.pop("model")
                for ends in ("interval", "bounds"):
                    assert other.pop(ends) == (None if row[ends] is None else pytest.approx(row[ends]))
                    del row[ends]
                assert other == pytest.approx(row)
        rows = {(names[row["a"]], names[row["b"]]): row for row in ours["scopes"][0]["pairs"]}
        for pair in theirs.pairs:
            row = rows[pair.a, pair.b]
            assert (pair.a_better, pair.b_better, pair.equal) == (row["plus"], row["minus"], row["ties"])
            strength = row["evidence"]["certified"]
            assert pair.test == strength["test"]
            assert (pair.order_p, pair.reversal_p) == pytest.approx(
                (strength["order"]["adjusted"], strength["reversal"]["adjusted"])
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


def test_no_value_of_the_documents_is_of_a_plan(written: Path) -> None:
    certificate = json.loads((written / "certificate.json").read_text())
    assert certificate["noise_floors"] == []
    (benchmark,) = certificate["benchmarks"]
    assert {row["tier"] for row in benchmark["envelope"]} == {"recorded"}
    assert [(scope["name"], scope["declared"]) for scope in benchmark["scopes"]] == [
        ("full envelope", "post_hoc")
    ]
    said = " ".join(certificate["statements"])
    assert "answers have no score in the logs: org-m0 " in said
    assert "also assumes that no run and no item was left out because of its result" in said
    estimates = (written / "estimates.json").read_text()
    assert not re.search(r"anchor|as served|\\bcore\\b|greedy", estimates)


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


def lm_eval(folder: Path, model: str, errors: list[float]) -> None:
    """A log of lm-evaluation-harness with a metric of which less is better."""
    folder.mkdir(parents=True)
    with (folder / "samples_noise_t.jsonl").open("w") as file:
        for number, error in enumerate(errors):
            sample = {
                "doc_id": number,
                "doc": {"question": f"Question {number}"},
                "target": "x",
                "arguments": {"gen_args_0": {"arg_0": f"Question {number}", "arg_1": {}}},
                "resps": [["x"]],
                "filtered_resps": ["x"],
                "filter": "none",
                "metrics": ["err"],
                "doc_hash": f"{number:064x}",
                "err": error,
            }
            file.write(json.dumps(sample) + "\n")
    results = {
        "results": {"noise": {"alias": "noise", "err,none": sum(errors) / len(errors)}},
        "higher_is_better": {"noise": {"err": False}},
        "configs": {"noise": {"output_type": "generate_until"}},
        "n-shot": {"noise": 0},
        "n-samples": {"noise": {"original": len(errors), "effective": len(errors)}},
        "config": {"model_args": {"pretrained": model}},
        "model_name": model,
        "lm_eval_version": "0.4.13",
    }
    (folder / "results_t.json").write_text(json.dumps(results))


def test_less_is_better_where_the_log_says_so(tmp_path: Path) -> None:
    """What is missing is wrong, which is the highest error there."""
    rng = random.Random(5)
    lm_eval(tmp_path / "a", "good", [float(rng.random() < 0.1) for _ in range(40)])
    lm_eval(tmp_path / "b", "bad", [float(rng.random() < 0.6) for _ in range(36)])
    report = studies.certify([tmp_path / "a", tmp_path / "b"])
    report.write(tmp_path / "out")
    assert report.left_out == ()
    (theirs,) = report.certificate.benchmarks
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    (ours,) = certificate["benchmarks"]
    assert theirs.lower_is_better
    scores = {score.model: score.score for score in theirs.scores}
    cards = json.loads((tmp_path / "out" / "gridcard.json").read_text())["cards"]
    assert {card["model"]: card["point_score"]["score"] for card in cards} == pytest.approx(scores)
    assert scores["bad"] is not None and scores["bad"] > 0.5
    (pair,), (row,) = theirs.pairs, ours["scopes"][0]["pairs"]
    strength = row["evidence"]["certified"]
    assert (strength["order"]["adjusted"], strength["claim"]) == (pytest.approx(pair.order_p), pair.certified)
    assert pair.certified == "order" and pair.first == "good"
    assert strength["first"] == "bad", "a study names the higher score"


def test_a_list_of_what_was_resolved_is_a_grid(tmp_path: Path) -> None:
    for name, resolved in (("one", range(20)), ("two", range(8, 30))):
        (tmp_path / name).mkdir()
        listed = {"resolved": [f"case-{number}" for number in resolved]}
        (tmp_path / name / "results.json").write_text(json.dumps(listed))
    report = studies.certify([tmp_path / "one", tmp_path / "two"], total=50)
    report.write(tmp_path / "out")
    assert report.left_out == ()
    cards = json.loads((tmp_path / "out" / "gridcard.json").read_text())["cards"]
    assert [card["point_score"]["score"] for card in cards] == [20 / 50, 22 / 50]
    assert "have no score" not in (tmp_path / "out" / "gridcard.md").read_text()


def test_no_report_of_other_logs_stays_in_the_folder(tmp_path: Path) -> None:
    rng = random.Random(2)
    one = table(tmp_path / "one.csv", rng, items=10)
    studies.certify([one], axes=["framing"], unit="family").write(tmp_path / "out")
    assert (tmp_path / "out" / "report.html").exists()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    rows = ["model,benchmark,item,score", "a,bits,1,2.5", "b,bits,1,7"]
    (tmp_path / "two.csv").write_text("\n".join(rows) + "\n")
    done = command("certify", "--from", "two.csv", "--out", "out", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "not in the reports: bits: scores outside of 0 to 1 are described and not tested" in done.stderr
    json.loads(done.stdout)
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"logs.json", "logs.md", "store.sqlite", "notes.txt"} <= left
    assert not left & {"report.html", "certificate.json", "gridcard.json", "gridcard.md", "tables.tex"}


HOSTILE = '<script>alert(1)</script>|@team \u202e[x](http://evil.example) "q"'


@pytest.mark.parametrize(
    "name", ["e\\u0301", "not", "model", "x" * 300, "\\u2028", "\\x1b[31m", "a/b/c", "=1+1", "\\U0001f600"]
)
def test_a_name_of_any_kind_makes_a_report(name: str, tmp_path: Path) -> None:
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "benchmark", "item", "framing", "score"])
        for number in range(6):
            for model, framing in ((name, name), (name, "other"), ("plain", name), ("plain", "other")):
                rows.writerow([model, name, f"{name}{number}", framing, number % 2])
    report = studies.certify([tmp_path / "t.csv"], axes=["framing"])
    report.write(tmp_path / "out")
    assert report.left_out == ()
    assert (tmp_path / "out" / "report.html").exists()


def test_names_in_logs_are_text_wherever_they_stand(tmp_path: Path) -> None:
    with (tmp_path / "t.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "benchmark", "item", "framing", "score"])
        for model in (HOSTILE, "plain"):
            for number in range(6):
                rows.writerow([model, HOSTILE, f"{HOSTILE}{number}", HOSTILE, int(model == "plain")])
                rows.writerow([model, HOSTILE, f"{HOSTILE}{number}", "other", number % 2])
    studies.certify([tmp_path / "t.csv"], axes=["framing"]).write(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "\u202e" not in page
    for name in ("gridcard.md", "scorecard.md"):
        text = (tmp_path / "out" / name).read_text("utf-8").partition("```json")[0]
        assert "<script>" not in text
        assert "](http://evil" not in text
        assert "\u202e" not in text
        assert not re.search(r"(?<![\w\u2060\u200b\\])@team", text)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reports of 25 models, which are 300 pairs."""
    folder = tmp_path_factory.mktemp("many")
    rng = random.Random(25)
    log = table(folder / "quiz.csv", rng, models=25, framings=1, items=30, step=0.025)
    report = studies.certify([log], axes=["framing"], unit="family")
    assert report.left_out == ()
    report.write(folder / "out")
    return folder / "out"


PAIRS = 300
TOLD = 40


def test_the_certificate_of_many_models_has_every_pair(many: Path) -> None:
    certificate = json.loads((many / "certificate.json").read_text())
    (row,) = certificate["benchmarks"]
    names = {(pair["a"], pair["b"]) for pair in row["scopes"][0]["pairs"]}
    assert len(names) == PAIRS
    for rows in (row["tests"], row["intervals"]["gaps"], row["between"]):
        assert {(each["a"], each["b"]) for each in rows} == names


def test_reports_of_many_models_tell_some_pairs_and_count_the_rest(many: Path) -> None:
    """In each list as many pairs as it says, the certified ones first."""
    certificate = json.loads((many / "certificate.json").read_text())
    (row,) = certificate["benchmarks"]
    tier = {f"{pair['a']}, {pair['b']}": pair["evidence"]["tier"] for pair in row["scopes"][0]["pairs"]}
    rest = f"Of {PAIRS} pairs of models on quiz, {TOLD} are told one by one"
    other = f"certificate.json has the other {PAIRS - TOLD} too."
    each = [text for text in certificate["statements"] if re.match(r"On quiz, org-m\d+ (scores|and)", text)]
    assert len(each) == TOLD
    assert any(text.startswith(rest) and text.endswith(other) for text in certificate["statements"])
    page = (many / "report.html").read_text()
    assert page.count(rest) == page.count(other) >= 5
    assert certificate["verdicts"]["untold"] == ["quiz"] and certificate["verdicts"]["rows"] == []
    surfaces = page.split('id="b-quiz-surface"')[1].split('id="b-quiz-pairs"')[0]
    named = re.findall(r'data-name="quiz-surface-(org-m\d+)-(org-m\d+)"', surfaces)
    assert len(named) == TOLD
    tiers = [tier[", ".join(pair)] for pair in named]
    assert tiers == sorted(tiers, key=("certified", "supported", "descriptive").index)
    claimed = list(tier.values()).count("certified")
    assert claimed > 0 and tiers.count("certified") == min(TOLD, claimed)
    cards = (many / "gridcard.md").read_text()
    assert f"Of {PAIRS} pairs of models the {TOLD} with the strongest evidence are listed." in cards
    tables = (many / "tables.tex").read_text()
    assert rest in tables and len(re.findall(r"(?m)^org\{-\}m\d+ & org", tables)) == TOLD


def test_a_certificate_of_thousands_of_pairs_has_the_rows_that_are_told(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And those of neighbours, with the tests and gaps of all; the page says so and is the same otherwise."""
    monkeypatch.setattr(told, "MOST_ROWS", PAIRS - 1)
    studies.certify([many.parent / "quiz.csv"], axes=["framing"], unit="family").write(tmp_path)
    every, few = (json.loads((folder / "certificate.json").read_text()) for folder in (many, tmp_path))
    (row,), (all_of_it,) = few["benchmarks"], every["benchmarks"]
    neighbours = {frozenset((each["a"], each["b"])) for each in row["standings"]["neighbours"]}
    kept = {frozenset((each["a"], each["b"])) for each in row["scopes"][0]["pairs"]}
    listed = {
        frozenset(re.match(r"On quiz, (org-m\d+) .*?(org-m\d+)", text).groups())  # type: ignore[union-attr]
        for text in few["statements"]
        if re.match(r"On quiz, org-m\d+ (scores|and)", text)
    }
    assert len(listed) == TOLD and kept == listed | neighbours and len(neighbours) == 24
    assert {frozenset((each["a"], each["b"])) for each in row["between"]} == kept
    for name in ("tests", "intervals", "standings", "envelope"):
        assert row[name] == all_of_it[name]
    for scope, whole in zip(row["scopes"], all_of_it["scopes"], strict=True):
        held = [each for each in whole["pairs"] if frozenset((each["a"], each["b"])) in kept]
        assert scope == {**whole, "pairs": held}
    rest = "certificate.json has the tests and the gap of every pair, and all else of these and of neighbours"
    assert any(rest in text for text in few["statements"])
    pages = [(folder / "report.html").read_text() for folder in (many, tmp_path)]
    assert rest in pages[1] and "too." not in pages[1].split(rest)[1][:200]
    deck = json.loads((tmp_path / "gridcard.json").read_text())
    assert deck["certificate"] == digest_bytes((tmp_path / "certificate.json").read_bytes())


def test_pairs_in_all_configurations_are_counted_where_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compared, "MOST_PAIRS", 5)
    monkeypatch.setattr(compared, "MOST_COMPARED", 6)
    rng = random.Random(4)
    for framings in (1, 2):
        log = table(tmp_path / f"{framings}.csv", rng, models=4, framings=framings, items=12, step=0.1)
        report = studies.certify([log], axes=["framing"], unit="family")
        expected = (
            ()
            if framings == 1
            else (
                "quiz: 6 pairs of models in 2 configurations; such reports test up to 5 pairs, or 6 in all "
                "configurations together",
            )
        )
        assert report.left_out == expected


def test_what_a_study_cannot_have_is_named_and_the_rest_is_reported(tmp_path: Path) -> None:
    """One benchmark with scores beyond 1, one with a model whose every answer failed, one in two parts."""
    rows = ["model,benchmark,item,framing,state,score"]
    rows += [f"{model},bits,{n},x,read,{n * 3}" for model in "ab" for n in range(4)]
    rows += [
        f"{model},quiz,{n},x,read,{int(n % 3 > place)}"
        for place, model in enumerate("abc")
        for n in range(12)
    ]
    rows += [f"dead,quiz,{n},x,failed," for n in range(12)]
    rows += [
        f"{model},split,{n},{framing},read,{n % 2}" for n in range(6) for model, framing in ("ax", "ay", "by")
    ]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    report = studies.certify([tmp_path / "t.csv"], axes=["framing"])
    report.write(tmp_path / "out")
    assert [reason.partition(":")[0] for reason in dict.fromkeys(report.left_out)] == ["bits", "bits", "bits"]
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    rows_of = {row["benchmark"]: row for row in certificate["benchmarks"]}
    assert list(rows_of) == ["quiz", "split", "split-2"]
    assert rows_of["quiz"]["standings"]["unplaced"] == ["dead"]
    assert [row["model"] for row in rows_of["split"]["standings"]["order"]] == ["a", "b"]
    assert rows_of["split-2"]["standings"] is None
    told = report.markdown()
    assert "without a place, because no answer could be read: dead" in told
    assert "not every model that is compared there has these configurations" in told
    page = (tmp_path / "out" / "report.html").read_text()
    assert "not in these reports: bits" in html.unescape(page)


def test_no_part_takes_the_name_of_another_benchmark_and_no_cell_is_lost(tmp_path: Path) -> None:
    """A benchmark that is called as the second part of another would be; one cell of a model beyond 1."""
    rows = ["model,benchmark,item,framing,score"]
    rows += [f"{model},quiz,{n},{framing},{n % 2}" for n in range(6) for model, framing in ("ax", "ay", "by")]
    rows += [f"{model},quiz (2),{n},x,{n % 3 % 2}" for n in range(6) for model in "ab"]
    rows += [f"c,quiz,{n},{framing},{score}" for n in range(6) for framing, score in (("y", n % 2), ("z", 7))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    report = studies.certify([tmp_path / "t.csv"], axes=["framing"])
    assert [row.benchmark for row in report.certificate.benchmarks] == ["quiz", "quiz (3)", "quiz (2)"]
    (reason,) = report.left_out
    assert reason.startswith("quiz: c, framing=z: scores outside of 0 to 1")
    report.write(tmp_path / "out")
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert len(certificate["benchmarks"]) == 3


def test_a_second_report_leaves_no_log_of_the_first_store(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("model,item,score\na,1,1\na,2,0\nb,1,0\nb,2,0\n")
    report = studies.certify([tmp_path / "t.csv"])
    for _ in range(2):
        report.write(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").glob("store.sqlite*")] == ["store.sqlite"]


def test_a_page_of_one_configuration_has_no_parts_about_changing_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("model,item,score\na,1,1\na,2,0\nb,1,0\nb,2,0\n")
    studies.certify([tmp_path / "t.csv"]).write(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    places, links = (set(re.findall(rf'{name}="#?([^"]+)"', page)) for name in ("id", "href"))
    assert not {"b-t-orderings", "b-t-dispersion", "b-t-variance"} & places and "b-t-pairs" in places
    assert {link for link in links if link.startswith("b-t")} <= places
