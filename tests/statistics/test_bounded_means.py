"""Gaffke's test against what it comes to in closed form, against its definition by simulation, and as p of
margins."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import beta, multinomial

from gridc.statistics import margins
from gridc.statistics.bounded_means import lower_limit, mean_above_zero, share_above
from gridc.statistics.case_totals import CaseTable


@pytest.mark.parametrize(("n", "gain"), [(1, 0.5), (5, 0.3), (30, 0.05), (300, 0.02), (2000, 0.001)])
def test_equal_values_are_a_power(n: int, gain: float) -> None:
    assert mean_above_zero(np.full(n, gain), -1.0) == pytest.approx((1 + gain) ** -n, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "ones", "bound"), [(20, 3, 0.1), (100, 90, 0.85), (5, 5, 0.5), (1000, 1000, 0.99), (300, 160, 0.5)]
)
def test_zeros_and_ones_are_clopper_and_pearsons(n: int, ones: int, bound: float) -> None:
    values = np.repeat([1.0, 0.0], [ones, n - ones]) - bound
    assert mean_above_zero(values, -bound) == pytest.approx(
        float(beta.cdf(bound, ones, n - ones + 1)), rel=1e-9
    )


@pytest.mark.parametrize(
    ("n", "gain"), [(3, 1e-6), (40, 1.0), (900, 0.9), (3000, 0.001), (3880, 0.0443), (20_000, 0.002)]
)
def test_a_power_has_twelve_digits_in_any_tail(n: int, gain: float) -> None:
    """Many equal values beside one that is far away make an integrand that turns fast and vanishes late."""
    p = mean_above_zero(np.full(n, gain), -1.0)
    assert p == pytest.approx(max(math.exp(-n * math.log1p(gain)), 1e-300), rel=5e-12)


@pytest.mark.parametrize("n", [1, 4, 25, 300, 5000])
def test_shares_of_zeros_and_ones_have_twelve_digits_in_any_tail(n: int) -> None:
    for ones, share in product({0, 1, n // 2, n - 1, n}, (0.001, 0.3, 0.5, 0.9)):
        expected = float(beta.cdf(share, ones, n - ones + 1)) if ones else 1.0
        found = share_above(np.repeat([1.0, 0.0], [ones, n - ones]), np.ones(n), share)
        assert found == pytest.approx(max(expected, 1e-300), rel=5e-12)


@pytest.mark.parametrize("n", [2, 9, 60, 805])
def test_a_limit_is_where_the_test_is_at_its_level(n: int) -> None:
    random = np.random.default_rng(n)
    for values, level in product((random.random(n), random.beta(0.1, 0.3, n), np.ones(n)), (0.9, 0.999)):
        limit = lower_limit(values, np.ones(n), level)
        assert share_above(values, np.ones(n), limit) == pytest.approx((1 - level) / 2, rel=1e-9)


def test_a_limit_is_the_same_in_any_unit() -> None:
    """To the last digits, so that what is printed of the same data is the same."""
    for more, less in product(range(6), range(6)):
        values = np.repeat([1.0, 0.5, 0.0], [more, 11 - more - less, less])
        for times in (3, 5):
            limit = lower_limit(values, np.ones(11), 0.95)
            assert lower_limit(times * values, np.full(11, times), 0.95) == pytest.approx(limit, abs=1e-13)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_it_is_a_mean_of_random_weights(n: int) -> None:
    random, draws = np.random.default_rng(n), 400_000
    values = random.uniform(-0.5, 1, n)
    weights = random.standard_exponential((draws, n + 1))
    share = float((weights @ np.append(values, -1.0) <= 0).mean())
    assert mean_above_zero(values, -1.0) == pytest.approx(share, abs=4 * (0.25 / draws) ** 0.5)


def test_what_cannot_be_above_0_and_what_is_too_low() -> None:
    assert mean_above_zero([-0.1, 0.0], -1.0) == 1.0
    assert mean_above_zero([], -1.0) == 1.0
    for values, lowest in (([-2.0], -1.0), ([1.0], 0.0)):
        with pytest.raises(ValueError, match="lowest"):
            mean_above_zero(values, lowest)


Answers = NDArray[np.float64]


def units(rows: Answers, sums: Answers) -> CaseTable:
    return CaseTable(rows, sums, np.ones(len(rows), dtype=np.int64))


UNITS = st.lists(
    st.tuples(st.integers(1, 6), st.integers(0, 6), st.integers(0, 6)).map(
        lambda each: (each[0], min(each[1], each[0]), min(each[2], each[0]))
    ),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=60)
@given(UNITS, st.integers(0, 11), st.sampled_from([0.02, 0.1, 0.3]))
def test_p_at_a_margin_moves_one_way_in_every_count(
    drawn: list[tuple[int, int, int]], which: int, margin: float
) -> None:
    """One more answer that is lost never makes a loss beyond the margin less likely, nor limits higher."""
    size, under, above = (np.array(each, dtype=np.float64) for each in zip(*drawn, strict=True))
    rows = np.column_stack([size, size])
    place = which % len(size)
    before = units(rows, np.column_stack([under, above]))
    if above[place] == 0:
        return
    fewer = above.copy()
    fewer[place] -= 1
    after = units(rows, np.column_stack([under, fewer]))
    assert margins.above(after, 1, 0, -margin) >= margins.above(before, 1, 0, -margin) * (1 - 1e-9)
    assert margins.below(after, 1, 0, margin) <= margins.below(before, 1, 0, margin) * (1 + 1e-9)


@settings(deadline=None, max_examples=25)
@given(UNITS, st.sampled_from([0.05, 0.2, 0.5]), st.sampled_from([0.01, 0.05, 0.2]))
def test_limits_and_p_never_contradict_each_other(
    drawn: list[tuple[int, int, int]], margin: float, alpha: float
) -> None:
    size, under, above = (np.array(each, dtype=np.float64) for each in zip(*drawn, strict=True))
    table = units(np.column_stack([size, size]), np.column_stack([under, above]))
    found = margins.difference_limits(table, 1, 0, alpha)
    assert found is not None and found[0] <= found[1]
    inside = -margin < found[0] and found[1] < margin
    near = min(abs(found[0] + margin), abs(found[1] - margin)) < 1e-6
    assert near or inside is (margins.within(table, 1, 0, margin) <= alpha)


def counts(n: int, rise: int, fall: int) -> CaseTable:
    """Items with one answer under each of two levels."""
    same = n - rise - fall
    sums = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    held = np.array([rise, fall, same])
    return CaseTable(np.ones((3, 2))[held > 0], sums[held > 0], held[held > 0])


@pytest.mark.parametrize("n", [12, 40])
@pytest.mark.parametrize("alpha", [0.01, 0.05])
def test_paired_items_at_the_margin_hold_their_level_exactly(n: int, alpha: float) -> None:
    """All outcomes of n items, at every share that rises where the difference is the margin: the size is at
    most alpha, and no outcome with one more fall has a smaller p (the percentile bootstrap's was .0148 for no
    fall of 40 and .0069 for one)."""
    margin = 0.1
    outcomes = [(rise, fall) for rise, fall in product(range(n + 1), repeat=2) if rise + fall <= n]
    p = {each: margins.above(counts(n, *each), 1, 0, -margin) for each in outcomes}
    for rise, fall in outcomes:
        if (rise, fall + 1) in p:
            assert p[rise, fall] <= p[rise, fall + 1] * (1 + 1e-9)
    small = [each for each in outcomes if p[each] <= alpha]
    for rising in np.linspace(0, 0.44, 9):
        law = multinomial(n, [rising, rising + margin, 1 - 2 * rising - margin])
        size = sum(law.pmf([rise, fall, n - rise - fall]) for rise, fall in small)
        assert size <= alpha + 1e-9


def test_no_answer_shows_nothing() -> None:
    none = CaseTable(np.array([[0.0, 2.0]]), np.array([[0.0, 1.0]]), np.array([3]))
    assert margins.within(none, 1, 0, 0.5) == 1.0 and margins.difference_limits(none, 1, 0, 0.05) is None
