"""Shares of responses that a machine read, corrected by people's labels, computed again by plain numpy."""

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from gridc.statistics.labelled import (
    ERRORS,
    SMALL,
    SPARE,
    LabelledRows,
    corrected_gap,
    corrected_share,
    gap_p,
)
from gridc.statistics.reproducibility import digits
from gridc.statistics.unit_intervals import Ends, share_limits

Table = np.ndarray[Any, Any]
N = 400


def rows_of(
    random: np.random.Generator,
    count: int = N,
    labels: int = 80,
    rate: float = 0.7,
    right: float = 0.9,
    size: int = 1,
    annotators: int = 1,
    kinds: int = 1,
    seen: Table | None = None,
) -> LabelledRows:
    """A machine that is right on such a share, and says each of two labels in so many `kinds`."""
    worth = (random.random(count) < rate).astype(float)
    earned = np.where(random.random(count) < right, worth, 1 - worth)
    if seen is None:
        seen = np.isin(np.arange(count), random.permutation(count)[:labels])
    slips = random.random((annotators, count)) < (0.2 if annotators > 1 else 0.0)
    points = np.where(slips, 1 - worth, worth).mean(axis=0)
    said = earned.astype(np.int64) * kinds + random.integers(0, kinds, count)
    return LabelledRows(said, earned, np.arange(count) // size, seen, np.where(seen, points, 0.0))


def post_stratified(rows: LabelledRows) -> float:
    """Of labels that each have a drawn row."""
    seen, total = rows.labelled, 0.0
    for label in np.unique(rows.said):
        same = rows.said == label
        total += same.mean() * rows.points[same & seen].mean()
    return total


def inside(ends: Ends, value: float) -> bool:
    return 0 <= ends[0] <= value + 1e-9 and value - 1e-9 <= ends[1] <= 1


@pytest.mark.parametrize("annotators", [1, 3])
@pytest.mark.parametrize("size", [1, 8])
def test_the_value_is_post_stratified(annotators: int, size: int) -> None:
    rows = rows_of(np.random.default_rng(1), annotators=annotators, size=size)
    found = corrected_share(rows)
    assert found.value == pytest.approx(post_stratified(rows), abs=1e-9)
    assert inside(found.here, found.value) and inside(found.new, found.value)
    assert found.new[0] <= found.here[0] < found.here[1] <= found.new[1]


def test_the_value_of_a_gap_is_post_stratified_on_both_labels() -> None:
    random = np.random.default_rng(2)
    one = rows_of(random)
    other = rows_of(random, rate=0.5, seen=one.labelled)
    both, total = one.said * 2 + other.said, 0.0
    for label in np.unique(both):
        same = both == label
        gain = (one.points - other.points)[same & one.labelled]
        total += same.mean() * gain.mean()
    assert corrected_gap(one.less(other)).value == pytest.approx(total, abs=1e-9)
    assert one.less(other).said.tolist() == both.tolist()


@pytest.mark.parametrize(
    ("count", "labels", "right"), [(200, 50, 35), (200, 50, 0), (30, 29, 20), (40, 40, 9)]
)
def test_one_stratum_has_clopper_and_pearsons_limits_of_what_is_open(
    count: int, labels: int, right: int
) -> None:
    """As many rows as are unlabelled, and four more, up to what the unlabelled ones can change."""
    place = np.arange(count)
    points = (place < right).astype(float)
    rows = LabelledRows(np.zeros(count, np.int64), np.ones(count), place, place < labels, points)
    rate, left = right / labels, count - labels
    low, high = binomtest(right, labels).proportion_ci(0.95)
    shrunk = sqrt(min(1, (left + SPARE) / count))
    expected = (
        max(rate - shrunk * (rate - low), right / count),
        min(rate + shrunk * (high - rate), (right + left) / count),
    )
    assert corrected_share(rows).here == pytest.approx(expected, abs=1e-7)
    assert corrected_share(rows).new == pytest.approx((low, high), abs=1e-7)
    if not left:
        assert corrected_share(rows).here == (rate, rate)


@pytest.mark.parametrize("size", [1, 8])
@pytest.mark.parametrize("right", [0.6, 0.9])
def test_where_people_labelled_all_new_units_are_as_uncertain_as_units_are(size: int, right: float) -> None:
    """Whatever the machine said; and nothing is open of these rows."""
    random = np.random.default_rng(3)
    level = np.repeat(random.random(N // size), size)
    worth = (random.random(N) < level).astype(float)
    earned = np.where(random.random(N) < right, worth, 1 - worth)
    units, every = np.arange(N) // size, np.ones(N, np.bool_)
    found = corrected_share(LabelledRows(earned.astype(np.int64), earned, units, every, worth))
    assert found.here == (digits(worth.mean()), digits(worth.mean()))
    plain = share_limits(np.bincount(units).astype(float), np.bincount(units, worth))
    assert found.new[1] - found.new[0] == pytest.approx(plain[1] - plain[0], rel=0.2)
    assert found.new[1] - found.new[0] > 0.97 * (plain[1] - plain[0])


@pytest.mark.parametrize("size", [1, 8])
@pytest.mark.parametrize("seed", range(3))
def test_the_gap_of_the_other_model_is_the_same_the_other_way(size: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    one = rows_of(random, size=size, annotators=2)
    other = rows_of(random, rate=0.5, size=size, seen=one.labelled)
    gap, back = corrected_gap(one.less(other)), corrected_gap(other.less(one))
    assert gap.value == pytest.approx(-back.value, abs=1e-9)
    assert gap.here == pytest.approx((-back.here[1], -back.here[0]), abs=1e-6)
    assert gap.new == pytest.approx((-back.new[1], -back.new[0]), abs=1e-6)
    assert gap_p(one.less(other)) == gap_p(other.less(one))[::-1]


@pytest.mark.parametrize("size", [1, 8])
@pytest.mark.parametrize("rate", [0.2, 0.5, 0.65, 0.7, 0.99])
def test_a_p_value_is_the_least_error_at_which_limits_leave_zero_out(rate: float, size: int) -> None:
    """Of larger errors all do, of the next smaller one and of those beyond it none."""
    random = np.random.default_rng(int(100 * rate))
    one = rows_of(random, size=size)
    rows = one.less(rows_of(random, rate=rate, size=size, seen=one.labelled))
    for p, end in zip(gap_p(rows), (0, 1), strict=True):
        last = int((p * (1 - 1e-9) <= ERRORS).sum()) if p < 1 else 0
        assert p == (digits(float(ERRORS[last - 1])) if last else 1.0)
        tried = {0, last - 2, last - 1, last, last + 1, 26, 120, *range(0, len(ERRORS), 35)}
        for place in sorted(tried & set(range(len(ERRORS)))):
            limit = rows.new(1 - 2 * float(ERRORS[place]))[end]
            assert (limit < 0.5 if end else limit > 0.5) == (place < last), place


@pytest.mark.parametrize("rate", [0.5, 0.52, 0.54, 0.56, 0.58])
def test_the_interval_leaves_zero_out_where_a_claim_is_at_its_level(rate: float) -> None:
    """At 95 % and .025, on the grid of errors, whose next one is .0251."""
    random = np.random.default_rng(1)
    one = rows_of(random, 1000, 200)
    rows = one.less(rows_of(random, 1000, rate=rate, seen=one.labelled))
    (plus, minus), (low, high) = gap_p(rows), corrected_gap(rows).new
    for p, excluded in ((plus, low > 0), (minus, high < 0)):
        assert excluded or p > 0.025
        assert not excluded or p <= ERRORS[ERRORS > 0.025].min() * (1 + 1e-9)


def test_a_claim_of_the_model_that_is_behind_has_a_p_value_of_one() -> None:
    random = np.random.default_rng(5)
    one = rows_of(random, rate=0.9)
    rows = one.less(rows_of(random, rate=0.3, seen=one.labelled))
    assert gap_p(rows)[1] == 1.0
    assert gap_p(rows)[0] < 1e-6


def test_few_rows_are_pooled_with_what_earned_as_much() -> None:
    """Labels 0 and 1 earn nothing and are pooled; label 2 and those of the rest stand alone."""
    said = np.repeat([0, 1, 2, 3], [40, 40, 100, 20])
    earned = np.repeat([0.0, 0.0, 1.0, 0.5], [40, 40, 100, 20])
    place = np.arange(200)
    seen = place % 5 == 0  # 8, 8, 20 and 4
    rows = LabelledRows(said, earned, place, seen, np.where(seen, earned, 0.0))
    assert [each.tolist() for each in rows.strata] == [
        list(range(80, 180)),
        list(range(80)),
        list(range(180, 200)),
    ]
    assert [each.labelled for each in rows.counts] == [20, 16, 4]
    assert sum(len(each) for each in rows.strata) == len(said)
    assert len(place) * seen.mean() * 0.4 >= SMALL > 200 * seen.mean() * 0.2


def test_pooling_does_not_turn_on_what_is_drawn() -> None:
    """The same strata for any labels, and for any draw of as many rows."""
    random = np.random.default_rng(6)
    rows = rows_of(random, kinds=10)
    first = [each.tolist() for each in rows.strata]
    for _ in range(20):
        seen = random.permutation(rows.labelled)
        drawn = replace(rows, labelled=seen, points=seen * random.random(N))
        assert [each.tolist() for each in drawn.strata] == first


def test_a_machine_whose_labels_are_all_different_is_one_stratum() -> None:
    random = np.random.default_rng(7)
    rows = rows_of(random, labels=50)
    alone = replace(rows, said=np.arange(N), earned=random.random(N))
    points = rows.points[rows.labelled]
    assert len(alone.strata) == 1
    assert corrected_share(alone).value == pytest.approx(points.mean())
    assert corrected_share(alone).new == pytest.approx(
        tuple(binomtest(int(points.sum()), 50).proportion_ci(0.95)), abs=1e-6
    )


def test_a_stratum_of_which_nobody_drew_a_row_can_be_anything() -> None:
    """Its value is the machine's own."""
    place = np.arange(100)
    said, seen = (place >= 50).astype(np.int64), place < 30
    rows = LabelledRows(said, said.astype(float), place, seen, np.zeros(100))
    assert [each.labelled for each in rows.counts] == [30, 0]
    found = corrected_share(rows)
    assert found.value == 0.5
    assert found.here[0] == 0.0 and 0.5 <= found.here[1] <= 0.6
    assert found.new[0] == 0.0 and found.here[1] <= found.new[1] <= 0.65


def test_labels_of_one_unit_say_little_of_new_ones() -> None:
    said = np.repeat([1], 200)
    units = np.arange(200) // 20
    rows = LabelledRows(said, said.astype(float), units, units == 0, (units == 0).astype(float))
    assert rows.effective == 1.0
    assert corrected_share(rows).new == pytest.approx((0.025, 1.0), abs=1e-6)


def test_without_a_label_nothing_is_known() -> None:
    rows = rows_of(np.random.default_rng(8), labels=0)
    found = corrected_share(rows)
    assert (found.here, found.new, rows.effective) == ((0.0, 1.0), (0.0, 1.0), 0.0)
    assert found.value == digits(rows.earned.mean())
    assert gap_p(rows.less(rows)) == (1.0, 1.0)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 60),
    share=st.floats(0, 1),
    rate=st.sampled_from([0.0, 0.03, 0.5, 1.0]),
    right=st.sampled_from([0.0, 0.5, 1.0]),
    size=st.sampled_from([1, 3, 60]),
    annotators=st.integers(1, 3),
    kinds=st.integers(1, 4),
)
def test_any_rows_have_limits_around_their_value(
    seed: int, count: int, share: float, rate: float, right: float, size: int, annotators: int, kinds: int
) -> None:
    """No number is lost, nothing is warned of, and nothing is open where people labelled all."""
    random = np.random.default_rng(seed)
    labels = round(share * count)
    one = rows_of(random, count, labels, rate, right, size, annotators, kinds)
    other = rows_of(random, count, labels, 1 - rate, right, size, 1, kinds, one.labelled)
    for rows in (one, other, one.less(other)):
        found = corrected_share(rows)
        assert inside(found.here, found.value) and inside(found.new, found.value)
        if labels == count:
            assert found.here == pytest.approx((found.value, found.value), abs=1e-9)
    plus, minus = gap_p(one.less(other))
    assert max(plus, minus) == 1.0
    assert 0 < min(plus, minus) <= 1


def test_some_of_the_rows() -> None:
    rows = rows_of(np.random.default_rng(9))
    half = rows.at(range(0, N, 2))
    assert half.said.tolist() == rows.said[::2].tolist()
    assert corrected_share(half).value == pytest.approx(post_stratified(half))
