"""The exact test of paired items: against brute force, Tango's own p, and all outcomes of few items."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import multinomial, norm

from gridc.statistics import margins
from gridc.statistics.bounded_means import mean_above_zero
from gridc.statistics.case_totals import CaseTable


def tango(items: int, gained: int, lost: int, bound: float) -> float:
    """The score, its nuisance the largest likelihood by search."""

    def unlikely(share: float) -> float:
        gain, rest = share + bound, 1 - 2 * share - bound
        pairs = ((gained, gain), (lost, share), (items - gained - lost, rest))
        return -float(sum(count * np.log(max(chance, 1e-300)) for count, chance in pairs if count))

    ends = max(0.0, -bound), (1 - bound) / 2
    found = minimize_scalar(unlikely, bounds=ends, method="bounded", options={"xatol": 1e-13})
    share = min((float(found.x), *ends), key=unlikely)
    return float((gained - lost - items * bound) / np.sqrt(items * (2 * share + bound - bound**2)))


def brute(items: int, gained: int, lost: int, bound: float) -> float:
    """p by every outcome and 4,000 values of the nuisance."""
    reached = tango(items, gained, lost, bound) - 1e-6
    outcomes = [(g, f) for g, f in product(range(items + 1), repeat=2) if g + f <= items]
    high = np.array([each for each in outcomes if tango(items, *each, bound) >= reached])
    shares = np.linspace(max(0.0, -bound), (1 - bound) / 2, 4000)
    chances = np.column_stack([shares + bound, shares, 1 - 2 * shares - bound]).clip(0)
    counts = np.column_stack([high, items - high.sum(axis=1)])
    return max(float(multinomial.pmf(counts, items, chance / chance.sum()).sum()) for chance in chances)


@pytest.mark.parametrize(
    ("items", "gained", "lost", "bound"),
    [(12, 1, 0, -0.1), (12, 4, 1, 0.05), (25, 2, 1, -0.2), (20, 0, 0, -0.15), (30, 3, 4, -0.25)],
)
def test_p_is_that_of_every_outcome(items: int, gained: int, lost: int, bound: float) -> None:
    assert margins.paired_above(items, gained, lost, bound) == pytest.approx(
        brute(items, gained, lost, bound), rel=1e-3
    )


def test_eight_losses_of_sixty_are_more_than_five_points() -> None:
    score = tango(60, 8, 0, 0.05)
    assert norm.sf(score) == pytest.approx(0.0145, abs=2e-4)
    assert margins.paired_above(60, 8, 0, 0.05) == pytest.approx(0.0218, abs=2e-4)


@pytest.mark.parametrize(("items", "margin"), [(15, 0.05), (60, 0.03), (300, 0.01)])
def test_where_nothing_changes_it_is_a_power(items: int, margin: float) -> None:
    assert margins.paired_above(items, 0, 0, -margin) == pytest.approx((1 - margin) ** items, rel=1e-9)


@pytest.mark.parametrize("bound", [-0.1, 0.0, 0.1])
@pytest.mark.parametrize("items", [12, 40])
def test_the_size_is_at_most_alpha_by_every_outcome(items: int, bound: float) -> None:
    """At 400 values of the nuisance, and where p is said to be what it is."""
    outcomes = [(gain, loss) for gain, loss in product(range(items + 1), repeat=2) if gain + loss <= items]
    p = np.array([margins.paired_above(items, *each, bound) for each in outcomes])
    counts = np.array([(gain, loss, items - gain - loss) for gain, loss in outcomes])
    shares = np.linspace(max(0.0, -bound), (1 - bound) / 2, 400)
    worst = dict.fromkeys((0.01, 0.025, 0.05, 0.2), 0.0)
    for share in shares:
        chances = np.clip([share + bound, share, 1 - 2 * share - bound], 0, 1)
        likely = multinomial.pmf(counts, items, chances)
        for alpha in worst:
            worst[alpha] = max(worst[alpha], float(likely[p <= alpha].sum()))
    assert all(size <= alpha * (1 + 2e-3) for alpha, size in worst.items())
    if items == 40:
        assert worst[0.05] > 0.03


@settings(deadline=None, max_examples=60)
@given(st.integers(4, 120), st.data(), st.sampled_from([-0.2, -0.05, -0.013, 0.0, 0.1]))
def test_p_moves_one_way_in_the_counts_and_the_bound(items: int, data: st.DataObject, bound: float) -> None:
    gained = data.draw(st.integers(0, items - 1))
    lost = data.draw(st.integers(0, items - 1 - gained))
    here = margins.paired_above(items, gained, lost, bound)
    assert margins.paired_above(items, gained + 1, lost, bound) <= here * (1 + 1e-6)
    assert margins.paired_above(items, gained, lost + 1, bound) >= here * (1 - 1e-6)
    if lost:
        assert margins.paired_above(items, gained, lost - 1, bound) <= here * (1 + 1e-6)
    assert here <= margins.paired_above(items, gained, lost, bound + 0.004) * (1 + 1e-3)


@settings(deadline=None, max_examples=60)
@given(st.integers(4, 150), st.data(), st.sampled_from([0.01, 0.05]), st.integers(-30, 30))
def test_the_limit_is_where_p_passes_alpha(
    items: int, data: st.DataObject, alpha: float, half_points: int
) -> None:
    gained = data.draw(st.integers(0, items // 2))
    lost = data.draw(st.integers(0, items // 2))
    bound, limit = half_points / 200, margins.paired_lower_limit(items, gained, lost, alpha)
    assert (bound <= limit) is (margins.paired_above(items, gained, lost, bound) <= alpha)


def table(items: int, gained: int, lost: int) -> CaseTable:
    sums = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    held = np.array([gained, lost, items - gained - lost])
    return CaseTable(np.ones((3, 2))[held > 0], sums[held > 0], held[held > 0])


def test_margins_are_decided_by_it_where_units_are_items() -> None:
    """Units of two answers, or of parts of a point, have Gaffke's test as before."""
    single = table(80, 3, 6)
    assert margins.method(single, 1, 0) == margins.OF_ITEMS
    assert margins.above(single, 1, 0, -0.1) == margins.paired_above(80, 3, 6, -0.1)
    assert margins.below(single, 1, 0, 0.1) == margins.paired_above(80, 6, 3, -0.1)
    values = np.round(np.repeat([1.1, 0.1, -0.9], [3, 71, 6]), 12)
    for other in (
        CaseTable(2 * single.rows, 2 * single.sums, single.cases),
        CaseTable(single.rows, single.sums - [[0, 1e-9], [0, 0], [0, 1e-9]], single.cases),
    ):
        assert margins.method(other, 1, 0) == margins.METHOD
        assert margins.above(other, 1, 0, -0.1) == pytest.approx(mean_above_zero(values, -0.9), rel=1e-5)


def test_units_without_an_answer_in_either_arm_are_no_items() -> None:
    apart = CaseTable(
        np.array([[1.0, 1, 0], [0, 0, 3]]), np.array([[0.0, 1, 0], [0, 0, 1]]), np.array([9, 4])
    )
    assert margins.above(apart, 1, 0, -0.1) == margins.paired_above(9, 9, 0, -0.1)


@pytest.mark.parametrize(("items", "margin", "changing"), [(60, 0.11, 0.1), (295, 0.05, 0.1)])
def test_many_outcomes_at_once_are_decided_as_each_by_itself(
    items: int, margin: float, changing: float
) -> None:
    random = np.random.default_rng(4)
    drawn = random.multinomial(items, [changing / 2, changing / 2, 1 - changing], size=60)
    at_once = margins.paired_shown(items, drawn[:, 0], drawn[:, 1], -margin, 0.05)
    alone = [margins.paired_above(items, int(gain), int(loss), -margin) <= 0.05 for gain, loss, _ in drawn]
    assert 0 < sum(alone) < 60 and (at_once != alone).mean() <= 0.02


def test_of_one_item_and_at_the_ends() -> None:
    assert margins.paired_above(1, 1, 0, 0.5) == pytest.approx(0.75)
    assert margins.paired_above(1, 0, 1, -0.5) == 1.0
    assert margins.paired_lower_limit(1, 0, 0, 0.05) == pytest.approx(-0.95, abs=1e-6)
