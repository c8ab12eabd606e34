"""Limits for ratios of two totals over units, where it is known how small and how large the numerator of a
unit can be: slopes of bounded outcomes, means of bounded differences.

The slope of y on x, through the origin or within groups, is the sum of x y over that of x^2. How much a
unit adds to the first sum is bounded by its x, whatever its outcome would have been. So Gaffke's test
(`bounded_means`) is inverted: at a ratio t a unit has N - t A, where A is its part of the second sum, none
has less than the least of `least` - t A, and the mean is 0. Units without x say nothing, and count for
nothing. A jackknife in its place is too short where the few units that were exposed happen not to vary, and
a gate on how many units carry its error opens just then.
"""

from math import log

import numpy as np

from gridc.statistics.arrays import Floats
from gridc.statistics.bounded_means import means_above_zero
from gridc.statistics.clustered_logit import effective_number
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import digits
from gridc.statistics.unit_intervals import UnitEstimate, unit_totals

METHOD = "Gaffke's limits, with the most that a unit could show by what it was exposed to"
MANY, FINE = 1000, 50
"""Values of more units than these are rounded to this part of their spread."""
NONE = 1e-9
"""A second sum that is rounding."""


def bounded_ratio(
    above: Floats, below: Floats, least: Floats, most: Floats, level: float = LEVEL
) -> UnitEstimate:
    """The sum of `above` over that of `below`, which is 0 or more, of units, (G,) each; what a unit has above
    lies from `least` to `most`."""
    exposed = below > NONE
    if not exposed.any():
        return UnitEstimate(None, None, 0, 0.0, "not determined")
    above, below, least, most = (each[exposed] for each in (above, below, least, most))
    error = (1 - level) / 2
    low, high = ratio_lower_limit(above, below, least, error), -ratio_lower_limit(-above, below, -most, error)
    return UnitEstimate(
        digits(float(above.sum() / below.sum())),
        (digits(low), digits(high)),
        len(below),
        effective_number(below / below.max()),
        "",
        METHOD,
    )


def ratio_lower_limit(above: Floats, below: Floats, least: Floats, error: float) -> float:
    """The limit of the ratio from below, at a one-sided error, of units that have something below."""
    from scipy.optimize import brentq

    scale = float(np.abs(np.concatenate([above, least])).max())
    if scale <= 0:
        return 0.0
    size = float(below.max())
    pairs = np.round(np.column_stack([above / scale, below / size]), 12)
    (earned, held), counts = (found.T for found in np.unique(pairs, axis=0, return_counts=True))
    lowest: Floats = least / scale
    times: Floats = counts[None].astype(np.float64)
    reached = float(above.sum() / scale / (below.sum() / size))
    # Where no unit could have less than this ratio, none is left below it.
    bottom = float((lowest * size / below).min())

    def excess(ratio: float) -> float:
        values, often = earned - ratio * held, times
        floor = min(float((lowest - ratio * below / size).min()), float(values.min()))
        if len(values) > MANY:
            step = float(values.std()) / FINE
            steps, place = np.unique(np.round(values / step), return_inverse=True)
            values = np.maximum(steps * step, floor)
            often = unit_totals(place.ravel(), times.T).T
        return log(float(means_above_zero(values, often, floor, error)[0])) - log(error)

    margin = 1e-9 * max(abs(reached), abs(bottom), 1e-9)
    ends = bottom + margin, reached - margin
    if ends[1] <= ends[0] or excess(ends[0]) >= 0:
        return bottom * scale / size
    found = float(brentq(excess, *ends, xtol=1e-12)) if excess(ends[1]) > 0 else reached
    return found * scale / size
