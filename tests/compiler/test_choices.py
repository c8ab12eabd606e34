"""Choices in responses that were written, with their gold, by authors who had not seen how they are read.

The sets are open to whoever changes the rules, and show what a change breaks. `held` was kept back: no rule
was made by it, so that it shows how much is read of responses that nobody tuned to.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.instrument.extract import extract
from gridc.compiler.instrument.refusals import refuses

ROWS = [
    json.loads(line) for line in Path(__file__).with_name("choices.jsonl").read_text("utf-8").splitlines()
]
COUNTS = {
    "open": (138, 12, 0),
    "second": (185, 15, 0),
    "third": (137, 13, 0),
    "fourth": (173, 7, 0),
    "fifth": (175, 5, 0),
    "held": (125, 23, 2),
}
"""Right, unread and wrong, of each set. The rules of version 2 read 118, 25 and 7 of `held`."""


def test_the_counts_of_every_set_are_known() -> None:
    assert {row["half"] for row in ROWS} == set(COUNTS)


@pytest.mark.parametrize("half", COUNTS)
def test_what_is_read_of_responses_by_somebody_who_had_not_seen_the_rules(half: str) -> None:
    rows = [row for row in ROWS if row["half"] == half]
    found = Counter(
        "right" if read == row["gold"] else "unread" if read is None else "wrong"
        for row in rows
        for read in [extract(row["text"], row["options"]).option]
    )
    assert (found["right"], found["unread"], found["wrong"]) == COUNTS[half]


CASES = Path(__file__).parents[1] / "instrument" / "cases"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / f"{name}.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", lines("choices"), ids=lambda case: case["text"][:40])
def test_each_kind_of_choice_is_read_right(case: dict[str, Any]) -> None:
    """`unread`: it chooses in words that no rule reads, and nothing is read."""
    assert extract(case["text"], case["options"]).option == (None if case.get("unread") else case["gold"])


@pytest.mark.parametrize("case", lines("refusals"), ids=lambda case: case["text"][:40])
def test_each_kind_of_refusal_is_told_from_an_answer(case: dict[str, Any]) -> None:
    assert refuses(case["text"]) == (case["behaviour"] == "refused")


@pytest.mark.parametrize("case", lines("thoughts"), ids=lambda case: case["format"])
def test_each_thought_is_told_from_its_answer(case: dict[str, Any]) -> None:
    found = extract(case["text"], ["The mayor", "The guard"])
    if case["read"] == "cut":
        assert found.rule == "the reasoning never ended"
    else:
        assert found.option == "AB".index(case["read"])
