"""Reachable orderings and tau_R, against hand-made grids, brute force and scipy."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations, permutations
from math import factorial
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gridc.statistics.envelope import PairCounts, concordance, count_orders, model_order, reachable

stats = pytest.importorskip("scipy.stats")

Rows = list[tuple[int | None, ...]]


def rows_of(models: int, least: int = 1, most: int = 8) -> st.SearchStrategy[Rows]:
    """Complete grids with many ties."""
    return st.lists(st.tuples(*[st.integers(0, 3)] * models), min_size=least, max_size=most)


def strict_rows(models: int, least: int = 1, most: int = 8) -> st.SearchStrategy[Rows]:
    """Complete grids without ties."""
    row = st.permutations(range(models)).map(lambda each: tuple(each))
    return st.lists(row, min_size=least, max_size=most)


ANY = st.integers(2, 5).flatmap(rows_of)
STRICT = st.integers(2, 4).flatmap(strict_rows)


def scores_of(rows: Rows) -> dict[str, dict[str, Fraction | None]]:
    """Row n is configuration `cn`; column k is model `mk`."""
    return {f"m{k}": {f"c{n}": _score(row[k]) for n, row in enumerate(rows)} for k in range(len(rows[0]))}


def _score(value: int | None) -> Fraction | None:
    return None if value is None else Fraction(value, 7)


def pairs_of(scores: Mapping[str, Mapping[str, Fraction | None]]) -> list[PairCounts]:
    return [count_orders(a, b, scores[a], scores[b]) for a, b in combinations(scores, 2)]


def test_orders_of_a_hand_made_grid_are_counted_three_ways() -> None:
    found = reachable(scores_of([(2, 1, 0), (2, 1, 0), (0, 1, 2), (1, 1, 0), (0, 0, 0)]))
    assert set(found.weak) == {
        (("m0",), ("m1",), ("m2",)),
        (("m2",), ("m1",), ("m0",)),
        (("m0", "m1"), ("m2",)),
        (("m0", "m1", "m2"),),
    }
    assert set(found.strict) == {(("m0",), ("m1",), ("m2",)), (("m2",), ("m1",), ("m0",))}
    assert found.by_name == 2  # both tied configurations read as m0, m1, m2
    assert (found.measured, found.models, found.possible) == (5, 3, 6)


def test_breaking_ties_by_name_counts_an_order_that_no_configuration_shows() -> None:
    found = reachable(scores_of([(1, 1), (0, 1)]))
    assert len(found.strict) == 1
    assert found.by_name == 2


def test_each_order_names_the_first_configuration_that_shows_it() -> None:
    found = reachable(scores_of([(1, 0), (0, 1), (0, 1)]))
    assert found.weak[(("m1",), ("m0",))] == "c1"


def test_tied_models_stand_in_one_group_by_name() -> None:
    row = {"z": Fraction(1, 2), "a": Fraction(2, 4), "k": Fraction(3, 4)}
    assert model_order(row) == (("k",), ("a", "z"))


def test_configurations_with_a_missing_score_show_no_order() -> None:
    found = reachable(scores_of([(1, 0), (None, 1), (0, None)]))
    assert found.measured == 1
    assert len(found.weak) == 1


def test_three_models_have_thirteen_weak_orders_and_six_strict_ones() -> None:
    rows: Rows = [(x, y, z) for x in range(3) for y in range(3) for z in range(3)]
    found = reachable(scores_of(rows))
    assert (len(found.weak), len(found.strict), found.by_name, found.possible) == (13, 6, 6, 6)


@given(ANY)
def test_counts_of_orders_stay_in_their_bounds(rows: Rows) -> None:
    found = reachable(scores_of(rows))
    assert len(found.strict) <= min(found.possible, len(rows))
    assert 1 <= found.by_name <= len(found.weak) <= len(rows)
    assert len(found.strict) <= found.by_name
    assert found.possible == factorial(found.models)


@given(STRICT)
def test_without_ties_one_ordering_is_the_same_as_no_reversal_of_any_pair(rows: Rows) -> None:
    scores = scores_of(rows)
    found = reachable(scores)
    assert len(found.weak) == len(found.strict) == found.by_name
    assert (len(found.strict) == 1) is all(pair.rho_flip == 0 for pair in pairs_of(scores))


@given(strict_rows(3, most=10))
def test_many_orderings_of_three_models_force_reversals_of_every_pair(rows: Rows) -> None:
    scores = scores_of(rows)
    orders = len(reachable(scores).strict)
    assert all(min(pair.plus, pair.minus) >= orders - 3 for pair in pairs_of(scores))


@given(st.integers(2, 4).flatmap(lambda n: st.tuples(rows_of(n), rows_of(n))))
def test_more_configurations_never_remove_an_ordering(both: tuple[Rows, Rows]) -> None:
    rows, more = both
    small, large = reachable(scores_of(rows)), reachable(scores_of(rows + more))
    assert small.weak.items() <= large.weak.items()
    assert small.strict.items() <= large.strict.items()
    assert small.by_name <= large.by_name


@given(ANY, st.randoms(use_true_random=False))
def test_the_order_of_configurations_does_not_matter(rows: Rows, random: Random) -> None:
    shuffled = random.sample(rows, len(rows))
    straight, turned = reachable(scores_of(rows)), reachable(scores_of(shuffled))
    assert straight.weak.keys() == turned.weak.keys()
    assert straight.by_name == turned.by_name
    tau, left_out = concordance(scores_of(rows))
    again, left_out_again = concordance(scores_of(shuffled))
    assert left_out == left_out_again
    assert (tau is None) is (again is None)
    if tau is not None and again is not None:
        assert tau == pytest.approx(again, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 5).flatmap(lambda n: rows_of(n, least=2)))
def test_tau_is_the_mean_tau_b_of_scipy_over_pairs_of_configurations(rows: Rows) -> None:
    kept = [row for row in rows if len(set(row)) > 1]
    tau, left_out = concordance(scores_of(rows))
    assert left_out == len(rows) - len(kept)
    if len(kept) < 2:
        assert tau is None
        return
    each = [float(stats.kendalltau(x, y, variant="b").statistic) for x, y in combinations(kept, 2)]
    assert tau == pytest.approx(sum(each) / len(each), abs=1e-9)
    assert tau is not None
    assert -1 / (len(kept) - 1) - 1e-12 <= tau <= 1 + 1e-12


@given(strict_rows(3, least=2))
def test_tau_of_three_models_follows_from_the_disagreements_of_the_pairs(rows: Rows) -> None:
    scores = scores_of(rows)
    tau, _ = concordance(scores)
    disagreements = [pair.disagreement or Fraction(0) for pair in pairs_of(scores)]
    assert tau == pytest.approx(1 - Fraction(2, 3) * sum(disagreements, Fraction(0)), abs=1e-12)


def test_tau_reaches_both_of_its_bounds() -> None:
    same, _ = concordance(scores_of([(2, 1, 0)] * 4))
    opposite, _ = concordance(scores_of([(1, 0), (0, 1)]))
    assert same == pytest.approx(1.0)
    assert opposite == pytest.approx(-1.0)
    every, _ = concordance(scores_of([tuple(each) for each in permutations(range(3))]))
    assert every == pytest.approx(-1 / 5)  # all six orders once: the sign vectors cancel


@given(rows_of(3, least=2))
def test_tau_leaves_out_what_was_not_measured(rows: Rows) -> None:
    assume(len(rows) > 1)
    holes: Rows = [*rows, (None, 1, 2), (1, 2, None)]
    assert concordance(scores_of(holes)) == concordance(scores_of(rows))
