"""A kind of number is printed in one form, wherever it stands."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

import gridc
from gridc import numbers
from gridc.reports import rendering as reports
from gridc.reports.comparison import words as comparison
from gridc.reports.rendering import latex
from gridc.schema.comparison import ChangeEstimate
from gridc.viewer import view as viewer

PACKAGE = Path(gridc.__file__).parent


@pytest.mark.parametrize(
    ("p", "shown", "told"),
    [(None, "–", "no p"), (0.00003, "< 0.0001", "p < 0.0001"), (0.00123, "0.0012", "p = 0.0012"),
     (0.03, "0.030", "p = 0.030"), (1.0, "1", "p = 1")],
)  # fmt: skip
def test_p_has_one_form(p: float | None, shown: str, told: str) -> None:
    assert (numbers.p_value(p), numbers.p_in_text(p)) == (shown, told)


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert numbers.in_points(-0.0001) == numbers.in_points(Fraction(1, 4000)) == "0.0"
    assert numbers.hundredths(-0.0001) == "0.0" and numbers.number(-0.0001) == "0.000"
    assert numbers.percent(Fraction(1, 3)) == "33.3 %"


def test_an_interval_has_the_form_of_its_ends() -> None:
    assert numbers.interval_words((0.1, 0.25), numbers.percent) == "10.0 % to 25.0 %"
    assert numbers.bracketed((-0.1, 0.25), numbers.in_points) == "[-10.0, +25.0]"
    assert numbers.bracketed((0.1, 0.25), numbers.hundredths, 0) == "[10, 25]"
    assert numbers.interval_words(None, numbers.in_points) == "–"


def test_pages_viewer_and_comparisons_print_the_same() -> None:
    for environment in (reports._environment(), viewer._environment()):
        for name, form in numbers.FORMS.items():
            assert environment.filters[name] is form
    estimate = ChangeEstimate(
        items=50,
        a=50.0,
        b=48.0,
        a_bounds=(50.0, 50.0),
        b_bounds=(48.0, 48.0),
        change=-2.0,
        low=-5.0,
        high=0.01,
    )
    assert (
        comparison.change_interval(estimate)
        == numbers.interval_words((-0.05, 0.0001), numbers.in_points)
        == "-5.0 to 0.0"
    )


def test_latex_sets_the_sign_of_a_number_and_the_hyphen_of_a_name() -> None:
    assert latex("-2.5 to -0.1 (-3) a-1 --x") == "$-$2.5 to $-$0.1 ($-$3) a{-}1 {-}{-}x"


def test_no_template_formats_a_number_itself() -> None:
    own = re.compile(r"%\.\d|\{:,?\.\d|\{:,\}|\"%g")
    found = [
        f"{path.name}: {line.strip()}"
        for path in (PACKAGE / "templates").rglob("*.jinja")
        for line in path.read_text("utf-8").splitlines()
        if own.search(line)
    ]
    assert not found


@pytest.mark.parametrize(
    ("asked", "held", "said"),
    [(40, 120, "40 of 120 items"), (1, 1200, "1 of 1,200 items"), (40, 40, "40 items"), (1, 1, "1 item"),
     (40, 0, "40 items")],
)  # fmt: skip
def test_a_part_of_the_items_is_said_of_how_many(asked: int, held: int, said: str) -> None:
    assert numbers.asked_items(asked, held) == said
