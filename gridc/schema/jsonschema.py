"""The published JSON Schemas (draft 2020-12), generated from the typed models.

`gridcard` is the language, `deviations` the log beside it; `certificate` and `card` are what a study gives.
"""

import json
from importlib import resources
from typing import Any

from pydantic import BaseModel

NAMES = ("gridcard", "deviations", "certificate", "card")


def file_name(name: str) -> str:
    """The file that a schema is committed as."""
    return f"{name}.v1.schema.json"


def generate(name: str = "gridcard") -> dict[str, Any]:
    """The schema as the models define it now."""
    # The models of the documents are imported here, because validating a spec needs none of them.
    from gridc.schema.card import CardDeck
    from gridc.schema.certificate import Certificate
    from gridc.schema.deviation import DeviationLog
    from gridc.schema.spec import Spec

    models: dict[str, tuple[type[BaseModel], str]] = {
        "gridcard": (Spec, "GRID card"),
        "deviations": (DeviationLog, "gridc deviation log"),
        "certificate": (Certificate, "gridc certificate"),
        "card": (CardDeck, "GRID cards of a study"),
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


def load(name: str = "gridcard") -> dict[str, Any]:
    """The committed schema; a test holds it equal to `generate()`."""
    source = resources.files("gridc.schema").joinpath(file_name(name)).read_text("utf-8")
    schema: dict[str, Any] = json.loads(source)
    return schema


def _tidy(definition: dict[str, Any]) -> None:
    """Optional keys are left out of a TOML file, never null; generated titles only repeat the key."""
    for name, field in definition.get("properties", {}).items():
        field.pop("title", None)
        if isinstance(field.get("default"), dict):
            field["default"] = {key: value for key, value in field["default"].items() if value is not None}
        if field.get("default", ...) is not None:
            continue
        del field["default"]
        branches = [each for each in field.get("anyOf", ()) if each != {"type": "null"}]
        if len(branches) == 1:
            del field["anyOf"]
            definition["properties"][name] = branches[0] | field


def _describe(definition: dict[str, Any], tables: dict[str, Any]) -> None:
    """A key that is a table of its own says what the table says, because editors show the key's words."""
    for field in definition.get("properties", {}).values():
        if "$ref" in field and "description" not in field:
            field["description"] = tables[field["$ref"].rpartition("/")[2]]["description"]
