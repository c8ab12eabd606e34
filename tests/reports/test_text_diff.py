from hypothesis import example, given
from hypothesis import strategies as st

from gridc.schema.base import Not, selector_of
from gridc.study.showing import text_diff

WORDS = st.lists(st.sampled_from(["a", "b", " ", "\n", "\r\n", "word", "Ä", "-", "\u2028"]), max_size=30)


@given(WORDS.map("".join), WORDS.map("".join))
@example("same", "same")
@example("", "\n")
def test_the_pieces_make_both_texts(a: str, b: str) -> None:
    pieces = text_diff(a, b)
    assert "".join(piece.text for piece in pieces if piece.side in ("both", "a")) == a
    assert "".join(piece.text for piece in pieces if piece.side in ("both", "b")) == b
    assert all(piece.text for piece in pieces)
    assert (a == b) == all(piece.side == "both" for piece in pieces)


NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,9}", fullmatch=True)


@given(st.dictionaries(NAMES, st.tuples(st.booleans(), st.lists(NAMES, min_size=1, max_size=3)), min_size=1))
def test_a_selector_is_read_as_it_is_written(stated: dict[str, tuple[bool, list[str]]]) -> None:
    text = ",".join(
        f"{name}{'!=' if left_out else '='}{','.join(names)}" for name, (left_out, names) in stated.items()
    )
    found = selector_of([text]).root
    assert found.keys() == stated.keys()
    for name, (left_out, names) in stated.items():
        choice = found[name]
        listed = choice.not_ if isinstance(choice, Not) else choice
        assert isinstance(choice, Not) == left_out
        assert list(listed) == names
