"""Exact tests and the claims built from them, against brute force and against other libraries."""

from fractions import Fraction
from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from gridc.statistics import exact_tests

ALPHA = 0.05


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test_of_the_discordant_items(b: int, c: int) -> None:
    found = exact_tests.mcnemar_tests(np.array([[1] * b + [-1] * c + [0] * 5]))
    assert (found.kind, found.ahead[0], found.behind[0]) == ("mcnemar", b, c)
    if b + c:
        assert found.plus[0] == pytest.approx(stats.binomtest(b, b + c, alternative="greater").pvalue)
        assert found.minus[0] == pytest.approx(stats.binomtest(c, b + c, alternative="greater").pvalue)
        assert exact_tests.mcnemar_two_sided(b, c) == pytest.approx(stats.binomtest(b, b + c).pvalue)
    else:
        assert (found.plus[0], found.minus[0], exact_tests.mcnemar_two_sided(0, 0)) == (1.0, 1.0, 1.0)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_that_of_statsmodels(p: list[float]) -> None:
    assert exact_tests.holm(p) == pytest.approx(list(multipletests(p, method="holm")[1]))


def test_claims_that_are_not_listed_count_in_the_family() -> None:
    assert exact_tests.holm([0.01, 0.02], size=4) == pytest.approx([0.04, 0.06])


def test_a_direction_somewhere_pays_for_the_search_and_everywhere_is_as_weak_as_its_weakest() -> None:
    p = np.array([0.001, 0.9, 0.5])
    assert exact_tests.somewhere(p, "mcnemar", 3) == pytest.approx(0.003)
    assert exact_tests.somewhere(p, "mcnemar", 5) == pytest.approx(0.005)
    assert exact_tests.everywhere(p) == 0.9
    e = np.array([40.0, 0.5, 1.5])
    assert exact_tests.somewhere(1 / e, "betting", 3) == pytest.approx(1 / e.mean())
    assert exact_tests.somewhere(1 / e, "betting", 3) <= exact_tests.somewhere(1 / e, "mcnemar", 3)
    assert exact_tests.everywhere(1 / e) == 1.0
    assert exact_tests.somewhere(np.ones(0), "mcnemar", 0) == exact_tests.everywhere(np.ones(0)) == 1.0


def test_an_ordering_is_as_strong_as_its_weakest_neighbours_in_its_best_configuration() -> None:
    plus = {pair: np.array([0.9, 0.9]) for pair in permutations("abc", 2)}
    plus["a", "b"], plus["b", "c"] = np.array([0.01, 0.001]), np.array([0.02, 0.5])
    assert exact_tests.ordering_p("abc", plus, "mcnemar") == pytest.approx(0.04)
    assert exact_tests.ordering_p("abc", plus, "betting") == pytest.approx(2 / (1 / 0.02 + 1 / 0.5))
    assert exact_tests.orderings("abcdef") == []
    assert len(exact_tests.orderings("abc")) == 6


def test_the_rho_interval_is_bounded_by_what_is_named() -> None:
    assert exact_tests.rho_interval(4, 2, 10, True) == (Fraction(2, 10), Fraction(5, 10))
    assert exact_tests.rho_interval(4, 2, 10, False) == (Fraction(0), Fraction(5, 10))
    assert exact_tests.rho_interval(8, 0, 10, False) == (Fraction(0), Fraction(2, 10))


@pytest.mark.parametrize(
    ("discordance", "one", "family"), [(0.1, 6.1, 7.5), (0.2, 8.5, 10.5), (0.3, 10.2, 12.9)]
)
def test_the_smallest_gap_of_295_items(discordance: float, one: float, family: float) -> None:
    for level, expected in ((ALPHA / 48, one), (ALPHA / 48 / 15, family)):
        found = exact_tests.mcnemar_gap(295, discordance, level)
        assert found is not None
        assert round(100 * found, 1) == expected
    assert exact_tests.mcnemar_gap(5, 1.0, 1e-6) is None


@given(st.integers(1, 60), st.data())
def test_the_minority_bound_inverts_the_hypergeometric_law(size: int, data: st.DataObject) -> None:
    drawn = data.draw(st.integers(0, size))
    bound = exact_tests.minority_bound(size, drawn)

    def unseen(minority: int) -> Fraction:
        return Fraction(comb(size - minority, drawn), comb(size, drawn))

    assert unseen(bound) > Fraction(1, 20)
    assert bound == size - drawn or unseen(bound + 1) <= Fraction(1, 20)


def test_24_of_48_without_a_reversal_leave_at_most_4() -> None:
    assert exact_tests.minority_bound(48, 24) == 4


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2))
def test_the_expected_search_is_the_mean_over_all_orders(plus: int, minus: int, ties: int) -> None:
    signs = [1] * plus + [-1] * minus + [0] * ties
    n = len(signs)
    lengths = []
    for places in combinations(range(n), plus):
        for others in combinations([each for each in range(n) if each not in places], minus):
            lengths.append(max(min(places), min(others)) + 1)
    found = exact_tests.expected_until_both(plus, minus, n)
    assert found == pytest.approx(sum(lengths) / len(lengths))
    assert exact_tests.expected_until_both(plus, 0, n) is None


def test_every_number_has_its_bounds() -> None:
    assert exact_tests.somewhere(np.array([0.9, 0.8]), "mcnemar", 5) == 1.0
    assert exact_tests.somewhere(np.array([1.5, 2.0]), "betting", 5) == 1.0
    assert [len(exact_tests.orderings(list("abcdef"[:size]))) for size in range(1, 7)] == [
        0,
        2,
        6,
        24,
        120,
        0,
    ]


@given(
    st.integers(1, 12).flatmap(
        lambda size: st.tuples(st.just(size), st.integers(0, size), st.integers(0, size))
    )
)
def test_the_rho_interval_holds_what_the_names_leave_open(counts: tuple[int, int, int]) -> None:
    size, up, down = counts
    if up + down > size:
        return
    possible = [min(k, size - k) for k in range(up, size - down + 1)]
    _, high = exact_tests.rho_interval(up, down, size, True)
    assert high == Fraction(max(possible), size)


@given(st.integers(1, 40), st.floats(0, 1), st.sampled_from([0.05, 0.01, 0.0625, 0.5]))
def test_the_smallest_gap_is_the_first_that_the_test_certifies(
    items: int, share: float, level: float
) -> None:
    discordant = round(share * items)
    tails = [stats.binom.sf(b - 1, discordant, 0.5) for b in range(discordant + 1)]
    enough = [b for b, tail in enumerate(tails) if tail <= level + 1e-12]
    expected = (2 * enough[0] - discordant) / items if enough else None
    assert exact_tests.mcnemar_gap(items, share, level) == expected
