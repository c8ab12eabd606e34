"""Distances of log-likelihoods, beside scipy and by hand."""

from math import log

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import entropy

from gridc.statistics.paired_runs import divergence, mean_move


def test_the_divergence_is_that_of_scipy() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        one, other = random.normal(-40, 15, (2, random.integers(2, 12)))
        assert divergence(one, other) == pytest.approx(
            entropy(softmax(one), softmax(other)), rel=1e-9, abs=1e-12
        )


def test_by_hand() -> None:
    half, most = [log(1 / 2)] * 2, [log(3 / 4), log(1 / 4)]
    assert divergence(half, most) == pytest.approx(0.5 * log(2 / 3) + 0.5 * log(2))
    assert divergence(most, half) == pytest.approx(0.75 * log(3 / 2) + 0.25 * log(1 / 2))
    assert divergence([-1e4, -2e4], [-3e4, -1e4]) == pytest.approx(2e4), "no candidate's share is lost"
    assert divergence([-5, -6, -9], [-105, -106, -109]) == 0
    assert mean_move([-1, -5], [-2, -2]) == 2
