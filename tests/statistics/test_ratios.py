"""Ratios of totals, the widest gap over levels, functions of totals and p-values of limits: counted again in
plain numpy and scipy."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import beta, binomtest, t

from gridc.statistics import total_ratios, totals, unbounded_means
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.of_totals import BEYOND, FEW, NOT_SMOOTH, UNMOVED, UNSEEN, of_totals
from gridc.statistics.strata import CHANGES, PartsStatistic
from gridc.statistics.total_ratios import NO_SUCCESS, NOTHING, ONE_UNIT
from gridc.statistics.unit_intervals import Ends, UnitEstimate, p_at
from gridc.statistics.widest_gap import widest_gap


def cost_ratio(unit: Whole, above: Floats, below: Floats) -> PartsStatistic:
    return total_ratios.ratio(unit, above, below, np.ones(len(unit)))


def ratio(unit: Whole, above: Floats, below: Floats, *, part_of: bool = False) -> UnitEstimate:
    """Of rows that all count."""
    return total_ratios.ratio(unit, above, below, np.ones(len(unit)), part_of=part_of).estimate()


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


def test_one_unit_has_a_ratio_and_no_interval() -> None:
    """Of fixed prices too, whose totals alone would have limits for any number of units."""
    alone = cost_ratio(np.zeros(5, np.int64), 3 * np.ones(5), np.ones(5))
    assert alone.estimate().value == 3 and alone.estimate().no_interval == ONE_UNIT
    apart = alone.minus(cost_ratio(np.zeros(5, np.int64), np.ones(5), np.ones(5)))
    assert (apart.value, apart.interval, apart.no_interval) == (2, None, ONE_UNIT)


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


def gaffke(points: Floats, rows: Floats, added: float) -> float:
    """The lower limit of a mean of shares by simulation: units, and one more that has nothing, get weights
    that are uniform on the simplex."""
    random = np.random.default_rng(11)
    drawn = random.standard_exponential((200_000, len(rows) + 1))
    means = (drawn[:, 1:] @ points) / (drawn[:, 1:] @ rows + drawn[:, 0] * added)
    return float(np.quantile(means, 0.025))


def test_a_unit_nobody_saw_is_as_large_and_as_heavy_as_any() -> None:
    """One unit of four rows is light, one of two rows is heavy: a heavy one of four rows may be missed."""
    rows = np.array([4.0, 2.0, *[1.0] * 28])
    weight = np.array([4.0, 20.0, *[1.0] * 28])
    found = np.array([4.0, 20.0, *[1.0] * 14, *[0.0] * 14])
    unit = np.repeat(np.arange(30), rows.astype(np.int64))
    shared = (weight / rows)[unit], (found / rows)[unit]
    low, high = ends(ratio(unit, shared[1], shared[0], part_of=True))
    assert low == pytest.approx(gaffke(found, weight, 40), abs=0.005)
    assert high == pytest.approx(1 - gaffke(weight - found, weight, 40), abs=0.005)


def paired(seed: int, count: int) -> tuple[Whole, Floats, Floats]:
    """The units of rows, and what they cost and what succeeds on two sides, (2, N) each."""
    random = np.random.default_rng(seed)
    won = random.random((2, count)) < np.array([[0.6], [0.4]])
    return np.arange(count), random.lognormal(0, 0.6, (2, count)), won.astype(np.float64)


def test_a_difference_of_ratios_by_hand() -> None:
    """Both intervals and their correlation, by the squares of how far each moves it; or Student's t."""
    unit, cost, won = paired(1, 90)
    sides = [cost_ratio(unit, *side) for side in zip(cost, won, strict=True)]
    found, back = sides[0].minus(sides[1]), sides[1].minus(sides[0])
    ratios = cost.sum(axis=1) / won.sum(axis=1)
    assert found.value == pytest.approx(ratios[0] - ratios[1])
    assert found.method == CHANGES and found.units == 90
    assert ends(back) == pytest.approx((-ends(found)[1], -ends(found)[0]), rel=1e-9)
    influence = (cost - ratios[:, None] * won) / won.sum(axis=1)[:, None]
    apart = influence[0] - influence[1]
    carried = (apart**2).sum() ** 2 / (apart**4).sum()
    student = t.ppf(0.975, carried - 1) * np.sqrt(90 / 89 * (apart**2).sum())
    together = (influence[0] @ influence[1]) / np.sqrt(
        (influence[0] @ influence[0]) * (influence[1] @ influence[1])
    )
    (low, high), (other_low, other_high) = (ends(side.estimate()) for side in sides)
    up, down = high - ratios[0], ratios[1] - other_low
    reach = np.sqrt(up**2 + down**2 - 2 * together * up * down)
    assert ends(found)[1] == pytest.approx(ratios[0] - ratios[1] + max(reach, student), rel=1e-6)
    down, up = ratios[0] - low, other_high - ratios[1]
    reach = np.sqrt(up**2 + down**2 - 2 * together * up * down)
    assert ends(found)[0] == pytest.approx(ratios[0] - ratios[1] - max(reach, student), rel=1e-6)


def test_a_difference_of_ratios_needs_successes_and_costs() -> None:
    unit, cost, won = paired(3, 30)
    sides = [cost_ratio(unit, *side) for side in zip(cost, won, strict=True)]
    nothing = cost_ratio(unit, cost[0], np.zeros(30))
    assert [each.minus(other).no_interval for each, other in ((sides[0], nothing), (nothing, sides[0]))] == [
        NO_SUCCESS
    ] * 2
    free = cost_ratio(unit, np.zeros(30), won[1])
    apart = sides[0].minus(free)
    assert (apart.value, apart.interval, apart.no_interval) == (sides[0].estimate().value, None, NOTHING)


@pytest.mark.parametrize("seed", range(12))
def test_a_difference_of_shares_agrees_with_mcnemars_exact_test(seed: int) -> None:
    random = np.random.default_rng(seed)
    unit, rows = np.arange(60), np.ones(60)
    one = (random.random(60) < 0.8).astype(np.float64)
    other = np.where(random.random(60) < 0.15, 0.0, one)
    low, high = ends(totals.share_of_rows(unit, rows, one).minus(totals.share_of_rows(unit, rows, other)))
    gained, lost = int((one > other).sum()), int((one < other).sum())
    p = binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert (low > 0 or high < 0) == (p < 0.05)


def test_a_difference_of_shares_of_other_rows_is_no_nearer_than_what_units_change() -> None:
    """Precision: both models call the same rows but for three."""
    random = np.random.default_rng(4)
    unit, right = np.arange(80), (random.random(80) < 0.7).astype(np.float64)
    called = np.ones((2, 80))
    called[1, :3] = 0
    sides = [totals.share_of_rows(unit, rows, rows * right) for rows in called]
    low, high = ends(sides[0].minus(sides[1]))
    moves, least, most = np.zeros(80), np.zeros(80), np.zeros(80)
    for sign, rows in zip((1, -1), called, strict=True):
        rate = (rows * right).sum() / rows.sum()
        moves += sign * rows * (right - rate) / rows.sum()
        edges = [sign * rows * (point - rate) / rows.sum() for point in (0, 1)]
        least, most = least + np.minimum(*edges), most + np.maximum(*edges)
    value = sum(sign * (rows * right).sum() / rows.sum() for sign, rows in zip((1, -1), called, strict=True))
    room = most - least
    added = float((room**2).sum() / room.sum())
    bottom = value + least.sum() + room.sum() * gaffke(moves - least, room, added)
    top = value + most.sum() - room.sum() * gaffke(most - moves, room, added)
    assert low <= bottom + 0.004 and high >= top - 0.004
    assert (low, high) == pytest.approx((bottom, top), abs=0.02)


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
