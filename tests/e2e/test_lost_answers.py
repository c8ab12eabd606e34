"""A trial of the gate on logs in which answers are lost: each format, each kind of loss, the truth known.

The candidate is worse by exactly the margin, so that GO and NO-GO are both false. Its printed score is that
of a recount in which every answer that was asked for and is not there is wrong.
"""

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import gridc
from gridc.diagnostics.errors import FileError
from gridc.reports.comparison.words import benchmark_notes
from gridc.statistics.arrays import Whole

ITEMS, TIMES, MARGIN, PAIRS = 120, 3, 10.0, 30
States = NDArray[np.str_]


@dataclass(frozen=True)
class Answers:
    """One run of one task: what each answer is worth and how it ended, (items, times); when it began, and
    whether it came to its end."""

    right: Whole
    ended: States
    day: int = 1
    whole: bool = True

    @property
    def there(self) -> Iterator[tuple[int, int, int, str]]:
        for item, time in np.argwhere(self.ended != "absent"):
            yield int(item), int(time), int(self.right[item, time]), str(self.ended[item, time])

    @property
    def score(self) -> float:
        """In percent, what is not there or failed being wrong."""
        counted = np.isin(self.ended, ("read", "cut"))
        return 100 * float((self.right * counted).mean())


Log = Callable[[Path, str, Answers], None]
"""Writes a run of a task into a folder."""


def table(folder: Path, task: str, run: Answers) -> None:
    with (folder / f"{task}-{run.day}.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["benchmark", "id", "model", "replicate", "score", "state", "question"])
        for item, time, right, ended in run.there:
            score = "" if ended == "failed" else right
            rows.writerow([task, f"{item}", "m", time, score, ended, f"What is {item}?"])


def inspect(folder: Path, task: str, run: Answers) -> None:
    reasons = {"cut": "max_tokens", "read": "stop", "failed": "stop"}
    samples = [
        {"id": item, "epoch": time + 1, "input": f"{task}: what is {item}?", "target": "x",
         "output": {"completion": "so", "choices": [{"stop_reason": reasons[ended]}]},
         **({"error": {"message": "broken"}} if ended == "failed" else
            {"scores": {"s": {"value": "C" if right else "I", "answer": "so"}}})}
        for item, time, right, ended in run.there
    ]  # fmt: skip
    log = {
        "version": 2, "status": "success" if run.whole else "error", "plan": {}, "samples": samples,
        "results": {"total_samples": len(samples), "scores": [{"name": "s"}]} if run.whole else None,
        "eval": {"model": "m", "task": task, "created": f"2026-01-{run.day:02}T00:00:00+00:00",
                 "eval_id": f"{task}{run.day}", "scorers": [{"name": "s"}],
                 "dataset": {"sample_ids": list(range(len(run.right)))},
                 "config": {"epochs": run.right.shape[1]}},
    }  # fmt: skip
    (folder / f"{task}-{run.day}.json").write_text(json.dumps(log))


def lm_eval(folder: Path, task: str, run: Answers, text: bool = False) -> None:
    rows = list(run.there)
    when = f"2026-01-{run.day:02}T00-00-00"
    mean = sum(right for _, _, right, ended in rows if ended != "failed") / max(
        sum(ended != "failed" for *_, ended in rows), 1
    )
    document = {
        "results": {task: {"alias": task, "exact_match,none": mean}},
        "configs": {task: {"task": task, "output_type": "generate_until", "repeats": 1,
                           "metric_list": [{"metric": "exact_match", "higher_is_better": True}]}},
        "n-shot": {task: 0}, "higher_is_better": {task: {"exact_match": True}},
        "n-samples": {task: {"original": len(run.right), "effective": len(rows)}},
        "config": {"model": "hf", "model_args": "pretrained=m"}, "model_name": "m",
        "lm_eval_version": "0.4.13", "date": 1_700_000_000.0 + run.day,
    }  # fmt: skip
    (folder / f"results_{when}.json").write_text(json.dumps(document))
    lines = [
        {"doc_id": item, "doc": {"question": f"{task} {item}?"}, "target": "7", "filter": "none",
         "arguments": {"gen_args_0": {"arg_0": f"{item}?"}}, "resps": [["7"]], "filtered_resps": ["7"],
         "metrics": ["exact_match"], "doc_hash": f"d{item}",
         "exact_match": None if ended == "failed" else str(float(right)) if text else float(right)}
        for item, _, right, ended in rows
    ]  # fmt: skip
    (folder / f"samples_{task}_{when}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def lm_eval_text(folder: Path, task: str, run: Answers) -> None:
    lm_eval(folder, task, run, text=True)


FORMATS: dict[str, tuple[Log, int]] = {
    "table": (table, TIMES),
    "inspect": (inspect, TIMES),
    "lm_eval": (lm_eval, 1),
}


def lost(run: Answers, where: NDArray[np.bool_], how: str = "absent") -> Answers:
    return replace(run, ended=np.where(where, how, run.ended), whole=run.whole and how != "absent")


def random_items(run: Answers, dice: np.random.Generator) -> Answers:
    return lost(run, dice.random((len(run.right), 1)) < 0.1 * np.ones_like(run.right))


def wrong_items(run: Answers, dice: np.random.Generator) -> Answers:
    hard = run.right.sum(axis=1, keepdims=True) == 0
    return lost(run, (hard & (dice.random(hard.shape) < 0.6)) & np.ones_like(run.right, np.bool_))


def wrong_repetitions(run: Answers, dice: np.random.Generator) -> Answers:
    gone = (run.right == 0) & (dice.random(run.right.shape) < 0.6)
    gone[gone.all(axis=1), 0] = False
    return lost(run, gone)


def wrong_fail(run: Answers, dice: np.random.Generator) -> Answers:
    return lost(run, (run.right == 0) & (dice.random(run.right.shape) < 0.5), "failed")


def wrong_cut(run: Answers, dice: np.random.Generator) -> Answers:
    return lost(run, (run.right == 0) & (dice.random(run.right.shape) < 0.5), "cut")


LOSSES: dict[str, Callable[[Answers, np.random.Generator], Answers]] = {
    "nothing": lambda run, _: run,
    "items at random": random_items,
    "wrong items": wrong_items,
    "wrong repetitions": wrong_repetitions,
    "wrong fail": wrong_fail,
    "wrong are cut": wrong_cut,
}
FOLDERS = ("copied", "an older run", "a stopped run", "a task more", "a task less", "scores as texts")
"""What else lies in the candidate's folder, of which no answer is lost."""
KINDS = (*LOSSES, *FOLDERS)


def drawn(dice: np.random.Generator, times: int, rate: float) -> Whole:
    return (dice.random((ITEMS, times)) + 0.4 * (dice.random((ITEMS, 1)) - 0.5) < rate).astype(np.int64)


def read(right: Whole, day: int = 1) -> Answers:
    return Answers(right, np.full(right.shape, "read"), day)


def decided(folder: Path, seed: int, form: str, kind: str) -> tuple[Any, Answers]:
    """The comparison of a pair, and what the candidate answered."""
    dice, (write, times) = np.random.default_rng(seed), FORMATS[form]
    base, candidate = read(drawn(dice, times, 0.75)), read(drawn(dice, times, 0.75 - MARGIN / 100), 20)
    if kind in LOSSES:
        candidate = LOSSES[kind](candidate, dice)
    for name in ("base", "candidate"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir()
    write(folder / "base", "sums", base)
    if kind == "scores as texts" and form == "lm_eval":
        lm_eval_text(folder / "candidate", "sums", candidate)
    else:
        write(folder / "candidate", "sums", candidate)
    if kind == "copied":
        (folder / "candidate" / "again").mkdir()
        write(folder / "candidate" / "again", "sums", candidate)
    older = read(drawn(dice, times, 0.95), 3)
    if kind == "an older run":
        write(folder / "candidate", "sums", older)
    if kind == "a stopped run":  # it began last, and all of the little that it has is right
        begun = replace(read(np.ones_like(older.right), 25), whole=False)
        write(folder / "candidate", "sums", lost(begun, np.arange(ITEMS)[:, None] >= np.full((1, times), 15)))
    if kind == "a task more":
        write(folder / "candidate", "dates", read(drawn(dice, times, 0.75), 21))
    if kind == "a task less":
        write(folder / "base", "dates", read(drawn(dice, times, 0.75), 2))
    named = [newest(folder / "candidate")] if form == "table" and kind in RERUN else []
    return gridc.compare(folder / "base", folder / "candidate", margin=MARGIN, counting=named), candidate


RERUN = ("an older run", "a stopped run")


def newest(folder: Path) -> str:
    """A table does not say when it was made: its author does."""
    return next(path.name for path in folder.iterdir() if path.name.endswith("-20.csv"))


def check(found: Any, candidate: Answers, kind: str) -> None:
    rows = {row.benchmark: row for row in found.comparison.benchmarks}
    row = rows["sums"]
    assert round(row.score.b, 6) == round(candidate.score, 6), kind
    missing = int((~np.isin(candidate.ended, ("read", "cut"))).sum())
    if missing:
        assert row.states_b.missing > 0
        assert any("without a score" in note for note in benchmark_notes(row)), kind
    if kind in RERUN:
        assert any("is left out" in one for one in found.comparison.warnings), kind
    if kind == "a task less":
        assert [gate.name for gate in found.comparison.absent] == ["dates"]
    assert found.verdict != "NOT COMPARABLE", found.comparison.reasons


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMATS)
def test_a_score_is_that_of_a_recount(tmp_path: Path, form: str, kind: str) -> None:
    check(*decided(tmp_path, 5, form, kind), kind)


def without_names(document: Any) -> Any:
    """A comparison without what a file that keeps a run cannot have: where the run was, and its texts."""
    text = json.dumps(document).replace("kept/", "")
    plain = json.loads(text)
    for run in (*plain["a"], plain["b"]):
        del run["kept"]
    for row in plain["benchmarks"]:
        del row["flips"]
    return plain


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMATS)
def test_a_kept_run_is_compared_as_the_run_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    direct, _ = decided(Path(), 5, form, kind)
    Path("kept").mkdir()
    named = [newest(Path("candidate"))] if form == "table" and kind in RERUN else []
    for run, counting in (("base", []), ("candidate", named)):
        gridc.baseline(run, f"kept/{run}", counting=counting)
        shutil.rmtree(run)
    kept = gridc.compare("kept/base", "kept/candidate", margin=MARGIN)
    assert without_names(kept.as_json()) == without_names(direct.as_json())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMATS)
def test_at_the_margin_one_in_twenty_is_decided_falsely(tmp_path: Path, form: str, kind: str) -> None:
    verdicts = []
    for seed in range(PAIRS):
        found, candidate = decided(tmp_path, 100 + seed, form, kind)
        check(found, candidate, kind)
        verdicts.append(found.verdict)
    print(form, kind, {verdict: verdicts.count(verdict) for verdict in set(verdicts)})
    # .05 of 30, and the simulation's error over so many kinds.
    assert verdicts.count("GO") <= 6 and verdicts.count("NO-GO") <= 6


def test_two_tables_of_one_thing_are_refused_until_one_is_named(tmp_path: Path) -> None:
    for run in (read(np.ones((ITEMS, 1), np.int64)), read(np.zeros((ITEMS, 1), np.int64), 2)):
        table(tmp_path, "sums", run)
    with pytest.raises(FileError, match="GC678"):
        gridc.certify(tmp_path)
    (row,) = gridc.certify(tmp_path, counting=["sums-2.csv"]).certificate.benchmarks
    assert row.scores[0].score == 0
