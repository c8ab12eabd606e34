"""The estimators that a spec can declare, on the rows of a comparison.

Both regress the outcome on the axis, with model, benchmark and every other axis that varies as covariates
(main effects). `cluster_logit` has errors clustered by unit; `glmm` a random intercept for each unit instead,
by maximum likelihood, and decides nothing. A fit that does not exist is a `FailureRow` and never a number.

`glmm` is a logit with a normal random intercept for each unit, by gpboost (Sigrist 2022), which maximises the
likelihood by Laplace's approximation and scales to millions of rows. statsmodels has no maximum likelihood
for this model: its BinomialBayesMixedGLM puts priors on everything, and its estimates of the spread between
units are those of the priors where units are small. Effects are conditional on the unit, so they lie farther
from 0 than those of `cluster_logit` where units differ.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gridc.compiler.hypotheses.tested import DECIDES_NOTHING
from gridc.numbers import number, percent
from gridc.reports.findings.hypotheses.comparison import Comparison
from gridc.reports.findings.hypotheses.finding import INDEPENDENT
from gridc.reports.words import KINDS
from gridc.schema.hypotheses import FailureRow, OddsRow, SpreadRow, TestRow
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.case_totals import DesignMatrix, Factor, factor, treatment, with_dose
from gridc.statistics.clustered_logit import FLOOR, Jackknife, NotEstimable, maximum, unit
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import digits, every_digits

TOLERANCE = 1e-10
"""Relative change of the likelihood at which its maximum counts as reached."""
FAR = 15.0
"""Log odds, or a standard deviation of them between units, beyond which the maximum lies at infinity: the
optimiser stops somewhere on the way, and any number from there is one of a failed fit."""
PARTS = "a logit with a random intercept takes outcomes of 0 and 1, not means of several"
"""Why a graded outcome has no such fit."""
DIGITS = 7
"""What of an estimate does not depend on the last steps of the optimiser."""


class GradedOutcome(ValueError):
    """An outcome that earns parts of a point, of which there is no logit with a random intercept here."""


class NoLibrary(ValueError):
    """gpboost is not installed."""


@dataclass(frozen=True)
class RandomIntercept:
    """The model of single samples: their outcomes (0 or 1), cells and units, shape (N,)."""

    design: DesignMatrix
    outcome: Floats
    cell: Whole
    unit: Whole
    coefficients: Floats
    errors: Floats
    log_likelihood: float

    def odds(self, column: int) -> OddsRow:
        """A coefficient, by its standard error from the information matrix."""
        from scipy.special import ndtr, ndtri

        value, error = float(self.coefficients[column]), float(self.errors[column])
        z, half = value / error, float(ndtri((1 + LEVEL) / 2)) * error
        ends = float(np.exp(value - half)), float(np.exp(value + half))
        odds = OddsRow(
            log_odds=value,
            error=error,
            z=z,
            p=float(2 * ndtr(-abs(z))),
            ratio=float(np.exp(value)),
            interval=ends,
        )
        return every_digits(odds)

    def joint(self, columns: list[int]) -> TestRow:
        """The likelihood ratio with and without these columns."""
        from scipy.special import chdtrc

        left = np.delete(self.design.matrix, columns, axis=1)
        _, _, without = _maximum(left[self.cell], self.outcome, self.unit)
        ratio = max(2 * (self.log_likelihood - without), 0.0)
        p = digits(float(chdtrc(len(columns), ratio)))
        return TestRow(name="likelihood_ratio", statistic=digits(ratio), df=len(columns), p=p, spread=None)


def random_intercept(comparison: Comparison, design: DesignMatrix) -> RandomIntercept:
    """The fit. Raises `NotEstimable` where the logit without the intercepts does not exist, `GradedOutcome`
    and `NoLibrary`."""
    rows = comparison.rows
    maximum(design.matrix, comparison.table())
    if rows.scale != 1:
        raise GradedOutcome(PARTS)
    return of_single_samples(design, rows.cell, rows.unit, *comparison.counted)


def of_single_samples(
    design: DesignMatrix, cell: Whole, unit: Whole, counts: Whole, earned: Floats
) -> RandomIntercept:
    """The fit of N rows in cells of the design and in units: how many samples of each count and how many of
    these earned the point, (N,) all. Raises `NotEstimable`, `GradedOutcome` where they earned parts of
    points, and `NoLibrary`."""
    if not np.array_equal(np.rint(earned), earned):
        raise GradedOutcome(PARTS)
    ones = earned.astype(np.int64)
    outcome = np.repeat(np.tile([1.0, 0.0], len(counts)), np.column_stack([ones, counts - ones]).ravel())
    cell, unit = np.repeat(cell, counts), np.repeat(unit, counts)
    coefficients, errors, likelihood = _maximum(design.matrix[cell], outcome, unit)
    return RandomIntercept(design, outcome, cell, unit, coefficients, errors, likelihood)


def _maximum(matrix: Floats, outcome: Floats, unit: Whole) -> tuple[Floats, Floats, float]:
    """Coefficients, their standard errors, and the log-likelihood. Raises `NotEstimable` where the maximum
    lies at infinity."""
    try:
        import gpboost
    except ImportError:
        raise NoLibrary("it needs gpboost: pip install 'gridc[glmm]'") from None
    model: Any = gpboost.GPModel(group_data=unit, likelihood="bernoulli_logit", num_parallel_threads=1)
    model.fit(y=outcome, X=matrix, params={"delta_rel_conv": TOLERANCE, "trace": False})
    estimates = np.asarray(model.get_coef(std_err=True), dtype=np.float64)
    spread = float(np.sqrt(np.asarray(model.get_cov_pars(), dtype=np.float64).ravel()[0]))
    reach = max(float(np.abs(matrix @ estimates[0]).max()), spread)
    if not np.isfinite(estimates).all() or reach > FAR:
        words = (
            "given the intercepts of units, covariates predict outcomes without an error: odds are infinite"
        )
        raise NotEstimable("separated", words)
    likelihood = -float(model.get_current_neg_log_likelihood())
    return np.round(estimates[0], DIGITS), np.round(estimates[1], DIGITS), round(likelihood, DIGITS)


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
        return with_dose(base, DOSE, [doses[level] for level in of_axis])
    axis = factor(comparison.axis, comparison.levels, of_axis)
    return treatment([axis, *others], [(comparison.axis, by)] if by is not None else [])


def _factor(comparison: Comparison, name: str) -> Factor:
    levels = comparison.rows.levels(name)
    return factor(name, list(dict.fromkeys(levels)), levels)


def fit_comparison(comparison: Comparison, estimator: str, design: DesignMatrix) -> Fit | FailureRow:
    """The fit of the declared estimator, or why there is none."""
    if (fit := ESTIMATORS[estimator].fit) is None:
        return FailureRow(code="estimator", words=DECIDES_NOTHING[estimator])
    if (unanswered := comparison.unanswered) is not None:
        return unanswered
    try:
        return fit(comparison, design)
    except NotEstimable as error:
        return failure_of(error)
    except GradedOutcome as error:
        return FailureRow(code="graded", words=str(error))
    except NoLibrary as error:
        return FailureRow(code="library", words=str(error))


def failure_of(error: NotEstimable) -> FailureRow:
    return FailureRow(code=error.reason, words=str(error))  # type: ignore[arg-type]
