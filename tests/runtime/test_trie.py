"""The trie minimum by brute force, and where a trie is cut into trunks."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gridc.runtime.engines.hf.sequences import common_prefix, least_tokens, shared_length, trie_size, trunks

TOKENS = st.lists(st.integers(0, 2), max_size=8).map(tuple)
PROMPTS = st.lists(st.integers(0, 2), min_size=1, max_size=8).map(tuple)


def nodes(sequences: set[tuple[int, ...]]) -> int:
    """Every distinct non-empty prefix, counted one by one."""
    return len({each[:length] for each in sequences for length in range(1, len(each) + 1)})


@given(TOKENS, TOKENS)
def test_what_two_sequences_share(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    length = 0
    while length < min(len(left), len(right)) and left[length] == right[length]:
        length += 1
    assert shared_length(left, right) == length


@given(st.lists(PROMPTS, min_size=1, max_size=6))
def test_what_all_sequences_share(sequences: list[tuple[int, ...]]) -> None:
    length = common_prefix(sequences)
    assert len({each[:length] for each in sequences}) == 1
    assert all(len(each) == length for each in sequences) or len({e[: length + 1] for e in sequences}) > 1


@given(st.sets(TOKENS, max_size=12))
def test_the_size_of_a_trie_is_its_distinct_prefixes(sequences: set[tuple[int, ...]]) -> None:
    assert trie_size(sequences) == nodes(sequences)


@given(st.dictionaries(PROMPTS, st.sets(TOKENS, max_size=4), max_size=6))
def test_the_minimum_is_the_trie_of_prompts_and_continuations(
    paths: dict[tuple[int, ...], set[tuple[int, ...]]],
) -> None:
    """Also where one prompt is the beginning of another and an answer to it runs along."""
    whole = {prompt + path for prompt, some in paths.items() for path in {(), *some}}
    assert least_tokens(paths) == nodes(whole)


@given(st.lists(PROMPTS, min_size=1, max_size=14), st.integers(1, 12))
def test_every_sequence_stands_on_one_trunk_that_is_its_beginning(
    sequences: list[tuple[int, ...]], worth: int
) -> None:
    ordered = sorted(sequences)
    found = trunks(ordered, worth)
    assert sorted(place for trunk in found for place in trunk.members) == list(range(len(ordered)))
    for trunk in found:
        path = ordered[trunk.members[0]][: trunk.length]
        assert all(ordered[place][: trunk.length] == path for place in trunk.members)
        assert all(len(ordered[place]) > trunk.length for place in trunk.members)
        assert all(low < high for low, high in pairwise((0, *trunk.cuts)))


def test_a_shared_block_becomes_a_trunk_and_a_longer_one_grows_from_it() -> None:
    head, block, more = (1, 2, 3), tuple(range(10, 30)), tuple(range(40, 60))
    none = [(*head, 7, item) for item in range(3)]
    few = [(*head, *block, 7, item) for item in range(3)]
    many = [(*head, *block, *more, 7, item) for item in range(3)]
    ordered = sorted(none + few + many)
    by_length = {trunk.length: {ordered[place] for place in trunk.members} for trunk in trunks(ordered, 20)}
    assert by_length == {3: set(none), 23: set(few), 44: set(many)}


def test_a_trunk_is_computed_in_the_stretches_of_those_below_it() -> None:
    few = [(*range(20), 90, item) for item in range(4)]
    many = [(*range(40), 90, item) for item in range(4)]
    assert [trunk.cuts for trunk in trunks(sorted(few + many), 10)] == [(20,), (20, 41)]


def test_deep_tries_do_not_exhaust_the_stack() -> None:
    ordered = [(1,) * length for length in range(1, 5000, 4)]
    assert sum(len(trunk.members) for trunk in trunks(ordered, 64)) == len(ordered)
