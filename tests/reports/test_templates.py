"""The templates themselves: short files of short lines, each of them used."""

import re
from pathlib import Path

import gridc

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
        for name in re.findall(r'(?:{% include|{% from|render\()\s*"([^"]+)"', path.read_text("utf-8"))
    }
    templates = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.*")}
    assert named == templates


def test_every_section_of_the_page_is_a_partial_of_its_own() -> None:
    for path in (FOLDER / "page").iterdir():
        assert path.read_text("utf-8").count("<h2") <= 1, path.name
    assert "<h2" not in (FOLDER / "page.html.jinja").read_text("utf-8")
