"""The canonical form (RFC 8785) and its digests, against vectors written out by hand."""

import hashlib
import json
from random import Random
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from gridc.schema.canonical import (
    canonical,
    canonical_members,
    canonical_row,
    digest,
    digest_bytes,
    stored_row,
)

VECTORS: list[tuple[Any, str]] = [
    (None, "null"),
    (True, "true"),
    ([], "[]"),
    ({}, "{}"),
    ({"b": 1, "a": [2, {"d": 3, "c": None}]}, '{"a":[2,{"c":null,"d":3}],"b":1}'),
    ({"a": 1, "B": 2, "_": 3, "1": 4, "": 5}, '{"":5,"1":4,"B":2,"_":3,"a":1}'),
    # keys are sorted by UTF-16 code units, where a surrogate pair comes before U+FB33
    ({"\ufb33": 1, "\U0001f600": 2, "\u20ac": 3, "\u00f6": 4, "\r": 5, "1": 6},
     '{"\\r":5,"1":6,"\u00f6":4,"\u20ac":3,"\U0001f600":2,"\ufb33":1}'),
    ("\u00e9\u4e16\U0001d538", '"\u00e9\u4e16\U0001d538"'),
    ("e\u0301", '"e\u0301"'),
    ('"\\/', '"\\"\\\\/"'),
    ("\b\t\n\f\r\x00\x1f\x7f\u2028", '"\\b\\t\\n\\f\\r\\u0000\\u001f\x7f\u2028"'),
    (0, "0"),
    (-1, "-1"),
    (9007199254740991, "9007199254740991"),
    (1.0, "1"),
    (-0.0, "0"),
    (0.1, "0.1"),
    (0.95, "0.95"),
    (1e21, "1e+21"),
    (1e20, "100000000000000000000"),
    (1e-6, "0.000001"),
    (1e-7, "1e-7"),
    (333333333.33333329, "333333333.3333333"),
    (5e-324, "5e-324"),
    (1.7976931348623157e308, "1.7976931348623157e+308"),
    ([56.0, {"x": 4.50, "y": 2e-3}], '[56,{"x":4.5,"y":0.002}]'),
]  # fmt: skip

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=5)
    | st.floats(-(2.0**52), 2.0**52),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=5), each, max_size=4),
)  # fmt: skip


@pytest.mark.parametrize(("value", "text"), VECTORS)
def test_the_canonical_form_of_a_value(value: Any, text: str) -> None:
    assert canonical(value) == text.encode("utf-8")
    assert digest(value) == hashlib.sha256(text.encode("utf-8")).hexdigest()


def test_known_digests() -> None:
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert digest_bytes(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert digest_bytes(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 2**53, {1: 2}, {"a": {3}}, b"bytes", "\ud800", {"\ud800": 1}]
)
def test_what_json_cannot_say_has_no_canonical_form(value: Any) -> None:
    with pytest.raises((rfc8785.CanonicalizationError, UnicodeEncodeError)):
        canonical(value)


@given(VALUES)
def test_the_canonical_form_is_json_of_the_same_value(value: Any) -> None:
    again = json.loads(canonical(value))
    assert canonical(again) == canonical(value)
    assert again == value


def reordered(value: Any, random: Random) -> Any:
    if isinstance(value, dict):
        keys = random.sample(list(value), len(value))
        return {key: reordered(value[key], random) for key in keys}
    return [reordered(each, random) for each in value] if isinstance(value, list) else value


@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_move_the_digest(value: Any, random: Random) -> None:
    assert digest(reordered(value, random)) == digest(value)


@given(VALUES, VALUES)
def test_two_values_have_one_digest_only_where_they_have_one_form(one: Any, other: Any) -> None:
    assert (digest(one) == digest(other)) is (canonical(one) == canonical(other))


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), (None, {}), ("1", 1), ([1], {"0": 1})])
def test_values_that_python_or_javascript_confuse_have_two_digests(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


ROWS = st.recursive(
    st.none() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=6),
    max_leaves=20,
)


@given(st.lists(ROWS, max_size=8))
def test_a_row_has_the_canonical_bytes(row: list[Any]) -> None:
    assert canonical_row(row) == canonical(row)
    assert canonical_row(tuple(row)) == canonical(row)


@given(st.lists(ROWS | st.floats(allow_nan=False, allow_infinity=False), max_size=8))
def test_a_stored_row_has_the_floats_as_python_writes_them(row: list[Any]) -> None:
    assert stored_row(row) == json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=8)
    | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1e-4, 9.9e-5, 1e15, 1e16, -0.0]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
)  # fmt: skip


@given(ANYTHING)
def test_the_fast_form_is_the_one_of_rfc8785(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(
    st.dictionaries(
        st.text(st.characters(max_codepoint=126), max_size=3), ANYTHING | st.sampled_from([0, 1]), max_size=8
    )
)
def test_members_that_are_remembered_have_the_canonical_bytes(values: dict[str, Any]) -> None:
    for _ in range(2):
        assert canonical_members(values) == rfc8785.dumps(values)
    for like in (lambda value: value == 1, float, bool):
        changed = {name: like(value) if value in (0, 1) else value for name, value in values.items()}
        assert canonical_members(changed) == rfc8785.dumps(changed)


@pytest.mark.parametrize("value", ["\ud800", {"\ud800": 1}, ["\udfff"], {"a": float("nan")}, {1: 2}, {"a"}])
def test_the_fast_form_refuses_what_rfc8785_refuses(value: Any) -> None:
    with pytest.raises((rfc8785.CanonicalizationError, UnicodeEncodeError)) as one:
        rfc8785.dumps(value)
    with pytest.raises(type(one.value)):
        canonical(value)
