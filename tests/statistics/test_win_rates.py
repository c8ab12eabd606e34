"""Limits of win rates: against scipy's and statsmodels' tests, and how often they miss."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests

from gridc.statistics.totals import win_rates
from gridc.statistics.win_rates import win_rate_limits


def drawn(rng: np.random.Generator, rates: list[float], items: int) -> np.ndarray:
    """Models that find the same items hard, (M, items)."""
    hard = rng.random(items)
    return np.array([(0.5 * hard + 0.5 * rng.random(items) < rate).astype(float) for rate in rates])


@pytest.mark.parametrize("lower", [False, True])
def test_what_is_told_apart_is_that_of_scipy_and_statsmodels(lower: bool) -> None:
    rng = np.random.default_rng(4)
    points = [drawn(rng, [0.2, 0.3, 0.45, 0.5], 120), drawn(rng, [0.5, 0.3, 0.31, 0.6], 90)]
    signs = [-1.0 if lower else 1.0, 1.0]
    p, pairs = [], []
    for place, (a, b) in product(range(2), combinations(range(4), 2)):
        up = int((points[place][a] > points[place][b]).sum())
        down = int((points[place][a] < points[place][b]).sum())
        for one, other, more in ((a, b, up), (b, a, down)):
            if signs[place] < 0:
                more = up + down - more
            p.append(binomtest(more, up + down, alternative="greater").pvalue if up + down else 1.0)
            pairs.append((place, one, other))
    apart = {pair for pair, known in zip(pairs, multipletests(p, 0.05, "holm")[0], strict=True) if known}
    expected = [
        [
            np.mean([sum((place, m, n) in apart for n in range(4)) / 3 for place in range(2)]),
            np.mean([1 - sum((place, n, m) in apart for n in range(4)) / 3 for place in range(2)]),
        ]
        for m in range(4)
    ]
    assert 0 < len(apart) < 12
    found = win_rate_limits(points, [np.ones(120), np.ones(90)], signs, 0.95)
    assert found == pytest.approx(np.array(expected))


def test_units_of_several_answers_are_tested_as_units() -> None:
    """Forty answers in four units show nothing that forty single ones show."""
    first, second = np.full(40, 1.0), np.zeros(40)
    alone = win_rate_limits([np.array([first, second])], [np.ones(40)], [1.0], 0.95)
    assert alone.tolist() == [[1.0, 1.0], [0.0, 0.0]]
    units = [np.array([[10.0] * 4, [0.0] * 4])]
    assert win_rate_limits(units, [np.full(4, 10.0)], [1.0], 0.95).tolist() == [[0.0, 1.0], [0.0, 1.0]]


def missed(draws: int, apart: float) -> float:
    """How often the limits of six models on five benchmarks of 200 items miss some true win rate."""
    rng = np.random.default_rng(12)
    rates = [0.4 + apart * place for place in range(6)]
    # On new items the win rate is that of the rates themselves; of equal ones each pair counts half.
    true = win_rates(np.array([rates] * 5).T, [1.0] * 5)
    wrong = 0
    for _ in range(draws):
        points = [drawn(rng, rates, 200) for _ in range(5)]
        limits = win_rate_limits(points, [np.ones(200)] * 5, [1.0] * 5, 0.95)
        wrong += bool(((true < limits[:, 0] - 1e-9) | (true > limits[:, 1] + 1e-9)).any())
    return wrong / draws


@pytest.mark.parametrize("apart", [0.0, 0.01])
def test_they_hold_where_resampling_missed(apart: float) -> None:
    assert missed(60, apart) <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("apart", [0.0, 0.01, 0.05])
def test_they_hold_at_their_level(apart: float) -> None:
    assert missed(400, apart) <= 0.05
