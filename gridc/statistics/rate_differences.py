"""Intervals of the difference and of the ratio of two rates of arms that share their units.

Without a model they are those of two shares (`unit_intervals`): limits of both rates, combined by their
correlation over units; of a difference that few units carry, or of few units, Gaffke's
(`margins.mean_limits`).

A clustered logit tests the difference, so the interval has its errors and its t: the log odds of the level
go to the ends of their own interval, and the change of the fitted rates is averaged over rows
(standardisation, or g-computation). Averaged over the reference's rows alone the rate of the reference would
be known, and over the level's rows that of the level: the mean of both is taken (at the estimate either is
the difference of the rates, as every block has both arms). The rates as such count as known still, so it is
joined with the limits of both rates, the wider at each end. Only 0 is left to the test: the interval holds it
exactly where its p is above .05. Where limits of the rates would pass 0 against it, the end is that of the
test, drawn towards 0 as far as the rate of what is rarer could be lower.
"""

from dataclasses import dataclass, replace

import numpy as np

from gridc.statistics import margins
from gridc.statistics.arrays import Floats
from gridc.statistics.case_totals import CaseTable
from gridc.statistics.jackknife import effective_number, enough
from gridc.statistics.resample import LEVEL
from gridc.statistics.unit_bootstrap import Ends
from gridc.statistics.unit_intervals import CARRIERS, carriers, gap, share, share_ratio
from gridc.statistics.unseen import against_zero, contrast

FAR = 60.0
"""Log odds beyond which every rate is 0 or 1."""


@dataclass(frozen=True, slots=True)
class FittedOdds:
    """Of a fitted logit: the linear predictor of cells, how many rows of the reference and of the level each
    has, (P,) all, and the ends of the interval of the level's log odds."""

    predictor: Floats
    reference: Floats
    level: Floats
    ends: Ends

    def rates(self, log_odds: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """The rates of the reference and of the level with these log odds: over the reference's rows, and
        over the level's."""
        from scipy.special import expit

        of_reference, of_level = self.reference / self.reference.sum(), self.level / self.level.sum()
        fitted, moved, back = (expit(self.predictor + by) for by in (0.0, log_odds, -log_odds))
        return (
            (float(of_reference @ fitted), float(of_reference @ moved)),
            (float(of_level @ back), float(of_level @ fitted)),
        )

    def change(self, log_odds: float) -> float:
        """The difference of the rates with these log odds, the mean of both."""
        return float(np.mean([after - before for before, after in self.rates(log_odds)]))

    def log_odds_of(self, change: float) -> float:
        """The log odds with such a difference; infinite where none is so large."""
        from scipy.optimize import brentq

        if not self.change(-FAR) < change < self.change(FAR):
            return -np.inf if change < 0 else np.inf
        return float(brentq(lambda odds: self.change(odds) - change, -FAR, FAR, xtol=1e-12))


def joined(units: CaseTable, level: int, reference: int, tested: FittedOdds) -> FittedOdds:
    """The same, of whose interval an end that no unit goes against is no nearer to 0 than Gaffke's limit of
    the difference (`unseen`)."""
    rise, fall = against_zero(units, contrast(units.rows.shape[1], level, reference))
    if rise is None and fall is None:
        return tested
    limits = margins.mean_limits(units, level, reference, (1 - LEVEL) / 2)
    if limits is None:
        return tested
    low, high = tested.ends
    if rise is not None:
        low = min(low, tested.log_odds_of(limits[0]))
    if fall is not None:
        high = max(high, tested.log_odds_of(limits[1]))
    return replace(tested, ends=(low, high))


def difference(units: CaseTable, level: int, reference: int, tested: FittedOdds | None = None) -> Ends | None:
    """The limits of the rate of arm `level` less that of arm `reference`, the patterns of `units` being the
    arms; with a test, as it says. None where an arm has no row."""
    totals = _totals(units, level, reference)
    if not totals[:, 0].sum() or not totals[:, 2].sum():
        return None
    rows, points, others, theirs = totals.T
    moved = theirs / others.sum() - theirs.sum() / others.sum() ** 2 * others
    moved -= points / rows.sum() - points.sum() / rows.sum() ** 2 * rows
    found = None
    if enough(effective_number(rows)) and enough(effective_number(others)) and carriers(moved) >= CARRIERS:
        found = gap(totals).interval
    found = found or margins.mean_limits(units, level, reference, (1 - LEVEL) / 2)
    if tested is None or found is None:
        return found
    low, high = map(tested.change, tested.ends)
    return _joined(found, (low, high), _drawn(totals))


def ratio(units: CaseTable, level: int, reference: int, tested: FittedOdds | None = None) -> Ends | None:
    """The same of the rate of arm `level` over that of arm `reference`. None where few units carry a rate."""
    totals = _totals(units, level, reference)
    found = share_ratio(totals[:, [2, 3, 0, 1]]).interval
    if tested is None or found is None:
        return found
    low, high = (
        float(np.mean([np.log(after / before) for before, after in tested.rates(end)])) for end in tested.ends
    )
    ends = _joined((float(np.log(found[0])), float(np.log(found[1]))), (low, high), _drawn(totals))
    return float(np.exp(ends[0])), float(np.exp(ends[1]))


def _totals(units: CaseTable, level: int, reference: int) -> Floats:
    """Of each unit rows and points of the reference and of the level, (G, 4)."""
    columns = [each[:, arm] for arm in (reference, level) for each in (units.rows, units.sums)]
    totals: Floats = np.repeat(np.column_stack(columns).astype(np.float64), units.cases, axis=0)
    return totals


def _drawn(totals: Floats) -> float:
    """The lower limit of the rate of what is rarer in both arms together, over that rate."""
    rows, points = totals[:, 0] + totals[:, 2], totals[:, 1] + totals[:, 3]
    if 2 * points.sum() > rows.sum():
        points = rows - points
    found = share(np.column_stack([rows, points]))
    return found.interval[0] / found.value if found.interval and found.value else 1.0


def _joined(limits: Ends, tested: Ends, drawn: float) -> Ends:
    """The wider at each end; on the side of 0 as `tested` says."""
    low, high = min(limits[0], tested[0]), max(limits[1], tested[1])
    if tested[0] > 0 >= low:
        low = drawn * tested[0]
    if tested[1] < 0 <= high:
        high = drawn * tested[1]
    return low, high
