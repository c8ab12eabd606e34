"""Joint sign flips against every flip written out."""

from fractions import Fraction
from itertools import product
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import skew

from gridc.statistics import sign_flips


def every_flip(units: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
    """All sign vectors but the observed one, which the test counts itself: (units, 2^units - 1)."""
    columns = [signs for signs in product((1, -1), repeat=units) if -1 in signs]
    return np.array(columns, dtype=np.int8).T


def without_skew(row: list[int]) -> float:
    """Hall's transformation of Student's t, by scipy's."""
    if len(set(row)) == 1:
        return float(np.sign(row[0])) * 1e9
    root = sqrt(len(row))
    t, k = root * np.mean(row) / np.std(row), float(skew(row)) / root
    cubed = ((1 + k * t / 3) ** 3 - 1) / k if abs(k) > 1e-9 else t
    return float(cubed + k / 6)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.integers(-3, 3), min_size=5, max_size=5), min_size=2, max_size=4))
def test_max_t_is_the_share_of_all_flips_whose_largest_t_is_as_large(rows: list[list[int]]) -> None:
    differences = np.array(rows)
    groups = np.vstack([np.eye(len(rows), dtype=np.int64), np.ones((1, len(rows)), dtype=np.int64)])
    drawn = every_flip(5)
    found = sign_flips.max_t_alone(differences, groups, drawn)
    contrasts = (groups @ differences).tolist()
    live = [place for place, row in enumerate(contrasts) if any(row)]

    def t(signs: tuple[int, ...]) -> dict[int, float]:
        return {
            place: without_skew([s * each for s, each in zip(signs, contrasts[place], strict=True)])
            for place in live
        }

    observed = t((1,) * 5)
    flips = [t(signs) for signs in product((1, -1), repeat=5)]
    for place in range(len(contrasts)):
        if place not in live:
            assert found.plus[place] == found.minus[place] == found.plus_alone[place] == 1.0
            continue
        value = observed[place]
        room = 1e-8 * max(1.0, abs(value))
        assert found.plus[place] == sum(max(each.values()) >= value - room for each in flips) / 32
        assert found.minus[place] == sum(min(each.values()) <= value + room for each in flips) / 32
        assert found.plus_alone[place] == sum(each[place] >= value - room for each in flips) / 32
        assert found.minus_alone[place] == sum(each[place] <= value + room for each in flips) / 32


def test_a_loss_that_is_rare_and_seen_once_counts_for_those_that_were_not() -> None:
    """Of 60 units one lost 12 items and each other one gained one: flips of the mean find a gain, which
    twelve more such units would undo. Seen from the other side, rare gains say more than their mean."""
    skewed = np.array([[-12] + [1] * 59])
    signs, one = sign_flips.random_signs(60, 1_999, 1), np.ones((1, 1), dtype=np.int64)
    sums = sign_flips.flipped_sums(skewed, signs)
    assert (1 + int((sums[0] >= skewed.sum()).sum())) / 2_000 < 0.002
    found = sign_flips.max_t_alone(skewed, one, signs)
    assert found.plus[0] > 0.03
    assert sign_flips.max_t_alone(-skewed, one, signs).minus[0] == found.plus[0]


def test_a_single_configuration_of_items_is_an_exact_test_of_their_signs() -> None:
    """Five gains and no loss among ten items: 1 in 32, whatever the skewness."""
    differences, signs = np.array([[1] * 5 + [0] * 5]), every_flip(10)
    assert sign_flips.max_t_alone(differences, np.ones((1, 1), dtype=np.int64), signs).plus[0] == 1 / 32


def test_an_average_finds_what_no_configuration_shows_alone() -> None:
    random = np.random.default_rng(2)
    differences = random.choice([-1, 0, 1], p=[0.22, 0.42, 0.36], size=(12, 60))
    signs = sign_flips.random_signs(60, 9_999, 1)
    groups = np.vstack([np.eye(12, dtype=np.int64), np.ones((1, 12), dtype=np.int64)])
    found = sign_flips.max_t_alone(differences, groups, signs)
    assert found.plus.argmin() == 12


def test_sums_are_exact_in_either_precision() -> None:
    signs = sign_flips.random_signs(6, 2_500, 3)
    for scale in (1, 1 << 24, 1 << 40):
        differences = scale * np.arange(-6, 6).reshape(2, 6)
        assert np.array_equal(
            sign_flips.flipped_sums(differences, signs), (differences @ signs.astype(np.int64)).astype(float)
        )
    with pytest.raises(ValueError, match="exact"):
        sign_flips.flipped_sums(np.full((1, 2), 1 << 53), sign_flips.random_signs(2, 1, 1))


def test_the_reference_counts_reversals_under_exchange() -> None:
    signs = sign_flips.random_signs(4, 64, 1)
    none = sign_flips.flipped_sums(np.zeros((3, 4), dtype=np.int64), signs)
    found = sign_flips.identical(none, Fraction(0))
    assert (found.mean, found.upper, found.at_least) == (0.0, 0.0, 1.0)
    opposed = sign_flips.flipped_sums(np.array([[1, 0, 0, 0], [-1, 0, 0, 0]]), signs)
    found = sign_flips.identical(opposed, Fraction(1, 2))
    assert (found.mean, found.upper, found.at_least) == (0.5, 0.5, 1.0)


@pytest.mark.parametrize(("sampled", "size"), [(0, 4), (1, 4), (5, 8), (6, 6)])
def test_a_model_against_itself_is_a_coin_where_it_samples_and_0_elsewhere(sampled: int, size: int) -> None:
    shown = sorted(min(k, sampled - k) for k in range(sampled + 1) for _ in range(comb(sampled, k)))
    found = sign_flips.same_model(sampled, size)
    assert found.mean == pytest.approx(sum(shown) / len(shown) / size)
    assert found.upper == pytest.approx(shown[-(-95 * len(shown) // 100) - 1] / size)
    assert sign_flips.same_model(0, 9).mean == 0.0


def test_a_tie_of_two_contrasts_is_a_tie_whatever_rounding_makes_of_it() -> None:
    """The same differences in other units of measure."""
    row, signs = np.array([1, 2, 1, 1, -1, 3]), every_flip(6)
    differences, groups = np.stack([row, 7 * row, 11 * row, 49 * row]), np.eye(4, dtype=np.int64)
    found = sign_flips.max_t_alone(differences, groups, signs)
    assert np.ptp(found.plus) == np.ptp(found.minus) == 0
    assert np.array_equal(found.plus, found.plus_alone)


EXCHANGES = st.integers(1, 4).flatmap(
    lambda size: st.lists(st.lists(st.integers(-2, 2), min_size=size, max_size=size), min_size=1, max_size=60)
)


@given(EXCHANGES, st.fractions(0, Fraction(1, 2), max_denominator=500))
@settings(deadline=None, max_examples=60)
def test_the_reference_of_equal_models_is_what_its_definition_counts(
    exchanges: list[list[int]], observed: Fraction
) -> None:
    size = len(exchanges[0])
    rho = sorted(Fraction(min(sum(s > 0 for s in row), sum(s < 0 for s in row)), size) for row in exchanges)
    found = sign_flips.identical(np.array(exchanges, dtype=float).T, observed)
    assert found.exchanges == len(rho)
    assert found.mean == pytest.approx(float(sum(rho) / len(rho)))
    assert found.upper == pytest.approx(float(rho[19 * len(rho) // 20]))
    assert found.at_least == pytest.approx((1 + sum(value >= observed for value in rho)) / (1 + len(rho)))


@pytest.mark.parametrize("sampled", range(13))
def test_a_model_against_itself_is_as_many_coins_as_it_has_sampled_configurations(sampled: int) -> None:
    size = sampled + 2
    coins = sorted(min(sum(toss), sampled - sum(toss)) for toss in product((0, 1), repeat=sampled))
    covering = (value for value in coins if 20 * sum(other <= value for other in coins) >= 19 * len(coins))
    found = sign_flips.same_model(sampled, size)
    assert found.sampled == sampled
    assert found.mean == pytest.approx(sum(coins) / len(coins) / size)
    assert found.upper == pytest.approx(next(covering) / size)


@pytest.mark.parametrize(("weights", "upper"), [([19, 1], 0), ([92, 8], 1), ([18, 2], 1), ([189, 11], 1)])
def test_the_upper_value_covers_95_percent_and_no_less(weights: list[int], upper: int) -> None:
    assert sign_flips._upper(weights, [0, 1]) == upper


def checked(differences: list[int], span: int) -> tuple[float, float]:
    """p of "above 0" by flips, and where units that go against it have to be seen."""
    row, one = np.array([differences]), np.ones((1, 1), dtype=np.int64)
    signs = sign_flips.random_signs(row.shape[1], 999, 1)
    found = sign_flips.max_t_alone(row, one, signs)
    held = sign_flips.where_seen(found, row, one, span)
    assert held.plus[0] == held.plus_alone[0] and held.minus[0] == max(found.minus[0], held.minus[0])
    return float(found.plus[0]), float(held.plus[0])


def test_a_claim_that_no_unit_goes_against_needs_no_unit_that_does() -> None:
    """Twenty-four gains of 1 of 8 items, and a loss of all 8 as likely as models that agree allow: 1 in 9."""
    alone, held = checked([1] * 24, 8)
    assert alone < 0.002 and held == pytest.approx((8 / 9) ** 24)


def test_three_units_that_go_against_it_are_enough_and_so_is_all_that_a_unit_can_lose() -> None:
    against = [1] * 40 + [-1] * 3
    assert checked(against, 8)[0] == checked(against, 8)[1]
    alone, held = checked([1] * 40 + [-1] * 2, 8)
    assert alone < 0.002 < held
    assert checked([1] * 24, 1)[0] == checked([1] * 24, 1)[1]


@pytest.mark.parametrize("number", [499, 20_000])
def test_a_single_contrast_has_the_p_of_the_search(number: int) -> None:
    random, one, alone = np.random.default_rng(number), np.eye(1, dtype=np.int64), 0
    for units in (2, 12, 60, 400, 900):
        for drawn in (
            random.normal(0.1, 1, units),
            random.choice([-1.0, 0.0, 1.0], units),
            random.beta(0.1, 0.1, units) - random.beta(0.1, 0.1, units),
            np.where(random.random(units) < 0.1, 1.0, -random.random(units) / 10),
            np.zeros(units),
        ):
            differences = np.round(10_000 * drawn).astype(np.int64)[None]
            signs = sign_flips.random_signs(units, number, units)
            sums = sign_flips.flipped_sums(differences, signs)
            found = sign_flips.of_one_contrast(differences[0], sums[0], np.ascontiguousarray(signs.T))
            if found is not None:
                searched = sign_flips.max_t_alone(differences, one, signs)
                for name in ("plus", "minus", "plus_alone", "minus_alone"):
                    assert getattr(found, name) == getattr(searched, name)
                alone += int(differences.any())
    assert alone >= 8, "of hundreds of units it is found without the cubes of most flips"
