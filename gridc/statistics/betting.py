"""Betting e-values: what units of several items show of a difference, assuming nothing but independence.

A bettor stakes a share lambda of its wealth on each unit's difference X in [-1, 1]: the wealth prod_u (1 +
lambda X_u) is never negative, and where the differences are 0 or below on average it is expected to stay at
1 or below, because E prod (1 + lambda X_u) = prod (1 + lambda E X_u) <= (1 + lambda mean_u E X_u)^n <= 1.
Neither symmetry nor equal distributions are needed. The stakes are constant and mixed evenly (Waudby-Smith
& Ramdas 2024, sec. 4; Cover's universal portfolio), so the order of units does not matter and nothing is
tuned to the data. Such an e-value e gives the p-value 1 / e (Markov), and a mean of e-values is one,
whatever their dependence.

Stakes that follow the data, as most strategies of Waudby-Smith & Ramdas have them, need every unit's mean to
be 0 or below given the units before; so do a maximum over time and Orabona & Jun's portfolios. The bound of
Phan, Thomas & Learned-Miller (2021) needs units of one distribution. Neither holds where units are
independent and nothing else."""

from math import log, log2

import numpy as np

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.digits import digits

PLACES = np.arange(1, 40, 2) / 40
LEAST = 1e-300
"""No p-value is printed as 0."""


def stakes(items: float) -> Floats:
    """What is staked on units of `items` >= 1 items on average, a number that is known before the data:
    1 - v^k for v = 1/40, 3/40 .. 39/40, where k = 1 + log2(items) / 2, at most 4. The best constant stake is
    about the mean of the differences over that of their squares: small for single items, and as large as is
    allowed for units of many, whose differences scatter little. Any stakes are valid; these win."""
    if items <= 1:
        return PLACES  # as 1 - v has them, to the last digit: recorded races are replayed
    fractions: Floats = 1 - PLACES[::-1] ** min(1 + log2(items) / 2, 4)
    return fractions


STAKES = stakes(1)
"""On single items: evenly from 0 to 1."""


def log_e_values(differences: Whole, span: int, staked: Floats) -> Floats:
    """log of the e-value against "the mean difference is 0 or below", by configuration, for even wealth on
    each of the stakes.

    `differences` has shape (configurations, units), in units of 1 / `span`, none larger than `span`. Raises
    `ValueError` where one is.
    """
    if np.abs(differences).max(initial=0) > span:
        raise ValueError("a unit's difference is larger than its span")
    values, places = np.unique(differences, return_inverse=True)
    counts = np.zeros((len(differences), len(values)))
    rows = np.repeat(np.arange(len(differences)), differences.shape[1])
    np.add.at(counts, (rows, places.ravel()), 1)
    return log_mean(counts @ np.log1p(values[:, None] * staked / span))


def p_values(log_e: Floats) -> Floats:
    """1 / e by configuration. They may pass 1, so that their harmonic mean is the p-value of the mean."""
    p: Floats = np.exp(np.clip(-log_e, np.log(LEAST), 700))
    return p


def log_mean(values: Floats) -> Floats:
    """log of the mean of exponentials along the last axis."""
    top = values.max(axis=-1)
    mean: Floats = top + np.log(np.exp(values - top[..., None]).mean(axis=-1))
    return mean


def smallest_gap(differences: Whole, span: int, level: float, staked: Floats) -> float | None:
    """The smallest mean difference, as a share, at which units that scatter like these (units,) reach an
    e-value of 1 / level: they are moved up together, no further than 1. None when even all at 1 would not
    do."""
    values, counts = np.unique(differences / span, return_counts=True)
    centred = values - float(values @ counts) / counts.sum()

    def moved(by: float) -> Floats:
        shifted: Floats = np.clip(centred + by, -1.0, 1.0)
        return shifted

    def certified(by: float) -> bool:
        wealth: Floats = counts.astype(np.float64) @ np.log1p(moved(by)[:, None] * staked)
        return bool(log_mean(wealth) >= -log(level))

    low, high = 0.0, 2.0
    if not certified(high):
        return None
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if certified(middle) else (middle, high)
    return digits(float(moved(high) @ counts / counts.sum()))
