"""Counting distinct digests: the same in memory and on disk, and as a dictionary counts them."""

import tracemalloc
from collections import Counter
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.compiler.grid.cells import CHUNK, RECORD, DistinctCounter

RECORDS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), max_size=120)
LIMITS = st.sampled_from([1, 7 * RECORD, 1 << 20])


def digest(number: int) -> bytes:
    return sha256(str(number).encode()).digest()


@given(RECORDS, LIMITS)
def test_digests_are_counted_under_the_number_they_came_with_first(
    records: list[tuple[int, int]], limit: int
) -> None:
    first: dict[int, int] = {}
    with DistinctCounter(limit) as seen:
        for name, number in records:
            seen.add(digest(name), number)
            first.setdefault(name, number)
        assert seen.counts() == Counter(first.values())
        assert seen.counts().total() == len({name for name, _ in records})


@given(RECORDS, RECORDS, LIMITS)
def test_what_two_have_in_common(
    left: list[tuple[int, int]], right: list[tuple[int, int]], limit: int
) -> None:
    with DistinctCounter(limit) as one, DistinctCounter(limit) as other:
        for name, number in left:
            one.add(digest(name), number)
        for name, _ in right:
            other.add(digest(name))
        both = {name for name, _ in left} & {name for name, _ in right}
        assert one.shared(other).total() == len(both)


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
        assert seen.counts().total() == count


@pytest.mark.parametrize("limit", [100 * RECORD, 1 << 20])
def test_a_digest_that_comes_again_and_again_is_never_held_at_once(limit: int) -> None:
    """All of its records are in one partition: a prompt that every cell of a plan asks."""
    count = 20_000
    with DistinctCounter(limit) as seen:
        for _ in range(count):
            seen.add(digest(7))
        tracemalloc.start()
        assert seen.counts().total() == 1
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 4 * CHUNK < count * RECORD
