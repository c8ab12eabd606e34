"""Whether a printed figure can be a ratio of whole counts, given only the figure and its denominator.

A share of n items is k / n for a whole k, so of n = 295 no share is printed as 63.6 %. The check is the GRIM
test (Brown and Heathers, Social Psychological and Personality Science 8, 2017), here also for differences of
two rates, intervals and numbers needed to harm. Everything is exact: figures are fractions, and a half may
have been rounded either way. Ends of intervals alone are computed in floating point.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gridc.statistics.arrays import Floats

IntervalMethod = Literal["Wilson", "Clopper-Pearson", "Wald", "multiples of 1/n"]
"""How an interval of a rate is made; a percentile bootstrap of items ends in multiples of 1/n."""
RoundingRule = Literal["up", "nearest", "down"]
"""How a number needed to harm becomes a whole one."""
_PROPORTIONS: dict[IntervalMethod, str] = {"Wilson": "wilson", "Clopper-Pearson": "beta", "Wald": "normal"}
"""The names of statsmodels."""
ROUNDING = 1e-9
"""What an end that was computed in floating point may be beside the exact one."""


@dataclass(frozen=True, slots=True)
class PrintedShare:
    """A figure as it is printed, and half a unit of its last place: both as shares, not percent."""

    value: Fraction
    half: Fraction

    @property
    def low(self) -> Fraction:
        return self.value - self.half

    @property
    def high(self) -> Fraction:
        return self.value + self.half


def always_possible(figure: PrintedShare, n: int) -> bool:
    """Whether n is so large that some count gives any figure of that precision: the test says nothing."""
    return 2 * figure.half * n >= 1


def counts(figure: PrintedShare, n: int) -> range:
    """The counts k of n whose share is printed as this figure."""
    return range(max(0, ceil(figure.low * n)), min(n, floor(figure.high * n)) + 1)


def difference_possible(
    figure: PrintedShare, first: Sequence[int], n: int, second: Sequence[int], m: int
) -> bool:
    """Whether i / n - j / m is printed as this figure for an i of the first counts and a j of the second,
    each without gaps."""
    if not first or not second:
        return False
    if n == m:
        return bool(_between(figure, n, first[0] - second[-1], first[-1] - second[0]))
    return any(
        max(second[0], ceil((Fraction(i, n) - figure.high) * m))
        <= min(second[-1], floor((Fraction(i, n) - figure.low) * m))
        for i in first
    )


def _between(figure: PrintedShare, n: int, low: int, high: int) -> range:
    return range(max(low, ceil(figure.low * n)), min(high, floor(figure.high * n)) + 1)


def interval_methods(
    low: PrintedShare, high: PrintedShare, possible: Sequence[int], n: int
) -> Iterator[IntervalMethod]:
    """The methods by which a 95 % interval of one of the possible counts of n has these ends."""
    from statsmodels.stats.proportion import proportion_confint

    for name, method in _PROPORTIONS.items():
        starts, stops = proportion_confint(np.asarray(possible), n, method=method)
        if np.any(_printed(low, starts) & _printed(high, stops)):
            yield name
    if counts(low, n) and counts(high, n):
        yield "multiples of 1/n"


def _printed(figure: PrintedShare, ends: Floats) -> NDArray[np.bool_]:
    """Which ends would be printed as the figure."""
    beside: NDArray[np.bool_] = np.abs(ends - float(figure.value)) <= float(figure.half) + ROUNDING
    return beside


def needed_rules(needed: int, difference: PrintedShare, n: int | None) -> Iterator[RoundingRule]:
    """The rules by which 1 / d is the number needed, d being printed as this difference whatever its sign; of
    n pairs, d is a multiple of 1 / n."""
    size = PrintedShare(abs(difference.value), difference.half)
    for rule, (least, most) in _RULES.items():
        if n is None:
            fits = least(1 / size.high) <= needed and (size.low <= 0 or needed <= most(1 / size.low))
        else:
            inverses = (Fraction(n, k) for k in _between(size, n, 1, n))
            fits = any(least(inverse) <= needed <= most(inverse) for inverse in inverses)
        if fits:
            yield rule


_RULES: dict[RoundingRule, tuple[Callable[[Fraction], int], Callable[[Fraction], int]]] = {
    "up": (ceil, ceil),
    "nearest": (
        lambda inverse: ceil(inverse - Fraction(1, 2)),
        lambda inverse: floor(inverse + Fraction(1, 2)),
    ),
    "down": (floor, floor),
}
"""The least and the most whole number that a number is rounded to: of a half, nearest has two."""
