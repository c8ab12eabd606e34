"""Odds of a bad answer by what its parts were exposed to: a logit with fixed effects of groups.

The errors are those of the cluster jackknife (`jackknife`), by unit, as of every hypothesis; where the units
are too few for them, or the logit is separated, only the reason stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

import numpy as np

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.case_totals import case_table
from gridc.statistics.clustered_logit import NotEstimable, maximum
from gridc.statistics.jackknife import Jackknife
from gridc.statistics.unit_bootstrap import Ends


@dataclass(frozen=True, slots=True)
class ExposureOdds:
    """The odds ratio of a bad answer for one more of an exposure, the others and the group held; `problem`
    says why there is none, or no interval."""

    exposure: str
    ratio: float | None
    interval: Ends | None
    p: float | None
    problem: str


def exposure_odds(
    names: Sequence[str], exposures: Floats, bad: Floats, groups: Whole, units: Whole
) -> tuple[ExposureOdds, ...]:
    """From rows, (N,): the exposures (N, K), how bad the answer is (0 to 1), the group and the unit. An
    exposure that never varies has no odds."""
    varies = [len(np.unique(column)) > 1 for column in exposures.T]
    dummies = (groups[:, None] == np.arange(int(groups.max(initial=-1)) + 1)).astype(np.float64)
    patterns, pattern = np.unique(np.hstack([exposures[:, varies], dummies]), axis=0, return_inverse=True)
    table = case_table(units, pattern.ravel(), bad, len(patterns))
    problem, fitted = "", None
    try:
        fitted = Jackknife(patterns, table, maximum(patterns, table)) if any(varies) else None
    except NotEstimable as error:
        problem = str(error)
    found, column = [], 0
    for name, varied in zip(names, varies, strict=True):
        if not varied:
            found.append(ExposureOdds(name, None, None, None, "it never varies"))
        elif fitted is None:
            found.append(ExposureOdds(name, None, None, None, problem))
        else:
            found.append(_odds(name, fitted, column, patterns.shape[1]))
        column += varied
    return tuple(found)


def _odds(name: str, fitted: Jackknife, column: int, width: int) -> ExposureOdds:
    ratio = exp(float(fitted.coefficients[column]))
    try:
        tested = fitted.combination(np.eye(width)[column])
    except NotEstimable as error:
        return ExposureOdds(name, ratio, None, None, str(error))
    if not tested.spread.enough:
        problem = (
            f"{tested.spread.effective:.1f} units of one size would tell as much: too few for an interval"
        )
        return ExposureOdds(name, ratio, None, None, problem)
    return ExposureOdds(name, ratio, (exp(tested.low), exp(tested.high)), tested.p, "")
