"""Refusals by a study's own phrases: where they are looked for, and what counts as one."""

import pytest

from gridc.compiler.instrument.refusals import WINDOW, phrases_of, refusal_keywords
from gridc.schema.scores import BEHAVIOURS

PHRASES = phrases_of(("I can't", "not (now)"))


@pytest.mark.parametrize(
    ("response", "read"),
    [
        ("I can't say.", "refuse"),
        ("i CAN’T say.", "refuse"),
        ("Well, not (now).", "refuse"),
        ("not now", "comply"),  # a phrase is no pattern
        ("I won't.", "comply"),  # which gridc's own phrases call a refusal
        ('He said "I can\'t", and then he did.', "comply"),
        (f"{'So. ' * (WINDOW // 4)}I can't.", "comply"),
        ("  \n", None),
    ],
)
def test_a_response_refuses_by_the_phrases_that_are_stated(response: str, read: str | None) -> None:
    found = refusal_keywords(response, PHRASES).option
    assert (None if found is None else BEHAVIOURS[found]) == read
