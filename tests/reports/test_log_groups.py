"""One number for a group of tasks: over items and over tasks, what it lacks, and what the package prints."""

import json
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import numpy as np
import pytest

import gridc
from gridc.schema.recorded import LogGroupRow
from gridc.statistics.totals import macro_mean
from gridc.statistics.unit_intervals import share_limits
from tests.e2e.conftest import command
from tests.package_logs import Doc, harness

LOGS = Path(__file__).resolve().parents[1] / "logs"
SIZES = {"anatomy": 30, "law": 120, "math": 40, "physics": 25}
BELOW = {"all": ["exact", "law", "anatomy"], "exact": ["math", "physics"]}


def drawn(seed: int = 1) -> dict[str, list[float]]:
    rng = Random(seed)
    return {
        task: [float(rng.random() < 0.3 + 0.1 * len(task) % 0.6) for _ in range(n)]
        for task, n in SIZES.items()
    }


def written(
    folder: Path, scores: dict[str, list[float]], printed: dict[str, float | None] | None = None, **more: Any
) -> Path:
    docs = {task: [Doc(f"{task} {n}", score) for n, score in enumerate(own)] for task, own in scores.items()}
    groups = {name: (below, (printed or {}).get(name)) for name, below in BELOW.items()}
    return harness(folder, more.pop("model", "m"), docs, groups, **more)


def rows(*logs: Path, **options: Any) -> dict[tuple[str, str], LogGroupRow]:
    groups = gridc.certify(*map(str, logs), **options).certificate.groups
    return {(row.group, row.model): row for row in groups}


def test_a_group_is_one_number_over_items_and_one_over_tasks(tmp_path: Path) -> None:
    scores = drawn()
    every = [score for own in scores.values() for score in own]
    row = rows(written(tmp_path / "a", scores, {"all": fmean(every)}))["all", "m"]
    assert row.micro == pytest.approx(fmean(every), abs=1e-6)
    assert row.macro == pytest.approx(fmean(map(fmean, scores.values())), abs=1e-6)
    assert row.micro_interval == pytest.approx(share_limits(np.ones(215), np.array(every)), abs=1e-6)
    place = np.repeat(np.arange(4), [*SIZES.values()])
    macro = macro_mean(np.arange(215), place, 4, np.ones(215), np.array(every)).estimate().interval
    assert row.macro_interval == pytest.approx(macro, abs=1e-4)
    assert (row.items, set(row.benchmarks), row.missing) == (215, {*SIZES}, ())
    assert row.printed == pytest.approx(fmean(every), abs=1e-6) and row.printed_is == "micro"


def test_a_group_of_groups_has_the_tasks_below_them(tmp_path: Path) -> None:
    found = rows(written(tmp_path / "a", drawn()))
    assert [*found] == [("all", "m"), ("exact", "m")]
    assert found["exact", "m"].benchmarks == ("math", "physics") and found["exact", "m"].printed is None


def test_what_a_package_prints_may_be_either_mean_or_neither(tmp_path: Path) -> None:
    scores = drawn()
    macro = fmean(map(fmean, scores.values()))
    log = written(tmp_path / "a", scores, {"all": macro, "exact": 0.99})
    found = rows(log)
    assert (found["all", "m"].printed_is, found["exact", "m"].printed_is) == ("macro", None)
    (row,) = gridc.certify(log).certificate.printed.differences
    assert (row.benchmark, row.what, row.printed) == ("exact", "mean of a group", 0.99)
    assert row.items == found["exact", "m"].micro and row.cause is None


def test_tasks_that_are_not_there_are_named(tmp_path: Path) -> None:
    scores = drawn()
    del scores["law"]
    log = written(tmp_path / "a", scores)
    assert rows(log)["all", "m"].missing == ("law: no log has it",)
    done = command("certify", "--from", str(log), cwd=tmp_path)
    assert "all of m lacks 1 task: law: no log has it" in done.stdout
    assert "3 of 4" in done.stdout


def test_a_task_without_items_or_of_another_reading_is_named(tmp_path: Path) -> None:
    scores = drawn()
    log = written(tmp_path / "a", scores)
    (log / "samples_law_t.jsonl").unlink()
    text = (log / "samples_math_t.jsonl").read_text().replace("exact_match", "acc")
    (log / "samples_math_t.jsonl").write_text(text)
    results = json.loads((log / "results_t.json").read_text())
    results["results"]["math"] = {"acc,none": fmean(scores["math"])}
    (log / "results_t.json").write_text(json.dumps(results))
    row = rows(log)["all", "m"]
    assert set(row.missing) == {"law: its log has no items", "math: its score is `acc,none`"}
    assert row.items == 55


def test_a_group_of_which_the_log_has_no_task_is_named(tmp_path: Path) -> None:
    log = written(tmp_path / "a", drawn())
    results = json.loads((log / "results_t.json").read_text())
    results["group_subtasks"]["gone"] = ["one", "two"]
    results["results"]["gone"] = {"alias": "gone", "exact_match,none": 0.5}
    (log / "results_t.json").write_text(json.dumps(results))
    assert any(
        "the group gone, of whose tasks it has none" in note for note in gridc.certify(log).certificate.notes
    )


def test_every_model_and_configuration_has_a_row(tmp_path: Path) -> None:
    for model in "ab":
        written(tmp_path / "logs" / model, drawn(ord(model)), model=model)
    assert set(rows(tmp_path / "logs")) == {(name, model) for name in BELOW for model in "ab"}
    written(tmp_path / "logs" / "c", drawn(9), model="a", config={"num_fewshot": 5, "description": "Think."})
    groups = gridc.certify(str(tmp_path / "logs")).certificate.groups
    assert len([row for row in groups if row.group == "all"]) == 3
    assert {len(row.benchmarks) for row in groups if row.group == "all"} == {4}


def test_a_question_of_two_tasks_is_one_unit() -> None:
    """The real log has two tasks of the same twelve questions."""
    found = rows(LOGS / "lm_eval")
    row = found["arith_all", "models/pocket-llama"]
    assert row.micro_interval is not None and row.items == 24 and row.printed_is == "both"
    independent = share_limits(np.ones(24), np.repeat([1.0, 0.0], [9, 15]))
    assert row.micro_interval[1] - row.micro_interval[0] > 1.2 * (independent[1] - independent[0])


def test_the_page_and_the_documents_have_the_groups(tmp_path: Path) -> None:
    log = written(tmp_path / "a", drawn(), {"all": 0.5})
    gridc.certify(log).write(tmp_path / "out")
    row = rows(log)["all", "m"]
    assert f"{row.micro:.3f}" in (tmp_path / "out" / "logs.md").read_text()
    page = (tmp_path / "out" / "report.html").read_text()
    shown = page.split('id="h-groups"')[1].split("</section>")[0]
    for mean in (row.micro, row.macro):
        assert mean is not None and f">{100 * mean:.1f}<" in shown
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert [one["group"] for one in certificate["recorded"]["groups"]] == ["all", "exact"]
    document = json.loads((tmp_path / "out" / "logs.json").read_text())
    assert [one["group"] for one in document["groups"]] == ["all", "exact"]


def test_the_study_has_the_same_mean_over_benchmarks(tmp_path: Path) -> None:
    """Documents of two tasks are numbered alike, and yet are two units."""
    for model in ("a", "b"):
        written(tmp_path / "logs" / model, drawn(ord(model)), model=model)
    (tmp_path / "logs" / "b" / "samples_law_t.jsonl").unlink()
    gridc.certify(tmp_path / "logs").write(tmp_path / "out")
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    known = rows(tmp_path / "logs")
    stated = {row["id"]: row for row in certificate["statistics"]}
    assert {name: row["kind"] for name, row in stated.items()} == dict.fromkeys(BELOW, "macro_mean")
    for name, model in (("all", "a"), ("exact", "a"), ("exact", "b")):
        (value,) = stated[name]["models"][model].values()
        assert value["value"] == pytest.approx(known[name, model].macro)
        assert value["interval"] == pytest.approx(known[name, model].macro_interval)
    (value,) = stated["all"]["models"]["b"].values()
    assert value["value"] is None and "law" in value["note"]


def test_tasks_that_were_made_one_benchmark_are_configurations(tmp_path: Path) -> None:
    log = written(tmp_path / "a", drawn())
    groups = gridc.certify(log, benchmarks={"exact": ["math", "physics"]}).certificate.groups
    found = {(row.configuration, row.missing) for row in groups if row.group == "exact"}
    assert found == {
        ("task=math", ("physics: another configuration has it",)),
        ("task=physics", ("math: another configuration has it",)),
    }


def grouped(path: Path, group: str = "all", other: str = "all") -> Path:
    lines = [
        f"{model},{benchmark},{n},{group if model == 'a' else other},{(n + len(model)) % 2}"
        for model in ("a", "bb")
        for benchmark, items in (("one", 10), ("two", 20))
        for n in range(items)
    ]
    path.write_text("\n".join(["model,benchmark,item,group,score", *lines]) + "\n")
    return path


def test_a_column_of_a_table_names_the_group_of_benchmarks(tmp_path: Path) -> None:
    row = rows(grouped(tmp_path / "t.csv"))["all", "a"]
    assert (row.benchmarks, row.items, row.micro, row.macro, row.printed) == (
        ("one", "two"),
        30,
        0.5,
        0.5,
        None,
    )
    # Items that match by id alone are other items in another benchmark.
    assert row.micro_interval == pytest.approx(share_limits(np.ones(30), np.tile([0.0, 1.0], 15)), abs=1e-6)


def test_a_group_that_is_another_one_for_each_model_is_a_configuration(tmp_path: Path) -> None:
    report = gridc.certify(grouped(tmp_path / "t.csv", "all", "some")).certificate
    assert report.groups == ()
    assert {score.configuration for row in report.benchmarks for score in row.scores} == {
        "group=all",
        "group=some",
    }
