"""Free text against right answers: responses that people labelled, numbers against arithmetic, mistakes."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.matching import (
    COMPARISONS,
    Unmatchable,
    numbers,
    read_answer,
    right_answers,
)
from gridc.schema.effects import Match
from gridc.schema.scores import MATCHES
from tests.compiler.labelled_answers import LABELLED


def match_of(keys: dict[str, Any]) -> Match:
    return Match.model_validate(keys)


@pytest.mark.parametrize(("keys", "answers", "response", "label", "read"), LABELLED)
def test_a_response_is_read_as_a_person_reads_it(
    keys: dict[str, Any], answers: tuple[str, ...], response: str, label: str | None, read: str | None
) -> None:
    item = Item("a", "?", references=answers)
    extraction = read_answer(match_of(keys), item, response)
    assert (None if extraction.option is None else MATCHES[extraction.option]) == label
    assert (response[extraction.start : extraction.end] or None) == read


@given(st.fractions(-(10**9), 10**9, max_denominator=1000), st.sampled_from(["", "It is ", "x = ", "so **"]))
def test_a_number_is_its_value_however_it_is_written(value: Fraction, words: str) -> None:
    written = [str(value)]
    if value.denominator == 1:
        written += [f"{value.numerator:,}", f"{value.numerator}.0", f"{value.numerator}."]
    for text in written:
        (number,) = numbers(words + text)
        assert number.value == value


@given(st.text(max_size=200))
def test_no_text_is_too_odd_to_be_read(text: str) -> None:
    for kind in COMPARISONS:
        for keys in ({"as": kind}, {"as": kind, "after": "answer is"}):
            extraction = read_answer(match_of(keys), Item("a", "?", references=("42",)), text)
            assert 0 <= extraction.start <= extraction.end <= len(text)


@pytest.mark.parametrize(
    "text", ["1," * 40_000, "-" * 80_000, "1 or " * 20_000, "\\frac{" * 20_000, "9" * 80_000]
)
@pytest.mark.parametrize("kind", COMPARISONS)
def test_a_degenerate_response_is_read_in_linear_time(kind: str, text: str) -> None:
    """A pattern that goes back over what it has read would need minutes here; the suite has a limit."""
    read_answer(match_of({"as": kind}), Item("a", "?", references=("42",)), text)


@pytest.mark.parametrize("kind", COMPARISONS)
@pytest.mark.parametrize("answers", [("42",), ("-1", "0", "1"), ("1/3",), ("25 %", "3 million")])
def test_the_responder_that_errs_is_wrong(kind: str, answers: tuple[str, ...]) -> None:
    match, item = match_of({"as": kind}), Item("a", "?", references=answers)
    wrong = COMPARISONS[match.kind].errs(match, answers)
    extraction = read_answer(match, item, wrong)
    assert extraction.option == MATCHES.index("wrong")


@pytest.mark.parametrize(
    ("keys", "answer", "problem"),
    [
        ({"as": "number"}, "forty-two", "has no number"),
        ({"as": "number"}, "6 * 7 = 42 #### 42", "has 2 numbers"),
        ({"as": "number"}, "40-45", "is not one number"),
        ({"as": "number", "gold_after": "####"}, "42", "nothing follows"),
        ({"as": "text"}, "The.", "is nothing but case"),
        ({"as": "text", "after": "Answer:"}, "a\nb", "has several lines"),
    ],
)
def test_a_right_answer_that_nothing_matches_is_refused(
    keys: dict[str, Any], answer: str, problem: str
) -> None:
    with pytest.raises(Unmatchable, match=problem):
        right_answers(match_of(keys), Item("a", "?", references=(answer,)))


def test_what_stands_behind_the_working_is_compared() -> None:
    match = match_of({"as": "number", "gold_after": "####"})
    item = Item("a", "?", references=("6 * 7 = 42\n#### 42",))
    assert right_answers(match, item) == ("42",)


@pytest.mark.parametrize(("response", "label"), [("3.14", 0), ("3.142", 0), ("3.2", 1), ("3.13", 1)])
def test_numbers_may_differ_by_what_is_stated(response: str, label: int) -> None:
    match = match_of({"as": "number", "within": 0.005})
    assert read_answer(match, Item("a", "?", references=("3.1416",)), response).option == label
