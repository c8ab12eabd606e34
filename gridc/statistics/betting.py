"""Betting e-values: what units of several items show of a difference, assuming nothing but independence.

A bettor stakes a share lambda of its wealth on each unit's difference X in [-1, 1]: the wealth prod_u (1 +
lambda X_u) is never negative, and where the differences are 0 or below on average it is expected to stay at
1 or below, because E prod (1 + lambda X_u) = prod (1 + lambda E X_u) <= (1 + lambda mean_u E X_u)^n <= 1.
Neither symmetry nor equal distributions are needed. The stakes are constant and mixed evenly (Waudby-Smith
& Ramdas 2024, sec. 4; Cover's universal portfolio), so the order of units does not matter and nothing is
tuned to the data. Such an e-value e gives the p-value 1 / e (Markov), and a mean of e-values is one,
whatever their dependence."""

from math import log

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]

STAKES = np.arange(1, 40, 2) / 40
LEAST = 1e-300
"""No p-value is printed as 0."""


def log_e_values(differences: Whole, span: int) -> Floats:
    """log of the e-value against "the mean difference is 0 or below", by configuration.

    `differences` has shape (configurations, units), in units of 1 / `span`, none larger than `span`. Raises
    `ValueError` where one is.
    """
    if np.abs(differences).max(initial=0) > span:
        raise ValueError("a unit's difference is larger than its span")
    values, places = np.unique(differences, return_inverse=True)
    counts = np.zeros((len(differences), len(values)))
    rows = np.repeat(np.arange(len(differences)), differences.shape[1])
    np.add.at(counts, (rows, places.ravel()), 1)
    return log_mean(counts @ np.log1p(values[:, None] * STAKES / span))


def p_values(log_e: Floats) -> Floats:
    """1 / e by configuration. They may pass 1, so that their harmonic mean is the p-value of the mean."""
    found: Floats = np.exp(np.clip(-log_e, np.log(LEAST), 700))
    return found


def log_mean(values: Floats) -> Floats:
    """log of the mean of exponentials along the last axis."""
    top = values.max(axis=-1)
    mean: Floats = top + np.log(np.exp(values - top[..., None]).mean(axis=-1))
    return mean


def smallest_gap(differences: Whole, span: int, level: float) -> float | None:
    """The smallest mean difference, as a share, at which units that scatter like these (units,) reach an
    e-value of 1 / level: they are moved up together, no further than 1. None when even all at 1 would not
    do."""
    values, counts = np.unique(differences / span, return_counts=True)
    centred = values - float(values @ counts) / counts.sum()

    def moved(by: float) -> Floats:
        shifted: Floats = np.clip(centred + by, -1.0, 1.0)
        return shifted

    def certified(by: float) -> bool:
        wealth: Floats = counts.astype(np.float64) @ np.log1p(moved(by)[:, None] * STAKES)
        return bool(log_mean(wealth) >= -log(level))

    low, high = 0.0, 2.0
    if not certified(high):
        return None
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if certified(middle) else (middle, high)
    return float(f"{moved(high) @ counts / counts.sum():.10g}")
