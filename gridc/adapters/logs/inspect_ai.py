"""Logs of Inspect: `.eval`, a zip whose entries may be packed with zstd, and the same log as `.json`."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from gridc.compiler.inputs.finish_reasons import logged_end
from gridc.compiler.inputs.logs.files import LogFile, ZipLog, log_error
from gridc.compiler.inputs.logs.records import (
    LogAnswer,
    LogAxis,
    LogRun,
    PrintedScore,
    content_digest,
    log_axis,
    log_reader,
    logged_number,
)
from gridc.compiler.inputs.questions import Question, question, right_texts
from gridc.schema.comparison import AnswerState

PACKAGE = "inspect_ai"
NAMES: tuple[str, ...] = ("*.eval",)
PLAIN = frozenset(("version", "status", "eval"))
SHAPES: tuple[frozenset[str], ...] = (PLAIN,)
log_reader(__name__, 20)
BY_MODEL = "generate"
"""The source of a message that the model wrote."""
HEADER, JOURNAL = "header.json", "_journal/start.json"
LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
NOT_DECODING = frozenset(
    [
        "seed",
        "max_connections",
        "max_retries",
        "timeout",
        "attempt_timeout",
        "adaptive_connections",
        "cache",
        "batch",
    ]
)
NOT_READ = frozenset({"invalid_response_format", "no_response"})
"""Reasons of a score that nothing was read for."""
NO_GRADE = "Grade not found"
"""How a judge's explanation begins where its reply has no grade; newer logs give the reason, and no score."""
NO_GRADES = frozenset({"grader_failed"})
LIMITS = ("message_limit", "token_limit", "time_limit", "working_limit", "cost_limit")
"""What ends a sample before its answer."""
READS = frozenset({"pattern", "choice"})
"""Scorers that leave the answer empty where they read nothing; newer logs give the reason."""
SCORING = frozenset({"scorers", "scorer"})
"""Types of spans, and of the steps of older logs, in which samples are scored."""
WITHOUT_MODEL = frozenset({"match", "includes", "pattern", "answer", "exact", "f1", "choice", "math"})
"""Scorers that ask no model."""
CACHED = ("input_tokens_cache_write", "input_tokens_cache_read")
SAMPLES = "samples/"
"""Where one name may stand twice: a sample that was asked again after an error is written again."""
SAMPLE = re.compile(rf"{SAMPLES}[^/]+(\.json|/sample\.json)")
UNKNOWN = (
    "the weights' digest and revision",
    "versions of torch and transformers",
    "precision where model_args do not state it",
    "the prompt's template, except as text",
)


def claims(file: LogFile) -> bool:
    if file.suffix == ".json":
        return file.keys >= PLAIN
    return file.suffix == ".eval"


def belongs(file: LogFile) -> bool:
    return False


def runs(file: LogFile) -> Iterator[LogRun]:
    """One run; of a log that was cut short the samples that it has."""
    yield _zipped(file) if file.suffix == ".eval" else _plain(file)


def _zipped(file: LogFile) -> LogRun:
    archive = ZipLog(file)
    begun = HEADER if HEADER in archive.entries else JOURNAL
    if begun not in archive.entries:
        raise log_error("GC672", f"a zip file without {HEADER}, which no log of Inspect is", file.path)
    header = archive.json(begun)
    other = next((name for name in archive.repeated if not name.startswith(SAMPLES)), None)
    if other is not None:
        raise log_error("GC672", f"two entries of the zip file have the name {other[:120]}", file.path)
    names = [name for name in archive.entries if SAMPLE.fullmatch(name)]
    run = _run(file, header, len(names), lambda: archive.each_json(names))
    return replace(run, asked_again=sum(name in archive.repeated for name in names))


def _plain(file: LogFile) -> LogRun:
    path, samples = file.path, file.document.get("samples") or []
    header = {key: value for key, value in file.document.items() if key != "samples"}
    return _run(file, header, len(samples), lambda: iter(LogFile(path).document["samples"]))


def _run(
    file: LogFile, header: Mapping[str, Any], count: int, samples: Callable[[], Iterator[Any]]
) -> LogRun:
    made, plan, results = header["eval"], header.get("plan") or {}, header.get("results") or {}
    decoding = {**(made.get("model_generate_config") or {}), **(plan.get("config") or {})}
    epochs = (made.get("config") or {}).get("epochs") or 1
    asked = (made.get("dataset") or {}).get("sample_ids")
    status = header.get("status", "started")
    expected = results.get("total_samples") if status == "success" else None
    of_failed = _scores_failed(made)
    printed = dict(_printed_scores(results, of_failed or ""))
    if count and expected is not None and expected != count:
        message = f"the header counts {expected:,} samples, and the file has {count:,}"
        raise log_error("GC674", message, file.path)
    version = (made.get("packages") or {}).get(PACKAGE, "unknown")
    seed = decoding.get("seed")
    scorers = printed or [scorer["name"] for scorer in made.get("scorers") or []]
    readings = tuple(dict.fromkeys(name.partition(", ")[0] for name in scorers))
    took = partial(_took, made["model"], _asks_no_model(made))
    return LogRun(
        path=file.path,
        package=PACKAGE,
        version=version,
        digest=file.digest,
        model=made["model"],
        benchmark=made["task"],
        axes=_axes(made, plan, decoding, version),
        readings=readings,
        samples=(lambda: _answers(file, samples, readings, of_failed, took)) if count else None,
        id=made.get("eval_id") or "",
        attempt_of=made.get("task_id") or "",
        begun=str(made.get("created") or ""),
        facts={
            ("environment", f"packages[{name}]"): stated
            for name, stated in (made.get("packages") or {}).items()
            if name != PACKAGE
        }
        | {("score", "model_roles"): made.get("model_roles")},
        seeds={} if seed is None else {"seed": seed},
        shared_seed=None if seed is None or decoding.get("temperature") == 0 else str(seed),
        printed=printed,
        expected=len(asked) * epochs if asked is not None and status != "success" else expected,
        total=None if asked is None else len(asked),
        repetitions=epochs if isinstance(epochs, int) else None,
        finished=status == "success",
        unknown=UNKNOWN if count else (*UNKNOWN, "items (the log has none)"),
    )


def _axes(
    made: Mapping[str, Any], plan: Mapping[str, Any], decoding: Mapping[str, Any], version: str
) -> dict[str, LogAxis]:
    steps = [{"solver": step["solver"], "params": step.get("params")} for step in plan.get("steps") or []]
    shown = "+".join(str(step["solver"]).rpartition("/")[2] for step in steps)
    asked = {key: value for key, value in decoding.items() if key not in NOT_DECODING}
    arguments, of_task = made.get("model_args") or {}, made.get("task_args") or {}
    stated = made.get("config") or {}
    limits = {name: stated[name] for name in LIMITS if stated.get(name) is not None}
    return {
        "task": log_axis("prompt", str(made["task"])),
        "task_args": log_axis("prompt", of_task, None if of_task else "none"),
        "solver": log_axis("prompt", steps, shown or "none"),
        "decoding": log_axis("request", asked, None if asked else "provider's default"),
        "limits": log_axis("request", limits, None if limits else "none"),
        "scoring": log_axis("score", [_scorer(one) for one in made.get("scorers") or []]),
        "task_version": log_axis("code", str(made.get("task_version"))),
        "package": log_axis("code", f"{PACKAGE} {version}"),
        "model_args": log_axis("request", arguments, None if arguments else "none", own=True),
        "address": log_axis("model", str(made.get("model_base_url")), own=True),
    }


def _scorer(stated: Mapping[str, Any]) -> list[Any]:
    return [stated.get("name"), stated.get("options"), stated.get("metrics")]


MEANS = ("accuracy", "mean")
SPREADS = frozenset({"stderr", "bootstrap_stderr", "std", "var", "ci"})
"""Metrics that say how sure another one is."""


def _scores_failed(made: Mapping[str, Any]) -> str | None:
    """Why samples that failed may have scores, which Inspect counts; None where they have none."""
    if (made.get("config") or {}).get("score_on_error"):
        return "`score_on_error`"
    return "before another scorer failed" if len(made.get("scorers") or []) > 1 else None


def _printed_scores(results: Mapping[str, Any], failed_by: str) -> Iterator[tuple[str, PrintedScore]]:
    """By scorer; under a reducer other than the mean a score of its own, which no sample has."""
    for row in results.get("scores") or []:
        metrics = row.get("metrics") or {}
        first = next((name for name in (*MEANS, *metrics) if name in metrics and name not in SPREADS), None)
        reducer = row.get("reducer")
        reduced = reducer not in (None, "mean")
        how = f"what `{reducer}` makes of the epochs" if reduced else ""
        if first not in MEANS and first is not None:
            how = f"the metric `{first}`"
        error, error_how = _error(metrics)
        yield (
            f"{row['name']}, {reducer}" if reduced else row["name"],
            PrintedScore(
                None if first is None else _value(metrics[first].get("value")),
                row.get("scored_samples"),
                mean=not how,
                error=error,
                how=how,
                error_how=error_how,
                failed_by=failed_by,
            ),
        )


def _error(metrics: Mapping[str, Any]) -> tuple[float | None, str]:
    """The standard error that is printed, and how it is made where it is none of independent samples."""
    if "stderr" in metrics:
        stated = metrics["stderr"]  # whose `params` were `options` before
        cluster = (stated.get("params") or stated.get("options") or {}).get("cluster")
        how = f"samples of one `{cluster}` are a cluster there (`--unit {cluster}` here)" if cluster else ""
        return _value(metrics["stderr"].get("value")), how
    drawn = metrics.get("bootstrap_stderr") or {}
    return _value(drawn.get("value")), "it is of a bootstrap" if drawn else ""


def _answers(
    file: LogFile,
    samples: Callable[[], Iterator[Any]],
    readings: Sequence[str],
    of_failed: str | None,
    took: Callable[[Mapping[str, Any]], Mapping[str, float]],
) -> Iterator[LogAnswer]:
    for number, sample in enumerate(samples(), start=1):
        try:
            yield _answer(sample, readings, of_failed)._replace(took=took(sample))
        except (AttributeError, KeyError, TypeError) as error:
            message = f"sample {number}: {type(error).__name__} {error}"
            raise log_error("GC672", message, file.path) from None


def _answer(sample: Mapping[str, Any], readings: Sequence[str], of_failed: str | None) -> LogAnswer:
    """One that failed has no score under any reading but what Inspect may count of it."""
    held = sample.get("attachments") or {}
    asked, choices = _resolved(sample["input"], held), sample.get("choices")
    content = content_digest([_asked(asked), sample.get("target"), choices])
    given = sample.get("scores") or {}
    scores: dict[str, float | None] = {}
    unread: list[str] = []
    ungraded: list[str] = []
    for name, score in given.items():
        value = score.get("value")
        parts = value if isinstance(value, dict) else {name: value}
        scores |= {part: _value(one) for part, one in parts.items()}
        unread += parts if _unread(name, score) else ()
        ungraded += parts if _ungraded(score) else ()
    output = sample.get("output") or {}
    return LogAnswer(
        id=str(sample["id"]),
        content=content,
        epoch=_epoch(sample.get("epoch", 1)) - 1,
        scores=(dict.fromkeys(readings) | (scores if of_failed else {})) if sample.get("error") else scores,
        state=_state(sample, scores, output),
        prompt=_prompt(sample.get("messages"), held),
        answer=_resolved(output.get("completion"), held) or _thought(output, held),
        question=partial(_question, asked, choices, sample.get("target")),
        unread=unread,
        ungraded=ungraded,
        fields=sample.get("metadata"),
        stopped=_stopped(sample),
    )


def _epoch(value: Any) -> int:
    """The number of an epoch, from 1. A text is none, though it may be a number."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise TypeError(f"epoch {str(value)[:40]}")
    return value


def _question(asked: Any, choices: Any, target: Any) -> Question:
    """What the user asks; a system prompt is a framing."""
    texts = (
        [asked]
        if isinstance(asked, str)
        else [
            one["content"]
            for one in asked or []
            if isinstance(one, dict) and one.get("role") == "user" and isinstance(one.get("content"), str)
        ]
    )
    options = [one for one in choices or [] if isinstance(one, str)]
    return question(texts, options, right_texts(target, options))


def _state(sample: Mapping[str, Any], scores: Mapping[str, Any], output: Mapping[str, Any]) -> AnswerState:
    if sample.get("error"):
        return "failed"
    if all(score is None for score in scores.values()):
        return "unscored"
    stop = next((choice.get("stop_reason") for choice in output.get("choices") or []), None)
    return "cut" if sample.get("limit") else logged_end(stop)


def _stopped(sample: Mapping[str, Any]) -> str:
    """What ended a sample before its answer: an error, the person who runs it, or a limit."""
    if sample.get("error"):
        return "error"
    limit = (sample.get("limit") or {}).get("type")
    return "" if limit is None else limit if limit == "operator" else f"{limit} limit"


def _thought(output: Mapping[str, Any], held: Mapping[str, Any]) -> str | None:
    """Of a response that says nothing the thought, which Inspect keeps apart, as one that has not ended: with
    it, or with its tokens in the usage, one that was cut off is known to be cut off in its thought."""
    choices = output.get("choices") or [{}]
    parts = (choices[0].get("message") or {}).get("content")
    thoughts = [
        str(_resolved(part.get("reasoning"), held) or "")
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, Mapping) and part.get("type") == "reasoning"
    ]
    counted = (output.get("usage") or {}).get("reasoning_tokens")
    return f"<think>{''.join(thoughts)}" if thoughts or counted else None


def _asks_no_model(made: Mapping[str, Any]) -> bool:
    """Whether every scorer is one of Inspect's that ask no model."""
    names = [str(scorer["name"]).rpartition("/")[2] for scorer in made.get("scorers") or []]
    return bool(names) and WITHOUT_MODEL.issuperset(names)


def _took(model: str, scored_without_model: bool, sample: Mapping[str, Any]) -> dict[str, float]:
    """What the model's own calls took, by the names of `CALL_NUMBERS`: those of the solvers, in no role. A
    sample that was logged without its events has totals of a model, in which calls of scorers may be."""
    if sample.get("events"):
        calls = list(_own_calls(model, sample["events"]))
        outputs = [call.get("output") or {} for call in calls]
        of_calls = [_counts(output.get("usage") or {}) for output in outputs]
        for counts, output in zip(of_calls, outputs, strict=True):
            counts["seconds"] = logged_number("a time", output.get("time"))
        found: dict[str, float | None] = {
            name: sum(value for counts in of_calls if (value := counts[name]) is not None)
            if all(counts[name] is not None for counts in of_calls)
            else None
            for name in (of_calls[0] if of_calls else ())
        }
        # An agent that Inspect does not see calls a model and leaves no event of it.
        found["calls"] = len(calls) or None
    else:
        in_roles = bool(sample.get("role_usage"))
        totals = (sample.get("model_usage") or {}).get(model) or {}
        found = _counts(totals) if scored_without_model and not in_roles else {}
    return {name: value for name, value in found.items() if value is not None}


def _own_calls(model: str, events: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The events of a model's calls before it is scored. Older logs have steps in the place of spans."""
    scoring: set[Any] = set()
    steps = 0
    for event in events:
        kind, of_scorer = event.get("event"), event.get("type") in SCORING
        if kind == "span_begin" and (of_scorer or event.get("parent_id") in scoring):
            scoring.add(event.get("id"))
        elif kind == "step" and of_scorer:
            steps += 1 if event.get("action") == "begin" else -1
        elif (
            kind == "model"
            and event.get("model") == model
            and not (event.get("role") or steps or event.get("span_id") in scoring)
        ):
            yield event


def _counts(usage: Mapping[str, Any]) -> dict[str, float | None]:
    """The numbers in a usage, of which Inspect's default is 0: one without any tokens counts nothing. Tokens
    of a prompt that a cache holds stand apart."""
    read, written, thought, cost = (
        logged_number(name, usage.get(name))
        for name in ("input_tokens", "output_tokens", "reasoning_tokens", "total_cost")
    )
    cached = [logged_number(name, usage.get(name)) for name in CACHED]
    prompt = sum(each or 0 for each in (read, *cached))
    known = bool(prompt or written)
    return {
        "tokens": written if known else None,
        "thought_tokens": thought if known else None,
        "read_tokens": prompt if known and read is not None else None,
        "cost": cost,
    }


def _unread(scorer: str, score: Mapping[str, Any]) -> bool:
    if score.get("reason"):
        return score["reason"] in NOT_READ
    return scorer in READS and not score.get("answer") and score.get("value") == "I"


def _ungraded(score: Mapping[str, Any]) -> bool:
    return score.get("reason") in NO_GRADES or str(score.get("explanation") or "").startswith(NO_GRADE)


def _value(value: Any) -> float | None:
    """As Inspect counts it (`value_to_float`): a text that is no grade of its own, such as another letter, is
    worth nothing. None for NaN and what is no single number."""
    if isinstance(value, str):
        if value in LETTERS:
            return LETTERS[value]
        try:
            value = float(value)
        except ValueError:
            return {"yes": 1.0, "true": 1.0}.get(value.lower(), 0.0)
    if not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _asked(value: Any) -> Any:
    """What is asked, without the ids that each run gives its messages."""
    if isinstance(value, list):
        return [[one.get("role"), one.get("content")] if isinstance(one, dict) else one for one in value]
    return value


def _prompt(messages: Any, held: Mapping[str, Any]) -> str | None:
    """What the model was shown before its first own word; of one message its text alone."""
    parts: list[tuple[Any, Any]] = []
    for message in messages or []:
        if message.get("role") == "assistant" and message.get("source") == BY_MODEL:
            break
        parts.append((message.get("role"), _resolved(message.get("content"), held)))
    if len(parts) == 1 and parts[0][0] == "user":
        return str(parts[0][1])
    return "\n\n".join(f"[{role}]\n{text}" for role, text in parts) or None


def _resolved(value: Any, held: Mapping[str, Any]) -> Any:
    """A long text stands elsewhere in the sample, under its digest."""
    if isinstance(value, str) and value.startswith("attachment://"):
        return held.get(value.removeprefix("attachment://"), value)
    return value
