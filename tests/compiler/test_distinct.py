"""Counting distinct digests: the same in memory and on disk, and as a dictionary counts them."""

import tracemalloc
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.compiler.grid.cells import CHUNK, RECORD, DistinctCounter

RECORDS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), max_size=120)
LIMITS = st.sampled_from([1, 7 * RECORD, 1 << 20])


def digest(number: int) -> bytes:
    return sha256(str(number).encode()).digest()


@given(RECORDS, RECORDS, LIMITS)
def test_a_digest_has_all_of_its_numbers_at_the_same_place_in_every_counter(
    left: list[tuple[int, int]], right: list[tuple[int, int]], limit: int
) -> None:
    with DistinctCounter(limit) as one, DistinctCounter(limit) as other:
        for name, number in left:
            one.add(digest(name), number)
        for name, number in right:
            other.add(digest(name), number)
        places = list(zip(one.numbers(), other.numbers(), strict=True))
        for records, side in ((left, 0), (right, 1)):
            found = {key: set(numbers) for place in places for key, numbers in place[side].items()}
            assert found == {digest(name): {n for key, n in records if key == name} for name, _ in records}
        both = {digest(name) for name, _ in left} & {digest(name) for name, _ in right}
        assert both == {key for ours, theirs in places for key in ours.keys() & theirs.keys()}


@given(st.lists(st.integers(0, 20), max_size=60), LIMITS)
def test_a_digest_that_comes_again_names_its_first_and_itself(names: list[int], limit: int) -> None:
    with DistinctCounter(limit) as seen:
        for number, name in enumerate(names):
            seen.add(digest(name), number)
        expected = [(names.index(name), number) for number, name in enumerate(names)]
        assert sorted(seen.twins()) == sorted(each for each in expected if each[0] != each[1])


@pytest.mark.parametrize("count", [0, 1, 5000])
def test_spilled_records_do_not_stay_in_memory(count: int) -> None:
    limit = 100 * RECORD
    with DistinctCounter(limit) as seen:
        for number in range(count):
            seen.add(digest(number))
            assert sum(map(len, seen._buffers)) < limit
        assert sum(map(len, seen.numbers())) == count


@pytest.mark.parametrize("limit", [100 * RECORD, 1 << 20])
def test_a_digest_that_comes_again_and_again_is_never_held_at_once(limit: int) -> None:
    """All of its records are in one partition: a prompt that every cell of a plan asks."""
    count = 20_000
    with DistinctCounter(limit) as seen:
        for _ in range(count):
            seen.add(digest(7))
        tracemalloc.start()
        assert sum(map(len, seen.numbers())) == 1
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 4 * CHUNK < count * RECORD
