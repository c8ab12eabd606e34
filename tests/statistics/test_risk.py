"""Rates of arms, their intervals and numbers needed, against resampling of the rows themselves."""

from math import inf

import numpy as np
import pytest

from gridc.statistics import risk
from gridc.statistics.risk import (
    RESAMPLES,
    Interval,
    arm_sums,
    number_needed,
    percentile_interval,
    recovery,
    resampled_rates,
)


def rows(seed: int, cases: int, gap: float = 0.1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    case = np.repeat(np.arange(cases), 6)
    arm = np.tile([0, 1], cases * 3)
    level = random.beta(2, 2, cases)[case]
    return case, arm, (random.random(len(case)) < np.clip(level - gap * arm, 0, 1)).astype(float)


@pytest.mark.parametrize("dear", [0, 10**9])
def test_resampling_kinds_of_cases_is_resampling_cases(dear: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mean, spread and quantiles of the difference beside rows that are drawn case by case, however cases
    are drawn: kind by kind, or one by one."""
    monkeypatch.setattr(risk, "DEAR", dear)
    case, arm, outcome = rows(1, 80)
    sums = arm_sums(case, arm, outcome, 2)
    assert sums.rates == pytest.approx([outcome[arm == 0].mean(), outcome[arm == 1].mean()])
    assert len(sums.cases) < 20 and sums.cases.sum() == 80
    ours = resampled_rates(sums, 20_000, 1) @ [-1, 1]
    random = np.random.default_rng(2)
    by_case = [
        (outcome[(case == c) & (arm == 0)].sum(), outcome[(case == c) & (arm == 1)].sum()) for c in range(80)
    ]
    drawn = np.array(by_case)[random.integers(0, 80, (20_000, 80))].sum(axis=1) / 240
    theirs = drawn[:, 1] - drawn[:, 0]
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=0.002)
    for q in (0.025, 0.05, 0.5, 0.95, 0.975):
        assert np.quantile(ours, q) == pytest.approx(np.quantile(theirs, q), abs=0.006)


@pytest.mark.parametrize("dear", [0, 10**9])
def test_cases_of_different_sizes_are_drawn_with_all_their_rows(
    dear: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rate is the sum over the drawn cases by their rows; an arm that all cases answer once is not."""
    monkeypatch.setattr(risk, "DEAR", dear)
    random = np.random.default_rng(4)
    case = np.repeat(np.arange(30), random.integers(1, 9, 30))
    outcome = (random.random(len(case)) < 0.2 + 0.02 * case).astype(float)
    sums = arm_sums(
        np.r_[case, np.arange(30)], np.repeat([0, 1], [len(case), 30]), np.r_[outcome, [1.0] * 30], 2
    )
    ours = resampled_rates(sums, 20_000, 3)
    size, earned = np.bincount(case), np.bincount(case, outcome)
    drawn = random.integers(0, 30, (20_000, 30))
    theirs = earned[drawn].sum(axis=1) / size[drawn].sum(axis=1)
    assert (ours[:, 1] == 1).all()
    for q in (0.025, 0.5, 0.975):
        assert np.quantile(ours[:, 0], q) == pytest.approx(np.quantile(theirs, q), abs=0.006)


def test_coverage_of_the_interval_with_few_and_with_many_cases() -> None:
    """By simulation, beside its Monte Carlo error: the true difference is known."""
    for cases, least in ((12, 0.90), (100, 0.925)):
        random = np.random.default_rng(cases)
        hits, runs = 0, 400
        for run in range(runs):
            level = random.beta(2, 2, cases)
            outcome = (
                random.random((cases, 2, 3)) < (level[:, None] * np.array([1.0, 0.8]))[..., None]
            ).mean(axis=2)
            sums = arm_sums(np.repeat(np.arange(cases), 2), np.tile([0, 1], cases), outcome.ravel(), 2)
            interval = percentile_interval(resampled_rates(sums, 399, run) @ [-1, 1], cases, 0.95)
            hits += interval is not None and interval.low <= -0.1 <= interval.high
        assert hits / runs > least, (cases, hits / runs)


def test_no_spread_is_no_interval() -> None:
    assert percentile_interval(np.zeros(99), 50, 0.95) is None
    assert percentile_interval(np.array([0.1, 0.2]), 1, 0.95) is None


def test_a_number_needed_is_the_inverse_with_a_side() -> None:
    harm = number_needed(-0.07304802, Interval(-0.081, -0.064))
    assert (harm.kind, harm.displayed) == ("harm", 14)
    assert (harm.low, harm.high) == pytest.approx((1 / 0.081, 1 / 0.064))
    assert number_needed(0.25, None).kind == "benefit" and number_needed(0.25, None).displayed == 4
    fractions = (2 / 45, 0.3444444444444444 - 0.3)  # 22.5, and 22.500000000000007
    assert [number_needed(each, None, "round").displayed for each in fractions] == [22, 22]
    both = number_needed(-0.02, Interval(-0.05, 0.01))
    assert (both.low, both.high) == (None, None)
    assert (both.harm, both.benefit) == pytest.approx((20, 100))
    edge = number_needed(-0.02, Interval(-0.05, 0.0))
    assert edge.harm == pytest.approx(20) and edge.benefit == inf
    none = number_needed(0.0, Interval(-0.1, 0.1))
    assert (none.kind, none.number, none.displayed) == ("none", inf, None)


def test_fiellers_interval_covers_and_is_withheld_where_the_loss_may_be_none() -> None:
    random = np.random.default_rng(7)
    hits, runs = 0, 600
    for _ in range(runs):
        shared = random.random((200, 1)) * 0.4
        outcome = (random.random((200, 3)) < np.array([0.55, 0.15, 0.35]) + shared).astype(float)
        interval = recovery(*outcome.T).interval
        hits += interval is not None and interval.low <= 0.5 <= interval.high
    assert hits / runs == pytest.approx(0.95, abs=0.03)
    same = random.random((50, 3)) < 0.5
    assert recovery(same[:, 0], same[:, 0], same[:, 1]).share is None
    weak = recovery([1, 0, 1, 0, 1, 1], [1, 0, 1, 1, 0, 0], [1, 1, 1, 0, 0, 1])
    assert weak.share is not None and weak.interval is None
    with pytest.raises(ValueError, match="same cases"):
        recovery([1], [1, 0], [1])


def test_the_resamples_put_the_tail_on_a_place() -> None:
    assert (RESAMPLES + 1) * 0.05 == 100


@pytest.mark.parametrize(("arms", "scale"), [(1, 1.0), (2, 1.0), (9, 1.0), (3, 0.3)])
def test_rates_of_single_cases_are_those_of_the_drawn_rows(arms: int, scale: float) -> None:
    """Whole sums are added up as the digits of one number, in several numbers where arms are many; others
    one by one. The draws are the same."""
    random = np.random.default_rng(arms)
    cases = 50
    case = np.repeat(np.arange(cases), 4 * arms)
    arm = np.tile(np.arange(arms), 4 * cases)
    outcome = scale * random.integers(0, 2, len(case))
    kept = random.random(len(case)) > 0.1
    sums = arm_sums(case[kept], arm[kept], outcome[kept], arms)
    rows = np.repeat(sums.rows, sums.cases, axis=0)
    earned = np.repeat(sums.sums, sums.cases, axis=0)
    drawn = np.random.default_rng(4).integers(0, cases, (7, cases))
    by_hand = earned[drawn].sum(axis=1) / rows[drawn].sum(axis=1)
    assert resampled_rates(sums, 7, 4) == pytest.approx(by_hand, abs=1e-12)
