"""The part of a response that is the model's own answer: what stands behind another question is not read."""

import json
import os
import tomllib
from pathlib import Path
from time import process_time

import pytest

from gridc.compiler.instrument.extract import extract
from gridc.compiler.instrument.item import LETTERS, Item
from gridc.compiler.instrument.matching import read_answer
from gridc.compiler.instrument.own_part import own_part
from gridc.schema.effects import Match

TABLE = tomllib.loads(Path(__file__).with_name("own_part_cases.toml").read_text("utf-8"))
OPTIONS = tuple(TABLE["choice"]["options"])


def cases(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", TABLE[kind]["case"], ids=lambda case: case["why"])


@cases("choice")
def test_a_choice_is_read_in_the_models_own_part(case: dict[str, str]) -> None:
    question = case.get("question", TABLE["choice"]["question"])
    read = extract(case["response"], OPTIONS, question=question)
    assert ("" if read.option is None else LETTERS[read.option]) == case["reads"], read.rule
    if read.option is not None:
        assert case["response"][read.start : read.end] in (case["reads"], OPTIONS[read.option])


@cases("choice")
def test_without_the_question_no_choice_is_another_one(case: dict[str, str]) -> None:
    read = extract(case["response"], OPTIONS).option
    needs_the_question = case["why"] in (
        "nothing of its own, and then another question",
        "exemplars, its own question, and then another one",
        "its own question once more",
        "a dialogue of which the item tells is no turn",
    )
    assert needs_the_question or read in (None, LETTERS.find(case["reads"]))


@cases("number")
def test_a_number_is_read_in_the_models_own_part(case: dict[str, str]) -> None:
    item = Item("a", TABLE["number"]["question"], references=("12",))
    assert read_answer(Match.model_validate({"as": "number"}), item, case["response"]).answer == case["reads"]


@cases("text")
def test_a_text_is_the_models_own_part(case: dict[str, str]) -> None:
    item = Item("a", TABLE["text"]["question"], references=(case["reads"], "Rome"))
    for kind in ("text", "exact"):
        read = read_answer(Match.model_validate({"as": kind}), item, case["response"])
        assert case["response"][read.start : read.end] == case["reads"]
    contains = Match.model_validate({"as": "contains"})
    within = read_answer(contains, Item("a", item.query, references=("Rome",)), case["response"])
    assert within.rule == "no right answer in it"


PIECES = (
    "Question: x\n", "Question: How many pears?\n", "Q: a\nm: b\n", "B\n\nProblem: pears.\n", "(",
    "A. x\nB. y\n\n", "Assistant: ", "user\n", "#", " ", "\n", "<|", "</s>", "<think>", "x. Q: ", "let's ",
    "</think> B\nQuestion: y ", "Question: zzz yyy?\nAnswer: A\n", "B\n\nPassage: x\n", "[INST] x [/INST]",
    "问题：谁\n",
)  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_a_degenerate_response_is_gone_through_in_a_moment(piece: str) -> None:
    text = (piece * (2**18 // len(piece) + 1))[: 2**18]
    start = process_time()
    own_part(text, "How many pears?", ("x", "The baker"))
    assert process_time() - start < 3


def test_a_response_without_another_question_is_its_own_part() -> None:
    for text in ("", "B", "The answer is B.\n\nThat question: a hard one.", "Questions are hard. A", "Q\nB"):
        assert own_part(text, "Who?") == (0, len(text))
    assert own_part("<think>\nQuestion: Who?", "Who?") is None
    assert own_part("<think>x</think> B", "Who?") == (16, 18)


REAL = os.environ.get("GRIDC_REAL")
RUNS_ON = {
    "question": "\n\nQuestion: {question}\nOptions:\n{options}\nAnswer: {response}",
    "Q": "\n\nQ: {question}\n{options}\nA: {response}",
    "user": "\nUser: {question}\n{options}\nAssistant: {response}",
    "tokens": "<|im_end|>\n<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n{response}",
}


@pytest.mark.skipif(not REAL, reason="GRIDC_REAL does not name a folder with responses of real models")
@pytest.mark.parametrize("form", RUNS_ON)
def test_what_real_models_answer_is_read_where_another_real_answer_follows(form: str) -> None:
    lines = (Path(str(REAL)) / "mmlu_pro_outputs.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines[::8]]
    for row, other in zip(rows, rows[1:] + rows[:1], strict=True):
        listed = "\n".join(f"{LETTERS[place]}. {text}" for place, text in enumerate(other["options"]))
        follows = RUNS_ON[form].format(**{**other, "options": listed})
        alone = extract(row["response"], row["options"], question=row["question"])
        whole = extract(row["response"] + follows, row["options"], question=row["question"])
        assert row["question"] == other["question"] or whole == alone
