"""Intervals that leave out one unit at a time: of a mean those of Student, of ratios they cover."""

import numpy as np
import pytest
from scipy.stats import t

from gridc.statistics.unit_jackknife import estimate, ratio, unit_totals

RANDOM = np.random.default_rng(1)


def test_of_a_mean_of_equal_units_it_is_students_interval() -> None:
    values = RANDOM.random(40)
    found = estimate(np.column_stack([np.ones(40), values]), ratio(1, 0))
    expected = t.interval(0.95, 39, values.mean(), values.std(ddof=1) / np.sqrt(40))
    assert found.value == pytest.approx(values.mean())
    assert found.interval == pytest.approx(expected)
    assert found.units == 40
    assert found.effective == pytest.approx(40)


def test_rows_of_a_unit_count_together_and_units_of_size_zero_do_not() -> None:
    units = np.array([7, 3, 7, 9])
    totals = unit_totals(units, [[1, 2], [1, 5], [1, 3], [0, 0]])
    assert totals.tolist() == [[1, 5], [2, 5], [0, 0]]
    found = estimate(totals, ratio(1, 0))
    assert found.value == pytest.approx(10 / 3)
    assert (found.units, found.interval) == (2, None)


@pytest.mark.parametrize(
    ("totals", "value"),
    [(np.zeros((0, 2)), None), (np.zeros((30, 2)), None), (np.ones((30, 2)), 1.0),
     (np.array([[1.0, 0.0]] * 19), 0.0)],
    ids=["no unit", "empty units", "nothing varies", "too few"],
)  # fmt: skip
def test_without_a_spread_there_is_no_interval(totals: np.ndarray, value: float | None) -> None:
    found = estimate(totals, ratio(1, 0))
    assert (found.value, found.interval) == (value, None)


def test_one_large_unit_is_worth_few() -> None:
    totals = np.column_stack([[300.0] + [1.0] * 60, RANDOM.random(61)])
    assert estimate(totals, ratio(1, 0)).interval is None


def test_a_value_that_one_unit_decides_has_no_interval() -> None:
    totals = np.column_stack([np.ones(30), np.eye(30)[0], np.ones(30)])

    def log(sums: np.ndarray) -> np.ndarray:
        value: np.ndarray = np.log(sums[:, 1] / sums[:, 0])
        return value

    found = estimate(totals, log)
    assert found.value == pytest.approx(np.log(1 / 30))
    assert found.interval is None


def test_the_interval_of_a_share_ends_at_zero_and_one() -> None:
    totals = np.column_stack([np.full(30, 4.0), np.eye(30)[0] * 4])
    found = estimate(totals, ratio(1, 0), share=True)
    assert found.interval is not None
    assert found.interval[0] == 0.0
    assert estimate(totals, ratio(1, 0)).interval[0] < 0  # type: ignore[index]


@pytest.mark.parametrize("units", [24, 60])
def test_ratios_of_unequal_units_are_covered(units: int) -> None:
    """A ratio of two shares that depend on each other, of units of 1 to 6: about 95 % of 2,000 studies."""
    random, inside = np.random.default_rng(units), 0
    for _ in range(2000):
        size = random.integers(3, 7, units)
        level = random.beta(6, 4, units)
        first, second = random.binomial(size, level), random.binomial(size, 0.8 * level)
        found = estimate(np.column_stack([size, first, second]), ratio(2, 1))
        assert found.interval is not None
        inside += found.interval[0] <= 0.8 <= found.interval[1]
    assert 0.93 <= inside / 2000 <= 0.97
