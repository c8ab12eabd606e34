"""The same estimates by other ways, each as fast as we know to write it, from rows to numbers.

Logits give their coefficients and the covariance clustered by case (Stata's factor), (K,) and (K, K). What is
only commonly written so, and not the fastest, says so in its name: `written`.
"""

from typing import Any, NamedTuple

import glum
import numba
import numpy as np
import pyfixest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import bootstrap

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Rows(NamedTuple):
    """N rows: cases and patterns, whole numbers from 0, and outcomes."""

    case: Whole
    pattern: Whole
    outcome: Floats


class Fitted(NamedTuple):
    coefficients: Floats
    covariance: Floats


def newton(matrix: Floats, rows: Floats, sums: Floats, start: Floats | None = None) -> tuple[Floats, Floats]:
    """The maximum on counts by pattern, and the inverse of the information there."""
    beta = np.zeros(matrix.shape[1]) if start is None else start
    for _ in range(25):
        mean = expit(matrix @ beta)
        bread = np.linalg.inv((matrix.T * (rows * mean * (1 - mean))) @ matrix)
        step = bread @ (matrix.T @ (sums - rows * mean))
        beta = beta + step
        if np.abs(step).max() < 1e-10:
            break
    return beta, bread


def sandwich(bread: Floats, scores: Floats, rows: int) -> Floats:
    """The covariance from the scores of cases, (G, K); a case without a row has none."""
    cases = int((scores != 0).any(axis=1).sum())
    factor = cases / (cases - 1) * (rows - 1) / (rows - len(bread))
    covariance: Floats = bread @ (scores.T @ scores) @ bread * factor
    return covariance


def by_case(rows: Rows, count: int) -> tuple[Floats, Floats]:
    """Rows and sums of outcomes by case and pattern, (G, P) both."""
    shape = int(rows.case.max()) + 1, count
    place, size = rows.case * count + rows.pattern, shape[0] * shape[1]
    numbers: Floats = np.bincount(place, minlength=size).reshape(shape).astype(np.float64)
    sums: Floats = np.bincount(place, rows.outcome, size).reshape(shape).astype(np.float64)
    return numbers, sums


def numpy_logit(rows: Rows, matrix: Floats) -> Fitted:
    """Fifteen lines of numpy: counts by pattern for the maximum, a table by case for the errors."""
    return table_logit(*by_case(rows, len(matrix)), matrix)


def table_logit(numbers: Floats, sums: Floats, matrix: Floats) -> Fitted:
    """The same on a table by case that other fits share."""
    beta, bread = newton(matrix, numbers.sum(axis=0), sums.sum(axis=0))
    scores = (sums - numbers * expit(matrix @ beta)) @ matrix
    return Fitted(beta, sandwich(bread, scores, int(numbers.sum())))


def _count(pattern: Any, outcome: Any, count: Any) -> Any:
    found = np.zeros((2, count))
    for row in range(len(pattern)):
        found[0, pattern[row]] += 1
        found[1, pattern[row]] += outcome[row]
    return found


def _add_scores(case: Any, pattern: Any, outcome: Any, matrix: Any, mean: Any) -> Any:
    scores = np.zeros((case.max() + 1, matrix.shape[1]))
    for row in range(len(case)):
        at = pattern[row]
        rest = outcome[row] - mean[at]
        for column in range(matrix.shape[1]):
            scores[case[row], column] += rest * matrix[at, column]
    return scores


def _draw(columns: Any, resamples: Any, seed: Any) -> Any:
    np.random.seed(seed)
    cases, width = columns.shape
    found = np.zeros((resamples, width))
    for resample in range(resamples):
        for _ in range(cases):
            drawn = np.random.randint(0, cases)
            for column in range(width):
                found[resample, column] += columns[drawn, column]
    return found


count_fast, add_scores_fast, draw_fast = numba.njit(_count), numba.njit(_add_scores), numba.njit(_draw)


def numba_logit(rows: Rows, matrix: Floats) -> Fitted:
    """Two compiled loops over the rows."""
    numbers, sums = count_fast(rows.pattern, rows.outcome, len(matrix))
    beta, bread = newton(matrix, numbers, sums)
    scores = add_scores_fast(rows.case, rows.pattern, rows.outcome, matrix, expit(matrix @ beta))
    return Fitted(beta, sandwich(bread, scores, len(rows.case)))


def patterns_logit(rows: Rows, matrix: Floats) -> Fitted:
    """statsmodels on collapsed patterns, which knows no cases there: the errors are those of numpy."""
    numbers, sums = by_case(rows, len(matrix))
    n, s = numbers.sum(axis=0), sums.sum(axis=0)
    used = n > 0
    counts = np.column_stack([s, n - s])[used]
    found = sm.GLM(counts, matrix[used], family=sm.families.Binomial()).fit(tol=1e-12)
    mean = expit(matrix @ found.params)
    scores = (sums - numbers * mean) @ matrix
    bread = np.linalg.inv((matrix.T * (n * mean * (1 - mean))) @ matrix)
    return Fitted(found.params, sandwich(bread, scores, len(rows.case)))


def rows_logit(rows: Rows, matrix: Floats) -> Fitted:
    """statsmodels on a matrix of all rows."""
    model = sm.Logit(rows.outcome, matrix[rows.pattern])
    found = model.fit(disp=0, cov_type="cluster", cov_kwds={"groups": rows.case})
    return Fitted(found.params, found.cov_params())


def glum_logit(table: Any, formula: str) -> Fitted:
    """glum on categorical columns of a pandas table (tabmat's sparse matrices)."""
    model = glum.GeneralizedLinearRegressor(
        family="binomial", alpha=0, formula=formula, drop_first=True, gradient_tol=1e-10
    )
    found = model.fit(table)
    covariance = found.covariance_matrix(table, table["safe"], clusters=table["case"].to_numpy())
    return Fitted(np.array([found.intercept_, *found.coef_]), np.asarray(covariance))


def pyfixest_logit(table: Any, formula: str) -> Fitted:
    """pyfixest, compiled by numba; its default tolerance leaves errors off by 1e-4."""
    found = pyfixest.feglm(formula, table, family="logit", vcov={"CRV1": "case"}, iwls_tol=1e-12)
    return Fitted(found.coef().to_numpy(), found._vcov)


def written_model(table: Any, formula: str) -> Any:
    """statsmodels with a formula on a pandas table, as it is commonly written."""
    return smf.logit(formula, table).fit(disp=0, cov_type="cluster", cov_kwds={"groups": table["case"]})


def written_logit(table: Any, formula: str) -> Fitted:
    """The same, its numbers alone."""
    found = written_model(table, formula)
    return Fitted(found.params.to_numpy(), found.cov_params().to_numpy())


def wald(fitted: Fitted, places: list[int]) -> float:
    gap = fitted.coefficients[places]
    return float(gap @ np.linalg.solve(fitted.covariance[np.ix_(places, places)], gap))


def one_step_jackknife(rows: Rows, matrix: Floats) -> Fitted:
    """The cluster jackknife by one Newton step for each case: the errors alone."""
    numbers, sums = by_case(rows, len(matrix))
    beta, bread = newton(matrix, numbers.sum(axis=0), sums.sum(axis=0))
    mean = expit(matrix @ beta)
    scores = (sums - numbers * mean) @ matrix
    squares = (matrix[:, :, None] * matrix[:, None, :]).reshape(len(matrix), -1)
    parts = ((numbers * (mean * (1 - mean))) @ squares).reshape(-1, *bread.shape)
    moves = np.linalg.solve(np.linalg.inv(bread) - parts, scores[:, :, None])[:, :, 0]
    return Fitted(beta, moves.T @ moves * (len(moves) - 1) / len(moves))


def refitted_jackknife(rows: Rows, matrix: Floats) -> Fitted:
    """The cluster jackknife by fitting anew without each case, from the maximum of all, on patterns."""
    numbers, sums = by_case(rows, len(matrix))
    n, s = numbers.sum(axis=0), sums.sum(axis=0)
    beta, _ = newton(matrix, n, s)
    without = zip(numbers, sums, strict=True)
    moves = np.array([newton(matrix, n - own, s - earned, beta)[0] - beta for own, earned in without])
    return Fitted(beta, moves.T @ moves * (len(moves) - 1) / len(moves))


def patterns_refits(rows: Rows, matrix: Floats, cases: int) -> None:
    """statsmodels on collapsed patterns, without each of the first `cases`."""
    numbers, sums = by_case(rows, len(matrix))
    n, s = numbers.sum(axis=0), sums.sum(axis=0)
    for own, earned in zip(numbers[:cases], sums[:cases], strict=True):
        counts = np.column_stack([s - earned, n - own - s + earned])
        sm.GLM(counts, matrix, family=sm.families.Binomial()).fit()


def rows_refits(rows: Rows, matrix: Floats, cases: int) -> None:
    """The same on a matrix of all rows."""
    every = matrix[rows.pattern]
    for case in range(cases):
        others = rows.case != case
        sm.Logit(rows.outcome[others], every[others]).fit(disp=0)


def scipy_bootstrap(rows: Rows, arms: int, resamples: int) -> Floats:
    """scipy.stats.bootstrap on a value of each case, contrast by contrast, which is right where cases have as
    many rows in each arm: the standard errors of the differences from the first arm."""
    numbers, sums = by_case(rows, arms)
    rates = (sums / numbers).T
    found = [
        bootstrap(
            (each - rates[0],), np.mean, vectorized=True, n_resamples=resamples, batch=200,
            method="percentile", rng=np.random.default_rng(1),
        )
        for each in rates[1:]
    ]  # fmt: skip
    return np.array([each.standard_error for each in found])


def numpy_bootstrap(rows: Rows, arms: int, resamples: int) -> Floats:
    """Cases are drawn, and the values of each contrast added up, 40 resamples at a time."""
    numbers, sums = by_case(rows, arms)
    rates, random = (sums / numbers).T, np.random.default_rng(1)
    values = np.ascontiguousarray(rates[1:] - rates[:1])
    cases, found = values.shape[1], []
    for _ in range(0, resamples, 40):
        drawn = random.integers(0, cases, (40, cases), np.int32)
        found.append([value.take(drawn).mean(axis=1) for value in values])
    errors: Floats = np.concatenate(found, axis=1).std(axis=1)
    return errors


def kinds_bootstrap(rows: Rows, arms: int, resamples: int) -> Floats:
    """For each contrast a multinomial draw of the values that cases have, which are few."""
    numbers, sums = by_case(rows, arms)
    rates, random, errors = sums / numbers, np.random.default_rng(1), []
    for arm in range(1, arms):
        values, cases = np.unique(np.round(rates[:, arm] - rates[:, 0], 12), return_counts=True)
        drawn = random.multinomial(len(rates), cases / len(rates), resamples)
        errors.append((drawn @ values / len(rates)).std())
    return np.array(errors)


def numba_bootstrap(rows: Rows, arms: int, resamples: int) -> Floats:
    """A compiled loop over the draws."""
    numbers, sums = by_case(rows, arms)
    rates = sums / numbers
    values = rates[:, 1:] - rates[:, :1]
    errors: Floats = (draw_fast(values, resamples, 1) / len(values)).std(axis=0)
    return errors


def written_bootstrap(table: Any, resamples: int) -> None:
    """Draw cases, take their rows of a pandas table with `.loc`, average by arm."""
    random = np.random.default_rng(1)
    rows_of = table.set_index("case")
    cases = rows_of.index.unique()
    for _ in range(resamples):
        drawn = rows_of.loc[random.choice(cases, len(cases))]
        drawn.groupby("arm", observed=True)["safe"].mean()
