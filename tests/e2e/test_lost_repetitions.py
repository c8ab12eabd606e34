"""Repetitions that left no row: a candidate whose wrong answers are lost must not pass for it."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridc
from gridc.statistics.arrays import Whole

ITEMS, TIMES, MARGIN = 120, 3, 10.0
Lost = Callable[[Whole, np.random.Generator], Whole]
"""Which answers are there, (items, times), of those that were given."""


def wrong_ones(right: Whole, dice: np.random.Generator) -> Whole:
    """Most wrong answers are gone, and each item keeps at least one of its answers."""
    there = (right > 0) | (dice.random(right.shape) < 0.15)
    there[~there.any(axis=1), 0] = True
    return there.astype(np.int64)


def stopped(right: Whole, dice: np.random.Generator) -> Whole:
    """The run ended in its second round, and those that were under way ended first where they were wrong."""
    there = np.zeros_like(right)
    there[:, 0] = 1
    there[:, 1] = (right[:, 1] > 0) | (dice.random(len(right)) < 0.2)
    return there


def as_table(path: Path, right: Whole, there: Whole) -> Path:
    with (path := path.with_suffix(".csv")).open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "model", "replicate", "score", "question"])
        for item, time in np.argwhere(there > 0):
            table.writerow([f"q{item}", "m", time, right[item, time], f"What is {item}?"])
    return path


def as_inspect(path: Path, right: Whole, there: Whole) -> Path:
    """As it is written after an error, or in full."""
    whole = bool(there.all())
    ids = list(range(len(right)))
    log: dict[str, Any] = {
        "version": 2, "status": "success" if whole else "error", "plan": {},
        "results": {"total_samples": int(there.sum()), "scores": [{"name": "s"}]} if whole else None,
        "eval": {"model": "m", "task": "t", "created": "2026-01-01T00:00:00+00:00",
                 "scorers": [{"name": "s"}], "dataset": {"sample_ids": ids},
                 "config": {"epochs": right.shape[1]}},
        "samples": [
            {"id": int(item), "epoch": int(time) + 1, "input": f"What is {item}?", "target": "x",
             "output": {"completion": "so", "choices": [{"stop_reason": "stop"}]},
             "scores": {"s": {"value": "C" if right[item, time] else "I", "answer": "so"}}}
            for item, time in np.argwhere(there > 0)
        ],
    }  # fmt: skip
    path = path.with_suffix(".json")
    path.write_text(json.dumps(log))
    return path


FORMATS = {"table": as_table, "inspect": as_inspect}
LOSSES: dict[str, Lost] = {"wrong": wrong_ones, "stopped": stopped}


def verdict(
    folder: Path, seed: int, write: Callable[[Path, Whole, Whole], Path], lose: Lost, down: float
) -> Any:
    """A base, and a candidate that is `down` points worse and of which answers are lost."""
    dice = np.random.default_rng(seed)
    hard = dice.random((ITEMS, 1))
    base = (dice.random((ITEMS, TIMES)) + 0.4 * (hard - 0.5) < 0.7).astype(np.int64)
    worse = (dice.random((ITEMS, TIMES)) + 0.4 * (hard - 0.5) < 0.7 - down / 100).astype(np.int64)
    there = lose(worse, dice)
    one = write(folder / "base", base, np.ones_like(base))
    other = write(folder / "candidate", worse, there)
    return gridc.compare(one, other, margin=MARGIN), worse, there


@pytest.mark.parametrize("form", FORMATS)
def test_a_candidate_that_lost_its_wrong_repetitions_is_no_go(tmp_path: Path, form: str) -> None:
    """Its score counts each as wrong, and its bounds hold the truth."""
    found, right, there = verdict(tmp_path, 3, FORMATS[form], wrong_ones, 22.0)
    (row,) = found.comparison.benchmarks
    low, high = row.score.b_bounds
    assert row.states_b.absent == TIMES * ITEMS - there.sum()
    assert round(low, 6) == round(100 * float((right * there).sum(axis=1).mean() / TIMES), 6)
    assert low - 1e-6 <= 100 * float(right.mean()) <= high + 1e-6
    assert found.verdict != "GO"


def test_a_log_that_says_how_often_it_asked_lacks_whole_rounds(tmp_path: Path) -> None:
    """Of three rounds one is there, in full; a table cannot know of the others."""
    once: Lost = lambda right, _: np.array([[1, 0, 0]] * len(right))  # noqa: E731
    (row,) = verdict(tmp_path, 4, as_inspect, once, 0.0)[0].comparison.benchmarks
    assert row.states_b.absent == 2 * ITEMS
    (row,) = verdict(tmp_path, 4, as_table, once, 0.0)[0].comparison.benchmarks
    assert row.states_b.absent == 0


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", FORMATS)
def test_at_the_margin_lost_repetitions_decide_falsely_in_one_of_twenty(
    tmp_path: Path, form: str, loss: str
) -> None:
    drawn = [verdict(tmp_path, seed, FORMATS[form], LOSSES[loss], MARGIN)[0] for seed in range(30)]
    assert sum(found.verdict == "GO" for found in drawn) <= 4  # .05 of 30, and the simulation's error


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_whole_runs_are_decided_as_before(tmp_path: Path, form: str) -> None:
    """Nothing lost and nothing worse: a good build passes most of the time."""
    every: Lost = lambda right, _: np.ones_like(right)  # noqa: E731
    drawn = [verdict(tmp_path, seed, FORMATS[form], every, -6.0)[0] for seed in range(20)]
    assert sum(found.verdict == "GO" for found in drawn) >= 15
