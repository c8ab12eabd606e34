"""Kendall's W and Friedman's test, beside scipy, statsmodels and counts by hand; ranges by exchange."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import friedmanchisquare
from statsmodels.stats.contingency_tables import cochrans_q

from gridc.statistics.rank_tests import exchanged_range, kendalls_w


@pytest.mark.parametrize("most", [1, 3, 1000])
@pytest.mark.parametrize(("rows", "columns"), [(5, 3), (40, 12), (300, 60)])
def test_friedman_is_that_of_scipy(rows: int, columns: int, most: int) -> None:
    table = np.random.default_rng(rows).integers(0, most + 1, (rows, columns))
    ours = kendalls_w(table)
    theirs = friedmanchisquare(*table.T)
    assert ours is not None and ours.freedom == columns - 1
    assert ours.chi2 == pytest.approx(theirs.statistic, rel=1e-12)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9)
    assert ours.chi2 == pytest.approx(rows * (columns - 1) * ours.w)


def test_of_right_and_wrong_it_is_cochrans_q() -> None:
    table = np.random.default_rng(3).integers(0, 2, (50, 7))
    ours, theirs = kendalls_w(table), cochrans_q(table)
    assert ours is not None
    assert (ours.chi2, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_w_by_hand() -> None:
    """Kendall's example of three judges and six subjects without ties, and the ends of the scale."""
    ranks = np.array([[1, 6, 3, 2, 5, 4], [1, 5, 6, 4, 2, 3], [6, 3, 2, 5, 4, 1]])
    deviations = ranks.sum(axis=0) - 10.5
    found = kendalls_w(ranks)
    assert found is not None and found.w == pytest.approx(12 * (deviations**2).sum() / (9 * (6**3 - 6)))
    alike, opposed = kendalls_w([[1, 2, 3]] * 4), kendalls_w([[1, 2], [2, 1]])
    assert alike is not None and opposed is not None and (alike.w, opposed.w) == (1, 0)
    assert kendalls_w([[2, 2, 2], [5, 5, 5]]) is None and kendalls_w([[1], [2]]) is None


def test_the_range_by_chance_is_that_of_all_exchanges() -> None:
    """Every way in which the rows of a small table can be permuted, one by one."""
    table = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 0, 0]])
    ways = product(*(list(permutations(row)) for row in table.tolist()))
    ranges = np.array([np.ptp(np.sum(way, axis=0)) for way in ways]) / 4
    found = exchanged_range(table, 4, 20_000, 1)
    assert found.mean == pytest.approx(ranges.mean(), abs=0.01)
    assert found.upper == np.sort(ranges)[int(np.ceil(0.95 * len(ranges))) - 1]
    assert found.p == pytest.approx((ranges >= 1).mean(), abs=0.01)


@pytest.mark.parametrize("columns", [5, 30])
def test_of_levels_that_do_nothing_few_are_called_apart(columns: int) -> None:
    """Items differ in difficulty, levels in nothing: p of both is below 0.05 in about 5 % of studies."""
    random = np.random.default_rng(columns)
    below = np.zeros(2)
    for _ in range(400):
        table = (random.random((40, columns)) < random.beta(1, 1, (40, 1))).astype(np.int64)
        test = kendalls_w(table)
        assert test is not None
        below += [exchanged_range(table, 40, 99, 7).p <= 0.05, test.p <= 0.05]
    assert (np.abs(below / 400 - 0.05) < 0.033).all(), below
