"""How far apart the levels of an axis are: the largest less the smallest of several values.

The largest less the smallest of what was seen lies above the true one on average, the more the more values
there are, because both were picked for being extreme. So the interval is not one around it. It is made of
limits of every difference of two values, and holds whatever the values have in common:

- the upper end is the largest upper limit of a difference. The true gap is one of the differences, whichever
  it is, and its limit alone has to hold, so nothing is corrected;
- the lower end is the largest lower limit of a difference, 0 or more. It is wrong only where some limit lies
  above its own true difference, so each has its part of the error (Bonferroni over pairs).

Either end is missed with a chance of at most half of 1 - level, if the limits hold.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import digits
from gridc.statistics.unit_intervals import Ends

METHOD = "the largest limits of the differences of two levels, lower ones at once (Bonferroni over pairs)"


def widest_gap(
    values: Sequence[float], limits: Callable[[int, int, float], Ends | None], level: float = LEVEL
) -> tuple[float, Ends | None]:
    """The largest less the smallest of two values or more, and an interval for the true one; None where two
    of them have no limits. `limits(a, b, level)` are those of value a less value b, a < b.

    The gap is that of the values as they are, which lies above the true one by chance: of levels that are all
    alike it is above 0 in every study, and only the interval says so. Raises `ValueError` of fewer values
    than two."""
    if len(values) < 2:
        raise ValueError("a gap needs two values")
    pairs = list(combinations(range(len(values)), 2))
    each = [limits(a, b, level) for a, b in pairs]
    # Two-sided limits at this level leave both directions of a pair, and all pairs, half of 1 - level.
    together = [limits(a, b, 1 - (1 - level) / (2 * len(pairs))) for a, b in pairs]
    gap = max(values) - min(values)
    if None in each or None in together:
        return digits(gap), None
    high = max(max(-ends[0], ends[1]) for ends in each if ends)
    low = max(max(ends[0], -ends[1]) for ends in together if ends)
    return digits(gap), (digits(min(max(low, 0.0), gap)), digits(max(high, gap)))
