"""Which parts of gridc's own code decide the prompts and scores of a study."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gridc.compiler.grid.configurations import effect_tables, stated_scaffolds
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.setting import DEFAULTS
from gridc.schema.scaffold import USER_TURNS
from gridc.schema.spec import Spec


def behaviour(spec: Spec) -> dict[str, int]:
    """The version of each part that the study uses: what a stamp holds of gridc itself."""
    from gridc.compiler.instrument.versions import PARTS  # that costs, and not every command asks

    return {part: PARTS[part] for part in parts(spec)}


def parts(spec: Spec) -> list[str]:
    """The parts that the study uses."""
    from gridc.compiler.instrument.versions import PARTS

    return sorted(set(_parts(spec)) & PARTS.keys())


def parts_lacking(stamped: Mapping[str, Any]) -> list[str]:
    """The parts that a stamped spec uses and its stamp holds no version of, though it holds some."""
    held = stamped.get("behaviour")
    if held is None:
        return []
    try:
        spec = Spec.model_validate_json(json.dumps(stamped["spec"]), strict=True)
    except ValueError:  # of a language that changed since: then nothing here is the study that was stamped
        return []
    return [part for part in parts(spec) if part not in held]


def _parts(spec: Spec) -> Iterator[str]:
    """The parts by name, with what is no part (a plug-in's, a default that does nothing)."""
    held = {key: _values(spec, key) for key in _KEYS}
    methods = [METHODS[method] for method in held["method"]]
    yield from (f"method:{method}" for method in held["method"])
    yield from (f"options:{style}" for style in held["options"])
    yield from (f"casing:{casing}" for casing in held["casing"])
    yield from (f"enumerator:{_token(mark)}" for mark in held["enumerator"])
    yield from (f"reader:{method.fixes['reader']}" for method in methods if "reader" in method.fixes)
    if any(method.reads_text for method in methods):
        yield from (f"reader:{reader}" for reader in held["reader"])
    yield from (f"match:{match.kind}" for match in held["match"] if match is not None)
    if any(method.ranks for method in methods):
        for key in ("candidates", "normalise", "ties"):
            yield from (f"{key}:{value}" for value in held[key])
        only = [method.candidates for method in methods if len(method.candidates) == 1]
        yield from (f"candidates:{value}" for (value,) in only)
    if any(value is not None for value in held["wrapper"]):
        yield "prompt:wrapper"
    if any(isinstance(value, Mapping) for value in held["prompt"]):
        yield "prompt:parts"
    if any(value is not None for value in held["scores"]):
        yield "scores:stated"
    yield "scaffold:direct"  # how a prompt and a system prompt become messages
    for scaffold in stated_scaffolds(spec):
        yield f"scaffold:{scaffold.kind}"
        yield from (f"tool:{tool}" for tool in scaffold.tools)
    mapped = [each.loading.fields for each in spec.benchmark if each.loading.fields is not None]
    if any(fields.messages for fields in mapped):
        yield "prompt:messages"
    if any(fields.tools for fields in mapped):
        yield "tool:scripted"
    judges = spec.declared_judges
    if judges and any(scaffold.kind in USER_TURNS for scaffold in stated_scaffolds(spec)):
        yield "judge:turns"
    if judges:
        yield "method:judge"
    if any(judge.scale is not None for judge in judges):
        yield "judge:scale"
    if any(judge.compares is not None for judge in judges):
        yield "judge:compares"
    if any(judge.blinding is not None and judge.blinding.sanitise for judge in judges):
        yield "sanitiser:classes"


_KEYS = (
    "method", "reader", "options", "casing", "enumerator", "prompt", "wrapper", "candidates", "normalise",
    "ties", "scores", "match",
)  # fmt: skip


def _values(spec: Spec, key: str) -> list[Any]:
    """The values that a key may have in some cell: those that are stated, and its default unless `[harness]`
    states it."""
    stated = [
        value for table in effect_tables(spec) if (value := getattr(table.table, key, None)) is not None
    ]
    if getattr(spec.harness, key, None) is None and key in DEFAULTS:
        stated.append(DEFAULTS[key])
    return stated


def _token(mark: str) -> str:
    """What counts in an enumerator: `A` of `(A)`."""
    token = re.search(r"[Aa1Ii]", mark)
    return "bullet" if token is None else token[0]
