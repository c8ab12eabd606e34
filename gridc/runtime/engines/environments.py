"""Whether answers were computed in one environment: elsewhere the same model may answer differently."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gridc.diagnostics.errors import Diagnostic

KEYS = (
    "gridc", "plugin", "versions", "device", "cuda", "instructions", "threads", "blas", "precision", "dtype",
    "quantisation", "as_shipped",
)  # fmt: skip
"""What of `Engine.effective` arithmetic depends on."""


def differing(environments: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The keys on which environments differ, with every value, in order of appearance. What one of them does
    not state is not compared."""
    values: dict[str, dict[str, Any]] = {}
    for environment in environments:
        for key, value in _stated(environment):
            values.setdefault(key, {})[json.dumps(value, sort_keys=True)] = value
    return {key: list(found.values()) for key, found in values.items() if len(found) > 1}


def _stated(environment: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What it says of each key, and of each entry where that is a table: `versions.torch`."""
    for key in KEYS:
        value = environment.get(key)
        if isinstance(value, dict):
            yield from ((f"{key}.{name}", entry) for name, entry in value.items())
        elif key in environment:
            yield key, value


def told(model: str, unlike: Mapping[str, Iterable[Any]]) -> str:
    """The difference in a sentence."""
    keys = "; ".join(f"{key} {_listed(values)}" for key, values in unlike.items())
    return f"`{model}` is answered in environments that differ: {keys}"


def refusal(sentence: str) -> Diagnostic:
    """What is said where they are not acknowledged."""
    help_line = (
        "use equal machines, or --acknowledge environments, which is recorded as an observed deviation"
    )
    return Diagnostic("GC652", sentence, help=help_line)


def _listed(values: Iterable[Any]) -> str:
    texts = (value if isinstance(value, str) else json.dumps(value, sort_keys=True) for value in values)
    return " and ".join(text if len(text) <= 60 else f"{text[:57]}..." for text in texts)
