"""Logs of further packages, made by hand as their own code writes them, and counted by hand."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gridc.compiler.inputs.logs import ReadLogs, read_logs
from gridc.compiler.inputs.logs.gathering import GatheredRun
from gridc.diagnostics.errors import Diagnostic, FileError
from gridc.outcomes import STATES
from tests.compiler import leaderboards as published
from tests.compiler.test_logs import WRONG, places


def written(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def one(*paths: Path) -> GatheredRun:
    (run,) = read_logs(paths).runs
    return run


def told(run: GatheredRun, reading: str, items: Sequence[str]) -> list[tuple[str, int, float | None, str]]:
    """Id, repetition, score and state of every answer."""
    column = run.columns[reading]
    return [
        (items[item], epoch, None if score != score else score, STATES[state])
        for item, epoch, score, state in zip(
            column.item.tolist(),
            column.epoch.tolist(),
            column.score.tolist(),
            column.state.tolist(),
            strict=True,
        )
    ]


def answers(logs: ReadLogs, reading: str) -> list[tuple[str, int, float | None, str]]:
    (run,) = logs.runs
    return told(run, reading, logs.items[run.run.benchmark].ids)


def refused(*paths: Path) -> Diagnostic:
    with pytest.raises(FileError) as caught:
        read_logs(paths)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


# HELM


def stat(name: str, *values: float, perturbation: str | None = None) -> dict[str, Any]:
    """As its `Stat` adds values up; what is None is left out."""
    named: dict[str, Any] = {"name": name, "split": "test"}
    if perturbation is not None:
        named["perturbation"] = {"name": perturbation, "robustness": True, "fairness": False}
    held = {"mean": sum(values) / len(values), "min": min(values), "max": max(values)} if values else {}
    return {"name": named, "count": len(values), "sum": sum(values), **held}


def helm(folder: Path, scores: Mapping[str, float | None]) -> Path:
    """A run of questions; for a score that is None HELM has dropped a NaN, and a fourth request failed."""
    run = folder / "quiz:subject=sums,method=multiple_choice_joint,model=org_small"
    adapter = {"method": "generation", "model": "org/small", "model_deployment": "org/small",
               "max_train_instances": 2, "temperature": 0.0, "max_tokens": 5}  # fmt: skip
    names = {"names": ["exact_match", "quasi_exact_match"]}
    written(run / "run_spec.json", {
        "name": run.name, "scenario_spec": {"class_name": "x.Quiz", "args": {"subject": "sums"}},
        "adapter_spec": adapter, "metric_specs": [{"class_name": "x.BasicMetric", "args": names}],
    })  # fmt: skip
    rows, states = [], []
    for place, (id, score) in enumerate(scores.items()):
        # HELM writes an entry for each metric, in which what it knows of the request comes first.
        first = [stat("num_prompt_tokens", 7)]
        second = [] if score is None else [stat("quasi_exact_match", score), stat("exact_match", score)]
        rows += [{"instance_id": id, "train_trial_index": 0, "stats": stats} for stats in (first, second)]
        failed = place == 3
        references = [{"output": {"text": text}, "tags": ["correct"] if text == f"{place}" else []}
                      for text in ("0", "1", "2", "3")]  # fmt: skip
        completions = [
            {
                "text": f" {place}",
                "logprob": 0,
                "finish_reason": {"reason": "length" if not place else "stop"},
            }
        ]
        states.append({
            "instance": {"input": {"text": f"{place} + 0 = ?"}, "references": references, "id": id},
            "train_trial_index": 0, "request": {"prompt": f"Q: {place} + 0 = ?\nA:"},
            "result": {"success": not failed, "completions": [] if failed else completions},
        })  # fmt: skip
    written(run / "scenario_state.json", {"adapter_spec": adapter, "request_states": states})
    written(run / "scenario.json", {"name": "quiz", "description": "", "tags": []})
    # Written for its pages.
    written(run / "display_predictions.json", [{"instance_id": "id1", "train_trial_index": 0, "stats": {}}])
    return written(run / "per_instance_stats.json", rows)


HELM = {"id1": 1.0, "id2": 0.0, "id3": None, "id4": 0.0}


def test_helm_by_its_folder(tmp_path: Path) -> None:
    path = helm(tmp_path, HELM)
    logs = read_logs([tmp_path])
    run = logs.runs[0].run
    assert (run.model, run.benchmark) == ("org/small", "quiz:subject=sums")
    # The order of its own metrics, not that of the file; what only describes the request is not read.
    assert run.readings == ("exact_match", "quasi_exact_match") and list(run.not_read) == [
        "num_prompt_tokens"
    ]
    assert answers(logs, "exact_match") == [
        ("id1", 0, 1.0, "cut"), ("id2", 0, 0.0, "read"),
        ("id3", 0, None, "unscored"), ("id4", 0, None, "failed"),
    ]  # fmt: skip
    assert (run.axes["shots"].value, run.axes["method"].value) == ("2", "generation")
    first = next(iter(run.samples() if run.samples else ()))
    assert (first.prompt, first.answer) == ("Q: 0 + 0 = ?\nA:", " 0")
    assert logs.notes == [f"not read of {path}: num_prompt_tokens"], "the files beside it are no stray ones"
    assert len({question.target for question in logs.items["quiz:subject=sums"].questions}) == 4


def changed(path: Path, change: Callable[[Any], Any]) -> None:
    written(path, change(json.loads(path.read_text())))


def test_instances_of_helm_without_any_statistic_are_unscored(tmp_path: Path) -> None:
    path = helm(tmp_path, HELM)
    changed(path, lambda rows: [row for row in rows if row["instance_id"] != "id2"])
    assert [row[3] for row in answers(read_logs([tmp_path]), "exact_match")] == [
        "cut", "unscored", "unscored", "failed",
    ]  # fmt: skip


def test_the_letter_of_a_choice_is_not_cut_off(tmp_path: Path) -> None:
    path = helm(tmp_path, HELM)
    adapter = {"method": "multiple_choice_joint", "model": "org/small", "max_tokens": 1}
    changed(path.with_name("run_spec.json"), lambda spec: spec | {"adapter_spec": adapter})
    assert answers(read_logs([tmp_path]), "exact_match")[0] == ("id1", 0, 1.0, "read")


def test_a_failed_request_that_helm_counts_as_wrong_contradicts_nothing(tmp_path: Path) -> None:
    path = helm(tmp_path, {**HELM, "id3": 1.0})
    written(path.with_name("stats.json"), [stat("exact_match", 1.0, 0.0, 1.0, 0.0)])
    assert [row[3] for row in answers(read_logs([tmp_path]), "exact_match")][3] == "failed"


def test_a_perturbed_instance_of_helm_stands_for_the_one_as_it_was(tmp_path: Path) -> None:
    """By content where both are there; else items match by id."""
    path = helm(tmp_path, {"id1": 1.0, "id2": 0.0})
    typos = {"name": "typos", "robustness": True}
    changed(path, lambda rows: rows + [{**row, "perturbation": typos} for row in rows])
    state = path.with_name("scenario_state.json")

    def perturbed(asked: dict[str, Any]) -> dict[str, Any]:
        return {
            **asked,
            "instance": {**asked["instance"], "input": {"text": "0 + O = ?"}, "perturbation": typos},
        }

    changed(state, lambda held: held | {"request_states": [
        *held["request_states"], *map(perturbed, held["request_states"]),
    ]})  # fmt: skip
    logs = read_logs([tmp_path])
    (items,) = logs.items.values()
    assert len(logs.runs) == 2 and len(items.ids) == 2 and not items.without_content
    changed(state, lambda held: held | {"request_states": held["request_states"][1:]})
    logs = read_logs([tmp_path])
    (items,) = logs.items.values()
    assert len(logs.runs) == 2 and len(items.ids) == items.without_content == 2


def test_helm_alone_is_named_by_its_folder(tmp_path: Path) -> None:
    path = helm(tmp_path, HELM)
    for name in ("run_spec.json", "scenario_state.json"):
        (path.parent / name).unlink()
    logs = read_logs([path])
    run = logs.runs[0].run
    assert (run.model, run.benchmark) == ("org_small", "quiz:subject=sums,method=multiple_choice_joint")
    assert [row[2:] for row in answers(logs, "quasi_exact_match")] == [
        (1.0, "read"), (0.0, "read"), (None, "unscored"), (0.0, "read"),
    ]  # fmt: skip
    assert "what is asked: items match by id" in run.unknown


def test_perturbations_and_trials_of_helm(tmp_path: Path) -> None:
    """A perturbation asks the same items in another configuration; a trial draws other exemplars."""
    rows = [
        {"instance_id": id, "train_trial_index": trial, "stats": [stat("exact_match", score)],
         **({"perturbation": {"name": "typos", "robustness": True}} if changed else {})}
        for id, score in (("id1", 1), ("id2", 0)) for trial in (0, 1) for changed in (False, True)
    ]  # fmt: skip
    logs = read_logs([written(tmp_path / "quiz:model=m" / "per_instance_stats.json", rows)])
    assert [run.run.axes["perturbation"].value for run in logs.runs] == ["none", "typos"]
    assert told(logs.runs[1], "exact_match", logs.items["quiz"].ids) == [
        ("id1", 0, 1.0, "read"), ("id1", 1, 1.0, "read"), ("id2", 0, 0.0, "read"), ("id2", 1, 0.0, "read"),
    ]  # fmt: skip


def test_helm_whose_aggregate_is_another_one_is_an_error(tmp_path: Path) -> None:
    path = helm(tmp_path, {"id1": 1.0, "id2": 0.0, "id3": 0.0})
    aggregates = [stat("exact_match", 1 / 3), stat("exact_match", 1.0, perturbation="typos")]
    written(path.parent / "stats.json", aggregates)
    assert one(tmp_path).run.printed["exact_match"].value == pytest.approx(1 / 3)
    written(path.parent / "stats.json", [stat("exact_match", 0.9)])
    assert refused(tmp_path).code == "GC674"


# lighteval


def lighteval(folder: Path, metrics: Sequence[Mapping[str, Any]], printed: float, docs: int = 3) -> Path:
    import pyarrow
    import pyarrow.parquet

    time, model = "2026-01-02T03-04-05.678901", "org/small"
    rows = [
        {"doc": {"query": f"{n} + 1 = ?", "choices": ["1", "2", "3"], "gold_index": n, "id": str(n),
                 "instruction": None, "task_name": "sums|2"},
         "metric": dict(metric),
         "model_response": {"input": f"Q: {n} + 1 = ?", "text": [f"{n + 1}"], "logprobs": []}}
        for n, metric in enumerate(metrics)
    ]  # fmt: skip
    path = folder / "details" / model / time / f"details_sums|2_{time}.parquet"
    path.parent.mkdir(parents=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    generation = {"temperature": 0.0}
    config = {"name": "sums", "prompt_function": "sums", "effective_num_docs": docs, "metrics": [
        {"metric_name": "em", "higher_is_better": True}, {"metric_name": "ter", "higher_is_better": False},
    ]}  # fmt: skip
    written(folder / "results" / model / f"results_{time}.json", {
        "config_general": {"lighteval_sha": "abc", "model_name": model,
                           "model_config": {"generation_parameters": generation, "dtype": "float16"}},
        "results": {"sums|2": {"em": printed, "em_stderr": 0.1}, "other|0": {"acc": 0.5},
                    "sums:_average|2": {"em": printed}, "all": {}},
        "versions": {"sums|2": 1},
        "config_tasks": {"sums|2": config},
        "summary_tasks": {}, "summary_general": {},
    })  # fmt: skip
    return path


def test_lighteval_with_its_results(tmp_path: Path) -> None:
    lighteval(
        tmp_path, [{"em": 1.0, "corpus": "x"}, {"em": 0.0, "corpus": "y"}, {"em": None, "corpus": "z"}], 0.5
    )
    logs = read_logs([tmp_path])
    runs = {run.run.benchmark: run for run in logs.runs}
    assert runs.keys() == {"sums", "other"}, "an average over tasks has no items"
    run = runs["sums"].run
    assert (run.model, run.made_by, run.axes["shots"].value) == ("org/small", "lighteval abc", "2")
    assert run.readings == ("em",) and list(run.not_read) == ["corpus"], "no number of a row"
    assert run.lower == {"ter"}
    assert told(runs["sums"], "em", logs.items["sums"].ids) == [
        ("0", 0, 1.0, "read"), ("1", 0, 0.0, "read"), ("2", 0, None, "unscored"),
    ]  # fmt: skip
    assert json.loads(run.axes["decoding"].value)["generation"] == {"temperature": 0.0}
    # A task whose details were not saved has scores alone.
    assert runs["other"].run.samples is None and runs["other"].run.printed["acc"].value == 0.5


def test_an_installed_lighteval_does_not_know_its_version(tmp_path: Path) -> None:
    lighteval(tmp_path, [{"em": 1.0}], 1.0, docs=1)
    (path,) = tmp_path.glob("results/**/*.json")
    written(path, json.loads(path.read_text().replace('"abc"', '"?"')))
    for run in read_logs([tmp_path]).runs:
        assert run.run.made_by == "lighteval" and "package" not in run.run.axes


def test_lighteval_that_contradicts_its_results_is_an_error(tmp_path: Path) -> None:
    lighteval(tmp_path / "a", [{"em": 1.0}, {"em": 0.0}], 0.5, docs=3)
    assert refused(tmp_path / "a").code == "GC674", "one of three rows is missing"
    lighteval(tmp_path / "b", [{"em": 1.0}, {"em": 0.0}], 0.9, docs=2)
    assert refused(tmp_path / "b").code == "GC674"


def test_lighteval_alone_and_before_0_11(tmp_path: Path) -> None:
    path = lighteval(tmp_path, [{"em": 1.0}, {"em": 0.0}], 0.5, docs=2)
    run = one(path.parent).run
    assert run.axes.keys() > {"decoding"}, "its results are found where lighteval writes them"
    moved = tmp_path / "moved" / path.name
    moved.parent.mkdir()
    path.rename(moved)
    run = one(moved).run
    assert run.benchmark == "sums" and set(run.axes) == {"task", "shots"}
    assert run.unknown[-1].startswith("decoding, template and metrics")
    import pyarrow
    import pyarrow.parquet

    rows = [
        {"example": f"{n}?", "full_prompt": f"Q: {n}?", "predictions": ["7"], "choices": ["7", "8"],
         "gold_index": [0], "metrics": {"qem": n / 2}}
        for n in range(3)
    ]  # fmt: skip
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), moved)
    logs = read_logs([moved])
    assert [row[2] for row in answers(logs, "qem")] == [0, 0.5, 1]
    first = next(iter(logs.runs[0].run.samples() if logs.runs[0].run.samples else ()))
    assert (first.prompt, first.answer) == ("Q: 0?", "7")


# OpenCompass


def opencompass(folder: Path, details: Any, accuracy: float | None = 50.0) -> Path:
    texts = {
        str(n): {"origin_prompt": [{"role": "HUMAN", "prompt": f"{n}?"}], "prediction": f"so {n}"}
        for n in range(4)
    }
    written(folder / "predictions" / "small" / "quiz.json", texts)
    result = {} if accuracy is None else {"accuracy": accuracy}
    return written(
        folder / "results" / "small" / "quiz.json", result | ({} if details is None else {"details": details})
    )


def test_opencompass_by_its_details(tmp_path: Path) -> None:
    details = {
        "type": "GEN",
        **{str(n): {"pred": "A", "refr": "AB"[n % 2], "is_correct": n % 2 == 0} for n in range(4)},
    }
    opencompass(tmp_path, details)
    logs = read_logs([tmp_path])
    run = logs.runs[0].run
    assert (run.model, run.benchmark, run.made_by, logs.notes) == ("small", "quiz", "OpenCompass", [])
    assert answers(logs, "correct") == [
        (str(n), 0, float(n % 2 == 0), "read") for n in range(4)
    ]  # fmt: skip
    texts = [(row.prompt, row.answer) for row in (run.samples() if run.samples else ())]
    assert texts == [(f"{n}?", f"so {n}") for n in range(4)]
    opencompass(tmp_path, details, accuracy=75.0)
    assert refused(tmp_path).code == "GC674"


def test_replicas_and_answers_without_a_score_of_opencompass(tmp_path: Path) -> None:
    """As its base evaluator groups them: a list of values for each example."""
    details = [
        {"example_abbr": "quiz_0", "pred": ["A", "B"], "correct": [True, False]},
        {"example_abbr": "quiz_1", "pred": ["A", "B"], "correct": [None, True]},
    ]  # fmt: skip
    opencompass(tmp_path, details, accuracy=None)
    logs = read_logs([tmp_path])
    assert answers(logs, "correct") == [
        ("quiz_0", 0, 1.0, "read"), ("quiz_0", 1, 0.0, "read"),
        ("quiz_1", 0, None, "unscored"), ("quiz_1", 1, 1.0, "read"),
    ]  # fmt: skip
    said = [row.answer for row in (logs.runs[0].run.samples or list)()]
    assert said == ["so 0", "so 2", "so 1", "so 3"], "the replicas follow one another"


@pytest.mark.parametrize("details", [None, {"type": "GEN", "0": {"prompt": "?", "origin_prediction": "x"}}])
def test_opencompass_without_scores_of_answers_is_described(tmp_path: Path, details: Any) -> None:
    opencompass(tmp_path, details)
    run = one(tmp_path).run
    assert run.samples is None and run.printed["accuracy"].value == 50
    assert "scores of items (run with --dump-eval-details)" in run.unknown


def test_predictions_of_opencompass_alone_are_no_log(tmp_path: Path) -> None:
    opencompass(tmp_path, None).unlink()
    assert refused(tmp_path).code == "GC671"


# EvalPlus


def evalplus(path: Path, rows: Mapping[str, Sequence[tuple[str | None, str | None, str]]]) -> Path:
    return written(path, {
        "date": "2026-01-01 00:00", "hash": "abc",
        "eval": {task: [
            {"task_id": task, "solution": text, "base_status": base, "plus_status": plus,
             "base_fail_tests": [], "plus_fail_tests": []} for base, plus, text in programs
        ] for task, programs in rows.items()},
    })  # fmt: skip


def test_evalplus_has_two_readings(tmp_path: Path) -> None:
    path = evalplus(tmp_path / "humaneval" / "org--small_vllm_temp_0.8_eval_results.json", {
        "HumanEval/0": [("pass", "pass", "def f(): 0"), ("pass", "fail", "def f(): 1")],
        "HumanEval/1": [("fail", "pass", "def g(): 0"), ("timeout", "timeout", "  ")],
        "HumanEval/2": [("pass", None, "def h(): 0"), (None, None, "def h(): 1")],
    })  # fmt: skip
    logs = read_logs([path])
    run = logs.runs[0].run
    assert (run.model, run.benchmark, run.readings) == ("org/small", "humaneval", ("base", "plus"))
    assert (run.axes["temperature"].value, run.axes["backend"].value) == ("0.8", "vllm")
    assert [row[2:] for row in answers(logs, "base")] == [
        (1, "read"), (1, "read"), (0, "read"), (0, "unreadable"), (1, "read"), (None, "unscored"),
    ]  # fmt: skip
    # A program passes `plus` if it passes both, as EvalPlus counts it.
    assert [row[2:] for row in answers(logs, "plus")] == [
        (1, "read"), (0, "read"), (0, "read"), (0, "unreadable"), (None, "unscored"), (None, "unscored"),
    ]  # fmt: skip
    assert [row[:2] for row in answers(logs, "base")][:2] == [("HumanEval/0", 0), ("HumanEval/0", 1)]
    # The samples beside their results are no stray files.
    for name in ("org--small_vllm_temp_0.8.jsonl", "org--small_vllm_temp_0.8.raw.jsonl"):
        written(path.parent / name, {"task_id": "HumanEval/0", "solution": "def f(): 0"})
    assert read_logs([path.parent]).notes == []


def test_evalplus_of_base_tests_alone_and_before_0_3(tmp_path: Path) -> None:
    path = evalplus(tmp_path / "small" / "eval_results.json", {"Mbpp/2": [("pass", None, "x")]})
    run = one(path).run
    assert (run.model, run.benchmark, run.readings) == ("small", "mbpp", ("base",))
    old = {
        "nfiles": 2,
        "base": [["success", []], ["timed out", []]],
        "plus": [["failed", []], ["failed", []]],
    }
    written(path, {"date": "", "hash": "", "eval": {"HumanEval/0": old}})
    logs = read_logs([path])
    assert [row[2] for row in answers(logs, "base")] == [1, 0]
    assert [row[2] for row in answers(logs, "plus")] == [0, 0]
    written(path, {"date": "", "hash": "", "eval": {"HumanEval/0": dict(old, base=[["maybe", []]] * 2)}})
    wrong = refused(path)
    assert (wrong.code, wrong.message) == ("GC672", "HumanEval/0: `maybe` is not a status")


# OpenAI evals


def openai_evals(path: Path, events: Sequence[tuple[str, str, Mapping[str, Any]]], report: Any) -> Path:
    spec = {"completion_fns": ["small"], "eval_name": "sums.dev.v0", "base_eval": "sums", "split": "dev",
            "run_config": {"completion_fns": ["small"], "seed": 20, "command": "oaieval"},
            "created_by": "", "run_id": "r1"}  # fmt: skip
    lines: list[Any] = [{"spec": spec}]
    lines += [
        {"run_id": "r1", "event_id": n, "sample_id": sample, "type": kind, "data": data}
        for n, (sample, kind, data) in enumerate(events)
    ]
    # The report may come before the last events are written.
    lines.insert(2, {"final_report": report}) if report is not None else None
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


EVENTS: list[tuple[str, str, Mapping[str, Any]]] = [
    ("sums.dev.0", "sampling", {"prompt": [{"role": "user", "content": "1 + 1?"}], "sampled": ["2"]}),
    ("sums.dev.0", "match", {"correct": True, "expected": "2", "picked": "2"}),
    ("sums.dev.0", "metrics", {"f1_score": 1.0, "choice": "A"}),
    ("sums.dev.1", "match", {"correct": False, "expected": "3", "picked": None}),
    ("sums.dev.1", "metrics", {"f1_score": 0.25, "choice": "B"}),
    ("sums.dev.2", "sampling", {"prompt": "2 + 2?", "sampled": "5"}),
    ("sums.dev.3", "error", {"type": "Timeout", "message": "none"}),
]


def test_openai_evals_by_their_events(tmp_path: Path) -> None:
    path = openai_evals(tmp_path / "log.jsonl", EVENTS, {"accuracy": 0.5})
    logs = read_logs([path])
    run = logs.runs[0].run
    assert (run.model, run.benchmark, run.readings) == ("small", "sums.dev.v0", ("match", "f1_score"))
    assert run.seeds == {"seed": 20} and run.finished
    assert answers(logs, "match") == [
        ("sums.dev.0", 0, 1.0, "read"), ("sums.dev.1", 0, 0.0, "read"),
        ("sums.dev.2", 0, None, "unscored"), ("sums.dev.3", 0, None, "failed"),
    ]  # fmt: skip
    assert [row[2] for row in answers(logs, "f1_score")] == [1, 0.25, None, None]
    first = next(iter(run.samples() if run.samples else ()))
    assert (first.prompt, first.answer) == ("[user]\n1 + 1?", "2")
    scored = [event for event in EVENTS if event[0] in ("sums.dev.0", "sums.dev.1")]
    assert refused(openai_evals(path, scored, {"accuracy": 0.9})).code == "GC674"
    assert not one(openai_evals(path, EVENTS, None)).run.finished
    assert Counter(row[3] for row in answers(read_logs([path]), "match")) == {
        "read": 2,
        "unscored": 1,
        "failed": 1,
    }


def test_openai_evals_of_which_nothing_was_scored_lose_no_sample(tmp_path: Path) -> None:
    path = openai_evals(tmp_path / "log.jsonl", EVENTS[5:], None)
    assert [row[3] for row in answers(read_logs([path]), "match")] == ["unscored", "failed"]


# All of them


FORMATS: Mapping[str, Callable[[Path], Path]] = {
    "helm": lambda folder: helm(folder, HELM),
    "lighteval": lambda folder: lighteval(folder, [{"em": 1.0}, {"em": 0.0}], 0.5, docs=2),
    "opencompass": lambda folder: opencompass(folder, {"0": {"pred": "A", "correct": True}}, 100.0),
    "evalplus": lambda folder: evalplus(
        folder / "a_eval_results.json", {"HumanEval/0": [("pass", "fail", "x")]}
    ),
    "openai_evals": lambda folder: openai_evals(folder / "log.jsonl", EVENTS, {"accuracy": 0.5}),
    "alpaca_eval": lambda folder: published.alpaca_eval(folder, published.ALPACA),
    "mmlu_pro": lambda folder: published.mmlu_pro(folder, published.MMLU),
    "tau_bench": lambda folder: published.tau_bench(folder / "small-airline.json", published.TRIALS),
    "bbq": lambda folder: published.bbq(folder, published.BBQ),
    "arena_hard": lambda folder: published.arena_hard(folder, published.GAMES),
    "livecodebench": lambda folder: published.livecodebench(folder, published.PROBLEMS),
}


@pytest.mark.parametrize("name", FORMATS)
def test_any_value_anywhere_is_read_or_refused_with_a_code(tmp_path: Path, name: str) -> None:
    FORMATS[name](tmp_path)
    random, refusals = Random(1), 0
    for path in (*tmp_path.rglob("*.json"), *tmp_path.rglob("*.jsonl")):
        text = path.read_text()
        good = json.loads(text) if path.suffix == ".json" else [*map(json.loads, text.splitlines())]
        for place in random.choices(list(places(good)), k=100):
            wrong = deepcopy(good)
            inner = wrong
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = deepcopy(random.choice(WRONG))
            lines = [wrong] if path.suffix == ".json" else wrong
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
            try:
                read_logs([tmp_path])
            except FileError as error:
                refusals += 1
                assert all(len(one.message) < 1_000 for one in error.diagnostics)
        path.write_text(text)
    assert refusals
