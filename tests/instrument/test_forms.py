"""Forms of answers: what is asked for, what keeps a form and what does not. Labels are by hand."""

import json

import pytest

from gridc.compiler.instrument.forms import ANSWER_FORMS, AskedForm, form_of
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.score import CUT, score_sample
from gridc.compiler.instrument.setting import Setting
from gridc.schema.effects import AnswerFormName, Match, Method

OPTIONS = ("Oslo", "Bergen", "Narvik")
ITEM = Item("n", "What is the capital of Norway?", OPTIONS, gold=0)
NO, NONE = "not in the form", "not one of the answers"

KEPT = {
    "line": {
        "Answer: A": 0,
        "answer: b": 1,
        "It is cold there.\n\n**Answer:** C": 2,
        "**Answer: A**": 0,
        "- Answer: (B).": 1,
        "Answer: Oslo": 0,
        "Answer: B) Bergen": 1,
        "Answer: A\nAnswer: B": 1,
        "Answer: A\nBecause it is.": 0,
        "Answer：A": 0,
        "<think>Answer: B</think>\nAnswer: A": 0,
        "Answer: A\n\nQuestion: What is the capital of Peru?\nAnswer: C": 0,
    },
    "letter": {"A": 0, " b\n": 1, "(C)": 2, "**A**": 0, "A.": 0, "<think>hm</think>B": 1},
    "boxed": {
        "\\boxed{A}": 0,
        "so $\\boxed{\\text{B}}$.": 1,
        "\\boxed{A}, no: \\boxed{C}": 2,
        "\\boxed{Oslo}": 0,
        "\\boxed{\\textbf{(A)}}": 0,
    },
    "json": {
        '{"answer": "A"}': 0,
        '{ "why": "north", "answer" : "B" }': 1,
        '```json\n{"answer": "C"}\n```': 2,
        '{"answer": "\\u004fslo"}': 0,
    },
}
LOST = {
    "line": {
        "A": NO, "The answer is A.": NO, "Final answer: A": NO, "Answer:\nA": NO, "Answer: D": NONE,
        "Answer: A or B": NONE, "Answer: A. Bergen": NONE, "Answer: ": NO, "": "empty",
        "<think>Answer: A": "the reasoning never ended",
    },
    "letter": {"Answer: A": NO, "A. Oslo": NO, "Oslo": NO, "D": NO, "A\nB": NO, "A or B": NO, "": "empty"},
    "boxed": {"A": NO, "\\boxed{D}": NONE, "\\boxed{A": NO, "boxed{A}": NO, "\\boxed{A, B}": NONE},
    "json": {
        'Sure: {"answer": "A"}': NO, '{"answer": "D"}': NONE, '{"answer": ["A"]}': NO, '{"choice": "A"}': NO,
        '{"answer": "A"': NO, '["A"]': NO, '{"answer": null}': NO, '{"answer": "A"} Yes.': NO,
    },
}  # fmt: skip


@pytest.mark.parametrize("form", KEPT)
def test_a_response_that_keeps_the_form_is_read(form: AnswerFormName) -> None:
    setting = Setting("x", "extract", answer=form)
    for response, option in KEPT[form].items():
        outcome = score_sample(setting, ITEM, [{"text": response}])
        assert (outcome.choice, outcome.evidence["rule"]) == (option, f"form {form}"), response


@pytest.mark.parametrize("form", LOST)
def test_no_other_response_is_read(form: AnswerFormName) -> None:
    setting = Setting("x", "extract", answer=form)
    for response, why in LOST[form].items():
        outcome = score_sample(setting, ITEM, [{"text": response}])
        assert (outcome.choice, outcome.evidence["unread"]) == (None, why), response


@pytest.mark.parametrize("form", ANSWER_FORMS)
def test_what_is_written_in_a_form_is_read_in_it(form: AnswerFormName) -> None:
    for labels in (("A", "B", "C"), ("1", "2", "3"), ("i", "ii", "iii")):
        asked = AskedForm(form, labels, OPTIONS, ITEM.stem)
        for number, label in enumerate(labels):
            assert asked.read_option(ANSWER_FORMS[form].write(label)).option == number
        assert asked.keeps(asked.example)
    words = AskedForm(form) if form != "letter" else None
    for answer in ('say "yes"', "a\\b", "1,200", "{x}", "3.5 %") if words else ():
        assert words is not None
        assert words.read(ANSWER_FORMS[form].write(answer)).answer == answer, answer


def test_by_phrases_reads_what_keeps_no_form() -> None:
    setting = Setting("x", "extract", answer="line", out_of_form="by_phrases")
    outcome = score_sample(setting, ITEM, [{"text": "The answer is (B)."}])
    assert (outcome.choice, outcome.evidence["rule"]) == (1, "stated letter")
    kept = score_sample(setting, ITEM, [{"text": "The answer is (B).\nAnswer: C"}])
    assert (kept.choice, kept.evidence["rule"]) == (2, "form line")


@pytest.mark.parametrize(
    ("form", "response", "read"),
    [
        ("line", "Answer: A", False),  # it could have gone on
        ("line", "Answer: A\n", True),
        ("boxed", "so \\boxed{A}", True),
        ("boxed", "so \\boxed{A", False),
        ("json", '{"answer": "A"}', True),
        ("letter", "A", True),
    ],
)
def test_a_response_that_was_cut_off_counts_only_where_its_answer_was_closed(
    form: AnswerFormName, response: str, read: bool
) -> None:
    outcome = score_sample(
        Setting("x", "extract", answer=form), ITEM, [{"text": response, "finish": "length"}]
    )
    assert (outcome.choice is not None) == read
    assert read or outcome.evidence["unread"] in (CUT, NO)


def test_a_free_answer_is_compared_as_it_stands_in_the_form() -> None:
    item = Item("s", "How much is 4 times 3?", references=("12",))
    setting = Setting("x", "match", answer="line", match=Match.model_validate({"as": "number"}))
    for response, choice in {
        "4 and 3 make 7, so\nAnswer: 12": 0,
        "Answer: **12**": 0,
        "12\nAnswer: 7": 1,
        "It is 12.": None,
        "Answer: none": None,
    }.items():
        assert score_sample(setting, item, [{"text": response}]).choice == choice, response


def test_options_without_labels_are_named_by_their_text() -> None:
    setting = Setting("x", "extract", answer="line", options="listed")
    form = form_of(setting, ITEM)
    assert form is not None and "TEXT is one of the options, word for word" in form.request
    assert score_sample(setting, ITEM, [{"text": "Answer: oslo."}]).choice == 0
    code = Item("c", "Which?", ("x + 1", "x - 1", "x"), gold=0)
    assert [score_sample(setting, code, [{"text": f"Answer: {text}"}]).choice for text in code.options] == [
        0,
        1,
        2,
    ]


def test_a_schema_allows_the_labels_and_nothing_else() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(AskedForm("json_schema", ("A", "B", "C"), OPTIONS).schema)
    jsonschema.validate({"answer": "A"}, schema)
    for wrong in ({"answer": "D"}, {"answer": "A", "why": "x"}, {}, ["A"]):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_a_form_is_idle_where_nothing_is_read() -> None:
    idle: tuple[Method, ...] = ("loglikelihood", "first_token", "refusal_keywords", "judge")
    for method in idle:
        setting = Setting("x", method, answer="line")
        assert setting.form is None and setting.effective().answer is None
        assert setting.shown == Setting("x", method).shown
