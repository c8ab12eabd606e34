"""What n paired units can show of a prediction, known before any data exist.

A unit is an item, or a group of items, whose outcome is compared with itself: under two levels of an axis,
or for two models. What decides is in `verdicts`.
"""

from typing import Literal, NamedTuple

import numpy as np

from gridc.statistics.arrays import Whole

Alternative = Literal["two-sided", "greater", "less"]

POWER = 0.8
"""The probability with which the smallest effect of a design is found."""


class RiseFall(NamedTuple):
    """How many of the units rise, and how many fall."""

    rise: int
    fall: int


def mcnemar_power(alpha: float, units: int, rise: float, fall: float) -> float:
    """The probability that the one-sided exact McNemar test finds a rise at `alpha`, where each of `units`
    rises with probability `rise` and falls with `fall`: exact up to the tails, of 1e-9, that are left out."""
    from scipy.stats import binom

    share = rise + fall
    if share == 0:
        return 0.0
    changed = _window(units, share)
    # The least count whose tail is alpha or less: isf gives the one below it.
    chance = binom.sf(binom.isf(alpha, changed, 0.5), changed, rise / share)
    return float((binom.pmf(changed, units, share) * chance).sum())


def _window(units: int, share: float) -> Whole:
    """The counts of Bin(units, share) but for tails of 1e-9."""
    from scipy.stats import binom

    low, high = binom.ppf(1e-9, units, share), binom.isf(1e-9, units, share)
    return np.arange(max(int(low) - 1, 0), min(int(high) + 1, units) + 1, dtype=np.int64)


def limits(alpha: float, changed: int, units: int) -> tuple[float, float]:
    """Clopper-Pearson: both one-sided limits of a share, at alpha each."""
    from scipy.stats import beta

    least = 0.0 if changed == 0 else float(beta.ppf(alpha, changed, units - changed + 1))
    most = 1.0 if changed == units else float(beta.ppf(1 - alpha, changed + 1, units - changed))
    return least, most
