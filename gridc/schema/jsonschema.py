"""The published JSON Schemas (draft 2020-12), generated from the typed models.

`gridcard` is the language, `extension` the same for a spec that says only in what it differs from another,
`deviations` the log beside it; `certificate`, `estimates`, `card`, `scorecard` and `deviation-report` are
what a study gives; `policy` says what a run may lose against another one, `comparison`
what it lost, `logs` what logs of other packages certify, and `studies` is one report over several.
"""

import json
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gridc.files import write_atomic

NAMES = (
    "gridcard", "extension", "deviations",
    "certificate", "estimates", "card", "scorecard", "deviation-report", "policy", "comparison", "logs",
    "studies",
)  # fmt: skip

EXTENDING: dict[str, Any] = {
    "extends": {
        "type": "string",
        "minLength": 1,
        "description": "The spec beside this one whose tables stand here unless they are written again. "
        "Tables are merged key by key, entries with an `id` into the entry of that id; other entries are "
        "added behind the base's, and any other value stands in the place of the base's.",
        "examples": ["base.toml"],
    },
    "remove": {
        "type": "array",
        "items": {"type": "string", "minLength": 1},
        "description": "What is left out of the base before it is merged: keys and ids as in `binds`; a "
        "waiver by its code. Default: nothing.",
        "examples": [["axis.template.level.T4", "benchmark.bbq.exemplars", "exclude", "waive.GC513"]],
    },
}
"""The keys of an extension that no other spec has. They say how the spec is read, and are no part of it."""


def file_name(name: str) -> str:
    """The file that a schema is committed as."""
    return f"{name}.v1.schema.json"


def generate(name: str = "gridcard") -> dict[str, Any]:
    """The schema as the models define it now."""
    if name == "extension":
        return _extension(generate())
    # The models of the documents are imported here, because validating a spec needs none of them.
    from gridc.schema.card import CardDeck
    from gridc.schema.certificate import Certificate
    from gridc.schema.comparison import RunComparison
    from gridc.schema.deviation import DeviationLog, DeviationReport
    from gridc.schema.estimates import Estimates
    from gridc.schema.policy import Policy
    from gridc.schema.recorded import LogCertificate
    from gridc.schema.scorecard import Scorecard
    from gridc.schema.spec import Spec
    from gridc.schema.studies import StudiesTogether

    models: dict[str, tuple[type[BaseModel], str]] = {
        "gridcard": (Spec, "GRID card"),
        "deviations": (DeviationLog, "gridc deviation log"),
        "certificate": (Certificate, "gridc certificate"),
        "estimates": (Estimates, "gridc estimates"),
        "card": (CardDeck, "GRID cards of a study"),
        "scorecard": (Scorecard, "gridc scorecard"),
        "deviation-report": (DeviationReport, "gridc deviation log as a report"),
        "policy": (Policy, "gridc release policy"),
        "comparison": (RunComparison, "gridc comparison of two runs"),
        "logs": (LogCertificate, "gridc certificate of logs"),
        "studies": (StudiesTogether, "gridc report over several studies"),
    }
    model, title = models[name]
    schema = model.model_json_schema(by_alias=True, mode="validation")
    for definition in (schema, *schema["$defs"].values()):
        _tidy(definition)
        _describe(definition, schema["$defs"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:gridc:schema:{name}:1",
        **schema,
        "title": title,
    }


def text(name: str = "gridcard") -> str:
    """The schema as it is committed and printed."""
    return json.dumps(generate(name), indent=2, ensure_ascii=False) + "\n"


def write(name: str, folder: Path) -> Path:
    """Write the schema into a folder in one step; its path. Raises `OSError`."""
    path = folder / file_name(name)
    write_atomic(path, text(name))
    return path


def load(name: str = "gridcard") -> dict[str, Any]:
    """The committed schema; a test holds it equal to `generate()`."""
    source = resources.files("gridc.schema").joinpath(file_name(name)).read_text("utf-8")
    schema: dict[str, Any] = json.loads(source)
    return schema


def _extension(schema: dict[str, Any]) -> dict[str, Any]:
    """The language's schema where every table may leave out what its base says: `id` names an entry, and what
    has none is an entry of its own."""
    fields = list(schema["properties"].values())
    sections = [table for field in fields if "items" not in field for table in _held(field, schema)]
    entries = [table for field in fields if "items" in field for table in _held(field, schema)]
    nested = [
        table for section in entries for field in section["properties"].values()
        if "items" in field for table in _held(field, schema)
    ]  # fmt: skip
    for table in sections:
        table["required"] = []
    for table in (*entries, *nested):
        if "id" in table.get("required", ()):
            table["required"] = ["id"]
    hypotheses = schema["properties"]["hypothesis"]["items"]
    schema["properties"]["hypothesis"]["items"] = {"anyOf": hypotheses["oneOf"]}
    head = {key: schema[key] for key in ("$schema", "$defs", "additionalProperties", "type")}
    return {
        **head,
        "$id": "urn:gridc:schema:extension:1",
        "title": "GRID card that extends another",
        "description": "A spec that says only in what it differs from another one.",
        "properties": EXTENDING | schema["properties"],
        "required": ["gridcard", "extends"],
    }


def _held(field: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The tables that a key holds, one or several."""
    if "$ref" in field:
        return [schema["$defs"][field["$ref"].rpartition("/")[2]]]
    inner = [
        *field.get("anyOf", ()),
        *field.get("oneOf", ()),
        *([field["items"]] if "items" in field else []),
    ]
    return [table for branch in inner for table in _held(branch, schema)]


def _tidy(definition: dict[str, Any]) -> None:
    """Optional keys are left out of a TOML file, never null; generated titles only repeat the key."""
    for name, field in definition.get("properties", {}).items():
        field.pop("title", None)
        if isinstance(field.get("default"), dict):
            field["default"] = {key: value for key, value in field["default"].items() if value is not None}
        if field.get("default", ...) is not None:
            continue
        del field["default"]
        branches = [branch for branch in field.get("anyOf", ()) if branch != {"type": "null"}]
        if len(branches) > 1:
            field["anyOf"] = branches
        if len(branches) == 1:
            del field["anyOf"]
            definition["properties"][name] = branches[0] | field


def _describe(definition: dict[str, Any], tables: dict[str, Any]) -> None:
    """A key that is a table of its own says what the table says, because editors show the key's words."""
    for field in definition.get("properties", {}).values():
        if "$ref" in field and "description" not in field:
            field["description"] = tables[field["$ref"].rpartition("/")[2]]["description"]
