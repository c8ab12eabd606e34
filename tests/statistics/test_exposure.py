"""Odds of a bad answer by exposure: those of statsmodels, with the errors of every other test."""

import numpy as np
import pytest
import statsmodels.api as sm

from gridc.statistics.mediation import exposure_odds

NAMES = ["adversarial", "contextual"]


def study(seed: int, rows: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Exposures, how bad the answers are, groups, units of five: one more of the first exposure doubles the
    odds, the second does not move them."""
    random = np.random.default_rng(seed)
    exposures = np.column_stack([random.poisson(0.5, rows), random.integers(0, 3, rows)]).astype(float)
    groups = random.integers(0, 3, rows)
    logit = np.array([-1.0, 0.0, 0.5])[groups] + np.log(2) * exposures[:, 0]
    bad = (random.random(rows) < 1 / (1 + np.exp(-logit))).astype(float)
    return exposures, bad, groups, np.arange(rows) // 5


def test_the_ratios_are_those_of_a_logit_with_dummies() -> None:
    exposures, bad, groups, units = study(1)
    dummies = (groups[:, None] == np.arange(3)).astype(float)
    fit = sm.Logit(bad, np.hstack([exposures, dummies])).fit(disp=0)
    found = exposure_odds(NAMES, exposures, bad, groups, units)
    assert [each.exposure for each in found] == NAMES
    assert [each.ratio for each in found] == pytest.approx(np.exp(fit.params[:2]))
    clustered = sm.Logit(bad, np.hstack([exposures, dummies])).fit(
        disp=0, cov_type="cluster", cov_kwds={"groups": units}
    )
    for each, (low, high), p in zip(found, clustered.conf_int()[:2], clustered.pvalues[:2], strict=True):
        assert each.interval is not None
        assert np.log(each.interval) == pytest.approx((low, high), abs=0.03)
        assert each.p == pytest.approx(p, abs=0.02)


def test_parts_of_an_answer_count_in_part() -> None:
    """A half bad answer is a good and a bad one, of half the weight."""
    exposures, _, groups, units = study(2)
    bad = np.random.default_rng(0).choice([0, 0.5, 1], len(units))
    twice = [np.repeat(each, 2, axis=0) for each in (exposures, groups)]
    dummies = (twice[1][:, None] == np.arange(3)).astype(float)
    single = np.column_stack([bad > 0, bad > 0.5]).astype(float).ravel()
    fit = sm.Logit(single, np.hstack([twice[0], dummies])).fit(disp=0)
    found = exposure_odds(NAMES, exposures, bad, groups, units)
    assert [each.ratio for each in found] == pytest.approx(np.exp(fit.params[:2]))


def test_the_truth_is_in_the_intervals() -> None:
    inside = np.zeros(2)
    for seed in range(200):
        first, second = exposure_odds(NAMES, *study(seed, 300))
        assert first.interval and second.interval
        inside += [first.interval[0] <= 2 <= first.interval[1], second.interval[0] <= 1 <= second.interval[1]]
    assert (inside / 200 > 0.91).all()


def test_what_cannot_be_estimated_says_why() -> None:
    exposures, bad, groups, units = study(3)
    constant = np.column_stack([exposures[:, 0], np.ones(len(units))])
    moving, still = exposure_odds(NAMES, constant, bad, groups, units)
    assert moving.ratio and moving.interval
    assert (still.ratio, still.problem) == (None, "it never varies")
    separated = exposure_odds(["a"], (bad > 0)[:, None].astype(float), bad, groups, units)[0]
    assert separated.ratio is None or separated.interval is None
    assert separated.problem
    few = exposure_odds(NAMES, exposures, bad, groups, units // 30)[0]
    assert few.ratio and few.interval is None
    assert "too few" in few.problem
    rare = exposure_odds(NAMES, exposures, bad * (units < 8), groups, units)[0]
    assert rare.ratio and rare.interval is None
    assert "units hold the rarer answers" in rare.problem
    (none,) = exposure_odds(["a"], np.zeros((0, 1)), np.zeros(0), np.zeros(0, int), np.zeros(0, int))
    assert none.ratio is None
