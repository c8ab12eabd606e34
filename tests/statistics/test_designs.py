"""Designs in which a fit goes wrong: equal to statsmodels on the raw rows, or a coded answer, never a number
that is neither."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gridc.statistics.case_totals import DesignMatrix, collapse, factor, treatment, with_dose
from gridc.statistics.clustered_logit import LogitFit, NotEstimable, combination, fit, unit
from gridc.statistics.risk import arm_sums, percentile_interval, resampled_rates
from tests.statistics.counted import totals_of_counts
from tests.statistics.test_clustered_logit import oracle

ARMS, MODELS = "abc", "xyz"
PLACES = [(model, arm) for model in MODELS for arm in ARMS]


def design(kind: str) -> tuple[DesignMatrix, list[int]]:
    """A design of nine patterns, and the columns that are tested jointly."""
    factors = [
        factor("arm", ARMS, [arm for _, arm in PLACES]),
        factor("model", MODELS, [model for model, _ in PLACES]),
    ]
    if kind == "trend":
        made = with_dose(
            treatment(factors[1:]), "dose", [float("014"["abc".index(arm)]) for _, arm in PLACES]
        )
        return made, [len(made.columns) - 1]
    made = treatment(factors, [("arm", "model")] if kind == "interaction" else [])
    return made, made.places("arm", "model") if kind == "interaction" else made.places("arm")


def agrees(made: DesignMatrix, tested: list[int], case: Any, pattern: Any, outcome: Any) -> str:
    """`equal`, where everything is what statsmodels has, or the code of what there is not."""
    try:
        ours = fit(made.matrix, collapse(case, pattern, outcome, len(made.matrix)))
        one = combination(ours, unit(tested[-1], len(made.columns)))
    except NotEstimable as error:
        return error.reason
    theirs = oracle(made.matrix[pattern], outcome, case)
    assert ours.coefficients == pytest.approx(theirs.params, abs=1e-8)
    # Rounding is of the variances: one that is 0 here is 1e-14 there, and its root 1e-7.
    assert ours.errors**2 == pytest.approx(np.nan_to_num(theirs.bse) ** 2, rel=1e-8, abs=1e-12)
    at = tested[-1]
    assert (one.estimate, one.error) == pytest.approx((theirs.params[at], theirs.bse[at]), abs=1e-8)
    assert (one.low, one.high) == pytest.approx(tuple(theirs.conf_int()[at]), rel=1e-6, abs=1e-7)
    both = np.asarray(theirs.cov_params())[np.ix_(tested, tested)]
    assert ours.covariance[np.ix_(tested, tested)] == pytest.approx(both, rel=1e-6, abs=1e-10)
    return "equal"


REASONS = {"equal", "rows", "constant", "collinear", "separated", "saturated", "clusters"}


@settings(max_examples=60)
@example(seed=561, cases=9, kind="interaction", shape="plain")
@given(
    seed=st.integers(0, 10**6),
    cases=st.integers(1, 40),
    kind=st.sampled_from(["omnibus", "interaction", "trend"]),
    shape=st.sampled_from(["plain", "empty cells", "separated", "constant", "one model", "graded", "copies"]),
)
def test_generated_designs_agree_or_are_refused(seed: int, cases: int, kind: str, shape: str) -> None:
    random = np.random.default_rng(seed)
    case, pattern = np.repeat(np.arange(cases), 9), np.tile(np.arange(9), cases)
    rate = random.beta(2, 1, cases)[case]
    outcome = (random.random(len(case)) < rate).astype(float)
    kept = np.ones(len(case), dtype=bool)
    if shape == "empty cells":
        kept = ~np.isin(pattern, random.choice(9, int(random.integers(1, 7)), replace=False))
    elif shape == "one model":
        kept = pattern < 3
    elif shape == "separated":
        outcome[pattern % 3 == 2] = 1.0
    elif shape == "constant":
        outcome[:] = float(random.integers(0, 2))
    elif shape == "graded":
        outcome = np.round(rate * random.random(len(case)), 2)
    elif shape == "copies":  # every case answers all arms alike, so that they have no variance
        outcome = np.repeat(outcome[pattern % 3 == 0], 3)
    made, tested = design(kind)
    found = agrees(made, tested, case[kept], pattern[kept], outcome[kept])
    assert found in REASONS
    if shape == "separated" and kind != "trend":  # along a dose one level alone separates nothing
        assert found != "equal"
    if shape == "constant":
        assert found == "constant"
    if shape == "one model":
        assert found in ("collinear", "constant")


def rows_of(cells: dict[int, tuple[int, int]]) -> tuple[Any, Any, Any]:
    """Rows of cases in turn: by pattern, how many and how many of them are 1."""
    pattern = np.concatenate([np.full(n, at) for at, (n, _) in cells.items()])
    outcome = np.concatenate([np.arange(n) < s for n, s in cells.values()]).astype(float)
    return np.concatenate([np.arange(n) for n, _ in cells.values()]), pattern, outcome


FULL = {at: (12, 5 + at % 3) for at in range(9)}


@pytest.mark.parametrize(
    ("name", "cells", "kind", "expected"),
    [
        ("quasi-separated: an arm of one model is always right", {**FULL, 4: (12, 12)}, "omnibus", "equal"),
        ("the same, with its interaction", {**FULL, 4: (12, 12)}, "interaction", "separated"),
        ("an arm is always right", {at: (12, 12 if at % 3 == 1 else 5) for at in FULL}, "omnibus",
         "separated"),
        ("an arm with one row, which is right", {**{k: v for k, v in FULL.items() if k % 3 != 1}, 1: (1, 1)},
         "omnibus", "separated"),
        ("a level with one row among others", {**FULL, 1: (1, 1)}, "omnibus", "equal"),
        ("arm and model are one", {0: (12, 5), 4: (12, 7), 8: (12, 6)}, "omnibus", "collinear"),
        ("a model has only the last arm", {0: (9, 4), 1: (9, 5), 2: (9, 3), 5: (9, 4), 8: (9, 6)}, "omnibus",
         "equal"),
        ("an interaction without its cells", {0: (9, 4), 1: (9, 5), 2: (9, 3), 5: (9, 4), 8: (9, 6)},
         "interaction", "collinear"),
        ("every outcome is 0", dict.fromkeys(range(9), (12, 0)), "omnibus", "constant"),
        ("one row", {0: (1, 1)}, "omnibus", "constant"),
    ],
)  # fmt: skip
def test_designs_by_hand(name: str, cells: dict[int, tuple[int, int]], kind: str, expected: str) -> None:
    made, tested = design(kind)
    assert agrees(made, tested, *rows_of(cells)) == expected, name


@pytest.mark.parametrize("share", [0.3, 1e-5])
def test_counts_of_a_million_rows(share: float) -> None:
    """statsmodels on counts. Its likelihood stops where a step no longer helps in double precision."""
    import statsmodels.api as sm

    rows = np.array([10**6, 10**6, 3, 10**6 - 1, 10**6, 10**6, 10**6, 10**6, 10**6])
    sums = np.maximum((rows * share * (1 + np.arange(9) / 9)).round(), 1).astype(int)
    made, _ = design("omnibus")
    ours = fit(made.matrix, totals_of_counts(rows.tolist(), sums.tolist()))
    counts = np.column_stack([sums, rows - sums])
    theirs = sm.GLM(counts, made.matrix, family=sm.families.Binomial()).fit(tol=1e-15, maxiter=200)
    assert ours.coefficients == pytest.approx(theirs.params, abs=1e-8)
    assert np.sqrt(np.diag(ours.naive)) == pytest.approx(theirs.bse, rel=1e-8)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), cases=st.integers(1, 30), arms=st.integers(2, 4), holes=st.booleans())
def test_rates_and_intervals_of_generated_rows(seed: int, cases: int, arms: int, holes: bool) -> None:
    """Rates are those of the rows; a resample's are those of its cases laid out by hand, by their number; the
    interval lies among them."""
    random = np.random.default_rng(seed)
    case, arm = np.repeat(np.arange(cases), 2 * arms), np.tile(np.arange(arms), 2 * cases)
    outcome = (random.random(len(case)) < 0.6).astype(float)
    kept = random.random(len(case)) < (0.6 if holes else 1.1)
    kept[0] = True
    case, arm, outcome = case[kept], arm[kept], outcome[kept]
    sums = arm_sums(case, arm, outcome, arms)
    for place in range(arms):
        some = outcome[arm == place]
        assert sums.rates[place] == pytest.approx(some.mean() if len(some) else np.nan, nan_ok=True)
    drawn = resampled_rates(sums, 199, 1)
    assert ((drawn >= 0) & (drawn <= 1) | np.isnan(drawn)).all()
    gaps, units = drawn[:, 1] - drawn[:, 0], int(sums.cases.sum())
    assert units == len(set(case.tolist()))
    ends = percentile_interval(gaps, units, 0.8)
    assert ends is None or gaps.min() <= ends.low <= ends.high <= gaps.max()


def test_no_number_comes_from_what_is_not_finite() -> None:
    made, _ = design("omnibus")
    with pytest.raises(ValueError):
        collapse([0, 1], [0, 1], [0.5, float("nan")], 9)
    fitted = fit(made.matrix, collapse(*rows_of(FULL), 9))
    assert isinstance(fitted, LogitFit) and np.isfinite(fitted.covariance).all()
