"""What a spec may write in short: the declaration of each shorthand, and the JSON Schema of what is written.

The typed models describe a spec that is written out. `gridc.compiler.frontend.expansion` writes the
shorthand out before gridc validates; editors see a spec as it was typed, so the published schema takes both.
"""

import re
from collections.abc import Iterator
from typing import Any, get_args

from gridc.schema.statistics import NAMED_ATTEMPTS, StatisticKind

SEVERAL = ("model", "benchmark", "outcome", "statistic", "judge")
"""Tables that may have a list of ids: one table for each, which share the other keys."""
ITS_ID = "{id}"
"""In a text of such a table: the id."""
KIND_BY_ID = ("statistic", get_args(StatisticKind))
"""A table that says its kind by its id, where the id is one of these names or says `k` too."""
OF_AXIS = ("tier", "provenance")
"""Keys of an axis that its levels have where they state none."""

HAS_ITS_ID = {"pattern": re.escape(ITS_ID), "type": "string"}
"""A text in which the id makes one of the names, or fits the pattern, that the schema asks for."""


def written(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of specs that are written out, changed in place into that of specs as they are written."""
    keys_in_short(schema)
    tables, reached = schema["$defs"], set[str]()
    for name in _repeated(schema):
        _reach(name, tables, reached)
    for name in sorted(reached):
        for key, field in tables[name].get("properties", {}).items():
            if key != "id":
                tables[name]["properties"][key] = _may_have_id(field)
    return schema


def keys_in_short(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with the keys that may be left out or have a list, and no word on `{id}` in their texts."""
    tables: dict[str, Any] = schema["$defs"]
    _take_kind_from_id(tables)
    _take_from_axis(tables)
    for name in _repeated(schema):
        identity = tables[name]["properties"]["id"]
        one = {rule: identity.pop(rule) for rule in ("type", "pattern", "maxLength")}
        several = {"items": one, "minItems": 1, "type": "array"}
        tables[name]["properties"]["id"] = {"anyOf": [one, several], **identity}
    for field in (schema["properties"][key] for key in SEVERAL):
        if any("$ref" in branch for branch in field.get("anyOf", ())):
            field["properties"] = {"id": {"type": "string"}}  # a table that is in no list has one id
    return schema


def _repeated(schema: dict[str, Any]) -> list[str]:
    """The tables that may have a list of ids, by the names that the schema has for them."""
    return list(dict.fromkeys(name for key in SEVERAL for name in _referred(schema["properties"][key])))


def _take_kind_from_id(tables: dict[str, Any]) -> None:
    name, kinds = KIND_BY_ID
    table = tables[name.capitalize()]
    if "kind" in table["required"]:
        table["required"].remove("kind")
        table["properties"]["kind"]["description"] += " Default: the `id`."
        known = {"anyOf": [{"enum": list(kinds)}, {"pattern": NAMED_ATTEMPTS, "type": "string"}]}
        table["if"] = {"not": {"required": ["kind"]}}
        table["then"] = {"properties": {"id": {"anyOf": [known, {"items": known, "type": "array"}]}}}


def _take_from_axis(tables: dict[str, Any]) -> None:
    needed = [key for key in OF_AXIS if key in tables["Level"]["required"]]
    if needed:
        tables["Level"]["required"] = [key for key in tables["Level"]["required"] if key not in needed]
        for key in needed:
            tables["Level"]["properties"][key]["description"] += " Default: the axis's."
        tables["Axis"]["allOf"] = [
            {
                "if": {"not": {"required": [key]}},
                "then": {"properties": {"level": {"items": {"required": [key]}}}},
            }
            for key in needed
        ]


def _reach(name: str, tables: dict[str, Any], reached: set[str]) -> None:
    """Add a table, and all that it may hold, to those that were reached."""
    if name not in reached:
        reached.add(name)
        for inner in _referred(tables[name]):
            _reach(inner, tables, reached)


def _referred(node: Any) -> Iterator[str]:
    """The tables that a part of the schema refers to."""
    if isinstance(node, dict):
        if isinstance(reference := node.get("$ref"), str):
            yield reference.rpartition("/")[2]
        node = list(node.values())
    for inner in node if isinstance(node, list) else ():
        yield from _referred(inner)


def _may_have_id(field: Any) -> Any:
    """A key that takes certain texts only, and one that has the id in it."""
    if isinstance(field, list):
        return [_may_have_id(branch) for branch in field]
    if not isinstance(field, dict):
        return field
    if field.get("type") == "string" and {"pattern", "enum"} & field.keys():
        rules = ("type", "pattern", "enum", "maxLength", "minLength")
        only = {rule: field[rule] for rule in rules if rule in field}
        rest = {key: value for key, value in field.items() if key not in only}
        return {"anyOf": [only, HAS_ITS_ID], **rest}
    branches = ("anyOf", "oneOf", "items", "additionalProperties", "patternProperties")
    return {key: _may_have_id(inner) if key in branches else inner for key, inner in field.items()}
