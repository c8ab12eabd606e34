"""The largest change of a unit, as a fact about it that is known before any answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridc.statistics import margins
from gridc.statistics.bounded_means import mean_above_zero
from gridc.statistics.case_totals import CaseTable
from gridc.statistics.expected_power import Assumptions, DecidingTest, Layout, Stratum, power


def units(size: int, changes: list[int]) -> CaseTable:
    """Units of so many items, half of them right under the reference."""
    sums = np.array([[size / 2, size / 2 + change] for change in changes])
    return CaseTable(np.full((len(changes), 2), float(size)), sums, np.ones(len(changes), np.int64))


@pytest.mark.parametrize(
    ("largest", "least"), [(1.0, {2: 149, 5: 59, 8: 36, 10: 29}), (0.5, {2: 74, 5: 29, 8: 18, 10: 14})]
)
def test_so_many_units_without_a_change_show_a_margin(largest: float, least: dict[int, int]) -> None:
    """(1 - m / L)^n."""
    for points, count in least.items():
        for here, shown in ((count - 1, False), (count, True)):
            p = margins.above(units(32, [0] * here), 1, 0, -points / 100, largest)
            assert p == pytest.approx((1 - points / 100 / largest) ** here, rel=1e-9)
            assert (p <= 0.05) is shown


def test_it_is_the_mean_test_with_another_lowest_value() -> None:
    changes = [-4, 0, 3, 1, 0, -2, 5, 0, 0, 1, 2, 0]
    p = margins.above(units(20, changes), 1, 0, -0.1, 0.35)
    assert p == pytest.approx(mean_above_zero(np.array(changes) / 20 + 0.1, -0.25), rel=1e-9)


def test_a_unit_that_changed_by_more_refuses_both_sides() -> None:
    still = [0] * 40
    for change in (-6, 6):
        table = units(20, [*still, change])
        assert margins.within(table, 1, 0, 0.1, 0.3) <= 0.05
        assert margins.difference_limits(table, 1, 0, 0.05, 0.3) is not None
        for test in (margins.above, margins.below, margins.within, margins.outside):
            assert test(units(20, [*still, change + (1 if change > 0 else -1)]), 1, 0, 0.1, 0.3) == 1.0
        assert (
            margins.difference_limits(
                units(20, [*still, change + (1 if change > 0 else -1)]), 1, 0, 0.05, 0.3
            )
            is None
        )


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(-5, 5), min_size=3, max_size=25), st.sampled_from([0.02, 0.1, 0.2]))
def test_limits_and_p_agree(changes: list[int], margin: float) -> None:
    table = units(20, changes)
    found = margins.difference_limits(table, 1, 0, 0.05, 0.25)
    assert found is not None
    inside = -margin < found[0] and found[1] < margin
    near = min(abs(found[0] + margin), abs(found[1] - margin)) < 1e-6
    # Numbers of numpy compare to Booleans of numpy, which are no `True` and no `False`.
    assert near or bool(inside) is bool(margins.within(table, 1, 0, margin, 0.25) <= 0.05)


@pytest.mark.parametrize("largest", [1.0, 0.5, 0.35])
def test_power_is_that_of_studies_that_are_drawn(largest: float) -> None:
    """25 units of 32 items, a margin of 8 points: .00, .99 and 1.00 (STATISTICS: L = 1, .5, .35)."""
    test = DecidingTest("above", "greater", 0.05, 0.08, largest=largest)
    found = power(test, Layout((Stratum((32.0,) * 25),), 2), Assumptions(0.1, 0.0), 0.0)
    random, shown = np.random.default_rng(8), 0
    for _ in range(200):
        draws = random.random((25, 32))
        changes = (draws < 0.05).sum(axis=1) - (draws > 0.95).sum(axis=1)
        shown += margins.above(units(32, changes.tolist()), 1, 0, -0.08, largest) <= 0.05
    assert found == pytest.approx(shown / 200, abs=0.04)
    assert (found < 0.05) is (largest == 1.0)


def test_a_declared_change_that_chance_exceeds_shows_nothing() -> None:
    """Of units of four items some lose two by chance: a quarter is no largest change of theirs."""
    layout, assumed = Layout((Stratum((4.0,) * 60),), 2), Assumptions(0.2, 0.1)
    declared = power(DecidingTest("above", "greater", 0.05, 0.15, largest=0.25), layout, assumed, 0.0)
    assert declared < 0.05 < power(DecidingTest("above", "greater", 0.05, 0.15), layout, assumed, 0.0)
