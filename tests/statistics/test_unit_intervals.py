"""Intervals over units: of shares Clopper and Pearson's, of means at least as wide as Student's."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import binomtest

from gridc.statistics.strata import gap, share_ratio
from gridc.statistics.unit_intervals import (
    UnitEstimate,
    carriers,
    change,
    clopper_pearson,
    gains_and_losses,
    share,
    share_limit,
    share_limits,
    unit_totals,
)
from tests.recount import unit_limits

RANDOM = np.random.default_rng(1)


def ends(found: UnitEstimate) -> tuple[float, float]:
    assert found.interval is not None, found.no_interval
    return found.interval


@pytest.mark.parametrize(("count", "n"), [(0, 20), (1, 40), (3, 60), (40, 40)])
def test_a_share_that_few_carry_or_none_has_clopper_and_pearsons_limits(count: int, n: int) -> None:
    """Units of one row: Gaffke's limits, and those at 0 and 1."""
    exact = binomtest(count, n).proportion_ci(0.95)
    points = (np.arange(n) < count).astype(float)
    assert ends(share(np.column_stack([np.ones(n), points]))) == pytest.approx(tuple(exact), abs=1e-6)


def test_a_share_of_many_carriers_has_those_of_as_many_rows_as_vary_like_it() -> None:
    """Rows of one unit agree: 40 units of 5 rows say what 40 rows say, nearly so where one does not."""
    points = (np.arange(40) < 16).astype(float)
    alone = ends(share(np.column_stack([np.ones(40), points])))
    five = ends(share(np.column_stack([np.full(40, 5.0), 5 * points])))
    exact = binomtest(16, 40).proportion_ci(0.95)
    assert five == alone == pytest.approx(tuple(exact), abs=1e-9)
    nearly = 5 * points
    nearly[0] -= 1
    five = ends(share(np.column_stack([np.full(40, 5.0), nearly])))
    assert five == pytest.approx(tuple(exact), abs=0.02)
    assert clopper_pearson(16 / 40, 40, 0.05) == pytest.approx(tuple(exact))


def test_gaffkes_limits_by_another_inversion() -> None:
    """Units of several sizes, of which two earn something: the characteristic function, after Gil-Pelaez."""
    rows, points = np.array([1.0, 2, 3, 4, 5] * 6), np.zeros(30)
    points[[4, 11]] = 4.0, 2.0

    def excess(rate: float, sign: int) -> float:
        values = sign * (points - rate * rows)
        added = (rows**2).sum() / rows.sum()
        values = np.append(values, -(rate if sign > 0 else 1 - rate) * added) / rows.max()

        def imaginary(place: float) -> float:
            size = np.exp(-0.5 * np.log1p((place * values) ** 2).sum())
            return float(np.sin(np.arctan(place * values).sum()) * size / place)

        return float(0.5 - quad(imaginary, 0, np.inf, limit=500)[0] / np.pi - 0.025)

    top = points.sum() / rows.sum()
    expected = [brentq(excess, *where, (sign,)) for sign, where in ((1, (1e-9, top)), (-1, (top, 0.9)))]
    assert ends(share(np.column_stack([rows, points]))) == pytest.approx(tuple(expected), abs=1e-6)


@pytest.mark.parametrize("earned", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("sizes", [[1.0], [3.0, 0.0, 2.0]])
def test_one_limit_is_that_of_both(sizes: list[float], earned: float) -> None:
    rows = np.array(sizes * 8)
    for points in (np.round(rows * earned), rows * earned):
        both = share_limits(rows, points, 0.9)
        assert (share_limit(rows, points, 0.9, 0), share_limit(rows, points, 0.9, 1)) == both


def test_rows_of_a_unit_count_together_and_units_of_size_zero_do_not() -> None:
    units = np.array([7, 3, 7, 9])
    totals = unit_totals(units, np.array([[1, 0.2], [1, 0.5], [1, 0.3], [0, 0]]))
    assert totals.tolist() == [[1, 0.5], [2, 0.5], [0, 0]]
    found = share(totals)
    assert found.value == pytest.approx(1 / 3)
    assert found.effective == pytest.approx(1.8)
    assert found.units == 2 and found.few
    assert ends(found) == pytest.approx(unit_limits.limits(np.array([1.0, 2]), np.array([0.5, 0.5])))


def test_changes_of_few_units_have_gaffkes_limits_and_of_many_those_of_gains_and_losses() -> None:
    one = np.zeros(40)
    one[3] = -1.0
    low, high = ends(change(gains_and_losses(one)))
    assert low < -1 / 40 < high and high > 0
    # 50 units of two rows each, one of which may move.
    many = np.repeat([1.0, -1.0, 0.0], [12, 30, 58])
    units = np.arange(100) % 50
    low, high = ends(change(unit_totals(units, gains_and_losses(many))))
    # Of the difference of two shares of one multinomial sample (Newcombe 1998): by hand from both limits.
    gains, losses = (binomtest(count, 100).proportion_ci(0.95) for count in (12, 30))
    together = -0.12 * 0.30 / np.sqrt(0.12 * 0.88 * 0.30 * 0.70)
    down, up = 0.12 - gains.low, losses.high - 0.30
    expected = -0.18 - np.sqrt(down**2 + up**2 - 2 * together * down * up)
    assert low == pytest.approx(expected, abs=0.004)
    assert change(gains_and_losses(np.zeros(30))).interval == pytest.approx(
        (0.025 ** (1 / 30) - 1, 1 - 0.025 ** (1 / 30))
    )


def test_a_gap_and_a_ratio_turn_around_with_their_sides() -> None:
    rows = RANDOM.integers(1, 5, (60, 2))
    points = RANDOM.binomial(rows, [0.3, 0.5])
    totals = np.column_stack([rows[:, 0], points[:, 0], rows[:, 1], points[:, 1]]).astype(float)
    turned = totals[:, [2, 3, 0, 1]]
    assert ends(gap(totals)) == pytest.approx(tuple(-end for end in ends(gap(turned))[::-1]))
    assert ends(share_ratio(totals)) == pytest.approx(
        tuple(1 / end for end in ends(share_ratio(turned))[::-1])
    )


def test_carriers_are_the_units_whatever_the_others_hold() -> None:
    assert carriers(np.array([2.0] * 7 + [0.0] * 90)) == pytest.approx(7)
    assert carriers(np.zeros(5)) == 0


@pytest.mark.parametrize("units", [24, 60])
def test_ratios_of_unequal_units_are_covered(units: int) -> None:
    """A ratio of two shares that depend on each other, of units of 3 to 6: 95 % of 1,000 studies or more, as
    the limits of each share allow for a unit that nobody saw."""
    random, inside = np.random.default_rng(units), 0
    for _ in range(1000):
        size = random.integers(3, 7, units)
        level = random.beta(6, 4, units)
        first, second = random.binomial(size, level), random.binomial(size, 0.8 * level)
        found = share_ratio(np.column_stack([size, second, size, first]).astype(float))
        inside += found.interval is None or found.interval[0] <= 0.8 <= found.interval[1]
    assert inside / 1000 >= 0.94
