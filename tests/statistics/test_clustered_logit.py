"""Logits clustered by case, from totals alone, against statsmodels on the raw rows."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh

from gridc.statistics.case_totals import (
    TOGETHER,
    DesignMatrix,
    case_table,
    collapse,
    distinct_rows,
    factor,
    numbered,
    treatment,
    with_dose,
)
from gridc.statistics.clustered_logit import NotEstimable, combination, fit, maximum, separated
from tests.statistics.counted import totals_of_counts

ARMS, MODELS, BENCHMARKS = "abcd", "xyz", "pq"


def study(
    seed: int, cases: int, missing: float = 0.0, graded: bool = False
) -> tuple[Any, Any, Any, DesignMatrix]:
    """Rows of a small study: case, pattern and outcome of each, and the design of the patterns."""
    random = np.random.default_rng(seed)
    width = len(ARMS) * len(MODELS)
    case = np.repeat(np.arange(cases), width)
    bench = case % len(BENCHMARKS)
    model, arm = np.divmod(np.tile(np.arange(width), cases), len(ARMS))
    latent = random.normal(0, 1, cases)[case] + 0.3 * model - 0.4 * (arm == 3) + 0.5 * bench
    share = 1 / (1 + np.exp(-latent))
    outcome = (
        np.round(random.beta(2 * share, 2 * (1 - share)), 2) if graded else (random.random(len(case)) < share)
    )
    kept = random.random(len(case)) >= missing
    pattern = (bench * len(MODELS) + model) * len(ARMS) + arm
    return case[kept], pattern[kept], outcome[kept].astype(float), layout()


def layout(interactions: bool = False) -> DesignMatrix:
    bench, model, arm = np.unravel_index(
        np.arange(len(BENCHMARKS) * len(MODELS) * len(ARMS)), (len(BENCHMARKS), len(MODELS), len(ARMS))
    )
    factors = [
        factor("arm", ARMS, [ARMS[at] for at in arm]),
        factor("model", MODELS, [MODELS[at] for at in model]),
        factor("benchmark", BENCHMARKS, [BENCHMARKS[at] for at in bench]),
    ]
    return treatment(factors, [("arm", "model")] if interactions else [])


def oracle(x: Any, y: Any, case: Any) -> Any:
    import statsmodels.api as sm

    model = sm.GLM(y, x, family=sm.families.Binomial())
    return model.fit(cov_type="cluster", cov_kwds={"groups": case}, use_t=True, tol=1e-13, maxiter=200)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    cases=st.integers(6, 60),
    missing=st.sampled_from([0.0, 0.1, 0.6]),
    graded=st.booleans(),
    interactions=st.booleans(),
)
@example(seed=1, cases=40, missing=0.0, graded=False, interactions=True)
@example(seed=4619, cases=6, missing=0.6, graded=True, interactions=True)
def test_estimates_errors_and_tests_are_those_of_statsmodels(
    seed: int, cases: int, missing: float, graded: bool, interactions: bool
) -> None:
    case, pattern, outcome, _ = study(seed, cases, missing, graded)
    design = layout(interactions)
    totals = collapse(case, pattern, outcome, len(design.matrix))
    try:
        ours = fit(design.matrix, totals)
    except NotEstimable as refused:
        assume(refused.reason not in ("separated", "collinear", "saturated"))
        raise
    theirs = oracle(design.matrix[pattern], outcome, case)
    assert ours.coefficients == pytest.approx(theirs.params, abs=1e-8)
    # Where a coefficient has no variance between cases, its variance is a rounding error on either side of 0,
    # as large as the inverse of the information matrix makes it: processors round it differently.
    naive = theirs.normalized_cov_params
    rounding = np.finfo(float).eps * np.linalg.cond(naive) * np.diag(naive)
    difference = np.abs(ours.errors**2 - np.nan_to_num(theirs.bse) ** 2)
    assert (difference <= 2e-8 * ours.errors**2 + rounding).all()
    assert (ours.clusters, ours.observations) == (len(set(case)), len(case))
    places = design.places("arm")
    spread = np.asarray(theirs.cov_params())
    assert ours.covariance == pytest.approx(np.nan_to_num(spread), rel=2e-8, abs=float(rounding.max()) + 1e-9)
    least = eigh(spread[np.ix_(places, places)], naive[np.ix_(places, places)], eigvals_only=True)[0]
    assume(not 1e-13 < least < 1e-11)  # a variance there, over the naive one, may be a rounding error
    if least < 1e-12:
        return
    one = combination(ours, design.contrast("arm", "d", "a"))
    at = places[-1]
    assert (one.estimate, one.error, one.p) == pytest.approx(
        (theirs.params[at], theirs.bse[at], theirs.pvalues[at]), rel=1e-6
    )
    assert (one.low, one.high) == pytest.approx(tuple(theirs.conf_int()[at]), rel=1e-6, abs=1e-8)
    assert one.p_greater == pytest.approx(one.p / 2 if one.z > 0 else 1 - one.p / 2)


@pytest.mark.parametrize("kept", [range(12), range(12, 24), [0, 3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 23]])
def test_a_part_of_the_patterns_is_the_fit_of_its_rows(kept: Any) -> None:
    case, pattern, outcome, design = study(3, 50, 0.3)
    some = np.isin(pattern, list(kept))
    part = collapse(case, pattern, outcome, len(design.matrix)).of_patterns(list(kept))
    x = design.matrix[list(kept)]
    x = x[:, np.ptp(x, axis=0) > 0]
    x = np.column_stack([np.ones(len(x)), x])
    ours = fit(x, part)
    number = {pattern: at for at, pattern in enumerate(kept)}
    theirs = oracle(x[[number[each] for each in pattern[some]]], outcome[some], case[some])
    assert ours.coefficients == pytest.approx(theirs.params, abs=1e-8)
    assert ours.errors == pytest.approx(theirs.bse, rel=1e-8)
    assert part.clusters == len(set(case[some]))


def test_counts_alone_give_the_naive_errors_and_the_likelihood() -> None:
    case, pattern, outcome, design = study(5, 60)
    rows = np.bincount(pattern, minlength=24)
    ours = fit(
        design.matrix,
        totals_of_counts(rows.tolist(), np.bincount(pattern, weights=outcome, minlength=24).tolist()),
    )
    import statsmodels.api as sm

    theirs = sm.Logit(outcome, design.matrix[pattern]).fit(disp=0, method="newton", tol=1e-13)
    assert np.sqrt(np.diag(ours.naive)) == pytest.approx(theirs.bse, rel=1e-8)
    assert ours.log_likelihood == pytest.approx(theirs.llf, rel=1e-12)
    robust = sm.Logit(outcome, design.matrix[pattern]).fit(
        disp=0, cov_type="cluster", cov_kwds={"groups": np.arange(len(case))}
    )
    assert ours.errors == pytest.approx(robust.bse, rel=1e-8)


def test_a_dose_is_one_column() -> None:
    case, pattern, outcome, design = study(8, 50)
    bare = DesignMatrix(
        tuple(c for c in design.columns if not c or c[0][0] != "arm"),
        np.delete(design.matrix, design.places("arm"), axis=1),
    )
    dosed = with_dose(bare, "dose", [0.0, 1.0, 2.0, 5.0] * 6)
    ours = fit(dosed.matrix, collapse(case, pattern, outcome, 24))
    theirs = oracle(dosed.matrix[pattern], outcome, case)
    assert ours.coefficients == pytest.approx(theirs.params, abs=1e-8)
    assert dosed.columns[-1] == (("dose", ""),)


def refused(design: Any, case: Any, pattern: Any, outcome: Any) -> str:
    with pytest.raises(NotEstimable) as error:
        fit(design, collapse(case, pattern, outcome, len(design)))
    return error.value.reason


def test_what_the_rows_do_not_determine_is_refused_with_its_reason() -> None:
    case, pattern, outcome, design = study(3, 50)
    x = design.matrix
    assert refused(x, np.zeros_like(case), pattern, outcome) == "clusters"
    assert refused(x, case, pattern, np.ones_like(outcome)) == "constant"
    assert refused(np.column_stack([x, x[:, 1] - x[:, 2]]), case, pattern, outcome) == "collinear"
    arm = pattern % len(ARMS)
    assert refused(x, case, pattern, np.where(arm == 2, 1.0, outcome)) == "separated"
    assert refused(x[:, :2], case[:2], np.array([0, 1]), np.array([0.0, 1.0])) in ("saturated", "collinear")
    with pytest.raises(ValueError, match="shape"):
        fit(x[:5], collapse(case, pattern, outcome, 24))


def test_a_rare_outcome_is_not_called_separated() -> None:
    """One outcome of 1 among 100,000 of an arm: odds are far out, and finite."""
    totals = totals_of_counts([100_000, 100_000], [50_000, 1])
    fitted = fit([[1, 0], [1, 1]], totals)
    assert fitted.coefficients[1] == pytest.approx(np.log(1 / 99_999))


def test_separation_is_decided_as_by_looking_for_a_direction() -> None:
    """Against the definition, with directions from a fine grid of the plane."""
    random = np.random.default_rng(2)
    angles = np.linspace(0, 2 * np.pi, 3601)[:-1]
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    seen = set()
    for _ in range(300):
        x = random.integers(-1, 2, size=(4, 2)).astype(float)
        if np.linalg.matrix_rank(x) < 2:
            continue
        n = np.full(4, 3.0)
        s = random.integers(0, 4, size=4).astype(float)
        score = directions @ x.T
        score[np.abs(score) < 1e-9] = 0
        fits = ((s == n) | (score <= 0)).all(axis=1) & ((s == 0) | (score >= 0)).all(axis=1)
        expected = bool((fits & (score != 0).any(axis=1)).any())
        assert separated(x, n, s) == expected
        seen.add(expected)
    assert seen == {True, False}


@pytest.mark.parametrize(
    "rows", [([], [], []), ([0], [0, 1], [0, 1]), ([0], [9], [0]), ([0], [0], [1.5]), ([-1], [0], [1])]
)
def test_rows_that_do_not_fit_are_refused(rows: Any) -> None:
    with pytest.raises(ValueError):
        collapse(rows[0], rows[1], rows[2], 2)


@pytest.mark.parametrize("apart", [1, 1000])
def test_totals_are_those_of_every_case_by_itself(apart: int) -> None:
    """More cases than are added up at a time, in any order, with gaps between their numbers; many rows of one
    case and pattern, and rows that stand for several or for none."""
    random = np.random.default_rng(8)
    cases, rows, patterns = 2 * TOGETHER + 7, 9000, 11
    names = random.permutation(3 * cases)[:cases] * apart
    of = random.integers(0, cases, rows)
    pattern = np.where(of % 2, random.integers(0, 4, rows), random.integers(3, patterns, rows))
    counts = random.integers(0, 4, rows)
    outcome = random.integers(0, counts + 1).astype(float)
    made = collapse(names[of], pattern, outcome, patterns, counts)
    n, s = np.zeros((cases, patterns)), np.zeros((cases, patterns))
    np.add.at(n, (of, pattern), counts)
    np.add.at(s, (of, pattern), outcome)
    for ours, by_hand in (
        (made.rows, n.sum(axis=0)), (made.sums, s.sum(axis=0)), (made.ss, s.T @ s), (made.sn, s.T @ n),
        (made.nn, n.T @ n),
    ):  # fmt: skip
        assert (ours == by_hand).all()
    some = n[n.any(axis=1)] > 0
    kinds, held = np.unique(some, axis=0, return_counts=True)
    order = np.lexsort(made.profiles.T[::-1])
    assert (made.profiles[order] == kinds).all() and (made.cases[order] == held).all()
    table = case_table(names[of], pattern, outcome, patterns, counts)
    assert table.cases.sum() == len(some)
    assert (table.cases @ table.rows == made.rows).all() and (table.cases @ table.sums == made.sums).all()


def test_names_are_numbered_and_rows_told_apart_as_by_sorting() -> None:
    names = np.array([7, 2, 7, 4_000_000_000, 2])
    for own in (names, names % 9):
        assert (numbered(own) == np.unique(own, return_inverse=True)[1]).all()
    kinds, of_row = distinct_rows(np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [1.0, 0.0]]))
    assert kinds.tolist() == [[1, 2], [0, 0], [1, 0]] and of_row.tolist() == [0, 1, 0, 2]
    assert [len(part) for part in distinct_rows(np.zeros((0, 3)))] == [0, 0]


def test_the_maximum_alone_is_that_of_the_fit() -> None:
    case, pattern, outcome = rows_of_two()
    design = np.column_stack([np.ones(3), [0, 1, 0]])
    table = case_table(case, pattern, outcome, 3)
    fitted = fit(design, collapse(case, pattern, outcome, 3)).coefficients
    assert maximum(design, table) == pytest.approx(fitted, abs=1e-12)
    with pytest.raises(NotEstimable, match="all 40 outcomes are 1"):
        maximum(design, case_table(case, pattern, np.ones(40), 3))
    with pytest.raises(ValueError, match=r"shape \(2, 2\), for 3 patterns"):
        maximum(design[:2], table)


def rows_of_two() -> tuple[Any, Any, Any]:
    """40 rows of 20 cases, one in each of the first two of three patterns."""
    outcome = np.random.default_rng(2).integers(0, 2, 40).astype(float)
    return np.repeat(np.arange(20), 2), np.tile([0, 1], 20), outcome
