"""Benchmarks in Chinese, Japanese, Thai and Korean, from a stamp to a report: the better model comes first.

Numbers and letters stand beside text without spaces, and wrong answers are denied in words. The server knows
prompts and the right answers, and nothing of how they are read.
"""

import re
from hashlib import sha256
from typing import Any

import pytest

from tests import studies
from tools.servers.http import Server

ITEMS = range(101, 125)
"""Numbers that are no part of each other."""
STRONG, WEAK = "strong-2026-01-01", "weak-2026-01-01"
SUMS = {
    "zh": ("第{0}店有{1}箱，每箱{2}元，一共多少元？", "每箱{2}元，共{1}箱，所以答案是{3:,}元。一共用了2步。"),
    "ja": ("{0}号店の箱は{1}個、1個{2}円です。合計は何円ですか。", "{2}円が{1}個なので、合計は{3:,}円です。"),
    "th": ("ร้านที่{0}มี{1}กล่อง กล่องละ{2}บาท รวมกี่บาท", "กล่องละ{2}บาท คำตอบคือ{3}บาท"),
    "ko": (
        "{0}호 가게에 상자 {1}개, 상자당 {2}원입니다. 모두 몇 원입니까?",
        "답은 {4}원이 아니라 {3:,}원입니다.",
    ),
}
"""Of each language a question, and how it is answered: shop, boxes, price, the answer and another number."""
CHOICES = {
    "zh": ("第{0}个：哪个是金属？", ("铁", "木", "水"), ("答案是{0}，不是{1}。", "所以选{0}。")),
    "ja": (
        "{0}番：金属はどれですか。",
        ("鉄", "木材", "氷"),
        ("答えは{1}ではなく{0}です。", "正解は{0}です。"),
    ),
    "th": ("ข้อ{0} ข้อใดเป็นโลหะ", ("เหล็ก", "ไม้", "น้ำ"), ("คำตอบคือ {0}", "คำตอบคือข้อ {0} เพราะแข็ง")),
    "ko": (
        "{0}번: 금속은 무엇입니까?",
        ("철", "나무", "물"),
        ("정답은 {1}가 아니라 {0}입니다.", "정답은 {0}입니다."),
    ),
}


def right(model: str, number: int) -> bool:
    """Whether a model is right on an item, drawn by a digest: `strong` is more often."""
    return sha256(f"{model} {number}".encode()).digest()[0] < (220 if model == STRONG else 90)


def figures(number: int) -> tuple[int, int, int, int]:
    return number, number % 7 + 2, 10 * number + 1230, (number % 7 + 2) * (10 * number + 1230)


def summed(model: str, messages: studies.Messages) -> str:
    prompt = messages[-1]["content"]
    for number in ITEMS:
        for question, answer in SUMS.values():
            *given, total = figures(number)
            if question.format(*given) in prompt:
                total += 0 if right(model, number) else 17
                return answer.format(*given, total, total - 1)
    return "好"


def chosen(model: str, messages: studies.Messages) -> str:
    prompt = messages[-1]["content"]
    for number in ITEMS:
        for question, options, answers in CHOICES.values():
            if question.format(number) in prompt:
                found = dict(map(reversed, re.findall(r"([ABC])[.)] *(\S+)", prompt)))
                wrong = found[options[1 + number % 2]]
                letters = (found[options[0]], wrong) if right(model, number) else (wrong, found[options[0]])
                return answers[number % 2].format(*letters)
    return "好"


@pytest.mark.parametrize("language", SUMS)
def test_numbers_beside_a_script_are_read(language: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    rows = [
        {
            "id": f"s{number}",
            "question": SUMS[language][0].format(*figures(number)),
            "answer": figures(number)[3],
        }
        for number in ITEMS
    ]
    given = studies.benchmark("sums", 'id = "id", query = "question", references = ["answer"]')
    harness = '\n[harness]\nprompt = "{{ question }}"\nmethod = "match"\nmax_tokens = 64\n'
    levels = {"number": 'match = { as = "number" }', "loose": 'match = { as = "number", within = 0.5 }'}
    with Server(studies.Scripted(summed)) as server:
        models = studies.behind(server.url, "strong", "weak", version="-2026-01-01")
        spec = studies.head("sums", models) + given + harness + studies.axis("read", levels, ["loose"])
        done = studies.carried_out(studies.written(tmp_path_factory.mktemp("sums"), spec, rows))
    in_order(done.row("read=number"))


@pytest.mark.parametrize("language", CHOICES)
def test_choices_in_a_script_are_read(language: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    question, options, _ = CHOICES[language]
    rows = [
        {"id": f"c{number}", "question": question.format(number), "options": options, "gold": 0}
        for number in ITEMS
    ]
    given = studies.benchmark(
        "metals",
        'id = "id", query = "question", options = ["options"], gold = "gold"',
        'option_order = "shuffled:1"',
    )
    harness = '\n[harness]\nmethod = "extract"\nmax_tokens = 64\n'
    levels = {
        "free": 'prompt = "{{ question }}\\n{{ options }}"',
        "asked": 'prompt = "{{ question }}\\n{{ options }}\\n"',
    }
    with Server(studies.Scripted(chosen)) as server:
        models = studies.behind(server.url, "strong", "weak", version="-2026-01-01")
        spec = studies.head("metals", models) + given + harness + studies.axis("form", levels, ["asked"])
        done = studies.carried_out(studies.written(tmp_path_factory.mktemp("metals"), spec, rows))
    in_order(done.row("form=free"))


def in_order(row: dict[str, Any]) -> None:
    """Every answer is read, each model earns what it should, and the better one is first."""
    for model, served in (("strong", STRONG), ("weak", WEAK)):
        count = sum(right(served, number) for number in ITEMS)
        assert (row[model]["correct"], row[model]["parsed"]) == (count, len(ITEMS))
    assert row["strong"]["correct"] > row["weak"]["correct"]
