"""Whether the second of two paired runs is worse by more than a margin, or not: two tests.

Neither follows from the failure of the other. Both are Gaffke's (`margins`), of units of one item or several,
scores of 0 and 1 or between; where units are single items with outcomes 0 or 1 the outcomes are few enough to
be counted, and `worst_size` is the largest chance of a false decision over every discordance, exact.

An answer that is missing on one side is no evidence: in each test it is filled in against the claim. So both
hold whatever made it missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from gridc.statistics import margins
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.bounded_means import mean_above_zero
from gridc.statistics.case_totals import CaseTable
from gridc.statistics.expected_power import Assumed, DecidingTest, Layout, Stratum, power, smallest
from gridc.statistics.power import POWER

FIRST, SECOND = 0, 1
"""The arms of a table of units."""
MOST_UNITS = 1_000_000
"""More are not said to be needed: no benchmark has them."""


@dataclass(frozen=True, slots=True, eq=False)
class PairedUnits:
    """U units: how many items each has, (U,), and the points, higher being better, that these earned in the
    first and in the second run, (U, 2): at least and at most, which differ where answers are missing."""

    items: Whole
    first: Floats
    second: Floats

    def table(self, first: int, second: int) -> CaseTable:
        """As the tests of margins take them: each arm with what it earned at least (0) or at most (1)."""
        sums = np.column_stack([self.first[:, first], self.second[:, second]])
        return CaseTable(
            np.column_stack([self.items, self.items]).astype(np.float64),
            np.round(sums, 12),
            np.ones(len(self.items), np.int64),
        )

    @property
    def favourable(self) -> CaseTable:
        """What is missing is filled in for the second run."""
        return self.table(0, 1)

    @property
    def adverse(self) -> CaseTable:
        """It is filled in for the first."""
        return self.table(1, 0)


def p_worse(units: PairedUnits, margin: float) -> float:
    """p of: the second run is worse by more than the margin, a proportion."""
    return margins.below(units.favourable, SECOND, FIRST, -margin)


def p_not_worse(units: PairedUnits, margin: float) -> float:
    """p of: it is not worse by as much as the margin."""
    return margins.above(units.adverse, SECOND, FIRST, -margin)


def change_limits(units: PairedUnits, alpha: float) -> tuple[float, float] | None:
    """The limits of the change, each missed with probability `alpha` at most: above minus a margin or below
    it exactly where the tests at `alpha` say so. None without a unit."""
    low = margins.limits(units.adverse, SECOND, FIRST, alpha)
    complete = np.array_equal(units.first[:, 0], units.first[:, 1]) and np.array_equal(
        units.second[:, 0], units.second[:, 1]
    )
    high = low if complete else margins.limits(units.favourable, SECOND, FIRST, alpha)
    return None if low is None or high is None else (low[0], high[1])


@dataclass(frozen=True, slots=True)
class Discernible:
    """What so many units can show, before any answer: the smallest true `loss` that is found to be beyond the
    margin, and the smallest `margin` that is shown where nothing changed, each with probability `POWER`; None
    where none is."""

    loss: float | None
    margin: float | None


def sight(
    sizes: Sequence[int], margin: float | None, alpha: float, each: float, changing: float, together: float
) -> Discernible:
    """Of units with so many items, where a share `changing` of the answers changes for no reason; what units
    hold changes `together` (`expected_power`). A loss is tested at `each` (of several benchmarks), its
    absence at `alpha`."""
    layout = _layout(sizes)
    assumed = Assumed(changing, together)
    beyond = None
    if margin is not None:
        beyond = smallest(DecidingTest("beyond", "less", each, margin), layout, assumed)
    return Discernible(beyond, smallest(DecidingTest("above", "greater", alpha), layout, assumed))


def units_needed(
    sizes: Sequence[int], margin: float, alpha: float, changing: float, together: float
) -> int | None:
    """About how many units like these show the margin where nothing changed, with probability `POWER`: to two
    digits. None where a million do not."""
    if not sizes or margin <= 0:
        return None
    test, assumed = DecidingTest("above", "greater", alpha, margin), Assumed(changing, together)

    def enough(count: int) -> bool:
        layout = _layout(np.resize(np.sort(sizes), count).tolist())
        return power(test, layout, assumed, 0.0) >= POWER

    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST_UNITS:
            return None
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    unit: int = 10 ** max(0, len(str(high)) - 2)
    return -(-high // unit) * unit


def _layout(sizes: Sequence[int]) -> Layout:
    return Layout((Stratum(tuple(sorted(map(float, sizes)))),), 2)


def worst_size(items: int, margin: float, alpha: float, worse: bool) -> tuple[float, float]:
    """The largest probability, over every discordance, with which single items of outcome 0 or 1 are decided
    to be worse by more than the margin (`worse`) or not worse by it, where the change is just the margin; and
    that discordance. Over a change further on the true side it is smaller, because p falls with every item
    that is gained and rises with every one that is lost. Exact, by every outcome."""
    bound = margin if worse else -margin
    against, least = _rejected(items, bound, alpha)

    def size(discordance: float) -> float:
        toward, back = (discordance + bound) / 2, (discordance - bound) / 2
        weights = binom.pmf(against, items, back)
        chance = min(1.0, toward / (1 - back)) if back < 1 else 0.0
        return float(weights @ binom.sf(least - 1, items - against, chance))

    grid = np.geomspace(max(margin, 1e-6), 1.0, 200)
    start = int(np.argmax([size(place) for place in grid]))
    ends = float(grid[max(start - 1, 0)]), float(grid[min(start + 1, len(grid) - 1)])
    near = minimize_scalar(lambda place: -size(place), bounds=ends, method="bounded")
    return max((size(float(grid[start])), float(grid[start])), (-float(near.fun), float(near.x)))


def _rejected(items: int, bound: float, alpha: float) -> tuple[Whole, Whole]:
    """For every number of items that speak against "the mean is above `bound`" the least number for it with
    which the test says so; one more than there are left where none does."""
    least = np.arange(items, -1, -1) + 1
    last = 0
    for against in range(items + 1):
        low, high = last - 1, items - against + 1
        step = 1
        while last + step < high and not _says(last + step, against, items, bound, alpha):
            low, step = last + step, 2 * step
        high = min(last + step, high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _says(middle, against, items, bound, alpha) else (middle, high)
        if high > items - against:
            break
        least[against] = last = high
    return np.arange(items + 1), least


def _says(ahead: int, against: int, items: int, bound: float, alpha: float) -> bool:
    if ahead < 0 or ahead + against > items:
        return False
    values = np.repeat([-1.0 - bound, -bound, 1.0 - bound], [against, items - ahead - against, ahead])
    return mean_above_zero(np.round(values, 12), round(-1.0 - bound, 12)) <= alpha
