"""Published answers, written in the form of their packages, score what was published of them.

To the last printed digit: AlpacaEval's win rates, tau-bench's pass^k, the accuracies and bias scores of BBQ.
"""

import csv
import gzip
import json
import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from gridc.compiler.inputs.logs import read_logs
from gridc.compiler.inputs.logs.gathering import GatheredRun
from gridc.reports.findings.scores import standard_error
from gridc.schema.scores import UNIT
from tests.compiler.leaderboards import lines, written

REAL = os.environ.get("GRIDC_REAL")
pytestmark = pytest.mark.skipif(not REAL, reason="GRIDC_REAL does not say where real answers lie")
FOLDER = Path(REAL or "")


def score(run: GatheredRun, reading: str) -> float:
    """The mean of what has a score."""
    return float(np.nanmean(run.columns[reading].score))


def test_alpaca_eval_has_its_published_win_rates(tmp_path: Path) -> None:
    rows = defaultdict(list)
    with gzip.open(FOLDER / "alpaca_eval_2_annotations.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            rows[row["model"]].append(
                {"instruction": row["item"], "generator_1": "gpt4_turbo", "generator_2": row["model"],
                 "dataset": row["dataset"], "annotator": "judge", "preference": 1 + float(row["score"])}
            )  # fmt: skip
    for number, several in enumerate(rows.values()):
        written(tmp_path / f"{number}" / "annotations.json", several)
    with (FOLDER / "alpaca_eval_2_leaderboard.csv").open() as file:
        published = {row[""]: row for row in csv.DictReader(file)}
    logs = read_logs([tmp_path])
    assert len(logs.runs) == len(rows) > 50
    known = [run for run in logs.runs if run.run.model in published]
    assert len(known) >= 57
    for run in known:
        row = published[run.run.model]
        for reading in ("win_rate", "discrete_win_rate"):
            assert 100 * score(run, reading) == pytest.approx(float(row[reading]), abs=1e-7), run.run.model
        points = np.round(run.columns["win_rate"].score * UNIT).astype(np.int64)
        error = 100 * (standard_error(points, UNIT, np.arange(len(points))) or 0.0)
        assert error == pytest.approx(float(row["standard_error"]), abs=1e-4), run.run.model


def test_tau_bench_has_its_published_pass_rates(tmp_path: Path) -> None:
    with (FOLDER / "tau_bench_airline.csv").open() as file:
        rows = [
            {"task_id": int(row["item"]), "trial": int(row["replicate"]), "reward": float(row["score"]),
             "info": {"task": {}}, "traj": []}
            for row in csv.DictReader(file)
        ]  # fmt: skip
    (run,) = read_logs([written(tmp_path / "gpt-4o-airline.json", rows)]).runs
    assert score(run, "pass^1") == pytest.approx(0.42)
    assert [round(run.run.printed[f"pass^{k}"].value or 0, 3) for k in (1, 2, 3, 4)] == [
        0.420, 0.273, 0.220, 0.200,
    ]  # fmt: skip


PUBLISHED = {
    ("Age, ambig", "arc"): (33.9, 48.9), ("Age, ambig", "race"): (54.7, 29.8),
    ("Age, ambig", "qonly"): (30.3, 51.4), ("Age, disambig", "arc"): (89.6, 3.3),
    ("Age, disambig", "race"): (93.5, 1.2), ("Religion, ambig", "arc"): (43.8, 24.5),
    ("Religion, ambig", "race"): (65.0, 14.3), ("Religion, ambig", "qonly"): (58.0, 21.3),
    ("Religion, disambig", "arc"): (85.2, 3.5), ("Religion, disambig", "race"): (88.0, 0.2),
}  # fmt: skip
"""Of UnifiedQA: accuracy and bias score, in percent (Parrish et al. 2022, figures 3, 5 and 6)."""


def test_bbq_has_the_accuracies_and_bias_scores_of_its_paper(tmp_path: Path) -> None:
    with gzip.open(FOLDER / "bbq_unifiedqa_predictions.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    # The texts are not kept: an id stands for what is asked.
    asked = [row | {"context": f"context {row['example_id']}", "question": "which"} for row in rows]
    runs = read_logs([lines(tmp_path / "preds.jsonl", asked)]).runs
    found = {
        (run.run.benchmark.removeprefix("BBQ "), run.run.axes["format"].value): (
            round(100 * score(run, "accuracy"), 1), round(100 * score(run, "bias"), 1),
        )
        for run in runs
    }  # fmt: skip
    assert found == PUBLISHED
