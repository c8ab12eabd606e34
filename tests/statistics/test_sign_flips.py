"""Joint sign flips against every flip written out."""

from fractions import Fraction
from itertools import product
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridc.statistics import sign_flips
from gridc.statistics.bounded_means import mean_above_zero


def every_flip(units: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
    """All sign vectors but the observed one, which the test counts itself: (units, 2^units - 1)."""
    columns = [signs for signs in product((1, -1), repeat=units) if -1 in signs]
    return np.array(columns, dtype=np.int8).T


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-3, 3), min_size=5, max_size=5), min_size=2, max_size=4))
def test_max_t_is_the_share_of_all_flips_whose_largest_t_is_as_large(rows: list[list[int]]) -> None:
    differences = np.array(rows)
    groups = np.vstack([np.eye(len(rows), dtype=np.int64), np.ones((1, len(rows)), dtype=np.int64)])
    sums = sign_flips.flipped_sums(differences, every_flip(5))
    found = sign_flips.max_t(differences, sums, groups, 3)

    def t(signs: tuple[int, ...]) -> list[float]:
        values = []
        for group in groups:
            row = [sum(w * r[u] for w, r in zip(group, rows, strict=True)) for u in range(5)]
            norm = sqrt(sum(each * each for each in row))
            values.append(sum(s * each for s, each in zip(signs, row, strict=True)) / norm if norm else -9.0)
        return values

    observed = t((1,) * 5)
    flips = [t(signs) for signs in product((1, -1), repeat=5)]
    for place, value in enumerate(observed):
        if value == -9.0:
            assert found.plus[place] == found.minus[place] == found.plus_alone[place] == 1.0
            continue
        reached = sum(max(each) >= value - 1e-12 for each in flips)
        alone = sum(each[place] >= value - 1e-12 for each in flips)
        fallen = sum(max(-v for v in each if v != -9.0) >= -value - 1e-12 for each in flips)
        size = 3 * int(groups[place].sum())
        shares = groups[place] @ differences / size
        more, less = mean_above_zero(shares, -1.0), mean_above_zero(-shares, -1.0)
        below = sum(each[place] <= value + 1e-12 for each in flips)
        asked, asked_below = alone < 16, below < 16
        among = len(groups)
        assert found.plus[place] == pytest.approx(max(reached / 32, asked * min(1, among * more)))
        assert found.plus_alone[place] == pytest.approx(max(alone / 32, asked * more))
        assert found.minus[place] == pytest.approx(max(fallen / 32, asked_below * min(1, among * less)))


def test_one_configuration_of_items_needs_no_more_than_flips() -> None:
    """Five gains and no loss: 1 in 32, whatever else could be. An average of two could have lost a whole
    point where it gained a half, so that more than five halves are needed."""
    differences = np.array([[1] * 5 + [0] * 5, [0] * 10])
    sums = sign_flips.flipped_sums(differences, every_flip(10))
    found = sign_flips.max_t(differences, sums, np.array([[1, 0], [0, 1], [1, 1]]), 1)
    assert found.plus_alone.tolist() == [1 / 32, 1.0, pytest.approx(mean_above_zero(differences[0] / 2, -1))]
    assert found.plus_alone[2] > 0.1


def test_an_average_finds_what_no_configuration_shows_alone() -> None:
    random = np.random.default_rng(2)
    differences = random.choice([-1, 0, 1], p=[0.22, 0.42, 0.36], size=(12, 60))
    signs = sign_flips.flips(60, 9_999, 1)
    groups = np.vstack([np.eye(12, dtype=np.int64), np.ones((1, 12), dtype=np.int64)])
    found = sign_flips.max_t(differences, sign_flips.flipped_sums(differences, signs), groups, 1)
    assert found.plus.argmin() == 12


def test_sums_are_exact_in_either_precision() -> None:
    signs = sign_flips.flips(6, 2_500, 3)
    for scale in (1, 1 << 24, 1 << 40):
        differences = scale * np.arange(-6, 6).reshape(2, 6)
        assert np.array_equal(
            sign_flips.flipped_sums(differences, signs), (differences @ signs.astype(np.int64)).astype(float)
        )
    with pytest.raises(ValueError, match="exact"):
        sign_flips.flipped_sums(np.full((1, 2), 1 << 53), sign_flips.flips(2, 1, 1))


def test_the_reference_counts_reversals_under_exchange() -> None:
    signs = sign_flips.flips(4, 64, 1)
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
    differences = np.array([[1, 2, 1, 1, 1], [-1, -3, 1, 1, 2]])  # 6 / sqrt(18) = 4 / sqrt(8)
    groups = np.array([[1, 0], [0, 1], [1, 1]])
    found = sign_flips.max_t(differences, sign_flips.flipped_sums(differences, every_flip(5)), groups, 3)
    assert found.plus[2] >= 9 / 32


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
