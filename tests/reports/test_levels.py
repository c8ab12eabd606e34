"""What the levels of an axis are called where their labels are digests."""

import json

from gridc.compiler.inputs.logs.records import log_axis
from gridc.reports.words import level_names


def names(*values: object) -> list[str]:
    made = [log_axis("prompt", value) for value in values]
    assert all(one.label.startswith("#") or one.label == one.value for one in made)
    return list(level_names({one.value: one.label for one in made}).values())


def test_tables_are_named_by_what_differs() -> None:
    same = {"an_argument_that_is_the_same": "x" * 30}
    assert names({"t": 0.7, **same}, {"t": 0, **same}) == ["t: 0.7", "t: 0"]
    long = "You are a careful assistant. " * 3
    assert names({"system": "none", **same}, {"system": long, **same}) == ["system: none", "system"]
    assert names({"system": long, **same}, {"system": long * 2, **same}) == ["system", "system (2)"]
    assert names({"a": 1, **same}, same) == ["a: 1", "a: unset"]
    # Beside a level that is not a table every key differs.
    assert names("none", {"framing": "a text that is longer"}) == ["none", "framing: a text that is longer"]
    wide = [{f"argument_{n}": f"{n} {value}" for n in range(9)} for value in "xy"]
    assert names(*wide) == ["argument_0 and 8 more", "argument_0 and 8 more (2)"]


def test_lists_and_what_is_within_them_are_named_by_their_places() -> None:
    steps = [[{"solver": "generate", "params": {"attempts": n, "tools": []}}] for n in (1, 2)]
    assert names(*steps) == ["[0].params.attempts: 1", "[0].params.attempts: 2"]


def test_long_texts_are_named_by_their_beginning_and_labels_stay() -> None:
    long = "Answer the question that\nfollows, with one word and no other."
    assert names(long, "short") == ["Answer the question that follows; with …", "short"]
    assert level_names({json.dumps({"a": "x" * 30}): "given", "none": "none"}) == {
        json.dumps({"a": "x" * 30}): "a",
        "none": "none",
    }
