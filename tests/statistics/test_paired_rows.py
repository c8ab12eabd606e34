"""Answers in pairs: what counts, against a count by hand, and that leaving out single answers was wrong."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.statistics import margins
from gridc.statistics.case_totals import case_table, paired_totals

ITEMS = st.integers(1, 3).flatmap(
    lambda arms: st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=arms, max_size=arms),
        min_size=1,
        max_size=6,
    )
)


@given(ITEMS)
def test_every_item_weighs_the_same_under_all_levels_or_nothing(rows: list[list[tuple[int, int]]]) -> None:
    """The rates are those of items one by one, each with its mean as often as its weight says."""
    counts = np.array([[count for count, _ in row] for row in rows])
    earned = np.array([[float(min(pair)) for pair in row] for row in rows])
    kept, sums = paired_totals(counts, earned)
    whole = [row for row in rows if all(count for count, _ in row)]
    ratios = {tuple(Fraction(count, row[0][0]) for count, _ in row) for row in whole}
    weights = [min(count for count, _ in row) if len(ratios) > 1 else row[0][0] for row in whole]
    assert (kept > 0).all(axis=1).sum() == len(whole) == (kept > 0).any(axis=1).sum()
    assert (sums <= kept).all()
    for arm in range(counts.shape[1]):
        means = [Fraction(min(row[arm]), row[arm][0]) for row in whole]
        if whole:
            rate = sum((w * m for w, m in zip(weights, means, strict=True)), Fraction(0)) / sum(weights)
            assert sums[:, arm].sum() / kept[:, arm].sum() == pytest.approx(float(rate))


def test_levels_that_are_asked_in_one_proportion_keep_all_their_answers() -> None:
    counts = np.array([[1, 3], [1, 3], [0, 3]])
    kept, sums = paired_totals(counts, np.array([[1.0, 2.0], [0.0, 0.0], [0.0, 3.0]]))
    assert kept.tolist() == [[1, 3], [1, 3], [0, 0]]
    assert sums.tolist() == [[1, 2], [0, 0], [0, 0]]


def refuted(seed: int, pairs: bool) -> bool:
    """Whether non-inferiority at 5 points is refuted of a level that changes no answer: it says what
    the reference answers, and leaves most hard items unreadable."""
    random = np.random.default_rng(seed)
    hard = random.random(300) < 0.5
    right = random.random(300) < np.where(hard, 0.2, 0.95)
    read = np.stack([~hard | (random.random(300) < 0.3), np.ones(300, np.bool_)], axis=1)
    counts, earned = read.astype(np.int64), (read & right[:, None]).astype(float)
    if pairs:
        counts, earned = paired_totals(counts, earned)
    case, arm = np.nonzero(counts)
    table = case_table(case, arm, earned[case, arm], 2, counts[case, arm])
    return margins.above(table, 0, 1, 0.05) <= 0.05


@pytest.mark.slow
def test_nothing_is_refuted_of_a_level_that_changes_no_answer() -> None:
    """200 studies of 300 items in which hard items are rarely readable under one level and always under the
    other. In pairs none is refuted, where leaving out single answers refutes nearly all."""
    count = 200
    shares = {way: sum(refuted(seed, way) for seed in range(count)) / count for way in (True, False)}
    for way, share in shares.items():
        error = 1.96 * sqrt(max(share * (1 - share), 0.005) / count)
        print(f"{'pairs' if way else 'single answers'}: refuted in {share:.3f} +- {error:.3f}")
    assert shares[True] == 0
    assert shares[False] > 0.95
