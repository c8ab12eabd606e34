"""Printed figures against every whole count, rounded as text by `decimal`."""

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from statsmodels.stats.proportion import proportion_confint

from gridc.statistics.grim import (
    PrintedShare,
    always_possible,
    counts,
    difference_possible,
    interval_methods,
    needed_rules,
)

PLACE = Decimal("0.01")
HALVES = (ROUND_HALF_UP, ROUND_HALF_DOWN, ROUND_HALF_EVEN)


def figure(text: str) -> PrintedShare:
    places = len(text.partition(".")[2])
    return PrintedShare(Fraction(text), Fraction(1, 2 * 10**places))


def printings(numerator: int, denominator: int) -> set[Decimal]:
    """How a share may be printed with two places."""
    exact = Decimal(numerator) / Decimal(denominator)
    return {exact.quantize(PLACE, rounding) for rounding in HALVES}


@pytest.mark.parametrize("n", [1, 2, 7, 8, 40, 64, 99, 100, 101])
def test_the_counts_of_a_figure_are_those_that_are_printed_so(n: int) -> None:
    printed = {k: printings(k, n) for k in range(n + 1)}
    for hundredths in range(101):
        text = Decimal(hundredths) / 100
        expected = [k for k in range(n + 1) if text in printed[k]]
        assert list(counts(figure(f"{text:.2f}"), n)) == expected
        assert expected or not always_possible(figure(f"{text:.2f}"), n)


@pytest.mark.parametrize(("n", "m"), [(6, 6), (9, 9), (6, 9), (7, 16), (13, 4)])
def test_a_difference_is_possible_where_some_two_counts_give_it(n: int, m: int) -> None:
    printed = {text for i in range(n + 1) for j in range(m + 1) for text in printings(i * m - j * n, n * m)}
    for hundredths in range(-100, 101):
        text = Decimal(hundredths) / 100
        asked = figure(f"{text:.2f}")
        assert difference_possible(asked, range(n + 1), n, range(m + 1), m) == (text in printed)


def test_a_difference_of_two_stated_rates_takes_their_counts_alone() -> None:
    n = 21
    for i in range(n + 1):
        for j in range(n + 1):
            for hundredths in range(-100, 101, 7):
                text = Decimal(hundredths) / 100
                first, second = range(i, min(i + 2, n) + 1), range(j, j + 1)
                expected = any(text in printings(a - j, n) for a in first)
                assert difference_possible(figure(f"{text:.2f}"), first, n, second, n) == expected
    assert not difference_possible(figure("0.10"), range(0), n, range(3), n)


@pytest.mark.parametrize(
    ("method", "name"), [("wilson", "Wilson"), ("beta", "Clopper-Pearson"), ("normal", "Wald")]
)
def test_an_interval_is_known_by_its_ends(method: str, name: str) -> None:
    for k in (3, 20, 77):
        low, high = proportion_confint(k, 90, method=method)
        ends = figure(f"{low:.4f}"), figure(f"{high:.4f}")
        assert list(interval_methods(*ends, range(k, k + 1), 90)) == [name]
    assert list(interval_methods(figure("0.500"), figure("0.700"), range(12, 13), 20)) == ["multiples of 1/n"]


@pytest.mark.parametrize("n", [30, 147, 300])
def test_a_number_needed_comes_by_the_rules_that_give_it(n: int) -> None:
    rules = {
        "up": (ROUND_CEILING,),
        "nearest": (ROUND_HALF_UP, ROUND_HALF_DOWN),
        "down": (ROUND_FLOOR,),
    }
    for hundredths in (3, 10, 20, 33, 50):
        text = Decimal(hundredths) / 100
        inverses = [Decimal(n) / k for k in range(1, n + 1) if text in printings(k, n)]
        for needed in range(1, 45):
            expected = {
                rule
                for rule, roundings in rules.items()
                if any(
                    inverse.quantize(Decimal(1), rounding) == needed
                    for inverse in inverses
                    for rounding in roundings
                )
            }
            assert set(needed_rules(needed, figure(f"{text:.2f}"), n)) == expected
            assert set(needed_rules(needed, figure(f"-{text:.2f}"), n)) == expected
            assert set(needed_rules(needed, figure(f"{text:.2f}"), None)) >= expected


def test_a_difference_that_may_be_zero_has_any_large_number_needed() -> None:
    assert set(needed_rules(10**6, figure("0.00"), None)) == {"up", "nearest", "down"}
    assert not list(needed_rules(3, figure("0.00"), None))
