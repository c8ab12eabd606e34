"""Where an answer begins behind a thought, in the marks of each family of models."""

from typing import Any

import pytest

from gridc.compiler.instrument.extract import extract
from gridc.compiler.instrument.thoughts import (
    THOUGHTS,
    answer_begins,
    is_mark,
    response_end,
    unknown_marks,
)

WRITTEN = {
    "tags": ("<think>\n", "\n</think>\n\n"),
    "tags, Seed": ("<seed:think>", "</seed:think>"),
    "tags, MiniMax-M3": ("<mm:think>", "</mm:think>"),
    "tags, LongCat": ("<longcat_think>", "</longcat_think>"),
    "tags, K2 Horizon": ("<ifm|think_fast>", "</ifm|think_fast>"),
    "tags, Hunyuan V3": ("<think:a1>", "</think:a1>\n"),
    "apertus": ("<|inner_prefix|>", "<|inner_suffix|>"),
    "command_a": ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
    "gemma4": ("<|channel>thought\n", "<channel|>"),
    "gpt_oss": ("<|channel|>analysis<|message|>", "<|start|>assistant<|channel|>final<|message|>"),
    "granite": ("Here's my thought process: ", " Here is my response: "),
    "kimi_k2": ("◁think▷", "◁/think▷"),
    "kimi_k3": ("<|open|>think<|sep|>", "<|close|>think<|sep|><|open|>response<|sep|>"),
    "mistral": ("[THINK]", "[/THINK]"),
    "pangu": ("[unused16]", "[unused17]"),
    "solar": ("<|think:start|>", "<|think:end|>"),
}
OPTIONS = ["the baker", "the miller"]
THOUGHT = "The note says the baker. Answer: A? Hardly, but the answer is A."


def test_each_family_is_tried() -> None:
    assert {name.partition(",")[0] for name in WRITTEN} == THOUGHTS.keys()


@pytest.mark.parametrize("name", WRITTEN)
def test_what_stands_behind_a_thought_is_read_and_a_cut_thought_is_not(name: str) -> None:
    opens, ends = WRITTEN[name]
    for answer in ("B", "Answer: B", "It was the miller.", "(B) the miller<|end_of_msg|>"):
        assert extract(f"{opens}{THOUGHT}{ends}{answer}", OPTIONS).option == 1, answer
        assert extract(f"{THOUGHT}{ends}{answer}", OPTIONS).option == 1, "the prompt opened the thought"
    if name == "granite":
        return  # other models write the sentence that opens its thought as well
    assert answer_begins(f"{opens}{THOUGHT}") is None
    assert extract(f"{opens}{THOUGHT}", OPTIONS).rule == "the reasoning never ended"


@pytest.mark.parametrize("name", WRITTEN)
def test_a_limit_comes_in_a_thought_or_in_the_answer(name: str) -> None:
    opens, ends = WRITTEN[name]
    for text, end in (
        (f"{opens}{THOUGHT}", "cut_in_thought"),
        (f"{opens}{THOUGHT}{ends}It", "cut_in_answer"),
    ):
        if name != "granite" or end == "cut_in_answer":  # other models write what opens its thought as well
            assert response_end({"text": text, "finish": "length"}, {}) == end
        assert response_end({"text": text, "finish": "stop"}, {}) == "answered"


@pytest.mark.parametrize(
    ("answer", "usage", "end"),
    [
        ({"text": ""}, {"reasoning_tokens": 90, "completion_tokens": 90}, "cut_in_thought"),
        ({"text": " \n", "thought": 300}, {"completion_tokens": 90}, "cut_in_thought"),
        ({"text": '{"content": "", "calls": []}', "thought": 300}, {}, "cut_in_thought"),
        ({"text": "It was", "thought": 300}, {"reasoning_tokens": 50}, "cut_in_answer"),
        ({"text": ""}, {"reasoning_tokens": 0, "completion_tokens": 90}, "cut_in_answer"),
        ({"text": ""}, {}, "cut_in_answer"),
    ],
)
def test_a_thought_that_the_text_does_not_have_is_known_by_what_the_server_says(
    answer: dict[str, Any], usage: dict[str, int], end: str
) -> None:
    assert response_end({**answer, "finish": "length"}, usage) == end
    assert response_end({**answer, "finish": "stop"}, usage) == "answered"


def test_a_second_thought_that_is_cut_is_no_answer_either() -> None:
    assert answer_begins(f"<think>{THOUGHT}</think>\n<think>{THOUGHT}") is None


def test_the_closing_tags_of_a_response_are_no_words() -> None:
    ends = "<|close|>response<|sep|><|close|>message<|sep|>"
    text = f"{THOUGHT}<|close|>think<|sep|><|open|>response<|sep|>B{ends}"
    assert extract(text, OPTIONS).option == 1


def test_marks_of_no_family_are_named() -> None:
    known = ["<think>", "</think>", "<|channel>", "<channel|>", "<|open|>", "[THINK]", "<|START_THINKING|>"]
    assert all(map(is_mark, known))
    assert unknown_marks([*known, "<|im_end|>", "<pad>", "<ponder>", "<|deliberation|>", "<reason_v2>"]) == [
        "<|deliberation|>", "<reason_v2>",
    ]  # fmt: skip
