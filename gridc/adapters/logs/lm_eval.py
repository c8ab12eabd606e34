"""Logs of lm-evaluation-harness 0.4: `results_TIME.json`, and beside it `samples_TASK_TIME.jsonl` a task."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from gridc.compiler.inputs.logs.files import LogFile, log_error
from gridc.compiler.inputs.logs.records import (
    LogAnswer,
    LogAxis,
    LogGroup,
    LogRun,
    PrintedScore,
    content_digest,
    log_axis,
    log_reader,
)
from gridc.compiler.inputs.questions import Question, of_document
from gridc.schema.comparison import AnswerState

PACKAGE = "lm-eval"
NAMES: tuple[str, ...] = ("results_*.json", "samples_*.jsonl")
RESULTS = frozenset(("results", "configs", "n-shot"))
SAMPLES = frozenset(("doc_id", "doc", "filter", "filtered_resps"))
SHAPES: tuple[frozenset[str], ...] = (RESULTS, SAMPLES)
log_reader(__name__, 10)
INVALID = "[invalid]"
"""What a filter gives where it read nothing."""
TEMPLATE = (
    "doc_to_text",
    "doc_to_target",
    "doc_to_choice",
    "description",
    "target_delimiter",
    "fewshot_delimiter",
    "gen_prefix",
    "process_docs",
)
SCORING = ("metric_list", "filter_list", "process_results")
SEEDS = ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed")
SHORT = 24
"""Characters of a text that stands for itself in the name of a configuration."""
SEEDED_REQUESTS = ("completions", "openai", "anthropic")
"""Models behind an address get one seed with every request."""
UNKNOWN = (
    "the batch shape of each call",
    "truncated prompts",
    "the attention implementation",
    "digests of weights and tokenizer",
)


def claims(file: LogFile) -> bool:
    return file.suffix == ".json" and file.keys >= RESULTS


def belongs(file: LogFile) -> bool:
    """Samples are read with their results."""
    return file.suffix == ".jsonl" and file.keys >= SAMPLES


def runs(file: LogFile) -> Iterator[LogRun]:
    """A run for each task; a group of tasks, which has no items of its own, is said of each of them."""
    document = file.document
    results, configs = document["results"], document["configs"]
    stem = file.stem.partition("_")[2]
    groups = list(_groups(document))
    grouped = {task for group in groups for task in group.tasks if task in configs}
    known = {group.name for group in groups if grouped.intersection(group.tasks)}
    alone = [
        f"the group {name}, of whose tasks it has none" for name in results if name not in {*configs, *known}
    ]
    for task in results:
        if task in configs:
            yield replace(
                _run(file, document, task, file.sibling(f"samples_{task}_{stem}.jsonl")),
                groups=[group for group in groups if task in group.tasks],
                not_read=alone,
            )


def _groups(document: Mapping[str, Any]) -> Iterator[LogGroup]:
    """The groups with all tasks below them: a group may be of groups."""
    below, configs = document.get("group_subtasks") or {}, document["configs"]
    for name in below:
        tasks: dict[str, None] = {}
        seen, waiting = {name}, [name]
        while waiting:
            for inner in below.get(waiting.pop(0)) or []:
                if inner in below and inner not in configs:
                    waiting += [] if inner in seen else [inner]
                    seen.add(inner)
                else:
                    tasks[str(inner)] = None
        if name not in configs and tasks:
            stated = document["results"].get(name) or {}
            yield LogGroup(name, tuple(tasks), _printed(stated, None, {}))


def _run(file: LogFile, document: Mapping[str, Any], task: str, samples: LogFile | None) -> LogRun:
    config, made = document["configs"][task], document.get("config") or {}
    printed = _printed(document["results"][task], _effective(document, task), config)
    higher = (document.get("higher_is_better") or {}).get(task) or {}
    arguments = _arguments(made.get("model_args"))
    unknown = UNKNOWN if samples else (*UNKNOWN, "items (run with --log_samples)")
    return LogRun(
        path=file.path if samples is None else samples.path,
        package=PACKAGE,
        version=str(document.get("lm_eval_version", "unknown")),
        digest=file.digest if samples is None else samples.digest,
        model=_model(document, arguments),
        benchmark=task,
        axes=_axes(document, task, config, made, arguments),
        readings=tuple(printed),
        samples=None if samples is None else partial(_answers, samples),
        facts={
            ("environment", "transformers"): document.get("transformers_version"),
            ("environment", "device"): made.get("device"),
            ("environment", "batch_size"): made.get("batch_size"),
        },
        seeds={name: made[name] for name in SEEDS if made.get(name) is not None},
        shared_seed=_shared_seed(document, config, arguments),
        lower=frozenset(key for key in printed if higher.get(key.partition(",")[0]) is False),
        printed=printed,
        begun=_begun(file, document),
        expected=_effective(document, task),
        remark="; ".join(filter(None, (_limited(document, task), _repeated(config)))) or None,
        unknown=unknown,
    )


def _printed(
    stated: Mapping[str, Any], items: int | None, config: Mapping[str, Any]
) -> dict[str, PrintedScore]:
    """By metric and filter."""
    printed = {}
    for key, value in stated.items():
        if "," in key and "_stderr," not in key:
            metric, _, name = key.partition(",")
            how = _aggregation(metric, config)
            printed[key] = PrintedScore(
                _number(value),
                items,
                metric in MEANS and not how,
                error=_number(stated.get(f"{metric}_stderr,{name}")),
                how="" if not how else f"the aggregation `{how}`",
                error_how="" if not how else f"it is of the aggregation `{how}`",
            )
    return printed


def _begun(file: LogFile, document: Mapping[str, Any]) -> str:
    """When the run began, as text that sorts by time; else when its file says that it ended."""
    date = document.get("date")
    return f"{date:020.3f}" if isinstance(date, int | float) else file.stem.partition("_")[2]


MEANS = {"acc", "acc_norm", "exact_match"}
"""Metrics that are means of their samples, unless a task says otherwise."""


OF_ALL = frozenset(
    ("f1", "mcc", "bleu", "chrf", "ter", "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte")
)
"""Metrics that are made of all samples together, unless a task says otherwise."""


def _aggregation(metric: str, config: Mapping[str, Any]) -> str:
    """What makes one score of a task's samples, where that is no mean of theirs."""
    stated = [one for one in config.get("metric_list") or [] if one.get("metric") == metric]
    made = next((str(one["aggregation"]) for one in stated if one.get("aggregation")), None)
    if made is None:
        return metric if metric in OF_ALL else ""
    return "" if made == "mean" else made


def _axes(
    document: Mapping[str, Any],
    task: str,
    config: Mapping[str, Any],
    made: Mapping[str, Any],
    arguments: Mapping[str, Any],
) -> dict[str, LogAxis]:
    shots = (document.get("n-shot") or {}).get(task, config.get("num_fewshot") or 0)
    chat = document.get("chat_template_sha")
    multiturn = document.get("fewshot_as_multiturn")
    generated = config.get("generation_kwargs") if config.get("output_type") == "generate_until" else None
    exemplars = [(config.get("fewshot_config") or {}).get("sampler"), made.get("fewshot_seed")]
    others = {key: value for key, value in arguments.items() if key not in ("pretrained", "dtype")}
    return {
        "task": log_axis("prompt", task),
        "shots": log_axis("prompt", str(shots)),
        "chat": log_axis(
            "prompt", "no" if chat is None else f"yes{', multiturn' if multiturn and shots else ''}"
        ),
        "chat_template": log_axis("model", chat or "none", own=True),
        "system": log_axis("prompt", document.get("system_instruction_sha") or "none", _system(document)),
        "template": log_axis("prompt", {key: config.get(key) for key in TEMPLATE}),
        "exemplars": log_axis("prompt", exemplars if shots else "none"),
        "method": log_axis("request", str(config.get("output_type"))),
        "decoding": log_axis("request", "none" if generated is None else generated),
        "repeats": log_axis("request", str(config.get("repeats") or 1)),
        "scoring": log_axis("score", {key: config.get(key) for key in SCORING}),
        "task_version": log_axis("code", str((document.get("versions") or {}).get(task))),
        "package": log_axis("code", f"{PACKAGE} {document.get('lm_eval_version', 'unknown')}"),
        "weights": log_axis("model", [_weights(document, arguments), made.get("model_revision")], own=True),
        "precision": log_axis("request", _precision(made, arguments), own=True),
        "model_args": log_axis("request", others, None if others else "none", own=True),
    }


def _arguments(stated: Any) -> Mapping[str, Any]:
    """What was given as `--model_args`, by name: a table, or `pretrained=org/a,dtype=bfloat16`, whose values
    become what a table has. A part without a name goes on with the value before it."""
    if not isinstance(stated, str):
        return stated if isinstance(stated, Mapping) else {}
    texts: dict[str, str] = {}
    name = ""
    for part in stated.split(","):
        if "=" in part or not name:
            name, _, text = part.partition("=")
            name = name.strip()
            texts[name] = text
        else:
            texts[name] += f",{part}"
    return {name: _value(text.strip()) for name, text in texts.items() if name}


def _value(text: str) -> Any:
    """A number, true or false where a text says one; else the text."""
    try:
        value = json.loads(text.lower() if text.lower() in ("true", "false") else text)
    except (ValueError, RecursionError):
        return text
    return value if value == value else text  # NaN equals nothing, itself neither


def _precision(made: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """What the weights were loaded as; where no log says, what was asked for."""
    return str(made.get("model_dtype") or arguments.get("dtype")).removeprefix("torch.")


def _system(document: Mapping[str, Any]) -> str | None:
    """The system prompt where it is short enough to name a configuration."""
    text = document.get("system_instruction")
    return text if isinstance(text, str) and 0 < len(text) <= SHORT else None


def _weights(document: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    return str(arguments.get("pretrained") or arguments.get("model") or document.get("model_name"))


def _model(document: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """The model's name; of a folder its last part."""
    name = str(document.get("model_name") or _weights(document, arguments))
    return PurePosixPath(name).name if name.startswith(("/", "./", "../")) else name


def _shared_seed(
    document: Mapping[str, Any], config: Mapping[str, Any], arguments: Mapping[str, Any]
) -> str | None:
    behind_address = any(part in str(document.get("model_source")) for part in SEEDED_REQUESTS)
    decoding = config.get("generation_kwargs") or {}
    if not behind_address or not decoding.get("temperature"):
        return None
    stated = arguments.get("seed")
    return str(decoding.get("seed", stated if stated is not None else 1234))


def _effective(document: Mapping[str, Any], task: str, which: str = "effective") -> int | None:
    count = ((document.get("n-samples") or {}).get(task) or {}).get(which)
    return count if isinstance(count, int) else None


def _limited(document: Mapping[str, Any], task: str) -> str | None:
    """Whether a run with `--limit` stands for a benchmark that it asked in part."""
    asked, there = _effective(document, task), _effective(document, task, "original")
    if asked is None or there is None or asked >= there:
        return None
    return f"{task} has {there:,} documents, of which {asked:,} were asked"


def _repeated(config: Mapping[str, Any]) -> str | None:
    """Whether documents were asked several times under one score."""
    times = config.get("repeats")
    if not isinstance(times, int) or times < 2:
        return None
    of = "what its filters made of them" if config.get("filter_list") else "the first answer"
    return f"its task asks each document {times:,} times (`repeats`); the score is of {of}, as of one answer"


def _answers(samples: LogFile) -> Iterator[LogAnswer]:
    for line, row in samples.lines():
        try:
            yield _answer(row)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            message = f"not a sample of {PACKAGE}: {type(error).__name__} {error}"
            raise log_error("GC672", message, samples.path, line) from None


def _answer(row: Mapping[str, Any]) -> LogAnswer:
    name = row["filter"]
    scores = {f"{metric},{name}": _number(row.get(metric)) for metric in row["metrics"]}
    unscored = all(score is None for score in scores.values())
    given = row["filtered_resps"]
    state: AnswerState = "unscored" if unscored else "unreadable" if INVALID in given else "read"
    asked = row["arguments"]
    first: Mapping[str, Any] = next(iter(asked.values()), {}) if isinstance(asked, dict) else {}
    return LogAnswer(
        id=str(row["doc_id"]),
        content=content_digest(row["doc"]),
        epoch=0,
        scores=scores,
        state=state,
        prompt=_text(first.get("arg_0")),
        answer=_answer_text(row["resps"], asked),
        question=partial(_question, row),
        fields=row["doc"] if isinstance(row["doc"], Mapping) else None,
        heard=_heard(row["resps"]),
        chosen=bool(row["resps"]) and isinstance(row["resps"][0][0], list),
    )


def _question(row: Mapping[str, Any]) -> Question:
    """By the document; candidates that were compared are the choices where it lists none, unless they are
    letters."""
    asked = row["arguments"]
    several = list(asked.values()) if isinstance(asked, dict) else []
    candidates = [str(one.get("arg_1")).strip() for one in several] if len(several) > 1 else []
    texts = candidates if any(len(text) > 1 for text in candidates) else ()
    return of_document(row["doc"], row.get("target"), texts)


def _answer_text(responses: Any, asked: Any) -> str | None:
    """The text of the first repetition; of candidates that were compared the likeliest."""
    if not responses:
        return None
    first = responses[0][0]
    if not isinstance(first, list):
        return _text(first)
    candidates = list(asked.values())
    if len(candidates) != len(responses):
        return _text(first)
    best = max(range(len(responses)), key=lambda place: float(responses[place][0][0]))
    return _text(candidates[best].get("arg_1"))


def _heard(responses: Any) -> list[str]:
    """What was generated for the first request, of a task with `repeats` one text after the other."""
    first = responses[0] if responses and isinstance(responses[0], list) else []
    return [text for text in first if isinstance(text, str)]


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _number(value: Any) -> float | None:
    """A score, as a number or, as some tasks of one's own write it, in a text; None for what is none: NaN, a
    pair that a metric aggregates later, the mark of no scoring."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float(value) if isinstance(value, bool) else None
    return None if not math.isfinite(value) else float(value)
