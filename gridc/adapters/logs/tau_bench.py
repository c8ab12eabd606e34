"""Trajectories of tau-bench: an array of rows with `task_id`, `trial`, `reward`, `info` and `traj`, as its
`run.py` writes it and as `historical_trajectories/MODEL-ENV.json` has it.

A trial succeeds where its reward is 1. pass^k is the chance that k trials of a task all succeed.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import comb, isfinite
from pathlib import Path
from typing import Any, NamedTuple

from gridc.compiler.inputs.logs.files import LogFile
from gridc.compiler.inputs.logs.records import LogAnswer, LogAxis, LogRun, PrintedScore, log_axis, log_reader

PACKAGE = "tau-bench"
NAMES: tuple[str, ...] = ()
ROW = frozenset(("task_id", "reward", "info", "traj", "trial"))
SHAPES: tuple[frozenset[str], ...] = (ROW,)
log_reader(__name__, 93)
PASS = "pass^1"
SUCCESS = 1 - 1e-6
MOST_TRIALS = 64
"""Trials up to which every pass^k is computed."""
KEPT = re.compile(r"(?P<model>.+)-(?P<env>airline|retail)")
RUN = re.compile(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-(?P<temperature>[\d.]+)"
    r"_range_(?P<range>-?\d+--?\d+)_user-(?P<user>.+)_(?P<begun>\d{10})"
)
"""How `run.py` names its results."""
POLICY = re.compile(r"# (\w+) agent policy", re.IGNORECASE)
"""Of an environment, at the beginning of a trajectory."""
UNKNOWN = (
    "whether a task was revised: items match by `task_id`",
    "decoding, the user's model and the strategy, except in the name of the file",
    "cut off trajectories",
    "versions",
)


def claims(file: LogFile) -> bool:
    return file.suffix == ".json" and file.keys >= ROW and isinstance(file.document, list)


def belongs(file: LogFile) -> bool:
    return False


class _TaskTrial(NamedTuple):
    task: str
    trial: int
    success: bool
    failed: bool
    asked: str | None
    answer: str | None


def runs(file: LogFile) -> Iterator[LogRun]:
    """One run, of which the trials are repetitions."""
    trials = list(file.read_rows(PACKAGE, _trial))
    times = len({one.trial for one in trials})
    model, environment, axes, begun = _named(file)
    benchmark = f"{PACKAGE} {environment}" if environment else PACKAGE
    yield LogRun(
        path=file.path,
        package=PACKAGE,
        version="",
        digest=file.digest,
        model=model,
        benchmark=benchmark,
        axes={"task": log_axis("prompt", benchmark), **axes},
        readings=(PASS,),
        samples=partial(_answers, file.path),
        printed=dict(_printed(trials, times)),
        begun=begun,
        repetitions=times,
        unknown=UNKNOWN,
    )


def _trial(row: Mapping[str, Any]) -> _TaskTrial:
    reward, info, trajectory, trial = row["reward"], row["info"], row["traj"], row["trial"]
    if isinstance(reward, bool) or not isinstance(reward, int | float) or not isfinite(reward):
        raise TypeError(f"a reward of {str(reward)[:40]}")
    if not isinstance(trial, int) or not 0 <= trial < 2**31:
        raise TypeError(f"trial {str(trial)[:40]}")
    said = [one.get("content") for one in trajectory if one.get("role") == "assistant"]
    task = info.get("task") or {}
    return _TaskTrial(
        str(row["task_id"]),
        trial,
        SUCCESS <= reward <= 2 - SUCCESS,
        "error" in info,
        _text(task.get("instruction")),
        next((text for text in reversed(said) if _text(text)), None),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _named(file: LogFile) -> tuple[str, str, dict[str, LogAxis], str]:
    """Model, environment, what the name says of how it was asked, and when it began."""
    found = KEPT.fullmatch(file.stem)
    if found is not None:
        return found["model"], found["env"], {}, ""
    first = next((row["traj"][0] for row in file.document if row["traj"]), {"content": None})
    policy = POLICY.match(_text(first.get("content")) or "")
    environment = policy[1].lower() if policy is not None else ""
    found = RUN.fullmatch(file.stem)
    if found is None:
        return file.stem, environment, {}, ""
    axes = {
        "strategy": log_axis("request", found["strategy"]),
        "temperature": log_axis("request", found["temperature"]),
        "user": log_axis("prompt", found["user"]),
    }
    return found["model"], environment, axes, found["begun"]


def _answers(path: Path) -> Iterator[LogAnswer]:
    for one in LogFile(path).read_rows(PACKAGE, _trial):
        yield LogAnswer(
            id=one.task,
            content=None,
            epoch=one.trial,
            scores={PASS: None if one.failed else float(one.success)},
            state="failed" if one.failed else "read",
            prompt=one.asked,
            answer=one.answer,
        )


def _printed(trials: Sequence[_TaskTrial], times: int) -> Iterator[tuple[str, PrintedScore]]:
    """As `run.py` prints it at the end of a run, a trial that failed being one without success."""
    succeeded = Counter(one.task for one in trials if one.success)
    tasks = {one.task for one in trials}
    for k in range(1, min(times, MOST_TRIALS) + 1):
        value = sum(comb(succeeded[task], k) for task in tasks) / comb(times, k) / len(tasks)
        yield f"pass^{k}", PrintedScore(value, len(tasks))
