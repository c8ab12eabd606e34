"""Intervals of scores over the units of a benchmark, as a study has them: units drawn with replacement."""

import numpy as np

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.resample import LEVEL, RESAMPLES
from gridc.statistics.unit_bootstrap import Ends, at_bound, chunks_of_weights, intervals, resampled_means

PARTS = 10**6
"""A score is taken to so many parts of a point, so that sums are exact whatever their order."""
MOST = 1e9
"""A score is smaller, or its parts are too many for exact sums."""
SEED = 0


def score_intervals(scores: Floats, units: Whole) -> list[Ends | None]:
    """The interval of the mean of each row of `scores`, (rows, items) with NaN where there is no score;
    `units` numbers the unit of every item. None where there are fewer than two units, or no spread to make
    one of, or where a score is too large for it; of a rate of 0 or 1 it is exact."""
    scores = np.where((np.abs(scores) >= MOST).any(axis=1, keepdims=True), np.nan, scores)
    held = ~np.isnan(scores)
    numbers, of_unit = np.unique(units, return_inverse=True)
    shape, count = (len(scores), len(numbers)), len(numbers)
    if not scores.size:
        return [None] * len(scores)
    sums, sizes = np.zeros(shape), np.zeros(shape)
    for row, values in enumerate(np.where(held, np.round(scores * PARTS), 0.0)):
        sums[row] = np.bincount(of_unit, values, count)
        sizes[row] = PARTS * np.bincount(of_unit, held[row], count)
    means = [resampled_means(sums, sizes, chunk) for chunk in chunks_of_weights(count, RESAMPLES, SEED)]
    ends = intervals(np.concatenate(means), count, LEVEL)
    shares = [bool(((row >= 0) & (row <= 1))[there].all()) for row, there in zip(scores, held, strict=True)]
    return [
        end or (at_bound(earned, most, LEVEL) if share else None)
        for end, earned, most, share in zip(ends, sums, sizes, shares, strict=True)
    ]
