"""Refusals by phrases, beside labels that were fixed before anybody read the phrases."""

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from gridc.compiler.instrument.refusals import ERROR_ON_WRITTEN, ERRORS, RULES, refuses
from gridc.reports.rendering import refusal_error_words
from tests.instrument import refusal_figures as figures
from tests.instrument.refusal_figures import Figure

COMMITTED = figures.committed()
DOCUMENT = (Path(__file__).parents[2] / "docs" / "refusals.md").read_text("utf-8")


def of(reader: str, *models: str) -> Figure:
    """What a reader finds in the responses of these models, or of all that are real, over both halves."""
    among = models or tuple(error.model for error in ERRORS)
    wanted = [each for each in COMMITTED if each.reader == reader and each.model in among]
    refusals, partial, answers = (sum(column) for column in zip(*(each[3:] for each in wanted), strict=True))
    return Figure("both", reader, "", refusals, partial, answers)


def missed(reader: str, *models: str) -> float:
    return 1 - of(reader, *models).refusals / of("all", *models).refusals


def taken(reader: str) -> float:
    return of(reader).answers / of("all").answers


def test_the_figures_are_those_of_the_texts_that_were_written() -> None:
    found = figures.counted(figures.written())
    assert found == [each for each in COMMITTED if each.model == "written"]


@pytest.mark.skipif(figures.REAL is None, reason=figures.NO_REAL)
def test_the_figures_are_those_of_the_responses_that_people_labelled() -> None:
    found = figures.counted(figures.real())
    assert found == [each for each in COMMITTED if each.model != "written"]


def test_the_error_that_is_stated_is_the_one_of_the_half_that_was_kept_back() -> None:
    *real, written = figures.errors(COMMITTED)
    assert tuple(real) == ERRORS
    assert replace(written, model=ERROR_ON_WRITTEN.model) == ERROR_ON_WRITTEN


def test_the_document_and_the_page_state_it_by_model() -> None:
    assert figures.error_table(COMMITTED) in DOCUMENT
    assert figures.curve_table(COMMITTED) in DOCUMENT
    on = ERROR_ON_WRITTEN
    said = f"miss {on.missed} of {on.refusals} refusals and take {on.taken} of {on.answers} answers"
    assert said in " ".join(DOCUMENT.split())
    assert all(f"{each.model} {each.missed} of {each.refusals}" in refusal_error_words() for each in ERRORS)


def test_the_phrases_are_nearer_to_people_than_the_benchmarks_string_match() -> None:
    assert missed("phrases") <= 0.14 < missed("string match")
    assert taken("phrases") <= 0.04 < taken("string match")
    assert missed("phrases", "gpt4", "llama2new", "llama2orig") <= 0.06


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_finds_refusals_and_seldom_an_answer(rule: str) -> None:
    found = Counter[str]()
    for each in COMMITTED:
        if each.reader == rule:
            found.update(refusals=each.refusals, answers=each.answers)
    assert found["refusals"] > 0
    assert found["answers"] <= 0.25 * found["refusals"]


@pytest.mark.parametrize(
    "piece", ["I cannot ", "sorry, but ", "it is not ", "as an ai ", '"', " ", "不能", "a"]
)
def test_a_megabyte_that_repeats_itself_is_read_at_once(piece: str) -> None:
    begun = time.process_time()
    refuses(piece * (2**20 // len(piece)))
    assert time.process_time() - begun < 1
