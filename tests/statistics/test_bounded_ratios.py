"""Slopes and means with known ends: Clopper and Pearson's limits where they are shares, and few that miss."""

import numpy as np
import pytest
from scipy.stats import binomtest

from gridc.statistics.bounded_ratios import MANY, bounded_ratio, ratio_lower_limit

RANDOM = np.random.default_rng(1)


@pytest.mark.parametrize(("count", "n"), [(0, 5), (3, 12), (12, 40), (30, 30)])
def test_a_share_of_rows_has_clopper_and_pearsons_limits(count: int, n: int) -> None:
    points, ones = (np.arange(n) < count).astype(float), np.ones(n)
    found = bounded_ratio(points, ones, 0 * ones, ones)
    assert found.value == pytest.approx(count / n)
    assert found.interval == pytest.approx(tuple(binomtest(count, n).proportion_ci(0.95)), abs=1e-5)


def test_a_slope_turns_around_with_its_outcome_and_scales_with_its_dose() -> None:
    dose = RANDOM.random(40)
    above, below, most = dose * RANDOM.choice([-1, 0, 0, 1], 40), dose**2, dose
    low, high = bounded_ratio(above, below, -most, most).interval or (0, 0)
    turned = bounded_ratio(-above, below, -most, most).interval
    assert turned == pytest.approx((-high, -low), abs=1e-6)
    tenfold = bounded_ratio(10 * above, 100 * below, -10 * most, 10 * most).interval
    assert tenfold == pytest.approx((low / 10, high / 10), abs=1e-6)


def test_units_that_were_not_exposed_say_nothing() -> None:
    """Eight of 100 units are exposed and none of them changes: what eight units allow, .369 at either end."""
    exposed = np.arange(100) < 8
    most = exposed.astype(np.float64)
    found = bounded_ratio(np.zeros(100), most, -most, most)
    assert found.interval == pytest.approx((0.025 ** (1 / 8) - 1, 1 - 0.025 ** (1 / 8)), abs=1e-5)
    assert (found.units, found.effective) == (8, 8)
    none = bounded_ratio(np.zeros(9), np.zeros(9), np.zeros(9), np.zeros(9))
    assert (none.value, none.interval, none.no_interval) == (None, None, "not determined")


def test_values_of_many_units_are_rounded_without_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, values = RANDOM.lognormal(0, 1, 3 * MANY), RANDOM.lognormal(0, 1, 3 * MANY)
    quick = ratio_lower_limit(values, sizes, 0 * sizes, 0.025)
    monkeypatch.setattr("gridc.statistics.bounded_ratios.MANY", 10 * MANY)
    assert quick == pytest.approx(ratio_lower_limit(values, sizes, 0 * sizes, 0.025), rel=0.002)
