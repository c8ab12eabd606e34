"""Refusals by phrases, beside labels that were fixed before anybody read the phrases.

Half of the responses was open to whoever wrote the phrases, half was kept from them: the second half is what
gridc says of its own error.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from gridc.compiler.instrument.readers import ERROR, refuses

ROWS = [
    json.loads(line) for line in Path(__file__).with_name("refusals.jsonl").read_text("utf-8").splitlines()
]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("half", "missed", "taken"), [("open", 5, 3), ("held", 36, 2)])
def test_what_the_phrases_miss_and_what_they_take_for_a_refusal(half: str, missed: int, taken: int) -> None:
    found = Counter((row["behaviour"], refuses(row["text"])) for row in ROWS if row["half"] == half)
    assert found["refused", True] + found["refused", False] == 60
    assert (found["refused", False], found["answered", True]) == (missed, taken)


def test_the_error_that_is_stated_is_the_one_of_the_half_that_was_kept_back() -> None:
    held = [row for row in ROWS if row["half"] == "held"]
    missed = sum(row["behaviour"] == "refused" and not refuses(row["text"]) for row in held)
    taken = sum(row["behaviour"] == "answered" and refuses(row["text"]) for row in held)
    languages = len({row["language"] for row in held})
    said = f"in {languages} languages, they missed {missed}, and took {taken} of 60 answers for refusals"
    assert said in ERROR
    assert said in " ".join((ROOT / "docs" / "refusals.md").read_text("utf-8").split())
