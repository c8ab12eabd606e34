"""`estimator = "glmm"`: a logit with a normal random intercept for each unit, by gpboost.

gpboost (Sigrist 2022) maximises the likelihood, by Laplace's approximation, and scales to millions of rows.
statsmodels has no maximum likelihood for this model: its BinomialBayesMixedGLM puts priors on everything, and
its estimates of the spread between units are those of the priors where units are small. Effects are
conditional on the unit, so they lie farther from 0 than those of `cluster_logit` where units differ.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gridc.reports.findings.hypotheses.comparison import Comparison
from gridc.schema.hypotheses import OddsRow, TestRow
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.clustered_logit import NotEstimable, maximum
from gridc.statistics.designs import DesignMatrix
from gridc.statistics.digits import digits, every_digits
from gridc.statistics.resample import LEVEL

TOLERANCE = 1e-10
"""Relative change of the likelihood at which its maximum counts as reached."""
FAR = 15.0
"""Log odds, or a standard deviation of them between units, beyond which the maximum lies at infinity: the
optimiser stops somewhere on the way, and any number from there is one of a failed fit."""
PARTS = "a logit with a random intercept takes outcomes of 0 and 1, not means of several"
"""Why a graded outcome has no such fit."""
DIGITS = 7
"""What of an estimate does not depend on the last steps of the optimiser."""


class Graded(ValueError):
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
        from scipy.stats import norm

        value, error = float(self.coefficients[column]), float(self.errors[column])
        z, half = value / error, float(norm.ppf((1 + LEVEL) / 2)) * error
        ends = float(np.exp(value - half)), float(np.exp(value + half))
        odds = OddsRow(
            log_odds=value,
            error=error,
            z=z,
            p=float(2 * norm.sf(abs(z))),
            ratio=float(np.exp(value)),
            interval=ends,
        )
        return every_digits(odds)

    def joint(self, columns: list[int]) -> TestRow:
        """The likelihood ratio with and without these columns."""
        from scipy.stats import chi2

        left = np.delete(self.design.matrix, columns, axis=1)
        _, _, without = _maximum(left[self.cell], self.outcome, self.unit)
        ratio = max(2 * (self.log_likelihood - without), 0.0)
        p = digits(float(chi2.sf(ratio, len(columns))))
        return TestRow(name="likelihood_ratio", statistic=digits(ratio), df=len(columns), p=p, spread=None)


def random_intercept(comparison: Comparison, design: DesignMatrix) -> RandomIntercept:
    """The fit. Raises `NotEstimable` where the logit without the intercepts does not exist, `Graded` and
    `NoLibrary`."""
    rows = comparison.rows
    maximum(design.matrix, comparison.table())
    if rows.scale != 1:
        raise Graded(PARTS)
    return of_single_samples(design, rows.cell, rows.unit, *comparison.counted)


def of_single_samples(
    design: DesignMatrix, cell: Whole, unit: Whole, counts: Whole, earned: Floats
) -> RandomIntercept:
    """The fit of N rows in cells of the design and in units: how many samples of each count and how many of
    these earned the point, (N,) all. Raises `NotEstimable`, `Graded` where they earned parts of points, and
    `NoLibrary`."""
    if not np.array_equal(np.rint(earned), earned):
        raise Graded(PARTS)
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
