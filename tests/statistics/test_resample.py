"""Sensitivity ranges over resamples of configurations: closed forms against drawing, and their biases."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.statistics.envelope import (
    cfr_interval,
    concordance,
    disperse,
    draws,
    flip_rate,
    max_cfr_interval,
    max_statistic,
    percentiles_of,
    sdi_interval,
    sdi_values,
    tau_interval,
)

SCORES = [Fraction(k, 295) for k in (40, 90, 150, 150, 200, 204, 205, 260, 261, 262, 270, 271)]


def test_the_flip_rate_range_is_that_of_many_resamples() -> None:
    passing = sum(score >= Fraction(1, 2) for score in SCORES)
    rates = [
        float(flip_rate([SCORES[at] for at in row], 0.5).rate or 0)
        for row in draws(len(SCORES), 4000, 1).tolist()
    ]
    found = cfr_interval(passing, len(SCORES))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(rates, [0.025, 0.975])), abs=1e-9)


def test_the_sdi_of_every_resample_is_exact() -> None:
    chosen = draws(len(SCORES), 50, 3)
    for row, value in zip(chosen.tolist(), sdi_values(SCORES, chosen), strict=True):
        assert value == pytest.approx(float(disperse([SCORES[at] for at in row]).sdi or 0), rel=1e-12)
    found = sdi_interval(SCORES, draws(len(SCORES), 2000, 3))
    assert found.point == pytest.approx(float(disperse(SCORES).sdi or 0))
    assert found.low is not None
    assert found.point is not None
    assert found.low < found.point


def test_a_resample_whose_mean_is_zero_is_counted_and_left_out() -> None:
    found = sdi_interval([Fraction(0), Fraction(1)], draws(2, 1000, 0))
    assert 150 < found.dropped < 350
    assert found.point == 2.0


def test_tau_of_resamples_is_lifted_by_repeated_configurations() -> None:
    """The mean over n-of-n resamples is tau + (1 - tau) / n, which published means are not."""
    random = np.random.default_rng(0)
    scores = {
        model: {str(c): Fraction(int(k), 295) for c, k in enumerate(random.permutation(48))}
        for model in "abc"
    }
    tau, dropped = concordance(scores)
    assert tau is not None
    assert dropped == 0
    chosen = draws(48, 20_000, 7)
    found = tau_interval(scores, chosen)
    assert found.point == pytest.approx(tau)
    assert found.low is not None
    assert found.low >= -1 / 47 - 1e-12


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12), st.integers(0, 99))
def test_tau_of_a_resample_is_never_below_its_bound(pattern: list[int], seed: int) -> None:
    values = {"a": [0, 1, 2, 0, 1], "b": [1, 0, 2, 2, 1], "c": [2, 2, 0, 1, 0]}
    scores = {
        model: {str(number): Fraction(each[place], 2) for number, place in enumerate(pattern)}
        for model, each in values.items()
    }
    found = tau_interval(scores, seed=seed)
    if found.low is not None:
        n = len(pattern)
        assert -1 / (n - 1) - 1e-9 <= found.low <= (found.high or 0) <= 1


def test_the_maximum_of_independent_slices_is_that_of_drawing_them() -> None:
    counts = [(3, 12), (6, 12), (11, 12)]
    random = np.random.default_rng(2)
    largest = np.max(
        [(lambda k: 2 * k * (12 - k) / 132)(random.binomial(12, k / n, 40_000)) for k, n in counts], axis=0
    )
    found = max_cfr_interval(counts)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(largest, [0.025, 0.975])), abs=1e-9)
    assert found.point == pytest.approx(2 * 36 / 132)


def test_the_maximum_statistic_joins_resamples_and_skips_what_is_undefined() -> None:
    one, other = np.array([1.0, 5.0, np.nan, np.nan]), np.array([2.0, 3.0, 4.0, np.nan])
    found = max_statistic([one, other], [1.0, 2.0])
    assert (found.point, found.low, found.high, found.dropped) == (2.0, 2.0, 5.0, 1)


def test_a_statistic_that_is_never_defined_has_no_range() -> None:
    found = percentiles_of(0.5, np.array([np.nan, np.nan]))
    assert (found.low, found.high, found.dropped) == (None, None, 2)
    assert cfr_interval(1, 1).point is None


def test_the_same_seed_gives_the_same_range() -> None:
    assert np.array_equal(draws(48, 10, 5), draws(48, 10, 5))
    assert not np.array_equal(draws(48, 10, 5), draws(48, 10, 6))
