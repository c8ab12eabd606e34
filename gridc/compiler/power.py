"""What n paired items can show of a prediction, known before any data exist.

A unit is an item whose outcome is compared with itself: under two levels of an axis, or for two models.
What supports or refutes a prediction with the fewest changed items is an outcome in which they all change in
one direction. Tests are exact (McNemar, Clopper-Pearson).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

Claim = Literal["effect", "no_effect", "equivalence", "noninferiority"]
Side = Literal["two-sided", "greater", "less"]
Verdict = Literal["supported", "refuted", "open"]

POWER = 0.8
"""The probability with which `detectable` asks that a test finds its effect."""


class Outcome(NamedTuple):
    """How many of the items rise, and how many fall."""

    rise: int
    fall: int


@dataclass(frozen=True, slots=True)
class Rule:
    """What is predicted of a mean paired difference, and when an outcome supports or refutes it.

    effect           supported: the test finds a difference on the predicted side. Refuted: it finds one on
                     the other side, or the interval shows that there is none as large as the margin.
    no_effect        refuted: the test finds a difference. Supported: the interval lies within the margin.
    equivalence      supported: the interval lies within the margin (two one-sided tests). Refuted: it lies
                     outside.
    noninferiority   supported: the interval lies above minus the margin. Refuted: it lies below.

    `alpha` is the level of the test and of each end of the interval. `margin` is a proportion, not percentage
    points. For noninferiority `side` says what better is: greater or less.
    """

    claim: Claim
    side: Side
    alpha: float
    margin: float | None

    @property
    def tails(self) -> int:
        return 2 if self.side == "two-sided" or self.claim == "no_effect" else 1


def witnesses(rule: Rule, items: int) -> Mapping[Verdict, Outcome]:
    """For each verdict that some outcome of `items` >= 1 items reaches, the one with the fewest changes."""
    import numpy as np
    from scipy.stats import beta

    changed = np.arange(items + 1)
    least = np.where(changed == 0, 0.0, beta.ppf(rule.alpha, changed, items - changed + 1))
    most = np.where(changed == items, 1.0, beta.ppf(1 - rule.alpha, changed + 1, items - changed))
    # One row for outcomes in which items rise, one for those in which they fall.
    low, high = np.stack((least, -most)), np.stack((most, -least))
    low[:, 0], high[:, 0] = -most[0], most[0]
    unlikely = rule.tails * 0.5 ** changed.astype(float) <= rule.alpha
    found = np.stack((unlikely, unlikely))  # the test finds a difference
    predicted = np.array([[rule.side != "less"], [rule.side != "greater"]])
    margin = rule.margin
    nowhere = np.zeros_like(found)
    if margin is None:
        above, below = nowhere, nowhere
    else:
        above, below = low > -margin, high < margin
    if rule.claim == "effect":
        supported = found & predicted
        bounded = {"two-sided": above & below, "greater": below, "less": above}[rule.side]
        refuted = (found & ~predicted) | (bounded & ~supported)
    elif rule.claim == "no_effect":
        supported, refuted = above & below & ~found, found
    elif margin is None:
        supported = refuted = nowhere
    elif rule.claim == "equivalence":
        supported, refuted = above & below, (low >= margin) | (high <= -margin)
    else:
        supported, refuted = (above, high <= -margin) if rule.side == "greater" else (below, low >= margin)
    named: dict[Verdict, Outcome] = {}
    reached: tuple[tuple[Verdict, Any], ...] = (
        ("supported", supported),
        ("refuted", refuted),
        ("open", ~(supported | refuted)),
    )
    for verdict, where in reached:
        hits = where.any(axis=0)
        if hits.any():
            fewest = int(hits.argmax())
            named[verdict] = Outcome(fewest, 0) if where[0, fewest] else Outcome(0, fewest)
    if "open" not in named and margin is not None:
        # As many rise as fall: no difference is seen, and the interval is as wide as the margin.
        apart = math.ceil(margin * items / NormalDist().inv_cdf(1 - rule.alpha)) ** 2
        if apart <= items:
            named["open"] = Outcome(apart - apart // 2, apart // 2)
    return named


def detectable(rule: Rule, items: int, changing: float) -> float | None:
    """The smallest mean paired difference (a proportion) that is found with probability `POWER`, where a
    share `changing` of the items changes in either direction; for equivalence and noninferiority the
    smallest margin that can be shown where there is no difference. None where items are too few for any.

    Normal approximation with the variance changing - difference^2 (STATISTICS, power and MDE, paired).
    """
    from statsmodels.stats.power import NormalIndPower

    # Both ends of the interval must lie within the margin, each misses it half of the time allowed.
    power = (1 + POWER) / 2 if rule.claim == "equivalence" else POWER
    sides = "two-sided" if rule.tails == 2 and rule.claim != "equivalence" else "larger"
    effect = float(
        NormalIndPower().solve_power(nobs1=items, alpha=rule.alpha, power=power, ratio=0, alternative=sides)
    )
    if rule.claim in ("equivalence", "noninferiority"):
        margin: float = effect * changing**0.5
        return margin
    difference: float = effect * (changing / (1 + effect**2)) ** 0.5
    return difference if difference <= changing else None
