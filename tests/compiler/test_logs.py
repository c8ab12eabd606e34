"""Logs of other packages: real ones, counted by hand and as the package printed them, and damaged ones."""

import gzip
import json
import math
import shutil
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from gridc.compiler.inputs.logs import ReadLogs, read_logs
from gridc.compiler.inputs.logs.files import TableColumns
from gridc.diagnostics.errors import FileError
from gridc.outcomes import STATES
from gridc.reports.recorded.cells import recorded_benchmarks

LOGS = Path(__file__).resolve().parents[1] / "logs"


def scores(logs: ReadLogs) -> dict[tuple[str, str, str], float]:
    return {
        (gathered.run.model, gathered.run.benchmark, reading): float(np.nanmean(column.score))
        for gathered in logs.runs
        for reading, column in gathered.columns.items()
    }


def states(logs: ReadLogs, reading: str) -> Counter[str]:
    return Counter(
        STATES[state] for gathered in logs.runs for state in gathered.columns[reading].state.tolist()
    )


def one(path: Path) -> ReadLogs:
    logs = read_logs([path])
    assert len(logs.runs) == 1
    return logs


def test_lm_eval_is_read_as_it_prints() -> None:
    logs = read_logs([LOGS / "lm_eval"])
    # As lm-eval printed them, task by task (out/llama-zero.txt, out/qwen2-zero.txt); the group is left out.
    assert {key: round(value, 4) for key, value in scores(logs).items()} == {
        ("models/pocket-llama", "arith_mc", "acc,none"): 0.3333,
        ("models/pocket-llama", "arith_mc", "acc_norm,none"): 0.3333,
        ("models/pocket-llama", "arith_mc_b", "acc,none"): 0.4167,
        ("models/pocket-llama", "arith_gen", "exact_match,strict"): 0.0,
        ("models/pocket-llama", "arith_gen", "exact_match,loose"): 0.0,
        ("models/pocket-qwen2", "arith_mc", "acc,none"): 0.1667,
        ("models/pocket-qwen2", "arith_mc", "acc_norm,none"): 0.1667,
        ("models/pocket-qwen2", "arith_mc_b", "acc,none"): 0.25,
    }
    for gathered in logs.runs:
        for reading, printed in gathered.run.printed.items():
            assert printed.items == len(gathered.columns[reading].item) == 12
            assert printed.value == pytest.approx(np.nanmean(gathered.columns[reading].score))
    generated = next(run for run in logs.runs if run.run.benchmark == "arith_gen")
    assert set(generated.columns["exact_match,strict"].state.tolist()) == {STATES.index("unreadable")}
    assert generated.run.seeds["random_seed"] == 0
    # One document in two tasks is one item.
    assert len(read_logs([LOGS / "lm_eval"], {"arith_mc_b": "arith_mc"}).items["arith_mc"].ids) == 12


def test_a_limited_run_of_lm_eval_is_said(tmp_path: Path) -> None:
    shutil.copytree(LOGS / "lm_eval" / "llama-zero", tmp_path / "run")
    (results,) = tmp_path.rglob("results_*.json")
    document = json.loads(results.read_text())
    document["n-samples"]["arith_mc"]["original"] = 100
    results.write_text(json.dumps(document))
    told = [
        warning for part in recorded_benchmarks(read_logs([tmp_path]), None, ()) for warning in part.warnings
    ]
    (said,) = (warning for warning in told if "documents" in warning)
    assert said.endswith(": arith_mc has 100 documents, of which 12 were asked")


def test_inspect_is_read_as_it_prints() -> None:
    plain = one(LOGS / "inspect" / "plain.eval")
    # By hand: sample 4 would rather not say, and 6 was cut at the token limit.
    assert states(plain, "pattern") == {"read": 8, "unreadable": 1, "cut": 1}
    assert (
        scores(plain)["mockllm/model", "sums", "pattern"] == plain.runs[0].run.printed["pattern"].value == 0.5
    )
    errors = one(LOGS / "inspect" / "errors.json")
    assert states(errors, "pattern") == {"read": 8, "failed": 2}
    assert scores(errors)["mockllm/model", "sums", "pattern"] == 0.125
    two = one(LOGS / "inspect" / "two.json")
    assert states(two, "partly") == {"read": 9, "unscored": 1}
    assert states(two, "pattern") == {"read": 9, "unreadable": 1}
    assert scores(two)["mockllm/model", "sums", "partly"] == pytest.approx(0.9166666666666666)
    epochs = one(LOGS / "inspect" / "epochs.json")
    assert Counter(epochs.runs[0].columns["pattern"].epoch.tolist()) == {0: 10, 1: 10, 2: 10}
    assert scores(epochs)["mockllm/model", "sums", "pattern"] == pytest.approx(0.06666666666666667)
    assert epochs.runs[0].run.printed["pattern, at_least_1"].value == 0.2
    warm = one(LOGS / "inspect" / "warm1.json").runs[0].run
    assert (warm.shared_seed, warm.seeds) == ("5", {"seed": 5})
    failed = one(LOGS / "inspect" / "failed.json").runs[0].run
    assert not failed.finished and failed.expected == 10


def test_each_scorer_of_inspect_reads_for_itself(tmp_path: Path) -> None:
    """One finds no answer where another scores; and of a log that broke off before any score all failed."""
    given = {"pattern": {"value": "I", "answer": ""}, "judged": {"value": "C", "answer": "so"}}
    names = [{"name": "pattern"}, {"name": "judged"}]
    log = {"version": 2, "status": "success", "plan": {}, "results": {"total_samples": 1, "scores": names},
           "eval": {"model": "m", "task": "t", "scorers": names},
           "samples": [{"id": 1, "input": "?", "target": "a", "scores": given}]}  # fmt: skip
    (tmp_path / "log.json").write_text(json.dumps(log))
    both = one(tmp_path)
    assert states(both, "pattern") == {"unreadable": 1} and states(both, "judged") == {"read": 1}
    broken = {"id": 1, "input": "?", "target": "a", "error": {"message": "broken"}}
    (tmp_path / "log.json").write_text(
        json.dumps({**log, "status": "error", "results": None, "samples": [broken]})
    )
    assert states(one(tmp_path), "judged") == states(one(tmp_path), "pattern") == {"failed": 1}


def test_no_answer_of_inspect_is_read_where_none_was_given(tmp_path: Path) -> None:
    """A model that said nothing, and samples that met a limit of time, tokens or messages: they have a score
    of 0 and no error."""
    nothing = {"pattern": {"value": "I", "answer": None, "reason": "no_response"}}
    limit = {"type": "time", "limit": 2.0, "reason": "Time limit exceeded"}
    samples = [
        {"id": 1, "input": "?", "target": "a", "scores": nothing, "output": {"choices": []}},
        {"id": 2, "input": "??", "target": "a", "scores": nothing, "limit": limit},
        {"id": 3, "input": "???", "target": "a", "scores": {"pattern": {"value": "C", "answer": "a"}}},
    ]
    log = {"version": 2, "status": "success", "plan": {}, "eval": {"model": "m", "task": "t"},
           "results": {"total_samples": 3, "scores": [{"name": "pattern"}]}, "samples": samples}  # fmt: skip
    (tmp_path / "log.json").write_text(json.dumps(log))
    assert states(one(tmp_path), "pattern") == {"unreadable": 1, "cut": 1, "read": 1}


def test_promptfoo_is_read_as_it_prints() -> None:
    logs = read_logs([LOGS / "promptfoo" / "sums.json"])
    counts = Counter[str]()
    for gathered in logs.runs:
        column = gathered.columns["success"]
        passed = int(np.nansum(column.score))
        counts["passed"] += passed
        counts["errors"] += int((column.state == STATES.index("failed")).sum())
        assert passed / 10 == gathered.run.printed["success"].value
    assert counts == {"passed": 26, "errors": 2}, "26 passed, 12 failed, 2 errors, as it printed"
    table = read_logs([LOGS / "promptfoo" / "sums.csv"])
    assert scores(table) == {key: scores(logs)[key] for key in scores(table)}
    repeat = read_logs([LOGS / "promptfoo" / "repeat.jsonl"])
    assert [Counter(run.columns["success"].epoch.tolist()) for run in repeat.runs] == [
        {0: 10, 1: 10, 2: 10}
    ] * 2
    assert repeat.runs[0].columns["success"].state.tolist().count(STATES.index("cut")) in (0, 3)


def test_an_empty_answer_of_promptfoo_is_not_read(tmp_path: Path) -> None:
    """In every form, unless it is what the test asks for."""
    document = json.loads((LOGS / "promptfoo" / "sums.json").read_text())
    rows = document["results"]["results"]
    some = [next(row for row in rows if row["success"] is success) for success in (True, False)]
    for row in some:
        row["response"] = {"output": " "}
    document["results"] |= {"results": some, "stats": None}
    (tmp_path / "log.json").write_text(json.dumps(document))
    assert states(read_logs([tmp_path / "log.json"]), "success") == {"unreadable": 1, "read": 1}
    table = "question,[m] q,Status,Score,Named Scores\n1?,,FAIL,0,\n2?,,PASS,1,\n3?,4,FAIL,0,\n"
    (tmp_path / "log.csv").write_text(table)
    assert states(read_logs([tmp_path / "log.csv"]), "success") == {"unreadable": 1, "read": 2}


def test_promptfoo_does_not_count_what_was_under_way_when_it_was_interrupted(tmp_path: Path) -> None:
    """It keeps the row, also in what is resumed and complete; rows that are missing are an error. No file of
    promptfoo says whether the run was finished."""
    document = json.loads((LOGS / "promptfoo" / "sums.json").read_text())
    document["results"]["stats"]["failures"] -= 1
    (tmp_path / "log.json").write_text(json.dumps(document))
    logs = read_logs([tmp_path])
    assert sum(len(run.columns["success"].score) for run in logs.runs) == 40
    said = "its statistics count 39 results, and the file has 40: it was interrupted, and may not be finished"
    assert {(run.run.remark, run.run.finished) for run in logs.runs} == {(said, None)}
    warnings = [warning for one in recorded_benchmarks(logs, None, ()) for warning in one.warnings]
    assert f"alpha: log.json: {said}" in warnings
    document["results"]["stats"]["failures"] += 2
    (tmp_path / "log.json").write_text(json.dumps(document))
    fails(tmp_path, "GC674", "count 41 results, and the file has 40")


def test_one_evaluation_in_several_formats_counts_once(tmp_path: Path) -> None:
    """In the one that says most, whatever the files are called and whichever comes first."""
    document = json.loads((LOGS / "promptfoo" / "sums.json").read_text())
    rows = [json.dumps(row) for row in document["results"]["results"]]
    (tmp_path / "b.jsonl").write_text("\n".join(rows) + "\n")
    shutil.copy(LOGS / "promptfoo" / "sums.csv", tmp_path / "a.csv")
    without = read_logs([tmp_path])
    assert {gathered.run.path.suffix for gathered in without.runs} == {".jsonl"}
    shutil.copy(LOGS / "promptfoo" / "sums.json", tmp_path / "c.json")
    logs, alone = read_logs([tmp_path]), read_logs([tmp_path / "c.json"])
    assert scores(logs) == scores(alone) and len(logs.runs) == len(alone.runs) == 4
    assert sorted(logs.notes) == [
        f"{tmp_path / name} holds the run of {tmp_path / 'c.json'} again: it counts once"
        for name in ("a.csv", "b.jsonl")
    ]
    # Other assertions about the same answers are another run.
    (tmp_path / "judged").mkdir()
    shutil.copy(LOGS / "promptfoo" / "sums.json", tmp_path / "judged" / "c.json")
    judged = [dict(json.loads(row), score=1 - json.loads(row)["score"]) for row in rows]
    (tmp_path / "judged" / "b.jsonl").write_text("\n".join(map(json.dumps, judged)) + "\n")
    assert len(read_logs([tmp_path / "judged"]).runs) == 8
    # Nor does a provider count twice that never answered.
    (tmp_path / "failed").mkdir()
    failed = [
        {key: value for key, value in json.loads(row).items() if key != "response"}
        | {"failureReason": 2, "success": False, "score": 0}
        for row in rows
    ]
    (tmp_path / "failed" / "b.jsonl").write_text("\n".join(map(json.dumps, failed[::-1])) + "\n")
    document["results"]["results"] = failed
    (tmp_path / "failed" / "c.json").write_text(json.dumps(document))
    assert len(read_logs([tmp_path / "failed"]).runs) == 4
    # The same answers under two prompts are two runs, and so are two files of one format.
    twins = [dict(json.loads(row), response={"output": "7"}) for row in rows]
    (tmp_path / "twins").mkdir()
    (tmp_path / "twins" / "a.jsonl").write_text("\n".join(map(json.dumps, twins)) + "\n")
    assert len(read_logs([tmp_path / "twins"]).runs) == 4


def test_two_providers_of_one_name_are_two_columns(tmp_path: Path) -> None:
    """And no repetitions, even where the file does not say in what they differ."""
    rows = [
        {"promptIdx": place, "testIdx": 0, "provider": {"id": "p", "label": ""}, "vars": {"a": "1"},
         "prompt": {"raw": "1?", "label": "x"}, "success": bool(place), "score": place}
        for place in (0, 1)
    ]  # fmt: skip
    providers = [{"id": "p", "config": {"temperature": 0}}, {"p": {"config": {"temperature": 1, "seed": 4}}}]
    document = {
        "evalId": "e", "config": {"providers": providers},
        "results": {"results": rows[::-1], "prompts": [{"raw": "{{a}}?", "label": "x"}] * 2},
    }  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(document))
    runs = {run.run.axes["decoding"].value: run for run in read_logs([tmp_path]).runs}
    assert {value: run.columns["success"].score.tolist() for value, run in runs.items()} == {
        '{"temperature": 0}': [0.0],
        '{"temperature": 1}': [1.0],
    }
    assert [run.run.shared_seed for run in runs.values()].count("4") == 1
    (tmp_path / "a.json").unlink()
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "b.csv").write_text(
        "a" + ",[p] x,Status,Score,Named Scores" * 2 + "\n1,no,FAIL,0,,yes,PASS,1,\n"
    )
    for name in ("a.jsonl", "b.csv"):
        labels = [run.run.axes["column"].label for run in read_logs([tmp_path / name]).runs]
        assert labels == ["1 of 2 called alike", "2 of 2 called alike"]


def test_tables_and_lists(tmp_path: Path) -> None:
    table = tmp_path / "scores.csv"
    table.write_text(
        "model,benchmark,item,shots,score,state\na,b,1,0,1,\na,b,2,0,,failed\na,b,1,5,0.5,\nb,b,1,0,true,cut\n"
    )
    shots = TableColumns.stated(["shots"], [])
    logs = read_logs([table], columns=shots)
    assert [(run.run.model, run.run.axes["shots"].value) for run in logs.runs] == [
        ("a", "0"), ("a", "5"), ("b", "0"),
    ]  # fmt: skip
    assert states(logs, "score") == {"read": 2, "failed": 1, "cut": 1}
    import pyarrow.csv
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.csv.read_csv(table), tmp_path / "scores.parquet")
    assert scores(read_logs([tmp_path / "scores.parquet"], columns=shots)) == scores(logs)
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(table.read_bytes())[:-9])
    fails(tmp_path / "cut.csv.gz", "GC672", "not what gzip packs")
    (tmp_path / "large.csv.gz").write_bytes(gzip.compress(b"model,score\n" + b"," * (2**26 + 2)))
    fails(tmp_path / "large.csv.gz", "GC673", "more than")
    means = tmp_path / "means.csv"
    means.write_text("model,benchmark,score,n\na,b,0.7,100\nb,b,0.6,100\n")
    assert [run.columns for run in read_logs([means]).runs] == [{}, {}]
    report = tmp_path / "verified" / "agent" / "results" / "results.json"
    report.parent.mkdir(parents=True)
    report.write_text(json.dumps({"no_generation": ["x-3"], "resolved": ["x-1", "x-2"]}))
    run = read_logs([tmp_path / "verified"]).runs[0]
    assert (run.run.model, run.run.benchmark, run.run.unlisted) == ("agent", "verified", 0.0)
    assert run.columns["resolved"].score.tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("a,0.5,-1", "`n` is not a number of items: -1"), ("a,0.5,1_0", "not a whole number: 1_0"),
        ("a,1_0,10", "`score` is not a number: 1_0"),
    ],
)  # fmt: skip
def test_numbers_of_a_table_that_are_none(tmp_path: Path, row: str, says: str) -> None:
    path = tmp_path / "means.csv"
    path.write_text(f"model,score,n\nb,0.5,4\n{row}\n")
    fails(path, "GC672", says)
    with pytest.raises(FileError) as caught:
        read_logs([path])
    span = caught.value.diagnostics[0].span
    assert span is not None and span.line == 3


def test_a_log_counts_no_more_items_than_fit_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    for total in (10**9, 10**40):
        path.write_text(json.dumps({"resolved_ids": ["x-1"], "unresolved_ids": [], "total_instances": total}))
        fails(path, "GC673", "at most 2,000,000 are read")


def test_a_score_of_any_size_is_one_or_none(tmp_path: Path) -> None:
    """What sums of scores can hold counts; what they cannot is unscored, as infinity is."""
    path = tmp_path / "scores.csv"
    rows = ["a,1,1e99", "a,2,1e308", "a,3,-1e308", "a,4,inf", "a,5,0.5"]
    path.write_text("\n".join(["model,item,score", *rows]) + "\n")
    logs = read_logs([path])
    assert states(logs, "score") == {"read": 2, "unscored": 3}
    (run,) = logs.runs
    assert np.nansum(run.columns["score"].score) == 1e99


def test_a_package_that_counts_fewer_than_no_items(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    log = json.loads((LOGS / "inspect" / "warm1.json").read_text())
    log["results"]["scores"][0]["scored_samples"] = -1
    path.write_text(json.dumps(log))
    fails(path, "GC672", "a number of items is -1")


def test_every_eval_ever_rows(tmp_path: Path) -> None:
    rows = [
        {"schema_version": "0.3.0", "evaluation_id": "e", "model_id": "m", "evaluation_name": "b",
         "sample_id": str(n), "input": {"raw": f"q{n}", "reference": ["x"]}, "output": {"raw": "x"},
         "evaluation": {"score": n / 4, "is_correct": n == 4}}
        for n in range(5)
    ]  # fmt: skip
    (tmp_path / "u_samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    aggregate = {
        "schema_version": "0.3.0", "evaluation_id": "e", "model_info": {"id": "m", "name": "m"},
        "evaluation_results": [
            {"evaluation_name": "b", "metric_config": {"lower_is_better": True},
             "score_details": {"score": 0.5}}
        ],
    }  # fmt: skip
    (tmp_path / "u.json").write_text(json.dumps(aggregate))
    logs = read_logs([tmp_path])
    assert scores(logs) == {("m", "b", "score"): 0.5}
    assert logs.runs[0].run.lower == {"score"}
    (tmp_path / "u_samples.jsonl").unlink()
    assert read_logs([tmp_path]).runs[0].run.samples is None


def test_metrics_of_every_eval_ever_are_readings(tmp_path: Path) -> None:
    """As its converter of lm-eval's logs writes them: a row for each metric of each sample."""
    names = {"acc": "acc", "acc_norm": "acc_norm"}
    rows = [
        {"evaluation_id": "e", "model_id": "m", "evaluation_name": "b", "evaluation_result_id": metric,
         "sample_id": str(n), "input": {"raw": f"q{n}", "reference": ["x"]}, "output": {"raw": ["x"]},
         "evaluation": {"score": float(metric == "acc" or n > 2), "is_correct": False},
         **({"error": "timeout"} if n == 4 else {})}
        for n in range(5) for metric in names
    ]  # fmt: skip
    (tmp_path / "u_samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    results = [
        {"evaluation_name": "b", "evaluation_result_id": id, "score_details": {"score": value},
         "metric_config": {"metric_name": name, "lower_is_better": name == "acc_norm"}}
        for (id, name), value in zip(names.items(), (1.0, 0.25), strict=True)
    ]  # fmt: skip
    aggregate = {
        "schema_version": "0.3.0", "evaluation_id": "e", "model_info": {"id": "m", "name": "m"},
        "evaluation_results": results,
    }  # fmt: skip
    (tmp_path / "u.json").write_text(json.dumps(aggregate))
    logs = read_logs([tmp_path])
    assert scores(logs) == {("m", "b", "acc"): 1.0, ("m", "b", "acc_norm"): 0.25}
    (gathered,) = logs.runs
    assert gathered.run.lower == {"acc_norm"} and gathered.run.readings == ("acc", "acc_norm")
    failed = STATES.index("failed")
    assert [column.state.tolist().count(failed) for column in gathered.columns.values()] == [1, 1]
    (tmp_path / "u_samples.jsonl").unlink()
    (alone,) = read_logs([tmp_path]).runs
    assert {name: one.value for name, one in alone.run.printed.items()} == {"acc": 1.0, "acc_norm": 0.25}


def test_items_are_matched_by_content_and_copies_count_once(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("model,item,question,score\na,1,x,1\na,2,y,0\nb,1,y,1\nb,2,x,0\nb,3,x,1\n")
    items = read_logs([table]).items["t"]
    assert set(items.other) == {"1", "2"}, "the ids changed places"
    assert len(items.ids) == 3 and len(set(items.units)) == 2, "x is asked twice by b: two items, one unit"
    for name in ("a.eval", "b.eval"):
        shutil.copy(LOGS / "inspect" / "plain.eval", tmp_path / name)
    table.unlink()
    logs = read_logs([tmp_path])
    assert len(logs.runs) == 1 and "counts once" in logs.notes[0]


def fails(path: Path, code: str, says: str) -> None:
    with pytest.raises(FileError) as caught:
        read_logs([path])
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code, diagnostic
    assert says in diagnostic.message
    assert diagnostic.file is not None


def test_what_is_no_log_or_a_damaged_one(tmp_path: Path) -> None:
    fails(tmp_path, "GC671", "no log in this folder")
    other = tmp_path / "other.json"
    other.write_text("{}")
    fails(other, "GC671", "not a log")
    for text in ("[" * 100_000, '{"a": ' * 5_000 + "1" + "}" * 5_000, '{"results"'):
        other.write_text(text)
        fails(other, "GC672", "not JSON")
    cut = tmp_path / "cut.eval"
    cut.write_bytes((LOGS / "inspect" / "plain.eval").read_bytes()[:-200])
    fails(cut, "GC672", "zip")
    damaged = bytearray((LOGS / "inspect" / "plain.eval").read_bytes())
    damaged[5_000] ^= 0xFF
    cut.write_bytes(damaged)
    with pytest.raises(FileError):
        read_logs([cut])


def inspect_zip(path: Path, samples: dict[str, str], total: int | None = None) -> Path:
    header = {
        "version": 2, "status": "success", "plan": {}, "eval": {"model": "m", "task": "t", "task_version": 0},
        "results": {"total_samples": len(samples) if total is None else total,
                    "scores": [{"name": "s", "scorer": "s", "metrics": {}}]},
    }  # fmt: skip
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        for name, text in samples.items():
            archive.writestr(name, text)
    return path


SAMPLE = '{"id": %d, "epoch": 1, "input": "q%d", "target": "x", "scores": {"s": {"value": %s}}}'


def test_hostile_zip_files(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    good = {
        f"samples/{n}_epoch_1.json": SAMPLE % (n, n, value) for n, value in enumerate(("1", "NaN", '"C"'))
    }
    logs = one(inspect_zip(path, good))
    assert states(logs, "s") == {"read": 2, "unscored": 1}, "the literal NaN is a score that was not given"
    fails(inspect_zip(path, good, total=4), "GC674", "counts 4 samples")
    twice = {**good, "samples/9_epoch_1.json": SAMPLE % (1, 1, "1")}
    fails(inspect_zip(path, twice), "GC675", "occurs twice")
    bomb = {"samples/0_epoch_1.json": json.dumps({"id": 0, "input": " " * 300_000_000})}
    fails(inspect_zip(path, bomb), "GC673", "unpacks to more than")
    inspect_zip(path, {**good, "../../etc/passwd": "x", "samples/../../a.json": "x"}, total=3)
    assert states(one(path), "s") == {"read": 2, "unscored": 1}, "no entry is a path to anything"
    assert not (tmp_path.parent / "a.json").exists()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of every value within, the keys that lead there."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from places(one, (*path, key))


WRONG: tuple[Any, ...] = (None, True, -1, 1e308, math.nan, "", "x", "\0", [], [None], {}, {"": {}})
RUN = LOGS / "lm_eval" / "llama-zero"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (LOGS / "promptfoo" / "sums.json", "a.json"),
        (LOGS / "promptfoo" / "repeat.jsonl", "a.jsonl"),
        (LOGS / "inspect" / "epochs.json", "a.json"),
        (next(RUN.glob("results*")), "results_t.json"),
        (next(RUN.glob("samples_arith_mc_2*")), "samples_arith_mc_t.jsonl"),
    ],
)
def test_any_value_anywhere_is_read_or_refused_with_a_code(tmp_path: Path, source: Path, target: str) -> None:
    """Many places of a log hold in turn what they should not: nothing else ends the reading."""
    good = json.loads(source.read_text() if source.suffix == ".json" else source.read_text().splitlines()[0])
    for name in (*RUN.glob("results*"), *RUN.glob("samples_arith_mc_2*")) if "_t" in target else ():
        shutil.copy(name, tmp_path / f"{name.name.rpartition('_')[0]}_t{name.suffix}")
    random, refused = Random(1), 0
    for path in random.choices(list(places(good)), k=150):
        changed = deepcopy(good)
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = deepcopy(random.choice(WRONG))
        (tmp_path / target).write_text(json.dumps(changed))
        try:
            read_logs([tmp_path])
        except FileError as error:
            refused += 1
            assert all(len(one.message) < 1_000 for one in error.diagnostics)
    assert refused


def test_what_inspect_asked_again_after_an_error(tmp_path: Path) -> None:
    """The log of a retry has a sample twice, of which the last counts, and what the first attempt had."""
    failed = '{"id": 1, "epoch": 1, "input": "q1", "target": "x", "error": {"message": "none"}}'
    (tmp_path / "logs").mkdir()
    stated = {"model": "m", "task": "t", "task_id": "same"}
    for name, status, samples in (
        ("a", "error", [(0, SAMPLE % (0, 0, "1")), (1, failed)]),
        ("b", "success", [(0, SAMPLE % (0, 0, "1")), (1, failed), (1, SAMPLE % (1, 1, "0"))]),
    ):
        made = {**stated, "eval_id": name, "created": f"2026-01-01T0{len(samples)}:00:00"}
        header = {"version": 2, "status": status, "plan": {}, "results": {"total_samples": 2}, "eval": made}
        with zipfile.ZipFile(tmp_path / "logs" / f"{name}.eval", "w") as archive:
            archive.writestr("header.json", json.dumps(header))
            for number, text in samples:
                with warnings.catch_warnings(action="ignore"):
                    archive.writestr(f"samples/{number}_epoch_1.json", text)
    logs = one(tmp_path / "logs")
    assert logs.runs[0].run.id == "b" and logs.runs[0].run.asked_again == 1
    assert logs.runs[0].columns["s"].score.tolist() == [1.0, 0.0]
    assert "a.eval is an earlier attempt at" in logs.notes[0]
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(tmp_path / "c.eval", "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("header.json", "{}")
    fails(tmp_path / "c.eval", "GC672", "two entries of the zip file have the name header.json")


def test_counts_duplicates_links_and_long_lines(tmp_path: Path) -> None:
    shutil.copytree(LOGS / "lm_eval" / "llama-zero", tmp_path / "run")
    samples = next((tmp_path / "run").glob("samples_arith_mc_2*"))
    lines = samples.read_text().splitlines()
    samples.write_text("\n".join(lines[:-1]) + "\n")
    fails(tmp_path / "run", "GC674", "11 samples where the log counts 12")
    samples.write_text("\n".join([*lines[:-1], lines[0]]) + "\n")
    fails(tmp_path / "run", "GC675", "sample 0 (repetition 1) occurs twice")
    samples.write_text("\n".join(lines) + "\n" + "x" * (2**26 + 2))
    fails(tmp_path / "run", "GC673", "a line of more than")
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "a.eval").symlink_to(LOGS / "inspect" / "plain.eval")
    fails(linked, "GC671", "no log in this folder")
    table = tmp_path / "t.csv"
    table.write_text("model,item,score,note\n" + "".join(f"a,{n},1,n{n}\n" for n in range(200)))
    fails(table, "GC676", "`note` (several values within")
    table.write_text("model,item,score\na,1,0.5\na,1,0.6\n")
    fails(table, "GC675", "occurs twice")
    table.write_text("model,item,score\na,1\n")
    fails(table, "GC672", "2 fields where the header has 3")


def graded(folder: Path, letters: str, printed: float | None) -> Path:
    """A log of Inspect with these grades, and what its header says of them."""
    made = {"model": "m", "task": "t", "eval_id": "e"}
    samples = [
        {
            "id": n,
            "epoch": 1,
            "input": f"{n}?",
            "target": "x",
            "scores": {"model_graded_qa": {"value": letter}},
        }
        for n, letter in enumerate(letters)
    ]
    metrics = {} if printed is None else {"accuracy": {"value": printed}}
    results = {"total_samples": len(samples), "scores": [{"name": "model_graded_qa", "metrics": metrics}]}
    log = {
        "version": 2,
        "status": "success",
        "eval": made,
        "plan": {},
        "results": results,
        "samples": samples,
    }
    path = folder / "log.json"
    path.write_text(json.dumps(log))
    return path


def test_a_grade_of_another_letter_is_an_answer_worth_nothing(tmp_path: Path) -> None:
    """As Inspect's `value_to_float` has it: 3 C of 19."""
    logs = read_logs([graded(tmp_path, "CCC" + "ABDE" * 4, 3 / 19)])
    (column,) = logs.runs[0].columns.values()
    assert len(column.score) == 19
    assert float(column.score.mean()) == pytest.approx(3 / 19)


def test_inspect_may_score_what_failed(tmp_path: Path) -> None:
    """With `score_on_error` it prints 17 of 60 where 20 of these failed: no contradiction of the 17 of 40."""
    path = graded(tmp_path, "C" * 17 + "I" * 43, 17 / 60)
    log = json.loads(path.read_text())
    for sample in log["samples"][40:]:
        sample["error"] = {"message": "down"}
    path.write_text(json.dumps(log))
    fails(tmp_path, "GC674", "prints 0.283, and its 40 samples")
    log["eval"]["config"] = {"score_on_error": True}
    path.write_text(json.dumps(log))
    assert states(one(tmp_path), "model_graded_qa") == {"read": 40, "failed": 20}


ENDINGS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "endings" / "endings.jsonl").read_text().splitlines()
]
"""What a provider may say of the end of an answer, and how it ended."""


def test_the_logs_of_every_package_are_read_by_the_same_reasons(tmp_path: Path) -> None:
    """Ten reasons in logs that Inspect and promptfoo wrote. Nobody knows whether an answer with a reason that
    no provider publishes is whole, and one that failed has no score, whatever the package gave it."""
    logged = {"complete": "read", "cut": "cut", "refused": "refused", "failed": "failed"}
    rows = [row for row in ENDINGS if row["error"] is None]
    expected = Counter(logged.get(row["state"], "failed") for row in rows)
    of_inspect = json.loads((LOGS / "inspect" / "two.json").read_text())
    of_promptfoo = json.loads((LOGS / "promptfoo" / "sums.json").read_text())
    results = [
        row
        for row in of_promptfoo["results"]["results"]
        if row["failureReason"] != 2 and row["response"].get("finishReason") == "stop"
    ]
    samples = [row for row in of_inspect["samples"] if row["scores"]["pattern"].get("answer")]
    for row, sample, result in zip(rows, samples, results, strict=False):
        sample["output"]["choices"][0]["stop_reason"] = row["finish_reason"]
        result["response"]["finishReason"] = row["finish_reason"]
    for name, document, original in (
        ("inspect", of_inspect, LOGS / "inspect" / "two.json"),
        ("promptfoo", of_promptfoo, LOGS / "promptfoo" / "sums.json"),
    ):
        path = tmp_path / name / "log.json"
        path.parent.mkdir()
        path.write_text(json.dumps(document))
        before, logs = read_logs([original]), read_logs([path])
        reading = logs.runs[0].run.readings[0]
        assert states(logs, reading) == states(before, reading) - Counter(read=len(rows)) + expected, name
        for column in [run.columns[reading] for run in logs.runs]:
            failed = column.state == STATES.index("failed")
            assert np.isnan(column.score[failed]).all()
            assert not np.isnan(column.score[~failed]).any()


def test_a_header_that_its_samples_contradict_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        FileError, match=r"prints 0\.950, and its 60 samples with a score give 0\.283"
    ) as caught:
        read_logs([graded(tmp_path, "C" * 17 + "I" * 43, 0.95)])
    assert caught.value.diagnostics[0].code == "GC674"
