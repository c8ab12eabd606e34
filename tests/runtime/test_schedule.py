"""Batches: a function of the calls and of the memory that is allowed."""

import random

import pytest

pytest.importorskip("torch")

from gridc.runtime.engines.hf.batching import (
    FEW,
    ON_THE_TRUNK,
    SOME_ALONE,
    BatchWork,
    Bound,
    TooLargeError,
    repeat_batches,
    schedule,
)
from gridc.runtime.engines.hf.sequences import Member, Unit


def unit(prompt: tuple[int, ...], answers: int = 3, limit: int = 8) -> Unit:
    return Unit.of([Member(f"{prompt}/{number}", prompt, limit) for number in range(answers)])


def units(blocks: int = 3, items: int = 12) -> list[Unit]:
    """Few-shot blocks of 100 tokens, nested, with questions of several lengths."""
    made = []
    for block in range(blocks):
        head = tuple(range(100 * block))
        made += [unit((*head, 500, *range(600 + item, 612 + 2 * item))) for item in range(items)]
    return made


def held(work: BatchWork) -> int:
    """The positions that a batch comes to at most: trunk, padded stems, and room for every answer."""
    stems = [len(each.prompt) - len(work.trunk) for each in work.units]
    return len(work.trunk) + len(stems) * max(stems) + sum(member.room for member in work.members)


@pytest.mark.parametrize("positions", [400, 1000, 5000, 10**6])
def test_every_call_is_in_one_batch_and_no_batch_exceeds_the_bound(positions: int) -> None:
    works = list(schedule(units(), Bound(positions)))
    assert sorted(call for work in works for call in work.calls) == sorted(
        call for each in units() for call in each.calls
    )
    assert max(map(held, works)) <= positions


def test_batches_do_not_depend_on_the_order_of_the_calls() -> None:
    shuffled = units()
    random.Random(3).shuffle(shuffled)
    assert [work.calls for work in schedule(shuffled, Bound(900))] == [
        work.calls for work in schedule(units(), Bound(900))
    ]


def test_no_more_units_than_allowed_share_a_batch() -> None:
    works = list(schedule(units(), Bound(10**6, 5)))
    assert max(len(work.units) for work in works) == 5


def test_prompts_on_one_few_shot_block_share_a_trunk() -> None:
    works = list(schedule(units(), Bound(10**6)))
    assert [len(work.trunk) for work in works] == [0, 100, 201]
    assert all(each.prompt[: len(work.trunk)] == work.trunk for work in works for each in work.units)


def test_short_prompts_are_not_padded_to_long_ones() -> None:
    lengths = [[len(each.prompt) for each in work.units] for work in schedule(units(1, 20), Bound(400))]
    assert max(lengths[0]) <= min(lengths[-1])


def test_prompts_with_much_in_common_are_not_parted() -> None:
    families = [unit((family, *range(30), item)) for family in range(8) for item in range(4)]
    works = list(schedule(families, Bound(700)))
    assert len(works) > 1
    for work in works:
        inside = [each.prompt[0] for each in work.units]
        assert all(inside.count(family) == 4 for family in set(inside))


def test_more_answers_than_fit_are_split_and_the_prompt_becomes_their_trunk() -> None:
    large = unit(tuple(range(200)), answers=100)
    works = list(schedule([large], Bound(600)))
    assert len(works) > 2
    assert {len(work.trunk) for work in works} == {199}
    assert sorted(call for work in works for call in work.calls) == sorted(large.calls)
    assert max(map(held, works)) <= 600


def test_a_call_that_fits_no_batch_is_refused_with_what_it_needs() -> None:
    with pytest.raises(TooLargeError) as found:
        list(schedule([unit(tuple(range(300)), answers=1, limit=33)], Bound(310)))
    assert found.value.positions == 332


def test_long_trunks_are_computed_in_passes_of_bounded_length() -> None:
    long = [unit((*range(5000), item)) for item in range(4)]
    (work,) = schedule(long, Bound(10**6))
    assert work.cuts == (2048, 4096, 5000)


def calls(number: int, passage: int = 600, question: int = 20) -> list[list[Member]]:
    """Greedy calls on one passage, each with a question of its own."""
    heads = ((*range(passage), *(1000 * (1 + call) + at for at in range(question))) for call in range(number))
    return [[Member(str(call), head, 8)] for call, head in enumerate(heads)]


def again(
    tokens: float, number: int = 16, standing: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
) -> tuple[str, list[BatchWork]]:
    return repeat_batches(calls(number), [8] * number, tokens, Bound(10**6, FEW), [standing])


def computed(works: list[BatchWork]) -> int:
    """Forward tokens: each trunk once, then what prompts have of their own, and the answers."""
    own = sum(
        len(each.prompt) - len(work.trunk) + 8 * len(each.calls) for work in works for each in work.units
    )
    return sum(map(len, {work.trunk for work in works})) + own


def test_without_a_limit_every_call_is_made_again_a_fourth_of_them_alone() -> None:
    shape, works = again(float("inf"))
    assert shape == SOME_ALONE
    assert sorted(call for work in works for call in work.calls) == sorted(map(str, range(16)))
    alone, few = works[:4], works[4:]
    assert [work.calls for work in alone] == [("0",), ("1",), ("2",), ("3",)], "the first ones"
    assert all(not work.trunk for work in alone)
    assert [len(work.units) for work in few] == [4, 4, 4]
    assert all(len(work.trunk) == 600 and work.cuts == (300, 600) for work in few), "in shorter stretches"
    assert all(work.anew for work in works)


@pytest.mark.parametrize("tokens", [660, 700, 1500, 3000, 5000])
def test_the_tokens_that_are_allowed_are_kept(tokens: int) -> None:
    shape, works = again(tokens)
    made = sum(len(work.calls) for work in works)
    assert shape == SOME_ALONE
    assert computed(works) <= tokens
    assert made == 16 or computed(works) > tokens - 700, "and used"


def test_a_trunk_that_is_too_much_is_taken_as_it_is() -> None:
    trunk = tuple(range(600)), (600,)
    shape, works = again(100, standing=trunk)
    assert shape == ON_THE_TRUNK
    assert [(work.trunk, work.cuts) for work in works] == [trunk]
    assert works[0].calls == ("0", "1", "2"), "28 tokens each"
    assert again(5, standing=trunk)[1][0].calls == ("0",), "one in any case"
    assert len(again(600, standing=trunk)[1]) == 4, "a few at a time"


def test_where_no_trunk_is_there_a_few_are_made_again_whatever_they_take() -> None:
    for standing in (((), ()), ((5, 6), (2,))):
        shape, works = again(10, standing=standing)
        assert (shape, sum(len(work.calls) for work in works)) == (SOME_ALONE, FEW)
    assert [work.calls for work in again(10, number=1)[1]] == [("0",)]
