"""`gridc explain`: every code says what is wrong, why it matters and what to do."""

import tomllib

import pytest

from gridc.diagnostics.codes import CODES
from gridc.diagnostics.explain import EXAMPLES, WIDTH, markdown, text


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_its_long_form(code: str) -> None:
    told = text(code)
    assert told.startswith(f"{code}: {CODES[code].title}\n\n")
    assert all(len(line) <= 110 for line in told.split("\n"))
    assert len(CODES[code].explanation.split()) >= 14, "what is wrong, why, and the way out"
    assert max(map(len, told.split("\n\n")[1].split("\n"))) <= WIDTH
    assert CODES[code].explanation in markdown(code)


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_is_written_in_toml(code: str) -> None:
    assert code in CODES
    lines = [line for line in EXAMPLES[code].splitlines() if "# not: the quote" not in line]
    for line in lines:
        tomllib.loads(line)
    assert "# but" in EXAMPLES[code] or "# not" in EXAMPLES[code] or code == "GC302"
