"""The defect museum: measurement defects that ran somewhere without an error, and what stops them here.

Every exhibit is a small study, or an instrument with one published defect put into it. It must be caught by
the code named for it, and it must escape once that one check is taken away: so no check is idle, and
none is caught by another's accident. README.md lists them, in the order of the rooms below, and
docs/museum.md the published ones that have a code.
"""

from pathlib import Path
from typing import Any

import pytest
from _pytest.monkeypatch import MonkeyPatch

from gridc.diagnostics.errors import CODES
from tests.museum.exhibit import EXHIBITS, Exhibit
from tests.museum.exhibits import answered, asked, computed, data, designed, gated, inferred, kept, reported

DOCUMENT = Path(__file__).with_name("README.md")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "museum.md"
ROOMS = (designed, asked, data, answered, computed, reported, inferred, gated, kept)
RELEASED = "Safety Under Scaffolding, released code, "
"""What the document says once, of FINDINGS and D."""
CATALOGUE = [each for room in ROOMS for each in EXHIBITS if each.found.__module__ == room.__name__]


@pytest.mark.parametrize("shown", CATALOGUE, ids=lambda each: each.id)
def test_the_exhibit_is_caught(shown: Exhibit, room: Any, monkeypatch: MonkeyPatch) -> None:
    assert shown.caught in shown.found(room, monkeypatch)


@pytest.mark.parametrize("shown", CATALOGUE, ids=lambda each: each.id)
def test_without_its_check_the_exhibit_escapes(shown: Exhibit, room: Any, monkeypatch: MonkeyPatch) -> None:
    shown.remove(monkeypatch)
    assert shown.caught not in shown.found(room, monkeypatch)


def test_the_sound_study_is_no_exhibit(room: Any) -> None:
    assert room.codes(tokens=True) == set()


def test_the_catalogue_lists_every_exhibit_and_no_other() -> None:
    caught = [
        f"`{each.caught}`: {CODES[each.caught].title}" if each.caught in CODES else each.caught
        for each in CATALOGUE
    ]
    expected = [
        f"| {each.defect} | {each.source.removeprefix(RELEASED)} | {how} |"
        for each, how in zip(CATALOGUE, caught, strict=True)
    ]
    assert rows(DOCUMENT) == expected, "\n".join(expected)


def test_the_page_lists_every_published_exhibit_that_has_a_code() -> None:
    expected = [
        f"| {each.defect} | {each.source.removeprefix(RELEASED)} | `{each.caught}` |"
        for each in CATALOGUE
        if each.caught in CODES and not each.source.startswith("an earlier gridc")
    ]
    assert rows(PAGE) == expected, "\n".join(expected)


def rows(document: Path) -> list[str]:
    """Those of its table, without the head."""
    return [line for line in document.read_text("utf-8").splitlines() if line.startswith("| ")][1:]
