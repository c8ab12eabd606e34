"""The configurations that are compared, by trying all; and the corners of an order of models."""

from itertools import combinations

import numpy as np
import pytest

from gridc.reports.findings.standings import most_compared


@pytest.mark.parametrize("seed", range(40))
def test_no_other_configurations_give_more_comparisons(seed: int) -> None:
    rng = np.random.default_rng(seed)
    held = rng.random((rng.integers(1, 8), rng.integers(1, 7))) < rng.choice([0.2, 0.6, 0.9])
    most = 0
    for size in range(1, held.shape[1] + 1):
        for over in combinations(range(held.shape[1]), size):
            models = int(held[:, over].all(axis=1).sum())
            most = max(most, models * (models - 1) * size)
    over_found, places = most_compared(held)
    assert held[np.ix_(places, over_found)].all()
    assert len(places) * (len(places) - 1) * len(over_found) == most
    assert bool(places) is bool(held.any())
