"""Whether the second of two paired runs is worse by more than a margin, or not: two tests.

Neither follows from the failure of the other. Both are tests at a margin (`margins`), of units of one item or
several, scores of 0 and 1 or between.

An answer that is missing on one side is no evidence: in each test it is filled in against the claim. So both
hold whatever made it missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridc.statistics import margins
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.case_totals import CaseTable
from gridc.statistics.expected_power import Assumed, DecidingTest, Layout, Stratum, power, smallest
from gridc.statistics.verdicts import POWER

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
    def whole(self) -> bool:
        """Whether a unit of one item earns 0 or 1, whatever is missing."""
        return bool(np.isin([self.first, self.second], (0.0, 1.0)).all())

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
    sizes: Sequence[int],
    margin: float | None,
    alpha: float,
    each: float,
    changing: float,
    together: float,
    whole: bool = True,
) -> Discernible:
    """Of units with so many items, where a share `changing` of the answers changes for no reason; what units
    hold changes `together` (`expected_power`). A loss is tested at `each` (of several benchmarks), its
    absence at `alpha`; `whole` as `PairedUnits` has it."""
    layout = _layout(sizes)
    assumed = Assumed(changing, together)
    beyond = None
    if margin is not None:
        beyond = smallest(DecidingTest("beyond", "less", each, margin, whole), layout, assumed)
    shown = DecidingTest("above", "greater", alpha, whole=whole)
    return Discernible(beyond, smallest(shown, layout, assumed))


def units_needed(
    sizes: Sequence[int],
    margin: float,
    alpha: float,
    changing: float,
    together: float,
    whole: bool = True,
) -> int | None:
    """About how many units like these show the margin where nothing changed, with probability `POWER`: to two
    digits. None where a million do not."""
    if not sizes or margin <= 0:
        return None
    test = DecidingTest("above", "greater", alpha, margin, whole)
    assumed = Assumed(changing, together)

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
