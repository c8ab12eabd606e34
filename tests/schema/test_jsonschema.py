"""The published JSON Schema is the one that the typed models define."""

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gridc.schema import jsonschema

NAMES = (
    "gridcard", "extension", "deviations",
    "certificate", "estimates", "card", "scorecard", "deviation-report",
)  # fmt: skip
LANGUAGE = ("gridcard", "extension", "deviations")
SELF_EXPLAINING = {"loader"}
"""Keys whose choices are the names of things that are documented elsewhere."""


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_schema_is_the_generated_one(name: str) -> None:
    assert jsonschema.load(name) == jsonschema.generate(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_is_a_valid_schema(name: str) -> None:
    Draft202012Validator.check_schema(jsonschema.load(name))


@pytest.mark.parametrize("name", LANGUAGE)
def test_every_table_refuses_unknown_keys_and_has_words(name: str) -> None:
    tables = [each for each in nodes(jsonschema.load(name)) if {"properties", "type"} <= each.keys()]
    assert len(tables) >= 3
    for table in tables:
        assert table["additionalProperties"] is False, table.get("title")
        assert table["description"], table.get("title")


@pytest.mark.parametrize("name", LANGUAGE)
def test_every_key_has_words_and_names_each_of_its_choices(name: str) -> None:
    """What an editor shows as a spec is typed. A choice that the words do not name is not explained."""
    for table in nodes(jsonschema.load(name)):
        for key, field in table.get("properties", {}).items() if "type" in table else ():
            where = (table.get("title"), key)
            assert len(field.get("description", "")) >= 8, where
            assert field["description"].rstrip().endswith((".", "?", ")")), where
            if key not in SELF_EXPLAINING:
                missing = [each for each in field.get("enum", ()) if str(each) not in field["description"]]
                assert not missing, (where, missing)


@pytest.mark.parametrize("name", LANGUAGE)
def test_every_example_and_default_of_a_key_is_valid(name: str) -> None:
    schema = jsonschema.load(name)
    for table in nodes(schema):
        for key, field in table.get("properties", {}).items():
            check = Draft202012Validator({**field, "$defs": schema["$defs"]})
            for value in (*field.get("examples", ()), *([field["default"]] if "default" in field else ())):
                assert check.is_valid(value), (table.get("title"), key, value)


def test_an_extension_may_leave_out_what_its_base_says_and_nothing_else_is_looser() -> None:
    check = Draft202012Validator(jsonschema.load("extension"))
    head = {"gridcard": 1, "extends": "base.toml"}
    loose: tuple[dict[str, Any], ...] = (
        {},
        {"benchmark": [{"id": "bbq", "shots": 3}]},
        {"axis": [{"id": "template", "level": [{"id": "T1", "prompt": "builtin:T2"}]}]},
        {"study": {"title": "Another"}, "hypothesis": [{"id": "H1", "family": "second"}]},
        {"remove": ["exclude"]},
    )
    for part in loose:
        assert check.is_valid(head | part), part
    wrong: tuple[dict[str, Any], ...] = (
        {"benchmark": [{"shots": 3}]},
        {"benchmark": [{"id": "bbq", "shot": 3}]},
        {"exclude": [{"why": "no part of the grid"}]},
        {"axis": [{"id": "template", "level": [{"prompt": "builtin:T2"}]}]},
        {"analysis": {"bootstrap": {"seed": 1}}},
    )
    for part in wrong:
        assert not check.is_valid(head | part), part


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Every table of a JSON document."""
    if isinstance(node, dict):
        yield node
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(each)


def test_no_optional_key_may_be_null() -> None:
    def nulls(node: object) -> bool:
        if isinstance(node, dict):
            return node.get("type") == "null" or any(nulls(each) for each in node.values())
        return isinstance(node, list) and any(nulls(each) for each in node)

    assert not nulls(jsonschema.load())
