"""The estimators that a spec can declare, on the rows of a comparison.

Both regress the outcome on the axis, with model, benchmark and every other axis that varies as covariates
(main effects). `cluster_logit` has errors clustered by unit; `glmm` a random intercept for each unit instead,
by maximum likelihood, and decides nothing. A fit that does not exist is a `FailureRow` and never a number.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gridc.compiler.hypotheses.tested import DECIDES_NOTHING
from gridc.numbers import number, percent
from gridc.reports.findings.hypotheses.comparison import Comparison
from gridc.reports.findings.hypotheses.mixed import Graded, NoLibrary, random_intercept
from gridc.reports.findings.hypotheses.sentences import INDEPENDENT
from gridc.reports.words import KINDS
from gridc.schema.hypotheses import FailureRow, OddsRow, SpreadRow, TestRow
from gridc.statistics.clustered_logit import NotEstimable, maximum, unit
from gridc.statistics.designs import DesignMatrix, Factor, factor, scored, treatment
from gridc.statistics.digits import every_digits
from gridc.statistics.jackknife import FLOOR, Jackknife

DOSE = "dose"


class Fit(Protocol):
    """An estimate on a design."""

    @property
    def design(self) -> DesignMatrix: ...

    def odds(self, column: int) -> OddsRow:
        """A coefficient. Raises `NotEstimable`."""
        ...

    def joint(self, columns: list[int]) -> TestRow:
        """Whether several coefficients are all zero. Raises `NotEstimable`."""
        ...


@dataclass(frozen=True)
class ClusteredLogit:
    """Maximum likelihood, with errors by leaving out one unit after the other."""

    design: DesignMatrix
    errors: Jackknife

    def odds(self, column: int) -> OddsRow:
        combined = self.errors.combination(unit(column, len(self.design.columns)))
        ratio, low, high = (float(end) for end in np.exp([combined.estimate, combined.low, combined.high]))
        odds = OddsRow(
            log_odds=combined.estimate,
            error=combined.error,
            z=combined.ratio,
            p=combined.p,
            ratio=ratio,
            interval=(low, high),
            freedom=combined.df,
            spread=SpreadRow.of(combined.spread),
        )
        return every_digits(odds)

    def joint(self, columns: list[int]) -> TestRow:
        found = self.errors.joint(unit(columns, len(self.design.columns)))
        tested = TestRow(
            name="box_f",
            statistic=found.value,
            df=found.q,
            p=found.p,
            freedom=found.below,
            spread=SpreadRow.of(found.spread),
            above=found.above,
        )
        return every_digits(tested)


def clustered_logit(comparison: Comparison, design: DesignMatrix) -> Fit:
    table = comparison.table()
    return ClusteredLogit(design, Jackknife(design.matrix, table, maximum(design.matrix, table)))


def undecided(test: TestRow | None, units: int, estimator: str) -> FailureRow | None:
    """Why a test decides nothing: its estimator does not, or units are too few or too unequal."""
    if test is None:
        return None
    if estimator in DECIDES_NOTHING:
        return FailureRow(code="estimator", words=DECIDES_NOTHING[estimator])
    if test.spread is None or test.spread.enough:
        return None
    spread = test.spread
    return FailureRow(
        code="few_units",
        words=f"{units:,} units are worth {number(spread.effective, 1)} equal ones, the largest with "
        f"{percent(spread.largest, 0)} of what tells, and a test needs {FLOOR:g}",
    )


@dataclass(frozen=True)
class Estimator:
    """How effects are estimated: `fit` on a design, None where nothing is fitted; what a verdict `assumes`.
    `curve_errors` says where the standard errors of a curve's fits come from."""

    fit: Callable[[Comparison, DesignMatrix], Fit] | None
    assumes: str
    curve_errors: str = ""


UNTESTED = f"no test of its own, {INDEPENDENT}"
ESTIMATORS: Mapping[str, Estimator] = {
    "none": Estimator(None, UNTESTED),
    "cluster_logit": Estimator(
        clustered_logit,
        f"a logit with errors by leaving out units, which assumes independent units, {KINDS}",
        curve_errors="clustered by unit, G/(G-1) (N-1)/(N-K)",
    ),
    "glmm": Estimator(
        random_intercept,
        UNTESTED,
        "of a random intercept by unit, from the information matrix",
    ),
}
"""By the `estimator` of the language."""


def covariates(comparison: Comparison) -> tuple[str, ...]:
    """What varies among the rows beside the axis: model, benchmark, other axes."""
    axes = tuple(comparison.rows.cells[0].levels)
    every = (name for name in ("model", "benchmark", *axes) if name != comparison.axis)
    return tuple(name for name in every if len(set(comparison.rows.levels(name))) > 1)


def design_of(
    comparison: Comparison, by: str | None = None, doses: Mapping[str, float] | None = None
) -> DesignMatrix:
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


def estimate(comparison: Comparison, estimator: str, design: DesignMatrix) -> Fit | FailureRow:
    """The fit of the declared estimator, or why there is none."""
    if (fit := ESTIMATORS[estimator].fit) is None:
        return FailureRow(code="estimator", words=DECIDES_NOTHING[estimator])
    if (unanswered := comparison.unanswered) is not None:
        return unanswered
    try:
        return fit(comparison, design)
    except NotEstimable as error:
        return failure_of(error)
    except Graded as error:
        return FailureRow(code="graded", words=str(error))
    except NoLibrary as error:
        return FailureRow(code="library", words=str(error))


def failure_of(error: NotEstimable) -> FailureRow:
    return FailureRow(code=error.reason, words=str(error))  # type: ignore[arg-type]
