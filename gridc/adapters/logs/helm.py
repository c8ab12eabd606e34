"""Runs of HELM: `per_instance_stats.json`, with what its folder has beside it: the run's spec in
`run_spec.json`, the requests with their texts in `scenario_state.json` and the aggregates in `stats.json`.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from gridc.compiler.inputs.finish_reasons import logged_end
from gridc.compiler.inputs.logs.files import LogFile
from gridc.compiler.inputs.logs.records import (
    LogAnswer,
    LogAxis,
    LogRun,
    PrintedScore,
    content_digest,
    log_axis,
    log_reader,
)
from gridc.compiler.inputs.questions import Question, question
from gridc.schema.comparison import AnswerState

PACKAGE = "HELM"
STATS = "per_instance_stats.json"
NAMES: tuple[str, ...] = (STATS,)
ROW = frozenset(("instance_id", "train_trial_index", "stats"))
SHAPES: tuple[frozenset[str], ...] = (ROW,)
log_reader(__name__, 50)
PARTS = frozenset(
    ["run_spec.json", "scenario.json", "scenario_state.json", "stats.json", "instances.json"]
).union(["display_predictions.json", "display_requests.json"])
"""What else a run's folder holds."""
ABOUT = re.compile(
    r"(num|finish_reason|inference|training|estimated)_.*|batch_size|prompt_truncated|max_prob|logprob|predicted_index"
)
"""Statistics of a request, and no score of its answer."""
DECODING = ("temperature", "max_tokens", "stop_sequences", "num_outputs", "random")
TEMPLATE = (
    "global_prefix", "global_suffix", "instructions", "input_prefix", "input_suffix", "reference_prefix",
    "reference_prefix_characters", "reference_suffix", "chain_of_thought_prefix", "chain_of_thought_suffix",
    "output_prefix", "output_suffix", "instance_prefix", "substitutions",
)  # fmt: skip
UNKNOWN = ("whether higher is better", "the version of HELM", "unreadable answers: they count as wrong")


def claims(file: LogFile) -> bool:
    """The predictions that HELM writes for its pages have `stats` too, as a table."""
    if file.suffix != ".json" or not file.keys >= {"instance_id", "stats"}:
        return False
    return isinstance(file.document, list) and isinstance(file.document[0]["stats"], list)


def belongs(file: LogFile) -> bool:
    name = file.name.removesuffix(".gz")
    return name in PARTS and file.sibling(STATS) is not None


class _Trial(NamedTuple):
    """An instance, as it is or perturbed, in one trial of exemplars."""

    id: str
    perturbation: str
    trial: int


@dataclass(slots=True)
class _Stats:
    """The sum and the count of each statistic of an answer; HELM adds up several values of one."""

    sums: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    counts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def mean(self, name: str) -> float | None:
        count = self.counts.get(name, 0)
        return self.sums[name] / count if count and math.isfinite(self.sums[name]) else None


@dataclass(frozen=True, slots=True)
class _Request:
    """What was asked and came back; several requests of a choice among references have one text of many."""

    instance: Mapping[str, Any]
    prompt: str | None
    answer: str | None
    state: AnswerState


def runs(file: LogFile) -> Iterator[LogRun]:
    """A run for the instances as they are, and one for each perturbation of them."""
    spec = _sibling(file, "run_spec.json") or {}
    adapter = spec.get("adapter_spec") or {}
    requests = dict(_requests(file, adapter))
    stats: dict[_Trial, _Stats] = {asked: _Stats() for asked in requests}
    names: dict[str, None] = {}
    for row in file.document:
        held = stats.setdefault(_asked(row), _Stats())
        for one in row["stats"]:
            name, count = one["name"]["name"], one["count"]
            names[name] = None
            if count and one.get("sum") is not None:
                held.sums[name] += one["sum"]
                held.counts[name] += count
    stated = [
        name for one in spec.get("metric_specs") or [] for name in (one.get("args") or {}).get("names", ())
    ]
    readings = tuple(
        dict.fromkeys(
            [
                *(name for name in stated if name in names),
                *(name for name in names if not ABOUT.fullmatch(name)),
            ]
        )
    )
    trials = {asked.trial for asked in stats}
    failed = [asked for asked, request in requests.items() if request.state == "failed"]
    single = {
        name
        for name in readings
        if len(trials) == 1
        and all(one.counts.get(name, 0) <= 1 for one in stats.values())
        and not any(stats[asked].counts.get(name) for asked in failed)
    }
    contents = _contents(requests) if requests else {}
    model, benchmark = _named(file, spec, adapter)
    unknown = UNKNOWN if contents else (*UNKNOWN, "what is asked: items match by id")
    unknown = (
        unknown if requests else (*unknown, "prompts, answers and failed requests (no scenario_state.json)")
    )
    for perturbation in dict.fromkeys(asked.perturbation for asked in stats):
        some = {asked: held for asked, held in stats.items() if asked.perturbation == perturbation}
        yield LogRun(
            path=file.path,
            package=PACKAGE,
            version="",
            digest=file.digest,
            model=model,
            benchmark=benchmark,
            axes=_axes(spec, adapter, benchmark) | {"perturbation": log_axis("prompt", perturbation)},
            readings=readings,
            samples=partial(_answers, some, readings, requests, contents),
            printed={} if perturbation != "none" else dict(_printed(file, readings, single, len(some))),
            unknown=unknown if spec else (*unknown, "decoding, template and metrics (no run_spec.json)"),
            not_read=[name for name in names if name not in readings],
        )


def _sibling(file: LogFile, name: str) -> Any:
    found = file.sibling(name)
    return None if found is None else found.document


def _asked(row: Mapping[str, Any]) -> _Trial:
    perturbation = row.get("perturbation") or {}
    seed = perturbation.get("seed")
    name = perturbation.get("name", "none")
    return _Trial(
        str(row["instance_id"]),
        name if seed is None else f"{name} {seed}",
        int(row.get("train_trial_index", 0)),
    )


def _requests(file: LogFile, adapter: Mapping[str, Any]) -> Iterator[tuple[_Trial, _Request]]:
    document = _sibling(file, "scenario_state.json") or {}
    together: defaultdict[_Trial, list[Mapping[str, Any]]] = defaultdict(list)
    for state in document.get("request_states") or []:
        instance = state["instance"]
        row = {**instance, "instance_id": instance["id"], "train_trial_index": state["train_trial_index"]}
        together[_asked(row)].append(state)
    choice = str(adapter.get("method", "")).startswith("multiple_choice")
    for asked, states in together.items():
        results = [state.get("result") or {} for state in states]
        given = [one for result in results for one in (result.get("completions") or [])[:1]]
        failed = any(result.get("success") is False for result in results)
        ended = logged_end((given[0].get("finish_reason") or {}).get("reason") if len(given) == 1 else None)
        if choice and ended == "cut":
            ended = "read"  # a letter of a choice fills all the tokens that it may have
        yield (
            asked,
            _Request(
                states[0]["instance"],
                (states[0].get("request") or {}).get("prompt") or None,
                given[0].get("text") if len(given) == 1 and not failed else None,
                "failed" if failed else ended,
            ),
        )


def _contents(requests: Mapping[_Trial, _Request]) -> dict[str, Mapping[str, Any]]:
    """By id the instance as it is, which a perturbed one stands for too; none where one is not there."""
    plain = {asked.id: one.instance for asked, one in requests.items() if asked.perturbation == "none"}
    return plain if all(asked.id in plain for asked in requests) else {}


def _named(file: LogFile, spec: Mapping[str, Any], adapter: Mapping[str, Any]) -> tuple[str, str]:
    """Model and benchmark: from the spec, or from the folder, `mmlu:subject=law,model=openai_gpt2`."""
    name, _, stated = str(spec.get("name") or file.path.resolve().parent.name).partition(":")
    arguments = dict(part.partition("=")[::2] for part in stated.split(",") if part)
    model = adapter.get("model") or adapter.get("model_deployment") or arguments.get("model", "unknown")
    scenario = (spec.get("scenario_spec") or {}).get("args") if spec else {
        key: value for key, value in arguments.items() if key not in ("model", "model_deployment")
    }  # fmt: skip
    shown = ",".join(f"{key}={value}" for key, value in (scenario or {}).items())
    return str(model), f"{name}:{shown}" if shown else name


def _axes(spec: Mapping[str, Any], adapter: Mapping[str, Any], benchmark: str) -> dict[str, LogAxis]:
    axes = {"task": log_axis("prompt", benchmark)}
    if not spec:
        return axes
    return axes | {
        "shots": log_axis("prompt", str(adapter.get("max_train_instances"))),
        "template": log_axis("prompt", {key: adapter.get(key) for key in TEMPLATE}),
        "augmentation": log_axis("prompt", spec.get("data_augmenter_spec") or "none"),
        "method": log_axis("request", str(adapter.get("method"))),
        "decoding": log_axis("request", {key: adapter.get(key) for key in DECODING}),
        "scoring": log_axis(
            "score", {"metrics": spec.get("metric_specs"), "annotators": spec.get("annotators")}
        ),
        "deployment": log_axis("request", str(adapter.get("model_deployment")), own=True),
    }


def _printed(
    file: LogFile, readings: Sequence[str], single: set[str], items: int
) -> Iterator[tuple[str, PrintedScore]]:
    """Of the instances as they are; of several splits together HELM prints nothing."""
    rows = [one for one in _sibling(file, "stats.json") or [] if not one["name"].get("perturbation")]
    for reading in readings:
        found = [one for one in rows if one["name"]["name"] == reading]
        if len(found) == 1 and found[0].get("mean") is not None:
            yield reading, PrintedScore(found[0]["mean"], items, mean=reading in single)


def _answers(
    stats: Mapping[_Trial, _Stats],
    readings: Sequence[str],
    requests: Mapping[_Trial, _Request],
    contents: Mapping[str, Mapping[str, Any]],
) -> Iterator[LogAnswer]:
    for asked, held in stats.items():
        request, instance = requests.get(asked), contents.get(asked.id)
        scores = {name: held.mean(name) for name in readings}
        state: AnswerState = "read" if request is None else request.state
        lost = state == "failed" and request is not None and request.answer is None
        if not lost and all(score is None for score in scores.values()):
            state = "unscored"
        yield LogAnswer(
            id=asked.id,
            content=None
            if instance is None
            else content_digest([instance["input"], instance.get("references")]),
            epoch=asked.trial,
            scores=dict.fromkeys(readings) if lost else scores,
            state=state,
            prompt=None if request is None else request.prompt,
            answer=None if request is None else request.answer,
            question=None if instance is None else partial(_question, instance),
        )


def _question(instance: Mapping[str, Any]) -> Question:
    references = [one for one in instance.get("references") or [] if _text(one.get("output")) is not None]
    texts = [str(_text(one["output"])) for one in references]
    right = [
        text for text, one in zip(texts, references, strict=True) if "correct" in (one.get("tags") or [])
    ]
    asked = _text(instance["input"])
    return question([] if asked is None else [asked], texts if len(texts) > len(right) else [], right)


def _text(value: Any) -> str | None:
    """Older runs have a text, newer ones a table around it."""
    found = value.get("text") if isinstance(value, dict) else value
    return found if isinstance(found, str) else None
