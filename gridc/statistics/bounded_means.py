"""Tests of a mean of independent values of which only one end is known: few units, rare changes, no spread.

Gaffke's test (2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a
nonnegative variable", Math. Methods Statist. 14): to n values that are -L at the lowest, one more of -L is
added, and all n + 1 get random weights that are uniform on the simplex. The p-value of "the mean is above 0"
is the probability that the weighted mean is 0 or below. It is Clopper and Pearson's where values are 0 or 1,
(1 - m)^n where n values are all m above -L = -1 + m, and it falls in every value. That it holds its level for
independent values of any shape has been searched for a counterexample in many worlds (docs/sizes.md), here
and in the literature, and is not proved: so it supports and never certifies.

The weights are exponentials over their sum, so the p-value is the probability that S = sum of value x
exponential is 0 or below. It is computed to twelve digits by the inversion integral of the transform of S
along the vertical line through its saddle point (Daniels 1954), and needs no random number.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gridc.statistics.arrays import Floats

LOGARITHMS = np.arange(-32.0, 16.0, 0.015)
"""Of the heights, in units of the curvature, at which the trapezoidal rule takes the integrand: it has
vanished beyond both ends."""
COARSE = np.arange(-13.0, 5.0, 0.25)
"""The same to five digits, for many samples at once."""
LEAST = 1e-300
"""No p-value is printed as 0."""
HALVINGS = 80
"""Of the interval in which a saddle point or a limit is sought."""


def mean_above_zero(values: ArrayLike, lowest: float) -> float:
    """p of: the mean of independent `values`, (n,), none of which can be below `lowest` < 0, is above 0.

    Raises `ValueError` where a value is below `lowest`, or `lowest` is not below 0."""
    held = np.asarray(values, np.float64)
    if lowest >= 0 or held.min(initial=0.0) < lowest * (1 + 1e-9):
        raise ValueError("a value is below the lowest one, or that is not below 0")
    scale = max(-lowest, float(np.abs(held).max(initial=0.0)))
    distinct, counts = np.unique(np.append(held, lowest) / scale, return_counts=True)
    return _at_most_zero(tuple(distinct.tolist()), tuple(counts.tolist()))


@lru_cache(maxsize=20_000)
def _at_most_zero(distinct: tuple[float, ...], multiplicity: tuple[int, ...]) -> float:
    """P(sum of multiplicity[k] exponentials times distinct[k] <= 0), the values rising from below 0."""
    if distinct[-1] <= 0:
        return 1.0
    values, counts = np.array(distinct), np.array(multiplicity, np.float64)
    # log E exp(z S) = -sum of counts x log(1 - z values), between the poles 1/lowest < z < 1/highest.
    low, high = 1 / values[0], 1 / values[-1]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        slope = float((counts * values / (1 - middle * values)).sum())
        low, high = (middle, high) if slope < 0 else (low, middle)
    place = (low + high) / 2
    # Clear of the pole at 0, which the line must pass on one side.
    near = 0.05 * min(-1 / values[0], 1 / values[-1])
    if abs(place) < near:
        place = -near if place <= 0 else near
    ratio = values / (1 - place * values)
    curvature = math.sqrt(float((counts * ratio**2).sum()))
    heights = np.exp(LOGARITHMS) / curvature
    base = -float((counts * np.log1p(-place * values)).sum())
    turned = heights[:, None] * ratio
    size = np.exp(-0.5 * (np.log1p(turned * turned) @ counts))
    angle = np.arctan(turned) @ counts
    # The real part of exp(i angle) / (place + i height).
    real = (place * np.cos(angle) + heights * np.sin(angle)) / (place**2 + heights**2)
    integrand = size * real * heights
    mass = float(integrand.sum()) * float(LOGARITHMS[1] - LOGARITHMS[0]) / math.pi * math.exp(base)
    probability = -mass if place < 0 else 1 - mass
    return min(1.0, max(LEAST, probability))


def means_above_zero(values: ArrayLike, samples: Any, lowest: float, alpha: float) -> Floats:
    """`mean_above_zero` of many samples at once, shape (N,): how often each holds each of the `values`, (K,),
    is `samples`, (N, K), dense or sparse. To five digits where p is anywhere near `alpha`, which is below
    1/2; elsewhere p is on the right side of `alpha`.

    All samples share one line of integration: that through the saddle points of those whose p is about alpha,
    by a normal approximation of their mean."""
    from scipy.special import ndtri

    held = np.append(np.asarray(values, np.float64), lowest)
    usual = np.append(np.asarray(samples.mean(axis=0)).ravel(), 1.0)
    reached, low, high = 0.5 * float(ndtri(alpha)) ** 2, 1 / float(held.min()), 0.0
    for _ in range(HALVINGS):
        place = (low + high) / 2
        ratio = held / (1 - place * held)
        exponent = -float(usual @ np.log1p(-place * held)) - place * float(usual @ ratio)
        low, high = (place, high) if exponent < -reached else (low, place)
    heights = np.exp(COARSE) / math.sqrt(float(usual @ ratio**2))
    line = place + 1j * heights
    logarithms = -np.log(1 - np.multiply.outer(held, line))
    sums = samples @ logarithms[:-1].real + 1j * (samples @ logarithms[:-1].imag) + logarithms[-1]
    integrand = (np.exp(sums) * (heights / line)).real
    probability: Floats = -integrand.sum(axis=1) * float(COARSE[1] - COARSE[0]) / math.pi
    return np.clip(probability, LEAST, 1.0)
