"""The corners that a mutation run found untried: `make mutants` changes the code, and a test must notice.

Oracles: enumeration of every resample, scipy, statsmodels, exact fractions.
"""

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations, permutations, product
from statistics import stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, hypergeom, kendalltau

from gridc.statistics.envelope import (
    RESAMPLES,
    Direction,
    cfr_interval,
    concordance,
    count_orders,
    disperse,
    draws,
    flip_rate,
    goodness,
    max_cfr_interval,
    max_statistic,
    mismatch,
    model_order,
    percentiles_of,
    reachable,
    sdi_interval,
    tau_interval,
)
from gridc.statistics.paired_runs import Delta, by_level, pair_levels, summarise_differences, unit_test
from gridc.statistics.variance import MODEL, decompose

Rows = dict[str, dict[str, Fraction | None]]


def scores(*rows: tuple[int, ...]) -> Rows:
    """Scores of models a, b, c ... from one row of whole numbers for each configuration."""
    return {
        model: {str(place): Fraction(row[number], 10) for place, row in enumerate(rows)}
        for number, model in enumerate("abcd"[: len(rows[0])])
    }


ROWS = ((3, 2, 1), (1, 2, 2), (2, 3, 1), (2, 2, 1))


def tau_of(rows: list[tuple[int, ...]]) -> float:
    taus = [kendalltau(one, other, variant="b").statistic for one, other in combinations(rows, 2)]
    return float(np.mean(taus))


def percentiles(values: list[float]) -> tuple[float, float]:
    """The values below which 2.5 and 97.5 % of them lie."""
    ordered = sorted(values)
    return ordered[int(0.025 * len(values))], ordered[int(0.975 * len(values))]


def test_the_range_of_tau_is_that_of_every_resample() -> None:
    """All 4^4 resamples of four configurations, each tau by scipy."""
    every = list(product(range(4), repeat=4))
    expected = percentiles([round(tau_of([ROWS[at] for at in row]), 10) for row in every])
    found = tau_interval(scores(*ROWS), np.array(every))
    assert found.point == pytest.approx(tau_of(list(ROWS)))
    assert (found.low, found.high) == pytest.approx(expected)
    assert found.dropped == 0


def test_the_range_of_tau_is_drawn_with_its_seed() -> None:
    drawn = tau_interval(scores(*ROWS), seed=5)
    assert drawn == tau_interval(scores(*ROWS), draws(4, RESAMPLES, 5))
    assert drawn == tau_interval(scores(*ROWS), seed=5)
    few = [tau_interval(scores(*ROWS), draws(4, 3, seed)) for seed in range(20)]
    assert len({(each.low, each.high) for each in few}) > 1
    assert tau_interval(scores(*ROWS)) == tau_interval(scores(*ROWS), draws(4, RESAMPLES, 0))


def test_two_configurations_have_a_tau_and_one_has_none() -> None:
    two = tau_interval(scores((1, 2), (2, 1)), np.array([[0, 1], [0, 0]]))
    assert (two.point, two.low, two.high) == (-1.0, -1.0, 1.0)
    one = tau_interval(scores((1, 2), (1, 1)))
    assert (one.point, one.low, one.high, one.dropped) == (None, None, None, 0)


def test_tau_is_never_above_one() -> None:
    same = scores(*[(k, k + 1, k + 1, k + 3) for k in range(7)])
    tau, _ = concordance(same)
    found = tau_interval(same)
    assert tau == pytest.approx(1)
    assert found.high == 1.0
    for rows in (3, 5, 6, 7, 11, 13):
        for row in ((1, 2, 2), (1, 2, 3), (2, 1, 1, 3)):
            tau, _ = concordance(scores(*[row] * rows))
            assert tau is not None
            assert tau <= 1


def test_the_range_of_sdi_is_that_of_every_resample() -> None:
    values = [Fraction(k, 7) for k in (1, 2, 2, 6)]
    every = list(product(range(4), repeat=4))
    expected = percentiles([
        float((max(drawn) - min(drawn)) * 4 / sum(drawn))
        for row in every
        for drawn in [[values[at] for at in row]]
    ])  # fmt: skip
    found = sdi_interval(values, np.array(every))
    assert (found.low, found.high) == pytest.approx(expected)
    assert found.point == pytest.approx(5 / 7 * 4 / (11 / 7))
    narrow = sdi_interval(values, np.array(every), level=0.5)
    assert narrow.low is not None
    assert narrow.high is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= narrow.low <= narrow.high <= found.high
    assert narrow != found


def test_an_sdi_without_a_mean_is_no_number() -> None:
    found = sdi_interval([Fraction(0), Fraction(0)], draws(2, 10, 0))
    assert (found.point, found.low, found.high, found.dropped) == (None, None, None, 10)


def test_a_range_takes_what_is_defined() -> None:
    found = percentiles_of(0.5, np.array([np.nan, 0.1, 0.3]), 0.0)
    assert (found.point, found.low, found.high, found.dropped) == (0.5, 0.3, 0.3, 1)
    assert percentiles_of(None, np.array([0.1, 0.2])).point is None
    nothing = percentiles_of(0.25, np.array([np.nan] * 3))
    assert (nothing.point, nothing.low, nothing.dropped) == (0.25, None, 3)


@pytest.mark.parametrize("level", [0.0, 0.2, 0.5, 0.8, 0.9])
@pytest.mark.parametrize("passing", [0, 1, 2])
def test_the_flip_rate_of_two_configurations(passing: int, level: float) -> None:
    """k of two pass: rate 1 where exactly one does. All four resamples, in exact shares."""
    rates = sorted(float(sum(drawn) == 1) for drawn in product([1] * passing + [0] * (2 - passing), repeat=2))
    tail = Fraction(str(round((1 - level) / 2, 6)))
    cumulated = [
        next(rate for n, rate in enumerate(rates, 1) if Fraction(n, 4) >= end) for end in (tail, 1 - tail)
    ]
    for found in (cfr_interval(passing, 2, level), max_cfr_interval([(passing, 2)], level)):
        assert found.point == float(passing == 1)
        assert [found.low, found.high] == cumulated


def test_the_maximum_over_slices_of_different_size() -> None:
    """Every resample of both slices, weighted alike: 4 x 27 of them."""
    one, other = [1, 0], [1, 0, 0]
    largest = sorted(
        max(float(sum(a) == 1), 2 * sum(b) * (3 - sum(b)) / 6)
        for a in product(one, repeat=2)
        for b in product(other, repeat=3)
    )
    for level in (0.3, 0.6, 0.9, 0.95):
        tail = Fraction(str(round((1 - level) / 2, 6)))
        ends = [
            next(v for n, v in enumerate(largest, 1) if Fraction(n, len(largest)) >= end)
            for end in (tail, 1 - tail)
        ]
        found = max_cfr_interval([(1, 2), (1, 3)], level)
        assert [found.low, found.high] == pytest.approx(ends)
        assert found.point == 1.0


def test_the_maximum_of_negative_values_is_not_zero() -> None:
    found = max_statistic([np.array([-3.0, -2.0]), np.array([np.nan, -5.0])], [-2.0, -4.0])
    assert (found.point, found.low, found.high) == (-2.0, -3.0, -2.0)


def test_lower_is_better_turns_scores_and_keeps_what_is_missing() -> None:
    rows: Mapping[str, Mapping[str, Fraction | None]] = {
        "a": {"x": Fraction(1, 3), "y": None}, "b": {"x": Fraction(1, 2), "y": Fraction(0)}
    }  # fmt: skip
    assert goodness(rows, Direction()) == rows
    assert goodness(rows, Direction(lower=True)) == {
        "a": {"x": Fraction(-1, 3), "y": None},
        "b": {"x": Fraction(-1, 2), "y": 0},
    }
    assert list(reachable(goodness(rows, Direction(lower=True))).weak) == [(("a",), ("b",))]
    assert reachable(goodness(rows, Direction(lower=True))).measured == 1


def test_mismatch_counts_pairs_of_configurations_by_hand() -> None:
    found = mismatch(scores(*ROWS, (3, 2, 1)))
    orders = [
        model_order({model: Fraction(value) for model, value in zip("abc", row, strict=True)})
        for row in (*ROWS, (3, 2, 1))
    ]
    differ = sum(one != other for one, other in combinations(orders, 2))
    assert found.pairs == 10
    assert found.weak == Fraction(differ, 10)
    named = [tuple(sorted("abc", key=lambda m: (-row["abc".index(m)], m))) for row in (*ROWS, (3, 2, 1))]
    assert found.by_name == Fraction(sum(one != other for one, other in combinations(named, 2)), 10)
    assert found.weak != found.by_name
    alone = mismatch(scores((3, 2, 1)))
    assert (alone.pairs, alone.weak, alone.by_name) == (0, None, None)


@given(st.lists(st.sampled_from([-1, 0, 1, None]), min_size=1, max_size=9))
def test_what_follows_from_the_signs_of_a_pair(signs: list[int | None]) -> None:
    """Majority, minority bound and expected search, each by going through every case."""
    one = {str(place): None if sign is None else Fraction(1 + sign, 2) for place, sign in enumerate(signs)}
    found = count_orders("a", "b", one, {place: Fraction(1, 2) for place in one})
    plus, minus, size = signs.count(1), signs.count(-1), len(signs)
    assert found.majority == (1 if plus > minus else -1 if minus > plus else 0)
    drawn = size - signs.count(None)
    if drawn == size or (plus > 0) is (minus > 0):
        assert found.minority_bound is None
    else:
        likely = [k for k in range(size - drawn + 1) if hypergeom.pmf(0, size, k, drawn) > 0.05 + 1e-12]
        assert found.minority_bound == max(likely)
    if not (plus and minus and drawn == size):
        assert found.until_both is None
        return
    steps = [  # of every place of the first plus and of the first minus
        max(first_plus, first_minus) + 1
        for order in set(permutations(sign or 0 for sign in signs[:7]))
        for first_plus, first_minus in [(order.index(1), order.index(-1))]
    ] if size <= 7 else []  # fmt: skip
    assert not steps or found.until_both == pytest.approx(np.mean(steps))


def test_a_score_at_the_mark_passes_in_either_direction() -> None:
    values = [Fraction(k, 10) for k in (1, 5, 5, 9)]
    assert (flip_rate(values, 0.5).passing, flip_rate(values, 0.5, True).passing) == (3, 3)
    assert (flip_rate(values, 0.4).passing, flip_rate(values, 0.4, True).passing) == (3, 1)


def test_summaries_count_what_is_over_five_and_ten_points() -> None:
    deltas = [Fraction(k, 1000) for k in (50, -50, 51, -100, 100, 101, -109, 110, 0)]
    found = summarise_differences(deltas)
    assert (found.over_5, found.over_10) == (6, 3)
    assert found.sd == pytest.approx(stdev(float(each) for each in deltas))
    pair = summarise_differences([Fraction(1, 4), Fraction(1, 2)])
    assert pair.sd == pytest.approx(stdev([0.25, 0.5]))
    assert summarise_differences([Fraction(1, 4)]).sd is None


def test_an_axis_with_one_level_says_nothing_apart() -> None:
    cells = [Delta({"model": model, "decoding": "greedy"}, Fraction(0), Fraction(1, 5)) for model in "ab"]
    assert [(row.axis, row.level, row.summary.n) for row in by_level(cells)] == [
        ("model", "a", 1),
        ("model", "b", 1),
    ]


def test_single_items_are_tested_by_the_binomial_test_of_what_changed() -> None:
    before, after = np.array([0, 0, 0, 1, 1, 0, 1]), np.array([1, 1, 1, 0, 1, 0, 1])
    assert unit_test(before, after, np.arange(7)) == pytest.approx(binomtest(3, 4).pvalue)
    assert unit_test(before, before, np.arange(7)) == 1.0


def test_items_of_one_unit_are_one_piece_of_evidence() -> None:
    """Of three units of five items of which one lost all: by items p is 1/16, by units nothing is shown. A
    unit's own p is that of a mean of three values (Gaffke's, by its definition: weights on the simplex)."""
    before, after = np.ones(15, np.int64), np.r_[np.zeros(5, np.int64), np.ones(10, np.int64)]
    units = np.arange(15) // 5
    assert unit_test(before, after, np.arange(15)) == pytest.approx(2 / 2**5)
    assert unit_test(before, after, units) > 0.5
    weights = np.random.default_rng(3).dirichlet(np.ones(13), 200_000)
    moved = np.r_[np.ones(9), np.zeros(3), -1.0]  # nine of twelve units rise, and one more fell
    p = 2 * float((weights @ moved <= 0).mean())
    before, after = np.zeros(24, np.int64), np.r_[np.ones(18, np.int64), np.zeros(6, np.int64)]
    assert unit_test(before, after, np.arange(24) // 2) == pytest.approx(p, rel=0.15, abs=2e-5)


def test_cells_of_one_side_are_named() -> None:
    cells = [
        ({"model": "m", "side": side, "shots": shots}, Fraction(1, 2))
        for side, shots in (("l", "0"), ("r", "0"), ("l", "3"), ("r", "5"))
    ]
    found = pair_levels(cells, "side", "l", "r")
    assert found.only_before == ({"model": "m", "shots": "3"},)
    assert found.only_after == ({"model": "m", "shots": "5"},)


FACTORS = {MODEL: ["a", "a", "b", "b"], "shots": ["0", "3", "0", "3"]}


def test_a_grid_without_residual_has_no_omega() -> None:
    found = decompose([1.0, 2.0, 3.0, 5.0], FACTORS, "III")
    assert found is not None
    assert (found.type, found.n, found.residual_df) == ("III", 4, 0)
    assert [term.omega2 for term in found.terms] == [None] * 3
    assert found.total == pytest.approx(8.75)


def test_the_terms_can_be_chosen() -> None:
    """Main effects alone: the interaction is the residual. Sums of squares of a 2 x 2 grid by hand."""
    found = decompose([1.0, 2.0, 3.0, 5.0], FACTORS, "II", [(MODEL,), ("shots",)])
    assert found is not None
    squares = {term.term: term.sum_of_squares for term in found.terms}
    assert squares == pytest.approx({(MODEL,): 6.25, ("shots",): 2.25})
    assert found.residual == pytest.approx(0.25)
    assert [term.omega2 for term in found.terms] == pytest.approx([(6.25 - 0.25) / 9, (2.25 - 0.25) / 9])


def test_two_scores_of_two_models_are_a_decomposition() -> None:
    found = decompose([0.25, 0.75], {MODEL: ["a", "b"]}, "II", [(MODEL,)])
    assert found is not None
    assert (found.residual_df, found.balanced) == (0, True)
    assert found.model == pytest.approx(1)
    assert decompose([0.5, 0.5], {MODEL: ["a", "b"]}, "II", [(MODEL,)]) is None


def test_balance_is_equal_counts_of_every_pair_of_levels() -> None:
    values = [0.1, 0.2, 0.4, 0.8, 0.9]
    uneven = {MODEL: ["a", "a", "b", "b", "b"], "shots": ["0", "3", "0", "3", "3"]}
    found = decompose(values, uneven, "II", [(MODEL,), ("shots",)])
    assert found is not None
    assert not found.balanced


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: disperse([]), "^no scores$"),
        (lambda: summarise_differences([]), "^no differences$"),
        (
            lambda: count_orders("a", "b", {}, {}),
            "^both models need scores for the same, non-empty envelope$",
        ),
        (lambda: decompose([1.0], {MODEL: ["a", "b"]}), "^every factor needs one level for each score$"),
    ],
)
def test_what_cannot_be_computed_says_why(call: object, words: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=words):
        call()
