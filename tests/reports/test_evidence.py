"""The certificate's tests: exact against brute force, and right about equal models in simulation."""

from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from gridc.reports.findings.certification import Region, Weighed, weigh
from gridc.reports.findings.outcomes import Outcomes
from gridc.statistics import exact_tests as evidence
from tools.certificates.simulate import World, pair_world

RUNS, ALPHA = 2000, 0.05


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test_of_the_discordant_items(b: int, c: int) -> None:
    row = np.array([[1] * b + [-1] * c + [0] * 5])
    plus, minus = evidence.one_sided(row)
    if b + c:
        assert plus[0] == pytest.approx(stats.binomtest(b, b + c, alternative="greater").pvalue)
        assert minus[0] == pytest.approx(stats.binomtest(c, b + c, alternative="greater").pvalue)
        assert evidence.mcnemar_two_sided(b, c) == pytest.approx(stats.binomtest(b, b + c).pvalue)
    else:
        assert (plus[0], minus[0], evidence.mcnemar_two_sided(0, 0)) == (1.0, 1.0, 1.0)


@settings(deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_sign_flips_are_counted_over_every_assignment(differences: list[int]) -> None:
    total = sum(differences)
    sums = [
        sum(sign * abs(each) for sign, each in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    plus, minus = evidence.one_sided(np.array([differences]))
    assert plus[0] == pytest.approx(sum(each >= total for each in sums) / len(sums))
    assert minus[0] == pytest.approx(sum(each <= total for each in sums) / len(sums))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_that_of_statsmodels(p: list[float]) -> None:
    assert evidence.holm(p) == pytest.approx(list(multipletests(p, method="holm")[1]))


def test_claims_that_are_not_listed_count_in_the_family() -> None:
    assert evidence.holm([0.01, 0.02], size=4) == pytest.approx([0.04, 0.06])


def test_a_reversal_needs_both_directions_and_pays_for_the_search() -> None:
    plus, minus = np.array([0.001, 0.9, 0.5]), np.array([0.999, 0.002, 0.5])
    assert evidence.reversal_p(plus, minus, 3) == pytest.approx(0.006)
    assert evidence.reversal_p(plus, 1 - plus, 3) == pytest.approx(0.3)
    assert evidence.order_p(plus, 3) == 0.9
    assert evidence.order_p(plus, 4) == 1.0


def test_an_ordering_is_as_strong_as_its_weakest_neighbours_in_its_best_configuration() -> None:
    plus = {pair: np.array([0.9, 0.9]) for pair in permutations("abc", 2)}
    plus["a", "b"], plus["b", "c"] = np.array([0.01, 0.001]), np.array([0.02, 0.5])
    assert evidence.ordering_p("abc", plus, 2) == pytest.approx(0.04)
    assert evidence.orderings("abcdef") == []
    assert len(evidence.orderings("abc")) == 6


def test_the_rho_interval_is_bounded_by_what_is_named() -> None:
    named = evidence.Named(plus=(0, 1, 2, 3), minus=(4, 5))
    assert evidence.rho_interval(named, 10) == (Fraction(2, 10), Fraction(5, 10))
    assert evidence.rho_interval(evidence.Named(tuple(range(8)), ()), 10) == (Fraction(0), Fraction(2, 10))


@pytest.mark.parametrize(
    ("discordance", "one", "family"), [(0.1, 6.1, 7.5), (0.2, 8.5, 10.5), (0.3, 10.2, 12.9)]
)
def test_the_smallest_gap_of_295_items(discordance: float, one: float, family: float) -> None:
    for level, expected in ((ALPHA / 48, one), (ALPHA / 48 / 15, family)):
        found = evidence.smallest_gap(295, discordance, level)
        assert found is not None
        assert round(100 * found, 1) == expected
    assert evidence.smallest_gap(5, 1.0, 1e-6) is None


@given(st.integers(1, 60), st.data())
def test_the_minority_bound_inverts_the_hypergeometric_law(size: int, data: st.DataObject) -> None:
    drawn = data.draw(st.integers(0, size))
    bound = evidence.minority_bound(size, drawn)

    def unseen(minority: int) -> Fraction:
        return Fraction(comb(size - minority, drawn), comb(size, drawn))

    assert unseen(bound) > Fraction(1, 20)
    assert bound == size - drawn or unseen(bound + 1) <= Fraction(1, 20)


def test_24_of_48_without_a_reversal_leave_at_most_4() -> None:
    assert evidence.minority_bound(48, 24) == 4


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2))
def test_the_expected_search_is_the_mean_over_all_orders(plus: int, minus: int, ties: int) -> None:
    signs = [1] * plus + [-1] * minus + [0] * ties
    n = len(signs)
    lengths = []
    for places in combinations(range(n), plus):
        for others in combinations([each for each in range(n) if each not in places], minus):
            lengths.append(max(min(places), min(others)) + 1)
    found = evidence.expected_until_both(plus, minus, n)
    assert found == pytest.approx(sum(lengths) / len(lengths))
    assert evidence.expected_until_both(plus, 0, n) is None


def test_exchanging_identical_outcomes_shows_no_reversal_and_swaps_are_exact() -> None:
    signs = evidence.exchanges(4, 64, 1)
    none = evidence.exchanged_signs(np.zeros((3, 4), dtype=np.int64), signs)
    found = evidence.identical(none, Fraction(0))
    assert (found.mean, found.upper, found.at_least) == (0.0, 0.0, 1.0)
    opposed = np.array([[1, 0, 0, 0], [-1, 0, 0, 0]])
    found = evidence.identical(evidence.exchanged_signs(opposed, signs), Fraction(1, 2))
    assert (found.mean, found.upper, found.at_least) == (0.5, 0.5, 1.0)
    with pytest.raises(ValueError, match="too many replicates"):
        evidence.exchanged_signs(np.full((1, 4), 2**23), signs)


def study(outcomes: NDArray[np.int64], units: NDArray[np.int64] | None = None) -> Outcomes:
    models, configurations, items = outcomes.shape
    return Outcomes(
        tuple("abcdef"[:models]), tuple(f"c{n}" for n in range(configurations)),
        tuple(f"q{n}" for n in range(items)), np.arange(items) if units is None else units,
        np.ones(configurations, dtype=np.int64), outcomes, outcomes,
        np.ones((models, configurations), dtype=np.bool_),
        np.ones((configurations, items), dtype=np.bool_),
    )  # fmt: skip


def weighed(found: Outcomes, final: bool = True, exchanges: int = 1) -> Weighed:
    return weigh([Region("b", found.configurations, True, True)], {"b": found}, ALPHA, 0, final, exchanges)


def clear(configurations: int = 4, items: int = 60) -> Outcomes:
    """a is right on everything in the first half of the configurations, b in the second."""
    outcomes = np.zeros((2, configurations, items), dtype=np.int64)
    outcomes[0, : configurations // 2] = 1
    outcomes[1, configurations // 2 :] = 1
    return study(outcomes)


def test_a_clear_reversal_is_certified_and_names_what_carries_it() -> None:
    found = weighed(clear(), exchanges=200).pairs["b", ("c0", "c1", "c2", "c3"), "a", "b"]
    assert found.claim == "reversal"
    assert found.reversal == pytest.approx(4 / 2**60)
    assert found.plus is not None
    assert found.minus is not None
    assert (found.plus.configuration, found.minus.configuration) == ("c0", "c2")
    assert (found.named_plus, found.named_minus) == (("c0", "c1"), ("c2", "c3"))
    assert found.rho == (Fraction(1, 2), Fraction(1, 2))
    assert found.test == "mcnemar"


def test_one_order_everywhere_is_certified_as_an_order() -> None:
    outcomes = np.zeros((2, 4, 60), dtype=np.int64)
    outcomes[1] = 1
    found = weighed(study(outcomes)).pairs["b", ("c0", "c1", "c2", "c3"), "a", "b"]
    assert (found.claim, found.first) == ("order", "b")
    assert found.reversal == 1.0


def test_an_interim_look_certifies_nothing() -> None:
    found = weighed(clear(), final=False)
    (only,) = found.pairs.values()
    assert only.claim is None
    assert only.reversal_adjusted < 1e-10
    assert not any(claim.certified for claim in found.orderings["b"])


def test_what_is_not_measured_certifies_nothing() -> None:
    outcomes = clear()
    outcomes.measured[0, 2:] = False
    (found,) = weighed(outcomes).pairs.values()
    assert found.claim is None
    assert found.minus is None
    assert (found.reversal, found.order) == (1.0, 1.0)


def test_families_are_flipped_as_one() -> None:
    outcomes, units = clear(2, 8), np.repeat(np.arange(2), 4)
    (found,) = weighed(study(outcomes.correct, units)).pairs.values()
    assert (found.test, found.units) == ("sign_flip", 2)
    assert found.reversal == pytest.approx(2 / 2**2)


def test_a_scope_chosen_after_the_data_pays_for_the_choice() -> None:
    outcomes = clear()
    regions = [
        Region("b", outcomes.configurations, True, True),
        Region("b", ("c0", "c2"), False, True),
        Region("b", ("c1", "c3"), False, False),
    ]
    pairs = weigh(regions, {"b": outcomes}, ALPHA, 0, True, 1).pairs
    named, chosen = pairs["b", ("c0", "c2"), "a", "b"], pairs["b", ("c1", "c3"), "a", "b"]
    assert (named.multiplicity, chosen.multiplicity) == (2, 4)
    assert (named.family, chosen.family, named.members) == ("other scopes", "other scopes", 2)
    assert chosen.reversal == pytest.approx(2 * named.reversal)
    assert (chosen.named_plus, chosen.named_minus) == (("c1",), ("c3",))


NULLS = {
    "equal": np.zeros(48),
    "better in one": np.where(np.arange(48) == 0, 0.15, 0.0),
    "better in half": np.where(np.arange(48) < 24, 0.15, 0.0),
    "better everywhere": np.full(48, 0.05),
}


@pytest.mark.slow
@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("own", [0.0, 0.55])
def test_models_that_do_not_reverse_are_rarely_certified_to(null: str, own: float) -> None:
    """While the observed rho_flip is above 0 in nearly every run."""
    random, world = np.random.default_rng(3), pair_world(NULLS[null], own=own)
    false = observed = named = outside = 0
    for _ in range(RUNS):
        a, b = world.outcomes(295, random)
        plus, minus = evidence.one_sided(a - b)
        false += evidence.reversal_p(plus, minus, 48) <= ALPHA
        gaps = (a - b).sum(axis=1)
        observed += bool((gaps > 0).any() and (gaps < 0).any())
        found = evidence.named_witnesses(plus, minus, ALPHA)
        better = NULLS[null] > 0
        named += bool(found.minus) or any(not better[place] for place in found.plus)
        low, high = evidence.rho_interval(found, 48)
        outside += not low <= 0 <= high
    assert false / RUNS <= ALPHA
    assert named / RUNS <= ALPHA
    assert outside / RUNS <= ALPHA
    if null != "better everywhere":
        assert observed / RUNS > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("families", [1, 4])
def test_a_study_of_equal_models_certifies_anything_at_most_at_alpha(families: int) -> None:
    """Through the whole of `weigh`: three models, two scopes, every family of claims, ordered or not."""
    random, world = np.random.default_rng(4), World(np.full((3, 12), 0.6))
    units = np.repeat(np.arange(60), families)
    regions = [
        Region("b", tuple(f"c{n}" for n in range(12)), True, True),
        Region("b", tuple(f"c{n}" for n in range(6)), False, True),
    ]
    wrong = {"full envelope": 0, "other scopes": 0, "orderings": 0}
    for _ in range(RUNS):
        outcomes = np.repeat(world.outcomes(60, random), families, axis=2)
        found = weigh(regions, {"b": study(outcomes, units)}, ALPHA, 0, True, 1)
        for family in ("full envelope", "other scopes"):
            wrong[family] += any(each.claim for each in found.pairs.values() if each.family == family)
        wrong["orderings"] += any(each.certified for each in found.orderings["b"])
    assert max(wrong.values()) / RUNS <= ALPHA


@pytest.mark.slow
def test_real_reversals_are_found() -> None:
    random = np.random.default_rng(5)
    world = pair_world(np.repeat([0.1, -0.1], 24))
    found = 0
    for _ in range(200):
        a, b = world.outcomes(295, random)
        found += evidence.reversal_p(*evidence.one_sided(a - b), 48) <= ALPHA
    assert found / 200 > 0.9
