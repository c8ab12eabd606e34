"""Difficulty that is measured on other models: no effect shows none, and a true one is found."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from gridc.statistics.mediation import DifficultyEffect, difficulty_effect, spearman


def study(seed: int, slope: float = 0.0, models: int = 6, items: int = 300) -> DifficultyEffect:
    """Answers of models to items under a reference and an arm. Each item has its own chance to pass, drawn
    from 0 to 1; the arm moves it by `slope` times its distance from the middle."""
    random = np.random.default_rng(seed)
    chance = random.beta(1, 1, items)
    reference = (random.random((models, items)) < chance).astype(float)
    moved = np.clip(chance + slope * (chance - 0.5), 0, 1)
    arm = (random.random((models, items)) < moved).astype(float)
    found = difficulty_effect(reference, arm, np.arange(items), seed)
    assert found is not None
    return found


def test_the_split_removes_the_coupling_of_a_study_without_effect() -> None:
    """The raw coefficient is far below 0 where nothing changes, as swapped answers show; the other is 0."""
    found = [study(seed) for seed in range(20)]
    raw, null, split = (
        float(np.mean(values))
        for values in zip(*((each.raw, each.raw_null, each.split.value) for each in found), strict=True)
    )
    assert raw == pytest.approx(null, abs=0.02)
    assert raw < -0.2
    assert split == pytest.approx(0.0, abs=0.02)


@pytest.mark.slow
def test_the_interval_covers_nothing_where_nothing_is() -> None:
    intervals = [study(seed, models=3, items=80).split.interval for seed in range(120)]
    inside = sum(ends is not None and ends[0] <= 0 <= ends[1] for ends in intervals)
    assert 0.9 <= inside / 120 <= 0.99


@pytest.mark.parametrize(("slope", "sign"), [(-0.6, -1), (0.6, 1)])
def test_an_effect_that_turns_on_difficulty_is_found(slope: float, sign: int) -> None:
    found = study(7, slope, items=1000)
    assert found.split.value is not None and found.split.interval is not None
    assert sign * found.split.value > 0.1
    assert sign * found.split.interval[0 if sign > 0 else 1] > 0
    hard, easy = found.strata[0], found.strata[-1]
    assert sign * (easy.change.value - hard.change.value) > 0.12  # type: ignore[operator]


def test_strata_of_a_study_without_effect_do_not_change() -> None:
    found = [[stratum.change.value for stratum in study(seed).strata] for seed in range(20)]
    changes = np.array(found, dtype=np.float64)
    assert changes.mean(axis=0) == pytest.approx(np.zeros(5), abs=0.02)


def test_of_two_models_by_hand() -> None:
    reference = np.array([[1.0, 0, 1, 0, 1], [1, 1, 0, 0, 0.5]])
    arm = np.array([[0.0, 0, 1, 1, 1], [1, 0, 0, 1, 0]])
    change = arm - reference
    found = difficulty_effect(reference, arm, np.arange(5), 1)
    assert found is not None
    both = (reference + arm) / 2
    one, other = spearmanr(both[0], change[1]).statistic, spearmanr(both[1], change[0]).statistic
    assert found.splits == 2
    assert found.split.value == pytest.approx((one + other) / 2)
    assert found.split.interval is None, "five units are too few"
    assert found.raw == pytest.approx(spearmanr(reference.mean(axis=0), change.mean(axis=0)).statistic)
    hard = found.strata[0]  # item 1 of the first model, 2 of the second
    assert hard.items == 1.0
    assert hard.change.value == pytest.approx((change[1, 1] + change[0, 2]) / 2)


@pytest.mark.slow
@pytest.mark.parametrize("models", [2, 6])
def test_models_that_err_alike_make_no_effect(models: int) -> None:
    """Half of the luck on an item is one for all models, in units of two items: with the pass rate of the
    reference alone the coefficient is -.3."""
    values, missed = [], 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        chance = np.repeat(random.beta(1, 1, 60), 2)
        arms = []
        for _ in range(2):
            luck = np.where(random.random(120) < 0.5, random.random(120), random.random((models, 120)))
            arms.append((luck < chance).astype(float))
        found = difficulty_effect(arms[0], arms[1], np.arange(120) // 2, seed)
        assert found is not None and found.split.value is not None and found.split.interval is not None
        values.append(found.split.value)
        missed += not found.split.interval[0] <= 0 <= found.split.interval[1]
    assert np.mean(values) == pytest.approx(0, abs=0.04)
    assert missed <= 12


def test_what_does_not_vary_has_no_coefficient() -> None:
    ones = np.ones((3, 30))
    found = difficulty_effect(ones, ones, np.arange(30), 1)
    assert found is not None
    assert (found.split.value, found.raw, found.raw_null) == (None, None, None)
    assert [stratum.items for stratum in found.strata] == [0, 0, 0, 0, 30]
    assert difficulty_effect(ones[:1], ones[:1], np.arange(30), 1) is None
    assert difficulty_effect(ones[:, :0], ones[:, :0], np.arange(0), 1) is None
    assert spearman(np.array([1.0, 1]), np.array([0.0, 1])) is None


def test_ties_have_their_mean_rank_and_rounding_makes_no_order() -> None:
    random = np.random.default_rng(3)
    one, other = random.integers(0, 4, 200) / 3, random.integers(0, 4, 200) / 3
    assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic)
    noise = 1e-14 * random.random(200)
    assert spearman(one + noise, other - noise) == spearman(one, other)


def test_many_models_are_parted_in_as_many_ways_as_are_drawn() -> None:
    assert study(1, models=8, items=60).splits == 70
    assert study(1, models=12, items=60).splits == 70
    assert study(1, models=5, items=60).splits == 20


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "models"), [(0.05, 4), (0.05, 2), (0.97, 3)])
def test_few_changes_do_not_turn_on_difficulty_by_chance(rate: float, models: int) -> None:
    """20 items that hardly ever change, and models that err alike: by groups of units alone up to .19 of the
    intervals exclude 0."""
    random, printed, missed = np.random.default_rng(68), 0, 0
    for seed in range(150):
        arms = []
        for _ in range(2):
            own = random.random((models, 20))
            arms.append((np.where(random.random(20) < 0.7, own[0], own) < rate).astype(float))
        found = difficulty_effect(arms[0], arms[1], np.arange(20), seed)
        assert found is not None
        if found.split.interval is not None:
            printed += 1
            missed += not found.split.interval[0] <= 0 <= found.split.interval[1]
    assert printed and missed / printed <= 0.08
