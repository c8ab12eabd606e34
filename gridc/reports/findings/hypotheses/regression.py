"""The estimators that a spec can declare, on the rows of a comparison.

Both regress the outcome on the axis, with model, benchmark and every other axis that varies as covariates
(main effects). `cluster_logit` has errors clustered by unit; `glmm` a random intercept for each unit instead,
by maximum likelihood. A fit that does not exist is a `Failure` and never a number.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gridc.reports.findings.hypotheses.comparison import Comparison
from gridc.reports.findings.hypotheses.effects import EffectTest, Failure, Odds
from gridc.reports.findings.hypotheses.mixed import Graded, NoLibrary, random_intercept
from gridc.reports.findings.observations import Floats
from gridc.statistics.clustered_logit import LogitFit, NotEstimable, combination, fit, unit, wald
from gridc.statistics.designs import Design, Factor, factor, scored, treatment

DOSE = "dose"


class Fit(Protocol):
    """An estimate on a design."""

    @property
    def design(self) -> Design: ...

    def odds(self, column: int) -> Odds:
        """A coefficient. Raises `NotEstimable`."""
        ...

    def joint(self, columns: list[int]) -> EffectTest:
        """Whether several coefficients are all zero. Raises `NotEstimable`."""
        ...


@dataclass(frozen=True)
class ClusteredLogit:
    """Maximum likelihood with a sandwich variance by unit, and Wald tests of it."""

    design: Design
    fitted: LogitFit

    def odds(self, column: int) -> Odds:
        return _odds(self.fitted, unit(column, len(self.design.columns)))

    def joint(self, columns: list[int]) -> EffectTest:
        found = wald(self.fitted, unit(columns, len(self.design.columns)))
        return EffectTest("wald_chi2", found.chi2, found.df, found.p)


def _odds(fitted: LogitFit, weights: Floats) -> Odds:
    found = combination(fitted, weights)
    low, high = np.exp([found.low, found.high])
    ratio = float(np.exp(found.estimate))
    return Odds(found.estimate, found.error, found.z, found.p, ratio, (float(low), float(high)))


def clustered_logit(comparison: Comparison, design: Design) -> Fit:
    totals = comparison.rows.totals(comparison.rows.cell, len(comparison.rows.cells), comparison.reading)
    return ClusteredLogit(design, fit(design.matrix, totals))


ESTIMATORS: Mapping[str, Callable[[Comparison, Design], Fit]] = {
    "cluster_logit": clustered_logit,
    "glmm": random_intercept,
}
"""By the `estimator` of the language."""


def covariates(comparison: Comparison) -> tuple[str, ...]:
    """What varies among the rows beside the axis: model, benchmark, other axes."""
    axes = tuple(comparison.rows.cells[0].levels)
    every = ("model", "benchmark", *(axis for axis in axes if axis != comparison.axis))
    return tuple(name for name in every if len(set(comparison.rows.levels(name))) > 1)


def design_of(
    comparison: Comparison, by: str | None = None, doses: Mapping[str, float] | None = None
) -> Design:
    """A row for each cell: the axis (or the dose of its level) and the covariates; with `by`, the
    interaction of the axis with one of them."""
    rows = comparison.rows
    others = [_factor(comparison, name) for name in covariates(comparison)]
    of_axis = rows.levels(comparison.axis)
    if doses is not None:
        base = treatment(others or [factor("", [""], [""] * len(rows.cells))])
        return scored(base, DOSE, [doses[level] for level in of_axis])
    axis = factor(comparison.axis, comparison.levels, of_axis)
    return treatment([axis, *others], [(comparison.axis, by)] if by is not None else [])


def _factor(comparison: Comparison, name: str) -> Factor:
    levels = comparison.rows.levels(name)
    return factor(name, list(dict.fromkeys(levels)), levels)


def estimate(comparison: Comparison, estimator: str, design: Design) -> Fit | Failure:
    """The fit of the declared estimator, or why there is none."""
    if estimator not in ESTIMATORS:
        return Failure("estimator", "the spec declares no `[analysis] estimator`, so no effect is tested")
    try:
        return ESTIMATORS[estimator](comparison, design)
    except NotEstimable as error:
        return failure_of(error)
    except Graded as error:
        return Failure("graded", str(error))
    except NoLibrary as error:
        return Failure("library", str(error))


def failure_of(error: NotEstimable) -> Failure:
    return Failure(error.reason, str(error))  # type: ignore[arg-type]
