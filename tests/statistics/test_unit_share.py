"""Shares whose units repeat: exact limits of independent ones, and how often the limits hold."""

from random import Random

import pytest
from scipy.stats import binomtest

from gridc.statistics.raters import unit_share


@pytest.mark.parametrize(("count", "n"), [(0, 8), (3, 8), (8, 8), (17, 40)])
def test_of_independent_ones_the_limits_are_clopper_and_pearsons(count: int, n: int) -> None:
    found = unit_share([place < count for place in range(n)], range(n))
    exact = binomtest(count, n).proportion_ci(0.95)
    assert (found.n, found.count, found.units) == (n, count, n)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))


def test_copies_of_a_unit_add_nothing() -> None:
    alone = unit_share([True] * 6 + [False] * 6, range(12))
    copied = unit_share(([True] * 6 + [False] * 6) * 5, list(range(12)) * 5)
    assert copied.n == 60 and copied.units == 12 and copied.share == alone.share
    assert copied.low <= alone.low + 0.02 and copied.high >= alone.high - 0.02
    one = unit_share([True, False, True], ["a"] * 3)
    assert one.low < 0.05 and one.high > 0.95
    with pytest.raises(ValueError):
        unit_share([], [])


@pytest.mark.parametrize(("units", "times", "alike"), [(10, 4, True), (30, 2, False), (20, 3, True)])
def test_the_limits_hold_where_units_repeat(units: int, times: int, alike: bool) -> None:
    random, held, rounds, true = Random(3), 0, 400, 0.3
    for _ in range(rounds):
        shared = [random.random() < true for _ in range(units)]
        having = [shared[unit] if alike and random.random() < 0.8 else random.random() < true
                  for unit in range(units) for _ in range(times)]  # fmt: skip
        found = unit_share(having, [unit for unit in range(units) for _ in range(times)])
        held += found.low <= true <= found.high
    assert held / rounds >= 0.93
