"""`gridc explain`: every code says what is wrong, why it matters and what to do."""

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from gridc.cli import main
from gridc.diagnostics.errors import CODES, PACKAGE, WIDTH, code_markdown, code_text

EXAMPLES = {code: entry.example for code, entry in CODES.items() if entry.example is not None}
ROOT = Path(__file__).resolve().parents[1]
ROOMS = sorted(PACKAGE.rglob("codes.toml"))


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_its_long_form(code: str) -> None:
    told = code_text(code)
    assert told.startswith(f"{code}: {CODES[code].title}\n\n")
    assert all(len(line) <= 110 for line in told.split("\n"))
    assert len(CODES[code].explanation.split()) >= 14, "what is wrong, why, and the way out"
    assert max(map(len, told.split("\n\n")[1].split("\n"))) <= WIDTH
    assert CODES[code].explanation in code_markdown(code)


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_is_written_in_toml(code: str) -> None:
    lines = [line for line in EXAMPLES[code].splitlines() if "# not: the quote" not in line]
    for line in lines:
        tomllib.loads(line)
    assert "# but" in EXAMPLES[code] or "# not" in EXAMPLES[code] or code == "GC302"


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.parent.relative_to(PACKAGE)))
def test_what_is_said_of_a_code_stands_where_it_is_raised(room: Path) -> None:
    if room.parent.name == "diagnostics":
        return  # what the whole command line raises
    raised = "".join(module.read_text("utf-8") for module in room.parent.glob("*.py"))
    assert [code for code in tomllib.loads(room.read_text("utf-8")) if f'"{code}"' not in raised] == []


def test_every_term_is_explained() -> None:
    rows = [line for line in (ROOT / "docs" / "terms.md").read_text("utf-8").splitlines() if line[:2] == "| "]
    terms = [term for row in rows[1:] for term in row.split("|")[1].strip().split(", ")]
    assert {"rho_flip", "unanchored", "T1", "cannot be told apart"} <= set(terms)
    for term in terms:
        told = CliRunner().invoke(main, ["explain", *term.upper().split()])
        assert told.exit_code == 0 and told.stdout.startswith(f"{term}: "), told.output
        assert "](" not in told.stdout
