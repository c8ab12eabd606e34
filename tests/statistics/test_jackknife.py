"""Errors by leaving out cases, against refits of statsmodels and against every covariance written out."""

import numpy as np
import pytest
from scipy.stats import f, t

from gridc.statistics.case_totals import CaseTable, case_table, collapse, factor, treatment
from gridc.statistics.clustered_logit import Jackknife, NotEstimable, fit, unit
from tests.statistics.test_sizes import CROSSED, MAIN, answers

DESIGN = treatment(
    [factor("arm", "ab", ["a", "b", "a", "b"]), factor("model", "xy", ["x", "x", "y", "y"])]
).matrix


def two_arms(sizes: list[int], seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cases of these sizes under two arms and models: case, pattern, outcome of each row."""
    random = np.random.default_rng(seed)
    case = np.repeat(np.arange(len(sizes)), [4 * size for size in sizes])
    pattern = np.concatenate([np.tile(np.arange(4), size) for size in sizes])
    hard = random.normal(0.3, 0.8, len(sizes))[case]
    return case, pattern, (random.random(len(case)) < 1 / (1 + np.exp(-hard))).astype(float)


def jackknife(case: np.ndarray, pattern: np.ndarray, outcome: np.ndarray) -> Jackknife:
    fitted = fit(DESIGN, collapse(case, pattern, outcome, 4))
    return Jackknife(DESIGN, case_table(case, pattern, outcome, 4), fitted.coefficients)


def test_one_step_is_close_to_refits_without_each_case() -> None:
    """statsmodels, on single rows: the whole fit again without each case."""
    import statsmodels.api as sm

    case, pattern, outcome = two_arms([3, 5, 4, 8, 2, 6] * 5)
    x = np.asarray(DESIGN, float)[pattern]

    def params(kept: np.ndarray) -> np.ndarray:
        found = sm.GLM(outcome[kept], x[kept], family=sm.families.Binomial()).fit(tol=1e-12)
        return np.asarray(found.params)

    whole = params(np.ones(len(case), dtype=bool))
    moves = np.array([params(case != each) - whole for each in range(30)])
    error = float(np.sqrt(29 / 30 * (moves[:, 1] ** 2).sum()))
    found = jackknife(case, pattern, outcome).combination(unit(1, 3))
    assert found.estimate == pytest.approx(whole[1], abs=1e-8)
    assert found.error == pytest.approx(error, rel=0.01)


def test_the_degrees_of_freedom_are_satterthwaites() -> None:
    """All covariances of the steps of cases, written out: twice the square of the mean over the variance."""
    case, pattern, outcome = two_arms([1, 2, 9, 3, 3, 1, 4, 2, 2, 1, 1, 3])
    x = np.asarray(DESIGN, float)[pattern]
    fitted = fit(DESIGN, collapse(case, pattern, outcome, 4))
    mu = 1 / (1 + np.exp(-x @ fitted.coefficients))
    own = [(x[case == g].T * (mu * (1 - mu))[case == g]) @ x[case == g] for g in range(12)]
    whole = sum(own)
    inverse = np.linalg.inv(whole)
    # Scores b ~ N(0, A_g A^-1 A_g) of 12 cases, less what the estimate takes of their sum: one long vector.
    block = np.zeros((36, 36))
    for g in range(12):
        block[3 * g : 3 * g + 3, 3 * g : 3 * g + 3] = own[g] @ inverse @ own[g]
    centring = np.eye(36) - np.vstack([each @ inverse for each in own]) @ np.tile(np.eye(3), 12)
    steps = np.zeros((12, 36))
    for g in range(12):
        steps[g, 3 * g : 3 * g + 3] = np.linalg.inv(whole - own[g])[1]
    c = steps @ centring @ block @ centring.T @ steps.T
    found = jackknife(case, pattern, outcome).combination(unit(1, 3))
    assert found.df == pytest.approx(np.trace(c) ** 2 / (c**2).sum(), rel=1e-9)
    half = t.ppf(0.975, found.df) * found.error
    assert (found.low, found.high) == pytest.approx((found.estimate - half, found.estimate + half))
    assert found.p == pytest.approx(2 * t.sf(abs(found.ratio), found.df))


def test_equal_cases_have_one_degree_less_and_one_that_holds_most_has_about_one() -> None:
    random = np.random.default_rng(2)
    equal = collapse(*(rows := answers(random, 40)), 24)
    fitted = fit(MAIN.matrix, equal)
    errors = Jackknife(MAIN.matrix, case_table(*rows, 24), fitted.coefficients)
    arms = unit(MAIN.places("arm"), len(MAIN.columns))
    one, joint = errors.combination(arms[0]), errors.joint(arms)
    assert [one.df, joint.below / joint.above] == pytest.approx([39, 39])
    assert one.spread.effective == pytest.approx(40) and one.spread.largest == pytest.approx(1 / 40)
    assert joint.p == pytest.approx(float(f.sf(joint.value, joint.above, joint.below)))
    big = jackknife(*two_arms([88] + [4] * 15)).combination(unit(1, 3))
    assert big.df < 2 and not big.spread.enough and big.spread.largest > 0.5


@pytest.mark.parametrize("seed", range(8))
def test_the_interval_holds_0_exactly_where_p_is_above_its_level(seed: int) -> None:
    found = jackknife(*two_arms([2, 7, 1, 4, 4, 12, 3, 2, 2, 2, 5, 1], seed)).combination(unit(1, 3))
    assert (found.low <= 0 <= found.high) is (found.p > 0.05)
    assert found.p_greater == pytest.approx(found.p / 2 if found.ratio > 0 else 1 - found.p / 2)


def test_kinds_of_cases_are_those_cases() -> None:
    case, pattern, outcome = two_arms([2] * 30)
    table = case_table(case, pattern, outcome, 4)
    assert table.cases.sum() == 30 and (table.cases > 1).any()
    single = CaseTable(
        np.repeat(table.rows, table.cases, axis=0),
        np.repeat(table.sums, table.cases, axis=0),
        np.ones(30, dtype=np.int64),
    )
    fitted = fit(DESIGN, collapse(case, pattern, outcome, 4))
    one, other = (
        Jackknife(DESIGN, held, fitted.coefficients).combination(unit(1, 3)) for held in (table, single)
    )
    assert (one.error, one.df) == pytest.approx((other.error, other.df))


def test_what_rests_on_one_case_and_what_no_case_moves_is_not_decided() -> None:
    case, pattern, outcome = two_arms([3] * 12)
    only = (pattern < 2) | (case == 0)  # the second model answers one case
    fitted = fit(DESIGN, collapse(case[only], pattern[only], outcome[only], 4))
    errors = Jackknife(DESIGN, case_table(case[only], pattern[only], outcome[only], 4), fitted.coefficients)
    assert errors.combination(unit(1, 3)).error > 0
    with pytest.raises(NotEstimable, match="without one case"):
        errors.combination(unit(2, 3))
    still = jackknife(np.repeat(np.arange(12), 4), np.tile(np.arange(4), 12), np.tile([0.0, 1, 1, 0], 12))
    with pytest.raises(NotEstimable, match="no variance"):
        still.combination(unit(1, 3))


def test_several_combinations_are_tested_by_the_sum_of_their_squares() -> None:
    """By the covariance of the single combinations, put together here; of one combination it is t squared."""
    rows = answers(np.random.default_rng(3), 24)
    fitted = fit(CROSSED.matrix, collapse(*rows, 24))
    errors = Jackknife(CROSSED.matrix, case_table(*rows, 24), fitted.coefficients)
    picked = unit(CROSSED.places("arm", "model"), len(CROSSED.columns))
    values = [[errors.combination(a + b).error ** 2 for b in picked] for a in picked]
    own = np.array([errors.combination(row).error ** 2 for row in picked])
    covariance = (np.array(values) - own[:, None] - own) / 2
    np.fill_diagonal(covariance, own)
    inverse = np.linalg.inv(picked @ fitted.naive @ picked.T)
    gap = picked @ fitted.coefficients
    mean = np.trace(inverse @ covariance)
    above = mean**2 / np.trace(inverse @ covariance @ inverse @ covariance)
    found = errors.joint(picked)
    assert found.value == pytest.approx(gap @ inverse @ gap / mean)
    assert found.above == pytest.approx(above) and 1 < found.above < found.q == len(picked)
    assert found.p == pytest.approx(float(f.sf(found.value, above, found.below)))
    one, alone = errors.combination(picked[0]), errors.joint(picked[:1])
    assert (alone.value, alone.above, alone.p) == pytest.approx((one.ratio**2, 1, one.p))
