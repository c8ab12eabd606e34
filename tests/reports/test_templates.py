"""The templates themselves: short files of short lines, each of them used."""

import html
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import gridc
from gridc.numbers import with_sign
from gridc.reports.recorded.words import plain_markdown
from gridc.reports.rendering import escape_markdown

FOLDER = Path(gridc.__file__).parent / "templates" / "reports"
LONGEST_LINE = 140
LONGEST_FILE = 160


def test_a_template_can_be_read() -> None:
    for path in FOLDER.rglob("*.jinja"):
        lines = path.read_text("utf-8").splitlines()
        assert len(lines) <= LONGEST_FILE, f"{path.name} has {len(lines)} lines: part it"
        for number, line in enumerate(lines, 1):
            assert len(line) <= LONGEST_LINE, f"{path.name}:{number} has {len(line)} characters"


def test_every_template_is_used() -> None:
    users = [*FOLDER.rglob("*.jinja"), *(FOLDER.parents[1] / "reports").rglob("*.py")]
    named = {
        name
        for path in users
        for name in re.findall(
            r'(?:{% include|{% from|render_template\()\s*"([^"]+)"', path.read_text("utf-8")
        )
    }
    templates = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.*")}
    assert named == templates


def test_every_section_of_the_page_is_a_partial_of_its_own() -> None:
    for path in (FOLDER / "page").iterdir():
        assert path.read_text("utf-8").count("<h2") <= 1, path.name
    assert "<h2" not in (FOLDER / "page.html.jinja").read_text("utf-8")


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [(-0.04, 1, "0.0"), (0.04, 1, "0.0"), (0, 1, "0.0"), (-0.06, 1, "-0.1"), (Fraction(1, 3), 2, "+0.33")],
)
def test_what_rounds_to_nothing_has_no_sign(value: float | Fraction, digits: int, shown: str) -> None:
    assert with_sign(value, digits) == shown


@pytest.mark.parametrize(
    "text",
    [
        "@alice and @org/team, look",
        "see https://evil.example/x",
        "_HTTP://evil.example/x",
        "www.evil.example",
        "ftp://evil.example",
        "write to ada@evil.example",
        "mailto:ada@evil.example",
        "&commat;alice",
    ],
)
@pytest.mark.parametrize("form", [escape_markdown, plain_markdown])
def test_a_text_mentions_nobody_and_links_nowhere(text: str, form: Callable[[str], str]) -> None:
    """As GitHub and the Hub render it, which make links of bare addresses, and mentions of what the page then
    shows."""
    page = MarkdownIt("gfm-like")
    assert page.linkify is not None
    page.linkify.set({"fuzzy_link": False})
    shown = page.render(form(text))
    assert "<a " not in shown
    assert not re.search(r"(?<!\w)@\w|@[\w-]+\.\w", shown)
    assert html.unescape(re.sub("<[^>]*>|\u2060", "", shown)).strip() == text


def test_what_is_no_mention_is_left_alone() -> None:
    assert escape_markdown("pass@1 of 3 at 50 % : www") == "pass@1 of 3 at 50 % : www"
