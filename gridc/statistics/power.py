"""What n paired units can show of a prediction, known before any data exist.

A unit is an item, or a group of items, whose outcome is compared with itself: under two levels of an axis,
or for two models. An outcome is how many units rise and how many fall. Tests and intervals are exact:
McNemar's, and Clopper-Pearson limits of both shares, each at half of what may be missed (Bonferroni), so
that no correlation of the two is assumed.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Counted = NDArray[np.int64]
Shares = NDArray[np.float64]
Claim = Literal["effect", "no_effect", "equivalence", "noninferiority"]
Side = Literal["two-sided", "greater", "less"]
Verdict = Literal["supported", "refuted", "open"]

POWER = 0.8
"""The probability with which the smallest effect of a design is found."""


class Outcome(NamedTuple):
    """How many of the units rise, and how many fall."""

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


def verdict(rule: Rule, outcome: Outcome, units: int) -> Verdict:
    """What an outcome of `units` >= 1 units says to the prediction."""
    found = p_value(rule, outcome) <= rule.alpha
    if rule.margin is None:
        above = below = over = under = False
    else:
        low, high = interval(rule.alpha, outcome, units)
        above, below = low > -rule.margin, high < rule.margin
        over, under = low >= rule.margin, high <= -rule.margin
    if rule.claim == "effect":
        bounded = {"two-sided": above and below, "greater": below, "less": above}[rule.side]
        supported, refuted = found, bounded or _against(rule, outcome)
    elif rule.claim == "no_effect":
        supported, refuted = above and below and not found, found
    elif rule.claim == "equivalence":
        supported, refuted = above and below, over or under
    else:
        supported, refuted = (above, under) if rule.side == "greater" else (below, over)
    return "supported" if supported else "refuted" if refuted else "open"


def p_value(rule: Rule, outcome: Outcome) -> float:
    """Exact McNemar: the units that change are as likely to rise as to fall. On the predicted side, or on
    both."""
    from scipy.stats import binom

    changed = sum(outcome)
    if rule.tails == 2:
        return min(1.0, 2 * float(binom.sf(max(outcome) - 1, changed, 0.5)))
    toward = outcome.rise if rule.side == "greater" else outcome.fall
    return float(binom.sf(toward - 1, changed, 0.5))


def interval(alpha: float, outcome: Outcome, units: int) -> tuple[float, float]:
    """Limits of the difference, each missed with probability alpha at most: the share that rises less the
    share that falls, each with its Clopper-Pearson limit at alpha / 2."""
    (least_rise, most_rise), (least_fall, most_fall) = (
        limits(alpha / 2, changed, units) for changed in outcome
    )
    return least_rise - most_fall, most_rise - least_fall


def witnesses(rule: Rule, units: int) -> Mapping[Verdict, Outcome]:
    """For each verdict that some outcome of `units` >= 1 units reaches, the one with the fewest changes."""
    named: dict[Verdict, Outcome] = {}
    for outcome in sorted(set(_candidates(rule, units)), key=lambda each: (sum(each), each.fall)):
        named.setdefault(verdict(rule, outcome, units), outcome)
    return named


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


def _window(units: int, share: float) -> Counted:
    """The counts of Bin(units, share) but for tails of 1e-9."""
    from scipy.stats import binom

    low, high = binom.ppf(1e-9, units, share), binom.isf(1e-9, units, share)
    return np.arange(max(int(low) - 1, 0), min(int(high) + 1, units) + 1, dtype=np.int64)


def _against(rule: Rule, outcome: Outcome) -> bool:
    """Whether a prediction with a side meets a difference on the other side."""
    if rule.side == "two-sided":
        return False
    other: Side = "less" if rule.side == "greater" else "greater"
    return p_value(Rule(rule.claim, other, rule.alpha, None), outcome) <= rule.alpha


def limits(alpha: float, changed: int, units: int) -> tuple[float, float]:
    """Clopper-Pearson: both one-sided limits of a share, at alpha each."""
    from scipy.stats import beta

    least = 0.0 if changed == 0 else float(beta.ppf(alpha, changed, units - changed + 1))
    most = 1.0 if changed == units else float(beta.ppf(1 - alpha, changed + 1, units - changed))
    return least, most


def _candidates(rule: Rule, units: int) -> Iterator[Outcome]:
    """Outcomes among which each verdict's smallest one is: where something begins or ceases to hold as more
    units change, all one way; and as many up as down, which leaves most open."""
    margin = math.inf if rule.margin is None else rule.margin

    def first(holds: Callable[[int], bool]) -> int:
        return bisect_left(range(units + 1), True, key=holds)

    # In one direction the limits only grow. By symmetry those of the other one are their mirror.
    places = {
        first(lambda changed: rule.tails * 0.5**changed <= rule.alpha),
        first(lambda changed: interval(rule.alpha, Outcome(changed, 0), units)[0] > -margin),
        first(lambda changed: interval(rule.alpha, Outcome(changed, 0), units)[0] >= margin),
        first(lambda changed: interval(rule.alpha, Outcome(changed, 0), units)[1] >= margin),
    }
    for changed in {0, 1, *places}:
        if changed <= units:
            yield Outcome(changed, 0)
            yield Outcome(0, changed)
    half = bisect_left(
        range(units // 2 + 1), True, key=lambda each: verdict(rule, Outcome(each, each), units) == "open"
    )
    if half <= units // 2:
        yield Outcome(half, half)
