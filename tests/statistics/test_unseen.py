"""What no unit goes against needs Gaffke's test to agree."""

import numpy as np
import pytest

from gridc.statistics.arrays import Floats
from gridc.statistics.bounded_means import (
    against_zero,
    agreed,
    contrast_weights,
    jointly,
    of_direction,
    slope,
)
from gridc.statistics.case_totals import CaseTable
from tests.recount.arms import gaffke


def units(gained: Floats, items: int = 10) -> CaseTable:
    """Units of so many items, half of them right under the reference, that gain so many under the level."""
    before = np.full(len(gained), items / 2)
    rows = np.full((len(gained), 2), float(items))
    return CaseTable(rows, np.column_stack([before, before + gained]), np.ones(len(gained), np.int64))


RISE = contrast_weights(2, 1, 0)


def test_what_all_units_gain_is_asked_of_a_test_that_needs_to_see_no_loss() -> None:
    gained = np.array([1.0, 2, 0, 1] * 5)
    rise, fall = against_zero(units(gained), RISE)
    assert rise == pytest.approx(gaffke(gained / 10, -1.0), abs=1e-9)
    assert fall is None, "gains go against a loss"


def test_one_unit_that_goes_against_it_is_enough() -> None:
    rise, fall = against_zero(units(np.array([1.0] * 19 + [-1])), RISE)
    assert rise is None
    assert fall is None


def test_units_that_moved_as_far_as_one_can_leave_nothing_unseen() -> None:
    one = units(np.array([0.5, 0, 0.5, 0]), items=1)
    one.sums[:] = np.array([[0, 1], [1, 1], [0, 1], [0, 0]])
    assert against_zero(one, RISE)[0] is None


def test_an_arm_without_an_answer_shows_nothing() -> None:
    table = units(np.ones(4))
    table.rows[:, 1] = 0
    assert against_zero(table, RISE) == (1.0, 1.0)


def test_a_slope_is_checked_over_all_doses() -> None:
    rows = np.full((20, 3), 4.0)
    sums = np.tile([1.0, 2, 3], (20, 1))
    rise, fall = against_zero(CaseTable(rows, sums, np.ones(20, np.int64)), slope((0, 1, 2)))
    # Each unit moves by a half of the most that one could.
    assert rise == pytest.approx(gaffke(np.full(20, 0.5), -1.0), abs=1e-9)
    assert fall is None


def test_p_is_no_smaller_than_what_has_to_agree_allows() -> None:
    assert agreed(0.01, of_direction((0.04, None), 2.0)) == 0.08
    assert agreed(0.01, of_direction((0.04, None), -2.0)) == 0.01
    assert agreed(0.2, 0.04) == 0.2
    assert agreed(0.2, 0.7) == 1.0


def test_a_joint_test_is_no_surer_than_the_surest_of_its_parts() -> None:
    assert jointly(0.001, (0.08, 0.02), (0.04, None)) == 0.04
    assert jointly(0.001, (0.08, 0.02), (None, None)) == 0.001
