"""Win rates over benchmarks, with limits from the places that models can have on each.

A win rate moves in steps: where two models are nearly alike, other units move it by a whole one, so no
interval of a mean fits. Every two models are tested on each benchmark instead, in both directions, and all of
them together (Holm). What is told apart is a win or none on new units; what is not can be either.
"""

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np

from gridc.statistics.arrays import Floats
from gridc.statistics.exact_tests import holm
from gridc.statistics.unit_gaps import p_more

METHOD = "every two models on each benchmark, McNemar's or Gaffke's test, all together (Holm)"


def win_rate_limits(
    points: Sequence[Floats], rows: Sequence[Floats], signs: Sequence[float], level: float
) -> Floats:
    """The least and the most that the mean win rate of each model can be over new units, (M, 2). All limits
    hold together, with a confidence of `level`.

    Args:
        points: of each benchmark what its units earned from each model, (M, units), at most their rows.
        rows: of each benchmark how many answers each unit has, (units,).
        signs: of each benchmark whether more is better (1) or less (-1).
        level: the confidence, between 0 and 1.
    """
    models, places = len(points[0]), range(len(points))
    pairs = list(product(places, combinations(range(models), 2)))
    found: list[tuple[int, int, int, float]] = []
    for place, (one, other) in pairs:
        earned, size, sign = points[place], rows[place], signs[place]
        # The model that stands behind is never shown to be better: its p is at least a half.
        first, second = (one, other) if sign * (earned[one] - earned[other]).sum() >= 0 else (other, one)
        ahead, behind = (first, second) if sign > 0 else (second, first)
        single = bool((size == 1).all() and np.isin(earned[[one, other]], (0.0, 1.0)).all())
        found.append((place, first, second, p_more(earned[ahead], earned[behind], size, single)))
    adjusted = holm([p for *_, p in found], 2 * len(found))
    limits = np.tile([0.0, float(models - 1)], (models, len(points), 1))
    for (place, first, second, _), p in zip(found, adjusted, strict=True):
        if p <= 1 - level:
            limits[first, place, 0] += 1
            limits[second, place, 1] -= 1
    shares: Floats = limits.mean(axis=1) / (models - 1)
    return shares
