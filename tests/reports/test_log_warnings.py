"""Hazards that a log shows and that no score tells: each is a warning of its benchmark, which the terminal,
logs.md and the page have."""

import html
import json
import re
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

import gridc
from gridc.schema.recorded import LogBenchmarkRow
from tests.e2e.conftest import command
from tests.package_logs import Doc, harness, inspect, sample


def rows(*logs: Path, **options: Any) -> tuple[LogBenchmarkRow, ...]:
    return gridc.certify(*map(str, logs), **options).certificate.benchmarks


def warned(log: Path, about: str, **options: Any) -> list[str]:
    return [text for row in rows(log, **options) for text in row.warnings if about in text]


NO_GRADE = "Grade not found in model output: I would rather not say"


def graded(path: Path, without: int, value: str = "I", items: int = 20) -> Path:
    """A log of which the judge of some answers gave no grade."""
    samples = [
        sample(number, value, explanation=NO_GRADE) if number < without else sample(number, "C")
        for number in range(items)
    ]
    return inspect(path, samples, {"accuracy": (items - without) / items})


def test_a_judge_without_a_grade_is_said_and_counts_as_wrong(tmp_path: Path) -> None:
    log = graded(tmp_path / "a.json", 3)
    (row,) = rows(log)
    (score,) = row.scores
    assert (score.score, score.states.unreadable, score.states.read) == (0.85, 3, 17)
    said = "m: in 3 of 20 answers the judge gave no grade, which counts as wrong: nothing says whether it is"
    assert warned(log, "no grade") == [said]
    assert warned(graded(tmp_path / "b.json", 0), "no grade") == []


def test_a_judge_without_a_grade_reaches_every_reader(tmp_path: Path) -> None:
    said = "in 3 of 20 answers the judge gave no grade"
    log = graded(tmp_path / "a.json", 3)
    done = command("certify", "--from", str(log), "--out", "out", cwd=tmp_path)
    assert done.returncode == 0 and f"warning: m: {said}" in done.stdout
    assert said in (tmp_path / "out" / "logs.md").read_text()
    page = re.sub(r"<[^>]+>", "", (tmp_path / "out" / "report.html").read_text())
    assert said in html.unescape(page)


def test_newer_logs_of_inspect_give_the_reason_and_no_score(tmp_path: Path) -> None:
    samples = [sample(number, "C") for number in range(8)]
    for judged in (one["scores"]["graded"] for one in samples[:2]):
        judged |= {"value": float("nan"), "reason": "grader_failed", "explanation": NO_GRADE}
    log = inspect(tmp_path / "a.json", samples, {"accuracy": 1.0})
    (row,) = rows(log)
    assert (row.scores[0].score, row.scores[0].states.unscored) == (0.75, 2)
    assert [text[:30] for text in warned(log, "no grade")] == ["m: in 2 of 8 answers the judge"]


def test_a_judge_of_promptfoo_without_a_grade(tmp_path: Path) -> None:
    path = Path(__file__).parents[1] / "logs" / "promptfoo" / "sums.json"
    document = json.loads(path.read_text())
    failed = next(row for row in document["results"]["results"] if row["failureReason"] == 1)
    reason = "Could not extract JSON from llm-rubric response"
    failed["gradingResult"] = {
        "pass": False,
        "score": 0,
        "reason": "x",
        "componentResults": [{"reason": reason}],
    }
    (tmp_path / "log.json").write_text(json.dumps(document))
    assert len(warned(tmp_path / "log.json", "in 1 of 10 answers the judge gave no grade")) == 1


def test_a_judge_of_openai_evals_without_a_choice(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        {"spec": {"completion_fns": ["m"], "eval_name": "e", "base_eval": "e", "run_config": {}}}
    ]
    events += [
        {"sample_id": f"s.{n}", "type": "metrics", "data": {"choice": choice, "score": n % 2}}
        for n, choice in enumerate(["__invalid__"] * 2 + ["Y"] * 4)
    ]  # fmt: skip
    events.append({"final_report": {"score": 0.5}})
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    assert len(warned(tmp_path / "log.jsonl", "in 2 of 6 answers the judge gave no grade")) == 1


WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")


def texts(seed: int, items: int = 60, words: int = 30) -> list[str]:
    drawn = Random(seed)
    return [" ".join(drawn.choices(WORDS, k=words)) for _ in range(items)]


def sampled(folder: Path, temperature: float, answers: list[str], model: str = "m") -> Path:
    docs = [Doc(f"question {n}", float(n % 3 > 0), (text,)) for n, text in enumerate(answers)]
    decoding = {"generation_kwargs": {"do_sample": True, "temperature": temperature}}
    return harness(folder, model, {"quiz": docs}, config=decoding)


def test_two_configurations_with_the_same_texts_are_said(tmp_path: Path) -> None:
    for temperature in (0.2, 0.9):
        sampled(tmp_path / "stale" / str(temperature), temperature, texts(1))
    (said,) = warned(tmp_path / "stale", "the same answers")
    assert said.startswith("m: decoding=temperature: 0.2 and decoding=temperature: 0.9 have the same answers")
    assert "to 60 of 60 items" in said and "count as two configurations" in said


def test_a_cache_that_answered_for_most_is_said_too(tmp_path: Path) -> None:
    half = texts(1)[:40] + texts(2)[40:]
    for temperature, answers in ((0.2, texts(1)), (0.9, half)):
        sampled(tmp_path / "stale" / str(temperature), temperature, answers)
    assert "to 40 of 60 items" in warned(tmp_path / "stale", "the same answers")[0]


def test_two_models_with_the_same_texts_are_said(tmp_path: Path) -> None:
    for model in "ab":
        sampled(tmp_path / "one" / model, 0.7, texts(1), model)
    (said,) = warned(tmp_path / "one", "the same answers")
    assert said.startswith("a and b have the same answers") and "one model under two names" in said


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (texts(1), texts(2)),  # other answers
        (texts(1, words=2), texts(1, words=2)),  # short ones, which two runs may share
        (["I am sorry, but I can not help with this. " * 3] * 60,) * 2,  # one refusal for all
    ],
)
def test_answers_that_may_well_be_equal_are_not_said(
    first: list[str], second: list[str], tmp_path: Path
) -> None:
    for temperature, answers in ((0.2, first), (0.9, second)):
        sampled(tmp_path / "log" / str(temperature), temperature, answers)
    assert warned(tmp_path / "log", "the same answers") == []


def test_choices_that_two_configurations_share_are_not_said(tmp_path: Path) -> None:
    """The likeliest of given texts is none that the model wrote."""
    for shots in (0, 5):
        log = sampled(tmp_path / "log" / str(shots), shots / 10, texts(1))
        path = log / "samples_quiz_t.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            (text,) = line["resps"][0]
            likely = [[[str(-number), "False"]] for number in range(2)]
            asked = {f"gen_args_{n}": {"arg_0": "?", "arg_1": f"{text} {n}"} for n in range(2)}
            line |= {"resps": likely, "filtered_resps": likely, "arguments": asked}
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(rows(tmp_path / "log")[0].configurations) == 2
    assert warned(tmp_path / "log", "the same answers") == []


def repeated(path: Path, items: int, epochs: int, same: bool) -> Path:
    samples = [
        sample(item, ["I", "C"][item % 2], epoch + 1, text=f"answer {item}, {0 if same else epoch}")
        for item, epoch in product(range(items), range(epochs))
    ]
    return inspect(path, samples, {"accuracy": 0.5}, config={"epochs": epochs})


def test_repetitions_of_few_items_that_repeat_nothing_are_said(tmp_path: Path) -> None:
    about = "are the same, text by text: repetitions that repeat nothing"
    assert len(warned(repeated(tmp_path / "a.json", 6, 30, True), about)) == 1
    assert warned(repeated(tmp_path / "b.json", 6, 30, False), about) == []
    assert warned(repeated(tmp_path / "c.json", 4, 2, True), about) == []


def test_scores_of_few_items_that_never_change_are_said(tmp_path: Path) -> None:
    """In a table without texts."""
    for name, items, times, told in (("a", 6, 30, 1), ("b", 6, 3, 0), ("c", 10, 2, 1)):
        lines = [f"m,q{n},{time},{n % 2}" for n, time in product(range(items), range(times))]
        (tmp_path / f"{name}.csv").write_text("\n".join(["model,item,replicate,score", *lines]) + "\n")
        assert len(warned(tmp_path / f"{name}.csv", "score alike on every item")) == told


def test_runs_of_few_items_that_are_one_run_are_said(tmp_path: Path) -> None:
    """Thirty seeds, eight items, one answer to each."""
    header = "model,item,seed,answer,score"
    for name, runs, told in (("a", 30, 1), ("b", 2, 0)):
        lines = [f"m,q{n},{seed},answer {n},{n % 2}" for seed, n in product(range(runs), range(8))]
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *lines]) + "\n")
        assert len(warned(tmp_path / f"{name}.csv", "repeat nothing")) == told


def test_repeats_of_the_harness_are_said(tmp_path: Path) -> None:
    """It asks a document several times, and its default filter takes the first answer."""
    for name, others, told in (("same", None, 1), ("other", ["b"], 0)):
        docs = [Doc(f"question {n}", float(n % 2), [f"a{n}", *(others or [f"a{n}"] * 29)]) for n in range(8)]
        times = len(docs[0].texts)
        log = harness(tmp_path / name, "m", {"quiz": docs}, config={"repeats": times})
        asks = f"its task asks each document {times} times (`repeats`); the score is of the first answer"
        assert len(warned(log, asks)) == 1
        assert len(warned(log, "the 30 answers to each of 8 items")) == told


def shed(folder: Path, shared: bool) -> Path:
    """Three tasks in which two models are ahead of one another in turn."""
    drawn = Random(1)
    for model, rates in (("one", (0.9, 0.1, 0.5)), ("two", (0.1, 0.9, 0.5))):
        tasks = {
            task: [
                Doc(f"{'' if shared else task} question {n}", float(drawn.random() < rate)) for n in range(40)
            ]
            for task, rate in zip("abc", rates, strict=True)
        }
        harness(folder / model, model, tasks)
    return folder


def test_no_order_is_tested_across_tasks_that_share_no_item(tmp_path: Path) -> None:
    named = {"benchmarks": {"shed": ["a", "b", "c"]}}
    (whole,) = rows(shed(tmp_path / "shared", True), **named)
    assert whole.configurations == ("task=a", "task=b", "task=c") and "reversible" in whole.pairs[0].verdict
    parts = rows(shed(tmp_path / "apart", False), **named)
    assert [row.benchmark for row in parts] == ["shed", "shed (2)", "shed (3)"]
    assert [row.configurations for row in parts] == [("task=a",), ("task=b",), ("task=c",)]
    assert all(pair.configurations == 1 for row in parts for pair in row.pairs)
    said = (
        "3 configurations share no item with one another (task=a; task=b; task=c): each is compared by itself"
    )
    assert any(text.startswith(said) for text in parts[0].warnings)
    assert parts[1].not_compared == ("with shed: these configurations share no item with those",)


def test_levels_of_one_task_that_ask_other_items_are_compared_and_said(tmp_path: Path) -> None:
    lines = [
        f"{model},quiz,{n},{'xy'[n > 9]},{(n + place) % 2}"
        for place, model in enumerate("ab")
        for n in range(20)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["model,benchmark,item,framing,score", *lines]) + "\n")
    (row,) = rows(tmp_path / "t.csv", axes=["framing"])
    assert len(row.configurations) == 2
    assert any("may change with the items" in text for text in row.warnings)
