"""What can be estimated is said once: for the document of estimates, and for people in docs/estimates.md."""

import re
from pathlib import Path

import pytest

from gridc.reports.estimates.components import level_estimates
from gridc.reports.quantities import QUANTITIES, estimate_row, needed_rows, needed_words
from gridc.schema.hypotheses import NumberNeededRow
from gridc.statistics.risk import Interval, number_needed
from tests.reports.test_statements import levelled

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "estimates.md"
BEGIN, END = "<!-- quantities -->\n", "<!-- /quantities -->"


def table() -> str:
    """Each quantity under the section that defines it, with its measure unless that is a share."""
    lines: list[str] = []
    for section in dict.fromkeys(quantity.docs for quantity in QUANTITIES.values()):
        lines += [*[""] * bool(lines), f"[{section}]({section}):", ""]
        lines += [
            f"- `{each.name}`: {each.what}" + f" ({each.measure})" * (each.measure != "share")
            for each in QUANTITIES.values()
            if each.docs == section
        ]
    return "\n".join([*lines, ""])


def test_the_page_lists_them(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    listed, _, after = rest.partition(END)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(f"{before}{BEGIN}{table()}{END}{after}", "utf-8")
    else:
        assert listed == table(), "pytest tests/reports/test_quantities.py --update-golden writes it"


@pytest.mark.parametrize("section", sorted({quantity.docs for quantity in QUANTITIES.values()}))
def test_the_section_that_defines_one_is_there(section: str) -> None:
    page, _, anchor = section.partition("#")
    headings = re.findall(r"^#+ (.+)$", (DOCS / page).read_text("utf-8"), re.MULTILINE)
    assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_what_is_no_quantity_cannot_be_estimated() -> None:
    with pytest.raises(KeyError):
        estimate_row(
            "verdict", id="verdict/a", about="a", estimate=0.5, method="m", assumption="", rows="0" * 64, n=1
        )


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(-0.1, 0.2, "95 % from 10.0 to harm through infinity to 5.0 to benefit"),
     (0.0, 0.2, "95 % from infinity to 5.0 to benefit"),
     (-0.1, 0.0, "95 % from 10.0 to harm through infinity"),
     (0.0, 0.0, "number needed to benefit 10")],
)  # fmt: skip
def test_an_infinite_side_of_a_number_needed_is_not_named(low: float, high: float, words: str) -> None:
    needed = NumberNeededRow.of(number_needed(0.1, Interval(low, high)))
    assert needed_words(needed).endswith(words)
    row, *ends = needed_rows("n", "about", needed, "0" * 64, 1)
    assert row.interval is None and row.level is None
    assert [end.estimate for end in ends] == pytest.approx([abs(1 / end) for end in (low, high) if end])
    assert row.method == "1 / |difference|" + (f"; {words} (Altman 1998)" if low < high else "")


def test_an_interval_of_a_number_needed_stands_where_it_holds_no_infinity() -> None:
    (row,) = needed_rows(
        "n", "about", NumberNeededRow.of(number_needed(0.1, Interval(0.05, 0.2))), "0" * 64, 1
    )
    assert row.interval == (5.0, 20.0)


def test_an_estimate_without_an_interval_does_not_say_how_one_is_made() -> None:
    rows = {row.kind: row for row in level_estimates(levelled())}
    assert rows["levels_mean"].interval is None
    assert rows["levels_mean"].method == "mean of the levels"
