"""Intervals over units: how far a score or a gap could move with another draw of items.

Units are drawn with replacement, n of n, the same draw in all configurations and for all models, so that a
gap is an interval of paired differences. Each draw is a row of multinomial weights on per-unit sums.

Percentile intervals of few units are too narrow. They are expanded to the width that Student's t asks for
(Hesterberg 2015, "What teachers should know about the bootstrap", sec. 5.3): the tail alpha / 2 becomes
Phi(-sqrt(n / (n - 1)) t(1 - alpha / 2, n - 1)).
"""

from collections.abc import Iterator
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.digits import decimals, digits

Ends = tuple[float, float]
"""Of an interval."""
Counts = NDArray[np.unsignedinteger[Any]]

CHUNK = 250
"""Resamples that are multiplied at a time."""


def chunks_of_weights(units: int, resamples: int, seed: int) -> Iterator[Counts]:
    """How often each unit is drawn in each resample, at most `CHUNK` resamples at a time, (chunk, units);
    every row sums to `units`."""
    random, kind = np.random.default_rng(seed), np.min_scalar_type(units)
    for at in range(0, resamples, CHUNK):
        size = min(CHUNK, resamples - at)
        places = random.integers(0, units, size=(size, units))
        places += np.arange(size, dtype=np.int64)[:, None] * units
        counts = np.bincount(places.ravel(), minlength=size * units).reshape(size, units)
        yield counts.astype(kind)


def draw_weights(units: int, resamples: int, seed: int) -> Counts:
    """The same in one table, (resamples, units)."""
    weights = np.zeros((resamples, units), np.min_scalar_type(units))
    for number, chunk in enumerate(chunks_of_weights(units, resamples, seed)):
        weights[number * CHUNK : number * CHUNK + len(chunk)] = chunk
    return weights


def resampled_sums(rows: Whole | Floats, weights: Counts) -> Floats:
    """The sum of each row in every resample, (rows, units) and (resamples, units) -> (resamples, rows). Of
    whole numbers, so it is exact."""
    columns = rows.T.astype(np.float64)
    sums = [weights[at : at + CHUNK].astype(np.float64) @ columns for at in range(0, len(weights), CHUNK)]
    return np.concatenate(sums) if sums else np.zeros((0, len(rows)))


def resampled_means(sums: Whole | Floats, sizes: Whole | Floats, weights: Counts) -> Floats:
    """The mean in every resample, shape (resamples, rows), of rows that have `sums` and `sizes` (trials) by
    unit, (rows, units). Not a number where a resample holds no trial of a row."""
    totals, trials = resampled_sums(sums, weights), resampled_sums(sizes, weights)
    means: Floats = np.divide(totals, trials, out=np.full(totals.shape, np.nan), where=trials > 0)
    return means


@cache
def tail_of(units: int, level: float) -> float:
    """The share of resamples that an expanded percentile interval leaves out on each side."""
    from scipy.stats import norm, t

    return float(norm.cdf(-sqrt(units / (units - 1)) * t.ppf((1 + level) / 2, units - 1)))


def intervals(values: Floats, units: int, level: float) -> list[Ends | None]:
    """The interval of every column of `values`, (resamples, columns). None where there are fewer than two
    units, or where no resample differs from another: no spread in the sample is no evidence of none.
    Of a rate of 0 or 1 see `at_bound`."""
    if units < 2 or not values.size:
        return [None] * values.shape[1]
    tail = tail_of(units, level)
    ordered = np.sort(values, axis=0)  # what is not a number stands last
    defined = (~np.isnan(values)).sum(axis=0)
    ends_by_column: list[Ends | None] = []
    for column, count in enumerate(defined.tolist()):
        if not count or not decimals(float(ordered[count - 1, column] - ordered[0, column])):
            ends_by_column.append(None)
            continue
        skipped = min(int(tail * count), (count - 1) // 2)
        ends = ordered[skipped, column], ordered[count - 1 - skipped, column]
        ends_by_column.append((digits(ends[0]), digits(ends[1])))
    return ends_by_column


def at_bound(earned: Whole | Floats, most: Whole | Floats, level: float) -> Ends | None:
    """The exact one-sided interval of a rate of 0 or 1, of what units `earned` and what they could at most,
    (units,); None of any other rate.

    A unit that is expected to earn a share p of its most earns nothing at all with a chance of 1 - p or less,
    whatever ties its answers. So rates are left out under which all units would earn nothing with a chance
    below 1 - level: the largest that is not is max sum(most p) / sum(most) over prod(1 - p) >= 1 - level,
    which has 1 - p = min(1, c / most). Of units of one size it is 1 - (1 - level)^(1 / units), the limit of
    Clopper and Pearson."""
    sizes = np.sort(most[most > 0])[::-1].astype(np.float64)
    total = float(earned.sum())
    if not len(sizes) or total not in (0.0, float(most.sum())):
        return None
    ranks = np.arange(1, len(sizes) + 1)
    cuts = np.exp((np.log(1 - level) + np.cumsum(np.log(sizes))) / ranks)
    # The units with p > 0 are the largest ones, down to the first whose next one the cut leaves out.
    cut = cuts[np.flatnonzero(np.append(sizes[1:], 0.0) <= cuts)[0]]
    reach = float(np.maximum(sizes - cut, 0.0).sum() / sizes.sum())
    return (0.0, digits(reach)) if total == 0 else (digits(1 - reach), 1.0)
