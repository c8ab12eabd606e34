"""Size and coverage of what decides a hypothesis about an effect, by simulation, with Monte Carlo
intervals."""

from collections.abc import Sequence
from math import sqrt
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from gridc.reports.findings.hypotheses.finding import CORRECTIONS, Claim
from gridc.statistics import margins
from gridc.statistics.case_totals import case_table, collapse, factor, treatment
from gridc.statistics.clustered_logit import NotEstimable, combination, fit, unit
from gridc.statistics.risk import arm_sums, percentile_interval, resampled_rates

RUNS = 400


def adjusted(p: Sequence[float], correction: Literal["holm", "bh"]) -> list[float]:
    """Of claims for as many hypotheses, which may all be false at once."""
    claims: dict[Claim, float] = {(str(place), "support"): value for place, value in enumerate(p)}
    return list(CORRECTIONS[correction](claims, {name: 1 for name, _ in claims}).values())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_corrections_are_those_of_statsmodels(p: list[float]) -> None:
    methods: dict[Literal["holm", "bh"], str] = {"holm": "holm", "bh": "fdr_bh"}
    for ours, theirs in methods.items():
        assert adjusted(p, ours) == pytest.approx(multipletests(p, method=theirs)[1], abs=1e-12)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    cases=st.integers(1, 12),
    shape=st.sampled_from(["binary", "constant", "separated", "empty", "unchanged"]),
)
def test_a_fit_is_statsmodels_or_a_coded_answer(seed: int, cases: int, shape: str) -> None:
    """Few cases in which anything can go wrong: never a number where there is none."""
    import statsmodels.api as sm

    random = np.random.default_rng(seed)
    case = np.repeat(np.arange(cases), 4)
    pattern = np.tile(np.arange(4), cases)
    outcome = (random.random(len(case)) < 0.5).astype(float)
    if shape == "constant":
        outcome[:] = 1
    if shape == "separated":
        outcome[pattern >= 2] = 1
    if shape == "unchanged":
        outcome = np.repeat(random.random((cases, 2)) < 0.5, 2, axis=0).reshape(cases, 2, 2)
        outcome = outcome.transpose(0, 2, 1)[:, [0, 0]].reshape(-1).astype(float)
    kept = pattern < 2 if shape == "empty" else np.ones(len(case), dtype=bool)
    arm, model = np.divmod(np.arange(4), 2)
    design = treatment(
        [factor("arm", "ab", ["ab"[at] for at in arm]), factor("model", "xy", ["xy"[at] for at in model])]
    )
    try:
        found = fit(design.matrix, collapse(case[kept], pattern[kept], outcome[kept], 4))
        effect = combination(found, unit(1, 3))
    except NotEstimable as error:
        assert error.reason in ("constant", "collinear", "separated", "saturated", "clusters")
        return
    assert shape in ("binary", "unchanged")
    model_ = sm.GLM(outcome[kept], design.matrix[pattern[kept]], family=sm.families.Binomial())
    oracle = model_.fit(cov_type="cluster", cov_kwds={"groups": case[kept]}, tol=1e-14, maxiter=200)
    assert effect.estimate == pytest.approx(oracle.params[1], abs=1e-8)
    assert effect.error == pytest.approx(oracle.bse[1], abs=1e-8)
    assert found.covariance == pytest.approx(np.asarray(oracle.cov_params()), rel=1e-6, abs=1e-10)


def drawn(random: np.random.Generator, units: int, gap: float) -> tuple[np.ndarray, ...]:
    """Answers of `units` units of 3 items under two levels whose rates differ by `gap`: what makes an item
    hard and a unit alike is shared by both levels."""
    unit_ = np.repeat(np.arange(units), 6)
    arm = np.tile([0, 1], 3 * units)
    rate = np.clip(random.beta(6, 4, units), 0.1, 0.9 - abs(gap))[unit_]
    return unit_, arm, (random.random(len(unit_)) < rate + gap * arm).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("units", [40, 150])
def test_size_and_coverage(units: int) -> None:
    random = np.random.default_rng(units)
    design = treatment([factor("arm", "ab", ["a", "b"])])
    rejected, covered, shown, not_worse, beyond = [], [], [], [], []
    for run in range(RUNS):
        unit_, arm, outcome = drawn(random, units, 0.0)
        found = fit(design.matrix, collapse(unit_, arm, outcome, 2))
        rejected.append(combination(found, unit(1, 2)).p <= 0.05)
        unit_, arm, outcome = drawn(random, units, 0.1)
        rates = resampled_rates(arm_sums(unit_, arm, outcome, 2), 999, run)
        gaps = rates[:, 1] - rates[:, 0]
        ends = percentile_interval(gaps, units, 0.95)
        assert ends is not None
        covered.append(ends.low <= 0.1 <= ends.high)
        table = case_table(unit_, arm, outcome, 2)
        shown.append(margins.within(table, 1, 0, 0.1) <= 0.05)
        not_worse.append(margins.above(table, 0, 1, -0.1) <= 0.05)
        beyond.append(margins.outside(table, 1, 0, 0.1) <= 0.05)
    slack = 3 * sqrt(0.05 * 0.95 / RUNS)
    for name, share in (
        ("test", rejected),
        ("tost", shown),
        ("noninferiority", not_worse),
        ("outside", beyond),
    ):
        assert np.mean(share) <= 0.05 + slack, name
    assert abs(np.mean(covered) - 0.95) <= slack + 0.005


def test_a_random_intercept_that_predicts_everything_is_no_fit() -> None:
    """Each unit has its own threshold, and no unit is ever on both sides of it."""
    from gridc.reports.findings.hypotheses.regression import _maximum

    unit_ = np.repeat(np.arange(20), 8)
    arm = np.tile([0.0, 1.0], 80)
    y = ((unit_ < 12) & ~((unit_ >= 6) & (arm == 1))).astype(float)
    with pytest.raises(NotEstimable) as error:
        _maximum(np.column_stack([np.ones_like(arm), arm]), y, unit_)
    assert error.value.reason == "separated"


def test_a_random_intercept_is_that_of_quadrature() -> None:
    """Against Gauss-Hermite quadrature with many nodes and a plain optimiser; Laplace's
    approximation is off by a few hundredths of a standard error on units of this size."""
    from scipy.optimize import minimize
    from scipy.special import expit
    from statsmodels.tools.numdiff import approx_hess

    from gridc.reports.findings.hypotheses.regression import _maximum

    random = np.random.default_rng(5)
    unit_ = np.repeat(np.arange(150), 12)
    arm = np.tile([0.0, 1.0], 6 * 150)
    y = (random.random(len(arm)) < expit(0.3 - 0.6 * arm + random.normal(0, 1.0, 150)[unit_])).astype(float)
    x = np.column_stack([np.ones_like(arm), arm])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)

    def negative(theta: np.ndarray) -> float:
        eta = (x @ theta[:2])[:, None] + np.exp(theta[2]) * nodes
        of_row = y[:, None] * eta - np.logaddexp(0, eta)
        of_unit = np.add.reduceat(of_row, np.arange(0, len(arm), 12), axis=0)
        return float(-np.log((np.exp(of_unit) * weights).sum(axis=1) / np.sqrt(2 * np.pi)).sum())

    best = minimize(negative, np.zeros(3), method="BFGS", options={"gtol": 1e-6})
    coefficients, errors, likelihood = _maximum(x, y, unit_)
    assert coefficients == pytest.approx(best.x[:2], abs=0.1 * float(errors.min()))
    covariance = np.linalg.inv(approx_hess(best.x, negative))
    assert errors == pytest.approx(np.sqrt(np.diag(covariance))[:2], rel=0.05)
    assert likelihood == pytest.approx(-best.fun, abs=2)
