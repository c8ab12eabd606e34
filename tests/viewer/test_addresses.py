"""Addresses: what goes in comes out again, whatever an identifier holds, and one page has one address."""

from urllib.parse import parse_qs, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from gridc.reports import page_links

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def read(path: str) -> dict[str, str]:
    return {key: value for key, (value,) in parse_qs(urlsplit(path).query, keep_blank_values=True).items()}


@given(TEXT, TEXT, TEXT)
def test_identifiers_survive(key: str, other: str, item: str) -> None:
    path = page_links.side_by_side("a" * 64, key, other, item, 3)
    wanted = {"study": "a" * 12, "left": key, "right": other, "item": item, "replicate": "3"}
    assert (urlsplit(path).path, read(path)) == ("/beside", wanted)
    assert path.isascii() and not set('"<>\\ \n') & set(path)


def test_what_is_empty_is_left_out() -> None:
    assert page_links.samples("f" * 64, outcome="", model=None) == "/samples?study=" + "f" * 12
    assert "store=2" in page_links.cell("f" * 64, "m/b/c", "2")
    assert "store" not in page_links.cell("f" * 64, "m/b/c")
    assert "replicate=0" in page_links.sample_link("f" * 64, "m/b/c", "1"), "a number is a value, 0 too"
