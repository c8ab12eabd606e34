"""Witness-first: the bets are fair, the guarantee survives stopping, and few calls are needed."""

from math import comb, exp, log
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gridc.statistics.betting import BLOCK, STAKES, DirectionWealth, Race
from tools.certificates.simulate import World, pair_world

ALPHA, RUNS = 0.05, 2000


def side(configurations: int = 1) -> DirectionWealth:
    return DirectionWealth(np.zeros((configurations, len(STAKES))))


def race_on(outcomes: NDArray[np.int64], seed: int = 0, claims: int = 1) -> Race:
    """Run a race to its end on outcomes of shape (models, configurations, units)."""
    models, configurations, units = outcomes.shape
    race = Race(models, configurations, units, ALPHA, claims, seed)
    while (block := race.next()) is not None:
        chosen = list(block.units)
        race.tell(block, {(m, c): outcomes[m, c, chosen] for m, c in block.cells})
    return race


def test_a_bet_on_a_fair_difference_expects_to_keep_its_wealth() -> None:
    for low, high, p in ((-1.0, 1.0, 0.5), (-0.25, 1.0, 0.2), (-1.0, 0.0, 0.0)):
        expected = 0.0
        for step, weight in ((high, p), (low, 1 - p)):
            one = side()
            one.bet(np.array([[step]]), [0])
            expected += weight * exp(one.log_e)
        assert expected <= 1 + 1e-12


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_mixture_is_close_to_the_one_over_every_stake(wins: int, losses: int) -> None:
    """Over stakes in [0, 1] evenly: sum_{k <= b} C(n + 1, k) / ((n + 1) C(n, b)), the beta mixture."""
    one, n = side(), wins + losses
    if n:
        one.bet(np.array([[1.0]] * wins + [[-1.0]] * losses), [0])
    exact = sum(comb(n + 1, k) for k in range(wins + 1)) / ((n + 1) * comb(n, wins))
    assert one.log_e == pytest.approx(log(exact), abs=0.35 + 0.02 * wins)


def test_the_mean_over_configurations_is_what_counts() -> None:
    three = side(3)
    three.bet(np.array([[1.0, -1.0]] * 5), [0, 2])
    values = np.exp(three.by_configuration)
    assert values[1] == pytest.approx(1)
    assert exp(three.log_e) == pytest.approx(values.mean())
    assert three.best(2) == [0, 1]


def test_items_are_fresh_and_configurations_are_chosen_before_they_are_seen() -> None:
    random = np.random.default_rng(0)
    outcomes = pair_world(np.repeat([0.3, -0.3], 6)).outcomes(120, random)
    used: list[int] = []
    race = Race(2, 12, 120, ALPHA, 1, 3)
    while (block := race.next()) is not None:
        assert not set(block.units) & set(used)
        used += block.units
        assert block == race.next(), "asking again must not depend on anything but what was told"
        race.tell(block, {(m, c): outcomes[m, c, list(block.units)] for m, c in block.cells})
    assert race.duels[0].certified
    assert len(set(used)) == len(used)
    assert race.evaluations < 2 * 12 * len(used)


def test_a_certified_side_is_no_longer_asked_for() -> None:
    outcomes = np.zeros((2, 4, 400), dtype=np.int64)
    outcomes[0, 0] = 1  # a is better under one configuration, and b nowhere
    race = race_on(outcomes)
    (duel,) = race.duels
    assert duel.plus.reached is not None
    assert duel.minus.reached is None
    assert not duel.certified


def test_a_race_that_cannot_be_won_any_more_stops() -> None:
    race = race_on(np.zeros((2, 4, 3), dtype=np.int64), claims=1000)
    assert race.duels[0].hopeless
    assert race.evaluations == 0


def test_the_guarantee_pays_for_every_claim() -> None:
    assert Race(2, 4, 8, 0.05, 1, 0).bar == pytest.approx(log(20))
    assert Race(3, 4, 8, 0.05, 15, 0).bar == pytest.approx(log(300))


def test_a_clear_reversal_needs_a_fraction_of_the_grid() -> None:
    random, evaluations, found = np.random.default_rng(1), [], 0
    world = pair_world(np.repeat([0.15, -0.15], 24))
    for run in range(40):
        race = race_on(world.outcomes(295, random), run)
        evaluations.append(race.evaluations)
        found += race.duels[0].certified
    assert found >= 36
    assert median(evaluations) < 0.15 * 2 * 48 * 295


def test_three_models_share_what_is_asked() -> None:
    random = np.random.default_rng(2)
    scores = np.full((3, 8), 0.5)
    scores[0, :4], scores[1, 4:] = 0.9, 0.9
    race = race_on(World(scores).outcomes(200, random))
    assert race.duels[0].certified
    block = Race(3, 8, 200, ALPHA, 3, 0).next()
    assert block is not None
    assert len(block.cells) == 3 * 8
    assert len(block.units) == BLOCK


NULLS = {
    "equal": np.zeros(48),
    "better in one": np.where(np.arange(48) == 0, 0.15, 0.0),
    "better in half": np.where(np.arange(48) < 24, 0.15, 0.0),
    "better everywhere": np.full(48, 0.05),
}


@pytest.mark.slow
@pytest.mark.parametrize("null", NULLS)
def test_stopping_early_certifies_falsely_at_most_at_alpha(null: str) -> None:
    random, world = np.random.default_rng(7), pair_world(NULLS[null])
    false = sum(race_on(world.outcomes(295, random), run).duels[0].certified for run in range(RUNS))
    assert false / RUNS <= ALPHA
