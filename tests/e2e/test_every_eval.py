"""A study exported as Every Eval Ever 0.3: its files are what the format's own schemas ask for, and the
reader of logs finds in them what the study has."""

import hashlib
import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

import gridc
from gridc.diagnostics.errors import UsageError
from gridc.study.recorded import LogBenchmarkRow
from tests.e2e.conftest import make_study

SCHEMAS = Path(__file__).resolve().parents[1] / "every_eval_ever"
"""As every-eval-ever 0.3.0 ships them, with its licence."""


def schema(name: str) -> Draft7Validator:
    return Draft7Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8")))


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def states(row: LogBenchmarkRow) -> Counter[str]:
    counted: Counter[str] = Counter()
    for score in row.scores:
        counted.update({name: count for name, count in score.states.model_dump().items() if count})
    return counted


def test_the_files_are_what_the_schemas_ask_for(finished: Path, tmp_path: Path) -> None:
    made = gridc.open(finished / "gridcard.toml").export("every-eval-ever", tmp_path / "eee")
    aggregate, instance = schema("eval"), schema("instance_level_eval")
    documents = sorted((made / "data").rglob("*.json"))
    assert len(documents) == 24, "two models in twelve configurations"
    results = {}
    for path in documents:
        document = json.loads(path.read_text("utf-8"))
        assert not list(aggregate.iter_errors(document))
        detailed = document["detailed_evaluation_results"]
        samples = made / detailed["file_path"]
        assert hashlib.sha256(samples.read_bytes()).hexdigest() == detailed["checksum"]
        rows = rows_of(samples)
        assert len(rows) == detailed["total_rows"]
        for row in rows:
            assert not list(instance.iter_errors(row))
            assert row["evaluation_id"] == document["evaluation_id"]
        for result in document["evaluation_results"]:
            own = [row for row in rows if row["evaluation_result_id"] == result["evaluation_result_id"]]
            mean = sum(row["evaluation"]["score"] for row in own) / len(own)
            assert mean == pytest.approx(result["score_details"]["score"])
            assert result["score_details"]["uncertainty"]["num_samples"] == len(own)
            results[result["evaluation_result_id"]] = mean
    with sqlite3.connect(finished / "results" / "small" / "store.sqlite") as db:
        stored = dict(
            db.execute("SELECT key, avg(score) FROM cell JOIN sample ON cell = cell.id GROUP BY cell.id")
        )
    assert results == pytest.approx(stored)
    with pytest.raises(UsageError, match="exists already"):
        gridc.open(finished / "gridcard.toml").export("every-eval-ever", tmp_path / "eee")


def test_what_is_read_back_is_what_the_study_has(study: Path, tmp_path: Path) -> None:
    """Two samples of one cell failed, and one was never asked. The pairs that lost no item are those of the
    study's certificate."""
    before = gridc.open(study / "gridcard.toml").certify().certificate
    whole = gridc.certify(gridc.open(study / "gridcard.toml").export("every-eval-ever", tmp_path / "whole"))
    (row,) = whole.certificate.benchmarks
    (pair,) = row.pairs
    (own,) = before.benchmarks[0].scopes[0].pairs
    counts = {pair.a: pair.a_better, pair.b: pair.b_better}
    assert counts == {f"path/{own.a}": own.plus, f"path/{own.b}": own.minus}
    assert (pair.configurations, pair.equal) == (own.size, own.ties)
    assert (row.items, row.units, row.warnings) == (8, 2, ())
    assert whole.certificate.unknown == ()
    with sqlite3.connect(study / "results" / "small" / "store.sqlite") as db:
        where = "WHERE replicate = 0 AND cell = (SELECT min(id) FROM cell) AND item IN"
        some = "(SELECT item FROM sample WHERE cell = (SELECT min(id) FROM cell) ORDER BY item LIMIT {})"
        failed = """UPDATE sample SET score = 0, choice = NULL, evidence = '{"unread": "no answer: x"}' """
        db.execute(failed + where + some.format("2"))
        db.execute("UPDATE sample SET score = NULL, choice = NULL " + where + some.format("1 OFFSET 2"))
        unreadable = "SELECT count(*) - 2 FROM sample WHERE choice IS NULL AND score IS NOT NULL"
        (unread,) = db.execute(unreadable).fetchone()
        (samples,) = db.execute("SELECT count(*) FROM sample").fetchone()
    (row,) = gridc.certify(
        gridc.open(study / "gridcard.toml").export("every-eval-ever", tmp_path / "part")
    ).certificate.benchmarks
    assert unread > 0
    # What has no score yet is not in the files, so that it is absent of one model.
    assert states(row) == {"failed": 2, "unreadable": unread, "read": samples - 3 - unread, "absent": 1}
    assert {score.items for score in row.scores} == {8}, "what is missing is wrong"
    assert max(high - low for low, high in filter(None, (score.bounds for score in row.scores))) == 3 / 8


ORDERS = """\
[[axis]]
id = "order"
[[axis.level]]
id = "file"
tier = "core"
option_order = "file"
provenance = "a test"
[[axis.level]]
id = "shuffled"
tier = "core"
option_order = "shuffled:7"
provenance = "a test"

[[exclude]]
when = { few_shot = "3" }
why = "fewer calls"
[[exclude]]
when = { template = "T4" }
why = "fewer calls"
[[exclude]]
"""


def test_items_are_the_same_in_every_order_of_their_options(tmp_path: Path) -> None:
    spec = make_study(tmp_path, items=4)
    spec.write_text(spec.read_text("utf-8").replace("[[exclude]]\n", ORDERS, 1), "utf-8")
    study = gridc.open(spec)
    study.run()
    made = study.export("every-eval-ever", tmp_path / "eee")
    (row,) = gridc.certify(made).certificate.benchmarks
    assert (row.items, len(row.configurations), row.warnings) == (4, 6, ())
    for path in made.rglob("*.jsonl"):
        for line in rows_of(path):
            if "scoring=logprob" in line["evaluation_result_id"]:
                right = line["output"]["raw"] == line["input"]["reference"]
                assert right == line["evaluation"]["is_correct"], "the chosen text is that of the order shown"


def test_repetitions_of_others_have_no_number(tmp_path: Path) -> None:
    """Only names of gridc's own are read from a row's free details."""
    row = {
        "schema_version": "0.3.0", "evaluation_id": "e", "model_id": "m", "evaluation_name": "b",
        "sample_id": "1", "input": {"raw": "q", "reference": ["x"]}, "output": {"raw": ["x"]},
        "evaluation": {"score": 1.0, "is_correct": True}, "metadata": {"state": "failed", "replicate": "x"},
    }  # fmt: skip
    path = tmp_path / "u_samples.jsonl"
    path.write_text(json.dumps(row) + "\n")
    (read,) = gridc.certify(tmp_path).certificate.benchmarks
    assert states(read) == {"read": 1}
    for name, value in (("gridc_state", "lost"), ("gridc_replicate", "x")):
        path.write_text(json.dumps({**row, "metadata": {name: value}}) + "\n")
        with pytest.raises(gridc.GridcError, match="not a"):
            gridc.certify(tmp_path)
