"""The loaders of TruthfulQA and BBQ: invented rows in the upstream formats, and rows that are not."""

import json
from typing import Any

import pytest

from gridc.adapters.benchmarks import bbq, truthfulqa
from gridc.compiler.inputs.loaders.parsing import File, Malformed
from gridc.compiler.instrument.item import Item
from gridc.schema.items import Loading


def question(**changes: Any) -> dict[str, Any]:
    row = {
        "question": "What is in the jar?",
        "mc1_targets": {"Salt.": 1, "Sand.": 0, "Snow.": 0},
        "mc2_targets": {"Salt.": 1, "White salt.": 1, "Sand.": 0},
    }
    return {**row, **changes}


def scenario(**changes: Any) -> dict[str, Any]:
    row = {
        "example_id": 5,
        "question_index": "1",
        "question_polarity": "neg",
        "context_condition": "disambig",
        "category": "Invented",
        "answer_info": {
            "ans0": ["Potter", "hill"],
            "ans1": ["Not known", "unknown"],
            "ans2": ["Tanner", "vale"],
        },
        "additional_metadata": {"subcategory": "None", "stereotyped_groups": ["hill"], "version": "a"},
        "context": "A potter met a tanner. The tanner was late.",
        "question": "Who was late?",
        "ans0": "The potter",
        "ans1": "Not known",
        "ans2": "The tanner",
        "label": 2,
    }
    return {**row, **changes}


def mc1(data: bytes) -> list[Item]:
    return truthfulqa.load(File("mc_task.json", data), Loading())


def four(data: bytes) -> list[Item]:
    return bbq.load(File("Invented.jsonl", data), Loading())


def lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def test_truthfulqa_rows_become_items_in_file_order() -> None:
    first, second = mc1(json.dumps([question(), question(question="And now?")]).encode())
    assert first == Item(
        "q0001", "What is in the jar?", ("Salt.", "Sand.", "Snow."), 0, references=("Salt.", "White salt.")
    )
    assert (second.id, second.stem, second.family) == ("q0002", "And now?", "q0002")


def test_truthfulqa_finds_the_true_option_wherever_it_stands() -> None:
    (item,) = mc1(json.dumps([question(mc1_targets={"x": 0, "y": 0, "z": 1})]).encode())
    assert item.gold == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mc1_targets": {"x": 1, "y": 1}}, "2 options are marked true"),
        ({"mc1_targets": {"x": 0, "y": 0}}, "0 options are marked true"),
        ({"mc1_targets": {}}, "0 options"),
        ({"mc1_targets": {"x": 1}}, "1 options"),
        ({"mc1_targets": {f"x{n}": int(n == 0) for n in range(27)}}, "27 options"),
        ({"mc1_targets": ["x", "y"]}, "mc1_targets"),
        ({"mc1_targets": "xy"}, "mc1_targets"),
        ({"mc1_targets": None}, "mc1_targets"),
        ({"mc1_targets": {"x": 1, "": 0}}, ""),
        ({"mc1_targets": {"x": 1, "  ": 0}}, ""),
        ({"mc1_targets": {"x": 1, "\ud800": 0}}, ""),
        ({"question": 5}, ""),
        ({"question": None}, ""),
        ({"question": ["?"]}, ""),
        ({"question": "\ud800"}, ""),
    ],
)
def test_a_truthfulqa_row_out_of_format_is_refused_by_its_number(change: dict[str, Any], words: str) -> None:
    with pytest.raises(Malformed, match=r"^row 2: ") as caught:
        mc1(json.dumps([question(), question(**change)]).encode())
    assert [each.row for each in caught.value.rows] == [2]
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "rows", [[5], ["text"], [[]], [None], [{}], [{"question": "?"}], [{"mc1_targets": {}}]]
)
def test_a_truthfulqa_row_of_another_shape_is_refused(rows: list[Any]) -> None:
    with pytest.raises(Malformed, match=r"^row 1: "):
        mc1(json.dumps(rows).encode())


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b"5", b"null", b"\xff\xff", b"[" * 100_000])
def test_a_file_that_is_not_a_list_of_questions_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        mc1(data)


def test_bbq_rows_become_items() -> None:
    (item,) = four(lines(scenario()))
    assert item.id == "Invented-5"
    assert item.family == "Invented-1"
    assert item.stem == "A potter met a tanner. The tanner was late.\nWho was late?"
    assert (item.options, item.gold) == (("The potter", "Not known", "The tanner"), 2)
    assert item.tags == {
        "category": "Invented",
        "condition": "disambig",
        "polarity": "neg",
        "template": "1",
        "unknown": "Not known",
    }


def test_bbq_rows_come_in_families_of_four() -> None:
    rows = [
        scenario(example_id=n, context_condition="disambig" if n % 2 else "ambig", label=2 if n % 2 else 1)
        for n in range(12)
    ]
    assert [item.family[-1] for item in four(lines(*rows))] == list("000011112222")


def test_blank_lines_are_passed_over_and_still_counted() -> None:
    data = b"\n" + lines(scenario()) + b"  \n\n"
    assert len(four(data)) == 1
    with pytest.raises(Malformed, match=r"^row 5: "):
        four(data + b"{}\n")


@pytest.mark.parametrize("separator", ["\u2028", "\u0085", "\x1c"])
def test_a_line_separator_inside_a_text_ends_no_row(separator: str) -> None:
    data = json.dumps(scenario(), ensure_ascii=False).replace("met a", f"met{separator}a")
    if separator == "\x1c":  # a control character is escaped in JSON
        data = json.dumps(scenario()).replace("met a", "met\\u001ca")
    (item,) = four(data.encode())
    assert separator in item.stem


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in scenario().items() if key != name}


INFO = scenario()["answer_info"]


@pytest.mark.parametrize(
    "row",
    [
        *[
            pytest.param(without(name), id=f"no {name}")
            for name in (
                "example_id",
                "question_polarity",
                "context_condition",
                "category",
                "answer_info",
                "context",
                "question",
                "ans0",
                "ans1",
                "ans2",
                "label",
            )
        ],
        pytest.param(scenario(label=1), id="unknown in a clear context"),
        pytest.param(scenario(context_condition="ambig"), id="known in an unclear context"),
        pytest.param(scenario(context_condition="clear"), id="another condition"),
        pytest.param(scenario(label=3), id="no such option"),
        pytest.param(scenario(label=-1), id="an option before the first"),
        pytest.param(scenario(label="two"), id="label in words"),
        pytest.param(scenario(label=None), id="no label"),
        pytest.param(scenario(label=float("inf")), id="infinite label"),
        pytest.param(scenario(example_id=float("inf")), id="infinite number"),
        pytest.param(scenario(answer_info={**INFO, "ans1": ["Not known", "vale"]}), id="no unknown option"),
        pytest.param(scenario(answer_info={**INFO, "ans0": ["Potter"]}), id="short answer info"),
        pytest.param(scenario(answer_info={**INFO, "ans0": []}), id="empty answer info"),
        pytest.param(scenario(answer_info=[]), id="answer info as a list"),
        pytest.param(scenario(answer_info=None), id="answer info as null"),
        pytest.param(scenario(ans0=5), id="a number for an option"),
        pytest.param(scenario(ans0=None), id="null for an option"),
        pytest.param(scenario(ans0=""), id="an empty option"),
        pytest.param(scenario(question=None), id="null for the question"),
        pytest.param(scenario(context=["x"]), id="a list for the context"),
        pytest.param(scenario(category={"a": 1}), id="a table for the category"),
        pytest.param(scenario(question_polarity=float("nan")), id="nan for the polarity"),
        pytest.param([], id="a list"),
        pytest.param("text", id="a text"),
        pytest.param(7, id="a number"),
        pytest.param(None, id="null"),
    ],
)
def test_a_bbq_row_out_of_format_is_refused_by_its_number(row: Any) -> None:
    with pytest.raises(Malformed, match=r"^row 2: .") as caught:
        four(lines(scenario(), row))
    assert [each.row for each in caught.value.rows] == [2]


@pytest.mark.parametrize("data", [b"{", b"not json", b"[" * 100_000, b'{"a": "\xff"}'])
def test_a_line_that_is_not_json_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed, match=r"^row 1: "):
        four(data)


def test_a_lone_surrogate_is_refused_where_it_stands() -> None:
    with pytest.raises(Malformed, match=r"^row 1: "):
        four(json.dumps(scenario(category="\ud800")).encode())


@pytest.mark.parametrize(
    ("polarity", "groups", "matching"),
    [
        ("neg", ["hill"], 0),
        ("nonneg", ["hill"], 2),
        ("neg", ["vale"], 2),
        ("neg", ["Potter"], 0),
        ("neg", ["HILL"], 0),
        ("neg", ["hill", "vale"], None),
        ("neg", ["shore"], None),
        ("neg", [], None),
    ],
)
def test_the_stereotyped_answer_is_the_target_groups_on_a_negative_question(
    polarity: str, groups: list[str], matching: int | None
) -> None:
    row = scenario(question_polarity=polarity, additional_metadata={"stereotyped_groups": groups})
    (item,) = four(lines(row))
    assert item.matching == matching
    assert item.unknown == 1


def test_a_group_is_found_inside_a_compound_one() -> None:
    info = {**INFO, "ans0": ["Ann Potter", "F-hill"], "ans2": ["Ann Tanner", "F-vale"]}
    (item,) = four(lines(scenario(answer_info=info)))
    assert item.matching == 0


def test_rows_without_metadata_have_no_stereotyped_answer() -> None:
    (item,) = four(lines(without("additional_metadata")))
    assert item.matching is None


def test_every_bad_row_is_reported_and_the_good_ones_are_kept() -> None:
    data = lines(scenario(), scenario(label=1), scenario(example_id=9)) + b"{\n" + lines(scenario())
    with pytest.raises(Malformed) as caught:
        four(data)
    assert [each.row for each in caught.value.rows] == [2, 4, 5]
    assert "already an item" in caught.value.rows[2].problem
    assert [item.id for item in caught.value.items] == ["Invented-5", "Invented-9"]
