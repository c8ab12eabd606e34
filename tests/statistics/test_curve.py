"""Specification curves and their permutation test, against rows shuffled and fitted with statsmodels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from gridc.statistics.case_totals import CaseTotals, collapse, factor, treatment
from gridc.statistics.clustered_logit import NotEstimable, unit
from gridc.statistics.curve import (
    ArmPairs,
    Entries,
    Specification,
    estimates,
    extremes,
    permutation_p,
    refits,
    shuffles,
    summarise_curve,
)
from tests.statistics.test_clustered_logit import ARMS, BENCHMARKS, MODELS, oracle, study

SHAPE = (len(BENCHMARKS), len(MODELS), len(ARMS))
BENCH, MODEL, ARM = np.unravel_index(np.arange(int(np.prod(SHAPE))), SHAPE)


def specification(models: str, arms: Sequence[int], rows: str = "") -> Specification:
    kept = np.isin([MODELS[at] for at in MODEL], list(models)) & np.isin(ARM, arms)
    design = treatment(
        [
            factor("arm", ARMS, [ARMS[at] for at in ARM[kept]]),
            factor("model", MODELS, [MODELS[at] for at in MODEL[kept]]),
            factor("benchmark", BENCHMARKS, [BENCHMARKS[at] for at in BENCH[kept]]),
        ]
    )
    return Specification(kept, design.matrix, unit(design.places("arm"), len(design.columns)), rows)


SPECIFICATIONS = [specification(models, (0, arm)) for models in ("xyz", "xy", "yz") for arm in (1, 2, 3)]


def test_every_estimate_is_that_of_its_own_rows() -> None:
    case, pattern, outcome, _ = study(2, 60, 0.1)
    found = estimates(SPECIFICATIONS, {"": collapse(case, pattern, outcome, len(ARM))})
    for each, answer in zip(SPECIFICATIONS, found, strict=True):
        assert isinstance(answer, list)
        (ours,) = answer
        some = each.kept[pattern]
        place = np.cumsum(each.kept) - 1
        theirs = oracle(each.design[place[pattern[some]]], outcome[some], case[some])
        assert ours.estimate == pytest.approx(theirs.params[1], abs=1e-8)
        assert ours.error == pytest.approx(theirs.bse[1], rel=1e-8)


READINGS = ("itt", "pp")
EXCHANGED = (0, 3)
"""The arms that change places; the last one does lower the outcome."""


def shuffled_study(
    seed: int, cases: int, null: bool = False, together: float = 0.0
) -> tuple[ArmPairs, dict[str, Entries]]:
    """A study's rows of two arms in pairs, some of them unreadable: those count 0 of 1 under itt; under pp
    neither of their pair counts. `null`: which arm has which of a case's two columns is left to chance, over
    all its models at once. A share `together` of the cases then answers all models alike."""
    random = np.random.default_rng(seed)
    case, pattern, outcome, _ = study(seed, cases)
    shape = (-1, len(ARMS))
    case, pattern, outcome = (each.reshape(shape)[:, EXCHANGED] for each in (case, pattern, outcome))
    read = random.random(outcome.shape) < 0.8
    if null:
        _, first, number = np.unique(case[:, 0], return_index=True, return_inverse=True)
        alike = (random.random(len(first)) < together)[number][:, None]
        outcome, read = (np.where(alike, each[first][number], each) for each in (outcome, read))
        swap = random.integers(0, 2, len(first)).astype(bool)[number][:, None]
        outcome, read = (np.where(swap, each[:, ::-1], each) for each in (outcome, read))
    both = read.all(axis=1, keepdims=True) * np.ones(outcome.shape)
    itt = Entries(np.ones(outcome.shape), outcome * read)
    return ArmPairs(case[:, 0], pattern), {"itt": itt, "pp": Entries(both, outcome * both)}


def totals_of(pairs: ArmPairs, entries: Entries) -> CaseTotals:
    case = np.repeat(pairs.cases, 2)
    return collapse(case, pairs.patterns.ravel(), entries.sums.ravel(), len(ARM), entries.rows.ravel())


TWO_ARMS = [specification(models, EXCHANGED, rows) for models in ("xyz", "xy") for rows in READINGS]


def exchanged(pairs: ArmPairs, held: Entries, coins: Any) -> Entries:
    """By hand: all pairs of a case change places, or none."""
    swap = coins[np.unique(pairs.cases, return_inverse=True)[1]][:, None]
    assert 0 < swap.sum() < len(swap)
    return Entries(*(np.where(swap, each[:, ::-1], each) for each in (held.rows, held.sums)))


def coins_of(pairs: ArmPairs, seed: int, count: int) -> Any:
    cases = len(np.unique(pairs.cases))
    return np.random.default_rng(seed).integers(0, 2, (count, cases)).astype(bool)


def test_shuffles_have_the_totals_of_cases_that_changed_places() -> None:
    """The same coins laid out by hand: all models of a case change places together, and both readings see one
    shuffle."""
    pairs, entries = shuffled_study(4, 40)
    assert len(pairs.cases) == 3 * len(np.unique(pairs.cases)), "each case is asked of three models"
    (batch,) = shuffles(pairs, entries, len(ARM), 3, 9)
    for at, coins in enumerate(coins_of(pairs, 9, 3)):
        for name, held in entries.items():
            again, made = totals_of(pairs, exchanged(pairs, held, coins)), batch[name]
            assert made.sums[at] == pytest.approx(again.sums)
            assert made.ss[at] == pytest.approx(again.ss)
            assert made.sn[at] == pytest.approx(again.sn)


def test_arms_with_other_numbers_of_rows_are_not_exchanged() -> None:
    pairs, entries = shuffled_study(4, 10)
    entries["itt"].rows[0, 0] = 2
    with pytest.raises(ValueError, match="other numbers of rows"):
        next(shuffles(pairs, entries, len(ARM), 3, 9))


def test_every_shuffle_is_fitted_as_its_own_rows_are() -> None:
    """Against statsmodels on the rows of the shuffle."""
    pairs, entries = shuffled_study(5, 60)
    totals = {name: totals_of(pairs, held) for name, held in entries.items()}
    log_odds, p = refits(TWO_ARMS, shuffles(pairs, entries, len(ARM), 2, 9), totals, 2)
    for at, coins in enumerate(coins_of(pairs, 9, 2)):
        for place, each in enumerate(TWO_ARMS):
            moved = exchanged(pairs, entries[each.rows], coins)
            rows, sums = moved.rows.ravel(), moved.sums.ravel()
            pattern, case = pairs.patterns.ravel(), np.repeat(pairs.cases, 2)
            some = (rows > 0) & each.kept[pattern]
            design = each.design[(np.cumsum(each.kept) - 1)[pattern[some]]]
            theirs = oracle(design, sums[some], case[some])
            assert log_odds[at, place, 0] == pytest.approx(theirs.params[1], abs=1e-8)
            assert p[at, place, 0] == pytest.approx(theirs.pvalues[1], rel=1e-6)


def curve_p(
    seed: int, null: bool, count: int, cases: int = 40, together: float = 0.0, by_model: bool = False
) -> tuple[float, float]:
    """p of the median and of the share of significant estimates; `by_model`: of arms that are exchanged
    within each case and model."""
    pairs, entries = shuffled_study(seed, cases, null, together)
    totals = {name: totals_of(pairs, held) for name, held in entries.items()}
    found = [each[0] for each in estimates(TWO_ARMS, totals) if isinstance(each, list)]
    assert len(found) == len(TWO_ARMS)
    moved = ArmPairs(np.arange(len(pairs.cases)), pairs.patterns) if by_model else pairs
    log_odds, p = refits(TWO_ARMS, shuffles(moved, entries, len(ARM), count, seed), totals, count)
    observed = extremes(
        np.array([each.estimate for each in found]), np.array([each.p for each in found]), 0.05
    )
    among = extremes(log_odds[:, :, 0], p[:, :, 0], 0.05)
    median, share = (permutation_p(float(a), b) for a, b in zip(observed, among, strict=True))
    return median, share


def test_the_permutation_test_keeps_its_level() -> None:
    null = np.array([curve_p(seed, True, 19) for seed in range(60)])
    assert ((null <= 0.05).mean(axis=0) <= 0.15).all()
    assert (null[:, 0] <= 0.5).mean() == pytest.approx(0.5, abs=0.2)
    assert curve_p(1, False, 19, 600)[0] == 0.05


@pytest.mark.slow
@pytest.mark.parametrize("together", [0.0, 0.5, 1.0])
def test_the_permutation_test_keeps_its_level_to_a_point(together: float) -> None:
    """1,000 studies in which the arm changes nothing, both readings in one curve, and where all models may
    answer alike: the share of p-values at or below each level, within four standard errors of it, or fewer
    for the share, which has ties."""
    null = np.array([curve_p(seed, True, 19, together=together) for seed in range(1000)])
    for level in (0.05, 0.1, 0.25, 0.5):
        slack = 4 * np.sqrt(level * (1 - level) / 1000)
        median, share = (null <= level).mean(axis=0)
        print(f"{together=} {level=}: median {median:.3f}, share {share:.3f}, +- {slack / 2:.3f}")
        assert median == pytest.approx(level, abs=slack)
        assert share <= level + slack


@pytest.mark.slow
def test_arms_exchanged_within_each_model_do_not_keep_the_level() -> None:
    """What was done before, in the world in which all models answer alike."""
    null = np.array([curve_p(seed, True, 19, together=1.0, by_model=True)[0] for seed in range(300)])
    share = (null <= 0.05).mean()
    print(f"exchanged by model: {share:.3f} +- {1.96 * np.sqrt(share * (1 - share) / 300):.3f}")
    assert share > 0.1


def test_the_test_reads_the_median_and_the_larger_share() -> None:
    """Against plain numpy, curve by curve."""
    random = np.random.default_rng(5)
    log_odds, p = random.normal(size=(50, 7)) + 0.5, random.random((50, 7)) / 4
    log_odds[3, 2] = np.nan
    median, share = extremes(log_odds, p, 0.05)
    for at in range(50):
        if at == 3:
            assert np.isnan([median[at], share[at]]).all()
            continue
        significant = log_odds[at][p[at] <= 0.05]
        assert median[at] == pytest.approx(abs(sorted(log_odds[at])[3]))
        assert share[at] == pytest.approx(max(sum(significant < 0), sum(significant > 0)) / 7)
        found = summarise_curve(log_odds[at], p[at], 0.05)
        assert (abs(found.median), found.share) == (median[at], share[at])
    assert len(np.unique(share[~np.isnan(share)])) > 2


def test_a_specification_that_cannot_be_fitted_is_its_own_answer() -> None:
    case, pattern, outcome, _ = study(2, 30)
    outcome = np.where(pattern % len(ARMS) == 1, 1.0, outcome)
    found = estimates(SPECIFICATIONS, {"": collapse(case, pattern, outcome, len(ARM))})
    for place, each in enumerate(found):
        assert isinstance(each, NotEstimable) is (place % 3 == 0)


def test_a_shuffle_that_cannot_be_fitted_counts_against_the_curve() -> None:
    assert permutation_p(1.0, np.array([0.5, np.nan, 1.5, 0.9])) == 3 / 5
    pairs, entries = shuffled_study(5, 12)
    few = Entries(entries["itt"].rows, np.zeros_like(entries["itt"].sums))
    few.sums[0, 0] = 1.0
    log_odds, _ = refits(
        TWO_ARMS[::2], shuffles(pairs, {"itt": few}, len(ARM), 4, 1), {"itt": totals_of(pairs, few)}, 4
    )
    assert np.isnan(log_odds).all()


def test_the_summary_counts_what_is_significant_on_each_side() -> None:
    found = summarise_curve(np.array([-2.0, -1.0, 1.0, 0.5]), np.array([0.01, 0.2, 0.04, 0.06]), 0.05)
    assert (found.below, found.above) == (0.25, 0.25)
    assert found.median == pytest.approx(-0.25)
