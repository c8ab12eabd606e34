"""Specification curves and their permutation test, against rows shuffled and fitted with statsmodels."""

from collections.abc import Sequence

import numpy as np
import pytest

from gridc.statistics.case_totals import CaseTotals, collapse
from gridc.statistics.clustered_logit import NotEstimable, unit
from gridc.statistics.curve import (
    Entries,
    Pairs,
    Specification,
    estimates,
    permutation_p,
    refits,
    shuffles,
    summarise,
)
from gridc.statistics.designs import factor, treatment
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


def shuffled_study(seed: int, cases: int, null: bool = False) -> tuple[Pairs, dict[str, Entries]]:
    """A study's rows of two arms in pairs, some of them unreadable: those count 0 of 1 under itt and no row
    under pp."""
    random = np.random.default_rng(seed)
    case, pattern, outcome, _ = study(seed, cases)
    shape = (-1, len(ARMS))
    case, pattern, outcome = (each.reshape(shape)[:, EXCHANGED] for each in (case, pattern, outcome))
    read = random.random(outcome.shape) < 0.8
    if null:  # what the case and its model come to, whichever arm it is under
        swap = random.integers(0, 2, len(outcome)).astype(bool)[:, None]
        outcome, read = (np.where(swap, each[:, ::-1], each) for each in (outcome, read))
    pairs = Pairs(case[:, 0], np.arange(len(case)), pattern)
    itt = Entries(np.ones(outcome.shape), outcome * read)
    return pairs, {"itt": itt, "pp": Entries(read.astype(float), outcome * read)}


def totals_of(pairs: Pairs, entries: Entries) -> CaseTotals:
    case = np.repeat(pairs.cases, 2)
    return collapse(case, pairs.patterns.ravel(), entries.sums.ravel(), len(ARM), entries.rows.ravel())


TWO_ARMS = [specification(models, EXCHANGED, rows) for models in ("xyz", "xy") for rows in READINGS]


def test_shuffles_have_the_totals_of_rows_that_changed_places() -> None:
    """The same coins laid out by hand: pairs of one group change places together, an unreadable answer is
    left out where it comes to lie, and both readings see one shuffle."""
    pairs, entries = shuffled_study(4, 40)
    pairs = Pairs(pairs.cases, pairs.groups // 3, pairs.patterns)
    (batch,) = shuffles(pairs, entries, len(ARM), 3, 9)
    coins = np.random.default_rng(9).integers(0, 2, (3, pairs.groups.max() + 1)).astype(bool)
    for at in range(3):
        swap = coins[at][pairs.groups][:, None]
        assert 0 < swap.sum() < len(swap)
        for name, held in entries.items():
            moved = Entries(*(np.where(swap, each[:, ::-1], each) for each in (held.rows, held.sums)))
            again, made = totals_of(pairs, moved), batch[name]
            assert made.sums[at] == pytest.approx(again.sums)
            assert made.ss[at] == pytest.approx(again.ss)
            assert made.sn[at] == pytest.approx(again.sn)
            assert (made.rows is None) is (name == "itt")
            assert (again.rows if made.rows is None else made.rows[at]) == pytest.approx(again.rows)
            assert (again.nn if made.nn is None else made.nn[at]) == pytest.approx(again.nn)


def test_every_shuffle_is_fitted_as_its_own_rows_are() -> None:
    """Against statsmodels on the rows of the shuffle."""
    pairs, entries = shuffled_study(5, 60)
    totals = {name: totals_of(pairs, held) for name, held in entries.items()}
    log_odds, p = refits(TWO_ARMS, shuffles(pairs, entries, len(ARM), 2, 9), totals, 2)
    coins = np.random.default_rng(9).integers(0, 2, (2, len(pairs.groups))).astype(bool)
    for at in range(2):
        for place, each in enumerate(TWO_ARMS):
            held, swap = entries[each.rows], coins[at][:, None]
            rows, sums = (np.where(swap, v[:, ::-1], v).ravel() for v in (held.rows, held.sums))
            pattern, case = pairs.patterns.ravel(), np.repeat(pairs.cases, 2)
            some = (rows > 0) & each.kept[pattern]
            design = each.design[(np.cumsum(each.kept) - 1)[pattern[some]]]
            theirs = oracle(design, sums[some], case[some])
            assert log_odds[at, place, 0] == pytest.approx(theirs.params[1], abs=1e-8)
            assert p[at, place, 0] == pytest.approx(theirs.pvalues[1], rel=1e-6)


def median_p(seed: int, null: bool, count: int, cases: int = 40) -> float:
    pairs, entries = shuffled_study(seed, cases, null)
    totals = {name: totals_of(pairs, held) for name, held in entries.items()}
    found = estimates(TWO_ARMS, totals)
    observed = abs(np.median([each[0].estimate for each in found if isinstance(each, list)]))
    log_odds, _ = refits(TWO_ARMS, shuffles(pairs, entries, len(ARM), count, seed), totals, count)
    return permutation_p(observed, np.abs(np.median(log_odds[:, :, 0], axis=1)))


def test_the_permutation_test_keeps_its_level() -> None:
    null = np.array([median_p(seed, True, 19) for seed in range(60)])
    assert (null <= 0.05).mean() <= 0.15
    assert (null <= 0.5).mean() == pytest.approx(0.5, abs=0.2)
    assert median_p(1, False, 19, 600) == 0.05


@pytest.mark.slow
def test_the_permutation_test_keeps_its_level_to_a_point() -> None:
    """1,000 studies in which the arm changes nothing, both readings in one curve: the share of p-values at or
    below each level, within four standard errors of it."""
    null = np.array([median_p(seed, True, 19) for seed in range(1000)])
    for level in (0.05, 0.1, 0.25, 0.5):
        assert (null <= level).mean() == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 1000))


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
    found = summarise(np.array([-2.0, -1.0, 1.0, 0.5]), np.array([0.01, 0.2, 0.04, 0.06]), 0.05)
    assert (found.below, found.above) == (0.25, 0.25)
    assert found.median == pytest.approx(-0.25)
