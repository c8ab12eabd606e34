"""Reading answers out of free text: the last valid marker, and only the item's own letters."""

import tomllib
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gridc.compiler.instrument.extract import extract
from gridc.compiler.instrument.item import LETTERS
from gridc.compiler.instrument.plain_text import fold

TABLE = tomllib.loads(Path(__file__).with_name("extraction_cases.toml").read_text("utf-8"))
TRADES = tuple(TABLE["options"]["trades"])
STYLES = tomllib.loads(Path(__file__).with_name("extraction_styles.toml").read_text("utf-8"))
YES_NO = tuple(TABLE["options"]["yes_no"])


@pytest.mark.parametrize("case", TABLE["case"], ids=lambda case: f"{case['why']}: {case['response'][:40]!r}")
def test_what_a_response_answers(case: dict[str, Any]) -> None:
    options = TABLE["options"][case["options"]]
    found = extract(case["response"], options, lettered=case.get("lettered", True))
    if "unread" in case:
        assert (found.option, found.rule, found.confidence) == (None, case["unread"], "none")
        return
    assert found.option is not None, found.rule
    assert LETTERS[found.option] == case["letter"], found.rule
    read = " ".join(fold(case["response"][found.start : found.end]).split()).casefold()
    text = " ".join(fold(options[found.option]).strip(" .").split()).casefold()
    assert read == (text if "text" in found.rule else case["letter"].casefold())


def test_the_table_is_long_and_repeats_nothing() -> None:
    distinct = {(case["response"], case["options"]) for case in TABLE["case"]}
    assert len(distinct) == len(TABLE["case"]) >= 370


def test_whole_responses_in_six_styles() -> None:
    """Nothing is read that a reader does not read; nine of a hundred choices or none are left unread."""
    labelled = [case for style in STYLES.values() for case in style]
    assert len(labelled) == 100
    unread = []
    for options, letter, response in labelled:
        found = extract(response, TABLE["options"][options])
        read = "" if found.option is None else LETTERS[found.option]
        assert read in (letter, ""), (response, found.rule)
        unread += [response] if read != letter else []
    assert len(unread) == 9


@pytest.mark.parametrize(
    ("response", "option"),
    [
        ("A. He was away.\n\nB. He slept.", None),
        ("A. The baker\nHe was away.\n\nB. The miller\nHe slept.", None),
        ("**A** - away.\n**B** - asleep.", None),
        ("A. He was away.\n\nB. He slept.\n\nC. She was ill.\n\nThe answer is B.", 1),
        ("A. He was away.\nB. He slept.\nC", 2),
        ("A. He held the key.\n\nB: wrong.\n\nC: wrong.", 0),
        ("A. He held the key.\n\nB and C are not supported.", 0),
        ("A, because he held the key.\n\nB slept.", 0),
        ("A\n\nA. The baker held the key.\n\nB. The miller slept.", 0),
        ("B. He held the key.\n\nA. He was away.", 1),
        ("A. He held the key.\n\nC. She was ill.", 0),
    ],
)
def test_options_that_are_taken_up_in_turn_are_no_answer(response: str, option: int | None) -> None:
    assert extract(response, TRADES).option == option


@pytest.mark.parametrize(
    ("response", "rule"),
    [
        ("Answer: B", "stated letter"),
        ("Answer: The miller", "stated text"),
        ("B", "opening letter"),
        ("so it is B\n\nThe note was long.", "concluded letter"),
        ("so it is B", "concluded letter"),
        ("The note was long. Only B follows", "closing letter"),
        ("The thief was the miller", "short text"),
        ("A is wrong. C is wrong. D is wrong.", "left letter"),
    ],
)
def test_the_rule_that_read_it_is_named_with_its_confidence(response: str, rule: str) -> None:
    found = extract(response, TRADES)
    assert (found.option, found.rule) == (1, rule)
    assert found.confidence == ("stated" if rule.startswith(("stated", "opening")) else "inferred")


@pytest.mark.parametrize(
    ("response", "option"),
    [
        ("A", None),
        ("Answer: A", None),
        ("(B)", None),
        ("The miller", 1),
        ("Answer: the weaver", 2),
        ("B. The miller", 1),
        ("The baker? No. Answer: The miller", 1),
    ],
)
def test_where_no_letters_were_shown_only_texts_are_read(response: str, option: int | None) -> None:
    assert extract(response, TRADES, lettered=False).option == option


@example(":", ["0", "\n"])
@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=6), min_size=2, max_size=6))
def test_any_text_gives_one_of_the_options_or_none(response: str, options: list[str]) -> None:
    for lettered in (True, False):
        found = extract(response, options, lettered=lettered)
        if found.option is None:
            assert found.confidence == "none"
        else:
            assert 0 <= found.option < len(options)
            assert 0 <= found.start < found.end <= len(response)


@given(st.text(max_size=200))
def test_folding_moves_no_character(text: str) -> None:
    assert len(fold(text)) == len(text)


@given(st.text("Answer is:(B)\n*. ", max_size=40), st.integers(0, 3))
def test_a_last_line_with_a_marker_decides(before: str, option: int) -> None:
    found = extract(f"{before}\nFinal answer: ({'ABCD'[option]})", TRADES)
    assert (found.option, found.rule) == (option, "stated letter")


SPOKEN = st.sampled_from(
    [
        "The baker left before dawn.",
        "Many would say (A).",
        "Options (B) and (C) are common answers.",
        "A. The baker\nB. The miller\nC. The weaver\nD. Cannot be determined",
        "(D) would be wrong, as the text says who it was.",
        "Neither the baker nor the weaver was there.",
        "So it is C.",
        "At first sight the answer is A.",
    ]
)
DRESSED = st.sampled_from(
    [
        "{}",
        "({})",
        "**{}**",
        "**({})**",
        "`{}`",
        "{}.",
        "- {}",
        "> {}",
        "### {}",
        "[{}]",
        "\\boxed{{{}}}",
        "$\\boxed{{{}}}$",
    ]
)


@given(
    st.lists(SPOKEN, min_size=1, max_size=5),
    DRESSED,
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from(["", "\n", " \n"]),
)
def test_whatever_was_said_before_an_option_alone_on_the_last_line_is_the_answer(
    said: list[str], dress: str, option: int, text: bool, end: str
) -> None:
    name = TRADES[option] if text else "ABCD"[option]
    found = extract("\n".join(said) + "\n\n" + dress.format(name) + end, TRADES)
    assert found.option == option


@given(
    st.permutations(range(4)), st.sampled_from(["wrong", "incorrect", "false", "the wrong answer", "a trap"])
)
def test_an_option_that_is_called_wrong_is_never_the_answer(order: list[int], wrong: str) -> None:
    a, b, c, d = ("ABCD"[option] for option in order)
    assert extract(f"({a}) would be {wrong}, so ({b})", TRADES).option == order[1]
    assert extract(f"({a}), ({b}) and ({c}) are {wrong}, so ({d})", TRADES).option == order[3]
    assert extract(f"({a}) is {wrong}.", TRADES).option is None
    assert extract(f"The answer is {a}. But {a} is {wrong}.", TRADES).option is None


@pytest.mark.parametrize(
    ("response", "options"),
    [
        ("Answer:" + " " * 20_000, TRADES),
        ("Answer: " + "*" * 20_000 + "x", TRADES),
        ("Answer: Yes\n" * 600, YES_NO),
        ("yes no " * 4000, YES_NO),
        ("Answer: (" * 3000, TRADES),
        ("\\boxed{" * 3000, TRADES),
        ("A " * 10_000, TRADES),
        ("final " * 5000 + "answer", TRADES),
        ("A or B " * 4000, TRADES),
        ("A. The baker B. The miller " * 1500, TRADES),
        ("not the " * 6000, TRADES),
        ("is not " * 6000, TRADES),
        ("answer then then then " * 2000, TRADES),
        ("<b " * 8000 + "<" * 8000, TRADES),
        ("\x1b[" * 9000, TRADES),
        ("(A), (B) and " * 3000 + "are wrong", TRADES),
        ("a the an " * 5000 + "wrong", TRADES),
        ("neither " * 6000 + "x", TRADES),
        ("\n- A" * 5000, TRADES),
        ("The note fits (A). " * 20_000, TRADES),
        ("only B follows " * 20_000, TRADES),
        ("but A " * 20_000, TRADES),
        ("it depends; the baker. " * 10_000, TRADES),
        ('he said "the answer is A. ' * 10_000, TRADES),
    ],
    ids=[
        "spaces",
        "stars",
        "one answer repeated",
        "two words repeated",
        "open brackets",
        "boxes",
        "letters",
        "finals",
        "alternatives",
        "lists",
        "denials",
        "negations",
        "fillers",
        "open tags",
        "open escapes",
        "one long list",
        "articles",
        "neithers",
        "lines",
        "sentences",
        "no sentences",
        "contrasts",
        "abstentions",
        "quotes",
    ],
)
def test_a_degenerate_response_is_read_in_a_moment(response: str, options: tuple[str, ...]) -> None:
    """Models that repeat themselves fill their whole token limit: a few thousand tokens."""
    start = process_time()
    extract(response, options)
    assert process_time() - start < 3


@pytest.mark.parametrize(
    ("response", "reads"),
    [
        ("- A) Bern: 542 m\n- B) Graz: 353 m\n- C) Ulm: 478 m\n\nBern lies highest above the sea.", 0),
        ("Graz lies highest above the sea of the three in Austria.", None),
        ("Bern lies highest above the sea. Ulm and Graz lie at rivers.", 0),
        ("Bern lies highest above the sea. Graz lies highest above the sea.", None),
        ("Does Bern lie higher? If Bern lies highest above the sea, Ulm does not.", None),
        ("Bern lies highest above the sea's level in a list of capitals. Ulm is no capital.", None),
        ("Bern lies highest above the sea?\nUlm and Graz are in valleys.", None),
    ],
)
def test_a_text_in_the_place_of_the_question_s_which_is_the_answer(response: str, reads: int | None) -> None:
    question = "The Alps are high. Which of these towns lies highest above the sea?"
    assert extract(response, ("Bern", "Graz", "Ulm"), question=question).option == reads
    assert extract(response, ("Bern", "Graz", "Ulm"), question="Which is it?").option is None
