"""How intervals are made and what they assume, as every document says it."""

from gridc.reports.words import KINDS, PLURAL
from gridc.schema.items import UnitLevel

INTERVAL_METHOD = "bootstrap of units, percentiles expanded for their number (Hesterberg 2015)"
AT_BOUND = (
    "of a rate of 0 or 1 exact and one-sided, for units of any size (Clopper-Pearson where all are alike)"
)
INDEPENDENT = "units are independent"
KAPPA_INTERVAL = (
    "interval: kappa at the exact limits of the agreement, agreement by chance as it is here; where units "
    "repeat, of as many independent responses as give kappa its jackknife variance over units"
)
"""How Cohen's kappa has its interval (`statistics.raters.Kappa`)."""


def interval_assumption(unit: UnitLevel) -> str:
    """What an interval rests on, in a phrase."""
    return (
        f"the {PLURAL[unit]} are independent draws from those that could have been asked, {KINDS}, so that "
        "they show their spread; each interval covers alone, not all of them together"
    )
