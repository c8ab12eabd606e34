"""What a task of lm-evaluation-harness does, in keys of a call of gridc.

lm_eval gives several scores of one answer side by side, by metric and by filter. Each is a named set of
effects in `choices`; the first of each kind is in `settings`. What gridc has no key for is said in
`left_out`, and where no metric or no filter remains, the task is refused.
"""

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from gridc.adapters.tasks.lm_eval_files import Leaf, Refused, words

RANKED: Mapping[str, Mapping[str, Any]] = {
    "acc": {"normalise": "none"},
    "acc_norm": {"normalise": "char"},
    "acc_bytes": {"normalise": "byte"},
    "acc_mutual_info": {"normalise": "unconditional", "premise": ""},
}
"""The metrics of multiple choice, as effects."""

MATCHED = "exact_match"
MATCHES = {
    "ignore_case": "case",
    "ignore_punctuation": "punctuation",
    "ignore_numbers": "numbers",
    "regexes_to_ignore": "regexes",
}
"""The parameters of `exact_match`, as keys of `match.ignore`."""

ONE_ANSWER = "take_first"
"""The filter that ends every pipeline: of an item's answers it takes the first."""

NOT_IN_A_TASK = ("tag", "group", "task_list", "class", "metadata")
DECODING = ("until", "max_gen_toks", "do_sample", "temperature", "top_p")


@dataclass
class TaskEffects:
    """What a task sets, what it reports side by side, and what of it gridc does not take."""

    settings: dict[str, Any]
    choices: dict[str, dict[str, dict[str, Any]]]
    left_out: list[str]
    direction: str
    in_query: bool
    """Whether exemplars hold the delimiter before their answers, because of `gen_prefix`."""

    def without(self, names: tuple[str, ...], why: str, task: str) -> None:
        """Leave out metrics. Raises `Refused` where none remains."""
        metrics = self.choices.get("metric", {})
        gone = [name for name in names if metrics.pop(name, None) is not None]
        self.left_out += [f"metric {name}: {why}" for name in gone]
        if gone:
            if not metrics:
                raise Refused(
                    f"the task {task} has no metric that gridc computes ({'; '.join(self.left_out)})"
                )
            self.settings.pop("premise", None)
            self.settings |= next(iter(metrics.values()))


def configured(leaf: Leaf) -> Any:
    """The configuration of a task with lm_eval's defaults. Raises `Refused`."""
    from lm_eval.config.task import TaskConfig

    stated = {key: deepcopy(value) for key, value in leaf.config.items() if key not in NOT_IN_A_TASK}
    try:
        return TaskConfig(**stated)
    except Exception as error:  # a key that lm_eval does not know, or a value of another type
        raise Refused(f"lm_eval cannot take the configuration of {leaf.name}: {words(error)}") from error


def task_effects(leaf: Leaf, shots: list[int | None] | None) -> tuple[TaskEffects, list[int]]:
    """What a task does, and the numbers of exemplars to ask it with. Raises `Refused`."""
    name = leaf.name
    if "class" in leaf.config:
        raise Refused(f"the task {name} is a Python class, and gridc takes tasks that are configured")
    config = configured(leaf)
    if config.output_type not in ("multiple_choice", "generate_until"):
        raise Refused(f"the task {name} has the output type {config.output_type}, which gridc does not take")
    for key, what in (
        ("process_results", "scores answers with a function of its own (process_results)"),
        ("unsafe_code", "runs code that a model writes (unsafe_code)"),
        ("doc_to_image", "shows images (doc_to_image)"),
        ("doc_to_audio", "plays audio (doc_to_audio)"),
        ("use_prompt", "takes its prompt from promptsource (use_prompt)"),
    ):
        if getattr(config, key) not in (None, False):
            raise Refused(f"the task {name} {what}")
    counts = _shots(name, config.num_fewshot, shots)
    fewshot = config.fewshot_config
    delimiter = str(fewshot.target_delimiter)
    in_query = config.gen_prefix is not None or fewshot.gen_prefix is not None
    written = "" if in_query or not delimiter else f"{{{{ {json.dumps(delimiter, ensure_ascii=False)} }}}}"
    settings: dict[str, Any] = {
        "prompt": f"{{{{ query }}}}{{% if answer %}}{written}{{{{ answer }}}}{{% endif %}}",
        "shots": (config.num_fewshot or 0) if (config.num_fewshot or 0) in counts else counts[0],
        "options": "none",
        "option_order": "file",
    }
    if fewshot.fewshot_delimiter != "\n\n":
        settings["separators"] = {"blocks": fewshot.fewshot_delimiter}
    left_out: list[str] = []
    if in_query:
        left_out.append(
            "gen_prefix: in a chat lm_eval begins the model's answer with it, "
            "and gridc ends the user's text with it"
        )
    taken, direction = _metrics(name, config, left_out)
    if config.output_type == "multiple_choice":
        settings |= {
            "method": "loglikelihood",
            "candidates": "option_text",
            "seam": "context_length",
            "ties": "first",
        }
        if config.target_delimiter != " ":
            settings["delimiter"] = config.target_delimiter
            if config.target_delimiter:
                left_out.append("target_delimiter: in a chat lm_eval puts nothing before an option")
        choices = {"metric": {metric: dict(RANKED[metric]) for metric in taken}}
        settings |= next(iter(choices["metric"].values()))
    else:
        settings |= {"method": "match"} | _decoding(name, config, left_out)
        ignore = _ignored(name, taken[MATCHED])
        filters = _filters(name, config, left_out)
        choices = {
            "filter": {
                key: {"match": {"as": "filtered", **_stated(filters=steps, ignore=ignore)}}
                for key, steps in filters.items()
            }
        }
        settings |= next(iter(choices["filter"].values()))
    return TaskEffects(settings, choices, left_out, direction, in_query), counts


def _stated(**keys: Any) -> dict[str, Any]:
    """Keys that have something to say."""
    return {key: value for key, value in keys.items() if value}


def _shots(name: str, own: int | None, asked: list[int | None] | None) -> list[int]:
    """The numbers of exemplars to ask a task with, where None is its own."""
    counts = sorted({(own or 0) if count is None else count for count in asked or (None,)})
    if not counts or any(type(count) is not int or count < 0 for count in counts):
        raise Refused(f"{asked} says not how many exemplars the task {name} is asked with")
    if own == 0 and any(counts):
        raise Refused(f"the task {name} sets num_fewshot to 0, and lm_eval keeps to that")
    return counts


def _metrics(name: str, config: Any, left_out: list[str]) -> tuple[dict[str, Mapping[str, Any]], str]:
    """The metrics that gridc computes, with their parameters, and in which direction they are better."""
    from lm_eval.api.registry import DEFAULT_METRIC_REGISTRY

    ranked = config.output_type == "multiple_choice"
    listed = config.metric_list
    if listed is None:
        listed = [{"metric": metric} for metric in DEFAULT_METRIC_REGISTRY[config.output_type]]
    taken: dict[str, Mapping[str, Any]] = {}
    reasons: list[str] = []
    direction: bool | None = None
    for stated in listed if isinstance(listed, list) else [listed]:
        if not isinstance(stated, dict) or "metric" not in stated:
            raise Refused(f"the task {name} lists a metric without a name")
        metric = str(stated["metric"]).rpartition("/")[2]
        why = None
        if metric not in RANKED if ranked else metric != MATCHED:
            why = "gridc does not compute it"
        elif stated.get("aggregation", "mean") != "mean":
            why = f"its aggregation is {str(stated['aggregation']).rpartition('/')[2]}, and not the mean"
        elif stated.get("hf_evaluate") and not ranked:
            why = "it is computed by the package evaluate"
        elif direction is not None and bool(stated.get("higher_is_better", True)) != direction:
            why = "it is better in the other direction than the first metric"
        if why:
            reasons.append(f"metric {metric}: {why}")
            continue
        direction = bool(stated.get("higher_is_better", True))
        known = ("metric", "aggregation", "higher_is_better", "hf_evaluate")
        taken[metric] = {key: value for key, value in stated.items() if key not in known}
    if not taken:
        raise Refused(
            f"the task {name} has no metric that gridc computes ({'; '.join(reasons) or 'it lists none'})"
        )
    left_out += reasons
    return taken, "higher_is_better" if direction else "lower_is_better"


def _ignored(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    for key in parameters:
        if key not in MATCHES:
            raise Refused(
                f"the metric {MATCHED} of the task {name} has a parameter {key} that lm_eval does not know"
            )
    # What is written as a text is as good as true to lm_eval.
    return {
        MATCHES[key]: list(value) if key == "regexes_to_ignore" else True
        for key, value in parameters.items()
        if value
    }


def _decoding(name: str, config: Any, left_out: list[str]) -> dict[str, Any]:
    """How an answer is generated. Raises `Refused` for parameters that gridc does not have."""
    from lm_eval.defaults import DEFAULT_MAX_GEN_TOKS
    from lm_eval.models.utils import normalize_gen_kwargs

    try:
        stated = dict(normalize_gen_kwargs(config.generation_kwargs, DEFAULT_MAX_GEN_TOKS))
    except Exception as error:  # a value of another type
        raise Refused(f"lm_eval cannot take generation_kwargs of the task {name}: {words(error)}") from error
    if others := sorted(set(stated) - set(DECODING)):
        raise Refused(f"the task {name} generates with {', '.join(others)}, which gridc does not have")
    until = [text for text in stated["until"] or () if text is not None]
    if not all(isinstance(text, str) and text for text in until):
        raise Refused(f"the task {name} stops at something that is not a text (until)")
    sampled = bool(stated["do_sample"]) and float(stated.get("temperature", 0.0)) > 0
    decoding: dict[str, Any] = {"max_tokens": stated["max_gen_toks"]}
    if sampled:
        decoding["temperature"] = float(stated["temperature"])
    if until:
        decoding["stop"] = list(dict.fromkeys(until))
    if stated.get("top_p") is not None and sampled:
        decoding["top_p"] = float(stated["top_p"])
    elif stated.get("top_p") is not None:
        left_out.append(f"top_p {stated['top_p']}: decoding is greedy, so that it changes nothing")
    if stated["do_sample"] and not sampled:
        left_out.append("do_sample: the temperature is 0, so that decoding is greedy")
    return decoding


def _filters(name: str, config: Any, left_out: list[str]) -> dict[str, list[dict[str, Any]]]:
    """The pipelines of filters that gridc has, by name. Raises `Refused` where there is none."""
    listed = config.filter_list
    if listed is None:
        listed = [{"name": "none", "filter": [{"function": ONE_ANSWER}]}]
    taken: dict[str, list[dict[str, Any]]] = {}
    reasons: list[str] = []
    for stated in listed:
        if not isinstance(stated, dict) or not {"name", "filter"} <= stated.keys():
            raise Refused(f"the task {name} lists a filter without `name` and `filter`")
        steps = [dict(step) for step in stated["filter"]]
        try:
            if [step.get("function") for step in steps].count(ONE_ANSWER) != 1:
                _named(steps)
                raise _NotTaken(f"it does not end with {ONE_ANSWER}")
            if steps.pop().get("function") != ONE_ANSWER:
                _named(steps)
                raise _NotTaken(
                    f"{ONE_ANSWER} is not its last step, and later ones would read single characters"
                )
            taken[str(stated["name"])] = [_filter(step) for step in steps]
        except _NotTaken as why:
            reasons.append(f"filter {stated['name']}: {why}")
    if not taken:
        raise Refused(
            f"the task {name} has no filter that gridc has ({'; '.join(reasons) or 'it lists none'})"
        )
    left_out += reasons
    if config.repeats > 1:
        left_out.append(f"repeats {config.repeats}: only the first answer of an item counts")
    return taken


class _NotTaken(Exception):
    """A filter that gridc does not have."""


def _named(steps: list[dict[str, Any]]) -> None:
    """Raises `_NotTaken` for the first step that gridc does not have, whatever its place."""
    for step in steps:
        if step.get("function") != ONE_ANSWER:
            _filter(step)


def _filter(step: Mapping[str, Any]) -> dict[str, Any]:
    """A step of a pipeline, with lm_eval's defaults. Raises `_NotTaken`."""
    import lm_eval.filters  # noqa: F401 # registers them
    from lm_eval.api.registry import get_filter

    kind = str(step.get("function"))
    if kind not in ("regex", "multi_choice_regex", "map", "lowercase", "uppercase", "remove_whitespace"):
        raise _NotTaken(f"gridc does not have {kind.rpartition('/')[2]}")
    try:
        made = get_filter(kind)(**{key: value for key, value in step.items() if key != "function"})
    except (re.error, TypeError, AssertionError) as error:
        raise _NotTaken(f"lm_eval cannot make its {kind} ({words(error)})") from error
    if kind == "map":
        texts = [*made.mapping_dict, *made.mapping_dict.values(), made.default_value]
        if not all(isinstance(text, str) for text in texts):
            raise _NotTaken("its map gives something that is not a text")
        return {"kind": kind, "map": made.mapping_dict, "default": made.default_value}
    if "regex" not in kind:
        return {"kind": kind}
    if not isinstance(made.fallback, str) or not isinstance(made.group_select, int):
        raise _NotTaken(f"its {kind} has a fallback or a group of another type")
    read = {
        "kind": kind,
        "pattern": made.regex_pattern,
        "group": made.group_select,
        "fallback": made.fallback,
    }
    if kind == "multi_choice_regex":
        read |= {
            "ignore_case": made.ignore_case,
            "ignore_punctuation": made.ignore_punctuation,
            **_stated(ignore=list(made.regexes_to_ignore or ())),
        }
    return read
