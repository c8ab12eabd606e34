"""Sign counts of a pair of models: hand-made grids, and what holds for every grid."""

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.statistics.envelope import PairCounts, Witness, count_orders, flip_rate

Grid = list[tuple[int | None, int | None]]

SCORES = st.integers(0, 4)
COMPLETE = st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=14)
HOLES = st.lists(st.tuples(st.none() | SCORES, st.none() | SCORES), min_size=1, max_size=14)
UNTIED = st.lists(st.sampled_from([(0, 1), (1, 0)]), min_size=2, max_size=14)


def counted(grid: Grid, a: str = "a", b: str = "b") -> PairCounts:
    """The counts of a grid of (a's score, b's score), in quarters; row n is configuration `cn`."""
    left = {f"c{n}": None if x is None else Fraction(x, 4) for n, (x, _) in enumerate(grid)}
    right = {f"c{n}": None if y is None else Fraction(y, 4) for n, (_, y) in enumerate(grid)}
    return count_orders(a, b, left, right)


def numbers(pair: PairCounts) -> tuple[int, int, int, int, int]:
    return pair.size, pair.measured, pair.plus, pair.minus, pair.ties


@pytest.mark.parametrize(
    ("grid", "plus", "minus", "ties", "rho", "d1", "d2", "verdicts", "words"),
    [
        ([(1, 0)] * 4, 4, 0, 0, Fraction(0), True, True, "+", "one order throughout"),
        ([(0, 1)] * 4, 0, 4, 0, Fraction(0), True, True, "-", "one order throughout"),
        ([(2, 2)] * 4, 0, 0, 4, Fraction(0), True, True, "0", "tied everywhere"),
        ([(1, 0), (2, 2)], 1, 0, 1, Fraction(0), True, False, "0+", "no strict reversal"),
        ([(0, 1), (2, 2)], 0, 1, 1, Fraction(0), True, False, "-0", "no strict reversal"),
        ([(1, 0), (0, 1)], 1, 1, 0, Fraction(1, 2), False, False, "-+", "reversible"),
        ([(1, 0), (0, 1), (3, 3)], 1, 1, 1, Fraction(1, 3), False, False, "-0+", "reversible"),
        ([(1, 0)] * 9 + [(0, 1)] * 3, 9, 3, 0, Fraction(1, 4), False, False, "-+", "reversible"),
        ([(1, 0), (None, 1)], 1, 0, 0, Fraction(0), None, None, "+", "no reversal on 1 of 2"),
        ([(1, None), (None, 1)], 0, 0, 0, Fraction(0), None, None, "", "no reversal on 0 of 2"),
        ([(1, 0), (2, 2), (None, 1)], 1, 0, 1, Fraction(0), None, False, "0+", "no reversal on 2 of 3"),
        ([(1, 0), (0, 1), (None, 1)], 1, 1, 0, Fraction(1, 3), False, False, "-+", "reversible"),
    ],
)
def test_hand_made_grids(
    grid: Grid,
    plus: int,
    minus: int,
    ties: int,
    rho: Fraction,
    d1: bool | None,
    d2: bool | None,
    verdicts: str,
    words: str,
) -> None:
    pair = counted(grid)
    assert (pair.plus, pair.minus, pair.ties) == (plus, minus, ties)
    assert (pair.rho_flip, pair.d1, pair.d2) == (rho, d1, d2)
    assert (pair.verdicts, pair.words) == (verdicts, words)


def test_published_shape_of_a_pair_23_of_48() -> None:
    grid: Grid = [(1, 0)] * 25
    grid += [(0, 1)] * 23
    pair = counted(grid)
    assert pair.rho_flip == Fraction(23, 48)
    assert round(float(pair.rho_flip), 3) == 0.479
    assert pair.ceiling == Fraction(1, 2)


def test_scores_are_compared_exactly_where_floats_would_tie() -> None:
    third, nearly = Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**30)
    assert float(third) == float(nearly)
    assert count_orders("a", "b", {"c": nearly}, {"c": third}).plus == 1


def test_witnesses_are_the_largest_gaps_in_each_direction() -> None:
    pair = counted([(2, 1), (4, 1), (0, 1), (1, 3), (2, 2)])
    assert pair.witness_plus == Witness("c1", Fraction(1), Fraction(1, 4))
    assert pair.witness_minus == Witness("c3", Fraction(1, 4), Fraction(3, 4))


def test_no_witness_for_a_direction_that_does_not_occur() -> None:
    pair = counted([(2, 1), (1, 1)])
    assert pair.witness_minus is None
    assert pair.witness_plus is not None


@pytest.mark.parametrize("other", [{}, {"c1": Fraction(1)}, {"c0": Fraction(1), "c1": Fraction(1)}])
def test_two_different_envelopes_are_refused(other: dict[str, Fraction | None]) -> None:
    with pytest.raises(ValueError, match="same, non-empty envelope"):
        count_orders("a", "b", {"c0": Fraction(1)}, other)


def test_an_empty_envelope_is_refused() -> None:
    with pytest.raises(ValueError, match="non-empty"):
        count_orders("a", "b", {}, {})


@given(HOLES)
def test_rho_lies_between_zero_and_its_ceilings(grid: Grid) -> None:
    pair = counted(grid)
    n = len(grid)
    assert 0 <= pair.rho_flip <= pair.ceiling <= Fraction(n // 2, n)
    assert pair.plus + pair.minus + pair.ties == pair.measured <= pair.size == n


@given(COMPLETE)
def test_rho_is_zero_exactly_where_d1_holds_and_d2_implies_d1(grid: Grid) -> None:
    pair = counted(grid)
    assert (pair.rho_flip == 0) is pair.d1
    if pair.d2:
        assert pair.d1
    assert pair.d2 is (sum(each > 0 for each in (pair.plus, pair.minus, pair.ties)) == 1)


@given(HOLES)
def test_an_incomplete_envelope_never_says_that_d1_or_d2_holds(grid: Grid) -> None:
    pair = counted(grid)
    if not pair.complete:
        assert pair.d1 is not True
        assert pair.d2 is not True
        assert (pair.d1 is False) is (pair.rho_flip > 0)


@given(HOLES, st.randoms(use_true_random=False))
def test_the_order_of_configurations_does_not_matter(grid: Grid, random: Random) -> None:
    names = [f"c{n}" for n in range(len(grid))]
    random.shuffle(names)
    left = {name: grid[int(name[1:])][0] for name in names}
    right = {name: grid[int(name[1:])][1] for name in reversed(names)}

    def exact(scores: dict[str, int | None]) -> dict[str, Fraction | None]:
        return {name: None if value is None else Fraction(value, 4) for name, value in scores.items()}

    straight, shuffled = counted(grid), count_orders("a", "b", exact(left), exact(right))
    assert numbers(straight) == numbers(shuffled)
    assert (straight.rho_flip, straight.d1, straight.d2) == (shuffled.rho_flip, shuffled.d1, shuffled.d2)
    for one, other in (
        (straight.witness_plus, shuffled.witness_plus),
        (straight.witness_minus, shuffled.witness_minus),
    ):
        assert (one is None) is (other is None)
        if one and other:
            assert one.a - one.b == other.a - other.b


@given(HOLES)
def test_exchanging_the_models_exchanges_the_signs_and_keeps_rho(grid: Grid) -> None:
    straight, turned = counted(grid), counted([(y, x) for x, y in grid], "b", "a")
    assert (straight.plus, straight.minus, straight.ties) == (turned.minus, turned.plus, turned.ties)
    assert (straight.rho_flip, straight.ceiling, straight.d1, straight.d2) == (
        turned.rho_flip,
        turned.ceiling,
        turned.d1,
        turned.d2,
    )
    assert straight.words == turned.words
    for one, other in (
        (straight.witness_plus, turned.witness_minus),
        (straight.witness_minus, turned.witness_plus),
    ):
        if one is None:
            assert other is None
        else:
            assert other == Witness(one.configuration, one.b, one.a)


@given(HOLES, HOLES)
def test_more_configurations_never_lower_a_count(grid: Grid, more: Grid) -> None:
    small, large = counted(grid), counted(grid + more)
    assert small.plus <= large.plus
    assert small.minus <= large.minus
    assert small.ties <= large.ties
    if small.d1 is False:
        assert large.d1 is False


@given(COMPLETE)
def test_the_ceiling_is_reached_by_some_grid_with_as_many_ties(grid: Grid) -> None:
    pair = counted(grid)
    free = pair.size - pair.ties
    best = max(Fraction(min(k, free - k), pair.size) for k in range(free + 1))
    assert pair.ceiling == best


@given(UNTIED)
def test_disagreement_is_the_flip_rate_of_the_verdict_without_ties(grid: Grid) -> None:
    pair = counted(grid)
    verdicts = [Fraction(x is not None and y is not None and x > y) for x, y in grid]
    assert pair.disagreement == flip_rate(verdicts, 0.5).rate


@given(COMPLETE)
def test_disagreement_counts_opposite_pairs_of_configurations(grid: Grid) -> None:
    pair = counted(grid)
    signs = [(x or 0) - (y or 0) for x, y in grid]
    opposite = [signs[i] * signs[j] < 0 for i in range(len(signs)) for j in range(i)]
    assert pair.disagreement == (Fraction(sum(opposite), len(opposite)) if opposite else None)
    if pair.disagreement is not None and pair.rho_flip:
        at_least = max(pair.plus, pair.minus) >= Fraction(pair.size - 1, 2)
        assert (pair.disagreement >= pair.rho_flip) is at_least
