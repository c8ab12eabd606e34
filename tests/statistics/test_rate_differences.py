"""Intervals of the difference of two rates: standardised as by statsmodels, and at one with the test."""

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import statsmodels.api as sm
from scipy.stats import binomtest

from gridc.statistics import clustered_logit, margins
from gridc.statistics.case_totals import CaseTable, case_table
from gridc.statistics.clustered_logit import NotEstimable, maximum
from gridc.statistics.risk import FittedOdds, rate_difference, rate_ratio


def study(
    random: np.random.Generator,
    units: int,
    items: int,
    models: int,
    rates: tuple[float, float],
    together: float,
) -> tuple[CaseTable, FittedOdds | None, clustered_logit.TestedCombination | None, pd.DataFrame]:
    """Two arms of the same items of models; of a share `together` of the answers the luck is one in all of an
    item's, and each unit has a rate of its own."""
    of = np.repeat(np.arange(units), items)
    own = random.beta(4 * rates[0], 4 * (1 - rates[0]), units)[of]
    down = np.clip(own * rates[1] / rates[0], 0, 1)
    up = 1 - (1 - own) * (1 - rates[1]) / (1 - rates[0])
    luck = random.random((2, models, len(of)))
    luck = np.where(random.random(len(of)) < together, luck[:1, :1], luck)
    right = luck < np.stack([own, down if rates[1] < rates[0] else up])[:, None]
    rows = pd.DataFrame(
        [(u, m, a, float(right[a, m, at])) for a in (0, 1) for m in range(models) for at, u in enumerate(of)],
        columns=["unit", "model", "arm", "y"],
    )
    design = np.array(
        [[1.0, a] + [float(m == k) for k in range(1, models)] for m in range(models) for a in (0, 1)]
    )
    table = case_table(rows.unit, 2 * rows.model + rows.arm, rows.y, len(design))
    arms = case_table(rows.unit, rows.arm, rows.y, 2)
    try:
        fitted = clustered_logit.Jackknife(design, table, maximum(design, table))
        tested = fitted.combination(np.eye(design.shape[1])[1])
    except NotEstimable:
        return arms, None, None, rows
    size, level = float(len(of)), design[:, 1]
    odds = FittedOdds(
        design @ fitted.coefficients, size * (1 - level), size * level, (tested.low, tested.high)
    )
    return arms, odds, tested, rows


def test_standardised_rates_are_statsmodels_margins() -> None:
    """The average of predictions with the arm set, of the rows of one arm, at moved odds."""
    _, odds, tested, rows = study(np.random.default_rng(1), 30, 3, 3, (0.3, 0.5), 0.3)
    assert odds is not None and tested is not None
    x = sm.add_constant(pd.get_dummies(rows.model, drop_first=True, dtype=float).assign(arm=rows.arm))
    fit = sm.Logit(rows.y, x).fit(disp=0)
    printed = rows.y[rows.arm == 1].mean() - rows.y[rows.arm == 0].mean()
    margin = fit.get_margeff(at="overall", dummy=True).margeff[list(x.columns).index("arm") - 1]
    both = [after - before for before, after in odds.rates(tested.estimate)]
    assert both == pytest.approx([margin, margin], abs=1e-8)
    assert margin == pytest.approx(printed, abs=1e-8)
    for moved in (tested.low, tested.high):
        shifted = fit.params.copy()
        shifted["arm"] = moved
        reference = x[rows.arm == 0]
        rates = [fit.model.predict(shifted, reference.assign(arm=arm)).mean() for arm in (0, 1)]
        assert odds.rates(moved)[0] == pytest.approx(rates, abs=1e-8)


@pytest.mark.parametrize("rates", [(0.04, 0.04), (0.05, 0.02), (0.5, 0.35), (0.9, 0.97)])
def test_the_interval_holds_0_exactly_where_p_is_above_its_level(rates: tuple[float, float]) -> None:
    random, decided = np.random.default_rng(2), 0
    for _ in range(40):
        arms, odds, tested, _ = study(random, 40, 3, 2, rates, 0.6)
        if odds is None or tested is None:
            continue
        found, of_ratio = rate_difference(arms, 1, 0, odds), rate_ratio(arms, 1, 0, odds)
        assert found is not None
        assert (found[0] <= 0 <= found[1]) == (tested.p > 0.05)
        assert of_ratio is None or (of_ratio[0] <= 1 <= of_ratio[1]) == (tested.p > 0.05)
        decided += tested.p <= 0.05
    assert decided or rates[0] == rates[1]


def test_without_a_test_it_is_that_of_both_rates() -> None:
    """Independent arms by hand: Newcombe's from the exact limits of each; of no change Gaffke's."""
    right = np.concatenate([np.arange(200) < 60, np.random.default_rng(3).permutation(200) < 90]).astype(
        float
    )
    arms = case_table(np.tile(np.arange(200), 2), np.repeat([0, 1], 200), right, 2)
    found = rate_difference(arms, 1, 0)
    (low, high), (below, above) = (binomtest(count, 200).proportion_ci(0.95) for count in (90, 60))
    r = float(np.corrcoef(right[200:], right[:200])[0, 1])
    down = np.sqrt((0.45 - low) ** 2 + (above - 0.3) ** 2 - 2 * r * (0.45 - low) * (above - 0.3))
    up = np.sqrt((high - 0.45) ** 2 + (0.3 - below) ** 2 - 2 * r * (high - 0.45) * (0.3 - below))
    assert found == pytest.approx((0.15 - down, 0.15 + up), abs=2e-3)
    still = case_table(np.tile(np.arange(30), 2), np.repeat([0, 1], 30), np.ones(60), 2)
    assert rate_difference(still, 1, 0) == pytest.approx(margins.mean_limits(still, 1, 0, 0.025), abs=2e-10)
    low = binomtest(30, 30).proportion_ci(0.95).low
    assert rate_ratio(still, 1, 0) == pytest.approx((low, 1 / low), abs=1e-6)


@pytest.mark.parametrize(("rates", "units"), [((0.5, 0.1), 40), ((0.05, 0.02), 60), ((0.9, 0.6), 30)])
def test_large_effects_and_rare_events_are_covered(rates: tuple[float, float], units: int) -> None:
    """Of 200 studies; the standardised ends over the reference's rows alone miss .25 to .47 of the first."""
    random, missed = np.random.default_rng(5), 0
    for _ in range(200):
        arms, odds, _, _ = study(random, units, 3, 2, rates, 0.4)
        found = rate_difference(arms, 1, 0, odds)
        assert found is not None
        missed += not found[0] <= rates[1] - rates[0] <= found[1]
    assert missed <= 16
