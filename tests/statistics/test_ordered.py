"""Trends against all orders, one by one."""

from itertools import permutations

import numpy as np
import pytest

from gridc.statistics.rank_tests import isotonic, jonckheere_terpstra, page_trend


def test_jonckheere_terpstra_has_the_mean_and_variance_of_all_assignments() -> None:
    groups = [[1.0, 2.0], [2.0, 2.0, 3.0], [1.0, 3.0]]
    pool, sizes = [v for group in groups for v in group], [len(group) for group in groups]
    ends = np.cumsum(sizes)

    def statistic(order: tuple[float, ...]) -> float:
        parts = np.split(np.array(order), ends[:-1])
        return sum(
            float((b > a) + 0.5 * (a == b))
            for at, low in enumerate(parts)
            for high in parts[at + 1 :]
            for a in low
            for b in high
        )

    values = np.array([statistic(order) for order in permutations(pool)])
    found = jonckheere_terpstra(groups)
    assert found.statistic == statistic(tuple(pool))
    assert (found.mean, found.deviation) == pytest.approx((values.mean(), values.std()))


@pytest.mark.parametrize("doses", [None, [0.0, 1.0, 10.0]])
def test_page_has_the_mean_and_variance_of_permuting_each_case(doses: list[float] | None) -> None:
    table = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.2, 0.5, 0.1], [1.0, 1.0, 1.0]])
    from itertools import product

    from scipy.stats import rankdata

    weights = np.array([1.0, 2.0, 3.0] if doses is None else doses)
    each = [[float(np.dot(weights, order)) for order in permutations(rankdata(row))] for row in table]
    values = np.array([sum(draw) for draw in product(*each)])
    found = page_trend(table, doses)
    assert found.statistic == pytest.approx(sum(float(np.dot(weights, rankdata(row))) for row in table))
    assert (found.mean, found.deviation) == pytest.approx((values.mean(), values.std()))


def test_page_is_that_of_scipy_without_ties() -> None:
    from scipy.stats import page_trend_test

    table = np.random.default_rng(0).normal(size=(30, 4))
    theirs = page_trend_test(table, method="asymptotic")
    ours = page_trend(table)
    assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_no_variation_is_no_trend() -> None:
    assert page_trend([[1, 1, 1]] * 4).p == 1
    assert jonckheere_terpstra([[1, 1], [1, 1]]).p == 1


@pytest.mark.parametrize("wrong", [[0.0, 0.0, 1.0], [0.0, 1.0]])
def test_doses_have_to_increase(wrong: list[float]) -> None:
    with pytest.raises(ValueError, match="increasing"):
        page_trend([[1, 2, 3]], wrong)


def test_isotonic_means_are_pooled_by_weight() -> None:
    assert isotonic([0.1, 0.5, 0.2], [1, 1, 3]) == pytest.approx([0.1, 0.275, 0.275])
    assert isotonic([0.1, 0.5, 0.2], [1, 1, 1], increasing=False) == pytest.approx([0.3, 0.3, 0.2])
