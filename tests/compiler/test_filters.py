"""Responses behind filters: each filter by hand, beside lm-evaluation-harness where it is installed."""

import importlib.util
import random
from types import SimpleNamespace
from typing import Any

import pytest

from gridc.compiler.instrument.filters import equals, filtered, filtered_text, pattern_problem, read_filtered
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.matching import NO_MATCH, RIGHT, WRONG, Unmatchable, read_answer, right_answers
from gridc.compiler.instrument.score import score_sample
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.preflight.filtered_answers import says
from gridc.schema.effects import Match

STRICT = {"kind": "regex", "pattern": r"#### (\-?[0-9\.\,]+)"}
FLEXIBLE = {"kind": "regex", "pattern": "(-?[$0-9.,]{2,})|(-?[0-9]+)", "group": -1}
GSM8K = {"case": True, "regexes": [",", r"\$", "(?s).*#### ", r"\.$"]}
LETTER = {"kind": "multi_choice_regex", "pattern": r"(\([A-Z]\))"}
CHOICES = ("Guilty", "Guilty of Romance", "Noah's Ark")


@pytest.mark.parametrize(
    ("filters", "response", "text", "found"),
    [
        ([], "a ", "a ", True),
        ([STRICT], "so\n#### 1,234.", "1,234.", True),
        ([STRICT], "1234", "[invalid]", False),
        ([{**STRICT, "fallback": " none "}], "1234", " none ", False),
        ([FLEXIBLE], "3 and 4 and $5.", "$5.", True),
        ([{**FLEXIBLE, "group": 0}], "3 and 4", "3", True),
        ([{**FLEXIBLE, "group": 5}], "3 and 4", "[invalid]", False),
        ([{"kind": "regex", "pattern": "x*"}], "yx", "", True),
        ([{"kind": "regex", "pattern": "(x*)(z*)"}], "y", "[invalid]", False),
        ([{"kind": "lowercase"}], "ÀB", "àb", True),
        ([{"kind": "uppercase"}], "ß", "SS", True),
        ([{"kind": "remove_whitespace"}], "\n a b ", "a b", True),
        ([{"kind": "map", "map": {"A": "yes"}, "default": "?"}], "A", "yes", True),
        ([{"kind": "map", "map": {"A": "yes"}, "default": "?"}], "a", "?", True),
        ([LETTER], "It is (B) or (C).", "(B)", True),
        ([LETTER], "I watched Guilty of Romance.", "(B)", True),
        ([LETTER], "It is noahs ark", "[invalid]", False),
        ([{**LETTER, "ignore_case": True, "ignore_punctuation": True}], "It is noahs ark", "(C)", True),
        ([{**LETTER, "ignore": ["'s"]}], "Noah Ark", "(C)", True),
        ([LETTER], "Answer:  B", "(B)", True),
        ([LETTER], "Answer:  D", "[invalid]", False),
        ([STRICT, {"kind": "map", "map": {}, "default": "?"}], "none", "?", False),
    ],
)
def test_a_response_goes_through_filters(
    filters: list[dict[str, Any]], response: str, text: str, found: bool
) -> None:
    assert filtered(filters, response, CHOICES) == (text, found)
    Match.model_validate({"as": "filtered", "filters": filters})


@pytest.mark.parametrize(
    ("text", "answers", "ignore", "right"),
    [
        ("72", ("72",), {}, True),
        (" 72", ("72",), {}, False),
        ("72", ("73", "72"), {}, True),
        ("1234", ("= 1,234\n#### 1,234",), GSM8K, True),
        ("Yes!", ("yes",), {"case": True}, False),
        ("Yes!", ("yes",), {"case": True, "punctuation": True}, True),
        ("a1", ("a2",), {"numbers": True}, True),
        ("İ", ("i",), {"case": True}, True),
        ("b.", ("b.\0",), {"regexes": ["^the ", r"\.$"]}, True),
    ],
)
def test_a_text_equals_an_answer_without_what_is_ignored(
    text: str, answers: tuple[str, ...], ignore: dict[str, Any], right: bool
) -> None:
    assert equals(text, answers, ignore) is right


def filter_match(*filters: dict[str, Any], **ignore: Any) -> Match:
    keys = {"as": "filtered", "filters": list(filters), "ignore": ignore}
    return Match.model_validate({key: value for key, value in keys.items() if value})


@pytest.mark.parametrize(
    ("response", "option", "rule"),
    [
        ("#### 8", RIGHT, "behind the filters"),
        ("I'm sorry, but I cannot help. #### 8", RIGHT, "behind the filters"),
        ("<think>#### 8", RIGHT, "behind the filters"),
        ("#### 9", WRONG, "behind the filters"),
        ("8", None, NO_MATCH),
        ("", None, NO_MATCH),
    ],
)
def test_what_filters_read(response: str, option: int | None, rule: str) -> None:
    extraction = read_answer(filter_match(STRICT), Item("a", "?", references=("8", "eight")), response)
    assert (extraction.option, extraction.rule) == (option, rule)


def test_a_fallback_that_is_right_earns_the_point() -> None:
    item = Item("a", "?", references=("none",))
    assert read_answer(filter_match({**STRICT, "fallback": "none"}), item, "8").option == RIGHT


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_response_is_read_behind_its_stop_strings_and_where_it_was_cut(finish: str) -> None:
    setting = Setting("p", "match", match=filter_match(FLEXIBLE), stop=("Question:",))
    item = Item("a", "?", references=("18",))
    answer = {"text": "It is 18 Question: 19", "finish": finish}
    assert score_sample(setting, item, [answer]).score == 1
    assert score_sample(setting, item, [{"text": "It is 18", "finish": finish}]).score == 1
    assert score_sample(setting, item, [{"text": "none", "finish": finish}]).choice is None


def test_choices_are_the_column_else_the_options() -> None:
    match = filter_match(LETTER)
    by_column = Item("a", "?", references=("(B)",), extra={"choices": ["iron", "gold"]})
    by_option = Item("b", "?", ("iron", "gold"), gold=1, references=("(B)",))
    assert (
        read_answer(match, by_column, "gold").option == read_answer(match, by_option, "gold").option == RIGHT
    )
    for choices in (None, [], ["x"] * 27, "ab"):
        with pytest.raises(Unmatchable, match="choices"):
            right_answers(match, Item("c", "?", references=("(B)",), extra={"choices": choices}))


def test_a_pattern_that_never_ends_is_stopped_and_the_next_one_read() -> None:
    item = Item("a", "?", references=("b",))
    extraction = read_answer(filter_match({"kind": "regex", "pattern": "(a+)+$"}), item, "a" * 40 + "b")
    assert extraction.option is None
    assert "takes more CPU time than it may" in extraction.rule
    assert read_answer(filter_match({"kind": "regex", "pattern": "b$"}), item, "ab").option == RIGHT


@pytest.mark.parametrize("pattern", ["(", "[", "*", "a{99999999999}", "(" * 9000 + ")" * 9000])
def test_what_is_no_pattern_is_said_and_fails_no_run(pattern: str) -> None:
    assert pattern_problem(pattern)
    given = read_filtered(filtered_text([{"kind": "regex", "pattern": pattern}]), "{}", "a", ("a",), ())
    assert given.failed is not None
    assert not given.right


@pytest.mark.parametrize(
    ("match", "answers"),
    [
        (filter_match(), ("72",)),
        (filter_match(STRICT, **GSM8K), ("6 * 12 = 72\n#### 72",)),
        (filter_match(FLEXIBLE, **GSM8K), ("6 * 12 = 72\n#### 72",)),
        (filter_match({"kind": "regex", "pattern": "(?<=answer is )(.*)(?=.)"}), ("no", "valid")),
        (filter_match({"kind": "regex", "pattern": r"answer is \(?([A-J])\)?"}), ("C",)),
        (filter_match({"kind": "regex", "pattern": r"My choice:\s*(\d)"}), ("3",)),
        (filter_match({"kind": "lowercase"}), ("yes",)),
        (filter_match(LETTER), ("(B)",)),
    ],
)
def test_responders_say_what_filters_read(match: Match, answers: tuple[str, ...]) -> None:
    item = Item("a", "?", references=answers, extra={"choices": ["x", "y", "z"]})
    right, wrong = says(match, item, right=True), says(match, item, right=False)
    assert right is not None
    assert wrong is not None
    assert read_answer(match, item, right).option == RIGHT
    assert read_answer(match, item, wrong).option != RIGHT


def test_no_responder_is_right_where_nothing_can_be() -> None:
    assert says(filter_match({"kind": "lowercase"}), Item("a", "?", references=("Yes",)), right=True) is None


PATTERNS = (STRICT["pattern"], FLEXIBLE["pattern"], r"(\d*)(x?)", "x?", r"\((A|B|C)\)", "(é+)|(ß)", r"[ \n]+")
WORDS = ("(A)", ": B", "42", "1,2", "#### 7", "é", "ß", "İ", "東京", "\n", " ", "Guilty", "yes", ".", "\0")


@pytest.mark.skipif(importlib.util.find_spec("lm_eval") is None, reason="lm_eval is not installed")
def test_the_package_reads_the_same() -> None:
    from lm_eval.api.instance import Instance
    from lm_eval.api.metrics import exact_match_fn
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.filters import build_filter_ensemble

    drawn = random.Random(3)
    config = SimpleNamespace(process_results=None, doc_to_choice=None)
    for _ in range(2000):
        kind = drawn.choice(["regex", "regex", "multi_choice_regex"])
        pattern, group = drawn.choice(PATTERNS), drawn.choice([0, -1])
        response, gold = ("".join(drawn.choices(WORDS, k=drawn.randrange(5))) for _ in range(2))
        case, patterns = drawn.random() < 0.5, drawn.sample([",", r"\$", r"\.$", "é"], 2)
        function = [kind, {"regex_pattern": pattern, "group_select": group}]
        instance = Instance("generate_until", {"choices": list(CHOICES)}, ("", {}), 0)
        instance.resps = [response]
        build_filter_ensemble("all", [function, ["take_first", None]]).apply([instance])
        text, _ = filtered([{"kind": kind, "pattern": pattern, "group": group}], response, CHOICES)
        assert text == instance.filtered_resps["all"], (function, response)
        golds = [gold, text][: drawn.randrange(1, 3)]
        task = SimpleNamespace(
            config=config, OUTPUT_TYPE="generate_until", multiple_target=len(golds) > 1,
            doc_to_target=lambda doc, golds=golds: list(golds) if len(golds) > 1 else golds[0],
            _metric_fn_list={"exact_match": exact_match_fn}, _aggregation_list={}, _higher_is_better={},
            _metric_fn_kwargs={"exact_match": {"ignore_case": case, "regexes_to_ignore": patterns}},
        )  # fmt: skip
        given = ConfigurableTask.process_results(task, {}, [text])["exact_match"]
        assert equals(text, golds, {"case": case, "regexes": patterns}) is (given > 0), (
            text,
            golds,
            patterns,
        )
