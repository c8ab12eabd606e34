"""Criteria that bound a statistic: decided by one-sided 95 % limits, which scipy computes again; on these
items where there are none; and by the rule of the stamp where that is older."""

import json
import random
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import gridc
from gridc.reports.findings.falsification import BoundedValue, _by_limits
from gridc.schema.canonical import digest
from gridc.schema.inference import Criterion
from gridc.statistics.unit_intervals import Ends, share_limits
from tests import studies
from tests.recount.unit_limits import limits
from tests.studies import Messages
from tools.servers.http import Server

ITEMS = 150
MODELS = {"good": 0.95, "fair": 0.78, "poor": 0.6}
"""How often each is right."""
TEXTS = studies.benchmark(
    "texts",
    'id = "id", query = "text", options = { constant = ["safe", "unsafe"] }, gold = "label"',
    'option_order = "file"',
)
HARNESS = """
[harness]
method = "extract"
prompt = "Is this text safe or unsafe?\\n{{ question }}"
[[outcome]]
id = "hits"
benchmark = "texts"
scores = { right = 1, other = 0 }
[[statistic]]
id = "f1"
kind = "f1"
positive = { gold = "unsafe" }
[[statistic]]
id = "whole"
kind = "recall"
positive = { gold = "unsafe" }
"""
CRITERIA = {
    "met": 'statistic = "score", at_least = 0.7, where = { model = "good" }',
    "open": 'statistic = "score", at_least = 0.8, where = { model = ["good", "fair"] }',
    "failed": 'statistic = "score", at_least = 0.8',
    "in_part": 'statistic = "score", at_least = 0.9, partial = 0.5, where = { model = "fair" }',
    "f1_met": 'statistic = "f1", at_least = 0.6, where = { model = ["good", "fair"] }',
    "f1_open": 'statistic = "f1", at_least = 0.8, where = { model = "fair" }',
    "at_most": 'statistic = "score", at_most = 0.75, where = { model = "poor" }',
    "order": 'statistic = "range", at_most = 0.5',
    "outcome": 'statistic = "hits", at_least = 0.7, where = { model = "good" }',
}
ROWS = [{"id": f"t{n}", "text": f"Text {n}.", "label": ("safe", "unsafe")[n % 2]} for n in range(ITEMS)]


def say(model: str, messages: Messages) -> str:
    words = messages[-1]["content"]
    if "Text " not in words:
        return "Yes."
    number = int(words.partition("Text ")[2].partition(".")[0])
    right = random.Random(f"{model.partition('-')[0]} {number}").random() < MODELS[model.partition("-")[0]]
    return f"Answer: {'AB'[(number + (not right)) % 2]}"


def spec(url: str) -> str:
    text = studies.head("bounds", studies.behind(url, *MODELS, version="-2026-01-01")) + TEXTS + HARNESS
    for name, criterion in CRITERIA.items():
        text += f'[[falsification]]\nid = "{name}"\ncategory = "c"\ntest = "t"\n'
        text += f"criterion = {{ {criterion} }}\n"
    return text


def results_of(done: studies.Finished) -> dict[str, dict[str, object]]:
    document = json.loads((done.results / "certificate.json").read_text("utf-8"))
    return {row["id"]: row for row in document["falsifications"]}


def right(done: studies.Finished, model: str) -> np.ndarray:
    """Of each item, from the store."""
    rows = done.rows(
        "SELECT score FROM sample JOIN cell ON cell.id = sample.cell WHERE model = ? ORDER BY item", [model]
    )
    return np.array([score for (score,) in rows], float)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> studies.Finished:
    folder = tmp_path_factory.mktemp("bounds")
    with Server(studies.Scripted(say)) as server:
        return studies.carried_out(studies.written(folder, spec(server.url), ROWS))


def test_limits_decide_and_are_those_of_scipy(done: studies.Finished) -> None:
    found, ones = results_of(done), np.ones(ITEMS)
    assert {name: row["result"] for name, row in found.items()} == {
        "met": "pass", "open": "open", "failed": "fail", "in_part": "partial", "f1_met": "pass",
        "f1_open": "open", "at_most": "pass", "order": "pass", "outcome": "pass",
    }  # fmt: skip
    for name, model, end, error in (
        ("met", "good", 0, 0.05), ("open", "fair", 0, 0.05), ("failed", "poor", 1, 0.05 / 3),
        ("at_most", "poor", 1, 0.05),
    ):  # fmt: skip
        assert found[name]["limit"] == pytest.approx(limits(ones, right(done, model), error)[end], abs=1e-8)
        assert found[name]["limit_at"] == f"{model}/texts/the only one"
        assert found[name]["by"] == "limits"
    assert found["open"]["value"] == pytest.approx(right(done, "fair").mean()), "the worst value is told"
    fair = right(done, "fair")
    assert fair.mean() > 0.8, "its value is within the bound, and does not decide"


def test_what_has_no_limits_is_decided_on_these_items_and_says_so(done: studies.Finished) -> None:
    order = results_of(done)["order"]
    assert (order["by"], order["limit"]) == ("values", None)
    page = " ".join((done.results / "report.html").read_text("utf-8").split())
    assert "On these items alone: order." in page
    assert "good on texts; on these items" in page
    card = " ".join((done.results / "gridcard.md").read_text("utf-8").split())
    assert "good on texts; on these items)" in card and "limit 8" in card


def test_a_study_keeps_the_rule_that_it_was_stamped_with(tmp_path: Path) -> None:
    """A lock of before there were rules: it holds as it is, and the worst value decides."""
    with Server(studies.Scripted(say)) as server:
        study = studies.written(tmp_path, spec(server.url), ROWS)
        study.stamp()
        path = tmp_path / "gridcard.lock"
        lock = json.loads(path.read_text("utf-8"))
        assert (lock["format"], lock["content"].pop("rules")) == ("gridc-lock/5", {"criterion": "limits"})
        lock |= {"format": "gridc-lock/4", "stamp": digest(lock["content"])}
        path.write_text(json.dumps(lock, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
        old = studies.Finished(study)
        assert study.stamp().news == "already stamped"
        study.run()
        study.report()
    found = results_of(old)
    assert {row["by"] for row in found.values()} == {"values"}
    assert {name: row["result"] for name, row in found.items()} == {
        "met": "pass", "open": "pass", "failed": "fail", "in_part": "partial", "f1_met": "pass",
        "f1_open": "pass", "at_most": "pass", "order": "pass", "outcome": "pass",
    }  # fmt: skip
    assert study.verify().complete
    assert gridc.open(study.export("bundle", tmp_path / "bundle")).verify().complete
    assert study.stamp(supersede=True).stamp != lock["stamp"]
    assert json.loads(path.read_text("utf-8"))["content"]["rules"] == {"criterion": "limits"}


def test_it_verifies_and_so_does_its_bundle_which_has_no_items(
    done: studies.Finished, tmp_path: Path
) -> None:
    assert done.study.verify().complete
    assert gridc.open(done.study.export("bundle", tmp_path / "bundle")).verify().complete


def at_bound(draw: np.random.Generator, shares: Sequence[float], items: int) -> list[BoundedValue]:
    found = []
    for number, share in enumerate(shares):
        points = (draw.random(items) < share).astype(float)

        def ends(error: float, points: np.ndarray = points) -> Ends:
            return share_limits(np.ones(len(points)), points, 1 - 2 * error)

        found.append(BoundedValue(Fraction(int(points.sum()), items), str(number), partial(ends)))
    return found


@pytest.mark.parametrize(
    ("shares", "false"), [((0.8, 0.95, 0.95), "pass"), ((0.8, 0.8, 0.8, 0.8), "pass"), ((0.8,) * 6, "fail")]
)
def test_it_errs_in_one_of_twenty_studies_at_the_most(shares: tuple[float, ...], false: str) -> None:
    """At the bound itself, where both claims are at their worst."""
    criterion = Criterion(statistic="score", at_least=0.8 + (1e-9 if false == "pass" else 0))
    draw, runs = np.random.default_rng(5), 400
    wrong = sum(_by_limits(criterion, at_bound(draw, shares, 60))[0] == false for _ in range(runs))
    assert wrong <= 0.05 * runs + 2 * (0.05 * 0.95 * runs) ** 0.5


def test_a_value_that_is_not_determined_leaves_open_what_no_other_one_fails() -> None:
    criterion = Criterion(statistic="f1", at_least=0.8)
    sure = BoundedValue(Fraction(9, 10), "sure", lambda _: (0.85, 0.95))
    poor = BoundedValue(Fraction(1, 2), "poor", lambda _: (0.4, 0.6))
    none = BoundedValue(None, "none")
    assert _by_limits(criterion, [sure])[0] == "pass"
    assert _by_limits(criterion, [sure, none]) == ("open", {})
    assert _by_limits(criterion, [sure, none, poor])[0] == "fail"
