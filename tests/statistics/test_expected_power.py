"""The power of margins in a plan: beside studies that are simulated answer by answer, and an exact sum."""

from math import comb, sqrt
from typing import Any

import numpy as np
import pytest

from gridc.statistics import margins
from gridc.statistics.bounded_means import mean_above_zero, means_above_zero
from gridc.statistics.case_totals import CaseTable, case_table, merged
from gridc.statistics.expected_power import (
    STUDIES,
    Assumptions,
    DecidingTest,
    Layout,
    Stratum,
    margin_error,
    power,
    smallest,
)
from gridc.statistics.verdicts import POWER

ALPHA = 0.025


def pareto(units: int, mean: float, exponent: float) -> tuple[float, ...]:
    drawn = np.random.default_rng(3).pareto(exponent, units) + 1
    return tuple(np.maximum(1, np.round(mean * drawn / drawn.mean())).tolist())


LAYOUTS = {
    "single items": Layout((Stratum((1.0,) * 90),), 2),
    "equal units": Layout((Stratum((4.0,) * 60),), 2),
    "Pareto units": Layout((Stratum(pareto(60, 6, 2.0)),), 2),
    "three levels": Layout((Stratum((2.0,) * 70),), 4),
    "two benchmarks": Layout((Stratum((1.0,) * 50), Stratum((3.0,) * 30)), 2),
    "benchmarks that share items": Layout(
        (Stratum((1.0,) * 50, tuple(range(50))), Stratum((3.0,) * 30, tuple(range(40, 70)))), 2
    ),
}


def share_shown(test: DecidingTest, layout: Layout, assumed: Assumptions, runs: int = 400) -> float:
    """The share of studies without a difference in which each level shows the margin. Each answer is drawn:
    from what its unit draws with the root of `together`, else from a draw of its own; under a level a draw
    stays with the root of 1 - 2 x changing, else it is made anew."""
    random, found = np.random.default_rng(11), 0
    sizes = layout.by_unit.sum(axis=1).astype(int)
    unit_of = np.repeat(np.arange(len(sizes)), sizes)
    assert test.margin is not None

    def drawn(count: int) -> Any:
        stays = random.random((layout.levels, count)) < sqrt(1 - 2 * assumed.changing)
        return np.where(stays, random.random(count), random.random((layout.levels, count))) < 0.5

    for _ in range(runs):
        of_unit = random.random(len(unit_of)) < sqrt(assumed.together)
        right = np.where(of_unit, drawn(len(sizes))[:, unit_of], drawn(len(unit_of)))
        arms = np.repeat(np.arange(layout.levels), len(unit_of))
        table = case_table(np.tile(unit_of, layout.levels), arms, right.ravel().astype(float), layout.levels)
        decide = margins.within if test.claim == "inside" else None
        ps = [
            decide(table, level, 0, test.margin) if decide else margins.above(table, level, 0, -test.margin)
            for level in range(1, layout.levels)
        ]
        found += max(ps) <= test.alpha
    return found / runs


@pytest.mark.parametrize("claim", ["inside", "above"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_smallest_margin_is_shown_four_times_in_five(name: str, claim: Any) -> None:
    layout, assumed, runs = LAYOUTS[name], Assumptions(0.2, 0.1), 400
    least = smallest(DecidingTest(claim, "greater", ALPHA), layout, assumed)
    assert least is not None
    test = DecidingTest(claim, "greater", ALPHA, least)
    promised, error = power(test, layout, assumed, 0.0), margin_error(test, layout)
    assert promised == pytest.approx(POWER, abs=0.03) and promised >= POWER - 1e-9
    share = share_shown(test, layout, assumed, runs)
    assert share == pytest.approx(promised, abs=3.5 * sqrt(error**2 + POWER * (1 - POWER) / runs))


@pytest.mark.parametrize("claim", ["inside", "above"])
@pytest.mark.parametrize("margin", [0.15, 0.25, 0.35])
def test_the_power_of_a_margin_is_the_sum_over_all_outcomes(claim: Any, margin: float) -> None:
    items, changing = 30, 0.2
    exact = 0.0
    for rise in range(items + 1):
        for fall in range(items + 1 - rise):
            chance = comb(items, rise) * comb(items - rise, fall) * (changing / 2) ** (rise + fall)
            chance *= (1 - changing) ** (items - rise - fall)
            if chance < 1e-9:
                continue
            sums = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
            table = CaseTable(np.ones((3, 2)), sums, np.array([rise, fall, items - rise - fall]))
            p = margins.above(table, 1, 0, -margin)
            if claim == "inside":
                p = margins.within(table, 1, 0, margin)
            exact += chance * (p <= ALPHA)
    layout = Layout((Stratum((1.0,) * items),), 2)
    found = power(DecidingTest(claim, "greater", ALPHA, margin), layout, Assumptions(changing, 0.1), 0.0)
    assert found == pytest.approx(exact, abs=4 * sqrt(max(exact * (1 - exact), 0.01) / STUDIES))


def test_several_levels_are_shown_less_often_than_one() -> None:
    one, three = Layout((Stratum((2.0,) * 70),), 2), LAYOUTS["three levels"]
    test, assumed = DecidingTest("inside", "two-sided", ALPHA, 0.12), Assumptions(0.2, 0.1)
    single, every = power(test, one, assumed, 0.0), power(test, three, assumed, 0.0)
    assert single**3 < every < single
    assert margin_error(test, three) > margin_error(test, one) == pytest.approx(sqrt(0.16 / STUDIES))


def test_an_item_of_two_benchmarks_counts_once() -> None:
    """All items in both: what is as good as two answers to each item, and less than twice as many items."""
    items = Stratum((1.0,) * 60, tuple(range(60)))
    both, twice = Layout((items, items), 2), Layout((Stratum((2.0,) * 60),), 2)
    apart = Layout((Stratum((1.0,) * 60),) * 2, 2)
    assert (both.units, twice.units, apart.units) == (60, 60, 120)
    assumed = Assumptions(0.3, 0.5)
    for test in (
        DecidingTest("inside", "two-sided", 0.05),
        DecidingTest("effect", "two-sided", 0.05),
    ):
        once, doubled, own = (smallest(test, layout, assumed) or 0.0 for layout in (both, twice, apart))
        assert once == pytest.approx(doubled, rel=0.02) and once > 1.05 * own > 0


def test_units_of_one_number_are_one() -> None:
    parts = [np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]), np.ones((1, 1))]
    found = merged(parts, [(7, 8), (8, 9), ()])
    assert found.tolist() == [[1, 0, 0], [2, 3, 0], [0, 4, 0], [0, 0, 1]]


@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_many_samples_at_once_are_decided_as_each_by_itself(alpha: float) -> None:
    random, values = np.random.default_rng(5), np.array([-0.88, -0.18, 0.07, 0.32, 0.82])
    for units, shares in ((25, [0.05, 0.1, 0.4, 0.3, 0.15]), (200, [0.04, 0.3, 0.4, 0.2, 0.06])):
        samples = random.multinomial(units, shares, size=200)
        several = means_above_zero(values, samples.astype(float), -1.0, alpha)
        alone = np.array([mean_above_zero(np.repeat(values, row), -1.0) for row in samples])
        near = (alone > alpha / 20) & (alone < min(0.5, 20 * alpha))
        assert near.sum() > 40 and 0 < (alone <= alpha).sum() < 200
        assert several[near] == pytest.approx(alone[near], rel=1e-5)
        assert ((several <= alpha) == (alone <= alpha)).all()
