"""One-sided tests of the mean of one model less that of another over independent units.

Where every unit is a single answer that earns a point or none, and no margin is given away, the test is
McNemar's exact one. Elsewhere it is Gaffke's (`bounded_means`): a unit loses at most all its rows, so units
of any size and answers that earn parts of a point are fine. It is the test that the interval of the same gap
inverts (`unit_intervals.change`): p is below .05 exactly where the 95 % interval leaves 0 out.
"""

from dataclasses import dataclass
from typing import Literal

from gridc.statistics import exact_tests
from gridc.statistics.arrays import Floats
from gridc.statistics.bounded_means import share_above
from gridc.statistics.reproducibility import digits

GapTest = Literal["mcnemar", "gaffke"]


@dataclass(frozen=True, slots=True, eq=False)
class GapPValues:
    """p-values of "the first model earns more", of "the second does", and of "they are less than the margin
    apart", which is None without a margin."""

    test: GapTest
    first: float
    second: float
    within: float | None

    @property
    def two_sided(self) -> float:
        """Of "they differ"."""
        return min(1.0, digits(2 * min(self.first, self.second)))


def p_more(
    first: Floats, second: Floats, rows: Floats, single: bool = False, margin: float | None = None
) -> float:
    """p of: over new units the mean of `first` less that of `second` is above 0, or above -`margin`.

    Args:
        first: points that each unit earned, (units,), at most its `rows`.
        second: the same of the other model.
        rows: how many answers each unit has, (units,).
        single: whether each unit is one answer that earns a point or none.
        margin: a share above 0 and below 1.
    """
    if single and margin is None:
        ahead, behind = int((first > second).sum()), int((first < second).sum())
        return digits(exact_tests.upper_tails(ahead + behind)[ahead])
    # (1 + gap) / 2 is a share, which is 1/2 where both are equal.
    return digits(share_above((rows + first - second) / 2, rows, (1 - (margin or 0.0)) / 2))


def gap_p_values(
    first: tuple[Floats, Floats],
    second: tuple[Floats, Floats],
    rows: Floats,
    single: bool,
    margin: float | None,
) -> GapPValues:
    """All three. Of each model (least, most) are what its units earned at least and at most, (units,) each:
    what could not be read speaks against every claim."""
    (low, high), (other_low, other_high) = first, second
    within = None
    if margin is not None:
        within = max(
            p_more(low, other_high, rows, margin=margin), p_more(other_low, high, rows, margin=margin)
        )
    return GapPValues(
        "mcnemar" if single else "gaffke",
        p_more(low, other_high, rows, single),
        p_more(other_low, high, rows, single),
        within,
    )
