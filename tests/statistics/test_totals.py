"""Statistics of totals beside other packages, at their edges, and how often their intervals hold the true
value."""

from collections.abc import Callable

import choix
import numpy as np
import pytest
from sklearn.metrics import f1_score, matthews_corrcoef, roc_auc_score

from gridc.statistics import totals
from gridc.statistics.arrays import Floats
from gridc.statistics.unit_intervals import UnitEstimate, share, smooth


def one(values: Floats) -> float:
    return float(values[0])


def together(columns: Floats) -> Floats:
    whole: Floats = columns.sum(axis=0)[None]
    return whole


@pytest.mark.parametrize("seed", range(5))
def test_two_classes_are_those_of_scikit_learn(seed: int) -> None:
    random = np.random.default_rng(seed)
    positive, says = random.random(50) < 0.4, (random.random(50) < 0.5).astype(float)
    columns = totals.two_classes(positive, says, np.ones(50))
    tp, fp, fn, tn = together(columns)[0]
    assert (tp + fn, fp + tn) == (positive.sum(), 50 - positive.sum())
    assert 2 * tp / (2 * tp + fp + fn) == pytest.approx(f1_score(positive, says))
    assert one(totals.matthews(together(columns))) == pytest.approx(matthews_corrcoef(positive, says))


def test_a_class_without_a_row_has_no_correlation() -> None:
    nobody = totals.two_classes(np.zeros(9, np.bool_), np.ones(9), np.ones(9))
    assert np.isnan(one(totals.matthews(together(nobody))))


@pytest.mark.parametrize("seed", range(5))
def test_the_area_under_a_curve_is_that_of_scikit_learn_with_ties(seed: int) -> None:
    random = np.random.default_rng(seed)
    positive, values = random.random(60) < 0.3, random.integers(0, 8, 60) / 8
    found = one(totals.area_under_curve(together(totals.by_value(values, positive))))
    assert found == pytest.approx(roc_auc_score(positive, values))


def test_an_area_needs_both_classes() -> None:
    columns = totals.by_value(np.array([0.1, 0.9]), np.array([True, True]))
    assert np.isnan(one(totals.area_under_curve(together(columns))))


def test_a_bin_holds_its_upper_end_and_the_first_one_nothing_too() -> None:
    columns = totals.by_bin(np.array([0.0, 0.1, 0.10001, 0.3, 1.0]), np.ones(5), 10)
    assert [int(row[:10].argmax()) for row in columns] == [0, 0, 1, 2, 9]


def test_calibration_weights_bins_by_their_rows() -> None:
    confidence, right = np.array([0.95, 0.95, 0.95, 0.15]), np.array([1.0, 0.0, 0.0, 0.0])
    found = one(totals.calibration_error(together(totals.by_bin(confidence, right, 10))))
    assert found == pytest.approx(0.75 * (0.95 - 1 / 3) + 0.25 * 0.15)


def test_win_rates_count_a_tie_half_and_follow_the_direction() -> None:
    # Two benchmarks, three models; on the second one less is better.
    means = np.array([[0.9, 0.2], [0.5, 0.2], [0.5, 0.4]])
    columns = np.concatenate([np.full(6, 10.0), (means * 10).ravel()])[None]
    rates = totals.win_rates(columns, 3, [1, -1])[0]
    assert rates.tolist() == pytest.approx([(1 + 0.75) / 2, (0.25 + 0.75) / 2, (0.25 + 0) / 2])


def test_spread_is_told_apart_as_in_an_analysis_of_variance() -> None:
    random = np.random.default_rng(3)
    items, replicates = 4000, 6
    expected = random.normal(0.5, 0.2, items)
    scores = expected[:, None] + random.normal(0, 0.3, (items, replicates))
    _, columns = totals.of_items(np.repeat(np.arange(items), replicates), scores.ravel())
    assert one(totals.spread_within(together(columns))) == pytest.approx(0.3, abs=0.01)
    assert one(totals.spread_between(together(columns))) == pytest.approx(0.2, abs=0.01)
    squares = scores.var(axis=1, ddof=1).mean()
    assert one(totals.spread_within(together(columns))) == pytest.approx(np.sqrt(squares))


def test_an_item_that_was_answered_once_has_no_spread() -> None:
    first, columns = totals.of_items(np.array([4, 4, 7]), np.array([0.0, 1.0, 1.0]))
    assert first.tolist() == [0] and len(columns) == 1


@pytest.mark.parametrize("seed", range(5))
def test_strengths_are_those_of_choix(seed: int) -> None:
    random = np.random.default_rng(seed)
    games = [tuple(random.choice(4, 2, replace=False)) for _ in range(200)]
    wins = np.zeros((4, 4))
    for winner, loser in games:
        wins[winner, loser] += 1
    likeliest = choix.opt_pairwise(4, games)
    found = totals.strengths(wins.reshape(1, 16), 4)[0]
    assert found == pytest.approx(likeliest - likeliest.mean(), abs=1e-5)


def test_who_lost_to_nobody_has_no_strength() -> None:
    wins = np.array([[0.0, 3, 2], [0, 0, 1], [0, 1, 0]])
    assert np.isnan(totals.strengths(wins.reshape(1, 9), 3)).all()
    chain = np.array([[0.0, 3, 0], [0, 0, 1], [1, 0, 0]])  # each beat one, and nobody all
    assert np.isfinite(totals.strengths(chain.reshape(1, 9), 3)).all()


def test_strengths_of_a_lopsided_table_are_found() -> None:
    wins = np.array([[0.0, 1e6], [1, 0]])
    found = totals.strengths(wins.reshape(1, 4), 2)[0]
    assert found[0] - found[1] == pytest.approx(np.log(1e6), rel=1e-9)


# How often intervals hold the true value. A draw is of so many units of one item.


def guard(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    positive = random.random(count) < 0.4
    return positive, (random.random(count) < np.where(positive, 0.8, 0.2)).astype(float)


def of_f1(random: np.random.Generator, count: int) -> UnitEstimate:
    tp, fp, fn, _ = totals.two_classes(*guard(random, count), np.ones(count)).T
    return share(np.column_stack([2 * tp + fp + fn, 2 * tp]))


def of_matthews(random: np.random.Generator, count: int) -> UnitEstimate:
    columns = totals.two_classes(*guard(random, count), np.ones(count))
    return smooth(np.column_stack([np.ones(count), columns]), lambda sums: totals.matthews(sums[:, 1:]))


def of_area(random: np.random.Generator, count: int) -> UnitEstimate:
    positive = random.random(count) < 0.4
    columns = totals.by_value(np.round(random.normal(positive * 1.0), 1), positive)
    whole = np.column_stack([np.ones(count), columns])
    return smooth(whole, lambda sums: totals.area_under_curve(sums[:, 1:]))


def of_strength(random: np.random.Generator, count: int) -> UnitEstimate:
    columns = np.zeros((count, 9))
    for one, other, chance in ((0, 1, 0.6), (0, 2, 0.75), (1, 2, 2 / 3)):  # strengths log 3, log 2, 0
        won = random.random(count) < chance
        columns[:, 3 * one + other], columns[:, 3 * other + one] = won, ~won
    whole = np.column_stack([np.ones(count), columns])
    return smooth(whole, lambda sums: totals.strengths(sums[:, 1:], 3)[:, 0])


TRUE_F1 = 2 * 0.32 / (2 * 0.32 + 0.12 + 0.08)
TRUE_MATTHEWS = (0.32 * 0.48 - 0.12 * 0.08) / np.sqrt(0.44 * 0.4 * 0.6 * 0.56)
TRUE_AREA = 0.7602499  # Phi(1 / sqrt 2)
TRUE_STRENGTH = np.log(3) - np.log(6) / 3
Drawn = Callable[[np.random.Generator, int], UnitEstimate]
COVERAGE: list[tuple[Drawn, float]] = [
    (of_f1, TRUE_F1), (of_matthews, TRUE_MATTHEWS), (of_area, TRUE_AREA), (of_strength, TRUE_STRENGTH),
]  # fmt: skip


def covered(of: Drawn, true: float, count: int, draws: int) -> float:
    """The share of intervals that hold the true value, of those that could be made: a third or more."""
    random = np.random.default_rng(count)
    held, made = 0, 0
    for _ in range(draws):
        interval = of(random, count).interval
        if interval is not None:
            made, held = made + 1, held + (interval[0] <= true <= interval[1])
    assert made > draws / 3
    return held / made


@pytest.mark.parametrize(("of", "true"), COVERAGE)
def test_intervals_hold_the_true_value(of: Drawn, true: float) -> None:
    assert covered(of, true, 80, 200) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("count", (40, 200))
@pytest.mark.parametrize(("of", "true"), COVERAGE)
def test_intervals_of_few_and_of_many_units_hold_the_true_value(of: Drawn, true: float, count: int) -> None:
    assert 0.93 < covered(of, true, count, 1000) < 0.99
