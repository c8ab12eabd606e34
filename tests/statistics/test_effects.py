"""Size and coverage of what decides a hypothesis about an effect, by simulation, with Monte Carlo
intervals."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from gridc.reports.findings.hypotheses.families import CORRECTIONS
from gridc.statistics.case_totals import collapse
from gridc.statistics.clustered_logit import NotEstimable, combination, fit, unit, wald
from gridc.statistics.designs import factor, treatment
from gridc.statistics.risk import (
    arm_sums,
    equivalence,
    noninferiority,
    outside,
    percentile_interval,
    resampled_rates,
    unchanged_p,
)

RUNS = 400


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_corrections_are_those_of_statsmodels(p: list[float]) -> None:
    for ours, theirs in ((CORRECTIONS["holm"], "holm"), (CORRECTIONS["bh"], "fdr_bh")):
        assert ours(p) == pytest.approx(multipletests(p, method=theirs)[1], abs=1e-12)
    assert CORRECTIONS["none"](p) == p


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
        joint = wald(found, unit([1, 2], 3))
    except NotEstimable as error:
        assert error.reason in ("constant", "collinear", "separated", "saturated", "clusters")
        return
    assert shape in ("binary", "unchanged")
    model_ = sm.GLM(outcome[kept], design.matrix[pattern[kept]], family=sm.families.Binomial())
    oracle = model_.fit(cov_type="cluster", cov_kwds={"groups": case[kept]}, tol=1e-14, maxiter=200)
    assert effect.estimate == pytest.approx(oracle.params[1], abs=1e-8)
    assert effect.error == pytest.approx(oracle.bse[1], abs=1e-8)
    chi2 = oracle.wald_test(np.eye(3)[[1, 2]], use_f=False, scalar=True).statistic
    assert joint.chi2 == pytest.approx(float(chi2), rel=1e-6)


@pytest.mark.parametrize(("units", "size"), [(20, 5), (200, 1)])
def test_units_of_which_none_changes_show_a_margin_as_their_number_says(units: int, size: int) -> None:
    """Were the difference m, every unit would change with probability m at least: simulated at that edge."""
    random = np.random.default_rng(1)
    margin = 0.03
    p = unchanged_p(np.full(units, size), margin)
    none = (random.random((20_000, units)) >= margin).all(axis=1).mean()
    assert p == pytest.approx(none, abs=4 * sqrt(p * (1 - p) / 20_000))


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
        shown.append(equivalence(gaps, units, 0.1, 0.05).holds)
        not_worse.append(noninferiority(-gaps, units, 0.1, 0.05).holds)
        beyond.append(outside(gaps, units, 0.1) <= 0.05)
    slack = 3 * sqrt(0.05 * 0.95 / RUNS)
    for name, share in (
        ("test", rejected),
        ("tost", shown),
        ("noninferiority", not_worse),
        ("outside", beyond),
    ):
        assert np.mean(share) <= 0.05 + slack, name
    assert abs(np.mean(covered) - 0.95) <= slack + 0.005
