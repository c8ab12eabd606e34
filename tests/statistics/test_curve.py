"""Specification curves and their permutation test, against rows shuffled and fitted by statsmodels."""

import numpy as np
import pytest

from gridc.statistics.case_totals import collapse
from gridc.statistics.clustered_logit import NotEstimable, unit
from gridc.statistics.curve import Specification, blocks_of, estimates, permutation_p, shuffles, summarise
from gridc.statistics.designs import factor, treatment
from tests.statistics.test_clustered_logit import ARMS, BENCHMARKS, MODELS, oracle, study

SHAPE = (len(BENCHMARKS), len(MODELS), len(ARMS))
BENCH, MODEL, ARM = np.unravel_index(np.arange(int(np.prod(SHAPE))), SHAPE)


def specification(models: str, arm: int, rows: str = "") -> Specification:
    kept = np.isin([MODELS[at] for at in MODEL], list(models)) & np.isin(ARM, [0, arm])
    design = treatment(
        [
            factor("arm", ARMS, [ARMS[at] for at in ARM[kept]]),
            factor("model", MODELS, [MODELS[at] for at in MODEL[kept]]),
            factor("benchmark", BENCHMARKS, [BENCHMARKS[at] for at in BENCH[kept]]),
        ]
    )
    return Specification(kept, design.matrix, unit(design.places("arm"), len(design.columns)), rows)


SPECIFICATIONS = [specification(models, arm) for models in ("xyz", "xy", "yz") for arm in (1, 2, 3)]


def test_every_estimate_is_that_of_its_own_rows() -> None:
    case, pattern, outcome, _ = study(2, 60, 0.1)
    found = estimates(SPECIFICATIONS, {"": collapse(case, pattern, outcome, len(ARM))})
    for each, (ours,) in zip(SPECIFICATIONS, found, strict=True):
        some = each.kept[pattern]
        place = np.cumsum(each.kept) - 1
        theirs = oracle(each.design[place[pattern[some]]], outcome[some], case[some])
        assert ours.estimate == pytest.approx(theirs.params[1], abs=1e-8)
        assert ours.error == pytest.approx(theirs.bse[1], rel=1e-8)


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_shuffles_have_the_totals_of_shuffled_rows(missing: float) -> None:
    """The same random orders laid out by hand as rows and collapsed anew."""
    case, pattern, outcome, _ = study(4, 40, missing)
    blocks = blocks_of(case, pattern // len(ARMS), pattern % len(ARMS), outcome, len(ARMS))
    totals = collapse(case, pattern, outcome, len(ARM))
    (sums, ss, sn) = next(shuffles(blocks, totals, 3, 9))
    assert sums.sum(axis=1) == pytest.approx([outcome.sum()] * 3)
    assert not np.allclose(sums[0], totals.sums)
    from gridc.statistics.curve import _shuffled

    generator = np.random.default_rng(9)
    for at in range(3):
        drawn = _shuffled(blocks.outcomes, generator)
        assert (np.isnan(drawn) == np.isnan(blocks.outcomes)).all()
        assert np.nansum(drawn, axis=1) == pytest.approx(np.nansum(blocks.outcomes, axis=1))
        held = ~np.isnan(drawn)
        block, arm = np.nonzero(held)
        again = collapse(blocks.cases[block], blocks.first[block] + arm, drawn[held], len(ARM))
        assert sums[at] == pytest.approx(again.sums)
        assert ss[at] == pytest.approx(again.ss)
        assert sn[at] == pytest.approx(again.sn)
        assert totals.nn == pytest.approx(again.nn)


def p_value(seed: int, gap: bool, count: int) -> float:
    random = np.random.default_rng(seed)
    case, pattern, outcome, _ = study(seed, 40)
    if not gap:  # the sharp null: the arm changes no outcome
        outcome = outcome.reshape(-1, len(ARMS))[
            np.arange(len(outcome)) // len(ARMS), random.integers(0, 4, len(outcome))
        ]
    totals = collapse(case, pattern, outcome, len(ARM))
    blocks = blocks_of(case, pattern // len(ARMS), pattern % len(ARMS), outcome, len(ARMS))
    log_odds = np.array([[each.estimate for each in row] for row in estimates(SPECIFICATIONS, {"": totals})])

    def statistic(values: np.ndarray, p: np.ndarray) -> float:
        return float(np.abs(np.median(values)))

    return permutation_p(
        SPECIFICATIONS, {"": lambda: shuffles(blocks, totals, count, seed)}, {"": totals}, statistic,
        statistic(log_odds, log_odds), count,
    )  # fmt: skip


def test_the_permutation_test_keeps_its_level() -> None:
    null = np.array([p_value(seed, False, 19) for seed in range(120)])
    assert (null <= 0.05).mean() == pytest.approx(0.05, abs=0.05)
    assert (null <= 0.5).mean() == pytest.approx(0.5, abs=0.14)


def test_a_specification_that_cannot_be_fitted_is_an_error() -> None:
    case, pattern, outcome, _ = study(2, 30)
    outcome = np.where(pattern % len(ARMS) == 1, 1.0, outcome)
    with pytest.raises(NotEstimable):
        estimates(SPECIFICATIONS, {"": collapse(case, pattern, outcome, len(ARM))})


def test_two_rows_of_one_arm_are_not_shuffled() -> None:
    with pytest.raises(ValueError, match="two rows"):
        blocks_of([0, 0], [0, 0], [1, 1], [0, 1], 2)


def test_the_summary_counts_what_is_significant_on_each_side() -> None:
    found = summarise(np.array([-2.0, -1.0, 1.0, 0.5]), np.array([0.01, 0.2, 0.04, 0.06]), 0.05)
    assert (found.below, found.above) == (0.25, 0.25)
    assert found.median == pytest.approx(-0.25)
