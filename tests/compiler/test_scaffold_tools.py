"""The tools of react: arithmetic beside Python's own, hostile input, search, notes."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.compiler.instrument.scaffolds.procedures import MOST_CHARACTERS, Toolbox, calculator, text_search

numbers = st.one_of(st.integers(0, 999), st.floats(0, 99, allow_nan=False).map(lambda value: round(value, 3)))
expressions = st.recursive(
    numbers.map(str),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(" ".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"-{text}"),
        st.tuples(inner, st.integers(0, 4)).map(lambda pair: f"({pair[0]}) ** {pair[1]}"),
    ),
    max_leaves=8,
)


@given(expressions)
def test_the_calculator_computes_as_python_does(text: str) -> None:
    if len(text) > MOST_CHARACTERS:
        assert calculator(text).startswith("error:")
        return
    try:
        expected = str(eval(text, {"__builtins__": {}}))
    except (ZeroDivisionError, OverflowError):
        assert calculator(text).startswith("error:")
        return
    assert calculator(text) == expected or calculator(text) == "error: the result is too large"


@pytest.mark.parametrize(
    "hostile",
    [
        "9**9**9", "9**9**9**9", "(9**999)**(9**999)", "__import__('os').system('true')", "open('x')", "x",
        "().__class__", "1 if 1 else 2", "[1]*9999999", "'a'*10", "1;2", "", "(", "(" * 150 + "1", "1e999",
        "e", "1_000", "0x10", "lambda: 1", "1j", "10**5000", "2**-99999999", "--" * 99 + "1x", "9" * 201,
        "1\x00", "٣+٤", "f'{1}'", "1<<999999999", "~1", "True", "(-8)**0.5", "1/0", "5%0", "0**-1",
    ],
)  # fmt: skip
def test_what_is_not_sensible_arithmetic_is_an_error_at_once(hostile: str) -> None:
    begun = time.process_time()
    said = calculator(hostile)
    assert said.startswith("error:") or said == "0.0"  # 2**-99999999 is 0.0 in Python
    assert time.process_time() - begun < 0.5


def test_what_people_write_for_numbers_and_powers_is_read() -> None:
    assert calculator("1,234 + 1") == "1235"
    assert calculator(" 2^10 ") == "1024"
    assert calculator("1,23").startswith("error:")


def test_search_finds_the_passages_with_the_most_of_the_words() -> None:
    text = "Ann met Bob at the shop. Bob paid.\nLater, Ann paid Bob back."
    assert text_search(text, "bob PAID") == "Bob paid.\nLater, Ann paid Bob back."
    assert text_search(text, "xylophone") == "nothing found"
    assert text_search(text, "") == "nothing found"
    assert text_search("", "a") == "nothing found"


def test_notes_are_kept_and_other_tools_do_not_exist() -> None:
    box = Toolbox(("scratchpad",), "text")
    assert (box.use("scratchpad", "one"), box.use("scratchpad", "two")) == ("one", "one\ntwo")
    assert box.use("calculator", "1+1") is None
    assert Toolbox(("scratchpad",), "text").use("scratchpad", "three") == "three"
