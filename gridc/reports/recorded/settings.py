"""What a run was made with, argument by argument, and of what each argument is.

A provider's arguments name the model, the machine and the seed beside what is asked of the model. Only the
last is the instrument: a release and its baseline are not two instruments because they have two names.
"""

import re
from collections.abc import Iterator
from typing import Any

from gridc.compiler.inputs.logs.records import LogAxis, LogRun
from gridc.reports.levels import table
from gridc.schema.policy import Aspect

OF_MODEL = frozenset([
    "adapter", "adapter_name_or_path", "base_url", "code_revision", "delta", "deployment", "gguf_file",
    "lora", "lora_local_path", "lora_path", "model", "model_base_url", "model_id", "model_name",
    "model_name_or_path", "model_path", "path", "peft", "pretrained", "revision", "served_model_name",
    "subfolder", "tokenizer", "tokenizer_name", "tokenizer_path", "tokenizer_revision",
])  # fmt: skip
"""Which model answers, or where it lies."""
OF_MACHINE = frozenset([
    "batch_size", "cache_dir", "data_parallel_size", "device", "device_map", "download_dir",
    "gpu_memory_utilization", "gpus", "max_batch_size", "max_connections", "max_cpu_memory",
    "max_memory_per_gpu", "max_retries", "num_concurrent", "offload_folder", "parallelize",
    "pipeline_parallel_size", "tensor_parallel_size", "timeout",
])  # fmt: skip
"""On what it answers, and how often it is asked at once."""
SECRET = re.compile(r"(?i)(^|_)(api_?key|token|secret|password)$")
OWN_NAME = "{model}"
"""Stands for a model's own name in a path."""


def settings_of(run: LogRun) -> Iterator[tuple[tuple[Aspect, str], object]]:
    """By (aspect, `axis`), or (aspect, `axis.argument`) of an axis that is a table."""
    for name, one in run.axes.items():
        arguments = table(one.value)
        if arguments is None:
            yield (one.aspect, name), one.value
            continue
        for argument, value in arguments.items():
            if not SECRET.search(argument):
                shared = value if "template" in argument else _without_name(value, run.called or run.model)
                yield (_aspect(one, argument), f"{name}.{argument}"), shared


def _aspect(one: LogAxis, argument: str) -> Aspect:
    """Arguments of a task may name a model too, such as a judge: they are no model's own."""
    if not one.own:
        return one.aspect
    if argument in OF_MODEL:
        return "model"
    if argument in OF_MACHINE:
        return "environment"
    return "seed" if argument == "seed" else one.aspect


def _without_name(value: Any, model: str) -> object:
    """A path with `{model}` where it has the model's own name, so that what else it says is compared. The
    file of a template is compared by its whole name, because its name is all that is known of it."""
    if not isinstance(value, str) or not re.search(r"[/\\]", value):
        return value
    for name in filter(None, (model, re.split(r"[/\\]", model)[-1])):
        value = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", OWN_NAME, value, flags=re.IGNORECASE)
    return value
