"""Ratios of totals, the widest gap over levels, functions of totals and p-values of limits: counted again in
plain numpy and scipy."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import beta, binomtest, t

from gridc.statistics import unbounded_means
from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.of_totals import BEYOND, FEW, NOT_SMOOTH, UNMOVED, UNSEEN, of_totals
from gridc.statistics.total_ratios import METHOD, NO_COST, NO_SUCCESS, NOTHING, ratio, ratio_gap
from gridc.statistics.unit_intervals import Ends, UnitEstimate, p_at
from gridc.statistics.widest_gap import widest_gap


def first_of(count: int, ones: int) -> Floats:
    return np.where(np.arange(count) < ones, 1.0, 0.0)


def ends(found: UnitEstimate) -> Ends:
    assert found.interval is not None, found.no_interval
    assert found.value is not None and found.interval[0] <= found.value <= found.interval[1]
    return found.interval


def clopper_pearson(x: int, n: int, error: float = 0.05) -> Ends:
    low = float(beta.ppf(error / 2, x, n - x + 1)) if x else 0.0
    return low, float(beta.ppf(1 - error / 2, x + 1, n - x)) if x < n else 1.0


def test_a_cost_per_success_by_hand() -> None:
    """Two limits and their correlation, by the squares of how far each moves the logarithm."""
    random = np.random.default_rng(5)
    won = random.random(120) < 0.4
    cost = random.lognormal(0, 0.7, 120) * np.where(won, 1, 2)
    rows = np.arange(120)
    low, high = ends(ratio(rows, cost, won.astype(np.float64)))
    of_cost = unbounded_means.mean(rows, np.ones(120), cost).interval
    assert of_cost is not None
    of_won = clopper_pearson(int(won.sum()), 120)
    together = np.corrcoef(cost, won)[0, 1]
    influence = cost / cost.mean() - won / won.mean()
    carried = (influence**2).sum() ** 2 / (influence**4).sum()
    student = t.ppf(0.975, carried - 1) * influence.std(ddof=1) / np.sqrt(120)

    def reach(of_above: float, of_below: float) -> float:
        parts = np.sqrt(of_above**2 + of_below**2 - 2 * together * of_above * of_below)
        return float(max(parts, student))

    value = cost.sum() / won.sum()
    up = reach(np.log(of_cost[1] / cost.mean()), np.log(won.mean() / of_won[0]))
    down = reach(np.log(cost.mean() / of_cost[0]), np.log(of_won[1] / won.mean()))
    assert up > student
    assert (low, high) == pytest.approx((value * np.exp(-down), value * np.exp(up)), rel=1e-6)


def test_a_scale_changes_nothing_else() -> None:
    """Costs in cents: nothing is read from how large they are beside 1."""
    random = np.random.default_rng(6)
    cost, won = random.lognormal(-3, 0.5, 60), (random.random(60) < 0.9).astype(np.float64)
    dollars, cents = ratio(np.arange(60), cost, won), ratio(np.arange(60), 100 * cost, won)
    assert ends(cents) == pytest.approx(tuple(100 * end for end in ends(dollars)), rel=1e-6)
    assert dollars.method == cents.method


def test_one_success_leaves_the_upper_end_far_away() -> None:
    cost = np.random.default_rng(7).lognormal(0, 0.1, 100)
    found = ratio(np.arange(100), cost, first_of(100, 1))
    assert found.value == pytest.approx(cost.sum())
    assert ends(found)[1] > cost.mean() / clopper_pearson(1, 100)[0]


def test_all_successes_leave_the_upper_end_open_by_what_was_not_seen() -> None:
    cost = np.random.default_rng(8).lognormal(0, 0.01, 60)
    found = ends(ratio(np.arange(60), cost, np.ones(60)))
    assert found[1] > cost.mean() / clopper_pearson(60, 60)[0]


def test_what_is_not_determined_or_has_no_interval_says_why() -> None:
    rows, cost = np.arange(30), np.random.default_rng(9).lognormal(0, 1, 30)
    none = ratio(rows, cost, np.zeros(30))
    assert (none.value, none.interval, none.no_interval) == (None, None, NO_SUCCESS)
    free = ratio(rows, np.zeros(30), np.ones(30))
    assert (free.value, free.no_interval) == (0.0, NOTHING)
    few = ratio(rows[:12], cost[:12], np.ones(12))
    assert few.no_interval == "worth 12.0 equal units, and values without an upper end need 20"
    assert few.value == pytest.approx(cost[:12].mean())
    nothing = ratio(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    assert (nothing.value, nothing.units) == (None, 0)
    with pytest.raises(ValueError, match="0 or more"):
        ratio(rows, -cost, np.ones(30))
    with pytest.raises(ValueError, match="part"):
        ratio(rows, 2 * np.ones(30), np.ones(30), part_of=True)


def test_rows_that_cost_alike_are_a_share_of_the_largest_cost() -> None:
    """Whether a row costs anything is then as sure as a share is."""
    found = ratio(np.arange(40), 3 * np.ones(40), first_of(40, 20))
    low, high = clopper_pearson(20, 40)
    assert ends(found)[0] < 6 * 0.5 / high and ends(found)[1] == pytest.approx(6 * 0.5 / low, rel=1e-6)


def test_weighted_recall_is_a_share_of_its_weights() -> None:
    found = ratio(np.arange(20), 5 * first_of(20, 19), 5 * np.ones(20), part_of=True)
    assert ends(found) == pytest.approx(clopper_pearson(19, 20), rel=1e-8)
    everything = ratio(np.arange(20), np.ones(20), np.ones(20), part_of=True)
    assert ends(everything) == pytest.approx(clopper_pearson(20, 20), rel=1e-8)


def paired(seed: int, count: int) -> tuple[Whole, Flags, Floats, Floats]:
    """The rows of two sides on the same units: the unit, which side, what they cost, and what succeeds."""
    random = np.random.default_rng(seed)
    won = random.random((2, count)) < np.array([[0.6], [0.4]])
    cost = random.lognormal(0, 0.6, (2, count))
    other = np.repeat([False, True], count)
    return np.tile(np.arange(count), 2), other, cost.ravel(), won.ravel().astype(np.float64)


def test_a_ratio_of_ratios_turns_around_and_is_at_least_students() -> None:
    unit, other, cost, won = paired(1, 90)
    one, back = ratio_gap(unit, other, cost, won), ratio_gap(unit, ~other, cost, won)
    ratios = [cost[side].sum() / won[side].sum() for side in (~other, other)]
    assert one.value == pytest.approx(ratios[0] / ratios[1])
    assert one.method == METHOD and one.units == 90
    assert ends(back) == pytest.approx((1 / ends(one)[1], 1 / ends(one)[0]), rel=1e-6)
    y, b = cost.reshape(2, 90), won.reshape(2, 90)
    influence = y[0] / y[0].mean() - b[0] / b[0].mean() - y[1] / y[1].mean() + b[1] / b[1].mean()
    half = t.ppf(0.975, 89) * influence.std(ddof=1) / np.sqrt(90)
    assert np.log(ends(one)[1] / ratios[0] * ratios[1]) >= half - 1e-9


def test_a_ratio_of_ratios_of_one_model_with_itself_is_one_and_not_for_sure() -> None:
    unit, other, cost, won = paired(2, 90)
    same = ratio_gap(unit, other, np.tile(cost[:90], 2), np.tile(won[:90], 2))
    assert same.value == 1 and ends(same)[0] < 1 < ends(same)[1]


def test_a_ratio_of_ratios_needs_successes_and_costs() -> None:
    unit, other, cost, won = paired(3, 30)
    assert ratio_gap(unit, other, cost, won * other).no_interval == NO_SUCCESS
    assert ratio_gap(unit, other, cost, won * ~other).no_interval == NO_SUCCESS
    assert ratio_gap(unit, other, cost * ~other, won).no_interval == NO_COST
    assert ratio_gap(unit, other, cost * other, won).no_interval == NOTHING


def normal_limits(values: list[float], error: float) -> Callable[[int, int, float], Ends]:
    def limits(a: int, b: int, level: float) -> Ends:
        half = float(-ndtri((1 - level) / 2)) * error
        return values[a] - values[b] - half, values[a] - values[b] + half

    return limits


def test_the_widest_gap_by_hand() -> None:
    values = [0.3, 0.9, 0.5, 0.45]
    gap, found = widest_gap(values, normal_limits(values, 0.1))
    assert gap == pytest.approx(0.6) and found is not None
    pairs = len(list(combinations(values, 2)))
    assert found[0] == pytest.approx(0.6 - 0.1 * ndtri(1 - 0.025 / pairs / 2), rel=1e-6)
    assert found[1] == pytest.approx(0.6 + 0.1 * ndtri(0.975), rel=1e-6)


def test_the_widest_gap_of_levels_that_are_alike_is_not_told_from_none() -> None:
    values = [0.5, 0.52, 0.49]
    gap, found = widest_gap(values, normal_limits(values, 0.1))
    assert gap == pytest.approx(0.03) and found is not None and found[0] == 0 and found[1] > 0.03
    assert widest_gap(values, lambda a, b, level: None)[1] is None
    with pytest.raises(ValueError, match="two values"):
        widest_gap([0.5], normal_limits([0.5], 0.1))


def test_the_ends_of_the_widest_gap_hold() -> None:
    """Correlated normal values, simulated plainly: each end at most .025, of equal and unequal levels."""
    random = np.random.default_rng(4)
    for truth in (np.zeros(6), np.array([0, 0, 0, 0, 0, 1.0]), np.linspace(0, 1, 6)):
        missed = np.zeros(2)
        for _ in range(1000):
            values = (truth + 0.2 * random.standard_normal(6)).tolist()
            _, found = widest_gap(values, normal_limits(values, 0.2 * 2**0.5))
            assert found is not None
            missed += np.array([found[0] > np.ptp(truth), found[1] < np.ptp(truth)])
        assert (missed / 1000 <= 0.035).all()


def fixed(low: float, high: float) -> Callable[[float], Ends | None]:
    return lambda level: (low, high)


@pytest.mark.parametrize(("x", "n", "null"), [(3, 40, 0.2), (30, 40, 0.6), (12, 40, 0.3), (0, 40, 0.05)])
def test_p_is_where_the_limits_of_clopper_and_pearson_reach_a_value(x: int, n: int, null: float) -> None:
    p = p_at(lambda level: clopper_pearson(x, n, 1 - level), null)
    tails = [binomtest(x, n, null, alternative=side).pvalue for side in ("less", "greater")]
    assert p == pytest.approx(min(1.0, 2 * min(tails)), rel=1e-5)


def test_p_at_its_edges() -> None:
    assert p_at(lambda level: None, 0.0) == 1.0
    assert p_at(fixed(-1, 1), 0.0) == 1.0
    assert p_at(fixed(1, 2), 0.0) == 1e-9, "no smaller p is sought"

    def wider_and_not(level: float) -> Ends:
        """Leaves 0 out from an error of .03 on, and at errors from .004 to .006."""
        error = 1 - level
        return (0.1, 1) if error > 0.03 or 0.004 < error < 0.006 else (-0.1, 1)

    assert p_at(wider_and_not, 0.0) == pytest.approx(0.03, rel=1e-5)


def share_of(sums: Floats) -> Floats:
    share: Floats = sums[:, 0] / sums[:, 1]
    return share


def test_a_function_of_totals_has_nearly_the_limits_of_what_it_is() -> None:
    """A share, written by hand: the unit that nobody saw can do no more than these."""
    right = first_of(200, 150)
    found = of_totals(share_of, np.column_stack([right, np.ones(200)]))
    exact = clopper_pearson(150, 200)
    assert found.value == 0.75
    assert ends(found)[0] <= exact[0] + 0.002 and ends(found)[1] >= exact[1] - 0.002
    assert ends(found)[1] - ends(found)[0] <= 1.35 * (exact[1] - exact[0])


def test_a_quotient_of_few_successes_bends() -> None:
    """Four successes of 100: the slope alone says at most twice the value."""
    found = of_totals(lambda sums: sums[:, 1] / sums[:, 0], np.column_stack([first_of(100, 4), np.ones(100)]))
    assert found.value == 25 and found.few
    assert ends(found)[1] >= 0.95 / clopper_pearson(4, 100)[0]


def test_a_function_without_a_slope_has_no_interval() -> None:
    right = first_of(60, 30)
    columns = np.column_stack([right, np.ones(60)])

    def kinked(sums: Floats) -> Floats:
        return np.abs(share_of(sums) - 0.5)

    def stepped(sums: Floats) -> Floats:
        return np.where(share_of(sums) >= 0.5, 1.0, 0.0)

    def flat(sums: Floats) -> Floats:
        return np.ones(len(sums))

    def missing(sums: Floats) -> Floats:
        return np.where(np.isclose(sums[:, 0], 30, rtol=1e-9), 1.0, np.nan)

    assert of_totals(kinked, columns).no_interval == NOT_SMOOTH
    assert of_totals(stepped, columns).no_interval == NOT_SMOOTH
    assert of_totals(flat, columns).no_interval == UNMOVED
    assert of_totals(missing, columns).no_interval == NOT_SMOOTH
    assert of_totals(share_of, columns[:19]).no_interval == FEW


def test_a_function_of_totals_at_its_edges() -> None:
    empty = np.column_stack([first_of(60, 40), np.zeros(60)])
    found = of_totals(lambda sums: sums[:, 0] / (sums[:, 0] + sums[:, 1]), empty)
    assert (found.value, found.no_interval) == (1.0, UNSEEN)
    undefined = of_totals(share_of, empty)
    assert (undefined.value, undefined.no_interval) == (None, "not determined")
    nobody = of_totals(share_of, np.zeros((0, 2)))
    assert (nobody.value, nobody.units) == (None, 0)
    right = np.column_stack([first_of(60, 40), np.ones(60)])
    cut = of_totals(lambda sums: np.where(share_of(sums) < 0.6, np.nan, share_of(sums)), right)
    assert cut.no_interval == BEYOND
