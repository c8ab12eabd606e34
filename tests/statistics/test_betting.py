"""Betting e-values: against the product written out, and fair under nulls that are far from symmetric."""

from itertools import product
from math import exp, log1p

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.statistics import betting, exact_tests
from gridc.statistics.betting import stakes

FOUR = stakes(4)


def e_value(differences: list[float]) -> float:
    """The mean wealth, unit by unit and stake by stake."""
    return sum(exp(sum(log1p(stake * each) for each in differences)) for stake in FOUR) / len(FOUR)


@given(st.lists(st.lists(st.integers(-4, 4), min_size=6, max_size=6), min_size=1, max_size=4))
def test_the_wealth_is_the_product_of_what_each_unit_pays(rows: list[list[int]]) -> None:
    found = np.exp(betting.log_e_values(np.array(rows), 4, FOUR))
    assert found == pytest.approx([e_value([each / 4 for each in row]) for row in rows])
    backwards = np.exp(betting.log_e_values(np.array(rows)[:, ::-1], 4, FOUR))
    assert np.array_equal(found, backwards)


@pytest.mark.parametrize(
    ("values", "chances"),
    [((-4, 1), (0.2, 0.8)), ((4, -1), (0.2, 0.8)), ((-1, 1), (0.5, 0.5)), ((-4, 0, 4), (0.1, 0.8, 0.1))],
)
def test_a_null_of_any_shape_pays_nothing_on_average(
    values: tuple[int, ...], chances: tuple[float, ...]
) -> None:
    """Exactly, over every outcome of five units whose mean difference is 0."""
    assert np.dot(values, chances) == pytest.approx(0)
    outcomes = np.array(list(product(range(len(values)), repeat=5)))
    weights = np.prod(np.array(chances)[outcomes], axis=1)
    e = np.exp(betting.log_e_values(np.array(values)[outcomes], 4, FOUR))
    assert e @ weights == pytest.approx(1)


def test_units_need_not_be_alike() -> None:
    """Half of them gain what the other half loses: above 0 and below, and 0 on average."""
    rows = np.array(list(product((4, 1), (4, 1), (-4, -1), (-4, -1))))
    assert np.exp(betting.log_e_values(rows, 4, FOUR)).mean() <= 1


def test_p_values_are_inverse_and_neither_overflow_nor_vanish() -> None:
    assert betting.p_of_e_values(np.log([4.0, 0.5])) == pytest.approx([0.25, 2.0])
    found = betting.p_of_e_values(np.array([5000.0, -5000.0]))
    assert found[0] >= betting.LEAST * 0.99
    assert np.isfinite(found).all()
    with pytest.raises(ValueError, match="larger than its span"):
        betting.log_e_values(np.array([[5]]), 4, FOUR)


def test_both_directions_are_tested() -> None:
    found = exact_tests.betting_tests(np.array([[4, 4, 4, 4, 2, 0]]), 4, 4)
    assert (found.kind, found.ahead[0], found.behind[0]) == ("betting", 5, 0)
    assert found.plus[0] == pytest.approx(1 / e_value([1, 1, 1, 1, 0.5, 0]))
    assert found.minus[0] == pytest.approx(1 / e_value([-1, -1, -1, -1, -0.5, 0]))


@pytest.mark.parametrize("level", [0.05, 0.001])
def test_the_smallest_gap_is_where_the_e_value_reaches_its_bar(level: float) -> None:
    units = np.random.default_rng(1).integers(-2, 3, size=120)
    gap = betting.betting_gap(units, 4, level, FOUR)
    assert gap is not None
    centred = units / 4 - (units / 4).mean()
    assert e_value((centred + gap).tolist()) == pytest.approx(1 / level, rel=1e-6)
    assert betting.betting_gap(np.zeros(3, dtype=np.int64), 4, 0.05, FOUR) is None


@given(st.lists(st.integers(-4, 4), min_size=8, max_size=30), st.sampled_from([0.05, 0.01]))
def test_the_smallest_gap_is_where_units_moved_together_reach_the_level(
    units: list[int], level: float
) -> None:
    differences = np.array(units)
    centred = differences / 8 - differences.mean() / 8

    ways = np.arange(0, 2, 0.001)
    moved = np.clip(centred + ways[:, None], -1, 1)
    e = np.mean([np.exp(np.log1p(stake * moved).sum(axis=1)) for stake in FOUR], axis=0)
    found = betting.betting_gap(differences, 8, level, FOUR)
    reaching = ways[np.log(e) >= -np.log(level)]
    if found is None:
        assert not len(reaching)
    else:
        assert found == pytest.approx(np.clip(centred + reaching[0], -1, 1).mean(), abs=0.0015)


def test_units_that_are_ahead_are_counted_whatever_their_difference() -> None:
    found = exact_tests.betting_tests(np.array([[1, 2, 3, -1, 0]]), 4, 4)
    assert (found.ahead[0], found.behind[0]) == (3, 1)


def test_stakes_are_even_for_single_items_and_high_for_large_units() -> None:
    assert betting.stakes(1) == pytest.approx(np.arange(1, 40, 2) / 40)
    for items in (1, 2, 4, 32, 1e6):
        assert ((betting.stakes(items) > 0) & (betting.stakes(items) < 1)).all()
    assert (betting.stakes(32) >= betting.stakes(4)).all()


@pytest.mark.parametrize(
    ("units", "items", "gap", "even", "now"),
    [
        (25, 32, 0.20, 0.43, 0.84),
        (40, 8, 0.15, 0.59, 0.77),
        (74, 4, 0.12, 0.69, 0.73),
        (150, 2, 0.12, 0.81, 0.80),
    ],
)
def test_what_the_stakes_gain(units: int, items: int, gap: float, even: float, now: float) -> None:
    """A gap at .05 where models differ on 30 % of the items, which correlate .1 within a unit. Student's t
    finds nearly all of them, and is not valid for units that are skewed."""
    random, runs = np.random.default_rng(11), 2000
    shared, own = random.random((runs, units, 1)), random.random((runs, units, items))
    drawn = np.where(random.random((runs, units, items)) < 0.1**0.5, shared, own)
    differences = ((drawn < 0.15 + gap / 2).astype(np.int64) - (drawn > 0.85 + gap / 2)).sum(axis=2)
    for staked, share in ((betting.stakes(1), even), (betting.stakes(items), now)):
        found = betting.log_e_values(differences, items, staked) >= np.log(20)
        assert found.mean() == pytest.approx(share, abs=0.04)
