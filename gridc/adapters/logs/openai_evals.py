"""Logs of OpenAI's evals: lines of JSON, the first of which is the spec, the others events and a report."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gridc.compiler.inputs.logs.files import LogFile, log_error
from gridc.compiler.inputs.logs.records import LogAnswer, LogRun, PrintedScore, log_axis, log_reader
from gridc.schema.comparison import AnswerState

PACKAGE = "OpenAI evals"
NAMES: tuple[str, ...] = ()
SPEC = frozenset(("completion_fns", "eval_name", "base_eval"))
SHAPES: tuple[frozenset[str], ...] = (SPEC,)
log_reader(__name__, 90)
MATCH = "match"
"""The event of an eval that says itself what is correct; others log their metrics."""
NO_CHOICE = "__invalid__"
"""What a judge chose whose reply names no choice; it earns the least that a choice can."""
UNKNOWN = ("what is asked: items match by id", "unreadable and cut off answers", "versions")
NOT_ASKED = frozenset(("command", "completion_fns", "seed"))
"""Parts of the configuration of a run that do not shape what is asked."""


def claims(file: LogFile) -> bool:
    return file.suffix == ".jsonl" and file.keys == {"spec"} and _spec(file).keys() >= SPEC


def belongs(file: LogFile) -> bool:
    return False


def _spec(file: LogFile) -> Mapping[str, Any]:
    _, first = next(file.lines())
    return first["spec"] if isinstance(first["spec"], dict) else {}


@dataclass(slots=True)
class _Sample:
    """What the events of a sample say: its scores by reading, one after the other, those that a judge gave
    without a choice, by reading and place, and its texts."""

    scores: defaultdict[str, list[float | None]] = field(default_factory=lambda: defaultdict(list))
    ungraded: set[tuple[str, int]] = field(default_factory=set)
    failed: bool = False
    prompt: str | None = None
    answers: list[str] = field(default_factory=list)


def runs(file: LogFile) -> Iterator[LogRun]:
    """One run; of one that was cut short the samples that it has."""
    spec = _spec(file)
    samples: dict[str, _Sample] = {}
    report: Mapping[str, Any] | None = None
    for line, event in file.lines():
        try:
            if "final_report" in event:
                report = event["final_report"] or {}
            elif "spec" not in event:
                _add(samples, event)
        except (AttributeError, KeyError, TypeError) as error:
            message = f"not an event of {PACKAGE}: {type(error).__name__} {error}"
            raise log_error("GC672", message, file.path, line) from None
    found = dict.fromkeys(reading for sample in samples.values() for reading in sample.scores)
    readings = found or {MATCH: None}
    first = [MATCH] if MATCH in readings else []
    config = spec.get("run_config") or {}
    accuracy = None if report is None else report.get("accuracy")
    once = all(len(sample.scores[MATCH]) == 1 for sample in samples.values())
    yield LogRun(
        path=file.path,
        package=PACKAGE,
        version="",
        digest=file.digest,
        model=", ".join(map(str, spec["completion_fns"])),
        benchmark=spec["eval_name"],
        axes={
            "task": log_axis("prompt", str(spec["eval_name"])),
            "config": log_axis("prompt", {k: v for k, v in config.items() if k not in NOT_ASKED} or "none"),
        },
        readings=tuple(dict.fromkeys([*first, *readings])),
        samples=partial(_answers, samples, tuple(readings)),
        id=str(spec.get("run_id") or ""),
        seeds={} if config.get("seed") is None else {"seed": config["seed"]},
        printed={MATCH: PrintedScore(accuracy, len(samples), once)} if first and accuracy is not None else {},
        finished=report is not None,
        unknown=UNKNOWN,
    )


def _add(samples: dict[str, _Sample], event: Mapping[str, Any]) -> None:
    sample = samples.setdefault(str(event["sample_id"]), _Sample())
    kind, data = event["type"], event["data"]
    if kind == MATCH:
        sample.scores[MATCH].append(float(bool(data["correct"])))
    elif kind == "metrics":
        for name, value in data.items():
            if isinstance(value, int | float):
                sample.scores[name].append(float(value) if math.isfinite(value) else None)
                if data.get("choice") == NO_CHOICE:
                    sample.ungraded.add((name, len(sample.scores[name]) - 1))
    elif kind == "error":
        sample.failed = True
    elif kind == "sampling":
        if sample.prompt is None:
            sample.prompt = _text(data.get("prompt"))
        sampled = data.get("sampled")
        sample.answers += map(_text, sampled if isinstance(sampled, list) else [sampled])


def _text(value: Any) -> str:
    """A prompt is a text, or messages."""
    if isinstance(value, list):
        return "\n\n".join(
            f"[{one.get('role')}]\n{one.get('content')}" if isinstance(one, dict) else str(one)
            for one in value
        )
    return "" if value is None else str(value)


def _answers(samples: Mapping[str, _Sample], readings: tuple[str, ...]) -> Iterator[LogAnswer]:
    """An event of a sample that comes again is a repetition."""
    for id, sample in samples.items():
        times = max((len(values) for values in sample.scores.values()), default=0)
        for epoch in range(max(times, 1)):
            scores = {
                name: values[epoch] if epoch < len(values := sample.scores.get(name, [])) else None
                for name in readings
            }
            scored = any(score is not None for score in scores.values())
            state: AnswerState = "read" if scored else "failed" if sample.failed else "unscored"
            yield LogAnswer(
                id=id,
                content=None,
                epoch=epoch,
                scores=scores,
                state=state,
                prompt=sample.prompt,
                answer=sample.answers[min(epoch, len(sample.answers) - 1)] if sample.answers else None,
                ungraded=[name for name in readings if (name, epoch) in sample.ungraded],
            )
