"""Selectors: what they match, what they mention, and what is not a selector."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gridc.schema.base import Selector

PLACE = {"template": "T1", "decoding": "greedy", "model": "left", "benchmark": "facts", "tier": "core"}


def selector(table: dict[str, Any]) -> Selector:
    return Selector.model_validate(table)


@pytest.mark.parametrize(
    ("table", "matches"),
    [
        ({}, True),
        ({"template": "T1"}, True),
        ({"template": "T2"}, False),
        ({"template": "t1"}, False),
        ({"template": "T"}, False),
        ({"template": ["T2", "T1"]}, True),
        ({"template": ["T2", "T3"]}, False),
        ({"template": {"not": "T2"}}, True),
        ({"template": {"not": "T1"}}, False),
        ({"template": {"not": ["T2", "T1"]}}, False),
        ({"template": {"not": ["T2", "T3"]}}, True),
        ({"template": "T1", "decoding": "greedy"}, True),
        ({"template": "T1", "decoding": "warm"}, False),
        ({"template": "T2", "decoding": "greedy"}, False),
        ({"tier": "core", "model": {"not": "right"}, "benchmark": ["facts"]}, True),
        ({"few_shot": "0"}, False),
        ({"few_shot": {"not": "0"}}, False),
    ],
)
def test_a_selector_matches_where_every_dimension_does(table: dict[str, Any], matches: bool) -> None:
    assert selector(table).matches(PLACE) is matches


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ({}, []),
        ({"a": "x"}, [(("a",), "a", "x")]),
        (
            {"a": ["x", "y"], "b": {"not": "z"}},
            [(("a", 0), "a", "x"), (("a", 1), "a", "y"), (("b", "not"), "b", "z")],
        ),
        (
            {"b": {"not": ["z", "w"]}, "a": "not"},
            [(("b", "not", 0), "b", "z"), (("b", "not", 1), "b", "w"), (("a",), "a", "not")],
        ),
    ],
)
def test_a_selector_tells_every_name_that_it_mentions_and_where(
    table: dict[str, Any], names: list[tuple[tuple[str | int, ...], str, str]]
) -> None:
    assert list(selector(table).mentions()) == names


@pytest.mark.parametrize(
    "table",
    [
        {"a": ""},
        {"a": []},
        {"a": [""]},
        {"a": 1},
        {"a": None},
        {"a": {}},
        {"a": {"not": []}},
        {"a": {"not": {"not": "x"}}},
        {"a": {"not": "x", "also": "y"}},
        {"a": {"not_": "x"}},
        {"a": ["x", {"not": "y"}]},
        ["a"],
        "a",
    ],
)
def test_what_is_not_a_selector_is_refused(table: Any) -> None:
    with pytest.raises(ValidationError):
        selector(table)


NAMES = st.sampled_from(["x", "y", "z"])
CHOICES = NAMES | st.lists(NAMES, min_size=1, max_size=3)
TABLES = st.dictionaries(
    st.sampled_from(["a", "b"]), CHOICES | st.builds(lambda each: {"not": each}, CHOICES), max_size=2
)


def admitted(choice: Any) -> set[str]:
    if isinstance(choice, dict):
        return {"x", "y", "z"} - admitted(choice["not"])
    return {choice} if isinstance(choice, str) else set(choice)


@given(TABLES)
def test_a_selector_selects_the_product_of_what_each_dimension_admits(table: dict[str, Any]) -> None:
    chosen = selector(table)
    for a, b in product("xyz", repeat=2):
        expected = all({"a": a, "b": b}[name] in admitted(choice) for name, choice in table.items())
        assert chosen.matches({"a": a, "b": b}) is expected


@given(TABLES)
def test_a_selector_comes_back_from_its_json(table: dict[str, Any]) -> None:
    chosen = selector(table)
    assert chosen.model_dump(mode="json", by_alias=True) == table
    assert selector(chosen.model_dump(mode="json", by_alias=True)) == chosen
