"""Free text against right answers: responses that people labelled, numbers against arithmetic, mistakes."""

import unicodedata
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.compiler.instrument.extract import extract
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.matching import (
    COMPARISONS,
    RIGHT,
    Unmatchable,
    caseless,
    normalised,
    read_answer,
    right_answers,
)
from gridc.compiler.instrument.thoughts import answer_begins
from gridc.compiler.instrument.written_numbers import numbers
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
    for kind, comparison in COMPARISONS.items():
        for keys in ({"as": kind}, {"as": kind, "after": "answer is"})[: 1 if comparison.as_it_is else 2]:
            extraction = read_answer(match_of(keys), Item("a", "?", references=("42",)), text)
            assert 0 <= extraction.start <= extraction.end <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        "1," * 40_000,
        "-" * 80_000,
        "1 or " * 20_000,
        "\\frac{" * 20_000,
        "9" * 80_000,
        "the answer is " * 9000,
    ],
)
@pytest.mark.parametrize("kind", COMPARISONS)
def test_a_degenerate_response_is_read_in_linear_time(kind: str, text: str) -> None:
    """A pattern that goes back over what it has read would need minutes here; the suite has a limit."""
    ways = ({"as": kind}, {"as": kind, "after": "1 or"})
    for keys in ways[: 1 if COMPARISONS[match_of({"as": kind}).kind].as_it_is else 2]:
        read_answer(match_of(keys), Item("a", "?", references=("42",)), text)


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
        ({"as": "text"}, "The.", "is empty once punctuation and articles are removed"),
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


FORMS: Sequence[Callable[[str], str]] = (
    str,
    str.casefold,
    lambda text: unicodedata.normalize("NFC", text),
    lambda text: unicodedata.normalize("NFD", text),
    lambda text: unicodedata.normalize("NFKC", text),
)
"""Ways to write a text that leave it the same but for its case and its forms of characters."""


def test_every_character_of_unicode_is_found_as_it_stands_in_a_right_answer() -> None:
    """Case and forms of characters change the length of a text, and no span may slip by that."""
    missed = []
    alike = (range(0x3400, 0xA000, 97), range(0xAC00, 0xD7B0, 97), range(0x10000, 0x30000, 31))
    for code in chain(range(0x21, 0x3400), range(0xA000, 0xAC00), range(0xF900, 0x10000), *alike):
        character = chr(code)
        if unicodedata.category(character)[0] in "CPS":
            continue
        answer = f"qu{character}zx 12"
        item = Item("q", "?", references=(answer,))
        for form in FORMS:
            response = f"Straße ﬁ: {form(answer)}, İ"
            read = read_answer(match_of({"as": "contains"}), item, response)
            if read.option != RIGHT or response[read.start : read.end] != form(answer):
                missed.append(character)
    assert missed == []


@given(st.text(min_size=1), st.sampled_from(FORMS), st.text(" .,ßİ", max_size=4))
def test_any_text_is_found_in_a_response_that_holds_it(
    answer: str, form: Callable[[str], str], before: str
) -> None:
    item = Item("q", "?", references=(answer,)) if answer.strip() else None
    if item is None or not normalised(answer) or normalised(form(answer)) != normalised(answer):
        return
    for kind, response in (
        ("contains", f"{before} {form(answer)} ."),
        ("text", form(answer)),
        ("exact", answer),
    ):
        if answer_begins(response) == 0:
            assert read_answer(match_of({"as": kind}), item, response).option == RIGHT


@given(st.text(), st.text(min_size=1))
def test_a_caseless_text_stands_where_it_was_made_of(text: str, more: str) -> None:
    made = caseless(text + more)
    assert len(made.text) == len(made.spans)
    assert list(made.spans) == sorted(made.spans)
    for place, (start, end) in enumerate(made.spans):
        assert 0 <= start < end <= len(text + more)
        assert made.text[place] in unicodedata.normalize("NFKC", (text + more)[start:end]).casefold()


def test_words_before_an_answer_are_found_whatever_their_case() -> None:
    item = Item("q", "?", references=("42",))
    for kind in ("number", "text", "contains", "exact"):
        read = read_answer(match_of({"as": kind, "after": "Die Größe:"}), item, "Zuerst ﬁ. DIE GRÖSSE: 42")
        assert (read.option, read.start, read.end) == (RIGHT, 22, 24)


def test_numbers_in_any_letter_i_are_read() -> None:
    assert [number.value for number in numbers("3 mıllion and 4 BİLLİON")] == [3 * 10**6, 4 * 10**9]
    assert extract("I choose the fırst option.", ("x", "y", "z")).option == 0
